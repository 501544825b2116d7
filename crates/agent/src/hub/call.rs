//! A tool call: decided, sent once, recorded, answered.

use super::{Asked, Call, Decision, Event, Hub, Pending, What, observe};
use crate::Error;
use crate::gate::{Denial, Outcome, Ticket};
use crate::wire::{self, Answer, Id, Message};
use ledger::Coded;
use std::sync::Arc;

/// What an agent reads of a call that did not simply run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub decision: &'static str,
    pub code: String,
    pub text: String,
    /// Further members of `_meta`, JSON without the braces.
    pub more: String,
}

impl Hub {
    /// A call in its upstream's own names. Nothing of it is sent before it is decided.
    pub(super) fn call(&mut self, up: usize, id: Id, raw: String, message: Message, modern: bool) {
        let call = match self.read_call(up, &message) {
            Ok(call) => call,
            Err(notice) => return self.tell(&raw, modern, &notice),
        };
        if let Some(why) = self.ups.get(up).filter(|up| !up.is_up()).map(|up| up.name.clone()) {
            let text = format!("{why} is down and is being started again. The call was not sent.");
            return self.tell(&raw, modern, &Notice::new("deny", "upstream_down", text));
        }
        // The answer to a question of the upstream belongs to the decision under which the question was asked.
        let answers = call.state.is_some() || message.param(&["inputResponses"]).is_some();
        let asked_before = if answers { self.question_of(&call) } else { None };
        let what = What::Deciding { message: Box::new(message), cancelled: false };
        self.pending.insert((up, id.clone()), Pending { raw, what, modern });
        let (gate, events) = (Arc::clone(&self.gate), self.events.clone());
        self.recording.spawn(async move {
            let decision = match asked_before {
                Some(ticket) => Ok(Decision::Allow(ticket)),
                None => gate.decide(&call).await,
            };
            let _ = events.send(Event::Decided { up, id, call, decision }).await;
        });
    }

    /// The decision under which this call was asked something.
    fn question_of(&mut self, call: &Call) -> Option<Ticket> {
        let known = question(call, call.state.as_deref().unwrap_or_default());
        let tickets = self.questions.get_mut(&known)?;
        let ticket = tickets.pop();
        if tickets.is_empty() {
            self.questions.remove(&known);
        }
        ticket
    }

    /// Reads a call strictly: what the upstream could read otherwise is not sent.
    fn read_call(&self, up: usize, message: &Message) -> Result<Call, Notice> {
        let refused =
            |why: String| Notice::new("deny", "TK-ARGS-INVALID", format!("The call was not sent: {why}"));
        canon::parse(message.text().as_bytes()).map_err(|error| refused(error.to_string()))?;
        let names = message.params().and_then(|params| wire::members(params, 0..params.len()));
        let names = names.ok_or_else(|| refused("it has no parameters".to_owned()))?;
        let doubtful = |name: &str| {
            ["name", "arguments"].iter().any(|known| *known != name && known.eq_ignore_ascii_case(name))
        };
        if let Some((name, _)) = names.iter().find(|(name, _)| doubtful(name)) {
            return Err(refused(format!("readers disagree on the parameter {name:?}")));
        }
        let tool = message.param_text(&["name"]).ok_or_else(|| refused("it names no tool".to_owned()))?;
        let arguments = message.param(&["arguments"]).and_then(|span| message.at(&span)).unwrap_or("{}");
        Ok(Call {
            tool: format!("mcp:{}/{tool}", self.name(up)),
            arguments: arguments.to_owned(),
            state: message.param_text(&["requestState"]),
        })
    }

