//! What the chain is asked to do, and what becomes of it. Every step can be run again: a release is identified by its
//! authorization, whose nonce the vault takes once; a bond by its output, which is spent once.
//!
//! A call that fails clean is made again, one whose answer is lost is looked up first, one that is refused is on record.

use super::kept::Shelf;
use super::rail::{ChainError, Release};
use super::{Known, Refused, bug, unknown};
use crate::App;
use env::Duration;
use ledger::{Effect, StreamId};
use mandate::authorization::AuthorizationDigest;
use mandate::command::{BondSpent, Execution, Owed};
use mandate::log::{ApprovalId, LogHead, RunId};
use mandate::price::BondStatus;
use mandate::state::{Approval, Authorization, AuthorizationStatus, GRACE_MS};
use mandate::text::{Text, TxHash};
use mandate::{Command, Millis};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::{Append, Failed, Outgoing};

/// What an outbox row of the mandates asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Asked {
    Release { digest: AuthorizationDigest },
    Reconcile { digest: AuthorizationDigest },
    Refund { approval_id: ApprovalId },
    Capture { approval_id: ApprovalId },
    Act { tx_hash: TxHash },
    Job { id: RunId },
}

/// A transaction that may spend a bond.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BondTx {
    pub captures: bool,
    /// Whether it takes nobody's signature any more.
    pub complete: bool,
    /// Hex.
    pub tx: String,
    pub tx_hash: TxHash,
}

/// What to do next about a release.
enum Step {
    Done,
    /// Look again soon: it is not in a block yet.
    Look,
    /// An input was spent meanwhile.
    Rebuild,
}

/// A release is not sent with less than this left (spec 2.4).
const LEAST_MS: u64 = 60_000;
/// What the chain calls a transaction whose time is over.
const EXPIRED: &str = "EXPIRED";
/// Others wait for a person's release only while it has more than this left of its ten minutes.
const PERSON_LEFT_MS: u64 = 450_000;
/// How long a release whose turn may come first is waited for.
const MOMENT_MS: u64 = 3000;
/// How often one row builds again after contention.
const BUILDS: usize = 3;
/// How soon a transaction is looked for that was just submitted.
const LOOK: Duration = Duration::from_secs(5);
/// How long the approver may still capture, once anyone could refund.
const CAPTURE_MS: u64 = 3_600_000;
/// The most transactions that are kept for one bond.
const MAX_BOND_TXS: usize = 1000;

impl App {
    /// Asks the rail for something outside a decision.
    pub(crate) async fn ask_rail(&self, stream: &StreamId, body: String) -> Result<(), Refused> {
        let effect = Effect::Submit { rail: "mandate".to_owned(), body };
        let outgoing = Outgoing { stream: stream.clone(), effect, due: self.now() };
        self.journal().append(Append { outbox: vec![outgoing], ..Append::default() }).await?;
        Ok(())
    }

    /// Runs an outbox row of a mandate.
    pub(crate) async fn carry_out(&self, stream: &StreamId, body: &str) -> Result<(), Failed> {
        if self.kept_mandates().is_none() {
            return Err(Failed::Later("no mandates are configured here".to_owned()));
        }
        let asked: Asked =
            canon::from_slice(body.as_bytes()).map_err(|error| Failed::Never(error.to_string()))?;
        match asked {
            Asked::Release { digest } => match self.release(stream, &digest).await.map_err(later)? {
                Step::Done | Step::Rebuild => Ok(()),
                Step::Look => Err(Failed::NotBefore {
                    due: self.now() + LOOK,
                    why: "a release is not in a block yet".to_owned(),
                }),
            },
            Asked::Act { tx_hash } => self.carry_act(stream, tx_hash).await,
            Asked::Reconcile { digest } => self.reconcile(stream, &digest).await.map_err(later),
            Asked::Job { id } => self.work_on_job(&id).await,
            // A bond that stays is asked for again every minute, so a failure needs no row of its own.
            Asked::Refund { approval_id } | Asked::Capture { approval_id } => {
                if let Err(refused) = self.settle_bond(stream, &approval_id).await {
                    tracing::warn!(%stream, %approval_id, error = refused.text, "a bond was not settled");
                }
                Ok(())
            }
        }
    }

    /// The clock of a mandate moved.
    pub(crate) async fn tick_mandate(&self, stream: &StreamId) -> Result<(), Failed> {
        self.authority(stream, &Command::Tick).await.map(drop).map_err(|error| later(error.into()))
    }

