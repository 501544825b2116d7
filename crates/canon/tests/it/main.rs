#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod cases;
mod numbers;
mod refusals;
mod shapes;
mod twin;
mod vectors;
mod writing;
