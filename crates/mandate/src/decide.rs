//! Commands to entries and effects. A [`Draft`] folds as it goes, so that each step of one command sees the steps before.

mod approving;
mod checking;
mod gate;
mod settling;

use crate::authorization::AuthorizationDigest;
use crate::command::{Anchor, Command, Observed, Reply, Verification};
use crate::engine::{Inputs, Judged, Proposal, judge_action};
use crate::log::{AuthorityEvaluated, Event, Fact, Phase, RunId, Updated};
use crate::snapshot::Snapshot;
use crate::state::{Anchored, Approval, GRACE_MS, State};
use crate::text::Id;
use crate::time::Millis;
use crate::{HashedAction, Refusal, decision_hash, evolve};
use canon::Digest;
use env::{Env, Timestamp};
use ledger::{Decision, Effect, Head, Pointer};
use std::sync::Arc;

/// The pointer under which every mandate is found.
pub const MANDATES: &str = "mandates";

pub(crate) fn decide(
    state: &State,
    command: &Command,
    env: &mut Env,
) -> Result<Decision<Event, Reply>, Refusal> {
    let mut draft = Draft::on(state, env)?;
    if let Command::Anchor(anchor) = command {
        let reply = self::anchor(&mut draft, anchor)?;
        return Ok(draft.done(reply));
    }
    draft.anchored()?;
    if state.paused && !works_while_paused(command) {
        return Err(Refusal::Paused);
    }
    let reply = match command {
        Command::Anchor(_) => Reply::Done,
        Command::Revoke { version } => revoke(&mut draft, *version)?,
        Command::Check(check) => checking::check(&mut draft, check)?,
        Command::Draft(command) => approving::draft(&mut draft, command)?,
        Command::Approve(approve) => approving::approve(&mut draft, approve)?,
        Command::Decline(decline) => approving::decline(&mut draft, decline)?,
        Command::Veto(veto) => approving::veto(&mut draft, veto)?,
        Command::Execution { digest, what } => settling::execution(&mut draft, digest, what)?,
        Command::BondSpent { approval_id, how } => settling::bond_spent(&mut draft, approval_id, how)?,
        Command::FinishRun { run } => finish(&mut draft, run)?,
        Command::Pause { reason } => {
            if state.paused {
                return Err(Refusal::Paused);
            }
            draft.push(Fact::MandatePaused { reason: reason.clone() });
            Reply::Done
        }
        Command::Resume => {
            if !state.paused {
                return Err(Refusal::NotPaused);
            }
            draft.push(Fact::MandateResumed {});
            Reply::Done
        }
        Command::Tick => settling::tick(&mut draft),
    };
    Ok(draft.done(reply))
}

/// What a pause does not stop: ending it, recording what the chain did, giving bonds back, saying no.
const fn works_while_paused(command: &Command) -> bool {
    matches!(
        command,
        Command::Resume
            | Command::Revoke { .. }
            | Command::Decline(_)
            | Command::Veto(_)
            | Command::Execution { .. }
            | Command::BondSpent { .. }
            | Command::FinishRun { .. }
            | Command::Tick
    )
}

/// What finds this mandate: the list of all, and for each approval that waits the inbox of the approver it was priced for.
pub(crate) fn pointers(state: &State) -> Vec<(String, String)> {
    let Some(anchored) = state.anchored() else { return Vec::new() };
    let id = &anchored.mandate.id;
    let listed =
        |approval: &&Approval| anchored.mandate.approver(&approval.price.approver_key_hash).is_some();
    let waiting = state.pending().filter(listed);
    let inboxes = waiting.map(|approval| {
        let key = format!("inbox/key/{}", approval.price.approver_key_hash);
        (key, format!("{id}:{}", approval.price.approval_id))
    });
    std::iter::once((MANDATES.to_owned(), id.to_string())).chain(inboxes).collect()
}

