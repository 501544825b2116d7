//! Replays a chain and checks every rule that the entries and the payloads at hand can show. A room whose every entry
//! was decided by this crate passes; a forger who can recompute hashes and even sign heads must still obey the rules.

use crate::brief;
use crate::command::Standing;
use crate::decide::{decided, verify};
use crate::envelope::{CommittedInput, Envelope, answer_commitment, question_commitment};
use crate::event::{AcceptedBy, AnswerBody, Body, EnvelopeSent, Event, Fact, PrincipalAnswer, Recorded};
use crate::limit::is_label;
use crate::state::{Asked, OfferStanding, Phase, State};
use crate::wire::{AnswerInput, Cited, Origin, Source, Status};
use crate::{ClaimId, Room, SeatId};
use approvals::{Decided, EvidenceKind};
use canon::Digest;
use env::Timestamp;
use keys::Signature;
use ledger::{Aggregate, Entry, Fault, Head};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a replay has seen.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    pub state: State,
    /// Envelopes whose seat's signature was verified.
    pub signatures: usize,
    /// Principals' statements whose signature was verified.
    pub evidence: usize,
    /// Entries whose payload is not at hand.
    pub withheld: Vec<u64>,
    /// The web origins that passkeys signed for, each with the first entry that has it.
    pub origins: BTreeMap<String, u64>,
    /// Some envelope is withheld: what depends on the transcript was not checked, the brief among it.
    pub partial: bool,
}

/// The reviews of an envelope, of which each has an entry after it.
#[derive(Default)]
struct Open {
    envelope: Option<Arc<Envelope>>,
    told: usize,
}

impl Open {
    /// The one whose entry is next.
    fn next(&self) -> Option<&crate::Review> {
        self.envelope.as_ref()?.reviews.get(self.told)
    }
}

/// Replays entries, which carry the payloads at hand. The fault's place is the entry's number.
pub fn fold(entries: &[Entry]) -> Result<Folded, Fault> {
    let mut prev = Head::EMPTY;
    replay(entries.iter().map(|entry| {
        let event = Event::open(entry, prev)?;
        prev = Head { seq: entry.seq, hash: entry.hash };
        Ok((event, prev))
    }))
}

/// Replays events, each with the head that its entry makes.
pub(super) fn replay(events: impl Iterator<Item = Result<(Event, Head), Fault>>) -> Result<Folded, Fault> {
    let mut folded = Folded::default();
    let mut last = Head::EMPTY;
    let mut open = Open::default();
    for next in events {
        let (event, head) = next?;
        let fault = |code| Fault::new(code, format!("entry {}", head.seq));
        check(&mut folded, &event, &mut open).map_err(fault)?;
        Room::evolve(&mut folded.state, &event, head);
        after(&folded, &event).map_err(fault)?;
        if event.fact.payload().is_some() && event.body.is_none() {
            folded.withheld.push(head.seq);
        }
        for origin in event.proofs().filter_map(|proof| proof.site.as_ref()).flat_map(|site| &site.origins) {
            folded.origins.entry(origin.clone()).or_insert(head.seq);
        }
        last = head;
    }
    if open.next().is_none() {
        Ok(folded)
    } else {
        Err(Fault::new("bad_review", format!("entry {}", last.seq)))
    }
}

