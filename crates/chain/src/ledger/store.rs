//! Blocks in one SQLite file.

use super::Entry;
use crate::ChainError;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Store(Mutex<Connection>);

impl Store {
    pub fn open(path: &Path) -> Result<Self, ChainError> {
        let connection = Connection::open(path).map_err(failed)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE IF NOT EXISTS block (
                     height INTEGER PRIMARY KEY, slot INTEGER NOT NULL, kind INTEGER NOT NULL, entry BLOB NOT NULL
                 ) STRICT;",
            )
            .map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Changes whenever another connection has changed the file.
    pub fn version(&self) -> Result<i64, ChainError> {
        self.connection().query_row("PRAGMA data_version", [], |row| row.get(0)).map_err(failed)
    }

    /// Keeps others from writing until [`commit`](Self::commit) or [`roll_back`](Self::roll_back).
    pub fn begin(&self) -> Result<(), ChainError> {
        self.connection().execute_batch("BEGIN IMMEDIATE").map_err(failed)
    }

    pub fn commit(&self) -> Result<(), ChainError> {
        self.connection().execute_batch("COMMIT").map_err(failed)
    }

    pub fn roll_back(&self) {
        // There is nothing to take back where the change could not begin.
        let _ = self.connection().execute_batch("ROLLBACK");
    }

    /// Slots and entries of the blocks above a height, the oldest first.
    pub fn blocks(&self, above: usize) -> Result<Vec<(u64, Entry)>, ChainError> {
        let connection = self.connection();
        let mut select = connection
            .prepare("SELECT height, slot, kind, entry FROM block WHERE height > ?1 ORDER BY height")
            .map_err(failed)?;
        let rows = select.query_map(params![number(above)?], row).map_err(failed)?;
        let mut blocks = Vec::new();
        for (expected, row) in (number(above)?.saturating_add(1)..).zip(rows) {
            let row = row.map_err(failed)?;
            if row.height != expected {
                return Err(ChainError::Malformed(format!("block {expected} is missing")));
            }
            blocks.push(row.block()?);
        }
        Ok(blocks)
    }

    pub fn block(&self, height: usize) -> Result<Option<(u64, Entry)>, ChainError> {
        let query = "SELECT height, slot, kind, entry FROM block WHERE height = ?1";
        let found = self.connection().query_row(query, params![number(height)?], row).optional();
        found.map_err(failed)?.map(Row::block).transpose()
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

struct Row {
    height: i64,
    slot: i64,
    kind: i64,
    entry: Vec<u8>,
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row { height: row.get(0)?, slot: row.get(1)?, kind: row.get(2)?, entry: row.get(3)? })
}

impl Row {
    fn block(self) -> Result<(u64, Entry), ChainError> {
        let entry = match self.kind {
            TRANSACTION => Entry::Transaction(self.entry),
            PLACED => Entry::Placed(self.entry),
            _ => return Err(ChainError::malformed("a block of another kind")),
        };
        let slot = u64::try_from(self.slot).map_err(|_| ChainError::malformed("a slot below zero"))?;
        Ok((slot, entry))
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
