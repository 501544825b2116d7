//! Runs: their beginning and end, decisions, results, inputs, effects (spec 3.8, 3.10).

use super::asking;
use super::decide::{Arguments, At, Decision, FINAL, Said, Whose, said, when};
use super::identity::{Acting, parts};
use super::policy::Judged;
use super::rpc::{
    Answer, ApprovalState, CloseRun, Closed, Complete, Decide, Decided, Id, Observe, ObserveEffect, Recorded,
    Redaction, RegisterRun, Registered, Status,
};
use super::state::{Approval, Call, Run};
use super::{Fault, FaultCode};
use crate::opening::content_digest;
use crate::write::{number, object, text};
use crate::{Commitment, event};
use canon::Value;
use env::Env;

/// Whose runs are recorded (spec 3.8).
const SCHEMES: [&str; 6] = ["uid", "harness", "token", "k8s_sa", "mtls", "oidc"];

pub(super) fn register(at: &At<'_>, of: &RegisterRun, taken: bool, env: &mut Env) -> Result<Decision, Fault> {
    let tenant = at.who.tenant_of(of)?.to_owned();
    let acting = at.who.acting(of.caller.as_ref())?;
    let (scheme, subject) = parts(acting.of);
    if !SCHEMES.contains(&scheme) {
        return Err(Fault::invalid("a run's caller has a scheme that records do not know"));
    }
    let open = at.state.runs().filter(|run| run.owner == acting.of).count();
    if open >= at.house.limits.open_runs {
        return Err(Fault::quota("as many runs are open as this identity may have", None));
    }
    let run_id = of.run_id.as_ref().map_or_else(|| hex::encode(env.bytes16()), Id::to_string);
    if taken || at.state.runs.contains_key(&run_id) || run_id.starts_with("tracekit") {
        return Err(Fault::new(FaultCode::RunExists, "a run of this name was registered before"));
    }
    let mut agent = vec![("name", text(of.agent.name.to_string()))];
    if let Some(version) = &of.agent.version {
        agent.push(("version", text(version.to_string())));
    }
    // A gateway vouches for whom it has authenticated; the name of a program is what it says of itself.
    let attested = scheme != "harness";
    let mut identity = vec![
        ("scheme", text(scheme.to_owned())),
        ("subject", text(subject.to_owned())),
        ("attested", Value::Bool(attested)),
    ];
    let person = acting.via.is_none().then(|| at.who.person.clone()).flatten();
    if let Some(person) = &person {
        identity.push(("person", text(person.clone())));
    }
    let isolation = if scheme == "uid" { "same-user" } else { "separate-user" };
    let data = object(vec![
        ("agent", object(agent)?),
        ("identity", object(identity)?),
        ("signer_isolation", text(if at.who.parts().0 == "uid" { isolation } else { "remote" })),
        ("fail_modes", object(vec![("default", text("closed"))])?),
    ])?;
    let mut record = Said {
        whose: Whose::Begins { tenant: tenant.clone(), run_id: run_id.clone() },
        id: env.bytes16(),
        source: source(&acting),
        kind: "run.registered",
        data,
        more: vec![("request_id", text(of.request_id.to_string()))],
        kept: None,
    };
    if let Some(person) = person {
        record.keep("person", text(person))?;
    }
    let run_token = at.house.secrets.token(&run_id, acting.of, &tenant)?;
    let answer = Registered { run_id, run_token, tenant, tenant_attested: true, principal_attested: false };
    Ok(Decision { records: vec![record], answer: Answer::Registered(answer) })
}

