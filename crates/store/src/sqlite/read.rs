//! Everything that only reads.

use super::heads::Heads;
use super::poll;
use super::schema::{self, failed, signed, unsigned};
use super::writer::{find_stream, read_head};
use crate::journal::{Claimed, Leaf, Lease, Published, Stats};
use crate::log::SERVER_LOG;
use crate::{ServerKey, StoreError};
use canon::Digest;
use env::Timestamp;
use ledger::{Entry, Head, StreamId};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Reading connections of a process, opened as they are needed.
const READERS: usize = 4;

/// A pool of reading connections, each used by one call at a time on a thread that may block.
#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: Arc::new(path.to_owned()),
            permits: Arc::new(Semaphore::new(READERS)),
            idle: Arc::default(),
        }
    }

    /// Runs what looks at a few pages here and now if a connection is free: changing threads would cost more.
    pub(super) async fn glance<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Ok(_permit) = self.permits.try_acquire() {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(connection) = idle {
                let result = work(&connection);
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
                return result;
            }
        }
        self.run(work).await
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let closed = || StoreError::Unavailable("the journal was closed".into());
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| closed())?;
        let pool = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = idle.map_or_else(|| schema::open_reader(&pool.path), Ok)?;
            let result = work(&connection);
            pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            result
        });
        done.await.map_err(|_| closed())?
    }
}

pub(super) fn head(connection: &Connection, heads: &Heads, stream: &StreamId) -> Result<Head, StoreError> {
    if let Some(head) = heads.at(poll::last_id(connection)?, stream) {
        return Ok(head);
    }
    find_stream(connection, stream)?.map_or(Ok(Head::EMPTY), |id| read_head(connection, id))
}

pub(super) fn entries(
    connection: &Connection,
    server: &ServerKey,
    stream: &StreamId,
    after: u64,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    // One snapshot: an erasure takes the key and the payloads together.
    let snapshot = connection.unchecked_transaction().map_err(failed)?;
    let Some(id) = find_stream(&snapshot, stream)? else { return Ok(Vec::new()) };
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // The newest entries may have no place yet; of one stream they all come after those that have.
    let mut rows = all(
        &snapshot,
        "SELECT e.seq, e.prev, e.hash, e.bytes, e.digest, e.sealed FROM place p JOIN entry e ON e.id = p.entry
         WHERE p.stream = ?1 AND p.seq > ?2 ORDER BY p.seq LIMIT ?3",
        params![id, after, limit],
        stored,
    )?;
    let left = limit.saturating_sub(bound(rows.len()));
    rows.append(&mut all(
        &snapshot,
        "SELECT seq, prev, hash, bytes, digest, sealed FROM entry
         WHERE id > (SELECT upto FROM placed) AND stream = ?1 AND seq > ?2 ORDER BY id LIMIT ?3",
        params![id, after, left],
        stored,
    )?);
    let mut key = None;
    let mut erased = None;
    let mut entries = Vec::with_capacity(rows.len());
    for (seq, prev, hash, bytes, digest, sealed) in rows {
        let seq = unsigned(seq)?;
        let payload = match (digest, sealed) {
            (None, None) => None,
            (Some(_), None) => {
                let upto = match erased {
                    Some(upto) => upto,
                    None => *erased.insert(erased_before(&snapshot, id)?),
                };
                if seq >= upto {
                    return Err(StoreError::Corrupt(format!(
                        "the payload of entry {seq} of {stream} is gone"
                    )));
                }
                None
            }
            (None, Some(_)) => {
                return Err(StoreError::Corrupt(format!("entry {seq} of {stream} has no digest")));
            }
            (Some(digest), Some(sealed)) => {
                let key = match &mut key {
                    Some(key) => key,
                    none => none.insert(wrapped(&snapshot, server, stream, id)?),
                };
                Some(key.open(stream, seq, Digest::from_bytes(digest), &sealed)?)
            }
        };
        entries.push(Entry {
            seq,
            prev: Digest::from_bytes(prev),
            hash: Digest::from_bytes(hash),
            bytes,
            payload,
        });
    }
    Ok(entries)
}

