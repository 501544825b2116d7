//! A price feed with the interface AggregatorV3.

use crate::Error;
use crate::node::{Block, Node};
use crate::word::{Address, call_data, small, words};
use std::fmt;

pub struct Feed {
    node: Node,
    chain_id: u64,
    contract: Address,
}

/// The newest round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// In units of 10^-decimals; none where the feed says what is no price: zero, negative, beyond all measure, or a round
    /// that was not answered.
    pub price: Option<u64>,
    pub decimals: u8,
    pub round_id: u128,
    /// Seconds since 1970.
    pub updated_at: u64,
}

impl Feed {
    pub const fn new(node: Node, chain_id: u64, contract: Address) -> Self {
        Self { node, chain_id, contract }
    }

    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }
    pub const fn contract(&self) -> Address {
        self.contract
    }

    /// Reads the newest round.
    pub async fn latest(&self) -> Result<Round, Error> {
        if self.node.chain_id().await? != self.chain_id {
            return Err(Error::Settings("the node is one of another chain".to_owned()));
        }
        let at = Block::Number(self.node.height().await?);
        let ask = async |signature| {
            let answer = self.node.call(self.contract, &call_data(signature, &[]), at).await?;
            Ok::<_, Error>(words(&answer))
        };
        let none = || Error::Malformed("the contract is no price feed".to_owned());
        let decimals = ask("decimals()").await?;
        let [decimals] = decimals.as_slice() else { return Err(none()) };
        let decimals = small(decimals).and_then(|decimals| u8::try_from(decimals).ok()).ok_or_else(none)?;
        let round = ask("latestRoundData()").await?;
        let [round_id, answer, _, updated_at, answered_in] = round.as_slice() else { return Err(none()) };
        let (high, low) = round_id.split_at(16);
        let low = low.try_into().map(u128::from_be_bytes).map_err(|_| none())?;
        if high.iter().any(|byte| *byte != 0) {
            return Err(none());
        }
        let answered = answered_in >= round_id;
        let price = small(answer).filter(|price| *price > 0 && answered);
        Ok(Round { price, decimals, round_id: low, updated_at: small(updated_at).ok_or_else(none)? })
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feed({} on {:?})", self.contract, self.node)
    }
}
