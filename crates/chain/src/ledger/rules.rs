//! Whether a transaction is good: phase 1 and phase 2 of the ledger by `pallas-validate`, and what that library leaves out.

use crate::transaction::Transaction;
use crate::{ChainError, ExUnits, Output, Parameters, Slots, Value};
use mandate::Credential;
use mandate::issue::ChainName;
use mandate::price::OutRef;
use mandate::text::TxHash;
use pallas_primitives::conway::{CostModels, DRepVotingThresholds, PoolVotingThresholds, RationalNumber};
use pallas_primitives::{ExUnitPrices, ExUnits as Units, Hash, TransactionInput};
use pallas_traverse::{Era, MultiEraInput, MultiEraOutput, MultiEraTx};
use pallas_validate::phase2::script_context::SlotConfig;
use pallas_validate::utils::{
    AccountState, CertState, ConwayProtParams, Environment, EraCbor, MultiEraProtocolParameters, TxoRef,
    UTxOs, UtxoMap,
};
use pallas_validate::{phase1, phase2};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(super) struct Rules<'a> {
    pub parameters: &'a Parameters,
    pub slots: &'a Slots,
    pub network: ChainName,
}

/// Outputs as they were written.
pub(super) type Unspent = BTreeMap<OutRef, Arc<[u8]>>;

