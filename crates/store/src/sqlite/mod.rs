//! The journal in one SQLite file: one writing thread a process with group commit, a pool of readers, a poller for what
//! other processes append, and a thread that moves the write-ahead log into the file. Several processes may share it:
//! heads are true inside the writing transaction, and forgotten once another process has committed.

mod backup;
mod checkpoint;
mod heads;
mod poll;
mod read;
mod schema;
mod writer;

pub use backup::{Manifest, restore};

use crate::hub::Hub;
use crate::journal::{Append, Claimed, Journal, Leaf, Lease, Published, Remembered, Stats, Tile};
use crate::{ServerKey, StoreError};
use async_trait::async_trait;
use env::{Duration, Timestamp};
use heads::Heads;
use ledger::{Entry, Head, StreamId};
use poll::Poller;
use read::Readers;
use rusqlite::{Connection, OptionalExtension, params};
use schema::{failed, signed, unsigned};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;
use writer::{Job, Writer};

/// A journal in one file. Clones share its threads, which end with the last of them.
#[derive(Clone)]
pub struct Sqlite {
    jobs: mpsc::Sender<Job>,
    readers: Readers,
    hub: Hub,
    heads: Heads,
    key: ServerKey,
    path: PathBuf,
    _alive: [mpsc::Sender<()>; 2],
}

impl Sqlite {
    /// Opens the file, makes it where there is none, and brings it up to date. Blocks for as long as that takes.
    pub fn open(path: &Path, key: ServerKey) -> Result<Self, StoreError> {
        let connection = schema::open_writer(path, &key)?;
        let hub = Hub::default();
        let announced = Arc::new(AtomicU64::new(poll::last_id(&connection)?));
        let (jobs, waiting) = mpsc::channel();
        let (alive, ends) = mpsc::channel();
        let (moving, moved) = mpsc::channel();
        let mover = schema::open_reader(path)?;
        let poller =
            Poller { connection: schema::open_reader(path)?, hub: hub.clone(), announced: announced.clone() };
        let heads = Heads::default();
        let writer =
            Writer { connection, key: key.clone(), hub: hub.clone(), heads: heads.clone(), announced };
        spawn("journal-writer", move || writer.run(&waiting))?;
        spawn("journal-poller", move || poller.run(&ends))?;
        spawn("journal-mover", move || checkpoint::run(&mover, &moved))?;
        let readers = Readers::new(path);
        Ok(Self { jobs, readers, hub, heads, key, path: path.to_owned(), _alive: [alive, moving] })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the whole database as it is at one instant into an empty or new folder, with a manifest.
    pub async fn backup(&self, folder: &Path, now: Timestamp) -> Result<Manifest, StoreError> {
        let folder = folder.to_owned();
        self.readers.run(move |connection| backup::backup(connection, &folder, now)).await
    }

    /// Runs a write in the next transaction; what it does is taken back if it fails. Returns once it is durable.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Other(Box::new(move |transaction| {
            let result = transaction.and_then(|connection| in_savepoint(connection, work));
            Box::new(move |outcome| {
                let _ = reply.send(outcome.and(result));
            })
        }));
        self.send(job)?;
        answer.await.map_err(|_| StoreError::Unknown("the writer ended".into()))?
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| StoreError::Unavailable("the writer has ended".into()))
    }
}

