/// Why bytes are not one strict JSON text. The words are stable: they appear on the wire and in verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    InvalidUtf8,
    Syntax,
    DuplicateKey,
    NonFinite,
    IntRange,
    LoneSurrogate,
    Depth,
    /// The text is strict JSON but not of the shape the reader expects (only [`crate::from_slice`]).
    Shape,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid_utf8",
            Self::Syntax => "syntax",
            Self::DuplicateKey => "duplicate_key",
            Self::NonFinite => "non_finite",
            Self::IntRange => "int_range",
            Self::LoneSurrogate => "lone_surrogate",
            Self::Depth => "depth",
            Self::Shape => "shape",
        }
    }
}

/// A refusal, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} at {place}: {detail}", code.as_str())]
pub struct Error {
    pub code: Code,
    /// A JSON Pointer (RFC 6901) to the value at fault where one is known, else `byte N`.
    pub place: String,
    /// One lower-case sentence for a person.
    pub detail: String,
}
