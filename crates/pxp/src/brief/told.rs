//! A brief in plain sentences, in the order in which a person asks: what was agreed, on whose authority, what is
//! unverified, what was challenged, who was asked. Nothing here is hashed: pages and texts are made of it.

use super::flags::{self, Noticed};
use super::words::{self, Names};
use super::{Brief, ClaimLine, DisputeLine, SeatAuthority, TermAuthority};
use crate::state::{Asked, State};
use crate::view::{BriefView, shown};
use crate::wire::{Origin, Verdict};
use crate::{QuestionId, SeatId};
use std::collections::BTreeMap;

/// The whole of a brief, told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub topic: String,
    pub agreed: bool,
    /// The answers to the three questions in a few lines.
    pub short: Vec<Line>,
    pub terms: Vec<Term>,
    /// What stands below the terms.
    pub below_terms: Vec<Line>,
    pub rests_on: Vec<Line>,
    pub unverified: Vec<Group>,
    pub challenged: Vec<Line>,
    pub asked: Vec<Line>,
    pub record: Vec<Line>,
}

/// An agreed term with the authority of each side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub text: String,
    /// Typed values, such as `rent: 950.00 EUR`.
    pub values: Vec<String>,
    pub sides: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub heading: &'static str,
    pub lines: Vec<Line>,
}

/// A sentence, and what belongs under it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub parts: Vec<Part>,
    /// A reader must not miss it.
    pub warns: bool,
    pub under: Vec<Line>,
}

/// A piece of a sentence. Strangers' text is apart, with hidden characters written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Words(String),
    Name(String),
    /// Shown in quotation marks.
    Said(String),
}

/// What counts as verified, for a person.
pub const VERIFIED: &str = "A claim counts as verified if it stands on its principal's sealed card or in a principal's \
    own answer, if a document is named for it by its fingerprint, or if a person confirmed it.";

/// What a reader may see beside the brief: the words of private clauses and questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    pub(super) clauses: BTreeMap<(SeatId, String), String>,
    questions: BTreeMap<QuestionId, Words>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    question: String,
    answer: Option<String>,
}

impl Known {
    /// What a viewer is shown, if they look from a seat.
    pub fn of_view(seat: Option<SeatId>, view: &BriefView) -> Self {
        let Some(seat) = seat else { return Self::default() };
        let clauses = view.your_clauses.iter();
        let questions = view.your_questions.iter();
        Self {
            clauses: clauses.map(|one| ((seat, one.reference.clone()), one.text.clone())).collect(),
            questions: questions
                .map(|one| {
                    let words = Words { question: one.question.clone(), answer: one.answer.clone() };
                    (one.question_id.clone(), words)
                })
                .collect(),
        }
    }

    /// Everything a room's state holds the words of: of a file, what it was exported with.
    pub fn of_state(state: &State, brief: &Brief) -> Self {
        let mut known = Self::default();
        for one in brief.authority.iter().flat_map(|term| &term.seats) {
            let card = state.seat(one.seat).and_then(|seat| seat.card.as_ref());
            for reference in &one.clauses {
                let words = reference.parse().ok().and_then(|at| card.and_then(|card| card.clause(at)));
                if let Some(words) = words {
                    known.clauses.insert((one.seat, reference.clone()), words.to_owned());
                }
            }
        }
        for question in &state.questions {
            let Some(body) = &question.body else { continue };
            let answer = match &question.state {
                Asked::Answered(answered) => answered.body.as_ref(),
                Asked::Open | Asked::Held(_) => None,
            };
            let answer =
                answer.and_then(|body| canon::from_slice::<crate::AnswerInput>(body.body.as_bytes()).ok());
            let words = Words { question: body.question.clone(), answer: answer.map(|input| input.text) };
            known.questions.insert(question.id.clone(), words);
        }
        known
    }
}

