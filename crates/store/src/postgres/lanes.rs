//! Connections for appends alone. A pool asks the server whether a connection is well each time it comes back, a
//! second round trip for every append; here one that did its work is simply used again.

use super::error::unreachable;
use super::{IDLE, PATIENCE, settle};
use crate::StoreError;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Debug, Clone)]
pub(super) struct Lanes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connect: PgConnectOptions,
    /// One permit a connection, idle ones not counted; closed with the journal.
    free: Arc<Semaphore>,
    idle: Mutex<Vec<(PgConnection, Instant)>>,
}

/// A connection in use. Unless it is given back it is closed: what is under way on it may not be over.
#[derive(Debug)]
pub(super) struct Lane {
    pub connection: PgConnection,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Lanes {
    /// At most `count` connections, made when they are needed.
    pub fn new(connect: PgConnectOptions, count: usize) -> Self {
        let free = Arc::new(Semaphore::new(count));
        Self(Arc::new(Shared { connect, free, idle: Mutex::default() }))
    }

    /// A connection that was well a moment ago. An error means that nothing was sent on it.
    pub async fn take(&self) -> Result<Lane, StoreError> {
        let taken = tokio::time::timeout(PATIENCE, async {
            let permit = Arc::clone(&self.0.free).acquire_owned().await.map_err(|_| closed())?;
            let connection = match self.idle().await {
                Some(connection) => connection,
                None => self.0.open().await.map_err(unreachable)?,
            };
            Ok(Lane { connection, shared: Arc::clone(&self.0), _permit: permit })
        });
        taken.await.unwrap_or_else(|_| Err(StoreError::Unavailable("no connection in time".into())))
    }

    /// Ends the idle connections, and those in use when they come back.
    pub fn close(&self) {
        self.0.free.close();
        self.0.lock().clear();
    }

    async fn idle(&self) -> Option<PgConnection> {
        loop {
            let (mut connection, since) = self.0.lock().pop()?;
            if since.elapsed() < IDLE || connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
    }
}

impl Lane {
    /// Gives the connection back after a statement that was answered.
    pub fn done(self) {
        if !self.shared.free.is_closed() {
            self.shared.lock().push((self.connection, Instant::now()));
        }
    }
}

impl Shared {
    async fn open(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.connect.connect().await?;
        settle(&mut connection).await?;
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the journal was closed".into())
}
