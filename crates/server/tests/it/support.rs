//! A server on loopback, and small words for talking to it.

use approvals::NotifyTarget;
use env::{Duration, Env, Source, System, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use notify::Message;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use server::{App, Config, Parts, Tell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use store::{Journal, Log, ServerKey, Sqlite};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A running server. Stopped when dropped.
pub struct Server {
    pub app: App,
    pub at: SocketAddr,
    pub http: reqwest::Client,
    /// Everything people were told.
    pub told: Arc<Told>,
    pub clock: Arc<Ahead>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    _folder: Option<tempfile::TempDir>,
}

/// Messages by their ids: the same message twice is one.
#[derive(Default)]
pub struct Told(pub Mutex<BTreeMap<String, String>>);

#[async_trait::async_trait]
impl Tell for Told {
    fn web_push_key(&self) -> Option<String> {
        None
    }

    fn check(&self, _: &NotifyTarget) -> Result<(), notify::Error> {
        Ok(())
    }

    async fn tell(&self, id: &str, _: &NotifyTarget, message: &Message) -> Result<(), notify::Error> {
        self.0.lock().unwrap().insert(id.to_owned(), message.body().to_owned());
        Ok(())
    }
}

/// The machine's clock, some seconds ahead.
#[derive(Default)]
pub struct Ahead(AtomicU64);

impl Ahead {
    pub fn later(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Source for Ahead {
    fn now(&self) -> Timestamp {
        System.now() + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
    fn env(&self) -> Env {
        Env::new(self.now(), System.env().bytes32())
    }
}

/// A store in a folder of its own.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

impl Server {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts on a fresh store, with the configuration changed.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = folder();
        let mut server = Self::on(folder.path(), change).await;
        server._folder = Some(folder);
        server
    }

    /// Starts on the store in a folder.
    pub async fn on(folder: &Path, change: impl FnOnce(&mut Config)) -> Self {
        let told = Arc::new(Told::default());
        let notifier = told.clone();
        let mut server = Self::telling(folder, change, |_| notifier).await;
        server.told = told;
        server
    }

    /// The same, with people told by what is made of the outbound client.
    pub async fn telling(
        folder: &Path,
        change: impl FnOnce(&mut Config),
        notifier: impl FnOnce(&fetch::Client) -> Arc<dyn Tell>,
    ) -> Self {
        Self::keeping(folder, change, notifier, |_| None).await
    }

    /// The same, with mandates that stand on what is made of the server's clock.
    pub async fn keeping(
        folder: &Path,
        change: impl FnOnce(&mut Config),
        notifier: impl FnOnce(&fetch::Client) -> Arc<dyn Tell>,
        mandates: impl FnOnce(&Arc<dyn Source>) -> Option<server::mandates::Setup>,
    ) -> Self {
        Self::standing(folder, change, notifier, mandates, Arc::default(), |store| store).await
    }

    /// The same, on this clock, and on what `behind` puts before the store.
    pub async fn standing(
        folder: &Path,
        change: impl FnOnce(&mut Config),
        notifier: impl FnOnce(&fetch::Client) -> Arc<dyn Tell>,
        mandates: impl FnOnce(&Arc<dyn Source>) -> Option<server::mandates::Setup>,
        clock: Arc<Ahead>,
        behind: impl FnOnce(Arc<dyn Journal>) -> Arc<dyn Journal>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut config = Config {
            public_url: format!("http://localhost:{}", at.port()).parse().unwrap(),
            ..Config::default()
        };
        config.limits.address_per_minute = 0;
        config.limits.credential_per_minute = 0;
        config.limits.rooms_per_day = 0;
        change(&mut config);
        let key = ServerKey::read(&folder.join("server.key"))
            .or_else(|_| ServerKey::open(&folder.join("server.key")))
            .unwrap();
        let journal = behind(Arc::new(Sqlite::open(&folder.join("store.sqlite"), key).unwrap()));
        let source: Arc<dyn Source> = clock.clone();
        let signer: Arc<dyn Signer> =
            Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap());
        let origin = "test.example/log".parse().unwrap();
        let log = Log::new(Arc::clone(&journal), Arc::clone(&source), Arc::clone(&signer), origin);
        let allow = config.fetch_allow.iter().map(|pair| pair.parse().unwrap()).collect();
        let fetch = fetch::Client::new(fetch::Policy { allow, ..fetch::Policy::default() }).unwrap();
        let notifier = notifier(&fetch);
        let mandates = mandates(&source);
        let parts = Parts { config, journal, source, signer, log: Some(log), fetch, notifier, mandates };
        let app = App::new(parts).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn({
            let app = app.clone();
            async move {
                server::serve(&app, server::router(&app), listener, async {
                    let _ = stopped.await;
                })
                .await;
            }
        });
        Self {
            app,
            at,
            http: reqwest::Client::new(),
            told: Arc::default(),
            clock,
            stop: Some(stop),
            task,
            _folder: None,
        }
    }

    /// Moves the server's clock on.
    pub fn later(&self, seconds: u64) {
        self.clock.later(seconds);
    }

    /// How far its clock is ahead, in seconds.
    pub fn ahead(&self) -> u64 {
        self.clock.0.load(Ordering::Relaxed)
    }

    /// Tells it to stop. It lets open requests finish.
    pub fn stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    /// Stops it, and waits until nothing of it runs.
    pub async fn end(mut self) {
        self.stop();
        let ended = tokio::time::timeout(std::time::Duration::from_secs(20), &mut self.task).await;
        assert!(ended.is_ok(), "the server does not end");
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    /// A request with a bearer secret.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        secret: Option<&str>,
        body: Option<Value>,
    ) -> Response {
        let mut request = self.http.request(method, self.url(path));
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    pub async fn get(&self, path: &str, secret: &str) -> Value {
        good(self.send(Method::GET, path, Some(secret), None).await).await
    }

    pub async fn post(&self, path: &str, secret: &str, body: Value) -> Value {
        good(self.send(Method::POST, path, Some(secret), Some(body)).await).await
    }

    /// Opens a room of two over HTTP. Gives its id, A's secret, A's principal link secret, and B's invite.
    pub async fn open(&self) -> Opened {
        let body =
            json!({ "topic": "Hall hire", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
        let opened = good(self.send(Method::POST, "/api/rooms", None, Some(body)).await).await;
        Opened {
            room: opened["room_id"].as_str().unwrap().to_owned(),
            a: secret(&opened["your_link"]),
            link_a: self.door(opened["room_id"].as_str().unwrap(), "A"),
            invite: secret(&opened["invites"][0]["link"]),
        }
    }

    /// The secret of the link of a seat's principal, which no agent was given.
    pub fn door(&self, room: &str, seat: &str) -> String {
        let door = self.app.doors().of(&room.parse().unwrap(), seat.parse().unwrap()).unwrap();
        secret(&door.link.into())
    }

    /// A room in which both seats have sealed their cards.
    pub async fn negotiating(&self) -> Both {
        let opened = self.open().await;
        let path = |rest: &str| format!("/api/rooms/{}{rest}", opened.room);
        let joined = self.post(&path("/seat"), &opened.invite, json!({ "agent": "Agent B" })).await;
        assert!(joined.get("principal_link").is_none(), "{joined}");
        let (b, link_b) = (secret(&joined["your_link"]), self.door(&opened.room, "B"));
        for (secret, name) in [(&opened.a, "Ana"), (&b, "Ben")] {
            good(self.send(Method::PUT, &path("/card"), Some(secret), Some(card(name))).await).await;
        }
        Both {
            room: opened.room.clone(),
            a: opened.a.clone(),
            link_a: opened.link_a.clone(),
            b,
            link_b,
            invite: opened.invite.clone(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.task.abort();
    }
}

/// Both seats agree on one offer of seat A.
pub async fn agree(server: &Server, room: &Both) {
    let authority = json!([{ "term": 0, "clauses": ["may_agree_to[0]"] }]);
    let offer = json!({ "message": "An offer", "status": "continue",
        "claims": [{ "text": "The floor is new", "origin": "assumed" }],
        "proposal": { "terms": ["The hall on Monday"], "depends_on": ["new1"], "authority": authority } });
    let sent = server.post(&room.path("/envelopes"), &room.a, json!({ "envelope": offer })).await;
    let agree = json!({ "message": "Agreed", "status": "agree", "accepts": sent["offer_hash"], "authority": authority,
        "reviews": [{ "claim_id": "A1.1", "verdict": "accept" }] });
    server.post(&room.path("/envelopes"), &room.b, json!({ "envelope": agree })).await;
}

#[derive(Debug, Clone)]
pub struct Opened {
    pub room: String,
    pub a: String,
    pub link_a: String,
    pub invite: String,
}

#[derive(Debug, Clone)]
pub struct Both {
    pub room: String,
    pub a: String,
    pub link_a: String,
    pub b: String,
    pub link_b: String,
    /// Used.
    pub invite: String,
}

impl Both {
    pub fn path(&self, rest: &str) -> String {
        format!("/api/rooms/{}{rest}", self.room)
    }
}

pub fn card(name: &str) -> Value {
    json!({
        "principal": { "name": name },
        "goal": "Rent the hall",
        "must_haves": ["Seats for the guests"],
        "may_agree_to": ["A fair price for the hall"],
        "known_facts": ["Guests are confirmed"],
    })
}

/// The secret of a link: what follows the last `=` of its fragment.
pub fn secret(link: &Value) -> String {
    link.as_str().unwrap_or_else(|| panic!("no link: {link}")).rsplit_once('=').unwrap().1.to_owned()
}

/// The body of an answer that is a success.
pub async fn good(response: Response) -> Value {
    let status = response.status();
    let body = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {body}");
    if body.is_empty() { Value::Null } else { serde_json::from_str(&body).unwrap() }
}

/// The status and code of an answer that is a problem.
pub async fn refused(response: Response) -> (StatusCode, String) {
    let status = response.status();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let body: Value = response.json().await.unwrap();
    assert_eq!(kind.as_deref(), Some("application/problem+json"), "{status}: {body}");
    assert_eq!(body["status"], status.as_u16());
    (status, body["code"].as_str().unwrap().to_owned())
}
