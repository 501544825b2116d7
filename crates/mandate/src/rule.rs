//! Constraints of a mandate: their kinds, and what a violation does (spec 1.3).

use crate::mandate::RoleName;
use crate::text::{AssetSymbol, Id, TextError, Units, present};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Constraint {
    pub id: Id,
    pub kind: Kind,
    pub on_violation: Violation,
}

/// What a constraint demands. The last two only in `mandate/v0.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    PurposeIn {
        values: Vec<Id>,
    },
    ActionIn {
        values: Vec<Id>,
    },
    AssetEq {
        value: AssetSymbol,
    },
    CounterpartyIn {
        values: Vec<Id>,
    },
    AmountLte {
        value: Units,
    },
    DailySpendLte {
        value: Units,
    },
    BalanceAfterGte {
        value: Units,
    },
    VerifiedFacts,
    /// What was spent in the last so many seconds, and this amount, are at most `value`.
    RollingSpendLte {
        value: Units,
        window_seconds: u32,
    },
    /// The same for one counterparty: the named one, or each by itself where none is named.
    CounterpartySpendLte {
        value: Units,
        window_seconds: u32,
        counterparty: Option<Id>,
    },
}

/// What happens to an act that violates a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    Deny,
    /// The approver must sign.
    Escalate(RoleName),
    /// `mandate/v0.2`: it is done after so many seconds, unless the approver objects before.
    Delay(RoleName, u32),
}

/// A window or a delay is one minute to 366 days.
pub const SECONDS: std::ops::RangeInclusive<u32> = 60..=366 * 86_400;

impl Violation {
    pub const fn denies(&self) -> bool {
        matches!(self, Self::Deny)
    }
    pub const fn escalates(&self) -> bool {
        matches!(self, Self::Escalate(_))
    }
    pub const fn approver(&self) -> Option<&RoleName> {
        match self {
            Self::Deny => None,
            Self::Escalate(role) | Self::Delay(role, _) => Some(role),
        }
    }
}

impl Kind {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::PurposeIn { .. } => "purpose_in",
            Self::ActionIn { .. } => "action_in",
            Self::AssetEq { .. } => "asset_eq",
            Self::CounterpartyIn { .. } => "counterparty_in",
            Self::AmountLte { .. } => "amount_lte",
            Self::DailySpendLte { .. } => "daily_spend_lte",
            Self::BalanceAfterGte { .. } => "balance_after_gte",
            Self::VerifiedFacts => "verified_facts",
            Self::RollingSpendLte { .. } => "rolling_spend_lte",
            Self::CounterpartySpendLte { .. } => "counterparty_spend_lte",
        }
    }

    /// The limit of an `amount_lte`.
    pub const fn amount_limit(&self) -> Option<Units> {
        match self {
            Self::AmountLte { value } => Some(*value),
            _ => None,
        }
    }
    /// The limit of a `daily_spend_lte`.
    pub const fn daily_limit(&self) -> Option<Units> {
        match self {
            Self::DailySpendLte { value } => Some(*value),
            _ => None,
        }
    }
    /// The limit of a `balance_after_gte`.
    pub const fn floor(&self) -> Option<Units> {
        match self {
            Self::BalanceAfterGte { value } => Some(*value),
            _ => None,
        }
    }
    /// Over how many milliseconds past spending counts.
    pub fn window_ms(&self) -> Option<u64> {
        match self {
            Self::RollingSpendLte { window_seconds, .. }
            | Self::CounterpartySpendLte { window_seconds, .. } => {
                Some(u64::from(*window_seconds).saturating_mul(1000))
            }
            _ => None,
        }
    }
}

impl Constraint {
    /// Whether `mandate/v0.1` does not know it.
    pub const fn is_v02(&self) -> bool {
        matches!(self.kind, Kind::RollingSpendLte { .. } | Kind::CounterpartySpendLte { .. })
            || matches!(self.on_violation, Violation::Delay(..))
    }
}

