#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_debug_implementations
)]

mod anchors;
mod bonds;
mod embedded;
mod faults;
mod releases;
mod scripts;
mod vaults;
mod world;
