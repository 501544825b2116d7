//! Making messages (spec 4.12). The signer builds the evidence, and refuses to sign what it can see is contradicted: what is made
//! is judged by the receiver's own rules first.

use super::call::View;
use super::check::{accounted, registered, statement};
use super::code::{Code, Verdict};
use super::grants::{self, Grant};
use super::shelf::Shelf;
use super::tools::registry;
use super::wire::{Fault, Message, Sender, VERSION, hash};
use super::{claims, grants::signed};
use crate::record::ALG;
use crate::write::{Written, object, text};
use crate::{Error, event, spelled};
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use canon::{Digest, Object, Salt, Value};
use env::Timestamp;
use keys::Signer;
use ledger::merkle::{Nodes, prove_inclusions};
use ledger::note::Note;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The name of the record that says a message was signed, so that what was sent can be counted.
pub const MESSAGE_RECORD: &str = "countersign.message";

/// What to send.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// Random.
    pub id: [u8; 16],
    pub from: &'a Sender,
    pub to: &'a str,
    pub iat: Timestamp,
    pub exp: Timestamp,
    /// The id and the hash of the message it answers.
    pub in_reply_to: Option<(&'a str, Digest)>,
    pub intent: Option<Intent<'a>>,
    pub text: Option<&'a str>,
    pub claims: Vec<Claim<'a>>,
    /// Links of a chain, root first, as [`link`] makes them.
    pub grants: Vec<Value<'static>>,
}

#[derive(Debug, Clone)]
pub struct Intent<'a> {
    pub kind: &'a str,
    /// The digest of the agreed schema.
    pub schema: Digest,
    pub args: Value<'a>,
}

#[derive(Debug, Clone)]
pub struct Claim<'a> {
    pub id: &'a str,
    pub predicate: &'a str,
    pub args: Value<'a>,
    /// The records it rests on, by their names in [`Proof`].
    pub evidence: Vec<&'a str>,
}

/// Everything a message shows of the log. Proofs are made from the tree.
#[derive(Debug)]
pub struct Proof<'a, N> {
    pub note: &'a Note,
    pub nodes: &'a N,
    /// By their names in the message.
    pub records: Vec<(&'a str, &'a Written)>,
    pub openings: Vec<(&'a str, Reveal<'a>)>,
    /// All `signer.epoch` and `key.retire` records below the checkpoint.
    pub keys: &'a [Written],
}

/// A value that a record commits to, and its salt.
#[derive(Debug, Clone)]
pub enum Reveal<'a> {
    Arguments(Salt, Value<'a>),
    Content(Salt, Value<'a>),
}

impl Draft<'_> {
    /// Signs the message. Refused with [`Error::Message`]: what is not of the form, an opening that does not open, a sender who
    /// did not register the run, a record nothing rests on, a chain of grants that widens, and a claim that the records
    /// contradict. A claim they do not prove is signed, and shows by what is missing.
    pub fn sign<N: Nodes>(&self, proof: &Proof<'_, N>, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
        let kid = signer.public().spki_kid().to_string();
        let bytes = seal(&self.unsigned(proof, &kid)?, signer)?;
        sound(&bytes).map_err(|fault| Error::Message { code: fault.code.as_str(), place: fault.place })?;
        Ok(bytes)
    }

    /// To be signed by the key of that name.
    pub(super) fn unsigned<N: Nodes>(
        &self,
        proof: &Proof<'_, N>,
        kid: &str,
    ) -> Result<Value<'static>, Error> {
        let from = object(vec![
            ("origin", text(&self.from.origin)),
            ("log_id", text(&self.from.log_id)),
            ("tenant", text(&self.from.tenant)),
            ("run_id", text(&self.from.run_id)),
            ("agent", text(&self.from.agent)),
        ])?;
        let claims = self.claims.iter().map(|claim| {
            object(vec![
                ("id", text(claim.id)),
                ("pred", text(claim.predicate)),
                ("args", claim.args.clone()),
                ("evidence", Value::Array(claim.evidence.iter().map(|rid| text(*rid)).collect())),
            ])
        });
        let mut members = vec![
            ("pcm", text(VERSION)),
            ("id", text(hex::encode(self.id))),
            ("from", from),
            ("to", text(self.to)),
            ("iat", text(spelled(self.iat))),
            ("exp", text(spelled(self.exp))),
            ("claims", Value::Array(claims.collect::<Result<_, _>>()?)),
            ("grants", Value::Array(self.grants.clone())),
            ("evidence", evidence(proof, self.from, kid)?),
        ];
        if let Some((id, hash)) = self.in_reply_to {
            members.push(("in_reply_to", object(vec![("id", text(id)), ("hash", text(hash.prefixed()))])?));
        }
        if let Some(intent) = &self.intent {
            let schema = text(intent.schema.prefixed());
            let parts = vec![("type", text(intent.kind)), ("schema", schema), ("args", intent.args.clone())];
            members.push(("intent", object(parts)?));
        }
        if let Some(words) = self.text {
            members.push(("text", text(words)));
        }
        Ok(object(members)?.into_static())
    }
}

