//! Prices, bonds, briefs, and what approvers signed.

use super::{Check, Replay, hold};
use crate::authorization::{AuthorizationDigest, Fields};
use crate::brief::{Brief, Budget};
use crate::evaluation::Detail;
use crate::log::{ApprovalId, ApprovalRequested, Approved, BondLocked, Declined, Event, Phase, Refund};
use crate::price::{BondStatus, Price, PriceSchema};
use crate::proof::{ApproveBody, Approvers, DeclineBody, Question, Signed, VetoBody};
use crate::reason::Reason;
use crate::state::{Approval, ApprovalStatus, AuthorizationStatus};
use crate::text::KeyHash;
use crate::time::Millis;
use crate::{Hashed, Outcome};
use approvals::Decided;
use canon::Digest;

impl Replay {
    pub(super) fn priced(&self, event: &Event, id: &ApprovalId, price: &Price, now: Millis) -> Check {
        const CODE: &str = "bad_price";
        let last = self.follows(event, Phase::Check, CODE)?;
        let anchored = self.state.anchored.as_ref().ok_or(CODE)?;
        let evaluation = &last.judged.evaluation;
        hold(evaluation.outcome == Outcome::Escalate && evaluation.signed, CODE)?;
        let action_hash = evaluation.action_hash.ok_or(CODE)?;
        hold(self.is_proposed(action_hash), CODE)?;
        let live = self.state.newest(&action_hash).is_some_and(|approval| {
            matches!(
                approval.status,
                ApprovalStatus::AwaitingBond | ApprovalStatus::Pending | ApprovalStatus::Declined
            )
        });
        let number = self.state.last_approval.saturating_add(1);
        hold(!live && id.as_str() == format!("AP-{number}") && *id == price.approval_id, CODE)?;
        let role = evaluation.approvals_required.first().map(|required| &required.approver);
        let approver = anchored.mandate.approver(&price.approver_key_hash).ok_or(CODE)?;
        hold(Some(&approver.role) == role, CODE)?;
        let used =
            evaluation.checks.last().and_then(|row| row.detail.get("used")).and_then(Detail::as_number);
        let used = used.and_then(|used| u32::try_from(used).ok()).ok_or(CODE)?;
        let tariff = &anchored.tariff;
        let expected = Price {
            action_hash,
            amount: tariff.amount,
            approval_id: id.clone(),
            approver_key_hash: approver.cardano_key_hash,
            approvers: Some(anchored.mandate.signatories()).filter(|all| all.only().is_none()),
            asset: tariff.asset.clone(),
            escrow_address: tariff.escrow_address.as_str().parse().map_err(|_| CODE)?,
            interrupt_budget: Budget { per_day: anchored.mandate.interrupt_budget.per_day, used },
            locked_until_ms: now.plus(tariff.held_ms),
            network: anchored.vault.network,
            schema: PriceSchema::V01,
        };
        hold(*price == expected, CODE)
    }

    /// Whether the last proposal that could be read is this one, which the fold takes.
    pub(super) fn is_proposed(&self, action: Digest) -> bool {
        self.state.proposed.as_ref().is_some_and(|(proposed, _)| proposed.hash() == action)
    }

    pub(super) fn locked(&self, locked: &BondLocked) -> Check {
        let approval = self.state.approval(&locked.approval_id).ok_or("bad_bond")?;
        let fits = approval.bond.is_none()
            && self.state.bonds.get(&locked.at()).is_none()
            && locked.amount >= approval.price.amount
            && locked.asset == approval.price.asset.symbol;
        hold(fits, "bad_bond")
    }

