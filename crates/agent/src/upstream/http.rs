//! A server over Streamable HTTP, of both generations. Each message is a request of its own; answers come as JSON or as events,
//! and a stream of events that breaks is taken up where it broke.

use super::sse::{Happened, Reader};
use crate::Error;
use crate::hub::Event;
use crate::wire::{self, Id, Kind, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fetch::{Client, Destination, HostPort, Incoming, Policy, Request};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Where it is and what it is told with each request.
#[derive(Clone)]
pub struct Remote {
    to: Destination,
    headers: HeaderMap,
    client: Client,
}

/// Headers may hold secrets.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.to.origin())
    }
}

const SESSION: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";
/// How often a broken stream is taken up again before its request is given up.
const TRIES: u32 = 5;
/// Before it is, where the server does not say.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most of an answer that is no event.
const LONGEST: usize = wire::LONGEST;

impl Remote {
    /// Whoever names an address on this machine means it; any other name must lead to a public address, or be in `allow`.
    pub fn new(url: &str, headers: &[(String, String)], allow: &[HostPort]) -> Result<Self, Error> {
        let to = Destination::parse(url)?;
        let mut allow = allow.to_vec();
        if to.address().is_some_and(|address| address.is_loopback()) || to.host() == "localhost" {
            allow.push(format!("{}:{}", to.host(), to.port()).parse()?);
        }
        let client = Client::new(Policy { allow, ..Policy::default() })?;
        client.permits(&to)?;
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let bad = || Error::Config(format!("the header {name:?} cannot be sent"));
            let name: HeaderName = name.parse().map_err(|_| bad())?;
            let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
            value.set_sensitive(true);
            own.insert(name, value);
        }
        Ok(Self { to, headers: own, client })
    }

    pub(super) async fn keep(self, at: usize, events: mpsc::Sender<Event>) -> Result<(), Error> {
        let (link, mut lines) = mpsc::unbounded_channel::<Message>();
        let told = events.send(Event::Up { up: at, link }).await;
        let line =
            Arc::new(Line { remote: self, at, events, session: Mutex::default(), running: Mutex::default() });
        if told.is_err() {
            return Ok(());
        }
        while let Some(message) = lines.recv().await {
            // The one message that others must not overtake: it makes the session.
            if message.kind() == Kind::Request("initialize") {
                Arc::clone(&line).exchange(message).await;
            } else {
                let listens = message.kind() == Kind::Notification("notifications/initialized");
                if line.gives_up(&message).await {
                    continue;
                }
                let id = message.id().filter(|_| message.revision().is_some());
                let running = tokio::spawn(Arc::clone(&line).exchange(message));
                if let Some(id) = id {
                    line.running().insert(id, running.abort_handle());
                }
                if listens {
                    tokio::spawn(Arc::clone(&line).listen());
                }
            }
        }
        line.leave().await;
        Ok(())
    }
}

/// The exchange with one server.
struct Line {
    remote: Remote,
    at: usize,
    events: mpsc::Sender<Event>,
    session: Mutex<Session>,
    /// Requests of the generation without sessions: one is cancelled by leaving its stream.
    running: Mutex<HashMap<Id, AbortHandle>>,
}

#[derive(Default, Clone)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    /// What tools want repeated as headers: by tool, the path in the arguments and the header.
    repeated: HashMap<String, Vec<(Vec<String>, String)>>,
}

/// Where a stream of events is.
#[derive(Default)]
struct Place {
    last: Option<String>,
    pause: Option<Duration>,
}

/// Whether what was waited for has come.
#[derive(PartialEq, Eq)]
enum Stream {
    Answered,
    Ended,
}

impl Line {
    /// Sends one message, and tells the hub all that comes of it.
    async fn exchange(self: Arc<Self>, message: Message) {
        let asked = matches!(message.kind(), Kind::Request(_)).then(|| message.id()).flatten();
        self.carry(message, asked.clone()).await;
        if let Some(id) = asked {
            self.running().remove(&id);
        }
    }

