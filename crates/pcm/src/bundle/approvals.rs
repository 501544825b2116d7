//! The approvals of a bundle's runs, in the order of their records: bound to one call, in time, used once (spec 3.9).

use super::{MOST, Problem, Report};
use crate::approval::Story;
use crate::{Error, Event};
use canon::Value;
use std::collections::HashMap;

type Name = (String, String, String);

#[derive(Debug, Default)]
pub(crate) struct Approvals {
    stories: HashMap<Name, Story>,
    /// What an agent's answer is judged by: the request's part, the decision asked about, whether people must answer now.
    asked: HashMap<Name, Asked>,
    decisions: HashMap<Name, bool>,
    owners: HashMap<(String, String), String>,
    constrained: HashMap<(String, String), usize>,
    people: usize,
    agents: usize,
    held: usize,
    problems: Vec<Problem>,
    by_agents: Vec<Problem>,
    early: Vec<Problem>,
}

#[derive(Debug, Default)]
struct Asked {
    decision: String,
    requester: String,
    eligible: bool,
    passkey: bool,
    to_people: bool,
}

impl Approvals {
    /// Whether the record is one of these: kept as text until its turn.
    pub(crate) fn concern(event: &Event<'_>) -> bool {
        match event.kind() {
            "approval" | "constraint.added" | "run.registered" => true,
            "policy.decision" => event.data_text("decision") == Some("ask") || constrained(event),
            kind => kind.starts_with("approval."),
        }
    }

    pub(crate) fn next(&mut self, event: &Event<'_>) {
        let run = || (event.tenant().to_owned(), event.run_id().to_owned());
        match event.kind() {
            "run.registered" => {
                let identity =
                    |name| event.data().get("identity").and_then(|one| one.get(name)).and_then(Value::as_str);
                let owner = format!(
                    "{}:{}",
                    identity("scheme").unwrap_or_default(),
                    identity("subject").unwrap_or_default()
                );
                self.owners.insert(run(), owner);
            }
            "constraint.added" => *self.constrained.entry(run()).or_default() += 1,
            "policy.decision" => self.decided(event),
            "approval.request" => self.asked(event),
            _ => self.told(event),
        }
    }

    fn name(event: &Event<'_>, id: &str) -> Name {
        (event.tenant().to_owned(), event.run_id().to_owned(), id.to_owned())
    }

    fn decided(&mut self, event: &Event<'_>) {
        if constrained(event) {
            self.held += 1;
            let run = (event.tenant().to_owned(), event.run_id().to_owned());
            if !self.constrained.contains_key(&run) || event.data_text("decision") != Some("ask") {
                let error = Error::Approval("a constraint holds a call it did not come before");
                keep(&mut self.early, &error, event);
            }
        }
        if let Some(id) = event.data_text("decision_id") {
            let bare = |name: &str| match event.data().get(name) {
                None | Some(Value::Null | Value::Bool(false)) => true,
                Some(Value::Array(values)) => values.is_empty(),
                Some(Value::Object(object)) => object.is_empty(),
                Some(Value::String(text)) => text.is_empty(),
                Some(_) => false,
            };
            let complete = event.data_text("provenance_state").is_none_or(|state| state == "complete");
            self.decisions.insert(Self::name(event, id), bare("provenance") && complete);
        }
    }

    fn asked(&mut self, event: &Event<'_>) {
        let Some(id) = event.data_text("approval_id") else { return };
        let name = Self::name(event, id);
        match Story::begin(event) {
            Ok(_) if self.stories.contains_key(&name) => {
                keep(&mut self.problems, &Error::Approval("it is asked for twice"), event);
            }
            Ok(story) => {
                self.stories.insert(name.clone(), story);
            }
            Err(error) => keep(&mut self.problems, &error, event),
        }
        let yes = |value: Option<&Value<'_>>| value.and_then(Value::as_bool) == Some(true);
        let asked = Asked {
            decision: event.data_text("decision_id").unwrap_or_default().to_owned(),
            requester: event.data_text("requester").unwrap_or_default().to_owned(),
            eligible: yes(event.data().pointer("/agent/eligible")),
            passkey: yes(event.data().get("passkey")),
            to_people: false,
        };
        self.asked.insert(name, asked);
    }

