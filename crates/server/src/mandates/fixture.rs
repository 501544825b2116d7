//! Answers of the Authority API as they were recorded from a run of the demo, under `/api/fixture`: so that a page or a client
//! can be built with no chain and no mandate. `cargo xtask fixtures` records them anew.
//!
//! A recording is chosen by method and path; among several of one path, by what the request asks: the action it proposes,
//! whether it pays, the members it names. Nothing is decided here and nothing is kept.

use super::refused::Refused;
use crate::App;
use crate::guard::ClientAddress;
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::OnceLock;
use std::time::Duration;

/// Where they are served.
pub(crate) const PATH: &str = "/api/fixture";
/// Stands in a recording for the address of whoever serves it.
pub const ORIGIN: &str = "{origin}";

static RECORDED: &str = include_str!("fixture/recorded.json");

/// One answer, and what was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub method: String,
    /// Without its query.
    pub path: String,
    pub status: u16,
    pub asked: Asked,
    pub body: Value,
}

/// What tells requests of one path apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The action that is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Whether it brings a payment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pays: bool,
    /// The members of the body.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub members: BTreeSet<String>,
}

impl Asked {
    pub fn of(headers: &HeaderMap, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let action = body.pointer("/proposal/action/id").and_then(Value::as_str);
        let members = body.as_object().into_iter().flat_map(|members| members.keys().cloned());
        Self {
            action: action.map(str::to_owned),
            pays: headers.contains_key("payment-signature"),
            members: members.collect(),
        }
    }

    /// How much of it is the same.
    fn likeness(&self, other: &Self) -> u8 {
        let same = [
            (self.action == other.action, 4),
            (self.pays == other.pays, 2),
            (self.members == other.members, 1),
        ];
        same.into_iter().filter_map(|(same, weight)| same.then_some(weight)).sum()
    }
}

/// Every recording, in the order of the run.
pub fn recordings() -> &'static [Recording] {
    static READ: OnceLock<Vec<Recording>> = OnceLock::new();
    // INVARIANT: what is committed was written by the recorder, and a test reads it.
    READ.get_or_init(|| serde_json::from_str(RECORDED).unwrap_or_default())
}

/// The log of the recorded run that has the most to tell (`GET /v1/runs/{id}/log`).
pub fn longest_run() -> Option<&'static Value> {
    let logs =
        recordings().iter().filter(|one| one.path.starts_with("/v1/runs/") && one.path.ends_with("/log"));
    logs.map(|one| &one.body).max_by_key(|log| events(log).len())
}

