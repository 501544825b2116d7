//! Opening a database file: settings, migrations, and the conversions between SQLite's values and ours.

use crate::{ServerKey, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// Numbered, applied in order, each in one transaction with its number. A released one never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_journal.sql"),
    include_str!("../../migrations/sqlite/0002_places.sql"),
    include_str!("../../migrations/sqlite/0003_logs.sql"),
];

/// How long a writer of another process may hold the file before a call is refused.
const BUSY: Duration = Duration::from_secs(20);

/// The version a database has once it is opened.
pub(super) const VERSION: usize = MIGRATIONS.len();

/// Opens the file for the writer, makes it and brings it up to date. Refuses a file of a newer program, and another
/// server key than the one it was made with.
pub(super) fn open_writer(path: &Path, key: &ServerKey) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    // 2 KiB pages and a long, reused write-ahead log halve the cost of an append.
    connection.execute_batch("PRAGMA page_size = 2048").map_err(failed)?;
    to_wal(&connection)?;
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 20000;
             PRAGMA cache_size = -65536;
             PRAGMA secure_delete = FAST;
             PRAGMA foreign_keys = OFF;
             PRAGMA temp_store = MEMORY;",
        )
        .map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    migrate(&mut connection)?;
    check_key(&mut connection, key)?;
    Ok(connection)
}

/// Opens the file for reading. It must exist.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -2048;").map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// What SQLite says, as ours. Nothing was written: use [`StoreError::Unknown`] where that is not sure.
pub(super) fn failed(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.to_string()),
        _ => match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => StoreError::Corrupt(error.to_string()),
            other => StoreError::Unavailable(other.to_string()),
        },
    }
}

/// SQLite's integers are signed.
pub(super) fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| StoreError::Broken("a number beyond 2^63"))
}

pub(super) fn unsigned(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_| StoreError::Corrupt("a negative number".into()))
}

/// Switching needs the file for a moment, and SQLite does not wait for it by itself.
fn to_wal(connection: &Connection) -> Result<(), StoreError> {
    let mut patience = 200;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(StoreError::Unavailable(format!("journal mode is '{mode}', not WAL"))),
            Err(error) if patience > 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                patience -= 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let version = |connection: &Connection| {
        let version: i64 =
            connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
        usize::try_from(version).map_err(|_| StoreError::Corrupt("a negative schema version".into()))
    };
    if version(connection)? > VERSION {
        return Err(StoreError::Unavailable(
            "the database was made by a newer version of this program".into(),
        ));
    }
    while version(connection)? < VERSION {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have done it while this one waited.
        let at = version(&transaction)?;
        if let Some(sql) = MIGRATIONS.get(at) {
            transaction.execute_batch(sql).map_err(failed)?;
            transaction.execute_batch(&format!("PRAGMA user_version = {}", at + 1)).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

fn check_key(connection: &mut Connection, key: &ServerKey) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let noted: Option<Vec<u8>> = transaction
        .query_row("SELECT value FROM meta WHERE name = 'server_key'", [], |row| row.get(0))
        .optional()
        .map_err(failed)?;
    let fingerprint = key.fingerprint();
    match noted {
        Some(noted) if noted == fingerprint.as_bytes() => Ok(()),
        Some(_) => Err(StoreError::WrongKey),
        None => {
            transaction
                .execute("INSERT INTO meta VALUES ('server_key', ?1)", [fingerprint.as_bytes()])
                .map_err(failed)?;
            transaction.commit().map_err(failed)
        }
    }
}
