use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A span of time in microseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }
    pub const fn as_micros(self) -> u64 {
        self.0
    }
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0)
    }
}

/// An instant: microseconds since 1970-01-01T00:00:00Z, within the years 0001 to 9999.
///
/// Written as UTC RFC 3339 with exactly three decimals (`2026-11-30T08:00:00.000Z`, spec of PXP 2.1). Reading
/// refuses any other spelling: another offset, other decimals, a lower-case `t` or `z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Why a text is no [`Timestamp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an instant as YYYY-MM-DDTHH:MM:SS.mmmZ")]
pub struct TimestampError;

impl Timestamp {
    pub const EPOCH: Self = Self(0);

    /// Clamps to the years that have a four-digit spelling.
    pub const fn from_micros(micros: i64) -> Self {
        const MIN: i64 = -62_135_596_800_000_000;
        const MAX: i64 = 253_402_214_400_000_000;
        Self(if micros < MIN {
            MIN
        } else if micros > MAX {
            MAX
        } else {
            micros
        })
    }
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_micros(secs.saturating_mul(1_000_000))
    }
    pub const fn as_micros(self) -> i64 {
        self.0
    }
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
    /// The same instant with its microseconds cut to whole milliseconds, as it is written.
    pub const fn to_millis(self) -> Self {
        Self(self.0.div_euclid(1_000).saturating_mul(1_000))
    }
    /// How long after `earlier` this is; zero if it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        Duration(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(i64::try_from(by.0).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::try_from(by.0).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_microsecond(self.to_millis().0).map_err(|_| fmt::Error)?;
        write!(f, "{instant:.3}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| TimestampError)?;
        let parsed = Self::from_micros(instant.as_microsecond());
        // The spelling is hashed, so only the one we would write is accepted.
        if parsed.to_string() == text { Ok(parsed) } else { Err(TimestampError) }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_only() {
        for (text, good) in [
            ("2026-11-30T08:00:00.000Z", true),
            ("0001-01-01T00:00:00.000Z", true),
            ("2026-11-30T08:00:00Z", false),
            ("2026-11-30T08:00:00.0000Z", false),
            ("2026-11-30t08:00:00.000z", false),
            ("2026-11-30T08:00:00.000+00:00", false),
            ("2026-11-30T08:00:60.000Z", false),
            ("2026-02-29T08:00:00.000Z", false),
        ] {
            let parsed = text.parse::<Timestamp>();
            assert_eq!(parsed.is_ok(), good, "{text}");
            if let Ok(parsed) = parsed {
                assert_eq!(parsed.to_string(), text);
            }
        }
    }

    #[test]
    fn arithmetic_saturates() {
        let end = Timestamp::from_micros(i64::MAX);
        assert_eq!(end + Duration::from_secs(u64::MAX), end);
        assert_eq!(Timestamp::EPOCH.since(end), Duration::default());
    }
}
