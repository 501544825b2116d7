//! Profile `v0` on the wire, for interoperability: anonymous reads, CORS for everyone over MCP, batches, exact shapes
//! (spec of PXP 4). Its rooms live in streams of their own. It is a router apart: whoever mounts it decides where.

mod answers;
mod events;
mod http;
mod mount;
mod pages;
mod play;
mod rpc;
mod tools;

pub use self::answers::Trouble;
pub use self::mount::PATH;
pub(crate) use self::mount::mounted;

use ::http::HeaderMap;
use ::http::request::Parts;
use async_trait::async_trait;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::{any, get, post};
use env::Source;
use ledger::StreamId;
use pxp::v0::evict::{self, Candidate};
use pxp::v0::quota::{Opener, PasscodeRefusal, Passcodes, RoomLimits, Rooms};
use pxp::v0::room::{Open, TermAuthority};
use pxp::v0::streams::Streams;
use pxp::v0::{Command, Mode, Reply, Room, Side, State};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Journal, Runtime};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The profile's services. Clones share one state.
#[derive(Clone)]
pub struct V0(Arc<Inner>);

/// What an operator may set.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the mount is reached, its own path included.
    pub public_url: Url,
    pub max_turns: u64,
    /// Asked for when a built-in proxy is wanted.
    pub passcode: Option<String>,
    pub rooms: RoomLimits,
    /// Rooms kept.
    pub capacity: usize,
    /// Bytes of a body over HTTP and over MCP.
    pub body: usize,
    pub mcp_body: usize,
}

/// What plays a built-in seat. What it returns passes the same enforcement as any agent's message; what it says when it
/// fails is shown to nobody.
#[async_trait]
pub trait Proxy: Send + Sync + 'static {
    /// The next envelope as JSON text, given the seat's own view.
    async fn turn(&self, view: serde_json::Value) -> Result<String, String>;
    /// What each term of an agreement rests on.
    async fn authority(&self, brief: serde_json::Value) -> Result<Vec<TermAuthority>, String>;
    /// A card as JSON text, drafted from a person's words.
    async fn draft(&self, text: &str, name: &str, role: &str) -> Result<String, String>;
}

/// Sign-in mode: whose agent key it is. Asked on every request that needs one.
#[async_trait]
pub trait Accounts: Send + Sync + 'static {
    async fn member(&self, key: &str) -> Result<Option<String>, String>;
}

struct Inner {
    options: Options,
    runtime: Runtime,
    proxy: Option<Arc<dyn Proxy>>,
    accounts: Option<Arc<dyn Accounts>>,
    rooms: Mutex<Rooms>,
    passcodes: Mutex<Passcodes>,
    streams: Mutex<Streams>,
    /// Ends the stream that is replaced.
    ends: Mutex<HashMap<u64, CancellationToken>>,
    sessions: Mutex<Sessions>,
    /// One driver of built-in seats a room.
    drivers: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    stopping: CancellationToken,
}

/// Names of clients, by session.
#[derive(Default)]
struct Sessions {
    names: HashMap<String, String>,
    order: VecDeque<String>,
}

const SESSIONS: usize = 5000;

/// What somebody wants to open.
#[derive(Debug, Clone)]
struct Wanted {
    topic: String,
    names: [String; 2],
    modes: [Mode; 2],
    passcode: String,
    /// Seat A is taken at once by this agent.
    agent: Option<String>,
}

/// A room that was opened, with its two seat tokens.
struct Opened {
    id: String,
    tokens: [String; 2],
}

/// The routes, relative to where they are mounted.
pub fn router(v0: V0) -> Router {
    Router::new()
        .route("/mcp", any(rpc::mcp))
        .route("/api/rooms", post(http::create))
        .route("/api/demo", post(http::demo))
        .route("/api/rooms/{id}", get(http::view))
        .route("/api/rooms/{id}/events", get(events::events))
        .route("/api/rooms/{id}/ledger", get(http::ledger))
        .route("/api/rooms/{id}/seats/{seat}/{action}", post(http::act))
        .route("/api/config", get(http::config))
        .route("/health", get(http::health))
        .route("/room/{id}", get(pages::room))
        .route("/brief/{id}", get(pages::of_room))
        .route("/connect", get(pages::connect))
        .fallback(http::missing)
        .layer(axum::middleware::map_response(answers::guard_headers))
        .with_state(v0)
}

