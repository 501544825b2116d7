//! Moves the write-ahead log into the file while the writer goes on. When the log is long enough to start over, the
//! writer then has little left to move, and nobody waits for long.

use super::schema::failed;
use crate::StoreError;
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often it looks whether there is something to move.
const PAUSE: Duration = Duration::from_millis(500);

/// Works until the journal is gone.
pub(super) fn run(connection: &Connection, alive: &Receiver<()>) {
    let mut version = 0;
    while matches!(alive.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout)) {
        if let Err(error) = look(connection, &mut version) {
            tracing::warn!(%error, "could not move the write-ahead log into the file");
        }
    }
}

fn look(connection: &Connection, version: &mut i64) -> Result<(), StoreError> {
    let now = connection
        .prepare_cached("PRAGMA data_version")
        .and_then(|mut pragma| pragma.query_row([], |row| row.get(0)))
        .map_err(failed)?;
    if now != *version {
        // It waits for nobody: what a reader still needs, or another process is moving, stays for the next time.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(failed)?;
        *version = now;
    }
    Ok(())
}
