//! Replays a chain: each entry is judged as the server judged it, from the room before it and the payloads at hand. What
//! `decide` would not have recorded is refused, also where a forger recomputes hashes and signs heads.

mod envelope;

use crate::brief;
use crate::decide::may_record;
use crate::envelope::{Escalation, answer_commitment, question_commitment};
use crate::event::{Body, Disclosed, Escalated, Event, Fact, Reason};
use crate::state::{Phase, State};
use crate::{QuestionId, Refusal, Room, SeatId, wire};
use canon::Digest;
use ledger::{Aggregate, Entry, Fault, Head};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

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
    /// What could not be checked, because it is withheld or rests on what is.
    pub unchecked: BTreeSet<Unchecked>,
}

/// A part of a room that a replay could not check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unchecked {
    /// Its words were not computed again.
    Brief,
    Agreement,
    /// What was said, offered, reviewed and accepted.
    Messages,
    /// Messages of the seat were not held against its clauses and limits.
    Card(SeatId),
    Questions(SeatId),
    /// Answers, or whether they answer what was asked.
    Answers(SeatId),
    Confirmations(SeatId),
    Disclosures(SeatId),
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, seat) = match self {
            Self::Brief => return f.write_str("brief"),
            Self::Agreement => return f.write_str("agreement"),
            Self::Messages => return f.write_str("messages"),
            Self::Card(seat) => ("card", seat),
            Self::Questions(seat) => ("questions", seat),
            Self::Answers(seat) => ("answers", seat),
            Self::Confirmations(seat) => ("confirmations", seat),
            Self::Disclosures(seat) => ("disclosures", seat),
        };
        write!(f, "{what} of seat {seat}")
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
    let mut run = Run::default();
    let mut last = Head::EMPTY;
    for next in events {
        let (event, head) = next?;
        let fault = |code| Fault::new(code, format!("entry {}", head.seq));
        run.check(&event).map_err(fault)?;
        Room::evolve(&mut run.folded.state, &event, head);
        run.expect(&event);
        let folded = &mut run.folded;
        if event.fact.payload().is_some() && event.body.is_none() {
            folded.withheld.push(head.seq);
        }
        for origin in event.proofs().filter_map(|proof| proof.site.as_ref()).flat_map(|site| &site.origins) {
            folded.origins.entry(origin.clone()).or_insert(head.seq);
        }
        last = head;
    }
    match run.expected.front() {
        None => Ok(run.folded),
        // What belongs to one append was cut.
        Some(expected) => Err(Fault::new(expected.code(), format!("entry {}", last.seq))),
    }
}

/// A replay under way.
#[derive(Default)]
struct Run {
    folded: Folded,
    /// What must come next, in the same append.
    expected: VecDeque<Expected>,
    /// Envelopes so far, withheld ones among them.
    envelopes: u64,
    asking: Asking,
}

/// What an envelope makes the server ask, as far as it follows from what is at hand.
#[derive(Default)]
struct Asking {
    /// The server's own words.
    words: Option<String>,
    reasons: Option<Vec<Reason>>,
}

/// An entry that an append must go on with.
enum Expected {
    /// Exactly this, its private part aside.
    Fact(Fact),
    /// The question of this escalation, where what it is about was not computed.
    Asked(Escalation),
    Joined(SeatId),
    Sealed(SeatId),
    Brief,
}

impl Expected {
    fn is(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (Self::Fact(expected), fact) => {
                let mut expected = expected.clone();
                if let Some(payload) = fact.payload() {
                    expected.name_payload(payload);
                }
                expected == *fact
            }
            (Self::Asked(told), Fact::Escalated(data)) => {
                told.id == data.question_id
                    && told.commitment == data.question_commitment
                    && told.claims == data.claims
                    && told.offer_hash == data.offer_hash
                    && told.forced == data.forced
            }
            (Self::Joined(seat), Fact::AgentJoined(data)) => data.seat == *seat,
            (Self::Sealed(seat), Fact::CardSealed(data)) => data.seat == *seat,
            (Self::Brief, Fact::BriefRecorded(_)) => true,
            _ => false,
        }
    }

    const fn code(&self) -> &'static str {
        match self {
            Self::Fact(fact) => brought_about(fact),
            Self::Asked(_) => "bad_escalation",
            Self::Joined(_) => "bad_join",
            Self::Sealed(_) => "bad_order",
            Self::Brief => "bad_brief",
        }
    }
}

/// The code of what an envelope or an end brings about; empty for what anybody does.
const fn brought_about(fact: &Fact) -> &'static str {
    match fact {
        Fact::Reviewed(_) => "bad_review",
        Fact::Escalated(_) => "bad_escalation",
        Fact::Agreement(_) => "bad_agreement",
        Fact::TurnLimit(_) => "bad_turn_limit",
        Fact::BriefRecorded(_) => "bad_brief",
        _ => "",
    }
}

