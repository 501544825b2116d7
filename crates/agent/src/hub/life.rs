//! Upstreams come and go: what is told of it, and how one that started again is made what it was.

use super::{End, Event, Greeting, Hub, Pending, What};
use crate::gate::Outcome;
use crate::wire::{self, Answer, Id, Message};
use std::collections::BTreeSet;
use tokio::sync::mpsc;

/// One upstream.
pub(super) struct Up {
    pub name: String,
    /// Whether it has started, or has failed to, at least once.
    pub known: bool,
    /// Whether it ever said a word.
    pub spoke: bool,
    /// Whether it may be sent what the host says.
    pub ready: bool,
    link: Option<mpsc::UnboundedSender<Message>>,
    /// What waits until it is ready.
    queue: Vec<Message>,
    why: String,
    /// Its capabilities, JSON.
    pub capabilities: String,
    /// What the host listens to.
    pub subscribed: BTreeSet<String>,
    greeted: bool,
}

impl Up {
    pub fn new(name: String) -> Self {
        Self {
            name,
            known: false,
            spoke: false,
            ready: false,
            link: None,
            queue: Vec::new(),
            why: "not started".to_owned(),
            capabilities: "{}".to_owned(),
            subscribed: BTreeSet::new(),
            greeted: false,
        }
    }

    pub const fn is_up(&self) -> bool {
        self.link.is_some()
    }

    /// Whether it says it has this capability.
    pub fn has(&self, path: &[&str]) -> bool {
        wire::find(&self.capabilities, 0..self.capabilities.len(), path).is_some()
    }
}

impl Hub {
    /// Sends to an upstream, or keeps it until the upstream is ready. Fails, saying why, where it is down.
    pub(super) fn send(&mut self, up: usize, message: Message) -> Result<(), String> {
        let Some(up) = self.ups.get_mut(up) else { return Err("there is no such upstream".to_owned()) };
        match &up.link {
            Some(link) if up.ready => link.send(message).map_err(|_| "it has just ended".to_owned()),
            Some(_) => {
                up.queue.push(message);
                Ok(())
            }
            None => Err(up.why.clone()),
        }
    }

    /// Past the queue.
    pub(super) fn send_now(&mut self, up: usize, message: String) {
        let link = self.ups.get(up).and_then(|up| up.link.as_ref());
        if let (Some(link), Some(message)) = (link, Message::read(message)) {
            let _ = link.send(message);
        }
    }

    pub(super) fn came_up(&mut self, at: usize, link: mpsc::UnboundedSender<Message>) {
        let many = self.many;
        let Some(up) = self.ups.get_mut(at) else { return };
        let again = up.known;
        up.known = true;
        up.link = Some(link);
        // Where there is one, the host's own greeting goes to it first; there are several, each is greeted by us.
        up.ready = !(many || again && self.greeting.is_some());
        if self.greeting.is_some() {
            self.greet_again(at);
        } else if many {
            self.set_ready(at, true);
        }
    }

    pub(super) fn went_down(&mut self, at: usize, why: &str) -> Option<End> {
        let many = self.many;
        let up = self.ups.get_mut(at)?;
        up.known = true;
        up.ready = false;
        up.link = None;
        up.why = why.to_owned();
        up.queue.clear();
        let spoke = up.spoke;
        crate::warn(&format!("{} is down: {why}", up.name));
        self.fail_all(at, why, true);
        (!many && !spoke).then(|| End::NeverStarted(why.to_owned()))
    }

    pub(super) fn forgot(&mut self, at: usize) {
        let ready = self.ups.get(at).is_some_and(|up| up.ready);
        if ready && self.greeting.is_some() {
            self.set_ready(at, false);
            self.greet_again(at);
        }
    }

    /// Greets an upstream that started again, as the host greeted it first.
    fn greet_again(&mut self, up: usize) {
        let Some(params) = self.greeting.as_ref().map(|greeting| greeting.params.clone()) else { return };
        let raw = self.own_id();
        self.pending
            .insert((up, Id::of(&raw)), Pending { raw: raw.clone(), what: What::Again, modern: false });
        self.send_now(up, wire::call(Some(&raw), "initialize", &params));
    }

