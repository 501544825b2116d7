//! A public network through Blockfrost's HTTP interface, or whatever else speaks it.

use crate::refusal::refusal;
use crate::value::asset_name;
use crate::{
    Asset, Chain, ChainError, Confirmed, Datum, ExUnits, Output, Parameters, Ratio, Script, Tip, Utxo, Value,
    cbor,
};
use async_trait::async_trait;
use fetch::{Client, Policy, Request, Response};
use mandate::price::OutRef;
use mandate::text::{PolicyId, TxHash};
use mandate::{Address, Millis};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A project of Blockfrost's, or a server of one's own that speaks the same.
pub struct Blockfrost {
    client: Client,
    /// Without a slash at its end.
    base: String,
    project: String,
}

impl Blockfrost {
    /// `base` is as `https://cardano-preprod.blockfrost.io/api/v0`; the project's id is sent with every call. What is not public is
    /// called only if `policy` lists it.
    pub fn new(base: &str, project: &str, policy: Policy) -> Result<Self, ChainError> {
        let client = Client::new(policy).map_err(|error| ChainError::Malformed(error.to_string()))?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), project: project.to_owned() })
    }

    async fn send(&self, request: Result<Request, fetch::Error>) -> Result<Response, fetch::Error> {
        let name = http::header::HeaderName::from_static("project_id");
        let answer = self.client.send(request?.header(name, &self.project)?).await?;
        Ok(answer)
    }

    /// None for what is not there (404).
    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<Option<T>, ChainError> {
        let answer = self.send(Request::get(&format!("{}{path}", self.base))).await;
        let answer = answer.map_err(|error| ChainError::Unavailable(error.to_string()))?;
        match answer.status.as_u16() {
            200 => read(&answer.body).map(Some),
            404 => Ok(None),
            status => Err(ChainError::Unavailable(format!("{path}: status {status}"))),
        }
    }

    async fn there<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, ChainError> {
        self.get(path).await?.ok_or_else(|| ChainError::Unavailable(format!("{path}: status 404")))
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Response, fetch::Error> {
        let request = Request::post(&format!("{}{path}", self.base), body);
        self.send(request.and_then(|request| request.header(http::header::CONTENT_TYPE, "application/cbor")))
            .await
    }

    /// All pages of a list of outputs; nothing where there is no such list.
    async fn pages(&self, path: &str) -> Result<Vec<Utxo>, ChainError> {
        let mut utxos = Vec::new();
        for page in 1..=PAGES {
            let rows: Vec<Row> =
                self.get(&format!("{path}?count={PAGE}&page={page}")).await?.unwrap_or_default();
            for row in &rows {
                let tx_hash = row.tx_hash.as_deref().and_then(|hash| hash.parse().ok());
                let tx_hash =
                    tx_hash.ok_or_else(|| ChainError::Unavailable("an output without a name".to_owned()))?;
                let at = OutRef { output_index: row.output_index, tx_hash };
                utxos.extend(self.output(row).await?.map(|output| Utxo { at, output }));
            }
            if rows.len() < PAGE {
                return Ok(utxos);
            }
        }
        Err(ChainError::Unavailable(format!("{path}: more than {} outputs", PAGES * PAGE)))
    }

    async fn output(&self, row: &Row) -> Result<Option<Output>, ChainError> {
        let Ok(address) = row.address.parse::<Address>() else { return Ok(None) };
        let script = match &row.reference_script_hash {
            Some(hash) => self.script(hash).await?,
            None => None,
        };
        let bad = || ChainError::Unavailable("an output that cannot be read".to_owned());
        let datum = match (&row.inline_datum, &row.data_hash) {
            (Some(data), _) => Datum::Inline(hex::decode(data).map_err(|_| bad())?.into()),
            (None, Some(hash)) => Datum::Hash(hash.parse().map_err(|_| bad())?),
            (None, None) => Datum::None,
        };
        let value = row.value().ok_or_else(bad)?;
        Ok(Some(Output { address, value, datum, script }))
    }

    /// The Plutus V3 script of a hash, whether it comes wrapped or bare; none for another kind.
    async fn script(&self, hash: &str) -> Result<Option<Script>, ChainError> {
        let Some(code) = self.get::<Code>(&format!("/scripts/{hash}/cbor")).await? else { return Ok(None) };
        let Some(code) = code.cbor.and_then(|code| hex::decode(code).ok()) else { return Ok(None) };
        let mut wrapped = Vec::new();
        cbor::bytes(&mut wrapped, &code);
        let made = [Script::new(code), Script::new(wrapped)];
        Ok(made.into_iter().find(|script| script.hash().to_string() == hash))
    }
}

