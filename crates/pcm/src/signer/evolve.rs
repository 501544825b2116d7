//! How a record folds into the state. Whatever the state holds is in the records and in what is kept beside them.

use super::decide::WAIT;
use super::rpc::{ApprovalState, ArgsSource, Ruling};
use super::state::{Approval, Call, Chain, Open, Run, State};
use crate::{Error, Event, SIGNER_RUN, event};
use canon::{Digest, Value};
use std::collections::{BTreeMap, HashMap};

impl State {
    /// The next record of the log, with what is kept beside it. Refused: one that does not follow.
    pub fn evolve(&mut self, line: &[u8], kept: Option<&[u8]>) -> Result<(), Error> {
        let record = canon::parse(line)?;
        let event = record.get("event").ok_or(Error::RecordForm("the event is no object"))?;
        let hash = record.get("hash").and_then(Value::as_str).and_then(event::digest);
        let (event, hash) = (Event::unchecked(event)?, hash.ok_or(Error::RecordHash)?);
        if event.position().0 != self.seq || event.prev_hash() != self.prev || event.log_id() != self.log_id {
            return Err(Error::Chain("it does not follow the record before"));
        }
        let kept = kept.map(canon::parse).transpose()?;
        self.fold(&event, &hash, kept.as_ref());
        Ok(())
    }

    pub(super) fn fold(&mut self, event: &Event<'_>, hash: &Digest, kept: Option<&Value<'_>>) {
        let at = event.position().0;
        (self.seq, self.prev) = (at.saturating_add(1), *hash);
        let chain = Chain { seq: event.run_seq().saturating_add(1), prev: *hash };
        if let Some((by, id, request, answer)) = kept.and_then(asked) {
            self.requests.remember(by, id, request, answer);
        }
        if event.run_id() == SIGNER_RUN {
            self.own = chain;
            if matches!(event.kind(), "signer.epoch" | "key.retire") {
                self.keys.insert(at);
            }
            return;
        }
        if event.kind() == "run.registered" {
            let run = registered(event, chain, kept);
            self.runs.insert(run.id.clone(), run);
            return;
        }
        // A run that began before the fold did is over by its end.
        let Some(run) = self.runs.get_mut(event.run_id()) else { return };
        run.chain = chain;
        if let (Some(stream), Some(seq)) =
            (event.text("stream"), event.value().get("client_seq").and_then(Value::as_u64))
        {
            run.streams.insert(stream.to_owned(), seq.saturating_add(1));
        }
        match event.kind() {
            "run.closing" => {
                run.closing = event.text("ts").and_then(event::instant).map(|at| at + WAIT);
                self.closing.insert(run.id.clone());
            }
            "run.final" => {
                for id in run.approvals.keys() {
                    self.asked.remove(id);
                }
                self.closing.remove(event.run_id());
                self.runs.remove(event.run_id());
            }
            "approval.request" => {
                if let Some(approval) = requested(event, run, kept) {
                    self.asked.insert(approval.id.clone(), run.id.clone());
                    run.approvals.insert(approval.id.clone(), approval);
                }
            }
            _ => run.fold(event, kept),
        }
    }
}

impl Run {
    fn fold(&mut self, event: &Event<'_>, kept: Option<&Value<'_>>) {
        let call = event.tool_call_id().map(|id| (id.to_owned(), event.attempt()));
        match (event.kind(), call) {
            ("policy.decision", Some(call)) => {
                self.calls.insert(call, Call::Open(Box::new(decided(event, kept))));
            }
            ("tool.result", Some(call)) => {
                self.calls.insert(call, Call::Done);
            }
            ("approval", _) => {
                let state = match event.data_text("decision") {
                    Some("approve") => ApprovalState::Approved,
                    Some("reject") => ApprovalState::Rejected,
                    _ => return,
                };
                self.settle(event, state);
            }
            ("approval.consumed", Some(call)) => {
                self.settle(event, ApprovalState::Consumed);
                if let Some(Call::Open(open)) = self.calls.get_mut(&call) {
                    open.cleared = true;
                }
            }
            ("approval.expired" | "approval.abandoned" | "approval.revoked", _) => {
                self.settle(event, ApprovalState::Expired);
            }
            _ => {}
        }
    }

