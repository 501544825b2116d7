//! An envelope, held against what enforcement makes of what its seat sent.

use super::{Asking, Expected, Run, Unchecked};
use crate::command::Driver;
use crate::decide::{ending, envelope, follow};
use crate::enforce::{self, Applied, Sight};
use crate::envelope::{CommittedInput, Envelope, Speaker};
use crate::event::{Body, EnvelopeSent, Event, Recorded};
use crate::limit::is_label;
use crate::state::{Phase, State};
use crate::wire::{self, Cited, Source, most};
use crate::{ClaimId, Refusal, Ruling};
use keys::Signature;

impl Run {
    pub(super) fn envelope(&mut self, data: &EnvelopeSent, event: &Event) -> Result<(), &'static str> {
        let state = &self.folded.state;
        if state.phase != Phase::Negotiating || state.turn != Some(data.seat) {
            return Err("bad_turn");
        }
        let seat = state.seat(data.seat).ok_or("bad_envelope")?;
        self.envelopes += 1;
        if data.seq != self.envelopes || (seat.agent.is_none() && seat.driver == Driver::External) {
            return Err("bad_envelope");
        }
        if data.signed != seat.key.is_some() {
            return Err("bad_signature");
        }
        let Some(Body::Envelope(recorded)) = &event.body else {
            self.folded.partial = true;
            return self.leave(Unchecked::Messages);
        };
        check_form(state, data, recorded)?;
        let (told, input) = (&recorded.envelope, &recorded.input);
        if self.folded.partial {
            if !is_as_sent(told, input) {
                return Err("bad_input");
            }
            self.expected.extend(follow(told, None).into_iter().map(Expected::Fact));
            self.expected.extend(told.escalation.clone().map(Expected::Asked));
        } else {
            let sight = Sight { card: seat.card.as_ref(), told: Some(told) };
            let applied = enforce::apply(state, data.seat, sight, input, event.at).map_err(not_taken)?;
            compare(state, told, input, &applied)?;
            self.expected.extend(follow(told, applied.question.as_ref()).into_iter().map(Expected::Fact));
            self.asking = asking(state, sight, applied);
        }
        if check_signature(&self.folded.state, data, recorded)? {
            self.folded.signatures += 1;
        }
        Ok(())
    }

    /// The end that an envelope brings about, once it is folded.
    pub(super) fn expect_end(&mut self) {
        if !self.folded.partial {
            self.expected.extend(ending(&self.folded.state).map(Expected::Fact));
        }
    }
}

/// What the envelope says of itself, and what any input is held to.
fn check_form(state: &State, data: &EnvelopeSent, recorded: &Recorded) -> Result<(), &'static str> {
    let envelope = &recorded.envelope;
    if envelope.hash().ok() != Some(data.envelope_hash) {
        return Err("bad_envelope_hash");
    }
    let seat = state.seat(data.seat).ok_or("bad_envelope")?;
    let agrees = envelope.pxp == "0"
        && envelope.seq == data.seq
        && envelope.from.seat == data.seat
        && envelope.from.speaker == Speaker::Proxy
        && envelope.status == data.status
        && Some(&envelope.room) == state.id()
        && Some(envelope.intent_hash) == seat.card_hash
        && envelope.from.principal == seat.name
        && envelope.from.agent == seat.agent
        && envelope.message == recorded.input.message;
    if !agrees {
        return Err("bad_envelope");
    }
    if !envelope.claims.iter().filter_map(|claim| claim.source.as_ref()).all(Source::is_https) {
        return Err("bad_source");
    }
    let mut values = envelope.proposal.iter().flat_map(|proposal| &proposal.values);
    if !values.all(|value| is_label(&value.label)) {
        return Err("bad_label");
    }
    let named = recorded.msg_id.as_ref().is_none_or(|id| {
        wire::name("/msg_id", id, most::MESSAGE_ID).is_ok()
            && !state.messages.contains_key(&(data.seat, id.clone()))
    });
    if !named || recorded.input.check().is_err() {
        return Err("bad_input");
    }
    Ok(())
}

