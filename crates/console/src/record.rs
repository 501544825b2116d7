//! What can be checked: the brief, the record with its hashes, and the page that verifies files in the browser.

use crate::page::{Fault, Shell, html};
use crate::visitor::{Visitor, room_id};
use crate::words;
use askama::Template;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use pxp::brief::{Brief, ClaimLine};
use serde::Deserialize;
use server::Error;

#[derive(Template)]
#[template(path = "verify.html")]
struct Verify {
    shell: Shell,
}

pub(crate) async fn verify(visitor: Visitor) -> Result<Response, Fault> {
    Ok(html(&Verify { shell: visitor.shell("Verify", None).await? }))
}

#[derive(Template)]
#[template(path = "record.html")]
struct Record {
    shell: Shell,
    room: String,
    topic: String,
    entries: Vec<Entry>,
    head: u64,
    hash: Vec<String>,
    more: Option<u64>,
    whole: bool,
}

#[derive(Debug)]
struct Entry {
    n: u64,
    title: &'static str,
    kind: String,
    seat: Option<String>,
    at: String,
    data: String,
    hash: String,
    prev: String,
    short: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct After {
    #[serde(default)]
    after: u64,
}

pub(crate) async fn ledger(
    Path(room): Path<String>,
    Query(After { after }): Query<After>,
    visitor: Visitor,
) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let page = visitor.app.ledger_page(&caller, &id, after, PAGE).await?;
    let view = visitor.app.view_room(&caller, &id).await?;
    let last = page.entries.last().map_or(after, |entry| entry.n);
    let entries = page.entries.iter().map(|entry| {
        let data = String::from_utf8_lossy(&canon::to_vec(&entry.data).unwrap_or_default()).into_owned();
        Entry {
            n: entry.n,
            title: words::entry(&entry.kind),
            seat: seat_of(&data),
            kind: entry.kind.clone(),
            at: words::when(entry.at),
            data: words::shown(&data),
            hash: entry.hash.to_string(),
            prev: entry.prev.to_string(),
            short: words::short(&entry.hash),
        }
    });
    Ok(html(&Record {
        topic: words::shown(&view.room.topic),
        entries: entries.collect(),
        head: page.head.n,
        hash: words::groups(&page.head.hash),
        more: (last < page.head.n).then_some(last),
        whole: after == 0,
        shell: visitor.shell("The record", Some(&id)).await?,
        room,
    }))
}

/// The room as a file that verifies with public keys alone.
pub(crate) async fn bundle(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let bytes = visitor.app.bundle(&caller, &id).await?;
    let name = format!("attachment; filename=\"room-{id}.json\"");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(|_| Error::Missing)?),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, bytes).into_response())
}

#[derive(Template)]
#[template(path = "brief.html")]
struct BriefPage {
    shell: Shell,
    room: String,
    topic: String,
    word: &'static str,
    agreed: bool,
    summary: String,
    values: Vec<String>,
    offer: Option<Vec<String>>,
    terms: Vec<Term>,
    depends_on: Vec<Fact>,
    unverified: Vec<Fact>,
    disputes: Vec<Dispute>,
    asked: Vec<Asked>,
    flags: Vec<Flag>,
    parties: Vec<Party>,
    notes: Vec<String>,
    clauses: Vec<(String, String)>,
    turns: u32,
    head: u64,
    head_hash: Vec<String>,
    hash: Vec<String>,
    at: String,
    may_download: bool,
}

#[derive(Debug)]
struct Term {
    text: String,
    authority: Vec<Authority>,
}

#[derive(Debug)]
struct Authority {
    who: String,
    seat: String,
    basis: &'static str,
    class: &'static str,
    detail: String,
}

#[derive(Debug)]
struct Fact {
    id: String,
    who: String,
    text: String,
    origin: &'static str,
    meaning: &'static str,
    verified: bool,
    denied: bool,
}

