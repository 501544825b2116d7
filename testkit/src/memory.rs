use async_trait::async_trait;
use env::{Duration, Timestamp};
use ledger::{Effect, Entry, Head, Pointer, StreamId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{
    Append, Claimed, Journal, Leaf, Lease, Published, Remembered, Stats, StoreError, StreamAppend, Tile,
};
use tokio::sync::watch;

/// A journal in memory, written as plainly as the trait's words: the naive twin of the durable ones.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    /// Counts changes; whoever waits looks again after each.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    streams: BTreeMap<StreamId, Vec<Entry>>,
    /// Every entry in the order it was appended; the first `numbered` have a leaf number, their place.
    order: Vec<(StreamId, u64)>,
    numbered: usize,
    outbox: BTreeMap<i64, Row>,
    outgoing: u64,
    pointers: BTreeMap<(String, String), StreamId>,
    answers: BTreeMap<(String, String), (Remembered, Timestamp)>,
    leases: BTreeMap<String, (String, Lease)>,
    tiles: BTreeMap<(String, u8, u64), Vec<u8>>,
    published: BTreeMap<String, Published>,
}

#[derive(Debug)]
struct Row {
    stream: StreamId,
    effect: Effect,
    due: Timestamp,
    until: Option<Timestamp>,
    claims: u32,
    fence: u64,
}

impl MemoryJournal {
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }

    /// Looks now and after every change, until there is something to see.
    async fn until<T>(&self, look: impl Fn(&Inner) -> Option<T>) -> Result<T, StoreError> {
        let mut changes = self.0.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(seen) = look(&self.lock()) {
                return Ok(seen);
            }
            changes.changed().await.map_err(|_| StoreError::Unavailable("closed".into()))?;
        }
    }
}

impl Inner {
    fn head(&self, stream: &StreamId) -> Head {
        let last = self.streams.get(stream).and_then(|entries| entries.last());
        last.map_or(Head::EMPTY, |last| Head { seq: last.seq, hash: last.hash })
    }

    fn append(&mut self, append: Append) -> Result<Vec<Head>, StoreError> {
        append.check()?;
        if let Some(asked) = &append.idempotency
            && let Some((kept, expires)) = self.answers.get(&(asked.scope.clone(), asked.key.clone()))
            && *expires > asked.now
        {
            return Err(StoreError::Repeated(kept.clone()));
        }
        for part in &append.streams {
            let actual = self.head(&part.stream);
            if actual != part.expected {
                return Err(StoreError::Stale { stream: part.stream.clone(), actual });
            }
        }
        let heads = append.streams.iter().map(StreamAppend::head).collect();
        for StreamAppend { stream, entries, .. } in append.streams {
            for entry in entries {
                self.order.push((stream.clone(), entry.seq));
                self.streams.entry(stream.clone()).or_default().push(entry);
            }
        }
        for row in append.outbox {
            self.outgoing += 1;
            let id = i64::try_from(self.outgoing).unwrap_or(i64::MAX);
            let row = Row {
                stream: row.stream,
                effect: row.effect,
                due: row.due,
                until: None,
                claims: 0,
                fence: 0,
            };
            self.outbox.insert(id, row);
        }
        for (stream, pointer) in append.pointers {
            match pointer {
                Pointer::Set { key, item } => self.pointers.insert((key, item), stream),
                Pointer::Clear { key, item } => self.pointers.remove(&(key, item)),
            };
        }
        if let Some(answer) = append.idempotency {
            let kept = Remembered { request: answer.request, response: answer.response };
            self.answers.insert((answer.scope, answer.key), (kept, answer.expires));
        }
        Ok(heads)
    }

    fn fence(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.leases.get(&lease.name) {
            Some((holder, held)) if held.epoch == lease.epoch && !holder.is_empty() => Ok(()),
            _ => Err(StoreError::Fenced(lease.name.clone())),
        }
    }

    fn leaf(&self, index: usize) -> Option<Leaf> {
        let (stream, seq) = self.order.get(..self.numbered)?.get(index)?;
        let place = usize::try_from(*seq).ok()?.checked_sub(1)?;
        let hash = self.streams.get(stream)?.get(place)?.hash;
        Some(Leaf { index: u64::try_from(index).ok()?, stream: stream.clone(), seq: *seq, hash })
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, append: Append) -> Result<Vec<Head>, StoreError> {
        let result = self.lock().append(append);
        self.changed();
        result
    }

    async fn head(&self, stream: &StreamId) -> Result<Head, StoreError> {
        Ok(self.lock().head(stream))
    }

    async fn read(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let inner = self.lock();
        let entries = inner.streams.get(stream).into_iter().flatten();
        Ok(entries.filter(|entry| entry.seq > after).take(limit).cloned().collect())
    }

