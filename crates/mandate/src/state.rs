//! What a mandate's stream has come to: its version, its approvals and bonds, its authorizations and reservations.

use crate::action::HashedAction;
use crate::authorization::{AuthorizationDigest, Fields, Record};
use crate::brief::Brief;
use crate::command::{Observed, Owed};
use crate::issue::Vault;
use crate::log::{ApprovalId, Declined, RunId};
use crate::mandate::Status;
use crate::price::{Bond, BondSchema, BondStatus, OutRef, Price, Tariff};
use crate::snapshot::{Delay, Snapshot, Spend};
use crate::text::{Id, KeyHash, Text, TxHash, Units};
use crate::time::Millis;
use crate::{Hashed, Mandate, Refusal};
use canon::Digest;
use imbl::{OrdMap, OrdSet};
use ledger::Head;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long after its end an authorization may still turn up on chain.
pub const GRACE_MS: u64 = 120_000;
/// How long a block may still be taken back.
pub const SETTLES_MS: u64 = 3_600_000;

#[derive(Debug, Clone, Default)]
pub struct State {
    pub(crate) head: Option<Head>,
    pub(crate) anchored: Option<Arc<Anchored>>,
    pub(crate) paused: bool,
    pub(crate) runs: OrdMap<RunId, Run>,
    /// The last proposal, which the entries after it are about.
    pub(crate) proposed: Option<(HashedAction, Option<Text<0, 256>>)>,
    pub(crate) approvals: OrdMap<u64, Arc<Approval>>,
    pub(crate) last_approval: u64,
    /// The newest approval of an action.
    pub(crate) by_action: OrdMap<Digest, u64>,
    /// Approvals that are not over, or whose bond is not spent.
    pub(crate) open: OrdSet<u64>,
    /// Which approval an output pays for.
    pub(crate) bonds: OrdMap<OutRef, u64>,
    /// When bonds were spent, by approval; those that a rollback may still undo.
    pub(crate) spent: BTreeMap<u64, Millis>,
    /// How many people were asked, by day; of the last days only.
    pub(crate) paged: BTreeMap<u64, u32>,
    pub(crate) authorizations: OrdMap<u64, Arc<Authorization>>,
    pub(crate) by_digest: OrdMap<AuthorizationDigest, u64>,
    /// Authorized and perhaps not yet in what is read from chain, by nonce.
    pub(crate) in_flight: OrdMap<u64, InFlight>,
    /// Authorizations of which it is not settled whether they were used.
    pub(crate) unsettled: OrdSet<u64>,
    /// Who holds an invoice, or an action without one.
    pub(crate) reserved: OrdMap<Reserved, u64>,
    pub(crate) last_nonce: u64,
    /// The highest nonce that was read from chain.
    pub(crate) seen_nonce: u64,
    pub(crate) delays: OrdMap<Digest, Delay>,
    /// What waits and may still be stopped.
    pub(crate) waits: OrdMap<Digest, Arc<Wait>>,
    /// The entry of the last proposal, and the action that was judged last.
    pub(crate) proposal: Option<Head>,
    pub(crate) judged: Option<Digest>,
    pub(crate) decisions: OrdMap<Digest, Decided>,
    /// The entry in which an action was first proposed, by its name.
    pub(crate) begun: OrdMap<Id, u64>,
    /// The entries that put a version in force, oldest first.
    pub(crate) versions: Vec<u64>,
    pub(crate) history: Vec<(u64, Spend)>,
}

/// The mandate in force.
#[derive(Debug, Clone)]
pub struct Anchored {
    pub mandate: Hashed<Mandate>,
    pub tariff: Tariff,
    pub vault: Vault,
    pub vault_name: Option<Id>,
    /// The version under which its anchor says that it is revoked.
    pub revoked: Option<u32>,
}

/// An action that is done at `until` unless an approver objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub action: HashedAction,
    pub run: RunId,
    pub since: Millis,
    pub until: Millis,
}

