//! The one writing thread: it takes whatever waits, commits it as one transaction, and answers when that is durable.

use super::heads::Heads;
use super::schema::{failed, signed, unsigned};
use crate::hub::Hub;
use crate::journal::{Append, Idempotency, Outgoing, Remembered, StreamAppend};
use crate::{DataKey, ServerKey, StoreError};
use canon::Digest;
use ledger::{Entry, Head, Pointer, StreamId};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// The most jobs of one transaction.
const BATCH: usize = 1024;

/// Entries of one INSERT statement.
const ROWS: usize = 8;

/// Streams kept in memory.
const KNOWN: usize = 100_000;

/// Entries without a place, at most, once a transaction is over: as many as a reader looks through.
const UNPLACED: u64 = 512;

/// A transaction of fewer entries gives them their places itself.
const FEW: u64 = 8;

pub(super) enum Job {
    Append(Append, oneshot::Sender<Result<Vec<Head>, StoreError>>),
    Other(Work),
}

/// Any other write. It is given the batch's transaction, or why there is none, and gives what to do once the outcome
/// is known. What it refuses it must take back itself.
pub(super) type Work = Box<dyn FnOnce(Result<&Connection, StoreError>) -> Finish + Send>;
pub(super) type Finish = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

pub(super) struct Writer {
    pub connection: Connection,
    pub key: ServerKey,
    pub hub: Hub,
    pub heads: Heads,
    /// The id of the last entry whose waiters were woken. The poller wakes those of what other processes append.
    pub announced: Arc<AtomicU64>,
}

impl Writer {
    /// Runs until every sender is gone.
    pub(super) fn run(self, jobs: &mpsc::Receiver<Job>) {
        let mut known = Known::default();
        while let Ok(first) = jobs.recv() {
            let batch = std::iter::once(first).chain(jobs.try_iter()).take(BATCH);
            self.commit(batch, &mut known);
        }
    }

    fn commit(&self, jobs: impl Iterator<Item = Job>, known: &mut Known) {
        let begun = self.begin(known).map_err(failed);
        let mut batch = Batch::new(self, known, begun.err());
        for job in jobs {
            batch.run(job);
        }
        batch.end();
    }

    /// Heads stay true from one transaction to the next unless another connection committed in between.
    fn begin(&self, known: &mut Known) -> rusqlite::Result<()> {
        let run = |sql: &str| self.connection.prepare_cached(sql)?.raw_execute().map(drop);
        run("BEGIN IMMEDIATE")?;
        let version =
            self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if known.version != Some(version) || known.heads.len() >= KNOWN {
            self.forget(known);
            known.version = Some(version);
        }
        Ok(())
    }

    fn forget(&self, known: &mut Known) {
        known.heads.clear();
        known.placed = None;
        self.heads.forget();
    }

