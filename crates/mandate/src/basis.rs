//! Whether a quote is on market (D32): what a price feed says of a pair, and how far from it a rate is. An attestation for
//! people; no constraint of a mandate speaks of it.

use crate::hashed::Spelled;
use crate::report::Evidence;
use crate::statement::{SignedStatement, Statement};
use crate::text::{Text, TextError, Units, nullable, spelled};
use crate::time::Millis;
use crate::{Hashed, Refusal};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// `fx-basis/v0.1`. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basis {
    pub facts: BasisFacts,
    pub feed: FeedRound,
    pub limits: BasisLimits,
    pub quote: Quote,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<BasisReason>,
    pub result: BasisResult,
    pub schema: BasisSchema,
    pub trigger_id: Text<1, 64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BasisSchema {
    #[serde(rename = "fx-basis/v0.1")]
    V01,
}

/// A rate that somebody offers: so much of the second currency for one of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    pub pair: Pair,
    pub rate: Rate,
}

/// A round of a feed as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedRound {
    pub chain_id: u64,
    pub contract: Text<42, 42>,
    pub decimals: u8,
    /// In units of 10^-decimals; null where the feed has none.
    #[serde(deserialize_with = "nullable")]
    pub price: Option<Units>,
    pub round_id: Text<1, 40>,
    pub updated_at_ms: Millis,
}

/// How old a round may be, and how far from it a rate, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasisLimits {
    pub max_age_seconds: u32,
    pub tolerance_bps: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasisFacts {
    pub fresh: bool,
    pub on_market: bool,
    pub priced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BasisResult {
    OnMarket,
    OffMarket,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BasisReason {
    PriceUnavailable,
    PriceStale,
    OffMarket,
}

/// A report on a quote with what signs for it, as one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub evidence: Evidence,
    #[serde(deserialize_with = "nullable")]
    pub sepolia_tx: Option<Text<1, 100>>,
    #[serde(rename = "type")]
    pub kind: ProofKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProofKind {
    #[serde(rename = "urn:countersign:fx-basis:1")]
    Basis,
}

impl Proof {
    /// What the `type` says.
    pub const TYPE: &'static str = "urn:countersign:fx-basis:1";

    pub const fn of(evidence: Evidence, sepolia_tx: Option<Text<1, 100>>) -> Self {
        Self { evidence, sepolia_tx, kind: ProofKind::Basis }
    }

    /// The report, if this is a proof of it: somebody signs for it, all who do do it soundly, and it follows from its own
    /// numbers at the instant of each reading.
    pub fn check(&self) -> Result<Hashed<Basis>, &'static str> {
        if self.evidence.statements.is_empty() || !self.evidence.is_sound() {
            return Err("bad_statement");
        }
        let basis = Basis::read(self.evidence.report.as_bytes()).map_err(|_| "bad_basis")?;
        let follows = |signed: &SignedStatement| {
            let Statement { invoice_number, observed_at_ms, .. } = &signed.statement;
            invoice_number.is_none() && basis.follows(*observed_at_ms)
        };
        let whole = basis.hash() == self.evidence.report_hash && self.evidence.statements.iter().all(follows);
        if whole { Ok(basis) } else { Err("bad_basis") }
    }
}

/// Two currencies: `BRL/USD`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair(Box<str>);

/// A rate above zero: at most 12 digits, written without zeros that say nothing.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rate {
    text: Box<str>,
    units: u64,
    scale: u32,
}

/// How far ahead of ours a feed's clock may run.
const AHEAD_MS: u64 = 60_000;
/// No feed has more.
const MOST_DECIMALS: u8 = 18;

impl Spelled for Basis {}

impl Basis {
    /// What is to be said of a quote at this instant.
    pub fn of(
        quote: Quote,
        feed: FeedRound,
        limits: BasisLimits,
        trigger_id: Text<1, 64>,
        now: Millis,
    ) -> Result<Hashed<Self>, Refusal> {
        let facts = facts(&quote, &feed, limits, now);
        let reason = facts.reason();
        let result = if reason.is_none() { BasisResult::OnMarket } else { BasisResult::OffMarket };
        let schema = BasisSchema::V01;
        Ok(Hashed::of(Self { facts, feed, limits, quote, reason, result, schema, trigger_id })?)
    }

    /// Reads a report. Beyond its shape: reason and result follow from the facts.
    pub fn read(bytes: &[u8]) -> Result<Hashed<Self>, Refusal> {
        let read: Hashed<Self> = Hashed::read(bytes)?;
        let reason = read.facts.reason();
        let on = read.result == BasisResult::OnMarket;
        if read.reason == reason && on == reason.is_none() {
            Ok(read)
        } else {
            Err(Refusal::BadValue { place: "/reason".to_owned() })
        }
    }

    /// Whether its facts are those that its own numbers give at this instant.
    pub fn follows(&self, now: Millis) -> bool {
        facts(&self.quote, &self.feed, self.limits, now) == self.facts
    }
}

impl BasisFacts {
    const fn reason(self) -> Option<BasisReason> {
        match (self.priced, self.fresh, self.on_market) {
            (false, ..) => Some(BasisReason::PriceUnavailable),
            (true, false, _) => Some(BasisReason::PriceStale),
            (true, true, false) => Some(BasisReason::OffMarket),
            (true, true, true) => None,
        }
    }
}

