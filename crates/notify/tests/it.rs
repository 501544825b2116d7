#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! Each channel against a local receiver that speaks its real wire.

use approvals::NotifyTarget;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use env::{Duration, Timestamp, Virtual};
use ledger::Coded;
use notify::{Channels, Error, Mailer, Message, Notifier, Smtp, Tls, Vapid};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use web_push_native::p256::SecretKey;

type Taken = Arc<Mutex<Vec<(String, HeaderMap, Bytes)>>>;

/// Takes every POST; `/status/N` answers N, anything else 201.
async fn receiver() -> (String, Taken) {
    let taken = Taken::default();
    let take = |State(taken): State<Taken>, Path(path): Path<String>, headers: HeaderMap, body: Bytes| async move {
        let status = path.strip_prefix("status/").map_or(201, |status| status.parse().unwrap());
        taken.lock().unwrap().push((path, headers, body));
        (StatusCode::from_u16(status).unwrap(), [("retry-after", "7")])
    };
    let root = |State(taken): State<Taken>, headers: HeaderMap, body: Bytes| async move {
        taken.lock().unwrap().push((String::new(), headers, body));
    };
    let app =
        Router::new().route("/", post(root)).route("/{*path}", post(take)).with_state(Arc::clone(&taken));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, taken)
}

fn start() -> Timestamp {
    Timestamp::from_secs(1_796_000_000)
}

fn notifier(allow: &[&str], channels: Channels) -> Notifier {
    let policy = fetch::Policy {
        allow: allow.iter().map(|host| host.parse().unwrap()).collect(),
        ..Default::default()
    };
    Notifier::new(fetch::Client::new(policy).unwrap(), channels, Arc::new(Virtual::new(1, start())))
}

fn vapid() -> Vapid {
    let signer = keys::SoftwareSigner::from_seed(keys::Algorithm::P256, &[9; 32]).unwrap();
    Vapid::new(Arc::new(signer), "mailto:ana@example.com").unwrap()
}

fn message() -> Message {
    Message::new("https://countersign.example", "/asks/q1", "Déjà vu: may it pay?", "Room 7 waits.").unwrap()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).unwrap_or_else(|| panic!("{name} is missing")).to_str().unwrap()
}

#[tokio::test]
async fn web_push_reaches_the_browser_and_nobody_between() {
    let (address, taken) = receiver().await;
    let notifier = notifier(&[&address], Channels { web_push: Some(vapid()), email: None });
    let browser = SecretKey::from_slice(&[5; 32]).unwrap();
    let auth = [3; 16];
    let target = NotifyTarget::WebPush {
        endpoint: format!("http://{address}/push/abc"),
        p256dh: URL_SAFE_NO_PAD.encode(browser.public_key().to_sec1_bytes()),
        auth: URL_SAFE_NO_PAD.encode(auth),
    };
    notifier.send("n1", &target, &message()).await.unwrap();

    let (path, headers, body) = taken.lock().unwrap().pop().unwrap();
    assert_eq!(path, "push/abc");
    assert_eq!(header(&headers, "content-encoding"), "aes128gcm");
    assert_eq!(header(&headers, "ttl"), "86400");
    assert!(!body.windows(7).any(|window| window == b"Room 7 "), "the body is encrypted");
    let plain =
        web_push_native::decrypt(body.to_vec(), &browser, &web_push_native::Auth::clone_from_slice(&auth))
            .unwrap();
    let plain: serde_json::Value = serde_json::from_slice(&plain).unwrap();
    assert_eq!(plain["title"], "Déjà vu: may it pay?");
    assert_eq!(plain["link"], "https://countersign.example/asks/q1");

    // RFC 8292: a JWT by the key that the header names, for this push service, for less than a day.
    let authorization = header(&headers, "authorization").strip_prefix("vapid t=").unwrap();
    let (token, key) = authorization.split_once(", k=").unwrap();
    assert_eq!(Some(key.to_owned()), notifier.application_server_key());
    let point = keys::p256::PublicKey::from_sec1(&URL_SAFE_NO_PAD.decode(key).unwrap()).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let signature = keys::Signature::from_base64url(parts[2]).unwrap();
    let signed = format!("{}.{}", parts[0], parts[1]);
    keys::PublicKey::P256(point).verify(signed.as_bytes(), &signature).unwrap();
    let claims: serde_json::Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    assert_eq!(claims["aud"], format!("http://{address}"));
    assert_eq!(claims["exp"], start().as_secs() + 12 * 3600);
    assert_eq!(claims["sub"], "mailto:ana@example.com");
}

