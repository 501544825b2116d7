//! Making evidence: records, the data of the signer's own records, bundles. What is made is read by the same rules first,
//! so nothing is written that a verifier would refuse for its form.

use crate::bundle::{FORMAT, run_file};
use crate::record::{ALG, message};
use crate::zip::{self, MAX_ENTRIES, MAX_ENTRY, MAX_TOTAL};
use crate::{Commitment, Error, Event, Position, spelled};
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use canon::{Digest, Number, Object, Value};
use env::Timestamp;
use keys::{Kid, PublicKey, Signer};
use ledger::merkle::{Nodes, prove_inclusion};
use ledger::note::Note;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Where a record comes to stand: in its log, and in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// 32 hex digits.
    pub log_id: &'a str,
    pub seq: u64,
    /// [`Digest::ZERO`] for the first.
    pub prev: Digest,
    pub run_seq: u64,
    /// [`Digest::ZERO`] for the first.
    pub run_prev: Digest,
}

/// What a record is to say.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// Random.
    pub id: [u8; 16],
    pub ts: Timestamp,
    pub tenant: &'a str,
    pub run_id: &'a str,
    /// `main`, or the name of a part of the agent.
    pub agent_id: &'a str,
    pub parent_id: Option<&'a str>,
    pub source: &'a str,
    pub kind: &'a str,
    pub data: Value<'a>,
    /// Further members of the event: `tool_call_id`, `attempt`, `tier` and so on.
    pub more: Vec<(&'a str, Value<'a>)>,
}

/// A record as it was signed: its canonical text without a line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub seq: u64,
    pub hash: Digest,
    pub line: Vec<u8>,
}

/// A record that has its place and lacks its signature.
#[derive(Debug, Clone)]
pub struct Sealed {
    pub seq: u64,
    pub hash: Digest,
    /// The event's canonical bytes.
    event: Vec<u8>,
    kid: Kid,
    /// What the key signs.
    message: Vec<u8>,
}

impl<'a> Draft<'a> {
    /// Signs the record for its place. Refuses what is not of the schema.
    pub fn sign(&self, place: &Place<'_>, signer: &dyn Signer) -> Result<Written, Error> {
        self.clone().seal(place, &signer.public().spki_kid())?.1.sign(signer)
    }

    /// The event at its place, and the record that lacks only the signature of the key named. Refuses what is not of the schema.
    pub(crate) fn seal(self, place: &Place<'_>, kid: &Kid) -> Result<(Value<'a>, Sealed), Error> {
        let value = self.event(place)?;
        let event = Event::unchecked(&value)?;
        let bytes = canon::to_vec(&value)?;
        let hash = Digest::of(&bytes);
        let message = message(&event, &hash, kid)?;
        let sealed = Sealed { seq: place.seq, hash, event: bytes, kid: *kid, message };
        Ok((value, sealed))
    }

    /// The event at its place. Refuses what is not of the schema.
    pub(crate) fn event(self, place: &Place<'_>) -> Result<Value<'a>, Error> {
        let mut members: Vec<(&str, Value<'a>)> = vec![
            ("schema_version", text("tracekit.event.v2")),
            ("id", text(hex::encode(self.id))),
            ("seq", number(place.seq)?),
            ("prev_hash", text(place.prev.prefixed())),
            ("ts", text(spelled(self.ts))),
            ("run_id", text(self.run_id)),
            ("agent_id", text(self.agent_id)),
            ("parent_id", self.parent_id.map_or(Value::Null, text)),
            ("source", text(self.source)),
            ("type", text(self.kind)),
            ("data", self.data),
            ("log_id", text(place.log_id.to_owned())),
            ("tenant", text(self.tenant)),
            ("run_seq", number(place.run_seq)?),
            ("run_prev_hash", text(place.run_prev.prefixed())),
        ];
        members.extend(self.more);
        let value = object(members)?;
        Event::read(&value)?;
        Ok(value)
    }
}

impl Sealed {
    /// The record, whole. `signer` holds the key it was sealed for.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Written, Error> {
        let signature =
            signer.sign(&self.message).map_err(|error| Error::Signer(error.to_string()))?.base64();
        let mut line = format!("{{\"alg\":\"{ALG}\",\"event\":").into_bytes();
        line.extend_from_slice(&self.event);
        let (hash, kid) = (self.hash, self.kid);
        let rest = format!(",\"hash\":\"sha256:{hash}\",\"kid\":\"{kid}\",\"sig\":\"{signature}\",\"v\":2}}");
        line.extend(rest.into_bytes());
        Ok(Written { seq: self.seq, hash: self.hash, line })
    }
}

/// The data of `signer.epoch`: these keys sign from here on.
pub fn epoch(keys: &[PublicKey]) -> Result<Value<'static>, Error> {
    let keys = keys
        .iter()
        .map(|key| {
            object(vec![
                ("kid", text(key.spki_kid().to_string())),
                ("alg", text(ALG)),
                ("spki", text(STANDARD.encode(key.spki()))),
            ])
        })
        .collect::<Result<_, _>>()?;
    object(vec![("keys", Value::Array(keys))])
}

/// The data of `key.retire`: that key signed for the last time at `last`.
pub fn retirement(key: &PublicKey, last: Position) -> Result<Value<'static>, Error> {
    object(vec![("kid", text(key.spki_kid().to_string())), ("last_seq", number(last.0)?)])
}