#[derive(Debug)]
struct Dispute {
    claim: String,
    text: String,
    by: String,
    word: &'static str,
    reason: String,
    cleared: bool,
}

#[derive(Debug)]
struct Asked {
    id: String,
    who: String,
    forced: bool,
    ruling: Option<&'static str>,
    how: Option<String>,
    strong: bool,
    summary: Option<String>,
    clears: String,
    question: Option<String>,
    answer: Option<String>,
}

#[derive(Debug)]
struct Flag {
    seq: u64,
    who: String,
    message: String,
}

#[derive(Debug)]
struct Party {
    seat: String,
    name: String,
    agent: Option<String>,
    principal: String,
    signs: bool,
    card: Option<String>,
}

#[derive(Template)]
#[template(path = "no_brief.html")]
struct NoBrief {
    shell: Shell,
    room: String,
}

pub(crate) async fn brief(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let view = visitor.app.brief(&caller, &id).await?;
    let Some(found) = view.brief else {
        return Ok(html(&NoBrief { shell: visitor.shell("The brief", Some(&id)).await?, room }));
    };
    let brief = &found.brief;
    let name = |seat: pxp::SeatId| {
        let party = brief.parties.iter().find(|party| party.seat == seat);
        party.map_or_else(|| format!("seat {seat}"), |party| words::shown(&party.name))
    };
    // Clauses are named alike on every card: the words known here are those of the own side.
    let own = visitor.app.standpoint(&caller, &id, None).await?.seat;
    let clause_text = |seat: pxp::SeatId, reference: &str| {
        let mut clauses = found.your_clauses.iter().filter(|_| own == Some(seat));
        clauses.find(|clause| clause.reference == reference).map(|clause| words::shown(&clause.text))
    };
    let authority = |of: &pxp::brief::SeatAuthority| {
        let (class, basis) = match of.basis.as_str() {
            "clause" => ("good", "allowed by their card"),
            "answer" => ("good", "allowed by their answer"),
            _ => ("warn", "no authority stated"),
        };
        let clauses = of.clauses.iter().map(|clause| match clause_text(of.seat, clause) {
            Some(text) => format!("{}: “{text}”", words::clause(clause)),
            None => words::clause(clause),
        });
        let answers = of.answers.iter().map(|answer| format!("answer to {answer}"));
        Authority {
            who: name(of.seat),
            seat: of.seat.to_string(),
            basis,
            class,
            detail: clauses.chain(answers).collect::<Vec<_>>().join("; "),
        }
    };
    let terms = brief.authority.iter().map(|term| Term {
        text: words::shown(&term.term),
        authority: term.seats.iter().map(authority).collect(),
    });
    let fact = |claim: &ClaimLine| {
        let (origin, meaning) = words::origin(claim.origin);
        Fact {
            id: claim.id.to_string(),
            who: name(claim.seat),
            text: words::shown(&claim.text),
            origin,
            meaning,
            verified: claim.verified,
            denied: claim.denied,
        }
    };
    let asked = brief.escalations.iter().map(|asked| {
        let own = found.your_questions.iter().find(|own| own.question_id == asked.question_id);
        let standing = match asked.standing.as_deref() {
            Some("confirmed") => ", then confirmed",
            Some("relayed") => " and not confirmed",
            _ => "",
        };
        let clears: Vec<String> = asked.clears.iter().map(ToString::to_string).collect();
        Asked {
            id: asked.question_id.to_string(),
            who: words::shown(&asked.principal),
            forced: asked.forced,
            ruling: asked.ruling.map(words::ruling),
            how: asked.evidence.as_deref().map(|kind| format!("{}{standing}", words::evidence(kind))),
            strong: asked.evidence.as_deref().is_some_and(|kind| !matches!(kind, "session" | "relayed")),
            summary: asked.public_summary.as_deref().map(words::shown),
            clears: clears.join(", "),
            question: own.map(|own| words::shown(&own.question)),
            answer: own.and_then(|own| own.answer.as_deref().map(words::shown)),
        }
    });
    let agreement = brief.agreement.as_ref();
    Ok(html(&BriefPage {
        topic: words::shown(&brief.topic),
        word: words::room_status(&brief.outcome).0,
        agreed: agreement.is_some(),
        summary: summary(brief, &name),
        values: agreement
            .iter()
            .flat_map(|agreed| &agreed.values)
            .map(|value| format!("{}: {}", words::shown(&value.label), words::shown(&value.spelled())))
            .collect(),
        offer: agreement.map(|agreed| words::groups(&agreed.offer_hash)),
        terms: terms.collect(),
        depends_on: brief.depends_on.iter().map(fact).collect(),
        unverified: brief.unverified_in_record.iter().map(fact).collect(),
        disputes: brief
            .disputed
            .iter()
            .map(|dispute| Dispute {
                claim: dispute.claim.to_string(),
                text: words::shown(&dispute.text),
                by: name(dispute.by),
                word: words::verdict(dispute.verdict).1,
                reason: words::shown(&dispute.reason),
                cleared: dispute.cleared,
            })
            .collect(),
        asked: asked.collect(),
        flags: brief
            .protocol_flags
            .iter()
            .map(|flag| Flag { seq: flag.seq, who: name(flag.seat), message: words::shown(&flag.message) })
            .collect(),
        parties: brief
            .parties
            .iter()
            .map(|party| Party {
                seat: party.seat.to_string(),
                name: words::shown(&party.name),
                agent: party.agent.as_deref().map(words::shown),
                principal: words::shown(&party.principal),
                signs: party.signed_by.is_some(),
                card: party.card_hash.as_ref().map(words::short),
            })
            .collect(),
        notes: brief.notes.iter().map(|note| words::shown(note)).collect(),
        clauses: found
            .your_clauses
            .iter()
            .map(|clause| (words::clause(&clause.reference), words::shown(&clause.text)))
            .collect(),
        turns: brief.turns,
        head: brief.ledger_head.n,
        head_hash: words::groups(&brief.ledger_head.hash),
        hash: words::groups(&found.brief_hash),
        at: words::when(brief.generated_at),
        may_download: !matches!(caller, server::Caller::Share { .. }),
        shell: visitor.shell("The brief", Some(&id)).await?,
        room,
    }))
}

