//! What tests stand on: journals in memory and journals that fail as told, a server under a virtual clock, the
//! contract of every journal, a private PostgreSQL.

pub mod contract;
mod faulty;
mod memory;
pub mod pg;
pub mod tally;
mod world;

pub use contract::journal_contract;
pub use faulty::{Fate, FaultyJournal, Rates};
pub use memory::MemoryJournal;
pub use world::World;
