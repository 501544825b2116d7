//! Names of things in a room. Each parses from exactly one spelling.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Why a text names nothing: what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct IdError(pub &'static str);

/// A room: `[A-Za-z0-9._-]{1,64}`, the id of its stream `room/<id>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct RoomId(String);

impl RoomId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// `room/<id>`.
    pub fn stream(&self) -> String {
        format!("room/{}", self.0)
    }
}

impl FromStr for RoomId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let good = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if good { Ok(Self(text.to_owned())) } else { Err(IdError("a room id")) }
    }
}

/// A seat: one letter, `A` for the opener, then in order. At most [`SeatId::MOST`] seats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct SeatId(u8);

impl SeatId {
    pub const MOST: usize = 8;
    /// The opener's seat.
    pub const A: Self = Self(0);

    /// The seat at a place in the order, from 0.
    pub fn at(index: usize) -> Option<Self> {
        u8::try_from(index).ok().filter(|index| usize::from(*index) < Self::MOST).map(Self)
    }
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl FromStr for SeatId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.as_bytes() {
            [letter @ b'A'..=b'H'] => Ok(Self(letter - b'A')),
            _ => Err(IdError("a seat letter from A to H")),
        }
    }
}

/// A claim: `<seat><seq>.<k>` for the k-th claim of an envelope, `<seat>q<n>` for a principal's answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct ClaimId(String);

impl ClaimId {
    pub fn of_envelope(seat: SeatId, seq: u64, k: usize) -> Self {
        Self(format!("{seat}{seq}.{k}"))
    }
    pub fn of_answer(seat: SeatId, question: &QuestionId) -> Self {
        Self(format!("{seat}{question}"))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClaimId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut bytes = text.bytes();
        let good = text.len() <= 20
            && bytes.next().is_some_and(|b| matches!(b, b'A'..=b'H'))
            && text.len() > 1
            && bytes.all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'q'));
        if good { Ok(Self(text.to_owned())) } else { Err(IdError("a claim id such as A1.1")) }
    }
}

/// A question to a principal: `q1`, `q2`, … in the order asked in the room.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct QuestionId(String);

impl QuestionId {
    pub fn nth(n: usize) -> Self {
        Self(format!("q{n}"))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for QuestionId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let good = (2..=8).contains(&text.len())
            && text
                .strip_prefix('q')
                .is_some_and(|digits| !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
        if good { Ok(Self(text.to_owned())) } else { Err(IdError("a question id such as q1")) }
    }
}

/// A share link of a room: `s1`, `s2`, ….
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct ShareId(String);

impl ShareId {
    pub fn nth(n: usize) -> Self {
        Self(format!("s{n}"))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ShareId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let good = (2..=8).contains(&text.len())
            && text
                .strip_prefix('s')
                .is_some_and(|digits| !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
        if good { Ok(Self(text.to_owned())) } else { Err(IdError("a share id such as s1")) }
    }
}

/// The lists of an intent card (seed, section 1), by the names that refs use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    MustHaves,
    MayAgreeTo,
    MustNever,
    EscalateWhen,
    KnownFacts,
    Amendment,
}

impl List {
    pub const ALL: [Self; 6] = [
        Self::MustHaves,
        Self::MayAgreeTo,
        Self::MustNever,
        Self::EscalateWhen,
        Self::KnownFacts,
        Self::Amendment,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MustHaves => "must_haves",
            Self::MayAgreeTo => "may_agree_to",
            Self::MustNever => "must_never",
            Self::EscalateWhen => "escalate_when",
            Self::KnownFacts => "known_facts",
            Self::Amendment => "amendment",
        }
    }

    /// Whether a clause of this list can be the authority for a term.
    pub const fn grants(self) -> bool {
        matches!(self, Self::MustHaves | Self::MayAgreeTo | Self::Amendment)
    }
}

/// One clause of a card: `must_haves[0]`, `amendment[1]` (spec 2.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct ClauseRef {
    pub list: List,
    pub index: u16,
}

impl FromStr for ClauseRef {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        const EXPECTED: IdError = IdError("a clause such as must_haves[0]");
        let (name, rest) = text.split_once('[').ok_or(EXPECTED)?;
        let digits = rest.strip_suffix(']').ok_or(EXPECTED)?;
        let list = List::ALL.into_iter().find(|list| list.as_str() == name).ok_or(EXPECTED)?;
        let plain = digits == "0" || !digits.starts_with('0');
        if !plain || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(EXPECTED);
        }
        Ok(Self { list, index: digits.parse().map_err(|_| EXPECTED)? })
    }
}

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for SeatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(b'A'.saturating_add(self.0)))
    }
}
impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for ShareId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for ClauseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.list.as_str(), self.index)
    }
}

macro_rules! spelled {
    ($($name:ty),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
spelled!(RoomId, SeatId, ClaimId, QuestionId, ShareId, ClauseRef);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_has_one_spelling() {
        for (text, good) in [
            ("must_haves[0]", true),
            ("amendment[12]", true),
            ("amendments[0]", false),
            ("must_haves[00]", false),
            ("must_haves[01]", false),
            ("must_haves[]", false),
            ("must_haves[+1]", false),
            ("must_haves[1] ", false),
            ("must_haves[99999]", false),
            ("Must_haves[1]", false),
        ] {
            let parsed = text.parse::<ClauseRef>();
            assert_eq!(parsed.is_ok(), good, "{text}");
            if let Ok(parsed) = parsed {
                assert_eq!(parsed.to_string(), text);
            }
        }
    }

    #[test]
    fn seats_are_letters_in_order() {
        assert_eq!(SeatId::at(2).unwrap().to_string(), "C");
        assert_eq!("B".parse::<SeatId>().unwrap().index(), 1);
        for text in ["", "a", "I", "AB", "__proto__"] {
            assert!(text.parse::<SeatId>().is_err(), "{text}");
        }
    }
}