impl Options {
    pub fn new(public_url: Url) -> Self {
        Self {
            public_url,
            max_turns: 10,
            passcode: None,
            rooms: RoomLimits::default(),
            capacity: evict::CAPACITY,
            body: 64 * 1024,
            mcp_body: 256 * 1024,
        }
    }
}

impl V0 {
    /// `proxy`: none, and built-in seats are refused. `accounts`: none, and anyone may open a room.
    pub fn new(
        options: Options,
        journal: Arc<dyn Journal>,
        source: Arc<dyn Source>,
        proxy: Option<Arc<dyn Proxy>>,
        accounts: Option<Arc<dyn Accounts>>,
    ) -> Self {
        Self(Arc::new(Inner {
            rooms: Mutex::new(Rooms::new(options.rooms)),
            runtime: Runtime::new(journal, source),
            options,
            proxy,
            accounts,
            passcodes: Mutex::default(),
            streams: Mutex::default(),
            ends: Mutex::default(),
            sessions: Mutex::default(),
            drivers: Mutex::default(),
            stopping: CancellationToken::new(),
        }))
    }

    /// Ends waits and streams.
    pub fn stop(&self) {
        self.0.stopping.cancel();
    }

    /// After a start: a turn that was cut is interrupted, one that is due begins. Returns how many rooms there are.
    pub async fn recover(&self) -> Result<usize, Trouble> {
        let ids = self.ids().await?;
        for id in &ids {
            let state = self.state(id).await?;
            if state.in_flight.is_some() {
                self.run(id, Command::Interrupt).await?;
            } else {
                self.drive(id);
            }
        }
        Ok(ids.len())
    }

    /// Lets go of rooms that are too old or too many. Returns how many went.
    pub async fn sweep(&self) -> Result<usize, Trouble> {
        let mut rooms = Vec::new();
        for id in self.ids().await? {
            if let Ok(state) = self.state(&id).await {
                rooms.extend(Candidate::of(&state));
            }
        }
        let gone = evict::evict(&rooms, self.0.options.capacity, self.0.runtime.source().now());
        for id in &gone {
            self.run(id, Command::Evict).await?;
            self.0.runtime.journal().erase(&stream(id)?).await.map_err(|error| Trouble::store(&error))?;
        }
        Ok(gone.len())
    }

    async fn ids(&self) -> Result<Vec<String>, Trouble> {
        const PAGE: usize = 500;
        let mut ids: Vec<String> = Vec::new();
        loop {
            let after = ids.last().cloned().unwrap_or_default();
            let found = self.0.runtime.journal().find(pxp::v0::INDEX, &after, PAGE).await;
            let page = found.map_err(|error| Trouble::store(&error))?;
            let more = page.len() == PAGE;
            ids.extend(page.into_iter().map(|(id, _)| id));
            if !more {
                return Ok(ids);
            }
        }
    }

    /// A room that is there.
    async fn state(&self, id: &str) -> Result<Arc<State>, Trouble> {
        let (state, _) = self.state_and_head(id).await?;
        Ok(state)
    }

    async fn state_and_head(&self, id: &str) -> Result<(Arc<State>, u64), Trouble> {
        let (state, head) = self.0.runtime.state::<Room>(&stream(id)?).await?;
        if state.exists() { Ok((state, head.seq)) } else { Err(pxp::v0::Refusal::NoRoom.into()) }
    }

    async fn run(&self, id: &str, command: Command) -> Result<(Reply, Arc<State>), Trouble> {
        let executed = self.0.runtime.execute::<Room>(&stream(id)?, &command, None).await?;
        match executed.reply {
            store::Reply::Fresh(reply) => Ok((reply, executed.state)),
            store::Reply::Repeated(_) => Err(Trouble::bug()),
        }
    }

