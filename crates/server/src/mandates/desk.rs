//! What the pages of a mandate's people are made of. Who reads proved an approver's or the principal's key; every page asks
//! here, and gets what the API would tell the same person.

pub use super::proving::{Invitation, SIGN_IN};

use super::answer::Verified;
use super::kept::Shelf;
use super::proving::Signature;
use super::settle::BondTx;
use super::shapes::{
    ApproveAsked, BondSubmit, DeclineAsked, ExecutionAsked, SignedBody, StatementAsked, Unsigned,
};
use super::view::reads_run;
use super::who::{Role, Who};
use super::{Known, Refused, bug, mandate_stream, unknown};
use crate::App;
use ::http::{HeaderMap, StatusCode};
use canon::Raw;
use env::Timestamp;
use ledger::StreamId;
use mandate::authorization::Record;
use mandate::command::{Observed, Owed};
use mandate::log::{ApprovalId, DeclineReason, Refund, RunId};
use mandate::metrics::Metrics;
use mandate::price::{Bond, Tariff};
use mandate::state::{Approval, ApprovalStatus, Authorization, AuthorizationStatus};
use mandate::text::{Id, KeyHash, Text, TxHash};
use mandate::{Evaluation, Hashed, Mandate, Millis, Receipt, Vault};
use serde_json::Value;

/// Who reads a page.
#[derive(Debug, Clone)]
pub struct Reader(pub(super) Who);

/// A page of what waits for an approver.
#[derive(Debug)]
pub struct Inbox {
    pub lines: Vec<Line>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Of more than [`COUNTED`], one more than that.
    pub total: usize,
}

#[derive(Debug)]
pub struct Line {
    pub mandate: Hashed<Mandate>,
    pub tariff: Tariff,
    pub approval: Approval,
}

/// An approval with everything that is known of it.
#[derive(Debug)]
pub struct Asked {
    pub mandate: Hashed<Mandate>,
    pub tariff: Tariff,
    pub approval: Approval,
    pub bond: Bond,
    /// The judgement it was asked with.
    pub evaluation: Option<Evaluation>,
    /// Who verified the facts, and who read something else.
    pub verification: Option<Verified>,
    /// What became of it, once it was approved.
    pub authorization: Option<Authorization>,
    /// A transaction that lacks the approver's signature and nothing else.
    pub to_sign: Option<ToSign>,
    /// The release has the approver's signature.
    pub released: bool,
    /// Names under which this mandate paid: a counterparty's id and what it was called, newest first, each once.
    pub paid_before: Vec<(Id, String)>,
}

/// A transaction for the approver's key to sign.
#[derive(Debug, Clone)]
pub struct ToSign {
    /// Of the authorization that it releases; `None`: it spends the bond.
    pub digest: Option<String>,
    pub tx: String,
    pub tx_hash: String,
    /// Who must sign it, and whether they have.
    pub signers: Vec<(KeyHash, bool)>,
}

/// A mandate with what the chain and the log say of it.
#[derive(Debug)]
pub struct Boundary {
    pub mandate: Hashed<Mandate>,
    pub tariff: Tariff,
    pub vault: Vault,
    pub vault_name: Option<Id>,
    pub paused: bool,
    /// `None`: the chain cannot be read now.
    pub observed: Option<Observed>,
    /// Base units that are authorized and not yet in what was read.
    pub in_flight: u64,
    pub paged_today: u32,
    pub day: u64,
    pub metrics: Metrics,
    pub runs: Vec<Run>,
    pub pending: usize,
    /// What was authorized and settled on each of the last days that saw a payment, oldest first: days since 1970, base units.
    pub days: Vec<(u64, u64)>,
}

/// What asking a person costs, which everybody may know.
#[derive(Debug)]
pub struct Attention {
    pub mandate: Hashed<Mandate>,
    pub tariff: Tariff,
    pub key: KeyHash,
    pub paged_today: u32,
}

#[derive(Debug, Clone)]
pub struct Run {
    pub id: RunId,
    pub goal: String,
    pub kind: String,
    pub finished: bool,
    pub started_at: Timestamp,
}

/// A run's log.
#[derive(Debug)]
pub struct RunTold {
    pub mandate: Id,
    pub run: Run,
    /// Entries with their hashes.
    pub events: Vec<Raw>,
    /// The transaction that commits to it on chain.
    pub anchored_in: Option<TxHash>,
    pub closed: bool,
}

#[derive(Debug)]
pub struct ReceiptTold {
    pub receipt: Hashed<Receipt>,
    pub authorization: Option<Record>,
    pub mandate: Hashed<Mandate>,
    pub run: RunId,
}

