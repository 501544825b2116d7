//! Between one host and its upstreams: every message goes through here, one at a time, and what need not change does not.
//!
//! The hub holds no socket and no process: events come in, lines go out. Waiting for the gate happens in tasks beside it.

mod call;
mod life;
mod many;
mod merge;
mod observe;

use crate::Error;
use crate::gate::{Asked, Call, Decision, Gate, Outcome, Ticket};
use crate::wire::{self, Id, Kind, Message};
use life::Up;
use many::Join;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What the hub hears of.
#[derive(Debug)]
pub enum Event {
    /// A line of the host.
    Host(Vec<u8>),
    /// The host has closed its side, or this process is asked to end.
    HostClosed,
    /// An upstream can be written to.
    Up {
        up: usize,
        link: mpsc::UnboundedSender<Message>,
    },
    /// An upstream says this.
    From {
        up: usize,
        line: Vec<u8>,
    },
    /// An upstream has ended, or could not be started.
    Down {
        up: usize,
        why: String,
    },
    /// An upstream has forgotten who we are: it is greeted again.
    Forgot {
        up: usize,
    },
    /// A request that will not be answered; `sent` where the upstream may have taken it.
    Lost {
        up: usize,
        id: Id,
        why: String,
        sent: bool,
    },
    Decided {
        up: usize,
        id: Id,
        call: Call,
        decision: Result<Decision, Error>,
    },
    /// What is still missing of an answer of several upstreams is not waited for.
    Late(u64),
}

/// How the hub ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The host is done.
    Done,
    /// The one upstream never said a word.
    NeverStarted(String),
}

/// How long upstreams are waited for when several answer together.
const TOGETHER: Duration = Duration::from_secs(20);
/// How long running calls are waited for once the host has gone.
const GRACE: Duration = Duration::from_secs(2);

/// The methods that bring the agent something to read: each answer is recorded before it is given.
const OBSERVED: [&str; 8] = [
    "resources/read",
    "prompts/get",
    "tasks/result",
    "tasks/get",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
];

#[expect(missing_debug_implementations, reason = "what it holds is what hosts and servers say")]
pub struct Hub {
    gate: Arc<dyn Gate>,
    events: mpsc::Sender<Event>,
    host: mpsc::UnboundedSender<String>,
    ups: Vec<Up>,
    many: bool,
    /// Requests under way, by the upstream that has them and the id it knows.
    pending: HashMap<(usize, Id), Pending>,
    /// With many upstreams, requests of theirs that the host has: by the id the host knows, whose it is and what it was.
    asked: HashMap<Id, (usize, String)>,
    /// Which upstream gave the host a progress token.
    tokens: HashMap<Id, usize>,
    joins: HashMap<u64, Join>,
    /// Ids of our own, and what is answered to them is not the host's.
    next: u64,
    mine: HashSet<Id>,
    /// The host's `initialize`, of the generation that has it.
    greeting: Option<Greeting>,
    /// Which upstream listed a resource, where there are several.
    owners: HashMap<String, usize>,
    /// Calls that an upstream answered with a question: their decision stands until the answer comes.
    questions: HashMap<String, Vec<Ticket>>,
    recording: JoinSet<()>,
}

/// The host's `initialize`.
struct Greeting {
    /// Its parameters, as sent.
    params: String,
    /// Whether the host leads its person to addresses (URL mode of elicitation).
    leads: bool,
    /// The last `logging/setLevel`.
    level: Option<String>,
}

/// A request under way.
struct Pending {
    /// The host's id, as it wrote it.
    raw: String,
    what: What,
    /// Of the generation without sessions.
    modern: bool,
}

enum What {
    Pass,
    Observe(String),
    Deciding {
        message: Box<Message>,
        cancelled: bool,
    },
    /// `question`: what a question of the upstream would be known by, but for its state.
    Running {
        ticket: Ticket,
        question: String,
    },
    /// The host's own `initialize`, or one of ours for an upstream that started again.
    Greeting,
    Again,
    /// One upstream's part of an answer.
    Part(u64),
    /// Nobody waits for the answer.
    Swallow,
}

impl Hub {
    pub fn new(
        gate: Arc<dyn Gate>,
        names: Vec<String>,
        events: mpsc::Sender<Event>,
        host: mpsc::UnboundedSender<String>,
    ) -> Self {
        Self {
            gate,
            events,
            host,
            many: names.len() > 1,
            ups: names.into_iter().map(Up::new).collect(),
            pending: HashMap::new(),
            asked: HashMap::new(),
            tokens: HashMap::new(),
            joins: HashMap::new(),
            next: 0,
            mine: HashSet::new(),
            greeting: None,
            owners: HashMap::new(),
            questions: HashMap::new(),
            recording: JoinSet::new(),
        }
    }

