//! A Cardano ledger in this process: for demonstrations and tests, with the rules of Conway and real scripts, and nobody else on it.
//!
//! Every accepted submission is one block, in the slot of the clock (one slot is one second); there are no empty blocks, and the
//! tip is always as late as the clock. With a path, blocks are in one SQLite file, each durable before its submission is answered;
//! several processes may have it open, and each sees what the others do.

mod rules;
mod store;

use crate::build::raise;
use crate::transaction::Transaction;
use crate::{Chain, ChainError, Confirmed, ExUnits, Output, Parameters, Slots, Tip, Utxo, Value};
use async_trait::async_trait;
use blake2::Digest as _;
use env::Source;
use mandate::issue::ChainName;
use mandate::price::OutRef;
use mandate::text::TxHash;
use mandate::{Address, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Store;

/// The embedded ledger.
pub struct LedgerChain {
    parameters: Arc<Parameters>,
    slots: Slots,
    network: ChainName,
    clock: Arc<dyn Source>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Unspent outputs, as they were written.
    utxos: BTreeMap<OutRef, Arc<[u8]>>,
    by_address: BTreeMap<Box<str>, BTreeSet<OutRef>>,
    blocks: Vec<Block>,
    /// Which block a transaction is in.
    transactions: BTreeMap<TxHash, usize>,
    store: Option<Arc<Store>>,
    /// The file's version that all of this is of.
    seen: Option<i64>,
}

#[derive(Debug)]
struct Block {
    slot: u64,
    entry: Entry,
    spent: Vec<(OutRef, Arc<[u8]>)>,
    made: Vec<OutRef>,
}

/// What a block holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Transaction(Vec<u8>),
    /// An output from nowhere.
    Placed(Vec<u8>),
}

impl LedgerChain {
    /// Opens the ledger in a file, or an empty one in memory. Refuses a file whose blocks do not follow from each other.
    pub fn open(path: Option<&Path>, clock: Arc<dyn Source>, network: ChainName) -> Result<Self, ChainError> {
        let mut state = State::default();
        if let Some(path) = path {
            state.store = Some(Arc::new(Store::open(path)?));
            state.catch_up()?;
        }
        let parameters = Arc::new(Parameters::conway()?);
        Ok(Self { parameters, slots: Slots::of(network), network, clock, state: Mutex::new(state) })
    }

    pub const fn network(&self) -> ChainName {
        self.network
    }

    pub const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Gives an address something out of nothing; lovelace is raised to what an output must hold.
    pub fn fund(&self, address: &Address, value: Value) -> Result<OutRef, ChainError> {
        self.place(Output::new(address.clone(), value))
    }

    /// Makes any output out of nothing.
    pub fn place(&self, mut output: Output) -> Result<OutRef, ChainError> {
        raise(&mut output, &self.parameters);
        self.write(|state| state.add(self.slot(state)?, Entry::Placed(output.to_cbor())))
    }

    /// Takes the newest blocks back, as a fork of the chain would: what was in them never happened.
    pub fn roll_back(&self, blocks: u32) -> Result<(), ChainError> {
        self.write(|state| (0..blocks).try_for_each(|_| state.drop_block()))
    }

    /// The ledger as it is now, whoever wrote it.
    fn state(&self) -> Result<MutexGuard<'_, State>, ChainError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catch_up()?;
        Ok(state)
    }

    /// Changes the ledger while nobody else does, in whatever process: durable when this returns, or it did not happen.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> Result<T, ChainError>) -> Result<T, ChainError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(store) = state.store.clone() else { return change(&mut state) };
        store.begin()?;
        let done = state.catch_up().and_then(|()| change(&mut state));
        let done = done.and_then(|done| store.commit().map(|()| done));
        if done.is_err() {
            store.roll_back();
            // What was applied and not kept is taken back when the file is read next.
            state.seen = None;
        }
        done
    }

    /// The slot of the clock; never before that of the newest block.
    fn slot(&self, state: &State) -> Result<u64, ChainError> {
        let now = self.slots.at(crate::wallet::now(self.clock.as_ref())?);
        Ok(state.blocks.last().map_or(now, |block| block.slot.max(now)))
    }

    fn rules(&self) -> rules::Rules<'_> {
        rules::Rules { parameters: &self.parameters, slots: &self.slots, network: self.network }
    }
}

#[async_trait]
impl Chain for LedgerChain {
    async fn tip(&self) -> Result<Tip, ChainError> {
        let state = self.state()?;
        let slot = self.slot(&state)?;
        let height = u64::try_from(state.blocks.len()).unwrap_or(u64::MAX);
        Ok(Tip { slot, height, time: self.slots.time(slot) })
    }

    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        Ok(Arc::clone(&self.parameters))
    }

    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        let state = self.state()?;
        let at = state.by_address.get(address).into_iter().flatten();
        at.map(|at| state.utxo(*at).ok_or_else(|| ChainError::Bug("an index without its output".to_owned())))
            .collect()
    }

    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        Ok(self.state()?.utxo(at))
    }

    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let hash = Transaction::read(tx)?.hash();
        self.write(|state| {
            let slot = self.slot(state)?;
            self.rules().judge(tx, slot, &state.utxos)?;
            state.add(slot, Entry::Transaction(tx.to_vec()))
        })?;
        Ok(hash)
    }

    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        let state = self.state()?;
        let Some(&at) = state.transactions.get(&hash) else { return Ok(None) };
        Ok(state.blocks.get(at).and_then(|block| match &block.entry {
            Entry::Transaction(tx) => Some(Confirmed {
                height: u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1),
                time: self.slots.time(block.slot),
                tx: tx.clone(),
            }),
            Entry::Placed(_) => None,
        }))
    }

    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        let near = rules::resolve(&Transaction::read(tx)?, &self.state()?.utxos)?;
        self.rules().run(tx, &near)
    }
}