/// Days of which spending is told.
const DAYS: usize = 14;
/// Approvals are counted up to here.
pub const COUNTED: usize = 1000;
/// After a mandate's name: past everything of it in an inbox.
const PAST: &str = ":~";
/// Names compared with an action's counterparty, and runs listed.
const NAMES: usize = 200;

impl Reader {
    pub(super) const fn of(who: Who) -> Self {
        Self(who)
    }

    pub fn is_somebody(&self) -> bool {
        !self.0.keys().is_empty()
    }

    /// The keys they read for.
    pub fn keys(&self) -> Vec<KeyHash> {
        self.0.keys()
    }
}

impl App {
    /// Whether this server keeps mandates.
    pub fn keeps_mandates(&self) -> bool {
        self.kept_mandates().is_some()
    }

    /// Who reads, by what their browser keeps.
    pub async fn reader(&self, headers: &HeaderMap) -> Result<Reader, Refused> {
        self.mandates()?;
        let mut headers = headers.clone();
        headers.remove(::http::header::AUTHORIZATION);
        Ok(Reader(self.by_browser(&headers).await?))
    }

    /// So many approvals that wait for this reader, from `after` on: by mandate, the oldest of each first. No more mandates are
    /// read than the page shows.
    pub async fn approvals_waiting(
        &self,
        reader: &Reader,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Inbox, Refused> {
        let keys = reader.keys();
        let (from, number) = after.and_then(cursor).unwrap_or_default();
        let mut inbox = Inbox { lines: Vec::new(), next: None, total: self.approvals_count(reader).await? };
        let mut at = if from.is_empty() { String::new() } else { format!("{from}:") };
        while let Some((id, stream)) = self.next_waiting(&keys, &at).await? {
            at = format!("{id}{PAST}");
            let Some(known) = self.mandate_at(stream).await? else { continue };
            for approval in known.state.pending() {
                if id == from && approval.number <= number {
                    continue;
                }
                if inbox.lines.len() == limit {
                    let last = inbox.lines.last();
                    inbox.next = last.map(|line| format!("{}:{}", line.mandate.id, line.approval.number));
                    return Ok(inbox);
                }
                inbox.lines.push(Line {
                    mandate: known.anchored.mandate.clone(),
                    tariff: known.anchored.tariff.clone(),
                    approval: approval.clone(),
                });
            }
        }
        Ok(inbox)
    }

    /// How many approvals wait for this reader; of more than [`COUNTED`], one more than that.
    pub async fn approvals_count(&self, reader: &Reader) -> Result<usize, Refused> {
        let mut found = std::collections::BTreeSet::new();
        for key in reader.keys() {
            let page = self.journal().find(&inbox_of(&key), "", COUNTED.saturating_add(1)).await?;
            found.extend(page.into_iter().map(|(item, _)| item));
        }
        Ok(found.len().min(COUNTED.saturating_add(1)))
    }

    /// The mandates whose approver or principal the reader is, by name.
    pub async fn mandates_read(&self, reader: &Reader) -> Result<Vec<Hashed<Mandate>>, Refused> {
        let all = self.all_mandates().await?;
        let mine = all.into_iter().filter(|known| reader.0.role(&known.anchored.mandate).reads());
        Ok(mine.map(|known| known.anchored.mandate.clone()).collect())
    }

    /// The first mandate after a place in the inboxes of these keys, and its stream.
    async fn next_waiting(
        &self,
        keys: &[KeyHash],
        after: &str,
    ) -> Result<Option<(String, StreamId)>, Refused> {
        let mut first: Option<(String, StreamId)> = None;
        for key in keys {
            let page = self.journal().find(&inbox_of(key), after, 1).await?;
            let found = page.into_iter().next();
            first = first.into_iter().chain(found).min_by(|(one, _), (two, _)| one.cmp(two));
        }
        Ok(first.map(|(item, stream)| {
            let mandate = item.rsplit_once(':').map_or(item.as_str(), |(mandate, _)| mandate);
            (mandate.to_owned(), stream)
        }))
    }

    /// One approval, for its approver.
    pub async fn approval_asked(&self, reader: &Reader, mandate: &str, id: &str) -> Result<Asked, Refused> {
        let missing = || Refused::missing("approval_unknown", "no such approval");
        let (mandate, id) = named(mandate, id)?;
        let known = self.mandate(&mandate).await.map_err(|_| missing())?;
        if !matches!(reader.0.role(&known.anchored.mandate), Role::Approver(_)) {
            return Err(if reader.is_somebody() { missing() } else { Refused::nobody() });
        }
        let approval = known.state.approval(&id).ok_or_else(missing)?.clone();
        let mut paid_before: Vec<(Id, String)> = Vec::new();
        for paid in known.state.authorizations().into_iter().rev().take(NAMES) {
            let counterparty = &paid.action.counterparty;
            let name = (counterparty.id.clone(), counterparty.display.to_string());
            if !paid_before.contains(&name) && paid.action.hash() != approval.action.hash() {
                paid_before.push(name);
            }
        }
        let authorization = known.state.authorization_of(&approval.action.hash());
        let authorization = authorization.filter(|held| Some(held.nonce) == approval.nonce).cloned();
        let (evaluation, verification) = self.asked_after(&known, &approval).await?;
        let (to_sign, released) = self.unsigned(&known, &approval, authorization.as_ref()).await?;
        Ok(Asked {
            bond: approval.bond(&known.anchored.mandate),
            mandate: known.anchored.mandate.clone(),
            tariff: known.anchored.tariff.clone(),
            approval,
            evaluation,
            verification,
            authorization,
            to_sign,
            released,
            paid_before,
        })
    }

    /// What was built for the approver's signature and lacks it; and whether the release has it.
    async fn unsigned(
        &self,
        known: &Known,
        approval: &Approval,
        held: Option<&Authorization>,
    ) -> Result<(Option<ToSign>, bool), Refused> {
        let issued = held.filter(|held| {
            approval.status == ApprovalStatus::Authorized && held.status == AuthorizationStatus::Issued
        });
        if let Some((held, tx_hash)) = issued.and_then(|held| Some((held, held.tx_hash?))) {
            let name = tx_hash.to_string();
            if self.kept::<String>(Shelf::Witnessed, &name).await?.is_some() {
                return Ok((None, true));
            }
            let digest = Some(held.record.digest_hex.to_string());
            let Some(tx) = self.kept::<String>(Shelf::Built, &name).await? else { return Ok((None, false)) };
            let bytes = ::hex::decode(&tx).map_err(bug)?;
            let signers = super::witnesses::signers_of(&bytes, approval.price.approver_key_hash);
            let signed = self.signed_of(&name, &signers).await?;
            let signers = signers.into_iter().map(|key| (key, signed.contains(&key))).collect();
            return Ok((Some(ToSign { digest, tx, tx_hash: name, signers }), false));
        }
        let captures = match approval.owed() {
            Some(Owed::Capture) => true,
            Some(Owed::Refund(Refund::DeclinedLegitimate)) => false,
            _ => return Ok((None, false)),
        };
        let kept = self.bond_txs(&known.stream, &approval.id()).await?;
        let waiting = kept.into_iter().rev().find(|tx| !tx.complete && tx.captures == captures);
        let signers = vec![(approval.price.approver_key_hash, false)];
        if let Some(BondTx { tx, tx_hash, .. }) = waiting {
            return Ok((Some(ToSign { digest: None, tx, tx_hash: tx_hash.to_string(), signers }), false));
        }
        // The chain did not answer when it was declined: it may now.
        let built = self.bond_to_sign(known, &approval.id()).await.ok().flatten();
        let tx = built.map(|Unsigned { unsigned_tx_cbor: tx, tx_hash }| ToSign {
            digest: None,
            tx,
            tx_hash: tx_hash.to_string(),
            signers,
        });
        Ok((tx, false))
    }

    /// What is to be signed for approving, as `POST …/approve` gives it.
    pub async fn approval_draft(&self, reader: &Reader, mandate: &str, id: &str) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let asked = ApproveAsked { mandate_id: Some(mandate), ..ApproveAsked::default() };
        self.approve(&reader.0, &id, asked).await
    }

