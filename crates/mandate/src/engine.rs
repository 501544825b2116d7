//! The engine (spec 1.5, 1.6): an action against a mandate, and nothing else. Pure and total: the same inputs give the
//! same answer, and a fault inside it denies.

use crate::Hashed;
use crate::action::{Action, HashedAction};
use crate::evaluation::{Checked, Details, Evaluation, Outcome, Required, Row};
use crate::mandate::{Mandate, Status};
use crate::reason::Reason;
use crate::report::{Evidence, Report, Verified};
use crate::rule::{Constraint, Kind, Violation};
use crate::snapshot::Snapshot;
use crate::text::{AssetSymbol, Hex, Id, Text};
use crate::time::Millis;
use canon::Digest;
use smol_str::SmolStr;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an agent sent: any bytes, and its signature if it gave one.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The action as JSON.
    pub action: &'a [u8],
    /// 128 hex digits.
    pub agent_signature: Option<&'a str>,
}

/// Everything an evaluation depends on.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub mandate: &'a Hashed<Mandate>,
    pub proposal: Proposal<'a>,
    pub state: &'a Snapshot,
    pub evidence: Option<&'a Evidence>,
    pub now: Millis,
}

/// An evaluation, and what was read on the way to it.
#[derive(Debug, Clone)]
pub struct Judged {
    pub evaluation: Evaluation,
    /// `None` if the proposal is no action.
    pub action: Option<HashedAction>,
    /// How the agent signed, if it did and the signature holds.
    pub form: Option<SignatureForm>,
    /// The report, if it was usable.
    pub report: Option<Hashed<Report>>,
}

/// Which bytes a delegate's signature is over (spec 0, C1). No action makes the two equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureForm {
    /// `AGENT_PROPOSAL_V1` and the 32 bytes of the action hash; what our own clients sign.
    DomainSeparated,
    /// The canonical JSON of the action.
    CanonicalJson,
}

const DOMAIN: &[u8] = b"AGENT_PROPOSAL_V1";

/// The bytes a delegate signs, in the domain-separated form.
pub fn signing_bytes(action_hash: &Digest) -> Vec<u8> {
    [DOMAIN, action_hash.as_bytes().as_slice()].concat()
}

/// Judges a proposal.
pub fn evaluate(inputs: &Inputs<'_>) -> Evaluation {
    judge(inputs).evaluation
}

/// Judges a proposal, and gives what was read with it.
pub fn judge(inputs: &Inputs<'_>) -> Judged {
    judge_action(inputs, HashedAction::read(inputs.proposal.action).ok())
}

/// As [`judge`], where the proposal has been read.
pub(crate) fn judge_action(inputs: &Inputs<'_>, action: Option<HashedAction>) -> Judged {
    guarded(inputs, || {
        let mut run = Run::new(inputs);
        run.proposal(action);
        if run.going() {
            run.mandate();
        }
        run.constraints();
        run.finish()
    })
}

/// A fault of ours inside the evaluator is a DENY.
fn guarded(inputs: &Inputs<'_>, run: impl FnOnce() -> Judged) -> Judged {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let mut blank = Run::new(inputs);
        blank.evaluation.outcome = Outcome::Deny;
        blank.evaluation.reason = Some(Reason::EvaluatorFault);
        blank.done()
    })
}

struct Run<'a> {
    inputs: &'a Inputs<'a>,
    evaluation: Evaluation,
    action: Option<HashedAction>,
    form: Option<SignatureForm>,
    report: Option<Hashed<Report>>,
}

/// What a constraint makes of an action.
enum Judgement {
    Holds,
    Violated(Reason),
    /// It cannot be said before the facts are verified.
    Open,
}

