//! A recorded run, told again event by event. Needs no mandate and no chain.

use super::read::{Entry, entry};
use super::{Denied, page, shell};
use crate::page::Shell;
use crate::visitor::Visitor;
use crate::words::{shown, when};
use askama::Template;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect, Response};
use canon::{Raw, Value};
use serde::Deserialize;
use server::mandates::{Refused, fixture};

#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    mode: Option<String>,
}

#[derive(Template)]
#[template(path = "mandates/live.html")]
struct Live {
    shell: Shell,
    id: String,
    mandate: String,
    goal: String,
    started: String,
    entries: Vec<Entry>,
    /// Where its events come from.
    events: String,
    log: String,
}

pub(crate) async fn live(Query(asked): Query<Asked>, visitor: Visitor) -> Result<Response, Denied> {
    if asked.mode.as_deref() != Some("replay") {
        return Ok(Redirect::to("/live?mode=replay").into_response());
    }
    let missing = || Refused::missing("not_recorded", "no run is recorded");
    let log = fixture::longest_run().ok_or_else(missing)?;
    let log = Raw::from_slice(log.to_string().as_bytes()).map_err(|_| missing())?;
    let log = log.value();
    let text = |name: &str| log.pointer(&format!("/run/{name}")).and_then(Value::as_str).unwrap_or_default();
    let id = text("run_id").to_owned();
    let events = log.get("events").and_then(Value::as_array).unwrap_or_default();
    let entries = events.iter().filter_map(|event| entry(&Raw::of(event).ok()?)).collect();
    Ok(page(&Live {
        mandate: text("mandate_id").to_owned(),
        goal: shown(text("goal")),
        started: text("started_at").parse().map(when).unwrap_or_default(),
        entries,
        events: format!("/api/fixture/v1/runs/{id}/events"),
        log: format!("/api/fixture/v1/runs/{id}/log"),
        shell: shell(&visitor, "A run, replayed").await?,
        id,
    }))
}