/// The first difference between what is recorded and what enforcement makes of the input.
fn compare(
    state: &State,
    told: &Envelope,
    input: &CommittedInput,
    applied: &Applied,
) -> Result<(), &'static str> {
    let commitment = match (&input.escalation, &applied.question) {
        (Some(asked), _) => Some(asked.commitment),
        // Its words are in the next entry.
        (None, Some(_)) => Some(told.escalation.as_ref().ok_or("not_enforced")?.commitment),
        (None, None) => None,
    };
    let made = envelope(state, told.from.seat, &input.message, applied, commitment).map_err(not_taken)?;
    let same = [
        (made.status == told.status, "not_enforced"),
        (made.claims == told.claims, "bad_input"),
        (made.reviews == told.reviews, "bad_input"),
        (made.proposal == told.proposal, "bad_input"),
        (made.proposal_hash == told.proposal_hash, "bad_offer_hash"),
        (made.offer_hash == told.offer_hash, "bad_offer_hash"),
        (made.accepts == told.accepts, "bad_acceptance"),
        (made.authority == told.authority, "bad_input"),
        (made.escalation == told.escalation, "bad_escalation"),
        (made.protocol_flags == told.protocol_flags, "bad_flags"),
    ];
    match same.into_iter().find(|(same, _)| !same) {
        None => Ok(()),
        Some((_, code)) => Err(code),
    }
}

/// Why the server would not have taken an envelope.
fn not_taken(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::AcceptsMissing
        | Refusal::OfferUnknown
        | Refusal::OfferOwn
        | Refusal::OfferDraft
        | Refusal::OfferSuperseded
        | Refusal::OfferWithdrawn
        | Refusal::OfferExpired => "bad_acceptance",
        _ => "not_enforced",
    }
}

/// Reasons follow from the card, and from the questions that were allowed before.
fn asking(state: &State, sight: Sight<'_>, applied: Applied) -> Asking {
    let Some(asked) = applied.question else { return Asking::default() };
    let seat = sight.told.map(|told| told.from.seat);
    let known = sight.card.is_some()
        && asked.matter.zip(seat).is_none_or(|(matter, seat)| {
            state.ruled(seat, matter, Ruling::Allow).all(|question| question.body.is_some())
        });
    Asking { words: asked.words, reasons: known.then_some(applied.reasons) }
}

/// What can be said where envelopes before are withheld: whether enforcement alone may lie between what the seat sent and
/// what is recorded.
fn is_as_sent(envelope: &Envelope, input: &CommittedInput) -> bool {
    let claims = envelope.claims.len() == input.claims.len()
        && envelope.claims.iter().zip(&input.claims).enumerate().all(|(index, (claim, sent))| {
            claim.id == ClaimId::of_envelope(envelope.from.seat, envelope.seq, index + 1)
                && claim.text == sent.text
                && claim.quote == sent.quote
                && claim.source == sent.source
                && claim.touches == sent.touches
                && claim.reference == sent.reference.clone().filter(|text| !text.trim().is_empty())
                && (claim.origin == sent.origin
                    || claim.origin == wire::Origin::Assumed
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
        (None, None) => envelope.proposal_hash.is_none() && envelope.offer_hash.is_none(),
        (Some(proposal), Some(sent)) => {
            let offer =
                proposal.offer_hash(&envelope.room, envelope.seq, envelope.from.seat, envelope.intent_hash);
            proposal.terms == sent.terms
                && proposal.values == sent.values
                && are_among(&proposal.authority, &sent.authority)
                && proposal.proposal_hash().ok() == envelope.proposal_hash
                && offer.ok() == envelope.offer_hash
                && envelope.offer_hash.is_some()
        }
        _ => false,
    };
    let accepts = envelope.accepts.as_ref().is_none_or(|accepts| accepts.offer_hash == input.accepts);
    let forced = envelope.escalation.as_ref().is_some_and(|escalation| escalation.forced);
    let status = envelope.status == input.status || forced;
    claims && reviews && proposal && accepts && status && are_among(&envelope.authority, &input.authority)
}

/// Every clause cited was cited for the same term.
fn are_among(cited: &[Cited], sent: &[Cited]) -> bool {
    cited.iter().all(|one| {
        let same = || sent.iter().filter(|other| other.term == one.term);
        one.clauses.iter().all(|clause| same().any(|other| other.clauses.contains(clause)))
    })
}

/// Whether the envelope was signed; a seat with a key signs every one.
fn check_signature(state: &State, data: &EnvelopeSent, recorded: &Recorded) -> Result<bool, &'static str> {
    let key = state.seat(data.seat).and_then(|seat| seat.key);
    match (key, &recorded.signature) {
        (None, None) => Ok(false),
        (Some(key), Some(signature)) => {
            let signature = Signature::from_base64url(signature).map_err(|_| "bad_signature")?;
            let (Some(room), Some(id)) = (state.id(), &recorded.msg_id) else { return Err("bad_signature") };
            let hash = recorded.input.signing_hash(room, data.seat, id).map_err(|_| "bad_signature")?;
            key.verify(hash.as_bytes(), &signature).map_err(|_| "bad_signature")?;
            Ok(true)
        }
        _ => Err("bad_signature"),
    }
}
