//! Several upstreams as one server: `up__tool` and `up__prompt`, `up+uri` for resources, answers put together.

use super::{Hub, Pending, What, merge};
use crate::wire::{self, Answer, Id, Message};

/// An answer that several upstreams give together.
pub(super) struct Join {
    pub raw: String,
    pub modern: bool,
    pub kind: Together,
    /// How many have not answered yet.
    left: usize,
    /// Who has, and what: the result, JSON; nothing from those that refused or were lost.
    pub parts: Vec<(usize, Option<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// `initialize` or `server/discover`.
    Greeting,
    List(List),
    /// An answer without content.
    Empty,
}

/// A list that upstreams give by pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    pub method: &'static str,
    pub capability: &'static str,
    /// The array in the result.
    pub member: &'static str,
    /// The member of each element that is told apart by upstream.
    pub name: &'static str,
    pub by: By,
}

/// How a name says whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// `up__name`
    Name,
    /// `up+scheme://…`
    Uri,
}

const LISTS: [List; 4] = [
    List { method: "tools/list", capability: "tools", member: "tools", name: "name", by: By::Name },
    List { method: "prompts/list", capability: "prompts", member: "prompts", name: "name", by: By::Name },
    List { method: "resources/list", capability: "resources", member: "resources", name: "uri", by: By::Uri },
    List {
        method: "resources/templates/list",
        capability: "resources",
        member: "resourceTemplates",
        name: "uriTemplate",
        by: By::Uri,
    },
];

impl By {
    pub(super) fn prefixed(self, up: &str, name: &str) -> String {
        match self {
            Self::Name => format!("{up}__{name}"),
            Self::Uri => format!("{up}+{name}"),
        }
    }

    fn split(self, name: &str) -> Option<(&str, &str)> {
        match self {
            Self::Name => name.split_once("__"),
            Self::Uri => name.split_once('+'),
        }
    }
}

impl Hub {
    pub(super) fn many_asks(&mut self, message: Message, method: &str) {
        let Some(raw) = message.raw_id().map(str::to_owned) else { return };
        let modern = message.revision().is_some();
        if let Some(list) = LISTS.into_iter().find(|list| list.method == method) {
            return self.list(&message, raw, modern, list);
        }
        match method {
            "initialize" => {
                let all = (0..self.ups.len()).collect();
                self.together(&message, raw, modern, Together::Greeting, all);
            }
            "server/discover" => {
                let all = (0..self.ups.len()).collect();
                self.together(&message, raw, modern, Together::Greeting, all);
            }
            "ping" => self.reply(wire::result(&raw, "{}")),
            "logging/setLevel" => {
                let able = self.able("logging");
                self.together(&message, raw, modern, Together::Empty, able);
            }
            "subscriptions/listen" => self.listen(&message, raw, modern),
            _ => self.ask_one(message, &raw, method),
        }
    }

    /// The upstreams that say they have a capability, or never said what they have.
    fn able(&self, capability: &str) -> Vec<usize> {
        let able =
            |at: &usize| !self.greeted(*at) || self.ups.get(*at).is_some_and(|up| up.has(&[capability]));
        (0..self.ups.len()).filter(able).collect()
    }

    /// A request that names whose it is.
    fn ask_one(&mut self, message: Message, raw: &str, method: &str) {
        let (path, by): (&[&str], By) = match method {
            "tools/call" | "prompts/get" => (&["name"], By::Name),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => (&["uri"], By::Uri),
            "completion/complete" if message.param(&["ref", "uri"]).is_some() => (&["ref", "uri"], By::Uri),
            "completion/complete" => (&["ref", "name"], By::Name),
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => (&["taskId"], By::Name),
            _ => {
                return self.reply(wire::error(
                    raw,
                    -32601,
                    &format!("{method:?} is not passed on to several servers"),
                ));
            }
        };
        let named =
            message.param(path).and_then(|span| Some((span.clone(), wire::text_at(message.text(), &span)?)));
        let Some((span, name)) = named else {
            return self.reply(wire::error(raw, -32602, &format!("{} is missing", path.join("."))));
        };
        let Some((up, own)) = self.whose(by, &name) else {
            return self.reply(wire::error(raw, -32602, &format!("none of the servers has {name:?}")));
        };
        let text = wire::splice(message.text(), vec![(span, wire::quoted(&own))]);
        let Some(message) = Message::read(text) else { return };
        match (method, self.ups.get_mut(up)) {
            ("resources/subscribe", Some(up)) => drop(up.subscribed.insert(own)),
            ("resources/unsubscribe", Some(up)) => drop(up.subscribed.remove(&own)),
            _ => {}
        }
        self.ask(up, message, method);
    }

