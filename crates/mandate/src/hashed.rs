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

impl<T: Serialize + for<'de> Deserialize<'de>> Hashed<T> {
    /// Reads strict JSON in any order and spacing. Refuses what is not of the type's shape, with the place.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(Self::of(canon::from_slice(bytes)?)?)
    }

    /// Reads canonical bytes of a type whose members are all required and have one spelling each: what is read is then
    /// written as it was, and the hash is that of the bytes.
    pub(crate) fn read_canonical(bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(Self { document: canon::from_slice(bytes)?, hash: Digest::of(bytes) })
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
