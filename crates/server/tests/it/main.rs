#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! The server over real HTTP on loopback, on a real store.

mod adapters;
mod doors;
mod edge;
mod errors;
mod events;
mod evidence;
mod isolation;
mod mandates;
mod mcp;
mod messages;
mod once;
mod people;
mod proofs;
mod proxies;
mod support;
mod telling;
mod waiting;