    fn told(&mut self, event: &Event<'_>) {
        let Some(id) = event.data_text("approval_id") else { return };
        let name = Self::name(event, id);
        let answered = event.kind() == "approval" && event.data_text("decision") == Some("approve");
        match self.stories.get_mut(&name).map(|story| story.next(event)) {
            Some(Ok(())) => {}
            Some(Err(error)) => keep(&mut self.problems, &error, event),
            None if answered || event.kind() == "approval.consumed" => {
                keep(&mut self.problems, &Error::Approval("nobody asked for it"), event);
            }
            None => {}
        }
        if matches!(event.kind(), "approval.escalated" | "approval.revoked")
            && let Some(asked) = self.asked.get_mut(&name)
        {
            asked.to_people = true;
        }
        if answered && event.data_text("approver_kind") == Some("agent") {
            self.agents += 1;
            if let Some(why) = self.unfit(&name, event) {
                keep(&mut self.by_agents, &Error::Approval(why), event);
            }
        } else if answered {
            self.people += 1;
        }
    }

    /// Why an agent may not have answered, as far as records alone can tell.
    fn unfit(&self, name: &Name, event: &Event<'_>) -> Option<&'static str> {
        let Some(asked) = self.asked.get(name) else { return Some("an agent answered what nobody asked") };
        let decision = (name.0.clone(), name.1.clone(), asked.decision.clone());
        let identity = |name| {
            event.data().get("approver_identity").and_then(|one| one.get(name)).and_then(Value::as_str)
        };
        let agent =
            format!("{}:{}", identity("scheme").unwrap_or_default(), identity("subject").unwrap_or_default());
        match self.decisions.get(&decision) {
            None => Some("the decision an agent answered for is not there"),
            Some(false) => Some("an agent answered where the arguments come from elsewhere"),
            Some(true) if !asked.eligible => Some("an agent answered what was not for agents"),
            Some(true) if asked.to_people => Some("an agent answered what people were to answer"),
            Some(true) if asked.passkey => Some("an agent answered what needs a passkey"),
            Some(true)
                if event.data_text("approver") == Some(&asked.requester)
                    || self.owners.get(&(name.0.clone(), name.1.clone())) == Some(&agent) =>
            {
                Some("an agent answered for itself")
            }
            Some(true) => None,
        }
    }

    /// The line of constraints, and of approvals that do not hold.
    pub(crate) fn lines(&self, report: &mut Report) {
        let added: usize = self.constrained.values().sum();
        if added > 0 || self.held > 0 {
            report.judge(
                "constraints",
                format!("{added} added, {} calls held by them", self.held),
                self.early.clone(),
            );
        }
        if !self.problems.is_empty() {
            report.fail("approvals", self.problems.clone());
        }
        if self.agents > 0 {
            report.pass("approvals by people", self.people);
            if self.by_agents.is_empty() {
                // The limits of the arguments are behind commitments, and the rules are not read here.
                report.warn(
                    "approvals by agents",
                    format!("{}; the rules that let them are not checked", self.agents),
                );
            } else {
                report.fail("approvals by agents", self.by_agents.clone());
            }
        }
    }
}

fn constrained(event: &Event<'_>) -> bool {
    let rules = event.data().get("rule_ids").and_then(Value::as_array).unwrap_or_default();
    rules.iter().any(|rule| rule.as_str() == Some("TK-CONSTRAINT"))
}

fn keep(problems: &mut Vec<Problem>, error: &Error, event: &Event<'_>) {
    if problems.len() < MOST {
        problems.push(Problem::new(error, event.position()));
    }
}