    pub(super) fn decided(&mut self, up: usize, id: &Id, call: &Call, decision: Result<Decision, Error>) {
        let Some(pending) = self.pending.remove(&(up, id.clone())) else { return };
        let What::Deciding { message, cancelled } = pending.what else { return };
        let (raw, modern) = (pending.raw, pending.modern);
        match decision {
            Ok(Decision::Allow(ticket)) if cancelled => {
                let outcome = Outcome::NotSent("cancelled by the host before it was sent".to_owned());
                self.record_lost(&ticket, outcome, &raw, modern);
            }
            Ok(Decision::Allow(ticket)) => {
                let sent = self.send(up, for_upstream(*message, call, &ticket));
                if let Err(why) = sent {
                    let outcome = Outcome::NotSent(format!("{} is down: {why}", self.name(up)));
                    return self.record_lost(&ticket, outcome, &raw, modern);
                }
                let what = What::Running { ticket, question: question(call, "") };
                self.pending.insert((up, id.clone()), Pending { raw, what, modern });
            }
            Ok(Decision::Deny(denial)) => self.tell(&raw, modern, &Notice::denied(&denial)),
            Ok(Decision::Ask(asked)) => self.park(&raw, modern, &message, &asked),
            Err(error) => {
                let text = format!("The call was not sent: {error}.");
                self.tell(&raw, modern, &Notice::new("deny", error.code(), text));
            }
        }
    }

    /// The call waits for a person, and nobody waits for it: it is answered with where the person is asked.
    fn park(&mut self, raw: &str, modern: bool, message: &Message, asked: &Asked) {
        let seen = message.param_text(&["requestState"]).is_some_and(|state| state == asked.approval);
        let can_lead = message
            .param(&["_meta", "io.modelcontextprotocol/clientCapabilities", "elicitation", "url"])
            .is_some();
        if let (true, true, false, Some(url)) = (modern, can_lead, seen, &asked.url) {
            let params = elicitation(asked, url);
            let result = format!(
                "{{\"resultType\":\"input_required\",\"inputRequests\":{{{0}:{{\"method\":\"elicitation/create\",\"params\":{params}}}}},\"requestState\":{0}}}",
                wire::quoted(&asked.approval)
            );
            return self.reply(wire::result(raw, &result));
        }
        let leads = self.greeting.as_ref().is_some_and(|greeting| greeting.leads);
        if let (false, true, Some(url)) = (modern, leads, &asked.url) {
            let id = self.own_id();
            self.mine.insert(Id::of(&id));
            self.reply(wire::call(Some(&id), "elicitation/create", &elicitation(asked, url)));
        }
        self.tell(raw, modern, &Notice::asked(asked));
    }

    /// An upstream's answer to a call: recorded, then given as it came.
    pub(super) fn answered(
        &mut self,
        up: usize,
        ticket: &Ticket,
        question: String,
        raw: &str,
        modern: bool,
        message: Message,
    ) {
        let (kind, text) = message.answer().unwrap_or((Answer::Error, "null"));
        let result = message.result();
        let member = |name: &str| {
            let span = wire::find(message.text(), result.clone()?, &[name])?;
            message.at(&span).map(str::to_owned)
        };
        if member("resultType").as_deref() == Some("\"input_required\"") {
            let state = member("requestState").and_then(|raw| serde_json::from_str(&raw).ok());
            let known = question + &state.unwrap_or_else(String::new);
            self.questions.entry(known).or_default().push(ticket.clone());
            return self.observed(format!("{}: question", self.name(up)), raw, message);
        }
        let ok = kind == Answer::Result && member("isError").as_deref() != Some("true");
        let content = match kind {
            Answer::Result => observe::content("result", text),
            Answer::Error => observe::content("error", text),
        };
        let outcome = Outcome::Answered { content, ok };
        let (gate, host, ticket, raw) =
            (Arc::clone(&self.gate), self.host.clone(), ticket.clone(), raw.to_owned());
        self.recording.spawn(async move {
            let line = match gate.complete(&ticket, &outcome).await {
                Ok(()) => message.into_text(),
                Err(error) => Notice::unrecorded(&error).line(&raw, modern),
            };
            let _ = host.send(line);
        });
    }

    /// Records that a call has no answer, and says so.
    pub(super) fn record_lost(&mut self, ticket: &Ticket, outcome: Outcome, raw: &str, modern: bool) {
        let (gate, host, ticket, raw) =
            (Arc::clone(&self.gate), self.host.clone(), ticket.clone(), raw.to_owned());
        self.recording.spawn(async move {
            let line = match gate.complete(&ticket, &outcome).await {
                Ok(()) => Notice::lost(&outcome).line(&raw, modern),
                Err(error) => Notice::unrecorded(&error).line(&raw, modern),
            };
            let _ = host.send(line);
        });
    }