/// What an approval is bound to (spec 3.9).
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
    pub approval_id: &'a str,
    pub tenant: &'a str,
    pub run_id: &'a str,
    pub tool_call_id: &'a str,
    pub attempt: u64,
    pub tool: &'a str,
    pub arguments: Commitment,
    /// `raw`, `parsed` or `coerced`.
    pub args_source: &'a str,
    pub policy: Digest,
    /// 16 random bytes.
    pub nonce: [u8; 16],
    pub expires_at: Timestamp,
}

impl Binding<'_> {
    pub fn value(&self) -> Result<Value<'static>, Error> {
        object(vec![
            ("v", number(1)?),
            ("approval_id", text(self.approval_id.to_owned())),
            ("tenant", text(self.tenant.to_owned())),
            ("run_id", text(self.run_id.to_owned())),
            ("tool_call_id", text(self.tool_call_id.to_owned())),
            ("attempt", number(self.attempt)?),
            ("tool", text(self.tool.to_owned())),
            ("args_commitment", text(self.arguments.to_string())),
            ("args_source", text(self.args_source.to_owned())),
            ("policy_hash", text(self.policy.prefixed())),
            ("nonce", text(hex::encode(self.nonce))),
            ("expires_at", text(spelled(self.expires_at))),
        ])
    }
}

/// A run to be shown: all its records up to the checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub tenant: &'a str,
    pub run_id: &'a str,
    pub records: &'a [Written],
}

/// One run as a bundle. `keys` are all `signer.epoch` and `key.retire` records below the checkpoint, `nodes` is the tree of the
/// log's leaves ([`crate::leaf`]). Refuses a run without records, one beyond the checkpoint, and what exceeds the limits.
pub fn bundle(run: &Run<'_>, keys: &[Written], note: &Note, nodes: &impl Nodes) -> Result<Vec<u8>, Error> {
    let size = note.unverified().size;
    let (Some(first), Some(last)) = (run.records.first(), run.records.last()) else {
        return Err(Error::Structure("a run has no records"));
    };
    let proven: BTreeSet<u64> = keys.iter().map(|record| record.seq).chain([first.seq, last.seq]).collect();
    let inclusion = proven
        .iter()
        .map(|seq| {
            let path = prove_inclusion(nodes, *seq, size)?;
            let hashes = path.iter().map(|hash| text(STANDARD.encode(hash.as_bytes()))).collect();
            Ok((Cow::Owned(seq.to_string()), Value::Array(hashes)))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let name = format!("checkpoints/{size}.note");
    let proofs = object(vec![
        ("checkpoint", text(name.clone())),
        ("tree_size", number(size)?),
        ("inclusion", Value::Object(Object::new(inclusion)?)),
    ])?;
    let mut files = parts(&run_file(run.tenant, run.run_id), run.records)?;
    files.push(("keys/records.jsonl".to_owned(), jsonl(keys)));
    files.push((name, note.to_string().into_bytes()));
    files.push(("proofs/records.json".to_owned(), canon::to_vec(&proofs)?));
    archive(files)
}

/// With the manifest, which comes first.
fn archive(files: Vec<(String, Vec<u8>)>) -> Result<Vec<u8>, Error> {
    let listed = files
        .iter()
        .map(|(name, content)| (Cow::Owned(name.clone()), text(Digest::of(content).to_string())))
        .collect();
    let manifest = object(vec![
        ("format", text(FORMAT)),
        ("verifier_min_version", text("1.4.0")),
        ("verifier_version", text("1.4.0")),
        ("files", Value::Object(Object::new(listed)?)),
    ])?;
    let mut all = vec![("manifest.json".to_owned(), canon::to_vec(&manifest)?)];
    all.extend(files);
    let length = |content: &[u8]| u64::try_from(content.len()).unwrap_or(u64::MAX);
    let total: u64 = all.iter().map(|(_, content)| length(content)).sum();
    if all.len() > MAX_ENTRIES
        || total > MAX_TOTAL
        || all.iter().any(|(_, content)| length(content) > MAX_ENTRY)
    {
        return Err(Error::TooLarge("more than a bundle may hold"));
    }
    zip::pack(&all)
}

/// The run's file, or its parts: each at most as long as a file may be.
fn parts(name: &str, records: &[Written]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let most = usize::try_from(MAX_ENTRY).unwrap_or(usize::MAX);
    let mut files: Vec<Vec<u8>> = vec![Vec::new()];
    for record in records {
        let full =
            files.last().is_some_and(|file| !file.is_empty() && file.len() + record.line.len() >= most);
        if full {
            files.push(Vec::new());
        }
        if let Some(file) = files.last_mut() {
            file.extend_from_slice(&record.line);
            file.push(b'\n');
        }
    }
    let stem = name.strip_suffix(".jsonl").unwrap_or(name).to_owned();
    Ok(match files.len() {
        1 => files.into_iter().map(|file| (name.to_owned(), file)).collect(),
        _ => (1..).zip(files).map(|(part, file)| (format!("{stem}.part-{part:04}.jsonl"), file)).collect(),
    })
}

fn jsonl(records: &[Written]) -> Vec<u8> {
    records.iter().flat_map(|record| [record.line.as_slice(), b"\n"]).flatten().copied().collect()
}

/// A JSON object of these members.
pub fn object<'a>(members: Vec<(&'a str, Value<'a>)>) -> Result<Value<'a>, Error> {
    let members = members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect();
    Ok(Value::Object(Object::new(members)?))
}

/// A JSON string.
pub fn text<'a>(text: impl Into<Cow<'a, str>>) -> Value<'a> {
    Value::String(text.into())
}

/// A JSON integer; refuses what is beyond 2^53 - 1.
pub fn number(number: u64) -> Result<Value<'static>, Error> {
    Ok(Value::Number(Number::try_from(number)?))
}
