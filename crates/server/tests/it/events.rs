//! The stream of a room's events.

use crate::support::{Server, secret};
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

/// One event as it came.
#[derive(Debug)]
struct Event {
    id: u64,
    kind: String,
    data: Value,
}

/// Reads events until one satisfies `last`.
async fn until(
    server: &Server,
    path: &str,
    secret: &str,
    resume: Option<u64>,
    last: impl Fn(&Event) -> bool,
) -> Vec<Event> {
    let mut request = server.http.get(server.url(path)).bearer_auth(secret);
    if let Some(id) = resume {
        request = request.header("last-event-id", id.to_string());
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.bytes_stream();
    let (mut text, mut events) = (String::new(), Vec::new());
    loop {
        while let Some(end) = text.find("\n\n") {
            let block: String = text.drain(..end + 2).collect();
            let field = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
            };
            let Some(data) = field("data:") else { continue };
            let event = Event {
                id: field("id:").unwrap().parse().unwrap(),
                kind: field("event:").unwrap(),
                data: serde_json::from_str(&data).unwrap(),
            };
            let done = last(&event);
            events.push(event);
            if done {
                return events;
            }
        }
        let chunk = tokio::time::timeout(std::time::Duration::from_secs(20), stream.next()).await.unwrap();
        text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let path = room.path("/events");
    let first = until(&server, &path, &room.b, None, |event| event.kind == "state").await;
    let seen = first.last().unwrap().id;
    let numbers: Vec<u64> =
        first.iter().filter(|event| event.kind == "entry").map(|event| event.id).collect();
    assert_eq!(numbers, (1..=seen).collect::<Vec<_>>());
    let following = until(&server, &path, &room.b, Some(seen), |event| event.kind == "envelope");
    let send_path = room.path("/envelopes");
    let sending =
        server.post(&send_path, &room.a, json!({ "envelope": { "message": "Hello", "status": "continue" } }));
    let (told, _) = tokio::join!(following, sending);
    assert_eq!(told.last().unwrap().data["message"], "Hello");
    assert!(told.iter().filter(|event| event.kind == "entry").all(|event| event.id > seen));
}

#[tokio::test]
async fn a_viewer_hears_only_what_it_may_read() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    server
        .post(
            &room.path("/envelopes"),
            &room.a,
            json!({ "envelope": { "message": "Hello", "status": "continue" } }),
        )
        .await;
    for (scope, entries, envelopes) in
        [("brief", false, false), ("ledger", true, false), ("transcript", true, true)]
    {
        let made = server.post(&room.path("/shares"), &room.a, json!({ "scope": scope })).await;
        let events = until(&server, &room.path("/events"), &secret(&made["link"]), None, |event| {
            event.kind == "state"
        })
        .await;
        assert_eq!(events.iter().any(|event| event.kind == "entry"), entries, "{scope}");
        assert_eq!(events.iter().any(|event| event.kind == "envelope"), envelopes, "{scope}");
    }
}

#[tokio::test]
async fn a_revoked_link_ends_its_stream() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let made = server.post(&room.path("/shares"), &room.a, json!({ "scope": "ledger" })).await;
    let response = server
        .http
        .get(server.url(&room.path("/events")))
        .bearer_auth(secret(&made["link"]))
        .send()
        .await
        .unwrap();
    let share = room.path(&format!("/shares/{}", made["id"].as_str().unwrap()));
    assert_eq!(server.send(Method::DELETE, &share, Some(&room.a), None).await.status(), 204);
    let rest =
        tokio::time::timeout(std::time::Duration::from_secs(20), response.bytes()).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&rest).contains("share_revoked"));
}

#[tokio::test]
async fn a_wait_by_http_ends_with_a_change_or_unchanged() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let view = server.send(Method::GET, &room.path(""), Some(&room.b), None).await;
    let tag = view.headers()["etag"].to_str().unwrap().to_owned();
    let get = |path: String| {
        server.http.get(server.url(&path)).bearer_auth(&room.b).header("if-none-match", &tag).send()
    };
    assert_eq!(get(room.path("")).await.unwrap().status(), 304);
    assert_eq!(get(room.path("/wait?timeout=1")).await.unwrap().status(), 304);
    let send_path = room.path("/envelopes");
    let sending =
        server.post(&send_path, &room.a, json!({ "envelope": { "message": "Hello", "status": "continue" } }));
    let (waited, _) = tokio::join!(get(room.path("/wait?timeout=20")), sending);
    let waited = waited.unwrap();
    assert_eq!(waited.status(), 200);
    assert_ne!(waited.headers()["etag"].to_str().unwrap(), tag);
}
