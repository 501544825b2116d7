//! Building a balanced transaction: a plan says what must be in it, the purse of a wallet pays for it.
//!
//! Bodies are written as the ledger's Conway format has them: sets tagged, inputs sorted, fields in ascending order.

use crate::transaction::{VKey, hash, write, write_vkeys};
use crate::{Asset, Chain, ChainError, Datum, ExUnits, Output, Parameters, Script, Utxo, Value, cbor};
use blake2::Digest as _;
use mandate::plutus::Data;
use mandate::price::OutRef;
use mandate::text::{AssetName, KeyHash, PolicyId};
use mandate::{Address, Credential};
use std::collections::{BTreeMap, BTreeSet};

/// What must be in a transaction.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub inputs: Vec<Spent>,
    pub references: Vec<OutRef>,
    /// How many bytes of scripts the references hold.
    pub referred: u64,
    /// Lovelace below what an output must hold is raised to it.
    pub outputs: Vec<Output>,
    /// What is minted, or, below zero, burnt.
    pub mint: Vec<(Asset, i64)>,
    /// Scripts that are not referred to.
    pub scripts: Vec<Script>,
    pub signers: BTreeSet<KeyHash>,
    /// The first slot in which it is valid.
    pub from: Option<u64>,
    /// The first slot in which it is valid no more.
    pub until: Option<u64>,
    /// Auxiliary data in CBOR.
    pub metadata: Option<Vec<u8>>,
    /// What is declared for each redeemer; without it the chain is asked what they use.
    pub units: Option<Vec<ExUnits>>,
}

/// An output that is spent, and what its script is told.
#[derive(Debug, Clone)]
pub struct Spent {
    pub utxo: Utxo,
    pub redeemer: Option<Data>,
}

/// What a wallet may pay with, best first, and where the rest goes.
#[derive(Debug, Clone)]
pub struct Purse {
    pub change: Address,
    pub utxos: Vec<Utxo>,
}

/// A transaction that balances and lacks its signatures.
#[derive(Debug, Clone)]
pub struct Unsigned {
    pub body: Vec<u8>,
    witnesses: Vec<u8>,
    metadata: Option<Vec<u8>>,
    /// What of the purse it spends.
    pub taken: Vec<OutRef>,
    /// What of the purse it would lose if a script failed.
    pub collateral: Option<OutRef>,
}

impl Plan {
    pub fn spend(&mut self, utxo: Utxo, redeemer: Data) {
        self.inputs.push(Spent { utxo, redeemer: Some(redeemer) });
    }

    pub fn sign(&mut self, key: KeyHash) {
        self.signers.insert(key);
    }
}

impl Unsigned {
    pub fn with(&self, keys: &[VKey]) -> Vec<u8> {
        write(&self.body, &self.witness_set(keys), self.metadata.as_deref())
    }

    /// The scripts and redeemers, and these signatures.
    fn witness_set(&self, keys: &[VKey]) -> Vec<u8> {
        // INVARIANT: the witnesses are the entries of a map of at most two, without its head.
        let others = cbor_entries(&self.witnesses);
        let mut out = Vec::new();
        cbor::map(&mut out, others + usize::from(!keys.is_empty()));
        if !keys.is_empty() {
            cbor::uint(&mut out, 0);
            write_vkeys(&mut out, keys);
        }
        out.extend_from_slice(&self.witnesses);
        out
    }
}

/// Completes a plan from a purse: picks inputs, asks the chain what the scripts use, sets the fee, gives the rest back.
pub async fn complete(
    mut plan: Plan,
    purse: &Purse,
    parameters: &Parameters,
    chain: &dyn Chain,
) -> Result<Unsigned, ChainError> {
    for output in &mut plan.outputs {
        raise(output, parameters);
    }
    let told = plan.units.is_some();
    let mut units = plan.units.take().unwrap_or_else(|| vec![TRIAL; plan.redeemers()]);
    if !told && !units.is_empty() {
        let trial = Draft { plan: &plan, purse, parameters, units: &units }.balance()?;
        let used = chain.evaluate(&trial.with(&[])).await?;
        if used.len() != units.len() {
            return Err(ChainError::Bug("as many results as redeemers".to_owned()));
        }
        units = used.into_iter().map(with_margin).collect();
    }
    Draft { plan: &plan, purse, parameters, units: &units }.balance()
}