/// A decision in the making.
pub(crate) struct Draft<'a> {
    pub state: State,
    pub env: &'a mut Env,
    pub now: Millis,
    at: Timestamp,
    /// What the entries are about.
    pub run: RunId,
    pub action_id: Option<Id>,
    events: Vec<Event>,
    effects: Vec<Effect>,
    pointers: Vec<Pointer>,
}

impl<'a> Draft<'a> {
    fn on(state: &State, env: &'a mut Env) -> Result<Self, Refusal> {
        let at = env.now().to_millis();
        let now = Millis::try_from(at).map_err(|error| Refusal::Bug(error.to_string()))?;
        let run =
            "mandate".parse().map_err(|error: crate::text::TextError| Refusal::Bug(error.to_string()))?;
        Ok(Self {
            state: state.clone(),
            env,
            now,
            at,
            run,
            action_id: None,
            events: Vec::new(),
            effects: Vec::new(),
            pointers: Vec::new(),
        })
    }

    /// Records a fact and folds it. Its hash is the journal's to make; nothing here depends on it.
    pub fn push(&mut self, fact: Fact) {
        let event = Event { run_id: self.run.clone(), action_id: self.action_id.clone(), at: self.at, fact };
        let head = self.state.head();
        let next = Head { seq: head.seq.saturating_add(1), hash: Digest::ZERO };
        evolve::evolve(&mut self.state, &event, next);
        self.events.push(event);
    }

    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Wakes the stream at an instant.
    pub fn wake(&mut self, at: Millis) {
        if let Some(stream) = self.stream() {
            self.effects.push(Effect::Wake { stream, at: at.timestamp() });
        }
    }

    /// Looks again when this authorization is over; of several that are out, one wake is enough, for a tick sees to the
    /// next.
    pub fn watch(&mut self, valid_until: Millis) {
        if self.state.unsettled.len() <= 1 {
            self.wake(valid_until.plus(GRACE_MS + 1));
        }
    }

