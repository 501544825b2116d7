//! The spellings of bytes: base64url without padding, base64 with, both refusing every other form.

use crate::{Code, Error};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Refuses padding, other alphabets and stray bits in the last character.
pub(crate) fn from_base64url(text: impl AsRef<[u8]>, code: Code) -> Result<Vec<u8>, Error> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| Error::new(code, "not unpadded base64url"))
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn from_base64(text: impl AsRef<[u8]>, code: Code) -> Result<Vec<u8>, Error> {
    STANDARD.decode(text).map_err(|_| Error::new(code, "not padded base64"))
}