impl Line {
    pub(super) fn new() -> Self {
        Self::default()
    }
    pub(super) fn words(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Part::Words(words.into()));
        self
    }
    pub(super) fn name(mut self, name: &str) -> Self {
        self.parts.push(Part::Name(shown(name)));
        self
    }
    pub(super) fn said(mut self, text: &str) -> Self {
        self.parts.push(Part::Said(shown(text)));
        self
    }
    pub(super) fn and(mut self, other: Self) -> Self {
        self.warns |= other.warns;
        self.parts.extend(other.parts);
        self
    }
    pub(super) fn warn(mut self) -> Self {
        self.warns = true;
        self
    }
    pub(super) fn under(mut self, line: Self) -> Self {
        self.under.push(line);
        self
    }
    /// Lines joined with commas and an `and`.
    pub(super) fn list(self, items: Vec<Self>) -> Self {
        let last = items.len().saturating_sub(1);
        items.into_iter().enumerate().fold(self, |line, (index, item)| {
            let joint = match index {
                0 => "",
                _ if index == last => " and ",
                _ => ", ",
            };
            line.words(joint).and(item)
        })
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Words(text) | Part::Name(text) => f.write_str(text),
            Part::Said(text) => write!(f, "\"{text}\""),
        })
    }
}

/// The brief in sentences, with the words that this reader may see.
pub fn tell(brief: &Brief, known: &Known) -> Told {
    let names = Names::of(brief);
    let noticed = flags::group(brief, &names);
    Told {
        topic: shown(&brief.topic),
        agreed: brief.agreement.is_some(),
        short: short(brief, &names),
        terms: brief
            .authority
            .iter()
            .enumerate()
            .map(|(at, one)| term(brief, &names, known, at, one))
            .collect(),
        below_terms: below_terms(brief, known),
        rests_on: brief.depends_on.iter().map(|claim| rests(brief, &names, claim)).collect(),
        challenged: brief.disputed.iter().map(|dispute| challenged(brief, &names, dispute)).collect(),
        asked: asked(brief, &names, known, &noticed),
        record: record(brief, &noticed),
        unverified: unverified(brief, &names, noticed),
    }
}

fn short(brief: &Brief, names: &Names) -> Vec<Line> {
    let mut lines = vec![outcome(brief, names)];
    if brief.agreement.is_some() {
        lines.extend(authority_in_short(brief, names));
        lines.push(grounds(brief));
    } else {
        lines.push(Line::new().words("No offer that was made in this room binds anybody."));
        let open = brief.unverified_in_record.len();
        if open > 0 {
            let open = are(open, "unverified");
            lines.push(Line::new().words(format!("Of the claims made in it, {open}.")));
        }
    }
    lines
}

/// What the agreement rests on, counted by how well it stands.
fn grounds(brief: &Brief) -> Line {
    let all = brief.depends_on.len();
    if all == 0 {
        return Line::new()
            .words(
                "The accepted offer names no claim that it rests on: what it takes for granted is unknown.",
            )
            .warn();
    }
    let open = brief.unverified_dependencies.len();
    let denied = brief.unverified_dependencies.iter().filter(|claim| claim.denied).count();
    let own =
        brief.depends_on.iter().filter(|claim| claim.verified && claim.origin == Origin::Stated).count();
    let mut parts = Vec::new();
    if open > 0 {
        parts.push(are(open, "unverified"));
    }
    if denied > 0 {
        parts.push(format!("a person has said of {denied} that it is wrong"));
    }
    if own > 0 {
        parts.push(are(own, "a principal's own word, checked by nobody else"));
    }
    if parts.is_empty() {
        parts.push("all are confirmed by a person or have a document".to_owned());
    }
    let line =
        Line::new().words(format!("The agreement rests on {}: {}.", count(all, "claim"), parts.join("; ")));
    if open > 0 { line.warn() } else { line }
}

