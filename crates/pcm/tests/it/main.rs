#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod anchors;
mod bundles;
mod message;
mod openings;
mod parts;
mod signer;
mod vectors;
mod written;