/// What is assumed before the scripts have run.
const TRIAL: ExUnits = ExUnits { memory: 3_000_000, steps: 2_000_000_000 };

/// A tenth more than was used: the fee is not known when scripts are run.
fn with_margin(units: ExUnits) -> ExUnits {
    let more = |used: u64| used.saturating_add(used / 10).saturating_add(1);
    ExUnits { memory: more(units.memory), steps: more(units.steps) }
}

/// Raises an output's lovelace to the least it must hold.
pub(crate) fn raise(output: &mut Output, parameters: &Parameters) {
    for _ in 0..3 {
        let least = parameters.least_lovelace(output.to_cbor().len());
        output.value.lovelace = output.value.lovelace.max(least);
    }
}

impl Plan {
    /// What is minted, in the order of the redeemers.
    fn policies(&self) -> BTreeMap<PolicyId, BTreeMap<AssetName, i64>> {
        let mut policies: BTreeMap<_, BTreeMap<_, i64>> = BTreeMap::new();
        for ((policy, name), amount) in &self.mint {
            let sum = policies.entry(*policy).or_default().entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
        policies
    }

    fn redeemers(&self) -> usize {
        self.inputs.iter().filter(|input| input.redeemer.is_some()).count() + self.policies().len()
    }
}

struct Draft<'a> {
    plan: &'a Plan,
    purse: &'a Purse,
    parameters: &'a Parameters,
    units: &'a [ExUnits],
}

/// What is picked from the purse.
#[derive(Debug, Clone, Default)]
struct Picked {
    inputs: Vec<Utxo>,
    collateral: Option<Utxo>,
}

