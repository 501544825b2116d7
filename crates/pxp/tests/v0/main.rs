//! Profile `v0`, by the numbers of the spec's section 6.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod agreeing;
mod edges;
mod envelopes;
mod hashes;
mod limits;
mod play;
mod restarts;
mod turns;
