#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod approvals;
mod faults;
mod house;
mod runs;
mod sending;
mod socket;