fn outcome(brief: &Brief, names: &Names) -> Line {
    let reason = brief.reason.as_deref().unwrap_or_default();
    match (&brief.agreement, brief.seat) {
        (Some(agreed), _) => {
            let sides = brief.parties.iter().map(|party| Line::new().name(names.name(party.seat))).collect();
            let accepted = agreed
                .accepted_by
                .iter()
                .map(|one| names.agent(one.seat).words(format!(" in message {}", one.seq)));
            let terms = count(agreed.terms.len(), "term");
            Line::new()
                .words("AGREED. The agents of ")
                .list(sides)
                .words(format!(" agreed on {terms}. "))
                .and(names.agent(agreed.proposed_by))
                .words(format!(" made this offer in message {}; ", agreed.proposed_seq))
                .list(accepted.collect())
                .words(" accepted exactly these words. Nothing else was agreed.")
        }
        (None, Some(seat)) if brief.outcome == "withdrawn" => {
            let left = Line::new().words("NOTHING WAS AGREED. The side of ").name(names.name(seat));
            if reason.is_empty() {
                left.words(" left the room, and gave no reason.")
            } else {
                left.words(" left the room. The reason given: ").said(reason).words(".")
            }
        }
        (None, seat) => {
            let line = Line::new().words("NOTHING WAS AGREED. ");
            match (reason, seat) {
                ("turns", _) => line.words(format!(
                    "The room allows a limited number of messages, and they were used up ({}).",
                    count(usize::try_from(brief.turns).unwrap_or(usize::MAX), "turn")
                )),
                ("turn_deadline", Some(seat)) => {
                    line.and(names.agent(seat)).words(" did not answer in time.")
                }
                ("escalation_deadline", Some(seat)) => {
                    line.name(names.name(seat)).words(" was asked and did not answer in time.")
                }
                _ => line.words("The room ended: ").said(reason).words("."),
            }
        }
    }
}

/// Whether each term has authority, and which people allowed the offer themselves.
fn authority_in_short(brief: &Brief, names: &Names) -> Vec<Line> {
    let mut lines = Vec::new();
    let sides = || {
        brief
            .authority
            .iter()
            .enumerate()
            .flat_map(|(term, one)| one.seats.iter().map(move |side| (term, side)))
    };
    for (term, side) in sides().filter(|(_, side)| side.basis == "none") {
        lines.push(
            Line::new()
                .words(format!("NO AUTHORITY is named for term {} on the side of ", term.saturating_add(1)))
                .name(names.name(side.seat))
                .words(".")
                .warn(),
        );
    }
    if lines.is_empty() {
        lines.push(Line::new().words(
            "Each side names authority for every term: a line of its own sealed card, or an answer of its principal.",
        ));
    }
    for party in brief.parties.iter().filter(|party| party.principal == words::NOBODY) {
        lines.push(
            Line::new()
                .words("No person has enrolled for the side of ")
                .name(names.name(party.seat))
                .words(": that its card is the principal's rests on its agent alone.")
                .warn(),
        );
    }
    let mut told: Vec<&QuestionId> = Vec::new();
    for (_, side) in sides() {
        for answer in &side.answers {
            if told.contains(&answer) {
                continue;
            }
            told.push(answer);
            let asked = brief.escalations.iter().find(|asked| asked.question_id == *answer);
            if let Some(asked) = asked {
                let who = names.name(side.seat);
                let line = match words::is_hearsay(asked) {
                    true => names.agent(side.seat).words(" says that ").name(who).words(" allowed"),
                    false => Line::new().name(who).words(" was asked about, and allowed,"),
                };
                lines.push(
                    line.words(format!(" exactly this offer (question {}): ", asked.question_id))
                        .and(words::evidence(asked, names))
                        .words("."),
                );
            }
        }
    }
    lines
}

fn term(brief: &Brief, names: &Names, known: &Known, at: usize, term: &TermAuthority) -> Term {
    let values = brief.agreement.iter().flat_map(|agreed| &agreed.values);
    Term {
        text: shown(&term.term),
        values: values
            .filter(|value| usize::from(value.term) == at)
            .map(|value| format!("{}: {}", shown(&value.label), shown(&value.spelled())))
            .collect(),
        sides: term.seats.iter().map(|one| side(brief, names, known, one)).collect(),
    }
}

