//! A record: an event, its hash, and the signature of a record key over both and its place (spec 3.2).

use crate::timeline::Keys;
use crate::{Error, Event, event};
use canon::{Digest, Value};
use keys::{Kid, Signature};
use ledger::merkle;

/// The purposes a key of a log signs for; the value of `t` in what is signed (spec 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Record,
    Checkpoint,
    Approval,
    Cert,
    Retire,
    Export,
}

impl Purpose {
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Record => "tracekit.record.v2",
            Self::Checkpoint => "tracekit.checkpoint.v2",
            Self::Approval => "tracekit.approval.v2",
            Self::Cert => "tracekit.cert.v2",
            Self::Retire => "tracekit.retire.v2",
            Self::Export => "tracekit.export.v2",
        }
    }
}

/// The one algorithm of records.
pub const ALG: &str = "ed25519";

/// A record of the right form, of which nothing is checked.
#[derive(Debug, Clone)]
pub struct Unverified<'a> {
    value: Value<'a>,
    /// Its hash was left out: it is the event's.
    unhashed: bool,
}

/// A record whose event is of the schema, whose hash is the event's, and whose signature is that of a key valid at its
/// place in its log.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    event: Event<'r>,
    hash: Digest,
}

impl<'a> Unverified<'a> {
    /// One strict JSON text.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::read(canon::parse(bytes)?)
    }

    /// Refuses another set of members than `v`, `event`, `hash`, `alg`, `kid` and `sig`, and another format than 2.
    pub fn read(value: Value<'a>) -> Result<Self, Error> {
        Self::of(value, &["hash", "alg", "kid", "sig"], false)
    }

    /// The same of a record that may leave out its hash.
    pub(crate) fn shown(value: Value<'a>) -> Result<Self, Error> {
        match value.get("hash") {
            Some(_) => Self::read(value),
            None => Self::of(value, &["alg", "kid", "sig"], true),
        }
    }

    fn of(value: Value<'a>, texts: &[&str], unhashed: bool) -> Result<Self, Error> {
        let form = Error::RecordForm;
        let object = value.as_object().ok_or(form("it is no object"))?;
        let told = texts.iter().all(|name| object.get(name).is_some_and(|v| v.as_str().is_some()));
        if object.len() != texts.len() + 2 || !told {
            return Err(form("it has not the six members"));
        }
        if object.get("v").and_then(Value::as_u64) != Some(2) {
            return Err(form("v is not 2"));
        }
        if object.get("event").and_then(Value::as_object).is_none() {
            return Err(form("the event is no object"));
        }
        Ok(Self { value, unhashed })
    }

    /// The hash the record says it has.
    pub fn hash(&self) -> Option<Digest> {
        event::digest(self.text("hash"))
    }
    pub fn kid(&self) -> &str {
        self.text("kid")
    }
    /// The event, unchecked.
    pub fn event(&self) -> &Value<'a> {
        self.value.get("event").unwrap_or(&Value::Null)
    }
    /// The whole record.
    pub const fn value(&self) -> &Value<'a> {
        &self.value
    }

    /// The schema of the event and then its hash: what can be said without a key.
    pub fn hashed(&self) -> Result<Record<'_>, Error> {
        let event = Event::read(self.event())?;
        let hash = Digest::of(&canon::to_vec(self.event())?);
        if self.unhashed || self.hash() == Some(hash) {
            Ok(Record { event, hash })
        } else {
            Err(Error::RecordHash)
        }
    }

    /// Everything about the record alone, in this order: schema, hash, key at its place, algorithm, signature, log.
    pub fn check(&self, keys: &Keys) -> Result<Record<'_>, Error> {
        let record = self.hashed()?;
        self.signed(&record, keys)?;
        Ok(record)
    }

    /// Who signed it and how, as it says.
    pub(crate) fn signed_as(&self) -> [&[u8]; 3] {
        ["kid", "alg", "sig"].map(|name| self.text(name).as_bytes())
    }

    /// What is left of it once it is hashed.
    pub(crate) fn signed(&self, record: &Record<'_>, keys: &Keys) -> Result<(), Error> {
        let key = keys.at(self.kid(), record.event.position())?;
        if self.text("alg") != ALG || !keys.allows(ALG) {
            return Err(Error::Algorithm { alg: self.text("alg").to_owned() });
        }
        let signature = Signature::from_base64(self.text("sig")).map_err(|_| Error::Encoding)?;
        let message = message(&record.event, &record.hash, &key.kid())?;
        key.public().verify(&message, &signature).map_err(|_| Error::RecordSignature)?;
        if record.event.log_id() != keys.log_id() {
            return Err(Error::WrongLog);
        }
        key.covers(&record.event)
    }

    fn text(&self, name: &str) -> &str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

impl<'r> Record<'r> {
    pub const fn event(&self) -> Event<'r> {
        self.event
    }
    /// SHA-256 of the event's canonical form.
    pub const fn hash(&self) -> Digest {
        self.hash
    }
    /// Its leaf in the log's tree (spec 3.5).
    pub fn leaf(&self) -> Digest {
        leaf(&self.hash)
    }
}

/// The leaf of a record: over the 32 raw bytes of its hash (spec 3.5).
pub fn leaf(hash: &Digest) -> Digest {
    merkle::leaf_hash(hash.as_bytes())
}

/// What the record key signs. The members come in canonical order, and what needs no escape is written as it is.
pub(crate) fn message(event: &Event<'_>, hash: &Digest, kid: &Kid) -> Result<Vec<u8>, Error> {
    use std::fmt::Write as _;
    let text = |text: &str| canon::to_vec(text).map(|bytes| String::from_utf8(bytes).unwrap_or_default());
    let mut message = String::with_capacity(700);
    // INVARIANT: a String takes every character.
    let _ = write!(
        message,
        "{{\"alg\":\"{ALG}\",\"hash\":\"sha256:{hash}\",\"kid\":\"{kid}\",\"log_id\":\"{}\",\"prev_hash\":\"sha256:{}\",\
         \"run_id\":{},\"run_prev_hash\":\"sha256:{}\",\"run_seq\":{},\"seq\":{},\"t\":\"{}\",\"tenant\":{}}}",
        event.log_id(),
        event.prev_hash(),
        text(event.run_id())?,
        event.run_prev_hash(),
        event.run_seq(),
        event.position().0,
        Purpose::Record.tag(),
        text(event.tenant())?,
    );
    Ok(message.into_bytes())
}
