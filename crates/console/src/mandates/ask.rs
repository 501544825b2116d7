//! One approval: its brief exactly as hashed, what became of it, and how it is decided.

use super::brief::{Shown, bond_money};
use super::{Denied, page as shown_page, shell, somebody};
use crate::page::Shell;
use crate::visitor::Visitor;
use crate::words::{shown, when};
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use mandate::log::DeclineReason;
use mandate::price::BondStatus;
use mandate::state::{ApprovalStatus, AuthorizationStatus};
use mandate::statement::Attested;
use mandate::text::Text;
use server::mandates::Verified;
use server::mandates::desk::{Asked, ToSign};

#[derive(Template)]
#[template(path = "mandates/ask.html")]
struct Ask {
    shell: Shell,
    mandate: String,
    id: String,
    brief: Shown,
    state: State,
    /// It can be decided.
    open: bool,
    signed: usize,
    required: usize,
    /// Each approver's role and key, and whether they have signed; where several must.
    people: Vec<(String, String, bool)>,
    asked: String,
    /// The keys that may decide.
    keys: String,
    run: String,
    to_sign: Option<ToSign>,
    action: String,
    /// The verifiers who signed for the report.
    verifiers: String,
    /// Each who read something else, and what.
    dissent: Vec<(String, String)>,
}

/// Where it stands, in words.
#[derive(Debug)]
pub(crate) struct State {
    pub word: &'static str,
    pub class: &'static str,
    pub sentence: String,
    pub bond: String,
    pub tx: Option<String>,
    pub comment: Option<String>,
    /// Something may still happen by itself.
    pub moves: bool,
}

pub(crate) async fn page(
    Path((mandate, id)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let asked = visitor.app.approval_asked(&reader, &mandate, &id).await?;
    let Some(brief) = &asked.approval.brief else {
        let refused = server::mandates::Refused::missing(
            "approval_unpaid",
            "nobody is asked yet: its bond is not paid",
        );
        return Err(refused.into());
    };
    let brief = Shown::of(brief, &asked.mandate, &asked.tariff, &asked.paid_before);
    let approvers = asked.mandate.approvers.iter().map(|approver| approver.cardano_key_hash.to_string());
    let keys: Vec<String> = approvers.collect();
    let approval = &asked.approval;
    Ok(shown_page(&Ask {
        state: state(&asked),
        open: approval.status == ApprovalStatus::Pending,
        people: asked
            .mandate
            .approvers
            .iter()
            .filter(|_| asked.mandate.required() > 1)
            .map(|one| {
                let key = one.cardano_key_hash;
                (shown(one.role.as_str()), key.to_string(), approval.signers.contains(&key))
            })
            .collect(),
        signed: approval.signers.len(),
        required: asked.mandate.required(),
        asked: approval.requested_at.map(|at| when(at.timestamp())).unwrap_or_default(),
        keys: keys.join(" "),
        run: approval.run.to_string(),
        to_sign: asked.to_sign.clone(),
        action: format!("/approvals/{mandate}/{id}"),
        verifiers: asked.verification.as_ref().map(verifiers).unwrap_or_default(),
        dissent: asked.verification.iter().flat_map(|verified| &verified.dissent).map(other).collect(),
        shell: shell(&visitor, &format!("{} to {}?", brief.amount.display, brief.counterparty)).await?,
        brief,
        mandate,
        id,
    }))
}

fn verifiers(verified: &Verified) -> String {
    let names = verified.statements.iter().map(|signed| signed.statement.verifier.to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// A verifier's name, and what it read instead.
fn other(attested: &Attested) -> (String, String) {
    let name = attested.signed.statement.verifier.to_string();
    let said = mandate::Report::read(attested.report.as_bytes()).map(|report| {
        let status = report.status.as_ref().map_or("none", Text::as_str).to_owned();
        let reason = report.reason.map_or("every fact holds", super::brief::reason);
        format!("{reason} (status {})", shown(&status))
    });
    (name, said.unwrap_or_else(|_| "nothing that can be read".to_owned()))
}

pub(crate) fn state(asked: &Asked) -> State {
    let approval = &asked.approval;
    let held = asked.authorization.as_ref();
    let (word, class, sentence, moves) = match approval.status {
        ApprovalStatus::AwaitingBond => ("Unpaid", "", "Nobody is asked yet: its bond is not paid.", false),
        ApprovalStatus::Pending if approval.signers.is_empty() => (
            "Waits for you",
            "stand-warn",
            "Nothing happens until an approver signs, or its time is over.",
            false,
        ),
        ApprovalStatus::Pending => (
            "Signed in part",
            "stand-warn",
            "Another approver has signed; more signatures are needed.",
            false,
        ),
        ApprovalStatus::Authorized => authorized(held.map(|held| held.status), asked.released),
        ApprovalStatus::Declined => ("Declined", "stand-bad", declined(asked), false),
        ApprovalStatus::Closed => {
            ("Closed", "stand-bad", "It may not be approved any more: its own rules say no by now.", false)
        }
        ApprovalStatus::Expired => {
            ("Over", "", "Nobody decided in time. The bond goes back to the agent.", false)
        }
    };
    let bond = bond_money(asked.bond.amount.get(), &asked.tariff);
    let place = match asked.bond.status {
        BondStatus::Required => "is asked for",
        BondStatus::Locked => "is locked",
        BondStatus::Refunded => "went back to the agent",
        BondStatus::Captured => "is lost to the agent, for good",
        BondStatus::Expired => "was never paid",
    };
    let over = !matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending);
    State {
        word,
        class,
        sentence: sentence.to_owned(),
        bond: format!("The bond of {} {} {place}.", bond.display, asked.bond.asset),
        tx: held.and_then(|held| held.tx_hash).map(|tx| tx.to_string()),
        comment: approval
            .declined
            .as_ref()
            .and_then(|no| no.comment.as_ref())
            .map(|text| shown(text.as_str())),
        moves: asked.to_sign.is_none() && over && (moves || asked.bond.status == BondStatus::Locked),
    }
}

fn authorized(
    status: Option<AuthorizationStatus>,
    released: bool,
) -> (&'static str, &'static str, &'static str, bool) {
    match status {
        Some(AuthorizationStatus::Issued) if released => {
            ("Approved", "stand-good", "The release is signed and on its way to the chain.", true)
        }
        None | Some(AuthorizationStatus::Issued) => {
            ("Approved", "stand-warn", "Approved. The release itself still needs your signature.", false)
        }
        Some(AuthorizationStatus::Submitted) => {
            ("Waiting", "stand-warn", "The release is with the chain and not in a block yet.", true)
        }
        Some(AuthorizationStatus::Unknown) => (
            "Waiting",
            "stand-warn",
            "The chain’s answer was lost; it is being asked again. Nothing is paid twice.",
            true,
        ),
        Some(AuthorizationStatus::Settled) => ("Settled", "stand-good", "The money is released.", false),
        Some(AuthorizationStatus::Released) => (
            "Failed",
            "stand-bad",
            "It was not released in time, and cannot be any more. Nothing was paid.",
            false,
        ),
    }
}

fn declined(asked: &Asked) -> &'static str {
    match asked.approval.declined.as_ref().map(|no| no.reason) {
        Some(DeclineReason::Frivolous) => "Declined: the question should not have been asked.",
        _ => "Declined: it was right to ask, and the answer is no.",
    }
}
