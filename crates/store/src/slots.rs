//! States kept in memory, a bounded number of them.

use ledger::{Aggregate, Head, StreamId};
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A state and the head it is the fold of.
pub(crate) struct Folded<S> {
    pub head: Head,
    pub state: Arc<S>,
}

impl<S> Clone for Folded<S> {
    fn clone(&self) -> Self {
        Self { head: self.head, state: self.state.clone() }
    }
}

impl<S: Default> Default for Folded<S> {
    fn default() -> Self {
        Self { head: Head::EMPTY, state: Arc::default() }
    }
}

/// One stream's place in memory.
#[derive(Default)]
pub(crate) struct Slot {
    /// Held by the command that decides on the stream.
    pub turn: tokio::sync::Mutex<()>,
    kept: Mutex<Kept>,
    used: AtomicU64,
}

type State = (Head, Arc<dyn Any + Send + Sync>);

#[derive(Default)]
struct Kept {
    newest: Option<State>,
    /// What the append that is under way makes of it.
    ahead: Option<State>,
}

impl Slot {
    pub(crate) fn folded<A: Aggregate>(&self) -> Option<Folded<A::State>> {
        folded::<A>(self.lock().newest.as_ref()?)
    }

    /// Keeps the state unless a newer one is kept.
    pub(crate) fn keep<S: Send + Sync + 'static>(&self, at: Folded<S>) {
        let mut kept = self.lock();
        if kept.ahead.as_ref().is_some_and(|(head, _)| head.seq <= at.head.seq) {
            kept.ahead = None;
        }
        if kept.newest.as_ref().is_none_or(|(head, _)| head.seq < at.head.seq) {
            kept.newest = Some((at.head, at.state));
        }
    }

    /// What the stream will be once the append under way has landed; `None`: none is.
    pub(crate) fn expect<S: Send + Sync + 'static>(&self, next: Option<Folded<S>>) {
        let next = next.map(|next| -> State { (next.head, next.state) });
        self.lock().ahead = next;
    }

    /// The state at a head that the store has, if it is at hand. Equal hashes are equal chains.
    pub(crate) fn at<A: Aggregate>(&self, head: Head) -> Option<Folded<A::State>> {
        let kept = self.lock();
        let mut known = kept.newest.iter().chain(&kept.ahead);
        folded::<A>(known.find(|(known, _)| *known == head)?)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn folded<A: Aggregate>((head, state): &State) -> Option<Folded<A::State>> {
    state.clone().downcast().ok().map(|state| Folded { head: *head, state })
}

pub(crate) struct Slots {
    most: usize,
    clock: AtomicU64,
    slots: Mutex<HashMap<StreamId, Arc<Slot>>>,
}

impl Slots {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(8), clock: AtomicU64::new(0), slots: Mutex::default() }
    }

    /// The stream's slot. Where there are too many, the eighth part that was not used for longest goes; one in use
    /// never does.
    pub(crate) fn of(&self, stream: &StreamId) -> Arc<Slot> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= self.most && !slots.contains_key(stream) {
            let mut ages: Vec<u64> = slots.values().map(|slot| slot.used.load(Ordering::Relaxed)).collect();
            ages.sort_unstable();
            let limit = ages.get(self.most / 8).copied().unwrap_or(0);
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.used.load(Ordering::Relaxed) >= limit);
        }
        let slot = slots.entry(stream.clone()).or_default();
        slot.used.store(now, Ordering::Relaxed);
        slot.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_append_makes_of_a_state_is_at_hand_once_it_is_stored() {
        use testkit::tally::{Tally, Total};
        let head = |seq: u64, byte: u8| Head { seq, hash: canon::Digest::from_bytes([byte; 32]) };
        let total =
            |sum: u64, head: Head| Folded { head, state: Arc::new(Total { sum, ..Total::default() }) };
        let found = |slot: &Slot, at: Head| slot.at::<Tally>(at).map(|folded| folded.state.sum);
        let slot = Slot::default();
        slot.keep(total(1, head(1, 1)));
        slot.expect(Some(total(2, head(2, 2))));
        assert_eq!(slot.folded::<Tally>().unwrap().state.sum, 1);
        assert_eq!(found(&slot, head(2, 2)), Some(2));
        assert_eq!(found(&slot, head(2, 3)), None, "another's entry in its place");
        slot.keep(total(3, head(3, 3)));
        assert_eq!((found(&slot, head(2, 2)), found(&slot, head(3, 3))), (None, Some(3)));
        slot.expect(Some(total(4, head(4, 4))));
        slot.expect::<Total>(None);
        assert_eq!(found(&slot, head(4, 4)), None);
    }

    #[test]
    fn the_oldest_go_and_those_in_use_stay() {
        let slots = Slots::new(16);
        let stream = |n: usize| StreamId::new("room", &n.to_string()).unwrap();
        let held = slots.of(&stream(0));
        for n in 1..100 {
            drop(slots.of(&stream(n)));
            let map = slots.slots.lock().unwrap();
            assert!(map.len() <= 17 && map.contains_key(&stream(0)) && map.contains_key(&stream(n)));
        }
        assert!(Arc::ptr_eq(&held, &slots.of(&stream(0))));
    }
}
