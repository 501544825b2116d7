//! What a receiver accepted, as a stream of its own (spec 4.7): one entry a message, appended before it is delivered. Whoever shares
//! the stream shares what was accepted; whoever has lost it begins a new epoch.

use super::code::{Class, Code, Overall};
use super::replay::{Acceptance, Replay};
use super::wire::{instant, spell};
use canon::Digest;
use env::{Duration, Env, Timestamp};
use ledger::{Aggregate, Coded, Decision, Entry, Fault, Head, Payload, Who};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The aggregate; its stream is `messages/<name>`.
#[derive(Debug)]
pub struct Accepted;

/// What is known: nothing, before the first epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    since: Option<Timestamp>,
    /// When the last entry was made. Time does not go back here, whatever a clock says.
    latest: Option<Timestamp>,
    /// Log and id of each message as one digest, by the minute after which it has ended.
    accepted: BTreeMap<i64, Arc<BTreeSet<Digest>>>,
    /// Of grants that may be used only so often.
    uses: BTreeMap<Digest, u64>,
    largest: BTreeMap<String, (u64, Digest)>,
}

#[derive(Debug, Clone)]
pub enum Command {
    /// Begins to remember. `skew`: how far clocks may differ, so that nothing accepted and forgotten comes back. `first`: there is
    /// nothing to forget; refused where something was accepted.
    Epoch {
        skew: Duration,
        first: bool,
    },
    Accept(Box<Receipt>),
}

/// What is kept of an accepted message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub origin: String,
    pub id: String,
    /// SHA-256 of the message's canonical form without its signature.
    pub message: Digest,
    /// SHA-256 of its bytes as they came.
    pub bytes: Digest,
    pub agent: String,
    pub to: String,
    pub overall: Overall,
    #[serde(serialize_with = "spell", deserialize_with = "instant")]
    pub iat: Timestamp,
    #[serde(serialize_with = "spell", deserialize_with = "instant")]
    pub until: Timestamp,
    /// Each is used once; how often it may be.
    pub grants: Vec<(Digest, Option<u64>)>,
    pub checkpoint: (u64, Digest),
}

/// One entry of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    pub fact: Fact,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    n: u64,
    #[serde(serialize_with = "spell", deserialize_with = "instant")]
    at: Timestamp,
    #[serde(flatten)]
    fact: Fact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Fact {
    /// Messages issued before `since` are refused from here on.
    Epoch {
        #[serde(serialize_with = "spell", deserialize_with = "instant")]
        since: Timestamp,
    },
    Accepted(Box<Receipt>),
}

/// Why it is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.sentence())]
pub struct Refused(pub Code);

impl Receipt {
    /// Of a message that may be accepted.
    pub fn of(judgement: &super::Judgement, bytes: &[u8]) -> Option<Self> {
        let (heading, acceptance) = (judgement.heading.as_ref()?, judgement.acceptance.as_ref()?);
        let Acceptance { origin, id, until, grants, checkpoint } = acceptance.clone();
        Some(Self {
            origin,
            id,
            message: heading.hash,
            bytes: Digest::of(bytes),
            agent: heading.from.agent.clone(),
            to: heading.to.clone(),
            overall: judgement.overall,
            iat: heading.iat,
            until,
            grants,
            checkpoint,
        })
    }
}

impl State {
    /// `None` before the first epoch.
    pub const fn began(&self) -> Option<Timestamp> {
        self.since
    }

    fn clock(&self, now: Timestamp) -> Timestamp {
        self.latest.map_or(now, |latest| latest.max(now))
    }

    fn knows(&self, message: &Digest) -> bool {
        self.accepted.values().any(|ended| ended.contains(message))
    }

    /// What may be accepted at `now`, which may be later than when it was judged.
    fn admits(&self, receipt: &Receipt, now: Timestamp) -> Result<(), Code> {
        let since = self.since()?;
        if receipt.iat < since {
            return Err(Code::ReplayStateUnavailable);
        }
        if receipt.until <= self.clock(now) {
            return Err(Code::Expired);
        }
        if self.knows(&name(&receipt.origin, &receipt.id)) {
            return Err(Code::Replayed);
        }
        let used = |(grant, most): &(Digest, Option<u64>)| {
            most.is_some_and(|most| self.uses.get(grant).is_some_and(|uses| *uses >= most))
        };
        if receipt.grants.iter().any(used) {
            return Err(Code::GrantUsed);
        }
        let (size, root) = receipt.checkpoint;
        match self.largest.get(&receipt.origin) {
            Some((known, other)) if *known == size && *other != root => Err(Code::BadCheckpoint),
            _ => Ok(()),
        }
    }
}

impl Replay for State {
    fn since(&self) -> Result<Timestamp, Code> {
        self.since.ok_or(Code::ReplayStateUnavailable)
    }
    fn accepted(&self, origin: &str, id: &str) -> Result<bool, Code> {
        self.since()?;
        Ok(self.knows(&name(origin, id)))
    }
    fn uses(&self, grant: &Digest) -> Result<u64, Code> {
        Ok(self.uses.get(grant).copied().unwrap_or_default())
    }
    fn largest(&self, origin: &str) -> Result<Option<(u64, Digest)>, Code> {
        Ok(self.largest.get(origin).copied())
    }
}

