//! Mandates (spec 1.3): who delegated what to whom, under which limits. `mandate/v0.1` as the seed has it, and
//! `mandate/v0.2` with more kinds of constraint and a quorum. A [`Mandate`] that exists has passed the cross rules.

use crate::action::ActionType;
use crate::hashed::Spelled;
use crate::price::Signatories;
use crate::rule::{Constraint, Kind, Violation};
use crate::text::{AssetSymbol, Ed25519Key, Id, KeyHash, Text, Units, at_most, present};
use crate::time::DateTime;
use crate::{Hashed, Refusal};
use serde::{Deserialize, Deserializer, Serialize};

/// The document. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mandate {
    pub approvers: Vec<Approver>,
    pub asset: Asset,
    pub authority_engine: Engine,
    pub constraints: Vec<Constraint>,
    pub delegate: Delegate,
    pub delegation: Delegation,
    pub id: Id,
    pub interrupt_budget: InterruptBudget,
    pub principal: Principal,
    /// v0.2 only: how many distinct approvers must sign. One without it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    pub schema: MandateSchema,
    pub status: Status,
    pub validity: Validity,
    #[serde(deserialize_with = "version")]
    pub version: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MandateSchema {
    #[serde(rename = "mandate/v0.1")]
    V01,
    #[serde(rename = "mandate/v0.2")]
    V02,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    Revoked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    pub cardano_key_hash: KeyHash,
    pub id: Id,
    pub name: Text<1, 128>,
    #[serde(rename = "type")]
    pub kind: PrincipalType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalType {
    Organization,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    pub id: Id,
    pub public_key: Ed25519Key,
    #[serde(rename = "type")]
    pub kind: DelegateType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegateType {
    Agent,
}

/// A role's name: 1 to 32 characters.
pub type RoleName = Text<1, 32>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approver {
    pub cardano_key_hash: KeyHash,
    pub role: RoleName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub public_key: Ed25519Key,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asset {
    #[serde(deserialize_with = "decimals")]
    pub decimals: u8,
    pub symbol: AssetSymbol,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validity {
    pub expires_at: DateTime,
    pub starts_at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// Only `false`: a delegate passes nothing on.
    #[serde(deserialize_with = "never")]
    pub allowed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptBudget {
    #[serde(deserialize_with = "per_day")]
    pub per_day: u32,
}

/// How many distinct approvers must sign one act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quorum {
    #[serde(deserialize_with = "required")]
    pub required: u8,
}

/// The four limits that a brief shows and an anchor holds (spec 1.3): the strictest of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub autonomous_limit: Units,
    pub daily_cap: Units,
    pub hard_cap: Units,
    pub treasury_minimum: Units,
}

/// The most approvers a mandate lists.
pub const MAX_APPROVERS: usize = 16;
/// The most constraints a mandate lists.
pub const MAX_CONSTRAINTS: usize = 256;

impl Spelled for Mandate {}

impl Mandate {
    /// Reads a mandate. Refuses what is not its shape, and then everything the cross rules find, all at once.
    pub fn read(bytes: &[u8]) -> Result<Hashed<Self>, Refusal> {
        let mandate: Hashed<Self> = Hashed::read(bytes)?;
        let problems = mandate.problems();
        if problems.is_empty() { Ok(mandate) } else { Err(Refusal::MandateRules { problems }) }
    }

    /// What the cross rules of spec 1.3 hold against it, one sentence each; empty for a good mandate.
    pub fn problems(&self) -> Vec<String> {
        self.faults().into_iter().map(|(_, problem)| problem).collect()
    }

    /// The same, each with the place in the document that it is about (RFC 6901).
    pub fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        self.check_constraints(&mut faults);
        self.check_approvers(&mut faults);
        self.check_limits(&mut faults);
        if !self.validity.starts_at.is_before(&self.validity.expires_at) {
            faults.push(at("/validity/expires_at", "validity must start before it ends"));
        }
        faults
    }

    pub fn limits(&self) -> Limits {
        let of = |like: fn(&Violation) -> bool, limit: fn(&Kind) -> Option<Units>| {
            self.constraints
                .iter()
                .filter(move |constraint| like(&constraint.on_violation))
                .filter_map(move |constraint| limit(&constraint.kind))
        };
        let least = |found: Option<Units>| found.unwrap_or(Units::ZERO);
        Limits {
            autonomous_limit: least(of(Violation::escalates, Kind::amount_limit).min()),
            daily_cap: least(of(Violation::denies, Kind::daily_limit).min()),
            hard_cap: least(of(Violation::denies, Kind::amount_limit).min()),
            treasury_minimum: least(of(Violation::denies, Kind::floor).max()),
        }
    }

    /// How many distinct approvers must sign.
    pub fn required(&self) -> usize {
        self.quorum.as_ref().map_or(1, |quorum| usize::from(quorum.required))
    }

    /// Whose signatures approve on chain.
    pub fn signatories(&self) -> Signatories {
        let keys = self.approvers.iter().map(|approver| approver.cardano_key_hash).collect();
        Signatories { keys, required: self.quorum.as_ref().map_or(1, |quorum| quorum.required) }
    }

    /// The approvers with this key: none or one, since keys are distinct.
    pub fn approver(&self, key: &KeyHash) -> Option<&Approver> {
        self.approvers.iter().find(|approver| approver.cardano_key_hash == *key)
    }

    /// Whether the act's type is one that this mandate speaks of. Without an `action_in` only invoices are paid, which
    /// is all that could be released when such mandates were written (D31): authority never widens by itself.
    pub fn speaks_of(&self, kind: ActionType) -> bool {
        kind == ActionType::PayInvoice
            || self.constraints.iter().any(|constraint| matches!(constraint.kind, Kind::ActionIn { .. }))
    }

    /// The longest window over which a constraint counts past spending, in milliseconds.
    pub fn longest_window(&self) -> u64 {
        self.constraints.iter().filter_map(|constraint| constraint.kind.window_ms()).max().unwrap_or(0)
    }

    fn check_constraints(&self, faults: &mut Vec<(String, String)>) {
        if self.constraints.is_empty() || self.constraints.len() > MAX_CONSTRAINTS {
            faults.push(at("/constraints", format!("a mandate has 1 to {MAX_CONSTRAINTS} constraints")));
        }
        for (n, constraint) in self.constraints.iter().enumerate() {
            let id = &constraint.id;
            if self.constraints.iter().take(n).any(|other| other.id == *id) {
                let problem = format!("two constraints are called {id}");
                faults.push(at(format!("/constraints/{n}/id"), problem));
            }
            if self.schema == MandateSchema::V01 && constraint.is_v02() {
                let problem = format!("constraint {id} needs mandate/v0.2");
                faults.push(at(format!("/constraints/{n}/kind"), problem));
            }
            match constraint.on_violation.approver() {
                Some(approver) if !self.approvers.iter().any(|listed| listed.role == *approver) => {
                    let problem = format!("constraint {id} names {approver}, who is no approver");
                    faults.push(at(format!("/constraints/{n}/approver"), problem));
                }
                _ => {}
            }
        }
    }

    fn check_approvers(&self, faults: &mut Vec<(String, String)>) {
        match self.schema {
            MandateSchema::V01 if self.approvers.len() != 1 => {
                faults.push(at("/approvers", "mandate/v0.1 has exactly one approver"));
            }
            MandateSchema::V01 if self.quorum.is_some() => {
                faults.push(at("/quorum", "a quorum needs mandate/v0.2"));
            }
            _ if self.approvers.is_empty() || self.approvers.len() > MAX_APPROVERS => {
                faults.push(at("/approvers", format!("a mandate has 1 to {MAX_APPROVERS} approvers")));
            }
            _ => {}
        }
        if self.required() == 0 || self.required() > self.approvers.len() {
            let problem = "the quorum is at least one and at most all approvers";
            faults.push(at("/quorum/required", problem));
        }
        for (n, approver) in self.approvers.iter().enumerate() {
            let place = || format!("/approvers/{n}/cardano_key_hash");
            if approver.cardano_key_hash == self.principal.cardano_key_hash {
                faults.push(at(place(), format!("approver {} has the principal's key", approver.role)));
            }
            let same = |other: &Approver| other.cardano_key_hash == approver.cardano_key_hash;
            if self.approvers.iter().take(n).any(same) {
                faults.push(at(place(), format!("approver {} has another approver's key", approver.role)));
            }
        }
    }

    fn check_limits(&self, faults: &mut Vec<(String, String)>) {
        let found = |like: fn(&Violation) -> bool, limit: fn(&Kind) -> Option<Units>| {
            self.constraints
                .iter()
                .position(|constraint| like(&constraint.on_violation) && limit(&constraint.kind).is_some())
        };
        let alone = found(Violation::escalates, Kind::amount_limit);
        let hard = found(Violation::denies, Kind::amount_limit);
        let daily = found(Violation::denies, Kind::daily_limit);
        for (there, what) in [
            (alone, "an autonomous limit (amount_lte, ESCALATE)"),
            (hard, "a hard cap (amount_lte, DENY)"),
            (daily, "a daily cap (daily_spend_lte, DENY)"),
            (found(Violation::denies, Kind::floor), "a treasury minimum (balance_after_gte, DENY)"),
        ] {
            if there.is_none() {
                faults.push(at("/constraints", format!("there must be {what}")));
            }
        }
        let value =
            |of: Option<usize>| of.map_or("/constraints".into(), |n| format!("/constraints/{n}/value"));
        let limits = self.limits();
        if limits.autonomous_limit == Units::ZERO {
            faults.push(at(value(alone), "the autonomous limit must be above zero"));
        }
        if limits.hard_cap < limits.autonomous_limit {
            faults.push(at(value(hard), "the hard cap is below the autonomous limit"));
        }
        if limits.daily_cap < limits.autonomous_limit {
            faults.push(at(value(daily), "the daily cap is below the autonomous limit"));
        }
    }
}

fn at(place: impl Into<String>, problem: impl Into<String>) -> (String, String) {
    (place.into(), problem.into())
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version == 0 { Err(serde::de::Error::custom("versions begin at 1")) } else { Ok(version) }
}

fn decimals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    at_most(deserializer, 18).map(|value| u8::try_from(value).unwrap_or(18))
}

fn per_day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    at_most(deserializer, 10_000).map(|value| u32::try_from(value).unwrap_or(0))
}

fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    at_most(deserializer, 16).map(|value| u8::try_from(value).unwrap_or(16))
}

fn never<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Err(serde::de::Error::custom("delegation is never allowed"));
    }
    Ok(false)
}