impl<'a> Run<'a> {
    fn new(inputs: &'a Inputs<'a>) -> Self {
        let row = |id: SmolStr, kind: &'static str| Row {
            detail: Details::default(),
            id,
            kind: Cow::Borrowed(kind),
            reason: None,
            result: Checked::NotEvaluated,
        };
        let mandate = inputs.mandate;
        let mut checks = Vec::with_capacity(mandate.constraints.len().saturating_add(3));
        checks.push(row(SmolStr::new_static("proposal"), "integrity"));
        checks.push(row(SmolStr::new_static("mandate"), "validity"));
        checks.extend(mandate.constraints.iter().map(|c| row((&c.id).into(), c.kind.as_str())));
        checks.push(row(SmolStr::new_static("interrupt_budget"), "interrupt_budget"));
        Self {
            inputs,
            evaluation: Evaluation {
                action_hash: None,
                approvals_required: Vec::new(),
                checks,
                delayed_until_ms: None,
                evaluated_at_ms: inputs.now,
                mandate_hash: mandate.hash(),
                mandate_version: mandate.version,
                // Until it is found to be allowed.
                outcome: Outcome::Allow,
                reason: None,
                signed: false,
                verification_hash: None,
            },
            action: None,
            form: None,
            report: None,
        }
    }

    const fn going(&self) -> bool {
        !matches!(self.evaluation.outcome, Outcome::Deny)
    }

    /// Step 1: what was proposed, for which mandate, by whom.
    fn proposal(&mut self, action: Option<HashedAction>) {
        let Some(action) = action else {
            return self.deny(0, Reason::InvalidProposal, Details::of([("issues", 1_u32.into())]));
        };
        let mandate = self.inputs.mandate;
        self.evaluation.action_hash = Some(action.hash());
        self.report = self.inputs.evidence.and_then(|evidence| evidence.usable(&action, self.inputs.now));
        self.evaluation.verification_hash = self.report.as_ref().map(Hashed::hash);
        let refused = if action.mandate_id != mandate.id {
            Some((Reason::WrongMandate, Details::of([("mandate_id", (&action.mandate_id).into())])))
        } else if self.inputs.state.vault.as_ref().is_some_and(|vault| *vault != action.source.vault) {
            Some((Reason::WrongMandate, Details::of([("vault", (&action.source.vault).into())])))
        } else if action.actor != mandate.delegate.id {
            Some((Reason::AgentNotDelegate, Details::of([("actor", (&action.actor).into())])))
        } else if let Some(signature) = self.inputs.proposal.agent_signature {
            self.form = signature_form(mandate, &action, signature);
            self.evaluation.signed = self.form.is_some();
            self.form.is_none().then_some((Reason::InvalidAgentSignature, Details::default()))
        } else {
            None
        };
        let hash = action.hash();
        self.action = Some(action);
        match refused {
            Some((reason, detail)) => self.deny(0, reason, detail),
            None => {
                let signed = self.evaluation.signed;
                let detail = Details::of([("action_hash", hash.into()), ("signed", signed.into())]);
                self.set(0, Checked::Pass, None, detail);
            }
        }
    }

    /// Step 2: whether the mandate is in force, and speaks of such an act at all.
    fn mandate(&mut self) {
        let Inputs { mandate, state, now, .. } = *self.inputs;
        let none = Details::default();
        let refused = if mandate.status != Status::Active || state.anchor_status != Status::Active {
            Some((Reason::MandateRevoked, none))
        } else if state.anchor_version != mandate.version {
            let (anchored, own) = (state.anchor_version.into(), mandate.version.into());
            let detail = Details::of([("anchor_version", anchored), ("version", own)]);
            Some((Reason::MandateVersionMismatch, detail))
        } else if mandate.validity.starts_at.is_after(now) {
            Some((Reason::MandateNotStarted, none))
        } else if !mandate.validity.expires_at.is_after(now) {
            Some((Reason::MandateExpired, none))
        } else {
            self.action.as_ref().and_then(|action| unmentioned(mandate, action))
        };
        match refused {
            Some((reason, detail)) => self.deny(1, reason, detail),
            None => {
                self.set(1, Checked::Pass, None, Details::of([("version", mandate.version.into())]));
            }
        }
    }

    /// Step 3: the constraints in the mandate's order. The first that denies ends it.
    fn constraints(&mut self) {
        let mandate = self.inputs.mandate;
        for (at, constraint) in mandate.constraints.iter().enumerate() {
            if !self.going() {
                return;
            }
            let Some(action) = &self.action else { return };
            let (judgement, detail) = self.weigh(constraint, action);
            self.settle(at.saturating_add(2), constraint, judgement, detail);
        }
    }

    fn settle(&mut self, row: usize, constraint: &Constraint, judgement: Judgement, detail: Details) {
        let reason = match judgement {
            Judgement::Holds => return self.set(row, Checked::Pass, None, detail),
            // The rest is still looked at: what is denied anyway needs no verification (W14).
            Judgement::Open => {
                self.evaluation.outcome = Outcome::NeedsVerification;
                return self.set(row, Checked::Pending, None, detail);
            }
            Judgement::Violated(reason) => reason,
        };
        match &constraint.on_violation {
            Violation::Deny => self.deny(row, reason, detail),
            Violation::Escalate(role) => {
                self.evaluation.approvals_required.push(Required {
                    approver: role.clone(),
                    constraint: constraint.id.clone(),
                    reason,
                });
                self.set(row, Checked::Escalate, Some(reason), detail);
            }
            Violation::Delay(_, seconds) => self.delay(row, *seconds, reason, detail),
        }
    }

    /// A wait that is over holds; one that the approver ended denies.
    fn delay(&mut self, row: usize, seconds: u32, reason: Reason, detail: Details) {
        let since = self.inputs.state.delay.map_or(self.inputs.now, |delay| delay.since_ms);
        let due = since.plus(u64::from(seconds).saturating_mul(1000));
        let detail = detail.with("due_ms", due);
        if self.inputs.state.delay.is_some_and(|delay| delay.vetoed) {
            self.deny(row, Reason::Vetoed, detail);
        } else if due <= self.inputs.now {
            self.set(row, Checked::Pass, None, detail);
        } else {
            let latest = self.evaluation.delayed_until_ms.map_or(due, |other| other.max(due));
            self.evaluation.delayed_until_ms = Some(latest);
            self.set(row, Checked::Delay, Some(reason), detail);
        }
    }

    /// Step 4: what the rows come to, and whether a person may be interrupted for it.
    fn finish(mut self) -> Judged {
        if self.evaluation.outcome == Outcome::Allow && !self.evaluation.approvals_required.is_empty() {
            self.evaluation.outcome = Outcome::Escalate;
            let used = self.inputs.state.escalations(self.inputs.now);
            let per_day = self.inputs.mandate.interrupt_budget.per_day;
            let row = self.evaluation.checks.len().saturating_sub(1);
            let detail = Details::of([("per_day", per_day.into()), ("used", used.into())]);
            if used >= per_day {
                self.deny(row, Reason::InterruptBudgetExhausted, detail);
            } else {
                let remaining = per_day.saturating_sub(used).saturating_sub(1);
                self.set(row, Checked::Pass, None, detail.with("remaining", remaining));
            }
        } else if self.evaluation.outcome == Outcome::Allow && self.evaluation.delayed_until_ms.is_some() {
            self.evaluation.outcome = Outcome::Delay;
        }
        if self.evaluation.outcome != Outcome::Delay {
            self.evaluation.delayed_until_ms = None;
        }
        self.done()
    }

    fn done(self) -> Judged {
        Judged { evaluation: self.evaluation, action: self.action, form: self.form, report: self.report }
    }

    fn deny(&mut self, row: usize, reason: Reason, detail: Details) {
        self.evaluation.outcome = Outcome::Deny;
        self.evaluation.reason = Some(reason);
        self.set(row, Checked::Fail, Some(reason), detail);
    }

    fn set(&mut self, row: usize, result: Checked, reason: Option<Reason>, detail: Details) {
        if let Some(row) = self.evaluation.checks.get_mut(row) {
            row.result = result;
            row.reason = reason;
            row.detail = detail;
        }
    }

    fn weigh(&self, constraint: &Constraint, action: &HashedAction) -> (Judgement, Details) {
        let (state, now) = (self.inputs.state, self.inputs.now);
        let amount = action.amount.value.wide();
        match &constraint.kind {
            Kind::PurposeIn { values } => (
                listed(values, action.purpose.as_str(), Reason::PurposeNotAuthorized),
                Details::of([("purpose", (&action.purpose).into())]),
            ),
            Kind::ActionIn { values } => (
                listed(values, action.kind.as_str(), Reason::ActionNotAuthorized),
                Details::of([("type", action.kind.as_str().into())]),
            ),
            Kind::AssetEq { value } => (
                unless(*value == action.amount.asset, Reason::AssetNotAuthorized),
                Details::of([("asset", (&action.amount.asset).into())]),
            ),
            Kind::CounterpartyIn { values } => (
                listed(values, action.counterparty.id.as_str(), Reason::CounterpartyNotApproved),
                Details::of([("counterparty", (&action.counterparty.id).into())]),
            ),
            Kind::AmountLte { value } => {
                let reason = match constraint.on_violation {
                    Violation::Deny => Reason::AmountAboveHardCap,
                    Violation::Escalate(_) => Reason::AboveAutonomousLimit,
                    Violation::Delay(..) => Reason::AboveDelayLimit,
                };
                let detail = Details::of([("amount", amount.into()), ("limit", (*value).into())]);
                (unless(amount <= value.wide(), reason), detail)
            }
            Kind::DailySpendLte { value } => {
                let spent = state.spent(now);
                let after = spent.saturating_add(amount);
                let detail = Details::of([
                    ("after", after.into()),
                    ("amount", amount.into()),
                    ("cap", (*value).into()),
                    ("spent_today", spent.into()),
                ]);
                (unless(after <= value.wide(), Reason::DailyCapExceeded), under_way(detail, state))
            }
            Kind::BalanceAfterGte { value } => {
                let after = state.available().saturating_sub(amount);
                let detail = Details::of([
                    ("after", after.into()),
                    ("amount", amount.into()),
                    ("balance", state.vault_balance.into()),
                    ("minimum", (*value).into()),
                ]);
                (unless(after >= value.wide(), Reason::TreasuryFloorViolation), under_way(detail, state))
            }
            Kind::VerifiedFacts => self.facts(action),
            Kind::RollingSpendLte { value, window_seconds } => {
                let spent = state.spent_within(now, window_ms(*window_seconds), None);
                let after = spent.saturating_add(amount);
                let detail = windowed(spent, amount, after, *window_seconds).with("cap", *value);
                (unless(after <= value.wide(), Reason::RollingCapExceeded), detail)
            }
            Kind::CounterpartySpendLte { value, window_seconds, counterparty } => {
                let id = &action.counterparty.id;
                let concerned = counterparty.as_ref().is_none_or(|named| named == id);
                let spent = state.spent_within(now, window_ms(*window_seconds), Some(id));
                let after = spent.saturating_add(amount);
                let detail = windowed(spent, amount, after, *window_seconds)
                    .with("cap", *value)
                    .with("counterparty", id.as_str());
                let holds = !concerned || after <= value.wide();
                (unless(holds, Reason::CounterpartyCapExceeded), detail)
            }
        }
    }

    /// Spec 1.6: the report's own result, then each fact, then that it speaks of exactly this payment.
    fn facts(&self, action: &HashedAction) -> (Judgement, Details) {
        let Some(report) = &self.report else {
            return (Judgement::Open, Details::of([("source", "stripe".into())]));
        };
        let result = match report.result {
            Verified::Verified => "VERIFIED",
            Verified::Mismatch => "MISMATCH",
        };
        let detail = Details::of([
            ("invoice_id", (&report.invoice_id).into()),
            ("report_hash", report.hash().into()),
            ("result", result.into()),
            ("verified_amount", report.verified_amount.into()),
            ("verified_currency", report.verified_currency.as_ref().into()),
            ("verified_recipient", report.verified_recipient.as_ref().into()),
        ]);
        let currency = report.verified_currency.as_ref().map(Text::as_str);
        let recipient = report.verified_recipient.as_ref().map(Text::as_str);
        let reference = action.reference.as_ref().map(|reference| &reference.invoice_id);
        let failed = match report.result {
            Verified::Mismatch => report.reason.or(Some(Reason::InvoiceNotFound)),
            Verified::Verified => report.facts.first_false(),
        }
        .or_else(|| {
            [
                (recipient == Some(action.recipient.address.as_str()), Reason::RecipientMismatch),
                (report.verified_amount == Some(action.amount.value.units()), Reason::AmountMismatch),
                (
                    currency.is_some() && currency == fiat(&self.inputs.mandate.asset.symbol),
                    Reason::CurrencyMismatch,
                ),
                (reference == Some(&report.invoice_id), Reason::InvoiceNotFound),
            ]
            .into_iter()
            .find_map(|(holds, reason)| (!holds).then_some(reason))
        });
        (failed.map_or(Judgement::Holds, Judgement::Violated), detail)
    }
}

