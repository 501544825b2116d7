//! What can be asked of a room, by whom, and what the one who asked is told.

use crate::wire::{AnswerInput, CardInput, EnvelopeInput, Source};
use crate::{ClaimId, ClauseRef, Flag, QuestionId, RoomId, SeatId, ShareId, Status};
use approvals::{Audience, Evidence, EvidenceKind, MemberId, OrgId, Passkey, Site};
use canon::Digest;
use env::Timestamp;
use keys::PublicKey;
use serde::{Deserialize, Serialize};

/// Who acts, as the caller has authenticated them: a secret through `State::authenticate`, a member through the
/// organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// Whoever opens the room; a member if they are signed in.
    Opener { by: Option<By> },
    /// The agent that holds the seat's secret (or the built-in one that drives it).
    Seat { seat: SeatId },
    /// The seat's own person, not their agent.
    Principal { seat: SeatId, by: By },
    /// The one-time invite of a seat.
    Invite { seat: SeatId },
    /// The one-time link by which a seat's person enrols.
    Link { seat: SeatId },
    /// A share link.
    Share { id: ShareId, scope: Scope },
    /// This server: deadlines, built-in seats, the pause switch after it has checked who turned it.
    Server,
}

/// A person, as the ledger names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum By {
    Member {
        org: OrgId,
        member: MemberId,
        /// The member whose delegation makes this one's answer good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acting_for: Option<MemberId>,
    },
    /// The holder of the seat's own principal credential.
    Holder,
}

/// How long things may take, and what counts as a principal's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Turns in all; an escalation is none. 1 to 1000.
    pub max_turns: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_seconds: Option<u32>,
    pub relayed: Relayed,
    /// Direct evidence this room takes.
    pub evidence: Vec<EvidenceKind>,
}

impl Default for Policy {
    /// Ten turns, three days for a turn, seven for an answer, offers that do not lapse by time, relayed answers accepted.
    fn default() -> Self {
        Self {
            max_turns: 10,
            turn_seconds: Some(3 * 86_400),
            answer_seconds: Some(7 * 86_400),
            offer_seconds: None,
            relayed: Relayed::Accept,
            evidence: vec![EvidenceKind::Passkey, EvidenceKind::Ed25519, EvidenceKind::Session],
        }
    }
}

/// What an answer that an agent passed on is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relayed {
    /// It takes effect, marked `relayed`.
    Accept,
    /// It waits until the principal confirms it.
    Hold,
}

/// Who moves a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// An agent that joins.
    External,
    /// A proxy of this server, woken when it is its turn.
    BuiltIn,
}

/// What a share link lets its holder read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Transcript,
    Ledger,
    Brief,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Open(Open),
    Join(Join),
    Enrol(Enrol),
    Seal(Seal),
    Send(Send),
    Answer(Answer),
    Confirm(Confirm),
    ConfirmClaim(ConfirmClaim),
    AttachSource(AttachSource),
    WithdrawOffer(WithdrawOffer),
    Leave(Leave),
    Disclose(Disclose),
    Share(Share),
    Unshare(Unshare),
    Rotate(Rotate),
    Pause(Pause),
    Resume(Resume),
    /// The clock moved: deadlines and expiries. By the server alone.
    Tick,
}

/// Opens a room. Seat A is the opener's, and its agent has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    pub actor: Actor,
    pub room: RoomId,
    pub topic: String,
    /// Two or more, A first.
    pub seats: Vec<SeatPlan>,
    /// The opener's agent.
    pub agent: Option<String>,
    /// If given, seat A signs every envelope with it.
    pub key: Option<PublicKey>,
    pub policy: Policy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatPlan {
    /// Display name until its card is sealed.
    pub name: String,
    pub driver: Driver,
    /// Who answers for it, if known already; else the first to use its principal link.
    pub principal: Option<Audience>,
}

/// Takes a seat with its invite, or (as the seat) changes the agent's label. A built-in seat is joined by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    pub actor: Actor,
    pub seat: SeatId,
    pub agent: Option<String>,
    pub key: Option<PublicKey>,
    /// A signed-in person who opened the invite becomes the seat's principal at once.
    pub principal: Option<Audience>,
}

/// Burns the seat's principal link: its person is now known by what they enrol, or as a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrol {
    pub actor: Actor,
    pub seat: SeatId,
    pub as_member: Option<Audience>,
    pub passkey: Option<Passkey>,
    pub key: Option<PublicKey>,
}