pub(super) fn decide(
    at: &At<'_>,
    of: &Decide,
    arguments: &Arguments,
    judged: &Judged,
    env: &mut Env,
) -> Result<Decision, Fault> {
    let (run, acting) = at.open_run(&of.run_id, of.caller.as_ref())?;
    let mut records = counted(at, run, &of.stream, of.client_seq, env)?;
    let call = (of.tool_call_id.to_string(), of.attempt);
    if run.calls.contains_key(&call) {
        return Err(Fault::new(FaultCode::Conflict, "this attempt at this call was decided before"));
    }
    let decision_id = format!("dec-{}", hex::encode(env.bytes16()));
    let expires_at = crate::spelled(env.now() + at.house.decision_lasts);
    let mut data = vec![
        ("tool_use_id", text(of.tool_call_id.to_string())),
        ("tool", text(of.tool.to_string())),
        ("policy_hash", text(at.house.policy.clone())),
        ("engine", text(at.house.engine.clone())),
        ("expires_at", text(expires_at.clone())),
        ("decision_id", text(decision_id.clone())),
        ("nonce", text(hex::encode(env.bytes16()))),
        ("decision", text(judged.ruling.as_str())),
        ("rule_ids", rules(&judged.rules)),
    ];
    if let Some(via) = acting.via {
        data.push(("via", text(via.to_owned())));
        data.push(("caller", text(acting.of.to_owned())));
    }
    if let Some((_, digest)) = &arguments.read {
        let commitment = Commitment::of(&at.house.secrets.salt(&decision_id), digest);
        data.push(("args_commitment", text(commitment.to_string())));
    }
    let mut record = said(run, source(&acting), "policy.decision", object(data)?, env);
    record.more = event_of(&acting, &of.request_id, &of.stream, of.client_seq)?;
    record.more.extend(of_call(&of.tool_call_id, of.attempt)?);
    record.more.push(("args_source", text(of.args_source.as_str())));
    if let Some((value, _)) = &arguments.read {
        record.keep("args", value.clone())?;
    }
    let answer = Decided {
        decision: judged.ruling,
        decision_id,
        rule_ids: judged.rules.clone(),
        reason: judged.reason.clone(),
        run_seq: next(run, &records),
        expires_at: Some(expires_at),
    };
    records.push(record);
    Ok(Decision { records, answer: Answer::Decided(answer) })
}

pub(super) fn complete(at: &At<'_>, of: &Complete, env: &mut Env) -> Result<Decision, Fault> {
    let (run, acting) = at.run(&of.run_id, of.caller.as_ref())?;
    let mut records = counted(at, run, &of.stream, of.client_seq, env)?;
    let open = match run.calls.get(&(of.tool_call_id.to_string(), of.attempt)) {
        Some(Call::Open(open)) => open,
        Some(Call::Done) => return Err(Fault::new(FaultCode::Conflict, "this call has its result")),
        None => return Err(Fault::new(FaultCode::UnknownToolCall, "this call was not decided")),
    };
    if open.decision_id != of.decision_id.as_str() {
        return Err(Fault::new(FaultCode::UnknownDecision, "the decision is another call's"));
    }
    if open.via.as_deref() != acting.via {
        return Err(Fault::new(FaultCode::Forbidden, "only who had the call decided completes it"));
    }
    if !open.cleared {
        return Err(Fault::new(FaultCode::Conflict, "the call was not allowed, or its approval not used"));
    }
    let digest = event::digest(of.args_digest.as_str());
    let digest = digest.ok_or_else(|| Fault::invalid("args_digest is sha256: and 64 hex digits"))?;
    let salt = at.house.secrets.salt(&open.decision_id);
    if open.arguments != Some(Commitment::of(&salt, &digest)) {
        return Err(Fault::new(FaultCode::ArgsMismatch, "other arguments than those decided"));
    }
    let mut content = Vec::new();
    if let Some(result) = &of.result {
        content.push(("result", result.clone()));
    }
    if let Some(error) = &of.error {
        content.push(("error", text(error.to_string())));
    }
    let content = object(content)?;
    let salt = at.house.secrets.salt(&format!("result:{}", open.decision_id));
    let mut data = vec![
        ("tool_use_id", text(of.tool_call_id.to_string())),
        ("ok", Value::Bool(of.status == Status::Ok)),
        ("output", output(&content, &salt, of.redacted.unwrap_or_default())?),
        ("decision_id", text(open.decision_id.clone())),
        ("redaction", redaction(of.redacted, of.redaction.as_ref())?),
    ];
    if let Some(via) = acting.via {
        data.push(("via", text(via.to_owned())));
    }
    let mut record = said(run, source(&acting), "tool.result", object(data)?, env);
    record.more = event_of(&acting, &of.request_id, &of.stream, of.client_seq)?;
    record.more.extend(of_call(&of.tool_call_id, of.attempt)?);
    record.keep("content", content)?;
    let answer = Answer::Recorded(Recorded { run_seq: next(run, &records) });
    records.push(record);
    Ok(Decision { records, answer })
}

