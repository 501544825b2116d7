//! A ledger with a mandate on it: limits 10, 50 and 50, a floor of 100, all in units of a million, at three in the morning of
//! 2026-10-07 (fixture F of spec 3.2).

use canon::Digest;
use chain::build::Plan;
use chain::transaction::Transaction;
use chain::{
    Anchor, Asset, Chain, ChainError, Datum, ExUnits, LedgerChain, Output, Release, Treasury, Value,
    VaultState, Wallet,
};
use env::{Timestamp, Virtual};
use keys::{Algorithm, Signer, SoftwareSigner};
use mandate::authorization::{Fields, Record};
use mandate::issue::{ChainName, Vault};
use mandate::log::LogHead;
use mandate::plutus::Data;
use mandate::price::{BondDatum, OutRef, Signatories, approval_ref};
use mandate::text::{Hex, KeyHash, PositiveUnits, TxHash, Units};
use mandate::{Address, Credential, Limits, Millis, Network, Status};
use std::sync::Arc;

pub const UNIT: u64 = 1_000_000;
pub const NETWORK: ChainName = ChainName::Preprod;

pub type Key = Arc<SoftwareSigner>;

pub struct World {
    pub clock: Arc<Virtual>,
    pub chain: Arc<LedgerChain>,
    pub treasury: Treasury,
    pub principal: Key,
    pub approver: Key,
    pub agent: Key,
    pub engine: Key,
    pub asset: Asset,
    pub anchor: Anchor,
    pub vault: Vault,
}

pub fn signer(seed: u8) -> Key {
    Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap())
}

pub fn key_hash(key: &Key) -> KeyHash {
    let keys::PublicKey::Ed25519(key) = key.public() else { panic!() };
    KeyHash::of_key(&key)
}

pub fn address(key: &Key) -> Address {
    Address::new(Network::Test, Credential::Key(key_hash(key)), None)
}

pub fn recipient() -> Address {
    address(&signer(99))
}

pub fn now(clock: &Virtual) -> Millis {
    Millis::try_from(env::Source::now(clock)).unwrap()
}

/// A ledger at that time with a funded fee wallet.
fn ledger() -> (Arc<Virtual>, Arc<LedgerChain>) {
    let start: Timestamp = "2026-10-07T03:00:00.000Z".parse().unwrap();
    let clock = Arc::new(Virtual::new(1, start));
    let chain = Arc::new(LedgerChain::open(None, clock.clone(), NETWORK).unwrap());
    for _ in 0..4 {
        chain.fund(&address(&signer(7)), Value::of(200 * UNIT)).unwrap();
    }
    (clock, chain)
}

/// A treasury over that ledger, seen through `over`.
fn empty(clock: Arc<Virtual>, chain: Arc<LedgerChain>, over: Arc<dyn Chain>) -> World {
    let treasury = Treasury::new(over, NETWORK, signer(7), clock.clone()).unwrap();
    let asset: Asset = (Hex::from_bytes([0xee; 28]), hex::encode("tUSDM").parse().unwrap());
    let (principal, approver, agent, engine) = (signer(8), signer(9), signer(2), signer(1));
    let keys::PublicKey::Ed25519(engine_key) = engine.public() else { panic!() };
    let anchor = Anchor {
        mandate_hash: Digest::of(b"mandate"),
        version: 3,
        status: Status::Active,
        engine: Hex::from_bytes(*engine_key.as_bytes()),
        principal: key_hash(&principal),
        approvers: Signatories::one(key_hash(&approver)),
        asset: asset.clone(),
        limits: Limits {
            autonomous_limit: Units::new(10 * UNIT),
            daily_cap: Units::new(50 * UNIT),
            hard_cap: Units::new(50 * UNIT),
            treasury_minimum: Units::new(100 * UNIT),
        },
        valid_until: now(&clock).plus(Millis::DAY * 300),
    };
    let (asset_policy, asset_name) = asset.clone();
    let vault = Vault {
        asset_name,
        asset_policy,
        mandate_ref: KeyHash::from_bytes([0; 28]),
        network: NETWORK,
        vault_hash: KeyHash::from_bytes([0; 28]),
    };
    World { clock, chain, treasury, principal, approver, agent, engine, asset, anchor, vault }
}

/// Anchor and vault made by transactions, and 135 deposited.
pub async fn opened() -> World {
    opened_over(async |chain| chain).await
}

