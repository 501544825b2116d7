#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! The client against a real server on loopback, which it may call only because it is listed.

use async_trait::async_trait;
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use fetch::{Client, Error, Lookup, Policy, Request};
use ledger::Coded;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn serve(app: Router) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    port
}

async fn server(elsewhere: u16) -> u16 {
    let to = move |url: String| move || async move { (StatusCode::FOUND, [(header::LOCATION, url)]) };
    let echo = |headers: HeaderMap| async move {
        headers.get("authorization").map_or("none".to_owned(), |value| value.to_str().unwrap().to_owned())
    };
    let app = Router::new()
        .route("/hello", get(|| async { "hello" }).post(|body: String| async move { body }))
        .route("/echo", get(echo))
        .route("/big", get(|| async { vec![b'x'; 100_000] }))
        .route("/missing", get(|| async { StatusCode::NOT_FOUND }))
        .route("/never", get(|| async { std::future::pending::<()>().await }))
        .route("/near", get(to("/hello".to_owned())).post(to("/hello".to_owned())))
        .route("/near-echo", get(to("/echo".to_owned())))
        .route("/far", get(to(format!("http://127.0.0.1:{elsewhere}/echo"))))
        .route("/metadata", get(to("http://169.254.169.254/latest/meta-data".to_owned())))
        .route("/user", get(to(format!("http://x@127.0.0.1:{elsewhere}/echo"))))
        .route("/slashes", get(to(format!("//127.0.0.1:{elsewhere}/echo"))))
        .route("/loop", get(to("/loop".to_owned())))
        .route("/file", get(to("file:///etc/passwd".to_owned())))
        .route("/nowhere", get(|| async { StatusCode::FOUND }));
    serve(app).await
}

fn client(allow: &[String]) -> Client {
    let policy = Policy {
        allow: allow.iter().map(|host| host.parse().unwrap()).collect(),
        timeout: Duration::from_secs(2),
        max_body: 50_000,
        ..Policy::default()
    };
    Client::new(policy).unwrap()
}

async fn check(client: &Client, url: &str, follow: u8, expected: Result<(u16, &str), &str>) {
    let mut request = Request::get(url).unwrap().header(header::AUTHORIZATION, "Bearer t").unwrap();
    request.follow = follow;
    let got = client.send(request).await;
    let got = got.as_ref().map(|answer| (answer.status.as_u16(), std::str::from_utf8(&answer.body).unwrap()));
    assert_eq!(got.map_err(Coded::code), expected, "{url}");
}

#[tokio::test]
async fn loopback_is_called_only_when_listed() {
    let port = server(1).await;
    let listed = client(&[format!("127.0.0.1:{port}"), format!("localhost:{port}")]);
    check(&listed, &format!("http://127.0.0.1:{port}/hello"), 0, Ok((200, "hello"))).await;
    check(&listed, &format!("http://localhost:{port}/hello"), 0, Ok((200, "hello"))).await;
    check(&listed, &format!("http://127.0.0.1:{port}/missing"), 0, Ok((404, ""))).await;
    let post = Request::post(&format!("http://127.0.0.1:{port}/hello"), "words").unwrap();
    assert_eq!(listed.send(post).await.unwrap().body, "words");

    for closed in [client(&[]), client(&["127.0.0.1:1".to_owned()]), client(&[format!("127.0.0.2:{port}")])] {
        check(&closed, &format!("http://127.0.0.1:{port}/hello"), 0, Err("scheme_refused")).await;
        check(&closed, &format!("https://127.0.0.1:{port}/hello"), 0, Err("address_refused")).await;
        check(&closed, &format!("https://localhost:{port}/hello"), 0, Err("address_refused")).await;
        check(&closed, &format!("https://[::1]:{port}/hello"), 0, Err("address_refused")).await;
        check(&closed, &format!("https://[::ffff:127.0.0.1]:{port}/"), 0, Err("address_refused")).await;
        check(&closed, "https://169.254.169.254/", 0, Err("address_refused")).await;
        check(&closed, "http://example.com/", 0, Err("scheme_refused")).await;
    }
}