#[async_trait]
impl Journal for Sqlite {
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError> {
        append.check()?;
        let (reply, answer) = oneshot::channel();
        self.send(Job::Append(append, reply))?;
        answer.await.map_err(|_| StoreError::Unknown("the writer ended".into()))?
    }

    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError> {
        let (stream, heads) = (stream.clone(), self.heads.clone());
        self.readers.glance(move |connection| read::head(connection, &heads, &stream)).await
    }

    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let (stream, key) = (stream.clone(), self.key.clone());
        self.readers.run(move |connection| read::entries(connection, &key, &stream, after, limit)).await
    }

    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        let mut waiter = self.hub.subscribe(stream);
        loop {
            let head = self.head(stream).await?;
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
        let (key, after) = (key.to_owned(), after.to_owned());
        self.readers.run(move |connection| read::find(connection, &key, &after, limit)).await
    }

    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError> {
        let (scope, key, server) = (scope.to_owned(), key.to_owned(), self.key.clone());
        self.readers
            .run(move |connection| writer::recall(connection, &server, &scope, &key, now.as_micros()))
            .await
    }

    async fn claim(&self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Claimed>, StoreError> {
        // A look costs no transaction, and most find nothing.
        if !self.readers.glance(move |connection| read::is_due(connection, now)).await? {
            return Ok(Vec::new());
        }
        let key = self.key.clone();
        self.write(move |connection| claim(connection, &key, now, now + lease, limit)).await
    }

    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError> {
        self.write(move |connection| {
            let lease = signed(lease)?;
            changed(connection, "DELETE FROM outbox WHERE id = ?1 AND fence = ?2", params![id, lease])
        })
        .await
    }

    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError> {
        self.write(move |connection| {
            let sql = "UPDATE outbox SET due = ?3, leased_until = ?3, fence = fence + 1 WHERE id = ?1 AND fence = ?2";
            changed(connection, sql, params![id, signed(lease)?, due.as_micros()])
        })
        .await
    }

    async fn outgoing(&self, after: u64) -> Result<u64, StoreError> {
        let mut outbox = self.hub.outbox();
        let count = outbox.wait_for(|count| *count > after).await.map(|count| *count);
        count.map_err(|_| StoreError::Unavailable("the journal was closed".into()))
    }

    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError> {
        let stream = stream.clone();
        self.write(move |connection| {
            let Some(id) = writer::find_stream(connection, &stream)? else { return Ok(()) };
            connection.execute("UPDATE stream SET key = NULL WHERE id = ?1", [id]).map_err(failed)?;
            connection
                .execute(
                    "UPDATE entry SET sealed = NULL WHERE sealed IS NOT NULL AND stream = ?1
                     AND (id IN (SELECT entry FROM place WHERE stream = ?1) OR id > (SELECT upto FROM placed))",
                    [id],
                )
                .map_err(failed)
                .map(drop)
        })
        .await?;
        // The old key is still in the write-ahead log until its pages are moved over and the log is cut.
        self.readers.run(backup::cut_log).await
    }

    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(move |connection| {
            let until = now + length;
            let sql = "INSERT INTO lease (name, holder, epoch, until) VALUES (?1, ?2, 1, ?4)
                 ON CONFLICT (name) DO UPDATE SET
                     epoch = epoch + (holder <> ?2 OR until <= ?3), holder = ?2, until = ?4
                 WHERE holder = ?2 OR until <= ?3
                 RETURNING epoch";
            let epoch: Option<i64> = connection
                .prepare_cached(sql)
                .and_then(|mut upsert| {
                    let values = params![name, holder, now.as_micros(), until.as_micros()];
                    upsert.query_row(values, |row| row.get(0)).optional()
                })
                .map_err(failed)?;
            epoch.map(|epoch| Ok(Lease { name, epoch: unsigned(epoch)?, until })).transpose()
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.write(move |connection| {
            let sql = "UPDATE lease SET until = ?3, holder = '' WHERE name = ?1 AND epoch = ?2";
            changed(connection, sql, params![lease.name, signed(lease.epoch)?, i64::MIN]).map(drop)
        })
        .await
    }

    async fn number(&self, lease: &Lease, _limit: usize) -> Result<u64, StoreError> {
        let lease = lease.clone();
        self.readers
            .run(move |connection| {
                read::fence(connection, &lease)?;
                poll::last_id(connection)
            })
            .await
    }

    async fn leaves(&self, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
        self.readers.run(move |connection| read::leaves(connection, from, limit)).await
    }

    async fn leaf(&self, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
        let stream = stream.clone();
        self.readers.run(move |connection| read::leaf(connection, &stream, seq)).await
    }

    async fn grown(&self, after: u64) -> Result<(), StoreError> {
        let mut entries = self.hub.entries();
        if self.readers.glance(poll::last_id).await? > after {
            return Ok(());
        }
        let heard = entries.wait_for(|count| *count > after).await.map(drop);
        heard.map_err(|_| StoreError::Unavailable("the journal was closed".into()))
    }

    async fn tile(&self, log: &str, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let log = log.to_owned();
        self.readers.run(move |connection| read::tile(connection, &log, level, index)).await
    }

    async fn published(&self, log: &str) -> Result<Option<Published>, StoreError> {
        let log = log.to_owned();
        self.readers.run(move |connection| read::published(connection, &log)).await
    }

    async fn publish(
        &self,
        lease: &Lease,
        expected: u64,
        tiles: Vec<Tile>,
        published: Published,
    ) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.write(move |connection| {
            read::fence(connection, &lease)?;
            if read::published(connection, &lease.name)?.map_or(0, |before| before.size) != expected {
                return Ok(false);
            }
            publish(connection, &lease.name, &tiles, &published)?;
            Ok(true)
        })
        .await
    }

    async fn streams(&self, after: Option<&StreamId>, limit: usize) -> Result<Vec<StreamId>, StoreError> {
        let after = after.map_or_else(String::new, ToString::to_string);
        self.readers.run(move |connection| read::streams(connection, &after, limit)).await
    }

    async fn pointers(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, StreamId)>, StoreError> {
        let (key, item) = (after.0.to_owned(), after.1.to_owned());
        self.readers.run(move |connection| read::pointers(connection, &key, &item, limit)).await
    }

    async fn stats(&self) -> Result<Stats, StoreError> {
        self.readers.run(read::stats).await
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map(drop)
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn in_savepoint<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch("SAVEPOINT work").map_err(failed)?;
    let result = work(connection);
    let end = if result.is_ok() { "RELEASE work" } else { "ROLLBACK TO work; RELEASE work" };
    connection.execute_batch(end).map_err(failed)?;
    result
}

/// Whether the statement changed a row.
fn changed(connection: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<bool, StoreError> {
    let count =
        connection.prepare_cached(sql).and_then(|mut change| change.execute(values)).map_err(failed)?;
    Ok(count > 0)
}

fn claim(
    connection: &Connection,
    key: &ServerKey,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<Claimed>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = read::due(connection, now, limit)?;
    let mut take = connection
        .prepare_cached(
            "UPDATE outbox SET claims = claims + 1, fence = fence + 1, leased_until = ?2 WHERE id = ?1",
        )
        .map_err(failed)?;
    let mut claimed = Vec::with_capacity(due.len());
    for row in due {
        take.execute(params![row.id, until.as_micros()]).map_err(failed)?;
        match row.open(key) {
            Ok(row) => claimed.push(row),
            // One row that does not open must not keep the others from running; it comes up again later.
            Err(error) => tracing::error!(%error, "an outbox row does not open"),
        }
    }
    Ok(claimed)
}

fn publish(
    connection: &Connection,
    log: &str,
    tiles: &[Tile],
    published: &Published,
) -> Result<(), StoreError> {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO tile (log, level, place, hashes) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (log, level, place) DO UPDATE SET hashes = excluded.hashes
             WHERE length(excluded.hashes) > length(hashes)",
        )
        .map_err(failed)?;
    for tile in tiles {
        insert.execute(params![log, tile.level, signed(tile.index)?, tile.hashes]).map_err(failed)?;
    }
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO published (log, size, root, note, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                log,
                signed(published.size).map_err(|_| rusqlite::Error::InvalidQuery)?,
                published.root.as_bytes(),
                published.note,
                published.at.as_micros()
            ])
        })
        .map_err(failed)
        .map(drop)
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}
