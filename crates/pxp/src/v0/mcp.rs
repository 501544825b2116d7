//! The room as an agent sees it over MCP (spec 2.5, 2.10), and what it is told to do next.

use super::card::Card;
use super::envelope::{Accepts, Claim, Envelope, Review, Status};
use super::room::{Mode, Phase, Side, State};
use canon::Digest;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct McpView<'a> {
    pub room_id: &'a str,
    pub topic: &'a str,
    pub status: Phase,
    pub you: You<'a>,
    pub counterpart: Counterpart<'a>,
    pub your_turn: bool,
    /// The question waiting for this seat's own principal.
    pub pending_question: Option<&'a str>,
    pub next_action: String,
    pub turn_count: u64,
    pub max_turns: u64,
    pub transcript: Vec<Compact<'a>>,
    pub claims_to_review: Vec<&'a Claim>,
    pub unverified_assumptions: Vec<Assumption<'a>>,
    pub web_view: &'a str,
    pub brief_url: Option<&'a str>,
    /// Of `wait_for_turn` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

#[derive(Debug, Clone, Serialize)]
pub struct You<'a> {
    pub seat: Side,
    pub principal: &'a str,
    pub proxy: Mode,
    pub card_sealed: bool,
    pub card: Option<&'a Card>,
    pub card_hash: Option<Digest>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Counterpart<'a> {
    pub seat: Side,
    pub principal: &'a str,
    pub proxy: String,
    pub card_sealed: bool,
}

/// An envelope as the transcript shows it: what is empty is absent, the reason of an escalation is not shown.
#[derive(Debug, Clone, Serialize)]
pub struct Compact<'a> {
    pub seq: u64,
    pub from: String,
    pub status: Status,
    pub message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub claims: &'a [Claim],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub reviews: &'a [Review],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Offer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<&'a Accepts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Question<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_flags: Option<&'a [String]>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Offer<'a> {
    pub terms: &'a [String],
    pub depends_on: &'a [String],
    pub hash: Option<Digest>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Question<'a> {
    pub question: &'a str,
    pub answer: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Assumption<'a> {
    pub id: &'a str,
    pub by: Side,
    pub text: &'a str,
}

/// `web_view` is the seat's own link, `brief_url` where the brief will be.
pub fn view<'a>(state: &'a State, side: Side, web_view: &'a str, brief_url: &'a str) -> McpView<'a> {
    let (own, other) = (state.seat(side), state.seat(side.other()));
    let unreviewed = state
        .claims
        .iter()
        .filter(|claim| claim.seat == side.other() && !claim.reviews.iter().any(|review| review.by == side));
    let assumed = state.claims.iter().filter(|claim| !claim.verified);
    McpView {
        room_id: &state.id,
        topic: &state.topic,
        status: state.phase,
        you: You {
            seat: side,
            principal: own.principal(),
            proxy: own.mode,
            card_sealed: own.card.is_some(),
            card: own.card.as_ref(),
            card_hash: own.card_hash(),
        },
        counterpart: Counterpart {
            seat: side.other(),
            principal: other.principal(),
            proxy: other.proxy(),
            card_sealed: other.card.is_some(),
        },
        your_turn: your_turn(state, side),
        pending_question: pending(state, side),
        next_action: next_action(state, side),
        turn_count: state.turn_count,
        max_turns: state.max_turns,
        transcript: state.envelopes.iter().map(compact).collect(),
        claims_to_review: unreviewed.map(|claim| &claim.claim).collect(),
        unverified_assumptions: assumed
            .map(|claim| Assumption { id: &claim.claim.id, by: claim.seat, text: &claim.claim.text })
            .collect(),
        web_view,
        brief_url: state.ended().then_some(brief_url),
        timed_out: None,
    }
}

pub fn compact(envelope: &Envelope) -> Compact<'_> {
    let from = &envelope.from;
    let agent = from.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
    Compact {
        seq: envelope.seq,
        from: format!("{} ({}'s proxy{agent})", from.seat, from.principal),
        status: envelope.status,
        message: &envelope.message,
        claims: &envelope.claims,
        reviews: &envelope.reviews,
        proposal: envelope.proposal.as_ref().map(|proposal| Offer {
            terms: &proposal.terms,
            depends_on: &proposal.depends_on,
            hash: envelope.proposal_hash,
        }),
        accepts: envelope.accepts.as_ref(),
        escalation: envelope.escalation.as_ref().map(|escalation| Question {
            question: &escalation.question,
            answer: envelope.answer.as_deref(),
        }),
        protocol_flags: envelope.protocol_flags.as_deref(),
    }
}

fn your_turn(state: &State, side: Side) -> bool {
    state.phase == Phase::Negotiating && state.turn == Some(side)
}

fn pending(state: &State, side: Side) -> Option<&str> {
    state.pending.as_ref().filter(|pending| pending.seat == side).map(|pending| pending.question.as_str())
}

/// One plain instruction for the state the room is in.
pub fn next_action(state: &State, side: Side) -> String {
    let other = state.seat(side.other()).principal();
    match state.phase {
        Phase::Drafting if state.seat(side).card.is_none() => {
            "Agree the intent card with your principal, then seal it with seal_intent_card.".to_owned()
        }
        Phase::Drafting => format!("Your card is sealed. Call wait_for_turn until {other} has sealed a card too."),
        Phase::Paused => match (pending(state, side), &state.pending) {
            (Some(question), _) => format!(
                "Ask your principal exactly this: \"{question}\" Then relay the answer word for word with answer_escalation."
            ),
            (None, Some(_)) => format!("{other} has been asked a question. Call wait_for_turn until it is answered."),
            (None, None) => "The room was interrupted. A person must resume it on its page.".to_owned(),
        },
        Phase::Negotiating if your_turn(state, side) => {
            "It is your turn. Review every claim in claims_to_review against your card, then reply with send_envelope."
                .to_owned()
        }
        Phase::Negotiating => format!("It is the turn of {other}'s proxy. Call wait_for_turn."),
        Phase::Agreed => "The proxies have agreed. Call get_brief and show the brief to your principal.".to_owned(),
        Phase::Stalled if state.turn_count < state.max_turns => {
            "The room ended without agreement: its model budget is spent. Call get_brief.".to_owned()
        }
        Phase::Stalled => "The room ended without agreement: all turns are used. Call get_brief.".to_owned(),
        Phase::Error => "The built-in proxy failed. A person must resume the room on its page.".to_owned(),
    }
}
