//! The numbered cases of `vectors/keys`, and what a disk and a second implementation say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod cases;
mod differential;
mod files;
mod http;
mod jws;
mod passkeys;
mod secrets;
