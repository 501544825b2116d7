//! A stream as a file that anyone can check: JSON Lines, one [`Header`], then one line an entry.
//!
//! An entry's line is `{"body":B,"hash":"H","prev":"P","seq":N}` in exactly this spelling, where B is the entry's
//! canonical bytes, untouched. B ends with `,"n":N,"type":"T"}`, T of `[a-z_.]`.

use crate::log::{LogProof, SignedHead};
use crate::{Entry, StreamId};
use canon::Digest;
use serde::{Deserialize, Serialize};

/// What the header's `type` says.
pub const TYPE: &str = "urn:countersign:ledger-export:1";

/// How a hash is made of the hash before and the entry's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// SHA-256(the previous hash as 64 hex digits ‖ bytes): rooms.
    PrevHex,
    /// SHA-256(the previous hash as 32 bytes ‖ bytes): organizations.
    PrevRaw,
}

impl Rule {
    pub fn link(self, prev: &Digest, body: &[u8]) -> Digest {
        match self {
            Self::PrevHex => Digest::of_parts(&[prev.to_string().as_bytes(), body]),
            Self::PrevRaw => Digest::of_parts(&[prev.as_bytes(), body]),
        }
    }
}

/// The first line of an export. The head comes first so that a lost tail is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    #[serde(rename = "type")]
    pub kind: String,
    pub stream: StreamId,
    pub rule: Rule,
    pub head: SignedHead,
    /// The key that signed the head.
    pub key: keys::PublicKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogProof>,
}

impl Header {
    /// The line, with its end.
    pub fn line(&self) -> Result<Vec<u8>, canon::Error> {
        let mut line = canon::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The line of an entry, with its end.
pub fn line(entry: &Entry) -> Vec<u8> {
    let mut line = Vec::with_capacity(entry.bytes.len() + 180);
    line.extend_from_slice(b"{\"body\":");
    line.extend_from_slice(&entry.bytes);
    line.extend_from_slice(
        format!(",\"hash\":\"{}\",\"prev\":\"{}\",\"seq\":{}}}\n", entry.hash, entry.prev, entry.seq)
            .as_bytes(),
    );
    line
}

/// An entry's line taken apart, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub body: &'a [u8],
    pub hash: Digest,
    pub prev: Digest,
    /// `prev` as it is spelled in the line.
    pub prev_hex: &'a [u8],
    pub seq: u64,
}

impl<'a> Line<'a> {
    /// A line without its end. `None` unless it is spelled as [`line`] spells it.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let rest = line.strip_prefix(b"{\"body\":")?.strip_suffix(b"}")?;
        let (rest, seq) = number_at_end(rest)?;
        let rest = rest.strip_suffix(b",\"seq\":")?;
        let (rest, prev_hex) = digits_at_end(rest, b",\"prev\":\"")?;
        let (body, hash) = digits_at_end(rest, b",\"hash\":\"")?;
        Some(Self { body, hash: digest(hash)?, prev: digest(prev_hex)?, prev_hex, seq })
    }

    /// The hash that the rule gives the entry.
    pub fn link(&self, rule: Rule) -> Digest {
        match rule {
            Rule::PrevHex => Digest::of_parts(&[self.prev_hex, self.body]),
            Rule::PrevRaw => rule.link(&self.prev, self.body),
        }
    }

    /// The number inside the body, which the hash covers.
    pub fn inner_number(&self) -> Option<u64> {
        let rest = self.body.strip_suffix(b"\"}")?;
        let word = rest.iter().rev().take_while(|b| matches!(b, b'a'..=b'z' | b'_' | b'.')).count();
        let (rest, _) = rest.split_at_checked(rest.len() - word)?;
        let (rest, n) = number_at_end(rest.strip_suffix(b",\"type\":\"")?)?;
        rest.ends_with(b",\"n\":").then_some(n)
    }
}

/// A decimal number without leading zeros at the end of the bytes, and what is before it.
fn number_at_end(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (rest, digits) = bytes.split_at_checked(bytes.len() - digits)?;
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text == "0" || !text.starts_with('0');
    text.parse().ok().filter(|_| plain).map(|number| (rest, number))
}

/// 64 quoted characters at the end of the bytes, and what is before `name`.
fn digits_at_end<'a>(bytes: &'a [u8], name: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let rest = bytes.strip_suffix(b"\"")?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    Some((rest.strip_suffix(name)?, digits))
}

fn digest(digits: &[u8]) -> Option<Digest> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
