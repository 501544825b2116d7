use crate::{Answer, Ask, Credentials, Decided, Evidence, EvidenceKind, MemberId, PlainKey, Refusal, Right};
use canon::Digest;
use env::Timestamp;
use keys::webauthn::{Assertion, Challenge};
use serde::{Deserialize, Serialize};

/// What an answer that was not refused is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The ask is answered.
    Settled(Answered),
    /// Passed on by an agent: nothing happens before the person confirms it with other evidence.
    Held(Answered),
}

impl Outcome {
    pub const fn answered(&self) -> &Answered {
        match self {
            Self::Settled(answered) | Self::Held(answered) => answered,
        }
    }
}

/// Who answered what, and how it is known. The evidence itself stays in the [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub ask_id: String,
    pub decision: Decided,
    /// `None` for the holder of a stream's own credential.
    pub by: Option<MemberId>,
    pub right: Right,
    pub evidence: EvidenceKind,
    /// The credential's public name: credential id, thumbprint, session or agent.
    pub credential: String,
    /// The hash of the [`Statement`](crate::Statement) this answer makes; signed by the evidence where evidence can sign.
    pub statement_hash: Digest,
    pub at: Timestamp,
}

/// Checks one answer to one ask. In this order refused: another ask, an expired ask, a nonce or body of the wrong form,
/// the wrong person, evidence this ask does not take, a credential that is not the person's or no longer, and a
/// signature that is not over exactly this statement (D6). Whether the ask is still open is the protocol's to know.
pub fn check(ask: &Ask, answer: &Answer, keys: &Credentials, now: Timestamp) -> Result<Outcome, Refusal> {
    if answer.ask_id != ask.id {
        return Err(Refusal::WrongAsk);
    }
    if ask.is_expired(now) {
        return Err(Refusal::AskExpired);
    }
    let base64url = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if !(16..=64).contains(&answer.nonce.len()) || !answer.nonce.bytes().all(base64url) {
        return Err(Refusal::BadNonce);
    }
    if let Some(body) = &answer.body {
        let refuse = |code, at| Refusal::BodyNotCanonical { code, at };
        let canonical =
            canon::canonicalize(body.as_bytes()).map_err(|error| refuse(error.code.as_str(), error.place))?;
        if canonical != body.as_bytes() {
            return Err(refuse("not_canonical", String::new()));
        }
    }
    if answer.by.as_ref() != keys.person.member() {
        return Err(Refusal::WrongPerson);
    }
    let right = keys.person.right(&ask.audience).ok_or(Refusal::WrongPerson)?;
    let kind = answer.evidence.kind();
    if !ask.accepts.kinds.contains(&kind) {
        return Err(Refusal::EvidenceNotAccepted { kind });
    }
    let statement_hash = ask.statement(answer.decision, answer.body.as_deref(), &answer.nonce).hash();
    let credential = proves(&answer.evidence, &statement_hash, keys, now)?;
    let answered = Answered {
        ask_id: ask.id.clone(),
        decision: answer.decision,
        by: answer.by.clone(),
        right,
        evidence: kind,
        credential,
        statement_hash,
        at: now,
    };
    let held = kind == EvidenceKind::Relayed && ask.accepts.relayed_is_held;
    Ok(if held { Outcome::Held(answered) } else { Outcome::Settled(answered) })
}

/// Checks that the evidence shows this person making the statement at that instant, and returns the credential's public
/// name. A session or an agent signs nothing: it is good if the caller has verified the one named.
pub fn proves(
    evidence: &Evidence,
    statement_hash: &Digest,
    keys: &Credentials,
    at: Timestamp,
) -> Result<String, Refusal> {
    match evidence {
        Evidence::Passkey { credential_id, authenticator_data, client_data_json, signature } => {
            let passkey = newest(&keys.passkeys, |passkey| passkey.credential_id == *credential_id)?;
            if !passkey.is_active(at) {
                return Err(Refusal::CredentialRevoked);
            }
            let site = keys.site.as_ref().ok_or(Refusal::UnknownCredential)?;
            let assertion =
                Assertion::from_base64url(credential_id, authenticator_data, client_data_json, signature);
            let credential = passkey.credential().map_err(refused)?;
            site.relying_party()
                .verify(&Challenge::from(*statement_hash), &credential, &assertion.map_err(refused)?)
                .map_err(refused)?;
            Ok(credential_id.clone())
        }
        Evidence::Ed25519 { thumbprint, signature } => {
            let named = |plain: &PlainKey| plain.key.thumbprint().to_string() == *thumbprint;
            let plain = newest(&keys.plain_keys, named)?;
            if !plain.is_active(at) {
                return Err(Refusal::CredentialRevoked);
            }
            if plain.key.algorithm() != keys::Algorithm::Ed25519 {
                return Err(Refusal::UnknownCredential);
            }
            let signature = keys::Signature::from_base64url(signature).map_err(refused)?;
            plain.key.verify(statement_hash.as_bytes(), &signature).map_err(refused)?;
            Ok(thumbprint.clone())
        }
        Evidence::Wallet { .. } => Err(Refusal::EvidenceNotSupported { kind: EvidenceKind::Wallet }),
        Evidence::Session { session } => verified(session, keys.session.as_deref()),
        Evidence::Relayed { agent } => verified(agent, keys.agent.as_deref()),
    }
}

fn newest<T>(known: &[T], named: impl Fn(&T) -> bool) -> Result<&T, Refusal> {
    known.iter().rev().find(|&credential| named(credential)).ok_or(Refusal::UnknownCredential)
}

fn verified(named: &str, known: Option<&str>) -> Result<String, Refusal> {
    if !named.is_empty() && known == Some(named) {
        Ok(named.to_owned())
    } else {
        Err(Refusal::UnknownCredential)
    }
}

fn refused(error: keys::Error) -> Refusal {
    Refusal::BadEvidence { code: error.code.as_str(), detail: error.detail }
}
