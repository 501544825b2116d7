//! The contract `ReportRegistry` (contracts/evm): reports by the trigger they were asked under, each written once, by its
//! owner alone.

use crate::Error;
use crate::node::{Block, Node};
use crate::wallet::{Call, Wallet};
use crate::word::{Address, TxHash, Word, call_data, small, words};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A registry, and the account that owns it.
pub struct Registry {
    node: Node,
    wallet: Wallet,
    chain_id: u64,
    contract: Address,
    /// Blocks, its own included, under which a record counts as there to stay.
    depth: u64,
    /// What was handed in, by trigger: handed in again it is the same transaction, and can land once.
    sent: Mutex<HashMap<Word, Sent>>,
    /// Two transactions do not take one nonce.
    turn: tokio::sync::Mutex<()>,
}

/// What is recorded: that this report answers to this trigger and is about this subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub trigger: Word,
    pub subject: Word,
    pub report: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Seconds since 1970, of its block.
    pub at: u64,
    pub tx: TxHash,
}

#[derive(Debug, Clone)]
struct Sent {
    raw: Vec<u8>,
    hash: TxHash,
    since: Instant,
}

/// Of one record, with room.
const GAS: u64 = 200_000;
const MOST_TIP: u128 = 1_500_000_000;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a transaction is remembered.
const KEPT: Duration = Duration::from_secs(900);

impl Registry {
    /// `depth` of at least 1.
    pub fn new(node: Node, wallet: Wallet, chain_id: u64, contract: Address, depth: u64) -> Self {
        let depth = depth.max(1);
        Self {
            node,
            wallet,
            chain_id,
            contract,
            depth,
            sent: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Records the entry, or finds it recorded, and answers once it is deep enough. May be dropped and called again at any
    /// point: what was handed in is looked for first. An answer that was lost is looked for as well.
    pub async fn record(&self, entry: &Entry) -> Result<Recorded, Error> {
        if self.node.chain_id().await? != self.chain_id {
            return Err(Error::Settings("the node is one of another chain".to_owned()));
        }
        loop {
            let sent = match self.known(&entry.trigger) {
                Some(sent) => sent,
                None => self.send(entry).await?,
            };
            if let Some(at) = self.settled(entry).await? {
                return Ok(Recorded { at, tx: sent.hash });
            }
            match self.node.receipt(sent.hash).await? {
                Some(receipt) if !receipt.done => {
                    self.forget(&entry.trigger);
                    return Err(Error::Reverted(sent.hash.to_string()));
                }
                Some(_) => {}
                // Not there, or not there any more: a block was dropped.
                None => self.hand_in(entry, &sent).await?,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The time of an entry's block, where it is deep enough in the chain as it is now. Another report under its trigger is
    /// refused.
    pub async fn settled(&self, entry: &Entry) -> Result<Option<u64>, Error> {
        let newest = self.entry(entry.trigger, Block::Latest).await?;
        let Some((found, _)) = newest else { return Ok(None) };
        if found != *entry {
            return Err(Error::Taken);
        }
        let height = self.node.height().await?;
        let Some(deep) = height.checked_sub(self.depth.saturating_sub(1)) else { return Ok(None) };
        let there = self.entry(entry.trigger, Block::Number(deep)).await?;
        Ok(there.filter(|(found, _)| found == entry).map(|(_, at)| at))
    }

    /// What the contract holds under a trigger, and since when.
    pub async fn entry(&self, trigger: Word, at: Block) -> Result<Option<(Entry, u64)>, Error> {
        let answer = self.node.call(self.contract, &call_data("entry(bytes32)", &[trigger]), at).await?;
        let words = words(&answer);
        let [subject, report, time] = words.as_slice() else {
            return Err(Error::Malformed("the contract is no registry".to_owned()));
        };
        let time = small(time).ok_or_else(|| Error::Malformed("a time beyond all time".to_owned()))?;
        Ok((time != 0).then_some((Entry { trigger, subject: *subject, report: *report }, time)))
    }

    fn known(&self, trigger: &Word) -> Option<Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).get(trigger).cloned()
    }

    fn forget(&self, trigger: &Word) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).remove(trigger);
    }

    /// Makes the transaction, remembers it, and hands it in.
    async fn send(&self, entry: &Entry) -> Result<Sent, Error> {
        let _turn = self.turn.lock().await;
        if let Some(sent) = self.known(&entry.trigger) {
            return Ok(sent);
        }
        let price = self.node.gas_price().await?;
        let words = [entry.trigger, entry.subject, entry.report];
        let call = Call {
            chain_id: self.chain_id,
            nonce: self.node.nonce(self.wallet.address()).await?,
            tip: price.min(MOST_TIP),
            max_fee: price.saturating_mul(2),
            gas: GAS,
            to: self.contract,
            data: &call_data("record(bytes32,bytes32,bytes32)", &words),
        };
        let (raw, hash) = self.wallet.sign(&call);
        let sent = Sent { raw, hash, since: Instant::now() };
        {
            let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, sent| sent.since.elapsed() < KEPT);
            all.insert(entry.trigger, sent.clone());
        }
        self.hand_in(entry, &sent).await?;
        Ok(sent)
    }

    /// Hands in a transaction, for the first time or again. Where the node says no to it for good, it is forgotten: the next
    /// call makes another, unless it has landed after all.
    async fn hand_in(&self, entry: &Entry, sent: &Sent) -> Result<(), Error> {
        match self.node.send(&sent.raw).await {
            // Lost: the loop looks for it.
            Ok(()) | Err(Error::Unknown(_)) => Ok(()),
            Err(Error::Refused { message, .. }) if is_known(&message) => Ok(()),
            Err(error) => {
                self.forget(&entry.trigger);
                match self.node.receipt(sent.hash).await {
                    Ok(Some(_)) => {
                        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
                        all.insert(entry.trigger, sent.clone());
                        Ok(())
                    }
                    _ => Err(error),
                }
            }
        }
    }
}

/// Whether a node says that it has the very transaction.
fn is_known(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["already known", "known transaction", "already imported", "already exists"]
        .iter()
        .any(|word| message.contains(word))
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} on {:?})", self.contract, self.node)
    }
}
