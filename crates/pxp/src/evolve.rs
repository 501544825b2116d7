//! Folds one entry into a room. Total: an entry that does not fit changes what it can and panics on nothing; the rules
//! are `decide`'s, and a verifier replays them through [`crate::bundle`].

use crate::command::Standing;
use crate::envelope::{Envelope, Speaker};
use crate::event::{AcceptedBy, AgentJoined, Body, Escalated, Event, Fact, PrincipalAnswer, RoomOpened};
use crate::state::{
    Acceptance, Agreement, Answered, Asked, At, Claim, ClaimReview, Disclosure, HeldAnswer, Left, Message,
    Offer, OfferStanding, Opened, Outcome, Phase, Principal, Question, RecordedBrief, Seat, Settled,
    ShareLink, State,
};
use crate::wire::{AnswerInput, Origin, Ruling, Status, Verdict};
use crate::{Amendment, ClaimId, QuestionId, SeatId};
use canon::Digest;
use env::Timestamp;
use ledger::Head;
use std::sync::Arc;

pub(crate) fn evolve(state: &mut State, event: &Event, at: Head) {
    state.head = At(at);
    state.at = Some(event.at);
    let body = event.body.as_ref();
    match &event.fact {
        Fact::RoomOpened(data) => opened(state, data, event.at),
        Fact::AgentJoined(data) => joined(state, data),
        Fact::PrincipalEnrolled(data) => {
            if let Some(seat) = seat_mut(state, data.seat) {
                seat.principal.audience = Some(data.audience.clone());
                seat.principal.link_used = true;
                seat.principal.secret = data.secret_hash;
                seat.principal.passkey = data.passkey.clone();
                seat.principal.key = data.key;
            }
        }
        Fact::CardSealed(data) => {
            if let Some(seat) = seat_mut(state, data.seat) {
                seat.name.clone_from(&data.principal);
                seat.card_hash = Some(data.card_hash);
                seat.clause_root = Some(data.clause_root);
                seat.via = Some(data.via);
                seat.card = match body {
                    Some(Body::Card(card)) => Some(card.as_ref().clone()),
                    _ => None,
                };
            }
            if !state.seats.is_empty() && state.seats.iter().all(|seat| seat.card_hash.is_some()) {
                state.phase = Phase::Negotiating;
                state.turn = Some(SeatId::A);
                wait(state, event.at);
            }
        }
        Fact::CardSuperseded(data) => {
            if let Some(seat) = seat_mut(state, data.seat) {
                seat.card_hash = None;
                seat.clause_root = None;
                seat.card = None;
            }
        }
        Fact::EnvelopeSent(data) => {
            if let Some(Body::Envelope(recorded)) = body {
                sent(state, &recorded.envelope, event.at);
                state.recorded.push(at.seq);
                if let Some(id) = &recorded.msg_id {
                    let message = Message { seq: data.seq, input: Some(Arc::clone(&recorded.input)) };
                    state.messages.insert((data.seat, id.clone()), message);
                }
            } else {
                moved_on(state, data.seat, data.status, event.at);
            }
        }
        // The envelope has told already.
        Fact::Reviewed(_) => {}
        Fact::Escalated(data) => escalated(state, data, body, event.at),
        Fact::AnswerRelayed(data) => {
            let held = HeldAnswer {
                commitment: data.answer_commitment,
                agent: data.agent.clone(),
                body: answer_body(body),
            };
            if let Some(question) = question_mut(state, &data.question_id) {
                question.state = Asked::Held(Box::new(held));
            }
        }
        Fact::AnswerDisowned(data) => {
            if let Some(question) = question_mut(state, &data.question_id) {
                question.state = Asked::Open;
            }
        }
        Fact::PrincipalAnswer(data) => answered(state, data, body, event.at),
        Fact::ClaimConfirmed(data) => {
            let settled = Settled { seat: data.seat, accept: data.accept, evidence: data.evidence };
            if let Some(claim) = claim_mut(state, &data.claim_id) {
                claim.verified = data.accept;
                claim.settled = Some(settled);
            }
        }
        Fact::SourceAttached(data) => {
            if let Some(claim) = claim_mut(state, &data.claim_id) {
                claim.source = Some(data.source.clone());
                if claim.settled.as_ref().is_none_or(|settled| settled.accept) {
                    claim.verified = true;
                }
            }
        }
        Fact::OfferWithdrawn(data) => stand(state, data.offer_hash, OfferStanding::Withdrawn),
        Fact::OfferExpired(data) => stand(state, data.offer_hash, OfferStanding::Expired),
        Fact::Agreement(data) => {
            stand(state, data.offer_hash, OfferStanding::Agreed);
            state.agreement = Some(Agreement {
                offer_hash: data.offer_hash,
                proposal_hash: data.proposal_hash,
                proposed_by: data.proposed_by,
                proposed_seq: data.proposed_seq,
                accepted_by: match &data.accepted_by {
                    AcceptedBy::One(seat) => vec![*seat],
                    AcceptedBy::All(seats) => seats.clone(),
                },
                at: event.at,
            });
            end(state, Outcome::Agreed);
        }
        Fact::TurnLimit(_) => end(state, Outcome::TurnsSpent),
        Fact::Stalled(data) => end(state, Outcome::Stalled(data.reason)),
        Fact::Withdrawn(data) => {
            state.left =
                Some(Left { seat: data.seat, by_principal: data.by_principal, reason: data.reason.clone() });
            end(state, Outcome::Withdrawn);
        }
        Fact::BriefRecorded(data) => {
            let brief = match body {
                Some(Body::Brief(brief)) => Some(brief.as_ref().clone()),
                _ => None,
            };
            state.brief = Some(RecordedBrief { hash: data.brief_hash, at: event.at, brief });
        }
        Fact::Disclosed(data) => {
            let (card, clause) = match body {
                Some(Body::Disclosure(shown)) => (shown.card.clone(), shown.clause.clone()),
                _ => (None, None),
            };
            let discloser = state.seat(data.seat);
            state.disclosures.push(Disclosure {
                from: data.seat,
                to: data.to,
                at: event.at,
                card_hash: discloser.and_then(|seat| seat.card_hash).unwrap_or(Digest::ZERO),
                clause_root: discloser.and_then(|seat| seat.clause_root),
                card,
                clause,
            });
        }
        Fact::Shared(data) => state.shares.push(ShareLink {
            id: data.id.clone(),
            seat: data.seat,
            scope: data.scope,
            secret: data.secret_hash,
            expires_at: data.expires_at,
            revoked: false,
        }),
        Fact::Unshared(data) => {
            if let Some(share) = state.shares.iter_mut().find(|share| share.id == data.id) {
                share.revoked = true;
            }
        }
        Fact::SeatRotated(data) => {
            if let Some(seat) = seat_mut(state, data.seat) {
                seat.secret = Some(data.secret_hash);
            }
        }
        Fact::RoomPaused(data) => state.paused = Some((data.reason.clone(), event.at)),
        Fact::RoomResumed(_) => {
            let stopped = state.paused.take();
            // The time a room was paused is nobody's delay; the time before it still is.
            if let (Some(since), Some((_, stopped))) = (state.counted_since, stopped) {
                state.counted_since = Some(since + event.at.since(stopped));
                state.waiting_since = Some(event.at);
            }
        }
    }
}

