//! What the engine is told of the world (spec 1.4).

use crate::Refusal;
use crate::mandate::Status;
use crate::text::{Id, PositiveUnits, Units, present};
use crate::time::Millis;
use serde::{Deserialize, Deserializer, Serialize};

/// The vault and the anchor as last read from chain, and what the mandate's own stream counts. A malformed one is
/// refused and never read as zero. Members in the order of the canonical form; those after `vault_balance` in
/// spec 1.4's list, and `delay`, `history`, `in_flight`, `vault`, may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    pub anchor_status: Status,
    #[serde(deserialize_with = "version")]
    pub anchor_version: u32,
    /// The UTC day that `spent_today` is about.
    pub day_index: u64,
    /// This action's wait under a DELAY constraint, if it has begun.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub escalation_day_index: Option<u64>,
    /// Escalations of that day whose bond was locked (W2).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub escalations_today: Option<u32>,
    /// What was released or may be, for the windows of `mandate/v0.2`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Spend>,
    /// Authorized and not yet part of `spent_today` and `vault_balance` (W8).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Units>,
    pub last_nonce: Units,
    pub observed_at_slot: u64,
    pub spent_today: Units,
    /// The name under which the mandate's vault is registered; an action that names another is denied (D39).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub vault: Option<Id>,
    pub vault_balance: Units,
}

/// One payment that counts in a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    pub amount: PositiveUnits,
    pub at_ms: Millis,
    pub counterparty: Id,
}

/// A wait: when it began, and whether the approver objected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    pub since_ms: Millis,
    pub vetoed: bool,
}

impl Snapshot {
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        canon::from_slice(bytes).map_err(Refusal::from)
    }

    /// What counts as spent on the day of `now`: a day that has passed counts nothing, what is under way counts always.
    pub(crate) fn spent(&self, now: Millis) -> i128 {
        let today = if self.day_index < now.day() { Units::ZERO } else { self.spent_today };
        today.wide().saturating_add(self.in_flight().wide())
    }

    /// What the vault holds beyond what is under way; below zero if that is more than there is.
    pub(crate) fn available(&self) -> i128 {
        self.vault_balance.wide().saturating_sub(self.in_flight().wide())
    }

    pub(crate) fn in_flight(&self) -> Units {
        self.in_flight.unwrap_or_default()
    }

    /// Escalations that count on the day of `now`.
    pub(crate) fn escalations(&self, now: Millis) -> u32 {
        match self.escalation_day_index {
            Some(day) if day < now.day() => 0,
            _ => self.escalations_today.unwrap_or(0),
        }
    }

    /// What was spent less than `window` milliseconds ago, with one counterparty or with all.
    pub(crate) fn spent_within(&self, now: Millis, window: u64, counterparty: Option<&Id>) -> i128 {
        self.history
            .iter()
            .filter(|spend| now.since(spend.at_ms) < window)
            .filter(|spend| counterparty.is_none_or(|id| spend.counterparty == *id))
            .fold(0, |sum: i128, spend| sum.saturating_add(spend.amount.wide()))
    }
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version == 0 { Err(serde::de::Error::custom("versions begin at 1")) } else { Ok(version) }
}