#[async_trait]
impl Chain for Blockfrost {
    async fn tip(&self) -> Result<Tip, ChainError> {
        let block: Block = self.there("/blocks/latest").await?;
        Ok(Tip { slot: block.slot, height: block.height, time: seconds(block.time)? })
    }

    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        let wire: WireParameters = self.there("/epochs/latest/parameters").await?;
        wire.parameters().map(Arc::new)
    }

    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        self.pages(&format!("/addresses/{address}/utxos")).await
    }

    async fn holder(&self, address: &str, (policy, name): &Asset) -> Result<Option<Utxo>, ChainError> {
        let token = (*policy, name.clone());
        let utxos = self.pages(&format!("/addresses/{address}/utxos/{policy}{name}")).await?;
        Ok(utxos.into_iter().find(|utxo| utxo.output.value.quantity(&token) == 1))
    }

    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        let rows: Option<Outputs> = self.get(&format!("/txs/{}/utxos", at.tx_hash)).await?;
        let rows = rows.map(|rows| rows.outputs).unwrap_or_default();
        let named = |row: &&Row| row.output_index == at.output_index && !row.collateral;
        match rows.iter().find(named) {
            Some(row) if row.consumed_by_tx.is_none() => {
                Ok(self.output(row).await?.map(|output| Utxo { at, output }))
            }
            _ => Ok(None),
        }
    }

    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let answer = self.post("/tx/submit", tx.to_vec()).await.map_err(|error| {
            let text = error.to_string();
            if error.is_ambiguous() { ChainError::Unknown(text) } else { ChainError::Unavailable(text) }
        })?;
        match answer.status.as_u16() {
            200 => read(&answer.body).map_err(|error| ChainError::Unknown(error.to_string())),
            400 => Err(refusal(&String::from_utf8_lossy(&answer.body))),
            // Too many calls, a full memory pool, no such project: it was not taken.
            status @ (402 | 403 | 418 | 425 | 429) => {
                Err(ChainError::Unavailable(format!("status {status}")))
            }
            status => Err(ChainError::Unknown(format!("status {status}"))),
        }
    }

    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        let Some(found) = self.get::<Transaction>(&format!("/txs/{hash}")).await? else { return Ok(None) };
        let Some(code) = self.get::<Code>(&format!("/txs/{hash}/cbor")).await? else { return Ok(None) };
        let tx = code.cbor.and_then(|code| hex::decode(code).ok());
        let tx = tx.ok_or_else(|| ChainError::Unavailable("a transaction that cannot be read".to_owned()))?;
        Ok(Some(Confirmed { height: found.block_height, time: seconds(found.block_time)?, tx }))
    }

    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        let answer = self.post("/utils/txs/evaluate", hex::encode(tx).into_bytes()).await;
        let answer = answer.map_err(|error| ChainError::Unavailable(error.to_string()))?;
        let text = String::from_utf8_lossy(&answer.body);
        if answer.status.as_u16() != 200 {
            return Err(match answer.status.as_u16() {
                400 => refusal(&text),
                status => ChainError::Unavailable(format!("status {status}")),
            });
        }
        let evaluated: Evaluated = read(&answer.body)?;
        let Some(units) = evaluated.result.and_then(|result| result.units) else {
            return Err(refusal(&text));
        };
        let mut ordered: Vec<(u8, u32, ExUnits)> = Vec::new();
        for (name, units) in units {
            let parsed = name
                .split_once(':')
                .and_then(|(purpose, index)| Some((u8::from(purpose != "spend"), index.parse().ok()?)));
            let (purpose, index) =
                parsed.ok_or_else(|| ChainError::Unavailable(format!("a redeemer {name}")))?;
            ordered.push((purpose, index, ExUnits { memory: units.memory, steps: units.steps }));
        }
        ordered.sort_by_key(|(purpose, index, _)| (*purpose, *index));
        Ok(ordered.into_iter().map(|(_, _, units)| units).collect())
    }
}

impl fmt::Debug for Blockfrost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blockfrost").field("base", &self.base).finish_non_exhaustive()
    }
}

const PAGE: usize = 100;
const PAGES: usize = 100;

fn read<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, ChainError> {
    canon::from_slice(body)
        .map_err(|error| ChainError::Unavailable(format!("an answer of another shape: {error}")))
}

