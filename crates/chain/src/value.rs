//! What an output holds, in our own types, and its bytes.

use crate::cbor;
use crate::scripts::Script;
use mandate::price::OutRef;
use mandate::text::{AssetName, Hex, KeyHash, PolicyId};
use mandate::{Address, Credential, Network};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A native token: its policy and its name.
pub type Asset = (PolicyId, AssetName);

/// Lovelace and native tokens. No token is there with none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value {
    pub lovelace: u64,
    pub tokens: BTreeMap<Asset, u64>,
}

/// What an output carries for a script to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Datum {
    #[default]
    None,
    Hash(Hex<32>),
    /// Plutus data in CBOR.
    Inline(Arc<[u8]>),
}

/// An output as it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub address: Address,
    pub value: Value,
    pub datum: Datum,
    /// A script that other transactions may refer to.
    pub script: Option<Script>,
}

/// An output that stands on chain, unspent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utxo {
    pub at: OutRef,
    pub output: Output,
}

impl Value {
    pub const fn of(lovelace: u64) -> Self {
        Self { lovelace, tokens: BTreeMap::new() }
    }

    /// With so much more of a token.
    #[must_use]
    pub fn with(mut self, asset: Asset, amount: u64) -> Self {
        if amount > 0 {
            let held = self.tokens.entry(asset).or_insert(0);
            *held = held.saturating_add(amount);
        }
        self
    }

    pub fn quantity(&self, asset: &Asset) -> u64 {
        self.tokens.get(asset).copied().unwrap_or(0)
    }

    pub fn plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.lovelace = sum.lovelace.checked_add(other.lovelace)?;
        for (asset, amount) in &other.tokens {
            let held = sum.tokens.entry(asset.clone()).or_insert(0);
            *held = held.checked_add(*amount)?;
        }
        Some(sum)
    }

    /// None where there is less.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        let mut rest = self.clone();
        rest.lovelace = rest.lovelace.checked_sub(other.lovelace)?;
        for (asset, amount) in &other.tokens {
            let held = rest.tokens.get_mut(asset)?;
            *held = held.checked_sub(*amount)?;
        }
        rest.tokens.retain(|_, amount| *amount > 0);
        Some(rest)
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.tokens.is_empty() {
            return cbor::uint(out, self.lovelace);
        }
        cbor::array(out, 2);
        cbor::uint(out, self.lovelace);
        let mut policies: BTreeMap<&PolicyId, Vec<(&AssetName, u64)>> = BTreeMap::new();
        for ((policy, name), amount) in &self.tokens {
            policies.entry(policy).or_default().push((name, *amount));
        }
        cbor::map(out, policies.len());
        for (policy, names) in policies {
            cbor::bytes(out, policy.as_bytes());
            cbor::map(out, names.len());
            for (name, amount) in names {
                cbor::bytes(out, name.as_bytes());
                cbor::uint(out, amount);
            }
        }
    }

    fn read(raw: &[u8]) -> Option<Self> {
        if let Some(lovelace) = cbor::as_uint(raw) {
            return Some(Self::of(lovelace));
        }
        let parts = cbor::items(raw)?;
        let [lovelace, tokens] = parts.as_slice() else { return None };
        let mut value = Self::of(cbor::as_uint(lovelace)?);
        for (policy, names) in cbor::entries(tokens)? {
            let policy = PolicyId::from_bytes(cbor::as_bytes(policy)?.try_into().ok()?);
            for (name, amount) in cbor::entries(names)? {
                value = value.with((policy, asset_name(&cbor::as_bytes(name)?)?), cbor::as_uint(amount)?);
            }
        }
        Some(value)
    }
}

impl Datum {
    pub fn inline(data: &mandate::plutus::Data) -> Self {
        Self::Inline(data.to_cbor().into())
    }

