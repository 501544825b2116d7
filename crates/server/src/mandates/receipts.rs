//! Receipts (spec 1.12). A receipt is what the log says up to one entry, so it is made again whenever it is asked for, and is
//! always the same. It is called after that entry: `R-<number>-<mandate>`.

use super::{Known, Refused, bug, mandate_stream};
use crate::App;
use canon::Digest;
use ledger::{Aggregate, Entry, Head};
use mandate::authorization::{AuthorizationDigest, Record};
use mandate::command::{Check, Checked, Verification};
use mandate::log::{AuthorityEvaluated, Event, Fact, Phase, RunId};
use mandate::receipt::{Entries, Settlement, Told as Parts};
use mandate::report::Verified;
use mandate::text::{Id, Text};
use mandate::{Authority, Evaluation, Hashed, HashedAction, Mandate, Receipt, Report, State};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The receipts made last.
#[derive(Debug, Default)]
pub(crate) struct Receipts(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    made: HashMap<String, Arc<Made>>,
    order: VecDeque<String>,
}

/// A receipt with what is shown beside it.
#[derive(Debug)]
pub(crate) struct Made {
    pub receipt: Hashed<Receipt>,
    pub authorization: Option<Record>,
    pub mandate: Hashed<Mandate>,
    pub run: RunId,
}

/// How many are kept.
const KEPT: usize = 4096;
/// Entries read at a time.
const PAGE: usize = 512;
/// A proposal that is no action, and what is decided of it, are at most so many entries.
const UNREAD: u64 = 16;

impl Receipts {
    fn of(&self, id: &str) -> Option<Arc<Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).made.get(id).cloned()
    }

    fn keep(&self, id: &str, made: Arc<Made>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.made.insert(id.to_owned(), made).is_none() {
            last.order.push_back(id.to_owned());
        }
        if last.order.len() > KEPT
            && let Some(oldest) = last.order.pop_front()
        {
            last.made.remove(&oldest);
        }
    }
}

impl App {
    /// The receipt of a check's decision: its name and hash.
    pub(crate) async fn receipt_of(
        &self,
        known: &Known,
        checked: &Checked,
        check: &Check,
    ) -> Result<(String, Digest), Refused> {
        let mandate = &known.anchored.mandate;
        let evaluation = &checked.evaluation;
        let entries = match evaluation.action_hash {
            // What is no action is never decided twice.
            None => known.state.last_proposal().map(|first| (first, known.head, true)),
            Some(hash) => known.state.decision(&hash).map(|decided| {
                let made = decided.last == known.head && decided.at == evaluation.evaluated_at_ms;
                (decided.first, decided.last, made)
            }),
        };
        let (first, last, made_now) = entries.ok_or_else(|| bug("a decision is not in the log"))?;
        let id = name(last.seq, &mandate.id);
        if !made_now {
            return Ok((id.clone(), self.receipt(&id).await?.receipt.hash()));
        }
        let action = HashedAction::read(&check.action).ok();
        let made = compose(&Said {
            state: &known.state,
            mandate,
            action: action.as_ref(),
            agent_signature: check.agent_signature.as_ref(),
            evaluation,
            verification: used(evaluation, &check.verification),
            settlement: None,
            evidence: Entries { first_event_hash: first.hash, last_event_hash: last.hash },
            run: &checked.run,
        })?;
        let hash = made.receipt.hash();
        self.mandates()?.receipts.keep(&id, Arc::new(made));
        Ok((id, hash))
    }

    /// A receipt by its name.
    pub(crate) async fn receipt(&self, id: &str) -> Result<Arc<Made>, Refused> {
        let missing = || Refused::missing("receipt_unknown", "no such receipt");
        if let Some(made) = self.mandates()?.receipts.of(id) {
            return Ok(made);
        }
        let (seq, mandate) =
            id.strip_prefix("R-").and_then(|rest| rest.split_once('-')).ok_or_else(missing)?;
        let seq: u64 = seq.parse().map_err(|_| missing())?;
        let mandate: Id = mandate.parse().map_err(|_| missing())?;
        if name(seq, &mandate) != id {
            return Err(missing());
        }
        let made = self.told_again(&mandate, seq).await?.ok_or_else(missing)?;
        let made = Arc::new(made);
        self.mandates()?.receipts.keep(id, Arc::clone(&made));
        Ok(made)
    }