/// What must hold before an entry is folded.
fn check(folded: &mut Folded, event: &Event, reviews: &mut Open) -> Result<(), &'static str> {
    let state = &folded.state;
    if state.room.is_none() != matches!(event.fact, Fact::RoomOpened(_)) {
        return Err("bad_order");
    }
    if !matches!(event.fact, Fact::Reviewed(_)) && reviews.next().is_some() {
        return Err("bad_review");
    }
    if state.is_ended() && !outlives(&event.fact) {
        return Err("after_end");
    }
    match &event.fact {
        Fact::CardSealed(data) => {
            if state.phase != Phase::Drafting
                || state.seat(data.seat).is_none_or(|seat| seat.card_hash.is_some())
            {
                return Err("bad_order");
            }
            if let Some(Body::Card(card)) = &event.body {
                if card.hash().ok() != Some(data.card_hash) || card.principal.name != data.principal {
                    return Err("bad_card_hash");
                }
                if card.clause_root().ok() != Some(data.clause_root) {
                    return Err("bad_clause_root");
                }
                labels(card.limits.iter().filter_map(|limit| limit.label.as_deref()))?;
            }
        }
        Fact::EnvelopeSent(data) => {
            if state.phase != Phase::Negotiating || state.turn != Some(data.seat) {
                return Err("bad_turn");
            }
            match &event.body {
                Some(Body::Envelope(recorded)) => {
                    check_envelope(state, data, recorded, folded.partial)?;
                    if check_signature(state, data, recorded)? {
                        folded.signatures += 1;
                    }
                    *reviews = Open { envelope: Some(Arc::clone(&recorded.envelope)), told: 0 };
                }
                _ => folded.partial = true,
            }
        }
        Fact::Reviewed(data) => check_review(folded.partial, data, reviews)?,
        Fact::Escalated(data) => {
            let told = state.envelopes.last().and_then(|envelope| envelope.escalation.as_ref());
            let agrees = told.is_some_and(|told| {
                told.id == data.question_id
                    && told.commitment == data.question_commitment
                    && told.claims == data.claims
                    && told.offer_hash == data.offer_hash
                    && told.forced == data.forced
            });
            if !agrees && !folded.partial {
                return Err("bad_escalation");
            }
            if let Some(Body::Question(body)) = &event.body
                && question_commitment(&body.salt, &body.question, &body.reason).ok()
                    != Some(data.question_commitment)
            {
                return Err("bad_commitment");
            }
        }
        Fact::AnswerRelayed(data) => {
            pending(state, data.seat, &data.question_id)?;
            if let Some(Body::Answer(body)) = &event.body {
                check_commitment(body, data.answer_commitment)?;
            }
        }
        Fact::AnswerDisowned(data) => {
            pending(state, data.seat, &data.question_id)?;
            if let Some(Body::Proof(proof)) = &event.body {
                let question = state.question(&data.question_id).ok_or("bad_answer")?;
                if let Some(ask) = state.confirm_ask(question) {
                    let statement = ask.statement(Decided::Decline, None, &proof.nonce).hash();
                    check_proof(folded, data.seat, proof, statement, event.at)?;
                }
            }
        }
        Fact::PrincipalAnswer(data) => {
            pending(state, data.seat, &data.question_id)?;
            if let Some(Body::Answer(body)) = &event.body {
                check_answer(folded, data, body, event.at)?;
            }
        }
        Fact::ClaimConfirmed(data) => {
            if let (Some(Body::Proof(proof)), Ok(ask)) =
                (&event.body, state.claim_ask(data.seat, &data.claim_id))
            {
                let decided = if data.accept { Decided::Approve } else { Decided::Decline };
                if proof.by != data.by || proof.evidence.kind() != data.evidence {
                    return Err("bad_evidence");
                }
                let statement = ask.statement(decided, None, &proof.nonce).hash();
                check_proof(folded, data.seat, proof, statement, event.at)?;
            }
        }
        Fact::SourceAttached(data) if !data.source.is_https() => return Err("bad_source"),
        Fact::Agreement(data) => {
            let others = state.seats.len().saturating_sub(1);
            let accepted: &[SeatId] = match &data.accepted_by {
                AcceptedBy::One(seat) => std::slice::from_ref(seat),
                AcceptedBy::All(seats) => seats,
            };
            let offer = state.offer(data.offer_hash).filter(|offer| {
                offer.standing == OfferStanding::Open
                    && offer.is_open(event.at)
                    && offer.accepted.len() == others
                    && offer.accepted.iter().map(|one| one.seat).eq(accepted.iter().copied())
                    && offer.proposal_hash == data.proposal_hash
                    && offer.seat == data.proposed_by
                    && offer.seq == data.proposed_seq
            });
            if offer.is_none() && !folded.partial {
                return Err("bad_agreement");
            }
        }
        Fact::TurnLimit(data) => {
            let most = state.room.as_ref().map_or(0, |room| room.policy.max_turns);
            if state.turns < most || data.turns != state.turns {
                return Err("bad_turn_limit");
            }
        }
        Fact::Stalled(data) => {
            let due = state.deadline().is_some_and(|(at, reason)| event.at >= at && reason == data.reason);
            if !due {
                return Err("bad_deadline");
            }
        }
        Fact::Disclosed(data) => {
            let seat = state.seat(data.seat).ok_or("bad_disclosure")?;
            if seat.card_hash != Some(data.card_hash) {
                return Err("bad_disclosure");
            }
            if let Some(Body::Disclosure(shown)) = &event.body {
                let whole = match &shown.card {
                    Some(card) => data.reference.is_none() && card.hash().ok() == Some(data.card_hash),
                    None => true,
                };
                let part = match (&shown.clause, seat.clause_root) {
                    (Some(clause), Some(root)) => {
                        data.reference == Some(clause.reference) && clause.is_of(root).unwrap_or(false)
                    }
                    (None, _) => true,
                    (Some(_), None) => false,
                };
                if !whole || !part || shown.card.is_none() == shown.clause.is_none() {
                    return Err("bad_disclosure");
                }
            }
        }
        Fact::BriefRecorded(data) => {
            let told = match &event.body {
                Some(Body::Brief(told)) => Some(told.as_ref()),
                _ => None,
            };
            // Its payload is its canonical form.
            if told.is_some() && data.payload != Some(data.brief_hash) {
                return Err("bad_brief");
            }
            if state.brief.is_some() {
                return Err("bad_order");
            }
            let computed = brief::compute(state, event.at).ok_or("bad_order")?;
            if computed.outcome != data.outcome {
                return Err("bad_brief");
            }
            let same = || told == Some(&computed) || computed.hash().ok() == Some(data.brief_hash);
            if !folded.partial && !same() {
                return Err("bad_brief");
            }
        }
        _ => {}
    }
    Ok(())
}

