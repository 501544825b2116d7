//! The HTTP API: strict bodies in, decisions out, problems where there is one.

mod events;
mod log;
mod messages;
pub(crate) mod meta;
mod openapi;
mod people;
mod proofs;
mod rooms;

pub(crate) use log::file as log_file;
pub use openapi::document;

use crate::session::Session;
use crate::{App, Caller, Error, Link, Once};
use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http::HeaderMap;
use http::request::Parts;
use pxp::RoomId;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every route with its description. The pages and `v0` are merged by whoever serves.
pub(crate) fn routes(app: &App) -> OpenApiRouter<App> {
    let writes = OpenApiRouter::new()
        .routes(routes!(rooms::open, rooms::list))
        .routes(routes!(rooms::view))
        .routes(routes!(rooms::join))
        .routes(routes!(rooms::seal))
        .routes(routes!(rooms::send))
        .routes(routes!(rooms::wait))
        .routes(routes!(rooms::ledger))
        .routes(routes!(rooms::brief))
        .routes(routes!(rooms::bundle))
        .routes(routes!(proofs::brief))
        .routes(routes!(proofs::ledger))
        .routes(routes!(rooms::asks))
        .routes(routes!(rooms::prepare))
        .routes(routes!(rooms::answer))
        .routes(routes!(rooms::claim))
        .routes(routes!(rooms::source))
        .routes(routes!(rooms::withdraw))
        .routes(routes!(rooms::disclose))
        .routes(routes!(rooms::share))
        .routes(routes!(rooms::unshare))
        .routes(routes!(rooms::rotate))
        .routes(routes!(rooms::pause))
        .routes(routes!(rooms::begin_principal))
        .routes(routes!(rooms::enrol_principal))
        .routes(routes!(rooms::draft))
        .routes(routes!(events::events))
        .routes(routes!(people::begin_enrolment))
        .routes(routes!(people::finish_enrolment))
        .routes(routes!(people::begin_sign_in))
        .routes(routes!(people::finish_sign_in))
        .routes(routes!(people::sign_out))
        .routes(routes!(people::inbox))
        .routes(routes!(people::me))
        .routes(routes!(people::organization))
        .routes(routes!(people::act))
        .routes(routes!(people::recover))
        .layer(from_fn_with_state(app.clone(), crate::once::once));
    OpenApiRouter::new()
        .merge(writes)
        .merge(crate::mandates::routes())
        .routes(routes!(messages::accept))
        .routes(routes!(log::checkpoint))
        .routes(routes!(log::tile))
        .routes(routes!(crate::evidence::http::call))
        .routes(routes!(crate::evidence::http::checkpoint))
        .routes(routes!(crate::evidence::http::tile))
        .routes(routes!(meta::health))
        .routes(routes!(meta::metrics))
        .routes(routes!(meta::about))
        .routes(routes!(meta::schema))
        .route("/spec/{name}", get(meta::schema))
        .route("/openapi.json", get(openapi::serve))
}

/// The API alone, with everything every request passes.
pub(crate) fn router(app: &App) -> Router<App> {
    let (router, _) = routes(app).split_for_parts();
    router
}

/// A body read as strict JSON into a type. An empty body is `{}`.
pub(crate) struct Strict<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Strict<T> {
    type Rejection = Error;
    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let json = request.headers().get(http::header::CONTENT_TYPE).is_none_or(|kind| {
            let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("application/json")
        });
        // The size was checked where the body was read.
        let body = axum::body::to_bytes(request.into_body(), usize::MAX)
            .await
            .map_err(|_| Error::malformed("bad_body", "", "the body could not be read"))?;
        if !json && !body.is_empty() {
            return Err(Error::malformed("not_json", "", "the body must be application/json"));
        }
        let body: &[u8] = if body.is_empty() { b"{}" } else { &body };
        Ok(Self(canon::from_slice(body)?))
    }
}

/// A request on one room: the room of its path, who sends it, and its idempotency key.
pub(crate) struct InRoom {
    pub room: RoomId,
    pub caller: Caller,
    pub once: Option<Once>,
}

impl FromRequestParts<App> for InRoom {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        let room = path.ok().and_then(|Path(mut path)| path.remove("room")?.parse::<RoomId>().ok());
        // What is no room id is refused like a room that is not there.
        let link = room.clone().map(Link::to);
        let once = parts.extensions.get::<Once>().cloned();
        // Who repeats a request that replaced its own credential is nobody by now; the kept answer is theirs all the same.
        let caller = match app.authenticate(&parts.headers, link.as_ref()).await {
            Ok(Caller::Nobody) | Err(Error::Unauthenticated) => match &once {
                Some(once) if once.is_repetition() => Caller::Nobody,
                _ => return Err(Error::Unauthenticated),
            },
            other => other?,
        };
        Ok(Self { room: room.ok_or(Error::Missing)?, caller, once })
    }
}

/// A request of anyone: who sends it, if it says so, and its idempotency key.
pub(crate) struct From {
    pub caller: Caller,
    pub once: Option<Once>,
}

impl FromRequestParts<App> for From {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let caller = app.authenticate(&parts.headers, None).await?;
        Ok(Self { caller, once: parts.extensions.get::<Once>().cloned() })
    }
}

/// A request of a signed-in person.
pub(crate) struct Signed {
    pub session: Session,
    pub once: Option<Once>,
}

impl FromRequestParts<App> for Signed {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let from = From::from_request_parts(parts, app).await?;
        match from.caller {
            Caller::Member { session, .. } => Ok(Self { session, once: from.once }),
            _ => Err(Error::Unauthenticated),
        }
    }
}

/// The session of a request that may also bring a room's credential.
pub(crate) async fn signed_in(app: &App, headers: &HeaderMap) -> Result<Caller, Error> {
    let mut only_cookies = headers.clone();
    only_cookies.remove(http::header::AUTHORIZATION);
    app.authenticate(&only_cookies, None).await
}
