//! The primitive types (spec 1.1). Each has one spelling: what is read is written back as it was.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use std::fmt;
use std::str::FromStr;

/// Why a text is none of these types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct TextError(pub &'static str);

/// A name within a mandate: 1 to 64 characters of `[A-Za-z0-9._-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(SmolStr);

impl Id {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Id {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let good = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if good { Ok(Self(text.into())) } else { Err(TextError("1 to 64 characters of A-Z a-z 0-9 . _ -")) }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An amount in base units: below 2^64, written in decimal without leading zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Units(u64);

impl Units {
    pub const ZERO: Self = Self(0);

    pub const fn new(value: u64) -> Self {
        Self(value)
    }
    pub const fn get(self) -> u64 {
        self.0
    }
    /// For sums and differences: no two amounts overflow it.
    pub const fn wide(self) -> i128 {
        // INVARIANT: every u64 is an i128; `From` is not const.
        #[expect(clippy::as_conversions, reason = "widening")]
        let wide = self.0 as i128;
        wide
    }
}

impl FromStr for Units {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: TextError = TextError("a whole number of base units below 2^64");
        let plain = text == "0" || !text.starts_with('0');
        if !plain || !(1..=20).contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(EXPECTED);
        }
        text.parse().map(Self).map_err(|_| EXPECTED)
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// [`Units`] above zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PositiveUnits(Units);

impl PositiveUnits {
    pub const fn units(self) -> Units {
        self.0
    }
    pub const fn get(self) -> u64 {
        self.0.get()
    }
    pub const fn wide(self) -> i128 {
        self.0.wide()
    }
}

impl TryFrom<u64> for PositiveUnits {
    type Error = TextError;
    fn try_from(value: u64) -> Result<Self, TextError> {
        if value == 0 { Err(TextError("an amount above zero")) } else { Ok(Self(Units(value))) }
    }
}

impl FromStr for PositiveUnits {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::try_from(text.parse::<Units>()?.get())
    }
}

impl fmt::Display for PositiveUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Exactly N bytes, as lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>([u8; N]);

/// BLAKE2b-224 of a key or a script: 28 bytes.
pub type KeyHash = Hex<28>;
/// The hash of a minting policy: 28 bytes.
pub type PolicyId = Hex<28>;
/// The hash of a transaction.
pub type TxHash = Hex<32>;

impl<const N: usize> Hex<N> {
    pub const fn from_bytes(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }
}

impl KeyHash {
    /// How Cardano names an Ed25519 key: BLAKE2b-224 of its 32 bytes.
    pub fn of_key(key: &keys::ed25519::PublicKey) -> Self {
        use blake2::Digest;
        Self(blake2::Blake2b::<blake2::digest::consts::U28>::digest(key.as_bytes()).into())
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: TextError = TextError("lower-case hex of the right length");
        let mut bytes = [0; N];
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(EXPECTED);
        }
        hex::decode_to_slice(text, &mut bytes).map_err(|_| EXPECTED)?;
        Ok(Self(bytes))
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Up to MAX bytes, as lower-case hex; empty is allowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ShortHex<const MAX: usize>(Vec<u8>);

/// The name of an asset under its policy: at most 32 bytes.
pub type AssetName = ShortHex<32>;

impl<const MAX: usize> ShortHex<MAX> {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: usize> FromStr for ShortHex<MAX> {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: TextError = TextError("lower-case hex, not too long");
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(EXPECTED);
        }
        let bytes = hex::decode(text).map_err(|_| EXPECTED)?;
        if bytes.len() <= MAX { Ok(Self(bytes)) } else { Err(EXPECTED) }
    }
}

impl<const MAX: usize> fmt::Display for ShortHex<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

/// `ed25519:` and 64 hex digits. Whether the bytes are a key that can verify is only known by [`key`](Self::key).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ed25519Key(Hex<32>);

impl Ed25519Key {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Hex(bytes))
    }
    /// The bare hex of receipts and authorization records.
    pub const fn hex(&self) -> Hex<32> {
        self.0
    }
    /// Refuses bytes that are no key.
    pub fn key(&self) -> Result<keys::ed25519::PublicKey, keys::Error> {
        keys::ed25519::PublicKey::from_bytes(self.0.as_bytes())
    }
}

impl FromStr for Ed25519Key {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: TextError = TextError("ed25519: and 64 lower-case hex digits");
        let digits = text.strip_prefix("ed25519:").ok_or(EXPECTED)?;
        digits.parse().map(Self).map_err(|_| EXPECTED)
    }
}

impl fmt::Display for Ed25519Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", self.0)
    }
}

/// 2 to 10 upper-case letters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetSymbol(SmolStr);