/// How the delegate signed this action, or `None` if it did not.
pub fn signature_form(mandate: &Mandate, action: &HashedAction, signature: &str) -> Option<SignatureForm> {
    let key = mandate.delegate.public_key.key().ok()?;
    let signature: Hex<64> = signature.parse().ok()?;
    let signature = keys::Signature::from_bytes(*signature.as_bytes());
    if key.verify(&signing_bytes(&action.hash()), &signature).is_ok() {
        return Some(SignatureForm::DomainSeparated);
    }
    let canonical = canon::to_vec::<Action>(action).ok()?;
    key.verify(&canonical, &signature).is_ok().then_some(SignatureForm::CanonicalJson)
}

/// The money that an asset stands for in an invoice. An asset not listed never verifies.
pub(crate) fn fiat(asset: &AssetSymbol) -> Option<&'static str> {
    match asset.as_str() {
        "USDM" => Some("usd"),
        _ => None,
    }
}

/// What no constraint of the mandate speaks of is denied: a type of act it does not mention, and amounts that are not in
/// the asset its limits are counted in.
fn unmentioned(mandate: &Mandate, action: &Action) -> Option<(Reason, Details)> {
    if !mandate.speaks_of(action.kind) {
        return Some((Reason::ActionNotAuthorized, Details::of([("type", action.kind.as_str().into())])));
    }
    let names_asset = mandate.constraints.iter().any(|c| matches!(c.kind, Kind::AssetEq { .. }));
    if !names_asset && action.amount.asset != mandate.asset.symbol {
        return Some((Reason::AssetNotAuthorized, Details::of([("asset", (&action.amount.asset).into())])));
    }
    None
}

