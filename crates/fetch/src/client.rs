use crate::socket::WebSocket;
use crate::url::{Destination, HostPort, Scheme};
use crate::{Error, is_public};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode, header};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::tungstenite;

/// What may be called, and how much it may take.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Called whatever their address, and over plain `http` too.
    pub allow: Vec<HostPort>,
    /// Until the connection stands.
    pub connect_timeout: Duration,
    /// Until the last byte of the answer.
    pub timeout: Duration,
    /// Bytes of an answer's body.
    pub max_body: usize,
}

impl Default for Policy {
    /// Nothing listed, 5 s to connect, 20 s in all, 1 MiB.
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(20),
            max_body: 1 << 20,
        }
    }
}

/// One call.
#[derive(Clone)]
pub struct Request {
    pub method: Method,
    pub to: Destination,
    /// Refused: `Host`, framing, connection and proxy headers.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Redirects to follow, each checked like the first address; only of `GET` and `HEAD`, without credentials once the
    /// origin changes, never from `https` to `http`. 0 refuses them.
    pub follow: u8,
    /// Instead of the policy's, if shorter.
    pub timeout: Option<Duration>,
}

impl Request {
    pub fn new(method: Method, to: Destination) -> Self {
        Self { method, to, headers: HeaderMap::new(), body: Bytes::new(), follow: 0, timeout: None }
    }

    pub fn get(url: &str) -> Result<Self, Error> {
        Ok(Self::new(Method::GET, Destination::parse(url)?))
    }

    pub fn post(url: &str, body: impl Into<Bytes>) -> Result<Self, Error> {
        Ok(Self { body: body.into(), ..Self::new(Method::POST, Destination::parse(url)?) })
    }

    /// Sets a header. Refuses a value that is none.
    pub fn header(mut self, name: header::HeaderName, value: &str) -> Result<Self, Error> {
        let refused = |_| Error::HeaderRefused { name: name.to_string() };
        let value = header::HeaderValue::from_str(value).map_err(refused)?;
        self.headers.insert(name, value);
        Ok(self)
    }
}

impl Request {
    fn permitted(&self) -> Result<(), Error> {
        let forbidden = [
            header::HOST,
            header::CONNECTION,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
            header::UPGRADE,
            header::TE,
            header::TRAILER,
            header::PROXY_AUTHORIZATION,
        ];
        match forbidden.iter().find(|name| self.headers.contains_key(*name)) {
            Some(name) => Err(Error::HeaderRefused { name: name.to_string() }),
            None => Ok(()),
        }
    }
}

/// Headers and body may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {}, {} bytes)", self.method, self.to.origin(), self.body.len())
    }
}

/// A whole answer, of any status but a redirect.
#[derive(Clone)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({}, {} bytes)", self.status, self.body.len())
    }
}

/// How long an answer may come that is read as it comes.
const LASTING: Duration = Duration::from_secs(24 * 3600);

/// An answer whose body is still coming.
pub struct Incoming {
    answer: reqwest::Response,
    host: String,
}

impl Incoming {
    pub fn status(&self) -> StatusCode {
        self.answer.status()
    }
    pub fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }
    /// The next piece of the body, or nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.answer.chunk().await.map_err(|error| failure(&error, &self.host))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming({})", self.status())
    }
}

/// Where names turn into addresses.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[async_trait]
impl Lookup for System {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// The client. Cheap to clone; connections are kept per host, listed ones apart from all others.
#[derive(Clone)]
pub struct Client {
    policy: Arc<Policy>,
    public: reqwest::Client,
    listed: reqwest::Client,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Client {
    pub fn new(policy: Policy) -> Result<Self, Error> {
        Self::with_lookup(policy, Arc::new(System))
    }

    pub fn with_lookup(policy: Policy, lookup: Arc<dyn Lookup>) -> Result<Self, Error> {
        let build = |only_public| {
            reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .connect_timeout(policy.connect_timeout)
                .timeout(policy.timeout)
                .pool_max_idle_per_host(4)
                .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
                .dns_resolver(Arc::new(Guard { lookup: Arc::clone(&lookup), only_public }))
                .build()
                .map_err(|error| Error::Setup { detail: chain(&error) })
        };
        let (public, listed) = (build(true)?, build(false)?);
        Ok(Self { policy: Arc::new(policy), public, listed })
    }

    /// Whether an address would be called at all, as far as that shows before a name is resolved. For refusing a bad
    /// address when it is entered.
    pub fn permits(&self, to: &Destination) -> Result<(), Error> {
        self.route(to).map(|_| ())
    }

    /// Makes the call. An answer of any status is an answer, save a redirect that is not followed.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        request.permitted()?;
        let timeout = request.timeout.map_or(self.policy.timeout, |own| own.min(self.policy.timeout));
        tokio::time::timeout(timeout, self.follow(request)).await.map_err(|_| Error::Timeout)?
    }