fn facts(quote: &Quote, feed: &FeedRound, limits: BasisLimits, now: Millis) -> BasisFacts {
    let age = now.since(feed.updated_at_ms) / 1000;
    let price = feed.price.map(Units::get).filter(|price| *price > 0 && feed.decimals <= MOST_DECIMALS);
    BasisFacts {
        fresh: age <= u64::from(limits.max_age_seconds) && feed.updated_at_ms.since(now) <= AHEAD_MS,
        on_market: price.is_some_and(|price| near(&quote.rate, price, feed.decimals, limits.tolerance_bps)),
        priced: price.is_some(),
    }
}

/// |rate - price| · 10,000 is at most price · tolerance; both brought to one scale, exactly.
fn near(rate: &Rate, price: u64, decimals: u8, tolerance_bps: u16) -> bool {
    // INVARIANT: below 10^12 · 10^18 and 2^64 · 10^12, and these times 65,536: all below 2^128.
    let rate_at = u128::from(rate.units).checked_mul(10_u128.pow(decimals.min(MOST_DECIMALS).into()));
    let price_at = u128::from(price).checked_mul(10_u128.pow(rate.scale));
    let (Some(rate), Some(price)) = (rate_at, price_at) else { return false };
    let off = rate.abs_diff(price).checked_mul(10_000);
    let allowed = price.checked_mul(tolerance_bps.into());
    off.zip(allowed).is_some_and(|(off, allowed)| off <= allowed)
}

impl Pair {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Pair {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let name =
            |name: &str| (2..=10).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
        match text.split_once('/') {
            Some((base, other)) if name(base) && name(other) && base != other => Ok(Self(text.into())),
            _ => Err(TextError("two currencies, as BRL/USD")),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Rate {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: TextError =
            TextError("a rate above zero of at most 12 digits, without zeros that say nothing");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let plain = whole == "0" || !(whole.is_empty() || whole.starts_with('0'));
        let ended = !text.contains('.') || (!fraction.is_empty() && !fraction.ends_with('0'));
        let fits = whole.len().saturating_add(fraction.len()) <= 12;
        if !plain || !ended || !fits || !digits(whole) || !digits(fraction) {
            return Err(EXPECTED);
        }
        let units: u64 = format!("{whole}{fraction}").parse().map_err(|_| EXPECTED)?;
        let scale = u32::try_from(fraction.len()).map_err(|_| EXPECTED)?;
        if units == 0 { Err(EXPECTED) } else { Ok(Self { text: text.into(), units, scale }) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

spelled! { [] Pair, [] Rate }

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_791_342_000_000;

    fn reason(rate: &str, price: Option<u64>, decimals: u8, updated_at: u64) -> Option<BasisReason> {
        let quote = Quote { pair: "BRL/USD".parse().unwrap(), rate: rate.parse().unwrap() };
        let feed = FeedRound {
            chain_id: 1,
            contract: "0x971E8F1B779A5F1C36e1cd7ef44Ba1Cc2F5EeE0f".parse().unwrap(),
            decimals,
            price: price.map(Units::new),
            round_id: "7".parse().unwrap(),
            updated_at_ms: Millis::try_from(updated_at).unwrap(),
        };
        let limits = BasisLimits { max_age_seconds: 3600, tolerance_bps: 50 };
        let now = Millis::try_from(NOW).unwrap();
        let basis = Basis::of(quote, feed, limits, "t".parse().unwrap(), now).unwrap();
        assert!(basis.follows(now));
        let bytes = canon::to_vec(&basis).unwrap();
        assert_eq!(Basis::read(&bytes).unwrap(), basis);
        basis.reason
    }

    #[test]
    fn on_market_is_within_the_tolerance() {
        let check = |rate: &str, price: u64, decimals: u8, on: bool| {
            let expected = (!on).then_some(BasisReason::OffMarket);
            assert_eq!(reason(rate, Some(price), decimals, NOW), expected, "{rate} {price}");
        };
        check("0.1834", 18_340_000, 8, true);
        // Exactly 50 hundredths of a percent, and the next digit.
        check("0.201", 20_000_000, 8, true);
        check("0.2010001", 20_000_000, 8, false);
        check("0.199", 20_000_000, 8, true);
        check("0.1989999", 20_000_000, 8, false);
        check("1", 1, 0, true);
        check("999999999999", u64::MAX, 0, false);
        check("0.00000000001", 10_000_000, 18, true);
        check("5.45", 18_340_000, 8, false);
    }

    #[test]
    fn a_round_must_be_one_and_fresh() {
        let check = |price: Option<u64>, decimals: u8, updated_at: u64, expected: Option<BasisReason>| {
            assert_eq!(reason("0.2", price, decimals, updated_at), expected);
        };
        let price = Some(20_000_000);
        check(price, 8, NOW - 3_600_999, None);
        check(price, 8, NOW - 3_601_000, Some(BasisReason::PriceStale));
        check(price, 8, NOW + 60_000, None);
        check(price, 8, NOW + 60_001, Some(BasisReason::PriceStale));
        check(None, 8, NOW, Some(BasisReason::PriceUnavailable));
        check(Some(0), 8, NOW, Some(BasisReason::PriceUnavailable));
        check(price, 19, NOW, Some(BasisReason::PriceUnavailable));
    }

    #[test]
    fn one_spelling_each() {
        for (text, good) in
            [("0.1834", true), ("5", true), ("123456789.012", true), ("1234567890.123", false)]
        {
            assert_eq!(text.parse::<Rate>().is_ok(), good, "{text}");
        }
        for bad in ["", "0", "0.0", "01", ".5", "5.", "0.50", "-1", "1e3", "1,5", "0.1.2", "+1"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
        for (text, good) in
            [("BRL/USD", true), ("BRL", false), ("brl/usd", false), ("USD/USD", false), ("A/B/C", false)]
        {
            assert_eq!(text.parse::<Pair>().is_ok(), good, "{text}");
        }
    }
}
