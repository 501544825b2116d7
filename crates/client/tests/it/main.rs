//! The agent's side against a whole server on the embedded ledger, with answers that are lost on the way.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod asking;
mod paying;
mod world;
