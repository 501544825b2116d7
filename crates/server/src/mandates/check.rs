//! An agent's check (spec 1.7), from the request to the decision. The mandate's stream decides; whatever it needs to know
//! is brought to it here, as often as it asks.

use super::answer::{CheckAnswer, Said, verified};
use super::interpret;
use super::refused::Refused;
use super::who::{Role, Who};
use super::{Known, unexpected};
use crate::App;
use ::http::StatusCode;
use canon::Raw;
use mandate::command::{Check, Checked, Next, Observed, Reply, Verification};
use mandate::log::{ApprovalId, RunId};
use mandate::price::{BadBond, BondDatum, BondStatus, Locked, OutRef, Price};
use mandate::state::ApprovalStatus;
use mandate::text::{Id, KeyHash, Text, TxHash};
use mandate::x402::{self, Payment, PaymentRequired};
use mandate::{Address, Command, Credential, HashedAction, Outcome, Reason, Refusal};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The body of a check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckBody {
    pub mandate_id: Id,
    #[serde(default)]
    pub proposal: Option<ProposalBody>,
    #[serde(default)]
    pub request_text: Option<Text<1, 2000>>,
    #[serde(default)]
    pub execute: bool,
    #[serde(default)]
    pub run_id: Option<String>,
    #[serde(default)]
    pub bond_refund_address: Option<String>,
    /// The run of a job that is sold. Nobody names it on the wire.
    #[serde(skip)]
    pub job: Option<RunId>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProposalBody {
    pub action: Raw,
    #[serde(default)]
    pub agent_signature: Option<Text<0, 256>>,
}

/// What an agent says of a run before its first check.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunSaid {
    pub goal: Text<0, 2000>,
    pub kind: Text<1, 32>,
    pub mandate_id: Id,
}

/// The run that a check is of, where it says so.
struct AskedRun {
    mandate_id: Id,
    run_id: Option<String>,
}

/// What a check comes to on the wire.
#[derive(Debug)]
pub(crate) enum Told {
    Decided {
        answer: Box<CheckAnswer>,
        settled: Option<Settled>,
    },
    /// 402.
    Pay {
        required: Box<PaymentRequired>,
        refused: Option<BadBond>,
    },
}

/// A bond that this check was paid with (PAYMENT-RESPONSE).
#[derive(Debug, Serialize)]
pub(crate) struct Settled {
    pub network: String,
    pub success: bool,
    pub transaction: TxHash,
}

impl App {
    pub(crate) async fn check(
        &self,
        who: &Who,
        body: CheckBody,
        payment: Option<Payment>,
    ) -> Result<Told, Refused> {
        let known = match self.mandate(&body.mandate_id).await {
            // Who may not ask learns nothing of what there is.
            Err(_) if matches!(who, Who::Nobody) => return Err(Refused::nobody()),
            other => other?,
        };
        let role = asks(who, &known, &body)?;
        let back_to = body.bond_refund_address.as_deref().map(|text| back_to(text, &known)).transpose()?;
        let run_id = body.job.map(|job| job.to_string()).or(body.run_id);
        let asked = AskedRun { mandate_id: body.mandate_id, run_id };
        let (action, agent_signature, interpreted) = match (body.proposal, body.request_text) {
            (Some(proposal), None) => (proposal.action, proposal.agent_signature, None),
            (None, Some(text)) => {
                let action = interpret::action(self, &known.anchored.mandate, text.as_str()).await?;
                (action.clone(), None, Some(action))
            }
            _ => {
                let text = "exactly one of proposal and request_text";
                return Err(Refused::bad("bad_check", "", text));
            }
        };
        let read = HashedAction::read(action.as_bytes()).ok();
        let run = self.run_of(&known, &asked, role, read.as_ref()).await?;
        let bond = match (&payment, &read) {
            (Some(payment), Some(action)) if body.execute => {
                self.paid_with(&known, action, payment, back_to).await?
            }
            _ => None,
        };
        let verification = match &read {
            Some(action) => self.mandates()?.setup.verifier.known(action).await,
            None => Verification::NotTried,
        };
        let check = Check {
            run: run.0,
            run_kind: run.1.kind,
            goal: run.1.goal,
            action: Arc::from(action.as_bytes()),
            agent_signature,
            execute: body.execute,
            observed: self.reading(&known).await?,
            verification,
            bond,
            engine: self.mandates()?.engine(),
        };
        let (checked, check, known) = self.decided(known, check, read.as_ref()).await?;
        if let Next::Priced { price, refused } = &checked.next {
            let required = self.price_told(&known, read.as_ref(), price, back_to)?;
            return Ok(Told::Pay { required: Box::new(required), refused: *refused });
        }
        let evaluation = &checked.evaluation;
        if evaluation.reason == Some(Reason::VerificationUnavailable) {
            return Err(unverifiable(read.as_ref()));
        }
        let settled = settled(&checked, &check, payment.as_ref(), &known);
        let said = Said {
            approval_endpoint: self.config().link("/v1/authority/check"),
            events_url: self.events_url(&known, &checked.run),
            interpreted,
            receipt: self.receipt_of(&known, &checked, &check).await?,
            verified: verified(evaluation, &check.verification),
        };
        Ok(Told::Decided { answer: Box::new(CheckAnswer::of(checked, said)), settled })
    }