    fn settle(&mut self, event: &Event<'_>, state: ApprovalState) {
        let Some(approval) = event.data_text("approval_id").and_then(|id| self.approvals.get_mut(id)) else {
            return;
        };
        if approval.state == ApprovalState::Consumed {
            return;
        }
        approval.state = state;
        if state != ApprovalState::Approved {
            approval.args = None;
        }
        if let Some(reason) = event.data_text("reason") {
            approval.reason = Some(reason.to_owned());
        }
    }
}

fn registered(event: &Event<'_>, chain: Chain, kept: Option<&Value<'_>>) -> Run {
    let of = |pointer| event.data().pointer(pointer).and_then(Value::as_str);
    let owner = format!("{}:{}", of("/identity/scheme").unwrap_or(""), of("/identity/subject").unwrap_or(""));
    Run {
        id: event.run_id().to_owned(),
        tenant: event.tenant().to_owned(),
        first: event.position().0,
        owner,
        person: kept.and_then(|kept| kept.get("person")?.as_str().map(str::to_owned)),
        chain,
        streams: BTreeMap::new(),
        calls: HashMap::new(),
        approvals: BTreeMap::new(),
        closing: None,
    }
}

fn decided(event: &Event<'_>, kept: Option<&Value<'_>>) -> Open {
    let told = |name| event.data_text(name).map(str::to_owned);
    let ruling = match event.data_text("decision") {
        Some("allow") => Ruling::Allow,
        Some("ask") => Ruling::Ask,
        _ => Ruling::Deny,
    };
    Open {
        decision_id: told("decision_id").unwrap_or_default(),
        tool: told("tool").unwrap_or_default(),
        ruling,
        arguments: event.data_text("args_commitment").and_then(|text| text.parse().ok()),
        source: source(event.text("args_source")),
        policy: told("policy_hash").unwrap_or_default(),
        rules: texts(event.data().get("rule_ids")),
        via: told("via"),
        approval: None,
        args: kept.filter(|_| ruling == Ruling::Ask).and_then(|kept| kept.get("args")).map(Value::to_owned),
        cleared: ruling == Ruling::Allow,
    }
}

fn requested(event: &Event<'_>, run: &mut Run, kept: Option<&Value<'_>>) -> Option<Approval> {
    let told = |name: &str| event.data_text(name).map(str::to_owned);
    let bound = |name: &str| event.data().get("binding")?.get(name)?.as_str();
    let id = told("approval_id")?;
    let (call, attempt) = (event.tool_call_id()?.to_owned(), event.attempt());
    if let Some(Call::Open(open)) = run.calls.get_mut(&(call.clone(), attempt)) {
        open.approval = Some(id.clone());
        open.args = None;
    }
    Some(Approval {
        id,
        tenant: run.tenant.clone(),
        run_id: run.id.clone(),
        tool_call_id: call,
        attempt,
        decision_id: told("decision_id")?,
        tool: bound("tool")?.to_owned(),
        rules: texts(event.data().get("rule_ids")),
        policy: told("policy_hash")?,
        requester: told("requester")?,
        person: told("requester_person"),
        via: told("via"),
        source: source(bound("args_source")),
        arguments: bound("args_commitment")?.parse().ok()?,
        salt_id: told("salt_id")?,
        binding: event.data_text("binding_digest").and_then(event::digest)?,
        asked_at: event.text("ts").and_then(event::instant)?,
        expires_at: event.data_text("expires_at").and_then(event::instant)?,
        state: ApprovalState::Requested,
        reason: kept.and_then(|kept| kept.get("reason")?.as_str().map(str::to_owned)),
        args: kept.and_then(|kept| kept.get("args")).map(Value::to_owned),
    })
}

fn source(text: Option<&str>) -> ArgsSource {
    match text {
        Some("raw") => ArgsSource::Raw,
        Some("coerced") => ArgsSource::Coerced,
        _ => ArgsSource::Parsed,
    }
}

fn texts(value: Option<&Value<'_>>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The request that made a record, from what is kept beside it.
fn asked<'k>(kept: &'k Value<'_>) -> Option<(&'k str, &'k str, Digest, Value<'static>)> {
    let text = |name: &str| kept.get("asked")?.get(name)?.as_str();
    let answer = kept.get("asked")?.get("answer")?.to_owned();
    Some((text("by")?, text("id")?, text("request").and_then(event::digest)?, answer))
}