    /// Makes the receipt that ends at an entry, if one does: from the entries about its action, and the version that was in
    /// force.
    async fn told_again(&self, mandate: &Id, seq: u64) -> Result<Option<Made>, Refused> {
        let stream = mandate_stream(mandate)?;
        let Some(known) = self.mandate_at(stream.clone()).await? else { return Ok(None) };
        let entry = async |seq: u64| self.journal().read(&stream, seq.saturating_sub(1), 1).await;
        let Some(last) = entry(seq).await?.pop() else { return Ok(None) };
        let action = opened(&last)?.action_id;
        let begun = match &action {
            Some(action) => known.state.begun(action),
            None => Some(seq.saturating_sub(UNREAD).max(1)),
        };
        let Some(begun) = begun.filter(|begun| *begun <= seq) else { return Ok(None) };
        let Some(version) = known.state.version_at(begun) else { return Ok(None) };
        let mut told = Told::new();
        for entry in entry(version).await? {
            told.read(&entry, opened(&entry)?);
        }
        let mut at = begun.saturating_sub(1);
        while at < seq {
            let left = usize::try_from(seq.saturating_sub(at)).unwrap_or(PAGE);
            for entry in self.journal().read(&stream, at, left.min(PAGE)).await? {
                at = entry.seq;
                let event = opened(&entry)?;
                if event.action_id == action || matches!(event.fact, Fact::MandateUpdated(_)) {
                    told.read(&entry, event);
                }
            }
        }
        told.receipt()
    }
}

/// An entry of the store, whose place the store vouches for.
fn opened(entry: &Entry) -> Result<Event, Refused> {
    let prev = Head { seq: entry.seq.saturating_sub(1), hash: entry.prev };
    Authority::open(entry, prev).map_err(bug)
}

/// `R-<number>-<mandate>`.
pub(crate) fn name(seq: u64, mandate: &Id) -> String {
    format!("R-{seq}-{mandate}")
}

/// Entries of the log, as far as receipts tell them.
struct Told {
    head: Head,
    state: State,
    mandates: HashMap<Digest, Hashed<Mandate>>,
    proposed: Proposed,
    reports: HashMap<Digest, (Verified, Option<Text<1, 100>>)>,
    actions: HashMap<Digest, Judged>,
    issued: HashMap<AuthorizationDigest, (Judged, Head)>,
    /// What the last entry ends.
    ends: Option<Ends>,
}

#[derive(Clone, Default)]
struct Proposed {
    action: Option<HashedAction>,
    agent_signature: Option<Text<0, 256>>,
}

#[derive(Clone)]
struct Judged {
    proposed: Proposed,
    evaluation: Evaluation,
    run: RunId,
}

enum Ends {
    /// A decision about what is no action.
    Unread(Box<Judged>),
    Decision(Digest),
    Settlement(AuthorizationDigest, Settlement),
}

impl Told {
    fn new() -> Self {
        Self {
            head: Head::EMPTY,
            state: State::default(),
            mandates: HashMap::new(),
            proposed: Proposed::default(),
            reports: HashMap::new(),
            actions: HashMap::new(),
            issued: HashMap::new(),
            ends: None,
        }
    }

    /// The next entry.
    fn read(&mut self, entry: &Entry, event: Event) {
        self.head = Head { seq: entry.seq, hash: entry.hash };
        Authority::evolve(&mut self.state, &event, self.head);
        self.fold(event.run_id, &event.fact);
    }

    /// Folds an entry that the state has been folded with.
    fn fold(&mut self, run: RunId, fact: &Fact) {
        let unread = match self.ends.take() {
            Some(Ends::Unread(judged)) => Some(judged),
            _ => None,
        };
        match fact {
            Fact::MandateUpdated(updated) => {
                self.mandates.insert(updated.mandate.hash(), updated.mandate.clone());
            }
            Fact::ActionProposed(proposed) => {
                self.proposed = Proposed {
                    action: proposed.action.clone(),
                    agent_signature: proposed.agent_signature.clone(),
                };
            }
            Fact::CREVerificationCompleted(completed) => {
                if let Ok(report) = Report::read(completed.evidence.report.as_bytes()) {
                    self.reports.insert(report.hash(), (report.result, completed.sepolia_tx.clone()));
                }
            }
            Fact::AuthorityEvaluated(data) => self.judged(run, data),
            Fact::ActionDenied { .. } if unread.is_some() => self.ends = unread.map(Ends::Unread),
            Fact::AuthorizationIssued(issued) => {
                let hash = issued.authorization.fields.action_hash;
                let decided = self.state.decision(&hash).map(|decided| decided.first);
                if let Some((judged, first)) = self.actions.get(&hash).cloned().zip(decided) {
                    self.issued.insert(issued.authorization.digest_hex, (judged, first));
                }
            }
            Fact::TransactionConfirmed { block_height, digest, tx_hash } => {
                let network = self.state.anchored().map(|anchored| anchored.vault.network);
                self.ends = network.map(|chain| {
                    let settlement = Settlement { block: *block_height, chain, tx_hash: *tx_hash };
                    Ends::Settlement(*digest, settlement)
                });
            }
            _ => {}
        }
    }

