//! The signer as a service: one writer on the journal, its socket, and what its clients hold.
//!
//! What is decided is decided by [`pcm::signer`]; here it is made durable, and only then answered.

mod attest;
mod client;

pub use attest::Attest;
pub use client::Client;
pub use pcm::signer::rpc;
pub use pcm::signer::{Fault, FaultCode};
