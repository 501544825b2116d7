//! Approvals (spec 3.9): what is asked is bound to one attempt at one call, answered by a person who may, used once.

use super::decide::{Arguments, At, Decision, Said, said};
use super::rpc::{
    Answer, ApprovalAbandon, ApprovalConsume, ApprovalList, ApprovalPage, ApprovalRequest, ApprovalRevoke,
    ApprovalStanding, ApprovalState, ApprovalTold, Consumed, Id, Ruling,
};
use super::runs::{More, of_call, rules, source, tier};
use super::state::{Approval, Call, Open, Run, State};
use super::{Fault, FaultCode, Identity};
use crate::approval::binding_digest;
use crate::opening::{MAX_OPENING, arguments_digest};
use crate::write::{Binding, object, text};
use crate::{Commitment, event, spelled};
use canon::{Digest, Value};
use env::{Env, Timestamp};

/// Who answers: a person whose right and whose evidence were verified.
#[derive(Debug, Clone)]
pub struct Person {
    /// `scheme:subject` of the identity.
    pub identity: String,
    /// Who they are to whoever reads the record.
    pub name: String,
}

/// A person's answer.
#[derive(Debug, Clone)]
pub struct Answered {
    pub approval_id: String,
    pub approve: bool,
    pub by: Person,
    pub channel: &'static str,
    pub reason: Option<String>,
    /// The credential id, where a passkey signed.
    pub passkey: Option<String>,
    /// What was signed and by what, to be kept beside the record.
    pub evidence: Value<'static>,
}

/// Whether it ends by its time and its end is not recorded yet.
pub(super) fn is_over(approval: &Approval, now: Timestamp) -> bool {
    matches!(approval.state, ApprovalState::Requested | ApprovalState::Approved) && approval.expires_at <= now
}

pub(super) fn request(at: &At<'_>, of: &ApprovalRequest, env: &mut Env) -> Result<Decision, Fault> {
    let (run, acting) = at.open_run(&of.run_id, of.caller.as_ref())?;
    let open = open_call(run, &of.tool_call_id, of.attempt)?;
    if open.via.as_deref() != acting.via {
        return Err(Fault::new(FaultCode::Forbidden, "only who had the call decided asks for it"));
    }
    if let Some(approval) = open.approval.as_ref().and_then(|id| run.approvals.get(id)) {
        return Ok(Decision { records: Vec::new(), answer: Answer::Approval(approval.standing(env.now())) });
    }
    let (Ruling::Ask, Some(committed)) = (open.ruling, open.arguments) else {
        return Err(Fault::new(FaultCode::Conflict, "the call was not decided to be asked about"));
    };
    let pending =
        |approval: &&Approval| approval.requester == acting.of && approval.state == ApprovalState::Requested;
    if at.state.approvals().filter(pending).count() >= at.house.limits.pending_approvals {
        return Err(Fault::quota("as many approvals wait as this identity may have", None));
    }
    // The arguments themselves are not in the record, so the caller's are not taken for them: they are read back from what was
    // kept beside the decision, and must be what it commits to.
    let args = at.kept(open, committed)?;
    if canon::to_vec(&args).map_err(crate::Error::from)?.len() > MAX_OPENING {
        return Err(Fault::invalid("a person is shown no more than 64 KiB of arguments"));
    }
    let digest = arguments_digest(&open.tool, &args)?;
    let approval_id = format!("apr-{}", hex::encode(env.bytes16()));
    let salt_id = hex::encode(env.bytes16());
    let salt = at.house.secrets.salt(&format!("approval.request:{salt_id}"));
    let expires_at = env.now() + at.house.approval_lasts;
    let policy = event::digest(&open.policy).ok_or_else(|| Fault::invalid("the decision names no policy"))?;
    let binding = Binding {
        approval_id: &approval_id,
        tenant: &run.tenant,
        run_id: &run.id,
        tool_call_id: of.tool_call_id.as_str(),
        attempt: of.attempt,
        tool: &open.tool,
        arguments: Commitment::of(&salt, &digest),
        args_source: open.source.as_str(),
        policy,
        nonce: env.bytes16(),
        expires_at,
    }
    .value()?;
    let mut data = vec![
        ("approval_id", text(approval_id.clone())),
        ("decision_id", text(open.decision_id.clone())),
        ("policy_hash", text(open.policy.clone())),
        ("rule_ids", rules(&open.rules)),
        ("expires_at", text(spelled(expires_at))),
        ("requester", text(acting.of.to_owned())),
        ("binding_digest", text(binding_digest(&binding)?.prefixed())),
        ("binding", binding),
        ("salt_id", text(salt_id)),
        ("executor", text(if acting.via.is_some() { "t2" } else { "t1" })),
        ("passkey", Value::Bool(true)),
    ];
    if let Some(person) = &run.person {
        data.push(("requester_person", text(person.clone())));
    }
    if let Some(via) = acting.via {
        data.push(("via", text(via.to_owned())));
    }
    let mut record = said(run, source(&acting), "approval.request", object(data)?, env);
    record.more = of_call(&of.tool_call_id, of.attempt)?;
    record.more.push(("request_id", text(of.request_id.to_string())));
    record.more.extend(tier(&acting));
    record.keep("args", args)?;
    if let Some(reason) = &of.reason {
        record.keep("reason", text(reason.to_string()))?;
    }
    let answer = ApprovalStanding {
        approval_id,
        state: ApprovalState::Requested,
        expires_at: Some(spelled(expires_at)),
        reason: None,
        url: None,
    };
    Ok(Decision { records: vec![record], answer: Answer::Approval(answer) })
}