/// As [`opened`], with all of it done through another chain in front of the ledger.
pub async fn opened_over<C: Chain + 'static>(over: impl AsyncFnOnce(Arc<LedgerChain>) -> Arc<C>) -> World {
    let (clock, chain) = ledger();
    let over = over(chain.clone()).await;
    let mut world = empty(clock, chain, over);
    let anchoring = world.treasury.anchor(&world.anchor).await.unwrap();
    world.submit(&anchoring.built.tx, &[&world.principal]).await.unwrap();
    let opening = world.treasury.open_vault(anchoring.mandate_ref).await.unwrap();
    world.submit(&opening.built.tx, &[&world.principal]).await.unwrap();
    world.vault = opening.vault;
    let from = address(&world.principal);
    world.chain.fund(&from, Value::of(5 * UNIT).with(world.asset.clone(), 200 * UNIT)).unwrap();
    let deposit = world.treasury.deposit(&world.vault, &from, 135 * UNIT).await.unwrap();
    world.submit(&deposit.tx, &[&world.principal]).await.unwrap();
    world
}

/// Anchor and vault out of nothing, the vault with this state and so much, and 20 ADA.
pub fn placed(state: VaultState, tokens: u64) -> World {
    placed_under(|_, _| {}, state, tokens)
}

/// As [`placed`], under an anchor that was changed.
pub fn placed_under(change: impl FnOnce(&mut Anchor, Millis), state: VaultState, tokens: u64) -> World {
    let (clock, chain) = ledger();
    let mut world = empty(clock, chain.clone(), chain);
    let now = world.now();
    change(&mut world.anchor, now);
    let seed = |byte| OutRef { output_index: 0, tx_hash: TxHash::from_bytes([byte; 32]) };
    let scripts = world.treasury.scripts();
    let anchor = scripts.anchor(&seed(1)).unwrap();
    let vault = scripts.vault(anchor.hash(), &seed(2)).unwrap();
    world.vault.mandate_ref = anchor.hash();
    world.vault.vault_hash = vault.hash();
    world.chain.place(world.anchor_output(&world.anchor)).unwrap();
    world.chain.place(world.vault_output(state, tokens)).unwrap();
    let shelf =
        Output { script: Some(vault.clone()), ..Output::new(vault.address(NETWORK), Value::default()) };
    world.chain.place(shelf).unwrap();
    world
}

/// More than any of our scripts uses.
pub const PLENTY: ExUnits = ExUnits { memory: 3_500_000, steps: 2_500_000_000 };

pub fn token(policy: KeyHash, name: &str) -> Asset {
    (policy, hex::encode(name).parse().unwrap())
}

impl World {
    pub fn anchor_output(&self, anchor: &Anchor) -> Output {
        let policy = self.vault.mandate_ref;
        let at = Address::new(Network::Test, Credential::Script(policy), None);
        Output::new(at, Value::default().with(token(policy, "MANDATE"), 1))
            .with(Datum::inline(&anchor.to_data()))
    }

    pub fn vault_output(&self, state: VaultState, tokens: u64) -> Output {
        let policy = self.vault.vault_hash;
        let at = Address::new(Network::Test, Credential::Script(policy), None);
        let value = Value::of(20 * UNIT).with(token(policy, "VAULT"), 1).with(self.asset.clone(), tokens);
        Output::new(at, value).with(Datum::inline(&state.to_data()))
    }

    pub fn now(&self) -> Millis {
        now(&self.clock)
    }

    /// What the engine would authorize: nonce, amount, whether a person must sign.
    pub fn fields(&self, nonce: u64, amount: u64, flagged: bool) -> Fields {
        Fields {
            action_hash: Digest::of(b"action"),
            action_type: 1,
            amount: PositiveUnits::try_from(amount).unwrap(),
            asset_name: self.asset.1.clone(),
            asset_policy: self.asset.0,
            chain_tag: 0,
            mandate_hash: self.anchor.mandate_hash,
            mandate_ref: self.vault.mandate_ref,
            mandate_version: self.anchor.version,
            nonce: PositiveUnits::try_from(nonce).unwrap(),
            recipient: recipient(),
            requires_principal: flagged,
            valid_until: self.now().plus(Millis::TEN_MINUTES),
            vault_hash: self.vault.vault_hash,
            verification_ref: None,
        }
    }

    pub fn record(&self, nonce: u64, amount: u64, flagged: bool) -> Record {
        self.signed(self.fields(nonce, amount, flagged))
    }

    pub fn signed(&self, fields: Fields) -> Record {
        fields.sign(self.engine.as_ref()).unwrap()
    }

    pub async fn plan(&self, record: &Record, bond: Option<OutRef>) -> Result<Plan, ChainError> {
        self.treasury.plan_release(&self.what(record, bond)).await
    }

    /// A release of a record, by the approvers that come first.
    pub fn what<'a>(&'a self, record: &'a Record, bond: Option<OutRef>) -> Release<'a> {
        Release {
            vault: &self.vault,
            record,
            action_hash: record.fields.action_hash,
            mandate: "M-001@3",
            log_head: LogHead { hash: Digest::of(b"log"), seq: 7 },
            bond,
            signers: &[],
        }
    }