impl Run {
    /// What must hold before an entry is folded.
    fn check(&mut self, event: &Event) -> Result<(), &'static str> {
        let state = &self.folded.state;
        if event.fact.payload().is_some() != event.fact.is_private() {
            return Err("bad_payload");
        }
        if state.at.is_some_and(|last| event.at < last) {
            return Err("bad_time");
        }
        match self.expected.pop_front() {
            Some(expected) if !expected.is(&event.fact) => return Err(expected.code()),
            Some(_) if state.at != Some(event.at) => return Err("bad_time"),
            Some(_) => {}
            None => unasked(state, &event.fact, self.folded.partial)?,
        }
        if let (Some(Body::Answer(body)), Some(commitment)) = (&event.body, commitment(&event.fact))
            && answer_commitment(&body.salt, &body.body) != commitment
        {
            return Err("bad_commitment");
        }
        let may = may_record(state, &event.fact, event.body.as_ref(), event.at);
        if let Err(refusal) = &may {
            // A claim or an offer of a message that is withheld is not known here.
            let unknown = match event.fact {
                Fact::ClaimConfirmed(_) | Fact::SourceAttached(_) => {
                    matches!(refusal, Refusal::UnknownClaim { .. })
                }
                _ => matches!(refusal, Refusal::OfferUnknown),
            };
            if !(self.folded.partial && unknown) {
                return Err(code(&event.fact, refusal));
            }
        }
        match &event.fact {
            Fact::CardSealed(data) => {
                let Some(Body::Card(card)) = &event.body else {
                    return self.leave(Unchecked::Card(data.seat));
                };
                if card.hash().ok() != Some(data.card_hash) || card.principal.name != data.principal {
                    return Err("bad_card_hash");
                }
                if card.clause_root().ok() != Some(data.clause_root) {
                    return Err("bad_clause_root");
                }
                let whole = card.pxp == "0" && card.amendments.is_empty() && card.salt.is_some();
                match card.check() {
                    Ok(()) if whole => Ok(()),
                    Err(Refusal::LabelSuspicious { .. }) => Err("bad_label"),
                    _ => Err("bad_card"),
                }
            }
            Fact::EnvelopeSent(data) => self.envelope(data, event),
            Fact::Escalated(data) => self.escalated(data, event.body.as_ref()),
            Fact::AnswerRelayed(data) => self.answered(data.seat, &data.question_id, event),
            Fact::AnswerDisowned(data) => self.answered(data.seat, &data.question_id, event),
            Fact::PrincipalAnswer(data) => self.answered(data.seat, &data.question_id, event),
            Fact::ClaimConfirmed(data) => {
                if may.is_err() || event.body.is_none() {
                    return self.leave(Unchecked::Confirmations(data.seat));
                }
                self.folded.evidence += event.proofs().filter(|proof| proof.signs()).count();
                Ok(())
            }
            Fact::Agreement(_) if self.folded.partial => self.leave(Unchecked::Agreement),
            Fact::Disclosed(data) => {
                let Some(Body::Disclosure(shown)) = &event.body else {
                    return self.leave(Unchecked::Disclosures(data.seat));
                };
                disclosed(state, data, shown)
            }
            Fact::BriefRecorded(data) => {
                if let Some(Body::Brief(told)) = &event.body
                    && told.hash().ok() != Some(data.brief_hash)
                {
                    return Err("bad_brief");
                }
                let computed = brief::compute(state, event.at).ok_or("bad_order")?;
                if computed.outcome != data.outcome {
                    return Err("bad_brief");
                }
                if self.folded.partial {
                    return self.leave(Unchecked::Brief);
                }
                if computed.hash().ok() == Some(data.brief_hash) { Ok(()) } else { Err("bad_brief") }
            }
            _ => Ok(()),
        }
    }

    /// What must come next, once an entry is folded.
    fn expect(&mut self, event: &Event) {
        let state = &self.folded.state;
        match &event.fact {
            Fact::RoomOpened(_) => self.expected.push_back(Expected::Joined(SeatId::A)),
            // Who is known before any agent has joined took the seat with the invite.
            Fact::PrincipalEnrolled(data)
                if state.seat(data.seat).is_some_and(|seat| seat.agent.is_none()) =>
            {
                self.expected.push_back(Expected::Joined(data.seat));
            }
            Fact::EnvelopeSent(_) => self.expect_end(),
            Fact::CardSuperseded(data) => self.expected.push_back(Expected::Sealed(data.seat)),
            Fact::Agreement(_) | Fact::TurnLimit(_) | Fact::Stalled(_) | Fact::Withdrawn(_) => {
                self.expected.push_back(Expected::Brief);
            }
            _ => {}
        }
    }

    fn leave(&mut self, what: Unchecked) -> Result<(), &'static str> {
        self.folded.unchecked.insert(what);
        Ok(())
    }

    fn escalated(&mut self, data: &Escalated, body: Option<&Body>) -> Result<(), &'static str> {
        let asking = std::mem::take(&mut self.asking);
        let Some(Body::Question(body)) = body else { return self.leave(Unchecked::Questions(data.seat)) };
        let commitment = question_commitment(&body.salt, &body.question, &body.reason).ok();
        if commitment != Some(data.question_commitment) {
            return Err("bad_commitment");
        }
        let asked = match asking.words {
            Some(words) => body.question == words && body.reason.is_empty(),
            None => wire::question(&body.question, &body.reason).is_ok(),
        };
        let reasoned = asking.reasons.is_none_or(|reasons| reasons == body.reasons);
        if asked && reasoned { Ok(()) } else { Err("bad_escalation") }
    }

    /// Counts what was verified. Evidence over a question or a card that is withheld could not be.
    fn answered(&mut self, seat: SeatId, question: &QuestionId, event: &Event) -> Result<(), &'static str> {
        let state = &self.folded.state;
        let known = state.question(question).is_some_and(|question| question.body.is_some())
            && state.seat(seat).is_some_and(|seat| seat.card.is_some());
        if event.body.is_none() || !known {
            return self.leave(Unchecked::Answers(seat));
        }
        let last = event.proofs().last();
        self.folded.evidence += usize::from(last.is_some_and(crate::Proof::signs));
        Ok(())
    }
}

