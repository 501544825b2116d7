//! The price of an interruption (seed, "EscalationPrice"), the bond that pays it, and what a bond must be (spec 1.9).

use crate::brief::Budget;
use crate::issue::ChainName;
use crate::mandate::MAX_APPROVERS;
use crate::plutus::Data;
use crate::text::{AssetName, AssetSymbol, Id, KeyHash, PositiveUnits, Text, TxHash, Units, present};
use crate::time::Millis;
use crate::{Address, Refusal};
use canon::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// `escalation-price/v0.1`. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub action_hash: Digest,
    pub amount: PositiveUnits,
    pub approval_id: Text<1, 64>,
    pub approver_key_hash: KeyHash,
    /// Who signs, where that is not this key alone (mandate/v0.2, D38).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Signatories>,
    pub asset: BondAsset,
    pub escrow_address: Text<1, 200>,
    pub interrupt_budget: Budget,
    pub locked_until_ms: Millis,
    pub network: ChainName,
    pub schema: PriceSchema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PriceSchema {
    #[serde(rename = "escalation-price/v0.1")]
    V01,
}

/// Whose signatures approve on chain: so many of these keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signatories {
    pub keys: Vec<KeyHash>,
    pub required: u8,
}

impl Signatories {
    pub fn one(key: KeyHash) -> Self {
        Self { keys: vec![key], required: 1 }
    }

    /// The key, where there is only one.
    pub fn only(&self) -> Option<&KeyHash> {
        match self.keys.as_slice() {
            [key] => Some(key),
            _ => None,
        }
    }

    /// Whether enough of them are among these.
    pub fn are_among<'a>(&self, keys: impl IntoIterator<Item = &'a KeyHash>) -> bool {
        let keys: BTreeSet<_> = keys.into_iter().collect();
        self.keys.iter().filter(|key| keys.contains(key)).count() >= usize::from(self.required)
    }

    /// As many as must sign: this one first, then the others in their order. None where it is not one of them.
    pub fn with(&self, first: &KeyHash) -> Option<Vec<KeyHash>> {
        let others = self.keys.iter().filter(|key| *key != first);
        let enough = std::iter::once(first).chain(others).take(usize::from(self.required)).copied();
        self.keys.contains(first).then(|| enough.collect())
    }

    /// One key as it is (spec 2.2), several as `Constr 0 [required, keys]`.
    pub fn to_data(&self) -> Data {
        if let Some(key) = self.only() {
            return Data::bytes(key.as_bytes());
        }
        let keys = self.keys.iter().map(|key| Data::bytes(key.as_bytes())).collect();
        Data::Constr(0, vec![Data::Int(i128::from(self.required)), Data::List(keys)])
    }

    /// Refuses what the validators would never accept: no key, one twice, more than there are to sign.
    pub fn from_data(data: &Data) -> Option<Self> {
        let hash = |data: &Data| data.as_bytes::<28>().map(KeyHash::from_bytes);
        let Data::Constr(0, fields) = data else { return hash(data).map(Self::one) };
        let [required, Data::List(keys)] = fields.as_slice() else { return None };
        let keys: Vec<KeyHash> = keys.iter().map(hash).collect::<Option<_>>()?;
        let required = u8::try_from(required.as_int()?).ok()?;
        let distinct: BTreeSet<_> = keys.iter().collect();
        let sound = distinct.len() == keys.len() && (2..=MAX_APPROVERS).contains(&keys.len());
        (sound && required >= 1 && usize::from(required) <= keys.len()).then_some(Self { keys, required })
    }
}

/// What a bond is paid in. An empty policy is ADA, counted in lovelace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BondAsset {
    pub asset_name: AssetName,
    #[serde(with = "policy")]
    pub policy_id: Option<KeyHash>,
    pub symbol: AssetSymbol,
}

impl BondAsset {
    /// The unit of an x402 entry: `lovelace`, or policy and name with a dot between.
    pub fn unit(&self) -> String {
        match &self.policy_id {
            None => "lovelace".to_owned(),
            Some(policy) => format!("{policy}.{}", self.asset_name),
        }
    }
}

impl Price {
    /// Whose signatures the bond's datum asks for.
    pub fn signatories(&self) -> Signatories {
        self.approvers.clone().unwrap_or_else(|| Signatories::one(self.approver_key_hash))
    }
}

/// What every price of a server has in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tariff {
    pub amount: PositiveUnits,
    pub asset: BondAsset,
    pub escrow_address: Address,
    /// How long a bond is held.
    pub held_ms: u64,
}

/// The default: 5 ADA, for one hour.
pub const DEFAULT_BOND: u64 = 5_000_000;
pub const DEFAULT_HELD_MS: u64 = 3_600_000;

/// How a bond names its approval: SHA-256 of the approval's id.
pub fn approval_ref(approval_id: &str) -> Digest {
    Digest::of(approval_id.as_bytes())
}

/// `bond/v0.1`: a bond as it is shown. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bond {
    pub action_hash: Digest,
    pub amount: PositiveUnits,
    pub approval_id: Text<1, 64>,
    pub asset: AssetSymbol,
    pub escrow_address: Text<1, 200>,
    pub locked_until_ms: Millis,
    pub mandate_id: Id,
    pub outcome_tx_hash: Option<TxHash>,
    pub output_index: Option<u32>,
    pub schema: BondSchema,
    pub status: BondStatus,
    pub tx_hash: Option<TxHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BondSchema {
    #[serde(rename = "bond/v0.1")]
    V01,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BondStatus {
    Required,
    Locked,
    Refunded,
    Captured,
    Expired,
}

/// An output of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutRef {
    pub output_index: u32,
    pub tx_hash: TxHash,
}

