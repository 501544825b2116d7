//! What every request meets, whatever it asks for.

use crate::support::{Server, card, folder, good, refused};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes as they are and gives the status line.
async fn status_line(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read =
        tokio::time::timeout(Duration::from_secs(10), stream.read(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..read]).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_before_anything_is_read() {
    let server = Server::start().await;
    let own = format!("127.0.0.1:{}", server.at.port());
    for (version, host, origin, expected) in [
        ("1.1", Some(own.as_str()), None, "200"),
        ("1.1", Some("evil.example"), None, "403"),
        ("1.1", Some("127.0.0.1.evil.example"), None, "403"),
        ("1.0", None, None, "403"),
        ("1.1", Some(own.as_str()), Some("null"), "403"),
        ("1.1", Some(own.as_str()), Some("http://evil.example"), "403"),
        ("1.1", Some(own.as_str()), Some("http://127.0.0.1:1"), "403"),
    ] {
        let host_line = host.map(|host| format!("Host: {host}\r\n")).unwrap_or_default();
        let origin_line = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
        let health = format!("GET /health HTTP/{version}\r\n{host_line}{origin_line}\r\n");
        // The body never comes: a refusal must not wait for it.
        let mcp = format!(
            "POST /mcp HTTP/{version}\r\n{host_line}{origin_line}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        );
        let line = status_line(&server, &health).await;
        assert!(line.contains(expected), "{host:?} {origin:?}: {line}");
        if expected == "403" {
            let line = status_line(&server, &mcp).await;
            assert!(line.contains("403"), "mcp {host:?} {origin:?}: {line}");
        }
    }
}

#[tokio::test]
async fn a_new_fake_hop_does_not_reset_the_limit() {
    let server = Server::with(|config| {
        config.limits.address_per_minute = 10;
        config.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    let mut refusals = 0;
    for n in 0..30 {
        let hops = format!("6.6.6.{n}, 198.51.100.7");
        let response =
            server.http.get(server.url("/health")).header("x-forwarded-for", hops).send().await.unwrap();
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            assert!(response.headers().contains_key("retry-after"));
            refusals += 1;
        }
    }
    assert!(refusals >= 19, "{refusals} of 30 refused");
    let other = server
        .http
        .get(server.url("/health"))
        .header("x-forwarded-for", "198.51.100.8")
        .send()
        .await
        .unwrap();
    assert_eq!(other.status(), 200);
}

#[tokio::test]
async fn names_refuse_hidden_characters_and_text_keeps_its_bytes() {
    let server = Server::start().await;
    let room = server.open().await;
    let path = format!("/api/rooms/{}/card", room.room);
    for name in ["Ana\u{202e}", "An\u{200b}a", "Ana\u{e0041}"] {
        let found = refused(server.send(Method::PUT, &path, Some(&room.a), Some(card(name))).await).await;
        assert_eq!((found.0.as_u16(), found.1.as_str()), (400, "name_suspicious"), "{name:?}");
    }
    let long = "x".repeat(10_000);
    let found = refused(server.send(Method::PUT, &path, Some(&room.a), Some(card(&long))).await).await;
    assert_eq!(found.1, "too_long");
    let mut kept = card("Ana");
    kept["goal"] = json!("Pay invoice 12\u{202e}34");
    good(server.send(Method::PUT, &path, Some(&room.a), Some(kept)).await).await;
    let view = server.get(&format!("/api/rooms/{}", room.room), &room.a).await;
    assert_eq!(view["you"]["card"]["goal"], "Pay invoice 12\u{202e}34");
}

#[tokio::test]
async fn bodies_are_read_strictly_and_within_their_size() {
    let server = Server::start().await;
    let room = server.open().await;
    let put = |body: String| {
        server
            .http
            .put(server.url(&format!("/api/rooms/{}/card", room.room)))
            .bearer_auth(&room.a)
            .header("content-type", "application/json")
            .body(body)
            .send()
    };
    for (body, status, code) in [
        ("".to_owned(), 400, "shape"),
        ("[]".to_owned(), 400, "shape"),
        ("null".to_owned(), 400, "shape"),
        ("{".to_owned(), 400, "syntax"),
        (r#"{"goal":"a","goal":"b"}"#.to_owned(), 400, "duplicate_key"),
        (r#"{"goal":"\ud800"}"#.to_owned(), 400, "lone_surrogate"),
        (format!("{}1{}", "[".repeat(200), "]".repeat(200)), 400, "depth"),
        (format!("{{\"goal\":\"{}\"}}", "x".repeat(70_000)), 413, "too_large"),
    ] {
        let found = refused(put(body.clone()).await.unwrap()).await;
        assert_eq!((found.0.as_u16(), found.1.as_str()), (status, code), "{}", &body[..body.len().min(60)]);
    }
    let mut extra = card("Ana");
    extra["amendments"] = json!([]);
    assert_eq!(refused(put(extra.to_string()).await.unwrap()).await.1, "shape");
}

#[tokio::test]
async fn every_answer_carries_the_strict_headers() {
    let server = Server::start().await;
    for path in ["/health", "/nosuch", "/api/inbox", "/log/checkpoint", "/openapi.json"] {
        let response = server.http.get(server.url(path)).send().await.unwrap();
        for (header, part) in [
            ("content-security-policy", "default-src 'none'"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
        ] {
            let value = response.headers().get(header).map(|value| value.to_str().unwrap().to_owned());
            assert!(value.as_deref().is_some_and(|value| value.contains(part)), "{path} {header}: {value:?}");
        }
    }
}

/// `UPDATE_GOLDEN=1` writes it anew.
#[tokio::test]
async fn the_api_document_is_the_one_on_record() {
    let server = Server::start().await;
    let response = server.http.get(server.url("/openapi.json")).send().await.unwrap();
    let served = response.text().await.unwrap();
    assert_eq!(served, server::http::document(&server.app));
    let document: Value = serde_json::from_str(&served).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &served).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(served == golden, "docs/openapi.json is not what the server serves; UPDATE_GOLDEN=1 writes it");
}

#[tokio::test]
async fn schemas_keys_and_health() {
    let server = Server::start().await;
    for path in [
        "/spec/intent-card.schema.json",
        "/spec/envelope.schema.json",
        "/schemas/bundle.schema.json",
        "/schemas/receipt.schema.json",
    ] {
        let schema = good(server.http.get(server.url(path)).send().await.unwrap()).await;
        assert!(schema["$id"].as_str().unwrap().starts_with("urn:countersign:schema:"), "{path}");
    }
    assert_eq!(refused(server.http.get(server.url("/spec/none.json")).send().await.unwrap()).await.0, 404);
    let about =
        good(server.http.get(server.url("/.well-known/countersign.json")).send().await.unwrap()).await;
    assert_eq!(about["key"]["crv"], "Ed25519");
    assert!(about["log"].as_str().unwrap().starts_with("test.example/log+"));
    let metrics = server.http.get(server.url("/metrics")).send().await.unwrap();
    assert_eq!(metrics.status(), 200);
}

#[tokio::test]
async fn the_log_proves_what_a_bundle_holds() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    // The log publishes behind the entries; a checkpoint that covers them is waited for, not slept for.
    let log = server.app.log().unwrap().clone();
    let stream = format!("room/{}", room.room).parse().unwrap();
    let head = server.app.journal().head(&stream).await.unwrap();
    while log.proof(&stream, head.seq).await.unwrap().is_none() {
        log.integrate().await.unwrap();
        tokio::task::yield_now().await;
    }
    let bytes =
        server.send(Method::GET, &room.path("/bundle"), Some(&room.a), None).await.bytes().await.unwrap();
    let bundle = pxp::bundle::Bundle::parse(&bytes).unwrap();
    assert!(bundle.log.is_some());
    let trust = json!({
        "servers": [serde_json::to_value(server.app.signer().public()).unwrap()],
        "logs": [server.app.log_key().unwrap()],
        "witnesses": [],
        "witnesses_required": 0,
    });
    let trust = verify::Trust::parse(trust.to_string().as_bytes()).unwrap();
    let report = verify::verify(&bytes, Some(&trust));
    assert_eq!(report.verdict, verify::Verdict::Valid, "{report:?}");
    let health = good(server.http.get(server.url("/health")).send().await.unwrap()).await;
    assert_eq!(health["ok"], true);
    let checkpoint =
        server.http.get(server.url("/log/checkpoint")).send().await.unwrap().text().await.unwrap();
    let size: u64 = checkpoint.lines().nth(1).unwrap().parse().unwrap();
    let tile = server.http.get(server.url(&format!("/log/tile/0/000.p/{size}"))).send().await.unwrap();
    assert_eq!(tile.bytes().await.unwrap().len() as u64, size * 32);
    assert_eq!(server.http.get(server.url("/log/tile/0/999")).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn two_servers_behind_one_store_play_one_room() {
    let folder = folder();
    let one = Server::on(folder.path(), |_| {}).await;
    let two = Server::on(folder.path(), |_| {}).await;
    let opened = one.open().await;
    let path = |rest: &str| format!("/api/rooms/{}{rest}", opened.room);
    let joined = two.post(&path("/seat"), &opened.invite, json!({})).await;
    let b = crate::support::secret(&joined["your_link"]);
    good(one.send(Method::PUT, &path("/card"), Some(&opened.a), Some(card("Ana"))).await).await;
    good(two.send(Method::PUT, &path("/card"), Some(&b), Some(card("Ben"))).await).await;
    let since = two.get(&path(""), &b).await["since"].as_u64().unwrap();
    let wait_path = path(&format!("/wait?since={since}&timeout=20"));
    let waiting = two.get(&wait_path, &b);
    let authority = json!([{ "term": 0, "clauses": ["may_agree_to[0]"] }]);
    let proposal = json!({ "terms": ["The hall"], "authority": authority });
    let body = json!({ "envelope": { "message": "Hello", "status": "continue", "proposal": proposal } });
    let send_path = path("/envelopes");
    let sending = one.post(&send_path, &opened.a, body);
    let (seen, sent) = tokio::join!(waiting, sending);
    assert_eq!(seen["transcript"][0]["message"], "Hello");
    let agree = json!({ "envelope": { "message": "Yes", "status": "agree", "accepts": sent["offer_hash"], "authority": authority } });
    two.post(&path("/envelopes"), &b, agree).await;
    let view = one.get(&path(""), &opened.a).await;
    assert_eq!(view["status"], "agreed");
    assert_eq!(view["transcript"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_refusal_that_time_mends_says_so() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let body = json!({ "envelope": { "message": "x", "status": "continue" } });
    let early = server.send(Method::POST, &room.path("/envelopes"), Some(&room.b), Some(body)).await;
    assert!(early.headers().contains_key("retry-after"));
    let problem: Value = early.json().await.unwrap();
    assert_eq!(
        (&problem["code"], &problem["retryable"]),
        (&json!("not_your_turn"), &json!(true)),
        "{problem}"
    );
    let wrong = json!({ "envelope": { "message": "", "status": "continue" } });
    let wrong = server.send(Method::POST, &room.path("/envelopes"), Some(&room.a), Some(wrong)).await;
    assert!(!wrong.headers().contains_key("retry-after"));
    assert_eq!(wrong.json::<Value>().await.unwrap()["retryable"], json!(false));
}

/// A store that answers and takes nothing is not well: a full disk, a file that became read-only.
#[tokio::test]
async fn health_says_that_the_store_takes_no_writes() {
    let folder = folder();
    let server = Server::on(folder.path(), |_| {}).await;
    let raw = rusqlite::Connection::open(folder.path().join("store.sqlite")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON answer BEGIN SELECT RAISE(FAIL, 'disk is full'); END";
    raw.execute_batch(full).unwrap();
    let response = server.http.get(server.url("/health")).send().await.unwrap();
    assert_eq!(response.status(), 503);
    let health: Value = response.json().await.unwrap();
    assert_eq!(health["code"], "store_not_writable", "{health}");
    assert_eq!(
        (&health["ok"], &health["store"], &health["writable"]),
        (&json!(false), &json!(true), &json!(false))
    );
    raw.execute_batch("DROP TRIGGER full").unwrap();
    let health = good(server.http.get(server.url("/health")).send().await.unwrap()).await;
    assert_eq!((&health["ok"], &health["writable"], health.get("code")), (&json!(true), &json!(true), None));
}
