//! Evidence: records that a signer keeps of what agents do, in a log the agent cannot write, and how anyone checks them.
//!
//! This is the evidence layer of our draft of PCM: Tracekit evidence format v2, byte for byte (spec 3). Pure: no clock, no
//! file, no thread; whoever has several threads lends them as a [`bundle::Crew`].

pub mod anchor;
pub mod approval;
pub mod bundle;
mod checkpoint;
mod error;
mod event;
pub mod message;
pub mod opening;
mod pattern;
mod record;
pub mod registry;
pub mod sample;
mod schema;
pub mod signer;
pub mod strict;
mod timeline;
pub mod trust;
pub mod write;
mod zip;

pub use checkpoint::{Checkpoint, Seen};
pub use error::Error;
pub use event::{Event, Position, SIGNER_RUN, SIGNER_TENANT, Tier, instant, spelled};
pub use opening::{Commitment, Opening};
pub use record::{ALG, Purpose, Record, Unverified, leaf};
pub use timeline::{Keys, RecordKey};
pub use trust::{Class, Trust, Witness};

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use canon::{Digest, Value};

/// Padded base64 in its one spelling.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A proof as bundles and messages spell it: an array of hashes in padded base64, leaf to root.
pub fn path(value: &Value<'_>) -> Option<Vec<Digest>> {
    let hash = |one: &Value<'_>| {
        let bytes: [u8; 32] = base64(one.as_str()?)?.try_into().ok()?;
        Some(Digest::from_bytes(bytes))
    };
    value.as_array()?.iter().map(hash).collect()
}