/// The data of the `ext` record that commits to a message, to be logged before the message is released.
pub fn message_record(message: &Digest) -> Result<Value<'static>, Error> {
    object(vec![("name", text(MESSAGE_RECORD)), ("hash", text(message.prefixed()))])
}

/// The data of the `ext` record that logs a grant.
pub fn grant_record(grant: &Digest) -> Result<Value<'static>, Error> {
    object(vec![("name", text(grants::GRANT_RECORD)), ("hash", text(grant.prefixed()))])
}

/// A grant under the signer's key, as a message carries it. `logged` and, of a root, `approval` name records of the message.
/// Refused: a link that allows more than `parent`.
pub fn link(
    grant: &Value<'_>,
    parent: Option<&Grant>,
    logged: &str,
    approval: &[&str],
    signer: &dyn Signer,
) -> Result<Value<'static>, Error> {
    let refused = |code: Code| Error::Message { code: code.as_str(), place: String::new() };
    let read = Grant::read(grant).map_err(refused)?;
    if let Some(parent) = parent {
        read.within(parent).map_err(refused)?;
    }
    seal_link(grant, logged, approval, signer)
}

/// Signs a grant as it is.
pub(super) fn seal_link(
    grant: &Value<'_>,
    logged: &str,
    approval: &[&str],
    signer: &dyn Signer,
) -> Result<Value<'static>, Error> {
    let hash = Digest::of(&canon::to_vec(grant)?);
    let kid = signer.public().spki_kid().to_string();
    let signature =
        signer.sign(&signed(&hash, &kid)).map_err(|error| Error::Signer(error.to_string()))?.base64();
    let mut members = vec![
        ("grant", grant.clone()),
        ("alg", text(ALG)),
        ("kid", text(kid)),
        ("sig", text(signature)),
        ("logged", text(logged)),
    ];
    if !approval.is_empty() {
        members.push(("approval", Value::Array(approval.iter().map(|rid| text(*rid)).collect())));
    }
    Ok(object(members)?.into_static())
}

