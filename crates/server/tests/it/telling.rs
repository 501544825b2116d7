//! From a question to each receiver, over its real wire: what it is told, when it is tried again, when it is forgotten.

use crate::people::Person;
use crate::support::{Server, card, folder, good, refused, secret};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use env::Timestamp;
use keys::{Algorithm, SoftwareSigner};
use notify::{Channels, Mailer, Notifier, Smtp, Tls, Vapid};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use web_push_native::p256::SecretKey;

/// What reached a receiver: its path (`mail` for a mail), headers, body.
struct Message {
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

type Answers = Arc<Mutex<HashMap<String, VecDeque<u16>>>>;

/// Push service, ntfy server, webhook receiver and mail server on loopback. Each answers as scripted, else well.
struct Receivers {
    http: String,
    smtp: u16,
    answers: Answers,
    came: mpsc::UnboundedReceiver<Message>,
}

impl Receivers {
    async fn start() -> Self {
        let (tell, came) = mpsc::unbounded_channel();
        let answers = Answers::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(take).with_state((Arc::clone(&answers), tell.clone()));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let smtp = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                mail(socket, &tell).await;
            }
        });
        Self { http, smtp, answers, came }
    }

    fn answer(&self, path: &str, statuses: &[u16]) {
        self.answers.lock().unwrap().insert(path.to_owned(), statuses.iter().copied().collect());
    }

    async fn next(&mut self) -> Message {
        tokio::time::timeout(Duration::from_secs(20), self.came.recv()).await.expect("a message").unwrap()
    }
}

async fn take(
    State((answers, tell)): State<(Answers, mpsc::UnboundedSender<Message>)>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let path = uri.path().to_owned();
    let status = answers.lock().unwrap().get_mut(&path).and_then(VecDeque::pop_front).unwrap_or(201);
    tell.send(Message { path, headers, body: body.to_vec() }).unwrap();
    StatusCode::from_u16(status).unwrap()
}

/// RFC 5321, just enough for one mail.
async fn mail(socket: tokio::net::TcpStream, tell: &mpsc::UnboundedSender<Message>) {
    let (read, mut write) = socket.into_split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer: &[u8] = match line.get(..4).unwrap_or_default() {
            "EHLO" => b"250-mail.example\r\n250 8BITMIME\r\n",
            "DATA" => {
                write.write_all(b"354 go ahead\r\n").await.unwrap();
                let mut body = Vec::new();
                while let Ok(Some(line)) = lines.next_line().await {
                    if line == "." {
                        break;
                    }
                    body.extend_from_slice(line.as_bytes());
                    body.push(b'\n');
                }
                tell.send(Message { path: "mail".to_owned(), headers: HeaderMap::new(), body }).unwrap();
                b"250 kept\r\n"
            }
            "QUIT" => b"221 bye\r\n",
            _ => b"250 ok\r\n",
        };
        if write.write_all(answer).await.is_err() {
            return;
        }
    }
}

/// A server that tells by all four channels, and its owner.
struct Scene {
    server: Server,
    person: Person,
    receivers: Receivers,
    browser: SecretKey,
    _folder: tempfile::TempDir,
}

const AUTH: [u8; 16] = [3; 16];
const HOOK: [u8; 32] = [4; 32];

impl Scene {
    async fn set() -> Self {
        let receivers = Receivers::start().await;
        let (http, smtp) = (receivers.http.clone(), receivers.smtp);
        let notifier = move |client: &fetch::Client| -> Arc<dyn server::Tell> {
            let signer = SoftwareSigner::from_seed(Algorithm::P256, &[9; 32]).unwrap();
            let web_push = Vapid::new(Arc::new(signer), "mailto:ops@example.com").unwrap();
            let smtp = Smtp {
                host: "127.0.0.1".to_owned(),
                port: smtp,
                tls: Tls::None,
                from: "Countersign <countersign@example.com>".to_owned(),
                username: None,
                password: None,
            };
            let channels = Channels { web_push: Some(web_push), email: Some(Mailer::new(smtp).unwrap()) };
            Arc::new(Notifier::new(client.clone(), channels, Arc::new(env::System)))
        };
        let folder = folder();
        let server = Server::telling(folder.path(), |config| config.fetch_allow = vec![http], notifier).await;
        let person = Person::enrol(&server).await;
        let browser = SecretKey::from_slice(&[5; 32]).unwrap();
        Self { server, person, receivers, browser, _folder: folder }
    }

    fn push(&self) -> Value {
        json!({
            "kind": "web_push",
            "endpoint": format!("http://{}/push/abc", self.receivers.http),
            "p256dh": URL_SAFE_NO_PAD.encode(self.browser.public_key().to_sec1_bytes()),
            "auth": URL_SAFE_NO_PAD.encode(AUTH),
        })
    }

    fn ntfy(&self) -> Value {
        json!({ "kind": "ntfy", "server": format!("http://{}/", self.receivers.http), "topic": "ana" })
    }