/// Seals the seat's card; while drafting, replaces the sealed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    pub actor: Actor,
    pub seat: SeatId,
    pub card: CardInput,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    pub actor: Actor,
    pub seat: SeatId,
    /// `client_msg_id`: the same id with the same envelope is the same message.
    pub msg_id: Option<String>,
    pub envelope: EnvelopeInput,
    /// Base64url, over the 32 bytes of `signing_bytes`. Required of a seat with a key; it needs a `msg_id`.
    pub signature: Option<String>,
}

/// How an answer is known to be the principal's. The caller has verified it; what can be recomputed is checked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub by: By,
    pub nonce: String,
    pub evidence: Evidence,
    /// The statement that was signed; required of a passkey or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Digest>,
    /// The public key that verified it, so that a bundle can be checked offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PublicKey>,
    /// For a passkey: the site it signed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub actor: Actor,
    pub seat: SeatId,
    pub answer: AnswerInput,
    pub proof: Proof,
}

/// The principal confirms or disowns an answer their agent relayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirm {
    pub actor: Actor,
    pub seat: SeatId,
    pub question: QuestionId,
    pub accept: bool,
    pub proof: Proof,
}

/// A principal vouches for a claim, or says it is wrong (seed section 3, rule 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmClaim {
    pub actor: Actor,
    pub seat: SeatId,
    pub claim: ClaimId,
    pub accept: bool,
    pub proof: Proof,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachSource {
    pub actor: Actor,
    pub seat: SeatId,
    pub claim: ClaimId,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawOffer {
    pub actor: Actor,
    pub seat: SeatId,
    pub offer_hash: Digest,
    pub reason: String,
}

/// Ends the room without agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leave {
    pub actor: Actor,
    pub seat: SeatId,
    pub reason: String,
}

/// What a principal shows to another seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclosed {
    Card,
    Clause(ClauseRef),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disclose {
    pub actor: Actor,
    pub seat: SeatId,
    pub to: SeatId,
    pub what: Disclosed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub actor: Actor,
    pub seat: SeatId,
    pub scope: Scope,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unshare {
    pub actor: Actor,
    pub seat: SeatId,
    pub share: ShareId,
}

/// Replaces the seat's secret; the old one is dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotate {
    pub actor: Actor,
    pub seat: SeatId,
}

/// The switch of D8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub actor: Actor,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub actor: Actor,
}

/// What the caller is told. Secrets appear here once and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    Opened {
        room: RoomId,
        seat: SeatId,
        seat_secret: Bearer,
        principal_link: Option<Bearer>,
        invites: Vec<Invite>,
    },
    Joined {
        seat: SeatId,
        seat_secret: Option<Bearer>,
        principal_link: Option<Bearer>,
    },
    Enrolled {
        seat: SeatId,
        principal_secret: Option<Bearer>,
    },
    Sealed {
        seat: SeatId,
        card_hash: Digest,
        negotiating: bool,
    },
    Sent(Sent),
    Answered {
        question_id: QuestionId,
        standing: Standing,
        card_hash: Option<Digest>,
    },
    Shared {
        id: ShareId,
        secret: Bearer,
    },
    Rotated {
        seat: SeatId,
        seat_secret: Bearer,
    },
    Done,
}

/// What became of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub seq: u64,
    pub status: Status,
    pub claims: Vec<ClaimId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_hash: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    pub protocol_flags: Vec<Flag>,
    /// The message had been recorded before; this is what was said then.
    pub replayed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invite {
    pub seat: SeatId,
    pub secret: Bearer,
}

impl Proof {
    /// Whether the evidence is a signature, by a passkey or a key.
    pub(crate) const fn signs(&self) -> bool {
        matches!(self.evidence, Evidence::Passkey { .. } | Evidence::Ed25519 { .. })
    }
}

/// How far an answer is the principal's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// By the principal's own evidence.
    Direct,
    /// Passed on by the agent, and in effect if the policy says so.
    Relayed,
    /// Passed on by the agent, then confirmed by the principal.
    Confirmed,
}

/// A bearer secret on its way to its owner. It does not print.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bearer(String);

impl Bearer {
    pub(crate) fn fresh(env: &mut env::Env) -> Self {
        Self(env.secret())
    }
    pub fn expose(&self) -> &str {
        &self.0
    }
    pub fn hash(&self) -> keys::SecretHash {
        keys::SecretHash::of(&self.0)
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(..)")
    }
}
