//! The journal: durable streams, compare-and-append, an outbox in the same transaction, and watches.

mod error;
pub mod hub;
pub mod journal;
pub mod postgres;
mod runtime;
mod seal;
pub mod sqlite;

pub use error::{Error, StoreError};
pub use journal::{
    Append, Claimed, Idempotency, Journal, Leaf, Lease, Outgoing, Published, Remembered, Stats, StreamAppend,
    Tile, leaf_data,
};
pub use postgres::Postgres;
pub use runtime::{Executed, Once, Reply, Runtime};
pub use seal::{DataKey, ServerKey};
pub use sqlite::Sqlite;