    /// Approves with a signature over that draft. Gives the release that the same key signs.
    pub async fn approval_signed(
        &self,
        mandate: &str,
        id: &str,
        digest: &str,
        signature: &str,
    ) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let digest = digest.parse().map_err(|_| bad("/authorization_digest", "not a digest"))?;
        let asked = ApproveAsked {
            mandate_id: Some(mandate),
            authorization_digest: Some(digest),
            signed: Some(signed_body(signature)?),
        };
        self.approve(&Who::Nobody, &id, asked).await
    }

    /// Takes the witness over the release, and sends it.
    pub async fn release_signed(
        &self,
        mandate: &str,
        id: &str,
        digest: &str,
        witness: &str,
    ) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let asked = ExecutionAsked {
            approval_id: id,
            authorization_digest: digest.parse().map_err(|_| bad("/authorization_digest", "not a digest"))?,
            cfo_witness_cbor: witness
                .parse()
                .map_err(|_| bad("/cfo_witness_cbor", "not a witness set in hex"))?,
            mandate_id: Some(mandate),
        };
        self.execute_release(asked).await
    }

    /// What is to be signed for declining.
    pub async fn decline_draft(
        &self,
        reader: &Reader,
        mandate: &str,
        id: &str,
        reason: &str,
        comment: &str,
    ) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let asked = StatementAsked {
            reason: reason_of(reason)?,
            comment: comment_of(comment)?,
            mandate_id: Some(mandate),
        };
        serde_json::to_value(self.statement(&reader.0, &id, asked).await?).map_err(bug)
    }

    /// Declines with a signature over that. Gives the bond's spending that the same key signs.
    pub async fn decline_signed(
        &self,
        mandate: &str,
        id: &str,
        (reason, comment): (&str, &str),
        signature: &str,
    ) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let asked = DeclineAsked {
            reason: reason_of(reason)?,
            comment: comment_of(comment)?,
            mandate_id: Some(mandate),
            signature: None,
            key: None,
            signed: Some(signed_body(signature)?),
        };
        serde_json::to_value(self.decline(&id, asked).await?).map_err(bug)
    }

    /// Takes the witness over a bond's spending, and submits it.
    pub async fn bond_signed(
        &self,
        mandate: &str,
        id: &str,
        tx_hash: &str,
        witness: &str,
    ) -> Result<Value, Refused> {
        let (mandate, id) = named(mandate, id)?;
        let asked = BondSubmit {
            cfo_witness_cbor: witness
                .parse()
                .map_err(|_| bad("/cfo_witness_cbor", "not a witness set in hex"))?,
            mandate_id: Some(mandate),
            tx_hash: tx_hash.parse().map_err(|_| bad("/tx_hash", "not a transaction's hash"))?,
        };
        serde_json::to_value(self.submit_bond(&id, asked).await?).map_err(bug)
    }

    /// A mandate, for its parties.
    pub async fn boundary(&self, reader: &Reader, mandate: &str) -> Result<Boundary, Refused> {
        let known = self.read_by(reader, mandate).await?;
        let anchored = &known.anchored;
        let observed = match self.reading(&known).await {
            Ok(observed) => Some(observed),
            Err(refused) if refused.status == StatusCode::SERVICE_UNAVAILABLE => None,
            Err(refused) => return Err(refused),
        };
        let seen = observed.as_ref().map_or(0, |observed| observed.last_nonce.get());
        let open = known.state.unsettled().filter(|held| held.nonce > seen);
        let in_flight = open.fold(0_u64, |sum, held| sum.saturating_add(held.record.fields.amount.get()));
        let now = self.millis()?;
        let runs = self.runs_of(&known).await?.into_iter().take(NAMES);
        Ok(Boundary {
            mandate: anchored.mandate.clone(),
            tariff: anchored.tariff.clone(),
            vault: anchored.vault.clone(),
            vault_name: anchored.vault_name.clone(),
            paused: known.state.is_paused(),
            observed,
            in_flight,
            paged_today: known.state.paged(now),
            day: now.day(),
            metrics: self.metrics_of(&anchored.mandate.id).await?,
            runs: runs.map(run_told).collect(),
            pending: known.state.pending().count(),
            days: paid_by_day(&known),
        })
    }

    /// What asking an approver of this role costs. Public.
    pub async fn attention(&self, role: &str, mandate: &str) -> Result<Attention, Refused> {
        let known = self.mandate(&mandate.parse().map_err(|_| unknown())?).await?;
        let mandate = &known.anchored.mandate;
        let approver = mandate.approvers.iter().find(|approver| approver.role.as_str() == role);
        let approver = approver.ok_or_else(|| Refused::missing("role_unknown", "no such approver"))?;
        Ok(Attention {
            key: approver.cardano_key_hash,
            paged_today: known.state.paged(self.millis()?),
            mandate: mandate.clone(),
            tariff: known.anchored.tariff.clone(),
        })
    }

    /// A receipt, for the parties of its mandate and whoever has a pass to its run.
    pub async fn receipt_told(
        &self,
        reader: &Reader,
        id: &str,
        pass: Option<&str>,
    ) -> Result<ReceiptTold, Refused> {
        let pass = pass.and_then(|token| self.opened(token));
        if !reader.is_somebody() && pass.is_none() {
            return Err(Refused::nobody());
        }
        let made = self.receipt(id).await?;
        let passed = pass.is_some_and(|pass| pass.run == made.run && pass.mandate == made.mandate.id);
        if !passed && !reads_run(reader.0.role(&made.mandate)) {
            return Err(Refused::missing("receipt_unknown", "no such receipt"));
        }
        Ok(ReceiptTold {
            receipt: made.receipt.clone(),
            authorization: made.authorization.clone(),
            mandate: made.mandate.clone(),
            run: made.run.clone(),
        })
    }

    /// A run's log, for the parties of its mandate and whoever has a pass to it.
    pub async fn run_told(&self, reader: &Reader, run: &str, pass: Option<&str>) -> Result<RunTold, Refused> {
        let run: RunId = run.parse().map_err(|_| super::view::run_unknown())?;
        let who = if reader.is_somebody() { reader.0.clone() } else { Who::Nobody };
        let known = self.run_for(&who, &run, None, pass).await?;
        let log = self.run_log(&known, &run).await?;
        Ok(RunTold {
            mandate: known.anchored.mandate.id.clone(),
            anchored_in: log.anchor.map(|anchor| anchor.tx_hash),
            closed: log.closing.is_some(),
            events: log.events,
            run: run_told(log.run),
        })
    }

    pub(super) async fn read_by(&self, reader: &Reader, mandate: &str) -> Result<Known, Refused> {
        if !reader.is_somebody() {
            return Err(Refused::nobody());
        }
        let known = self.mandate(&mandate.parse().map_err(|_| unknown())?).await?;
        if reader.0.role(&known.anchored.mandate).reads() { Ok(known) } else { Err(unknown()) }
    }
}