/// What nothing before has brought about: where envelopes are withheld they may have.
fn unasked(state: &State, fact: &Fact, partial: bool) -> Result<(), &'static str> {
    let code = brought_about(fact);
    if code.is_empty() {
        return Ok(());
    }
    let most = state.room.as_ref().map_or(0, |room| room.policy.max_turns);
    let fits = match fact {
        Fact::Reviewed(_) | Fact::Agreement(_) => state.phase == Phase::Negotiating,
        Fact::Escalated(data) => {
            state.phase == Phase::Negotiating
                && state.turn == Some(data.seat)
                && data.question_id == QuestionId::nth(state.questions.len() + 1)
        }
        Fact::TurnLimit(data) => {
            state.phase == Phase::Negotiating && state.turns >= most && data.turns == state.turns
        }
        _ => false,
    };
    if partial && fits { Ok(()) } else { Err(code) }
}

fn commitment(fact: &Fact) -> Option<Digest> {
    match fact {
        Fact::AnswerRelayed(data) => Some(data.answer_commitment),
        Fact::PrincipalAnswer(data) => Some(data.answer_commitment),
        _ => None,
    }
}

fn disclosed(
    state: &State,
    data: &Disclosed,
    shown: &crate::event::DisclosureBody,
) -> Result<(), &'static str> {
    let seat = state.seat(data.seat).ok_or("bad_disclosure")?;
    let shows = match (&shown.card, &shown.clause, seat.clause_root) {
        (Some(card), None, _) => data.reference.is_none() && card.hash().ok() == Some(data.card_hash),
        (None, Some(clause), Some(root)) => {
            data.reference == Some(clause.reference) && clause.is_of(root).unwrap_or(false)
        }
        _ => false,
    };
    if shows { Ok(()) } else { Err("bad_disclosure") }
}

/// The code under which a verifier refuses what the server would have refused.
fn code(fact: &Fact, refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::RoomUnknown | Refusal::RoomExists | Refusal::Sealed => return "bad_order",
        Refusal::Paused => return "paused",
        Refusal::RoomEnded { .. } => return "after_end",
        Refusal::LabelSuspicious { .. } => return "bad_label",
        _ => {}
    }
    let evidence = matches!(
        refusal,
        Refusal::EvidenceNotAccepted
            | Refusal::WrongPerson
            | Refusal::StatementMismatch
            | Refusal::BadSignature
    );
    match fact {
        Fact::RoomOpened(_) => "bad_opening",
        Fact::AgentJoined(_) => "bad_join",
        Fact::PrincipalEnrolled(_) => "bad_enrolment",
        Fact::CardSealed(_) | Fact::CardSuperseded(_) => "bad_card",
        Fact::AnswerRelayed(_) | Fact::AnswerDisowned(_) | Fact::PrincipalAnswer(_) if evidence => {
            "bad_evidence"
        }
        Fact::PrincipalAnswer(_) if matches!(refusal, Refusal::Bug(_)) => "bad_card_hash",
        Fact::AnswerRelayed(_) | Fact::AnswerDisowned(_) | Fact::PrincipalAnswer(_) => "bad_answer",
        Fact::ClaimConfirmed(_) if evidence => "bad_evidence",
        Fact::ClaimConfirmed(_) => "bad_confirmation",
        Fact::SourceAttached(_) => "bad_source",
        Fact::OfferWithdrawn(_) => "bad_withdrawal",
        Fact::OfferExpired(_) => "bad_expiry",
        Fact::Stalled(_) => "bad_deadline",
        Fact::Withdrawn(_) => "bad_leave",
        Fact::Disclosed(_) => "bad_disclosure",
        Fact::Shared(_) | Fact::Unshared(_) => "bad_share",
        Fact::SeatRotated(_) => "bad_rotation",
        Fact::RoomPaused(_) | Fact::RoomResumed(_) => "bad_pause",
        Fact::EnvelopeSent(_) => "bad_envelope",
        Fact::Reviewed(_)
        | Fact::Escalated(_)
        | Fact::Agreement(_)
        | Fact::TurnLimit(_)
        | Fact::BriefRecorded(_) => brought_about(fact),
    }
}
