//! What every request meets first: is it meant for this server, and does it come too often. Nothing of the body is read
//! before these have passed.

use crate::cors;
use crate::limits::{bucket, client};
use crate::parking::Parked;
use crate::problem::spelled;
use crate::{App, Config, Error};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Which `Host` and `Origin` values are this server's.
#[derive(Debug, Clone)]
pub struct Names {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<String>,
    /// How pages of this server are reached: never over plain `http` where the public URL is `https`.
    schemes: &'static [&'static str],
}

/// The client's address, worked out once a request.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

impl Names {
    /// The public URL's own names, loopback on any port if the public URL is a loopback one, and what the config adds.
    pub fn of(config: &Config) -> Self {
        let mut hosts = Vec::new();
        let mut origins = vec![config.origin()];
        let host =
            config.public_url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
        if is_loopback(&host) {
            hosts.extend(["localhost", "127.0.0.1", "::1"].map(|name| (name.to_owned(), None)));
        } else {
            hosts.push((host, None));
        }
        for allowed in &config.allowed_hosts {
            if let Ok(authority) = Authority::try_from(allowed.as_str()) {
                hosts.push(named(&authority));
            }
        }
        origins.extend(
            config.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()),
        );
        let schemes: &[&str] = if config.is_https() { &["https://"] } else { &["http://", "https://"] };
        Self { hosts, origins, schemes }
    }

    /// Whether the request names this server. A missing, repeated or unreadable `Host` names nobody.
    pub fn host_is_ours(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::HOST).iter();
        let authority = match (values.next(), values.next()) {
            (Some(only), None) => only.to_str().ok().and_then(|text| Authority::try_from(text).ok()),
            (None, _) => uri.authority().cloned(),
            (Some(_), Some(_)) => None,
        };
        let Some((host, port)) = authority.as_ref().map(named) else { return false };
        self.hosts
            .iter()
            .any(|(name, wanted)| *name == host && wanted.is_none_or(|wanted| Some(wanted) == port))
    }

    /// Whether a page that sends this request is one of ours. Clients that are no browser send no `Origin`. A page of
    /// the very host the request names is ours too; that host has been checked.
    pub fn origin_is_ours(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = values.next() else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        let origin = origin.to_ascii_lowercase();
        let own_host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let same_host = self.schemes.iter().any(|scheme| {
            origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(own_host))
        });
        values.next().is_none() && (self.origins.contains(&origin) || same_host)
    }
}

/// Refuses foreign hosts and origins (403, DNS rebinding), then spends a token of the client's address (429).
/// Headers are copied, so that a parked request does not hold the connection's read buffer.
pub async fn enter(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let names = app.names();
    // Profile v0 answers pages of every origin: nothing there rests on a cookie.
    let is_open = app.config().v0 && request.uri().path().starts_with("/v0/");
    let open = cors::opened(names, &request);
    let is_ours = is_open || open.is_some() || names.origin_is_ours(request.headers());
    if !names.host_is_ours(request.uri(), request.headers()) || !is_ours {
        let error = Error::Forbidden {
            code: "foreign_origin",
            text: "this Host or Origin is not served here".to_owned(),
        };
        return error.into_response();
    }
    own_buffers(&mut request);
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    let address = client(peer, request.headers(), &app.config().trusted_proxies);
    request.extensions_mut().insert(ClientAddress(address));
    if let Err(error) = app.buckets().address.take(&bucket(address)) {
        return error.into_response();
    }
    let Some(open) = open else { return next.run(request).await };
    if cors::is_preflight(request.method(), request.headers()) {
        return cors::preflight(&open);
    }
    let mut response = next.run(request).await;
    cors::mark(&open, &mut response);
    response
}

/// The same strict headers on every response; a handler that set one of its own keeps it.
pub async fn leave(State(app): State<App>, request: Request, next: Next) -> Response {
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    // Profile v0 has error bodies of its own.
    if !path.starts_with("/v0/") {
        response = spelled(&path, response).await;
    }
    // A parked request's answer passes here by itself, later.
    if response.extensions().get::<Parked>().is_none() {
        dress(&app, writes, &mut response);
    }
    response
}

/// What [`leave`] does to an answer.
pub(crate) fn dress(app: &App, writes: bool, response: &mut Response) {
    const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; \
        base-uri 'none'; frame-ancestors 'none'";
    metrics::counter!("countersign_http_responses_total", "status" => response.status().as_str().to_owned())
        .increment(1);
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set("content-security-policy", CSP);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("x-frame-options", "DENY");
    set("cross-origin-opener-policy", "same-origin");
    set("cross-origin-resource-policy", "same-origin");
    set("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=()");
    if app.config().is_https() {
        set("strict-transport-security", "max-age=63072000; includeSubDomains");
    }
    if writes || response.status() != StatusCode::OK {
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
}

fn own_buffers(request: &mut Request) {
    let mut copied = HeaderMap::with_capacity(request.headers().len());
    for (name, value) in request.headers() {
        let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) else { continue };
        copy.set_sensitive(name == header::AUTHORIZATION || name == header::COOKIE);
        copied.append(name.clone(), copy);
    }
    *request.headers_mut() = copied;
    if let Ok(uri) = request.uri().to_string().parse() {
        *request.uri_mut() = uri;
    }
}

fn named(authority: &Authority) -> (String, Option<u16>) {
    (authority.host().trim_matches(['[', ']']).to_ascii_lowercase(), authority.port_u16())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(public: &str) -> Names {
        Names::of(&Config {
            public_url: public.parse().unwrap(),
            allowed_hosts: vec!["extra.example:8443".to_owned()],
            allowed_origins: vec!["https://app.example".to_owned()],
            ..Config::default()
        })
    }

    fn check(public: &str, host: Option<&str>, origin: Option<&str>, expected: bool) {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let names = names(public);
        let ours = names.host_is_ours(&Uri::from_static("/mcp"), &headers) && names.origin_is_ours(&headers);
        assert_eq!(ours, expected, "{public} {host:?} {origin:?}");
    }

    #[test]
    fn only_our_own_names_are_served() {
        let local = "http://127.0.0.1:8080";
        check(local, Some("127.0.0.1:8080"), None, true);
        check(local, Some("LOCALHOST:9"), None, true);
        check(local, Some("[::1]:9"), None, true);
        check(local, None, None, false);
        check(local, Some("evil.example"), None, false);
        check(local, Some("127.0.0.1.evil.example"), None, false);
        check(local, Some("127.0.0.1:8080"), Some("http://127.0.0.1:8080"), true);
        check(local, Some("127.0.0.1:8080"), Some("https://app.example"), true);
        check(local, Some("127.0.0.1:8080"), Some("http://evil.example"), false);
        check(local, Some("127.0.0.1:8080"), Some("null"), false);
        check(local, Some("localhost:8080"), Some("http://localhost:9999"), false);
        let public = "https://sign.example";
        check(public, Some("sign.example"), Some("https://sign.example"), true);
        check(public, Some("sign.example"), Some("http://sign.example"), false);
        check(public, Some("127.0.0.1"), None, false);
        check(public, Some("extra.example:8443"), None, true);
        check(public, Some("extra.example"), None, false);
    }
}
