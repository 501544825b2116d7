//! The journal in PostgreSQL: any number of server processes share one database.
//!
//! An append is one statement, [`single`] or `append_entries` of the migrations, and commits by itself. What holds there holds
//! whatever this module does: the key (stream, seq) and the comparison with the stored hash make a fork impossible.

mod error;
mod hints;
mod keys;
mod lanes;
mod leases;
mod log;
mod outbox;
mod rows;
mod sequencer;
mod single;

pub use sequencer::SEQUENCER;

use crate::hub::Hub;
use crate::{
    Append, Claimed, Journal, Leaf, Lease, Published, Remembered, ServerKey, Stats, StoreError, Tile,
};
use async_trait::async_trait;
use canon::Digest;
use env::{Duration, Timestamp};
use error::{Failure, unreachable, unread, unwritten};
use hints::{Hints, Moved};
use keys::Keys;
use lanes::Lanes;
use ledger::{Entry, Head, Payload, StreamId};
use rows::{Columns, Prepared};
use sequencer::Sequencer;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{Connection, Executor, PgPool, Row};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinSet;

/// How a process uses the database.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Connections at most, though never less than four: two thirds are for appends, one of the others listens.
    pub connections: u32,
    /// Whether this process may be the sequencer, which batches appends while it holds the lease.
    pub sequencer: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 20, sequencer: true }
    }
}

/// A journal in one PostgreSQL database. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Postgres(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    lanes: Lanes,
    hub: Hub,
    keys: Keys,
    hints: Hints,
    sequencer: Option<Sequencer>,
    /// How many entries were numbered when their queue was last swept.
    swept: AtomicU64,
    /// Ends with the journal.
    _tasks: JoinSet<()>,
}

impl Postgres {
    /// Connects, brings the schema up to date (one process at a time) and refuses a database of another server key.
    pub async fn open(url: &str, key: ServerKey, options: Options) -> Result<Self, StoreError> {
        let connect: PgConnectOptions = url.parse().map_err(unreachable)?;
        let for_appends = (options.connections.saturating_mul(2) / 3).max(1);
        let pool = PgPoolOptions::new()
            .max_connections(options.connections.saturating_sub(for_appends).max(3))
            .acquire_timeout(PATIENCE)
            .test_before_acquire(false)
            .before_acquire(|connection, about| {
                Box::pin(async move {
                    if about.idle_for < IDLE {
                        return Ok(true);
                    }
                    connection.ping().await.map(|()| true)
                })
            })
            .after_connect(|connection, _| Box::pin(settle(connection)))
            .connect_with(connect.clone())
            .await
            .map_err(unreachable)?;
        MIGRATIONS.run(&pool).await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let fingerprint = key.fingerprint();
        if leases::mark(&pool, "server_key", fingerprint.as_bytes()).await? != fingerprint.as_bytes() {
            return Err(StoreError::WrongKey);
        }
        warn_if_volatile(&pool).await?;
        let hub = Hub::default();
        let mut tasks = JoinSet::new();
        let lanes = Lanes::new(connect, usize::try_from(for_appends).unwrap_or(usize::MAX));
        let hints = hints::start(&pool, &lanes, &hub, &mut tasks);
        let sequencer = options.sequencer.then(|| {
            let (sequencer, task) = Sequencer::new(pool.clone(), lanes.clone());
            tasks.spawn(task);
            sequencer
        });
        let keys = Keys::new(pool.clone(), key);
        Ok(Self(Arc::new(Inner {
            pool,
            lanes,
            hub,
            keys,
            hints,
            sequencer,
            swept: AtomicU64::new(0),
            _tasks: tasks,
        })))
    }

    /// Whether this process is the sequencer now.
    pub fn is_sequencer(&self) -> bool {
        self.0.sequencer.as_ref().is_some_and(Sequencer::is_held)
    }

    /// Ends all connections. Calls are refused from then on.
    pub async fn close(&self) {
        self.0.lanes.close();
        self.0.pool.close().await;
    }
}

/// How long a call waits for a connection.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// A connection unused for longer is tried before it is used: then its loss is known before anything is sent.
const IDLE: std::time::Duration = std::time::Duration::from_secs(1);
/// Other processes' entries are looked for this often by whoever waits for the store to grow.
const GROWTH: std::time::Duration = std::time::Duration::from_millis(100);
/// The queue of the log is swept after so many entries.
const SWEEP: u64 = 20_000;
/// Appends rolled back through no fault of theirs are tried this often.
const TRIES: usize = 5;