    /// Decides, and brings what the decision turns out to need: another reading, a report, a look for an authorization that
    /// has ended. Each once.
    async fn decided(
        &self,
        known: Known,
        mut check: Check,
        action: Option<&HashedAction>,
    ) -> Result<(Checked, Check, Known), Refused> {
        let (mut reread, mut looked) = (false, false);
        loop {
            let command = Command::Check(Box::new(check.clone()));
            match self.authority(&known.stream, &command).await {
                Ok((Reply::Checked(checked), known)) => match (&checked.next, action) {
                    (Next::Verify, Some(action)) if check.verification == Verification::NotTried => {
                        check.verification = match self.mandates()?.setup.verifier.verify(action).await {
                            Verification::NotTried => Verification::Unavailable,
                            said => said,
                        };
                        check.observed = self.reading(&known).await?;
                    }
                    _ => return Ok((*checked, check, known)),
                },
                Ok(_) => return Err(unexpected()),
                Err(store::Error::Refused(Refusal::StaleReading)) if !reread => {
                    reread = true;
                    check.observed = self.reread(&known).await?;
                }
                Err(store::Error::Refused(Refusal::ReservationUnclear { digest })) if !looked => {
                    looked = true;
                    self.reconcile(&known.stream, &digest).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A reading after one that was too old: the other may have been cached, or blocks are gone.
    pub(crate) async fn reread(&self, known: &Known) -> Result<Observed, Refused> {
        let known = self.mandate_at(known.stream.clone()).await?.ok_or_else(super::unknown)?;
        self.fresh_reading(&known).await
    }

    async fn run_of(
        &self,
        known: &Known,
        asked: &AskedRun,
        role: Role,
        action: Option<&HashedAction>,
    ) -> Result<(RunId, RunSaid), Refused> {
        let kind = if role == Role::Masumi { "masumi" } else { "agent" };
        let bug = |error: mandate::text::TextError| super::bug(error);
        let said = RunSaid {
            goal: "".parse().map_err(bug)?,
            kind: kind.parse().map_err(bug)?,
            mandate_id: asked.mandate_id.clone(),
        };
        let Some(given) = &asked.run_id else {
            // Asking again for what is priced, or waits, goes on in its run.
            let open = action.and_then(|action| known.state.approval_of(&action.hash()));
            let open = open.filter(|approval| {
                let waits = matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending);
                waits
                    && role == Role::Agent
                    && known.state.run(&approval.run).is_some_and(|run| !run.finished)
            });
            let run = open.map_or_else(|| self.fresh_run(), |approval| Ok(approval.run.clone()))?;
            return Ok((run, said));
        };
        let run = run_id(given)?;
        if known.state.run(&run).is_some() {
            return Ok((run, said));
        }
        match self.kept::<RunSaid>(super::kept::Shelf::Run, run.as_str()).await? {
            Some(kept) if kept.mandate_id == asked.mandate_id => Ok((run, kept)),
            Some(_) => Err(Refused::bad("bad_run_id", "/run_id", "this run is another mandate's")),
            None => Ok((run, said)),
        }
    }

    /// A run that nobody has named: a random UUID (version 4).
    pub(crate) fn fresh_run(&self) -> Result<RunId, Refused> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.env().bytes16();
        let (g, i) = ((g & 0x0f) | 0x40, (i & 0x3f) | 0x80);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let parts = [&[a, b, c, d][..], &[e, f], &[g, h], &[i, j], &[k, l, m, n, o, p]];
        parts.map(hex).join("-").parse().map_err(super::bug)
    }

    /// The escrow output that a payment names, if it is for the price of this very action. Whatever is not, is no payment.
    async fn paid_with(
        &self,
        known: &Known,
        action: &HashedAction,
        payment: &Payment,
        back_to: Option<BackTo>,
    ) -> Result<Option<Locked>, Refused> {
        let (Payment::Locked { approval_id, .. } | Payment::Transaction { approval_id, .. }) = payment;
        let priced = known.state.approval(approval_id);
        let Some(priced) = priced.filter(|approval| approval.action.hash() == action.hash()) else {
            return Ok(None);
        };
        if priced.bond.is_some() {
            return Ok(None);
        }
        let rail = &self.mandates()?.setup.rail;
        match payment {
            Payment::Locked { at, .. } => Ok(rail.bond(*at).await?),
            Payment::Transaction { transaction, document, .. } => {
                let Some(bytes) = base64(transaction.as_str()) else { return Ok(None) };
                if let Some(facilitator) = &self.mandates()?.setup.facilitator {
                    // It may have landed before, with its answer lost.
                    let Ok(tx_hash) = rail.hash_of(&bytes) else { return Ok(None) };
                    if let Some(locked) = self.lock_of(tx_hash, approval_id).await? {
                        return Ok(Some(locked));
                    }
                    let required = self.price_told(known, Some(action), &priced.price, back_to)?;
                    let [_, exact] = &required.accepts;
                    let out = self.facilitated(facilitator, document, exact).await?;
                    let Some(tx_hash) = out else { return Ok(None) };
                    return self.lock_of(tx_hash, approval_id).await;
                }
                let tx_hash = match rail.lock_by(&bytes).await {
                    Ok(tx_hash) => tx_hash,
                    // Whether it has landed shows when the agent asks again.
                    Err(super::ChainError::Unavailable(text)) => {
                        return Err(super::ChainError::Unavailable(text).into());
                    }
                    Err(trouble) => {
                        tracing::info!(%trouble, "a lock was not taken");
                        return Ok(None);
                    }
                };
                self.lock_of(tx_hash, approval_id).await
            }
        }
    }

    /// The output of a transaction that locks a bond for this approval.
    async fn lock_of(&self, tx_hash: TxHash, id: &ApprovalId) -> Result<Option<Locked>, Refused> {
        let rail = &self.mandates()?.setup.rail;
        let wanted = mandate::price::approval_ref(id.as_str());
        for output_index in 0..MAX_OUTPUTS {
            let found = rail.bond(OutRef { output_index, tx_hash }).await?;
            if let Some(found) = found.filter(|found| found.datum.approval_ref == wanted) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn price_told(
        &self,
        known: &Known,
        action: Option<&HashedAction>,
        price: &Price,
        back_to: Option<BackTo>,
    ) -> Result<PaymentRequired, Refused> {
        let action = action.ok_or_else(unexpected)?;
        let escrow = *known.anchored.tariff.escrow_address.payment().hash();
        let datum =
            back_to.map(|to| BondDatum::paying(price, known.anchored.vault.mandate_ref, to.key, to.stake));
        let seconds = price.locked_until_ms.since(self.millis()?) / 1000;
        let url = self.config().link("/v1/authority/check");
        Ok(x402::required(price, action.id.as_str(), &url, escrow, seconds, datum.as_ref()))
    }
}

/// A lock has few outputs; the escrow's is among the first.
const MAX_OUTPUTS: u32 = 8;

/// Whether they may ask for this.
fn asks(who: &Who, known: &Known, body: &CheckBody) -> Result<Role, Refused> {
    let role = who.role(&known.anchored.mandate);
    match role {
        Role::Nobody => Err(Refused::nobody()),
        Role::Agent => Ok(role),
        Role::Masumi if body.execute || body.run_id.is_some() => Err(Refused::forbidden(
            "not_permitted",
            "this key asks for evaluations only: no execute, no run_id",
        )),
        Role::Masumi => Ok(role),
        Role::Stranger | Role::Verifier | Role::Approver(_) | Role::Principal => {
            Err(Refused::forbidden("not_permitted", "only the mandate's agent may ask"))
        }
    }
}

/// A run's id: a UUID in lower case.
pub(crate) fn run_id(text: &str) -> Result<RunId, Refused> {
    let bad = || Refused::bad("bad_run_id", "/run_id", "a run is named by a uuid in lower case");
    let right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    if text.len() != 36 || !text.bytes().enumerate().all(right) {
        return Err(bad());
    }
    text.parse().map_err(|_| bad())
}

/// Where a bond goes back.
#[derive(Debug, Clone, Copy)]
struct BackTo {
    key: KeyHash,
    stake: Option<KeyHash>,
}

fn back_to(text: &str, known: &Known) -> Result<BackTo, Refused> {
    let bad = |text: &str| Refused::bad("bad_refund_address", "/bond_refund_address", text);
    let address: Address = text.parse().map_err(|_| bad("not a Cardano address"))?;
    if address.network() != known.anchored.vault.network.network() {
        return Err(bad("an address of another network"));
    }
    let Credential::Key(key) = *address.payment() else { return Err(bad("an address of a script")) };
    let stake = match address.stake() {
        None => None,
        Some(Credential::Key(stake)) => Some(*stake),
        Some(Credential::Script(_)) => return Err(bad("a stake part that is a script")),
    };
    Ok(BackTo { key, stake })
}

/// No facts: of an action that names no invoice there never will be any.
fn unverifiable(action: Option<&HashedAction>) -> Refused {
    match action {
        Some(action) if action.reference.is_none() => Refused::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "VERIFICATION_UNAVAILABLE",
            "the action names no invoice, so its facts cannot be verified",
        ),
        _ => Refused::unverified(),
    }
}

/// What this check's own payment settled, where a bond of it is on record.
fn settled(checked: &Checked, check: &Check, payment: Option<&Payment>, known: &Known) -> Option<Settled> {
    let approval = known.state.approval(checked.approval_id.as_ref()?)?;
    let bond = approval.bond.as_ref().filter(|bond| bond.status == BondStatus::Locked)?;
    let named = match (payment?, &check.bond) {
        (_, Some(shown)) => shown.at == bond.at,
        (Payment::Locked { at, .. }, None) => *at == bond.at,
        (Payment::Transaction { .. }, None) => true,
    };
    let network = match payment? {
        Payment::Locked { .. } => approval.price.network.name(),
        Payment::Transaction { .. } => approval.price.network.caip2(),
    };
    let escalated = checked.evaluation.outcome != Outcome::Allow;
    (named && escalated).then(|| Settled {
        network: network.to_owned(),
        success: true,
        transaction: bond.at.tx_hash,
    })
}

fn base64(text: &str) -> Option<Vec<u8>> {
    use ::base64::Engine;
    ::base64::engine::general_purpose::STANDARD.decode(text).ok()
}
