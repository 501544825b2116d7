#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod authorizing;
mod cases;
mod conformance;
mod desk;
mod engine;
mod fixture;
mod properties;
mod receipts;
mod schemas;
mod shapes;
mod statements;
mod stream;
mod vectors;
mod wallets;
mod weaknesses;
mod x402;