    /// Releases of one vault go one after the other, in the order of their nonces: the vault takes no lower one later.
    async fn release(&self, stream: &StreamId, digest: &AuthorizationDigest) -> Result<Step, Refused> {
        if self.is_switched_off(stream).await? {
            return Err(mandate::Refusal::Paused.into());
        }
        let turn = self.mandates()?.turns.of(stream);
        let _turn = turn.lock().await;
        let mut builds = 0;
        loop {
            let known = self.mandate_at(stream.clone()).await?.ok_or_else(unknown)?;
            let Some(held) = known.state.authorization(digest).cloned() else { return Ok(Step::Done) };
            if matches!(held.status, AuthorizationStatus::Settled | AuthorizationStatus::Released) {
                return Ok(Step::Done);
            }
            let now = self.millis()?;
            let mut others = known.state.unsettled();
            let waits = others.any(|other| other.nonce < held.nonce && is_under_way(other, now));
            if let Some(tx_hash) = held.tx_hash {
                match self.follow(&known, &held, tx_hash, waits).await? {
                    Step::Rebuild if !held.record.fields.requires_principal => {}
                    step => return Ok(step),
                }
            } else if held.record.fields.requires_principal {
                return Ok(Step::Done);
            }
            if now.plus(LEAST_MS) >= held.record.fields.valid_until {
                return Ok(Step::Done);
            }
            if waits || builds >= BUILDS {
                return Ok(Step::Look);
            }
            builds += 1;
            match self.build(&known, &held, None).await {
                Ok(_) => {}
                Err(Unbuilt::Refused(refused)) => return Err(refused),
                Err(Unbuilt::Chain(ChainError::Rejected { invariant, error })) => {
                    self.rejected(&known, digest, None, invariant, &error).await?;
                    return Ok(Step::Done);
                }
                Err(Unbuilt::Chain(trouble)) => return Err(trouble.into()),
            }
        }
    }

