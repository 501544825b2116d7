//! What can be checked: the brief, the record with its hashes, and the page that verifies files in the browser.

use crate::page::{Fault, Shell, html};
use crate::visitor::{Visitor, room_id};
use crate::words;
use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use pxp::brief::{Known, Part, Told, VERIFIED, tell};
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
    file(&format!("room-{id}.json"), "application/json", bytes.into())
}

#[derive(Template)]
#[template(path = "brief.html")]
struct BriefPage {
    shell: Shell,
    room: String,
    word: &'static str,
    told: Told,
    /// What to look twice at.
    odd: Vec<String>,
    offer: Option<Vec<String>>,
    head: u64,
    head_hash: Vec<String>,
    hash: Vec<String>,
    at: String,
    may_download: bool,
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
    // Clauses are named alike on every card: the words known here are those of the own side.
    let own = visitor.app.standpoint(&caller, &id, None).await?.seat;
    let (state, _) = visitor.app.room_state(&id).await?;
    let mut odd = odd(brief);
    odd.extend(words::renamed(&state));
    Ok(html(&BriefPage {
        odd,
        told: tell(brief, &Known::of_view(own, &found)),
        word: words::room_status(&brief.outcome).0,
        offer: brief.agreement.as_ref().map(|agreed| words::groups(&agreed.offer_hash)),
        head: brief.ledger_head.n,
        head_hash: words::groups(&brief.ledger_head.hash),
        hash: words::groups(&found.brief_hash),
        at: words::when(brief.generated_at),
        may_download: !matches!(caller, server::Caller::Share { .. }),
        shell: visitor.shell("The brief", Some(&id)).await?,
        room,
    }))
}

/// What is odd about what others wrote into a brief.
fn odd(brief: &pxp::Brief) -> Vec<String> {
    let terms = brief.agreement.iter().flat_map(|agreed| &agreed.terms).map(String::as_str);
    let lists = [&brief.depends_on, &brief.unverified_dependencies, &brief.unverified_in_record];
    let claims = lists.into_iter().flatten().map(|claim| claim.text.as_str());
    let disputed = brief.disputed.iter().flat_map(|one| [one.text.as_str(), one.reason.as_str()]);
    let told = brief.escalations.iter().filter_map(|one| one.public_summary.as_deref());
    [
        words::odd_in("Topic", [brief.topic.as_str()]),
        words::odd_in("Terms", terms),
        words::odd_in("Claims", claims),
        words::odd_in("Reasons", disputed),
        words::odd_in("Answers", told),
    ]
    .concat()
}

/// The brief with its proof, as a file.
pub(crate) async fn brief_proof(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let bytes = visitor.app.brief_proof(&caller, &id).await?;
    file(&format!("brief-{id}.json"), "application/json", bytes.into())
}

/// The ledger as JSON Lines.
pub(crate) async fn export(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let export = visitor.app.ledger_export(&caller, &id).await?;
    file(&format!("ledger-{id}.jsonl"), "application/jsonl", export.into_body())
}

/// A file to keep, never cached.
fn file(name: &str, kind: &'static str, body: Body) -> Result<Response, Fault> {
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, disposition.map_err(|_| Error::Missing)?),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, body).into_response())
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