impl Draft<'_> {
    /// More inputs until they suffice, a higher fee until it suffices.
    fn balance(&self) -> Result<Unsigned, ChainError> {
        let mut fee = self.parameters.fee_fixed;
        let mut picked = Picked { inputs: Vec::new(), collateral: self.collateral()? };
        for _ in 0..ROUNDS {
            let Some(outputs) = self.outputs(&picked, fee)? else {
                picked.inputs.push(self.next(&picked, fee)?);
                continue;
            };
            let unsigned = self.write(&picked, &outputs, fee);
            let bytes = unsigned.with(&self.pretended(&picked)).len();
            if bytes > usize::try_from(self.parameters.max_tx_bytes).unwrap_or(usize::MAX) {
                return Err(ChainError::Malformed(format!("a transaction of {bytes} bytes is too long")));
            }
            let total = self.units.iter().fold(ExUnits::default(), |sum, units| ExUnits {
                memory: sum.memory.saturating_add(units.memory),
                steps: sum.steps.saturating_add(units.steps),
            });
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let least = self.parameters.least_fee(bytes, total, self.plan.referred);
            if fee >= least {
                return Ok(unsigned);
            }
            fee = least;
        }
        Err(ChainError::Bug("the fee does not settle".to_owned()))
    }

    /// The plan's outputs and the change. None where more inputs are needed.
    fn outputs(&self, picked: &Picked, fee: u64) -> Result<Option<Vec<Output>>, ChainError> {
        let overflow = || ChainError::malformed("amounts beyond 2^64");
        let mut held = Value::default();
        let spent = self.plan.inputs.iter().map(|input| &input.utxo).chain(&picked.inputs);
        for utxo in spent {
            held = held.plus(&utxo.output.value).ok_or_else(overflow)?;
        }
        let mut paid = Value::of(fee);
        for (asset, amount) in &self.plan.mint {
            let side = if *amount > 0 { &mut held } else { &mut paid };
            *side = std::mem::take(side).with(asset.clone(), amount.unsigned_abs());
        }
        for output in &self.plan.outputs {
            paid = paid.plus(&output.value).ok_or_else(overflow)?;
        }
        let Some(rest) = held.minus(&paid) else { return Ok(None) };
        let mut outputs = self.plan.outputs.clone();
        if picked.inputs.is_empty() && self.plan.inputs.is_empty() {
            return Ok(None);
        }
        if rest != Value::default() {
            let change = Output::new(self.purse.change.clone(), rest);
            if change.value.lovelace < self.parameters.least_lovelace(change.to_cbor().len()) {
                return Ok(None);
            }
            outputs.push(change);
        }
        Ok(Some(outputs))
    }

    fn next(&self, picked: &Picked, fee: u64) -> Result<Utxo, ChainError> {
        let collateral = picked.collateral.as_ref().map(|utxo| utxo.at);
        let free = |utxo: &&Utxo| {
            let named = self.plan.inputs.iter().map(|input| input.utxo.at);
            let named = named.chain(picked.inputs.iter().map(|utxo| utxo.at));
            !named.chain(self.plan.references.iter().copied()).any(|at| at == utxo.at)
        };
        let spare = self.purse.utxos.iter().filter(free).find(|utxo| Some(utxo.at) != collateral);
        // The collateral may be spent too, if there is nothing else.
        spare.or_else(|| self.purse.utxos.iter().find(free)).cloned().ok_or_else(|| {
            let paid = self.plan.outputs.iter().fold(fee, |sum, out| sum.saturating_add(out.value.lovelace));
            let held = self.plan.inputs.iter().map(|input| &input.utxo).chain(&self.purse.utxos);
            let available = held.fold(0_u64, |sum, utxo| sum.saturating_add(utxo.output.value.lovelace));
            ChainError::Insufficient { needed: paid, available, of: "lovelace or tokens".to_owned() }
        })
    }

    /// The smallest output of lovelace alone that is big enough; none where no script runs.
    fn collateral(&self) -> Result<Option<Utxo>, ChainError> {
        if self.units.is_empty() {
            return Ok(None);
        }
        let alone = |utxo: &&Utxo| {
            utxo.output.value.tokens.is_empty()
                && utxo.output.value.lovelace >= LEAST_COLLATERAL
                && matches!(utxo.output.address.payment(), Credential::Key(_))
        };
        let found = self.purse.utxos.iter().filter(alone).min_by_key(|utxo| utxo.output.value.lovelace);
        found.cloned().map(Some).ok_or(ChainError::Insufficient {
            needed: LEAST_COLLATERAL,
            available: 0,
            of: "lovelace in one output, for collateral".to_owned(),
        })
    }

    /// As many signatures as there will be.
    fn pretended(&self, picked: &Picked) -> Vec<VKey> {
        let mut keys = self.plan.signers.clone();
        // The wallet signs whatever it completes.
        if let Credential::Key(own) = self.purse.change.payment() {
            keys.insert(*own);
        }
        let spent = self.plan.inputs.iter().map(|input| &input.utxo);
        for utxo in spent.chain(&picked.inputs).chain(&picked.collateral) {
            if let Credential::Key(hash) = utxo.output.address.payment() {
                keys.insert(*hash);
            }
        }
        (0..u8::try_from(keys.len()).unwrap_or(u8::MAX))
            .map(|number| VKey { key: [number; 32], signature: [number; 64] })
            .collect()
    }

    fn write(&self, picked: &Picked, outputs: &[Output], fee: u64) -> Unsigned {
        let plan = self.plan;
        let mut inputs: Vec<(OutRef, Option<&Data>)> =
            plan.inputs.iter().map(|input| (input.utxo.at, input.redeemer.as_ref())).collect();
        inputs.extend(picked.inputs.iter().map(|utxo| (utxo.at, None)));
        inputs.sort_by_key(|(at, _)| (at.tx_hash, at.output_index));
        let mint = plan.policies();
        let redeemers = self.redeemers(&inputs, &mint);
        let mut fields: Vec<(u64, Vec<u8>)> = Vec::new();
        let refs: Vec<_> = inputs.iter().map(|(at, _)| out_ref(at)).collect();
        fields.push((0, set(&refs)));
        fields.push((1, list(&outputs.iter().map(Output::to_cbor).collect::<Vec<_>>())));
        fields.push((2, number(fee)));
        fields.extend(plan.until.map(|slot| (3, number(slot))));
        fields.extend(plan.metadata.as_ref().map(|data| (7, bytes(hash(data).as_bytes()))));
        fields.extend(plan.from.map(|slot| (8, number(slot))));
        if !mint.is_empty() {
            fields.push((9, minted(&mint)));
        }
        if let Some(redeemers) = &redeemers {
            fields.push((11, bytes(&self.integrity(redeemers))));
        }
        fields.extend(picked.collateral.as_ref().map(|utxo| (13, set(&[out_ref(&utxo.at)]))));
        if !plan.signers.is_empty() {
            let signers: Vec<_> = plan.signers.iter().map(|key| bytes(key.as_bytes())).collect();
            fields.push((14, set(&signers)));
        }
        fields.push((15, number(u64::from(self.purse.change.network().tag()))));
        if let Some(collateral) = &picked.collateral {
            self.write_collateral(&mut fields, collateral, fee);
        }
        if !plan.references.is_empty() {
            let mut references = plan.references.clone();
            references.sort_by_key(|at| (at.tx_hash, at.output_index));
            references.dedup();
            fields.push((18, set(&references.iter().map(out_ref).collect::<Vec<_>>())));
        }
        let mut body = Vec::new();
        cbor::map(&mut body, fields.len());
        for (key, value) in &fields {
            cbor::uint(&mut body, *key);
            body.extend_from_slice(value);
        }
        let mut witnesses = Vec::new();
        if let Some(redeemers) = &redeemers {
            cbor::uint(&mut witnesses, 5);
            witnesses.extend_from_slice(redeemers);
        }
        if !plan.scripts.is_empty() {
            let mut scripts: Vec<_> = plan.scripts.iter().map(|script| bytes(script.as_bytes())).collect();
            scripts.sort();
            scripts.dedup();
            cbor::uint(&mut witnesses, 7);
            witnesses.extend_from_slice(&set(&scripts));
        }
        let taken = picked.inputs.iter().map(|utxo| utxo.at).collect();
        let collateral = picked.collateral.as_ref().map(|utxo| utxo.at);
        Unsigned { body, witnesses, metadata: plan.metadata.clone(), taken, collateral }
    }

    /// `{[purpose, index]: [data, [memory, steps]]}`; spending is purpose 0, minting 1.
    fn redeemers(
        &self,
        inputs: &[(OutRef, Option<&Data>)],
        mint: &BTreeMap<PolicyId, BTreeMap<AssetName, i64>>,
    ) -> Option<Vec<u8>> {
        let spent = inputs.iter().enumerate().filter_map(|(at, (_, data))| Some((0, at, (*data)?.to_cbor())));
        let minted = mint.iter().enumerate().map(|(at, _)| (1, at, crate::data::MINT.to_cbor()));
        let all: Vec<(u64, usize, Vec<u8>)> = spent.chain(minted).collect();
        if all.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        cbor::map(&mut out, all.len());
        for ((purpose, at, data), units) in all.iter().zip(self.units) {
            cbor::array(&mut out, 2);
            cbor::uint(&mut out, *purpose);
            cbor::uint(&mut out, u64::try_from(*at).unwrap_or(u64::MAX));
            cbor::array(&mut out, 2);
            out.extend_from_slice(data);
            cbor::array(&mut out, 2);
            cbor::uint(&mut out, units.memory);
            cbor::uint(&mut out, units.steps);
        }
        Some(out)
    }

    /// BLAKE2b-256 of the redeemers and the cost model they were priced by.
    fn integrity(&self, redeemers: &[u8]) -> [u8; 32] {
        let mut view = Vec::new();
        cbor::map(&mut view, 1);
        cbor::uint(&mut view, 2);
        cbor::array(&mut view, self.parameters.cost_model_v3.len());
        self.parameters.cost_model_v3.iter().for_each(|cost| cbor::int(&mut view, *cost));
        let mut hasher = blake2::Blake2b256::new();
        hasher.update(redeemers);
        hasher.update(&view);
        hasher.finalize().into()
    }

    /// What is taken if a script fails, and where the rest of the collateral goes.
    fn write_collateral(&self, fields: &mut Vec<(u64, Vec<u8>)>, collateral: &Utxo, fee: u64) {
        let held = collateral.output.value.lovelace;
        let least = self.parameters.least_collateral(fee);
        let rest = Output::new(self.purse.change.clone(), Value::of(held.saturating_sub(least)));
        let fits = rest.value.lovelace >= self.parameters.least_lovelace(rest.to_cbor().len());
        let total = if fits {
            fields.push((16, rest.to_cbor()));
            least
        } else {
            held
        };
        fields.push((17, number(total)));
    }
}

