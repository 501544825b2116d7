//! The heads of streams, for readers: asked for with every request, and costly to find among entries without a place.

use ledger::{Head, StreamId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams kept in memory.
const KNOWN: usize = 16_384;

/// The heads of the streams that this process appended to, true as long as its last entry is the newest there is.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    last: u64,
    heads: HashMap<StreamId, Head>,
}

impl Heads {
    /// Others may have appended.
    pub(super) fn forget(&self) {
        self.lock().heads.clear();
    }

    /// A transaction is durable whose last entry has the id `last`.
    pub(super) fn moved(&self, last: u64, moved: &[(StreamId, Head)]) {
        let mut known = self.lock();
        if known.heads.len() >= KNOWN {
            known.heads.clear();
        }
        known.last = last;
        known.heads.extend(moved.iter().cloned());
    }

    /// The head of a stream for whom `newest` is the id of the newest entry.
    pub(super) fn at(&self, newest: u64, stream: &StreamId) -> Option<Head> {
        let known = self.lock();
        known.heads.get(stream).filter(|_| known.last == newest).copied()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