pub(super) fn find(
    connection: &Connection,
    key: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<(String, StreamId)>, StoreError> {
    let sql = "SELECT p.item, s.name FROM pointer p JOIN stream s ON s.id = p.stream
         WHERE p.key = ?1 AND p.item > ?2 ORDER BY p.item LIMIT ?3";
    all(connection, sql, params![key, after, bound(limit)], |row| Ok((row.get(0)?, name(row, 1)?)))
}

pub(super) fn pointers(
    connection: &Connection,
    key: &str,
    item: &str,
    limit: usize,
) -> Result<Vec<(String, String, StreamId)>, StoreError> {
    let sql = "SELECT p.key, p.item, s.name FROM pointer p JOIN stream s ON s.id = p.stream
         WHERE (p.key, p.item) > (?1, ?2) ORDER BY p.key, p.item LIMIT ?3";
    all(connection, sql, params![key, item, bound(limit)], |row| {
        Ok((row.get(0)?, row.get(1)?, name(row, 2)?))
    })
}

pub(super) fn streams(
    connection: &Connection,
    after: &str,
    limit: usize,
) -> Result<Vec<StreamId>, StoreError> {
    let sql = "SELECT name FROM stream WHERE name > ?1 ORDER BY name LIMIT ?2";
    all(connection, sql, params![after, bound(limit)], |row| name(row, 0))
}

/// An outbox row as stored.
pub(super) struct Due {
    pub id: i64,
    stream: StreamId,
    effect: Vec<u8>,
    claims: i64,
    fence: i64,
}

impl Due {
    /// The row as claimed once more.
    pub(super) fn open(self, key: &ServerKey) -> Result<Claimed, StoreError> {
        let effect = key.unseal(self.stream.as_str(), &self.effect)?;
        let effect = canon::from_slice(&effect).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Claimed {
            id: self.id,
            stream: self.stream,
            effect,
            attempts: u32::try_from(self.claims).unwrap_or(u32::MAX),
            lease: unsigned(self.fence)?.saturating_add(1),
        })
    }
}

pub(super) fn due(connection: &Connection, now: Timestamp, limit: i64) -> Result<Vec<Due>, StoreError> {
    let sql =
        "SELECT o.id, s.name, o.effect, o.claims, o.fence FROM outbox o JOIN stream s ON s.id = o.stream
         WHERE o.due <= ?1 AND o.leased_until <= ?1 ORDER BY o.due, o.id LIMIT ?2";
    all(connection, sql, params![now.as_micros(), limit], |row| {
        Ok(Due {
            id: row.get(0)?,
            stream: name(row, 1)?,
            effect: row.get(2)?,
            claims: row.get(3)?,
            fence: row.get(4)?,
        })
    })
}

pub(super) fn is_due(connection: &Connection, now: Timestamp) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM outbox WHERE due <= ?1 AND leased_until <= ?1)")
        .and_then(|mut select| select.query_row([now.as_micros()], |row| row.get(0)))
        .map_err(failed)
}

/// Refused unless the lease's epoch is the newest.
pub(super) fn fence(connection: &Connection, lease: &Lease) -> Result<(), StoreError> {
    let epoch: Option<i64> = connection
        .prepare_cached("SELECT epoch FROM lease WHERE name = ?1 AND holder <> ''")
        .and_then(|mut select| select.query_row([&lease.name], |row| row.get(0)).optional())
        .map_err(failed)?;
    if epoch == Some(signed(lease.epoch)?) { Ok(()) } else { Err(StoreError::Fenced(lease.name.clone())) }
}

pub(super) fn leaves(connection: &Connection, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
    let sql = "SELECT e.id, s.name, e.seq, e.hash FROM entry e JOIN stream s ON s.id = e.stream
         WHERE e.id > ?1 ORDER BY e.id LIMIT ?2";
    let rows = all(connection, sql, params![signed(from)?, bound(limit)], |row| {
        Ok((row.get::<_, i64>(0)?, name(row, 1)?, row.get::<_, i64>(2)?, row.get::<_, [u8; 32]>(3)?))
    })?;
    rows.into_iter()
        .map(|(id, stream, seq, hash)| {
            let index = unsigned(id)?.saturating_sub(1);
            Ok(Leaf { index, stream, seq: unsigned(seq)?, hash: Digest::from_bytes(hash) })
        })
        .collect()
}

pub(super) fn leaf(connection: &Connection, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
    let Some(stream) = find_stream(connection, stream)? else { return Ok(None) };
    let one = |sql: &str| -> Result<Option<i64>, StoreError> {
        connection
            .prepare_cached(sql)
            .and_then(|mut select| {
                select.query_row(params![stream, signed(seq).unwrap_or(0)], |row| row.get(0)).optional()
            })
            .map_err(failed)
    };
    // In this order: one that gets its place meanwhile is found there.
    let id = match one(
        "SELECT id FROM entry WHERE id > (SELECT upto FROM placed) AND stream = ?1 AND seq = ?2",
    )? {
        Some(id) => Some(id),
        None => one("SELECT entry FROM place WHERE stream = ?1 AND seq = ?2")?,
    };
    id.map(|id| Ok(unsigned(id)?.saturating_sub(1))).transpose()
}

