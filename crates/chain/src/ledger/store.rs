//! Blocks in one SQLite file.

use super::Entry;
use crate::ChainError;
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Store(Mutex<Connection>);

impl Store {
    pub fn open(path: &Path) -> Result<Self, ChainError> {
        let connection = Connection::open(path).map_err(failed)?;
        connection
            .execute_batch(
                "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE IF NOT EXISTS block (
                     height INTEGER PRIMARY KEY, slot INTEGER NOT NULL, kind INTEGER NOT NULL, entry BLOB NOT NULL
                 ) STRICT;",
            )
            .map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Slots and entries above a height, the oldest first.
    pub fn after(&self, known: usize) -> Result<Vec<(u64, Entry)>, ChainError> {
        let known = number(known)?;
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT height, slot, kind, entry FROM block WHERE height > ?1 ORDER BY height")
            .map_err(failed)?;
        let rows = select
            .query_map([known], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, Vec<u8>>(3)?,
                ))
            })
            .map_err(failed)?;
        let mut blocks = Vec::new();
        for (expected, row) in (known.saturating_add(1)..).zip(rows) {
            let (height, slot, kind, entry) = row.map_err(failed)?;
            let entry = match kind {
                TRANSACTION => Entry::Transaction(entry),
                PLACED => Entry::Placed(entry),
                _ => return Err(ChainError::malformed("a block of another kind")),
            };
            if height != expected {
                return Err(ChainError::Malformed(format!("block {expected} is missing")));
            }
            blocks
                .push((u64::try_from(slot).map_err(|_| ChainError::malformed("a slot below zero"))?, entry));
        }
        Ok(blocks)
    }

    /// Keeps the block of this height. It is durable when this returns.
    pub fn append(&self, height: usize, slot: u64, entry: &Entry) -> Result<(), ChainError> {
        let (kind, bytes) = match entry {
            Entry::Transaction(tx) => (TRANSACTION, tx),
            Entry::Placed(output) => (PLACED, output),
        };
        self.connection()
            .execute(
                "INSERT INTO block (height, slot, kind, entry) VALUES (?1, ?2, ?3, ?4)",
                params![number(height)?, i64::try_from(slot).unwrap_or(i64::MAX), kind, bytes],
            )
            .map_err(failed)?;
        Ok(())
    }

    pub fn remove(&self, height: usize) -> Result<(), ChainError> {
        self.connection()
            .execute("DELETE FROM block WHERE height = ?1", params![number(height)?])
            .map_err(failed)?;
        Ok(())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const TRANSACTION: i64 = 0;
const PLACED: i64 = 1;

fn number(height: usize) -> Result<i64, ChainError> {
    i64::try_from(height).map_err(|_| ChainError::Bug("more blocks than there are numbers".to_owned()))
}

fn failed(error: rusqlite::Error) -> ChainError {
    ChainError::Unavailable(format!("the ledger's file: {error}"))
}
