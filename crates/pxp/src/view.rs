//! What each viewer sees of a room (spec 2.10, 2.11, W-10, W-11).

mod line;

pub use line::{
    ClaimView, DisclosureView, EnvelopeView, EscalationView, OfferView, ProposalView, ReviewView, SeatView,
    ShareView,
};

use crate::command::Scope;
use crate::event::Fact;
use crate::state::{Asked, Phase, Question, State};
use crate::{Brief, Card, QuestionId, Refusal, Ruling, SeatId};
use canon::Digest;
use env::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// The seat's agent.
    Seat(SeatId),
    /// The seat's person.
    Principal(SeatId),
    /// A share link.
    Share(Scope),
    /// Anyone else: nothing but that there is something to be let into.
    Nobody,
}

impl Viewer {
    /// The side this viewer is on.
    pub const fn seat(self) -> Option<SeatId> {
        match self {
            Self::Seat(seat) | Self::Principal(seat) => Some(seat),
            Self::Share(_) | Self::Nobody => None,
        }
    }

    /// Messages, claims, reviews, flags and offers.
    pub const fn reads_transcript(self) -> bool {
        matches!(self, Self::Seat(_) | Self::Principal(_) | Self::Share(Scope::Transcript))
    }

    /// The chain: types, times and hashes.
    pub const fn reads_ledger(self) -> bool {
        !matches!(self, Self::Share(Scope::Brief) | Self::Nobody)
    }

    pub const fn reads_brief(self) -> bool {
        !matches!(self, Self::Share(Scope::Ledger) | Self::Nobody)
    }

    /// Whether this viewer may have the private part of an entry.
    pub fn reads_payload(self, fact: &Fact) -> bool {
        let own = |seat: SeatId| self.seat() == Some(seat);
        match fact {
            Fact::EnvelopeSent(_) => self.reads_transcript(),
            Fact::BriefRecorded(_) => self.reads_brief(),
            Fact::CardSealed(data) => own(data.seat),
            Fact::Escalated(data) => own(data.seat),
            Fact::AnswerRelayed(data) => own(data.seat),
            Fact::AnswerDisowned(data) => own(data.seat),
            Fact::PrincipalAnswer(data) => own(data.seat),
            Fact::ClaimConfirmed(data) => own(data.seat),
            Fact::Disclosed(data) => own(data.seat) || own(data.to),
            _ => false,
        }
    }
}

/// Text of others as a person should see it: hidden and reordering characters are written out.
pub fn shown(text: &str) -> String {
    approvals::text::show(text)
}

/// A room, for one viewer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RoomView {
    pub room_id: String,
    pub topic: String,
    /// `drafting`, `negotiating`, `paused` (a principal is asked, or the switch is off), `agreed`, `stalled`, `withdrawn`.
    pub status: String,
    /// Why it is paused by the switch, or how it stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub profile: &'static str,
    /// The viewer's own side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub you: Option<You>,
    pub counterparts: Vec<SeatView>,
    pub your_turn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<SeatId>,
    /// The own side's question that waits for its principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_question: Option<QuestionView>,
    /// What to do now, in one sentence.
    pub next_action: String,
    pub turn_count: u32,
    pub max_turns: u32,
    /// When waiting ends the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    pub transcript: Vec<EnvelopeView>,
    pub claims: Vec<ClaimView>,
    pub claims_to_review: Vec<ClaimView>,
    pub unverified_assumptions: Vec<ClaimView>,
    pub offers: Vec<OfferView>,
    /// What was shown to this side, and what this side has shown.
    pub disclosures: Vec<DisclosureView>,
    /// The number of the last entry: a cursor for waiting.
    pub version: u64,
    pub brief_ready: bool,
}

/// The viewer's own side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct You {
    #[serde(flatten)]
    pub seat: SeatView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    /// The own questions, with their words.
    pub questions: Vec<QuestionView>,
    pub shares: Vec<ShareView>,
}

