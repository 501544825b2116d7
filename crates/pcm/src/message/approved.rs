//! Approvals (spec 4.5): three records of one call in one order, and never a name.

use super::call::{Doubts, View, follows, one};
use super::code::Code;
use super::shelf::{Shelf, Shown};
use crate::approval::bound;
use canon::Value;

/// What somebody approved. Its three records are linked, in order and in time.
#[derive(Debug)]
pub(crate) struct Approval<'s> {
    pub(crate) decision: &'s Shown<'s>,
    pub(crate) request: &'s Shown<'s>,
    pub(crate) answer: &'s Shown<'s>,
    pub(crate) tool: &'s str,
    /// Who: the person the signer's configuration names, or else the identity that answered.
    pub(crate) person: String,
    /// An agent answered.
    pub(crate) agent: bool,
    /// Whoever asked answered too.
    pub(crate) own: bool,
    /// The arguments that were approved, opened in the decision and in the request, the same in both.
    pub(crate) arguments: Option<&'s Value<'static>>,
}

impl<'s> Approval<'s> {
    /// Refused in this order: an answer that is no approval; records of several calls or approvals, out of order, or bound to
    /// something else; an answer that came too late, by break-glass where that is not believed, or was taken back.
    pub(crate) fn find(
        cited: &[&'s Shown<'s>],
        shelf: &Shelf<'_>,
        view: &View<'_>,
        doubts: &mut Doubts,
    ) -> Result<Self, Code> {
        let answer = one(cited, "approval")?;
        if answer.is_some_and(|answer| answer.event.data_text("decision") != Some("approve")) {
            return Err(Code::ApprovalRejected);
        }
        let parts = (one(cited, "policy.decision")?, one(cited, "approval.request")?, answer);
        let (Some(decision), Some(request), Some(answer)) = parts else { return Err(Code::NoEvidence) };
        let tool = linked(decision, request, answer)?;
        if request.event.data_text("expires_at").is_none_or(|end| end <= answer.event.when()) {
            return Err(Code::ApprovalRejected);
        }
        let told = |name| answer.event.data().get(name);
        let set = |name| told(name).and_then(Value::as_bool) == Some(true);
        if set("break_glass") && !view.break_glass || taken_back(request, answer, shelf) {
            return Err(Code::ApprovalRejected);
        }
        if !decision.is_t2() || !attested(answer, view) {
            doubts.push(Code::T1Only);
        }
        let arguments = match (decision.arguments, request.arguments) {
            (Some(one), Some(other)) if canon::to_vec(one).ok() != canon::to_vec(other).ok() => {
                return Err(Code::ApprovalOtherCall);
            }
            (Some(arguments), Some(_)) => Some(arguments),
            _ => {
                doubts.push(Code::NotOpened);
                None
            }
        };
        Ok(Self {
            decision,
            request,
            answer,
            tool,
            person: person(answer),
            agent: told("approver_kind").is_some(),
            own: set("self_approved") || set("same_user"),
            arguments,
        })
    }
}

/// The three belong to one attempt at one call, follow one another, and the request's binding is its own. Gives the tool.
fn linked<'s>(decision: &Shown<'s>, request: &Shown<'s>, answer: &Shown<'s>) -> Result<&'s str, Code> {
    let (d, q, a) = (&decision.event, &request.event, &answer.event);
    let both = |name| {
        let (one, other) = (d.data_text(name), q.data_text(name));
        one.is_some() && one == other
    };
    let approval = q.data_text("approval_id");
    let one_call =
        decision.call().is_some() && decision.call() == request.call() && decision.call() == answer.call();
    let tool = q.data().pointer("/binding/tool").and_then(Value::as_str);
    let good = one_call
        && d.data_text("decision") == Some("ask")
        && both("decision_id")
        && (d.data_text("policy_hash").is_none() || both("policy_hash"))
        && approval.is_some()
        && approval == a.data_text("approval_id")
        && d.position() < q.position()
        && q.position() < a.position()
        && bound(q).is_ok()
        && tool.is_some()
        && tool == d.data_text("tool");
    tool.filter(|_| good).ok_or(Code::ApprovalOtherCall)
}

/// Whether any record shown says that the approval ended before it was used.
fn taken_back(request: &Shown<'_>, answer: &Shown<'_>, shelf: &Shelf<'_>) -> bool {
    let of_it = |shown: &&Shown<'_>| {
        shown.event.data_text("approval_id") == request.event.data_text("approval_id")
            && shown.event.run_id() == request.event.run_id()
            && answer.event.position() < shown.event.position()
    };
    let first = |kinds: &[&str]| {
        let found = shelf
            .iter()
            .map(|(_, shown)| shown)
            .filter(of_it)
            .filter(|shown| kinds.contains(&shown.event.kind()));
        found.map(|shown| shown.event.position()).min()
    };
    let ended = first(&["approval.revoked", "approval.expired", "approval.abandoned"]);
    let used = first(&["approval.consumed"]);
    ended.is_some_and(|ended| used.is_none_or(|used| ended < used))
}

/// The signer knew who answered, or a bridge that the receiver believes vouches for the person.
fn attested(answer: &Shown<'_>, view: &View<'_>) -> bool {
    let data = answer.event.data();
    let yes = |pointer| data.pointer(pointer).and_then(Value::as_bool) == Some(true);
    let text = |pointer| data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let bridge = format!("{}:{}", text("/via/scheme"), text("/via/subject"));
    yes("/approver_identity/attested") || yes("/via/attested") && view.bridges.contains(&bridge)
}

fn person(answer: &Shown<'_>) -> String {
    let data = answer.event.data();
    let text = |pointer| data.pointer(pointer).and_then(Value::as_str);
    let identity = || text("/approver_identity/scheme").zip(text("/approver_identity/subject"));
    match text("/person").or_else(|| text("/approver_identity/person")) {
        Some(person) => person.to_owned(),
        None => identity().map_or_else(
            || text("/approver").unwrap_or_default().to_owned(),
            |(scheme, subject)| format!("{scheme}:{subject}"),
        ),
    }
}

/// What was approved was done: used by its own call, and run by whoever decided it.
pub(crate) fn done(approval: &Approval<'_>, cited: &[&Shown<'_>], doubts: &mut Doubts) -> Result<(), Code> {
    let used = one(cited, "approval.consumed")?.is_some_and(|used| {
        used.event.data_text("approval_id") == approval.request.event.data_text("approval_id")
            && used.call() == approval.decision.call()
            && approval.answer.event.position() < used.event.position()
    });
    let result = one(cited, "tool.result")?.filter(|result| follows(result, approval.decision));
    match result {
        Some(result) if result.event.data().get("ok").and_then(Value::as_bool) != Some(true) => {
            return Err(Code::CallFailed);
        }
        Some(result) if used => {
            if !result.is_t2() {
                doubts.push(Code::T1Only);
            }
        }
        _ => doubts.push(Code::NoEvidence),
    }
    Ok(())
}
