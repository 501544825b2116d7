//! The one trait between the cores and a database.

use async_trait::async_trait;
use canon::Digest;
use env::Timestamp;
use ledger::{Effect, Entry, Head, Pointer, StreamId};

/// One transaction over one or several streams: all of it, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Append {
    pub streams: Vec<StreamAppend>,
    pub outbox: Vec<Outgoing>,
    /// Each pointer belongs to the stream it finds.
    pub pointers: Vec<(StreamId, Pointer)>,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone)]
pub struct StreamAppend {
    pub stream: StreamId,
    /// The head this was decided on. A stream that has moved refuses the whole append.
    pub expected: Head,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub struct Outgoing {
    pub stream: StreamId,
    pub effect: Effect,
    /// Not before this instant.
    pub due: Timestamp,
}

/// A key chosen by a client, unique in its scope (one credential on one operation).
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub scope: String,
    pub key: String,
    /// Digest of the request: the same key with another request is refused.
    pub request: Digest,
    /// What to answer again.
    pub response: Vec<u8>,
    pub expires: Timestamp,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub request: Digest,
    pub response: Vec<u8>,
}

/// A claimed outbox row. Its lease keeps others away until it runs out.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub id: i64,
    pub stream: StreamId,
    pub effect: Effect,
    pub attempts: u32,
    /// Fences a worker whose lease ran out: completing with an old one changes nothing.
    pub lease: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The stream has moved on: reload, decide again.
    #[error("stream {stream} is at {actual:?}")]
    Stale { stream: StreamId, actual: Head },
    /// The key was used before, with this answer.
    #[error("idempotency key used before")]
    Repeated(Remembered),
    /// The append itself breaks the chain's rules: a bug above.
    #[error("broken append: {0}")]
    Broken(&'static str),
    /// Refused before anything was written.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// The answer was lost: it may have been written. Reload to learn.
    #[error("append outcome unknown: {0}")]
    Unknown(String),
    /// What is stored is not what was written.
    #[error("store corrupt: {0}")]
    Corrupt(String),
}

/// A durable journal. An acknowledged append survives a kill and a power cut.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Compare-and-append. Returns the new head of each stream, in order.
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError>;

    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError>;

    /// Entries with `seq > after`, in order, at most `limit`, with their payloads opened (`None` once erased).
    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Resolves when the stream's head is beyond `after`. A hint may be lost, so it also looks by itself now and then.
    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError>;

    /// Items under `key` after `after` in byte order, with the stream each lives in.
    async fn find(&self, key: &str, after: &str, limit: usize) -> Result<Vec<(String, StreamId)>, StoreError>;

    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError>;

    /// Takes due outbox rows for `lease`; nobody else gets them until it ends.
    async fn claim(&self, now: Timestamp, lease: env::Duration, limit: usize) -> Result<Vec<Claimed>, StoreError>;
    /// Done: the row goes away. `false` if the lease was lost.
    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError>;
    /// Try again at `due`.
    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError>;

    /// Destroys the stream's data key: payloads are gone, the chain stays whole.
    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError>;
}
