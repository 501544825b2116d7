//! What the server says of itself: health, metrics, its keys, its schemas, its API document.

use crate::guard::ClientAddress;
use crate::session::bearer;
use crate::{App, Error};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use canon::Digest;
use env::Duration;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use keys::Jwk;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::OnceLock;
use store::{Append, Idempotency, StoreError};

/// A checkpoint older than this, while entries wait for it, is not fresh.
const FRESH: Duration = Duration::from_secs(60);

static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();

/// Starts collecting metrics for this process; a second call changes nothing.
pub fn collect_metrics() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_ok() {
        let _ = METRICS.set(handle);
    }
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Health {
    /// The store answers and takes writes, and the log's signed checkpoint is fresh or has nothing to wait for.
    pub ok: bool,
    /// Why it is not ok: `store_unavailable`, `store_not_writable` or `log_not_fresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    pub version: &'static str,
    /// The store answers.
    pub store: bool,
    /// The store took a write, now or within the last seconds.
    pub writable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogHealth>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LogHealth {
    pub fresh: bool,
    /// Entries the signed checkpoint covers.
    pub size: u64,
    /// Entries in the store.
    pub entries: u64,
    /// When the checkpoint was signed.
    #[schema(value_type = Option<String>)]
    pub signed_at: Option<env::Timestamp>,
}

/// Whether the store answers, takes writes, and the log's signed checkpoint is fresh.
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = Health), (status = 503, body = Health)))]
pub(crate) async fn health(State(app): State<App>) -> Response {
    let found = async {
        Ok::<_, Error>((app.journal().stats().await?, app.journal().published(store::log::SERVER_LOG).await?))
    }
    .await;
    let health = match found {
        Err(_) => Health {
            ok: false,
            code: Some("store_unavailable"),
            version: VERSION,
            store: false,
            writable: false,
            log: None,
        },
        Ok((stats, published)) => {
            let log = app.log_key().map(|_| {
                let size = published.as_ref().map_or(0, |published| published.size);
                let recent =
                    published.as_ref().is_some_and(|published| app.now().since(published.at) <= FRESH);
                let signed_at = published.as_ref().map(|published| published.at);
                LogHealth { fresh: size >= stats.entries || recent, size, entries: stats.entries, signed_at }
            });
            let writable = app.is_writable().await;
            let is_fresh = log.as_ref().is_none_or(|log| log.fresh);
            let code = match (writable, is_fresh) {
                (false, _) => Some("store_not_writable"),
                (true, false) => Some("log_not_fresh"),
                (true, true) => None,
            };
            Health { ok: code.is_none(), code, version: VERSION, store: true, writable, log }
        }
    };
    let status = if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(health)).into_response()
}

/// For how long a write that landed says that the next one would.
const WRITTEN: std::time::Duration = std::time::Duration::from_secs(5);

/// When the last write of [`App::is_writable`] landed.
#[derive(Debug, Default)]
pub(crate) struct Probe(tokio::sync::Mutex<Option<std::time::Instant>>);

impl App {
    /// Whether the store takes a write: a row of its own, over again, that means nothing.
    pub(crate) async fn is_writable(&self) -> bool {
        let mut landed = self.probe().0.lock().await;
        if landed.is_some_and(|at| at.elapsed() < WRITTEN) {
            return true;
        }
        let now = self.now();
        let probe = Idempotency {
            scope: "health".to_owned(),
            key: "probe".to_owned(),
            request: Digest::ZERO,
            response: Vec::new(),
            now,
            expires: now,
        };
        let written = self.journal().append(Append { idempotency: Some(probe), ..Append::default() }).await;
        let is_written = match written {
            Ok(_) | Err(StoreError::Repeated(_)) => true,
            Err(error) => {
                tracing::warn!(%error, "the store takes no writes");
                false
            }
        };
        *landed = is_written.then(std::time::Instant::now);
        is_written
    }
}

/// Prometheus metrics: for loopback, and for whoever brings the configured token.
#[utoipa::path(get, path = "/metrics", tag = "server", responses((status = 200, body = String, content_type = "text/plain"),
    (status = 401, body = crate::problem::Problem)))]
pub(crate) async fn metrics(
    State(app): State<App>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let token_is_right = match (&app.config().metrics_token, bearer(&headers)) {
        (Some(expected), Some(given)) => keys::equal(expected.as_bytes(), given.as_bytes()),
        _ => false,
    };
    if !token_is_right && !address.is_loopback() {
        return Err(Error::Unauthenticated);
    }
    let text = METRICS.get().map(PrometheusHandle::render).unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct About {
    pub name: &'static str,
    pub version: &'static str,
    pub mcp: String,
    /// The server's public key as a JWK: signs room heads.
    #[schema(value_type = Object)]
    pub key: Jwk,
    /// RFC 7638 thumbprint of `key`.
    pub key_id: String,
    /// The log's public key as verifiers pin it (C2SP vkey).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub protocols: [&'static str; 1],
}

/// The server's keys and where its services are.
#[utoipa::path(get, path = "/.well-known/countersign.json", tag = "server", responses((status = 200, body = About)))]
pub(crate) async fn about(State(app): State<App>) -> Json<About> {
    let public = app.signer().public();
    Json(About {
        name: "countersign",
        version: VERSION,
        mcp: app.config().link("/mcp"),
        key: Jwk::from(public),
        key_id: public.thumbprint().to_string(),
        log: app.log_key().map(str::to_owned),
        protocols: ["pxp"],
    })
}

/// A JSON Schema, under `/schemas/` or, with the seed's file names, under `/spec/`.
#[utoipa::path(get, path = "/schemas/{name}", tag = "server", params(("name" = String, Path)),
    responses((status = 200, body = Object, content_type = "application/schema+json"), (status = 404, body = crate::problem::Problem)))]
pub(crate) async fn schema(Path(name): Path<String>) -> Result<Response, Error> {
    let ours = pxp::schemas().into_iter().map(|(file, text)| (file, Cow::Owned(text)));
    let theirs = mandate::schemas().map(|(file, text)| (file, Cow::Borrowed(text)));
    let messages = pcm::message::schemas().map(|(file, text)| (file, Cow::Borrowed(text)));
    let (_, text) =
        ours.chain(theirs).chain(messages).find(|(file, _)| *file == name).ok_or(Error::Missing)?;
    let text = text.into_owned();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/schema+json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
    ];
    Ok((headers, text).into_response())
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
