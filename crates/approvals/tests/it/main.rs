#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod answers;
mod bench;
mod people;
mod random;
mod recovery;
mod roles;
