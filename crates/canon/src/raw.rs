use crate::{Digest, Error, Value, canonicalize, parse, pass, to_vec};
use serde::Serialize;
use std::fmt;

/// Canonical JSON text, embedded as it is: the `data` of an entry whose hash is over exactly these bytes.
///
/// It can always be read again. What has a canonical form that the strict reader refuses (a whole float beyond
/// 2^53 - 1, such as `1e20`) is refused: with [`crate::Code::IntRange`] by the functions below, with
/// [`crate::Code::Shape`] inside a type that is read by [`crate::from_slice`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Strict JSON, brought into canonical form.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Error> {
        Self::reread(canonicalize(bytes)?)
    }
    /// The canonical form of a value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        Self::reread(to_vec(value)?)
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
    /// SHA-256 of the text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.as_bytes())
    }
    /// The value the text stands for, borrowed from it.
    pub fn value(&self) -> Value<'_> {
        // INVARIANT: the text was read when it was made.
        parse(self.as_bytes()).unwrap_or(Value::Null)
    }

    /// Text that is canonical and can be read again.
    pub(crate) fn trusted(canonical: String) -> Self {
        Self(canonical.into_boxed_str())
    }

    fn reread(canonical: Vec<u8>) -> Result<Self, Error> {
        if !pass::whole(&canonical) {
            parse(&canonical)?;
        }
        // INVARIANT: what was read is UTF-8.
        Ok(Self(String::from_utf8(canonical).unwrap_or_default().into_boxed_str()))
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
