//! Typed limits of a card and typed values of a proposal, compared without a float (D23, W-04).

use crate::ClauseRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What a limit or value measures. `value` and `unit` read differently for each:
///
/// | kind | `value` | `unit` | `exponent` |
/// |---|---|---|---|
/// | money | integer in base units | ISO 4217 code, required | decimals of the base unit, required |
/// | number | integer | free, optional | decimals, 0 if absent |
/// | date | `YYYY-MM-DD` | none | none |
/// | duration | integer, not negative | `s`, `min`, `h` or `d`, required | none |
/// | enum | text | none | none |
/// | count | integer, not negative | free, optional | none |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Money,
    Number,
    Date,
    Duration,
    Enum,
    Count,
}

/// How a proposed value is compared with the limit's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Le,
    Ge,
    Lt,
    Gt,
    Eq,
    In,
    NotIn,
}

/// An integer or a text. Numbers with a fraction or exponent do not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    Integer(i64),
    Text(String),
}

/// One scalar, or the list that `in` and `not_in` compare with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Operand {
    One(Scalar),
    Many(Vec<Scalar>),
}

/// A typed limit on a card. It must hold for every proposed value it applies to; one whose clause is an
/// `escalate_when` is a trigger instead: it fires where the comparison is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The label of the values it applies to, compared without case; absent: every value of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub kind: Kind,
    pub op: Op,
    pub value: Operand,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<u8>,
    /// The prose it makes precise.
    #[schemars(with = "String")]
    pub clause: ClauseRef,
}

/// A typed value of a proposal's term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermValue {
    pub label: String,
    pub kind: Kind,
    pub value: Scalar,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<u8>,
    /// Which term it belongs to, from 0.
    pub term: u16,
}

/// What comparing a limit with a proposal's values found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Every value it applies to was compared and none is a reason to stop.
    Holds,
    /// A bound is crossed.
    Crossed,
    /// A trigger matches.
    Triggered,
    /// A value is missing, of another kind or unit, or has a label that could be taken for the limit's.
    Unreadable,
}

impl Limit {
    /// Whether it fires where it matches instead of binding what is proposed.
    pub fn is_trigger(&self) -> bool {
        self.clause.list == crate::List::EscalateWhen
    }

