//! A mandate's log read by somebody who was not there: every entry is judged again by the rules that made it, from what
//! the entries before it say. The first that does not follow ends the reading.

mod asking;
mod judging;
mod paying;

use crate::action::HashedAction;
use crate::authorization::AuthorizationDigest;
use crate::engine::{Judged, SignatureForm};
use crate::issue::Vault;
use crate::log::{
    Event, Fact, LogHead, Phase, RunId, RunStarted, ShownLimits, Updated, VerificationCompleted,
};
use crate::receipt::{Entries, Receipt, Settlement, Told};
use crate::report::Verified;
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::text::{Ed25519Key, Text, TxHash};
use crate::time::Millis;
use crate::{Hashed, Mandate, evolve, log};
use canon::Digest;
use ledger::{Entry, Fault, Head};
use std::collections::{BTreeMap, BTreeSet};

/// Why an entry does not follow; the code of the [`Fault`] at `entry N`.
type Check<T = ()> = Result<T, &'static str>;

/// What the entries read so far come to.
#[derive(Debug, Default)]
pub struct Replay {
    state: State,
    /// The hash of entry n, at n - 1.
    hashes: Vec<Digest>,
    /// The last proposal of each run.
    cases: BTreeMap<RunId, Case>,
    evidence: Option<VerificationCompleted>,
    started: bool,
    last: Option<Last>,
    /// The last entry of each run, and whether it had finished by then.
    runs: BTreeMap<RunId, LogHead>,
    proposals: BTreeMap<Digest, Proposed>,
    decided: BTreeMap<Option<Digest>, Decided>,
    briefs: BTreeSet<Digest>,
    /// Who signed for each report that was judged by, at its judgement's entry; and for another number, at its denial's.
    reports: Vec<(u64, Vec<Ed25519Key>)>,
    built: Vec<Release>,
    /// Confirmed releases, in the order they were confirmed.
    settled: Vec<(AuthorizationDigest, Settlement)>,
    /// The receipt that is looked for, and what the log gives.
    wanted: Option<Entries>,
    receipt: Option<Hashed<Receipt>>,
}

/// A proposal whose judgement follows.
#[derive(Debug, Clone)]
struct Case {
    action: Option<HashedAction>,
    signature: Option<Text<0, 256>>,
    form: Option<SignatureForm>,
    /// Whether it has not been judged yet.
    fresh: bool,
}

/// The judgement the next entries follow from.
#[derive(Debug, Clone)]
struct Last {
    run: RunId,
    phase: Phase,
    judged: Judged,
    snapshot: Snapshot,
    registry_tx: Option<Text<1, 100>>,
}

#[derive(Debug, Clone)]
struct Proposed {
    seq: u64,
    run: RunId,
    action: Option<HashedAction>,
    signature: Option<Text<0, 256>>,
}

/// The last judgement of an action that needed nothing more.
#[derive(Debug, Clone)]
struct Decided {
    seq: u64,
    evaluation: crate::Evaluation,
    verification: Option<(Digest, Verified, Option<Text<1, 100>>)>,
    mandate: Hashed<Mandate>,
    vault: Vault,
}

/// A release that was built, and the head of this log that it commits to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    pub digest: AuthorizationDigest,
    pub log_head: LogHead,
    pub tx_hash: TxHash,
}

impl Replay {
    /// A reading that also recomputes one receipt, by the entries that it names.
    pub fn looking_for(wanted: Entries) -> Self {
        Self { wanted: Some(wanted), ..Self::default() }
    }

    /// Reads the next entry. Its number, link and hash must have been checked.
    pub fn read(&mut self, entry: &Entry) -> Result<(), Fault> {
        let fault = |code| Fault::new(code, format!("entry {}", entry.seq));
        let (event, seq) = Event::read(&entry.bytes).ok_or_else(|| fault("bad_event"))?;
        if seq != entry.seq {
            return Err(fault("bad_number"));
        }
        self.check(&event).map_err(fault)?;
        self.fold(&event, entry);
        Ok(())
    }

