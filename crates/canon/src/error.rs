use std::borrow::Cow;
use std::fmt;

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
    /// The text is strict JSON but not of the shape the reader expects ([`crate::from_slice`]), or a value has a shape
    /// JSON cannot hold ([`crate::to_vec`]).
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

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} at {}: {detail}", if place.is_empty() { "the top" } else { place.as_str() })]
pub struct Error {
    pub code: Code,
    /// A JSON Pointer (RFC 6901) to the value at fault where one is known (empty for the whole text), else `byte N`.
    pub place: String,
    /// One lower-case sentence for a person.
    pub detail: String,
}

/// A member's name as one step of a JSON Pointer (RFC 6901).
pub fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A refusal on its way up: each container it leaves puts its own step in front of the place.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    detail: Cow<'static, str>,
    byte: Option<usize>,
    /// Innermost step first.
    steps: Vec<String>,
}

impl Fault {
    /// A fault of the value being read.
    #[cold]
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { code, detail: detail.into(), byte: None, steps: Vec::new() }))
    }

    /// A fault of the text itself, where no value can be named.
    #[cold]
    pub(crate) fn at_byte(code: Code, byte: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { code, detail: detail.into(), byte: Some(byte), steps: Vec::new() }))
    }

    /// The same fault seen from the container that holds the value under `step`.
    #[cold]
    pub(crate) fn inside(mut self, step: impl fmt::Display) -> Self {
        if self.0.byte.is_none() {
            self.0.steps.push(step.to_string());
        }
        self
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let Inner { code, detail, byte, steps } = *fault.0;
        let place = match byte {
            Some(byte) => format!("byte {byte}"),
            None => steps.iter().rev().fold(String::new(), |place, name| place + "/" + &step(name)),
        };
        Self { code, place, detail: detail.into_owned() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.detail)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Code::Shape, message.to_string())
    }
}

impl serde::ser::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Code::Shape, message.to_string())
    }
}