fn inbox_of(key: &KeyHash) -> String {
    format!("inbox/key/{key}")
}

fn paid_by_day(known: &Known) -> Vec<(u64, u64)> {
    let mut days = std::collections::BTreeMap::new();
    for held in known.state.authorizations() {
        if held.status == AuthorizationStatus::Settled {
            let issued = held.record.fields.valid_until.get().saturating_sub(Millis::TEN_MINUTES);
            let day = issued / Millis::DAY;
            let paid: &mut u64 = days.entry(day).or_default();
            *paid = paid.saturating_add(held.record.fields.amount.get());
        }
    }
    let first = days.len().saturating_sub(DAYS);
    days.into_iter().skip(first).collect()
}

fn run_told(line: super::view::RunLine) -> Run {
    Run {
        id: line.run_id,
        goal: line.goal.to_string(),
        kind: line.kind.to_string(),
        finished: line.finished,
        started_at: line.started_at,
    }
}

/// `M-001:17`.
fn cursor(text: &str) -> Option<(String, u64)> {
    let (mandate, number) = text.rsplit_once(':')?;
    Some((mandate.to_owned(), number.parse().ok()?))
}

fn named(mandate: &str, id: &str) -> Result<(Id, ApprovalId), Refused> {
    let missing = || Refused::missing("approval_unknown", "no such approval");
    let mandate: Id = mandate.parse().map_err(|_| missing())?;
    mandate_stream(&mandate)?;
    Ok((mandate, id.parse().map_err(|_| missing())?))
}

pub(super) fn signed_body(text: &str) -> Result<SignedBody, Refused> {
    let shape = || bad("/signed", "not what `countersign mandate sign` prints");
    let Signature { evidence, key, nonce } = canon::from_slice(text.as_bytes()).map_err(|_| shape())?;
    Ok(SignedBody { evidence, key, nonce: nonce.ok_or_else(shape)? })
}

fn reason_of(text: &str) -> Result<DeclineReason, Refused> {
    match text {
        "legitimate" => Ok(DeclineReason::Legitimate),
        "frivolous" => Ok(DeclineReason::Frivolous),
        _ => Err(bad("/reason", "choose whether the question was legitimate or frivolous")),
    }
}

fn comment_of(text: &str) -> Result<Option<Text<1, 1000>>, Refused> {
    let text = text.trim();
    let too_long = |_| bad("/comment", "a comment has at most 1000 characters");
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(too_long) }
}

fn bad(place: &str, text: &str) -> Refused {
    Refused::bad("bad_field", place, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors() {
        assert_eq!(cursor("M-001:17"), Some(("M-001".to_owned(), 17)));
        assert_eq!(cursor("M-001"), None);
        assert_eq!(cursor("M-001:x"), None);
    }
}
