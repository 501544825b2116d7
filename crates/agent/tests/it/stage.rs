//! A host, upstreams and a gate that do what the test says.

use agent::wire::Message;
use agent::{Asked, Call, Decision, Denial, End, Error, Event, Gate, Hub, Outcome, Ticket};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(10);

pub struct Stage {
    pub events: mpsc::Sender<Event>,
    pub gate: Arc<Script>,
    from_hub: mpsc::UnboundedReceiver<String>,
    ups: Vec<mpsc::UnboundedReceiver<Message>>,
    hub: JoinHandle<End>,
}

impl Stage {
    pub async fn new(names: &[&str]) -> Self {
        let (events, heard) = mpsc::channel(64);
        let (host, from_hub) = mpsc::unbounded_channel();
        let gate = Arc::new(Script::default());
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let count = names.len();
        let hub = Hub::new(Arc::clone(&gate) as Arc<dyn Gate>, names, events.clone(), host);
        let hub = tokio::spawn(hub.run(heard));
        let mut stage = Self { events, gate, from_hub, ups: Vec::new(), hub };
        for up in 0..count {
            stage.up(up).await;
        }
        stage
    }

    /// The upstream starts, or starts again.
    pub async fn up(&mut self, up: usize) {
        let (link, lines) = mpsc::unbounded_channel();
        if up < self.ups.len() {
            self.ups[up] = lines;
        } else {
            self.ups.push(lines);
        }
        self.events.send(Event::Up { up, link }).await.unwrap();
    }

    pub async fn down(&self, up: usize) {
        self.events.send(Event::Down { up, why: "it fell".to_owned() }).await.unwrap();
    }

    /// The host says.
    pub async fn say(&self, line: &str) {
        self.events.send(Event::Host(line.as_bytes().to_vec())).await.unwrap();
    }

    /// An upstream says.
    pub async fn up_says(&self, up: usize, line: &str) {
        self.events.send(Event::From { up, line: line.as_bytes().to_vec() }).await.unwrap();
    }

    /// What the host hears next.
    pub async fn hear(&mut self) -> String {
        timeout(LONG, self.from_hub.recv()).await.expect("the host hears something").unwrap()
    }

    pub async fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear().await).unwrap()
    }

    /// What an upstream hears next.
    pub async fn up_hears(&mut self, up: usize) -> String {
        timeout(LONG, self.ups[up].recv()).await.expect("the upstream hears something").unwrap().into_text()
    }

    pub async fn up_hears_json(&mut self, up: usize) -> Value {
        serde_json::from_str(&self.up_hears(up).await).unwrap()
    }

    /// Whether the host was told nothing so far. Everything said before is done: a ping of the host has gone through the hub.
    pub async fn host_hears_nothing(&mut self) {
        self.say(r#"{"jsonrpc":"2.0","id":"probe","method":"probe"}"#).await;
        self.probed().await;
        assert_eq!(self.from_hub.try_recv().ok(), None);
    }

    /// Whether an upstream was told nothing so far.
    pub async fn up_hears_nothing(&mut self, up: usize) {
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/probe"}"#).await;
        assert_eq!(self.up_hears(up).await, r#"{"jsonrpc":"2.0","method":"notifications/probe"}"#);
    }

    async fn probed(&mut self) {
        assert_eq!(self.up_hears(0).await, r#"{"jsonrpc":"2.0","id":"probe","method":"probe"}"#);
    }

    pub async fn end(self) -> (End, Vec<String>) {
        let _ = self.events.send(Event::HostClosed).await;
        let end = timeout(LONG, self.hub).await.expect("the hub ends").unwrap();
        (end, self.gate.log())
    }
}

/// A gate that goes by the tool's name: `deny…` is denied, `ask…` is asked about until it is approved, all else is allowed.
pub struct Script {
    log: Mutex<Vec<String>>,
    approved: Mutex<bool>,
    /// How many results may be recorded.
    pub may_record: Semaphore,
    /// How many calls may be decided.
    pub may_decide: Semaphore,
    /// What recording comes to.
    pub broken: Mutex<bool>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            log: Mutex::default(),
            approved: Mutex::default(),
            may_record: Semaphore::new(1000),
            may_decide: Semaphore::new(1000),
            broken: Mutex::default(),
        }
    }
}

impl Script {
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
    pub fn approve(&self) {
        *self.approved.lock().unwrap() = true;
    }
    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }
    fn recorded(&self, line: String) -> Result<(), Error> {
        if *self.broken.lock().unwrap() {
            return Err(Error::SignerDown("it is gone".to_owned()));
        }
        self.note(line);
        Ok(())
    }
}

#[async_trait]
impl Gate for Script {
    async fn decide(&self, call: &Call) -> Result<Decision, Error> {
        self.may_decide.acquire().await.unwrap().forget();
        let tool = call.tool.rsplit('/').next().unwrap().to_owned();
        self.note(format!("decide {} {}", call.tool, call.arguments));
        let decision = format!("dec-{tool}");
        let asks = tool.starts_with("ask");
        if tool.starts_with("deny") {
            let text = "no".to_owned();
            return Ok(Decision::Deny(Denial { code: "TK-TEST".to_owned(), text, decision: Some(decision) }));
        }
        if asks && !*self.approved.lock().unwrap() {
            return Ok(Decision::Ask(Asked {
                approval: "apr-1".to_owned(),
                decision,
                url: Some("https://sign.example/asks/1".to_owned()),
                who: Some("Ana".to_owned()),
                expires_at: None,
                retry_after: 15_000,
            }));
        }
        let approval = asks.then(|| "apr-1".to_owned());
        Ok(Decision::Allow(Ticket {
            call: "c".to_owned(),
            decision,
            digest: "sha256:0".to_owned(),
            approval,
        }))
    }

    async fn complete(&self, ticket: &Ticket, outcome: &Outcome) -> Result<(), Error> {
        self.may_record.acquire().await.unwrap().forget();
        let told = match outcome {
            Outcome::Answered { content, ok } => format!("{} {content}", if *ok { "ok" } else { "failed" }),
            Outcome::NotSent(why) => format!("not sent: {why}"),
            Outcome::Unknown(why) => format!("unknown: {why}"),
        };
        self.recorded(format!("complete {} {told}", ticket.decision))
    }

    async fn observe(&self, source: &str, content: &str) -> Result<(), Error> {
        self.may_record.acquire().await.unwrap().forget();
        self.recorded(format!("observe {source} {content}"))
    }

    async fn close(&self) {
        self.note("close".to_owned());
    }
}
