//! What a mandate's people read and decide (spec 1.10). Reading takes the approver's session or key (W16); deciding takes
//! the approver's own signature over exactly this decision (W3), whoever brings it.

use super::answer::Verified;
use super::desk::Reader;
use super::kept::Shelf;
use super::settle::{BondTx, Unbuilt};
use super::shapes::{
    ApproveAsked, Approved, BondSubmit, BondSubmitted, DeclineAsked, DeclinedShown, DraftShown,
    ExecutionAsked, Item, SignedBody, StatementAsked, StatementShown, Unsigned,
};
use super::who::Who;
use super::{ChainError, Known, Refused, bug, unexpected};
use crate::App;
use ::http::StatusCode;
use approvals::{Decided, Evidence, Statement};
use canon::Digest;
use keys::PublicKey;
use mandate::authorization::AuthorizationDigest;
use mandate::command::{Approve, Decline, Draft, Drafted, Execution, Observed, Owed, Reply, Verification};
use mandate::log::{ApprovalId, VerificationCompleted};
use mandate::price::{BondStatus, OutRef};
use mandate::proof::{ApproveBody, DeclineBody, Question, Signed};
use mandate::rule::Kind;
use mandate::state::{Approval, ApprovalStatus, Authorization, AuthorizationStatus};
use mandate::text::{Id, KeyHash, Text, TxHash};
use mandate::{Command, Evaluation, Hashed, HashedAction, Mandate, Refusal};
use serde_json::json;

impl App {
    /// A page of what waits for this approver, and where the next one begins.
    pub(crate) async fn approvals_pending(
        &self,
        who: &Who,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Item>, Option<String>), Refused> {
        keys_of(who)?;
        let inbox = self.approvals_waiting(&Reader::of(who.clone()), after, limit).await?;
        let items = inbox.lines.iter().map(|line| item_of(&line.mandate, &line.approval));
        Ok((items.collect(), inbox.next))
    }

    /// One approval, with the judgement that led to it, for its approver.
    pub(crate) async fn approval_shown(
        &self,
        who: &Who,
        id: &ApprovalId,
        mandate: Option<&Id>,
    ) -> Result<Item, Refused> {
        let keys = keys_of(who)?;
        let (known, approval) = self.approval_for(id, mandate, |known| of_any(known, &keys)).await?;
        let mut item = item_of(&known.anchored.mandate, &approval);
        (item.evaluation, item.verification) = self.asked_after(&known, &approval).await?;
        Ok(item)
    }

    /// The approval of this name of a mandate whose approver has one of these keys.
    async fn approval_for(
        &self,
        id: &ApprovalId,
        mandate: Option<&Id>,
        is_theirs: impl Fn(&Known) -> bool,
    ) -> Result<(Known, Approval), Refused> {
        let missing = || Refused::missing("approval_unknown", "no such approval");
        let candidates = match mandate {
            Some(mandate) => vec![self.mandate(mandate).await.map_err(|_| missing())?],
            None => self.all_mandates().await?,
        };
        let mut found = candidates.into_iter().filter_map(|known| {
            if !is_theirs(&known) {
                return None;
            }
            let approval = known.state.approval(id)?.clone();
            Some((known, approval))
        });
        let first = found.next().ok_or_else(missing)?;
        match found.next() {
            None => Ok(first),
            Some(_) => Err(Refused::new(
                StatusCode::CONFLICT,
                "approval_ambiguous",
                "several mandates have an approval of this name: say which with mandate_id",
            )),
        }
    }

    /// The evaluation that the approval was asked with, and the report it rests on, from the log.
    pub(super) async fn asked_after(
        &self,
        known: &Known,
        approval: &Approval,
    ) -> Result<(Option<Evaluation>, Option<Verified>), Refused> {
        let Some(decided) = known.state.decision(&approval.action.hash()) else { return Ok((None, None)) };
        let from = decided.first.seq.saturating_sub(1);
        let page = self.journal().read(&known.stream, from, super::view::PAGE).await?;
        let mut bodies = page.iter().rev().filter_map(|entry| canon::parse(&entry.bytes).ok());
        let evaluation = bodies.find_map(|body| {
            let evaluation = body.pointer("/payload/evaluation")?.to_owned();
            let evaluation: Evaluation = canon::from_value(evaluation).ok()?;
            (evaluation.action_hash == Some(approval.action.hash())).then_some(evaluation)
        });
        let report = evaluation.as_ref().and_then(|evaluation| evaluation.verification_hash);
        let verified = report.and_then(|report| {
            bodies.find_map(|body| {
                let completed = body.get("payload")?.to_owned();
                let completed: VerificationCompleted = canon::from_value(completed).ok()?;
                let VerificationCompleted { evidence, sepolia_tx } = completed;
                Verified::of(&evidence, sepolia_tx).filter(|verified| verified.report_hash == report)
            })
        });
        Ok((evaluation, verified))
    }

