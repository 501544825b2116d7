//! Ledger entries as types (spec 2.7), each with the private part its data names by hash.
//!
//! Ours beyond 2.7: the member `setup_hash` of `room_opened`, and the types `drafted`, `proxy_called`, `proxy_failed`,
//! `proxy_interrupted`, `resumed`, `budget_spent`, `authority_called`, `authority_mapped` and `evicted`. A room of two
//! external agents has none of those types.

use super::card::Card;
use super::envelope::{Envelope, Status};
use super::room::{Mode, Side, TermAuthority, Via};
use crate::chain;
use canon::{Digest, Raw, Value};
use env::Timestamp;
use keys::SecretHash;
use ledger::{Entry, Fault, Head, Payload};
use serde::{Deserialize, Serialize};

/// One entry: what happened, when, and the private part, `None` where there is none or it was erased.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at: Timestamp,
    pub fact: Fact,
    pub body: Option<Body>,
}

/// The private part of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Setup(Box<Setup>),
    Card(Box<Card>),
    Envelope(Box<Envelope>),
    Text(String),
    Authority(Vec<TermAuthority>),
}

/// What a room was opened with. The tokens are kept as hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub id: String,
    pub demo: bool,
    pub max_turns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub names: [String; 2],
    pub modes: [Mode; 2],
    pub tokens: [SecretHash; 2],
}

macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal { $($(#[$meta:meta])* $field:ident : $ty:ty),* $(,)? })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $variant { $($(#[$meta])* pub $field: $ty,)* })*

        /// The public part of an entry: its type and data.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Fact { $($variant($variant),)* }

        impl Fact {
            /// The entry's `type`.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The entry's `data`.
            pub fn data(&self) -> Result<Raw, canon::Error> {
                match self { $(Self::$variant(data) => Raw::of(data),)* }
            }

            fn read(kind: &str, data: Value<'static>) -> Option<Result<Self, canon::Error>> {
                match kind {
                    $($name => Some(canon::from_value::<$variant>(data).map(Self::$variant)),)*
                    _ => None,
                }
            }
        }
    };
}

facts! {
    RoomOpened = "room_opened" { topic: String, protocol: String, setup_hash: Digest }
    AgentJoined = "agent_joined" { seat: Side, agent: String }
    CardSealed = "card_sealed" { seat: Side, principal: String, card_hash: Digest, via: Via }
    Sent = "envelope" { seq: u64, seat: Side, status: Status, envelope_hash: Digest }
    Escalated = "escalation" { seat: Side, seq: u64, question_hash: Digest }
    Answered = "principal_answer" {
        seat: Side, speaker: String, via: Via, answer_hash: Digest, card_hash: Digest,
    }
    Agreed = "agreement" { proposal_hash: Digest, proposed_by: Side, accepted_by: Side }
    TurnLimit = "turn_limit" { turns: u64 }
    Drafted = "drafted" { seat: Side, text_hash: Digest }
    /// `calls` counts this one. What is no number there is a damaged count.
    ProxyCalled = "proxy_called" { seat: Side, calls: Value<'static> }
    ProxyFailed = "proxy_failed" { error: String }
    ProxyInterrupted = "proxy_interrupted" { seat: Side }
    Resumed = "resumed" { by: String }
    BudgetSpent = "budget_spent" { calls: u64 }
    AuthorityCalled = "authority_called" { calls: Value<'static> }
    AuthorityMapped = "authority_mapped" { map_hash: Digest }
    Evicted = "evicted" { reason: String }
}

impl Fact {
    /// The hash of the private part, for the types that have one.
    const fn names(&self) -> Option<Digest> {
        match self {
            Self::RoomOpened(data) => Some(data.setup_hash),
            Self::CardSealed(data) => Some(data.card_hash),
            Self::Sent(data) => Some(data.envelope_hash),
            Self::Answered(data) => Some(data.answer_hash),
            Self::Drafted(data) => Some(data.text_hash),
            Self::AuthorityMapped(data) => Some(data.map_hash),
            _ => None,
        }
    }
}

impl Event {
    pub(super) fn seal(&self, prev: Head) -> Result<Entry, Fault> {
        let place = || format!("entry {}", prev.seq.saturating_add(1));
        let data = self.fact.data().map_err(|_| Fault::new("bad_data", place()))?;
        let payload = self.body.as_ref().map(Body::bytes).transpose();
        let payload = payload.map_err(|_| Fault::new("bad_payload", place()))?.map(Payload::new);
        if payload.as_ref().map(|payload| payload.digest) != self.fact.names() {
            return Err(Fault::new("payload_not_named", place()));
        }
        Ok(chain::seal(self.fact.kind(), self.at, data.as_bytes(), prev, payload))
    }

    /// Refuses what [`chain::open`] refuses, an unknown type or shape, and a payload its data does not name.
    pub(super) fn open(entry: &Entry, prev: Head) -> Result<Self, Fault> {
        let body = chain::open(entry, prev)?;
        let place = || format!("entry {}", entry.seq);
        let fact = Fact::read(&body.kind, body.data).ok_or_else(|| Fault::new("unknown_type", place()))?;
        let fact = fact.map_err(|_| Fault::new("bad_data", place()))?;
        let payload = match &entry.payload {
            Some(payload) if fact.names() == Some(payload.digest) => Some(&payload.bytes),
            Some(_) => return Err(Fault::new("payload_not_named", place())),
            None => None,
        };
        let read = payload.map(|bytes| Body::read(&fact, bytes)).transpose();
        Ok(Self { at: body.at, fact, body: read.map_err(|_| Fault::new("bad_payload", place()))? })
    }
}

impl Body {
    fn bytes(&self) -> Result<Vec<u8>, canon::Error> {
        match self {
            Self::Setup(setup) => canon::to_vec(setup),
            Self::Card(card) => canon::to_vec(card),
            Self::Envelope(envelope) => canon::to_vec(envelope),
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Authority(map) => canon::to_vec(map),
        }
    }

    fn read(fact: &Fact, bytes: &[u8]) -> Result<Self, canon::Error> {
        Ok(match fact {
            Fact::RoomOpened(_) => Self::Setup(Box::new(canon::from_slice(bytes)?)),
            Fact::CardSealed(_) => Self::Card(Box::new(canon::from_slice(bytes)?)),
            Fact::Sent(_) => Self::Envelope(Box::new(canon::from_slice(bytes)?)),
            Fact::AuthorityMapped(_) => Self::Authority(canon::from_slice(bytes)?),
            _ => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
        })
    }
}