fn seconds(seconds: u64) -> Result<Millis, ChainError> {
    let millis = seconds.checked_mul(1000).and_then(|millis| Millis::try_from(millis).ok());
    millis.ok_or_else(|| ChainError::Unavailable("an instant beyond all years".to_owned()))
}

#[derive(Deserialize)]
struct Block {
    slot: u64,
    height: u64,
    time: u64,
}

#[derive(Deserialize)]
struct Transaction {
    block_height: u64,
    block_time: u64,
}

#[derive(Deserialize)]
struct Code {
    cbor: Option<String>,
}

#[derive(Deserialize)]
struct Outputs {
    outputs: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    address: String,
    #[serde(default)]
    tx_hash: Option<String>,
    output_index: u32,
    amount: Vec<Amount>,
    #[serde(default)]
    data_hash: Option<String>,
    #[serde(default)]
    inline_datum: Option<String>,
    #[serde(default)]
    reference_script_hash: Option<String>,
    #[serde(default)]
    consumed_by_tx: Option<String>,
    #[serde(default)]
    collateral: bool,
}

#[derive(Deserialize)]
struct Amount {
    unit: String,
    quantity: String,
}

impl Row {
    fn value(&self) -> Option<Value> {
        let mut value = Value::default();
        for amount in &self.amount {
            let quantity: u64 = amount.quantity.parse().ok()?;
            if amount.unit == "lovelace" {
                value.lovelace = quantity;
                continue;
            }
            let (policy, name) = amount.unit.split_at_checked(56)?;
            let policy: PolicyId = policy.parse().ok()?;
            value = value.with((policy, asset_name(&hex::decode(name).ok()?)?), quantity);
        }
        Some(value)
    }
}

#[derive(Deserialize)]
struct Evaluated {
    result: Option<EvaluationResult>,
}

#[derive(Deserialize)]
struct EvaluationResult {
    #[serde(rename = "EvaluationResult")]
    units: Option<BTreeMap<String, WireUnits>>,
}

#[derive(Deserialize)]
struct WireUnits {
    memory: u64,
    steps: u64,
}

#[derive(Deserialize)]
struct WireParameters {
    protocol_major_ver: u64,
    min_fee_a: u64,
    min_fee_b: u64,
    price_mem: f64,
    price_step: f64,
    min_fee_ref_script_cost_per_byte: f64,
    coins_per_utxo_size: String,
    collateral_percent: u64,
    max_collateral_inputs: u32,
    max_tx_size: u32,
    max_val_size: String,
    max_tx_ex_mem: String,
    max_tx_ex_steps: String,
    cost_models_raw: BTreeMap<String, Vec<i64>>,
}

impl WireParameters {
    fn parameters(self) -> Result<Parameters, ChainError> {
        let bad = || ChainError::Unavailable("parameters of another shape".to_owned());
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
        let mut models = self.cost_models_raw;
        Ok(Parameters {
            protocol_major: self.protocol_major_ver,
            fee_per_byte: self.min_fee_a,
            fee_fixed: self.min_fee_b,
            price_memory: ratio(self.price_mem).ok_or_else(bad)?,
            price_steps: ratio(self.price_step).ok_or_else(bad)?,
            fee_per_reference_script_byte: whole(self.min_fee_ref_script_cost_per_byte).ok_or_else(bad)?,
            lovelace_per_output_byte: number(&self.coins_per_utxo_size)?,
            collateral_percent: self.collateral_percent,
            max_collateral_inputs: self.max_collateral_inputs,
            max_tx_bytes: self.max_tx_size,
            max_value_bytes: u32::try_from(number(&self.max_val_size)?).map_err(|_| bad())?,
            max_tx_memory: number(&self.max_tx_ex_mem)?,
            max_tx_steps: number(&self.max_tx_ex_steps)?,
            cost_model_v3: models.remove("PlutusV3").ok_or_else(bad)?,
        })
    }
}

/// A decimal fraction as it was meant: twelve places are more than any price has.
fn ratio(value: f64) -> Option<Ratio> {
    let digits: String = format!("{value:.12}").chars().filter(|letter| *letter != '.').collect();
    Some(Ratio { numerator: digits.parse().ok()?, denominator: 1_000_000_000_000 })
}

fn whole(value: f64) -> Option<u64> {
    let ratio = ratio(value)?;
    ratio.numerator.is_multiple_of(ratio.denominator).then(|| ratio.numerator / ratio.denominator)
}
