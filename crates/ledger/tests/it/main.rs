#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod export;
mod merkle;
mod note;
mod tiles;
mod witness;
