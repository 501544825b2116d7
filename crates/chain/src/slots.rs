//! Slots and instants: one slot is one second, counted from the network's Shelley start.

use mandate::Millis;
use mandate::issue::ChainName;

/// Where a network's slots begin. Instants before that are slot `zero_slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    pub zero_slot: u64,
    pub zero_time: Millis,
}

/// The length of a slot.
pub const SLOT_MS: u64 = 1000;

impl Slots {
    pub fn of(network: ChainName) -> Self {
        let (zero_slot, zero_time) = match network {
            ChainName::Preprod => (86_400, 1_655_769_600_000),
            ChainName::Mainnet => (4_492_800, 1_596_059_091_000),
        };
        Self { zero_slot, zero_time: Millis::default().plus(zero_time) }
    }

    /// When a slot begins.
    pub fn time(&self, slot: u64) -> Millis {
        self.zero_time.plus(slot.saturating_sub(self.zero_slot).saturating_mul(SLOT_MS))
    }

    /// The slot that an instant is in.
    pub fn at(&self, time: Millis) -> u64 {
        self.zero_slot.saturating_add(time.since(self.zero_time) / SLOT_MS)
    }

    /// The first slot that begins at an instant or after it.
    pub fn from(&self, time: Millis) -> u64 {
        let slot = self.at(time);
        if self.time(slot) < time { slot.saturating_add(1) } else { slot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_round_to_the_right_side() {
        let slots = Slots::of(ChainName::Preprod);
        let zero = slots.zero_time;
        for (after, at, from) in [(0, 0, 0), (1, 0, 1), (999, 0, 1), (1000, 1, 1), (1001, 1, 2)] {
            let time = zero.plus(after);
            assert_eq!((slots.at(time) - 86_400, slots.from(time) - 86_400), (at, from), "{after}");
        }
        assert_eq!(slots.time(86_401).get() - zero.get(), 1000);
    }
}
