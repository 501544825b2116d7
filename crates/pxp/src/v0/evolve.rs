//! How an entry changes a room.

use super::decide::{PROXY_FAILED, amended};
use super::demo;
use super::envelope::{Envelope, Landed, Status};
use super::event::{Body, Event, Fact};
use super::ledger::LedgerEntry;
use super::room::{Mode, Pending, Phase, Seat, Side, State};
use canon::{Digest, Value};
use ledger::Head;

/// What is shown of a failed proxy, whatever the model said.
pub const FAILED_TEXT: &str = "The built-in proxy could not take its turn. Resume the room to try again.";
/// What is shown of a failure this version does not know.
pub const UNKNOWN_TEXT: &str = "The room stopped on an error. Resume the room to try again.";

pub(super) fn evolve(state: &mut State, event: &Event, at: Head) {
    record(state, event, at);
    state.last_at = Some(event.at);
    // Once anything private is erased the room is gone; a draft or a map alone does not matter.
    let whole = event.body.is_some()
        || !matches!(
            event.fact,
            Fact::RoomOpened(_) | Fact::CardSealed(_) | Fact::Sent(_) | Fact::Answered(_)
        );
    if !whole || state.gone {
        state.gone = true;
        return;
    }
    match (&event.fact, &event.body) {
        (Fact::RoomOpened(opened), Some(Body::Setup(setup))) => {
            let ([name_a, name_b], [a, b], [mode_a, mode_b]) = (&setup.names, setup.tokens, setup.modes);
            state.id.clone_from(&setup.id);
            state.topic.clone_from(&opened.topic);
            state.demo = setup.demo;
            state.max_turns = setup.max_turns;
            state.owner.clone_from(&setup.owner);
            state.created_at = Some(event.at);
            state.seats = Some([Seat::new(name_a.clone(), a, mode_a), Seat::new(name_b.clone(), b, mode_b)]);
        }
        (Fact::AgentJoined(joined), _) => {
            if let Some(seat) = state.seat_mut(joined.seat) {
                seat.mode = Mode::External;
                seat.agent = Some(joined.agent.clone());
                seat.labels = seat.labels.saturating_add(1);
            }
        }
        (Fact::CardSealed(sealed), Some(Body::Card(card))) => {
            if let Some(seat) = state.seat_mut(sealed.seat) {
                seat.card = Some((**card).clone());
                seat.sealed_via = Some(sealed.via);
            }
            if Side::BOTH.iter().all(|side| state.seat(*side).card.is_some()) {
                state.phase = Phase::Negotiating;
                state.turn = Some(Side::A);
            }
        }
        (Fact::Sent(_), Some(Body::Envelope(envelope))) => sent(state, envelope),
        (Fact::Answered(answered), Some(Body::Text(answer))) => {
            let Some(pending) = state.pending.take() else { return };
            let card = amended(state, answered.seat, &pending.question, answer, event.at);
            if let Some(seat) = state.seat_mut(answered.seat) {
                seat.card = card;
            }
            if let Some(asked) = state.envelopes.iter_mut().find(|envelope| envelope.seq == pending.seq) {
                asked.answer = Some(answer.clone());
                asked.answer_via = Some(answered.via);
            }
            state.phase = Phase::Negotiating;
        }
        (Fact::Agreed(_), _) => end(state, event, at, Phase::Agreed),
        (Fact::TurnLimit(_) | Fact::BudgetSpent(_), _) => end(state, event, at, Phase::Stalled),
        (Fact::Drafted(drafted), body) => {
            if let Some(seat) = state.seat_mut(drafted.seat) {
                seat.drafts = seat.drafts.saturating_add(1);
                if let Some(Body::Text(text)) = body {
                    seat.draft_text.clone_from(text);
                }
            }
        }
        (Fact::ProxyCalled(called), _) => {
            state.in_flight = Some(called.seat);
            state.calls = counted(&called.calls);
        }
        (Fact::AuthorityCalled(called), _) => state.calls = counted(&called.calls),
        (Fact::ProxyFailed(failed), _) => {
            state.in_flight = None;
            state.phase = Phase::Error;
            state.error = Some(if failed.error == PROXY_FAILED { FAILED_TEXT } else { UNKNOWN_TEXT });
        }
        (Fact::ProxyInterrupted(_), _) => {
            state.in_flight = None;
            state.phase = Phase::Paused;
            state.interrupted = true;
        }
        (Fact::Resumed(_), _) => {
            state.phase = Phase::Negotiating;
            state.interrupted = false;
            state.error = None;
        }
        (Fact::AuthorityMapped(_), Some(Body::Authority(map))) => state.authority = Some(map.clone()),
        (Fact::Evicted(_), _) => state.gone = true,
        (Fact::Escalated(_), _) => {}
        // A body is read after its fact, so none else comes together.
        _ => {}
    }
}

fn sent(state: &mut State, envelope: &Envelope) {
    let side = envelope.from.seat;
    for claim in &envelope.claims {
        state.claims.push(claim.register(side, envelope.seq));
    }
    for review in &envelope.reviews {
        if let Some(claim) = state.claims.iter_mut().find(|claim| claim.claim.id == review.claim_id) {
            claim.reviews.push(Landed {
                by: side,
                verdict: review.verdict,
                reason: review.reason.clone(),
                seq: envelope.seq,
            });
        }
    }
    state.turn_count = envelope.seq;
    state.in_flight = None;
    match (envelope.status, &envelope.escalation) {
        (Status::Escalate, Some(escalation)) => {
            state.phase = Phase::Paused;
            state.pending = Some(Pending {
                seat: side,
                seq: envelope.seq,
                question: escalation.question.clone(),
                reason: escalation.reason.clone(),
                options: state.demo.then(|| demo::OPTIONS.iter().map(|&option| option.to_owned()).collect()),
            });
        }
        (Status::Agree, _) => state.turn = None,
        (Status::Continue | Status::Escalate, _) => state.turn = Some(side.other()),
    }
    state.envelopes.push(envelope.clone());
}

fn end(state: &mut State, event: &Event, at: Head, phase: Phase) {
    state.phase = phase;
    state.turn = None;
    state.in_flight = None;
    state.interrupted = false;
    state.error = None;
    state.pending = None;
    state.ended = Some((event.at, at.hash));
}

fn record(state: &mut State, event: &Event, at: Head) {
    let prev = state.ledger.last().map_or(Digest::ZERO, |last| last.hash);
    // INVARIANT: what was sealed or opened has a canonical form.
    let Ok(data) = event.fact.data() else { return };
    let kind = event.fact.kind().to_owned();
    state.ledger.push(LedgerEntry { n: at.seq, kind, at: event.at, data, prev, hash: at.hash });
}

fn counted(calls: &Value<'_>) -> u64 {
    calls.as_u64().unwrap_or(u64::MAX)
}
