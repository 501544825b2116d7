//! Ledger entries (spec 2.7) as types. v0 entry types keep their names and members; what `strict` adds is in further
//! members and further types. A payload holds the private bytes that `data.payload` names by hash (D3).

use crate::command::{By, Driver, Policy, Proof, Relayed, Scope, Standing};
use crate::envelope::{CommittedInput, Envelope};
use crate::wire::{Ruling, Source, Status, Verdict};
use crate::{Brief, Card, ClaimId, ClauseOpening, ClauseRef, QuestionId, RoomId, SeatId, ShareId, chain};
use approvals::{Audience, EvidenceKind, Passkey};
use canon::{Digest, Salt};
use env::Timestamp;
use keys::{PublicKey, SecretHash};
use ledger::{Entry, Fault, Head, Payload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One entry of a room: what happened, when, and the private part, `None` where it was erased or withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    pub fact: Fact,
    pub body: Option<Body>,
}

/// The private part of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Card(Box<Card>),
    Envelope(Box<Recorded>),
    Question(Box<QuestionBody>),
    Answer(Box<AnswerBody>),
    Proof(Box<Proof>),
    Disclosure(Box<DisclosureBody>),
    Brief(Box<Brief>),
}

/// An envelope with what its seat sent and signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Shared with the states that have folded it, as is `input`.
    #[serde(with = "shared")]
    pub envelope: Arc<Envelope>,
    #[serde(with = "shared")]
    pub input: Arc<CommittedInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The words of a question and why it was asked: for the asking side alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionBody {
    pub question: String,
    pub reason: String,
    pub reasons: Vec<Reason>,
    pub salt: Salt,
}

/// One reason why the proxy must not go on alone (D27). `code` and `subject` together name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub code: String,
    /// A term (`term 1`), a limit's words, or a claim id.
    pub subject: String,
    pub detail: String,
}

/// An answer's body, its evidence, and the salt of its commitment: for the asking side alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// Canonical JSON of the answer as given: what `answer_hash` of the statement covers.
    pub body: String,
    pub salt: Salt,
    pub proof: Proof,
    /// The principal's confirmation of an answer that was relayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Proof>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisclosureBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clause: Option<ClauseOpening>,
}

/// Declares each entry type once: its name in the chain, its data, and which private part it carries.
macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $(=> $body:ident)? { $($(#[$meta:meta])* $field:ident : $ty:ty),* $(,)? })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $variant {
            $($(#[$meta])* pub $field: $ty,)*
            /// SHA-256 of the private part, for the types that have one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub payload: Option<Digest>,
        })*

        /// The public part of an entry: its type and data.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Fact {
            $($variant(Box<$variant>),)*
        }

        impl Fact {
            /// The entry's `type`.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The canonical `data`.
            pub fn data(&self) -> Result<Vec<u8>, canon::Error> {
                match self { $(Self::$variant(data) => canon::to_vec(data),)* }
            }

            /// The hash of the private part, where the entry has one.
            pub const fn payload(&self) -> Option<Digest> {
                match self { $(Self::$variant(data) => data.payload,)* }
            }

            /// Whether entries of this type have a private part.
            pub(crate) const fn is_private(&self) -> bool {
                match self { $(Self::$variant(_) => {
                    let bodies: &[&str] = &[$(stringify!($body))?];
                    !bodies.is_empty()
                })* }
            }

            pub(crate) fn name_payload(&mut self, digest: Digest) {
                match self { $(Self::$variant(data) => data.payload = Some(digest),)* }
            }

            fn read(kind: &str, data: canon::Value<'_>) -> Result<Self, Option<canon::Error>> {
                match kind {
                    $($name => canon::from_value(data).map(|data| Self::$variant(Box::new(data))).map_err(Some),)*
                    _ => Err(None),
                }
            }

            /// As `read`, from canonical text.
            fn read_text(kind: &str, data: &[u8]) -> Result<Self, Option<canon::Error>> {
                match kind {
                    $($name => canon::from_slice(data).map(|data| Self::$variant(Box::new(data))).map_err(Some),)*
                    _ => Err(None),
                }
            }

            fn read_body(&self, bytes: &[u8]) -> Result<Option<Body>, canon::Error> {
                match self {
                    $($(Self::$variant(_) => {
                        canon::from_slice(bytes).map(|body| Some(Body::$body(Box::new(body))))
                    })?)*
                    #[allow(unreachable_patterns)]
                    _ => Ok(None),
                }
            }
        }

        $(impl From<$variant> for Fact {
            fn from(data: $variant) -> Self {
                Self::$variant(Box::new(data))
            }
        })*
    };
}

