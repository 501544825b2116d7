use crate::{Duration, Env, Timestamp};
use std::sync::Mutex;

/// Where environments come from. The one trait behind which a clock and randomness exist.
pub trait Source: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Timestamp;
    /// A fresh environment for one decision.
    fn env(&self) -> Env;
}

/// The machine's clock and the operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Source for System {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }

    fn env(&self) -> Env {
        let mut seed = [0_u8; 32];
        // INVARIANT: without randomness no secret may be made, so the process must not go on.
        #[expect(clippy::expect_used, reason = "a system without randomness cannot serve")]
        getrandom::fill(&mut seed).expect("the operating system gives randomness");
        Env::new(self.now(), seed)
    }
}

/// A clock that moves only when told, and randomness that follows from one seed.
#[derive(Debug)]
pub struct Virtual {
    inner: Mutex<(Timestamp, Env)>,
}

impl Virtual {
    /// A virtual source that starts at `start`; a failing test prints `seed` to replay.
    pub fn new(seed: u64, start: Timestamp) -> Self {
        let mut bytes = [0_u8; 32];
        for (to, from) in bytes.iter_mut().zip(seed.to_be_bytes()) {
            *to = from;
        }
        Self { inner: Mutex::new((start, Env::new(start, bytes))) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        inner.0 = inner.0 + by;
    }
}

impl Source for Virtual {
    fn now(&self) -> Timestamp {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0
    }

    fn env(&self) -> Env {
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let seed = inner.1.bytes32();
        Env::new(inner.0, seed)
    }
}
