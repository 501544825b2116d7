#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod cases;
mod depth;
mod numbers;
mod shapes;
mod twin;
mod vectors;
mod writing;