/// A run: the last proposal it made that waits for verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    pub finished: bool,
    pub(crate) verifying: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub number: u64,
    pub run: RunId,
    pub action: HashedAction,
    pub agent_signature: Option<Text<0, 256>>,
    pub price: Price,
    pub status: ApprovalStatus,
    pub bond: Option<LockedBond>,
    pub brief: Option<Hashed<Brief>>,
    /// The UTC day on which a person was asked.
    pub paged_on: Option<u64>,
    pub requested_at: Option<Millis>,
    pub draft: Option<Fields>,
    /// Who signed the draft.
    pub signers: Vec<KeyHash>,
    pub nonce: Option<u64>,
    pub declined: Option<Declined>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalStatus {
    AwaitingBond,
    Pending,
    Authorized,
    Declined,
    Closed,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedBond {
    pub at: OutRef,
    pub status: BondStatus,
    pub outcome_tx: Option<TxHash>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Authorization {
    pub nonce: u64,
    pub action: HashedAction,
    pub approval: Option<u64>,
    pub run: RunId,
    pub record: Record,
    pub status: AuthorizationStatus,
    pub tx_hash: Option<TxHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthorizationStatus {
    /// May be used until it expires.
    Issued,
    Submitted,
    /// Nobody knows whether it was used; only the chain can tell.
    Unknown,
    Settled,
    /// Looked for after its end and not found: its reservation is free again.
    Released,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub amount: u64,
    pub action: Digest,
    pub valid_until: Millis,
    pub settled: bool,
}

/// Where the log tells of the newest decision about an action: from its proposal to the last entry that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    pub first: Head,
    pub last: Head,
    /// When it was judged.
    pub at: Millis,
}

/// What one authorization at a time may pay (spec 1.8).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reserved {
    Invoice(Text<1, 64>),
    Action(Digest),
}

/// Whether something may be paid.
#[derive(Debug, Clone)]
pub(crate) enum Holder {
    Nobody,
    /// This very action, and the authorization is good.
    Same(Arc<Authorization>),
    /// Paid, or being paid by another action.
    Taken {
        nonce: u64,
        how: &'static str,
    },
    /// It has just expired: wait.
    Wait,
    /// It has expired; the chain must be asked whether it was used.
    Unclear(AuthorizationDigest),
}

impl ApprovalStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingBond => "awaiting_bond",
            Self::Pending => "pending",
            Self::Authorized => "authorized",
            Self::Declined => "declined",
            Self::Closed => "closed",
            Self::Expired => "expired",
        }
    }
}

impl Approval {
    /// `AP-` and the number.
    pub fn id(&self) -> ApprovalId {
        self.price.approval_id.clone()
    }

    /// What is owed on its bond: nothing before it is over, nothing once it is spent.
    pub fn owed(&self) -> Option<Owed> {
        use crate::log::{DeclineReason, Refund};
        if self.bond.as_ref()?.status != BondStatus::Locked {
            return None;
        }
        match self.status {
            ApprovalStatus::AwaitingBond | ApprovalStatus::Pending => None,
            ApprovalStatus::Authorized => Some(Owed::Refund(Refund::Approved)),
            ApprovalStatus::Closed | ApprovalStatus::Expired => Some(Owed::Refund(Refund::Expired)),
            ApprovalStatus::Declined => match self.declined.as_ref().map(|declined| declined.reason) {
                Some(DeclineReason::Frivolous) => Some(Owed::Capture),
                _ => Some(Owed::Refund(Refund::DeclinedLegitimate)),
            },
        }
    }

    /// The bond as it is shown.
    pub fn bond(&self, mandate: &Mandate) -> Bond {
        let never = matches!(self.status, ApprovalStatus::Expired | ApprovalStatus::Closed);
        let unpaid = if never { BondStatus::Expired } else { BondStatus::Required };
        Bond {
            action_hash: self.price.action_hash,
            amount: self.price.amount,
            approval_id: self.id(),
            asset: self.price.asset.symbol.clone(),
            escrow_address: self.price.escrow_address.clone(),
            locked_until_ms: self.price.locked_until_ms,
            mandate_id: mandate.id.clone(),
            outcome_tx_hash: self.bond.as_ref().and_then(|bond| bond.outcome_tx),
            output_index: self.bond.as_ref().map(|bond| bond.at.output_index),
            schema: BondSchema::V01,
            status: self.bond.as_ref().map_or(unpaid, |bond| bond.status),
            tx_hash: self.bond.as_ref().map(|bond| bond.at.tx_hash),
        }
    }
}