    async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        self.until(|inner| Some(inner.head(stream)).filter(|head| head.seq > after)).await
    }

    async fn find(
        &self,
        key: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, StreamId)>, StoreError> {
        let inner = self.lock();
        let found = inner.pointers.iter().filter(|((at, item), _)| at == key && item.as_str() > after);
        Ok(found.take(limit).map(|((_, item), stream)| (item.clone(), stream.clone())).collect())
    }

    async fn recall(&self, scope: &str, key: &str, now: Timestamp) -> Result<Option<Remembered>, StoreError> {
        let inner = self.lock();
        let kept = inner.answers.get(&(scope.to_owned(), key.to_owned()));
        Ok(kept.filter(|(_, expires)| *expires > now).map(|(kept, _)| kept.clone()))
    }

    async fn claim(&self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Claimed>, StoreError> {
        let mut inner = self.lock();
        let mut due: Vec<(&i64, &mut Row)> = inner
            .outbox
            .iter_mut()
            .filter(|(_, row)| row.due <= now && row.until.is_none_or(|until| until <= now))
            .collect();
        due.sort_by_key(|(id, row)| (row.due, **id));
        let claimed = due.into_iter().take(limit).map(|(id, row)| {
            let attempts = row.claims;
            row.claims += 1;
            row.fence += 1;
            row.until = Some(now + lease);
            Claimed {
                id: *id,
                stream: row.stream.clone(),
                effect: row.effect.clone(),
                attempts,
                lease: row.fence,
            }
        });
        Ok(claimed.collect())
    }

    async fn complete(&self, id: i64, lease: u64) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let ours = inner.outbox.get(&id).is_some_and(|row| row.fence == lease);
        if ours {
            inner.outbox.remove(&id);
        }
        Ok(ours)
    }

    async fn postpone(&self, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let Some(row) = inner.outbox.get_mut(&id).filter(|row| row.fence == lease) else { return Ok(false) };
        row.due = due;
        row.until = None;
        row.fence += 1;
        Ok(true)
    }

    async fn outgoing(&self, after: u64) -> Result<u64, StoreError> {
        self.until(|inner| Some(inner.outgoing).filter(|count| *count > after)).await
    }

    async fn erase(&self, stream: &StreamId) -> Result<(), StoreError> {
        for entry in self.lock().streams.get_mut(stream).into_iter().flatten() {
            entry.payload = None;
        }
        Ok(())
    }

    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let mut inner = self.lock();
        let epoch = match inner.leases.get(name) {
            None => 1,
            Some((by, held)) if by == holder && held.until > now => held.epoch,
            Some((by, held)) if by.is_empty() || held.until <= now => held.epoch + 1,
            Some(_) => return Ok(None),
        };
        let lease = Lease { name: name.to_owned(), epoch, until: now + length };
        inner.leases.insert(name.to_owned(), (holder.to_owned(), lease.clone()));
        Ok(Some(lease))
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        if let Some((holder, _)) =
            self.lock().leases.get_mut(&lease.name).filter(|(_, held)| held.epoch == lease.epoch)
        {
            holder.clear();
        }
        Ok(())
    }

    async fn number(&self, lease: &Lease, limit: usize) -> Result<u64, StoreError> {
        let mut inner = self.lock();
        inner.fence(lease)?;
        inner.numbered = inner.order.len().min(inner.numbered.saturating_add(limit));
        Ok(u64::try_from(inner.numbered).unwrap_or(u64::MAX))
    }

    async fn leaves(&self, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
        let inner = self.lock();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok((from..inner.numbered).take(limit).filter_map(|index| inner.leaf(index)).collect())
    }

    async fn leaf(&self, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
        let inner = self.lock();
        let mut numbered = inner.order.iter().take(inner.numbered);
        Ok(numbered
            .position(|(name, number)| name == stream && *number == seq)
            .and_then(|index| u64::try_from(index).ok()))
    }

    async fn grown(&self, after: u64) -> Result<(), StoreError> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        self.until(|inner| (inner.order.len() > after).then_some(())).await
    }

    async fn tile(&self, log: &str, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().tiles.get(&(log.to_owned(), level, index)).cloned())
    }

    async fn published(&self, log: &str) -> Result<Option<Published>, StoreError> {
        Ok(self.lock().published.get(log).cloned())
    }

    async fn publish(
        &self,
        lease: &Lease,
        expected: u64,
        tiles: Vec<Tile>,
        published: Published,
    ) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        inner.fence(lease)?;
        if inner.published.get(&lease.name).map_or(0, |before| before.size) != expected {
            return Ok(false);
        }
        for tile in tiles {
            let stored = inner.tiles.entry((lease.name.clone(), tile.level, tile.index)).or_default();
            if tile.hashes.len() > stored.len() {
                *stored = tile.hashes;
            }
        }
        inner.published.insert(lease.name.clone(), published);
        Ok(true)
    }

    async fn streams(&self, after: Option<&StreamId>, limit: usize) -> Result<Vec<StreamId>, StoreError> {
        let inner = self.lock();
        let names = inner.streams.keys().filter(|name| after.is_none_or(|after| *name > after));
        Ok(names.take(limit).cloned().collect())
    }

    async fn pointers(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, StreamId)>, StoreError> {
        let inner = self.lock();
        let all = inner.pointers.iter().filter(|((key, item), _)| (key.as_str(), item.as_str()) > after);
        Ok(all.take(limit).map(|((key, item), name)| (key.clone(), item.clone(), name.clone())).collect())
    }

    async fn stats(&self) -> Result<Stats, StoreError> {
        let inner = self.lock();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Ok(Stats {
            streams: count(inner.streams.len()),
            entries: count(inner.order.len()),
            outbox: count(inner.outbox.len()),
        })
    }
}