pub(super) fn tile(
    connection: &Connection,
    log: &str,
    level: u8,
    index: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    connection
        .prepare_cached("SELECT hashes FROM tile WHERE log = ?1 AND level = ?2 AND place = ?3")
        .and_then(|mut select| {
            select
                .query_row(params![log, level, i64::try_from(index).unwrap_or(-1)], |row| row.get(0))
                .optional()
        })
        .map_err(failed)
}

pub(super) fn published(connection: &Connection, log: &str) -> Result<Option<Published>, StoreError> {
    latest(connection, "SELECT size, root, note, at FROM published WHERE log = ?1", params![log])
}

/// What the server's log has published, in a file of any version.
pub(super) fn published_ever(connection: &Connection) -> Result<Option<Published>, StoreError> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    // Before version 3 a store had one log.
    if version < 3 {
        return latest(connection, "SELECT size, root, note, at FROM published", params![]);
    }
    published(connection, SERVER_LOG)
}

fn latest(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Option<Published>, StoreError> {
    let row = connection
        .prepare_cached(sql)
        .and_then(|mut select| {
            select
                .query_row(values, |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?, row.get(2)?, row.get(3)?))
                })
                .optional()
        })
        .map_err(failed)?;
    row.map(|(size, root, note, at)| {
        Ok(Published {
            size: unsigned(size)?,
            root: Digest::from_bytes(root),
            note,
            at: Timestamp::from_micros(at),
        })
    })
    .transpose()
}

pub(super) fn stats(connection: &Connection) -> Result<Stats, StoreError> {
    let (streams, outbox): (i64, i64) = connection
        .query_row("SELECT (SELECT count(*) FROM stream), (SELECT count(*) FROM outbox)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(failed)?;
    Ok(Stats {
        streams: unsigned(streams)?,
        entries: super::poll::last_id(connection)?,
        outbox: unsigned(outbox)?,
    })
}

type Stored = (i64, [u8; 32], [u8; 32], Vec<u8>, Option<[u8; 32]>, Option<Vec<u8>>);

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

/// Below which number the payloads of a stream may be erased. With them goes the data key; a later payload gets another
/// one, so with a key only those before the first sealed one can have been.
fn erased_before(connection: &Connection, id: i64) -> Result<u64, StoreError> {
    let has_key: bool = connection
        .prepare_cached("SELECT key IS NOT NULL FROM stream WHERE id = ?1")
        .and_then(|mut select| select.query_row([id], |row| row.get(0)))
        .map_err(failed)?;
    if !has_key {
        return Ok(u64::MAX);
    }
    let first: Option<i64> = connection
        .prepare_cached(
            "SELECT min(seq) FROM (
                 SELECT e.seq FROM place p JOIN entry e ON e.id = p.entry WHERE p.stream = ?1 AND e.sealed IS NOT NULL
                 UNION ALL
                 SELECT seq FROM entry WHERE id > (SELECT upto FROM placed) AND stream = ?1 AND sealed IS NOT NULL)",
        )
        .and_then(|mut select| select.query_row([id], |row| row.get(0)))
        .map_err(failed)?;
    first.map_or(Ok(0), unsigned)
}

fn wrapped(
    connection: &Connection,
    server: &ServerKey,
    stream: &StreamId,
    id: i64,
) -> Result<crate::DataKey, StoreError> {
    let key: Option<Vec<u8>> = connection
        .prepare_cached("SELECT key FROM stream WHERE id = ?1")
        .and_then(|mut select| select.query_row([id], |row| row.get(0)))
        .map_err(failed)?;
    let key =
        key.ok_or_else(|| StoreError::Corrupt(format!("{stream} has sealed payloads and no data key")))?;
    server.unwrap(stream, &key)
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut select = connection.prepare_cached(sql).map_err(failed)?;
    let rows = select.query_map(values, read).map_err(failed)?;
    rows.collect::<Result<_, _>>().map_err(failed)
}

fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<StreamId> {
    row.get::<_, String>(column)?.parse().map_err(|fault: ledger::Fault| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(fault))
    })
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