#[tokio::test]
async fn redirects_are_refused_or_checked_anew() {
    let far = server(1).await;
    let port = server(far).await;
    let one = client(&[format!("127.0.0.1:{port}")]);
    let both = client(&[format!("127.0.0.1:{port}"), format!("127.0.0.1:{far}")]);
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    check(&both, &at("/near"), 0, Err("redirect_refused")).await;
    check(&both, &at("/near"), 1, Ok((200, "hello"))).await;
    check(&both, &at("/near-echo"), 1, Ok((200, "Bearer t"))).await;
    // Another origin gets no credentials, and must be allowed itself.
    check(&both, &at("/far"), 1, Ok((200, "none"))).await;
    check(&one, &at("/far"), 1, Err("scheme_refused")).await;
    check(&both, &at("/metadata"), 3, Err("scheme_refused")).await;
    check(&both, &at("/user"), 3, Err("redirect_refused")).await;
    check(&one, &at("/slashes"), 3, Err("scheme_refused")).await;
    check(&both, &at("/loop"), 5, Err("redirect_refused")).await;
    check(&both, &at("/file"), 3, Err("redirect_refused")).await;
    check(&both, &at("/nowhere"), 3, Err("redirect_refused")).await;
    let mut post = Request::post(&at("/near"), "x").unwrap();
    post.follow = 3;
    assert_eq!(both.send(post).await.unwrap_err(), Error::RedirectRefused { status: 302 });
}

#[tokio::test]
async fn time_and_size_are_bounded() {
    let port = server(1).await;
    let listed = client(&[format!("127.0.0.1:{port}")]);
    check(&listed, &format!("http://127.0.0.1:{port}/big"), 0, Err("answer_too_large")).await;
    let mut slow = Request::get(&format!("http://127.0.0.1:{port}/never")).unwrap();
    slow.timeout = Some(Duration::from_millis(100));
    assert_eq!(listed.send(slow).await.unwrap_err(), Error::Timeout);
}

#[tokio::test]
async fn a_lost_answer_is_ambiguous_and_a_refused_connection_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let listed = client(&[format!("127.0.0.1:{port}")]);
    let taken = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 16];
        socket.read_exact(&mut request).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal").await.unwrap();
    });
    let url = format!("http://127.0.0.1:{port}/");
    let lost = listed.send(Request::get(&url).unwrap()).await.unwrap_err();
    assert_eq!((lost.code(), lost.is_ambiguous()), ("answer_lost", true));
    taken.await.unwrap();
    let closed = listed.send(Request::get(&url).unwrap()).await.unwrap_err();
    assert_eq!((closed.code(), closed.is_ambiguous()), ("unreachable", false));
}

#[tokio::test]
async fn headers_that_frame_or_route_are_not_the_callers() {
    let port = server(1).await;
    let listed = client(&[format!("127.0.0.1:{port}")]);
    for name in [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION] {
        let request = Request::get(&format!("http://127.0.0.1:{port}/hello")).unwrap();
        let request = request.header(name.clone(), "1").unwrap();
        let expected = Error::HeaderRefused { name: name.to_string() };
        assert_eq!(listed.send(request).await.unwrap_err(), expected);
    }
    let split = Request::get("https://example.com/").unwrap().header(header::ACCEPT, "a\r\nb: c");
    assert_eq!(split.unwrap_err().code(), "header_refused");
}

/// A name server that answers as told, and counts how often it was asked.
struct Told(Vec<IpAddr>, AtomicUsize);

#[async_trait]
impl Lookup for Told {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        assert_eq!(host, "rebind.example");
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn a_name_is_judged_by_the_addresses_that_are_connected_to() {
    let port = server(1).await;
    for addresses in [
        vec!["127.0.0.1"],
        vec!["10.0.0.1"],
        vec!["::1"],
        vec!["::ffff:127.0.0.1"],
        vec!["fd00:ec2::254"],
        vec!["1.1.1.1", "127.0.0.1"],
        vec!["127.0.0.1", "1.1.1.1"],
    ] {
        let told =
            Arc::new(Told(addresses.iter().map(|a| a.parse().unwrap()).collect(), AtomicUsize::new(0)));
        let client = Client::with_lookup(Policy::default(), Arc::clone(&told) as Arc<dyn Lookup>).unwrap();
        let request = Request::get(&format!("https://rebind.example:{port}/hello")).unwrap();
        let error = client.send(request).await.unwrap_err();
        assert_eq!(error, Error::AddressRefused { host: "rebind.example".to_owned() }, "{addresses:?}");
        // Looked up once: what was judged is what would have been connected to.
        assert_eq!(told.1.load(Ordering::SeqCst), 1, "{addresses:?}");
    }
    let told = Arc::new(Told(vec!["127.0.0.1".parse().unwrap()], AtomicUsize::new(0)));
    let policy =
        Policy { allow: vec![format!("rebind.example:{port}").parse().unwrap()], ..Policy::default() };
    let client = Client::with_lookup(policy, told).unwrap();
    let request = Request::get(&format!("http://rebind.example:{port}/hello")).unwrap();
    assert_eq!(client.send(request).await.unwrap().body, "hello");
}