    /// What is found out about an action's invoice, for judging it again.
    async fn facts_of(&self, known: &Known, action: &HashedAction) -> Result<Verification, Refused> {
        let constraints = &known.anchored.mandate.constraints;
        if !constraints.iter().any(|constraint| matches!(constraint.kind, Kind::VerifiedFacts)) {
            return Ok(Verification::NotTried);
        }
        let verifier = &self.mandates()?.setup.verifier;
        Ok(match verifier.known(action).await {
            Verification::NotTried => verifier.verify(action).await,
            found => found,
        })
    }

    /// Approves, or shows what is to be signed for it.
    pub(crate) async fn approve(
        &self,
        who: &Who,
        id: &ApprovalId,
        asked: ApproveAsked,
    ) -> Result<serde_json::Value, Refused> {
        let value = |shown: Result<_, serde_json::Error>| shown.map_err(bug);
        match (asked.authorization_digest, asked.signed) {
            (None, None) => {
                let keys = keys_of(who).map_err(|_| unsigned())?;
                let found =
                    self.approval_for(id, asked.mandate_id.as_ref(), |known| of_any(known, &keys)).await?;
                value(serde_json::to_value(self.draft(found).await?))
            }
            (Some(digest), Some(signed)) => {
                let key = key_of(&signed)?;
                let hash = KeyHash::of_key(&key);
                let found =
                    self.approval_for(id, asked.mandate_id.as_ref(), |known| of_any(known, &[hash])).await;
                let found = found.map_err(not_theirs)?;
                value(serde_json::to_value(self.approve_signed(found, digest, &key, signed).await?))
            }
            _ => Err(unsigned()),
        }
    }

    async fn draft(&self, (known, approval): (Known, Approval)) -> Result<DraftShown, Refused> {
        let verification = self.facts_of(&known, &approval.action).await?;
        let id = approval.id();
        let reply = self
            .with_reading(&known, |observed| {
                let verification = verification.clone();
                Command::Draft(Box::new(Draft { approval_id: id.clone(), observed, verification }))
            })
            .await?;
        let drafted = match reply.0 {
            Reply::Drafted(drafted) => *drafted,
            Reply::Closed { reason, evaluation } => return Err(closed(reason, evaluation.as_deref())),
            _ => return Err(unexpected()),
        };
        let Drafted { approval_id, brief_hash, digest, fields } = drafted;
        let question =
            Question { ask_id: approval_id.as_str(), action_hash: approval.action.hash(), brief_hash };
        let body = ApproveBody { authorization_digest: digest };
        let statement = question.statement(Decided::Approve, &body, &self.env().secret())?;
        Ok(DraftShown {
            authorization_digest: digest,
            brief_hash,
            fields,
            mandate_id: known.anchored.mandate.id.clone(),
            statement_hash: statement.hash(),
            statement,
            status: "draft",
            approval_id,
        })
    }

    async fn approve_signed(
        &self,
        (known, approval): (Known, Approval),
        digest: AuthorizationDigest,
        key: &keys::ed25519::PublicKey,
        signed: SignedBody,
    ) -> Result<Approved, Refused> {
        let brief_hash = approval.brief.as_ref().map(Hashed::hash).ok_or_else(not_pending)?;
        let question = Question {
            ask_id: approval.price.approval_id.as_str(),
            action_hash: approval.action.hash(),
            brief_hash,
        };
        let body = ApproveBody { authorization_digest: digest };
        let statement = question.statement(Decided::Approve, &body, signed.nonce.as_str())?.hash();
        let signed = Signed {
            evidence: signed.evidence,
            key: PublicKey::Ed25519(*key),
            nonce: signed.nonce,
            statement,
        };
        let verification = match approval.status {
            // What was given is given: nothing is verified for it again.
            ApprovalStatus::Authorized => Verification::NotTried,
            _ => self.facts_of(&known, &approval.action).await?,
        };
        let engine = self.mandates()?.engine();
        let (reply, known) = self
            .with_reading(&known, |observed| {
                Command::Approve(Box::new(Approve {
                    approval_id: approval.id(),
                    digest,
                    signed: signed.clone(),
                    observed,
                    verification: verification.clone(),
                    engine: engine.clone(),
                }))
            })
            .await?;
        let (signed, required, authorization) = match reply {
            Reply::Approved { signed, required, authorization } => (signed, required, authorization),
            Reply::Closed { reason, evaluation } => return Err(closed(reason, evaluation.as_deref())),
            _ => return Err(unexpected()),
        };
        let built = match &authorization {
            Some(record) => Some(self.release_to_sign(&known, &record.digest_hex).await?),
            None => None,
        };
        Ok(Approved {
            approval_id: approval.id(),
            authorization: authorization.map(|record| *record),
            bond_tx: None,
            required,
            signed,
            tx_hash: built.as_ref().map(|(_, tx_hash)| *tx_hash),
            unsigned_tx_cbor: built.map(|(tx, _)| tx),
        })
    }

