//! The room: its state, its commands, and the aggregate that ties them to the chain.

use super::card::Card;
use super::decide;
use super::envelope::{Envelope, Proposal, Registered, Verdict};
use super::event::Event;
use super::evolve;
use super::ledger::LedgerEntry;
use super::refusal::Refusal;
use canon::{Digest, Value};
use env::{Env, Timestamp};
use keys::SecretHash;
use ledger::{Aggregate, Decision, Entry, Fault, Head};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One exchange between two proxies: the aggregate behind streams `roomzero/<id>`.
#[derive(Debug, Clone, Copy)]
pub struct Room;

/// One of the two seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Side {
    A,
    B,
}

/// Who plays a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[serde(rename = "builtin")]
    BuiltIn,
    External,
}

/// The way a card or an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Web,
    Mcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Drafting,
    Negotiating,
    Paused,
    Agreed,
    Stalled,
    Error,
}

/// What can be asked of a room. Whoever sends one has checked that the sender holds the seat's link.
#[derive(Debug, Clone)]
pub enum Command {
    Open(Box<Open>),
    /// An agent takes the seat under a label.
    Join {
        side: Side,
        label: String,
    },
    /// Counts a draft that is about to be made from `text`.
    Draft {
        side: Side,
        text: String,
    },
    /// `label`: how an agent that never joined is called.
    Seal {
        side: Side,
        card: Value<'static>,
        via: Via,
        label: Option<String>,
    },
    Send {
        side: Side,
        raw: Value<'static>,
        by: Mode,
    },
    Answer {
        side: Side,
        answer: String,
        via: Via,
    },
    Resume,
    /// The built-in proxy is about to be called: its turn begins, or the room stalls because its budget is spent.
    Call,
    /// The authority of an agreement is about to be asked of the model.
    CallAuthority,
    /// The built-in proxy's call failed.
    Fail,
    /// The call in flight was lost.
    Interrupt,
    /// What the model says each term rests on.
    Authority(Vec<TermAuthority>),
    /// Ages and capacity: the room goes away.
    Evict,
}

/// A new room.
#[derive(Debug, Clone)]
pub struct Open {
    pub id: String,
    pub topic: String,
    pub names: [String; 2],
    pub modes: [Mode; 2],
    pub demo: bool,
    pub max_turns: u64,
    /// The account that opens it, in sign-in mode. Shown to nobody.
    pub owner: Option<String>,
    /// Seat A is taken at once by the agent that opens the room.
    pub agent: Option<String>,
}

#[derive(Clone)]
pub enum Reply {
    /// The two seat tokens, A's first; a demo has one for both.
    Opened {
        tokens: [String; 2],
    },
    Sent(Box<Envelope>),
    Sealed(Digest),
    /// Whether the call may be made.
    Called(bool),
    Done,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opened { .. } => "Opened",
            Self::Sent(_) => "Sent",
            Self::Sealed(_) => "Sealed",
            Self::Called(_) => "Called",
            Self::Done => "Done",
        })
    }
}

/// What one term rests on for each side, in the words of 2.8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermAuthority {
    pub term: String,
    #[serde(rename = "A")]
    pub a: String,
    #[serde(rename = "B")]
    pub b: String,
    pub note: String,
}

#[derive(Debug, Clone, Default)]
pub struct State {
    pub id: String,
    pub topic: String,
    pub demo: bool,
    pub created_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub phase: Phase,
    pub max_turns: u64,
    pub owner: Option<String>,
    pub(super) seats: Option<[Seat; 2]>,
    pub envelopes: Vec<Envelope>,
    pub claims: Vec<Registered>,
    pub ledger: Vec<LedgerEntry>,
    /// Whose move it is, or would be after the pause.
    pub turn: Option<Side>,
    pub turn_count: u64,
    pub pending: Option<Pending>,
    /// Why the room is in `error`.
    pub error: Option<&'static str>,
    pub interrupted: bool,
    /// Calls of the model so far. A damaged count is the largest number: the budget is spent.
    pub calls: u64,
    /// The seat whose built-in proxy is thinking.
    pub in_flight: Option<Side>,
    pub authority: Option<Vec<TermAuthority>>,
    /// When the room ended, and the head then.
    pub ended: Option<(Timestamp, Digest)>,
    /// Evicted: everything private is erased and the room answers nobody.
    pub gone: bool,
}

#[derive(Debug, Clone)]
pub struct Seat {
    pub name: String,
    pub(super) token: SecretHash,
    pub mode: Mode,
    pub agent: Option<String>,
    pub labels: usize,
    pub card: Option<Card>,
    pub sealed_via: Option<Via>,
    pub draft_text: String,
    pub drafts: usize,
}

/// The question the room is paused on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pending {
    pub seat: Side,
    pub seq: u64,
    pub question: String,
    pub reason: String,
    /// The answers a demo offers.
    pub options: Option<Vec<String>>,
}

/// The empty seat of a room that is not there.
static NOBODY: std::sync::LazyLock<Seat> =
    std::sync::LazyLock::new(|| Seat::new(String::new(), SecretHash::from(Digest::ZERO), Mode::External));

impl State {
    pub fn exists(&self) -> bool {
        self.seats.is_some() && !self.gone
    }

