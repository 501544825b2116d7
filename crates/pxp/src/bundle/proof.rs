//! A decision brief as a file that verifies alone: for whoever may read the brief and nothing else of the room.

use super::{Attested, BundleEntry, Keys};
use crate::{Brief, Refusal, RoomId, State, chain};
use canon::{Digest, Raw};
use ledger::log::{LogProof, SignedHead, head_message};
use ledger::{Entry, Fault, Head, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The brief, the chain from the entry that names its hash to the head, and the head under the server's signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefProof {
    /// `urn:countersign:pxp-brief-proof:1`.
    #[serde(rename = "type")]
    pub kind: String,
    pub room: RoomId,
    pub brief: Brief,
    /// From the `brief` entry on.
    pub entries: Vec<BundleEntry>,
    pub keys: Keys,
    #[schemars(with = "super::Signed")]
    pub head: SignedHead,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<super::Logged>")]
    pub log: Option<LogProof>,
}

impl BriefProof {
    pub const TYPE: &'static str = "urn:countersign:pxp-brief-proof:1";

    /// The proof of an ended room's brief. `entries` are all of the room's.
    pub fn assemble(state: &State, entries: &[Entry], attested: Attested) -> Result<Self, Refusal> {
        let room = state.id().ok_or(Refusal::RoomUnknown)?.clone();
        let recorded = state.brief.as_ref().ok_or(Refusal::Drafting)?;
        let brief = recorded.brief.clone().ok_or_else(|| Refusal::Bug("the brief is gone".to_owned()))?;
        let mut told = Vec::new();
        for entry in entries {
            let prev = Head { seq: entry.seq.saturating_sub(1), hash: entry.prev };
            let body = chain::open(entry, prev)?;
            if body.kind != "brief" && told.is_empty() {
                continue;
            }
            told.push(BundleEntry {
                n: entry.seq,
                kind: body.kind,
                at: body.at,
                data: Raw::of(&body.data)?,
                prev: entry.prev,
                hash: entry.hash,
            });
        }
        let keys = Keys { server: attested.key, seats: BTreeMap::new() };
        let kind = Self::TYPE.to_owned();
        Ok(Self { kind, room, brief, entries: told, keys, head: attested.head, log: attested.log })
    }

    /// The file, canonical.
    pub fn to_vec(&self) -> Result<Vec<u8>, Refusal> {
        Ok(canon::to_vec(self)?)
    }

    /// In this order: the chain from the brief's entry to the head, the head's signature, the brief's hash in its entry,
    /// and its room.
    pub fn check(&self) -> Result<(), Fault> {
        let first = self.entries.first().ok_or_else(|| Fault::new("no_entries", "/entries"))?;
        let mut head = Head { seq: first.n.saturating_sub(1), hash: first.prev };
        for told in &self.entries {
            let entry = told.after(head)?;
            head = Head { seq: entry.seq, hash: entry.hash };
        }
        if (self.head.n, self.head.hash) != (head.seq, head.hash) {
            return Err(Fault::new("bad_head", "/head"));
        }
        let stream =
            StreamId::new("room", self.room.as_str()).map_err(|_| Fault::new("bad_room", "/room"))?;
        self.keys
            .server
            .verify(&head_message(&stream, head.seq, &head.hash), &self.head.signature)
            .map_err(|_| Fault::new("bad_head_signature", "/head/signature"))?;
        let named =
            first.data.value().get("brief_hash").and_then(|hash| hash.as_str()?.parse::<Digest>().ok());
        let agrees = first.kind == "brief" && named.is_some() && named == self.brief.hash().ok();
        if !agrees || self.brief.room != self.room || !self.keys.seats.is_empty() {
            return Err(Fault::new("bad_brief", "/brief"));
        }
        Ok(())
    }
}