fn side(brief: &Brief, names: &Names, known: &Known, side: &SeatAuthority) -> Line {
    let who = names.name(side.seat);
    let line = Line::new().words("For ").name(who).words(": ");
    if side.basis == "none" {
        return line
            .words("NO AUTHORITY is named. The record does not show that ")
            .name(who)
            .words(" allows this term.")
            .warn();
    }
    let mut answers: Vec<&QuestionId> = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    for clause in &side.clauses {
        match words::amended_by(brief, side.seat, clause) {
            Some(question) => answers.push(question),
            None => {
                let line = Line::new().words(words::clause(clause));
                let own = known.clauses.get(&(side.seat, clause.clone()));
                lines.push(match own {
                    Some(text) => line.words(" (").said(text).words(")"),
                    None => line,
                });
            }
        }
    }
    let mut sources: Vec<Line> = Vec::new();
    if !lines.is_empty() {
        let these = if lines.len() == 1 { "sealed card, line " } else { "sealed card, lines " };
        sources.push(Line::new().name(who).words("'s ").words(these).list(lines));
    }
    answers.extend(side.answers.iter().filter(|answer| {
        !side.clauses.iter().any(|clause| words::amended_by(brief, side.seat, clause) == Some(*answer))
    }));
    for id in answers {
        let Some(asked) = brief.escalations.iter().find(|asked| asked.question_id == *id) else { continue };
        let exactly = if side.answers.contains(id) { " about exactly this offer" } else { "" };
        let answer = match words::is_hearsay(asked) {
            true => Line::new().words(format!("an answer to question {id}{exactly} ")),
            false => Line::new().name(who).words(format!("'s own answer to question {id}{exactly} ")),
        };
        let ruling = words::ruling(asked.ruling);
        let how = words::evidence(asked, names);
        sources.push(answer.words(format!("({ruling}; ")).and(how).words(")"));
    }
    let mut joined = line;
    for (index, source) in sources.into_iter().enumerate() {
        joined = joined.words(if index == 0 { "" } else { "; and " }).and(source);
    }
    joined.words(".")
}

fn below_terms(brief: &Brief, known: &Known) -> Vec<Line> {
    let named = brief.authority.iter().flat_map(|term| &term.seats).any(|side| !side.clauses.is_empty());
    if !named {
        return Vec::new();
    }
    vec![Line::new().words(if known.clauses.is_empty() {
        "A side's card is private to it: everyone sees which of its lines were named, not their words."
    } else {
        "The words in brackets are from a card. They are private to its side; the other sides see only which lines were named."
    })]
}

fn rests(brief: &Brief, names: &Names, claim: &ClaimLine) -> Line {
    let line = words::claim(names, claim);
    if !claim.verified {
        return line.words(" UNVERIFIED: ").and(words::doubt(claim)).warn();
    }
    let answer = brief.escalations.iter().find(|asked| words::is_answer(claim, asked));
    line.and(match (answer, claim.origin) {
        (Some(asked), _) => {
            Line::new().words(" That principal's own answer: ").and(words::evidence(asked, names)).words(".")
        }
        (None, Origin::Stated) => Line::new()
            .words(" It stands on the sealed card of ")
            .name(names.name(claim.seat))
            .words(": that principal's own word, checked by nobody else."),
        (None, Origin::Sourced) => Line::new()
            .words(" Verified: a document is on record for it by its fingerprint, or a person confirmed it."),
        (None, Origin::Assumed) => Line::new().words(" Verified: a person confirmed it."),
    })
}

fn unverified(brief: &Brief, names: &Names, noticed: Noticed) -> Vec<Group> {
    let line = |claim: &ClaimLine| words::claim(names, claim).words(" ").and(words::doubt(claim));
    let rests = |claim: &&ClaimLine| brief.unverified_dependencies.iter().any(|other| other.id == claim.id);
    let claims = || brief.unverified_in_record.iter();
    let others = if brief.agreement.is_some() && !brief.depends_on.is_empty() {
        "Said in the room and not verified; the accepted offer does not name it as its ground"
    } else {
        "Said in the room and not verified"
    };
    let groups = [
        (
            "The agreement rests on it, and it is not verified",
            claims().filter(rests).map(|one| line(one).warn()).collect(),
        ),
        (others, claims().filter(|claim| !rests(claim)).map(line).collect()),
        ("What is not proven about the people", words::unproven(brief, names)),
        ("Numbers, dates and amounts without a claim", noticed.facts),
        ("Claims that count for less than their agent said", noticed.demoted),
        ("Lines of a card that were named and do not exist", noticed.no_such_line),
        ("What else this server noticed", noticed.others),
    ];
    groups
        .into_iter()
        .filter(|(_, lines): &(_, Vec<Line>)| !lines.is_empty())
        .map(|(heading, lines)| Group { heading, lines })
        .collect()
}