    /// Whose a name is, and what that upstream calls it. A resource may also be named as its upstream names it: a link in
    /// an answer is passed on as it came.
    fn whose(&self, by: By, name: &str) -> Option<(usize, String)> {
        let prefixed = by.split(name).and_then(|(up, own)| {
            let at = self.ups.iter().position(|known| known.name == up)?;
            Some((at, own.to_owned()))
        });
        prefixed.or_else(|| {
            let owner = self.owners.get(name).copied();
            let able = self.able("resources");
            let only = able.first().copied().filter(|_| able.len() == 1);
            owner.or(only).filter(|_| by == By::Uri).map(|up| (up, name.to_owned()))
        })
    }

    fn list(&mut self, message: &Message, raw: String, modern: bool, list: List) {
        let cursor = message.param_text(&["cursor"]);
        let pages = match cursor.as_deref().map(merge::pages) {
            None => self.able(list.capability).into_iter().map(|up| (self.name(up), None)).collect(),
            Some(Some(pages)) => pages.into_iter().map(|(up, cursor)| (up, Some(cursor))).collect::<Vec<_>>(),
            Some(None) => {
                return self.reply(wire::error(&raw, -32602, "the cursor is not one of this server"));
            }
        };
        let join = self.join(raw, modern, Together::List(list));
        for (name, cursor) in pages {
            let Some(up) = self.ups.iter().position(|up| up.name == name && up.is_up()) else { continue };
            let text = match (message.param(&["cursor"]), cursor) {
                (Some(span), Some(cursor)) => {
                    wire::splice(message.text(), vec![(span, wire::quoted(&cursor))])
                }
                _ => message.text().to_owned(),
            };
            self.ask_part(join, up, text, modern);
        }
        self.finish_if_whole(join);
    }

    /// Asks several upstreams the same.
    fn together(&mut self, message: &Message, raw: String, modern: bool, kind: Together, ups: Vec<usize>) {
        let join = self.join(raw, modern, kind);
        for up in ups {
            if self.ups.get(up).is_some_and(super::Up::is_up) {
                self.ask_part(join, up, message.text().to_owned(), modern);
            }
        }
        self.finish_if_whole(join);
    }

    /// A subscription of the generation without sessions: each upstream gets the whole filter, with its own resources.
    fn listen(&mut self, message: &Message, raw: String, modern: bool) {
        let Some(id) = message.id() else { return };
        let wanted = message.param(&["notifications", "resourceSubscriptions"]);
        let uris: Vec<String> = wanted
            .clone()
            .and_then(|span| wire::elements(message.text(), span))
            .unwrap_or_default()
            .iter()
            .filter_map(|span| wire::text_at(message.text(), span))
            .collect();
        for up in 0..self.ups.len() {
            let own: Vec<String> = uris
                .iter()
                .filter_map(|uri| self.whose(By::Uri, uri))
                .filter(|(at, _)| *at == up)
                .map(|(_, own)| wire::quoted(&own))
                .collect();
            let edits =
                wanted.clone().map(|span| (span, format!("[{}]", own.join(",")))).into_iter().collect();
            let text = wire::splice(message.text(), edits);
            let pending = Pending { raw: raw.clone(), what: What::Swallow, modern };
            if let Some(message) =
                Message::read(text).filter(|_| self.ups.get(up).is_some_and(super::Up::is_up))
            {
                self.pending.insert((up, id.clone()), pending);
                let _ = self.send(up, message);
            }
        }
    }

    fn join(&mut self, raw: String, modern: bool, kind: Together) -> u64 {
        self.next = self.next.saturating_add(1);
        let join = Join { raw, modern, kind, left: 0, parts: Vec::new() };
        self.joins.insert(self.next, join);
        self.wake_late(self.next);
        self.next
    }

    fn ask_part(&mut self, join: u64, up: usize, text: String, modern: bool) {
        let raw = self.own_id();
        let Some(text) = Message::read(text).map(|message| message.with_id(&raw)) else { return };
        self.pending.insert((up, Id::of(&raw)), Pending { raw, what: What::Part(join), modern });
        if let Some(join) = self.joins.get_mut(&join) {
            join.left = join.left.saturating_add(1);
        }
        self.send_now(up, text);
    }

