#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod contract;
mod log;
mod outbox;
mod postgres;
mod runtime;
mod sqlite;
mod witness;
