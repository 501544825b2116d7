//! Canonical bytes: a strict JSON reader, the RFC 8785 writer, and digests with their spellings.

mod digest;
mod error;
mod read;
mod write;

pub use digest::{Digest, DigestError, Salt, commit};
pub use error::{Code, Error};
pub use read::{Number, Object, Value, from_slice, parse};
pub use write::{canonicalize, to_vec};

/// The deepest nesting of arrays and objects that is read: `[[1]]` is 2.
pub const MAX_DEPTH: usize = 128;
