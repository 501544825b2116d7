//! Which rooms go away (spec 3): by age, then by capacity.

use super::room::{Phase, State};
use env::{Duration, Timestamp};

/// What decides about one room.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub id: String,
    pub last_at: Timestamp,
    pub demo: bool,
    pub phase: Phase,
    /// No envelope yet.
    pub untouched: bool,
    pub budget_spent: bool,
}

/// A live room goes this long after its last entry, a demo that long.
const LIVE: Duration = Duration::from_secs(30 * 24 * 3600);
const DEMO: Duration = Duration::from_secs(24 * 3600);
/// Rooms kept; beyond, the oldest of the least valuable go until 95 % are left.
pub const CAPACITY: usize = 5000;

impl Candidate {
    /// `None` for a room that is gone already.
    pub fn of(state: &State) -> Option<Self> {
        state.exists().then(|| Self {
            id: state.id.clone(),
            last_at: state.last_at.unwrap_or(Timestamp::EPOCH),
            demo: state.demo,
            phase: state.phase,
            untouched: state.envelopes.is_empty() || (state.demo && state.phase == Phase::Paused),
            budget_spent: state.calls >= state.budget(),
        })
    }

    fn too_old(&self, now: Timestamp) -> bool {
        now.since(self.last_at) > if self.demo { DEMO } else { LIVE }
    }

    /// Which go first. `None`: never for capacity.
    fn tier(&self) -> Option<u8> {
        let over = matches!(self.phase, Phase::Agreed | Phase::Stalled);
        match (self.demo, over) {
            (true, _) if self.untouched => Some(0),
            (true, true) => Some(1),
            (true, false) => Some(2),
            (false, true) => Some(3),
            (false, false) => (self.phase == Phase::Error && self.budget_spent).then_some(4),
        }
    }
}

/// The ids of those that go now, in the order they go.
pub fn evict(rooms: &[Candidate], capacity: usize, now: Timestamp) -> Vec<String> {
    let (old, mut kept): (Vec<&Candidate>, Vec<&Candidate>) =
        rooms.iter().partition(|room| room.too_old(now));
    let mut gone: Vec<String> = old.iter().map(|room| room.id.clone()).collect();
    if kept.len() > capacity {
        let target = capacity.saturating_mul(95) / 100;
        let surplus = kept.len().saturating_sub(target);
        kept.retain(|room| room.tier().is_some());
        kept.sort_by_key(|room| (room.tier(), room.last_at));
        gone.extend(kept.iter().take(surplus).map(|room| room.id.clone()));
    }
    gone
}