/// Each round adds an input or raises the fee.
const ROUNDS: usize = 200;
const LEAST_COLLATERAL: u64 = 5_000_000;

fn cbor_entries(mut raw: &[u8]) -> usize {
    let mut count = 0;
    while !raw.is_empty() {
        if cbor::take_item(&mut raw, 64).is_none() || cbor::take_item(&mut raw, 64).is_none() {
            break;
        }
        count += 1;
    }
    count
}

fn number(number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::uint(&mut out, number);
    out
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::bytes(&mut out, bytes);
    out
}

fn set(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::set(&mut out, items);
    out
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::array(&mut out, items.len());
    items.iter().for_each(|item| out.extend_from_slice(item));
    out
}

fn out_ref(at: &OutRef) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::array(&mut out, 2);
    cbor::bytes(&mut out, at.tx_hash.as_bytes());
    cbor::uint(&mut out, u64::from(at.output_index));
    out
}

fn minted(mint: &BTreeMap<PolicyId, BTreeMap<AssetName, i64>>) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::map(&mut out, mint.len());
    for (policy, names) in mint {
        cbor::bytes(&mut out, policy.as_bytes());
        cbor::map(&mut out, names.len());
        for (name, amount) in names {
            cbor::bytes(&mut out, name.as_bytes());
            cbor::int(&mut out, *amount);
        }
    }
    out
}

