//! Instants as mandates write them (spec 1.1, DateTime) and as the engine counts them: milliseconds since 1970.

use crate::text::{TextError, spelled};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use std::fmt;
use std::str::FromStr;

/// Milliseconds since 1970-01-01T00:00:00Z: not negative, at most 2^53 - 1. As JSON, a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Millis(u64);

impl Millis {
    /// The longest that an authorization lives (spec 1.8).
    pub const TEN_MINUTES: u64 = 600_000;
    pub const DAY: u64 = 86_400_000;
    const MAX: u64 = (1 << 53) - 1;

    pub const fn get(self) -> u64 {
        self.0
    }
    /// The day in UTC, counted from 1970-01-01.
    pub const fn day(self) -> u64 {
        self.0 / Self::DAY
    }
    /// Later by so much; stays at the latest instant there is.
    pub fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis).min(Self::MAX))
    }
    /// How long after `earlier` this is; zero if it is not after.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
    /// The instant as the ledger writes it.
    pub fn timestamp(self) -> env::Timestamp {
        env::Timestamp::from_micros(i64::try_from(self.0).unwrap_or(i64::MAX).saturating_mul(1000))
    }
}

impl TryFrom<u64> for Millis {
    type Error = TextError;
    fn try_from(value: u64) -> Result<Self, TextError> {
        if value <= Self::MAX { Ok(Self(value)) } else { Err(TextError("milliseconds up to 2^53 - 1")) }
    }
}

impl TryFrom<env::Timestamp> for Millis {
    type Error = TextError;
    fn try_from(at: env::Timestamp) -> Result<Self, TextError> {
        let millis = at.to_millis().as_micros().div_euclid(1000);
        u64::try_from(millis).map_err(|_| TextError("an instant after 1970")).and_then(Self::try_from)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(u64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// An instant as `YYYY-MM-DDTHH:MM:SS`, an optional fraction of any length, and `Z`. Offsets, leap seconds, lower case
/// and days that no calendar has are refused. It is compared by its milliseconds; further digits are cut.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DateTime {
    text: SmolStr,
    /// Since 1970; negative before.
    millis: i64,
}

impl DateTime {
    pub fn as_str(&self) -> &str {
        &self.text
    }
    /// Whether `now` is before this instant.
    pub fn is_after(&self, now: Millis) -> bool {
        i64::try_from(now.get()).is_ok_and(|now| now < self.millis)
    }
    pub fn is_before(&self, other: &Self) -> bool {
        self.millis < other.millis
    }
    /// The instant, if it is not before 1970.
    pub fn millis(&self) -> Option<Millis> {
        u64::try_from(self.millis).ok().and_then(|millis| Millis::try_from(millis).ok())
    }
}

impl FromStr for DateTime {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        parse(text)
            .map(|millis| Self { text: text.into(), millis })
            .ok_or(TextError("an instant as 2026-10-07T08:00:00Z"))
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

spelled!(held: [] DateTime);

fn parse(text: &str) -> Option<i64> {
    let (date, fraction) = text.strip_suffix('Z')?.split_at_checked(19)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] =
        date.as_bytes()
    else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let month = number(&[m1, m2])?;
    let day = number(&[d1, d2])?;
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?);
    if !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let millis = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let mut three = [b'0'; 3];
            three.iter_mut().zip(digits.bytes()).for_each(|(to, from)| *to = from);
            number(&three)?
        }
        _ => return None,
    };
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1000 + millis)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit.wrapping_sub(b'0')))
    })
}

const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// In the proleptic Gregorian calendar; years are counted from March, so that the leap day is a year's last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_instants_only() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(text.parse::<DateTime>().ok().map(|at| at.millis), expected, "{text}");
        };
        check("1970-01-01T00:00:00Z", Some(0));
        check("2026-10-07T03:00:00Z", Some(1_791_342_000_000));
        check("2026-10-07T03:00:00.6009Z", Some(1_791_342_000_600));
        check("2026-10-07T03:00:00.6Z", Some(1_791_342_000_600));
        check("1969-12-31T23:59:59.999Z", Some(-1));
        check("2024-02-29T00:00:00Z", Some(1_709_164_800_000));
        check("2000-02-29T00:00:00Z", Some(951_782_400_000));
        check("0000-02-29T00:00:00Z", Some(-62_162_121_600_000));
        check("9999-12-31T23:59:59Z", Some(253_402_300_799_000));
        for bad in [
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-10-07T03:00:00+00:00",
            "2026-10-07T03:00:00",
            "2026-10-07T03:00Z",
            "2026-10-07T24:00:00Z",
            "2026-10-07T03:60:00Z",
            "2026-10-07T03:00:60Z",
            "2026-10-07t03:00:00Z",
            "2026-10-07T03:00:00z",
            "2026-10-07T03:00:00.Z",
            "2026-10-07T03:00:00.1 Z",
            "2026-13-07T03:00:00Z",
            "2026-00-07T03:00:00Z",
            "2026-04-31T03:00:00Z",
            "26-10-07T03:00:00Z",
            " 2026-10-07T03:00:00Z",
            "2026-10-07T03:00:00ZZ",
            "éééééééééééééééééééé",
            "",
        ] {
            check(bad, None);
        }
    }
}
