//! How often rooms may be opened and passcodes tried (spec 4.2). Counters of one server process, by UTC day.

use core::net::{IpAddr, Ipv6Addr};
use env::Timestamp;
use std::collections::HashMap;

/// Rooms opened today.
#[derive(Debug, Clone)]
pub struct Rooms {
    limits: RoomLimits,
    day: i64,
    total: u32,
    by: HashMap<String, u32>,
}

#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// A day, in all.
    pub total: u32,
    /// A day, for one address or one account.
    pub each: u32,
}

/// Who opens a room.
#[derive(Debug, Clone)]
pub enum Opener {
    Address(IpAddr),
    Account(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaRefusal {
    DailyLimit,
    UserLimit,
    IpLimit,
}

/// Wrong passcodes today.
#[derive(Debug, Clone, Default)]
pub struct Passcodes {
    day: i64,
    by: HashMap<String, u32>,
    /// Addresses beyond those that are tracked share one count.
    others: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasscodeRefusal {
    Wrong,
    /// Even the right one is refused until the day ends.
    Locked,
}

/// Wrong passcodes of one address a day.
const TRIES: u32 = 10;
/// Addresses tracked one by one.
const TRACKED: usize = 500;
/// Wrong passcodes a day of all addresses beyond.
const SHARED: u32 = 50;

impl Default for RoomLimits {
    fn default() -> Self {
        Self { total: 20, each: 3 }
    }
}

impl Rooms {
    pub fn new(limits: RoomLimits) -> Self {
        Self { limits, day: 0, total: 0, by: HashMap::new() }
    }

    /// Counts a room, or refuses without counting. Called once every other check has passed.
    pub fn take(&mut self, by: &Opener, now: Timestamp) -> Result<(), QuotaRefusal> {
        if day(now) != self.day {
            *self = Self { day: day(now), ..Self::new(self.limits) };
        }
        if self.total >= self.limits.total {
            return Err(QuotaRefusal::DailyLimit);
        }
        let (key, refusal) = match by {
            Opener::Address(address) => (format!("ip {}", network(*address)), QuotaRefusal::IpLimit),
            Opener::Account(account) => (format!("account {account}"), QuotaRefusal::UserLimit),
        };
        let count = self.by.entry(key).or_default();
        if *count >= self.limits.each {
            return Err(refusal);
        }
        *count = count.saturating_add(1);
        self.total = self.total.saturating_add(1);
        Ok(())
    }
}

impl Passcodes {
    /// Compares a passcode and counts a wrong one.
    pub fn check(
        &mut self,
        wanted: &str,
        given: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), PasscodeRefusal> {
        if day(now) != self.day {
            *self = Self { day: day(now), ..Self::default() };
        }
        let key = network(address).to_string();
        let tracked = self.by.contains_key(&key) || self.by.len() < TRACKED;
        let spent = if tracked {
            self.by.get(&key).is_some_and(|&count| count >= TRIES)
        } else {
            self.others >= SHARED
        };
        if spent {
            return Err(PasscodeRefusal::Locked);
        }
        if keys::equal(
            canon::Digest::of(wanted.as_bytes()).as_bytes(),
            canon::Digest::of(given.as_bytes()).as_bytes(),
        ) {
            return Ok(());
        }
        let count = if tracked { self.by.entry(key).or_default() } else { &mut self.others };
        *count = count.saturating_add(1);
        Err(PasscodeRefusal::Wrong)
    }
}

impl QuotaRefusal {
    pub const fn code(self) -> &'static str {
        match self {
            Self::DailyLimit => "daily_limit",
            Self::UserLimit => "user_limit",
            Self::IpLimit => "ip_limit",
        }
    }
}

/// The address that counts: an IPv4 address, also where it is mapped into IPv6, or an IPv6 /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn day(now: Timestamp) -> i64 {
    now.as_secs().div_euclid(86_400)
}