/// Uses an approval. What it refuses is an answer with the rule's code, in the order of spec 3.9.
pub(super) fn consume(
    at: &At<'_>,
    of: &ApprovalConsume,
    arguments: &Arguments,
    env: &mut Env,
) -> Result<Decision, Fault> {
    let (run, acting) = at.run(&of.run_id, of.caller.as_ref())?;
    let refused = |code: &str, records: Vec<Said>, reason: &str, id: Option<&str>| Decision {
        records,
        answer: Answer::Consumed(Consumed {
            ok: false,
            rule_ids: vec![code.to_owned()],
            approval_id: id.map(str::to_owned),
            reason: Some(reason.to_owned()),
            args: None,
        }),
    };
    let call = run.calls.get(&(of.tool_call_id.to_string(), of.attempt));
    let open = match call {
        Some(Call::Open(open)) => Some(open),
        _ => None,
    };
    if open.is_some_and(|open| open.via.as_deref() != acting.via) {
        return Err(Fault::new(FaultCode::Forbidden, "only who had the call decided uses its approval"));
    }
    let approval = open.and_then(|open| open.approval.as_ref()).and_then(|id| run.approvals.get(id));
    let named = of.approval_id_hint.as_ref().map(Id::as_str);
    if named.is_some() && named != approval.map(|approval| approval.id.as_str()) {
        return Ok(refused("TK-APPROVAL-UNBOUND", Vec::new(), "the approval is of another call", None));
    }
    let Some((value, digest)) = &arguments.read else {
        return Ok(refused("TK-ARGS-INVALID", Vec::new(), "the arguments are no strict JSON", None));
    };
    let (Some(open), Some(approval)) = (open, approval) else {
        let same = |open: &Open| {
            let salt = at.house.secrets.salt(&open.decision_id);
            open.ruling == Ruling::Allow
                && open.tool == of.tool.as_str()
                && open.arguments == Some(Commitment::of(&salt, digest))
        };
        return Ok(match open.filter(|open| same(open)) {
            Some(open) => Decision {
                records: Vec::new(),
                answer: Answer::Consumed(Consumed {
                    ok: true,
                    rule_ids: open.rules.clone(),
                    approval_id: None,
                    reason: None,
                    args: acting.via.map(|_| value.clone()),
                }),
            },
            None => refused("TK-APPROVAL-REQUIRED", Vec::new(), "nobody has approved this call", None),
        });
    };
    let id = Some(approval.id.as_str());
    let more = |record: &mut Said| -> Result<(), Fault> {
        record.more = of_call(&of.tool_call_id, of.attempt)?;
        record.more.push(("request_id", text(of.request_id.to_string())));
        Ok(())
    };
    let salt = at.house.secrets.salt(&format!("approval.request:{}", approval.salt_id));
    if approval.tool != of.tool.as_str() || approval.arguments != Commitment::of(&salt, digest) {
        let salt_id = hex::encode(env.bytes16());
        let salt = at.house.secrets.salt(&format!("approval.binding_mismatch:{salt_id}"));
        let data = object(vec![
            ("approval_id", text(approval.id.clone())),
            ("tool_use_id", text(of.tool_call_id.to_string())),
            ("decision_id", text(open.decision_id.clone())),
            ("approved_commitment", text(approval.arguments.to_string())),
            ("args_commitment", text(Commitment::of(&salt, digest).to_string())),
            ("salt_id", text(salt_id)),
        ])?;
        let mut record = said(run, "signer", "approval.binding_mismatch", data, env);
        more(&mut record)?;
        record.keep("args", value.clone())?;
        let reason = "other arguments than those approved";
        return Ok(refused("TK-APPROVAL-MISMATCH", vec![record], reason, id));
    }
    let now = env.now();
    let (code, reason) = match approval.state {
        ApprovalState::Requested if approval.expires_at <= now => {
            ("TK-APPROVAL-EXPIRED", "it was not answered in time")
        }
        ApprovalState::Requested => ("TK-APPROVAL-REQUESTED", "nobody has answered yet"),
        ApprovalState::Rejected => ("TK-APPROVAL-REJECTED", "a person has rejected it"),
        ApprovalState::Consumed => ("TK-APPROVAL-CONSUMED", "it was used before"),
        ApprovalState::Expired => ("TK-APPROVAL-EXPIRED", "it has ended"),
        ApprovalState::Approved if approval.expires_at <= now => {
            ("TK-APPROVAL-EXPIRED", "it was not used in time")
        }
        ApprovalState::Approved => {
            let data = object(vec![("approval_id", text(approval.id.clone()))])?;
            let mut record = said(run, "signer", "approval.consumed", data, env);
            more(&mut record)?;
            let answer = Consumed {
                ok: true,
                rule_ids: vec!["TK-APPROVED".to_owned()],
                approval_id: Some(approval.id.clone()),
                reason: None,
                args: acting.via.and(approval.args.clone()),
            };
            return Ok(Decision { records: vec![record], answer: Answer::Consumed(answer) });
        }
    };
    let told = approval.reason.as_deref().filter(|_| approval.state.is_settled()).unwrap_or(reason);
    Ok(refused(code, Vec::new(), told, id))
}

