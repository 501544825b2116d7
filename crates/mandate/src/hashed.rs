use crate::Refusal;
use canon::Digest;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// A document and SHA-256 of its canonical bytes (RFC 8785), computed once. It cannot be changed, so the two agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashed<T> {
    document: T,
    hash: Digest,
}

impl<T: Serialize> Hashed<T> {
    pub fn of(document: T) -> Result<Self, canon::Error> {
        let hash = Digest::of(&canon::to_vec(&document)?);
        Ok(Self { document, hash })
    }
}

impl<T> Hashed<T> {
    pub const fn hash(&self) -> Digest {
        self.hash
    }
    pub fn into_inner(self) -> T {
        self.document
    }
}

/// A type whose values have one spelling each: no text that is read is written as another, no member is left out where it
/// might be written.
pub trait Spelled: Serialize + for<'de> Deserialize<'de> {}

impl<T: Spelled> Hashed<T> {
    /// Reads strict JSON in any order and spacing. Refuses what is not of the type's shape, with the place. Canonical bytes
    /// are what would be written, and hashed as they stand.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        match canon::from_slice_and_form(bytes)? {
            (document, true) => Ok(Self { document, hash: Digest::of(bytes) }),
            (document, false) => Ok(Self::of(document)?),
        }
    }
}

impl<T> Deref for Hashed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.document
    }
}

/// As the document alone: the hash follows from it.
impl<T: Serialize> Serialize for Hashed<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

impl<'de, T: Serialize + Deserialize<'de>> Deserialize<'de> for Hashed<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(T::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