    fn hook(&self) -> Value {
        let secret = format!("whsec_{}", STANDARD.encode(HOOK));
        json!({ "kind": "webhook", "url": format!("http://{}/hook", self.receivers.http), "secret": secret })
    }

    async fn add(&self, target: Value) {
        let act = json!({ "act": "add_notify", "target": target });
        good(self.act(act).await).await;
    }

    async fn act(&self, act: Value) -> reqwest::Response {
        self.person.send(&self.server, Method::POST, "/api/organization/acts", Some(act)).await
    }

    /// A room of the owner's in which their agent asks. Gives the address of the answer page.
    async fn ask(&self) -> String {
        let (server, person) = (&self.server, &self.person);
        let body = json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
        let opened = good(person.send(server, Method::POST, "/api/rooms", Some(body)).await).await;
        let room = opened["room_id"].as_str().unwrap();
        let path = |rest: &str| format!("/api/rooms/{room}{rest}");
        let a = secret(&opened["your_link"]);
        let joined = server.post(&path("/seat"), &secret(&opened["invites"][0]["link"]), json!({})).await;
        let b = secret(&joined["your_link"]);
        for (seat, name) in [(&a, "Ana"), (&b, "Ben")] {
            good(server.send(Method::PUT, &path("/card"), Some(seat), Some(card(name))).await).await;
        }
        let question = json!({ "question": "Is 950 fine?", "reason": "The card does not say." });
        let envelope = json!({ "message": "Wait", "status": "escalate", "escalation": question });
        server.post(&path("/envelopes"), &a, json!({ "envelope": envelope })).await;
        format!("http://localhost:{}/asks/{room}/q1", server.at.port())
    }

    /// Until nothing is left to do.
    async fn done(&self) {
        let journal = self.server.app.journal();
        let empty = async {
            while journal.stats().await.unwrap().outbox > self.wakes() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), empty).await.expect("the outbox is worked off");
    }

    /// Rows that wait for a time: the end of a room's turn, that of its question, the reminder before it.
    const fn wakes(&self) -> u64 {
        WAKES
    }

    async fn targets(&self) -> usize {
        let org = approvals::OrgId("home".to_owned());
        let state = self.server.app.organization(&org).await.unwrap();
        state.members().map(|member| member.notify.len()).sum()
    }

    fn opened(&self, push: &Message) -> Value {
        let auth = web_push_native::Auth::clone_from_slice(&AUTH);
        let plain = web_push_native::decrypt(push.body.clone(), &self.browser, &auth).unwrap();
        serde_json::from_slice(&plain).unwrap()
    }
}