fn opened(state: &mut State, data: &RoomOpened, at: Timestamp) {
    state.room = Some(Opened {
        id: data.room.clone(),
        topic: data.topic.clone(),
        policy: data.policy.clone(),
        opener: data.opener.clone(),
        at,
    });
    state.seats = data
        .seats
        .iter()
        .map(|planned| Seat {
            id: planned.seat,
            name: planned.name.clone(),
            planned: planned.name.clone(),
            driver: planned.driver,
            agent: None,
            label_changes: 0,
            invite: planned.invite_hash,
            invite_used: false,
            secret: None,
            key: None,
            principal: Principal { audience: planned.audience.clone(), ..Principal::default() },
            card_hash: None,
            clause_root: None,
            via: None,
            reviewed: 0,
            card: None,
        })
        .collect();
}

fn joined(state: &mut State, data: &AgentJoined) {
    let Some(seat) = seat_mut(state, data.seat) else { return };
    let first = seat.agent.is_none();
    seat.agent = Some(data.agent.clone());
    if !first {
        seat.label_changes += 1;
    } else {
        seat.invite_used = true;
        seat.secret = data.secret_hash;
        seat.key = data.key;
        if data.link_hash.is_some() {
            seat.principal.link = data.link_hash;
        }
    }
}

fn sent(state: &mut State, envelope: &Arc<Envelope>, at: Timestamp) {
    let (seat, seq) = (envelope.from.seat, envelope.seq);
    for claim in &envelope.claims {
        said(
            state,
            Claim {
                id: claim.id.clone(),
                seat,
                seq,
                speaker: Speaker::Proxy,
                text: claim.text.clone(),
                origin: claim.origin,
                reference: claim.reference.clone(),
                source: claim.source.clone(),
                touches: claim.touches.clone(),
                restates: claim.restates.clone(),
                verified: claim.origin == Origin::Stated || claim.source.is_some(),
                reviews: Vec::new(),
                settled: None,
            },
        );
    }
    for review in &envelope.reviews {
        let Some(at) = state.claims.iter().rposition(|claim| claim.id == review.claim_id) else { continue };
        if review.verdict != Verdict::Accept {
            Arc::make_mut(&mut state.said).disputed.insert(at);
        }
        if let Some(claim) = state.claims.get_mut(at) {
            claim.reviews.push(ClaimReview {
                by: seat,
                verdict: review.verdict,
                reason: review.reason.clone(),
                seq,
                touches: review.touches.clone(),
                cleared: false,
            });
        }
    }
    offered(state, envelope);
    if let (Status::Agree, Some(accepts)) = (envelope.status, &envelope.accepts) {
        // One word at a time: accepting an offer lets go of another.
        for offer in &mut state.offers {
            offer.accepted.retain(|one| one.seat != seat);
            if Some(offer.hash) == accepts.offer_hash {
                offer.accepted.push(Acceptance { seat, seq, authority: envelope.authority.clone() });
            }
        }
    }
    state.envelopes.push(Arc::clone(envelope));
    // What is no question leaves nothing of the others without a review (W-23).
    let claims = state.claims.len();
    if let Some(seat) = seat_mut(state, seat).filter(|_| envelope.status != Status::Escalate) {
        seat.reviewed = claims;
    }
    moved_on(state, seat, envelope.status, at);
}

