//! The ledger as it is shown and checked (spec 1.2, 2.7).

use crate::chain;
use canon::{Digest, Raw};
use env::Timestamp;
use ledger::{Entry, Fault, Head};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// One entry with its members spread out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerEntry {
    pub n: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub at: Timestamp,
    /// Canonical JSON.
    pub data: Raw,
    pub prev: Digest,
    pub hash: Digest,
}

/// What a walk along the chain found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Every link holds; the hash of the last entry, zeros for no entry.
    Whole { head: Digest },
    /// The number of the first entry whose `prev` or `hash` is not what the rule gives.
    BrokenAt(u64),
}

impl LedgerEntry {
    /// Refuses what [`chain::open`] refuses.
    pub fn of(entry: &Entry, prev: Head) -> Result<Self, Fault> {
        let body = chain::open(entry, prev)?;
        let data = Raw::of(&body.data).map_err(|_| Fault::new("bad_body", format!("entry {}", entry.seq)))?;
        Ok(Self { n: body.n, kind: body.kind, at: body.at, data, prev: entry.prev, hash: entry.hash })
    }
}

/// Walks the entries from the first.
pub fn verify(entries: &[LedgerEntry]) -> Check {
    let mut head = Digest::ZERO;
    for entry in entries {
        let body = canon::to_vec(&Hashed { n: entry.n, kind: &entry.kind, at: entry.at, data: &entry.data });
        let holds =
            body.is_ok_and(|body| entry.prev == head && chain::link(&entry.prev, &body) == entry.hash);
        if !holds {
            return Check::BrokenAt(entry.n);
        }
        head = entry.hash;
    }
    Check::Whole { head }
}

impl Check {
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Whole { .. })
    }
}

/// `{ok:true, head}` or `{ok:false, brokenAt}`.
impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut check = serializer.serialize_struct("Check", 2)?;
        check.serialize_field("ok", &self.is_whole())?;
        match self {
            Self::Whole { head } => check.serialize_field("head", head)?,
            Self::BrokenAt(n) => check.serialize_field("brokenAt", n)?,
        }
        check.end()
    }
}

#[derive(Serialize)]
struct Hashed<'a> {
    n: u64,
    #[serde(rename = "type")]
    kind: &'a str,
    at: Timestamp,
    data: &'a Raw,
}