    /// The release that the approver's wallet signs: the same one, until it was signed and refused.
    async fn release_to_sign(
        &self,
        known: &Known,
        digest: &AuthorizationDigest,
    ) -> Result<(String, TxHash), Refused> {
        let held = known.state.authorization(digest).cloned().ok_or_else(unexpected)?;
        if let Some(tx_hash) = held.tx_hash
            && let Some(tx) = self.kept::<String>(Shelf::Built, &tx_hash.to_string()).await?
        {
            return Ok((tx, tx_hash));
        }
        let bond = self.bond_there(known, &held).await?;
        match self.build(known, &held, bond).await {
            Ok(built) => Ok(built),
            Err(Unbuilt::Chain(ChainError::Rejected { invariant, error })) => {
                let what = Execution::Rejected {
                    tx_hash: None,
                    invariant: invariant.and_then(|rule| rule.parse().ok()),
                    error: error.chars().take(2000).collect::<String>().parse().map_err(bug)?,
                };
                self.authority(&known.stream, &Command::Execution { digest: *digest, what }).await?;
                Err(ChainError::Rejected { invariant: None, error }.into())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// The bond of an authorization's approval, while it is at the escrow.
    async fn bond_there(&self, known: &Known, held: &Authorization) -> Result<Option<OutRef>, Refused> {
        let Some(approval) = known.state.approval_of(&held.action.hash()) else { return Ok(None) };
        let locked = approval.bond.as_ref().filter(|bond| bond.status == BondStatus::Locked);
        let Some(locked) = locked.filter(|_| approval.nonce == Some(held.nonce)) else { return Ok(None) };
        Ok(self.mandates()?.setup.rail.bond(locked.at).await?.map(|there| there.at))
    }

    /// Takes the approver's witness over the release, and sends it on its way.
    pub(crate) async fn execute_release(&self, asked: ExecutionAsked) -> Result<serde_json::Value, Refused> {
        let conflict = |code: &'static str, text: &str| Refused::new(StatusCode::CONFLICT, code, text);
        let issued = |known: &Known| known.state.authorization(&asked.authorization_digest).is_some();
        let found = self.approval_for(&asked.approval_id, asked.mandate_id.as_ref(), issued).await;
        let text = "no release of this authorization waits to be signed";
        let (known, approval) = found.map_err(|_| conflict("not_the_authorization", text))?;
        let held = known.state.authorization(&asked.authorization_digest);
        let held = held.filter(|held| approval.nonce == Some(held.nonce));
        let waiting = held.and_then(|held| Some((held, held.tx_hash?)));
        let Some((held, tx_hash)) = waiting else {
            return Err(conflict("not_the_authorization", text));
        };
        let name = tx_hash.to_string();
        let used = self.kept::<String>(Shelf::Witnessed, &name).await?.is_some();
        if used || held.status != AuthorizationStatus::Issued || approval.status != ApprovalStatus::Authorized
        {
            return Err(conflict("authorization_used", "this release was signed before"));
        }
        if self.millis()? >= held.record.fields.valid_until {
            return Err(conflict("authorization_over", "the authorization has expired"));
        }
        let tx = self.kept::<String>(Shelf::Built, &name).await?.ok_or_else(|| bug("a release is gone"))?;
        let tx = ::hex::decode(&tx).map_err(bug)?;
        let set = witness_of(&asked.cfo_witness_cbor)?;
        let signers = super::witnesses::signers_of(&tx, approval.price.approver_key_hash);
        let witnessed = self.witnessed(&tx, &name, &signers, &set).await?;
        if let Some(whole) = witnessed.whole {
            let body = format!(r#"{{"digest":"{}","kind":"release"}}"#, asked.authorization_digest);
            let tx = ::hex::encode(&whole);
            if !self.keep(Shelf::Witnessed, &name, &tx, Some((&known.stream, body))).await? {
                return Err(conflict("authorization_used", "this release was signed before"));
            }
        }
        let (signed, required) = (witnessed.signed.len(), signers.len());
        Ok(
            json!({ "required": required, "run_id": approval.run.as_str(), "signed": signed, "tx_hash": name }),
        )
    }

    /// Declines, and builds what the approver's wallet signs for the bond.
    pub(crate) async fn decline(
        &self,
        id: &ApprovalId,
        asked: DeclineAsked,
    ) -> Result<DeclinedShown, Refused> {
        let nobody = |_| bad_decline();
        let (key, evidence) = match (asked.signature, asked.key, asked.signed) {
            (Some(sign1), Some(key), None) => {
                let found = cose_key(key.as_str()).ok_or_else(bad_decline)?;
                let (cose_sign1, cose_key) = (sign1.to_string(), key.to_string());
                let address = String::new();
                (found, Signing::Older(Evidence::Wallet { address, cose_sign1, cose_key }))
            }
            (None, None, Some(signed)) => (key_of(&signed).map_err(nobody)?, Signing::Ours(signed)),
            _ => return Err(bad_decline()),
        };
        let hash = KeyHash::of_key(&key);
        let found = self.approval_for(id, asked.mandate_id.as_ref(), |known| of_any(known, &[hash])).await;
        let (known, approval) = found.map_err(not_theirs)?;
        let signed = match evidence {
            Signing::Older(evidence) => Signed {
                evidence,
                key: PublicKey::Ed25519(key),
                nonce: NO_NONCE.parse().map_err(bug)?,
                statement: Digest::of(&mandate::proof::decline_message(id.as_str(), asked.reason)?),
            },
            Signing::Ours(signed) => {
                let body = DeclineBody { comment: asked.comment.clone(), reason: asked.reason };
                let statement = decline_statement(&approval, &body, signed.nonce.as_str())?.hash();
                let SignedBody { evidence, nonce, .. } = signed;
                Signed { evidence, key: PublicKey::Ed25519(key), nonce, statement }
            }
        };
        let reason = asked.reason;
        let (reply, known) = self
            .with_reading(&known, |observed| {
                Command::Decline(Box::new(Decline {
                    approval_id: id.clone(),
                    reason,
                    comment: asked.comment.clone(),
                    signed: signed.clone(),
                    approvers: observed.approvers,
                }))
            })
            .await?;
        let Reply::Declined { reason, bond } = reply else { return Err(unexpected()) };
        let bond_tx = match self.bond_to_sign(&known, id).await {
            Ok(bond_tx) => bond_tx,
            // It is declined all the same; the bond is asked for again.
            Err(refused) => {
                tracing::warn!(%id, error = refused.text, "a declined bond was not built");
                None
            }
        };
        Ok(DeclinedShown { bond: *bond, bond_tx, ok: true, reason })
    }

    /// The spending of a bond that takes the approver's signature.
    pub(super) async fn bond_to_sign(
        &self,
        known: &Known,
        id: &ApprovalId,
    ) -> Result<Option<Unsigned>, Refused> {
        let Some(approval) = known.state.approval(id) else { return Ok(None) };
        let (Some(owed), Some(bond)) = (approval.owed(), &approval.bond) else { return Ok(None) };
        let rail = &self.mandates()?.setup.rail;
        let key = *bond_signers(approval).ok_or_else(unexpected)?.first().ok_or_else(unexpected)?;
        let built = match owed {
            Owed::Refund(_) => rail.refund(bond.at, Some(key)).await?,
            Owed::Capture => rail.capture(bond.at, key).await?,
        };
        let tx = BondTx {
            captures: owed == Owed::Capture,
            complete: false,
            tx: ::hex::encode(&built.tx),
            tx_hash: built.tx_hash,
        };
        self.keep_bond_tx(&known.stream, id, &tx).await?;
        Ok(Some(Unsigned { tx_hash: built.tx_hash, unsigned_tx_cbor: tx.tx }))
    }

    /// Takes the approver's witness over a bond's spending, and submits it.
    pub(crate) async fn submit_bond(
        &self,
        id: &ApprovalId,
        asked: BondSubmit,
    ) -> Result<BondSubmitted, Refused> {
        let conflict = |code: &'static str, text: &str| Refused::new(StatusCode::CONFLICT, code, text);
        let (known, approval) = self.approval_for(id, asked.mandate_id.as_ref(), |_| true).await?;
        if approval.owed().is_none() {
            return Err(conflict("bond_not_locked", "no bond of this approval waits to be spent"));
        }
        let kept = self.bond_txs(&known.stream, id).await?;
        let waiting = kept.iter().find(|tx| tx.tx_hash == asked.tx_hash && !tx.complete);
        let captures = approval.owed() == Some(Owed::Capture);
        let Some(waiting) = waiting.filter(|tx| tx.captures == captures) else {
            return Err(conflict("not_the_transaction", "this transaction was not given out for this bond"));
        };
        let set = witness_of(&asked.cfo_witness_cbor)?;
        let tx = ::hex::decode(&waiting.tx).map_err(bug)?;
        let signers = bond_signers(&approval).ok_or_else(unexpected)?;
        let witnessed = self.witnessed(&tx, &asked.tx_hash.to_string(), &signers, &set).await?;
        let Some(merged) = witnessed.whole else {
            let bond = approval.bond(&known.anchored.mandate);
            let count = Some((witnessed.signed.len(), signers.len()));
            return Ok(BondSubmitted::of(bond, asked.tx_hash, count));
        };
        let whole = BondTx { complete: true, tx: ::hex::encode(&merged), ..waiting.clone() };
        self.keep_bond_tx(&known.stream, id, &whole).await?;
        let rail = &self.mandates()?.setup.rail;
        match rail.submit(&merged).await {
            Ok(_) | Err(ChainError::Unknown(_)) => {}
            Err(ChainError::Contention(text)) => {
                // What pays its fee was spent otherwise: the next one to sign is built anew, if the bond is still there.
                let _gone = self.bond_to_sign(&known, id).await;
                return Err(conflict("chain_contention", &text));
            }
            Err(trouble) => return Err(trouble.into()),
        }
        self.spent_by(&known, &approval).await?;
        let known = self.mandate_at(known.stream.clone()).await?.ok_or_else(super::unknown)?;
        let approval = known.state.approval(id).ok_or_else(unexpected)?;
        let bond = approval.bond(&known.anchored.mandate);
        if !matches!(bond.status, BondStatus::Refunded | BondStatus::Captured) {
            return Err(conflict("bond_unconfirmed", "it was submitted and is not in a block yet"));
        }
        Ok(BondSubmitted::of(bond, asked.tx_hash, None))
    }

    /// What an approver signs to decline.
    pub(crate) async fn statement(
        &self,
        who: &Who,
        id: &ApprovalId,
        asked: StatementAsked,
    ) -> Result<StatementShown, Refused> {
        let keys = keys_of(who)?;
        let found = self.approval_for(id, asked.mandate_id.as_ref(), |known| of_any(known, &keys)).await?;
        let body = DeclineBody { comment: asked.comment, reason: asked.reason };
        let statement = decline_statement(&found.1, &body, &self.env().secret())?;
        Ok(StatementShown { statement_hash: statement.hash(), statement })
    }

    /// Decides on a reading made now; on another one, if blocks turn out to be gone or an old authorization unsettled.
    async fn with_reading(
        &self,
        known: &Known,
        command: impl Fn(Observed) -> Command,
    ) -> Result<(Reply, Known), Refused> {
        let observed = self.fresh_reading(known).await?;
        match self.authority(&known.stream, &command(observed)).await {
            Err(store::Error::Refused(Refusal::StaleReading)) => {
                let observed = self.reread(known).await?;
                Ok(self.authority(&known.stream, &command(observed)).await?)
            }
            Err(store::Error::Refused(Refusal::ReservationUnclear { digest })) => {
                self.reconcile(&known.stream, &digest).await?;
                let observed = self.fresh_reading(known).await?;
                Ok(self.authority(&known.stream, &command(observed)).await?)
            }
            other => Ok(other?),
        }
    }
}

/// What the older decline signature has instead of a nonce.
const NO_NONCE: &str = "older-decline-message";

enum Signing {
    Older(Evidence),
    Ours(SignedBody),
}

fn item_of(mandate: &Mandate, approval: &Approval) -> Item {
    Item {
        action: approval.action.clone(),
        action_hash: approval.action.hash(),
        approval_id: approval.id(),
        bond: approval.bond(mandate),
        brief: approval.brief.clone(),
        brief_hash: approval.brief.as_ref().map(Hashed::hash),
        evaluation: None,
        verification: None,
        mandate_id: mandate.id.clone(),
        requested_at: approval.requested_at.map(mandate::Millis::timestamp),
        run_id: approval.run.clone(),
        status: approval.status.as_str(),
    }
}

/// Whose signatures spend an approval's bond: whoever declined, and of a quorum the first others.
fn bond_signers(approval: &Approval) -> Option<Vec<KeyHash>> {
    let own = approval.price.approver_key_hash;
    let first = approval.declined.as_ref().map_or(own, |declined| declined.cfo_key_hash);
    approval.price.signatories().with(&first)
}

fn decline_statement(approval: &Approval, body: &DeclineBody, nonce: &str) -> Result<Statement, Refused> {
    let brief_hash = approval.brief.as_ref().map(Hashed::hash).ok_or_else(not_pending)?;
    let question = Question {
        ask_id: approval.price.approval_id.as_str(),
        action_hash: approval.action.hash(),
        brief_hash,
    };
    Ok(question.statement(Decided::Decline, body, nonce)?)
}

/// The keys for which somebody reads approvals; refused for whoever has none.
pub(super) fn keys_of(who: &Who) -> Result<Vec<KeyHash>, Refused> {
    let keys = who.keys();
    match (who, keys.is_empty()) {
        (Who::Nobody, _) => Err(Refused::nobody()),
        (_, true) => {
            Err(Refused::forbidden("not_the_approver", "only an approver reads what waits for them"))
        }
        (_, false) => Ok(keys),
    }
}

/// Whether an approver of the mandate has one of these keys.
pub(super) fn of_any(known: &Known, keys: &[KeyHash]) -> bool {
    let approvers = &known.anchored.mandate.approvers;
    approvers.iter().any(|approver| keys.contains(&approver.cardano_key_hash))
}

fn key_of(signed: &SignedBody) -> Result<keys::ed25519::PublicKey, Refused> {
    signed.key.key().map_err(|_| Refused::bad("bad_key", "/signed/key", "not an ed25519 key"))
}

/// The key in a COSE_Key, before anything is verified with it.
fn cose_key(hex: &str) -> Option<keys::ed25519::PublicKey> {
    mandate::cose::public_key(&::hex::decode(hex).ok()?).ok()
}

pub(super) fn witness_of(text: &Text<2, 8192>) -> Result<Vec<u8>, Refused> {
    let bad = || Refused::bad("bad_witness", "/cfo_witness_cbor", "a witness set is cbor in hex");
    ::hex::decode(text.as_str()).map_err(|_| bad())
}

/// A key that is no approver's finds nothing to decide: as for the decline of a stranger (spec 1.10).
pub(super) fn not_theirs(refused: Refused) -> Refused {
    if refused.status == StatusCode::NOT_FOUND {
        return Refused::new(
            StatusCode::UNAUTHORIZED,
            "not_the_approver",
            "the key is no approver's of an approval of this name",
        );
    }
    refused
}

fn unsigned() -> Refused {
    Refused::new(
        StatusCode::UNAUTHORIZED,
        "approver_signature_required",
        "an approval takes the approver's own signature: ask for the draft as the approver, sign statement_hash, and send \
         authorization_digest and signed {key, nonce, evidence}",
    )
}

pub(crate) fn bad_decline() -> Refused {
    let text = "a decline takes the approver's own signature over approval, decision and reason";
    Refused::new(StatusCode::UNAUTHORIZED, "bad_signature", text)
}

fn not_pending() -> Refused {
    Refused::new(
        StatusCode::CONFLICT,
        "approval_not_pending",
        "nobody has been asked yet: its bond is not locked",
    )
}

/// It may not be approved any more.
fn closed(reason: Option<mandate::Reason>, evaluation: Option<&Evaluation>) -> Refused {
    let code = reason.map_or("approval_closed", mandate::Reason::as_str);
    let text = format!("this may not be approved any more: {code}");
    let refused = Refused::new(StatusCode::CONFLICT, code, text);
    match evaluation.and_then(|evaluation| serde_json::to_value(evaluation).ok()) {
        Some(evaluation) => refused.with("evaluation", evaluation),
        None => refused,
    }
}