    pub(super) fn greeted_again(&mut self, up: usize, message: &Message) {
        if !matches!(message.answer(), Some((Answer::Result, _))) {
            return drop(self.went_down(up, "it refused to be initialized again"));
        }
        self.learn(up, message);
        self.send_now(up, wire::call(None, "notifications/initialized", "{}"));
        if let Some(level) = self.greeting.as_ref().and_then(|greeting| greeting.level.clone()) {
            self.repeat(up, "logging", "logging/setLevel", &level);
        }
        let subscribed = self.ups.get(up).map(|up| up.subscribed.clone()).unwrap_or_default();
        for uri in subscribed {
            self.repeat(
                up,
                "resources",
                "resources/subscribe",
                &format!("{{\"uri\":{}}}", wire::quoted(&uri)),
            );
        }
        self.set_ready(up, true);
        for (kind, method) in [
            ("tools", "notifications/tools/list_changed"),
            ("resources", "notifications/resources/list_changed"),
            ("prompts", "notifications/prompts/list_changed"),
        ] {
            if self.ups.get(up).is_some_and(|up| up.has(&[kind, "listChanged"])) {
                self.reply(wire::call(None, method, "{}"));
            }
        }
    }

    fn repeat(&mut self, up: usize, capability: &str, method: &str, params: &str) {
        if self.ups.get(up).is_some_and(|up| up.has(&[capability])) {
            let raw = self.own_id();
            let pending = Pending { raw: raw.clone(), what: What::Swallow, modern: false };
            self.pending.insert((up, Id::of(&raw)), pending);
            self.send_now(up, wire::call(Some(&raw), method, params));
        }
    }

    pub(super) fn set_ready(&mut self, up: usize, ready: bool) {
        let Some(up) = self.ups.get_mut(up) else { return };
        up.ready = ready;
        if let (true, Some(link)) = (ready, &up.link) {
            for message in up.queue.drain(..) {
                let _ = link.send(message);
            }
        }
    }

    /// The host's `initialize`.
    pub(super) fn greet(&mut self, message: &Message) {
        let leads = message.param(&["capabilities", "elicitation", "url"]).is_some();
        let params = message.params().unwrap_or("{}").to_owned();
        self.greeting = Some(Greeting { params, leads, level: None });
    }

    /// What an upstream says it can do.
    pub(super) fn learn(&mut self, at: usize, message: &Message) {
        let capabilities =
            message.result().and_then(|result| wire::find(message.text(), result, &["capabilities"]));
        let capabilities = capabilities.and_then(|span| message.at(&span)).unwrap_or("{}").to_owned();
        if let Some(up) = self.ups.get_mut(at) {
            up.capabilities = capabilities;
            up.greeted = true;
        }
    }

    /// Whether the upstream has told what it can do.
    pub(super) fn greeted(&self, up: usize) -> bool {
        self.ups.get(up).is_some_and(|up| up.greeted)
    }

    /// Answers every request that an upstream will not answer. No call is sent again: what came of it is not known.
    pub(super) fn fail_all(&mut self, up: usize, why: &str, sent: bool) {
        let ids: Vec<Id> =
            self.pending.keys().filter(|(at, _)| *at == up).map(|(_, id)| id.clone()).collect();
        for id in ids {
            self.lost(up, &id, why, sent);
        }
    }

    pub(super) fn lost(&mut self, up: usize, id: &Id, why: &str, sent: bool) {
        // A call that is being decided is not sent yet: it is judged when it is decided.
        if matches!(self.pending.get(&(up, id.clone())), Some(Pending { what: What::Deciding { .. }, .. })) {
            return;
        }
        let Some(pending) = self.pending.remove(&(up, id.clone())) else { return };
        let name = self.name(up);
        match pending.what {
            What::Running { ticket, .. } => {
                let outcome = if sent {
                    Outcome::Unknown(format!("{name} did not answer: {why}"))
                } else {
                    Outcome::NotSent(format!("{name} was not reached: {why}"))
                };
                self.record_lost(&ticket, outcome, &pending.raw, pending.modern);
            }
            What::Part(join) => self.part(join, up, None),
            What::Again => drop(self.went_down(up, "it was not initialized again")),
            What::Pass | What::Observe(_) | What::Greeting => {
                self.reply(wire::error(&pending.raw, -32603, &format!("{name} did not answer: {why}")));
            }
            What::Swallow | What::Deciding { .. } => {}
        }
    }

    /// Wakes the hub for an answer of several upstreams, whatever is missing of it then.
    pub(super) fn wake_late(&self, join: u64) {
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(super::TOGETHER).await;
            let _ = events.send(Event::Late(join)).await;
        });
    }
}
