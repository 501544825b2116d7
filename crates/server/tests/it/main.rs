#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! The server over real HTTP on loopback, on a real store.

mod edge;
mod events;
mod isolation;
mod mcp;
mod once;
mod people;
mod proxies;
mod support;
mod waiting;
mod telling;