    /// Leaves the stream of the request that is cancelled, if there is one to leave.
    async fn gives_up(&self, message: &Message) -> bool {
        if message.kind() != Kind::Notification("notifications/cancelled") {
            return false;
        }
        let id = message.param(&["requestId"]).and_then(|span| message.at(&span).map(Id::of));
        let running = id.as_ref().and_then(|id| self.running().remove(id));
        let (Some(id), Some(running)) = (id, running) else { return false };
        running.abort();
        let why = "cancelled by the host".to_owned();
        let _ = self.events.send(Event::Lost { up: self.at, id, why, sent: true }).await;
        true
    }

    async fn carry(&self, message: Message, asked: Option<Id>) {
        let had = self.session().id.is_some() && message.kind() != Kind::Request("initialize");
        if let Err((why, sent)) = self.post(&message, asked.as_ref()).await
            && let Some(id) = asked
        {
            let _ = self.events.send(Event::Lost { up: self.at, id, why, sent }).await;
        }
        if had && self.session().id.is_none() {
            let _ = self.events.send(Event::Forgot { up: self.at }).await;
        }
    }

    async fn post(&self, message: &Message, asked: Option<&Id>) -> Result<(), (String, bool)> {
        let mut request = Request::new(Method::POST, self.remote.to.clone());
        request.headers = self.headers(Some(message)).map_err(|error| (error.to_string(), false))?;
        request.body = message.text().to_owned().into();
        let opened = self.remote.client.open(request).await;
        let mut answer = opened.map_err(|error| (error.to_string(), error.is_ambiguous()))?;
        let status = answer.status();
        if message.kind() == Kind::Request("initialize") {
            self.session().id = answer.headers().get(SESSION).cloned();
        }
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind == "text/event-stream" && status.is_success() {
            return self.stream(answer, asked).await;
        }
        let body = whole(&mut answer).await.map_err(|error| (error, true))?;
        if asked.is_none() {
            return Ok(());
        }
        // A refusal may be a JSON-RPC error with a status of its own.
        if kind == "application/json"
            && let Some(given) = Message::read(String::from_utf8_lossy(&body).into_owned())
            && given.id().as_ref() == asked
        {
            self.tell(given).await;
            return Ok(());
        }
        if status == StatusCode::NOT_FOUND && self.session().id.take().is_some() {
            return Err(("its session is gone".to_owned(), false));
        }
        let refused = status.is_client_error();
        Err((format!("it answered with status {}", status.as_u16()), !refused))
    }

    /// Reads events until the request is answered. A stream that ends before is taken up again after its last event.
    async fn stream(&self, mut answer: Incoming, asked: Option<&Id>) -> Result<(), (String, bool)> {
        let mut place = Place::default();
        let mut tries = 0;
        loop {
            if self.read(&mut answer, asked, &mut place).await == Stream::Answered {
                return Ok(());
            }
            let lost = || ("the stream of its answer ended".to_owned(), true);
            loop {
                if place.last.is_none() || tries >= TRIES {
                    return Err(lost());
                }
                tries += 1;
                sleep(place.pause.unwrap_or(PAUSE)).await;
                if let Some(next) = self.get(&place).await.map_err(|_| lost())? {
                    answer = next;
                    break;
                }
            }
        }
    }

    async fn read(&self, answer: &mut Incoming, asked: Option<&Id>, place: &mut Place) -> Stream {
        let mut reader = Reader::default();
        while let Ok(Some(piece)) = answer.chunk().await {
            let Some(found) = reader.push(&piece) else { return Stream::Ended };
            for Happened { id, data, retry } in found {
                place.last = id.or(place.last.take());
                place.pause =
                    retry.map(|pause| Duration::from_millis(pause).min(LONGEST_PAUSE)).or(place.pause);
                if let Some(message) = Message::read(data) {
                    let answers = message.kind() == Kind::Response && message.id().as_ref() == asked;
                    self.tell(message).await;
                    if answers && asked.is_some() {
                        return Stream::Answered;
                    }
                }
            }
        }
        Stream::Ended
    }

