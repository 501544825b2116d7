//! Mandates (the Claudia protocol): an agent proposes an act, a deterministic engine judges it against a mandate, and
//! what exceeds the agent's own limit waits for the person the mandate names.
//!
//! [`judge`] is the engine, pure and total. What it is told, and what it answers, are closed documents with one
//! spelling; section numbers in this crate are those of the project's spec of the protocol.

pub mod action;
mod address;
mod authority;
pub mod authorization;
pub mod basis;
pub mod brief;
pub mod command;
pub mod cose;
mod decide;
mod engine;
mod error;
pub mod evaluation;
mod evolve;
mod hashed;
pub mod invoice;
pub mod issue;
pub mod job;
pub mod log;
pub mod mandate;
pub mod metrics;
pub mod mip004;
pub mod plutus;
pub mod price;
pub mod proof;
pub mod proofs;
mod reason;
pub mod receipt;
pub mod replay;
pub mod report;
pub mod request;
pub mod rule;
mod schema;
mod snapshot;
pub mod state;
pub mod statement;
pub mod text;
mod time;
pub mod transaction;
pub mod x402;

pub use action::{Action, ActionType, HashedAction};
pub use address::{Address, Credential, Network};
pub use authority::Authority;
pub use authorization::decision_hash;
pub use brief::Brief;
pub use command::{Command, Reply};
pub use decide::MANDATES;
pub use engine::{Inputs, Judged, Proposal, SignatureForm, evaluate, judge, signature_form, signing_bytes};
pub use error::Refusal;
pub use evaluation::{Checked, Evaluation, Outcome};
pub use hashed::Hashed;
pub use issue::{Approval, Unissued, Vault, issue};
pub use log::Event;
pub use mandate::{Limits, Mandate, Status};
pub use price::Price;
pub use proofs::Proof;
pub use reason::Reason;
pub use receipt::Receipt;
pub use replay::Replay;
pub use report::{Evidence, Report};
pub use schema::schemas;
pub use snapshot::{Delay, Snapshot, Spend};
pub use state::State;
pub use time::{DateTime, Millis};