    /// The mandate in force, if one was ever anchored.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The head of a run, where the log has it.
    pub fn run(&self, run: &RunId) -> Option<LogHead> {
        self.runs.get(run).copied()
    }

    /// Whether this is a place of the log.
    pub fn has(&self, head: &LogHead) -> bool {
        let at = head.seq.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.hashes.get(at)) == Some(&head.hash)
    }

    /// The receipt that was looked for, as the log gives it.
    pub const fn receipt(&self) -> Option<&Hashed<Receipt>> {
        self.receipt.as_ref()
    }

    /// The mandate with this hash, if something was decided under it.
    pub fn mandate_named(&self, hash: &Digest) -> Option<Hashed<Mandate>> {
        let mut decided = self.decided.values().map(|decided| &decided.mandate);
        decided.find(|mandate| mandate.hash() == *hash).cloned()
    }

    /// Whether somebody was shown this brief.
    pub fn showed(&self, brief: &Digest) -> bool {
        self.briefs.contains(brief)
    }

    /// The entries whose judgement rests on a report, and the keys that signed for it.
    pub fn reports(&self) -> impl Iterator<Item = (u64, &[Ed25519Key])> {
        self.reports.iter().map(|(seq, keys)| (*seq, keys.as_slice()))
    }

    pub fn release(&self, tx_hash: &TxHash) -> Option<&Release> {
        self.built.iter().find(|built| built.tx_hash == *tx_hash)
    }

    /// The first settled release that commits to a head at or after `seq` (spec 1.12, `anchor`).
    pub fn covers(&self, seq: u64) -> Option<&Release> {
        self.settled
            .iter()
            .filter_map(|(_, settlement)| self.release(&settlement.tx_hash))
            .find(|release| release.log_head.seq >= seq)
    }

    fn check(&mut self, event: &Event) -> Check {
        let now = Millis::try_from(event.at).map_err(|_| "bad_time")?;
        if let Fact::MandateUpdated(updated) = &event.fact {
            own(event)?;
            return self.updated(updated);
        }
        if self.state.anchored.is_none() {
            return Err("no_mandate");
        }
        match &event.fact {
            Fact::MandateUpdated(_) => Ok(()),
            Fact::MandateRevoked { version } => own(event).and_then(|()| self.revoked(*version)),
            Fact::MandatePaused { .. } => own(event).and_then(|()| hold(!self.state.paused, "bad_pause")),
            Fact::MandateResumed {} => own(event).and_then(|()| hold(self.state.paused, "bad_pause")),
            Fact::RunStarted(started) => self.run_started(event, started),
            Fact::RunCompleted {} => self.running(&event.run_id),
            Fact::ActionProposed(proposed) => self.proposed(event, proposed),
            Fact::AuthorityEvaluationStarted {} => Ok(()),
            Fact::AuthorityEvaluated(data) => self.evaluated(event, data, now),
            Fact::CREVerificationStarted { invoice_id } => self.verifying(event, invoice_id),
            Fact::CREVerificationCompleted(completed) => hold(completed.evidence.is_sound(), "bad_statement"),
            Fact::ActionDenied { evidence, layer, reason } => {
                self.denied(event, *layer, *reason)?;
                evidence.as_ref().map_or(Ok(()), |evidence| self.differs(*reason, evidence))
            }
            Fact::BondRequired { approval_id, price } => self.priced(event, approval_id, price, now),
            Fact::BondLocked(locked) => self.locked(locked),
            Fact::ApprovalRequested(requested) => self.requested(event, requested, now),
            Fact::CFOApproved(approved) => self.approved(event, approved),
            Fact::CFODeclined(declined) => self.declined(event, declined),
            Fact::BondRefunded { approval_id, reason, .. } => self.refunded(approval_id, *reason),
            Fact::BondCaptured { approval_id, .. } => self.bond(approval_id).map(|_| ()),
            Fact::BondUnknown { approval_id } => self.spent(approval_id),
            Fact::AuthorizationIssued(issued) => self.issued(event, issued, now),
            Fact::TransactionBuilt(built) => self.built(built),
            Fact::TransactionSubmitted { digest, .. } | Fact::SettlementUnknown { digest } => {
                self.execution(digest)
            }
            Fact::TransactionRejected(rejected) => self.rejected(rejected, now),
            Fact::TransactionConfirmed { digest, tx_hash, .. } => self.confirmed(digest, tx_hash),
            Fact::AuthorizationDrafted { approval_id, digest, fields } => {
                self.drafted(approval_id, digest, fields, now)
            }
            Fact::ApprovalClosed { approval_id, reason } => self.closed(approval_id, *reason),
            Fact::ApprovalExpired { approval_id } => self.expired(approval_id, now),
            Fact::ActionDelayed { action_hash, since_ms, until_ms } => {
                self.delayed(event, action_hash, *since_ms, *until_ms, now)
            }
            Fact::DelayVetoed { action_hash, signed } => self.vetoed(event, action_hash, signed),
        }
    }

    /// What the entry changes, once it is known to follow.
    fn fold(&mut self, event: &Event, entry: &Entry) {
        let (seq, hash) = (entry.seq, entry.hash);
        self.runs.insert(event.run_id.clone(), LogHead { hash, seq });
        match &event.fact {
            Fact::ActionProposed(proposed) => {
                let (action, signature) = (proposed.action.clone(), proposed.agent_signature.clone());
                let run = event.run_id.clone();
                let case = Case {
                    action: action.clone(),
                    signature: signature.clone(),
                    form: proposed.signature_form,
                    fresh: true,
                };
                self.cases.insert(run.clone(), case);
                (self.evidence, self.last) = (None, None);
                self.proposals.insert(hash, Proposed { seq, run, action, signature });
            }
            Fact::CREVerificationCompleted(completed) => self.evidence = Some(completed.as_ref().clone()),
            Fact::AuthorityEvaluated(data) => self.decide(seq, &event.run_id, data),
            Fact::ActionDenied { evidence: Some(evidence), .. } => {
                let keys = evidence.statements.iter().map(|signed| signed.key).collect();
                self.reports.push((seq, keys));
            }
            Fact::ApprovalRequested(requested) => {
                self.briefs.insert(requested.brief_hash);
            }
            Fact::TransactionBuilt(built) => {
                let (digest, log_head, tx_hash) = (built.digest, built.log_head, built.tx_hash);
                self.built.push(Release { digest, log_head, tx_hash });
            }
            Fact::TransactionConfirmed { block_height, digest, tx_hash } => {
                let chain = self.state.anchored.as_ref().map(|anchored| anchored.vault.network);
                if let Some(chain) = chain {
                    self.settled.retain(|(known, _)| known != digest);
                    let settlement = Settlement { block: *block_height, chain, tx_hash: *tx_hash };
                    self.settled.push((*digest, settlement));
                }
            }
            Fact::SettlementUnknown { digest } => self.settled.retain(|(known, _)| known != digest),
            _ => {}
        }
        self.started = matches!(event.fact, Fact::AuthorityEvaluationStarted {});
        evolve::evolve(&mut self.state, event, Head { seq, hash });
        self.hashes.push(hash);
        if self.wanted.is_some_and(|wanted| wanted.last_event_hash == hash) {
            self.receipt = self.wanted.and_then(|wanted| self.receipt_of(wanted, seq, event));
        }
    }

    fn decide(&mut self, seq: u64, run: &RunId, data: &log::AuthorityEvaluated) {
        let Some((last, anchored)) = self.last.as_ref().zip(self.state.anchored.as_ref()) else { return };
        if let Some(case) = self.cases.get_mut(run).filter(|_| data.phase == Phase::Check) {
            case.fresh = false;
        }
        let evidence = self.evidence.take();
        if data.evaluation.outcome == crate::Outcome::NeedsVerification {
            return;
        }
        let report = last.judged.report.as_ref();
        if let Some(completed) = evidence.as_ref().filter(|_| report.is_some()) {
            let keys = completed.evidence.statements.iter().map(|signed| signed.key).collect();
            self.reports.push((seq, keys));
        }
        let verification = report.map(|report| {
            (report.hash(), report.result, evidence.and_then(|completed| completed.sepolia_tx))
        });
        let decided = Decided {
            seq,
            evaluation: data.evaluation.clone(),
            verification,
            mandate: anchored.mandate.clone(),
            vault: anchored.vault.clone(),
        };
        self.decided.insert(data.evaluation.action_hash, decided);
    }

    /// The receipt from the proposal `first` to this entry, which must be about the same action.
    fn receipt_of(&self, evidence: Entries, seq: u64, event: &Event) -> Option<Hashed<Receipt>> {
        let proposed = self.proposals.get(&evidence.first_event_hash)?;
        let hash = proposed.action.as_ref().map(Hashed::hash);
        let decided = self.decided.get(&hash).filter(|decided| decided.seq > proposed.seq)?;
        let same = event.action_id.as_ref() == proposed.action.as_ref().map(|action| &action.id)
            && event.run_id == proposed.run;
        if !same || seq < decided.seq {
            return None;
        }
        let held = hash.and_then(|hash| self.state.authorization_of(&hash));
        let digest = held.map(|held| held.record.digest_hex);
        let settled = self.settled.iter().find(|(known, _)| Some(*known) == digest);
        let verification = decided.verification.as_ref();
        let told = Told {
            mandate: &decided.mandate,
            anchor: decided.vault.mandate_ref,
            action: proposed.action.as_ref(),
            agent_signature: proposed.signature.as_ref(),
            evaluation: &decided.evaluation,
            verification: verification.map(|(hash, result, tx)| (*hash, *result, tx.as_ref())),
            settlement: settled.map(|(_, settlement)| settlement),
            evidence,
        };
        Receipt::told(&self.state, &told).ok().map(|(receipt, _)| receipt)
    }

    fn updated(&self, updated: &Updated) -> Check {
        let mandate = &updated.mandate;
        hold(mandate.problems().is_empty(), "mandate_rules")?;
        hold(updated.mandate_hash == mandate.hash(), "bad_mandate_hash")?;
        let Some(known) = &self.state.anchored else { return Ok(()) };
        let same = known.mandate.hash() == mandate.hash() && known.revoked.is_none();
        let last = known.revoked.unwrap_or(known.mandate.version);
        hold(known.mandate.id == mandate.id && (same || mandate.version > last), "bad_version")
    }

    fn revoked(&self, version: u32) -> Check {
        let known = self.state.anchored.as_ref().ok_or("no_mandate")?;
        hold(known.revoked.is_none() && version > known.mandate.version, "bad_version")
    }

    fn run_started(&self, event: &Event, started: &RunStarted) -> Check {
        let mandate = self.mandate()?;
        let right = started.agent_public_key == mandate.delegate.public_key.hex()
            && started.engine_public_key == mandate.authority_engine.public_key.hex()
            && started.delegate.as_str() == mandate.delegate.id.as_str()
            && started.principal == mandate.principal.name
            && started.limits == ShownLimits::of(mandate)
            && started.mandate_id == mandate.id
            && started.mandate_version == mandate.version;
        hold(right && self.state.run(&event.run_id).is_none(), "bad_run")
    }

    /// The run has begun and has not finished.
    fn running(&self, run: &RunId) -> Check {
        let run = self.state.run(run).ok_or("bad_run")?;
        hold(!run.finished, "run_finished")
    }

    fn mandate(&self) -> Check<&Hashed<Mandate>> {
        self.state.anchored.as_ref().map(|anchored| &anchored.mandate).ok_or("no_mandate")
    }
}

/// The mandate's own entries are of the run `mandate`.
fn own(event: &Event) -> Check {
    hold(event.run_id.as_str() == "mandate" && event.action_id.is_none(), "bad_run")
}

const fn hold(holds: bool, code: &'static str) -> Check {
    if holds { Ok(()) } else { Err(code) }
}
