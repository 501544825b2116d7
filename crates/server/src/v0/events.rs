//! Server-sent events (spec 4.2): the whole view at connect and after each change, a comment every 20 seconds.

use super::answers::Trouble;
use super::http::viewer;
use super::{V0, lock, stream};
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use http::{StatusCode, header};
use ledger::StreamId;
use pxp::v0::Room;
use pxp::v0::rest::{self, Viewer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const PING: Duration = Duration::from_secs(20);

pub(super) async fn events(
    State(v0): State<V0>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Trouble> {
    let state = v0.state(&id).await?;
    let viewer = viewer(&state, &query);
    let side = match viewer {
        Viewer::Seat(side) => Some(side),
        Viewer::Anonymous | Viewer::Demo(_) => None,
    };
    let Some(admitted) = lock(&v0.0.streams).admit(&id, side) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let end = v0.0.stopping.child_token();
    lock(&v0.0.ends).insert(admitted.stream, end.clone());
    if let Some(replaced) = admitted.ends.and_then(|replaced| lock(&v0.0.ends).remove(&replaced)) {
        replaced.cancel();
    }
    let follow = Follow {
        room: stream(&id)?,
        place: Place { v0: v0.clone(), stream: admitted.stream },
        viewer,
        seen: None,
        end,
    };
    let lines = unfold(follow, |mut follow| async move {
        let line = follow.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(line)), follow))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(lines)).into_response())
}

/// One open stream.
struct Follow {
    room: StreamId,
    place: Place,
    viewer: Viewer,
    /// The head that was shown last.
    seen: Option<u64>,
    end: CancellationToken,
}

/// A stream's place, given back when the client leaves.
struct Place {
    v0: V0,
    stream: u64,
}

impl Follow {
    async fn next(&mut self) -> Option<String> {
        let v0 = &self.place.v0;
        if let Some(seen) = self.seen {
            let moved = v0.0.runtime.moved(&self.room, seen);
            tokio::select! {
                () = self.end.cancelled() => return None,
                moved = tokio::time::timeout(PING, moved) => match moved {
                    Err(_) => return Some(": ping\n\n".to_owned()),
                    Ok(moved) => drop(moved.ok()?),
                },
            }
        }
        let (state, head) = v0.0.runtime.state::<Room>(&self.room).await.ok()?;
        if !state.exists() || self.end.is_cancelled() {
            return None;
        }
        self.seen = Some(head.seq);
        let mcp = v0.link("mcp");
        let view = serde_json::to_string(&rest::view(&state, self.viewer, v0.is_live(), &mcp)).ok()?;
        Some(format!("data: {view}\n\n"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.v0.close_stream(self.stream);
    }
}
