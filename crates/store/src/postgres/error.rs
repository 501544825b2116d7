//! What a failed statement means for the data.

use crate::StoreError;
use ledger::Head;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// Why an append was not done, before the journal has dealt with it.
#[derive(Debug)]
pub(super) enum Failure {
    /// The idempotency key is taken.
    Repeated,
    /// A data key is another one by now: seal again.
    Rekey,
    /// Somebody else has just taken an entry's number: the head tells.
    Taken,
    /// Rolled back through no fault of the append (deadlock, serialization): it may be tried again.
    Again(String),
    Store(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// No connection, so nothing was sent.
pub(super) fn unreachable(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

/// A read that failed changed nothing.
pub(super) fn unread(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreError::Corrupt(error.to_string()),
        other => StoreError::Unavailable(other.to_string()),
    }
}

/// A write that failed on a connection that was up when it was sent.
pub(super) fn unwritten(error: sqlx::Error) -> StoreError {
    match failure(error) {
        Failure::Store(error) => error,
        Failure::Again(said) => StoreError::Unavailable(said),
        Failure::Repeated | Failure::Rekey | Failure::Taken => {
            StoreError::Corrupt("a refusal of another statement".into())
        }
    }
}

/// An error the database reports as such has rolled back; one that ends the session, or the loss of the
/// connection, leaves open whether the commit came first.
pub(super) fn failure(error: sqlx::Error) -> Failure {
    let sqlx::Error::Database(reported) = &error else {
        return Failure::Store(StoreError::Unknown(error.to_string()));
    };
    let Some(reported) = reported.try_downcast_ref::<PgDatabaseError>() else {
        return Failure::Store(StoreError::Unknown(error.to_string()));
    };
    if matches!(reported.severity(), PgSeverity::Fatal | PgSeverity::Panic) {
        return Failure::Store(StoreError::Unknown(error.to_string()));
    }
    match reported.code() {
        "CS001" => Failure::Store(stale(reported.detail().unwrap_or_default())),
        "CS002" => Failure::Repeated,
        "CS003" => Failure::Rekey,
        "CS004" => Failure::Store(StoreError::Fenced(reported.message().to_owned())),
        "CS005" => Failure::Store(StoreError::Broken("an entry does not follow its predecessor")),
        "23505" if reported.constraint() == Some("entry_pkey") => Failure::Taken,
        "40001" | "40P01" => Failure::Again(error.to_string()),
        code if code.starts_with("22") => {
            Failure::Store(StoreError::Broken("a value the database cannot hold"))
        }
        _ => Failure::Store(StoreError::Unavailable(error.to_string())),
    }
}

/// Reads the detail of CS001: stream, number and hash of its head, with a space between.
fn stale(detail: &str) -> StoreError {
    let mut words = detail.split(' ');
    let mut read = || {
        let stream = words.next()?.parse().ok()?;
        let seq = words.next()?.parse().ok()?;
        let hash = words.next()?.parse().ok()?;
        Some(StoreError::Stale { stream, actual: Head { seq, hash } })
    };
    read().unwrap_or_else(|| StoreError::Corrupt(format!("the head of a stream reads '{detail}'")))
}