    /// Until the host is done.
    pub async fn run(mut self, mut events: mpsc::Receiver<Event>) -> End {
        // What the host says first waits until every upstream has started, or has failed to.
        let mut early = Vec::new();
        while self.ups.iter().any(|up| !up.known) {
            match events.recv().await {
                Some(Event::Host(line)) => early.push(line),
                Some(Event::HostClosed) | None => return self.end(&mut events).await,
                Some(event) => {
                    if let Some(end) = self.take(event) {
                        self.gate.close().await;
                        return end;
                    }
                }
            }
        }
        for line in early {
            self.host_said(line);
        }
        loop {
            match events.recv().await {
                Some(Event::HostClosed) | None => return self.end(&mut events).await,
                Some(event) => {
                    if let Some(end) = self.take(event) {
                        self.gate.close().await;
                        return end;
                    }
                }
            }
            // What is recorded by now needs no more thought.
            while self.recording.try_join_next().is_some() {}
        }
    }

    fn take(&mut self, event: Event) -> Option<End> {
        match event {
            Event::Host(line) => self.host_said(line),
            Event::From { up, line } => self.upstream_said(up, line),
            Event::Up { up, link } => self.came_up(up, link),
            Event::Down { up, why } => return self.went_down(up, &why),
            Event::Forgot { up } => self.forgot(up),
            Event::Lost { up, id, why, sent } => self.lost(up, &id, &why, sent),
            Event::Decided { up, id, call, decision } => self.decided(up, &id, &call, decision),
            Event::Late(join) => self.finish(join),
            Event::HostClosed => {}
        }
        None
    }

    /// Running calls get a moment to be answered and recorded; what is not known after it is recorded as that.
    async fn end(mut self, events: &mut mpsc::Receiver<Event>) -> End {
        let until = tokio::time::Instant::now() + GRACE;
        let running = |hub: &Self| {
            hub.pending.values().any(|one| matches!(one.what, What::Running { .. } | What::Deciding { .. }))
        };
        for pending in self.pending.values_mut() {
            if let What::Deciding { cancelled, .. } = &mut pending.what {
                *cancelled = true;
            }
        }
        while running(&self) {
            match tokio::time::timeout_at(until, events.recv()).await {
                Ok(Some(Event::Host(_) | Event::HostClosed | Event::Up { .. })) => {}
                Ok(Some(event)) => drop(self.take(event)),
                Ok(None) | Err(_) => break,
            }
        }
        for up in 0..self.ups.len() {
            self.fail_all(up, "the host has gone", true);
        }
        let unanswered = Outcome::Unknown("what the upstream asked for was not given".to_owned());
        for ticket in std::mem::take(&mut self.questions).into_values().flatten() {
            let _ = self.gate.complete(&ticket, &unanswered).await;
        }
        while self.recording.join_next().await.is_some() {}
        self.gate.close().await;
        End::Done
    }

    fn host_said(&mut self, line: Vec<u8>) {
        let Some(message) = read(line) else {
            let _ = self.host.send(wire::error(
                "null",
                -32700,
                "not a JSON-RPC message, or one that readers disagree on",
            ));
            return;
        };
        match message.kind() {
            Kind::Request(method) => {
                let method = method.to_owned();
                self.host_asks(message, &method);
            }
            Kind::Notification(method) => {
                let method = method.to_owned();
                self.host_tells(message, &method);
            }
            Kind::Response => self.host_answers(message),
        }
    }

    fn host_asks(&mut self, message: Message, method: &str) {
        if method == "initialize" {
            self.greet(&message);
        }
        if let Some(greeting) = self.greeting.as_mut().filter(|_| method == "logging/setLevel") {
            greeting.level = message.params().map(str::to_owned);
        }
        if self.many {
            return self.many_asks(message, method);
        }
        self.ask(0, message, method);
    }

    /// A request of the host for one upstream, in that upstream's own names.
    fn ask(&mut self, up: usize, message: Message, method: &str) {
        let (Some(id), Some(raw)) = (message.id(), message.raw_id().map(str::to_owned)) else { return };
        if self.pending.contains_key(&(up, id.clone())) {
            let _ = self.host.send(wire::error(&raw, -32600, "a request with this id is under way"));
            return;
        }
        let modern = message.revision().is_some();
        if method == "tools/call" {
            return self.call(up, id, raw, message, modern);
        }
        let what = match method {
            "initialize" => What::Greeting,
            _ if OBSERVED.contains(&method) => What::Observe(self.source(up, method, &message)),
            _ => What::Pass,
        };
        self.start(up, id, Pending { raw, what, modern }, message);
    }

