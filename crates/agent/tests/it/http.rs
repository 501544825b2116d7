//! Streamable HTTP, against a server of this test.

use agent::wire::{Id, Message};
use agent::{Event, Remote, Target, Upstream};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

type Seen = Arc<Mutex<Vec<String>>>;

/// What each method is answered with, and a note of what came.
async fn serve(State(seen): State<Seen>, method: Method, headers: HeaderMap, body: String) -> Response {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
    let noted =
        ["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"].map(header);
    let asked = Message::read(body.clone());
    let what = asked.as_ref().map_or_else(String::new, |message| format!("{:?}", message.kind()));
    seen.lock().unwrap().push(format!("{method} {what} {}", noted.join(" ")));
    let events =
        |text: &str| ([("content-type", "text/event-stream")], Body::from(text.to_owned())).into_response();
    let json = |text: String| ([("content-type", "application/json; charset=utf-8")], text).into_response();
    if method == Method::GET {
        return match header("last-event-id").as_str() {
            "e1" => events("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resumed\":true}}\n\n"),
            _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        };
    }
    let Some(asked) = asked else { return StatusCode::OK.into_response() };
    let id = asked.raw_id().unwrap_or("null").to_owned();
    match asked.kind() {
        agent::wire::Kind::Request("initialize") => {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            let mut response = json(agent::wire::result(&id, result));
            response.headers_mut().insert("mcp-session-id", "s1".parse().unwrap());
            response
        }
        agent::wire::Kind::Request("pretty") => {
            json(format!("{{\n \"jsonrpc\": \"2.0\",\n \"id\": {id}, \"result\": {{}} }}"))
        }
        agent::wire::Kind::Request("streamed") => events(&format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"
        )),
        agent::wire::Kind::Request("broken") => events("id: e1\nretry: 10\ndata\n\n"),
        agent::wire::Kind::Request("lost") => {
            events("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
        }
        agent::wire::Kind::Request("refused") => (
            StatusCode::BAD_REQUEST,
            [("content-type", "application/json")],
            agent::wire::error(&id, -32602, "no"),
        )
            .into_response(),
        agent::wire::Kind::Request("slow") => std::future::pending().await,
        agent::wire::Kind::Request("gone") => StatusCode::NOT_FOUND.into_response(),
        agent::wire::Kind::Request("failed") => StatusCode::BAD_GATEWAY.into_response(),
        agent::wire::Kind::Request(_) => json(agent::wire::result(&id, "{}")),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

struct Line {
    seen: Seen,
    events: mpsc::Receiver<Event>,
    link: mpsc::UnboundedSender<Message>,
}

impl Line {
    async fn new() -> Self {
        let seen = Seen::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = Router::new().fallback(serve).with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self::to(&format!("http://127.0.0.1:{port}/mcp"), seen).await
    }

    async fn to(url: &str, seen: Seen) -> Self {
        let remote = Remote::new(url, &[("x-key".to_owned(), "k".to_owned())], &[]).unwrap();
        let (send, mut events) = mpsc::channel(16);
        tokio::spawn(Upstream { name: "one".to_owned(), target: Target::Remote(remote) }.keep(0, send));
        let Some(Event::Up { link, .. }) = events.recv().await else { panic!("it comes up") };
        Self { seen, events, link }
    }

    fn say(&self, text: &str) {
        self.link.send(Message::read(text).unwrap()).unwrap();
    }

    async fn next(&mut self) -> Event {
        timeout(Duration::from_secs(10), self.events.recv()).await.expect("something comes").unwrap()
    }

    async fn hear(&mut self) -> String {
        match self.next().await {
            Event::From { line, .. } => String::from_utf8(line).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn greet(&mut self) {
        self.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
        self.hear().await;
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_session_is_made_and_named_with_each_request() {
    let mut line = Line::new().await;
    line.greet().await;
    line.say(r#"{"jsonrpc":"2.0","id":1,"method":"pretty"}"#);
    assert_eq!(line.hear().await, r#"{  "jsonrpc": "2.0",  "id": 1, "result": {} }"#);
    assert_eq!(
        line.seen(),
        [r#"POST Request("initialize") - - - - -"#, r#"POST Request("pretty") s1 2025-11-25 - - -"#,]
    );
}

#[tokio::test]
async fn without_sessions_a_request_says_all_in_its_headers() {
    let mut line = Line::new().await;
    line.say(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    );
    line.hear().await;
    assert_eq!(line.seen(), [r#"POST Request("tools/call") - 2026-07-28 tools/call t -"#]);
}

#[tokio::test]
async fn events_come_one_by_one_and_a_broken_stream_is_taken_up() {
    let mut line = Line::new().await;
    line.greet().await;
    line.say(r#"{"jsonrpc":"2.0","id":2,"method":"streamed"}"#);
    assert_eq!(line.hear().await, r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(line.hear().await, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    line.say(r#"{"jsonrpc":"2.0","id":3,"method":"broken"}"#);
    assert_eq!(line.hear().await, r#"{"jsonrpc":"2.0","id":3,"result":{"resumed":true}}"#);
    assert_eq!(line.seen().last().unwrap(), "GET  s1 2025-11-25 - - e1");
}

#[tokio::test]
async fn what_is_not_answered_is_said_to_be_sent_or_not() {
    let mut line = Line::new().await;
    line.greet().await;
    line.say(r#"{"jsonrpc":"2.0","id":4,"method":"refused"}"#);
    assert!(line.hear().await.contains("-32602"));
    line.say(r#"{"jsonrpc":"2.0","id":4,"method":"lost"}"#);
    line.hear().await;
    check_lost(&mut line, true).await;
    for (method, sent) in [("failed", true), ("gone", false)] {
        line.say(&format!(r#"{{"jsonrpc":"2.0","id":4,"method":"{method}"}}"#));
        check_lost(&mut line, sent).await;
    }
    assert!(matches!(line.next().await, Event::Forgot { up: 0 }));
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut line = Line::to(&format!("http://127.0.0.1:{free}/mcp"), Seen::default()).await;
    line.say(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#);
    check_lost(&mut line, false).await;
}

async fn check_lost(line: &mut Line, expected: bool) {
    match line.next().await {
        Event::Lost { id, sent, why, .. } => assert_eq!((id, sent), (Id::of("4"), expected), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn without_sessions_a_request_is_cancelled_by_leaving_it() {
    let mut line = Line::new().await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    line.say(&format!(r#"{{"jsonrpc":"2.0","id":4,"method":"slow","params":{{{meta}}}}}"#));
    line.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#);
    check_lost(&mut line, true).await;
}

#[tokio::test]
async fn the_session_ends_with_the_gateway() {
    let mut line = Line::new().await;
    line.greet().await;
    let Line { seen, link, mut events, .. } = line;
    drop(link);
    while events.recv().await.is_some() {}
    assert_eq!(seen.lock().unwrap().last().unwrap(), "DELETE  s1 2025-11-25 - - -");
}