impl State {
    fn utxo(&self, at: OutRef) -> Option<Utxo> {
        let output = Output::from_cbor(self.utxos.get(&at)?)?;
        Some(Utxo { at, output })
    }

    /// Reads what other processes have written since.
    fn catch_up(&mut self) -> Result<(), ChainError> {
        let Some(store) = self.store.clone() else { return Ok(()) };
        let version = store.version()?;
        if self.seen == Some(version) {
            return Ok(());
        }
        while let Some(block) = self.blocks.last() {
            let kept = store.block(self.blocks.len())?;
            if kept.is_some_and(|(slot, entry)| slot == block.slot && entry == block.entry) {
                break;
            }
            self.undo();
        }
        for (slot, entry) in store.blocks(self.blocks.len())? {
            self.apply(slot, entry)?;
        }
        self.seen = Some(version);
        Ok(())
    }

    /// Applies a block and keeps it.
    fn add(&mut self, slot: u64, entry: Entry) -> Result<OutRef, ChainError> {
        let made = self.apply(slot, entry.clone())?;
        if let Some(store) = &self.store {
            store.append(self.blocks.len(), slot, &entry)?;
        }
        Ok(made)
    }

    /// Applies a block that has been judged. The first output it makes.
    fn apply(&mut self, slot: u64, entry: Entry) -> Result<OutRef, ChainError> {
        let broken = || ChainError::malformed("a block does not follow from those before it");
        let (mut spent, outputs, hash) = match &entry {
            Entry::Placed(output) => {
                let mut hasher = blake2::Blake2b256::new();
                hasher.update(b"placed");
                hasher.update(self.blocks.len().to_be_bytes());
                hasher.update(output);
                (Vec::new(), vec![output.clone()], TxHash::from_bytes(hasher.finalize().into()))
            }
            Entry::Transaction(tx) => {
                let tx = Transaction::read(tx)?;
                let outputs = tx.outputs().ok_or_else(broken)?.into_iter().map(<[u8]>::to_vec).collect();
                (tx.inputs().ok_or_else(broken)?, outputs, tx.hash())
            }
        };
        spent.sort();
        spent.dedup();
        if spent.iter().any(|at| !self.utxos.contains_key(at)) {
            return Err(broken());
        }
        let mut block = Block { slot, entry, spent: Vec::new(), made: Vec::new() };
        for at in spent {
            block.spent.extend(self.remove(at).map(|raw| (at, raw)));
        }
        for (index, raw) in outputs.into_iter().enumerate() {
            let at = OutRef { output_index: u32::try_from(index).map_err(|_| broken())?, tx_hash: hash };
            self.insert(at, raw.into());
            block.made.push(at);
        }
        if matches!(block.entry, Entry::Transaction(_)) {
            self.transactions.insert(hash, self.blocks.len());
        }
        self.blocks.push(block);
        Ok(OutRef { output_index: 0, tx_hash: hash })
    }

    fn drop_block(&mut self) -> Result<(), ChainError> {
        if let Some(store) = &self.store {
            store.remove(self.blocks.len())?;
        }
        self.undo();
        Ok(())
    }

    fn undo(&mut self) {
        let Some(block) = self.blocks.pop() else { return };
        for at in block.made {
            self.remove(at);
            self.transactions.remove(&at.tx_hash);
        }
        for (at, raw) in block.spent {
            self.insert(at, raw);
        }
    }

    fn insert(&mut self, at: OutRef, raw: Arc<[u8]>) {
        if let Some(output) = Output::from_cbor(&raw) {
            self.by_address.entry(output.address.as_str().into()).or_default().insert(at);
        }
        self.utxos.insert(at, raw);
    }

    fn remove(&mut self, at: OutRef) -> Option<Arc<[u8]>> {
        let raw = self.utxos.remove(&at)?;
        if let Some(output) = Output::from_cbor(&raw)
            && let Some(here) = self.by_address.get_mut(output.address.as_str())
        {
            here.remove(&at);
            if here.is_empty() {
                self.by_address.remove(output.address.as_str());
            }
        }
        Some(raw)
    }
}

impl fmt::Debug for LedgerChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.state.lock().unwrap_or_else(PoisonError::into_inner).blocks.len();
        f.debug_struct("LedgerChain")
            .field("network", &self.network)
            .field("blocks", &blocks)
            .finish_non_exhaustive()
    }
}

/// When a slot of this ledger begins, for those who make transactions by hand.
impl LedgerChain {
    pub fn time(&self, slot: u64) -> Millis {
        self.slots.time(slot)
    }
}