/// A question of the viewer's own side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QuestionView {
    pub question_id: QuestionId,
    pub seq: u64,
    pub question: String,
    pub reason: String,
    /// Why the server asked, or would have.
    pub reasons: Vec<String>,
    pub claims: Vec<crate::ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
    pub forced: bool,
    /// `open`, `relayed` (waiting for the principal's confirmation) or `answered`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A brief for one viewer: the common part, whose hash is on record, and what only this side may read beside it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BriefView {
    pub brief: Brief,
    #[schemars(with = "String")]
    pub brief_hash: Digest,
    /// The words of the own clauses that the brief names.
    pub your_clauses: Vec<ClauseView>,
    pub your_questions: Vec<QuestionView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClauseView {
    #[serde(rename = "ref")]
    pub reference: String,
    pub text: String,
}

/// The room as this viewer may see it now. [`Viewer::Nobody`] and share links of another scope see an empty room.
pub fn room(state: &State, viewer: Viewer, now: Timestamp) -> Result<RoomView, Refusal> {
    room_since(state, viewer, now, 0)
}

/// Like [`room`], for a viewer who has seen it when `since` was its last entry: the transcript leaves out what was sent
/// before, but for envelopes that ask a principal, whose answer may be new.
pub fn room_since(state: &State, viewer: Viewer, now: Timestamp, since: u64) -> Result<RoomView, Refusal> {
    let opened = state.room.as_ref().ok_or(Refusal::RoomUnknown)?;
    let own = viewer.seat();
    let known = viewer != Viewer::Nobody;
    let reads = viewer.reads_transcript();
    let claims: Vec<ClaimView> = state.claims.iter().map(|claim| line::claim(state, claim)).collect();
    let to_review = own.map(|seat| state.to_review(seat)).unwrap_or_default();
    Ok(RoomView {
        room_id: opened.id.to_string(),
        topic: if known { opened.topic.clone() } else { String::new() },
        status: status(state).to_owned(),
        reason: reason(state).filter(|_| known),
        profile: "strict",
        you: own.and_then(|seat| you(state, seat, now)),
        counterparts: state
            .seats
            .iter()
            .filter(|seat| known && Some(seat.id) != own)
            .map(|seat| line::seat(state, seat))
            .collect(),
        your_turn: state.phase == Phase::Negotiating
            && state.paused.is_none()
            && own.is_some()
            && state.turn == own,
        turn: state.turn.filter(|_| known),
        pending_question: state.pending().filter(|question| Some(question.seat) == own).and_then(question),
        next_action: next_action(state, viewer),
        turn_count: state.turns,
        max_turns: opened.policy.max_turns,
        deadline: state.deadline().map(|(at, _)| at).filter(|_| known),
        transcript: state
            .envelopes
            .iter()
            .zip(&state.recorded)
            .filter(|(envelope, recorded)| reads && (**recorded > since || envelope.escalation.is_some()))
            .map(|(envelope, _)| line::envelope(state, envelope, own))
            .collect(),
        claims_to_review: to_review.into_iter().map(|claim| line::claim(state, claim)).collect(),
        unverified_assumptions: claims.iter().filter(|claim| reads && !claim.verified).cloned().collect(),
        claims: if reads { claims } else { Vec::new() },
        offers: state.offers.iter().filter(|_| reads).map(|offer| line::offer(offer, now)).collect(),
        disclosures: state
            .disclosures
            .iter()
            .filter(|shown| own.is_some_and(|seat| shown.from == seat || shown.to == seat))
            .map(line::disclosure)
            .collect(),
        version: state.head().seq,
        brief_ready: state.brief.is_some() && viewer.reads_brief(),
    })
}

/// The brief as this viewer may read it; `None` before the end, or for a viewer who may not.
pub fn brief(state: &State, viewer: Viewer) -> Option<BriefView> {
    if !viewer.reads_brief() {
        return None;
    }
    let recorded = state.brief.as_ref()?;
    let brief = recorded.brief.clone()?;
    let own = viewer.seat();
    let card = own.and_then(|seat| state.seat(seat)).and_then(|seat| seat.card.as_ref());
    let mut your_clauses: Vec<ClauseView> = Vec::new();
    let named = brief.authority.iter().flat_map(|term| &term.seats).filter(|seat| Some(seat.seat) == own);
    for reference in named.flat_map(|seat| &seat.clauses) {
        let text = reference.parse().ok().and_then(|at| card.and_then(|card| card.clause(at)));
        if let Some(text) = text
            && !your_clauses.iter().any(|clause| clause.reference == *reference)
        {
            your_clauses.push(ClauseView { reference: reference.clone(), text: text.to_owned() });
        }
    }
    Some(BriefView {
        brief_hash: recorded.hash,
        your_questions: own.map(|seat| questions(state, seat)).unwrap_or_default(),
        your_clauses,
        brief,
    })
}