    /// The poller left off where this process goes on, unless another process appended in between.
    fn announce(&self, first: u64, last: u64) {
        let before = first.saturating_sub(1);
        let _ = self.announced.compare_exchange(before, last, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// What is remembered of streams between transactions.
#[derive(Default)]
struct Known {
    /// Ids never change, so they stay true whatever other processes do.
    ids: HashMap<StreamId, i64>,
    heads: HashMap<i64, Head>,
    /// The last entry that has its place.
    placed: Option<u64>,
    /// What other connections have committed, as SQLite counts it, when `heads` and `placed` were last true.
    version: Option<i64>,
}

/// One transaction while it is made. Once a statement fails nothing of it is kept.
struct Batch<'a> {
    writer: &'a Writer,
    known: &'a mut Known,
    failure: Option<StoreError>,
    answers: Vec<Finish>,
    /// Streams made by this transaction: not known before it commits.
    made: HashMap<StreamId, i64>,
    rows: Vec<Row>,
    moved: Vec<(StreamId, Head)>,
    outgoing: bool,
    inserted: Option<(u64, u64)>,
}

/// An entry ready to be inserted.
struct Row {
    stream: i64,
    entry: Entry,
    sealed: Option<Vec<u8>>,
}

impl<'a> Batch<'a> {
    fn new(writer: &'a Writer, known: &'a mut Known, failure: Option<StoreError>) -> Self {
        Self {
            writer,
            known,
            failure,
            answers: Vec::new(),
            made: HashMap::new(),
            rows: Vec::new(),
            moved: Vec::new(),
            outgoing: false,
            inserted: None,
        }
    }

    fn run(&mut self, job: Job) {
        match job {
            Job::Append(append, reply) => {
                let result = self.append(append);
                self.answers.push(Box::new(move |outcome| {
                    let _ = reply.send(outcome.and(result));
                }));
            }
            Job::Other(work) => {
                if self.failure.is_none()
                    && let Err(error) = self.flush()
                {
                    self.failure = Some(error);
                }
                let transaction = match &self.failure {
                    Some(failure) => Err(failure.clone()),
                    None => Ok(&self.writer.connection),
                };
                self.answers.push(work(transaction));
            }
        }
    }

    /// Everything is looked at before anything is written, so a refusal leaves nothing to take back; a write that
    /// fails ends the whole transaction.
    fn append(&mut self, append: Append) -> Result<Vec<Head>, StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.admit(&append)?;
        self.write(append).inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn admit(&mut self, append: &Append) -> Result<(), StoreError> {
        let connection = &self.writer.connection;
        let server = &self.writer.key;
        if let Some(asked) = &append.idempotency
            && let Some(kept) = recall(connection, server, &asked.scope, &asked.key, asked.now.as_micros())?
        {
            return Err(StoreError::Repeated(kept));
        }
        for part in &append.streams {
            let actual = self.head(&part.stream)?;
            if actual != part.expected {
                return Err(StoreError::Stale { stream: part.stream.clone(), actual });
            }
            signed(part.head().seq)?;
            if part.entries.iter().any(|entry| entry.payload.is_some())
                && let Some(id) = self.find(&part.stream)?
            {
                data_key(connection, server, &part.stream, id)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, append: Append) -> Result<Vec<Head>, StoreError> {
        let mut heads = Vec::with_capacity(append.streams.len());
        for part in append.streams {
            heads.push(self.write_entries(part)?);
        }
        for outgoing in append.outbox {
            self.write_outgoing(&outgoing)?;
        }
        for (stream, pointer) in append.pointers {
            self.write_pointer(&stream, &pointer)?;
        }
        if let Some(idempotency) = append.idempotency {
            self.write_answer(&idempotency)?;
        }
        Ok(heads)
    }

    fn write_entries(&mut self, part: StreamAppend) -> Result<Head, StoreError> {
        let head = part.head();
        if part.entries.is_empty() {
            return Ok(head);
        }
        let stream = self.stream(&part.stream)?;
        let (connection, server) = (&self.writer.connection, &self.writer.key);
        let key = if part.entries.iter().all(|entry| entry.payload.is_none()) {
            None
        } else if let Some(key) = data_key(connection, server, &part.stream, stream)? {
            Some(key)
        } else {
            Some(make_data_key(connection, server, &part.stream, stream)?)
        };
        for entry in part.entries {
            let sealed = match (&entry.payload, &key) {
                (Some(payload), Some(key)) => Some(key.seal(&part.stream, entry.seq, payload)?),
                _ => None,
            };
            self.rows.push(Row { stream, entry, sealed });
        }
        self.known.heads.insert(stream, head);
        self.moved.push((part.stream, head));
        if self.rows.len() >= 64 {
            self.flush()?;
        }
        Ok(head)
    }

    fn write_outgoing(&mut self, outgoing: &Outgoing) -> Result<(), StoreError> {
        let stream = self.stream(&outgoing.stream)?;
        let effect = canon::to_vec(&outgoing.effect)
            .map_err(|_| StoreError::Broken("an effect that cannot be written"))?;
        let sealed = self.writer.key.seal(outgoing.stream.as_str(), &effect)?;
        self.writer
            .connection
            .prepare_cached("INSERT INTO outbox (stream, effect, due) VALUES (?1, ?2, ?3)")
            .and_then(|mut insert| insert.execute(params![stream, sealed, outgoing.due.as_micros()]))
            .map_err(failed)?;
        self.outgoing = true;
        Ok(())
    }

    fn write_pointer(&mut self, stream: &StreamId, pointer: &Pointer) -> Result<(), StoreError> {
        let connection = &self.writer.connection;
        match pointer {
            Pointer::Set { key, item } => {
                let stream = self.stream(stream)?;
                self.writer
                    .connection
                    .prepare_cached("INSERT OR REPLACE INTO pointer (key, item, stream) VALUES (?1, ?2, ?3)")
                    .and_then(|mut insert| insert.execute(params![key, item, stream]))
            }
            Pointer::Clear { key, item } => connection
                .prepare_cached("DELETE FROM pointer WHERE key = ?1 AND item = ?2")
                .and_then(|mut delete| delete.execute(params![key, item])),
        }
        .map_err(failed)
        .map(drop)
    }

    /// Each kept answer sweeps two that have expired, so the table does not grow for ever.
    fn write_answer(&mut self, answer: &Idempotency) -> Result<(), StoreError> {
        let connection = &self.writer.connection;
        let sealed = self.writer.key.seal(&answer_context(&answer.scope, &answer.key), &answer.response)?;
        connection
            .prepare_cached(
                "DELETE FROM answer WHERE id IN (SELECT id FROM answer WHERE expires <= ?1 ORDER BY expires LIMIT 2)",
            )
            .and_then(|mut sweep| sweep.execute([answer.now.as_micros()]))
            .map_err(failed)?;
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO answer (scope, key, request, response, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    answer.scope,
                    answer.key,
                    answer.request.as_bytes(),
                    sealed,
                    answer.expires.as_micros()
                ])
            })
            .map_err(failed)
            .map(drop)
    }

    /// The stream's number, made if it has none.
    fn stream(&mut self, stream: &StreamId) -> Result<i64, StoreError> {
        if let Some(id) = self.find(stream)? {
            return Ok(id);
        }
        let connection = &self.writer.connection;
        connection
            .prepare_cached("INSERT INTO stream (name) VALUES (?1)")
            .and_then(|mut insert| insert.execute([stream.as_str()]))
            .map_err(failed)?;
        let id = connection.last_insert_rowid();
        self.made.insert(stream.clone(), id);
        Ok(id)
    }

    fn find(&mut self, stream: &StreamId) -> Result<Option<i64>, StoreError> {
        if let Some(id) = self.known.ids.get(stream).or_else(|| self.made.get(stream)) {
            return Ok(Some(*id));
        }
        let found = find_stream(&self.writer.connection, stream)?;
        if let Some(id) = found {
            if self.known.ids.len() >= KNOWN {
                self.known.ids.clear();
            }
            self.known.ids.insert(stream.clone(), id);
        }
        Ok(found)
    }

    fn head(&mut self, stream: &StreamId) -> Result<Head, StoreError> {
        let Some(id) = self.find(stream)? else { return Ok(Head::EMPTY) };
        if let Some(head) = self.known.heads.get(&id) {
            return Ok(*head);
        }
        let head = read_head(&self.writer.connection, id)?;
        self.known.heads.insert(id, head);
        Ok(head)
    }

    /// Inserts the rows gathered so far, several a statement.
    fn flush(&mut self) -> Result<(), StoreError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let connection = &self.writer.connection;
        for chunk in rows.chunks(ROWS) {
            if chunk.len() == ROWS {
                insert(connection, INSERT_MANY, chunk)?;
            } else {
                for row in chunk.chunks(1) {
                    insert(connection, INSERT_ONE, row)?;
                }
            }
        }
        let last = unsigned(connection.last_insert_rowid())?;
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let first = self.inserted.map_or(last.saturating_sub(count).saturating_add(1), |(first, _)| first);
        self.inserted = Some((first, last));
        Ok(())
    }