/// What must hold once an entry is folded.
fn after(folded: &Folded, event: &Event) -> Result<(), &'static str> {
    let Fact::PrincipalAnswer(data) = &event.fact else { return Ok(()) };
    let Some(card) = folded.state.seat(data.seat).and_then(|seat| seat.card.as_ref()) else { return Ok(()) };
    if card.hash().ok() != Some(data.card_hash) {
        return Err("bad_card_hash");
    }
    if card.clause_root().ok() != Some(data.clause_root) {
        return Err("bad_clause_root");
    }
    Ok(())
}

/// What may follow the end: showing, sharing, credentials, and the brief itself.
const fn outlives(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::BriefRecorded(_)
            | Fact::Disclosed(_)
            | Fact::Shared(_)
            | Fact::Unshared(_)
            | Fact::SeatRotated(_)
            | Fact::RoomResumed(_)
    )
}

fn check_envelope(
    state: &State,
    data: &EnvelopeSent,
    recorded: &Recorded,
    partial: bool,
) -> Result<(), &'static str> {
    let envelope = &recorded.envelope;
    if envelope.hash().ok() != Some(data.envelope_hash) {
        return Err("bad_envelope_hash");
    }
    let seat = state.seat(data.seat).ok_or("bad_envelope")?;
    let seq_follows = partial || data.seq == crate::enforce::next_seq(state);
    let agrees = envelope.seq == data.seq
        && seq_follows
        && envelope.from.seat == data.seat
        && envelope.status == data.status
        && Some(&envelope.room) == state.id()
        && Some(envelope.intent_hash) == seat.card_hash
        && envelope.from.principal == seat.name
        && envelope.from.agent == seat.agent
        && envelope.message == recorded.input.message;
    if !agrees {
        return Err("bad_envelope");
    }
    if !is_as_sent(envelope, &recorded.input) {
        return Err("bad_input");
    }
    if !envelope.claims.iter().filter_map(|claim| claim.source.as_ref()).all(Source::is_https) {
        return Err("bad_source");
    }
    let values = envelope.proposal.iter().flat_map(|proposal| &proposal.values);
    labels(values.map(|value| value.label.as_str()))?;
    check_offer(envelope)?;
    if envelope.status == Status::Agree && !partial {
        let accepts = envelope.accepts.as_ref().ok_or("bad_acceptance")?;
        let offer = accepts.offer_hash.and_then(|hash| state.offer(hash)).ok_or("bad_acceptance")?;
        let exact = offer.standing == OfferStanding::Open
            && offer.seat != data.seat
            && offer.seq == accepts.seq
            && offer.proposal_hash == accepts.proposal_hash
            && recorded.input.accepts == accepts.offer_hash;
        if !exact {
            return Err("bad_acceptance");
        }
    }
    Ok(())
}