/// The outcome in one or two sentences.
fn summary(brief: &Brief, name: &impl Fn(pxp::SeatId) -> String) -> String {
    let count =
        |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    match (&brief.agreement, brief.seat) {
        (Some(agreed), _) => {
            let accepted: Vec<String> = agreed.accepted_by.iter().map(|line| name(line.seat)).collect();
            let open = match brief.unverified_dependencies.len() {
                _ if brief.depends_on.is_empty() => "It names no claim that it depends on.".to_owned(),
                0 => "Nothing it rests on is unconfirmed.".to_owned(),
                n => format!("It rests on {} that nobody has confirmed.", count(n, "claim", "claims")),
            };
            format!(
                "{}’s offer of {} was accepted by {}, word for word. {open}",
                name(agreed.proposed_by),
                count(agreed.terms.len(), "term", "terms"),
                accepted.join(" and "),
            )
        }
        (None, Some(seat)) if brief.outcome == "withdrawn" => {
            format!("{} left. Nothing was agreed.", name(seat))
        }
        (None, Some(seat)) => format!(
            "Nothing was agreed. {} It was the turn of {}.",
            words::stall(brief.reason.as_deref().unwrap_or_default()),
            name(seat)
        ),
        (None, None) => {
            format!("Nothing was agreed. {}", words::stall(brief.reason.as_deref().unwrap_or_default()))
        }
    }
}

/// The seat an entry is about, for its title.
fn seat_of(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Seated {
        seat: Option<String>,
    }
    serde_json::from_str::<Seated>(data).ok()?.seat
}

/// Entries on one page.
const PAGE: usize = 200;
