//! Notices what other processes append to the same file, for everybody who waits in this one.

use super::schema::{failed, unsigned};
use crate::StoreError;
use crate::hub::Hub;
use canon::Digest;
use ledger::{Head, StreamId};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How soon it looks again after it saw another process append, and at most after it saw nothing for long.
const SOON: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_millis(80);

/// Entries read a look at most: more wake everybody instead.
const GLANCE: u64 = 10_000;

pub(super) struct Poller {
    pub connection: Connection,
    pub hub: Hub,
    /// The id of the last entry whose waiters were woken.
    pub announced: Arc<AtomicU64>,
}

impl Poller {
    /// Looks until the journal is gone.
    pub(super) fn run(self, alive: &Receiver<()>) {
        let mut version = 0;
        let mut pause = SOON;
        while matches!(alive.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
            match self.look(&mut version) {
                Ok(true) => pause = SOON,
                Ok(false) => pause = (pause + pause / 4).min(LATE),
                Err(error) => {
                    tracing::warn!(%error, "could not look for entries of other processes");
                    pause = LATE;
                }
            }
        }
    }

    /// Whether another process had appended. One word of shared memory tells that nothing changed.
    fn look(&self, version: &mut i64) -> Result<bool, StoreError> {
        let now: i64 = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut pragma| pragma.query_row([], |row| row.get(0)))
            .map_err(failed)?;
        if now == *version {
            return Ok(false);
        }
        let from = self.announced.load(Ordering::Acquire);
        let last = last_id(&self.connection)?;
        if last > from {
            if last - from <= GLANCE {
                self.wake_moved(from)?;
            } else {
                self.wake_awaited()?;
            }
            self.announced.fetch_max(last, Ordering::AcqRel);
            self.hub.grown(Some(last));
        }
        *version = now;
        Ok(last > from)
    }

    fn wake_moved(&self, from: u64) -> Result<(), StoreError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let mut select = self
            .connection
            .prepare_cached(
                "SELECT s.name, max(e.seq) FROM entry e JOIN stream s ON s.id = e.stream WHERE e.id > ?1 GROUP BY s.id",
            )
            .map_err(failed)?;
        let rows = select
            .query_map([from], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
            .map_err(failed)?;
        for row in rows {
            let (name, seq) = row.map_err(failed)?;
            if let Ok(stream) = name.parse::<StreamId>() {
                self.hub.moved(&stream, Head { seq: unsigned(seq)?, hash: Digest::ZERO });
            }
        }
        Ok(())
    }

    fn wake_awaited(&self) -> Result<(), StoreError> {
        for stream in self.hub.awaited() {
            if let Some(id) = super::writer::find_stream(&self.connection, &stream)? {
                self.hub.moved(&stream, super::writer::read_head(&self.connection, id)?);
            }
        }
        Ok(())
    }
}

/// The number of entries: ids have no gap.
pub(super) fn last_id(connection: &Connection) -> Result<u64, StoreError> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM entry")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(failed)?;
    unsigned(last.unwrap_or(0))
}
