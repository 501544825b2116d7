//! Words for what a brief names.

use super::told::Line;
use super::{Brief, ClaimLine, EscalationLine};
use crate::view::shown;
use crate::wire::{Origin, Ruling};
use crate::{ClaimId, ClauseRef, List, QuestionId, SeatId};
use std::collections::BTreeMap;

/// What a brief says of a side for which nobody answers.
pub(super) const NOBODY: &str = "nobody has enrolled";

/// The sides by name; two of the same name are told apart by their seats.
pub(super) struct Names(BTreeMap<SeatId, String>);

impl Names {
    pub(super) fn of(brief: &Brief) -> Self {
        let same = |name: &str| brief.parties.iter().filter(|party| party.name == name).count();
        let named = brief.parties.iter().map(|party| {
            let name = match same(&party.name) {
                1 if !party.name.is_empty() => party.name.clone(),
                _ => format!("{} (seat {})", party.name, party.seat),
            };
            (party.seat, name)
        });
        Self(named.collect())
    }

    pub(super) fn name(&self, seat: SeatId) -> &str {
        self.0.get(&seat).map_or("a seat of another room", String::as_str)
    }

    pub(super) fn agent(&self, seat: SeatId) -> Line {
        Line::new().name(self.name(seat)).words("'s agent")
    }
}

/// `must_haves[0]` as `1 under "must have"`.
pub(super) fn clause(reference: &str) -> String {
    let Ok(clause) = reference.parse::<ClauseRef>() else { return shown(reference) };
    let list = match clause.list {
        List::MustHaves => "must have",
        List::MayAgreeTo => "may agree to",
        List::MustNever => "must never",
        List::EscalateWhen => "ask me when",
        List::KnownFacts => "known facts",
        List::Amendment => "later answers",
    };
    format!("{} under \"{list}\"", clause.index.saturating_add(1))
}

/// The question whose answer became this amendment of the seat's card: answers amend in the order they came.
pub(super) fn amended_by<'a>(brief: &'a Brief, seat: SeatId, reference: &str) -> Option<&'a QuestionId> {
    let clause = reference.parse::<ClauseRef>().ok().filter(|clause| clause.list == List::Amendment)?;
    let mut answered = brief.escalations.iter().filter(|asked| asked.seat == seat && asked.ruling.is_some());
    answered.nth(usize::from(clause.index)).map(|asked| &asked.question_id)
}

pub(super) const fn ruling(ruling: Option<Ruling>) -> &'static str {
    match ruling {
        Some(Ruling::Allow) => "allowed it",
        Some(Ruling::Deny) => "refused it",
        Some(Ruling::Amend) => "gave new instructions",
        None => "did not answer",
    }
}

/// Whether only the word of an agent stands for an answer.
pub(super) fn is_hearsay(asked: &EscalationLine) -> bool {
    asked.standing.as_deref() == Some("relayed")
}

/// How an answer is known to be the principal's, as a sentence without its stop.
pub(super) fn evidence(asked: &EscalationLine, names: &Names) -> Line {
    if is_hearsay(asked) {
        return Line::new()
            .words("only the agent says so, ")
            .name(names.name(asked.seat))
            .words(" has NOT confirmed it")
            .warn();
    }
    let how = match asked.evidence.as_deref() {
        Some("passkey") => "is signed with a passkey",
        Some("ed25519") => "is signed with a private key of the principal's own",
        Some("wallet") => "is signed with a wallet",
        Some("session") => "was given in a signed-in session and is not signed",
        _ => "is known in another way",
    };
    let line = match asked.standing.as_deref() {
        Some("confirmed") => Line::new()
            .words("the agent passed the answer on, then the principal confirmed it, and that ")
            .words(how),
        _ => Line::new().words("the answer ").words(how),
    };
    match asked.answered_by.as_deref().and_then(|by| by.split_once('/')) {
        Some((org, member)) => line.words(", by member ").name(member).words(" of ").name(org),
        None => line,
    }
}

/// Answers whose only proof is the word of the agent, or a session.
pub(super) fn unproven(brief: &Brief, names: &Names) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for asked in brief.escalations.iter().filter(|asked| asked.ruling.is_some()) {
        let answer = || {
            Line::new().words("The answer of ").name(names.name(asked.seat)).words(format!(
                " to question {} ({})",
                asked.question_id,
                ruling(asked.ruling)
            ))
        };
        if is_hearsay(asked) {
            lines.push(
                answer().words(" was passed on by the agent. The principal has not confirmed it.").warn(),
            );
        } else if asked.evidence.as_deref() == Some("session") {
            lines.push(answer().words(
                " was given in a signed-in session. It is not signed: this server's word stands for it.",
            ));
        }
    }
    let nobody = brief.parties.iter().filter(|party| party.principal == NOBODY);
    lines.extend(nobody.map(|party| {
        Line::new()
            .words("No person has enrolled for the side of ")
            .name(names.name(party.seat))
            .words(". That its card is the principal's rests on its agent alone.")
    }));
    lines
}

/// A claim and whose it is: `"Parking is free" (A1.3, Ana's agent).`
pub(super) fn claim(names: &Names, claim: &ClaimLine) -> Line {
    let line = Line::new().said(&claim.text).words(format!(" ({}, ", claim.id));
    if claim.id.as_str().contains('q') {
        line.words("an answer of ").name(names.name(claim.seat)).words(").")
    } else {
        line.and(names.agent(claim.seat)).words(").")
    }
}

pub(super) fn is_answer(claim: &ClaimLine, asked: &EscalationLine) -> bool {
    claim.id == ClaimId::of_answer(asked.seat, &asked.question_id)
}

/// Why a claim is not verified.
pub(super) fn doubt(claim: &ClaimLine) -> Line {
    if claim.denied {
        return Line::new().words("A person said that this is WRONG.").warn();
    }
    match (claim.origin, &claim.reference) {
        (Origin::Assumed, _) => Line::new().words("An assumption of the agent, without a source."),
        (Origin::Sourced, Some(source)) => Line::new()
            .words("The agent names a source, ")
            .said(source)
            .words(", but no document is on record and nobody has confirmed it."),
        (Origin::Sourced, None) => Line::new().words("No document is on record and nobody has confirmed it."),
        (Origin::Stated, _) => Line::new().words("Said to be the principal's word, which is not confirmed."),
    }
}