    pub fn as_inline(&self) -> Option<&[u8]> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Output {
    pub const fn new(address: Address, value: Value) -> Self {
        Self { address, value, datum: Datum::None, script: None }
    }

    #[must_use]
    pub fn with(mut self, datum: Datum) -> Self {
        self.datum = datum;
        self
    }

    /// In the form that transactions have had since Babbage.
    pub fn to_cbor(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let count = 2 + usize::from(self.datum != Datum::None) + usize::from(self.script.is_some());
        cbor::map(&mut out, count);
        cbor::uint(&mut out, 0);
        cbor::bytes(&mut out, &self.address.to_bytes());
        cbor::uint(&mut out, 1);
        self.value.write(&mut out);
        match &self.datum {
            Datum::None => {}
            Datum::Hash(hash) => {
                cbor::uint(&mut out, 2);
                cbor::array(&mut out, 2);
                cbor::uint(&mut out, 0);
                cbor::bytes(&mut out, hash.as_bytes());
            }
            Datum::Inline(data) => {
                cbor::uint(&mut out, 2);
                cbor::array(&mut out, 2);
                cbor::uint(&mut out, 1);
                cbor::tag(&mut out, EMBEDDED);
                cbor::bytes(&mut out, data);
            }
        }
        if let Some(script) = &self.script {
            let mut inner = Vec::new();
            cbor::array(&mut inner, 2);
            cbor::uint(&mut inner, 3);
            cbor::bytes(&mut inner, script.as_bytes());
            cbor::uint(&mut out, 3);
            cbor::tag(&mut out, EMBEDDED);
            cbor::bytes(&mut out, &inner);
        }
        out
    }

    /// From either form. None for an address that is neither base nor enterprise. A script of another language than Plutus V3 is
    /// left out.
    pub fn from_cbor(raw: &[u8]) -> Option<Self> {
        if let Some(parts) = cbor::items(raw) {
            let (address, rest) = parts.split_first()?;
            let (value, rest) = rest.split_first()?;
            let datum = match rest {
                [] => Datum::None,
                [hash] => Datum::Hash(Hex::from_bytes(cbor::as_bytes(hash)?.try_into().ok()?)),
                _ => return None,
            };
            let address = address_of(&cbor::as_bytes(address)?)?;
            return Some(Self { address, value: Value::read(value)?, datum, script: None });
        }
        let (mut address, mut value, mut datum, mut script) = (None, None, Datum::None, None);
        for (key, field) in cbor::entries(raw)? {
            match cbor::as_uint(key)? {
                0 => address = Some(address_of(&cbor::as_bytes(field)?)?),
                1 => value = Some(Value::read(field)?),
                2 => datum = read_datum(field)?,
                3 => script = read_script(field)?,
                _ => return None,
            }
        }
        Some(Self { address: address?, value: value?, datum, script })
    }
}

fn read_datum(raw: &[u8]) -> Option<Datum> {
    let parts = cbor::items(raw)?;
    let [kind, data] = parts.as_slice() else { return None };
    match cbor::as_uint(kind)? {
        0 => Some(Datum::Hash(Hex::from_bytes(cbor::as_bytes(data)?.try_into().ok()?))),
        1 => Some(Datum::Inline(cbor::as_bytes(cbor::untagged(data, EMBEDDED)?)?.into())),
        _ => None,
    }
}

fn read_script(raw: &[u8]) -> Option<Option<Script>> {
    let inner = cbor::as_bytes(cbor::untagged(raw, EMBEDDED)?)?;
    let parts = cbor::items(&inner)?;
    let [language, code] = parts.as_slice() else { return None };
    match cbor::as_uint(language)? {
        3 => Some(Some(Script::new(cbor::as_bytes(code)?))),
        _ => Some(None),
    }
}

/// The address that outputs write so (CIP-19).
pub(crate) fn address_of(bytes: &[u8]) -> Option<Address> {
    let (head, rest) = bytes.split_first()?;
    let network = match head & 15 {
        0 => Network::Test,
        1 => Network::Main,
        _ => return None,
    };
    let (payment, stake) = rest.split_at_checked(28)?;
    let payment = KeyHash::from_bytes(payment.try_into().ok()?);
    let stake = || stake.try_into().ok().map(KeyHash::from_bytes);
    let (payment, stake) = match head >> 4 {
        0 => (Credential::Key(payment), Some(Credential::Key(stake()?))),
        1 => (Credential::Script(payment), Some(Credential::Key(stake()?))),
        2 => (Credential::Key(payment), Some(Credential::Script(stake()?))),
        3 => (Credential::Script(payment), Some(Credential::Script(stake()?))),
        6 if rest.len() == 28 => (Credential::Key(payment), None),
        7 if rest.len() == 28 => (Credential::Script(payment), None),
        _ => return None,
    };
    Some(Address::new(network, payment, stake))
}

pub(crate) fn asset_name(bytes: &[u8]) -> Option<AssetName> {
    hex::encode(bytes).parse().ok()
}

/// CBOR within CBOR.
const EMBEDDED: u64 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_come_back_as_they_were() {
        let token = (PolicyId::from_bytes([7; 28]), asset_name(b"tUSDM").unwrap());
        let key = Credential::Key(KeyHash::from_bytes([1; 28]));
        let script = Credential::Script(KeyHash::from_bytes([2; 28]));
        for (payment, stake) in [
            (key, None),
            (script, None),
            (key, Some(key)),
            (script, Some(key)),
            (key, Some(script)),
            (script, Some(script)),
        ] {
            for network in [Network::Test, Network::Main] {
                let output = Output {
                    address: Address::new(network, payment, stake),
                    value: Value::of(5_000_000).with(token.clone(), u64::MAX),
                    datum: Datum::Inline([0xd8, 0x79, 0x80].into()),
                    script: Some(Script::new(vec![0x41, 0])),
                };
                assert_eq!(Output::from_cbor(&output.to_cbor()), Some(output));
            }
        }
        let plain = Output::new(Address::new(Network::Test, key, None), Value::of(1))
            .with(Datum::Hash(Hex::from_bytes([9; 32])));
        assert_eq!(Output::from_cbor(&plain.to_cbor()), Some(plain));
    }

    #[test]
    fn values_never_go_below_nothing() {
        let token = (PolicyId::from_bytes([7; 28]), AssetName::default());
        let some = Value::of(3).with(token.clone(), 2);
        assert_eq!(some.minus(&some), Some(Value::default()));
        assert_eq!(Value::of(3).minus(&some), None);
        assert_eq!(Value::of(2).with(token, 2).minus(&some), None);
        assert_eq!(Value::of(u64::MAX).plus(&some), None);
    }
}
