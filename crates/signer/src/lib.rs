//! The signer as a service: one writer on the journal, its socket, and what its clients hold.
//!
//! What is decided is decided by [`pcm::signer`]; here it is made durable, and only then answered.

mod attest;
mod book;
mod brief;
mod client;
mod grants;
mod messages;
mod service;
pub mod socket;
mod writer;

pub use attest::Attest;
pub use book::{Listed, Story, follows};
pub use brief::ask;
pub use client::Client;
pub use pcm::signer::rpc;
pub use pcm::signer::{Fault, FaultCode};
pub use service::{Seat, Service, Setup, stream};
