//! The decision brief (spec 2.8): pure, from the state alone.

use super::envelope::{Registered, Verdict};
use super::ledger;
use super::room::{Phase, Side, State, TermAuthority, Via};
use canon::Digest;
use env::Timestamp;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Brief {
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// `null` without a model; absent when stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Option<Vec<TermAuthority>>>,
    pub depends_on: Vec<Registered>,
    pub unverified_dependencies: Vec<Registered>,
    pub unverified_in_record: Vec<Registered>,
    pub challenged: Vec<Registered>,
    pub escalations: Vec<Asked>,
    pub protocol_flags: Vec<Flagged>,
    pub parties: Parties,
    pub turns: usize,
    /// The head after the entry that ended the room.
    pub ledger_head: Digest,
    pub ledger_ok: bool,
    pub generated_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Agreed,
    NoAgreement,
}

#[derive(Debug, Clone, Serialize)]
pub struct Agreement {
    pub terms: Vec<String>,
    pub proposal_hash: Digest,
    pub proposed_by: Side,
    pub proposed_seq: u64,
    pub accepted_by: Side,
    pub accepted_seq: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Asked {
    pub seat: Side,
    pub principal: String,
    pub question: String,
    pub answer: Option<String>,
    pub via: Option<Via>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Flagged {
    pub seq: u64,
    pub seat: Side,
    pub flag: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Parties {
    #[serde(rename = "A")]
    pub a: Party,
    #[serde(rename = "B")]
    pub b: Party,
}

#[derive(Debug, Clone, Serialize)]
pub struct Party {
    pub name: String,
    /// Of the card with its amendments.
    pub card_hash: Option<Digest>,
    pub proxy: String,
}

/// The brief of a room that has ended.
pub fn brief(state: &State) -> Option<Brief> {
    let (generated_at, ledger_head) = state.ended?;
    let accepted = state.envelopes.iter().find_map(|envelope| {
        let accepts = envelope.accepts.as_ref()?;
        let proposed = state.envelopes.iter().find(|earlier| earlier.seq == accepts.seq)?;
        Some((envelope, proposed, proposed.proposal.as_ref()?, accepts.proposal_hash))
    });
    let accepted = accepted.filter(|_| state.phase == Phase::Agreed);
    let depends_on: Vec<Registered> = accepted
        .iter()
        .flat_map(|(_, _, proposal, _)| &proposal.depends_on)
        .filter_map(|id| state.claim(id).cloned())
        .collect();
    let unverified = |claim: &&Registered| !claim.verified;
    let challenged =
        |claim: &&Registered| claim.reviews.iter().any(|review| review.verdict != Verdict::Accept);
    Some(Brief {
        outcome: if accepted.is_some() { Outcome::Agreed } else { Outcome::NoAgreement },
        agreement: accepted.map(|(envelope, proposed, proposal, proposal_hash)| Agreement {
            terms: proposal.terms.clone(),
            proposal_hash,
            proposed_by: proposed.from.seat,
            proposed_seq: proposed.seq,
            accepted_by: envelope.from.seat,
            accepted_seq: envelope.seq,
        }),
        authority: accepted.is_some().then(|| state.authority.clone()),
        unverified_dependencies: depends_on.iter().filter(unverified).cloned().collect(),
        depends_on,
        unverified_in_record: state.claims.iter().filter(unverified).cloned().collect(),
        challenged: state.claims.iter().filter(challenged).cloned().collect(),
        escalations: asked(state),
        protocol_flags: flagged(state),
        parties: Parties { a: party(state, Side::A), b: party(state, Side::B) },
        turns: state.envelopes.len(),
        ledger_head,
        ledger_ok: ledger::verify(&state.ledger).is_whole(),
        generated_at,
    })
}

fn asked(state: &State) -> Vec<Asked> {
    let escalating =
        state.envelopes.iter().filter_map(|envelope| Some((envelope, envelope.escalation.as_ref()?)));
    escalating
        .map(|(envelope, escalation)| Asked {
            seat: envelope.from.seat,
            principal: envelope.from.principal.clone(),
            question: escalation.question.clone(),
            answer: envelope.answer.clone(),
            via: envelope.answer_via,
        })
        .collect()
}

fn flagged(state: &State) -> Vec<Flagged> {
    let flags = state.envelopes.iter().flat_map(|envelope| {
        envelope.protocol_flags.iter().flatten().map(move |flag| (envelope.seq, envelope.from.seat, flag))
    });
    flags.map(|(seq, seat, flag)| Flagged { seq, seat, flag: flag.clone() }).collect()
}

fn party(state: &State, side: Side) -> Party {
    let seat = state.seat(side);
    Party { name: seat.principal().to_owned(), card_hash: seat.card_hash(), proxy: seat.proxy() }
}