    /// Refuses a limit that could never be compared: the reason, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        let many = matches!(self.op, Op::In | Op::NotIn);
        let operands = self.operands();
        match &self.value {
            Operand::One(_) if many => return Err("in and not_in take a list"),
            Operand::Many(list) if !many => {
                return Err(if list.is_empty() {
                    "a value is missing"
                } else {
                    "only in and not_in take a list"
                });
            }
            Operand::Many(list) if list.is_empty() || list.len() > 50 => {
                return Err("a list of 1 to 50 values");
            }
            _ => {}
        }
        if self.kind == Kind::Enum && !matches!(self.op, Op::Eq | Op::In | Op::NotIn) {
            return Err("an enum has no order");
        }
        for operand in operands {
            measure(self.kind, operand, self.unit.as_deref(), self.exponent)?;
        }
        Ok(())
    }

    /// Compares with the values of one proposal.
    pub fn read(&self, values: &[TermValue]) -> Reading {
        if values.iter().any(|value| self.looks_meant(value)) {
            return Reading::Unreadable;
        }
        let mine: Vec<&TermValue> = values.iter().filter(|value| self.applies(value)).collect();
        if mine.is_empty() {
            return Reading::Unreadable;
        }
        let mut reading = Reading::Holds;
        for value in mine {
            match self.holds(value) {
                None => return Reading::Unreadable,
                Some(true) if self.is_trigger() => reading = Reading::Triggered,
                Some(false) if !self.is_trigger() => reading = Reading::Crossed,
                Some(_) => {}
            }
        }
        reading
    }

    /// In words, for the person who is asked: `price: at most 900.00 EUR (may_agree_to[0])`.
    pub fn describe(&self) -> String {
        let label = self.label.as_deref().unwrap_or("any value");
        let op = match self.op {
            Op::Le => "at most",
            Op::Ge => "at least",
            Op::Lt => "less than",
            Op::Gt => "more than",
            Op::Eq => "exactly",
            Op::In => "one of",
            Op::NotIn => "none of",
        };
        let values: Vec<String> = self
            .operands()
            .into_iter()
            .map(|operand| spell(self.kind, operand, self.unit.as_deref(), self.exponent))
            .collect();
        format!("{label}: {op} {} ({})", values.join(", "), self.clause)
    }

    fn operands(&self) -> Vec<&Scalar> {
        match &self.value {
            Operand::One(one) => vec![one],
            Operand::Many(many) => many.iter().collect(),
        }
    }

    fn applies(&self, value: &TermValue) -> bool {
        match &self.label {
            Some(label) => label.trim().to_lowercase() == value.label.trim().to_lowercase(),
            None => self.kind == value.kind,
        }
    }

    /// Whether the value's label is another than the limit's that a person could take for it.
    fn looks_meant(&self, value: &TermValue) -> bool {
        let label = self.label.as_deref();
        label.is_some_and(|label| !self.applies(value) && outline(label) == outline(&value.label))
    }

    /// `None` where they cannot be compared.
    fn holds(&self, value: &TermValue) -> Option<bool> {
        if value.kind != self.kind {
            return None;
        }
        let left = measure(value.kind, &value.value, value.unit.as_deref(), value.exponent).ok()?;
        let compare = |operand: &Scalar| -> Option<Ordering> {
            left.compare(&measure(self.kind, operand, self.unit.as_deref(), self.exponent).ok()?)
        };
        match (&self.value, self.op) {
            (Operand::One(one), op) => {
                let order = compare(one)?;
                Some(match op {
                    Op::Le => order.is_le(),
                    Op::Ge => order.is_ge(),
                    Op::Lt => order.is_lt(),
                    Op::Gt => order.is_gt(),
                    Op::Eq => order.is_eq(),
                    Op::In | Op::NotIn => return None,
                })
            }
            (Operand::Many(many), op) => {
                let orders: Option<Vec<Ordering>> = many.iter().map(compare).collect();
                let found = orders?.into_iter().any(Ordering::is_eq);
                match op {
                    Op::In => Some(found),
                    Op::NotIn => Some(!found),
                    _ => None,
                }
            }
        }
    }
}

/// Whether a label cannot pass for one of another alphabet: ASCII letters, digits, spaces, `-`, `_` and `.` alone.
pub(crate) fn is_label(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b" -_.".contains(&b))
}

/// What is left of a label once all that a glance misses is gone: case, spaces and signs, `i`, `l` and `1`, `o` and `0`,
/// `m` and `rn`, `w` and `vv`.
fn outline(label: &str) -> String {
    let plain = label.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let folded = plain.map(|c| match c {
        'i' | '1' => 'l',
        '0' => 'o',
        c => c,
    });
    folded.collect::<String>().replace("rn", "m").replace("vv", "w")
}

impl TermValue {
    /// Refuses a value that no limit could be compared with: the reason, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        measure(self.kind, &self.value, self.unit.as_deref(), self.exponent).map(|_| ())
    }

    /// `950.00 EUR`, `2026-05-04`, `80 guests`.
    pub fn spelled(&self) -> String {
        spell(self.kind, &self.value, self.unit.as_deref(), self.exponent)
    }
}

/// A comparable measure. Different units, or different kinds, do not compare.
enum Measure<'a> {
    Scaled { amount: i64, exponent: u8, unit: Option<&'a str> },
    Day(u32),
    Seconds(i64),
    Word(&'a str),
}

impl Measure<'_> {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (
                Self::Scaled { amount, exponent, unit },
                Self::Scaled { amount: amount2, exponent: exponent2, unit: unit2 },
            ) => {
                if unit != unit2 {
                    return None;
                }
                let most = (*exponent).max(*exponent2);
                Some(scale(*amount, most - exponent).cmp(&scale(*amount2, most - exponent2)))
            }
            (Self::Day(a), Self::Day(b)) => Some(a.cmp(b)),
            (Self::Seconds(a), Self::Seconds(b)) => Some(a.cmp(b)),
            (Self::Word(a), Self::Word(b)) => Some(if a.trim().to_lowercase() == b.trim().to_lowercase() {
                Ordering::Equal
            } else {
                Ordering::Less
            }),
            _ => None,
        }
    }
}

