use crate::checkpoint::witnessed;
use crate::report::{Check, Stop};
use crate::{Report, Trust};
use canon::Digest;
use keys::{PublicKey, Signature};
use ledger::log::{LogProof, SignedHead, head_message};
use ledger::note::{KeyType, Note, Pins, VerifierKey};
use ledger::{Error, StreamId};

/// The head under its server's signature: the key must be the verifier's own, if it has any.
pub(crate) fn head(stream: &StreamId, head: &SignedHead, key: &PublicKey, trust: Option<&Trust>) -> Check {
    known_server(key, trust)?;
    signed(stream, head.n, &head.hash, key, &head.signature)
}

/// A verifier that has keys takes no others.
pub(crate) fn known_server(key: &PublicKey, trust: Option<&Trust>) -> Check {
    if trust.is_some_and(|trust| !trust.servers.contains(key)) {
        return Err(Stop::refused("server_untrusted", "/keys", "the server's key is not in the trust file"));
    }
    Ok(())
}

fn signed(stream: &StreamId, n: u64, hash: &Digest, key: &PublicKey, signature: &Signature) -> Check {
    key.verify(&head_message(stream, n, hash), signature)
        .map_err(|error| Stop::refused("bad_head_signature", "/head/signature", error))
}

/// The head's place in the server's log: its leaf, the checkpoint's signatures, the path to the root.
pub(crate) fn check(
    proof: Option<&LogProof>,
    stream: &StreamId,
    head: &SignedHead,
    key: &PublicKey,
    trust: Option<&Trust>,
    report: &mut Report,
) -> Check {
    let Some(proof) = proof else {
        report.fact("log", "absent");
        return match trust {
            Some(trust) if trust.requires_log() => {
                Err(Stop::refused("log_missing", "/log", "logs are pinned and there is no log proof"))
            }
            _ => Ok(()),
        };
    };
    if !proof.is_of(stream, head.n, &head.hash) {
        return Err(Stop::refused("leaf_mismatch", "/log/leaf", "the leaf is not that of the head"));
    }
    let at_checkpoint = |error: Error| Stop::ledger(&error, "/log/checkpoint");
    let note = Note::parse(proof.checkpoint.as_bytes()).map_err(at_checkpoint)?;
    let standing = match trust.filter(|trust| trust.requires_log()) {
        Some(trust) => {
            witnessed(&note.verify(&trust.pins).map_err(at_checkpoint)?, report);
            "signed"
        }
        None => carried(&note, key).map_err(at_checkpoint)?,
    };
    let tree = note.unverified();
    proof
        .verify_inclusion(stream, head.n, &head.hash, tree)
        .map_err(|error| Stop::ledger(&error, "/log/proof"))?;
    report.fact("log", standing);
    report.fact("log_origin", &tree.origin);
    report.fact("log_size", tree.size);
    Ok(())
}

/// Without a pinned log key: a line of the server's own key must be good, lines of others prove nothing.
fn carried(note: &Note, key: &PublicKey) -> Result<&'static str, Error> {
    let PublicKey::Ed25519(public) = key else { return Ok("unsigned") };
    let log = VerifierKey::new(note.unverified().origin.clone(), KeyType::Log, *public);
    match note.verify(&Pins::new(vec![log], Vec::new(), 0)?) {
        Ok(_) => Ok("self_signed"),
        Err(Error::LogUnsigned { .. }) => Ok("unsigned"),
        Err(error) => Err(error),
    }
}