#[tokio::test]
async fn ntfy_gets_its_json() {
    let (address, taken) = receiver().await;
    let notifier = notifier(&[&address], Channels::default());
    let target = NotifyTarget::Ntfy {
        server: format!("http://{address}/"),
        topic: "ana-asks".to_owned(),
        token: Some("tk_1".to_owned()),
    };
    notifier.send("n1", &target, &message()).await.unwrap();
    let (path, headers, body) = taken.lock().unwrap().pop().unwrap();
    assert_eq!(path, "");
    assert_eq!(header(&headers, "authorization"), "Bearer tk_1");
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let expected = serde_json::json!({"topic": "ana-asks", "title": "Déjà vu: may it pay?", "message": "Room 7 waits.",
        "click": "https://countersign.example/asks/q1"});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_webhook_is_signed_over_what_arrives() {
    let (address, taken) = receiver().await;
    let notifier = notifier(&[&address], Channels::default());
    let secret = [4_u8; 32];
    let target = NotifyTarget::Webhook {
        url: format!("http://{address}/hook"),
        secret: format!("whsec_{}", STANDARD.encode(secret)),
    };
    notifier.send("n-42", &target, &message()).await.unwrap();
    let (_, headers, body) = taken.lock().unwrap().pop().unwrap();
    assert_eq!(header(&headers, "webhook-id"), "n-42");
    assert_eq!(header(&headers, "webhook-timestamp"), start().as_secs().to_string());
    let expected = notify::webhook_signature(&secret, "n-42", start(), &body).unwrap();
    assert_eq!(header(&headers, "webhook-signature"), expected);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["type"], "countersign.notice");
    assert_eq!(body["data"]["link"], "https://countersign.example/asks/q1");
}