pub(super) fn abandon(at: &At<'_>, of: &ApprovalAbandon, env: &mut Env) -> Result<Decision, Fault> {
    let (run, _) = at.run(&of.run_id, None)?;
    let approval = run.approvals.get(of.approval_id.as_str()).ok_or_else(unknown)?;
    pending(approval, &[ApprovalState::Requested, ApprovalState::Approved])?;
    let mut data = vec![("approval_id", text(approval.id.clone()))];
    if let Some(reason) = &of.reason {
        data.push(("reason", text(reason.to_string())));
    }
    let mut record = said(run, "signer", "approval.abandoned", object(data)?, env);
    record.more = own_call(approval)?;
    Ok(ended(record, approval))
}

pub(super) fn revoke(at: &At<'_>, of: &ApprovalRevoke, env: &mut Env) -> Result<Decision, Fault> {
    if !at.who.operator {
        return Err(Fault::new(FaultCode::Forbidden, "only an operator takes an approval back"));
    }
    let approval = at.state.approval(of.approval_id.as_str()).ok_or_else(unknown)?;
    let run = at.state.run(&approval.run_id).ok_or_else(unknown)?;
    pending(approval, &[ApprovalState::Requested, ApprovalState::Approved])?;
    let mut data = vec![("approval_id", text(approval.id.clone())), ("by", text(at.who.name.clone()))];
    if let Some(reason) = &of.reason {
        data.push(("reason", text(reason.to_string())));
    }
    let mut record = said(run, "signer", "approval.revoked", object(data)?, env);
    record.more = own_call(approval)?;
    Ok(ended(record, approval))
}

