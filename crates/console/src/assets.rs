//! Stylesheet, modules and the second verifier, embedded. Their path holds the hash of them all, so that a browser may
//! keep them for ever.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use canon::Digest;
use http::{HeaderValue, StatusCode, header};
use rust_embed::RustEmbed;
use std::borrow::Cow;
use std::sync::OnceLock;

#[derive(RustEmbed)]
#[folder = "static/"]
struct Own;

#[derive(RustEmbed)]
#[folder = "../../verifier-js/"]
struct Verifier;

/// Where the verifier's modules are served, beside our own.
const VERIFIER: &str = "verifier-js/";

const WORKER: &str = "push-worker.js";

/// The path of an asset.
pub(crate) fn path(name: &str) -> String {
    format!("/static/{}/{name}", version())
}

pub(crate) async fn asset(Path((hash, name)): Path<(String, String)>) -> Response {
    let Some(bytes) = read(&name) else { return StatusCode::NOT_FOUND.into_response() };
    // A page of an earlier release may ask by an earlier hash; nobody keeps that answer.
    let keep = if hash == version() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind(&name))),
        (header::CACHE_CONTROL, HeaderValue::from_static(keep)),
    ];
    (headers, bytes).into_response()
}

pub(crate) async fn icon() -> Response {
    let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=86400")];
    (headers, read("mark.svg").unwrap_or_default()).into_response()
}

/// The service worker. It stands at the root, because it may speak for the pages below its own path only, and keeps its
/// address, because a browser looks there for a newer one.
pub(crate) async fn worker() -> Response {
    let headers = [(header::CONTENT_TYPE, kind(WORKER)), (header::CACHE_CONTROL, "no-cache")];
    (headers, read(WORKER).unwrap_or_default()).into_response()
}

fn read(name: &str) -> Option<Cow<'static, [u8]>> {
    match name.strip_prefix(VERIFIER) {
        Some(name) if is_module(name) => Verifier::get(name).map(|file| file.data),
        Some(_) => None,
        None => Own::get(name).map(|file| file.data),
    }
}

/// What a browser needs of the verifier: no tests, no command line.
fn is_module(name: &str) -> bool {
    name.ends_with(".js")
}

/// The hash over every asset, in order of names.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let own = Own::iter().map(Cow::into_owned);
        let verifier =
            Verifier::iter().filter(|name| is_module(name)).map(|name| format!("{VERIFIER}{name}"));
        let mut names: Vec<String> = own.chain(verifier).collect();
        names.sort();
        let hashes: Vec<String> = names
            .iter()
            .map(|name| format!("{name} {}\n", Digest::of(&read(name).unwrap_or_default())))
            .collect();
        Digest::of(hashes.concat().as_bytes()).to_string().chars().take(16).collect()
    })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