    /// Gives entries their places, once there are many of them or few came together. Refuses a second entry of one
    /// number: the transaction is not committed then.
    fn place(&mut self) -> Result<(), StoreError> {
        let Some((first, last)) = self.inserted else { return Ok(()) };
        let connection = &self.writer.connection;
        let upto = match self.known.placed {
            Some(upto) => upto,
            None => placed(connection)?,
        };
        self.known.placed = Some(upto);
        let count = last.saturating_sub(first).saturating_add(1);
        if count >= FEW && last.saturating_sub(upto) < UNPLACED {
            return Ok(());
        }
        let run = |sql: &str, value: u64| {
            connection.prepare_cached(sql)?.execute([i64::try_from(value).unwrap_or(i64::MAX)])
        };
        run("INSERT INTO place SELECT stream, seq, id FROM entry WHERE id > ?1 ORDER BY stream, seq", upto)
            .and_then(|_| run("UPDATE placed SET upto = ?1", last))
            .map_err(failed)?;
        self.known.placed = Some(last);
        Ok(())
    }

    fn end(mut self) {
        if self.failure.is_none()
            && let Err(error) = self.flush().and_then(|()| self.place())
        {
            self.failure = Some(error);
        }
        let outcome = match self.failure.take() {
            Some(failure) => {
                self.roll_back();
                Err(failure)
            }
            None => self.writer.connection.execute_batch("COMMIT").map_err(|error| self.lost(&error)),
        };
        if outcome.is_err() {
            self.writer.forget(self.known);
        }
        if outcome.is_ok() {
            self.known.ids.extend(self.made.drain());
            if let Some((first, last)) = self.inserted {
                self.writer.heads.moved(last, &self.moved);
                self.writer.announce(first, last);
                self.writer.hub.grown(Some(last));
            }
        }
        for answer in self.answers {
            answer(outcome.clone());
        }
        if outcome.is_ok() {
            for (stream, head) in &self.moved {
                self.writer.hub.moved(stream, *head);
            }
            if self.outgoing {
                self.writer.hub.outgoing();
            }
        }
    }