/// `drafting`, `negotiating`, `paused`, `agreed`, `stalled`, `withdrawn`.
pub fn status(state: &State) -> &'static str {
    match &state.phase {
        Phase::Ended(outcome) => outcome.word(),
        _ if state.paused.is_some() => "paused",
        Phase::Drafting => "drafting",
        Phase::Negotiating => "negotiating",
        Phase::Awaiting(_) => "paused",
    }
}

fn reason(state: &State) -> Option<String> {
    match (&state.phase, &state.paused) {
        (Phase::Ended(outcome), _) => outcome.reason().map(str::to_owned),
        (_, Some((reason, _))) => Some(format!("paused by its owner: {reason}")),
        _ => None,
    }
}

fn you(state: &State, id: SeatId, now: Timestamp) -> Option<You> {
    let seat = state.seat(id)?;
    Some(You {
        seat: line::seat(state, seat),
        card: seat.card.clone(),
        questions: questions(state, id),
        shares: state
            .shares
            .iter()
            .filter(|share| share.seat == id)
            .map(|share| line::share(share, now))
            .collect(),
    })
}

fn questions(state: &State, seat: SeatId) -> Vec<QuestionView> {
    state.questions.iter().filter(|question| question.seat == seat).filter_map(question).collect()
}

fn question(question: &Question) -> Option<QuestionView> {
    let body = question.body.as_ref()?;
    let (word, ruling, answered) = match &question.state {
        Asked::Open => ("open", None, None),
        Asked::Held(held) => ("relayed", None, held.body.as_ref()),
        Asked::Answered(answered) => ("answered", Some(answered.ruling), answered.body.as_ref()),
    };
    let words = |body: &crate::event::AnswerBody| {
        canon::from_slice::<crate::AnswerInput>(body.body.as_bytes()).ok().map(|input| input.text)
    };
    Some(QuestionView {
        question_id: question.id.clone(),
        seq: question.seq,
        question: body.question.clone(),
        reason: body.reason.clone(),
        reasons: body.reasons.iter().map(|reason| format!("{}: {}", reason.subject, reason.detail)).collect(),
        claims: question.claims.clone(),
        offer_hash: question.offer,
        forced: question.forced,
        state: word,
        ruling,
        answer: answered.and_then(words),
    })
}

fn next_action(state: &State, viewer: Viewer) -> String {
    let Some(own) = viewer.seat() else { return "You may read what this link shows.".to_owned() };
    if state.paused.is_some() && !state.is_ended() {
        return "The room is paused by its owner. Wait until it resumes.".to_owned();
    }
    match &state.phase {
        Phase::Drafting if state.seat(own).is_some_and(|seat| seat.card_hash.is_none()) => {
            "Draft your principal's intent card with them, have them confirm it, then seal it.".to_owned()
        }
        Phase::Drafting => "Your card is sealed. Wait until the others have sealed theirs.".to_owned(),
        Phase::Awaiting(id) => match state.question(id).filter(|question| question.seat == own) {
            Some(asked) if matches!(asked.state, Asked::Held(_)) => {
                format!("The relayed answer to {id} waits for your principal's own confirmation.")
            }
            Some(asked) => match &asked.body {
                Some(body) => format!(
                    "Ask your principal, word for word: {:?} Then wait for the answer to {id}.",
                    body.question
                ),
                None => format!("Wait for your principal's answer to {id}."),
            },
            None => "The room waits for the principal of another seat. Wait.".to_owned(),
        },
        Phase::Negotiating if state.turn != Some(own) => "It is another seat's turn. Wait.".to_owned(),
        Phase::Negotiating if !state.to_review(own).is_empty() => {
            "Your turn: review every claim in claims_to_review, then reply.".to_owned()
        }
        Phase::Negotiating => "Your turn: send an envelope.".to_owned(),
        Phase::Ended(outcome) => match outcome.reason() {
            None => format!("The room has ended: {}. Read the brief.", outcome.word()),
            Some(reason) => format!("The room has ended: {} ({reason}). Read the brief.", outcome.word()),
        },
    }
}
