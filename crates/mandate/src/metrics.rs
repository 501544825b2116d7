//! Public figures of a mandate (spec 1.12), from its log alone.

use crate::Outcome;
use crate::log::{ApprovalId, Event, Fact, Phase, RunId};
use crate::reason::Reason;
use crate::text::{Id, TxHash};
use crate::transaction::Transaction;
use canon::Digest;
use env::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The log folded: what every proposal came to, and what was paid for asking.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    actions: BTreeMap<Key, Action>,
    last: Option<Key>,
    approvals_requested: u64,
    bonds: Bonds,
    /// Whether a bond that was spent went back.
    outcomes: BTreeMap<ApprovalId, bool>,
    budget_exhausted: u64,
    /// The fees of releases as they were built.
    built: BTreeMap<TxHash, u64>,
    /// Releases that are in a block.
    released: BTreeSet<TxHash>,
    /// What spent a bond and was no release.
    spends: BTreeMap<TxHash, ApprovalId>,
}

/// A proposal. Those that are no action are each their own (W15).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    run: RunId,
    action: Option<(Id, Digest)>,
    /// The number of the proposal, where it was no action.
    unread: usize,
}

#[derive(Debug, Clone)]
struct Action {
    proposed: Timestamp,
    decided: Option<(Outcome, Timestamp)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Bonds {
    pub captured: u64,
    pub locked: u64,
    pub refunded: u64,
    pub required: u64,
}

/// What the fee wallet paid for (W17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Fees {
    /// Bonds that were given back or captured apart from a release.
    pub bond_spends: u64,
    /// The ledger's fees of all of these, as far as they are known.
    pub lovelace: u64,
    pub releases: u64,
}

/// `GET /v1/metrics`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    pub actions_evaluated: u64,
    pub allow: u64,
    pub escalate: u64,
    pub deny: u64,
    /// With one decimal, as a JSON number.
    pub interruptions_per_100_actions: Tenths,
    pub bonds: Bonds,
    pub budget_exhausted: u64,
    pub fees: Fees,
    pub median_decision_ms: Option<u64>,
}

/// A number of tenths, written as a decimal: 286 is 28.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenths(pub u64);

impl Serialize for Tenths {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = format!("{}.{}", self.0 / 10, self.0 % 10);
        match text.parse::<f64>() {
            Ok(number) if !self.0.is_multiple_of(10) => serializer.serialize_f64(number),
            _ => serializer.serialize_u64(self.0 / 10),
        }
    }
}

impl Tally {
    pub fn fold(&mut self, event: &Event) {
        match &event.fact {
            Fact::ActionProposed(proposed) => {
                let action = event.action_id.clone().zip(proposed.action_hash);
                let unread = if action.is_none() { self.actions.len() } else { 0 };
                let key = Key { run: event.run_id.clone(), action, unread };
                self.actions.entry(key.clone()).or_insert(Action { proposed: event.at, decided: None });
                self.last = Some(key);
            }
            Fact::AuthorityEvaluated(data)
                if data.phase == Phase::Check && data.evaluation.outcome != Outcome::NeedsVerification =>
            {
                let action = self.last.as_ref().and_then(|key| self.actions.get_mut(key));
                if let Some(action) = action {
                    action.decided = Some((data.evaluation.outcome, event.at));
                }
            }
            Fact::ApprovalRequested(_) => self.approvals_requested += 1,
            Fact::BondRequired { .. } => self.bonds.required += 1,
            Fact::BondLocked(_) => self.bonds.locked += 1,
            Fact::BondRefunded { approval_id, tx_hash, .. } => {
                self.bonds.refunded += 1;
                self.outcomes.insert(approval_id.clone(), true);
                self.spends.insert(*tx_hash, approval_id.clone());
            }
            Fact::BondCaptured { approval_id, tx_hash, .. } => {
                self.bonds.captured += 1;
                self.outcomes.insert(approval_id.clone(), false);
                self.spends.insert(*tx_hash, approval_id.clone());
            }
            Fact::BondUnknown { approval_id } => {
                if let Some(refunded) = self.outcomes.remove(approval_id) {
                    let count = if refunded { &mut self.bonds.refunded } else { &mut self.bonds.captured };
                    *count = count.saturating_sub(1);
                }
                self.spends.retain(|_, spent| spent != approval_id);
            }
            Fact::TransactionBuilt(built) => {
                let fee = Transaction::read_hex(&built.tx_body_cbor).and_then(|read| read.fee);
                self.built.extend(fee.map(|fee| (built.tx_hash, fee)));
            }
            Fact::TransactionConfirmed { tx_hash, .. } => {
                self.released.insert(*tx_hash);
            }
            Fact::ActionDenied { reason: Reason::InterruptBudgetExhausted, .. } => self.budget_exhausted += 1,
            _ => {}
        }
    }

    /// What spent a bond apart from a release: the log has no more of it than its hash.
    pub fn bond_spends(&self) -> impl Iterator<Item = (&TxHash, &ApprovalId)> {
        self.spends.iter().filter(|(tx_hash, _)| !self.released.contains(*tx_hash))
    }

    /// The figures; the fees are those of releases.
    pub fn metrics(&self) -> Metrics {
        let decided: Vec<_> = self
            .actions
            .values()
            .filter_map(|action| action.decided.map(|(outcome, at)| (outcome, at.since(action.proposed))))
            .collect();
        let of = |wanted: Outcome| count(decided.iter().filter(|(outcome, _)| *outcome == wanted).count());
        let evaluated = count(decided.len());
        let mut times: Vec<_> = decided.iter().map(|(_, took)| took.as_micros() / 1000).collect();
        times.sort_unstable();
        let per_100 = self.approvals_requested.saturating_mul(1000);
        Metrics {
            actions_evaluated: evaluated,
            allow: of(Outcome::Allow),
            escalate: of(Outcome::Escalate),
            deny: of(Outcome::Deny),
            interruptions_per_100_actions: Tenths(rounded(per_100, evaluated)),
            bonds: self.bonds,
            budget_exhausted: self.budget_exhausted,
            fees: Fees {
                bond_spends: count(self.bond_spends().count()),
                lovelace: self.released.iter().filter_map(|tx_hash| self.built.get(tx_hash)).sum(),
                releases: count(self.released.len()),
            },
            median_decision_ms: median(&times),
        }
    }
}

/// Rounded half up; nothing of nothing is none.
fn rounded(number: u64, by: u64) -> u64 {
    number.saturating_mul(2).saturating_add(by).checked_div(by.saturating_mul(2)).unwrap_or(0)
}

fn median(sorted: &[u64]) -> Option<u64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get((sorted.len() / 2).checked_sub(1)?)?;
    Some(rounded(lower.saturating_add(upper), 2))
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
