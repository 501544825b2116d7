//! The first page: what waits for you, your rooms.

use crate::page::{Fault, Shell, html};
use crate::visitor::Visitor;
use crate::words;
use askama::Template;
use axum::response::Response;
use server::Waiting;

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    shell: Shell,
    questions: Vec<Question>,
    rooms: Vec<RoomLine>,
}

#[derive(Template)]
#[template(path = "welcome.html")]
struct Welcome {
    shell: Shell,
    mcp: String,
    /// Nobody has enrolled yet.
    fresh: bool,
    may_open: bool,
}

/// One pending question, as a list shows it.
#[derive(Debug)]
pub(crate) struct Question {
    pub title: String,
    pub question: String,
    pub link: String,
    pub asked: String,
    pub until: Option<String>,
    pub acting_for: Option<String>,
    pub warned: bool,
}

#[derive(Debug)]
struct RoomLine {
    id: String,
    topic: String,
    word: &'static str,
    status: String,
    opened: String,
    seats: String,
}

pub(crate) async fn home(visitor: Visitor) -> Result<Response, Fault> {
    let app = &visitor.app;
    let Some(member) = &visitor.member else {
        let shell = visitor.shell("Welcome", None).await?;
        let mut fresh = true;
        for org in &app.config().organizations {
            let state = app.organization(&approvals::OrgId(org.clone())).await?;
            fresh &= !state.members().any(|member| member.active_passkeys(app.now()).next().is_some());
        }
        let may_open = !app.config().sign_in;
        return Ok(html(&Welcome { shell, mcp: app.config().link("/mcp"), fresh, may_open }));
    };
    let questions = questions(app.inbox(&member.session).await?);
    let rooms = app.list_rooms(&member.caller(), ROOMS).await?.into_iter().map(|line| RoomLine {
        id: line.room_id,
        topic: words::shown(&line.topic),
        word: words::room_status(&line.status).0,
        status: line.status,
        opened: line.opened_at.parse().map(words::when).unwrap_or(line.opened_at),
        seats: line.seats.join(", "),
    });
    let rooms = rooms.collect();
    Ok(html(&Home { shell: visitor.shell("Home", None).await?, questions, rooms }))
}

/// Pending questions as a list shows them. The texts of an ask are already written out.
pub(crate) fn questions(waiting: Vec<Waiting>) -> Vec<Question> {
    waiting
        .into_iter()
        .map(|waiting| Question {
            link: path(&waiting.link),
            asked: words::when(waiting.ask.asked_at),
            until: waiting.ask.expires_at.map(words::when),
            acting_for: waiting.acting_for.map(|member| member.to_string()),
            warned: !waiting.ask.brief.warnings.is_empty(),
            title: waiting.ask.brief.title,
            question: waiting.ask.brief.question,
        })
        .collect()
}

/// The path of a link to this server.
fn path(link: &str) -> String {
    link.rfind("/asks/").and_then(|at| link.get(at..)).unwrap_or(link).to_owned()
}

/// Rooms listed on one page.
const ROOMS: usize = 100;