fn evidence<N: Nodes>(proof: &Proof<'_, N>, from: &Sender, kid: &str) -> Result<Value<'static>, Error> {
    let shown = |written: &Written| brief(canon::parse(&written.line)?.into_static(), from, kid);
    let records =
        proof.records.iter().map(|(rid, written)| Ok((Cow::Owned((*rid).to_owned()), shown(written)?)));
    let openings = proof.openings.iter().map(|(rid, reveal)| {
        let (salt, name, value) = match reveal {
            Reveal::Arguments(salt, value) => (salt, "args", value),
            Reveal::Content(salt, value) => (salt, "content", value),
        };
        let opened = object(vec![("salt", text(hex::encode(salt.as_bytes()))), (name, value.to_owned())])?;
        Ok((Cow::Owned((*rid).to_owned()), opened))
    });
    let named = |members: Vec<(Cow<'static, str>, Value<'static>)>| Object::new(members).map(Value::Object);
    let size = proof.note.unverified().size;
    object(vec![
        ("checkpoint", text(proof.note.to_string())),
        ("records", named(records.collect::<Result<_, Error>>()?)?),
        ("proof", text(inclusion(proof.nodes, proof.records.iter().map(|(_, written)| written.seq), size)?)),
        ("openings", named(openings.collect::<Result<_, Error>>()?)?),
        ("keys", Value::Array(proof.keys.iter().map(shown).collect::<Result<_, Error>>()?)),
        ("keys_proof", text(inclusion(proof.nodes, proof.keys.iter().map(|written| written.seq), size)?)),
    ])
}

/// That all of these are in the tree: the hashes beside them, in base64.
pub(super) fn inclusion(
    nodes: &impl Nodes,
    seqs: impl Iterator<Item = u64>,
    size: u64,
) -> Result<String, Error> {
    let seqs: Vec<u64> = seqs.collect::<BTreeSet<_>>().into_iter().collect();
    let hashes = prove_inclusions(nodes, &seqs, size)?;
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
    Ok(STANDARD.encode(bytes))
}

/// A record without what follows from the rest.
fn brief(mut record: Value<'static>, from: &Sender, kid: &str) -> Result<Value<'static>, Error> {
    let leave = |part: &mut Value<'static>, name: &str, known: &str| {
        if part.get(name).and_then(Value::as_str) == Some(known) {
            part.take(name);
        }
    };
    for name in ["v", "alg", "hash"] {
        record.take(name);
    }
    leave(&mut record, "kid", kid);
    let event = record.get_mut("event").ok_or(Error::RecordForm("there is no event"))?;
    leave(event, "schema_version", event::VERSION);
    leave(event, "log_id", &from.log_id);
    leave(event, "tenant", &from.tenant);
    leave(event, "run_id", &from.run_id);
    Ok(record)
}

/// What whoever holds only the message can say of it: nothing in it contradicts it.
fn sound(bytes: &[u8]) -> Result<(), Fault> {
    let message = Message::read(bytes)?;
    let wire = &message.wire;
    let mut shelf = Shelf::default();
    for (rid, record) in &message.records {
        let hashed = record.as_ref().map_err(Error::clone).and_then(|record| record.hashed());
        let fault = |error: Error| Fault::new(Code::from(&error), format!("/evidence/records/{rid}"), error);
        shelf.put(rid, &hashed.map_err(fault)?);
    }
    registered(wire, &shelf)?;
    for (rid, opened) in &wire.evidence.openings {
        shelf.open(rid, opened)?;
    }
    accounted(wire, &shelf)?;
    let size = Note::parse(wire.evidence.checkpoint.as_bytes()).map(|note| note.unverified().size);
    let view = View {
        from: &wire.from,
        registry: registry(),
        size: size.map_err(|error| Fault::new(Code::BadCheckpoint, "/evidence/checkpoint", error))?,
        // Whom the receiver believes is not known here.
        bridges: &[],
        break_glass: true,
    };
    let chain = grants::chain(&wire.grants, &shelf, &view, None)?;
    if let (Some(intent), Some(last)) = (&wire.intent, chain.last())
        && !last.names(&intent.kind, &wire.to)
    {
        return Err(Fault::at(Code::GrantExceeded, "/grants"));
    }
    for (at, verdict) in claims::judge(&wire.claims, &shelf, &view, &[]).into_iter().enumerate() {
        if let Verdict::Failed(code) = verdict {
            return Err(Fault::at(code, format!("/claims/{at}")));
        }
    }
    Ok(())
}

/// Signs a message as it is.
pub(super) fn seal(message: &Value<'_>, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
    let kid = signer.public().spki_kid().to_string();
    let hash = hash(message).ok_or(Error::RecordHash)?;
    let signature =
        signer.sign(&statement(&hash, &kid)).map_err(|error| Error::Signer(error.to_string()))?.base64();
    let body = message.as_object().map(Object::iter).into_iter().flatten();
    let mut members: Vec<_> = body.map(|(name, value)| (Cow::Borrowed(name), value.clone())).collect();
    let own = [("alg", text(ALG)), ("kid", text(kid)), ("sig", text(signature))];
    members.extend(own.map(|(name, value)| (name.into(), value)));
    Ok(canon::to_vec(&Value::Object(Object::new(members)?))?)
}
