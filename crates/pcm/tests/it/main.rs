#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod anchors;
mod bundles;
mod openings;
mod parts;
mod vectors;
mod written;