    pub fn seat(&self, side: Side) -> &Seat {
        match (&self.seats, side) {
            (Some([a, _]), Side::A) => a,
            (Some([_, b]), Side::B) => b,
            (None, _) => &NOBODY,
        }
    }

    pub(super) fn seat_mut(&mut self, side: Side) -> Option<&mut Seat> {
        match (&mut self.seats, side) {
            (Some([a, _]), Side::A) => Some(a),
            (Some([_, b]), Side::B) => Some(b),
            (None, _) => None,
        }
    }

    /// The seat that `seat` and `token` open, if they do.
    pub fn opens(&self, seat: &str, token: &str) -> Option<Side> {
        let side = Side::of(seat)?;
        (self.exists() && self.seat(side).token.matches(token)).then_some(side)
    }

    pub fn claim(&self, id: &str) -> Option<&Registered> {
        self.claims.iter().find(|claim| claim.claim.id == id)
    }

    /// The most recent proposal of a side, however old.
    pub fn latest_proposal(&self, side: Side) -> Option<(u64, &Proposal, Digest)> {
        self.envelopes
            .iter()
            .rev()
            .filter(|envelope| envelope.from.seat == side)
            .find_map(|envelope| Some((envelope.seq, envelope.proposal.as_ref()?, envelope.proposal_hash?)))
    }

    /// Whether the last review of `by` that did not accept the claim has no answered escalation of `by` since.
    pub fn disputes(&self, by: Side, id: &str) -> bool {
        let last = self.claim(id).and_then(|claim| {
            claim.reviews.iter().rev().find(|review| review.by == by && review.verdict != Verdict::Accept)
        });
        last.is_some_and(|review| {
            !self.envelopes.iter().any(|envelope| {
                envelope.from.seat == by && envelope.answer.is_some() && envelope.seq >= review.seq
            })
        })
    }

    pub fn ended(&self) -> bool {
        matches!(self.phase, Phase::Agreed | Phase::Stalled)
    }

    /// The seat the room waits on: its agent, its built-in proxy or, while paused, its principal.
    pub fn waiting_on(&self) -> Option<Side> {
        match self.phase {
            Phase::Negotiating => self.turn,
            Phase::Paused => self.pending.as_ref().map(|pending| pending.seat),
            Phase::Drafting | Phase::Agreed | Phase::Stalled | Phase::Error => None,
        }
    }

    /// Whether it is for this seat's agent or person to act, or nothing will ever happen again.
    pub fn actionable(&self, side: Side) -> bool {
        match self.phase {
            Phase::Drafting => self.seat(side).card.is_none(),
            Phase::Negotiating => self.turn == Some(side) && self.in_flight.is_none(),
            Phase::Paused => self.pending.as_ref().is_none_or(|pending| pending.seat == side),
            Phase::Agreed | Phase::Stalled | Phase::Error => true,
        }
    }

    /// How many calls of the model the room may make.
    pub const fn budget(&self) -> u64 {
        self.max_turns.saturating_mul(3)
    }

    /// The seat whose built-in proxy should be called now.
    pub fn due(&self) -> Option<Side> {
        let side = self.turn.filter(|_| self.phase == Phase::Negotiating && self.in_flight.is_none())?;
        (!self.demo && self.seat(side).mode == Mode::BuiltIn).then_some(side)
    }
}

impl Seat {
    pub(super) fn new(name: String, token: SecretHash, mode: Mode) -> Self {
        Self {
            name,
            token,
            mode,
            agent: None,
            labels: 0,
            card: None,
            sealed_via: None,
            draft_text: String::new(),
            drafts: 0,
        }
    }

    /// The name the seat speaks for: its card's, or the one given when the room was opened.
    pub fn principal(&self) -> &str {
        self.card.as_ref().map_or(&self.name, |card| &card.principal.name)
    }

    pub fn card_hash(&self) -> Option<Digest> {
        self.card.as_ref().map(Card::hash)
    }

    /// What plays the seat, in words.
    pub fn proxy(&self) -> String {
        match (self.mode, &self.agent) {
            (Mode::BuiltIn, _) => "built-in proxy".to_owned(),
            (Mode::External, Some(agent)) => agent.clone(),
            (Mode::External, None) => "external agent".to_owned(),
        }
    }
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    pub fn of(text: &str) -> Option<Self> {
        match text {
            "A" => Some(Self::A),
            "B" => Some(Self::B),
            _ => None,
        }
    }

    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

impl Aggregate for Room {
    type State = State;
    type Command = Command;
    type Event = Event;
    type Answer = Reply;
    type Refusal = Refusal;

    /// A stream's kind holds letters alone.
    const KIND: &'static str = "roomzero";

    fn decide(state: &State, command: &Command, env: &mut Env) -> Result<Decision<Event, Reply>, Refusal> {
        decide::decide(state, command, env)
    }

    fn evolve(state: &mut State, event: &Event, at: Head) {
        evolve::evolve(state, event, at);
    }

    fn seal(event: &Event, prev: Head) -> Result<Entry, Fault> {
        event.seal(prev)
    }

    fn open(entry: &Entry, prev: Head) -> Result<Event, Fault> {
        Event::open(entry, prev)
    }
}
