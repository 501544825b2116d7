//! A v0 server on loopback with scripted doubles, and small words for talking to it.

use async_trait::async_trait;
use env::System;
use pxp::v0::room::TermAuthority;
use reqwest::Response;
use serde_json::{Value, json};
use server::v0::{Accounts, Options, Proxy, V0, router};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::{Journal, ServerKey, Sqlite};
use tokio::sync::Semaphore;

pub struct World {
    pub v0: V0,
    pub at: SocketAddr,
    pub http: reqwest::Client,
    pub folder: tempfile::TempDir,
}

/// A room of two external seats.
pub struct Opened {
    pub id: String,
    pub a: String,
    pub b: String,
}

/// A proxy that says what it is told to. Out of words it never answers.
pub struct Script {
    pub turns: Mutex<VecDeque<Result<String, String>>>,
    pub authority: Mutex<Result<Vec<TermAuthority>, String>>,
    pub drafts: Semaphore,
}

/// Knows one key, and faults on another.
pub struct OneKey;

pub const CARD: &str = r#"{"principal":{"name":"Ana"},"goal":"Rent the hall","must_haves":["Seats for 80"]}"#;

impl Script {
    pub fn new(turns: &[Result<&str, &str>]) -> Arc<Self> {
        let turns = turns.iter().map(|turn| turn.map(str::to_owned).map_err(str::to_owned)).collect();
        Arc::new(Self {
            turns: Mutex::new(turns),
            authority: Mutex::new(Err("secret upstream words".to_owned())),
            drafts: Semaphore::new(0),
        })
    }
}

#[async_trait]
impl Proxy for Script {
    async fn turn(&self, _: Value) -> Result<String, String> {
        let next = self.turns.lock().unwrap().pop_front();
        match next {
            Some(said) => said,
            None => std::future::pending().await,
        }
    }
    async fn authority(&self, _: Value) -> Result<Vec<TermAuthority>, String> {
        self.authority.lock().unwrap().clone()
    }
    async fn draft(&self, _: &str, _: &str, _: &str) -> Result<String, String> {
        self.drafts.acquire().await.unwrap().forget();
        Ok(CARD.to_owned())
    }
}

#[async_trait]
impl Accounts for OneKey {
    async fn member(&self, key: &str) -> Result<Option<String>, String> {
        match key {
            "good" => Ok(Some("ana".to_owned())),
            "fault" => Err("secret words of the fault".to_owned()),
            "panic" => panic!("the account store broke"),
            _ => Ok(None),
        }
    }
}

impl World {
    pub async fn start() -> Self {
        Self::with(|_| {}, None, None).await
    }

    pub async fn with(
        change: impl FnOnce(&mut Options),
        proxy: Option<Arc<Script>>,
        accounts: Option<Arc<dyn Accounts>>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path());
        Self::on(folder, journal, change, proxy, accounts).await
    }

    pub async fn on(
        folder: tempfile::TempDir,
        journal: Arc<dyn Journal>,
        change: impl FnOnce(&mut Options),
        proxy: Option<Arc<Script>>,
        accounts: Option<Arc<dyn Accounts>>,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut options = Options::new(format!("http://{at}/v0/").parse().unwrap());
        options.rooms = pxp::v0::quota::RoomLimits { total: 1000, each: 1000 };
        change(&mut options);
        let proxy = proxy.map(|proxy| -> Arc<dyn Proxy> { proxy });
        let v0 = V0::new(options, journal, Arc::new(System), proxy, accounts);
        let app = axum::Router::new().nest("/v0", router(v0.clone()));
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { v0, at, http: reqwest::Client::new(), folder }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/v0{path}", self.at)
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        status(self.http.get(self.url(path)).send().await.unwrap()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        status(self.http.post(self.url(path)).json(&body).send().await.unwrap()).await
    }

    /// One JSON-RPC message, with headers.
    pub async fn rpc(&self, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
        let mut request = self.http.post(self.url("/mcp")).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        status(request.send().await.unwrap()).await
    }

    /// A tool's structured result, or the sentence of its refusal.
    pub async fn tool(&self, name: &str, arguments: Value) -> Result<Value, String> {
        self.tool_as(name, arguments, &[]).await
    }

    pub async fn tool_as(
        &self,
        name: &str,
        arguments: Value,
        headers: &[(&str, &str)],
    ) -> Result<Value, String> {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let (code, answer) = self.rpc(&call, headers).await;
        assert_eq!(code, 200);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == true {
            return Err(text);
        }
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), result["structuredContent"]);
        Ok(result["structuredContent"].clone())
    }

    pub async fn room(&self) -> Opened {
        let asked = json!({ "topic": "Hall hire", "your_principal": "Ana", "counterpart": "Ben" });
        let opened = self.tool("create_room", asked).await.unwrap();
        let text = |key: &str| opened[key].as_str().unwrap().to_owned();
        Opened { id: text("room_id"), a: text("your_link"), b: text("invite_link_for_counterpart") }
    }

    pub async fn seal(&self, link: &str) -> Value {
        let card: Value = serde_json::from_str(CARD).unwrap();
        self.tool("seal_intent_card", json!({ "link": link, "card": card })).await.unwrap()
    }

    /// A room in which both cards are sealed and A moves.
    pub async fn sealed(&self) -> Opened {
        let opened = self.room().await;
        self.tool("join_room", json!({ "link": opened.b, "agent_name": "Agent B" })).await.unwrap();
        self.seal(&opened.a).await;
        self.seal(&opened.b).await;
        opened
    }

    /// A turn: `more` joined with the link and defaults.
    pub async fn send(&self, link: &str, more: Value) -> Result<Value, String> {
        let mut turn = json!({ "link": link, "message": "m", "status": "continue" });
        for (key, value) in more.as_object().unwrap() {
            turn[key] = value.clone();
        }
        self.tool("send_envelope", turn).await
    }

    pub async fn view(&self, id: &str) -> Value {
        let (code, view) = self.get(&format!("/api/rooms/{id}")).await;
        assert_eq!(code, 200);
        view
    }

    /// The first view on the event stream that is as wished.
    pub async fn until(&self, id: &str, wished: impl Fn(&Value) -> bool) -> Value {
        let mut events = self.events(id, "").await;
        loop {
            let view = events.next().await.expect("the stream went on");
            if wished(&view) {
                return view;
            }
        }
    }

    pub async fn events(&self, id: &str, query: &str) -> Events {
        let url = self.url(&format!("/api/rooms/{id}/events{query}"));
        Events { response: self.http.get(url).send().await.unwrap(), rest: String::new() }
    }
}

pub struct Events {
    pub response: Response,
    rest: String,
}

impl Events {
    /// The next view; `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.rest = rest;
                if let Some(data) = event.strip_prefix("data: ") {
                    return Some(serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

pub fn journal(folder: &Path) -> Arc<dyn Journal> {
    let key = ServerKey::read(&folder.join("server.key"))
        .or_else(|_| ServerKey::open(&folder.join("server.key")))
        .unwrap();
    Arc::new(Sqlite::open(&folder.join("store.sqlite"), key).unwrap())
}

/// The query of a seat link: `?seat=A&t=...`.
pub fn query(link: &str) -> String {
    format!("?{}", link.split_once('?').unwrap().1)
}

pub fn token(link: &str) -> String {
    link.rsplit_once("t=").unwrap().1.to_owned()
}

pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Words apart by spaces, sorted.
pub fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

async fn status(response: Response) -> (u16, Value) {
    let code = response.status().as_u16();
    let body = response.bytes().await.unwrap();
    (code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}