    /// Asks the rail to release what an authorization allows. Asking twice releases it once: its nonce is spent once.
    pub fn release(&mut self, digest: &AuthorizationDigest) {
        self.submit(format!(r#"{{"digest":"{digest}","kind":"release"}}"#));
    }

    /// Asks the rail to do something with the mandate, in its own words.
    pub fn submit(&mut self, body: String) {
        self.effects.push(Effect::Submit { rail: "mandate".to_owned(), body });
    }

    /// Puts an approval into the approvers' inboxes.
    pub fn list(&mut self, approval: &Approval) {
        let found = self.inboxes(approval).into_iter();
        self.pointers.extend(found.map(|(key, item)| Pointer::Set { key, item }));
    }

    /// Takes it out again.
    pub fn clear(&mut self, approval: &Approval) {
        let found = self.inboxes(approval).into_iter();
        self.pointers.extend(found.map(|(key, item)| Pointer::Clear { key, item }));
    }

    /// An inbox is found by an approver's key; its lines name the mandate and the approval.
    fn inboxes(&self, approval: &Approval) -> Vec<(String, String)> {
        let Some(anchored) = self.state.anchored() else { return Vec::new() };
        let item = format!("{}:{}", anchored.mandate.id, approval.price.approval_id);
        let keys = anchored.mandate.approvers.iter().map(|approver| approver.cardano_key_hash);
        keys.map(|key| (format!("inbox/key/{key}"), item.clone())).collect()
    }

    pub fn stream(&self) -> Option<String> {
        self.state.anchored().map(|anchored| format!("mandate/{}", anchored.mandate.id))
    }

    pub fn anchored(&self) -> Result<Arc<Anchored>, Refusal> {
        self.state.anchored.clone().ok_or(Refusal::MandateUnknown)
    }

    /// Judges an action now, by what was read from chain and what this stream counts.
    pub fn judge(
        &self,
        proposal: Proposal<'_>,
        action: Option<HashedAction>,
        observed: &Observed,
        verification: &Verification,
    ) -> Result<(Judged, Snapshot), Refusal> {
        let anchored = self.anchored()?;
        observed.check(&anchored, &self.state)?;
        let hash = action.as_ref().map(HashedAction::hash);
        let state = self.state.snapshot(observed, self.now, hash.as_ref());
        let evidence = match verification {
            Verification::Reported { evidence, .. } => Some(evidence),
            _ => None,
        };
        let inputs = Inputs { mandate: &anchored.mandate, proposal, state: &state, evidence, now: self.now };
        let judged = judge_action(&inputs, action);
        Ok((judged, state))
    }

    /// Records a judgement.
    pub fn record(&mut self, judged: &Judged, state: Snapshot, phase: Phase) {
        let evaluation = judged.evaluation.clone();
        self.push(Fact::AuthorityEvaluationStarted {});
        let decision_hash = hash_of(judged);
        self.push(Fact::AuthorityEvaluated(Box::new(AuthorityEvaluated {
            decision_hash,
            evaluation,
            phase,
            state,
        })));
    }

    fn done(self, answer: Reply) -> Decision<Event, Reply> {
        Decision { events: self.events, effects: self.effects, pointers: self.pointers, answer }
    }
}

pub(crate) fn hash_of(judged: &Judged) -> Digest {
    let evaluation = &judged.evaluation;
    decision_hash(
        evaluation.action_hash,
        Some(evaluation.mandate_hash),
        evaluation.verification_hash,
        evaluation.outcome,
    )
}

/// A mandate that its anchor names. The version must grow, and the mandate's own id never changes.
fn anchor(draft: &mut Draft<'_>, anchor: &Anchor) -> Result<Reply, Refusal> {
    let mandate = &anchor.mandate;
    let problems = mandate.problems();
    if !problems.is_empty() {
        return Err(Refusal::MandateRules { problems });
    }
    if anchor.observed.mandate_hash != mandate.hash() || anchor.observed.anchor_version != mandate.version {
        return Err(Refusal::AnchorDiffers);
    }
    let listed = |key| anchor.observed.approvers.contains(key);
    if !mandate.approvers.iter().all(|approver| listed(&approver.cardano_key_hash)) {
        return Err(Refusal::AnchorDiffers);
    }
    if let Some(known) = draft.state.anchored() {
        let same = known.mandate.hash() == mandate.hash() && known.revoked.is_none();
        let nothing_new = known.vault == anchor.vault
            && known.tariff == anchor.tariff
            && known.vault_name == anchor.vault_name;
        if same && nothing_new {
            return Ok(Reply::Anchored { hash: mandate.hash(), version: mandate.version });
        }
        // A revocation has a version of its own, which a new mandate must exceed.
        let last = known.revoked.unwrap_or(known.mandate.version);
        if known.mandate.id != mandate.id || (!same && mandate.version <= last) {
            return Err(Refusal::VersionMustGrow { known: last });
        }
    }
    let item = mandate.id.to_string();
    draft.pointers.push(Pointer::Set { key: MANDATES.to_owned(), item });
    draft.push(Fact::MandateUpdated(Box::new(Updated {
        mandate: mandate.clone(),
        mandate_hash: mandate.hash(),
        tariff: anchor.tariff.clone(),
        vault: anchor.vault.clone(),
        vault_name: anchor.vault_name.clone(),
    })));
    Ok(Reply::Anchored { hash: mandate.hash(), version: mandate.version })
}

fn revoke(draft: &mut Draft<'_>, version: u32) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    if anchored.revoked.is_some() {
        return Ok(Reply::Done);
    }
    if version <= anchored.mandate.version {
        return Err(Refusal::VersionMustGrow { known: anchored.mandate.version });
    }
    draft.push(Fact::MandateRevoked { version });
    Ok(Reply::Done)
}

fn finish(draft: &mut Draft<'_>, run: &RunId) -> Result<Reply, Refusal> {
    match draft.state.run(run) {
        None => Err(Refusal::RunUnknown),
        Some(found) if found.finished => Ok(Reply::Done),
        Some(_) => {
            draft.run = run.clone();
            draft.push(Fact::RunCompleted {});
            Ok(Reply::Done)
        }
    }
}
