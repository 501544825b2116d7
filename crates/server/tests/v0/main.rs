//! Profile `v0` on the wire, by the numbers of the spec's section 6, over real HTTP and a real store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod builtin;
mod events;
mod mounted;
mod rest;
mod rpc;
mod seats;
mod support;
mod tools;