fn listed(values: &[Id], value: &str, reason: Reason) -> Judgement {
    unless(values.iter().any(|listed| listed.as_str() == value), reason)
}

const fn unless(holds: bool, reason: Reason) -> Judgement {
    if holds { Judgement::Holds } else { Judgement::Violated(reason) }
}

fn under_way(detail: Details, state: &Snapshot) -> Details {
    if state.in_flight().get() == 0 { detail } else { detail.with("in_flight", state.in_flight()) }
}

fn windowed(spent: i128, amount: i128, after: i128, seconds: u32) -> Details {
    Details::of([
        ("after", after.into()),
        ("amount", amount.into()),
        ("spent", spent.into()),
        ("window_seconds", seconds.into()),
    ])
}

fn window_ms(seconds: u32) -> u64 {
    u64::from(seconds).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTORS: &str = include_str!("../../../vectors/claudia/claudia.json");
    const STATE: &[u8] =
        br#"{"vault_balance":"135000000","spent_today":"0","day_index":20733,"last_nonce":"0",
        "anchor_version":3,"anchor_status":"active","observed_at_slot":1}"#;

    #[test]
    fn a_fault_denies() {
        let vectors = canon::parse(VECTORS.as_bytes()).unwrap();
        let document = vectors.pointer("/derived/mandate_fixture/doc").unwrap();
        let mandate = Mandate::read(&canon::to_vec(document).unwrap()).unwrap();
        let state = Snapshot::read(STATE).unwrap();
        let proposal = Proposal { action: b"{}", agent_signature: None };
        let now = Millis::try_from(1_791_342_000_000).unwrap();
        let inputs = Inputs { mandate: &mandate, proposal, state: &state, evidence: None, now };
        let judged = guarded(&inputs, || panic!("a fault"));
        assert_eq!(judged.evaluation.outcome, Outcome::Deny);
        assert_eq!(judged.evaluation.reason, Some(Reason::EvaluatorFault));
        assert!(judged.evaluation.checks.iter().all(|row| row.result == Checked::NotEvaluated));
        assert!(judged.action.is_none() && !judged.evaluation.signed);
    }
}
