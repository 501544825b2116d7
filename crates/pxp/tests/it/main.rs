#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod answers;
mod briefs;
mod bundles;
mod cases;
mod escalation;
mod model;
mod names;
mod schemas;
mod table;
mod vectors;
mod weaknesses;