    /// Opens a room once every check has passed, in this order: sign-in, built-in proxies, passcode, quota.
    async fn open(&self, wanted: Wanted, headers: &HeaderMap, address: IpAddr) -> Result<Opened, Trouble> {
        let owner = self.signed_in(headers).await?;
        let built_in = wanted.modes.contains(&Mode::BuiltIn);
        if built_in && self.0.proxy.is_none() {
            return Err(Trouble::unavailable("no_builtin", "This server has no built-in proxy."));
        }
        let now = self.0.runtime.source().now();
        if let Some(passcode) = self.0.options.passcode.as_ref().filter(|_| built_in) {
            lock(&self.0.passcodes).check(passcode, &wanted.passcode, address, now).map_err(|refusal| {
                match refusal {
                    PasscodeRefusal::Wrong => Trouble::new(403, "passcode", "The passcode is wrong."),
                    PasscodeRefusal::Locked => {
                        Trouble::new(429, "passcode_locked", "Too many wrong passcodes. Try again tomorrow.")
                    }
                }
            })?;
        }
        let opener = owner.clone().map_or(Opener::Address(address), Opener::Account);
        lock(&self.0.rooms).take(&opener, now).map_err(|refusal| {
            Trouble::new(429, refusal.code(), "No more rooms can be opened today. Try again tomorrow.")
        })?;
        self.begin(wanted, owner, false).await
    }

    async fn begin(&self, wanted: Wanted, owner: Option<String>, demo: bool) -> Result<Opened, Trouble> {
        let id = self.0.runtime.source().env().id(10);
        let open = Open {
            id: id.clone(),
            topic: wanted.topic,
            names: wanted.names,
            modes: wanted.modes,
            demo,
            max_turns: self.0.options.max_turns,
            owner,
            agent: wanted.agent,
        };
        match self.run(&id, Command::Open(Box::new(open))).await? {
            (Reply::Opened { tokens }, _) => Ok(Opened { id, tokens }),
            _ => Err(Trouble::bug()),
        }
    }

    /// The account of the agent key, in sign-in mode.
    async fn signed_in(&self, headers: &HeaderMap) -> Result<Option<String>, Trouble> {
        let Some(accounts) = &self.0.accounts else { return Ok(None) };
        let page = self.link("connect");
        let key = bearer(headers).ok_or_else(|| {
            let text = format!(
                "Opening a room here needs your agent key in the header 'Authorization: Bearer <key>'. Keys are made on {page}"
            );
            Trouble::new(401, "agent_key_required", text)
        })?;
        match accounts.member(key).await {
            Ok(Some(member)) => Ok(Some(member)),
            Ok(None) => {
                let text = format!("This agent key does not work any more. Make a new one on {page}");
                Err(Trouble::new(401, "agent_key_rejected", text))
            }
            Err(_) => Err(Trouble::bug()),
        }
    }

    fn link(&self, path: &str) -> String {
        format!("{}/{path}", self.0.options.public_url.as_str().trim_end_matches('/'))
    }

    fn seat_link(&self, id: &str, side: Side, token: &str) -> String {
        self.link(&format!("room/{id}?seat={side}&t={token}"))
    }

    fn is_live(&self) -> bool {
        self.0.proxy.is_some()
    }
}

impl Sessions {
    fn keep(&mut self, id: String, name: String) {
        while self.order.len() >= SESSIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.names.remove(&oldest);
            }
        }
        self.order.push_back(id.clone());
        self.names.insert(id, name);
    }
}

/// The client's address: as the server worked it out, else the peer, or the last hop a private peer names.
fn address(parts: &Parts) -> IpAddr {
    if let Some(known) = parts.extensions.get::<crate::ClientAddress>() {
        return known.0;
    }
    let peer = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip().to_canonical());
    let is_private = match peer {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    };
    let hops =
        parts.headers.get_all("x-forwarded-for").iter().next_back().and_then(|hops| hops.to_str().ok());
    let last = hops.and_then(|hops| hops.rsplit(',').next()).and_then(|hop| hop.trim().parse().ok());
    last.filter(|_| is_private).unwrap_or(peer)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(::http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    Some(key.trim()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}

/// What is no stream id names no room.
fn stream(id: &str) -> Result<StreamId, Trouble> {
    use ledger::Aggregate;
    StreamId::new(Room::KIND, id).map_err(|_| pxp::v0::Refusal::NoRoom.into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for V0 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("V0").field("public_url", &self.0.options.public_url.as_str()).finish_non_exhaustive()
    }
}