impl State {
    pub fn head(&self) -> Head {
        self.head.unwrap_or(Head::EMPTY)
    }
    /// The mandate in force, if one was ever anchored.
    pub fn anchored(&self) -> Option<&Anchored> {
        self.anchored.as_deref()
    }
    /// The same, to keep.
    pub fn in_force(&self) -> Option<Arc<Anchored>> {
        self.anchored.clone()
    }
    pub const fn is_paused(&self) -> bool {
        self.paused
    }
    pub fn run(&self, run: &RunId) -> Option<&Run> {
        self.runs.get(run)
    }
    pub fn approval(&self, id: &ApprovalId) -> Option<&Approval> {
        let number = id.as_str().strip_prefix("AP-")?.parse::<u64>().ok()?;
        self.approvals.get(&number).map(Arc::as_ref).filter(|approval| approval.id() == *id)
    }
    /// Approvals that wait for a person, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Approval> {
        self.open
            .iter()
            .filter_map(|number| self.approvals.get(number))
            .map(Arc::as_ref)
            .filter(|approval| approval.status == ApprovalStatus::Pending)
    }
    /// Approvals that are not over, or whose bond is not spent.
    pub fn open(&self) -> impl Iterator<Item = &Approval> {
        self.open.iter().filter_map(|number| self.approvals.get(number)).map(Arc::as_ref)
    }
    /// Approvals whose bond was spent lately: a rollback may still undo it.
    pub fn spent(&self, now: Millis) -> impl Iterator<Item = &Approval> {
        let lately = self.spent.iter().filter(move |(_, at)| now.since(**at) <= SETTLES_MS);
        lately.filter_map(|(number, _)| self.approvals.get(number)).map(Arc::as_ref)
    }
    pub fn authorization(&self, digest: &AuthorizationDigest) -> Option<&Authorization> {
        self.by_digest.get(digest).and_then(|nonce| self.authorizations.get(nonce)).map(Arc::as_ref)
    }
    /// Every authorization ever issued, by nonce.
    pub fn authorizations(&self) -> Vec<&Authorization> {
        self.authorizations.values().map(Arc::as_ref).collect()
    }
    /// How many people were asked on the day of `now`.
    pub fn paged(&self, now: Millis) -> u32 {
        self.paged.get(&now.day()).copied().unwrap_or(0)
    }
    pub fn delay(&self, action: &Digest) -> Option<&Delay> {
        self.delays.get(action)
    }
    /// What waits at an instant and may be stopped, in the order of its hashes.
    pub fn waits(&self, now: Millis) -> impl Iterator<Item = &Wait> {
        self.waits.values().map(Arc::as_ref).filter(move |wait| now < wait.until)
    }
    /// Where the log tells of the newest decision about an action.
    pub fn decision(&self, action: &Digest) -> Option<&Decided> {
        self.decisions.get(action)
    }
    /// The number of the entry in which an action of this name was first proposed.
    pub fn begun(&self, action: &Id) -> Option<u64> {
        self.begun.get(action).copied()
    }
    /// The number of the entry that put the version in force under which entry `seq` was written.
    pub fn version_at(&self, seq: u64) -> Option<u64> {
        self.versions.iter().rev().find(|at| **at <= seq).copied()
    }
    /// Whether a reading of the vault shows less than is known: it is older, or blocks were rolled back.
    pub fn is_behind(&self, last_nonce: u64) -> bool {
        let settled = self.in_flight.range(last_nonce.saturating_add(1)..).any(|(_, flight)| flight.settled);
        settled || last_nonce < self.seen_nonce
    }
    /// The entry of the last proposal.
    pub const fn last_proposal(&self) -> Option<Head> {
        self.proposal
    }
    /// The newest approval of an action.
    pub fn approval_of(&self, action: &Digest) -> Option<&Approval> {
        self.newest(action).map(Arc::as_ref)
    }
    /// The newest authorization of an action.
    pub fn authorization_of(&self, action: &Digest) -> Option<&Authorization> {
        let nonce = self.reserved.get(&Reserved::Action(*action))?;
        self.authorizations.get(nonce).map(Arc::as_ref)
    }
    /// Authorizations of which it is not settled whether they were used, by nonce.
    pub fn unsettled(&self) -> impl Iterator<Item = &Authorization> {
        self.unsettled.iter().filter_map(|nonce| self.authorizations.get(nonce)).map(Arc::as_ref)
    }

    /// What the engine is told: what was read from chain and what this stream counts, an action's own reservations and
    /// interruption left out.
    pub(crate) fn snapshot(&self, observed: &Observed, now: Millis, action: Option<&Digest>) -> Snapshot {
        let own_page = action
            .and_then(|action| self.newest(action))
            .is_some_and(|approval| approval.paged_on == Some(now.day()));
        let seen = observed.last_nonce.get();
        let counts = |nonce: u64, flight: &InFlight| {
            nonce > seen
                && Some(&flight.action) != action
                && (flight.settled || now <= flight.valid_until.plus(GRACE_MS))
        };
        let in_flight = self
            .in_flight
            .iter()
            .filter(|(nonce, flight)| counts(**nonce, flight))
            .fold(0_u64, |sum, (_, flight)| sum.saturating_add(flight.amount));
        let anchored = self.anchored();
        Snapshot {
            anchor_status: if anchored.is_some_and(|anchored| anchored.revoked.is_some()) {
                Status::Revoked
            } else {
                observed.anchor_status
            },
            anchor_version: observed.anchor_version,
            day_index: observed.day_index,
            delay: action.and_then(|action| self.delays.get(action)).copied(),
            escalation_day_index: Some(now.day()),
            escalations_today: Some(self.paged(now).saturating_sub(u32::from(own_page))),
            history: self
                .history
                .iter()
                .filter(|(nonce, _)| !self.is_own(*nonce, action))
                .map(|(_, spend)| spend.clone())
                .collect(),
            in_flight: (in_flight > 0).then(|| Units::new(in_flight)),
            last_nonce: observed.last_nonce,
            observed_at_slot: observed.slot,
            spent_today: observed.spent_today,
            vault: anchored.and_then(|anchored| anchored.vault_name.clone()),
            vault_balance: observed.vault_balance,
        }
    }

    pub(crate) fn newest(&self, action: &Digest) -> Option<&Arc<Approval>> {
        self.by_action.get(action).and_then(|number| self.approvals.get(number))
    }

    /// Whether this action may be paid, or is, or was.
    pub(crate) fn holder(&self, action: &HashedAction, now: Millis) -> Holder {
        let keys = [Some(Reserved::Action(action.hash())), reserved_invoice(action)];
        let found = keys.into_iter().flatten().filter_map(|key| self.reserved.get(&key)).max();
        let Some(held) = found.and_then(|nonce| self.authorizations.get(nonce)) else {
            return Holder::Nobody;
        };
        let valid_until = held.record.fields.valid_until;
        match held.status {
            AuthorizationStatus::Released => Holder::Nobody,
            AuthorizationStatus::Settled => Holder::Taken { nonce: held.nonce, how: "settled" },
            _ if now < valid_until && held.action.hash() == action.hash() => Holder::Same(Arc::clone(held)),
            _ if now < valid_until => Holder::Taken { nonce: held.nonce, how: "live" },
            _ if now <= valid_until.plus(GRACE_MS) => Holder::Wait,
            _ => Holder::Unclear(held.record.digest_hex),
        }
    }

    fn is_own(&self, nonce: u64, action: Option<&Digest>) -> bool {
        let held = self.authorizations.get(&nonce);
        action.is_some() && held.map(|held| held.action.hash()).as_ref() == action
    }
}

pub(crate) fn reserved_invoice(action: &HashedAction) -> Option<Reserved> {
    action.reference.as_ref().map(|reference| Reserved::Invoice(reference.invoice_id.clone()))
}

impl Observed {
    /// Refuses what is not about this mandate, or older than what was read before (a rollback has to be told).
    pub(crate) fn check(&self, anchored: &Anchored, state: &State) -> Result<(), Refusal> {
        if self.anchor_version == anchored.mandate.version && self.mandate_hash != anchored.mandate.hash() {
            return Err(Refusal::AnchorDiffers);
        }
        if self.last_nonce.get() < state.seen_nonce { Err(Refusal::StaleReading) } else { Ok(()) }
    }
}
