//! Canonical bytes: a strict JSON reader, the RFC 8785 writer, and digests with their spellings.
//!
//! Everything that is hashed or signed is read by [`parse`] or [`from_slice`] and written by [`to_vec`] or
//! [`canonicalize`]. The reader refuses whatever two JSON parsers could read differently, each with its own [`Code`].

mod de;
mod digest;
mod error;
mod lex;
mod order;
mod pass;
mod raw;
mod read;
mod ser;
mod stream;
mod write;

pub use de::{from_slice, from_slice_and_form, from_value};
pub use digest::{Digest, DigestError, Salt, commit};
pub use error::{Code, Error, step};
pub use pass::is_canonical;
pub use raw::Raw;
pub use read::{Number, Object, Value, parse};
pub use ser::to_vec;
pub use write::canonicalize;

/// The deepest nesting of arrays and objects that is read or written: `[[1]]` is 2.
pub const MAX_DEPTH: usize = 128;
