//! Where a person is told that something waits: this browser, ntfy, e-mail, a webhook.

use crate::organization::{no_such_act, perform};
use crate::page::{Fault, Shell, done, html};
use crate::visitor::{Fields, Posted, Visitor};
use crate::words;
use approvals::NotifyTarget;
use approvals::people::Act;
use askama::Template;
use axum::response::Response;
use server::Error;

const PATH: &str = "/notifications";

#[derive(Template)]
#[template(path = "notifications.html")]
struct Notifications {
    shell: Shell,
    /// What the browser subscribes with; `None`: web push is off.
    push_key: Option<String>,
    targets: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    id: String,
    kind: &'static str,
    to: String,
    /// The subscription's address, for the script to find its own browser's.
    endpoint: Option<String>,
}

pub(crate) async fn page(visitor: Visitor) -> Result<Response, Fault> {
    let member = visitor.member()?;
    let state = visitor.app.organization(&member.session.org).await?;
    let own = state.member(&member.session.member).map_err(|error| Error::of(&error))?;
    Ok(html(&Notifications {
        push_key: visitor.app.web_push_key(),
        targets: own.notify.iter().map(line).collect(),
        shell: visitor.shell("Where you are told", None).await?,
    }))
}

pub(crate) async fn act(posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let member = visitor.member()?;
    let act = match fields.one("act") {
        "add" => Act::AddNotify { target: read(&fields)? },
        "remove" => {
            Act::RemoveNotify { member: member.session.member.clone(), target: fields.parse("target")? }
        }
        "test" => {
            let sent = visitor.app.send_test(&member.session, &fields.parse("target")?).await;
            sent.map_err(|error| Fault::from(error).back_to(PATH))?;
            return Ok(done(PATH, "told"));
        }
        _ => return Err(no_such_act()),
    };
    perform(&visitor, member, act, PATH).await?;
    Ok(done(PATH, "saved"))
}

/// An endpoint or a webhook's path can be a secret by which others could write there: only its host is shown.
fn line(target: &NotifyTarget) -> Line {
    let (kind, to) = match target {
        NotifyTarget::WebPush { endpoint, .. } => ("A browser", host(endpoint)),
        NotifyTarget::Ntfy { server, topic, .. } => ("ntfy", format!("{server} · {topic}")),
        NotifyTarget::Email { address } => ("E-mail", address.clone()),
        NotifyTarget::Webhook { url, .. } => ("Webhook", host(url)),
    };
    let endpoint = match target {
        NotifyTarget::WebPush { endpoint, .. } => Some(endpoint.clone()),
        _ => None,
    };
    Line { id: target.id().to_string(), kind, to: words::shown(&to), endpoint }
}

fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
}

fn read(fields: &Fields) -> Result<NotifyTarget, Error> {
    let text = |name: &str| fields.one(name).to_owned();
    Ok(match fields.one("kind") {
        "web_push" => {
            NotifyTarget::WebPush { endpoint: text("endpoint"), p256dh: text("p256dh"), auth: text("auth") }
        }
        "email" => NotifyTarget::Email { address: text("address") },
        "ntfy" => {
            NotifyTarget::Ntfy { server: text("server"), topic: text("topic"), token: fields.some("token") }
        }
        "webhook" => NotifyTarget::Webhook { url: text("url"), secret: text("secret") },
        _ => return Err(Error::malformed("bad_field", "/kind", "choose where to be told")),
    })
}