#[tokio::test]
async fn an_answer_says_whether_to_try_again() {
    let (address, _) = receiver().await;
    let notifier = notifier(&[&address], Channels::default());
    let busy = |status| Err(Error::Busy { status, retry_after: Some(Duration::from_secs(7)) });
    for (status, expected, permanent) in [
        (200, Ok(()), false),
        (404, Err(Error::Refused { status: 404 }), true),
        (410, Err(Error::Gone), true),
        (400, Err(Error::Refused { status: 400 }), true),
        (413, Err(Error::Refused { status: 413 }), true),
        (429, busy(429), false),
        (500, busy(500), false),
        (503, busy(503), false),
        (302, Err(Error::Call(fetch::Error::RedirectRefused { status: 302 })), true),
    ] {
        let target = NotifyTarget::Webhook {
            url: format!("http://{address}/status/{status}"),
            secret: format!("whsec_{}", STANDARD.encode([4_u8; 32])),
        };
        let sent = notifier.send("n", &target, &message()).await;
        assert_eq!(sent, expected, "{status}");
        if let Err(error) = sent {
            assert_eq!(error.is_permanent(), permanent, "{status}");
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_where_nothing_may_be() {
    let (address, taken) = receiver().await;
    let notifier = notifier(&[], Channels::default());
    let hook =
        |url: String| NotifyTarget::Webhook { url, secret: format!("whsec_{}", STANDARD.encode([4_u8; 32])) };
    for (target, code) in [
        (hook(format!("http://{address}/hook")), "scheme_refused"),
        (hook("https://127.0.0.1/hook".to_owned()), "address_refused"),
        (hook("https://localhost/hook".to_owned()), "address_refused"),
        (hook("https://[::1]/hook".to_owned()), "address_refused"),
        (hook("https://169.254.169.254/latest".to_owned()), "address_refused"),
        (hook("https://a@b/".to_owned()), "bad_url"),
        (NotifyTarget::Email { address: "ana@example.com".to_owned() }, "not_configured"),
    ] {
        let error = notifier.send("n", &target, &message()).await.unwrap_err();
        assert_eq!(error.code(), code, "{target:?}");
        assert!(error.is_permanent(), "{target:?}");
    }
    assert!(taken.lock().unwrap().is_empty());
}

/// A mail server for one connection after another: RFC 5321, just enough. Mailboxes at `gone.example` do not exist, at
/// `later.example` they are full.
async fn mail_server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mails = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&mails);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let mails = Arc::clone(&kept);
            tokio::spawn(async move {
                let (read, mut write) = socket.into_split();
                let mut lines = BufReader::new(read).lines();
                write.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
                while let Ok(Some(line)) = lines.next_line().await {
                    let verb = line.to_ascii_uppercase();
                    let answer = if verb.starts_with("EHLO") {
                        "250-mail.example\r\n250 8BITMIME\r\n"
                    } else if verb.starts_with("RCPT") && line.contains("@gone.example") {
                        "550 5.1.1 no such mailbox\r\n"
                    } else if verb.starts_with("RCPT") && line.contains("@later.example") {
                        "452 4.2.2 mailbox full\r\n"
                    } else if verb.starts_with("DATA") {
                        write.write_all(b"354 go ahead\r\n").await.unwrap();
                        let mut mail = String::new();
                        while let Ok(Some(line)) = lines.next_line().await {
                            if line == "." {
                                break;
                            }
                            mail.push_str(&line);
                            mail.push('\n');
                        }
                        mails.lock().unwrap().push(mail);
                        "250 kept\r\n"
                    } else if verb.starts_with("QUIT") {
                        "221 bye\r\n"
                    } else {
                        "250 ok\r\n"
                    };
                    if write.write_all(answer.as_bytes()).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, mails)
}

fn smtp(host: &str, port: u16, tls: Tls) -> Smtp {
    Smtp {
        host: host.to_owned(),
        port,
        tls,
        from: "Countersign <countersign@example.com>".to_owned(),
        username: None,
        password: None,
    }
}

#[tokio::test]
async fn mail_is_a_line_and_a_link() {
    let (port, mails) = mail_server().await;
    let mailer = Mailer::new(smtp("127.0.0.1", port, Tls::None)).unwrap();
    let notifier = notifier(&[], Channels { web_push: None, email: Some(mailer) });
    let to = |address: &str| NotifyTarget::Email { address: address.to_owned() };
    let plain =
        Message::new("https://countersign.example", "/asks/q1", "Two\r\nBcc: ben@example.com", "Room 7.")
            .unwrap();
    notifier.send("n1", &to("ana@example.com"), &plain).await.unwrap();
    let mail = mails.lock().unwrap().pop().unwrap();
    let (head, body) = mail.split_once("\n\n").unwrap();
    assert!(head.contains("Subject: Two Bcc: ben@example.com"), "{head}");
    assert!(!head.lines().any(|line| line.starts_with("Bcc:")), "{head}");
    assert!(head.contains("To: ana@example.com"), "{head}");
    assert!(head.contains("Message-ID: <n1@example.com>"), "{head}");
    assert_eq!(body.trim(), "Room 7.\n\nhttps://countersign.example/asks/q1");

    let gone = notifier.send("n2", &to("ben@gone.example"), &plain).await.unwrap_err();
    assert_eq!((gone.code(), gone.is_permanent()), ("receiver_refuses", true));
    let later = notifier.send("n3", &to("ben@later.example"), &plain).await.unwrap_err();
    assert_eq!((later.code(), later.is_permanent()), ("mail_unavailable", false));
    assert!(mails.lock().unwrap().is_empty());
}

#[tokio::test]
async fn mail_to_nobody_home_is_tried_again() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mailer = Mailer::new(smtp("127.0.0.1", port, Tls::None)).unwrap();
    let notifier = notifier(&[], Channels { web_push: None, email: Some(mailer) });
    let target = NotifyTarget::Email { address: "ana@example.com".to_owned() };
    let error = notifier.send("n", &target, &message()).await.unwrap_err();
    assert_eq!((error.code(), error.is_permanent()), ("mail_unavailable", false));
}

#[test]
fn a_password_does_not_travel_unprotected() {
    let with = |host: &str, tls| {
        let secret = Some("word".to_owned());
        Mailer::new(Smtp { username: Some("ana".to_owned()), password: secret, ..smtp(host, 25, tls) })
            .is_ok()
    };
    for (host, tls, good) in [
        ("mail.example.com", Tls::None, false),
        ("mail.example.com", Tls::Starttls, true),
        ("mail.example.com", Tls::Implicit, true),
        ("127.0.0.1", Tls::None, true),
    ] {
        assert_eq!(with(host, tls), good, "{host} {tls:?}");
    }
}