impl Aggregate for Accepted {
    type State = State;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Refusal = Refused;

    const KIND: &'static str = "messages";

    fn decide(state: &State, command: &Command, env: &mut Env) -> Result<Decision<Event, ()>, Refused> {
        let now = state.clock(env.now());
        let fact = match command {
            Command::Epoch { first: true, .. } if state.since.is_some() => {
                return Err(Refused(Code::ReplayStateUnavailable));
            }
            Command::Epoch { skew, first } => {
                let start = if *first { now } else { now + *skew };
                Fact::Epoch { since: state.since.map_or(start, |before| before.max(start)) }
            }
            Command::Accept(receipt) => {
                state.admits(receipt, now).map_err(Refused)?;
                Fact::Accepted(receipt.clone())
            }
        };
        let event = Event { at: now, fact };
        Ok(Decision { events: vec![event], effects: Vec::new(), pointers: Vec::new(), answer: () })
    }

    fn evolve(state: &mut State, event: &Event, _at: Head) {
        let now = state.clock(event.at);
        state.latest = Some(now);
        match &event.fact {
            Fact::Epoch { since } => state.since = Some(*since),
            Fact::Accepted(receipt) => {
                state.accepted = state.accepted.split_off(&minute(now));
                let last = state.accepted.entry(minute(receipt.until)).or_default();
                Arc::make_mut(last).insert(name(&receipt.origin, &receipt.id));
                for (grant, _) in receipt.grants.iter().filter(|(_, most)| most.is_some()) {
                    *state.uses.entry(*grant).or_default() += 1;
                }
                let largest = state.largest.entry(receipt.origin.clone()).or_insert(receipt.checkpoint);
                if largest.0 < receipt.checkpoint.0 {
                    *largest = receipt.checkpoint;
                }
            }
        }
    }

    /// SHA-256(the 32 bytes of `prev` ‖ canonical `{n, type, at, data}`).
    fn seal(event: &Event, prev: Head) -> Result<Entry, Fault> {
        let seq = prev.seq.saturating_add(1);
        let bytes = canon::to_vec(&Wire { n: seq, at: event.at, fact: event.fact.clone() })
            .map_err(|error| Fault::new(error.code.as_str(), error.place))?;
        let hash = Digest::of_parts(&[prev.hash.as_bytes(), &bytes]);
        Ok(Entry { seq, prev: prev.hash, hash, bytes, payload: None })
    }

    fn open(entry: &Entry, prev: Head) -> Result<Event, Fault> {
        let wire: Wire = canon::from_slice(&entry.bytes)
            .map_err(|error| Fault::new(error.code.as_str(), format!("{}{}", entry.seq, error.place)))?;
        let event = Event { at: wire.at, fact: wire.fact };
        // Unknown members, another order or another number would not come out the same.
        if Self::seal(&event, prev)? == *entry { Ok(event) } else { Err(Fault::new("entry_form", entry.seq)) }
    }
}

impl Coded for Refused {
    fn code(&self) -> &'static str {
        self.0.as_str()
    }
    fn who(&self) -> Who {
        match self.0 {
            Code::ReplayStateUnavailable => Who::Unavailable,
            code if code.class() == Class::Malformed => Who::Caller,
            _ => Who::Conflict,
        }
    }
}

/// The kind of the streams that keep one message each, as it came: `letter/<SHA-256 of its bytes>`.
pub const LETTER: &str = "letter";

/// The one entry of such a stream. Its bytes name the message, which is sealed beside it.
pub fn letter(bytes: &[u8]) -> Entry {
    let payload = Payload::new(bytes.to_vec());
    let bytes = format!("{{\"message\":\"{}\",\"n\":1}}", payload.digest).into_bytes();
    let hash = Digest::of_parts(&[Digest::ZERO.as_bytes(), &bytes]);
    Entry { seq: 1, prev: Digest::ZERO, hash, bytes, payload: Some(payload) }
}

/// Reads it back. Refuses any other entry, and another message than its bytes name.
pub fn open_letter(entry: &Entry) -> Result<(), Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wire {
        message: Digest,
        n: u64,
    }
    let form = || Fault::new("entry_form", entry.seq);
    let wire: Wire = canon::from_slice(&entry.bytes).map_err(|_| form())?;
    let hash = Digest::of_parts(&[Digest::ZERO.as_bytes(), &entry.bytes]);
    let first = wire.n == 1 && entry.seq == 1 && entry.prev == Digest::ZERO && entry.hash == hash;
    let other =
        |payload: &Payload| payload.digest != wire.message || Digest::of(&payload.bytes) != wire.message;
    if !first {
        return Err(form());
    }
    if entry.payload.as_ref().is_some_and(other) {
        return Err(Fault::new("payload_mismatch", entry.seq));
    }
    Ok(())
}

/// Log and id.
fn name(origin: &str, id: &str) -> Digest {
    Digest::of_parts(&[origin.as_bytes(), b"\0", id.as_bytes()])
}

/// The minute in which an instant is; what ended in an earlier one has ended.
fn minute(at: Timestamp) -> i64 {
    at.as_secs().div_euclid(60)
}
