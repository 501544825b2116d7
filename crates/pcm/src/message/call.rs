//! What the cited records say of one call: who decided it, who ran it, with what and with what result (spec 4.4).

use super::code::Code;
use super::shelf::Shown;
use super::tools::{Class, Registry, Tool};
use super::wire::Sender;
use crate::strict;
use canon::Value;

/// Whom to believe in what, on either side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'v> {
    pub(crate) from: &'v Sender,
    /// `None` where another registry was agreed.
    pub(crate) registry: Option<&'static Registry>,
    /// How many records the log has at the checkpoint.
    pub(crate) size: u64,
    pub(crate) bridges: &'v [String],
    pub(crate) break_glass: bool,
}

/// Why a claim is not proven, as far as nothing contradicts it. The first counts.
pub(crate) type Doubts = Vec<Code>;

/// A call. What contradicts a claim about it was refused when it was put together; what is missing is among the doubts.
#[derive(Debug)]
pub(crate) struct Call<'s> {
    pub(crate) decision: &'s Shown<'s>,
    pub(crate) result: Option<&'s Shown<'s>>,
    /// The opened arguments.
    pub(crate) arguments: Option<&'s Value<'static>>,
    /// The opened content, unless something of it was redacted.
    pub(crate) content: Option<&'s Value<'static>>,
    pub(crate) tool: Option<&'s str>,
}

/// What a call is claimed to have been.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// By its name, or by what it does.
    pub(crate) tool: Option<&'w str>,
    pub(crate) classes: &'w [Class],
    /// Whether it is claimed to have succeeded.
    pub(crate) ok: bool,
    /// Whether its result is claimed.
    pub(crate) content: bool,
}

impl<'s> Call<'s> {
    pub(crate) fn find(
        cited: &[&'s Shown<'s>],
        wanted: Wanted<'_>,
        view: &View<'_>,
        doubts: &mut Doubts,
    ) -> Result<Self, Code> {
        let decision = Self::decision(cited, view)?;
        let result = one(cited, "tool.result")?.filter(|result| follows(result, decision));
        let call = Self {
            decision,
            result,
            arguments: decision.arguments,
            content: result.and_then(|result| result.content),
            tool: decision.event.data_text("tool"),
        };
        call.contradictions(cited, wanted)?;
        call.weigh(cited, wanted, view, doubts);
        Ok(call)
    }

    /// The one decision among the records. Refused: a record of another run, a decision for another agent.
    pub(crate) fn decision(cited: &[&'s Shown<'s>], view: &View<'_>) -> Result<&'s Shown<'s>, Code> {
        if cited.iter().any(|shown| !shown.is_of(view.from)) {
            return Err(Code::WrongRun);
        }
        let decision = match one(cited, "policy.decision")? {
            Some(decision) => decision,
            // Without a decision there is at most the agent's own report of a call.
            None => return Err(if cited.is_empty() { Code::NoEvidence } else { lone(cited) }),
        };
        let caller = decision.event.data_text("caller");
        if caller.is_some_and(|caller| caller != view.from.agent) {
            return Err(Code::WrongRun);
        }
        Ok(decision)
    }

