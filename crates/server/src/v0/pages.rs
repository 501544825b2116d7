//! The pages that the profile's texts link to: plain, read-only, as public as the room itself (spec 4.2).

use super::V0;
use super::answers::Trouble;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use pxp::v0::brief::{Outcome, brief};
use pxp::v0::envelope::{Registered, Status};
use std::fmt::Write as _;

type Answer = Result<Response, Trouble>;

/// The room: what was said, and where to read it as JSON.
pub(super) async fn room(State(v0): State<V0>, Path(id): Path<String>) -> Answer {
    let state = v0.state(&id).await?;
    let mut page = Page::new(&state.topic);
    page.line("p", &format!("Status: {}", spelled(&state.phase)));
    page.open("ol");
    for envelope in &state.envelopes {
        let side = envelope.from.seat;
        let word = match envelope.status {
            Status::Continue => "",
            Status::Agree => " (agrees)",
            Status::Escalate => " (asks its principal)",
        };
        page.line("li", &format!("{side} {}{word}: {}", state.seat(side).principal(), envelope.message));
    }
    page.close("ol");
    page.link(&format!("../brief/{}", state.id), "The brief");
    page.link(&format!("../api/rooms/{}", state.id), "The room as JSON");
    page.link(&format!("../api/rooms/{}/ledger", state.id), "The ledger");
    Ok(page.response())
}

/// The brief, once the room has ended.
pub(super) async fn of_room(State(v0): State<V0>, Path(id): Path<String>) -> Answer {
    let state = v0.state(&id).await?;
    let mut page = Page::new(&format!("Brief: {}", state.topic));
    match brief(&state) {
        None => page.line("p", "The brief is written when the room ends."),
        Some(brief) => {
            page.line(
                "p",
                match brief.outcome {
                    Outcome::Agreed => "Agreed.",
                    Outcome::NoAgreement => "No agreement.",
                },
            );
            let terms = brief.agreement.iter().flat_map(|agreement| &agreement.terms);
            page.list("Terms", terms.cloned());
            let claims = |claims: &[Registered]| -> Vec<String> {
                claims.iter().map(|one| format!("{}: {}", one.claim.id, one.claim.text)).collect()
            };
            page.list("Unverified, and the agreement depends on it", claims(&brief.unverified_dependencies));
            page.list("Unverified in the record", claims(&brief.unverified_in_record));
            page.list("Challenged", claims(&brief.challenged));
            page.list(
                "Questions to the principals",
                brief.escalations.iter().map(|asked| {
                    let answer = asked.answer.as_deref().unwrap_or("no answer");
                    format!("{}: {} Answer: {answer}", asked.principal, asked.question)
                }),
            );
        }
    }
    page.link(&format!("../room/{}", state.id), "The room");
    Ok(page.response())
}

/// How an agent comes in.
pub(super) async fn connect(State(v0): State<V0>) -> Response {
    let mut page = Page::new("Connect an agent");
    page.line("p", &format!("The MCP endpoint of this profile is {}", v0.link("mcp")));
    if v0.0.accounts.is_some() {
        page.line("p", "Opening a room needs an agent key, sent as Authorization: Bearer.");
        page.link("../keys", "Make an agent key");
    }
    page.response()
}

fn spelled<T: serde::Serialize>(word: &T) -> String {
    serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A page without scripts or styles; every text is escaped and shown with its hidden characters.
struct Page(String);

impl Page {
    fn new(title: &str) -> Self {
        let title = escaped(title);
        Self(format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><title>{title}</title><h1>{title}</h1>\n"
        ))
    }

    fn line(&mut self, tag: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "<{tag}><bdi>{}</bdi></{tag}>", escaped(text));
    }

    fn open(&mut self, tag: &str) {
        let _ = writeln!(self.0, "<{tag}>");
    }

    fn close(&mut self, tag: &str) {
        let _ = writeln!(self.0, "</{tag}>");
    }

    fn list(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if lines.is_empty() {
            return;
        }
        self.line("h2", heading);
        self.open("ul");
        for line in lines {
            self.line("li", &line);
        }
        self.close("ul");
    }

    fn link(&mut self, to: &str, text: &str) {
        let _ = writeln!(self.0, "<p><a href=\"{}\">{}</a></p>", escaped(to), escaped(text));
    }

    fn response(self) -> Response {
        Html(self.0).into_response()
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in approvals::text::show(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