facts! {
    /// v0: topic, protocol.
    RoomOpened = "room_opened" {
        topic: String,
        protocol: String,
        profile: String,
        room: RoomId,
        seats: Vec<OpenedSeat>,
        policy: Policy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opener: Option<By>,
    }
    /// v0: seat, agent. The first for a seat burns its invite and sets its secret; later ones change the label.
    AgentJoined = "agent_joined" {
        seat: SeatId,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret_hash: Option<SecretHash>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link_hash: Option<SecretHash>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<PublicKey>,
    }
    /// Who answers for a seat from now on.
    PrincipalEnrolled = "principal_enrolled" {
        seat: SeatId,
        audience: Audience,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret_hash: Option<SecretHash>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passkey: Option<Passkey>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<PublicKey>,
    }
    /// v0: seat, principal, card_hash, via.
    CardSealed = "card_sealed" => Card {
        seat: SeatId,
        principal: String,
        card_hash: Digest,
        clause_root: Digest,
        via: Via,
    }
    /// A sealed card gives way to the next `card_sealed` of its seat, while drafting (W-27).
    CardSuperseded = "card_superseded" { seat: SeatId, card_hash: Digest }
    /// v0: seq, seat, status, envelope_hash.
    EnvelopeSent = "envelope" => Envelope {
        seq: u64,
        seat: SeatId,
        status: Status,
        envelope_hash: Digest,
        #[serde(default, skip_serializing_if = "is_false")]
        signed: bool,
    }
    /// One review of an envelope (seed section 6, D26); its reason is in the envelope.
    Reviewed = "review" { seq: u64, seat: SeatId, claim_id: ClaimId, verdict: Verdict }
    /// v0: seat, seq; instead of a question hash a salted commitment.
    Escalated = "escalation" => Question {
        seat: SeatId,
        seq: u64,
        question_id: QuestionId,
        question_commitment: Digest,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        claims: Vec<ClaimId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offer_hash: Option<Digest>,
        /// What a ruling is about: the content of the offer or draft.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        matter: Option<Digest>,
        #[serde(default, skip_serializing_if = "is_false")]
        forced: bool,
    }
    /// An agent passed on an answer that waits for its principal's confirmation.
    AnswerRelayed = "answer_relayed" => Answer {
        seat: SeatId, question_id: QuestionId, answer_commitment: Digest, agent: String,
    }
    /// The principal disowned a relayed answer; the question is open again.
    AnswerDisowned = "answer_disowned" => Proof { seat: SeatId, question_id: QuestionId, by: By }
    /// v0: seat, speaker, via, card_hash; instead of an answer hash a salted commitment.
    PrincipalAnswer = "principal_answer" => Answer {
        seat: SeatId,
        speaker: String,
        via: Via,
        question_id: QuestionId,
        ruling: Ruling,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        clears: Vec<ClaimId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public_summary: Option<String>,
        answer_commitment: Digest,
        standing: Standing,
        evidence: EvidenceKind,
        by: By,
        card_hash: Digest,
        clause_root: Digest,
    }
    /// A principal vouched for a claim, or said it is wrong.
    ClaimConfirmed = "claim_confirmed" => Proof {
        seat: SeatId, claim_id: ClaimId, accept: bool, by: By, evidence: EvidenceKind,
    }
    SourceAttached = "source_attached" { seat: SeatId, claim_id: ClaimId, source: Source }
    OfferWithdrawn = "offer_withdrawn" { seat: SeatId, offer_hash: Digest, by_principal: bool, reason: String }
    OfferExpired = "offer_expired" { seat: SeatId, offer_hash: Digest }
    /// v0: proposal_hash, proposed_by, accepted_by (a list where several accepted).
    Agreement = "agreement" {
        proposal_hash: Digest,
        proposed_by: SeatId,
        accepted_by: AcceptedBy,
        offer_hash: Digest,
        proposed_seq: u64,
    }
    /// v0: turns.
    TurnLimit = "turn_limit" { turns: u32 }
    /// A deadline passed.
    Stalled = "stalled" { reason: StallReason, seat: SeatId }
    /// A side left.
    Withdrawn = "withdrawn" { seat: SeatId, by_principal: bool, reason: String }
    /// The decision brief, recorded with the end it describes (W-24).
    BriefRecorded = "brief" => Brief { brief_hash: Digest, outcome: String }
    Disclosed = "disclosed" => Disclosure {
        seat: SeatId,
        to: SeatId,
        /// `None`: the whole card.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<ClauseRef>,
        card_hash: Digest,
    }
    Shared = "share_created" {
        seat: SeatId,
        id: ShareId,
        scope: Scope,
        secret_hash: SecretHash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    }
    Unshared = "share_revoked" { seat: SeatId, id: ShareId }
    SeatRotated = "seat_rotated" { seat: SeatId, secret_hash: SecretHash }
    RoomPaused = "room_paused" { reason: String }
    RoomResumed = "room_resumed" {}
}

