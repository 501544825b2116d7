//! The only door to time, randomness and identifiers.
//!
//! A pure core receives an [`Env`]: a plain value that holds one instant and a finite description of one
//! stream of random bytes. Two equal `Env`s give equal answers, so a decision replays from its seed. The
//! impure side is a [`Source`]: the system clock and the operating system's randomness, or a seeded virtual
//! clock in tests.

mod source;
mod time;

pub use source::{Source, System, Virtual};
pub use time::{Duration, Timestamp, TimestampError};

use sha2::{Digest, Sha256};

/// What a decision may know of the world: when it is, and bytes nobody else can guess.
#[derive(Clone, PartialEq, Eq)]
pub struct Env {
    now: Timestamp,
    seed: [u8; 32],
    drawn: u64,
}

impl Env {
    /// An environment at `now` whose random bytes all derive from `seed`.
    pub const fn new(now: Timestamp, seed: [u8; 32]) -> Self {
        Self { now, seed, drawn: 0 }
    }

    /// The instant of this decision. It does not move while the decision is made.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// 32 fresh bytes: SHA-256(seed ‖ counter), so no two draws of one `Env` are equal.
    pub fn bytes32(&mut self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.drawn.to_be_bytes());
        self.drawn = self.drawn.wrapping_add(1);
        hash.finalize().into()
    }

    /// 16 fresh bytes.
    pub fn bytes16(&mut self) -> [u8; 16] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = self.bytes32();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }

    /// A fresh identifier of `length` characters of `[0-9a-z]` without look-alikes (no `i l o u`), at most 24.
    pub fn id(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        self.bytes32()
            .iter()
            .take(length.min(24))
            .filter_map(|byte| ALPHABET.get(usize::from(byte & 31)))
            .map(|&symbol| char::from(symbol))
            .collect()
    }

    /// A fresh bearer secret: 32 bytes in unpadded base64url (43 characters).
    pub fn secret(&mut self) -> String {
        use base64::Engine;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.bytes32())
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("now", &self.now).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_environments_draw_equal_bytes_and_never_repeat() {
        let mut one = Env::new(Timestamp::EPOCH, [7; 32]);
        let mut two = one.clone();
        let first = one.bytes32();
        assert_eq!(first, two.bytes32());
        assert_ne!(first, one.bytes32());
        assert_eq!(one.id(10).len(), 10);
        assert_eq!(one.secret().len(), 43);
    }
}
