//! What the engine answers (spec 1.5): an outcome, and a row for each thing it looked at.

use crate::mandate::RoleName;
use crate::reason::Reason;
use crate::text::{Id, Units};
use crate::time::Millis;
use canon::Digest;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use std::borrow::Cow;
use std::fmt;

/// Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    pub action_hash: Option<Digest>,
    pub approvals_required: Vec<Required>,
    pub checks: Vec<Row>,
    /// With outcome DELAY: when it may be done if nobody objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_until_ms: Option<Millis>,
    pub evaluated_at_ms: Millis,
    pub mandate_hash: Digest,
    pub mandate_version: u32,
    pub outcome: Outcome,
    /// The first DENY; null for every other outcome.
    pub reason: Option<Reason>,
    pub signed: bool,
    /// The hash of the report that was usable.
    pub verification_hash: Option<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Allow,
    Escalate,
    Deny,
    /// `mandate/v0.2`: allowed later, unless the approver objects.
    Delay,
    /// Facts must be verified first. Callers of an API are never told this.
    NeedsVerification,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Escalate => "ESCALATE",
            Self::Deny => "DENY",
            Self::Delay => "DELAY",
            Self::NeedsVerification => "NEEDS_VERIFICATION",
        }
    }
}

impl Evaluation {
    /// Denies what the engine did not: a reservation, a number that differs, an answer that was given before. It shows in
    /// the row of the facts, or in the first where there is none.
    pub(crate) fn overrule(&mut self, reason: Reason, detail: Details) {
        self.outcome = Outcome::Deny;
        self.reason = Some(reason);
        self.delayed_until_ms = None;
        let facts = facts_row(&self.checks);
        if let Some(row) = self.checks.get_mut(facts) {
            row.detail = detail;
            row.reason = Some(reason);
            row.result = Checked::Fail;
        }
    }

    /// Whether a verification report is why it was denied.
    pub(crate) fn denied_by_report(&self) -> bool {
        self.reason.is_some_and(Reason::is_fact)
            && self
                .checks
                .iter()
                .any(|row| row.result == Checked::Fail && row.detail.get("report_hash").is_some())
    }
}

/// The row that shows why something was overruled.
pub(crate) fn facts_row(rows: &[Row]) -> usize {
    rows.iter().position(|row| row.kind == "verified_facts").unwrap_or(0)
}

/// Who must sign, and because of which constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Required {
    pub approver: RoleName,
    pub constraint: Id,
    pub reason: Reason,
}

/// One thing the engine looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub detail: Details,
    pub id: SmolStr,
    pub kind: Cow<'static, str>,
    pub reason: Option<Reason>,
    pub result: Checked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    NotEvaluated,
    Pass,
    Fail,
    Pending,
    #[serde(rename = "ESCALATE", alias = "approval")]
    Escalate,
    #[serde(rename = "DELAY")]
    Delay,
}

/// What a row was judged by, in the order of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details(Vec<(Cow<'static, str>, Detail)>);

/// A value of a row. Two are equal if they are written alike.
#[derive(Debug, Clone)]
pub enum Detail {
    Null,
    Bool(bool),
    Number(u64),
    Text(SmolStr),
    Hash(Digest),
    /// Base units, maybe below zero; written as a decimal text.
    Units(i128),
}

impl Details {
    pub fn get(&self, name: &str) -> Option<&Detail> {
        self.0.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The names ascend.
    pub(crate) fn of<const N: usize>(members: [(&'static str, Detail); N]) -> Self {
        debug_assert!(members.is_sorted_by(|(one, _), (two, _)| one < two), "{members:?}");
        Self(members.map(|(name, value)| (Cow::Borrowed(name), value)).into())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Detail>) -> Self {
        let at = self.0.partition_point(|(known, _)| known.as_ref() < name);
        self.0.insert(at, (Cow::Borrowed(name), value.into()));
        self
    }
}

impl Detail {
    /// A number, where it is one.
    pub const fn as_number(&self) -> Option<u64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    fn spelled(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Hash(hash) => Some(Cow::Owned(hash.to_string())),
            Self::Units(units) => Some(Cow::Owned(units.to_string())),
            Self::Null | Self::Bool(_) | Self::Number(_) => None,
        }
    }
}

impl PartialEq for Detail {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Number(one), Self::Number(two)) => one == two,
            (one, two) => one.spelled().is_some() && one.spelled() == two.spelled(),
        }
    }
}

impl Eq for Detail {}

impl From<bool> for Detail {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
impl From<u32> for Detail {
    fn from(value: u32) -> Self {
        Self::Number(u64::from(value))
    }
}
impl From<Millis> for Detail {
    fn from(value: Millis) -> Self {
        Self::Number(value.get())
    }
}
/// A text that is held is not copied.
impl<'t, T: ?Sized> From<&'t T> for Detail
where
    SmolStr: From<&'t T>,
{
    fn from(text: &'t T) -> Self {
        Self::Text(text.into())
    }
}
impl From<Digest> for Detail {
    fn from(hash: Digest) -> Self {
        Self::Hash(hash)
    }
}
impl From<i128> for Detail {
    fn from(units: i128) -> Self {
        Self::Units(units)
    }
}
impl From<Units> for Detail {
    fn from(units: Units) -> Self {
        Self::Units(units.wide())
    }
}
impl<T: Into<Self>> From<Option<T>> for Detail {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_u64(*value),
            Self::Text(_) | Self::Hash(_) | Self::Units(_) => {
                serializer.serialize_str(&self.spelled().unwrap_or_default())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Detail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match canon::Value::deserialize(deserializer)? {
            canon::Value::Null => Ok(Self::Null),
            canon::Value::Bool(value) => Ok(Self::Bool(value)),
            canon::Value::String(text) => Ok(Self::Text(text.into())),
            canon::Value::Number(number) => {
                number.as_u64().map(Self::Number).ok_or_else(|| serde::de::Error::custom("expected a count"))
            }
            canon::Value::Array(_) | canon::Value::Object(_) => {
                Err(serde::de::Error::custom("expected a text, a number, a bool or null"))
            }
        }
    }
}

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Details {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Details;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts, numbers, bools and nulls")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Details, A::Error> {
                let mut details = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Detail>()? {
                    details.push((Cow::Owned(name), value));
                }
                details.sort_by(|(one, _): &(Cow<'_, str>, _), (two, _)| one.cmp(two));
                Ok(Details(details))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
