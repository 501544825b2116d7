//! Data keys of streams: read from the database, kept while they are in use.

use super::error::{unreachable, unread};
use super::rows::StreamKey;
use crate::{ServerKey, StoreError};
use canon::Digest;
use ledger::{Head, StreamId};
use sqlx::{PgPool, Row};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys kept in memory, at most; beyond it all are forgotten and read again.
const KEPT: usize = 4096;

#[derive(Debug)]
pub(super) struct Keys {
    pool: PgPool,
    server: ServerKey,
    kept: Mutex<HashMap<StreamId, StreamKey>>,
}

impl Keys {
    pub fn new(pool: PgPool, server: ServerKey) -> Self {
        Self { pool, server, kept: Mutex::default() }
    }

    pub fn server(&self) -> &ServerKey {
        &self.server
    }

    /// The key to seal a stream's payloads with: the stored one, or a fresh one for the append to store.
    pub async fn of(&self, stream: &StreamId, at: Head) -> Result<StreamKey, StoreError> {
        if let Some(kept) = self.lock().get(stream) {
            return Ok(kept.clone());
        }
        let stored = if at == Head::EMPTY { None } else { self.read(stream).await? };
        match stored {
            Some(stored) => {
                self.keep(&stored);
                Ok(stored)
            }
            None => self.fresh(stream),
        }
    }

    /// After [`super::error::Failure::Rekey`]: what the database has now.
    pub async fn reload(&self, stream: &StreamId) -> Result<(), StoreError> {
        self.forget(stream);
        if let Some(stored) = self.read(stream).await? {
            self.keep(&stored);
        }
        Ok(())
    }

    /// The keys of an append that is durable now.
    pub fn stored(&self, keys: Vec<StreamKey>) {
        for key in keys {
            if key.wrapped.is_some() {
                self.keep(&StreamKey { wrapped: None, ..key });
            }
        }
    }

    pub fn forget(&self, stream: &StreamId) {
        self.lock().remove(stream);
    }

    /// The key stored now, whatever is kept in memory: another process may have erased it.
    pub async fn read(&self, stream: &StreamId) -> Result<Option<StreamKey>, StoreError> {
        let mut connection = self.pool.acquire().await.map_err(unreachable)?;
        let row = sqlx::query("SELECT wrapped FROM data_key WHERE stream = $1")
            .bind(stream.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(unread)?;
        let Some(row) = row else { return Ok(None) };
        let wrapped: &[u8] = row.try_get(0).map_err(unread)?;
        let key = Arc::new(self.server.unwrap(stream, wrapped)?);
        Ok(Some(StreamKey { stream: stream.clone(), id: Digest::of(wrapped), key, wrapped: None }))
    }

    fn fresh(&self, stream: &StreamId) -> Result<StreamKey, StoreError> {
        let (key, wrapped) = self.server.fresh(stream)?;
        let id = Digest::of(&wrapped);
        Ok(StreamKey { stream: stream.clone(), id, key: Arc::new(key), wrapped: Some(wrapped) })
    }

    fn keep(&self, key: &StreamKey) {
        let mut kept = self.lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key.stream.clone(), key.clone());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, StreamKey>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