/// A person's answer. Refused: one to what is settled or over, and one by whoever asked.
pub(super) fn answer(state: &State, of: &Answered, env: &mut Env) -> Result<Decision, Fault> {
    let approval = state.approval(&of.approval_id).ok_or_else(unknown)?;
    let run = state.run(&approval.run_id).ok_or_else(unknown)?;
    pending(approval, &[ApprovalState::Requested])?;
    if approval.expires_at <= env.now() {
        return Err(Fault::new(FaultCode::ApprovalNotPending, "it was not answered in time"));
    }
    let own = [Some(&approval.requester), Some(&run.owner)]
        .into_iter()
        .flatten()
        .any(|name| *name == of.by.identity);
    if own || approval.person.as_ref() == Some(&of.by.name) {
        return Err(Fault::new(FaultCode::Forbidden, "whoever asks does not answer"));
    }
    let (scheme, subject) = super::identity::parts(&of.by.identity);
    let identity = object(vec![
        ("scheme", text(scheme.to_owned())),
        ("subject", text(subject.to_owned())),
        ("attested", Value::Bool(true)),
        ("person", text(of.by.name.clone())),
    ])?;
    let mut data = vec![
        ("tool_use_id", text(approval.tool_call_id.clone())),
        ("approval_id", text(approval.id.clone())),
        ("decision", text(if of.approve { "approve" } else { "reject" })),
        ("approver", text(of.by.identity.clone())),
        ("approver_identity", identity),
        ("channel", text(of.channel)),
        ("self_approved", Value::Bool(false)),
        ("person", text(of.by.name.clone())),
    ];
    if let Some(reason) = &of.reason {
        data.push(("reason", text(reason.clone())));
    }
    if let Some(credential) = &of.passkey {
        let passkey =
            object(vec![("credential_id", text(credential.clone())), ("user_verified", Value::Bool(true))])?;
        data.push(("passkey", passkey));
    }
    // The run's own source, though the signer writes it (spec 3.3).
    let source = if approval.via.is_some() { "gateway" } else { "sdk" };
    let mut record = said(run, source, "approval", object(data)?, env);
    record.more = own_call(approval)?;
    record.keep("evidence", of.evidence.clone())?;
    let mut standing = approval.standing(env.now());
    standing.state = if of.approve { ApprovalState::Approved } else { ApprovalState::Rejected };
    standing.reason.clone_from(&of.reason);
    Ok(Decision { records: vec![record], answer: Answer::Approval(standing) })
}

pub(super) fn expired(
    run: &Run,
    approval: &Approval,
    reason: &'static str,
    env: &mut Env,
) -> Result<Said, Fault> {
    let data = object(vec![("approval_id", text(approval.id.clone())), ("reason", text(reason))])?;
    let mut record = said(run, "signer", "approval.expired", data, env);
    record.more = own_call(approval)?;
    Ok(record)
}

fn ended(record: Said, approval: &Approval) -> Decision {
    let answer = ApprovalStanding {
        approval_id: approval.id.clone(),
        state: ApprovalState::Expired,
        expires_at: None,
        reason: None,
        url: None,
    };
    Decision { records: vec![record], answer: Answer::Approval(answer) }
}

fn own_call(approval: &Approval) -> Result<More, Fault> {
    let call = Id::new(approval.tool_call_id.clone()).ok_or_else(unknown)?;
    of_call(&call, approval.attempt)
}

fn open_call<'a>(run: &'a Run, call: &Id, attempt: u64) -> Result<&'a Open, Fault> {
    match run.calls.get(&(call.to_string(), attempt)) {
        Some(Call::Open(open)) => Ok(open),
        Some(Call::Done) => Err(Fault::new(FaultCode::Conflict, "this call has its result")),
        None => Err(Fault::new(FaultCode::UnknownToolCall, "this call was not decided")),
    }
}

