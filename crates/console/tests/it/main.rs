#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! The pages over real HTTP, without a script: what each visitor sees, what forms do, what is refused.

mod assets;
mod forms;
mod hostile;
mod messages;
mod pages;
mod support;