    /// Sends a transaction that was built, unless it is there already.
    async fn follow(
        &self,
        known: &Known,
        held: &Authorization,
        tx_hash: TxHash,
        waits: bool,
    ) -> Result<Step, Refused> {
        let digest = &held.record.digest_hex;
        let rail = &self.mandates()?.setup.rail;
        if let Some(block_height) = rail.confirmed(tx_hash).await? {
            self.settled(known, digest, tx_hash, block_height).await?;
            return Ok(Step::Done);
        }
        let now = self.millis()?;
        if now > held.record.fields.valid_until {
            // Whether it landed is looked up once it no longer can.
            return Ok(Step::Done);
        }
        if waits {
            return Ok(Step::Look);
        }
        let needs_person = held.record.fields.requires_principal;
        let shelf = if needs_person { Shelf::Witnessed } else { Shelf::Built };
        let Some(tx) = self.kept::<String>(shelf, &tx_hash.to_string()).await? else {
            return Ok(if needs_person { Step::Done } else { Step::Rebuild });
        };
        let tx = ::hex::decode(&tx).map_err(bug)?;
        match rail.submit(&tx).await {
            Ok(_) => {
                if held.status != AuthorizationStatus::Submitted {
                    self.execution(known, digest, Execution::Submitted { tx_hash }).await?;
                }
                match rail.confirmed(tx_hash).await? {
                    Some(block_height) => {
                        self.settled(known, digest, tx_hash, block_height).await?;
                        Ok(Step::Done)
                    }
                    None => Ok(Step::Look),
                }
            }
            Err(ChainError::Unknown(why)) => {
                tracing::warn!(stream = %known.stream, %digest, why, "a submission's answer was lost");
                self.execution(known, digest, Execution::Unknown).await?;
                Ok(Step::Look)
            }
            Err(ChainError::Contention(why)) => match rail.find(&held.record).await? {
                Some(found) => {
                    self.settled(known, digest, found.tx_hash, found.block_height).await?;
                    Ok(Step::Done)
                }
                None => {
                    if needs_person {
                        // The approver signed this body and no other.
                        self.rejected(known, digest, Some(tx_hash), None, &why).await?;
                    }
                    Ok(Step::Rebuild)
                }
            },
            // The transaction has ended, its authorization has not.
            Err(ChainError::Rejected { invariant, .. })
                if !needs_person && invariant.as_deref() == Some(EXPIRED) =>
            {
                Ok(Step::Rebuild)
            }
            Err(ChainError::Rejected { invariant, error }) => {
                self.rejected(known, digest, Some(tx_hash), invariant, &error).await?;
                Ok(Step::Done)
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// Builds the release and puts it on record before anybody can send it. Gives the transaction in hex.
    pub(crate) async fn build(
        &self,
        known: &Known,
        held: &Authorization,
        bond: Option<mandate::price::OutRef>,
    ) -> Result<(String, TxHash), Unbuilt> {
        let known = self.mandate_at(known.stream.clone()).await?.ok_or_else(unknown)?;
        let mandate = &known.anchored.mandate;
        let label = format!("{}@{}", mandate.id, mandate.version);
        let log_head = LogHead { hash: known.head.hash, seq: known.head.seq };
        let approval = held.approval.and_then(|_| known.state.approval_of(&held.action.hash()));
        let release = Release {
            vault: &known.anchored.vault,
            record: &held.record,
            action_hash: held.action.hash(),
            mandate: &label,
            log_head,
            bond,
            signers: approval.map_or(&[], |approval| approval.signers.as_slice()),
        };
        let built = self.mandates()?.setup.rail.release(&release).await.map_err(Unbuilt::Chain)?;
        let tx = ::hex::encode(&built.tx);
        self.keep(Shelf::Built, &built.tx_hash.to_string(), &tx, None).await?;
        let what =
            Execution::Built { tx_hash: built.tx_hash, tx_body_cbor: ::hex::encode(&built.body), log_head };
        self.execution(&known, &held.record.digest_hex, what).await?;
        Ok((tx, built.tx_hash))
    }

    /// Looks on chain whether an authorization that has ended was used.
    pub(crate) async fn reconcile(
        &self,
        stream: &StreamId,
        digest: &AuthorizationDigest,
    ) -> Result<(), Refused> {
        let known = self.mandate_at(stream.clone()).await?.ok_or_else(unknown)?;
        let Some(held) = known.state.authorization(digest).cloned() else { return Ok(()) };
        if matches!(held.status, AuthorizationStatus::Settled | AuthorizationStatus::Released) {
            return Ok(());
        }
        if self.millis()? <= held.record.fields.valid_until.plus(GRACE_MS) {
            return Ok(());
        }
        match self.mandates()?.setup.rail.find(&held.record).await? {
            Some(found) => self.settled(&known, digest, found.tx_hash, found.block_height).await,
            None => self.execution(&known, digest, Execution::NotFound).await,
        }
    }

    /// It is in a block; where the same transaction gave the bond back, that is on record too (W7).
    async fn settled(
        &self,
        known: &Known,
        digest: &AuthorizationDigest,
        tx_hash: TxHash,
        block_height: u64,
    ) -> Result<(), Refused> {
        self.execution(known, digest, Execution::Confirmed { tx_hash, block_height }).await?;
        self.mandates()?.readings.forget(&known.stream);
        let approval = known.state.authorization(digest).and_then(|held| held.approval);
        let approval = approval.and_then(|number| format!("AP-{number}").parse::<ApprovalId>().ok());
        if let Some(id) = approval {
            self.settle_bond(&known.stream, &id).await?;
        }
        Ok(())
    }

    async fn execution(
        &self,
        known: &Known,
        digest: &AuthorizationDigest,
        what: Execution,
    ) -> Result<(), Refused> {
        let command = Command::Execution { digest: *digest, what };
        match self.authority(&known.stream, &command).await {
            // Somebody else was here before.
            Ok(_) | Err(store::Error::Refused(mandate::Refusal::AuthorizationOver)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn rejected(
        &self,
        known: &Known,
        digest: &AuthorizationDigest,
        tx_hash: Option<TxHash>,
        invariant: Option<String>,
        error: &str,
    ) -> Result<(), Refused> {
        let error: String = error.chars().take(2000).collect();
        let what = Execution::Rejected {
            tx_hash,
            invariant: invariant.and_then(|rule| rule.parse::<Text<1, 32>>().ok()),
            error: error.parse().map_err(bug)?,
        };
        self.execution(known, digest, what).await
    }

    /// Brings a bond to where it is owed, as far as that takes nobody's signature, and records where it went.
    pub(crate) async fn settle_bond(&self, stream: &StreamId, id: &ApprovalId) -> Result<(), Refused> {
        let known = self.mandate_at(stream.clone()).await?.ok_or_else(unknown)?;
        let Some(approval) = known.state.approval(id).cloned() else { return Ok(()) };
        let locked = approval.bond.as_ref().filter(|bond| bond.status == BondStatus::Locked);
        let (Some(owed), Some(locked)) = (approval.owed(), locked) else { return Ok(()) };
        let rail = &self.mandates()?.setup.rail;
        let Some(there) = rail.bond(locked.at).await? else {
            return self.spent_by(&known, &approval).await;
        };
        for tx in self.bond_txs(stream, id).await?.iter().rev().filter(|tx| tx.complete).take(1) {
            match rail.submit(&::hex::decode(&tx.tx).map_err(bug)?).await {
                Ok(_) | Err(ChainError::Unknown(_)) => return self.spent_by(&known, &approval).await,
                // What pays its fee was spent otherwise.
                Err(ChainError::Contention(_) | ChainError::Rejected { .. }) => {}
                Err(trouble) => return Err(trouble.into()),
            }
        }
        let over = there.datum.locked_until_ms.plus(match owed {
            Owed::Refund(_) => SLOT_MS,
            Owed::Capture => CAPTURE_MS,
        });
        if self.millis()? <= over {
            return Ok(());
        }
        let built = rail.refund(locked.at, None).await?;
        let tx = ::hex::encode(&built.tx);
        let tx = BondTx { captures: false, complete: true, tx, tx_hash: built.tx_hash };
        self.keep_bond_tx(stream, id, &tx).await?;
        match rail.submit(&built.tx).await {
            // Whether it landed shows now, or in a minute.
            Ok(_) | Err(ChainError::Unknown(_) | ChainError::Contention(_)) => {
                self.spent_by(&known, &approval).await
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// Which of the transactions that may have spent a bond did. Says nothing while none is in a block.
    pub(crate) async fn spent_by(&self, known: &Known, approval: &Approval) -> Result<(), Refused> {
        let id = approval.id();
        let rail = &self.mandates()?.setup.rail;
        let release = approval.nonce.and_then(|nonce| {
            let digest = known.state.authorization_of(&approval.action.hash())?;
            (digest.nonce == nonce).then_some(digest.tx_hash?)
        });
        let mut may: Vec<(TxHash, bool)> = release.into_iter().map(|tx_hash| (tx_hash, false)).collect();
        let kept = self.bond_txs(&known.stream, &id).await?;
        may.extend(kept.iter().map(|tx| (tx.tx_hash, tx.captures)));
        for (tx_hash, captures) in may {
            if rail.confirmed(tx_hash).await?.is_none() {
                continue;
            }
            let how = if captures {
                BondSpent::Captured { tx_hash, sink_address: self.mandates()?.setup.sink.clone() }
            } else {
                BondSpent::Refunded { tx_hash }
            };
            let command = Command::BondSpent { approval_id: id, how };
            self.authority(&known.stream, &command).await?;
            return Ok(());
        }
        Ok(())
    }

    /// Keeps a transaction that may spend a bond, before anybody can send it.
    pub(crate) async fn keep_bond_tx(
        &self,
        stream: &StreamId,
        id: &ApprovalId,
        tx: &BondTx,
    ) -> Result<(), Refused> {
        let known = self.bond_txs(stream, id).await?;
        if known.iter().any(|other| (other.tx_hash, other.complete) == (tx.tx_hash, tx.complete)) {
            return Ok(());
        }
        for number in known.len()..MAX_BOND_TXS {
            if self.keep(Shelf::Bond, &format!("{stream} {id} {number}"), tx, None).await? {
                return Ok(());
            }
        }
        Err(bug("a bond with too many transactions"))
    }

    pub(crate) async fn bond_txs(&self, stream: &StreamId, id: &ApprovalId) -> Result<Vec<BondTx>, Refused> {
        let mut found = Vec::new();
        while let Some(tx) =
            self.kept::<BondTx>(Shelf::Bond, &format!("{stream} {id} {}", found.len())).await?
        {
            found.push(tx);
        }
        Ok(found)
    }
}

/// Whether a release may still land before others: one that a person is to sign is waited for a while, and one that was
/// issued just now, whose turn may not have come yet, for a moment.
fn is_under_way(held: &Authorization, now: Millis) -> bool {
    let fields = &held.record.fields;
    let left = fields.valid_until.since(now);
    let enough = match (held.tx_hash, fields.requires_principal) {
        (Some(_), false) => 0,
        (Some(_), true) => PERSON_LEFT_MS,
        (None, false) => Millis::TEN_MINUTES - MOMENT_MS,
        (None, true) => return false,
    };
    left > enough
}

/// The releases of each mandate, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<StreamId, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    fn of(&self, stream: &StreamId) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(stream.clone()).or_default())
    }
}

/// Why a release was not built.
#[derive(Debug)]
pub(crate) enum Unbuilt {
    Chain(ChainError),
    Refused(Refused),
}

impl From<Refused> for Unbuilt {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Unbuilt> for Refused {
    fn from(unbuilt: Unbuilt) -> Self {
        match unbuilt {
            Unbuilt::Chain(trouble) => trouble.into(),
            Unbuilt::Refused(refused) => refused,
        }
    }
}

/// A slot: after a lock's end the chain's clock must have moved on by one.
const SLOT_MS: u64 = 1000;

fn later(refused: Refused) -> Failed {
    Failed::Later(format!("{}: {}", refused.code, refused.text))
}