fn pending(approval: &Approval, states: &[ApprovalState]) -> Result<(), Fault> {
    if states.contains(&approval.state) {
        return Ok(());
    }
    let state = approval.state.as_str();
    Err(Fault::new(FaultCode::ApprovalNotPending, format!("the approval is {state}")))
}

fn unknown() -> Fault {
    Fault::new(FaultCode::UnknownApproval, "no such approval")
}

impl Approval {
    pub fn standing(&self, now: Timestamp) -> ApprovalStanding {
        let state = if is_over(self, now) { ApprovalState::Expired } else { self.state };
        ApprovalStanding {
            approval_id: self.id.clone(),
            state,
            expires_at: Some(spelled(self.expires_at)),
            reason: self.reason.clone().filter(|_| state.is_settled()),
            url: None,
        }
    }

    /// With the exact call where `whole`.
    pub fn told(&self, now: Timestamp, whole: bool) -> ApprovalTold {
        ApprovalTold {
            approval_id: self.id.clone(),
            state: self.standing(now).state,
            run_id: self.run_id.clone(),
            tool_call_id: self.tool_call_id.clone(),
            attempt: self.attempt,
            tool: self.tool.clone(),
            rule_ids: self.rules.clone(),
            policy_hash: self.policy.clone(),
            requester: self.requester.clone(),
            expires_at: spelled(self.expires_at),
            args_source: whole.then_some(self.source),
            args: whole.then(|| self.args.clone().unwrap_or(Value::Null)),
            binding_digest: whole.then_some(self.binding),
            reason: self.reason.clone(),
        }
    }
}

impl State {
    /// Where an approval stands, for the owner of its run, their gateway, or an operator.
    pub fn standing(&self, who: &Identity, id: &str, now: Timestamp) -> Result<ApprovalStanding, Fault> {
        self.readable(who, id).map(|approval| approval.standing(now))
    }

    /// The approval with its exact call, for the same.
    pub fn told(&self, who: &Identity, id: &str, now: Timestamp) -> Result<ApprovalTold, Fault> {
        self.readable(who, id).map(|approval| approval.told(now, true))
    }

    /// A page of what they may read, by name.
    pub fn page(&self, who: &Identity, of: &ApprovalList, now: Timestamp) -> ApprovalPage {
        const MOST: u64 = 1000;
        let limit = usize::try_from(of.limit.unwrap_or(MOST).clamp(1, MOST)).unwrap_or(1);
        let after = of.cursor.as_ref().map_or("", Id::as_str);
        let state = of.state.as_ref().map(Id::as_str);
        let found = self
            .approvals()
            .filter(|approval| approval.id.as_str() > after && reads(who, approval))
            .filter(|approval| of.run_id.as_ref().is_none_or(|run| run.as_str() == approval.run_id))
            .filter(|approval| state.is_none_or(|state| approval.standing(now).state.as_str() == state));
        let mut approvals: Vec<_> = found.take(limit + 1).map(|approval| approval.told(now, false)).collect();
        let more = approvals.len() > limit;
        approvals.truncate(limit);
        let next_cursor = approvals.last().filter(|_| more).map(|last| last.approval_id.clone());
        ApprovalPage { approvals, next_cursor }
    }

    fn readable(&self, who: &Identity, id: &str) -> Result<&Approval, Fault> {
        self.approval(id).filter(|approval| reads(who, approval)).ok_or_else(unknown)
    }
}

fn reads(who: &Identity, approval: &Approval) -> bool {
    approval.tenant == who.tenant
        && (who.operator || approval.requester == who.name || approval.via.as_ref() == Some(&who.name))
}

impl At<'_> {
    /// The arguments of a decided call, as they were kept.
    fn kept(&self, open: &Open, committed: Commitment) -> Result<Value<'static>, Fault> {
        let lost = || Fault::new(FaultCode::Unavailable, "the call's arguments are gone");
        let args = open.args.clone().ok_or_else(lost)?;
        let digest: Digest = arguments_digest(&open.tool, &args)?;
        if Commitment::of(&self.house.secrets.salt(&open.decision_id), &digest) == committed {
            Ok(args)
        } else {
            Err(lost())
        }
    }
}
