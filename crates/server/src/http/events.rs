//! A room as a stream of events. The id of an event is the number of the ledger entry it tells of, so a client that
//! comes back with `Last-Event-ID` misses nothing and hears nothing twice.

use super::InRoom;
use crate::session::bearer;
use crate::streams::Place;
use crate::{App, Caller, Error, Link};
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use canon::Digest;
use futures::Stream;
use http::{HeaderMap, HeaderValue};
use pxp::RoomId;
use serde::Deserialize;
use std::convert::Infallible;
use std::time::Duration;

const PING: Duration = Duration::from_secs(20);
/// Entries read at a time.
const PAGE: usize = 100;

#[derive(Debug, Deserialize)]
pub(crate) struct EventsQuery {
    #[serde(default)]
    after: Option<u64>,
}

/// Server-sent events: `entry` for each ledger entry, `envelope` with what it records where the caller may read it,
/// `state` when the caller has seen everything. Resumes after `Last-Event-ID` or `after`; without either from the
/// beginning.
#[utoipa::path(get, path = "/api/rooms/{room}/events", tag = "rooms", operation_id = "events", params(("room" = String, Path), ("after" = Option<u64>, Query)),
    responses((status = 200, content_type = "text/event-stream")))]
pub(crate) async fn events(
    State(app): State<App>,
    at: InRoom,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    app.standpoint(&at.caller, &at.room, None).await?;
    let place = app.streams().enter(at.room.as_str(), credential(&headers, &at.caller))?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let seen = last.or(query.after).unwrap_or(0);
    let stream = follow(app, headers, at.room, seen, place);
    let mut response = Sse::new(stream).keep_alive(KeepAlive::new().interval(PING)).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// What the stream has told so far.
struct Follower {
    app: App,
    headers: HeaderMap,
    room: RoomId,
    seen: u64,
    /// Kept until the stream ends.
    place: Place,
    ready: std::collections::VecDeque<Event>,
    told_state: bool,
}

fn follow(
    app: App,
    headers: HeaderMap,
    room: RoomId,
    seen: u64,
    place: Place,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let follower = Follower {
        app,
        headers,
        room,
        seen,
        place,
        ready: std::collections::VecDeque::new(),
        told_state: false,
    };
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
    /// Fills `ready`, or says that the stream is over: the server stops, a newer stream took over, or the caller may no
    /// longer read.
    async fn more(&mut self) -> bool {
        if self.told_state {
            let stream = match crate::rooms::room_stream(&self.room) {
                Ok(stream) => stream,
                Err(_) => return false,
            };
            tokio::select! {
                moved = self.app.runtime().moved(&stream, self.seen) => if moved.is_err() { return false },
                () = self.place.end.cancelled() => return false,
                () = self.app.stopping().cancelled() => return false,
            }
            self.told_state = false;
        }
        match self.read().await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(%error, room = %self.room, "an event stream ended");
                false
            }
        }
    }

    async fn read(&mut self) -> Result<(), Error> {
        // Asked again for each page: a revoked or replaced credential ends its stream.
        let (caller, _) = self.app.identify(&self.headers, Some(&Link::to(self.room.clone()))).await?;
        let page = self.app.events_page(&caller, &self.room, self.seen, PAGE).await?;
        for told in &page.told {
            let event = Event::default().id(told.n.to_string()).event(told.kind);
            self.ready.push_back(event.data(told.data.clone()));
        }
        self.seen = page.seen;
        if let Some(state) = page.state {
            self.ready.push_back(Event::default().id(page.seen.to_string()).event("state").data(state));
            self.told_state = true;
        }
        Ok(())
    }
}

fn credential(headers: &HeaderMap, caller: &Caller) -> Digest {
    match (bearer(headers), caller) {
        (Some(secret), _) => Digest::of(secret.as_bytes()),
        (None, Caller::Member { session, .. }) => Digest::of(session.name.as_bytes()),
        (None, _) => Digest::of(headers.get(http::header::COOKIE).map_or(&[][..], HeaderValue::as_bytes)),
    }
}
