use async_trait::async_trait;
use env::{Duration, Env, Timestamp};
use ledger::{Entry, Head, StreamId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Append, Claimed, Journal, Leaf, Lease, Published, Remembered, Stats, StoreError, Tile};

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Works,
    /// Refused before anything was done.
    FailsClean,
    /// Done, and the answer is lost.
    FailsLanded,
    /// Done, and no answer ever comes.
    HangsLanded,
    /// Not done, and no answer ever comes.
    HangsClean,
}

impl Fate {
    pub const ALL: [Self; 5] =
        [Self::Works, Self::FailsClean, Self::FailsLanded, Self::HangsLanded, Self::HangsClean];
}

/// How often, in a thousand calls, each fault happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    pub fails_clean: u16,
    pub fails_landed: u16,
    pub hangs: u16,
}

/// A journal that fails as told, or at random from a seed. Waits (`moved`, `outgoing`, `grown`) never fail.
pub struct FaultyJournal {
    inner: Arc<dyn Journal>,
    script: Mutex<VecDeque<Fate>>,
    rates: Mutex<Rates>,
    random: Mutex<Env>,
    /// Steps until the process dies that writes here.
    left: AtomicU64,
    /// How many entries were read.
    handed: AtomicU64,
    dead: Arc<AtomicBool>,
}

impl FaultyJournal {
    /// Works until told otherwise.
    pub fn new(inner: Arc<dyn Journal>, seed: u64) -> Self {
        let mut bytes = [0; 32];
        for (to, from) in bytes.iter_mut().zip(seed.to_be_bytes()) {
            *to = from;
        }
        Self {
            inner,
            script: Mutex::default(),
            rates: Mutex::default(),
            random: Mutex::new(Env::new(Timestamp::EPOCH, bytes)),
            left: AtomicU64::new(u64::MAX),
            handed: AtomicU64::new(0),
            dead: Arc::default(),
        }
    }

    /// The process dies at this step of its: there is one before each append and each end of an outbox row, and one after
    /// each append that landed. Then nothing is answered any more.
    pub fn dies_at(&self, step: u64) {
        self.left.store(step, Ordering::SeqCst);
    }

    /// How many entries were read so far.
    pub fn entries_read(&self) -> u64 {
        self.handed.load(Ordering::SeqCst)
    }

    /// Set once it is dead.
    pub fn dead(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.dead)
    }

    fn step(&self) -> Result<(), StoreError> {
        let one_less = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err() {
            self.dead.store(true, Ordering::SeqCst);
        }
        self.alive()
    }

    fn alive(&self) -> Result<(), StoreError> {
        let dead = self.dead.load(Ordering::SeqCst);
        if dead { Err(StoreError::Unavailable("the process is dead".into())) } else { Ok(()) }
    }

    /// The fates of the next appends, in order. Other calls are not scripted.
    pub fn script(&self, fates: impl IntoIterator<Item = Fate>) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).extend(fates);
    }

    /// How often any call fails at random from now on.
    pub fn rates(&self, rates: Rates) {
        *self.rates.lock().unwrap_or_else(PoisonError::into_inner) = rates;
    }

    fn draw(&self) -> Fate {
        let rates = *self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let [high, low, coin, ..] = self.random.lock().unwrap_or_else(PoisonError::into_inner).bytes32();
        let at = u16::from_be_bytes([high, low]) % 1000;
        let (clean, landed) = (rates.fails_clean, rates.fails_clean + rates.fails_landed);
        match at {
            at if at < clean => Fate::FailsClean,
            at if at < landed => Fate::FailsLanded,
            at if at < landed + rates.hangs && coin % 2 == 0 => Fate::HangsLanded,
            at if at < landed + rates.hangs => Fate::HangsClean,
            _ => Fate::Works,
        }
    }

    async fn suffer<T>(
        &self,
        fate: Fate,
        writes: bool,
        run: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.alive()?;
        let clean = || StoreError::Unavailable("made to fail".into());
        match fate {
            Fate::Works => run.await,
            Fate::FailsClean => Err(clean()),
            Fate::FailsLanded => {
                let _ = run.await;
                Err(if writes { StoreError::Unknown("made to fail".into()) } else { clean() })
            }
            Fate::HangsLanded => {
                let _ = run.await;
                std::future::pending().await
            }
            Fate::HangsClean => std::future::pending().await,
        }
    }

    async fn reads<T>(
        &self,
        run: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.suffer(self.draw(), false, run).await
    }

    async fn writes<T>(
        &self,
        run: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.suffer(self.draw(), true, run).await
    }
}

#[async_trait]
impl Journal for FaultyJournal {
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError> {
        let scripted = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let fate = scripted.unwrap_or_else(|| self.draw());
        self.step()?;
        let heads = self.suffer(fate, true, self.inner.append(append)).await?;
        self.step()?;
        Ok(heads)
    }
    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError> {
        self.reads(self.inner.head(stream)).await
    }
    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let entries = self.reads(self.inner.read(stream, after, limit)).await?;
        self.handed.fetch_add(u64::try_from(entries.len()).unwrap_or(0), Ordering::SeqCst);
        Ok(entries)
    }
    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        self.inner.moved(stream, after).await
    }
    async fn find(
        &self,
        key: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, StreamId)>, StoreError> {
        self.reads(self.inner.find(key, after, limit)).await
    }
    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError> {
        self.reads(self.inner.recall(scope, key, now)).await
    }
    async fn claim(&self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Claimed>, StoreError> {
        self.writes(self.inner.claim(now, lease, limit)).await
    }
    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError> {
        self.step()?;
        self.writes(self.inner.complete(id, lease)).await
    }
    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError> {
        self.step()?;
        self.writes(self.inner.postpone(id, lease, due)).await
    }
    async fn outgoing(&self, after: u64) -> Result<u64, StoreError> {
        self.inner.outgoing(after).await
    }
    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError> {
        self.writes(self.inner.erase(stream)).await
    }
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.writes(self.inner.lease(name, holder, now, length)).await
    }
    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.writes(self.inner.release(lease)).await
    }
    async fn number(&self, lease: &Lease, limit: usize) -> Result<u64, StoreError> {
        self.writes(self.inner.number(lease, limit)).await
    }
    async fn leaves(&self, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
        self.reads(self.inner.leaves(from, limit)).await
    }
    async fn leaf(&self, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
        self.reads(self.inner.leaf(stream, seq)).await
    }
    async fn grown(&self, after: u64) -> Result<(), StoreError> {
        self.inner.grown(after).await
    }
    async fn tile(&self, log: &str, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.reads(self.inner.tile(log, level, index)).await
    }
    async fn published(&self, log: &str) -> Result<Option<Published>, StoreError> {
        self.reads(self.inner.published(log)).await
    }
    async fn publish(
        &self,
        lease: &Lease,
        expected: u64,
        tiles: Vec<Tile>,
        published: Published,
    ) -> Result<bool, StoreError> {
        self.writes(self.inner.publish(lease, expected, tiles, published)).await
    }
    async fn streams(&self, after: Option<&StreamId>, limit: usize) -> Result<Vec<StreamId>, StoreError> {
        self.reads(self.inner.streams(after, limit)).await
    }
    async fn pointers(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, StreamId)>, StoreError> {
        self.reads(self.inner.pointers(after, limit)).await
    }
    async fn stats(&self) -> Result<Stats, StoreError> {
        self.reads(self.inner.stats()).await
    }
}

impl std::fmt::Debug for FaultyJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyJournal").field("rates", &self.rates).finish_non_exhaustive()
    }
}