    pub(super) fn requested(&self, event: &Event, requested: &ApprovalRequested, now: Millis) -> Check {
        let last = self.follows(event, Phase::Check, "bad_request")?;
        let evaluation = &last.judged.evaluation;
        let approval = self.state.approval(&requested.approval_id).ok_or("bad_request")?;
        let asked = approval.status == ApprovalStatus::AwaitingBond
            && now < approval.price.locked_until_ms
            && evaluation.outcome == Outcome::Escalate
            && evaluation.signed
            && evaluation.action_hash == Some(approval.action.hash())
            && requested.approvals_required == evaluation.approvals_required;
        hold(asked, "bad_request")?;
        let mandate = self.mandate()?;
        hold(approval.bond.is_some() && requested.bond == approval.bond(mandate), "bad_bond")?;
        let brief = Brief::of(&last.judged, mandate, &approval.price, last.registry_tx.clone());
        hold(brief.is_ok_and(|brief| brief == requested.brief), "bad_brief")?;
        hold(requested.brief_hash == requested.brief.hash(), "bad_brief_hash")
    }

    pub(super) fn drafted(
        &self,
        id: &ApprovalId,
        digest: &AuthorizationDigest,
        fields: &Fields,
        now: Millis,
    ) -> Check {
        const CODE: &str = "bad_draft";
        let approval = self.pending(id)?;
        let anchored = self.state.anchored.as_ref().ok_or(CODE)?;
        let (mandate, vault, action) = (&anchored.mandate, &anchored.vault, &approval.action);
        hold(now < approval.price.locked_until_ms, "bad_approval")?;
        hold(fields.nonce.get() > self.state.last_nonce, "bad_nonce")?;
        let ends = now.plus(Millis::TEN_MINUTES);
        let expected = Fields {
            action_hash: action.hash(),
            action_type: action.kind.code(),
            amount: action.amount.value,
            asset_name: vault.asset_name.clone(),
            asset_policy: vault.asset_policy,
            chain_tag: vault.network.network().tag(),
            mandate_hash: mandate.hash(),
            mandate_ref: vault.mandate_ref,
            mandate_version: mandate.version,
            nonce: fields.nonce,
            recipient: action.recipient.address.clone(),
            requires_principal: true,
            valid_until: ends.min(mandate.validity.expires_at.millis().unwrap_or(ends)),
            vault_hash: vault.vault_hash,
            verification_ref: fields.verification_ref,
        };
        hold(*fields == expected && fields.check().is_ok(), CODE)?;
        hold(*digest == fields.digest(), "bad_digest")
    }

    pub(super) fn approved(&self, event: &Event, approved: &Approved) -> Check {
        let approval = self.pending(&approved.approval_id)?;
        let draft = approval.draft.as_ref().ok_or("draft_mismatch")?;
        hold(draft.digest() == approved.digest, "draft_mismatch")?;
        let question = question(approval)?;
        hold(approved.brief_hash == question.brief_hash, "bad_brief_hash")?;
        let body = ApproveBody { authorization_digest: approved.digest };
        let signer = question.signer(
            Decided::Approve,
            &body,
            &approved.signed,
            &self.approvers(&self.keys())?,
            event.at,
        );
        hold(signer == Ok(approved.cfo_key_hash), "bad_approver_signature")?;
        hold(!approval.signers.contains(&approved.cfo_key_hash), "signed_twice")
    }

    pub(super) fn declined(&self, event: &Event, declined: &Declined) -> Check {
        let approval = self.state.approval(&declined.approval_id).ok_or("bad_approval")?;
        let held = approval.nonce.and_then(|nonce| self.state.authorizations.get(&nonce));
        let open = match approval.status {
            ApprovalStatus::Pending => true,
            ApprovalStatus::Authorized => held.is_some_and(|held| held.status == AuthorizationStatus::Issued),
            _ => false,
        };
        hold(open, "bad_approval")?;
        let question = question(approval)?;
        hold(declined.brief_hash == question.brief_hash, "bad_brief_hash")?;
        let keys = self.keys();
        let who = self.approvers(&keys)?;
        let older = who.older_decline(approval.price.approval_id.as_str(), declined.reason, &declined.signed);
        let signer = match older {
            Ok(signer) if declined.comment.is_none() => Ok(signer),
            _ => {
                let body = DeclineBody { comment: declined.comment.clone(), reason: declined.reason };
                question.signer(Decided::Decline, &body, &declined.signed, &who, event.at)
            }
        };
        hold(signer == Ok(declined.cfo_key_hash), "bad_approver_signature")
    }

