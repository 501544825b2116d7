#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod checkpoint;
mod export;
mod mutate;
mod play;
mod room;
mod support;
mod twins;
mod vectors;