fn said(state: &mut State, claim: Claim) {
    Arc::make_mut(&mut state.said).claim(state.claims.len(), &claim.text);
    state.claims.push(claim);
}

fn offered(state: &mut State, envelope: &Envelope) {
    let seat = envelope.from.seat;
    let (Some(proposal), Some(hash), Some(proposal_hash)) =
        (&envelope.proposal, envelope.offer_hash, envelope.proposal_hash)
    else {
        return;
    };
    let draft = envelope.status == Status::Escalate;
    if !draft {
        for offer in &mut state.offers {
            offer.accepted.retain(|one| one.seat != seat);
            if offer.seat == seat && offer.standing == OfferStanding::Open {
                offer.standing = OfferStanding::Superseded;
            }
        }
    }
    if !proposal.values.is_empty() {
        let said = Arc::make_mut(&mut state.said);
        proposal.values.iter().for_each(|value| said.value(value));
    }
    state.offers.push(Offer {
        hash,
        proposal_hash,
        matter: proposal.matter(seat).unwrap_or(Digest::ZERO),
        seq: envelope.seq,
        seat,
        terms: proposal.terms.clone(),
        depends_on: proposal.depends_on.clone(),
        values: proposal.values.clone(),
        authority: proposal.authority.clone(),
        expires_at: proposal.expires_at,
        standing: if draft { OfferStanding::Draft } else { OfferStanding::Open },
        accepted: Vec::new(),
    });
}

/// An escalation keeps the turn and is none; anything else passes it on.
fn moved_on(state: &mut State, seat: SeatId, status: Status, at: Timestamp) {
    wait(state, at);
    if status != Status::Escalate {
        state.turns = state.turns.saturating_add(1);
        let next = if seat.index() + 1 < state.seats.len() { seat.index() + 1 } else { 0 };
        state.turn = SeatId::at(next);
    }
}

fn escalated(state: &mut State, data: &Escalated, body: Option<&Body>, at: Timestamp) {
    state.phase = Phase::Awaiting(data.question_id.clone());
    wait(state, at);
    state.questions.push(Question {
        id: data.question_id.clone(),
        seat: data.seat,
        seq: data.seq,
        commitment: data.question_commitment,
        claims: data.claims.clone(),
        offer: data.offer_hash,
        matter: data.matter,
        forced: data.forced,
        asked_at: at,
        intent_hash: state.seat(data.seat).and_then(|seat| seat.card_hash).unwrap_or(Digest::ZERO),
        body: match body {
            Some(Body::Question(question)) => Some(question.as_ref().clone()),
            _ => None,
        },
        state: Asked::Open,
    });
}

