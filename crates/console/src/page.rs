//! What every page shares: its frame, how it is sent, and the page that says why something was refused.

use crate::assets;
use crate::visitor::Visitor;
use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderValue, StatusCode, header};
use ledger::{Coded, Who};
use server::Error;

/// The frame of a page.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    /// Not escaped yet; hidden characters already written out.
    pub title: String,
    /// The name of the signed-in person.
    pub name: Option<String>,
    /// How many questions wait for them.
    pub waiting: usize,
    /// How many approvals wait for the key this browser has proved, where it has proved one.
    pub approvals: Option<usize>,
    /// This server keeps mandates.
    pub mandates: bool,
    /// It receives messages.
    pub messages: bool,
    /// The token every form of this page carries.
    pub csrf: String,
    /// What was just done, in one sentence.
    pub said: Option<&'static str>,
}

impl Shell {
    pub fn asset(&self, name: &str) -> String {
        assets::path(name)
    }
}

/// Something shown once: links and secrets. Where `person` is set, a button enters the room as its person.
#[derive(Debug)]
pub(crate) struct Secret {
    pub label: &'static str,
    /// What to do with it.
    pub note: String,
    pub value: String,
}

#[derive(Template)]
#[template(path = "once.html")]
struct Once {
    shell: Shell,
    lead: String,
    secrets: Vec<Secret>,
    enter: Option<Enter>,
    next: String,
    next_label: &'static str,
}

/// A credential that this browser may keep at once.
#[derive(Debug)]
pub(crate) struct Enter {
    pub room: String,
    pub secret: String,
    pub label: &'static str,
}

/// A page with secrets that are not shown again.
pub(crate) fn once(
    shell: Shell,
    lead: impl Into<String>,
    secrets: Vec<Secret>,
    enter: Option<Enter>,
    next: (impl Into<String>, &'static str),
) -> Response {
    html(&Once { shell, lead: lead.into(), secrets, enter, next: next.0.into(), next_label: next.1 })
}

/// Sends a page. Pages are for one person and are not kept. The referrer is kept within this site, because without one a
/// browser names no origin for a form.
pub(crate) fn html(page: &impl Template) -> Response {
    with_status(StatusCode::OK, page)
}

pub(crate) fn with_status(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CACHE_CONTROL, "no-store"),
                (header::REFERRER_POLICY, "same-origin"),
            ];
            (status, headers, text).into_response()
        }
        Err(error) => Error::Bug(error.to_string()).into_response(),
    }
}

/// After a form: 303 to where its effect shows. `said` is a word of [`said`].
pub(crate) fn done(to: &str, said: &str) -> Response {
    let to = if said.is_empty() { to.to_owned() } else { format!("{to}?said={said}") };
    Redirect::to(&to).into_response()
}

/// The answer with a cookie set.
pub(crate) fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// What was done, said on the page that follows. Only these sentences can be put there by a link.
pub(crate) fn said(word: &str) -> Option<&'static str> {
    Some(match word {
        "sealed" => "Your card is sealed.",
        "answered" => "Your answer is recorded.",
        "confirmed" => "Your confirmation is recorded.",
        "disowned" => "Recorded: you did not give that answer.",
        "claim" => "Recorded what you say of this claim.",
        "source" => "The document is attached to the claim.",
        "shown" => "It was shown to the other side.",
        "unshared" => "That reading link no longer works.",
        "withdrawn" => "The offer is withdrawn.",
        "left" => "You left. The room has ended.",
        "paused" => "The room is stopped.",
        "resumed" => "The room goes on.",
        "saved" => "Saved.",
        "told" => "The test message is on its way.",
        "revoked" => "It no longer works.",
        "stopped" => "Stopped.",
        "running" => "It goes on.",
        "out" => "You are signed out.",
        "enrolled" => "Your passkey is enrolled and you are signed in.",
        "signed" => "Your signature is recorded. More approvers must sign.",
        "released" => "The release is signed and on its way.",
        "declined" => "You declined.",
        "vetoed" => "It is stopped: it will not be paid.",
        "person" => "You now answer for this seat.",
        _ => return None,
    })
}

/// Why a page could not be shown or a form not be carried out.
#[derive(Debug)]
pub(crate) struct Fault {
    error: Error,
    /// Where a person may try again.
    back: Option<String>,
}

impl Fault {
    pub fn back_to(mut self, path: impl Into<String>) -> Self {
        self.back = Some(path.into());
        self
    }

    pub fn into_error(self) -> Error {
        self.error
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { error, back: None }
    }
}

#[derive(Template)]
#[template(path = "fault.html")]
struct Refused {
    shell: Shell,
    sentence: String,
    code: &'static str,
    place: Option<String>,
    sign_in: bool,
    back: Option<String>,
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let Self { error, back } = self;
        match error.who() {
            Who::Bug => tracing::error!(code = error.code(), %error, "page failed"),
            Who::Unavailable => tracing::warn!(code = error.code(), %error, "page failed"),
            _ => tracing::debug!(code = error.code(), %error, "page refused"),
        }
        let sign_in = matches!(error, Error::Unauthenticated);
        let title = match error.who() {
            Who::Unauthenticated => "Please sign in",
            Who::Missing => "Nothing here",
            Who::Bug | Who::Unavailable => "That did not work",
            _ => "That was refused",
        };
        let sentence = match &error {
            Error::Unauthenticated => {
                "This page needs you to be signed in, or the link you were given.".to_owned()
            }
            Error::Missing => "There is nothing here for you. Check the link, or sign in.".to_owned(),
            other => sentence(&other.shown()),
        };
        let page = Refused {
            shell: Shell { title: title.to_owned(), ..Shell::default() },
            sentence: crate::words::shown(&sentence),
            code: error.code(),
            place: error.place().filter(|place| !place.is_empty()),
            sign_in: sign_in || matches!(error, Error::Missing),
            back,
        };
        with_status(server::problem::status(&error), &page)
    }
}

/// A refusal is lower case without a full stop; on a page it is a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

impl Visitor {
    /// The frame of a page for this visitor. `room` is the room the page is about, whose credential may stand in for a session.
    pub async fn shell(&self, title: &str, room: Option<&pxp::RoomId>) -> Result<Shell, Fault> {
        let waiting = match &self.member {
            Some(member) => self.app.inbox(&member.session).await?.len(),
            None => 0,
        };
        Ok(Shell {
            title: title.to_owned(),
            approvals: self.approvals().await?,
            mandates: self.app.keeps_mandates(),
            messages: self.app.receives_messages(),
            name: self.member.as_ref().map(|member| crate::words::shown(&member.name)),
            waiting,
            csrf: self.csrf(room.map(pxp::RoomId::as_str)),
            said: self.said.as_deref().and_then(said),
        })
    }
}