    pub(super) fn closed(&self, id: &ApprovalId, reason: Option<Reason>) -> Check {
        let approval = self.pending(id)?;
        let last = self.last.as_ref().filter(|last| last.phase == Phase::Approval).ok_or("bad_approval")?;
        let evaluation = &last.judged.evaluation;
        let stays = evaluation.outcome == Outcome::Escalate && evaluation.signed;
        let same = evaluation.action_hash == Some(approval.action.hash()) && evaluation.reason == reason;
        hold(same && !stays, "bad_approval")
    }

    pub(super) fn expired(&self, id: &ApprovalId, now: Millis) -> Check {
        let approval = self.state.approval(id).ok_or("bad_approval")?;
        let live = matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending);
        hold(live && now >= approval.price.locked_until_ms, "bad_approval")
    }

    pub(super) fn refunded(&self, id: &ApprovalId, reason: Refund) -> Check {
        let expected = match self.bond(id)?.owed() {
            Some(crate::command::Owed::Refund(reason)) => reason,
            Some(crate::command::Owed::Capture) | None => Refund::Expired,
        };
        hold(reason == expected, "bad_bond")
    }

    /// An approval whose bond is locked.
    pub(super) fn bond(&self, id: &ApprovalId) -> Check<&Approval> {
        let approval = self.state.approval(id).ok_or("bad_bond")?;
        let locked = approval.bond.as_ref().is_some_and(|bond| bond.status == BondStatus::Locked);
        hold(locked, "bad_bond").map(|()| approval)
    }

    /// An approval whose bond was spent.
    pub(super) fn spent(&self, id: &ApprovalId) -> Check {
        let bond = self.state.approval(id).and_then(|approval| approval.bond.as_ref());
        hold(bond.is_some_and(|bond| bond.outcome_tx.is_some()), "bad_bond")
    }

    pub(super) fn delayed(
        &self,
        event: &Event,
        action: &Digest,
        since: Millis,
        until: Millis,
        now: Millis,
    ) -> Check {
        let evaluation = &self.follows(event, Phase::Check, "bad_delay")?.judged.evaluation;
        let waits = evaluation.outcome == Outcome::Delay
            && evaluation.signed
            && evaluation.action_hash == Some(*action)
            && evaluation.delayed_until_ms == Some(until);
        hold(waits && since == now && self.state.delay(action).is_none(), "bad_delay")
    }

    pub(super) fn vetoed(&self, event: &Event, action: &Digest, signed: &Signed) -> Check {
        hold(self.state.delay(action).is_some_and(|delay| !delay.vetoed), "bad_delay")?;
        let ask_id = format!("veto:{action}");
        let question = Question { ask_id: &ask_id, action_hash: *action, brief_hash: *action };
        let keys = self.keys();
        let signer =
            question.signer(Decided::Decline, &VetoBody {}, signed, &self.approvers(&keys)?, event.at);
        hold(signer.is_ok(), "bad_approver_signature")
    }

    pub(super) fn pending(&self, id: &ApprovalId) -> Check<&Approval> {
        let approval = self.state.approval(id).filter(|known| known.status == ApprovalStatus::Pending);
        approval.ok_or("bad_approval")
    }

    /// An anchor was only recorded where it had all of the mandate's approvers.
    fn keys(&self) -> Vec<KeyHash> {
        let mandate = self.mandate().ok();
        mandate
            .map(|mandate| mandate.approvers.iter().map(|one| one.cardano_key_hash).collect())
            .unwrap_or_default()
    }

    fn approvers<'a>(&'a self, keys: &'a [KeyHash]) -> Check<Approvers<'a>> {
        let anchored = self.state.anchored.as_ref().ok_or("no_mandate")?;
        let network = anchored.vault.network.network();
        Ok(Approvers { mandate: &anchored.mandate, anchored: keys, network })
    }
}

fn question(approval: &Approval) -> Check<Question<'_>> {
    Ok(Question {
        ask_id: approval.price.approval_id.as_str(),
        action_hash: approval.action.hash(),
        brief_hash: approval.brief.as_ref().map(Hashed::hash).ok_or("bad_approval")?,
    })
}