impl Rules<'_> {
    /// Refuses what a node would not take into a block of this slot.
    pub fn judge(&self, tx: &[u8], slot: u64, utxos: &Unspent) -> Result<(), ChainError> {
        let read = Transaction::read(tx)?;
        let near = resolve(&read, utxos)?;
        if !read.is_valid() {
            return Err(rejected("a transaction that says its own script fails"));
        }
        if read.until().is_some_and(|until| slot >= until) {
            return Err(ChainError::expired("the slot is after its validity"));
        }
        self.library(tx, slot, &near)?;
        self.left_out(&read, tx, &near)?;
        let used = self.run(tx, &near)?;
        let mut declared = read.redeemers().ok_or_else(|| ChainError::malformed("redeemers"))?;
        declared.sort_by_key(|redeemer| (redeemer.purpose, redeemer.index));
        if used.len() != declared.len() {
            return Err(rejected("not every redeemer was run"));
        }
        for (used, declared) in used.iter().zip(&declared) {
            if used.memory > declared.units.memory || used.steps > declared.units.steps {
                return Err(rejected("a script uses more than is declared for it"));
            }
        }
        Ok(())
    }

    /// Phase 1.
    fn library(&self, tx: &[u8], slot: u64, near: &Unspent) -> Result<(), ChainError> {
        let decoded = decoded(tx)?;
        let mut utxos: UTxOs<'_> = HashMap::new();
        for (at, raw) in near {
            let input = TransactionInput {
                transaction_id: Hash::from(*at.tx_hash.as_bytes()),
                index: u64::from(at.output_index),
            };
            let output = MultiEraOutput::decode(Era::Conway, raw);
            let output = output.map_err(|error| ChainError::Bug(format!("an output: {error}")))?;
            utxos.insert(MultiEraInput::AlonzoCompatible(Box::new(Cow::Owned(input))), output);
        }
        let environment = Environment {
            prot_params: self.protocol(),
            prot_magic: 1,
            block_slot: slot,
            network_id: self.network.network().tag(),
            acnt: Some(AccountState { treasury: 0, reserves: 0 }),
        };
        phase1::validate_tx(&decoded, 0, &environment, &utxos, &mut CertState::default())
            .map_err(|error| rejected(&format!("{error:?}")))
    }

    /// Phase 2: what the scripts use, in the order of the redeemers, by purpose, then by index. Refuses where one fails, by its rule.
    pub fn run(&self, tx: &[u8], near: &Unspent) -> Result<Vec<ExUnits>, ChainError> {
        let decoded = decoded(tx)?;
        if decoded.redeemers().is_empty() {
            return Ok(Vec::new());
        }
        let mut utxos: UtxoMap = HashMap::new();
        for (at, raw) in near {
            let hash = Hash::from(*at.tx_hash.as_bytes());
            utxos.insert(TxoRef(hash, at.output_index), EraCbor(Era::Conway, raw.to_vec()));
        }
        let slots = SlotConfig {
            slot_length: crate::slots::SLOT_MS,
            zero_slot: self.slots.zero_slot,
            zero_time: self.slots.zero_time.get(),
        };
        let results = phase2::evaluate_tx(&decoded, &self.protocol(), &utxos, &slots)
            .map_err(|error| rejected(&format!("{error}")))?;
        let mut units = Vec::new();
        for result in results {
            if !result.success {
                let why = result.failure_message.unwrap_or_default();
                return Err(failed(&result.logs, &why));
            }
            let order = (u8::from(result.tag != pallas_primitives::conway::RedeemerTag::Spend), result.index);
            units.push((order, ExUnits { memory: result.units.mem, steps: result.units.steps }));
        }
        units.sort_by_key(|(order, _)| *order);
        Ok(units.into_iter().map(|(_, units)| units).collect())
    }

    /// What phase 1 of the library does not look at, or looks at too kindly: the fee of scripts, collateral where scripts are
    /// referred to, the sum of declared units, every signature, the least lovelace by an output's real length, and inputs
    /// that are referred to as well.
    fn left_out(&self, tx: &Transaction<'_>, bytes: &[u8], near: &Unspent) -> Result<(), ChainError> {
        let broken = || ChainError::malformed("not a transaction");
        let inputs = tx.inputs().ok_or_else(broken)?;
        let references = tx.reference_inputs().ok_or_else(broken)?;
        if references.iter().any(|at| inputs.contains(at)) {
            return Err(rejected("an input is spent and referred to"));
        }
        for vkey in tx.vkeys().ok_or_else(broken)? {
            vkey.verify(&tx.hash()).map_err(|_| rejected("a signature is wrong"))?;
        }
        for raw in tx.outputs().ok_or_else(broken)?.into_iter().chain(tx.collateral_return()) {
            let output = Output::from_cbor(raw);
            let output = output.ok_or_else(|| rejected("an address that is neither base nor enterprise"))?;
            if output.value.lovelace < self.parameters.least_lovelace(raw.len()) {
                return Err(rejected("an output holds too little lovelace"));
            }
        }
        let declared = tx.redeemers().ok_or_else(broken)?;
        let mut units = ExUnits::default();
        for one in &declared {
            units.memory = units.memory.saturating_add(one.units.memory);
            units.steps = units.steps.saturating_add(one.units.steps);
        }
        if units.memory > self.parameters.max_tx_memory || units.steps > self.parameters.max_tx_steps {
            return Err(rejected("more execution units than a transaction may declare"));
        }
        let fee = tx.fee().ok_or_else(broken)?;
        let referred = referred(inputs.iter().chain(&references), near);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let least = self.parameters.least_fee(length, units, referred);
        if fee < least {
            return Err(rejected(&format!("the fee is {fee} lovelace, the least is {least}")));
        }
        if declared.is_empty() { Ok(()) } else { self.collateral(tx, fee, near) }
    }

    fn collateral(&self, tx: &Transaction<'_>, fee: u64, near: &Unspent) -> Result<(), ChainError> {
        let broken = || ChainError::malformed("not a transaction");
        let inputs = tx.collateral().ok_or_else(broken)?;
        if inputs.is_empty()
            || inputs.len() > usize::try_from(self.parameters.max_collateral_inputs).unwrap_or(0)
        {
            return Err(rejected("collateral is missing, or is too many outputs"));
        }
        let mut held = Value::default();
        for at in &inputs {
            let output = near.get(at).and_then(|raw| Output::from_cbor(raw)).ok_or_else(broken)?;
            if matches!(output.address.payment(), Credential::Script(_)) {
                return Err(rejected("collateral at a script"));
            }
            held = held.plus(&output.value).ok_or_else(broken)?;
        }
        let back =
            tx.collateral_return().and_then(Output::from_cbor).map(|output| output.value).unwrap_or_default();
        let taken = held.minus(&back).filter(|taken| taken.tokens.is_empty());
        let taken = taken.ok_or_else(|| rejected("collateral is lovelace alone"))?;
        if taken.lovelace < self.parameters.least_collateral(fee) {
            return Err(rejected("too little collateral"));
        }
        if tx.total_collateral().is_some_and(|total| total != taken.lovelace) {
            return Err(rejected("another sum of collateral than it says"));
        }
        Ok(())
    }

    /// The parameters as the library wants them. Governance does not happen here.
    fn protocol(&self) -> MultiEraProtocolParameters {
        let ratio = |numerator, denominator| RationalNumber { numerator, denominator };
        let none = || ratio(0, 1);
        let it = self.parameters;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let units = Units { mem: it.max_tx_memory, steps: it.max_tx_steps };
        MultiEraProtocolParameters::Conway(ConwayProtParams {
            system_start: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
            epoch_length: 432_000,
            slot_length: 1,
            minfee_a: small(it.fee_per_byte),
            minfee_b: small(it.fee_fixed),
            max_block_body_size: 90_112,
            max_transaction_size: it.max_tx_bytes,
            max_block_header_size: 1_100,
            key_deposit: 2_000_000,
            pool_deposit: 500_000_000,
            desired_number_of_stake_pools: 500,
            protocol_version: (it.protocol_major, 0),
            min_pool_cost: 170_000_000,
            ada_per_utxo_byte: it.lovelace_per_output_byte,
            cost_models_for_script_languages: CostModels {
                plutus_v1: None,
                plutus_v2: None,
                plutus_v3: Some(it.cost_model_v3.clone()),
                unknown: BTreeMap::new(),
            },
            execution_costs: ExUnitPrices {
                mem_price: ratio(it.price_memory.numerator, it.price_memory.denominator),
                step_price: ratio(it.price_steps.numerator, it.price_steps.denominator),
            },
            max_tx_ex_units: units,
            max_block_ex_units: units,
            max_value_size: it.max_value_bytes,
            collateral_percentage: small(it.collateral_percent),
            max_collateral_inputs: it.max_collateral_inputs,
            expansion_rate: none(),
            treasury_growth_rate: none(),
            maximum_epoch: 18,
            pool_pledge_influence: none(),
            pool_voting_thresholds: PoolVotingThresholds {
                motion_no_confidence: none(),
                committee_normal: none(),
                committee_no_confidence: none(),
                hard_fork_initiation: none(),
                security_voting_threshold: none(),
            },
            drep_voting_thresholds: DRepVotingThresholds {
                motion_no_confidence: none(),
                committee_normal: none(),
                committee_no_confidence: none(),
                update_constitution: none(),
                hard_fork_initiation: none(),
                pp_network_group: none(),
                pp_economic_group: none(),
                pp_technical_group: none(),
                pp_governance_group: none(),
                treasury_withdrawal: none(),
            },
            min_committee_size: 0,
            committee_term_limit: 0,
            governance_action_validity_period: 0,
            governance_action_deposit: 0,
            drep_deposit: 0,
            drep_inactivity_period: 0,
            minfee_refscript_cost_per_byte: ratio(it.fee_per_reference_script_byte, 1),
        })
    }
}