const MOST_DECIMALS: u8 = 12;

/// `amount × 10^by`: at most 2^63 × 10^12, well inside an `i128`.
fn scale(amount: i64, by: u8) -> i128 {
    i128::from(amount).saturating_mul(10_i128.saturating_pow(u32::from(by)))
}

fn measure<'a>(
    kind: Kind,
    value: &'a Scalar,
    unit: Option<&'a str>,
    exponent: Option<u8>,
) -> Result<Measure<'a>, &'static str> {
    if exponent.is_some_and(|exponent| exponent > MOST_DECIMALS) {
        return Err("at most 12 decimals");
    }
    match (kind, value) {
        (Kind::Money, Scalar::Integer(amount)) => {
            let currency = unit.ok_or("money needs its currency as unit")?;
            if currency.len() != 3 || !currency.bytes().all(|b| b.is_ascii_uppercase()) {
                return Err("a currency is three capital letters");
            }
            let exponent = exponent.ok_or("money needs the exponent of its base unit")?;
            Ok(Measure::Scaled { amount: *amount, exponent, unit: Some(currency) })
        }
        (Kind::Number, Scalar::Integer(amount)) => {
            Ok(Measure::Scaled { amount: *amount, exponent: exponent.unwrap_or(0), unit })
        }
        (_, _) if exponent.is_some() => Err("only money and numbers have an exponent"),
        (Kind::Count, Scalar::Integer(amount)) if *amount >= 0 => {
            Ok(Measure::Scaled { amount: *amount, exponent: 0, unit })
        }
        (Kind::Duration, Scalar::Integer(amount)) if *amount >= 0 => {
            let seconds = match unit {
                Some("s") => 1,
                Some("min") => 60,
                Some("h") => 3_600,
                Some("d") => 86_400,
                _ => return Err("a duration is in s, min, h or d"),
            };
            Ok(Measure::Seconds(amount.checked_mul(seconds).ok_or("a duration beyond reckoning")?))
        }
        (Kind::Count | Kind::Duration, Scalar::Integer(_)) => Err("may not be negative"),
        (_, _) if unit.is_some() => Err("this kind has no unit"),
        (Kind::Date, Scalar::Text(text)) => Ok(Measure::Day(day(text).ok_or("a date is YYYY-MM-DD")?)),
        (Kind::Enum, Scalar::Text(text)) if !text.trim().is_empty() => Ok(Measure::Word(text)),
        (Kind::Enum, Scalar::Text(_)) => Err("a word is missing"),
        (Kind::Date | Kind::Enum, Scalar::Integer(_)) => Err("this kind takes a text"),
        (_, Scalar::Text(_)) => Err("this kind takes an integer"),
    }
}

/// A real calendar day as a sortable number.
fn day(text: &str) -> Option<u32> {
    // The house's clock knows the calendar: a day that does not exist has no midnight.
    format!("{text}T00:00:00.000Z").parse::<env::Timestamp>().ok()?;
    text.bytes()
        .filter(u8::is_ascii_digit)
        .try_fold(0_u32, |sum, digit| sum.checked_mul(10)?.checked_add(u32::from(digit - b'0')))
}

fn spell(kind: Kind, value: &Scalar, unit: Option<&str>, exponent: Option<u8>) -> String {
    let amount = match value {
        Scalar::Text(text) => text.clone(),
        Scalar::Integer(amount) => decimal(
            *amount,
            if matches!(kind, Kind::Money | Kind::Number) { exponent.unwrap_or(0) } else { 0 },
        ),
    };
    match unit {
        Some(unit) => format!("{amount} {unit}"),
        None => amount,
    }
}