/// One seat as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenedSeat {
    pub seat: SeatId,
    pub name: String,
    pub driver: Driver,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Audience>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite_hash: Option<SecretHash>,
}

/// By which door a card or answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Web,
    Mcp,
}

/// v0 has one seat here; a room of three or more has all that accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AcceptedBy {
    One(SeatId),
    All(Vec<SeatId>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallReason {
    TurnDeadline,
    EscalationDeadline,
}

impl Event {
    /// An event whose `data.payload` names the private part.
    pub fn new(at: Timestamp, fact: impl Into<Fact>, body: Option<Body>) -> Result<Self, canon::Error> {
        let mut fact = fact.into();
        if let Some(body) = &body {
            fact.name_payload(Digest::of(&body.bytes()?));
        }
        Ok(Self { at: at.to_millis(), fact, body })
    }

    /// The entry after `prev`, by the chain rule.
    pub fn seal(&self, prev: Head) -> Result<Entry, Fault> {
        let place = format!("entry {}", prev.seq.saturating_add(1));
        let data = self.fact.data().map_err(|_| Fault::new("bad_data", &place))?;
        let payload = match &self.body {
            None => None,
            Some(body) => Some(Payload::new(body.bytes().map_err(|_| Fault::new("bad_payload", &place))?)),
        };
        if payload.as_ref().is_some_and(|payload| Some(payload.digest) != self.fact.payload()) {
            return Err(Fault::new("bad_payload", place));
        }
        Ok(chain::seal(self.fact.kind(), self.at, &data, prev, payload))
    }

    /// Reads an entry at its place. A payload must be the one the entry names; it may be missing.
    pub fn open(entry: &Entry, prev: Head) -> Result<Self, Fault> {
        Self::read(entry, chain::open(entry, prev)?)?.with_payload(entry)
    }

    /// Reads the public part of entry `n` as a bundle tells it, canonical `data`.
    pub(crate) fn told(n: u64, kind: &str, at: Timestamp, data: &[u8]) -> Result<Self, Fault> {
        let fact = Fact::read_text(kind, data).map_err(|error| unread(n, error.as_ref()))?;
        Ok(Self { at, fact, body: None })
    }

    fn read(entry: &Entry, read: chain::Body) -> Result<Self, Fault> {
        let fact = Fact::read(&read.kind, read.data).map_err(|error| unread(entry.seq, error.as_ref()))?;
        Ok(Self { at: read.at, fact, body: None })
    }

    /// The event with the private part that is at hand.
    fn with_payload(self, entry: &Entry) -> Result<Self, Fault> {
        match &entry.payload {
            None => Ok(self),
            Some(payload) if Some(payload.digest) != self.fact.payload() => {
                Err(Fault::new("bad_payload", format!("entry {}", entry.seq)))
            }
            Some(payload) => self.with_body(entry.seq, &payload.bytes),
        }
    }

    /// The event of entry `n` with its private part, whose digest was checked. One that reads but is not in its one spelling
    /// would be hashed differently when folded again.
    pub(crate) fn with_body(mut self, n: u64, bytes: &[u8]) -> Result<Self, Fault> {
        let fault = || Fault::new("bad_payload", format!("entry {n}"));
        self.body = self.fact.read_body(bytes).map_err(|_| fault())?;
        match self.body.as_ref().map(Body::bytes).transpose() {
            Ok(Some(written)) if written != bytes => Err(fault()),
            Ok(_) => Ok(self),
            Err(_) => Err(fault()),
        }
    }

    /// The evidence in the private part: of an answer, and of what confirms it.
    pub(crate) fn proofs(&self) -> impl Iterator<Item = &Proof> {
        let (one, other) = match &self.body {
            Some(Body::Answer(answer)) => (Some(&answer.proof), answer.confirmation.as_ref()),
            Some(Body::Proof(proof)) => (Some(&**proof), None),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }
}

impl Body {
    /// The canonical bytes: the payload.
    pub fn bytes(&self) -> Result<Vec<u8>, canon::Error> {
        match self {
            Self::Card(body) => canon::to_vec(body),
            Self::Envelope(body) => canon::to_vec(body),
            Self::Question(body) => canon::to_vec(body),
            Self::Answer(body) => canon::to_vec(body),
            Self::Proof(body) => canon::to_vec(body),
            Self::Disclosure(body) => canon::to_vec(body),
            Self::Brief(body) => canon::to_vec(body),
        }
    }
}

impl Policy {
    pub(crate) fn holds_relayed(&self) -> bool {
        self.relayed == Relayed::Hold
    }
}

fn unread(n: u64, error: Option<&canon::Error>) -> Fault {
    let code = if error.is_some() { "bad_data" } else { "unknown_type" };
    Fault::new(code, format!("entry {n}"))
}

/// What several hold, written as the one thing it is.
mod shared {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        held: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        held.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