const WAKES: u64 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn each_channel_brings_a_link_and_never_a_decision() {
    let mut scene = Scene::set().await;
    for target in [scene.push(), scene.ntfy(), scene.hook()] {
        scene.add(target).await;
    }
    scene.add(json!({ "kind": "email", "address": "ana@example.com" })).await;
    let link = scene.ask().await;
    let mut told = Vec::new();
    for _ in 0..4 {
        let message = scene.receivers.next().await;
        let links: Vec<String> = match message.path.as_str() {
            "/push/abc" => {
                assert_eq!(message.headers["content-encoding"], "aes128gcm");
                let key = scene.server.app.web_push_key().unwrap();
                assert!(message.headers["authorization"].to_str().unwrap().ends_with(&key));
                let body = scene.opened(&message);
                assert_eq!(keys_of(&body), ["body", "link", "title"]);
                vec![body["link"].as_str().unwrap().to_owned()]
            }
            "/" => {
                let body: Value = serde_json::from_slice(&message.body).unwrap();
                assert_eq!(keys_of(&body), ["click", "message", "title", "topic"]);
                vec![body["click"].as_str().unwrap().to_owned()]
            }
            "/hook" => {
                let at = message.headers["webhook-timestamp"].to_str().unwrap().parse().unwrap();
                let id = message.headers["webhook-id"].to_str().unwrap();
                let signature =
                    notify::webhook_signature(&HOOK, id, Timestamp::from_secs(at), &message.body).unwrap();
                assert_eq!(message.headers["webhook-signature"], signature);
                let body: Value = serde_json::from_slice(&message.body).unwrap();
                assert_eq!(keys_of(&body["data"]), ["body", "link", "title"]);
                vec![body["data"]["link"].as_str().unwrap().to_owned()]
            }
            "mail" => {
                let text = String::from_utf8(message.body).unwrap();
                assert!(text.contains("\nTo: ana@example.com\n"), "{text}");
                text.split_whitespace().filter(|word| word.contains("://")).map(str::to_owned).collect()
            }
            other => panic!("nobody listens at {other}"),
        };
        assert_eq!(links, [link.as_str()], "{}", message.path);
        told.push(message.path);
    }
    told.sort();
    assert_eq!(told, ["/", "/hook", "/push/abc", "mail"]);
    scene.done().await;
    assert!(scene.receivers.came.try_recv().is_err(), "each is told once");
    // Whoever follows the link without being signed in is asked who they are.
    let path = link.split_once("/asks/").unwrap().1;
    let (room, _) = path.split_once('/').unwrap();
    let answer = json!({ "matter": { "kind": "question", "answer": { "question_id": "q1", "ruling": "allow", "text": "Yes" } } });
    let stranger =
        scene.server.send(Method::POST, &format!("/api/rooms/{room}/answers"), None, Some(answer)).await;
    assert_eq!(refused(stranger).await.1, "credential_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_is_tried_again_and_no_other_for_its_sake() {
    let mut scene = Scene::set().await;
    scene.add(scene.ntfy()).await;
    scene.add(scene.hook()).await;
    scene.receivers.answer("/hook", &[503, 500]);
    scene.ask().await;
    let mut came: Vec<Message> = Vec::new();
    for _ in 0..4 {
        came.push(scene.receivers.next().await);
    }
    scene.done().await;
    assert!(scene.receivers.came.try_recv().is_err(), "nobody is told again after a success");
    let count = |path: &str| came.iter().filter(|message| message.path == path).count();
    assert_eq!((count("/"), count("/hook")), (1, 3));
    let mut ids: Vec<_> = came.iter().filter_map(|message| message.headers.get("webhook-id")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "each attempt carries the same id");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_has_ended_is_removed_on_record() {
    let mut scene = Scene::set().await;
    for (status, kept) in [(410, 1), (404, 1)] {
        scene.add(scene.push()).await;
        scene.add(scene.hook()).await;
        assert_eq!(scene.targets().await, 2);
        scene.receivers.answer("/push/abc", &[status]);
        // A refusal that is not "gone" gives this one message up, and keeps the target.
        scene.receivers.answer("/hook", &[404]);
        scene.ask().await;
        let mut paths = [scene.receivers.next().await.path, scene.receivers.next().await.path];
        paths.sort();
        assert_eq!(paths, ["/hook", "/push/abc"]);
        let gone = async {
            while scene.targets().await != kept {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the subscription is removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_message_goes_to_ones_own_target_alone() {
    let mut scene = Scene::set().await;
    scene.add(scene.hook()).await;
    let org = approvals::OrgId("home".to_owned());
    let state = scene.server.app.organization(&org).await.unwrap();
    let member = state.members().next().unwrap();
    let target = member.notify[0].id();
    let session = server::Session {
        name: "test".to_owned(),
        org,
        member: member.id.clone(),
        epoch: 0,
        until: Timestamp::EPOCH,
    };
    scene.server.app.send_test(&session, &target).await.unwrap();
    let message = scene.receivers.next().await;
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    let link = format!("http://localhost:{}/asks", scene.server.at.port());
    assert_eq!((message.path.as_str(), &body["data"]["link"]), ("/hook", &json!(link)));
    let code = |error: server::Error| ledger::Coded::code(&error).to_owned();
    let other = canon::Digest::ZERO;
    assert_eq!(code(scene.server.app.send_test(&session, &other).await.unwrap_err()), "not_found");
    scene.receivers.answer("/hook", &[500, 410]);
    assert_eq!(code(scene.server.app.send_test(&session, &target).await.unwrap_err()), "receiver_busy");
    assert_eq!(code(scene.server.app.send_test(&session, &target).await.unwrap_err()), "receiver_gone");
    assert_eq!(scene.targets().await, 0);
    for _ in 0..2 {
        assert_eq!(code(scene.server.app.send_test(&session, &target).await.unwrap_err()), "not_found");
    }
    assert_eq!(code(scene.server.app.send_test(&session, &target).await.unwrap_err()), "rate_limited");
}

#[tokio::test]
async fn what_cannot_be_used_here_is_refused_when_it_is_entered() {
    let scene = Scene::set().await;
    let hook = |url: &str| json!({ "kind": "webhook", "url": url, "secret": format!("whsec_{}", STANDARD.encode(HOOK)) });
    for (target, code) in [
        (hook("https://127.0.0.1/hook"), "address_refused"),
        (hook("http://example.com/hook"), "scheme_refused"),
        (json!({ "kind": "email", "address": "Ana" }), "bad_notify_target"),
        (
            json!({ "kind": "web_push", "endpoint": "https://push.example.com/1", "p256dh": "AA", "auth": "AA" }),
            "bad_notify_target",
        ),
    ] {
        for act in [
            json!({ "act": "add_notify", "target": target }),
            json!({ "act": "set_notify", "targets": [target] }),
        ] {
            assert_eq!(refused(scene.act(act).await).await.1, code, "{target}");
        }
    }
    assert_eq!(scene.targets().await, 0);
    let me = good(scene.person.send(&scene.server, Method::GET, "/api/me", None).await).await;
    assert_eq!(me["web_push_key"], json!(scene.server.app.web_push_key().unwrap()));
}

fn keys_of(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
