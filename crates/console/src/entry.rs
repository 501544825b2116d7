//! How people come in: signing in, enrolling, opening a link, recovering.

use crate::page::{Enter, Fault, Secret, Shell, done, html, once, with_cookie};
use crate::visitor::{Posted, Visitor, room_id};
use approvals::OrgId;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use pxp::RoomId;
use server::{Caller, Done, Enrolment, Error, Link};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    shell: Shell,
}

pub(crate) async fn sign_in(visitor: Visitor) -> Result<Response, Fault> {
    Ok(html(&SignIn { shell: visitor.shell("Sign in", None).await? }))
}

pub(crate) async fn sign_out(posted: Posted) -> Result<Response, Fault> {
    let visitor = &posted.visitor;
    Ok(with_cookie(done("/", "out"), &visitor.app.sign_out(visitor.headers()).await?))
}

#[derive(Template)]
#[template(path = "open.html")]
struct Open {
    shell: Shell,
}

/// Where a link can be pasted, for browsers without scripts.
pub(crate) async fn open_page(visitor: Visitor) -> Result<Response, Fault> {
    Ok(html(&Open { shell: visitor.shell("Open a link", None).await? }))
}

pub(crate) async fn open(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let text = fields.one("link");
    if let Some((path, _)) = text.split_once("#i=")
        && let Some((_, org)) = path.rsplit_once("/enrol/")
    {
        return Ok(done(&format!("/enrol/{}", org_id(&visitor, org)?), ""));
    }
    let link = Link::parse(&visitor.app.config().public_url, text)
        .map_err(|error| Fault::from(error).back_to("/open"))?;
    match link.secret {
        Some(secret) => enter_with(&visitor, &link.room, &secret).await,
        None => Ok(done(&format!("/room/{}", link.room), "")),
    }
}

/// Keeps the secret of a link to this room in a cookie, so that its pages need no script.
pub(crate) async fn enter(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let room = room_id(&room)?;
    let text = posted.fields.one("secret");
    // A whole link will do.
    let secret = match Link::parse(&posted.visitor.app.config().public_url, text) {
        Ok(Link { room: of, secret: Some(secret) }) if of == room => secret,
        _ => text.to_owned(),
    };
    enter_with(&posted.visitor, &room, &secret).await
}

async fn enter_with(visitor: &Visitor, room: &RoomId, secret: &str) -> Result<Response, Fault> {
    visitor.holder(room, secret).await.map_err(|fault| fault.back_to("/open"))?;
    let cookie = visitor.app.seals().room_cookie(room.as_str(), secret);
    Ok(with_cookie(done(&format!("/room/{room}"), ""), &cookie))
}

/// Takes the seat of the invite this browser keeps.
pub(crate) async fn join(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let room = room_id(&room)?;
    let caller = visitor.stand(&room).await?;
    let joined = visitor.app.join_room(&caller, &room, fields.some("agent"), None, None).await?;
    let mut secrets = Vec::new();
    if let Some(link) = &joined.your_link {
        secrets.push(Secret {
            label: "For your agent",
            note: "Give this link to the agent that will speak for you. It is the agent's key to the seat."
                .into(),
            value: link.clone(),
        });
    }
    let enter = joined.principal_link.as_deref().and_then(|link| person_of(&visitor, &room, link));
    if let Some(link) = &joined.principal_link {
        secrets.push(Secret {
            label: "For you, the person",
            note: "With this link you answer your agent's questions. It works once; do not give it to the agent."
                .into(),
            value: link.clone(),
        });
    }
    let shell = visitor.shell("Your seat", Some(&room)).await?;
    let next = (format!("/room/{room}"), "Go to the room");
    Ok(once(shell, format!("You have taken seat {}.", joined.seat), secrets, enter, next))
}

/// The button by which this browser becomes the person of a fresh principal link.
pub(crate) fn person_of(visitor: &Visitor, room: &RoomId, link: &str) -> Option<Enter> {
    let link = Link::parse(&visitor.app.config().public_url, link).ok()?;
    Some(Enter {
        room: room.to_string(),
        secret: link.secret?,
        label: "Answer for this seat in this browser",
    })
}

/// Becomes the seat's person without a passkey: as the signed-in member, or by the link alone.
pub(crate) async fn person(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let room = room_id(&room)?;
    let caller = visitor.stand(&room).await?;
    let member = visitor.member.as_ref().map(crate::visitor::Member::caller);
    let enrolment = match fields.one("as") {
        "member" => Enrolment::Member,
        "link" => Enrolment::Link,
        _ => return Err(Error::malformed("bad_field", "/as", "choose how you answer").into()),
    };
    let secret = visitor.app.enrol_principal(&caller, member.as_ref(), &room, enrolment, None).await?;
    let response = done(&format!("/room/{room}"), "person");
    Ok(match secret {
        Some(secret) => with_cookie(response, &visitor.app.seals().room_cookie(room.as_str(), &secret)),
        None => response,
    })
}

#[derive(Template)]
#[template(path = "enrol.html")]
struct Enrol {
    shell: Shell,
    org: String,
}

pub(crate) async fn enrol(Path(org): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let org = org_id(&visitor, &org)?;
    Ok(html(&Enrol { shell: visitor.shell("Enrol a passkey", None).await?, org: org.0 }))
}

#[derive(Template)]
#[template(path = "recover.html")]
struct Recover {
    shell: Shell,
    orgs: Vec<String>,
}

pub(crate) async fn recover_page(visitor: Visitor) -> Result<Response, Fault> {
    let orgs = visitor.app.config().organizations.clone();
    Ok(html(&Recover { shell: visitor.shell("Recover your access", None).await?, orgs }))
}

pub(crate) async fn recover(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let org = org_id(&visitor, fields.one("org"))?;
    let spent = visitor.app.spend_code(&org, fields.one("code"), None).await;
    let Done::Link { link, .. } = spent.map_err(|error| Fault::from(error).back_to("/recover"))? else {
        return Err(Error::Bug("a recovery code gave no link".to_owned()).into());
    };
    let secret = Secret {
        label: "Your enrolment link",
        note: "Open it within one hour, on the device whose passkey you want to use from now on.".into(),
        value: link.clone(),
    };
    let shell = visitor.shell("Recover your access", None).await?;
    Ok(once(shell, "The code is spent. It does not work again.", vec![secret], None, (link, "Open it now")))
}

/// An organization of this server.
fn org_id(visitor: &Visitor, name: &str) -> Result<OrgId, Fault> {
    let known = visitor.app.config().organizations.iter().any(|org| org == name);
    if known { Ok(OrgId(name.to_owned())) } else { Err(Error::Missing.into()) }
}

/// Whether the caller is the seat's own person.
pub(crate) const fn is_person(caller: &Caller) -> bool {
    matches!(caller, Caller::Principal { .. } | Caller::Member { .. })
}