impl AssetSymbol {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AssetSymbol {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        if (2..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase()) {
            Ok(Self(text.into()))
        } else {
            Err(TextError("2 to 10 upper-case letters"))
        }
    }
}

impl fmt::Display for AssetSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text of MIN to MAX characters (Unicode code points).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const MIN: usize, const MAX: usize>(SmolStr);

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> FromStr for Text<MIN, MAX> {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        // No text has more characters than bytes, so most are not counted.
        let fits = text.len() <= MAX || text.chars().count() <= MAX;
        let enough = MIN == 0 || text.chars().nth(MIN.saturating_sub(1)).is_some();
        if fits && enough { Ok(Self(text.into())) } else { Err(TextError("a text of an allowed length")) }
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Display for Text<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A copy of the text of each that holds one; no longer text is copied.
macro_rules! shared {
    ($([$($generic:tt)*] $name:ty),* $(,)?) => {$(
        impl<$($generic)*> From<&$name> for SmolStr {
            fn from(text: &$name) -> Self {
                text.0.clone()
            }
        }
    )*};
}
shared! { [] Id, [] AssetSymbol, [const MIN: usize, const MAX: usize] Text<MIN, MAX> }

/// Reads a text as what it spells, without a copy of it.
pub(crate) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: fmt::Display,
    D: Deserializer<'de>,
{
    struct Spelled<T>(std::marker::PhantomData<T>);
    impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Spelled<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Spelled(std::marker::PhantomData))
}

macro_rules! spelled {
    // Types that hold their text.
    (held: $([$($generic:tt)*] $name:ty),* $(,)?) => {$(
        $crate::text::spelled!(@common [$($generic)*] $name);
        impl<$($generic)*> Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
    ($([$($generic:tt)*] $name:ty),* $(,)?) => {$(
        $crate::text::spelled!(@common [$($generic)*] $name);
        impl<$($generic)*> Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
    (@common [$($generic:tt)*] $name:ty) => {
        impl<$($generic)*> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl<'de, $($generic)*> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::parsed(deserializer)
            }
        }
    };
}
pub(crate) use spelled;

spelled! { [] Units, [] PositiveUnits, [] Ed25519Key, [const N: usize] Hex<N>, [const MAX: usize] ShortHex<MAX> }
spelled! { held: [] Id, [] AssetSymbol, [const MIN: usize, const MAX: usize] Text<MIN, MAX> }

/// Reads a member that may be absent but, where it is there, is not null.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a member that must be there, and may be null.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// An unsigned number of a JSON integer token, at most `max`; for small counts whose limits the spec gives.
pub(crate) fn at_most<'de, D: Deserializer<'de>>(deserializer: D, max: u64) -> Result<u64, D::Error> {
    let value = u64::deserialize(deserializer)?;
    if value <= max { Ok(value) } else { Err(serde::de::Error::custom(format!("at most {max}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: FromStr + fmt::Display>(text: &str, good: bool) {
        let read = text.parse::<T>().ok();
        assert_eq!(read.is_some(), good, "{text:?}");
        if let Some(read) = read {
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn one_spelling_each() {
        for (text, good) in [
            ("0", true),
            ("18446744073709551615", true),
            ("18446744073709551616", false),
            ("99999999999999999999", false),
            ("01", false),
            ("-1", false),
            ("1.5", false),
            ("+1", false),
            ("", false),
            ("0x1", false),
            ("１", false),
        ] {
            check::<Units>(text, good);
        }
        check::<PositiveUnits>("0", false);
        check::<PositiveUnits>("1", true);
        for (text, good) in [("aws", true), ("A.b_c-9", true), ("", false), ("a b", false), ("é", false)] {
            check::<Id>(text, good);
        }
        check::<Id>(&"x".repeat(64), true);
        check::<Id>(&"x".repeat(65), false);
        for (text, good) in [("USDM", true), ("A", false), ("ABCDEFGHIJK", false), ("usdm", false)] {
            check::<AssetSymbol>(text, good);
        }
        check::<KeyHash>(&"4a".repeat(28), true);
        for bytes in [27, 29] {
            check::<KeyHash>(&"4a".repeat(bytes), false);
        }
        check::<KeyHash>(&"4A".repeat(28), false);
        check::<Ed25519Key>(&format!("ed25519:{}", "01".repeat(32)), true);
        check::<Ed25519Key>(&"01".repeat(32), false);
        check::<AssetName>("", true);
        check::<AssetName>(&"00".repeat(32), true);
        check::<AssetName>(&"00".repeat(33), false);
        check::<AssetName>("0", false);
        check::<Text<1, 3>>("", false);
        check::<Text<1, 3>>("éé😀", true);
        check::<Text<1, 3>>("abcd", false);
    }
}
