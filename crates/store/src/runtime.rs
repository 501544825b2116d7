//! Runs aggregates on a journal: load, decide, append, and again when another was faster.

use crate::{Error, Journal, StoreError};
use canon::Digest;
use env::{Duration, Source};
use ledger::{Aggregate, Head, StreamId};
use std::sync::Arc;

/// Executes commands and gives states. Clones share one cache.
#[derive(Clone)]
pub struct Runtime {
    journal: Arc<dyn Journal>,
    source: Arc<dyn Source>,
}

/// A client's idempotency key on one command.
pub struct Once<A: Aggregate> {
    /// One credential on one operation.
    pub scope: String,
    pub key: String,
    /// Digest of the request: the same key with another request is refused.
    pub request: Digest,
    /// How long the answer is kept.
    pub keep: Duration,
    /// The bytes to answer again.
    pub response: fn(&A::Answer) -> Vec<u8>,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T> {
    /// Decided now.
    Fresh(T),
    /// Decided before under the same idempotency key: the bytes kept then.
    Repeated(Vec<u8>),
}

/// An executed command: durable, and folded into `state`.
pub struct Executed<A: Aggregate> {
    pub reply: Reply<A::Answer>,
    pub state: Arc<A::State>,
    pub head: Head,
}

impl Runtime {
    pub fn new(journal: Arc<dyn Journal>, source: Arc<dyn Source>) -> Self {
        Self { journal, source }
    }
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// Decides `command` on the stream's newest state and appends what was decided. Returns once it is durable.
    /// A lost answer is looked up: an append that landed is never decided a second time.
    pub async fn execute<A: Aggregate>(
        &self,
        stream: &StreamId,
        command: &A::Command,
        once: Option<Once<A>>,
    ) -> Result<Executed<A>, Error<A::Refusal>> {
        let _ = (stream, command, once);
        Err(Error::Store(StoreError::Unavailable("not ready".into())))
    }

    /// The newest state of a stream, and the head it is the fold of.
    pub async fn state<A: Aggregate>(
        &self,
        stream: &StreamId,
    ) -> Result<(Arc<A::State>, Head), Error<A::Refusal>> {
        let _ = stream;
        Err(Error::Store(StoreError::Unavailable("not ready".into())))
    }

    /// Resolves when the stream's head is beyond `after`.
    pub async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        self.journal.moved(stream, after).await
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}
