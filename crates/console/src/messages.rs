//! Messages that carry their proofs, as their receiver reads them: what was accepted, and what a message would be found to be.

use crate::page::{Fault, Shell, html};
use crate::visitor::{Posted, Visitor};
use crate::words;
use approvals::Role;
use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use pcm::message::words::{Telling, tree};
use pcm::message::{Judgement, Message, Overall, Verdict};
use serde::Deserialize;
use server::Error;
use server::messages::{Desk, Line};

#[derive(Template)]
#[template(path = "messages.html")]
struct List {
    shell: Shell,
    lines: Vec<Row>,
    more: Option<u64>,
    /// Whether anything can be accepted.
    began: bool,
}

#[derive(Debug)]
struct Row {
    n: u64,
    at: String,
    from: String,
    to: String,
    verdict: &'static str,
    proven: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    before: Option<u64>,
}

/// What was accepted, newest first.
pub(crate) async fn list(
    Query(Before { before }): Query<Before>,
    visitor: Visitor,
) -> Result<Response, Fault> {
    let desk = desk(&visitor)?;
    let lines = desk.lines(visitor.app.runtime(), before, PAGE).await?;
    let more = lines.last().map(|line| line.n).filter(|_| lines.len() == PAGE);
    Ok(html(&List {
        began: desk.knows(visitor.app.runtime()).await?,
        lines: lines.iter().map(Row::of).collect(),
        more,
        shell: visitor.shell("Messages", None).await?,
    }))
}

impl Row {
    fn of(line: &Line) -> Self {
        Self {
            n: line.n,
            at: words::when(line.at),
            from: line.receipt.agent.clone(),
            to: line.receipt.to.clone(),
            verdict: verdict(line.receipt.overall),
            proven: line.receipt.overall == Overall::Accept,
        }
    }
}

#[derive(Template)]
#[template(path = "message.html")]
struct One {
    shell: Shell,
    verdict: &'static str,
    /// Why it is rejected, or not wholly proven.
    why: Option<String>,
    /// When it was accepted; absent for one that is only read.
    at: Option<String>,
    telling: Option<Told>,
    /// What is odd about what the sender wrote.
    odd: Vec<&'static str>,
}

struct Told {
    heading: Vec<(&'static str, String)>,
    asks: Option<String>,
    text: Option<String>,
    claims: Vec<Claim>,
    grants: Option<String>,
}

struct Claim {
    id: String,
    says: String,
    why: String,
    word: &'static str,
}

/// One that was accepted.
pub(crate) async fn one(Path(n): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let desk = desk(&visitor)?;
    let n = n.parse().map_err(|_| Error::Missing)?;
    let (line, bytes) = desk.message(visitor.app.runtime(), n).await?;
    let judged = bytes.as_ref().map(|bytes| desk.as_of(bytes, line.at));
    let telling =
        bytes.as_deref().and_then(|bytes| Some(Telling::of(&Message::read(bytes).ok()?, judged.as_ref())));
    Ok(html(&One {
        verdict: verdict(line.receipt.overall),
        why: judged.as_ref().and_then(why),
        at: Some(words::when(line.at)),
        odd: telling.as_ref().map(odd).unwrap_or_default(),
        telling: telling.map(Told::of),
        shell: visitor.shell("A message", None).await?,
    }))
}

/// One that somebody pasted: read and judged, and not accepted.
pub(crate) async fn read(posted: Posted) -> Result<Response, Fault> {
    let visitor = &posted.visitor;
    let bytes = posted.fields.one("message").as_bytes();
    let judged = desk(visitor)?.judge(visitor.app.runtime(), bytes, None).await?;
    let telling = Message::read(bytes).ok().map(|message| Telling::of(&message, Some(&judged)));
    let verdict = match judged.overall {
        Overall::Accept => "It would be accepted: every claim is proven",
        Overall::AcceptUnproven => "It would be accepted, but not all of it is proven",
        Overall::Reject => "It would be rejected",
    };
    Ok(html(&One {
        verdict,
        why: why(&judged),
        at: None,
        odd: telling.as_ref().map(odd).unwrap_or_default(),
        telling: telling.map(Told::of),
        shell: visitor.shell("A message", None).await?,
    }))
}

impl Told {
    fn of(telling: Telling) -> Self {
        let claims = telling.claims.into_iter().map(|claim| Claim {
            word: claim.found.map_or("Not judged", word),
            id: claim.id,
            says: claim.says,
            why: claim.why,
        });
        let grants = tree(&telling.grants).join("\n");
        Self {
            heading: telling.heading,
            asks: telling.asks,
            text: telling.text,
            claims: claims.collect(),
            grants: Some(grants).filter(|grants| !grants.is_empty()),
        }
    }
}

/// Owners, auditors and operators read what came.
fn desk(visitor: &Visitor) -> Result<&Desk, Fault> {
    let member = visitor.member()?;
    let may = [Role::Owner, Role::Auditor, Role::Operator].iter().any(|role| member.roles.contains(role));
    let first = visitor.app.config().organizations.first();
    if !may || first != Some(&member.session.org.0) {
        return Err(Error::Missing.into());
    }
    Ok(visitor.app.desk()?)
}

const fn verdict(overall: Overall) -> &'static str {
    match overall {
        Overall::Accept => "Accepted: every claim is proven",
        Overall::AcceptUnproven => "Accepted, but not all of it is proven",
        Overall::Reject => "Rejected",
    }
}

const fn word(found: Verdict) -> &'static str {
    match found {
        Verdict::Proven => "Proven",
        Verdict::Unproven(_) => "Not proven",
        Verdict::Failed(_) => "Contradicted",
    }
}

fn why(judged: &Judgement) -> Option<String> {
    let fault = judged.fault.as_ref()?;
    let place = if fault.place.is_empty() { String::new() } else { format!(", at {}", fault.place) };
    Some(format!("{} ({}{place})", fault.code.sentence(), fault.code.as_str()))
}

fn odd(telling: &Telling) -> Vec<&'static str> {
    let claims = telling.claims.iter().map(|claim| claim.says.as_str());
    let said = telling.text.iter().chain(&telling.asks).map(String::as_str);
    words::odd(said.chain(claims))
}

/// The largest form with a message in it, bytes: each byte may be written as three.
pub(crate) const LONGEST: usize = 1 << 20;

/// Messages on one page.
const PAGE: usize = 50;