/// Whether enforcement alone lies between what the seat sent (and may have signed) and what is recorded: claims get ids
/// and may lose their origin, citations that the card does not have are left out, a question may be forced.
fn is_as_sent(envelope: &Envelope, input: &CommittedInput) -> bool {
    let claims = envelope.claims.len() == input.claims.len()
        && envelope.claims.iter().zip(&input.claims).enumerate().all(|(index, (claim, sent))| {
            claim.id == ClaimId::of_envelope(envelope.from.seat, envelope.seq, index + 1)
                && claim.text == sent.text
                && claim.quote == sent.quote
                && claim.source == sent.source
                && claim.touches == sent.touches
                && (claim.origin == sent.origin
                    || claim.origin == Origin::Assumed
                    || claim.restates.is_some())
        });
    let reviews = envelope.reviews.len() == input.reviews.len()
        && envelope.reviews.iter().zip(&input.reviews).all(|(review, sent)| {
            review.claim_id.as_str() == sent.claim_id
                && review.verdict == sent.verdict
                && review.reason == sent.reason
                && review.touches == sent.touches
        });
    let proposal = match (&envelope.proposal, &input.proposal) {
        (None, None) => true,
        (Some(proposal), Some(sent)) => {
            proposal.terms == sent.terms
                && proposal.values == sent.values
                && are_among(&proposal.authority, &sent.authority)
        }
        _ => false,
    };
    let status = envelope.status == input.status
        || envelope.escalation.as_ref().is_some_and(|escalation| escalation.forced);
    claims && reviews && proposal && status && are_among(&envelope.authority, &input.authority)
}

fn labels<'a>(mut labels: impl Iterator<Item = &'a str>) -> Result<(), &'static str> {
    if labels.all(is_label) { Ok(()) } else { Err("bad_label") }
}

/// Every clause cited was cited for the same term.
fn are_among(cited: &[Cited], sent: &[Cited]) -> bool {
    cited.iter().all(|one| {
        let same = || sent.iter().filter(|other| other.term == one.term);
        one.clauses.iter().all(|clause| same().any(|other| other.clauses.contains(clause)))
    })
}

fn check_offer(envelope: &Envelope) -> Result<(), &'static str> {
    let Some(proposal) = &envelope.proposal else {
        let none = envelope.proposal_hash.is_none() && envelope.offer_hash.is_none();
        return if none { Ok(()) } else { Err("bad_offer_hash") };
    };
    let offer =
        proposal.offer_hash(&envelope.room, envelope.seq, envelope.from.seat, envelope.intent_hash).ok();
    if proposal.proposal_hash().ok() == envelope.proposal_hash
        && offer == envelope.offer_hash
        && offer.is_some()
    {
        Ok(())
    } else {
        Err("bad_offer_hash")
    }
}

