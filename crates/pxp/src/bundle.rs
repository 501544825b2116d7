//! A room as one file that verifies with public keys alone (N07), and the replay that verifies it.
//!
//! In order: [`Bundle::parse`], [`Bundle::entries`] (the chain), [`Bundle::check_head`], [`Bundle::replay`] (payloads and
//! every rule that they and public data can show), [`Bundle::check_brief`]. [`check`] runs them all; log proofs and
//! whom to trust are the verifier's concern.

mod proof;
mod replay;

pub use proof::BriefProof;
pub use replay::{Folded, Unchecked, fold};

use crate::view::Viewer;
use crate::{Brief, Event, Refusal, RoomId, SeatId, State, chain};
use canon::{Digest, Raw};
use env::Timestamp;
use keys::PublicKey;
use ledger::log::{LogProof, SignedHead, head_message};
use ledger::{Entry, Fault, Head, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The export format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// `urn:countersign:pxp-bundle:1`.
    #[serde(rename = "type")]
    pub kind: String,
    pub room: RoomId,
    /// `strict`.
    pub profile: String,
    pub entries: Vec<BundleEntry>,
    /// Canonical JSON by its SHA-256: what the exporter may see.
    #[schemars(with = "BTreeMap<String, String>")]
    pub payloads: BTreeMap<String, String>,
    /// The payloads that entries name and this file does not hold.
    #[schemars(with = "Vec<String>")]
    pub withheld: Vec<Digest>,
    pub brief: Option<Brief>,
    pub keys: Keys,
    /// The chain's head under the server's signature.
    #[schemars(with = "Signed")]
    pub head: SignedHead,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Logged>")]
    pub log: Option<LogProof>,
}

/// One entry, as v0 writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleEntry {
    pub n: u64,
    #[serde(rename = "type")]
    pub kind: String,
    #[schemars(with = "String")]
    pub at: Timestamp,
    #[schemars(schema_with = "object")]
    pub data: Raw,
    #[schemars(with = "String")]
    pub prev: Digest,
    #[schemars(with = "String")]
    pub hash: Digest,
}

/// Public keys as JWK: the server's, and those of the seats that sign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    #[schemars(with = "BTreeMap<String, String>")]
    pub server: PublicKey,
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>")]
    pub seats: BTreeMap<SeatId, PublicKey>,
}

/// What the server adds: its key, its signature of the head, and the entry's place in its log.
#[derive(Debug, Clone, PartialEq)]
pub struct Attested {
    pub key: PublicKey,
    pub head: SignedHead,
    pub log: Option<LogProof>,
}

impl BundleEntry {
    /// The entry, if it follows `prev`: in this order its type, its number, its link and its hash.
    fn after(&self, prev: Head) -> Result<Entry, Fault> {
        let fault = |code| Fault::new(code, format!("entry {}", prev.seq.saturating_add(1)));
        let plain = !self.kind.is_empty() && self.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if !plain {
            return Err(fault("bad_body"));
        }
        let entry = chain::seal(&self.kind, self.at, self.data.as_bytes(), prev, None);
        if self.n != entry.seq {
            return Err(fault("bad_number"));
        }
        if self.prev != entry.prev {
            return Err(fault("bad_prev"));
        }
        if self.hash != entry.hash {
            return Err(fault("bad_hash"));
        }
        Ok(entry)
    }
}

impl Bundle {
    pub const TYPE: &'static str = "urn:countersign:pxp-bundle:1";

    /// The file, canonical.
    pub fn to_vec(&self) -> Result<Vec<u8>, Refusal> {
        Ok(canon::to_vec(self)?)
    }