    /// What any tier may say against it.
    fn contradictions(&self, cited: &[&Shown<'_>], wanted: Wanted<'_>) -> Result<(), Code> {
        if self.decision.event.data_text("decision") == Some("deny") {
            return Err(Code::CallDenied);
        }
        if let (Some(wanted), Some(found)) = (wanted.tool, self.tool)
            && wanted != found
        {
            return Err(Code::ArgsDiffer);
        }
        let rejected = cited.iter().any(|shown| {
            shown.event.kind() == "approval"
                && shown.call() == self.decision.call()
                && shown.event.data_text("decision") != Some("approve")
        });
        if rejected {
            return Err(Code::ApprovalRejected);
        }
        let failed =
            |result: &Shown<'_>| result.event.data().get("ok").and_then(Value::as_bool) != Some(true);
        if wanted.ok && self.result.is_some_and(failed) {
            return Err(Code::CallFailed);
        }
        Ok(())
    }

    /// What is missing.
    fn weigh(&self, cited: &[&Shown<'_>], wanted: Wanted<'_>, view: &View<'_>, doubts: &mut Doubts) {
        let Some(result) = self.result else { return doubts.push(Code::NoEvidence) };
        let gateway = |shown: &Shown<'_>| shown.event.data_text("via").map(str::to_owned);
        if !self.decision.is_t2() || !result.is_t2() || gateway(self.decision) != gateway(result) {
            doubts.push(Code::T1Only);
        }
        let used = |shown: &&Shown<'_>| {
            shown.event.kind() == "approval.consumed" && shown.call() == self.decision.call()
        };
        if self.decision.event.data_text("decision") == Some("ask") && !cited.iter().any(used)
        {
            doubts.push(Code::NoEvidence);
        }
        if self.tool.is_none() || self.arguments.is_none() {
            doubts.push(Code::NotOpened);
        }
        if !wanted.classes.is_empty()
            && !self.described(view).is_some_and(|tool| wanted.classes.contains(&tool.class))
        {
            doubts.push(Code::UnknownTool);
        }
        if wanted.content {
            if redacted(result) {
                doubts.push(Code::Redacted);
            }
            if self.content.is_none() {
                doubts.push(Code::NotOpened);
            }
        }
        if cited.iter().any(|shown| shown.is_gap()) {
            doubts.push(Code::GapInRun);
        }
    }

    /// What the agreed registry says of its tool.
    pub(crate) fn described(&self, view: &View<'_>) -> Option<&'static Tool> {
        view.registry?.tool(self.tool?)
    }
}

/// The claimed members are among the opened arguments, each the same. What has no one reading is doubted.
pub(crate) fn agrees(claimed: &Value<'_>, opened: &Value<'_>, doubts: &mut Doubts) -> Result<(), Code> {
    let members = claimed.as_object().map(|object| object.iter().collect::<Vec<_>>()).unwrap_or_default();
    for (name, value) in members {
        let found = opened.get(name).ok_or(Code::ArgsDiffer)?;
        if !same(value, found, doubts) {
            return Err(Code::ArgsDiffer);
        }
    }
    Ok(())
}

/// Equal in canonical form. True, and a doubt, where one of them has no one reading.
pub(crate) fn same(one: &Value<'_>, other: &Value<'_>, doubts: &mut Doubts) -> bool {
    if let Err(ambiguous) = strict::value(one).and_then(|()| strict::value(other)) {
        doubts.push(ambiguous.into());
        return true;
    }
    matches!((canon::to_vec(one), canon::to_vec(other)), (Ok(one), Ok(other)) if one == other)
}

/// The one record of a type; several of them single out nothing.
pub(crate) fn one<'s>(cited: &[&'s Shown<'s>], kind: &str) -> Result<Option<&'s Shown<'s>>, Code> {
    let mut found = cited.iter().filter(|shown| shown.event.kind() == kind);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Code::CoarseEvidence),
        (found, None) => Ok(found.copied()),
    }
}

/// Whether the result is of the call that was decided, and later.
pub(crate) fn follows(result: &Shown<'_>, decision: &Shown<'_>) -> bool {
    let linked = result.event.data_text("decision_id");
    linked.is_some()
        && linked == decision.event.data_text("decision_id")
        && result.call() == decision.call()
        && decision.event.position() < result.event.position()
}

fn redacted(result: &Shown<'_>) -> bool {
    let data = result.event.data();
    data.pointer("/output/redacted").and_then(Value::as_bool) == Some(true)
        || data.pointer("/redaction/count").and_then(Value::as_u64).is_some_and(|count| count > 0)
}

/// Records without a decision: a failed result still contradicts, the rest is the agent's own word or beside the point.
fn lone(cited: &[&Shown<'_>]) -> Code {
    let failed = |shown: &&&Shown<'_>| {
        shown.event.kind() == "tool.result"
            && shown.event.data().get("ok").and_then(Value::as_bool) == Some(false)
    };
    if cited.iter().any(|shown| failed(&shown)) {
        return Code::CallFailed;
    }
    let told = |shown: &Shown<'_>| {
        matches!(shown.event.kind(), "tool.call" | "tool.result" | "model.message" | "ext")
    };
    if cited.iter().any(|shown| told(shown)) { Code::T1Only } else { Code::NoEvidence }
}