    pub(super) fn tell(&self, raw: &str, modern: bool, notice: &Notice) {
        self.reply(notice.line(raw, modern));
    }
}

/// The call as the upstream gets it: as the host sent it, but for what answers a question of ours.
fn for_upstream(message: Message, call: &Call, ticket: &Ticket) -> Message {
    if call.state.as_ref().is_some_and(|state| ticket.approval.as_ref() == Some(state)) {
        let own = message.without(&["requestState", "inputResponses"]);
        return Message::read(own).unwrap_or(message);
    }
    message
}

/// What a question is known by: the call, and the state that the upstream gave.
fn question(call: &Call, state: &str) -> String {
    format!("{}\n{}\n{state}", call.tool, call.arguments)
}

fn elicitation(asked: &Asked, url: &str) -> String {
    format!(
        "{{\"mode\":\"url\",\"message\":{},\"url\":{},\"elicitationId\":{}}}",
        wire::quoted("A call of your agent waits for you: on this page you see it whole, and answer."),
        wire::quoted(url),
        wire::quoted(&asked.approval)
    )
}

impl Notice {
    pub(super) fn new(decision: &'static str, code: impl Into<String>, text: impl Into<String>) -> Self {
        Self { decision, code: code.into(), text: text.into(), more: String::new() }
    }

    fn denied(denial: &Denial) -> Self {
        let more = denial.decision.as_ref().map(|id| format!(",\"decision_id\":{}", wire::quoted(id)));
        Self {
            more: more.unwrap_or_default(),
            ..Self::new(
                "deny",
                denial.code.clone(),
                format!("Not allowed ({}): {}", denial.code, denial.text),
            )
        }
    }

    fn asked(asked: &Asked) -> Self {
        let who = asked.who.as_deref().unwrap_or("A person");
        let place = asked.url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
        let seconds = asked.retry_after.div_ceil(1000);
        let text = format!(
            "This call has not run: it waits for an answer. {who} was asked{place}. Call again with the same arguments in \
             {seconds} seconds or later; once it is approved, that call runs, once."
        );
        let mut more = format!(
            ",\"approval_id\":{},\"decision_id\":{},\"retry_after_ms\":{}",
            wire::quoted(&asked.approval),
            wire::quoted(&asked.decision),
            asked.retry_after
        );
        for (name, value) in [("url", &asked.url), ("expires_at", &asked.expires_at), ("asked", &asked.who)] {
            if let Some(value) = value {
                more.push_str(&format!(",\"{name}\":{}", wire::quoted(value)));
            }
        }
        Self { more, ..Self::new("ask", "approval_pending", text) }
    }

    fn lost(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::NotSent(why) => Self::new("deny", "not_sent", format!("The call was not sent: {why}.")),
            Outcome::Unknown(why) => Self::new(
                "unknown",
                "unknown",
                format!(
                    "The call was sent and its outcome is unknown: {why}. It is not sent again by itself; look at what it \
                     may have done before you call again."
                ),
            ),
            Outcome::Answered { .. } => Self::new("allow", "answered", ""),
        }
    }

    /// The call ran, and there is no record of what came of it: its answer is not given (D42).
    fn unrecorded(error: &Error) -> Self {
        let text = format!(
            "The call was sent, but what came of it could not be recorded ({error}), so it is not given. Its outcome is \
             unknown; look at what it may have done before you call again."
        );
        Self::new("unknown", "not_recorded", text)
    }

    /// As the result of the call: one that failed, whose `_meta` says why.
    pub(super) fn line(&self, raw: &str, modern: bool) -> String {
        let kind = if modern { "\"resultType\":\"complete\"," } else { "" };
        let result = format!(
            "{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true,\"_meta\":{{\"countersign/decision\":{{\"decision\":\"{}\",\"code\":{}{}}}}}}}",
            wire::quoted(&self.text),
            self.decision,
            wire::quoted(&self.code),
            self.more
        );
        wire::result(raw, &result)
    }
}
