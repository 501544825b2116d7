//! Just enough of an EVM chain: one contract that reports are recorded in, price feeds that are read, and the node between,
//! by JSON-RPC. Nothing here decides.

mod error;
mod feed;
mod node;
mod registry;
mod rlp;
mod wallet;
mod word;

pub use error::Error;
pub use feed::{Feed, Round};
pub use node::{Block, Node};
pub use registry::{Entry, Recorded, Registry};
pub use wallet::{Call, Wallet};
pub use word::{Address, TxHash, Word, keccak};