    pub(super) fn part(&mut self, at: u64, up: usize, answer: Option<Message>) {
        let greeting = self.joins.get(&at).is_some_and(|join| join.kind == Together::Greeting);
        let good = answer.filter(|message| matches!(message.answer(), Some((Answer::Result, _))));
        if let (true, Some(message)) = (greeting, &good) {
            self.learn(up, message);
            self.set_ready(up, true);
        }
        let result = good.and_then(|message| message.answer().map(|(_, text)| text.to_owned()));
        if let Some(join) = self.joins.get_mut(&at) {
            join.left = join.left.saturating_sub(1);
            join.parts.push((up, result));
        }
        self.finish_if_whole(at);
    }

    fn finish_if_whole(&mut self, at: u64) {
        if self.joins.get(&at).is_some_and(|join| join.left == 0) {
            self.finish(at);
        }
    }

    /// Answers with what is there.
    pub(super) fn finish(&mut self, at: u64) {
        let Some(mut join) = self.joins.remove(&at) else { return };
        join.parts.sort_by_key(|(up, _)| *up);
        let parts: Vec<(usize, String)> =
            join.parts.into_iter().filter_map(|(up, result)| Some((up, result?))).collect();
        let named: Vec<(String, &str)> =
            parts.iter().map(|(up, text)| (self.name(*up), text.as_str())).collect();
        match join.kind {
            Together::Empty => {
                let kind = if join.modern { "{\"resultType\":\"complete\"}" } else { "{}" };
                self.reply(wire::result(&join.raw, kind));
            }
            Together::Greeting if named.is_empty() => {
                self.reply(wire::error(&join.raw, -32601, "none of the servers answers this"));
            }
            Together::Greeting => {
                let asked =
                    self.greeting.as_ref().filter(|_| !join.modern).map(|greeting| greeting.params.as_str());
                self.reply(wire::result(&join.raw, &merge::greeting(&named, asked)));
            }
            Together::List(list) => {
                let merged = merge::list(&named, list, join.modern);
                for (name, uri) in merged.names {
                    if let Some(up) =
                        self.ups.iter().position(|up| up.name == name).filter(|_| list.by == By::Uri)
                    {
                        self.owners.insert(uri, up);
                    }
                }
                let answer = wire::result(&join.raw, &merged.result);
                let Some(answer) = Message::read(answer) else { return };
                self.observed(format!("mcp:*/{}", list.method), &join.raw, answer);
            }
        }
    }

    /// What an upstream asks or tells of its own accord.
    pub(super) fn many_told(&mut self, up: usize, message: Message) {
        let token = message.param(&["_meta", "progressToken"]).and_then(|span| message.at(&span).map(Id::of));
        if let Some(raw) = message.raw_id().map(str::to_owned) {
            if let Some(token) = token {
                self.tokens.insert(token, up);
            }
            let own = self.own_id();
            self.asked.insert(Id::of(&own), (up, raw));
            return self.reply(message.with_id(&own));
        }
        let edit = match message.kind() {
            wire::Kind::Notification("notifications/cancelled") => {
                message.param(&["requestId"]).and_then(|span| {
                    let raw = message.at(&span)?;
                    let known = self.asked.iter().find(|(_, (at, own))| *at == up && own == raw)?;
                    Some((span, known.0.as_raw()))
                })
            }
            wire::Kind::Notification("notifications/resources/updated") => {
                let uri = message.param_text(&["uri"]);
                uri.and_then(|uri| {
                    Some((message.param(&["uri"])?, wire::quoted(&By::Uri.prefixed(&self.name(up), &uri))))
                })
            }
            _ => None,
        };
        self.reply(wire::splice(message.text(), edit.into_iter().collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is() {
        for (by, name, expected) in [
            (By::Name, "files__read", Some(("files", "read"))),
            (By::Name, "files__a__b", Some(("files", "a__b"))),
            (By::Name, "read", None),
            (By::Uri, "files+file:///a", Some(("files", "file:///a"))),
            (By::Uri, "file:///a", None),
        ] {
            assert_eq!(by.split(name), expected, "{name}");
            if let Some((up, own)) = expected {
                assert_eq!(by.prefixed(up, own), name);
            }
        }
    }
}
