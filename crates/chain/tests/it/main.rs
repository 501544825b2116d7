#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::type_complexity,
    missing_debug_implementations
)]

mod anchors;
mod blockfrost;
mod bonds;
mod embedded;
mod faults;
mod ogmios;
mod openings;
mod quorums;
mod releases;
mod scripts;
mod vaults;
mod world;