    /// A commit that failed while its transaction is still open wrote nothing; otherwise nobody can tell.
    fn lost(&self, error: &rusqlite::Error) -> StoreError {
        if self.writer.connection.is_autocommit() {
            StoreError::Unknown(error.to_string())
        } else {
            self.roll_back();
            StoreError::Unavailable(error.to_string())
        }
    }

    fn roll_back(&self) {
        if !self.writer.connection.is_autocommit()
            && let Err(error) = self.writer.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}

const INSERT_ONE: &str =
    "INSERT INTO entry (stream, seq, prev, hash, bytes, digest, sealed) VALUES (?,?,?,?,?,?,?)";
const INSERT_MANY: &str = "INSERT INTO entry (stream, seq, prev, hash, bytes, digest, sealed) VALUES \
     (?,?,?,?,?,?,?),(?,?,?,?,?,?,?),(?,?,?,?,?,?,?),(?,?,?,?,?,?,?),\
     (?,?,?,?,?,?,?),(?,?,?,?,?,?,?),(?,?,?,?,?,?,?),(?,?,?,?,?,?,?)";

fn insert(connection: &Connection, sql: &str, rows: &[Row]) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut at = 0;
    for Row { stream, entry, sealed } in rows {
        let digest = entry.payload.as_ref().map(|payload| payload.digest.as_bytes().as_slice());
        statement.raw_bind_parameter(at + 1, stream).map_err(failed)?;
        statement.raw_bind_parameter(at + 2, signed(entry.seq)?).map_err(failed)?;
        statement.raw_bind_parameter(at + 3, entry.prev.as_bytes().as_slice()).map_err(failed)?;
        statement.raw_bind_parameter(at + 4, entry.hash.as_bytes().as_slice()).map_err(failed)?;
        statement.raw_bind_parameter(at + 5, entry.bytes.as_slice()).map_err(failed)?;
        statement.raw_bind_parameter(at + 6, digest).map_err(failed)?;
        statement.raw_bind_parameter(at + 7, sealed.as_deref()).map_err(failed)?;
        at += 7;
    }
    statement.raw_execute().map_err(failed).map(drop)
}

