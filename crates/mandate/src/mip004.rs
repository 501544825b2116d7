//! MIP-004 hashes (spec 1.13): what a buyer asked of a Masumi job and what was delivered, each under the buyer's id.

use crate::Refusal;
use canon::Digest;

/// SHA-256(`id` `;` canonical JSON of the input).
pub fn input_hash(id: &str, input: &[u8]) -> Result<Digest, Refusal> {
    let canonical = canon::canonicalize(input)?;
    Ok(Digest::of_parts(&[id.as_bytes(), b";", &canonical]))
}

/// As the MIP's text has it: SHA-256(`id` `;` the result).
pub fn raw_result_hash(id: &str, result: &str) -> Digest {
    Digest::of_parts(&[id.as_bytes(), b";", result.as_bytes()])
}

/// As deployed verifiers have it: the result escaped as in a JSON string, without the quotes.
pub fn result_hash(id: &str, result: &str) -> Result<Digest, Refusal> {
    let quoted = canon::to_vec(result)?;
    let inner = quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or_default();
    Ok(Digest::of_parts(&[id.as_bytes(), b";", inner]))
}