/// What a transaction says under label 1694 (spec 2.4): texts of at most 64 bytes, longer ones in pieces.
pub fn label_1694(auth: &str, action: &str, mandate: &str, seq: u64, head: &str) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::map(&mut out, 1);
    cbor::uint(&mut out, 1694);
    cbor::map(&mut out, 4);
    for (key, value) in [("auth", auth), ("action", action), ("mandate", mandate)] {
        cbor::text(&mut out, key);
        pieces(&mut out, value);
    }
    cbor::text(&mut out, "log_head");
    cbor::map(&mut out, 2);
    cbor::text(&mut out, "seq");
    cbor::uint(&mut out, seq);
    cbor::text(&mut out, "hash");
    pieces(&mut out, head);
    out
}

fn pieces(out: &mut Vec<u8>, text: &str) {
    const LONGEST: usize = 64;
    if text.len() <= LONGEST {
        return cbor::text(out, text);
    }
    // INVARIANT: labels are ASCII, so every cut is between characters.
    let pieces: Vec<_> = text.as_bytes().chunks(LONGEST).map(String::from_utf8_lossy).collect();
    cbor::array(out, pieces.len());
    pieces.iter().for_each(|piece| cbor::text(out, piece));
}

/// Nothing but an address and lovelace: what a plain payment makes.
pub(crate) const fn is_plain(output: &Output) -> bool {
    matches!(output.datum, Datum::None) && output.script.is_none()
}
