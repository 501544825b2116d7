use super::{Message, field};
use crate::{Code, Error, text};
use sha2::Digest;

const CONTENT_DIGEST: &str = "content-digest";

/// The value of Content-Digest for a body: SHA-256 (RFC 9530 2).
pub fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", text::base64(sha2::Sha256::digest(body)))
}

/// Compares the body with Content-Digest. Every `sha-256` and `sha-512` named must be right and there must be one;
/// other algorithms are passed over.
pub fn check_content_digest(message: &Message<'_>) -> Result<(), Error> {
    let missing = |detail| Error::new(Code::DigestMissing, detail).at(CONTENT_DIGEST);
    let value = message.field(CONTENT_DIGEST)?.ok_or_else(|| missing("there is no digest of the content"))?;
    let mut compared = false;
    for (algorithm, digest) in field::byte_sequences(&value).map_err(|error| error.at(CONTENT_DIGEST))? {
        let right = match algorithm.as_str() {
            "sha-256" => sha2::Sha256::digest(message.body).as_slice() == digest,
            "sha-512" => sha2::Sha512::digest(message.body).as_slice() == digest,
            _ => continue,
        };
        if !right {
            let detail = format!("the content is not what {algorithm} says");
            return Err(Error::new(Code::DigestMismatch, detail).at(CONTENT_DIGEST));
        }
        compared = true;
    }
    if compared { Ok(()) } else { Err(missing("neither sha-256 nor sha-512 is named")) }
}
