//! Ogmios' shapes. Quantities go up to 2^64, so these are read by a reader of its own and never hashed.

use crate::value::asset_name;
use crate::{ChainError, Datum, Output, Ratio, Script, Value};
use mandate::Address;
use mandate::price::OutRef;
use mandate::text::{PolicyId, TxHash};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    pub result: Option<Json>,
    #[serde(default)]
    pub error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub code: i64,
    pub message: String,
    #[serde(default)]
    pub data: Option<Json>,
}

/// Something, or the word `origin`: before the first block.
pub(super) struct Origin<T>(Option<T>);

impl<T> Origin<T> {
    pub fn known(self) -> Option<T> {
        self.0
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Origin<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Json::deserialize(deserializer)?;
        if value == "origin" {
            return Ok(Self(None));
        }
        serde_json::from_value(value).map(|known| Self(Some(known))).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Point {
    pub slot: u64,
    pub id: String,
}

#[derive(Deserialize)]
#[serde(tag = "direction", rename_all = "lowercase")]
pub(super) enum Next {
    Forward { block: Block },
    Backward { point: Origin<Point> },
}

#[derive(Deserialize)]
pub(super) struct Block {
    pub id: String,
    pub height: u64,
    /// A boundary block of Byron's has none.
    #[serde(default)]
    pub slot: Option<u64>,
    #[serde(default)]
    pub transactions: Vec<Transaction>,
}

#[derive(Deserialize)]
pub(super) struct Transaction {
    pub id: TxHash,
    #[serde(default)]
    pub outputs: Vec<Paid>,
    /// Only where Ogmios was started with `--include-transaction-cbor`.
    #[serde(default)]
    pub cbor: Option<String>,
    /// `inputs`, or `collaterals` where its scripts failed.
    #[serde(default)]
    pub spends: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Paid {
    pub address: String,
}

#[derive(Deserialize)]
pub(super) struct Id {
    pub id: TxHash,
}

#[derive(Deserialize)]
pub(super) struct Submitted {
    pub transaction: Id,
}

#[derive(Deserialize)]
pub(super) struct Utxo {
    transaction: Id,
    index: u32,
    address: String,
    value: BTreeMap<String, BTreeMap<String, u64>>,
    #[serde(default, rename = "datumHash")]
    datum_hash: Option<String>,
    #[serde(default)]
    datum: Option<String>,
    #[serde(default)]
    script: Option<Coded>,
}

#[derive(Deserialize)]
struct Coded {
    language: String,
    #[serde(default)]
    cbor: Option<String>,
}

impl Utxo {
    /// None at an address that is neither base nor enterprise.
    pub fn utxo(self) -> Result<Option<crate::Utxo>, ChainError> {
        let Ok(address) = self.address.parse::<Address>() else { return Ok(None) };
        let output = self.output(address).ok_or_else(|| bad("an output that cannot be read"))?;
        let at = OutRef { output_index: self.index, tx_hash: self.transaction.id };
        Ok(Some(crate::Utxo { at, output }))
    }

    fn output(&self, address: Address) -> Option<Output> {
        let mut value = Value::default();
        for (policy, names) in &self.value {
            for (name, quantity) in names {
                if policy == "ada" {
                    value.lovelace = *quantity;
                    continue;
                }
                let policy: PolicyId = policy.parse().ok()?;
                value = value.with((policy, asset_name(&hex::decode(name).ok()?)?), *quantity);
            }
        }
        let datum = match (&self.datum, &self.datum_hash) {
            (Some(data), _) => Datum::Inline(hex::decode(data).ok()?.into()),
            (None, Some(hash)) => Datum::Hash(hash.parse().ok()?),
            (None, None) => Datum::None,
        };
        let script = match &self.script {
            Some(Coded { language, cbor: Some(code) }) if language == "plutus:v3" => {
                Some(Script::new(hex::decode(code).ok()?))
            }
            _ => None,
        };
        Some(Output { address, value, datum, script })
    }
}

#[derive(Deserialize)]
pub(super) struct Evaluated {
    pub validator: Validator,
    pub budget: Budget,
}

#[derive(Deserialize)]
pub(super) struct Validator {
    pub purpose: String,
    pub index: u32,
}

#[derive(Deserialize)]
pub(super) struct Budget {
    pub memory: u64,
    pub cpu: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parameters {
    version: Version,
    min_fee_coefficient: u64,
    min_fee_constant: Ada,
    min_fee_reference_scripts: ReferenceFee,
    min_utxo_deposit_coefficient: u64,
    max_transaction_size: Bytes,
    max_value_size: Bytes,
    collateral_percentage: u64,
    max_collateral_inputs: u32,
    plutus_cost_models: BTreeMap<String, Vec<i64>>,
    script_execution_prices: Prices,
    max_execution_units_per_transaction: Budget,
}

#[derive(Deserialize)]
struct Version {
    major: u64,
}

#[derive(Deserialize)]
struct Ada {
    ada: Lovelace,
}

#[derive(Deserialize)]
struct Lovelace {
    lovelace: u64,
}

#[derive(Deserialize)]
struct ReferenceFee {
    base: f64,
}

#[derive(Deserialize)]
struct Bytes {
    bytes: u32,
}

#[derive(Deserialize)]
struct Prices {
    memory: String,
    cpu: String,
}

impl Parameters {
    pub fn parameters(mut self) -> Result<crate::Parameters, ChainError> {
        let bad = || bad("parameters of another shape");
        let base = self.min_fee_reference_scripts.base.to_string();
        Ok(crate::Parameters {
            protocol_major: self.version.major,
            fee_per_byte: self.min_fee_coefficient,
            fee_fixed: self.min_fee_constant.ada.lovelace,
            price_memory: ratio(&self.script_execution_prices.memory).ok_or_else(bad)?,
            price_steps: ratio(&self.script_execution_prices.cpu).ok_or_else(bad)?,
            fee_per_reference_script_byte: base.parse().map_err(|_| bad())?,
            lovelace_per_output_byte: self.min_utxo_deposit_coefficient,
            collateral_percent: self.collateral_percentage,
            max_collateral_inputs: self.max_collateral_inputs,
            max_tx_bytes: self.max_transaction_size.bytes,
            max_value_bytes: self.max_value_size.bytes,
            max_tx_memory: self.max_execution_units_per_transaction.memory,
            max_tx_steps: self.max_execution_units_per_transaction.cpu,
            cost_model_v3: self.plutus_cost_models.remove("plutus:v3").ok_or_else(bad)?,
        })
    }
}

pub(super) fn output_reference(at: &OutRef) -> Json {
    json!({ "transaction": { "id": at.tx_hash.to_string() }, "index": at.output_index })
}

/// `577/10000`.
fn ratio(text: &str) -> Option<Ratio> {
    let (numerator, denominator) = text.split_once('/')?;
    Some(Ratio { numerator: numerator.parse().ok()?, denominator: denominator.parse().ok()? })
}

fn bad(what: &str) -> ChainError {
    ChainError::Unavailable(what.to_owned())
}