fn decoded(tx: &[u8]) -> Result<MultiEraTx<'_>, ChainError> {
    MultiEraTx::decode_for_era(Era::Conway, tx).map_err(|error| ChainError::Malformed(format!("{error}")))
}

/// Every output that a transaction names. Refuses one that is not there, as spent meanwhile.
pub(super) fn resolve(tx: &Transaction<'_>, utxos: &Unspent) -> Result<Unspent, ChainError> {
    let broken = || ChainError::malformed("not a transaction");
    let mut near = Unspent::new();
    for named in [tx.inputs(), tx.collateral(), tx.reference_inputs()] {
        for at in named.ok_or_else(broken)? {
            let raw = utxos.get(&at).ok_or_else(|| gone(&at.tx_hash, at.output_index))?;
            near.insert(at, Arc::clone(raw));
        }
    }
    Ok(near)
}

fn gone(hash: &TxHash, index: u32) -> ChainError {
    ChainError::Contention(format!("{hash}#{index}"))
}

/// How many bytes of scripts the outputs hold that a transaction spends or refers to.
fn referred<'a>(named: impl Iterator<Item = &'a OutRef>, near: &Unspent) -> u64 {
    let scripts = named.filter_map(|at| Output::from_cbor(near.get(at)?)?.script);
    scripts
        .fold(0, |sum, script| sum.saturating_add(u64::try_from(script.as_bytes().len()).unwrap_or(u64::MAX)))
}

fn rejected(error: &str) -> ChainError {
    ChainError::Rejected { invariant: None, error: error.to_owned() }
}

/// A script that failed, by the rule that its traces name.
fn failed(logs: &[String], why: &str) -> ChainError {
    let logs = logs.join("; ");
    ChainError::Rejected {
        invariant: crate::refusal::rule(&logs),
        error: format!("{why} {logs}").trim().to_owned(),
    }
}
