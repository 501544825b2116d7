//! Runs: their lists, logs and events.

use super::super::check::{RunSaid, run_id};
use super::super::kept::Shelf;
use super::super::refused::Refused;
use super::super::view::{PAGE, event_of, run_unknown};
use super::super::who::{Role, Who};
use super::super::{Known, bug};
use super::mandates::{OfMandate, for_party};
use super::{Reads, Writes, answer};
use crate::App;
use crate::streams::Place;
use ::http::{HeaderMap, HeaderValue};
use axum::extract::{Path, Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use canon::Digest;
use futures::Stream;
use ledger::StreamId;
use mandate::Command;
use mandate::log::RunId;
use mandate::text::{Id, Text};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

const PING: Duration = Duration::from_secs(15);
/// A client that lost its stream comes back after so long.
const RETRY: Duration = Duration::from_secs(3);
/// The longest life of a pass that is asked for.
const LONGEST_PASS: u64 = 366 * 24 * 3600;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenBody {
    #[serde(default)]
    goal: Option<Text<0, 2000>>,
    mandate_id: Id,
}

#[derive(Debug, Serialize)]
struct Opened {
    events_url: String,
    run_id: RunId,
}

/// Names a run and says what it is for. It begins with its first check.
#[utoipa::path(post, path = "/v1/runs", tag = "authority", operation_id = "open_run", responses((status = 200)))]
pub(crate) async fn open(State(app): State<App>, asked: Writes) -> Result<Response, Refused> {
    let body: OpenBody = asked.json()?;
    let known = for_party(&app, &asked.who, body.mandate_id.as_str()).await?;
    if asked.who.role(&known.anchored.mandate) != Role::Agent {
        return Err(Refused::forbidden("not_permitted", "only the mandate's agent opens runs"));
    }
    let run = app.fresh_run()?;
    let goal = match body.goal {
        Some(goal) => goal,
        None => "".parse().map_err(bug)?,
    };
    let said = RunSaid { goal, kind: "agent".parse().map_err(bug)?, mandate_id: body.mandate_id };
    app.keep(Shelf::Run, run.as_str(), &said, None).await?;
    answer(&Opened { events_url: app.events_url(&known, &run), run_id: run })
}

#[derive(Debug, Serialize)]
struct Listed<T> {
    runs: T,
}

/// A mandate's runs, newest first. For its parties.
#[utoipa::path(get, path = "/v1/runs", tag = "authority", operation_id = "runs",
    params(("mandate_id" = String, Query)), responses((status = 200)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(of): Query<OfMandate>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let id = of.mandate_id.as_deref();
    let id = id.ok_or_else(|| Refused::bad("mandate_id_missing", "/mandate_id", "mandate_id is needed"))?;
    let known = for_party(&app, &who, id).await?;
    answer(&Listed { runs: app.runs_of(&known).await? })
}

#[derive(Debug, Serialize)]
struct Done {
    ok: bool,
}

/// Ends a run: its end is signed by the engine. For the mandate's agent.
#[utoipa::path(post, path = "/v1/runs/{id}/finish", tag = "authority", operation_id = "finish_run",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn finish(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let run = run_id(&id).map_err(|_| run_unknown())?;
    let known = app.run_for(&asked.who, &run, None, None).await?;
    if asked.who.role(&known.anchored.mandate) != Role::Agent {
        return Err(Refused::forbidden("not_permitted", "only the mandate's agent ends runs"));
    }
    app.authority(&known.stream, &Command::FinishRun { run }).await?;
    answer(&Done { ok: true })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareBody {
    #[serde(default)]
    expires_in_seconds: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Shared {
    events_url: String,
    log_url: String,
    token: String,
}

/// A pass to one run: its log, its events, its receipts. For the mandate's parties.
#[utoipa::path(post, path = "/v1/runs/{id}/share", tag = "authority", operation_id = "share_run",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn share(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: ShareBody = asked.json()?;
    let run = run_id(&id).map_err(|_| run_unknown())?;
    let known = app.run_for(&asked.who, &run, None, None).await?;
    let seconds = body.expires_in_seconds.unwrap_or(24 * 3600);
    if !(1..=LONGEST_PASS).contains(&seconds) {
        let text = "a pass is good for one second to 366 days";
        return Err(Refused::bad("bad_expiry", "/expires_in_seconds", text));
    }
    let token = app.pass(&known.anchored.mandate, &run, env::Duration::from_secs(seconds));
    answer(&Shared {
        events_url: app.config().link(&format!("/v1/runs/{run}/events?token={token}")),
        log_url: app.config().link(&format!("/v1/runs/{run}/log?token={token}")),
        token,
    })
}

/// A run's entries. For the mandate's parties, and for whoever has a pass to it.
#[utoipa::path(get, path = "/v1/runs/{id}/log", tag = "authority", operation_id = "run_log",
    params(("id" = String, Path), ("token" = Option<String>, Query), ("mandate_id" = Option<String>, Query)), responses((status = 200)))]
