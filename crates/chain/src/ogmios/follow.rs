//! Blocks as they come. A node does not say where a transaction is; whoever wants to know must have seen its block. So blocks
//! are read from a point on, whenever something is asked, and of their transactions those are kept that were handed in or asked
//! for here, and those that pay an address that was read here: a vault's, an anchor's, the fee wallet's.

use super::wire::{self, Next, Origin};
use super::{Failed, Server, call, read};
use crate::{ChainError, Confirmed, Slots};
use fetch::WebSocket;
use mandate::text::{Hex, TxHash};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// A block, by its slot and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point(wire::Point);

impl FromStr for Point {
    type Err = ChainError;
    /// `SLOT.HASH`.
    fn from_str(text: &str) -> Result<Self, ChainError> {
        let parts = text.split_once('.').and_then(|(slot, id)| {
            let id: Hex<32> = id.parse().ok()?;
            Some(wire::Point { slot: slot.parse().ok()?, id: id.to_string() })
        });
        parts.map(Self).ok_or_else(|| ChainError::Malformed(format!("{text:?} is no point: SLOT.HASH")))
    }
}

/// What the blocks since a point say of the transactions that matter here.
pub(super) struct Follower {
    /// The block before those that are read; none: the first.
    start: Option<Point>,
    /// Whether it is known where to start.
    begun: bool,
    socket: Option<WebSocket>,
    /// The newest blocks, oldest first, after the one it began at: as many as a fork may take back.
    blocks: VecDeque<Seen>,
    found: BTreeMap<TxHash, Confirmed>,
}

/// Which transactions are kept.
#[derive(Default)]
pub(super) struct Wanted {
    pub addresses: BTreeSet<String>,
    pub hashes: BTreeSet<TxHash>,
}

impl Wanted {
    fn wants(&self, transaction: &wire::Transaction) -> bool {
        let pays = transaction.outputs.iter().any(|output| self.addresses.contains(&output.address));
        // One whose scripts failed has taken its collateral and done nothing.
        let done = transaction.spends.as_deref() != Some("collaterals");
        done && (pays || self.hashes.contains(&transaction.id))
    }
}

struct Seen {
    point: wire::Point,
    kept: Vec<TxHash>,
}

/// Cardano's security parameter: no fork is longer.
const DEEPEST_FORK: usize = 2160;

impl Follower {
    pub fn new(start: Option<Point>) -> Self {
        Self { begun: start.is_some(), start, socket: None, blocks: VecDeque::new(), found: BTreeMap::new() }
    }

    pub fn found(&self, hash: &TxHash) -> Option<&Confirmed> {
        self.found.get(hash)
    }

    /// Makes sure that what comes from now on is read.
    pub async fn ready(&mut self, server: &Server) -> Result<(), ChainError> {
        if !self.begun {
            self.socket = Some(self.begin(server).await?);
        }
        Ok(())
    }

    /// Reads what the node has and this has not. What was read stays read, whatever fails.
    pub async fn catch_up(
        &mut self,
        server: &Server,
        slots: &Slots,
        wanted: &Mutex<Wanted>,
    ) -> Result<(), ChainError> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.begin(server).await?,
        };
        loop {
            let tip: Origin<wire::Point> = ask(&mut socket, "queryNetwork/tip", Json::Null).await?;
            if tip.known().as_ref() == self.last() {
                self.socket = Some(socket);
                return Ok(());
            }
            match ask(&mut socket, "nextBlock", Json::Null).await? {
                Next::Forward { block } => self.forward(block, slots, wanted)?,
                Next::Backward { point } => self.back(point.known().as_ref()),
            }
        }
    }

    /// Finds the newest of the blocks that were read; at first the start, or the node's newest.
    async fn begin(&mut self, server: &Server) -> Result<WebSocket, ChainError> {
        let mut socket = server.open().await.map_err(|failed| failed.unavailable())?;
        if !self.begun {
            let tip: Origin<wire::Point> = ask(&mut socket, "queryNetwork/tip", Json::Null).await?;
            (self.start, self.begun) = (tip.known().map(Point), true);
        }
        let known = self.blocks.iter().rev().map(|seen| &seen.point);
        let known = known.chain(self.start.iter().map(|start| &start.0));
        let mut points: Vec<Json> =
            known.map(|point| json!({ "slot": point.slot, "id": point.id })).collect();
        if points.is_empty() {
            points.push(json!("origin"));
        }
        let found: Intersection = ask(&mut socket, "findIntersection", json!({ "points": points })).await?;
        self.back(found.intersection.known().as_ref());
        Ok(socket)
    }

    fn last(&self) -> Option<&wire::Point> {
        self.blocks.back().map(|seen| &seen.point).or(self.start.as_ref().map(|start| &start.0))
    }

    fn forward(
        &mut self,
        block: wire::Block,
        slots: &Slots,
        wanted: &Mutex<Wanted>,
    ) -> Result<(), ChainError> {
        let slot = block.slot.unwrap_or(0);
        let mut kept = Vec::new();
        let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
        for transaction in block.transactions.iter().filter(|transaction| wanted.wants(transaction)) {
            let tx = transaction.cbor.as_deref().and_then(|cbor| hex::decode(cbor).ok());
            let tx = tx.ok_or_else(|| {
                let text =
                    "blocks come without their transactions: start Ogmios with --include-transaction-cbor";
                ChainError::Unavailable(text.to_owned())
            })?;
            let confirmed = Confirmed { height: block.height, time: slots.time(slot), tx };
            self.found.insert(transaction.id, confirmed);
            kept.push(transaction.id);
        }
        drop(wanted);
        self.blocks.push_back(Seen { point: wire::Point { slot, id: block.id }, kept });
        if self.blocks.len() > DEEPEST_FORK
            && let Some(oldest) = self.blocks.pop_front()
        {
            self.start = Some(Point(oldest.point));
        }
        Ok(())
    }

    /// What came after that block never happened.
    fn back(&mut self, to: Option<&wire::Point>) {
        while let Some(last) = self.blocks.back()
            && Some(&last.point) != to
        {
            for hash in self.blocks.pop_back().into_iter().flat_map(|last| last.kept) {
                self.found.remove(&hash);
            }
        }
    }
}

#[derive(serde::Deserialize)]
struct Intersection {
    intersection: Origin<wire::Point>,
}

async fn ask<T: serde::de::DeserializeOwned>(
    socket: &mut WebSocket,
    method: &str,
    params: Json,
) -> Result<T, ChainError> {
    let answer = call(socket, method, params).await.map_err(|failed: Failed| failed.unavailable())?;
    read(answer.map_err(|refused| ChainError::Unavailable(refused.to_string()))?)
}