/// The names of all streams after one, from key to key: entries between are not read.
macro_rules! each_stream {
    ($after:literal) => {
        concat!(
            "WITH RECURSIVE name (stream) AS (
                 (SELECT stream FROM entry WHERE stream > ",
            $after,
            " ORDER BY stream LIMIT 1)
                 UNION ALL
                 SELECT (SELECT e.stream FROM entry e WHERE e.stream > n.stream ORDER BY e.stream LIMIT 1)
                 FROM name n WHERE n.stream IS NOT NULL
             )"
        )
    };
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/postgres");

/// Every statement finds stored rows by key, so one plan serves for ever, however little the planner knows yet.
async fn settle(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    connection
        .execute(
            "SET statement_timeout = '30s'; SET jit = off; SET plan_cache_mode = force_generic_plan;
             SET enable_seqscan = off; SET enable_mergejoin = off;
             SET default_transaction_isolation = 'read committed';
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        )
        .await
        .map(|_| ())
}

async fn warn_if_volatile(pool: &PgPool) -> Result<(), StoreError> {
    for name in ["fsync", "full_page_writes"] {
        let value: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(name)
            .fetch_one(pool)
            .await
            .map_err(unread)?;
        if value == "off" {
            tracing::warn!(
                setting = name,
                "PostgreSQL is set so that a power cut may lose acknowledged entries"
            );
        }
    }
    Ok(())
}

async fn write_to(connection: &mut PgConnection, prepared: &Prepared) -> Result<(), Failure> {
    if let Some(one) = prepared.one()
        && single::append(connection, &one).await?
    {
        return Ok(());
    }
    let mut columns = Columns::default();
    columns.add(prepared);
    columns.append(connection).await
}

impl Inner {
    /// Writes through the sequencer if this process is it, else directly. Gives the append back.
    async fn write(&self, prepared: Prepared) -> Result<(Prepared, Result<(), Failure>), StoreError> {
        let mut prepared = prepared;
        if let Some(sequencer) = &self.sequencer
            && sequencer.is_held()
            && prepared.is_single()
        {
            prepared = match sequencer.append(prepared).await {
                Ok((prepared, Err(Failure::Store(StoreError::Fenced(_))))) => prepared,
                Ok(outcome) => return Ok(outcome),
                Err(Some(prepared)) => prepared,
                Err(None) => return Err(StoreError::Unknown("the sequencer ended".into())),
            };
        }
        let mut lane = self.lanes.take().await?;
        let result = write_to(&mut lane.connection, &prepared).await;
        if !matches!(result, Err(Failure::Store(StoreError::Unknown(_)))) {
            lane.done();
        }
        Ok((prepared, result))
    }

    /// Refuses the append if one of its streams has moved.
    async fn compare(&self, append: &Append) -> Result<(), StoreError> {
        for part in &append.streams {
            let actual = self.head(&part.stream).await?;
            if actual != part.expected {
                return Err(StoreError::Stale { stream: part.stream.clone(), actual });
            }
        }
        Ok(())
    }

    async fn repeated(&self, append: &Append) -> StoreError {
        let Some(idem) = &append.idempotency else {
            return StoreError::Corrupt("an append without an idempotency key was called repeated".into());
        };
        match self.recall(&idem.scope, &idem.key, idem.now).await {
            Ok(Some(remembered)) => StoreError::Repeated(remembered),
            Ok(None) => StoreError::Unavailable("an idempotency key expired meanwhile".into()),
            Err(error) => error,
        }
    }

    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError> {
        let row = sqlx::query(
            "SELECT request, response FROM idempotency WHERE scope = $1 AND key = $2 AND expires > $3",
        )
        .bind(scope)
        .bind(key)
        .bind(now.as_micros())
        .fetch_optional(&self.pool)
        .await
        .map_err(unread)?;
        row.map(|row| {
            let sealed: &[u8] = row.try_get(1).map_err(unread)?;
            Ok(Remembered {
                request: digest(row.try_get(0).map_err(unread)?)?,
                response: self.keys.server().unseal(&rows::answer_context(scope, key), sealed)?,
            })
        })
        .transpose()
    }

    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError> {
        let row = sqlx::query("SELECT seq, hash FROM entry WHERE stream = $1 ORDER BY seq DESC LIMIT 1")
            .bind(stream.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(unread)?;
        row.map_or(Ok(Head::EMPTY), |row| {
            Ok(Head {
                seq: count(row.try_get(0).map_err(unread)?),
                hash: digest(row.try_get(1).map_err(unread)?)?,
            })
        })
    }
}

#[async_trait]
impl Journal for Postgres {
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError> {
        append.check()?;
        let inner = &self.0;
        let heads = append.streams.iter().map(crate::StreamAppend::head).collect();
        let mut prepared = Prepared::new(append, &inner.keys).await?;
        let mut said = String::new();
        for _ in 0..TRIES {
            let (back, result) = inner.write(prepared).await?;
            prepared = match result {
                Ok(()) => {
                    inner.landed(back);
                    return Ok(heads);
                }
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Repeated) => return Err(inner.repeated(&back.append).await),
                Err(Failure::Taken) => {
                    inner.compare(&back.append).await?;
                    "others kept taking its number".clone_into(&mut said);
                    back
                }
                Err(Failure::Again(error)) => {
                    said = error;
                    back
                }
                Err(Failure::Rekey) => {
                    "a data key kept changing".clone_into(&mut said);
                    for key in &back.keys {
                        inner.keys.reload(&key.stream).await?;
                    }
                    Prepared::new(back.append, &inner.keys).await?
                }
            };
        }
        Err(StoreError::Unavailable(said))
    }

    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError> {
        self.0.head(stream).await
    }

    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        // The key and the payloads of one statement: an erasure takes both together.
        let rows = sqlx::query(
            "SELECT e.seq, e.prev, e.hash, e.bytes, e.payload_digest, e.payload, CASE WHEN e.payload IS NOT NULL THEN
                 (SELECT d.wrapped FROM data_key d WHERE d.stream = e.stream AND d.id = e.payload_key) END
             FROM entry e
             WHERE e.stream = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3",
        )
        .bind(stream.as_str())
        .bind(int(after))
        .bind(limit_of(limit))
        .fetch_all(&self.0.pool)
        .await
        .map_err(unread)?;
        let mut opened = HashMap::new();
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let seq = count(row.try_get(0).map_err(unread)?);
            let named: Option<&[u8]> = row.try_get(4).map_err(unread)?;
            let sealed: Option<&[u8]> = row.try_get(5).map_err(unread)?;
            let wrapped: Option<&[u8]> = row.try_get(6).map_err(unread)?;
            // Without its key a payload is erased, even if an append that raced the erasure left its sealed bytes.
            let payload: Option<Payload> = match (named, sealed, wrapped) {
                (Some(named), Some(sealed), Some(wrapped)) => {
                    let key = match opened.entry(wrapped) {
                        std::collections::hash_map::Entry::Occupied(key) => key.into_mut(),
                        std::collections::hash_map::Entry::Vacant(none) => {
                            none.insert(self.0.keys.server().unwrap(stream, wrapped)?)
                        }
                    };
                    Some(key.open(stream, seq, digest(named)?, sealed)?)
                }
                _ => None,
            };
            entries.push(Entry {
                seq,
                prev: digest(row.try_get(1).map_err(unread)?)?,
                hash: digest(row.try_get(2).map_err(unread)?)?,
                bytes: row.try_get(3).map_err(unread)?,
                payload,
            });
        }
        Ok(entries)
    }

    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        let mut waiter = self.0.hub.subscribe(stream);
        loop {
            let head = self.0.head(stream).await?;
            if head.seq > after {
                return Ok(head);
            }
            waiter.beyond(head.seq.max(after)).await;
        }
    }

    async fn find(
        &self,
        key: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, StreamId)>, StoreError> {
        let rows = sqlx::query(
            "SELECT item, stream FROM pointer WHERE key = $1 AND item > $2 ORDER BY item LIMIT $3",
        )
        .bind(key)
        .bind(after)
        .bind(limit_of(limit))
        .fetch_all(&self.0.pool)
        .await
        .map_err(unread)?;
        rows.iter()
            .map(|row| Ok((row.try_get(0).map_err(unread)?, stream_of(row.try_get(1).map_err(unread)?)?)))
            .collect()
    }

    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError> {
        self.0.recall(scope, key, now).await
    }

    async fn claim(&self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Claimed>, StoreError> {
        outbox::claim(&self.0.pool, self.0.keys.server(), now, lease, limit).await
    }

    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError> {
        outbox::complete(&self.0.pool, id, lease).await
    }

    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError> {
        outbox::postpone(&self.0.pool, id, lease, due).await
    }

    async fn outgoing(&self, after: u64) -> Result<u64, StoreError> {
        let mut outbox = self.0.hub.outbox();
        let count = outbox.wait_for(|count| *count > after).await.map(|count| *count);
        count.map_err(|_| StoreError::Unavailable("the journal was closed".into()))
    }

    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError> {
        self.0.keys.forget(stream);
        let mut connection = self.0.pool.acquire().await.map_err(unreachable)?;
        sqlx::query(
            "WITH gone AS (DELETE FROM data_key WHERE stream = $1)
             UPDATE entry SET payload = NULL, payload_key = NULL, payload_digest = NULL
             WHERE stream = $1 AND payload IS NOT NULL",
        )
        .bind(stream.as_str())
        .execute(&mut *connection)
        .await
        .map(|_| ())
        .map_err(unwritten)
    }

    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        leases::take(&self.0.pool, name, holder, now, length).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        leases::release(&self.0.pool, lease).await
    }

    async fn number(&self, lease: &Lease, limit: usize) -> Result<u64, StoreError> {
        let total = log::number(&self.0.pool, lease, limit).await?;
        let swept = self.0.swept.load(Ordering::Relaxed);
        if total >= swept.saturating_add(SWEEP) {
            self.0.swept.store(total, Ordering::Relaxed);
            log::sweep(&self.0.pool).await;
        }
        Ok(total)
    }

    async fn leaves(&self, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
        log::leaves(&self.0.pool, from, limit).await
    }

    async fn leaf(&self, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
        log::leaf(&self.0.pool, stream, seq).await
    }

    async fn grown(&self, after: u64) -> Result<(), StoreError> {
        let mut entries = self.0.hub.entries();
        loop {
            entries.mark_unchanged();
            if log::has_grown(&self.0.pool, after).await? {
                return Ok(());
            }
            let _ = tokio::time::timeout(GROWTH, entries.changed()).await;
        }
    }

    async fn tile(&self, log: &str, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        log::tile(&self.0.pool, log, level, index).await
    }

    async fn published(&self, log: &str) -> Result<Option<Published>, StoreError> {
        log::published(&self.0.pool, log).await
    }

    async fn publish(
        &self,
        lease: &Lease,
        expected: u64,
        tiles: Vec<Tile>,
        published: Published,
    ) -> Result<bool, StoreError> {
        log::publish(&self.0.pool, lease, expected, tiles, published).await
    }

    async fn streams(&self, after: Option<&StreamId>, limit: usize) -> Result<Vec<StreamId>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(concat!(
            each_stream!("$1"),
            " SELECT stream FROM name WHERE stream IS NOT NULL LIMIT $2"
        ))
        .bind(after.map_or("", StreamId::as_str))
        .bind(limit_of(limit))
        .fetch_all(&self.0.pool)
        .await
        .map_err(unread)?;
        names.iter().map(|name| stream_of(name)).collect()
    }

    async fn pointers(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, StreamId)>, StoreError> {
        let rows = sqlx::query(
            "SELECT key, item, stream FROM pointer WHERE (key, item) > ($1, $2) ORDER BY key, item LIMIT $3",
        )
        .bind(after.0)
        .bind(after.1)
        .bind(limit_of(limit))
        .fetch_all(&self.0.pool)
        .await
        .map_err(unread)?;
        rows.iter()
            .map(|row| {
                let stream = stream_of(row.try_get(2).map_err(unread)?)?;
                Ok((row.try_get(0).map_err(unread)?, row.try_get(1).map_err(unread)?, stream))
            })
            .collect()
    }

    async fn stats(&self) -> Result<Stats, StoreError> {
        let row = sqlx::query(concat!(
            each_stream!("''"),
            " SELECT (SELECT count(stream) FROM name),
                 coalesce((SELECT index + count FROM leaf ORDER BY index DESC LIMIT 1), 0)
                     + (SELECT coalesce(sum(total), 0) FROM unnumbered),
                 (SELECT count(*) FROM outbox)"
        ))
        .fetch_one(&self.0.pool)
        .await
        .map_err(unread)?;
        Ok(Stats {
            streams: count(row.try_get(0).map_err(unread)?),
            entries: count(row.try_get(1).map_err(unread)?),
            outbox: count(row.try_get(2).map_err(unread)?),
        })
    }
}

impl Inner {
    /// Tells whoever waits, here and elsewhere.
    fn landed(&self, prepared: Prepared) {
        let mut streams = Vec::with_capacity(prepared.append.streams.len());
        for part in &prepared.append.streams {
            if !part.entries.is_empty() {
                let head = part.head();
                self.hub.moved(&part.stream, head);
                streams.push((part.stream.clone(), head.seq));
            }
        }
        if !streams.is_empty() {
            self.hub.grown(None);
        }
        let outbox = !prepared.append.outbox.is_empty();
        if outbox {
            self.hub.outgoing();
        }
        self.keys.stored(prepared.keys);
        self.hints.tell(Moved { streams, outbox });
    }
}

/// PostgreSQL's integers are signed; nothing counted here gets near the end.
fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn digest(bytes: &[u8]) -> Result<Digest, StoreError> {
    <[u8; 32]>::try_from(bytes)
        .map(Digest::from_bytes)
        .map_err(|_| StoreError::Corrupt("a stored digest has not 32 bytes".into()))
}

fn stream_of(name: &str) -> Result<StreamId, StoreError> {
    name.parse().map_err(|_| StoreError::Corrupt(format!("'{name}' is no stream")))
}
