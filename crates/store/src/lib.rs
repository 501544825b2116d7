//! The journal: durable streams, compare-and-append, an outbox in the same transaction, and watches.

mod error;
mod fsck;
pub mod hub;
pub mod journal;
pub mod log;
mod outbox;
pub mod postgres;
mod runtime;
mod seal;
mod slots;
pub mod sqlite;
mod witness;

pub use error::{Error, StoreError};
pub use fsck::{Problem, Report, fsck, missing_pointers};
pub use journal::{
    Append, Claimed, Idempotency, Journal, Leaf, Lease, Outgoing, Published, Remembered, Stats, StreamAppend,
    Tile,
};
pub use log::Log;
pub use outbox::{Failed, Handler, Outbox};
pub use postgres::Postgres;
pub use runtime::{Executed, Once, Reply, Runtime};
pub use seal::{DataKey, ServerKey};
pub use sqlite::{Manifest, Sqlite, restore};
pub use witness::{AddCheckpoint, Witness};