/// The last entry that has its place.
pub(super) fn placed(connection: &Connection) -> Result<u64, StoreError> {
    let upto: i64 = connection
        .prepare_cached("SELECT upto FROM placed")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(failed)?;
    unsigned(upto)
}

pub(super) fn find_stream(connection: &Connection, stream: &StreamId) -> Result<Option<i64>, StoreError> {
    connection
        .prepare_cached("SELECT id FROM stream WHERE name = ?1")
        .and_then(|mut find| find.query_row([stream.as_str()], |row| row.get(0)).optional())
        .map_err(failed)
}

/// The newest entries first: one that gets its place meanwhile is found there.
pub(super) fn read_head(connection: &Connection, stream: i64) -> Result<Head, StoreError> {
    let newest = |sql: &str| {
        connection
            .prepare_cached(sql)
            .and_then(|mut select| {
                select
                    .query_row([stream], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)))
                    .optional()
            })
            .map_err(failed)
    };
    let head = match newest(
        "SELECT seq, hash FROM entry WHERE id > (SELECT upto FROM placed) AND stream = ?1 ORDER BY id DESC LIMIT 1",
    )? {
        Some(head) => Some(head),
        None => newest(
            "SELECT e.seq, e.hash FROM place p JOIN entry e ON e.id = p.entry
             WHERE p.stream = ?1 ORDER BY p.seq DESC LIMIT 1",
        )?,
    };
    head.map_or(Ok(Head::EMPTY), |(seq, hash)| {
        Ok(Head { seq: unsigned(seq)?, hash: Digest::from_bytes(hash) })
    })
}

pub(super) fn recall(
    connection: &Connection,
    server: &ServerKey,
    scope: &str,
    key: &str,
    now: i64,
) -> Result<Option<Remembered>, StoreError> {
    let found = connection
        .prepare_cached("SELECT request, response FROM answer WHERE scope = ?1 AND key = ?2 AND expires > ?3")
        .and_then(|mut select| {
            select
                .query_row(params![scope, key, now], |row| {
                    Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, Vec<u8>>(1)?))
                })
                .optional()
        })
        .map_err(failed)?;
    found
        .map(|(request, sealed)| {
            let response = server.unseal(&answer_context(scope, key), &sealed)?;
            Ok(Remembered { request: Digest::from_bytes(request), response })
        })
        .transpose()
}

fn answer_context(scope: &str, key: &str) -> String {
    format!("{scope}\0{key}")
}

/// The data key in force, if there is one.
fn data_key(
    connection: &Connection,
    server: &ServerKey,
    name: &StreamId,
    stream: i64,
) -> Result<Option<DataKey>, StoreError> {
    let wrapped: Option<Vec<u8>> = connection
        .prepare_cached("SELECT key FROM stream WHERE id = ?1")
        .and_then(|mut select| select.query_row([stream], |row| row.get(0)))
        .map_err(failed)?;
    wrapped.map(|wrapped| server.unwrap(name, &wrapped)).transpose()
}

fn make_data_key(
    connection: &Connection,
    server: &ServerKey,
    name: &StreamId,
    stream: i64,
) -> Result<DataKey, StoreError> {
    let (key, wrapped) = server.fresh(name)?;
    connection
        .prepare_cached("UPDATE stream SET key = ?2 WHERE id = ?1")
        .and_then(|mut update| update.execute(params![stream, wrapped]))
        .map_err(failed)?;
    Ok(key)
}