fn challenged(brief: &Brief, names: &Names, dispute: &DisputeLine) -> Line {
    let verb = match dispute.verdict {
        Verdict::Conflict => " says that this contradicts its card: ",
        Verdict::Challenge | Verdict::Accept => " challenged: ",
    };
    let line =
        names.agent(dispute.by).words(verb).said(&dispute.text).words(format!(" ({}).", dispute.claim));
    let line = match dispute.reason.is_empty() {
        true => line,
        false => line.words(" Why: ").said(&dispute.reason).words("."),
    };
    let rests = brief.depends_on.iter().any(|claim| claim.id == dispute.claim);
    let line = match dispute.cleared {
        true => line.words(" ").name(names.name(dispute.by)).words(
            " was asked and let the negotiation go on all the same; that does not make the claim true.",
        ),
        false => line.words(" Nobody has settled this."),
    };
    match rests {
        true => line.words(" The agreement rests on this claim.").warn(),
        false => line,
    }
}

fn asked(brief: &Brief, names: &Names, known: &Known, noticed: &Noticed) -> Vec<Line> {
    let mut causes = noticed.causes.iter();
    let lines = brief.escalations.iter().map(|asked| {
        let who = names.name(asked.seat);
        let line = Line::new().words(format!("{}: ", asked.question_id)).name(who);
        let line = if asked.forced {
            let why = causes.next().map(|cause| Line::new().words(": ").list(cause.clone()));
            line.words(" was asked because this server stopped the agent, which may not decide it alone")
                .and(why.unwrap_or_default())
                .words(". ")
        } else {
            line.words(" was asked by ").and(names.agent(asked.seat)).words(". ")
        };
        let mut line = match asked.ruling {
            Some(ruling) => {
                let line = match words::is_hearsay(asked) {
                    true => line.words("The answer: "),
                    false => line,
                };
                line.name(who)
                    .words(format!(" {}; ", words::ruling(Some(ruling))))
                    .and(words::evidence(asked, names))
                    .words(".")
            }
            None => line.words("No answer that counts was given.").warn(),
        };
        if !asked.clears.is_empty() {
            let ids: Vec<String> = asked.clears.iter().map(ToString::to_string).collect();
            line = line.words(format!(" It settles the dispute about {} for this side.", ids.join(", ")));
        }
        if let Some(words) = known.questions.get(&asked.question_id) {
            line = line.under(Line::new().words("The question: ").said(&words.question));
            if let Some(answer) = &words.answer {
                line = line.under(Line::new().words("The answer, for this side only: ").said(answer));
            }
        }
        match &asked.public_summary {
            Some(summary) => line.under(Line::new().words("Told to everyone: ").said(summary)),
            None => line,
        }
    });
    lines.collect()
}

fn record(brief: &Brief, noticed: &Noticed) -> Vec<Line> {
    let mut lines = Vec::new();
    for party in &brief.parties {
        let line = Line::new().words(format!("Seat {}: ", party.seat)).name(&party.name).words(", ");
        let line = match &party.agent {
            Some(agent) => line.words("played by the agent ").said(agent),
            None => line.words("no agent came"),
        };
        let line = line.words(match &party.signed_by {
            Some(_) => ", which signs every message with its own key.",
            None if party.agent.is_some() => ", which does not sign: this server attests what it received.",
            None => ".",
        });
        let line = match party.principal.as_str() {
            words::NOBODY => line.words(" No person has enrolled for this side."),
            other => line.words(" Who answers for it: ").words(shown(other)).words("."),
        };
        lines.push(match party.card_hash {
            Some(hash) => {
                let hash: String = hash.to_string().chars().take(16).collect();
                line.words(format!(" Hash of its sealed card: {hash}…"))
            }
            None => line.words(" It sealed no card."),
        });
    }
    lines.extend(noticed.no_dependencies.clone());
    let turns = count(usize::try_from(brief.turns).unwrap_or(usize::MAX), "turn");
    lines.push(Line::new().words(format!("The room took {turns}; a question to a person is no turn.")));
    lines
}

fn are(count: usize, what: &str) -> String {
    if count == 1 { format!("1 is {what}") } else { format!("{count} are {what}") }
}

fn count(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}
