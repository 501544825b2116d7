//! Idempotency keys at the edge: one at a time, the same answer afterwards, another request refused. What makes the
//! second answer equal to the first is the store, which keeps it in the transaction of the decision.

use crate::session::bearer;
use crate::{App, Error};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use canon::Digest;
use env::Duration;
use http::{HeaderMap, Method, header};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// How long an answer is kept.
const KEEP: Duration = Duration::from_secs(24 * 3600);

/// A request's idempotency key.
#[derive(Clone, PartialEq, Eq)]
pub struct Once {
    /// One credential, as a digest.
    pub scope: String,
    pub key: String,
    /// Method, target and body, as a digest.
    pub request: Digest,
    /// What this very request was answered before, under this very credential.
    pub(crate) kept: Option<Vec<u8>>,
}

impl Once {
    pub const fn new(scope: String, key: String, request: Digest) -> Self {
        Self { scope, key, request, kept: None }
    }

    /// Whether this repeats a request that was answered. Its credential may be gone since: the answer is found before
    /// whatever that answer changed is asked for.
    pub(crate) const fn is_repetition(&self) -> bool {
        self.kept.is_some()
    }

    /// The answer kept for this request, if it is a repetition.
    pub(crate) fn repeated<T: DeserializeOwned>(once: Option<&Self>) -> Result<Option<T>, Error> {
        let kept = once.and_then(|once| once.kept.as_deref());
        kept.map(|bytes| Ok(canon::from_slice(bytes)?)).transpose()
    }

    /// What the runtime needs to keep `response` of the command's answer.
    pub fn keep<A: ledger::Aggregate>(self, response: fn(&A::Answer) -> Vec<u8>) -> store::Once<A> {
        store::Once { scope: self.scope, key: self.key, request: self.request, keep: KEEP, response }
    }
}

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("request", &self.request).finish_non_exhaustive()
    }
}

/// The keys whose first request is still running in this process. Across processes compare-and-append decides.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<HashSet<(String, String)>>);

impl InFlight {
    pub(crate) fn enter(&self, once: &Once) -> Option<Running<'_>> {
        let pair = (once.scope.clone(), once.key.clone());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only where it is kept: dropping it takes the lock again.
        running.insert(pair.clone()).then(|| Running { all: self, pair })
    }
}

/// A key whose first request runs, as long as this lives.
pub(crate) struct Running<'a> {
    all: &'a InFlight,
    pair: (String, String),
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.pair);
    }
}

/// Reads the body within `limits.body`, and gives the handler an [`Once`] if the request brings an `Idempotency-Key`:
/// 1 to 255 visible ASCII characters, at least 16 of them from a caller without a credential.
pub async fn once(State(app): State<App>, request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let body = match read(body, &parts.headers, app.config().limits.body).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let once = match key(&parts.headers, parts.method.as_str(), target, &body) {
        Ok(once) => once,
        Err(error) => return error.into_response(),
    };
    let Some(mut once) = once else {
        return next.run(Request::from_parts(parts, Body::from(body))).await;
    };
    let Some(_running) = app.in_flight().enter(&once) else { return Error::InFlight.into_response() };
    match app.journal().recall(&once.scope, &once.key, app.now()).await {
        Ok(None) => {}
        Ok(Some(kept)) if kept.request == once.request => once.kept = Some(kept.response),
        Ok(Some(_)) => return Error::KeyReused.into_response(),
        Err(error) => return Error::from(error).into_response(),
    }
    parts.extensions.insert(once);
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// How long a body may take to come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The whole body, copied out of the connection's buffer; refused beyond `limit` before the rest is read.
pub(crate) async fn read(body: Body, headers: &HeaderMap, limit: usize) -> Result<Bytes, Error> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|declared| usize::try_from(declared).map_or(true, |declared| declared > limit)) {
        return Err(Error::TooLarge { limit });
    }
    let late = |_| Error::malformed("body_timeout", "", "the body did not come in time");
    let bytes = tokio::time::timeout(PATIENCE, to_bytes(body, limit)).await.map_err(late)?;
    let bytes = bytes.map_err(|_| Error::TooLarge { limit })?;
    Ok(Bytes::copy_from_slice(&bytes))
}

fn key(headers: &HeaderMap, method: &str, target: &str, body: &[u8]) -> Result<Option<Once>, Error> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bad =
        |text: &str| Error::Malformed { code: "bad_idempotency_key", place: None, text: text.to_owned() };
    if values.next().is_some() {
        return Err(bad("more than one idempotency key"));
    }
    let key = value.to_str().unwrap_or_default().trim().to_owned();
    if !(1..=255).contains(&key.len()) || key.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(bad("an idempotency key is 1 to 255 visible ascii characters"));
    }
    let credential = bearer(headers)
        .map(str::to_owned)
        .or_else(|| headers.get(header::COOKIE).and_then(|cookie| Some(cookie.to_str().ok()?.to_owned())));
    if credential.is_none() && key.len() < 16 {
        return Err(bad("without a credential an idempotency key has at least 16 characters"));
    }
    let credential = credential.unwrap_or_default();
    let scope = Digest::of(credential.as_bytes()).to_string();
    let request = Digest::of_parts(&[method.as_bytes(), b" ", target.as_bytes(), b"\0", body]);
    Ok(Some(Once::new(scope, key, request)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(credential: Option<&str>, key_text: &str, path: &str, body: &str) -> Result<Option<Once>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", key_text.parse().unwrap());
        if let Some(credential) = credential {
            headers.insert(header::AUTHORIZATION, format!("Bearer {credential}").parse().unwrap());
        }
        key(&headers, "POST", path, body.as_bytes())
    }

    #[test]
    fn a_key_belongs_to_one_credential_and_one_request() {
        let one = of(Some("a"), "k", "/x", "{}").unwrap().unwrap();
        assert_eq!(of(Some("a"), "k", "/x", "{}").unwrap().unwrap(), one);
        assert_ne!(of(Some("b"), "k", "/x", "{}").unwrap().unwrap().scope, one.scope);
        assert_eq!(of(Some("a"), "k", "/y", "{}").unwrap().unwrap().scope, one.scope);
        assert_ne!(of(Some("a"), "k", "/y", "{}").unwrap().unwrap().request, one.request);
        assert_ne!(of(Some("a"), "k", "/x?q=1", "{}").unwrap().unwrap().request, one.request);
        assert_ne!(of(Some("a"), "k", "/x", "[]").unwrap().unwrap().request, one.request);
        assert!(of(None, "short", "/x", "{}").is_err());
        assert!(of(None, "0123456789abcdef", "/x", "{}").is_ok());
        assert!(of(Some("a"), "has blank", "/x", "{}").is_err());
        assert_eq!(key(&HeaderMap::new(), "POST", "/x", b"").unwrap(), None);
    }

    #[test]
    fn one_at_a_time() {
        let all = InFlight::default();
        let once = of(Some("a"), "k", "/x", "{}").unwrap().unwrap();
        let first = all.enter(&once);
        assert!(first.is_some());
        assert!(all.enter(&once).is_none());
        drop(first);
        assert!(all.enter(&once).is_some());
    }
}