/// Whether the envelope was signed; a seat with a key signs every one.
fn check_signature(state: &State, data: &EnvelopeSent, recorded: &Recorded) -> Result<bool, &'static str> {
    let key = state.seat(data.seat).and_then(|seat| seat.key);
    match (key, &recorded.signature) {
        (None, None) if !data.signed => Ok(false),
        (Some(key), Some(signature)) if data.signed => {
            let signature = Signature::from_base64url(signature).map_err(|_| "bad_signature")?;
            let (Some(room), Some(id)) = (state.id(), &recorded.msg_id) else { return Err("bad_signature") };
            let hash = recorded.input.signing_hash(room, data.seat, id).map_err(|_| "bad_signature")?;
            key.verify(hash.as_bytes(), &signature).map_err(|_| "bad_signature")?;
            Ok(true)
        }
        _ => Err("bad_signature"),
    }
}

fn check_review(partial: bool, data: &crate::event::Reviewed, open: &mut Open) -> Result<(), &'static str> {
    let Some(told) = open.next() else {
        return if partial { Ok(()) } else { Err("bad_review") };
    };
    let agrees = told.claim_id == data.claim_id && told.verdict == data.verdict;
    open.told += 1;
    if agrees { Ok(()) } else { Err("bad_review") }
}

fn pending(state: &State, seat: SeatId, id: &crate::QuestionId) -> Result<(), &'static str> {
    match state.pending() {
        Some(question) if question.seat == seat && question.id == *id => Ok(()),
        _ => Err("bad_answer"),
    }
}

fn check_commitment(body: &AnswerBody, commitment: Digest) -> Result<(), &'static str> {
    if answer_commitment(&body.salt, &body.body) == commitment { Ok(()) } else { Err("bad_commitment") }
}

fn check_answer(
    folded: &mut Folded,
    data: &PrincipalAnswer,
    body: &AnswerBody,
    at: Timestamp,
) -> Result<(), &'static str> {
    check_commitment(body, data.answer_commitment)?;
    let input: AnswerInput = canon::from_slice(body.body.as_bytes()).map_err(|_| "bad_answer")?;
    let question = folded.state.question(&data.question_id).ok_or("bad_answer")?.clone();
    let agrees = input.question_id == data.question_id
        && input.ruling == data.ruling
        && input.clears == data.clears
        && input.public_summary == data.public_summary
        && data.clears.iter().all(|claim| question.claims.contains(claim));
    if !agrees {
        return Err("bad_answer");
    }
    labels(input.limits.iter().filter_map(|limit| limit.label.as_deref()))?;
    let proof = body.confirmation.as_ref().unwrap_or(&body.proof);
    if proof.by != data.by || proof.evidence.kind() != data.evidence {
        return Err("bad_evidence");
    }
    let relayed = data.evidence == EvidenceKind::Relayed;
    let standing = match (relayed, &body.confirmation) {
        (true, _) => Standing::Relayed,
        (false, None) => Standing::Direct,
        (false, Some(_)) => Standing::Confirmed,
    };
    let taken = folded.state.room.as_ref().is_some_and(|room| {
        if relayed { !room.policy.holds_relayed() } else { room.policy.evidence.contains(&data.evidence) }
    });
    if data.standing != standing || !taken {
        return Err("bad_evidence");
    }
    let statement = match (&body.confirmation, &question.state) {
        (None, _) => folded
            .state
            .question_ask(&question)
            .map(|ask| ask.statement(decided(data.ruling), Some(&body.body), &proof.nonce).hash()),
        (Some(_), Asked::Held(_)) => folded
            .state
            .confirm_ask(&question)
            .map(|ask| ask.statement(Decided::Approve, None, &proof.nonce).hash()),
        (Some(_), _) => return Err("bad_answer"),
    };
    match statement {
        Some(statement) => check_proof(folded, data.seat, proof, statement, at),
        None => Ok(()),
    }
}

fn check_proof(
    folded: &mut Folded,
    seat: SeatId,
    proof: &crate::Proof,
    statement: Digest,
    at: Timestamp,
) -> Result<(), &'static str> {
    let seat = folded.state.seat(seat).ok_or("bad_evidence")?;
    verify(proof, statement, &seat.principal, at).map_err(|_| "bad_evidence")?;
    if matches!(proof.evidence.kind(), EvidenceKind::Passkey | EvidenceKind::Ed25519) {
        folded.evidence += 1;
    }
    Ok(())
}