    /// Makes the call and gives the answer as it comes, for as long as it comes: only the connection must stand in the policy's
    /// time. Redirects are refused; [`Policy::max_body`] bounds nothing here.
    pub async fn open(&self, request: Request) -> Result<Incoming, Error> {
        request.permitted()?;
        let outgoing = self
            .route(&request.to)?
            .request(request.method, request.to.url.clone())
            .timeout(LASTING)
            .headers(request.headers)
            .body(request.body);
        let answer = outgoing.send().await.map_err(|error| failure(&error, request.to.host()))?;
        let status = answer.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            return Err(Error::RedirectRefused { status: status.as_u16() });
        }
        Ok(Incoming { answer, host: request.to.host().to_owned() })
    }

    async fn follow(&self, mut request: Request) -> Result<Response, Error> {
        loop {
            let (response, next) = self.once(&request).await?;
            let Some(next) = next else { return Ok(response) };
            let refused = Error::RedirectRefused { status: response.status.as_u16() };
            let safe = matches!(request.method, Method::GET | Method::HEAD);
            let downgrade = request.to.scheme() == Scheme::Https && next.scheme() == Scheme::Http;
            if request.follow == 0 || !safe || downgrade {
                return Err(refused);
            }
            if next.origin() != request.to.origin() {
                for name in [header::AUTHORIZATION, header::COOKIE] {
                    request.headers.remove(name);
                }
            }
            request.follow = request.follow.saturating_sub(1);
            request.to = next;
        }
    }

    /// One exchange, and where it redirects to if it does.
    async fn once(&self, request: &Request) -> Result<(Response, Option<Destination>), Error> {
        let client = self.route(&request.to)?;
        let outgoing = client
            .request(request.method.clone(), request.to.url.clone())
            .headers(request.headers.clone())
            .body(request.body.clone());
        let failed = |error: &reqwest::Error| failure(error, request.to.host());
        let mut answer = outgoing.send().await.map_err(|error| failed(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let refused = Error::RedirectRefused { status: status.as_u16() };
            let location = headers
                .get(header::LOCATION)
                .and_then(|to| to.to_str().ok())
                .ok_or_else(|| refused.clone())?;
            let joined = request.to.url.join(location).map_err(|_| refused.clone())?;
            // A location is read as strictly as a first address; a relative one is joined first.
            let text = if location.contains("://") { location } else { joined.as_str() };
            let next = Destination::parse(text).map_err(|_| refused.clone())?;
            if next.url != joined {
                return Err(refused);
            }
            return Ok((Response { status, headers, body: Bytes::new() }, Some(next)));
        }
        let max = self.policy.max_body;
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
            if body.len().saturating_add(chunk.len()) > max {
                return Err(Error::TooLarge { max });
            }
            body.extend_from_slice(&chunk);
        }
        Ok((Response { status, headers, body: body.freeze() }, None))
    }

    /// Opens a WebSocket (RFC 6455). The address is judged as any other; `ws` is written `http` and `wss` `https`.
    pub async fn websocket(&self, to: &Destination) -> Result<WebSocket, Error> {
        tokio::time::timeout(self.policy.timeout, self.upgrade(to)).await.map_err(|_| Error::Timeout)?
    }

    async fn upgrade(&self, to: &Destination) -> Result<WebSocket, Error> {
        let key = tungstenite::handshake::client::generate_key();
        let outgoing = self
            .route(to)?
            .get(to.url.clone())
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key);
        let answer = outgoing.send().await.map_err(|error| failure(&error, to.host()))?;
        let refused = |detail: String| Error::Unreachable { detail };
        let expected = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let accepted = answer.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        let accepted = accepted.is_some_and(|accepted| accepted.as_bytes() == expected.as_bytes());
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS || !accepted {
            return Err(refused(format!("status {}, no websocket", answer.status().as_u16())));
        }
        let stream = answer.upgrade().await.map_err(|error| refused(chain(&error)))?;
        Ok(WebSocket::over(stream, self.policy.max_body).await)
    }

    /// Which client may call this address. A host that is an address is judged here, a name in the resolver.
    fn route(&self, to: &Destination) -> Result<&reqwest::Client, Error> {
        if to.is_listed(&self.policy.allow) {
            return Ok(&self.listed);
        }
        if to.scheme() != Scheme::Https {
            return Err(Error::SchemeRefused);
        }
        if to.address().is_some_and(|address| !is_public(address)) {
            return Err(Error::AddressRefused { host: to.host().to_owned() });
        }
        Ok(&self.public)
    }
}

/// The resolver within a client. The addresses it hands out are the ones connected to.
struct Guard {
    lookup: Arc<dyn Lookup>,
    only_public: bool,
}

/// The refusal as it travels through the HTTP library.
#[derive(Debug, thiserror::Error)]
#[error("not at a public address")]
struct NotPublic;

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, only_public) = (Arc::clone(&self.lookup), self.only_public);
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await?;
            // One private address among public ones is an attempt, not an alternative.
            if only_public && !found.iter().copied().all(is_public) {
                return Err(NotPublic.into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

fn failure(error: &reqwest::Error, host: &str) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if at.is::<NotPublic>() {
            return Error::AddressRefused { host: host.to_owned() };
        }
        cause = at.source();
    }
    if error.is_connect() {
        Error::Unreachable { detail: chain(error) }
    } else if error.is_timeout() {
        Error::Timeout
    } else {
        Error::Broken { detail: chain(error) }
    }
}

/// The innermost cause: it names no address of the request, so it can be shown.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}