pub(crate) async fn log(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(of): Query<OfMandate>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let (known, run) = found(&app, &who, &id, &of).await?;
    answer(&app.run_log(&known, &run).await?)
}

/// A run's entries as they come, as server-sent events without names: `id` is an entry's number. Resumes after
/// `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/runs/{id}/events", tag = "authority", operation_id = "run_events",
    params(("id" = String, Path), ("token" = Option<String>, Query), ("mandate_id" = Option<String>, Query)),
    responses((status = 200, content_type = "text/event-stream")))]
pub(crate) async fn events(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(of): Query<OfMandate>,
    Reads(who): Reads,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let (known, run) = found(&app, &who, &id, &of).await?;
    if known.state.run(&run).is_none() {
        return Err(run_unknown());
    }
    let credential = of.token.clone().unwrap_or_else(|| who.name());
    let place = app.streams().enter(&format!("run {run}"), Digest::of(credential.as_bytes()))?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let follower = Follower {
        until: of.token.as_deref().and_then(|token| app.opened(token)).map(|pass| pass.until),
        app,
        stream: known.stream,
        run,
        seen: last.unwrap_or(0),
        place,
        ready: VecDeque::from([Event::default().retry(RETRY)]),
        all_read: false,
    };
    let mut response = Sse::new(follow(follower)).keep_alive(KeepAlive::new().interval(PING)).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

async fn found(app: &App, who: &Who, id: &str, of: &OfMandate) -> Result<(Known, RunId), Refused> {
    let run = run_id(id).map_err(|_| run_unknown())?;
    let known = app.run_for(who, &run, of.maybe()?.as_ref(), of.token.as_deref()).await?;
    Ok((known, run))
}

/// What the stream has told so far.
struct Follower {
    app: App,
    stream: StreamId,
    run: RunId,
    seen: u64,
    /// When the pass is over.
    until: Option<env::Timestamp>,
    /// Kept until the stream ends.
    place: Place,
    ready: VecDeque<Event>,
    all_read: bool,
}

fn follow(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    futures::stream::unfold(follower, |mut follower| async move {
        loop {
            if let Some(event) = follower.ready.pop_front() {
                return Some((Ok(event), follower));
            }
            if !follower.more().await {
                return None;
            }
        }
    })
}

impl Follower {
    /// Reads on, or says that the stream is over.
    async fn more(&mut self) -> bool {
        if self.all_read {
            tokio::select! {
                moved = self.app.runtime().moved(&self.stream, self.seen) => if moved.is_err() { return false },
                () = self.place.end.cancelled() => return false,
                () = self.app.stopping().cancelled() => return false,
            }
        }
        if self.until.is_some_and(|until| self.app.now() >= until) {
            return false;
        }
        let Ok(page) = self.app.journal().read(&self.stream, self.seen, PAGE).await else { return false };
        self.all_read = page.len() < PAGE;
        for entry in page {
            self.seen = entry.seq;
            match event_of(&entry, &self.run) {
                Ok(Some(event)) => {
                    let told = Event::default().id(entry.seq.to_string()).data(event.as_str());
                    self.ready.push_back(told);
                }
                Ok(None) => {}
                Err(_) => return false,
            }
        }
        true
    }
}