    /// A release, signed by these and submitted.
    pub async fn release(
        &self,
        record: &Record,
        bond: Option<OutRef>,
        keys: &[&Key],
    ) -> Result<TxHash, ChainError> {
        let built = self.treasury.release(&self.what(record, bond)).await?;
        self.submit(&built.tx, keys).await
    }

    pub async fn submit(&self, tx: &[u8], keys: &[&Key]) -> Result<TxHash, ChainError> {
        self.treasury.chain().submit(&self.sign(tx, keys)).await
    }

    pub fn sign(&self, tx: &[u8], keys: &[&Key]) -> Vec<u8> {
        keys.iter().fold(tx.to_vec(), |tx, key| {
            let set = chain::wallet::sign_tx(&tx, key.as_ref()).unwrap();
            self.treasury.witness(&tx, &set, key_hash(key)).unwrap()
        })
    }

    /// Builds a plan without asking whether its scripts agree, signs it and hands it in: the rule that refuses it, or nothing. Where
    /// `AIKEN` names the compiler, its machine has to say the same.
    pub async fn try_out(&self, mut plan: Plan, keys: &[&Key]) -> Option<String> {
        let spent = plan.inputs.iter().filter(|input| input.redeemer.is_some()).count();
        let policies: std::collections::BTreeSet<_> =
            plan.mint.iter().map(|((policy, _), _)| policy).collect();
        plan.units = Some(vec![PLENTY; spent + policies.len()]);
        let built = self.treasury.wallet().complete(plan).await.unwrap();
        let simulated = match std::env::var_os("AIKEN") {
            Some(aiken) => Some(self.simulate(aiken.as_ref(), &built.tx).await),
            None => None,
        };
        let told = match self.submit(&built.tx, keys).await {
            Ok(_) => None,
            Err(ChainError::Rejected { invariant: Some(rule), .. }) => Some(rule),
            Err(error) => panic!("refused for another reason: {error}"),
        };
        if let Some(simulated) = simulated {
            assert_eq!(simulated, told, "two machines, two verdicts");
        }
        told
    }

    /// What the compiler's own machine says of the scripts of a transaction.
    async fn simulate(&self, aiken: &std::path::Path, tx: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let read = Transaction::read(tx).unwrap();
        let named = [read.inputs(), read.reference_inputs(), read.collateral()];
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for at in named.into_iter().flatten().flatten() {
            let utxo = self.chain.utxo(at).await.unwrap().unwrap();
            let index = u8::try_from(at.output_index).unwrap();
            assert!(index < 24);
            inputs.push([&[0x82, 0x58, 0x20], at.tx_hash.as_bytes().as_slice(), &[index]].concat());
            outputs.push(utxo.output.to_cbor());
        }
        let list = |items: &[Vec<u8>]| {
            assert!(items.len() < 24);
            hex::encode([vec![0x80 + items.len() as u8], items.concat()].concat())
        };
        let files = [("tx", hex::encode(tx)), ("inputs", list(&inputs)), ("outputs", list(&outputs))];
        for (name, text) in &files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let slots = self.chain.slots();
        let output = std::process::Command::new(aiken)
            .args(["tx", "simulate", "--zero-time", &slots.zero_time.get().to_string()])
            .args(["--zero-slot", &slots.zero_slot.to_string()])
            .args(files.iter().map(|(name, _)| folder.path().join(name)))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("Evaluating"), "{text}");
        if output.status.success() {
            return None;
        }
        let rule = text.rsplit_once(" ? False").unwrap().0.rsplit(' ').next().unwrap();
        Some(if rule.starts_with('r') { rule.to_uppercase() } else { rule.to_owned() })
    }

    pub fn bond_datum(&self) -> BondDatum {
        BondDatum {
            action_hash: Digest::of(b"action"),
            agent_key_hash: key_hash(&self.agent),
            agent_stake: None,
            amount: PositiveUnits::try_from(5 * UNIT).unwrap(),
            approval_ref: approval_ref("AP-1"),
            approvers: self.anchor.approvers.clone(),
            locked_until_ms: self.now().plus(3_600_000),
            mandate_ref: self.vault.mandate_ref,
        }
    }

    /// A bond at the escrow, out of nothing.
    pub fn bond(&self, datum: &BondDatum, value: Value) -> OutRef {
        let output = Output::new(self.treasury.escrow().clone(), value).with(Datum::inline(&datum.to_data()));
        self.chain.place(output).unwrap()
    }

    pub async fn held(&self, address: &Address) -> Value {
        let utxos = self.chain.utxos(address.as_str()).await.unwrap();
        utxos.iter().fold(Value::default(), |sum, utxo| sum.plus(&utxo.output.value).unwrap())
    }

    pub fn agent_wallet(&self) -> Wallet {
        Wallet::new(self.chain.clone(), NETWORK, self.agent.clone(), self.clock.clone()).unwrap()
    }
}

pub fn inline(data: &Data) -> Datum {
    Datum::inline(data)
}