fn answered(state: &mut State, data: &PrincipalAnswer, body: Option<&Body>, at: Timestamp) {
    let body = answer_body(body);
    let input = body.as_ref().and_then(|body| canon::from_slice::<AnswerInput>(body.body.as_bytes()).ok());
    let amendment = state
        .questions
        .iter()
        .filter(|question| question.seat == data.seat && matches!(question.state, Asked::Answered(_)))
        .count();
    let Some(question) = question_mut(state, &data.question_id) else { return };
    let (seq, words) = (question.seq, question.body.as_ref().map(|body| body.question.clone()));
    question.state = Asked::Answered(Box::new(Answered {
        ruling: data.ruling,
        clears: data.clears.clone(),
        public_summary: data.public_summary.clone(),
        standing: data.standing,
        evidence: data.evidence,
        by: data.by.clone(),
        via: data.via,
        at,
        amendment,
        body,
    }));
    for claim in data.clears.iter().filter(|_| data.ruling == Ruling::Allow) {
        if let Some(claim) = claim_mut(state, claim) {
            for review in claim.reviews.iter_mut().filter(|review| review.by == data.seat) {
                review.cleared = true;
            }
        }
    }
    if let Some(seat) = seat_mut(state, data.seat) {
        seat.card_hash = Some(data.card_hash);
        seat.clause_root = Some(data.clause_root);
        seat.card = match (&seat.card, words, input) {
            (Some(card), Some(question), Some(input)) => {
                card.amended(Amendment { question, answer: input.text, at }, &input.limits).ok()
            }
            _ => None,
        };
    }
    let id = ClaimId::of_answer(data.seat, &data.question_id);
    said(state, answer_claim(id, data, seq, amendment));
    state.phase = Phase::Negotiating;
    wait(state, at);
}

/// A principal's answer as a `stated` claim (seed section 5, D26). Others read the ruling and what the principal chose
/// to say of it; the words are in the card.
fn answer_claim(id: ClaimId, data: &PrincipalAnswer, seq: u64, amendment: usize) -> Claim {
    let ruling = match data.ruling {
        Ruling::Allow => "allowed what was asked",
        Ruling::Deny => "denied what was asked",
        Ruling::Amend => "gave new instructions",
    };
    let text = data
        .public_summary
        .clone()
        .unwrap_or_else(|| format!("The principal of seat {} {ruling} in {}.", data.seat, data.question_id));
    Claim {
        id,
        seat: data.seat,
        seq,
        speaker: Speaker::Principal,
        text,
        origin: Origin::Stated,
        reference: Some(format!("amendment[{amendment}]")),
        source: None,
        touches: Vec::new(),
        restates: None,
        verified: data.standing != Standing::Relayed,
        reviews: Vec::new(),
        settled: None,
    }
}

/// What waits, waits anew.
fn wait(state: &mut State, at: Timestamp) {
    (state.waiting_since, state.counted_since) = (Some(at), Some(at));
}

fn end(state: &mut State, outcome: Outcome) {
    state.phase = Phase::Ended(outcome);
    (state.waiting_since, state.counted_since) = (None, None);
    if !matches!(outcome, Outcome::Stalled(_)) {
        state.turn = None;
    }
}

fn stand(state: &mut State, hash: Digest, standing: OfferStanding) {
    if let Some(offer) = state.offers.iter_mut().find(|offer| offer.hash == hash) {
        offer.standing = standing;
    }
}

fn answer_body(body: Option<&Body>) -> Option<crate::event::AnswerBody> {
    match body {
        Some(Body::Answer(answer)) => Some(answer.as_ref().clone()),
        _ => None,
    }
}

fn seat_mut(state: &mut State, id: SeatId) -> Option<&mut Seat> {
    state.seats.get_mut(id.index())
}

/// Searched from the end: what is reviewed was said just before.
fn claim_mut<'a>(state: &'a mut State, id: &ClaimId) -> Option<&'a mut Claim> {
    state.claims.iter_mut().rev().find(|claim| claim.id == *id)
}

fn question_mut<'a>(state: &'a mut State, id: &QuestionId) -> Option<&'a mut Question> {
    state.questions.iter_mut().find(|question| question.id == *id)
}
