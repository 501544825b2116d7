use crate::{FaultyJournal, MemoryJournal};
use env::{Duration, Source, Timestamp, Virtual};
use std::sync::Arc;
use store::{Handler, Journal, Outbox, Runtime, StoreError};

/// A server in memory under a virtual clock: everything follows from one seed, which a failing test prints.
pub struct World {
    pub seed: u64,
    pub clock: Arc<Virtual>,
    pub memory: MemoryJournal,
    /// Between the runtime and the memory: fails as told.
    pub faults: Arc<FaultyJournal>,
    pub runtime: Runtime,
}

impl World {
    pub fn new(seed: u64) -> Self {
        // 2026-11-30T08:00:00Z
        let clock = Arc::new(Virtual::new(seed, Timestamp::from_secs(1_796_025_600)));
        let memory = MemoryJournal::new();
        let faults = Arc::new(FaultyJournal::new(Arc::new(memory.clone()), seed));
        let runtime = Runtime::new(faults.clone(), clock.clone());
        Self { seed, clock, memory, faults, runtime }
    }

    /// Another server process on the same store: it shares nothing but the journal and the clock.
    pub fn another_server(&self) -> Runtime {
        Runtime::new(Arc::new(self.memory.clone()), self.clock.clone())
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Runs every effect that is due until `by` has passed, second by second.
    pub async fn pass(&self, by: Duration, handler: Arc<dyn Handler>) -> Result<usize, StoreError> {
        let journal: Arc<dyn Journal> = Arc::new(self.memory.clone());
        let outbox = Outbox::new(journal, self.clock.clone(), handler);
        let mut ran = outbox.drain().await?;
        for _ in 0..by.as_secs() {
            self.clock.advance(Duration::from_secs(1));
            ran += outbox.drain().await?;
        }
        Ok(ran)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.seed);
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("seed", &self.seed).finish_non_exhaustive()
    }
}