    fn judged(&mut self, run: RunId, data: &AuthorityEvaluated) {
        let evaluation = data.evaluation.clone();
        let Some(hash) = evaluation.action_hash else {
            let proposed = self.proposed.clone();
            self.ends = Some(Ends::Unread(Box::new(Judged { proposed, evaluation, run })));
            return;
        };
        let proposed = match data.phase {
            Phase::Check => self.proposed.clone(),
            Phase::Approval => {
                self.state.approval_of(&hash).map_or_else(Proposed::default, |approval| Proposed {
                    action: Some(approval.action.clone()),
                    agent_signature: approval.agent_signature.clone(),
                })
            }
        };
        self.actions.insert(hash, Judged { proposed, evaluation, run });
    }

    fn receipt(&self) -> Result<Option<Made>, Refused> {
        let last =
            |hash: &&Digest| self.state.decision(hash).is_some_and(|decided| decided.last == self.head);
        let decision = || self.actions.keys().find(last).copied().map(Ends::Decision);
        let found;
        let ends = match &self.ends {
            Some(ends) => ends,
            None => {
                found = decision();
                let Some(ends) = &found else { return Ok(None) };
                ends
            }
        };
        let last_event_hash = self.head.hash;
        let (judged, first, settlement) = match ends {
            Ends::Unread(judged) => match self.state.last_proposal() {
                Some(first) => (judged.as_ref(), first, None),
                None => return Ok(None),
            },
            Ends::Decision(hash) => match self.actions.get(hash).zip(self.state.decision(hash)) {
                Some((judged, decided)) => (judged, decided.first, None),
                None => return Ok(None),
            },
            Ends::Settlement(digest, settlement) => match self.issued.get(digest) {
                Some((judged, first)) => (judged, *first, Some(settlement)),
                None => return Ok(None),
            },
        };
        let evaluation = &judged.evaluation;
        let Some(mandate) = self.mandates.get(&evaluation.mandate_hash) else { return Ok(None) };
        let verification = evaluation.verification_hash.and_then(|hash| {
            let (result, tx) = self.reports.get(&hash)?;
            Some((hash, *result, tx.as_ref()))
        });
        compose(&Said {
            state: &self.state,
            mandate,
            action: judged.proposed.action.as_ref(),
            agent_signature: judged.proposed.agent_signature.as_ref(),
            evaluation,
            verification,
            settlement,
            evidence: Entries { first_event_hash: first.hash, last_event_hash },
            run: &judged.run,
        })
        .map(Some)
    }
}

/// What a receipt is composed of, beside the state that its last entry leaves.
struct Said<'a> {
    state: &'a State,
    mandate: &'a Hashed<Mandate>,
    action: Option<&'a HashedAction>,
    agent_signature: Option<&'a Text<0, 256>>,
    evaluation: &'a Evaluation,
    verification: Option<(Digest, Verified, Option<&'a Text<1, 100>>)>,
    settlement: Option<&'a Settlement>,
    evidence: Entries,
    run: &'a RunId,
}

fn compose(said: &Said<'_>) -> Result<Made, Refused> {
    let anchor = said.state.anchored().map(|anchored| anchored.vault.mandate_ref);
    let parts = Parts {
        mandate: said.mandate,
        anchor: anchor.ok_or_else(|| bug("a receipt of no mandate"))?,
        action: said.action,
        agent_signature: said.agent_signature,
        evaluation: said.evaluation,
        verification: said.verification,
        settlement: said.settlement,
        evidence: said.evidence,
    };
    let (receipt, authorization) = Receipt::told(said.state, &parts)?;
    Ok(Made {
        receipt,
        authorization: authorization.cloned(),
        mandate: said.mandate.clone(),
        run: said.run.clone(),
    })
}

/// The report that the decision rests on.
fn used<'a>(
    evaluation: &Evaluation,
    verification: &'a Verification,
) -> Option<(Digest, Verified, Option<&'a Text<1, 100>>)> {
    let Verification::Reported { evidence, registry_tx } = verification else { return None };
    let hash = evaluation.verification_hash.filter(|hash| *hash == evidence.report_hash)?;
    let report = Report::read(evidence.report.as_bytes()).ok()?;
    Some((hash, report.result, registry_tx.as_ref()))
}
