//! The one trait between the cores and a database.

use crate::StoreError;
use async_trait::async_trait;
use canon::Digest;
use env::{Duration, Timestamp};
use ledger::{Effect, Entry, Head, Pointer, StreamId};

/// A durable journal. An acknowledged append survives a kill and a power cut.
///
/// Every call may be refused as [`StoreError::Unavailable`] (nothing was written) and every call that writes as
/// [`StoreError::Unknown`] (its answer was lost, it may have been written).
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Compare-and-append: all of it or nothing, durable when it returns. Gives the new head of each stream, in
    /// order. A stream named twice, a link that does not hold or a payload that is not its digest is refused as
    /// [`StoreError::Broken`]; a stream that has moved as [`StoreError::Stale`]; an idempotency key used before as
    /// [`StoreError::Repeated`], which is looked at before the heads are.
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError>;

    /// [`Head::EMPTY`] for a stream nobody appended to.
    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError>;

    /// Entries with `seq > after`, in order, at most `limit`, with their payloads opened (`None` once erased).
    /// A payload that is not what its digest says is [`StoreError::Corrupt`].
    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Resolves when the stream's head is beyond `after`. A hint may be lost, so it also looks by itself now and then.
    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError>;

    /// Items under `key` after `after` in byte order, with the stream each lives in.
    async fn find(&self, key: &str, after: &str, limit: usize)
    -> Result<Vec<(String, StreamId)>, StoreError>;

    /// The answer kept under an idempotency key that has not expired at `now`.
    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError>;

    /// Takes due outbox rows for `lease`, oldest due first; nobody else gets them until it ends.
    async fn claim(&self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Claimed>, StoreError>;
    /// Done: the row goes away. `false` if the lease was lost.
    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError>;
    /// Try again at `due`. `false` if the lease was lost.
    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError>;
    /// Resolves when the outbox may hold more than it did at `after`, a value of an earlier call (0 at first), and
    /// gives the value to wait on next. A hint: rows also come due by time and from other processes.
    async fn outgoing(&self, after: u64) -> Result<u64, StoreError>;

    /// Destroys the stream's data key and its sealed payloads: the chain stays whole. Payloads appended later are
    /// sealed under a new key.
    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError>;

    /// Takes or renews the right to act alone as `name`, until `now + length`. `None` while another holder has it.
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError>;
    /// Gives the lease back at once. Nothing happens if it was lost.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Gives the next leaf numbers, without a gap and in an order in which each entry comes after its predecessor,
    /// to at most `limit` entries that have none. Returns how many leaves there are now. Refused as
    /// [`StoreError::Fenced`] if the lease was lost. A store whose entries are numbered as they commit only counts.
    async fn number(&self, lease: &Lease, limit: usize) -> Result<u64, StoreError>;
    /// Numbered entries from leaf `from` on, in order, at most `limit`.
    async fn leaves(&self, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError>;
    /// The leaf number of an entry, once it has one.
    async fn leaf(&self, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError>;
    /// Resolves when the store may hold more than `after` entries, numbered or not. A hint.
    async fn grown(&self, after: u64) -> Result<(), StoreError>;

    /// The widest stored tile of a log at this place: 1 to 256 hashes of 32 bytes. A narrower one is its prefix.
    async fn tile(&self, log: &str, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The last published state of a log. The server's own is [`SERVER_LOG`](crate::log::SERVER_LOG).
    async fn published(&self, log: &str) -> Result<Option<Published>, StoreError>;
    /// Stores tiles and checkpoint of the log that the lease is named after in one transaction, if the lease holds (else
    /// [`StoreError::Fenced`]) and the published size still is `expected` (0 if none; else `false`).
    async fn publish(
        &self,
        lease: &Lease,
        expected: u64,
        tiles: Vec<Tile>,
        published: Published,
    ) -> Result<bool, StoreError>;

    /// Streams after `after` in byte order (`None`: from the first).
    async fn streams(&self, after: Option<&StreamId>, limit: usize) -> Result<Vec<StreamId>, StoreError>;
    /// All pointers as (key, item, stream) after the pair `after` in byte order.
    async fn pointers(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, StreamId)>, StoreError>;
    async fn stats(&self) -> Result<Stats, StoreError>;
}

/// One transaction over one or several streams: all of it, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Append {
    pub streams: Vec<StreamAppend>,
    pub outbox: Vec<Outgoing>,
    /// Each pointer belongs to the stream it finds.
    pub pointers: Vec<(StreamId, Pointer)>,
    pub idempotency: Option<Idempotency>,
}

impl Append {
    /// Whether every entry follows its predecessor by number and hash, every payload is its digest, and no stream
    /// is named twice. What the protocol's chain rule says about `hash` is not the store's to know.
    pub fn check(&self) -> Result<(), StoreError> {
        for (place, part) in self.streams.iter().enumerate() {
            if self.streams.iter().take(place).any(|other| other.stream == part.stream) {
                return Err(StoreError::Broken("a stream is named twice"));
            }
            let mut at = part.expected;
            for entry in &part.entries {
                if entry.seq != at.seq.saturating_add(1) {
                    return Err(StoreError::Broken("an entry has the wrong number"));
                }
                if entry.prev != at.hash {
                    return Err(StoreError::Broken("an entry does not follow its predecessor"));
                }
                if entry.payload.as_ref().is_some_and(|payload| Digest::of(&payload.bytes) != payload.digest)
                {
                    return Err(StoreError::Broken("a payload is not its digest"));
                }
                at = Head { seq: entry.seq, hash: entry.hash };
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub struct StreamAppend {
    pub stream: StreamId,
    /// The head this was decided on. A stream that has moved refuses the whole append.
    pub expected: Head,
    pub entries: Vec<Entry>,
}

impl StreamAppend {
    /// Where the stream ends once this is appended.
    pub fn head(&self) -> Head {
        self.entries.last().map_or(self.expected, |last| Head { seq: last.seq, hash: last.hash })
    }
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
    /// When the decision was made: a key that expired before is free again.
    pub now: Timestamp,
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
    /// How often it was claimed before.
    pub attempts: u32,
    /// Fences a worker whose lease ran out: completing with an old one changes nothing.
    pub lease: u64,
}

/// The right to act alone under a name. Each new holder has a larger epoch, which fences the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub epoch: u64,
    pub until: Timestamp,
}

/// An entry as a leaf of the server's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// 0 for the first leaf, then without a gap.
    pub index: u64,
    pub stream: StreamId,
    pub seq: u64,
    pub hash: Digest,
}

impl Leaf {
    /// What the log hashes: SHA-256(stream id) ‖ seq as u64 big endian ‖ entry hash, 72 bytes.
    pub fn data(&self) -> [u8; 72] {
        ledger::log::leaf_data(&self.stream, self.seq, &self.hash)
    }
}

/// A hash tile of a log (C2SP tlog-tiles), full or partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    pub level: u8,
    pub index: u64,
    /// 1 to 256 hashes, 32 bytes each.
    pub hashes: Vec<u8>,
}

/// A signed state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub size: u64,
    pub root: Digest,
    /// The C2SP checkpoint: a signed note.
    pub note: String,
    pub at: Timestamp,
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    pub streams: u64,
    pub entries: u64,
    /// Outbox rows not yet done.
    pub outbox: u64,
}
