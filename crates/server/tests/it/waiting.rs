//! Waits on plain connections: a parked request is answered as if it had never left its connection.

use crate::support::{Both, Server};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn is(&self, status: u16) -> bool {
        self.head.split_whitespace().nth(1) == Some(status.to_string().as_str())
    }

    fn content(&self) -> Value {
        let message: Value = serde_json::from_slice(&self.body).unwrap();
        message["result"]["structuredContent"].clone()
    }

    fn ends_the_connection(&self) -> bool {
        self.head.contains("\r\nconnection: close")
    }
}

fn request(server: &Server, version: &str, connection: &str, body: &str) -> String {
    format!(
        "POST /mcp {version}\r\nhost: {}\r\ncontent-type: application/json\r\n{connection}content-length: {}\r\n\r\n{body}",
        server.at,
        body.len()
    )
}

fn call(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params }).to_string()
}

fn wait(both: &Both, seconds: u64) -> String {
    let link = format!("/room/{}#t={}", both.room, both.b);
    call("wait_for_turn", &json!({ "link": link, "timeout_seconds": seconds }))
}

async fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "closed without an answer");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = bytes.split_off(end + 4);
    let rest = length.parse::<usize>().unwrap().checked_sub(body.len());
    let rest = rest.expect("more than one answer at once");
    let mut more = vec![0; rest];
    stream.read_exact(&mut more).await.unwrap();
    body.append(&mut more);
    Answer { head, body }
}

async fn send(server: &Server, both: &Both) {
    let envelope = json!({ "envelope": { "message": "The hall is free.", "status": "continue" } });
    server.post(&format!("/api/rooms/{}/envelopes", both.room), &both.a, envelope).await;
}

/// Until the server has a wait of that many.
async fn until_parked(server: &Server, both: &Both, stream: &mut TcpStream) {
    let mut byte = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(300), stream.peek(&mut byte)).await;
    assert!(early.is_err(), "answered before there was anything to say");
    assert!(server.get(&format!("/api/rooms/{}", both.room), &both.b).await["your_turn"] == false);
}

#[tokio::test]
async fn a_connection_goes_on_after_a_wait() {
    let server = Server::start().await;
    let both = server.negotiating().await;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    for round in 0..2 {
        let body = wait(&both, 1);
        stream.write_all(request(&server, "HTTP/1.1", "", &body).as_bytes()).await.unwrap();
        let answer = read(&mut stream).await;
        assert!(answer.is(200) && !answer.ends_the_connection(), "{round}: {}", answer.head);
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{}", answer.head);
        assert!(answer.head.contains("cache-control: no-store"), "{}", answer.head);
        assert_eq!(answer.content()["timed_out"], true, "{round}");
        assert_eq!(answer.content()["your_turn"], false);
    }
    stream.write_all(request(&server, "HTTP/1.1", "", &wait(&both, 25)).as_bytes()).await.unwrap();
    until_parked(&server, &both, &mut stream).await;
    send(&server, &both).await;
    let answer = read(&mut stream).await;
    assert_eq!(
        (&answer.content()["timed_out"], &answer.content()["your_turn"]),
        (&json!(false), &json!(true))
    );
    // Now there is something to do: answered without waiting. What was seen is not told again.
    for (since, told) in [(json!(null), 1), (answer.content()["since"].clone(), 0)] {
        let link = format!("/room/{}#t={}", both.room, both.b);
        let body = call("wait_for_turn", &json!({ "link": link, "since": since }));
        stream.write_all(request(&server, "HTTP/1.1", "", &body).as_bytes()).await.unwrap();
        let content = read(&mut stream).await.content();
        assert_eq!(content["your_turn"], true);
        assert_eq!(content["transcript"].as_array().unwrap().len(), told, "{since}");
    }
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_after_the_wait() {
    let server = Server::start().await;
    let both = server.negotiating().await;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    let link = format!("/room/{}#t={}", both.room, both.b);
    let look = call("get_room", &json!({ "link": link }));
    let all: String = [look.clone(), wait(&both, 1), wait(&both, 1), look]
        .iter()
        .map(|body| request(&server, "HTTP/1.1", "", body))
        .collect();
    // The last request comes in two parts, the second of them while the first wait is on.
    let (first, second) = all.split_at(all.len() - 40);
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let mut found = Vec::new();
    let mut rest = Some(second);
    while found.len() < 4 {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        if let Some(second) = rest.take() {
            stream.write_all(second.as_bytes()).await.unwrap();
        }
        while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let whole = end + 4 + length.parse::<usize>().unwrap();
            if bytes.len() < whole {
                break;
            }
            let message: Value = serde_json::from_slice(&bytes[end + 4..whole]).unwrap();
            found.push(message["id"].clone());
            bytes.drain(..whole);
        }
    }
    assert_eq!(found, ["get_room", "wait_for_turn", "wait_for_turn", "get_room"]);
    assert!(bytes.is_empty());
}

#[tokio::test]
async fn a_connection_that_was_to_end_ends_with_the_answer() {
    let server = Server::start().await;
    let both = server.negotiating().await;
    for (version, connection) in [("HTTP/1.1", "connection: close\r\n"), ("HTTP/1.0", "")] {
        let mut stream = TcpStream::connect(server.at).await.unwrap();
        let body = wait(&both, 1);
        stream.write_all(request(&server, version, connection, &body).as_bytes()).await.unwrap();
        let answer = read(&mut stream).await;
        assert_eq!(answer.content()["timed_out"], true, "{version}");
        assert!(answer.head.starts_with(&version.to_ascii_lowercase()), "{}", answer.head);
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "{version} {connection}");
    }
}

#[tokio::test]
async fn a_server_that_stops_answers_those_who_wait() {
    let mut server = Server::start().await;
    let both = server.negotiating().await;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    stream.write_all(request(&server, "HTTP/1.1", "", &wait(&both, 25)).as_bytes()).await.unwrap();
    until_parked(&server, &both, &mut stream).await;
    server.stop();
    let answer = read(&mut stream).await;
    assert!(answer.is(200) && answer.ends_the_connection(), "{}", answer.head);
    assert_eq!(answer.content()["timed_out"], true);
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
}