/// A bond as it stands on chain: the very output the agent named, and no other (W6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    pub address: Text<1, 200>,
    pub at: OutRef,
    pub datum: BondDatum,
    /// How much of the price's asset the output holds.
    pub value: Units,
}

/// The datum of the escrow (spec 2.2), as typed fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BondDatum {
    pub action_hash: Digest,
    pub agent_key_hash: KeyHash,
    pub agent_stake: Option<KeyHash>,
    pub amount: PositiveUnits,
    pub approval_ref: Digest,
    pub approvers: Signatories,
    pub locked_until_ms: Millis,
    pub mandate_ref: KeyHash,
}

/// Why a lock pays no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BadBond {
    Address,
    Approval,
    Action,
    Mandate,
    Approver,
    Amount,
    Value,
    /// It could be taken back before the person has had the time that was sold (W1).
    LockedUntil,
    /// The output pays for another approval already.
    Spent,
}

impl BadBond {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Address => "bond_address",
            Self::Approval => "bond_approval",
            Self::Action => "bond_action",
            Self::Mandate => "bond_mandate",
            Self::Approver => "bond_approver",
            Self::Amount => "bond_amount",
            Self::Value => "bond_value",
            Self::LockedUntil => "bond_locked_until",
            Self::Spent => "bond_spent",
        }
    }
}

impl Locked {
    /// Whether this output pays the price, for the mandate anchored under `mandate_ref`.
    pub fn pays(&self, price: &Price, mandate_ref: &KeyHash) -> Result<(), BadBond> {
        let datum = &self.datum;
        for (holds, fault) in [
            (self.address.as_str() == price.escrow_address.as_str(), BadBond::Address),
            (datum.approval_ref == approval_ref(price.approval_id.as_str()), BadBond::Approval),
            (datum.action_hash == price.action_hash, BadBond::Action),
            (datum.mandate_ref == *mandate_ref, BadBond::Mandate),
            (datum.approvers == price.signatories(), BadBond::Approver),
            (datum.amount >= price.amount, BadBond::Amount),
            (self.value >= datum.amount.units(), BadBond::Value),
            (datum.locked_until_ms >= price.locked_until_ms, BadBond::LockedUntil),
        ] {
            if !holds {
                return Err(fault);
            }
        }
        Ok(())
    }
}

impl BondDatum {
    /// The datum that pays a price, refunded to this key (and stake key) of the agent.
    pub fn paying(price: &Price, mandate_ref: KeyHash, agent: KeyHash, stake: Option<KeyHash>) -> Self {
        Self {
            action_hash: price.action_hash,
            agent_key_hash: agent,
            agent_stake: stake,
            amount: price.amount,
            approval_ref: approval_ref(price.approval_id.as_str()),
            approvers: price.signatories(),
            locked_until_ms: price.locked_until_ms,
            mandate_ref,
        }
    }

    /// `Constr 0 [approval_ref, action_hash, mandate_ref, agent, stake?, approvers, amount, locked_until]`.
    pub fn to_data(&self) -> Data {
        let stake = match &self.agent_stake {
            Some(stake) => Data::Constr(0, vec![Data::bytes(stake.as_bytes())]),
            None => Data::Constr(1, Vec::new()),
        };
        Data::Constr(
            0,
            vec![
                Data::bytes(self.approval_ref.as_bytes()),
                Data::bytes(self.action_hash.as_bytes()),
                Data::bytes(self.mandate_ref.as_bytes()),
                Data::bytes(self.agent_key_hash.as_bytes()),
                stake,
                self.approvers.to_data(),
                Data::Int(self.amount.wide()),
                Data::Int(i128::from(self.locked_until_ms.get())),
            ],
        )
    }

    /// From CBOR in either list form. Refuses another shape, other lengths and other ranges.
    pub fn from_cbor(bytes: &[u8]) -> Result<Self, Refusal> {
        Data::from_cbor(bytes)
            .and_then(|data| Self::from_data(&data))
            .ok_or_else(|| Refusal::BadValue { place: "/datum".to_owned() })
    }

    fn from_data(data: &Data) -> Option<Self> {
        let Data::Constr(0, fields) = data else { return None };
        let [approval, action, mandate, agent, stake, approver, amount, until] = fields.as_slice() else {
            return None;
        };
        let digest = |data: &Data| data.as_bytes::<32>().map(Digest::from_bytes);
        let hash = |data: &Data| data.as_bytes::<28>().map(KeyHash::from_bytes);
        let agent_stake = match stake {
            Data::Constr(0, fields) => match fields.as_slice() {
                [stake] => Some(hash(stake)?),
                _ => return None,
            },
            Data::Constr(1, fields) if fields.is_empty() => None,
            _ => return None,
        };
        let number = |data: &Data| data.as_int().and_then(|int| u64::try_from(int).ok());
        Some(Self {
            action_hash: digest(action)?,
            agent_key_hash: hash(agent)?,
            agent_stake,
            amount: PositiveUnits::try_from(number(amount)?).ok()?,
            approval_ref: digest(approval)?,
            approvers: Signatories::from_data(approver)?,
            locked_until_ms: Millis::try_from(number(until)?).ok()?,
            mandate_ref: hash(mandate)?,
        })
    }
}

mod policy {
    use crate::text::KeyHash;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(policy: &Option<KeyHash>, serializer: S) -> Result<S::Ok, S::Error> {
        match policy {
            Some(policy) => serializer.collect_str(policy),
            None => serializer.serialize_str(""),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<KeyHash>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(serde::de::Error::custom) }
    }
}