/// A constraint as it is written: the members of all kinds, of which each kind has its own and no other.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    approver: Option<RoleName>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    counterparty: Option<Id>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    delay_seconds: Option<u32>,
    id: Id,
    kind: Word,
    on_violation: Outcome,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    source: Option<FactSource>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Id>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    window_seconds: Option<u32>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    PurposeIn,
    ActionIn,
    AssetEq,
    CounterpartyIn,
    AmountLte,
    DailySpendLte,
    BalanceAfterGte,
    VerifiedFacts,
    RollingSpendLte,
    CounterpartySpendLte,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Outcome {
    Deny,
    Escalate,
    Delay,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FactSource {
    Stripe,
}

const MISSING: TextError = TextError("the members of this kind of constraint");
const SURPLUS: TextError = TextError("no member of another kind of constraint");

impl TryFrom<Wire> for Constraint {
    type Error = TextError;

    fn try_from(mut wire: Wire) -> Result<Self, TextError> {
        let kind = wire.take_kind()?;
        let on_violation = wire.take_violation()?;
        // What the kind has not taken belongs to another.
        let rest = wire.value.is_some()
            || wire.values.is_some()
            || wire.source.is_some()
            || wire.window_seconds.is_some()
            || wire.counterparty.is_some();
        if rest { Err(SURPLUS) } else { Ok(Self { id: wire.id, kind, on_violation }) }
    }
}

impl Wire {
    fn take_kind(&mut self) -> Result<Kind, TextError> {
        Ok(match self.kind {
            Word::PurposeIn => Kind::PurposeIn { values: self.take_values()? },
            Word::ActionIn => Kind::ActionIn { values: self.take_values()? },
            Word::CounterpartyIn => Kind::CounterpartyIn { values: self.take_values()? },
            Word::AssetEq => Kind::AssetEq { value: self.value.take().ok_or(MISSING)?.parse()? },
            Word::AmountLte => Kind::AmountLte { value: self.take_units()? },
            Word::DailySpendLte => Kind::DailySpendLte { value: self.take_units()? },
            Word::BalanceAfterGte => Kind::BalanceAfterGte { value: self.take_units()? },
            Word::VerifiedFacts => {
                self.source.take().ok_or(MISSING)?;
                Kind::VerifiedFacts
            }
            Word::RollingSpendLte => {
                Kind::RollingSpendLte { value: self.take_units()?, window_seconds: self.take_window()? }
            }
            Word::CounterpartySpendLte => Kind::CounterpartySpendLte {
                value: self.take_units()?,
                window_seconds: self.take_window()?,
                counterparty: self.counterparty.take(),
            },
        })
    }

    fn take_violation(&mut self) -> Result<Violation, TextError> {
        match (self.on_violation, self.approver.take(), self.delay_seconds.take()) {
            (Outcome::Deny, None, None) => Ok(Violation::Deny),
            (Outcome::Deny, _, _) => Err(TextError("no approver for a constraint that denies")),
            (Outcome::Escalate, Some(role), None) => Ok(Violation::Escalate(role)),
            (Outcome::Delay, Some(role), Some(seconds)) => {
                in_range(seconds).map(|s| Violation::Delay(role, s))
            }
            (Outcome::Escalate | Outcome::Delay, _, _) => {
                Err(TextError("an approver, and delay_seconds exactly for DELAY"))
            }
        }
    }

    fn take_values(&mut self) -> Result<Vec<Id>, TextError> {
        self.values.take().filter(|values| !values.is_empty()).ok_or(MISSING)
    }

    fn take_units(&mut self) -> Result<Units, TextError> {
        self.value.take().ok_or(MISSING)?.parse()
    }

    fn take_window(&mut self) -> Result<u32, TextError> {
        self.window_seconds.take().ok_or(MISSING).and_then(in_range)
    }
}

fn in_range(seconds: u32) -> Result<u32, TextError> {
    if SECONDS.contains(&seconds) { Ok(seconds) } else { Err(TextError("a minute to 366 days")) }
}

impl From<Constraint> for Wire {
    fn from(constraint: Constraint) -> Self {
        let (on_violation, delay_seconds) = match &constraint.on_violation {
            Violation::Deny => (Outcome::Deny, None),
            Violation::Escalate(_) => (Outcome::Escalate, None),
            Violation::Delay(_, seconds) => (Outcome::Delay, Some(*seconds)),
        };
        let mut wire = Self {
            approver: constraint.on_violation.approver().cloned(),
            counterparty: None,
            delay_seconds,
            id: constraint.id,
            kind: Word::VerifiedFacts,
            on_violation,
            source: None,
            value: None,
            values: None,
            window_seconds: None,
        };
        wire.put_kind(constraint.kind);
        wire
    }
}

impl Wire {
    fn put_kind(&mut self, kind: Kind) {
        self.window_seconds = match &kind {
            Kind::RollingSpendLte { window_seconds, .. }
            | Kind::CounterpartySpendLte { window_seconds, .. } => Some(*window_seconds),
            _ => None,
        };
        self.value = match &kind {
            Kind::AssetEq { value } => Some(value.to_string()),
            Kind::AmountLte { value }
            | Kind::DailySpendLte { value }
            | Kind::BalanceAfterGte { value }
            | Kind::RollingSpendLte { value, .. }
            | Kind::CounterpartySpendLte { value, .. } => Some(value.to_string()),
            _ => None,
        };
        self.kind = match kind {
            Kind::PurposeIn { values } => {
                self.values = Some(values);
                Word::PurposeIn
            }
            Kind::ActionIn { values } => {
                self.values = Some(values);
                Word::ActionIn
            }
            Kind::CounterpartyIn { values } => {
                self.values = Some(values);
                Word::CounterpartyIn
            }
            Kind::AssetEq { .. } => Word::AssetEq,
            Kind::AmountLte { .. } => Word::AmountLte,
            Kind::DailySpendLte { .. } => Word::DailySpendLte,
            Kind::BalanceAfterGte { .. } => Word::BalanceAfterGte,
            Kind::VerifiedFacts => {
                self.source = Some(FactSource::Stripe);
                Word::VerifiedFacts
            }
            Kind::RollingSpendLte { .. } => Word::RollingSpendLte,
            Kind::CounterpartySpendLte { counterparty, .. } => {
                self.counterparty = counterparty;
                Word::CounterpartySpendLte
            }
        };
    }
}
