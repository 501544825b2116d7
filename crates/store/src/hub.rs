//! Who waits for what in this process. Waking is a hint: whoever is woken looks at the store.

use ledger::{Head, StreamId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Waiters by stream, and two counters: appended entries and outbox rows. An idle waiter costs one small allocation.
#[derive(Debug, Clone)]
pub struct Hub {
    streams: Arc<Mutex<HashMap<StreamId, watch::Sender<u64>>>>,
    entries: Arc<watch::Sender<u64>>,
    outbox: Arc<watch::Sender<u64>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            streams: Arc::default(),
            entries: Arc::new(watch::Sender::new(0)),
            outbox: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Hub {
    /// A stream's head is at `head` now, durably.
    pub fn moved(&self, stream: &StreamId, head: Head) {
        if let Some(sender) = self.lock().get(stream) {
            raise(sender, head.seq);
        }
    }

    /// The store holds `total` entries, or at least one more than before.
    pub fn grown(&self, total: Option<u64>) {
        match total {
            Some(total) => raise(&self.entries, total),
            None => self.entries.send_modify(|count| *count = count.saturating_add(1)),
        }
    }

    /// The outbox has new rows.
    pub fn outgoing(&self) {
        self.outbox.send_modify(|count| *count = count.saturating_add(1));
    }

    /// Waits until woken about the stream beyond `after`. Subscribe first, then look at the store, then wait.
    pub fn subscribe(&self, stream: &StreamId) -> Waiter {
        let mut streams = self.lock();
        let receiver = streams.entry(stream.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe();
        Waiter { hub: self.clone(), stream: stream.clone(), receiver: Some(receiver) }
    }

    /// Entries appended, as far as this process knows.
    pub fn entries(&self) -> watch::Receiver<u64> {
        self.entries.subscribe()
    }

    /// Counts how often the outbox was added to.
    pub fn outbox(&self) -> watch::Receiver<u64> {
        self.outbox.subscribe()
    }

    /// Streams somebody waits for.
    pub fn awaited(&self) -> Vec<StreamId> {
        self.lock().keys().cloned().collect()
    }

    /// Whether anybody waits for a stream.
    pub fn is_idle(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, watch::Sender<u64>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One waiter on one stream. The last one to go takes the stream's entry along.
#[derive(Debug)]
pub struct Waiter {
    hub: Hub,
    stream: StreamId,
    receiver: Option<watch::Receiver<u64>>,
}

impl Waiter {
    /// Resolves when the hub has heard of a head beyond `after`.
    pub async fn beyond(&mut self, after: u64) {
        match &mut self.receiver {
            Some(receiver) => {
                // The sender lives in the hub for as long as this receiver does.
                if receiver.wait_for(|seq| *seq > after).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut streams = self.hub.lock();
        self.receiver = None;
        if streams.get(&self.stream).is_some_and(|sender| sender.receiver_count() == 0) {
            streams.remove(&self.stream);
        }
    }
}

fn raise(sender: &watch::Sender<u64>, to: u64) {
    sender.send_if_modified(|now| {
        let higher = to > *now;
        if higher {
            *now = to;
        }
        higher
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use canon::Digest;

    #[tokio::test]
    async fn a_waiter_is_woken_and_leaves_nothing_behind() {
        let hub = Hub::default();
        let stream: StreamId = "room/one".parse().unwrap();
        let mut one = hub.subscribe(&stream);
        let two = hub.subscribe(&stream);
        hub.moved(&stream, Head { seq: 3, hash: Digest::ZERO });
        one.beyond(2).await;
        assert_eq!(hub.awaited(), [stream]);
        drop(one);
        assert!(!hub.is_idle());
        drop(two);
        assert!(hub.is_idle());
    }
}
