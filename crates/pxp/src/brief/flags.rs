//! What the server flagged, sorted by what it means to a reader.

use super::told::Line;
use super::words::Names;
use super::{Brief, FlagLine};
use crate::SeatId;
use crate::view::shown;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Noticed {
    /// Facts that no claim covers.
    pub facts: Vec<Line>,
    /// Claims that lost the origin their agent gave them.
    pub demoted: Vec<Line>,
    pub no_such_line: Vec<Line>,
    /// Why the server asked a principal: one list a forced question, in their order.
    pub causes: Vec<Vec<Line>>,
    pub no_dependencies: Vec<Line>,
    pub others: Vec<Line>,
}

pub(super) fn group(brief: &Brief, names: &Names) -> Noticed {
    let mut noticed = Noticed { facts: facts(brief, names), ..Noticed::default() };
    let mut caused: BTreeMap<u64, Vec<Line>> = BTreeMap::new();
    let mut alone: BTreeMap<SeatId, Vec<u64>> = BTreeMap::new();
    for flag in &brief.protocol_flags {
        let told =
            || names.agent(flag.seat).words(format!(", message {}: {}.", flag.seq, shown(&flag.message)));
        match flag.code.as_str() {
            "untagged_fact" => {}
            "claim_without_ref"
            | "claim_cites_claim"
            | "quote_not_in_clause"
            | "ref_unresolved"
            | "restated_claim" => noticed.demoted.push(told()),
            "authority_unresolved" => noticed.no_such_line.push(told()),
            "no_dependencies" => alone.entry(flag.seat).or_default().push(flag.seq),
            code => match cause(code, flag, names) {
                Some(line) => caused.entry(flag.seq).or_default().push(line),
                None => noticed.others.push(told()),
            },
        }
    }
    noticed.causes = caused.into_values().collect();
    noticed.no_dependencies = alone
        .into_iter()
        .map(|(seat, seqs)| {
            let offers = Line::new().words("Offers without a named claim that they rest on: ");
            offers.and(names.agent(seat)).words(format!(", {}.", messages(&seqs)))
        })
        .collect();
    noticed
}

/// Why a seat had to ask, without what its card says.
fn cause(code: &str, flag: &FlagLine, names: &Names) -> Option<Line> {
    let line = match code {
        "limit_crossed" => {
            Line::new().words("a term is outside a limit that ").name(names.name(flag.seat)).words(" set")
        }
        "limit_unreadable" => Line::new()
            .words("the offer has no value that a limit of ")
            .name(names.name(flag.seat))
            .words(" can be read against"),
        "escalate_when" => Line::new()
            .words("a condition is met under which ")
            .name(names.name(flag.seat))
            .words(" wants to be asked"),
        "term_uncited" | "conflict_unresolved" | "disputed_dependency" | "assumed_must_have" => {
            Line::new().words(shown(&flag.message))
        }
        _ => return None,
    };
    Some(line)
}

/// Facts of the accepted offer's terms first, then what was said in messages, by side.
fn facts(brief: &Brief, names: &Names) -> Vec<Line> {
    let mut agreed: Vec<String> = Vec::new();
    let mut said: BTreeMap<SeatId, (Vec<String>, Vec<u64>)> = BTreeMap::new();
    let flags = || brief.protocol_flags.iter().filter(|flag| flag.code == "untagged_fact");
    // A claim may have come after an earlier message: only what the accepted offer's own message was flagged for counts.
    if let Some(agreement) = &brief.agreement {
        for fact in flags().filter(|flag| flag.seq == agreement.proposed_seq).map(|flag| fact(&flag.message))
        {
            if agreement.terms.iter().any(|term| holds(term, &fact)) {
                agreed.push(fact);
            }
        }
    }
    for flag in flags() {
        let fact = fact(&flag.message);
        if agreed.contains(&fact) {
            continue;
        }
        let (facts, seqs) = said.entry(flag.seat).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
        }
        if !seqs.contains(&flag.seq) {
            seqs.push(flag.seq);
        }
    }
    let quoted = |facts: &[String]| facts.iter().map(|fact| Line::new().said(fact)).collect::<Vec<_>>();
    let mut lines = Vec::new();
    if !agreed.is_empty() {
        lines.push(Line::new().words("In the agreed terms: ").list(quoted(&agreed)).words(
            ". This is what was agreed, but no claim says where it comes from and no typed value fixes it.",
        ));
    }
    lines.extend(said.into_iter().map(|(seat, (facts, seqs))| {
        let words = format!(" in {}, when nobody had made a claim about it.", messages(&seqs));
        names.agent(seat).words(" said ").list(quoted(&facts)).words(words)
    }));
    lines
}

/// The fact itself, out of `no claim covers "40"`.
fn fact(message: &str) -> String {
    let quoted = message.strip_prefix("no claim covers ").unwrap_or(message);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(quoted).to_owned()
}

/// Whether a text has the fact, not as a part of another number or word.
fn holds(text: &str, fact: &str) -> bool {
    let joins = |one: Option<char>, other: Option<char>| {
        one.zip(other).is_some_and(|(one, other)| {
            (one.is_numeric() && other.is_numeric()) || (one.is_alphabetic() && other.is_alphabetic())
        })
    };
    text.match_indices(fact).any(|(at, found)| {
        let (before, rest) = text.split_at(at);
        let after = rest.get(found.len()..).and_then(|rest| rest.chars().next());
        !joins(before.chars().next_back(), found.chars().next()) && !joins(found.chars().next_back(), after)
    })
}

fn messages(seqs: &[u64]) -> String {
    let numbers: Vec<String> = seqs.iter().map(ToString::to_string).collect();
    let word = if numbers.len() == 1 { "message" } else { "messages" };
    format!("{word} {}", numbers.join(", "))
}
