//! Records that cannot be rewritten: aggregates and their hash chains, RFC 9162 trees and proofs, C2SP
//! checkpoints, witness cosignatures and tiles.

pub mod aggregate;
mod error;
pub mod export;
pub mod log;
pub mod merkle;
pub mod note;
pub mod tiles;
pub mod witness;

pub use aggregate::{
    Aggregate, Coded, Decision, Effect, Entry, Fault, Head, Payload, Pointer, StreamId, Who,
};
pub use error::Error;