pub(super) fn observe(at: &At<'_>, of: &Observe, env: &mut Env) -> Result<Decision, Fault> {
    let (run, acting) = at.open_run(&of.run_id, of.caller.as_ref())?;
    let mut records = counted(at, run, &of.stream, of.client_seq, env)?;
    let salt_id = hex::encode(env.bytes16());
    let salt = at.house.secrets.salt(&format!("input.observed:{salt_id}"));
    let mut data = vec![
        ("source", text(of.source.to_string())),
        ("trust", text(of.trust.as_str())),
        ("output", output(&of.value, &salt, false)?),
        ("redaction", redaction(None, None)?),
        ("salt_id", text(salt_id)),
    ];
    if let Some(via) = acting.via {
        data.push(("via", text(via.to_owned())));
    }
    let mut record = said(run, source(&acting), "input.observed", object(data)?, env);
    record.more = event_of(&acting, &of.request_id, &of.stream, of.client_seq)?;
    record.keep("content", of.value.clone())?;
    let answer = Answer::Recorded(Recorded { run_seq: next(run, &records) });
    records.push(record);
    Ok(Decision { records, answer })
}

pub(super) fn effects(at: &At<'_>, of: &ObserveEffect, env: &mut Env) -> Result<Decision, Fault> {
    if !at.who.observer {
        return Err(Fault::new(FaultCode::Forbidden, "only an observer reports effects"));
    }
    if !(1..=256).contains(&of.effects.len()) {
        return Err(Fault::invalid("1 to 256 effects at a time"));
    }
    let mut records = Vec::new();
    for effect in &of.effects {
        let told = |name: &str| effect.get(name).and_then(Value::as_str);
        let run_id =
            told("run_id").and_then(Id::new).ok_or_else(|| Fault::invalid("an effect names its run"))?;
        let closed = || Fault::new(FaultCode::RunClosed, "the run is over");
        let run = at.state.run(run_id.as_str()).ok_or_else(closed)?;
        let token = told("run_token").unwrap_or_default();
        at.house.secrets.check(token, run_id.as_str(), &run.owner, &at.who.tenant)?;
        // An agent does not observe itself (spec 3.11).
        if run.owner == at.who.name {
            return Err(Fault::new(FaultCode::Forbidden, "an observer owns no run it reports of"));
        }
        let own = ["run_id", "run_token", "caller", "args_digest"];
        let members = effect.as_object().map(canon::Object::iter).into_iter().flatten();
        let mut data: Vec<(&str, Value<'static>)> = members
            .filter(|(name, _)| !own.contains(name))
            .map(|(name, value)| (name, value.to_owned()))
            .collect();
        data.push(("observer", text(at.who.name.clone())));
        data.push(("attribution", text("token")));
        let mut record = said(run, "signer", "effect.observed", object(data)?.into_static(), env);
        record.more.push(("request_id", text(of.request_id.to_string())));
        record.check(env.now())?;
        records.push(record);
    }
    let recorded = object(vec![("recorded", number(u64::try_from(records.len()).unwrap_or_default())?)])?;
    Ok(Decision { records, answer: Answer::Other(recorded) })
}

pub(super) fn close(at: &At<'_>, of: &CloseRun, env: &mut Env) -> Result<Decision, Fault> {
    let (run, acting) = at.open_run(&of.run_id, of.caller.as_ref())?;
    let mut records = Vec::new();
    for last in &of.last_client_seq {
        let next = run.streams.get(last.stream.as_str()).copied().unwrap_or_default();
        let missed = last.client_seq.saturating_add(1).saturating_sub(next);
        if missed > 0 {
            records.push(gap(run, "client_counter_gap", "calls that were counted never came", missed, env)?);
        }
    }
    let reason = object(vec![("reason", text("close_run"))])?;
    let mut closing = said(run, source(&acting), "run.closing", reason, env);
    closing.more.push(("request_id", text(of.request_id.to_string())));
    records.push(closing);
    if !run.is_held() {
        end(run, |_| true, &mut records, env)?;
    }
    let run_seq = next(run, &records).saturating_sub(1);
    let answer = Closed { run_id: run.id.clone(), state: "closing".to_owned(), run_seq };
    Ok(Decision { records, answer: Answer::Closed(answer) })
}

/// The records that end a run: approvals end with it, and what has no result is said.
pub(super) fn end(
    run: &Run,
    still: impl Fn(&Approval) -> bool,
    records: &mut Vec<Said>,
    env: &mut Env,
) -> Result<(), Fault> {
    let open =
        |approval: &&Approval| matches!(approval.state, ApprovalState::Requested | ApprovalState::Approved);
    for approval in run.approvals.values().filter(open).filter(|approval| still(approval)) {
        records.push(asking::expired(run, approval, "run_final", env)?);
    }
    let (mut held, mut own) = (0, 0);
    for call in run.calls.values() {
        match call {
            Call::Open(open) if open.cleared && open.via.is_some() => held += 1,
            Call::Open(open) if open.cleared => own += 1,
            _ => {}
        }
    }
    if held > 0 {
        records.push(gap(run, "held_call_unresolved", "a gateway gave no result", held, env)?);
    }
    if own > 0 {
        records.push(gap(run, "decided_not_completed", "calls were allowed and have no result", own, env)?);
    }
    records.push(said(run, "signer", FINAL, Value::Null, env));
    Ok(())
}

/// A call's place among those its client counts. Refused: a place taken before; places left out become a gap.
fn counted(at: &At<'_>, run: &Run, stream: &Id, seq: u64, env: &mut Env) -> Result<Vec<Said>, Fault> {
    let expected = run.streams.get(stream.as_str());
    if expected.is_none() && run.streams.len() >= at.house.limits.streams_a_run {
        return Err(Fault::quota("a run has no more streams than this", None));
    }
    let expected = expected.copied().unwrap_or_default();
    if seq < expected {
        return Err(Fault::new(FaultCode::ClientSeqReused, format!("the stream is at {expected}")));
    }
    if seq == expected {
        return Ok(Vec::new());
    }
    Ok(vec![gap(run, "client_counter_gap", "calls that were counted never came", seq - expected, env)?])
}

fn gap(
    run: &Run,
    kind: &'static str,
    reason: &'static str,
    missed: u64,
    env: &mut Env,
) -> Result<Said, Fault> {
    let data = object(vec![
        ("reason", text(reason)),
        ("kind", text(kind)),
        ("missed_events", number(missed)?),
        ("from_ts", Value::Null),
        ("to_ts", when(env.now())),
    ])?;
    Ok(said(run, "signer", "capture.gap", data, env))
}

/// Where in the run the next record will stand.
pub(super) fn next(run: &Run, records: &[Said]) -> u64 {
    run.chain.seq.saturating_add(u64::try_from(records.len()).unwrap_or_default())
}

pub(super) const fn source(acting: &Acting<'_>) -> &'static str {
    if acting.via.is_some() { "gateway" } else { "sdk" }
}

pub(super) type More = Vec<(&'static str, Value<'static>)>;

fn event_of(acting: &Acting<'_>, request: &Id, stream: &Id, seq: u64) -> Result<More, Fault> {
    let mut more = vec![
        ("request_id", text(request.to_string())),
        ("stream", text(stream.to_string())),
        ("client_seq", number(seq)?),
    ];
    more.extend(tier(acting));
    Ok(more)
}

pub(super) fn tier(acting: &Acting<'_>) -> Option<(&'static str, Value<'static>)> {
    acting.via.map(|_| ("tier", text("T2")))
}

pub(super) fn of_call(call: &Id, attempt: u64) -> Result<More, Fault> {
    Ok(vec![("tool_call_id", text(call.to_string())), ("attempt", number(attempt)?)])
}

pub(super) fn rules(ids: &[String]) -> Value<'static> {
    Value::Array(ids.iter().map(|id| text(id.clone())).collect())
}

fn output(content: &Value<'_>, salt: &canon::Salt, redacted: bool) -> Result<Value<'static>, Fault> {
    let (digest, size) = content_digest(content)?;
    Ok(object(vec![
        ("hash", text(Commitment::of(salt, &digest).to_string())),
        ("size", number(u64::try_from(size).unwrap_or(u64::MAX))?),
        ("redacted", Value::Bool(redacted)),
    ])?)
}

/// The signer cuts nothing out itself; what a client says it cut out is its own word.
fn redaction(claimed: Option<bool>, client: Option<&Redaction>) -> Result<Value<'static>, Fault> {
    let mut members = vec![
        ("rules", Value::Array(Vec::new())),
        ("count", number(0)?),
        ("client_claimed", Value::Bool(claimed == Some(true))),
    ];
    if let Some(client) = client {
        let mut said =
            vec![("rules", Value::Array(client.rules.iter().map(|rule| text(rule.to_string())).collect()))];
        if let Some(count) = client.count {
            said.push(("count", number(count)?));
        }
        members.push(("client", object(said)?));
    }
    Ok(object(members)?)
}
