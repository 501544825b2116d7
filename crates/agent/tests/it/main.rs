//! The hub between a scripted host and scripted upstreams, before a scripted gate; and Streamable HTTP against a server of
//! this test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_debug_implementations
)]

mod calls;
mod custody;
mod http;
mod life;
mod many;
mod single;
mod stage;