    /// The stream of what the server says of its own accord, where it has one.
    async fn listen(self: Arc<Self>) {
        let mut place = Place::default();
        let mut pause = PAUSE;
        while !self.events.is_closed() && self.session().revision.is_some() {
            match self.get(&place).await {
                Ok(Some(mut answer)) => {
                    pause = PAUSE;
                    self.read(&mut answer, None, &mut place).await;
                }
                Ok(None) => pause = pause.saturating_mul(2).min(LONGEST_PAUSE),
                Err(()) => return,
            }
            sleep(place.pause.unwrap_or(pause)).await;
        }
    }

    /// Asks for a stream, from where it broke. Nothing if it may be asked for again; an error if there is none.
    async fn get(&self, place: &Place) -> Result<Option<Incoming>, ()> {
        let mut request = Request::new(Method::GET, self.remote.to.clone());
        request.headers = self.headers(None).map_err(|_| ())?;
        request.headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = &place.last {
            request.headers.insert("last-event-id", HeaderValue::from_str(last).map_err(|_| ())?);
        }
        match self.remote.client.open(request).await {
            Ok(answer) if answer.status().is_success() => Ok(Some(answer)),
            Ok(answer) if answer.status().is_client_error() => Err(()),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Ends the session, if the server made one.
    async fn leave(&self) {
        if self.session().id.is_some() {
            let mut request = Request::new(Method::DELETE, self.remote.to.clone());
            request.timeout = Some(Duration::from_secs(2));
            if let Ok(headers) = self.headers(None) {
                request.headers = headers;
                let _ = self.remote.client.send(request).await;
            }
        }
    }

    async fn tell(&self, message: Message) {
        self.learn(&message);
        let line = message.into_text().into_bytes();
        let _ = self.events.send(Event::From { up: self.at, line }).await;
    }

    /// What an answer says that later requests must repeat.
    fn learn(&self, message: &Message) {
        let Some(result) = message.result() else { return };
        let find = |path: &[&str]| wire::find(message.text(), result.clone(), path);
        if let Some(revision) =
            find(&["protocolVersion"]).and_then(|span| wire::text_at(message.text(), &span))
        {
            self.session().revision = HeaderValue::from_str(&revision).ok();
        }
        if !message.text().contains("x-mcp-header") {
            return;
        }
        let Some(tools) = find(&["tools"]).and_then(|span| wire::elements(message.text(), span)) else {
            return;
        };
        for tool in tools {
            let at = |path: &[&str]| wire::find(message.text(), tool.clone(), path);
            let name = at(&["name"]).and_then(|span| wire::text_at(message.text(), &span));
            let schema =
                at(&["inputSchema"]).and_then(|span| serde_json::from_str(message.text().get(span)?).ok());
            if let (Some(name), Some(schema)) = (name, schema) {
                let mut found = Vec::new();
                declared(&schema, &mut Vec::new(), &mut found);
                self.session().repeated.insert(name, found);
            }
        }
    }

    fn headers(&self, message: Option<&Message>) -> Result<HeaderMap, Error> {
        let mut headers = self.remote.headers.clone();
        let session = self.session().clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if message.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let starts = message.is_some_and(|message| message.kind() == Kind::Request("initialize"));
        if let Some(id) = session.id.filter(|_| !starts) {
            headers.insert(SESSION, id);
        }
        if let Some(revision) = session.revision.filter(|_| !starts) {
            headers.insert(REVISION, revision);
        }
        if let Some((message, revision)) = message.and_then(|message| Some((message, message.revision()?))) {
            for (name, value) in modern(message, &revision, &session.repeated) {
                let bad = || Error::Config(format!("the header {name:?} cannot be sent"));
                let name: HeaderName = name.parse().map_err(|_| bad())?;
                headers.insert(name, value.parse().map_err(|_| bad())?);
            }
        }
        Ok(headers)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Id, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Repeated = HashMap<String, Vec<(Vec<String>, String)>>;

/// What a message without a session repeats as headers (2026-07-28): its revision, method, name, and what its tool declares.
fn modern(message: &Message, revision: &str, repeated: &Repeated) -> Vec<(String, String)> {
    let (Kind::Request(method) | Kind::Notification(method)) = message.kind() else { return Vec::new() };
    let mut headers =
        vec![(REVISION.to_owned(), revision.to_owned()), ("mcp-method".to_owned(), method.to_owned())];
    let field = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    };
    let Some(name) = field.and_then(|field| message.param_text(&[field])) else { return headers };
    headers.push(("mcp-name".to_owned(), as_header(&name)));
    for (path, header) in repeated.get(&name).filter(|_| method == "tools/call").into_iter().flatten() {
        let path: Vec<&str> = std::iter::once("arguments").chain(path.iter().map(String::as_str)).collect();
        let value = message.param(&path).and_then(|span| message.at(&span).map(str::to_owned));
        let value = value.map(|raw| serde_json::from_str::<String>(&raw).unwrap_or(raw));
        if let Some(value) = value.filter(|value| value != "null" && !value.starts_with(['{', '['])) {
            headers.push((format!("mcp-param-{header}"), as_header(&value)));
        }
    }
    headers
}

/// The headers that a schema declares, along its `properties` alone.
fn declared(schema: &serde_json::Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header").and_then(serde_json::Value::as_str) {
            found.push((path.clone(), header.to_owned()));
        }
        declared(property, path, found);
        path.pop();
    }
}

/// A text as a header's value: as it is where it can be, else in base64 between marks.
fn as_header(text: &str) -> String {
    let plain = !text.is_empty()
        && text.trim() == text
        && text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

async fn whole(answer: &mut Incoming) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST {
            return Err("its answer is longer than 64 MiB".to_owned());
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let repeated = HashMap::from([(
            "sql".to_owned(),
            vec![(vec!["region".to_owned()], "Region".to_owned()), (vec!["n".to_owned()], "N".to_owned())],
        )]);
        let message = Message::read(text).unwrap();
        let found = modern(&message, "2026-07-28", &repeated);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut all = vec![(REVISION, "2026-07-28")];
        all.extend_from_slice(expected);
        assert_eq!(found, all, "{text}");
    }

    #[test]
    fn a_message_without_a_session_repeats_what_it_says_as_headers() {
        check(r#"{"id":1,"method":"tools/list","params":{}}"#, &[("mcp-method", "tools/list")]);
        check(
            r#"{"id":1,"method":"tools/call","params":{"name":"sql","arguments":{"region":"Zürich","n":7}}}"#,
            &[
                ("mcp-method", "tools/call"),
                ("mcp-name", "sql"),
                ("mcp-param-Region", "=?base64?WsO8cmljaA==?="),
                ("mcp-param-N", "7"),
            ],
        );
        check(
            r#"{"id":1,"method":"resources/read","params":{"uri":"file:///a"}}"#,
            &[("mcp-method", "resources/read"), ("mcp-name", "file:///a")],
        );
    }

    #[test]
    fn only_an_address_of_this_machine_is_called_by_being_named() {
        for (url, good) in [
            ("http://127.0.0.1:8080/mcp", true),
            ("http://localhost:8080/mcp", true),
            ("http://[::1]:8080/mcp", true),
            ("https://mcp.example.com/mcp", true),
            ("http://mcp.example.com/mcp", false),
            ("https://10.0.0.1/mcp", false),
            ("https://169.254.169.254/", false),
        ] {
            assert_eq!(Remote::new(url, &[], &[]).is_ok(), good, "{url}");
        }
    }
}
