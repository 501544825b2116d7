//! Keys, and what they sign: Ed25519 and P-256, JWK and thumbprints, compact JWS, HTTP message signatures, WebAuthn
//! assertions, bearer secrets.
//!
//! Verification is pure Rust and needs nothing but bytes. The only part that touches a disk is [`SoftwareSigner`] and
//! the [`Ring`] around it; what a seed signs leaves this crate, the seed never does.

pub mod ed25519;
mod error;
pub mod http;
mod jwk;
pub mod jws;
pub mod p256;
mod public;
mod ring;
mod secret;
mod signer;
mod text;
pub mod webauthn;

pub use error::{Code, Error, Fault};
pub use jwk::Jwk;
pub use public::{Algorithm, Kid, PublicKey, Signature};
pub use ring::{Ring, RingKey, Rotation};
pub use secret::{Secret, SecretHash, equal};
pub use signer::{Signer, SoftwareSigner};