/// `95000` with 2 decimals is `950.00`.
pub(crate) fn decimal(amount: i64, exponent: u8) -> String {
    let digits = format!("{:0>width$}", amount.unsigned_abs(), width = usize::from(exponent) + 1);
    let (whole, part) = digits.split_at(digits.len() - usize::from(exponent));
    let sign = if amount < 0 { "-" } else { "" };
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(kind: Kind, op: Op, value: Operand, unit: Option<&str>, exponent: Option<u8>) -> Limit {
        let clause = "may_agree_to[0]".parse().unwrap();
        Limit { label: Some("x".into()), kind, op, value, unit: unit.map(str::to_owned), exponent, clause }
    }
    fn value(kind: Kind, value: Scalar, unit: Option<&str>, exponent: Option<u8>) -> TermValue {
        TermValue { label: " X".into(), kind, value, unit: unit.map(str::to_owned), exponent, term: 0 }
    }
    fn int(n: i64) -> Scalar {
        Scalar::Integer(n)
    }
    fn text(s: &str) -> Scalar {
        Scalar::Text(s.into())
    }

    #[test]
    fn readings() {
        use Reading::{Crossed, Holds, Unreadable};
        let one = |s| Operand::One(s);
        let euro = limit(Kind::Money, Op::Le, one(int(90_000)), Some("EUR"), Some(2));
        let day = limit(Kind::Date, Op::Lt, one(text("2026-05-04")), None, None);
        let word = limit(Kind::Enum, Op::In, Operand::Many(vec![text("card"), text("transfer")]), None, None);
        let span = limit(Kind::Duration, Op::Ge, one(int(2)), Some("d"), None);
        for (limit, value, expected) in [
            (&euro, value(Kind::Money, int(90_000), Some("EUR"), Some(2)), Holds),
            (&euro, value(Kind::Money, int(90_001), Some("EUR"), Some(2)), Crossed),
            (&euro, value(Kind::Money, int(900), Some("EUR"), Some(0)), Holds),
            (&euro, value(Kind::Money, int(900_001), Some("EUR"), Some(3)), Crossed),
            (&euro, value(Kind::Money, int(900), Some("USD"), Some(2)), Unreadable),
            (&euro, value(Kind::Number, int(900), Some("EUR"), Some(2)), Unreadable),
            (&day, value(Kind::Date, text("2026-05-03"), None, None), Holds),
            (&day, value(Kind::Date, text("2026-05-04"), None, None), Crossed),
            (&day, value(Kind::Date, text("2026-02-30"), None, None), Unreadable),
            (&word, value(Kind::Enum, text("Card "), None, None), Holds),
            (&word, value(Kind::Enum, text("cash"), None, None), Crossed),
            (&span, value(Kind::Duration, int(48), Some("h"), None), Holds),
            (&span, value(Kind::Duration, int(47), Some("h"), None), Crossed),
        ] {
            assert_eq!(limit.check(), Ok(()));
            assert_eq!(
                limit.read(std::slice::from_ref(&value)),
                expected,
                "{} against {}",
                value.spelled(),
                limit.describe()
            );
        }
        assert_eq!(euro.read(&[]), Unreadable);
        assert_eq!(euro.describe(), "x: at most 900.00 EUR (may_agree_to[0])");
    }

    #[test]
    fn a_trigger_fires_where_it_is_true() {
        let mut trigger = limit(Kind::Count, Op::Gt, Operand::One(int(80)), None, None);
        trigger.clause = "escalate_when[0]".parse().unwrap();
        assert_eq!(trigger.read(&[value(Kind::Count, int(81), None, None)]), Reading::Triggered);
        assert_eq!(trigger.read(&[value(Kind::Count, int(80), None, None)]), Reading::Holds);
    }

    #[test]
    fn limits_that_cannot_compare_are_refused() {
        let one = |s| Operand::One(s);
        for bad in [
            limit(Kind::Money, Op::Le, one(int(1)), None, Some(2)),
            limit(Kind::Money, Op::Le, one(int(1)), Some("eur"), Some(2)),
            limit(Kind::Money, Op::Le, one(int(1)), Some("EUR"), None),
            limit(Kind::Enum, Op::Le, one(text("a")), None, None),
            limit(Kind::Enum, Op::In, one(text("a")), None, None),
            limit(Kind::Date, Op::Eq, one(text("2026-13-01")), None, None),
            limit(Kind::Count, Op::Eq, one(int(-1)), None, None),
            limit(Kind::Duration, Op::Eq, one(int(1)), Some("weeks"), None),
            limit(Kind::Number, Op::Eq, one(int(1)), None, Some(13)),
            limit(Kind::Number, Op::Eq, Operand::Many(vec![int(1)]), None, None),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