    /// Strict JSON of exactly this shape.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let fault = |error: canon::Error| Fault::new(error.code.as_str(), error.place);
        let bundle: Self = canon::from_slice(bytes).map_err(fault)?;
        if bundle.kind != Self::TYPE {
            return Err(Fault::new("bad_type", "/type"));
        }
        if bundle.profile != "strict" {
            return Err(Fault::new("bad_profile", "/profile"));
        }
        Ok(bundle)
    }

    /// The chain, each entry's number, link and hash checked. Without payloads.
    pub fn entries(&self) -> Result<Vec<Entry>, Fault> {
        let mut head = Head::EMPTY;
        let mut entries = Vec::with_capacity(self.entries.len());
        for told in &self.entries {
            let entry = told.after(head)?;
            head = Head { seq: entry.seq, hash: entry.hash };
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The signed head is the chain's, and the server's key signed it: a lost tail is found here (N08).
    pub fn check_head(&self, entries: &[Entry]) -> Result<(), Fault> {
        let last = entries.last().ok_or_else(|| Fault::new("no_entries", "/entries"))?;
        if self.head.n != last.seq || self.head.hash != last.hash {
            return Err(Fault::new("bad_head", "/head"));
        }
        let stream =
            StreamId::new("room", self.room.as_str()).map_err(|_| Fault::new("bad_room", "/room"))?;
        let message = head_message(&stream, self.head.n, &self.head.hash);
        self.keys
            .server
            .verify(&message, &self.head.signature)
            .map_err(|_| Fault::new("bad_head_signature", "/head/signature"))
    }

    /// Puts payloads beside the entries that name them and replays the room. `entries` are those of [`Bundle::entries`].
    /// Every payload is named once or more and has its own hash; what is missing is listed as withheld, and nothing
    /// else is.
    pub fn replay(&self, entries: &[Entry]) -> Result<Folded, Fault> {
        let mut payloads: BTreeMap<Digest, &str> = BTreeMap::new();
        for (name, text) in &self.payloads {
            let place = format!("/payloads/{}", canon::step(name));
            let digest: Digest = name.parse().map_err(|_| Fault::new("bad_payload", &place))?;
            if Digest::of(text.as_bytes()) != digest {
                return Err(Fault::new("bad_payload", place));
            }
            payloads.insert(digest, text);
        }
        let told =
            self.entries.iter().map(|told| Event::told(told.n, &told.kind, told.at, told.data.as_bytes()));
        let events = told.collect::<Result<Vec<_>, _>>()?;
        let named = events.iter().filter_map(|event| event.fact.payload());
        let (mut used, mut missing): (Vec<Digest>, Vec<Digest>) =
            named.partition(|digest| payloads.contains_key(digest));
        used.sort_unstable();
        if let Some(extra) = payloads.keys().find(|digest| used.binary_search(digest).is_err()) {
            return Err(Fault::new("extra_payload", format!("/payloads/{extra}")));
        }
        missing.sort_unstable();
        missing.dedup();
        if missing != self.withheld {
            return Err(Fault::new("bad_withheld", "/withheld"));
        }
        replay::replay(events.into_iter().zip(entries).map(|(event, entry)| {
            let head = Head { seq: entry.seq, hash: entry.hash };
            match event.fact.payload().and_then(|digest| payloads.get(&digest)) {
                Some(text) => Ok((event.with_body(entry.seq, text.as_bytes())?, head)),
                None => Ok((event, head)),
            }
        }))
    }

    /// The room, the seats' keys and the brief are those of the chain.
    pub fn check_brief(&self, folded: &Folded) -> Result<(), Fault> {
        let state = &folded.state;
        if state.id() != Some(&self.room) {
            return Err(Fault::new("bad_room", "/room"));
        }
        if seat_keys(state) != self.keys.seats {
            return Err(Fault::new("bad_seat_keys", "/keys/seats"));
        }
        match (&self.brief, &state.brief) {
            (None, _) => Ok(()),
            (Some(told), Some(recorded)) if Some(told) == recorded.brief.as_ref() => Ok(()),
            (Some(told), Some(recorded)) if told.hash().ok() == Some(recorded.hash) => Ok(()),
            (Some(_), _) => Err(Fault::new("bad_brief", "/brief")),
        }
    }
}

/// Assembles the bundle that a viewer may have. `state` is the fold of `entries`, which carry their payloads.
pub fn assemble(
    state: &State,
    entries: &[Entry],
    viewer: Viewer,
    attested: Attested,
) -> Result<Bundle, Refusal> {
    if !viewer.reads_ledger() {
        return Err(Refusal::NotPermitted);
    }
    let room = state.id().ok_or(Refusal::RoomUnknown)?.clone();
    let mut payloads = BTreeMap::new();
    let mut withheld = Vec::new();
    let mut told = Vec::with_capacity(entries.len());
    let mut head = Head::EMPTY;
    for entry in entries {
        let event = Event::open(entry, head)?;
        head = Head { seq: entry.seq, hash: entry.hash };
        if let Some(digest) = event.fact.payload() {
            match &event.body {
                Some(body) if viewer.reads_payload(&event.fact) => {
                    let text =
                        String::from_utf8(body.bytes()?).map_err(|error| Refusal::Bug(error.to_string()))?;
                    payloads.insert(digest.to_string(), text);
                }
                _ => withheld.push(digest),
            }
        }
        told.push(BundleEntry {
            n: entry.seq,
            kind: event.fact.kind().to_owned(),
            at: event.at,
            data: Raw::from_slice(&event.fact.data()?)?,
            prev: entry.prev,
            hash: entry.hash,
        });
    }
    // A payload that two entries name is withheld only where neither may be seen.
    withheld.retain(|digest| !payloads.contains_key(&digest.to_string()));
    withheld.sort_unstable();
    withheld.dedup();
    let brief =
        state.brief.as_ref().filter(|_| viewer.reads_brief()).and_then(|recorded| recorded.brief.clone());
    Ok(Bundle {
        kind: Bundle::TYPE.to_owned(),
        room,
        profile: "strict".to_owned(),
        entries: told,
        payloads,
        withheld,
        brief,
        keys: Keys { server: attested.key, seats: seat_keys(state) },
        head: attested.head,
        log: attested.log,
    })
}

/// Every check that needs nothing beside the file.
pub fn check(bundle: &Bundle) -> Result<Folded, Fault> {
    let entries = bundle.entries()?;
    bundle.check_head(&entries)?;
    let folded = bundle.replay(&entries)?;
    bundle.check_brief(&folded)?;
    Ok(folded)
}

fn seat_keys(state: &State) -> BTreeMap<SeatId, PublicKey> {
    state.seats.iter().filter_map(|seat| Some((seat.id, seat.key?))).collect()
}

/// The schema of [`SignedHead`].
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Signed {
    n: u64,
    hash: String,
    /// Base64url, over `countersign.head.v1`, the stream, the number and the hash, a line each.
    signature: String,
}

/// The schema of [`LogProof`].
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Logged {
    checkpoint: String,
    index: u64,
    leaf: String,
    proof: Vec<String>,
}

fn object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}
