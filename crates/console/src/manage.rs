//! What a side can do to its room beside answering: show its card, make reading links, withdraw, stop.

use crate::answer::claim_id;
use crate::page::{Fault, Secret, Shell, done, html, once};
use crate::room::{Offer, Seat, offer};
use crate::visitor::{Posted, Visitor, room_id};
use crate::words;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use env::Duration;
use pxp::command::{Disclosed, Scope};
use pxp::wire::Source;
use server::Error;

#[derive(Template)]
#[template(path = "manage.html")]
struct Manage {
    shell: Shell,
    room: String,
    topic: String,
    ended: bool,
    paused: bool,
    /// Whether they hold the room's switch.
    stops: bool,
    clauses: Vec<Clause>,
    others: Vec<Seat>,
    shares: Vec<Share>,
    offers: Vec<Offer>,
}

#[derive(Debug)]
struct Clause {
    reference: String,
    name: String,
    text: String,
}

#[derive(Debug)]
struct Share {
    id: String,
    shows: &'static str,
    until: Option<String>,
    live: bool,
}

pub(crate) async fn page(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let view = visitor.app.view_room(&caller, &id).await?;
    let you = view.room.you.as_ref().ok_or_else(only_a_side)?;
    let own = you.seat.seat;
    let (state, _) = visitor.app.room_state(&id).await?;
    let clauses = you.card.iter().flat_map(|card| card.clauses()).map(|(at, text)| Clause {
        reference: at.to_string(),
        name: words::clause(&at.to_string()),
        text: words::shown(text),
    });
    Ok(html(&Manage {
        topic: words::shown(&view.room.topic),
        ended: state.is_ended(),
        paused: state.paused.is_some(),
        stops: visitor.app.switch(&caller, &id).await.is_ok(),
        clauses: clauses.collect(),
        others: view.room.counterparts.iter().map(|seat| crate::room::seat(seat, Some(own), None)).collect(),
        shares: you
            .shares
            .iter()
            .map(|share| Share {
                id: share.id.to_string(),
                shows: scope_word(share.scope),
                until: share.expires_at.map(words::when),
                live: share.live,
            })
            .collect(),
        offers: view
            .room
            .offers
            .iter()
            .map(|one| offer(one, Some(own)))
            .filter(|one| one.own && one.open)
            .collect(),
        shell: visitor.shell("Manage the room", Some(&id)).await?,
        room,
    }))
}

pub(crate) async fn act(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let back = format!("/room/{id}/manage");
    carry_out(&id, &posted, &back).await.map_err(|fault| fault.back_to(back))
}

async fn carry_out(id: &pxp::RoomId, posted: &Posted, back: &str) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let caller = visitor.stand(id).await?;
    let app = &visitor.app;
    match fields.one("act") {
        "show" => {
            let what = match fields.some("clause") {
                None => Disclosed::Card,
                Some(_) => Disclosed::Clause(fields.parse("clause")?),
            };
            app.disclose(&caller, id, fields.parse("to")?, what, None).await?;
            Ok(done(back, "shown"))
        }
        "share" => {
            let scope = match fields.one("scope") {
                "transcript" => Scope::Transcript,
                "ledger" => Scope::Ledger,
                "brief" => Scope::Brief,
                _ => return Err(Error::malformed("bad_field", "/scope", "choose what the link shows").into()),
            };
            let days = fields.within("days", 0..=366)?;
            let until = (days > 0).then(|| app.now() + Duration::from_secs(days * 86_400));
            let link = app.share(&caller, id, scope, until, None).await?;
            let secret = Secret {
                label: "Reading link",
                note: format!("Whoever has it can read {}, and nothing else.", scope_word(scope)),
                value: link.link,
            };
            let shell = visitor.shell("A new reading link", Some(id)).await?;
            Ok(once(shell, "Keep it now: it is shown once.", vec![secret], None, (back, "Back")))
        }
        "unshare" => {
            app.unshare(&caller, id, fields.parse("share")?, None).await?;
            Ok(done(back, "unshared"))
        }
        "rotate" => {
            let link = app.rotate(&caller, id, None).await?;
            let secret = Secret {
                label: "For your agent",
                note: "Give it to your agent. The old link no longer works.".to_owned(),
                value: link,
            };
            let shell = visitor.shell("A new link for your agent", Some(id)).await?;
            Ok(once(shell, "Keep it now: it is shown once.", vec![secret], None, (back, "Back")))
        }
        "withdraw" => {
            let offer = fields.parse("offer")?;
            app.withdraw(&caller, id, Some(offer), fields.one("reason").to_owned(), None).await?;
            Ok(done(back, "withdrawn"))
        }
        "leave" if fields.one("sure") == "yes" => {
            app.withdraw(&caller, id, None, fields.one("reason").to_owned(), None).await?;
            Ok(done(&format!("/room/{id}"), "left"))
        }
        "leave" => Err(Error::malformed("not_confirmed", "/sure", "tick the box to leave the room").into()),
        "pause" => {
            app.pause(&caller, id, Some(fields.one("reason").to_owned()), None).await?;
            Ok(done(back, "paused"))
        }
        "resume" => {
            app.pause(&caller, id, None, None).await?;
            Ok(done(back, "resumed"))
        }
        _ => Err(Error::malformed("bad_field", "/act", "no such action").into()),
    }
}

/// Attaches a document, named by its address and SHA-256, to a claim.
pub(crate) async fn source(
    Path((room, claim)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let (id, claim) = (room_id(&room)?, claim_id(&claim)?);
    let back = format!("/room/{id}/claims/{claim}");
    let caller = visitor.stand(&id).await?;
    let source = Source { uri: fields.one("uri").to_owned(), sha256: fields.parse("sha256")? };
    let attached = visitor.app.attach_source(&caller, &id, claim, source, None).await;
    attached.map_err(|error| Fault::from(error).back_to(back.clone()))?;
    Ok(done(&back, "source"))
}

const fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Transcript => "the messages, claims and offers",
        Scope::Ledger => "the record: what happened when, and its hashes",
        Scope::Brief => "the brief at the end",
    }
}

fn only_a_side() -> Error {
    Error::Forbidden { code: "not_permitted", text: "only a side of the room can do that".to_owned() }
}
