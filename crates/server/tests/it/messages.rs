//! Receiving messages: accepted once, refused when what was accepted is not known.

use crate::support::{Server, folder};
use env::{Env, Source, System, Timestamp};
use keys::{Algorithm, SecretHash, SoftwareSigner};
use pcm::message::sample::{Custody, Order, Stage};
use pcm::message::{Receiver, carriage, registry_digest};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use server::messages::{Begin, Desk, Recipient, Setup};
use std::path::Path;
use std::sync::Arc;
use store::{Runtime, ServerKey, Sqlite};

/// A sender, whose log the receivers believe.
struct Sender {
    stage: Stage<'static>,
}

impl Sender {
    fn new() -> Self {
        let signer =
            |seed| Box::leak(Box::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()));
        let env = Env::new(System.now(), [9; 32]);
        Self { stage: Stage::new(env, signer(1), signer(2)).unwrap() }
    }

    fn trust(&self) -> Vec<u8> {
        let sender = self.stage.sender();
        let trust = json!({
            "pcm": "pcm/0.1-cs",
            "evidence": {"logs": [self.stage.vkey().unwrap().to_string()], "algs": ["ed25519"]},
            "receivers": ["shop", "bank"],
            "speakers": [{"origin": sender.origin, "log_id": sender.log_id, "tenant": sender.tenant}],
            "registry": registry_digest().prefixed(),
            "intents": [{"type": "create_room", "schema": {"type": "object"}}],
        });
        trust.to_string().into_bytes()
    }

    fn message(&mut self, to: &str) -> Vec<u8> {
        self.sent(to, None)
    }

    /// One that asks for something its receivers agreed to.
    fn asking(&mut self, to: &str, kind: &str, args: &str) -> Vec<u8> {
        let schema = canon::Digest::of(br#"{"type":"object"}"#);
        self.sent(to, Some((kind, schema, args.to_owned())))
    }

    fn sent(&mut self, to: &str, intent: Option<(&str, canon::Digest, String)>) -> Vec<u8> {
        let now = System.now();
        self.stage.wait(now.since(self.stage.now()));
        let (d, r) =
            self.stage.call(Custody::Executor, "http_get", r#"{"url":"https://a.example/"}"#, "{}").unwrap();
        let args = r#"{"tool":"http_get","args":{}}"#.to_owned();
        let order =
            Order { to, claims: vec![("c", "tool_called", args, vec![d, r])], intent, ..Order::default() };
        let note = self.stage.note().unwrap();
        self.stage.send(&order, &note).unwrap()
    }

    fn setup(&self, mark: &Path) -> Setup {
        let key = |id: &str| Recipient { id: id.to_owned(), key: SecretHash::of(&secret(id)) };
        Setup {
            receiver: Receiver::parse(&self.trust()).unwrap(),
            recipients: vec![key("shop"), key("bank")],
            mark: mark.to_owned(),
        }
    }
}

fn secret(id: &str) -> String {
    format!("{id}-{}", "s".repeat(32))
}

/// A receiver's process: its store and its mark.
struct Process {
    desk: Desk,
    journal: Sqlite,
    runtime: Runtime,
}

impl Process {
    fn start(sender: &Sender, store: &Path, mark: &Path) -> Self {
        let key = ServerKey::open(&mark.with_file_name("key")).unwrap();
        let journal = Sqlite::open(store, key).unwrap();
        let runtime = Runtime::new(Arc::new(journal.clone()), Arc::new(System));
        Self { desk: Desk::new(sender.setup(mark)), journal, runtime }
    }

    async fn begin(&self, how: Begin) -> Timestamp {
        self.desk.begin(&self.runtime, how).await.unwrap().began().unwrap()
    }

    /// The verdict and its reason.
    async fn accept(&self, message: &[u8]) -> String {
        let judged = self.desk.accept(&self.runtime, message, None).await.unwrap();
        let code = judged.fault.map(|fault| format!(" {}", fault.code.as_str()));
        format!("{}{}", judged.overall.as_str(), code.unwrap_or_default())
    }
}

const LOST: &str = "reject replay_state_unavailable";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_accepted_once_by_whoever_shares_the_store() {
    let (mut sender, folder) = (Sender::new(), folder());
    let (store, mark) = (folder.path().join("store"), folder.path().join("mark"));
    let one = Process::start(&sender, &store, &mark);
    assert_eq!(one.accept(&sender.message("shop")).await, LOST);
    one.begin(Begin::First).await;
    let message = sender.message("shop");
    assert_eq!(one.accept(&message).await, "accept");
    assert_eq!(one.accept(&message).await, "reject replayed");
    // Another process, on a machine of its own.
    let other = Process::start(&sender, &store, &folder.path().join("other"));
    let fresh = sender.message("bank");
    assert_eq!(other.accept(&fresh).await, LOST);
    other.begin(Begin::Join).await;
    assert_eq!(other.accept(&message).await, "reject replayed");
    assert_eq!(other.accept(&fresh).await, "accept");
    assert_eq!(one.accept(&fresh).await, "reject replayed");
    // The same message to both at once.
    for _ in 0..8 {
        let message = sender.message("shop");
        let mut found = <[String; 2]>::from(tokio::join!(one.accept(&message), other.accept(&message)));
        found.sort();
        assert_eq!(found, ["accept", "reject replayed"]);
    }
    // And after a restart.
    drop(one);
    assert_eq!(Process::start(&sender, &store, &mark).accept(&message).await, "reject replayed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_rolled_back_accepts_nothing() {
    let (mut sender, folder) = (Sender::new(), folder());
    let (store, mark) = (folder.path().join("store"), folder.path().join("mark"));
    let process = Process::start(&sender, &store, &mark);
    process.begin(Begin::First).await;
    let (before, after) = (sender.message("shop"), sender.message("shop"));
    assert_eq!(process.accept(&before).await, "accept");
    let copy = folder.path().join("copy");
    process.journal.backup(&copy, System.now()).await.unwrap();
    assert_eq!(process.accept(&after).await, "accept");
    // As it was before the second one was accepted.
    let store = copy.join("journal.db");
    let process = Process::start(&sender, &store, &mark);
    assert_eq!(process.accept(&after).await, LOST);
    assert_eq!(process.accept(&sender.message("shop")).await, LOST);
    // Joining would believe it; a fresh epoch refuses whatever was issued before.
    let since = process.begin(Begin::Anew).await;
    assert!(since > System.now());
    assert_eq!(process.accept(&after).await, LOST);
    assert_eq!(process.accept(&sender.message("shop")).await, LOST);
    // Without the mark nothing is known either, and a mark that cannot be read is none.
    std::fs::remove_file(&mark).unwrap();
    assert_eq!(process.accept(&sender.message("shop")).await, LOST);
    std::fs::write(&mark, "x").unwrap();
    assert_eq!(process.accept(&sender.message("shop")).await, LOST);
    assert!(process.desk.begin(&process.runtime, Begin::First).await.is_err(), "something was accepted here");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_by_http() {
    let (mut sender, folder) = (Sender::new(), folder());
    let server = Server::on(folder.path(), |_| {}).await;
    let post = |message: Vec<u8>, secret: Option<String>| {
        let request = server.http.request(Method::POST, server.url("/v1/messages"));
        let request = request.header("content-type", "application/json").body(message);
        async move {
            let request = match secret {
                Some(secret) => request.bearer_auth(secret),
                None => request,
            };
            let answer = request.send().await.unwrap();
            (answer.status(), answer.json::<Value>().await.unwrap())
        }
    };
    let shop = || Some(secret("shop"));
    let (status, answer) = post(sender.message("shop"), shop()).await;
    assert_eq!((status, &answer["code"]), (StatusCode::NOT_FOUND, &json!("messages_off")));
    assert!(server.app.receive(sender.setup(&folder.path().join("mark"))));
    for (who, expected) in
        [(None, StatusCode::UNAUTHORIZED), (Some("nobody".to_owned()), StatusCode::UNAUTHORIZED)]
    {
        assert_eq!(post(sender.message("shop"), who).await.0, expected);
    }
    let (status, answer) = post(sender.message("shop"), shop()).await;
    assert_eq!(
        (status, &answer["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("replay_state_unavailable"))
    );
    server.app.desk().unwrap().begin(server.app.runtime(), Begin::First).await.unwrap();
    let message = sender.message("shop");
    let (status, answer) = post(message.clone(), shop()).await;
    assert_eq!((status, &answer["overall"]), (StatusCode::OK, &json!("accept")), "{answer}");
    assert_eq!(answer["claims"], json!([{"id": "c", "verdict": "proven"}]));
    assert_eq!((&answer["from"], &answer["to"]), (&json!("token:agent"), &json!("shop")));
    let (status, answer) = post(message, shop()).await;
    assert_eq!((status, &answer["code"]), (StatusCode::OK, &json!("replayed")));
    assert_eq!((&answer["overall"], &answer["place"]), (&json!("reject"), &json!("/id")));
    let (_, answer) = post(sender.message("bank"), shop()).await;
    assert_eq!(answer["code"], "wrong_audience");
    let (_, answer) = post(sender.message("bank"), Some(secret("bank"))).await;
    assert_eq!(answer["overall"], "accept");
    let message = sender.message("shop");
    let part: Value =
        serde_json::from_slice(&canon::to_vec(&carriage::part(&message).unwrap()).unwrap()).unwrap();
    let asks = |parts: Value| json!({"kind": "message", "extensions": [carriage::EXTENSION], "parts": parts});
    let other = json!({"kind": "data", "data": {"order": 81}});
    let (status, answer) = post(asks(json!([other, part])).to_string().into_bytes(), shop()).await;
    assert_eq!((status, &answer["code"]), (StatusCode::BAD_REQUEST, &json!("intent_invalid")), "{answer}");
    let (_, answer) = post(asks(json!([part])).to_string().into_bytes(), shop()).await;
    assert_eq!(answer["overall"], "accept");
    let (_, answer) = post(message, shop()).await;
    assert_eq!(answer["code"], "replayed");
    let (_, answer) = post(b"{".to_vec(), shop()).await;
    assert_eq!(answer["code"], "bad_json");
    let (status, _) = post(vec![b' '; 1 << 20], shop()).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// A tool call with a message runs once its message is accepted, and not otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_carries_a_message() {
    let (mut sender, folder) = (Sender::new(), folder());
    let server = Server::on(folder.path(), |_| {}).await;
    server.app.receive(sender.setup(&folder.path().join("mark")));
    server.app.desk().unwrap().begin(server.app.runtime(), Begin::First).await.unwrap();
    let call = async |name: &str, topic: &str, meta: &Value| {
        let arguments = json!({"topic": topic, "your_principal": "Ana", "counterpart": "Ben"});
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let answer = server.send(Method::POST, "/mcp", None, Some(body)).await.json::<Value>().await.unwrap();
        assert_eq!(answer["id"], 7);
        let error = &answer["result"]["structuredContent"]["error"]["code"];
        (answer["result"]["isError"].as_bool().unwrap(), error.as_str().unwrap_or_default().to_owned())
    };
    let refused = |code: &str| (true, code.to_owned());
    let carried = |message: &[u8]| json!({carriage::META: serde_json::from_slice::<Value>(message).unwrap()});
    assert_eq!(call("create_room", "Price", &json!({})).await, (false, String::new()));
    let asks = r#"{"topic":"Price","your_principal":"Ana","counterpart":"Ben"}"#;
    let message = sender.asking("shop", "create_room", asks);
    assert_eq!(call("create_room", "Another", &carried(&message)).await, refused("intent_invalid"));
    assert_eq!(call("create_room", "Price", &carried(&message)).await, (false, String::new()));
    assert_eq!(call("create_room", "Price", &carried(&message)).await, refused("replayed"));
    let silent = sender.message("shop");
    assert_eq!(call("create_room", "Price", &carried(&silent)).await, refused("intent_invalid"));
    let link =
        json!({"type": "resource_link", "uri": "https://a.example/", "mimeType": carriage::MEDIA_TYPE});
    assert_eq!(
        call("create_room", "Price", &json!({carriage::META: link})).await,
        refused("message_not_inline")
    );
    assert_eq!(call("create_room", "Price", &json!({carriage::META: 1})).await, refused("bad_schema"));
}