    /// Sends a request and remembers it, or refuses it where the upstream is down.
    fn start(&mut self, up: usize, id: Id, pending: Pending, message: Message) {
        let raw = pending.raw.clone();
        match self.send(up, message) {
            Ok(()) => drop(self.pending.insert((up, id), pending)),
            Err(why) => {
                let name = self.name(up);
                self.reply(wire::error(&raw, -32603, &format!("{name} is down: {why}")));
            }
        }
    }

    fn host_tells(&mut self, message: Message, method: &str) {
        match method {
            "notifications/cancelled" => {
                let Some(id) = message.param(&["requestId"]).and_then(|span| message.at(&span).map(Id::of))
                else {
                    return;
                };
                self.cancel(&id, message);
            }
            "notifications/progress" if self.many => {
                let token = message.param(&["progressToken"]).and_then(|span| message.at(&span).map(Id::of));
                match token.and_then(|token| self.tokens.get(&token).copied()) {
                    Some(up) => drop(self.send(up, message)),
                    None => self.tell_all(&message),
                }
            }
            _ => self.tell_all(&message),
        }
    }

    fn tell_all(&mut self, message: &Message) {
        for up in 0..self.ups.len() {
            let _ = self.send(up, message.clone());
        }
    }

    fn cancel(&mut self, id: &Id, message: Message) {
        let ups: Vec<usize> =
            self.pending.keys().filter(|(_, known)| known == id).map(|(up, _)| *up).collect();
        for up in ups {
            match self.pending.get_mut(&(up, id.clone())).map(|pending| &mut pending.what) {
                Some(What::Deciding { cancelled, .. }) => *cancelled = true,
                _ => drop(self.send(up, message.clone())),
            }
        }
    }

    fn host_answers(&mut self, message: Message) {
        let Some(id) = message.id() else { return };
        if self.mine.remove(&id) {
            return;
        }
        if !self.many {
            let _ = self.send(0, message);
            return;
        }
        let Some((up, raw)) = self.asked.remove(&id) else { return };
        if let Some(message) = Message::read(message.with_id(&raw)) {
            let _ = self.send(up, message);
        }
    }

    fn upstream_said(&mut self, up: usize, line: Vec<u8>) {
        let Some(message) = String::from_utf8(line).ok().and_then(Message::read) else {
            crate::warn(&format!("{} wrote a line that is no JSON-RPC message", self.name(up)));
            return;
        };
        if let Some(up) = self.ups.get_mut(up) {
            up.spoke = true;
        }
        match message.kind() {
            Kind::Response => self.upstream_answers(up, message),
            Kind::Request(_) | Kind::Notification(_) if self.many => self.many_told(up, message),
            Kind::Request(_) | Kind::Notification(_) => self.reply(message.into_text()),
        }
    }

    fn upstream_answers(&mut self, up: usize, message: Message) {
        let known = message.id().and_then(|id| self.pending.remove(&(up, id)));
        let Some(pending) = known else {
            // An answer to nothing that is known: a single upstream's is the host's to judge.
            if !self.many && message.id().is_none() {
                self.reply(message.into_text());
            }
            return;
        };
        match pending.what {
            What::Pass => self.reply(message.into_text()),
            What::Observe(source) => self.observed(source, &pending.raw, message),
            What::Running { ticket, question } => {
                self.answered(up, &ticket, question, &pending.raw, pending.modern, message);
            }
            What::Greeting => {
                self.learn(up, &message);
                self.reply(message.into_text());
            }
            What::Again => self.greeted_again(up, &message),
            What::Part(join) => self.part(join, up, Some(message)),
            What::Swallow | What::Deciding { .. } => {}
        }
    }

    fn reply(&self, line: String) {
        // Where the host has gone, nobody is left to tell.
        let _ = self.host.send(line);
    }

    /// A fresh id of our own, as it is written.
    fn own_id(&mut self) -> String {
        self.next = self.next.saturating_add(1);
        format!("\"countersign:{}\"", self.next)
    }

    fn name(&self, up: usize) -> String {
        self.ups.get(up).map(|up| up.name.clone()).unwrap_or_default()
    }
}

/// A line of the host. Refused besides what is no message: members that some readers take for another (`Method`).
fn read(line: Vec<u8>) -> Option<Message> {
    const KNOWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let message = String::from_utf8(line).ok().and_then(Message::read)?;
    let names = wire::members(message.text(), 0..message.text().len())?;
    let doubtful =
        |name: &str| !KNOWN.contains(&name) && KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
    (!names.iter().any(|(name, _)| doubtful(name))).then_some(message)
}