fn events(log: &Value) -> &[Value] {
    log.get("events").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What is recorded.
#[utoipa::path(get, path = "/api/fixture", tag = "fixture", operation_id = "fixture_index", responses((status = 200)))]
pub(crate) async fn index(State(app): State<App>) -> Result<Response, Refused> {
    let base = app.config().link(PATH);
    let told = recordings().iter().map(|one| {
        json!({ "method": one.method, "url": format!("{base}{}", one.path), "status": one.status, "asked": one.asked })
    });
    super::http::answer(&json!({ "recordings": told.collect::<Vec<_>>() }))
}

/// A recorded answer.
pub(crate) async fn serve(
    State(app): State<App>,
    Extension(address): Extension<ClientAddress>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let path = uri.path().strip_prefix(PATH).unwrap_or_default();
    match path {
        "/llms.txt" => return Ok(super::http::summary()),
        "/llms-full.txt" => return Ok(super::http::protocol()),
        _ => {}
    }
    if let Some(id) = path.strip_prefix("/v1/runs/").and_then(|rest| rest.strip_suffix("/events")) {
        return replay(&app, address, id, &uri, &headers);
    }
    let body = crate::once::read(body, &headers, super::http::BODY).await?;
    let asked = Asked::of(&headers, &body);
    let mut of_path = recordings().iter().filter(|one| one.method == method.as_str() && one.path == path);
    // The first of those that are alike; of what was read several times, the last.
    let found = if method == Method::GET {
        of_path.next_back()
    } else {
        of_path.rev().max_by_key(|one| one.asked.likeness(&asked))
    };
    let found =
        found.ok_or_else(|| Refused::missing("not_recorded", "nothing is recorded for this request"))?;
    let text = found.body.to_string().replace(ORIGIN, &app.config().link(PATH));
    // The agent card says what it is now.
    let text = text.replace(r#""mode":"live""#, r#""mode":"fixture""#);
    let status = StatusCode::from_u16(found.status).map_err(super::bug)?;
    let kind = if status.is_success() || status == StatusCode::PAYMENT_REQUIRED {
        "application/json"
    } else {
        "application/problem+json"
    };
    let mut response = (status, text.clone()).into_response();
    let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
    set(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    set(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::PAYMENT_REQUIRED {
        let told = HeaderValue::try_from(STANDARD.encode(&text)).map_err(super::bug)?;
        set(HeaderName::from_static("payment-required"), told);
    }
    Ok(response)
}

/// The longest pause between two entries of a replay.
const PAUSE: Duration = Duration::from_secs(2);
/// The fastest a replay runs, besides at once.
const FASTEST: u32 = 64;

/// A recorded run, entry by entry, with the numbers and the pauses it had: at most two seconds each, divided by `speed` (0: no
/// pauses). Begins after `after` or `Last-Event-ID`. After its last entry there is nothing to come back for: 204.
fn replay(
    app: &App,
    ClientAddress(address): ClientAddress,
    id: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Refused> {
    let path = format!("/v1/runs/{id}/log");
    let found = recordings().iter().rfind(|one| one.path == path);
    let log = &found.ok_or_else(super::view::run_unknown)?.body;
    let asked = |name: &str| {
        let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).next()
    };
    let speed = asked("speed").map_or(Ok(1), |speed| speed.parse::<u32>());
    let speed = speed.ok().filter(|speed| *speed <= FASTEST);
    let speed = speed.ok_or_else(|| Refused::bad("bad_speed", "/speed", "a speed is 0 to 64"))?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let after: u64 = last.or_else(|| asked("after")).and_then(|after| after.parse().ok()).unwrap_or(0);
    let mut before = None;
    let mut told = Vec::new();
    for event in events(log) {
        let Some(seq) = event.get("seq").and_then(Value::as_u64) else { continue };
        let at = event.get("created_at").and_then(Value::as_str);
        let at = at.and_then(|at| at.parse::<env::Timestamp>().ok());
        let pause = at.zip(before).map_or(Duration::ZERO, |(at, before)| at.since(before).to_std());
        before = at;
        if seq > after {
            let pause = pause.min(PAUSE).checked_div(speed).unwrap_or_default();
            told.push((pause, Event::default().id(seq.to_string()).data(event.to_string())));
        }
    }
    if told.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = app.streams().enter("fixture", Digest::of(address.to_string().as_bytes()))?;
    let entries = futures::stream::unfold((told.into_iter(), place), |(mut entries, place)| async move {
        let (pause, event) = entries.next()?;
        tokio::select! {
            () = tokio::time::sleep(pause) => Some((Ok::<_, Infallible>(event), (entries, place))),
            () = place.end.cancelled() => None,
        }
    });
    let mut response = Sse::new(entries).keep_alive(KeepAlive::new()).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// The input and the result of a recorded job (MIP-003).
#[utoipa::path(get, path = "/demo", tag = "masumi", operation_id = "masumi_demo", responses((status = 200), (status = 404)))]
pub(crate) async fn demo() -> Result<Response, Refused> {
    let job = recordings().iter().find(|one| one.path.starts_with("/v1/jobs/") && one.status == 200);
    let job = &job.ok_or_else(|| Refused::missing("not_recorded", "no job is recorded"))?.body;
    super::http::answer(&json!({ "input": job.get("input_data"), "output": { "result": job.get("result") } }))
}
