//! What a record says (spec 3.3).

use crate::{Error, schema};
use canon::{Digest, Value};
use env::Timestamp;

/// The tenant and the run of the signer's own records; a tenant has such a run too.
pub const SIGNER_TENANT: &str = "tracekit";
pub const SIGNER_RUN: &str = "tracekit/signer";

/// The version of the events that are read here.
pub(crate) const VERSION: &str = "tracekit.event.v2";

/// A place in a log, counted from 0: a record's `seq`, the index of its leaf, what the validity of a key is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seq {}", self.0)
    }
}

/// How much a record weighs (spec 3.3, "tier in practice"). It follows from its type, its source and its tier together:
/// nothing that the agent's own process reports is more than [`Tier::T1`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The agent's own process says so.
    T1,
    /// A gateway or an executor ran it.
    T2,
    /// The signer wrote it of itself.
    Signer,
}

/// An event of version 2: of the schema, closed, with the members every event has read out.
#[derive(Debug, Clone, Copy)]
pub struct Event<'r> {
    value: &'r Value<'r>,
    kind: &'r str,
    seq: u64,
    prev: Digest,
    log_id: &'r str,
    tenant: &'r str,
    run_id: &'r str,
    run_seq: u64,
    run_prev: Digest,
    ts: &'r str,
    source: &'r str,
    data: &'r Value<'r>,
}

impl<'r> Event<'r> {
    /// Refuses what is not of the schema.
    pub fn read(value: &'r Value<'r>) -> Result<Self, Error> {
        schema::event(value).map_err(|misfit| Error::Schema { place: misfit.place, why: misfit.why })?;
        Self::unchecked(value)
    }

    /// Of a value that was found to be of the schema.
    pub(crate) fn unchecked(value: &'r Value<'r>) -> Result<Self, Error> {
        // INVARIANT: the schema requires all of these, of these types.
        let lost = || Error::Schema { place: String::new(), why: "a required member is missing" };
        let text = |name| value.get(name).and_then(Value::as_str).ok_or_else(lost);
        let number = |name| value.get(name).and_then(Value::as_u64).ok_or_else(lost);
        let hash = |name| text(name).and_then(|text| digest(text).ok_or_else(lost));
        Ok(Self {
            value,
            kind: text("type")?,
            seq: number("seq")?,
            prev: hash("prev_hash")?,
            log_id: text("log_id")?,
            tenant: text("tenant")?,
            run_id: text("run_id")?,
            run_seq: number("run_seq")?,
            run_prev: hash("run_prev_hash")?,
            ts: text("ts")?,
            source: text("source")?,
            data: value.get("data").ok_or_else(lost)?,
        })
    }

    /// The whole object.
    pub const fn value(&self) -> &'r Value<'r> {
        self.value
    }
    /// The event's `type`.
    pub const fn kind(&self) -> &'r str {
        self.kind
    }
    pub const fn position(&self) -> Position {
        Position(self.seq)
    }
    pub const fn prev_hash(&self) -> Digest {
        self.prev
    }
    /// 32 hex digits.
    pub const fn log_id(&self) -> &'r str {
        self.log_id
    }
    pub const fn tenant(&self) -> &'r str {
        self.tenant
    }
    pub const fn run_id(&self) -> &'r str {
        self.run_id
    }
    pub const fn run_seq(&self) -> u64 {
        self.run_seq
    }
    pub const fn run_prev_hash(&self) -> Digest {
        self.run_prev
    }
    pub const fn source(&self) -> &'r str {
        self.source
    }
    /// What the type says `data` holds; shape checked by the schema.
    pub const fn data(&self) -> &'r Value<'r> {
        self.data
    }
    /// When the signer accepted it, or else when it happened by the reporter's word: text that orders as time does.
    pub fn when(&self) -> &'r str {
        self.text("ts_signed").unwrap_or(self.ts)
    }
    /// A text member of the event itself.
    pub fn text(&self, name: &str) -> Option<&'r str> {
        self.value.get(name).and_then(Value::as_str)
    }
    /// A text member of `data`.
    pub fn data_text(&self, name: &str) -> Option<&'r str> {
        self.data.get(name).and_then(Value::as_str)
    }
    /// The call it belongs to, as the agent named it.
    pub fn tool_call_id(&self) -> Option<&'r str> {
        self.text("tool_call_id")
    }
    /// The attempt at that call; absent counts as the first.
    pub fn attempt(&self) -> u64 {
        self.value.get("attempt").and_then(Value::as_u64).unwrap_or_default()
    }

    pub fn tier(&self) -> Tier {
        const OWN: [&str; 4] = ["approval.", "run.", "signer.", "reconcile."];
        match self.kind {
            "approval" | "effect.observed" | "capture.gap" => Tier::Signer,
            kind if OWN.iter().any(|prefix| kind.starts_with(prefix)) => Tier::Signer,
            "policy.decision" | "tool.result" | "input.observed" | "model.exchange"
                if self.source == "gateway" && self.text("tier") == Some("T2") =>
            {
                Tier::T2
            }
            _ => Tier::T1,
        }
    }
}

/// `sha256:` and 64 lower-case hex digits.
pub(crate) fn digest(text: &str) -> Option<Digest> {
    text.strip_prefix("sha256:")?.parse().ok()
}

/// `YYYY-MM-DDThh:mm:ss.ffffffZ` as an instant. `None` for any other spelling, and for a day or an hour there is not.
pub fn instant(text: &str) -> Option<Timestamp> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten()
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (26, b'Z')];
    let marked = marks.iter().all(|&(at, mark)| text.as_bytes().get(at) == Some(&mark));
    if !marked || text.len() != 27 {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year == 0 || !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970-01-01, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Timestamp::from_micros(seconds * 1_000_000 + number(20, 26)?))
}

/// An instant as events spell it, with six decimals.
pub fn spelled(at: Timestamp) -> String {
    let text = Timestamp::from_secs(at.as_secs()).to_string();
    let micros = at.as_micros().rem_euclid(1_000_000);
    format!("{}.{micros:06}Z", text.get(..19).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_one_spelling_and_is_a_day_there_is() {
        let check = |text: &str, micros: Option<i64>| {
            assert_eq!(instant(text).map(Timestamp::as_micros), micros, "{text}");
            if let Some(micros) = micros {
                assert_eq!(spelled(Timestamp::from_micros(micros)), text);
            }
        };
        check("1970-01-01T00:00:00.000000Z", Some(0));
        check("2026-11-30T06:21:16.735241Z", Some(1_796_019_676_735_241));
        check("2000-02-29T23:59:59.999999Z", Some(951_868_799_999_999));
        check("1969-12-31T23:59:59.000001Z", Some(-999_999));
        check("2026-02-29T00:00:00.000000Z", None);
        check("1900-02-29T00:00:00.000000Z", None);
        check("2026-13-01T00:00:00.000000Z", None);
        check("2026-11-30T24:00:00.000000Z", None);
        check("2026-11-30T06:21:16.735Z", None);
        check("2026-11-30t06:21:16.735241Z", None);
        check("2026-11-30T06:21:16.735241z", None);
        check("+026-11-30T06:21:16.735241Z", None);
    }
}
