//! The journal: durable streams, compare-and-append, an outbox in the same transaction, and watches.

mod error;
pub mod journal;
mod runtime;

pub use error::{Error, StoreError};
pub use journal::{
    Append, Claimed, Idempotency, Journal, Leaf, Lease, Outgoing, Published, Remembered, Stats, StreamAppend,
    Tile, leaf_data,
};
pub use runtime::{Executed, Once, Reply, Runtime};
