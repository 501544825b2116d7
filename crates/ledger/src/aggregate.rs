//! The one movement of every protocol: a command is decided, its events are appended to a chain, the chain folds
//! back into state. All of it pure; the store runs it.

use canon::Digest;
use env::{Env, Timestamp};
use std::fmt;
use std::str::FromStr;

/// One aggregate's chain: `kind/id`, e.g. `room/7k2mzq4d0a`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(String);

impl StreamId {
    /// `kind` is `[a-z]{1,16}`, `id` is `[A-Za-z0-9._-]{1,100}`.
    pub fn new(kind: &str, id: &str) -> Result<Self, Fault> {
        format!("{kind}/{id}").parse()
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
    pub fn kind(&self) -> &str {
        self.0.split_once('/').map_or("", |(kind, _)| kind)
    }
    pub fn id(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, id)| id)
    }
}

impl FromStr for StreamId {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let (kind, id) = text.split_once('/').ok_or_else(|| Fault::new("bad_stream_id", text))?;
        let good = (1..=16).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase())
            && (1..=100).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if good { Ok(Self(text.to_owned())) } else { Err(Fault::new("bad_stream_id", text)) }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for StreamId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for StreamId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where a chain ends: the number of its entries and the hash of the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub seq: u64,
    pub hash: Digest,
}

impl Head {
    /// The head of a stream that has no entry.
    pub const EMPTY: Self = Self { seq: 0, hash: Digest::ZERO };
}

/// One entry of a chain. The store keeps these bytes for ever and knows no format: `prev` must be the stored hash
/// of the entry before ([`Digest::ZERO`] for the first), and `hash` is what the protocol's chain rule makes of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1 for the first entry of a stream, then without a gap.
    pub seq: u64,
    pub prev: Digest,
    pub hash: Digest,
    pub bytes: Vec<u8>,
    /// What the entry's bytes only name by hash: sealed beside the chain, erasable.
    pub payload: Option<Payload>,
}

/// Private bytes beside an entry. `digest` must be SHA-256 of `bytes`; the entry (or its commitment) names it.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    pub digest: Digest,
    pub bytes: Vec<u8>,
}

impl Payload {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({}, {} bytes)", self.digest, self.bytes.len())
    }
}

/// What a decision asks of the world once its entries are durable. A closed list: each is one outbox row in the
/// append's transaction, run at least once.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// A person must be asked: put the question into inboxes and notify.
    Ask { ask: String, stream: String },
    /// Tell a member something; a link, never a decision.
    Notify { member: String, title: String, link: String },
    /// Bring bytes to a peer (webhook, push).
    Deliver { to: String, body: String },
    /// Hand a transaction to a chain or payment rail.
    Submit { rail: String, body: String },
    /// Run the stream again at an instant: deadlines, expiries, built-in proxies whose turn it is.
    Wake { stream: String, at: Timestamp },
}

/// An entry in an index that the same transaction keeps: `key` finds `item` and the stream it lives in. Pointers only
/// help to find; what they point to is decided by the fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pointer {
    Set { key: String, item: String },
    Clear { key: String, item: String },
}

/// What a decision produced. An empty list of events is a decision that changed nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<E, A> {
    pub events: Vec<E>,
    pub effects: Vec<Effect>,
    pub pointers: Vec<Pointer>,
    /// What the caller is told; kept with the idempotency key.
    pub answer: A,
}

/// A protocol's aggregate. `decide` and `evolve` are pure and total: same inputs, same answer, no panic.
pub trait Aggregate: Send + Sync + 'static {
    type State: Clone + Default + Send + Sync + 'static;
    type Command: Send + Sync;
    type Event: Clone + PartialEq + Send + Sync;
    type Answer: Clone + Send + Sync;
    type Refusal: Coded + Send + Sync + 'static;

    /// The kind of its streams, the part of a [`StreamId`] before the slash.
    const KIND: &'static str;

    fn decide(
        state: &Self::State,
        command: &Self::Command,
        env: &mut Env,
    ) -> Result<Decision<Self::Event, Self::Answer>, Self::Refusal>;

    /// Folds one event, already at its place in the chain.
    fn evolve(state: &mut Self::State, event: &Self::Event, at: Head);

    /// The pointers, key and item, that must be set in this state. More may be.
    fn pointers(_state: &Self::State) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The chain rule: the event's bytes after `prev`.
    fn seal(event: &Self::Event, prev: Head) -> Result<Entry, Fault>;

    /// Reads an entry back: the very event that was sealed. Refuses bytes whose hash, link, number or payload is not what the
    /// chain rule says.
    fn open(entry: &Entry, prev: Head) -> Result<Self::Event, Fault>;
}

/// Who is at fault, hence what a caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The request is malformed: change it. HTTP 400 (413 and 422 by code).
    Caller,
    /// No credential, or one that is not known. HTTP 401.
    Unauthenticated,
    /// The caller may not. HTTP 403.
    Forbidden,
    /// No such thing for this caller. HTTP 404.
    Missing,
    /// Not in this state, or not any more. HTTP 409.
    Conflict,
    /// Too much or too often: retry later. HTTP 429.
    Limit,
    /// Something this server needs does not answer or is not configured. HTTP 503.
    Unavailable,
    /// Ours. HTTP 500; details go to the log only.
    Bug,
}

/// An error with a stable code, the field at fault, and whose fault it is.
pub trait Coded: std::error::Error {
    /// A stable snake_case word.
    fn code(&self) -> &'static str;
    fn who(&self) -> Who;
    /// JSON Pointer of the field at fault, where there is one.
    fn place(&self) -> Option<String> {
        None
    }
    /// Whether the same request may succeed later unchanged.
    fn retryable(&self) -> bool {
        matches!(self.who(), Who::Limit | Who::Unavailable)
    }
}

impl Coded for keys::Error {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }
    fn who(&self) -> Who {
        match self.code.fault() {
            keys::Fault::Malformed => Who::Caller,
            keys::Fault::Unproven => Who::Forbidden,
            keys::Fault::Unavailable => Who::Unavailable,
        }
    }
    fn place(&self) -> Option<String> {
        (!self.place.is_empty()).then(|| self.place.clone())
    }
}

/// Stored or presented data that breaks a rule of its format. Never the caller's wording, always ours or a forger's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} at {place}")]
pub struct Fault {
    pub code: &'static str,
    pub place: String,
}

impl Fault {
    pub fn new(code: &'static str, place: impl fmt::Display) -> Self {
        Self { code, place: place.to_string() }
    }
}
