//! Telling approvers that something waits: those members who read for one of the mandate's keys.

use super::Known;
use crate::App;
use crate::worker::later;
use approvals::MemberId;
use mandate::log::ApprovalId;
use mandate::state::ApprovalStatus;
use std::collections::BTreeMap;
use store::{Claimed, Failed};

/// How an ask begins that is a wait.
const VETO: &str = "veto:";

impl App {
    /// A row for each target of everybody who may approve.
    pub(crate) async fn tell_of_approval(&self, row: &Claimed, ask: &str) -> Result<(), Failed> {
        let Some(mandates) = self.kept_mandates() else { return Ok(()) };
        let Some(known) = self.pending_ask(&row.stream, ask).await? else { return Ok(()) };
        let waits = ask.strip_prefix(VETO);
        let mandate = &known.anchored.mandate;
        let mut orgs = BTreeMap::<_, Vec<&MemberId>>::new();
        for seat in mandates.setup.approvers.iter().filter(|seat| mandate.approver(&seat.key).is_some()) {
            orgs.entry(seat.org.clone()).or_default().push(&seat.member);
        }
        for (org, members) in orgs {
            let state = self.organization(&org).await.map_err(later)?;
            let (title, link) = match waits {
                Some(action) => (
                    format!("Mandate {}: a payment is made soon, and you may stop it", mandate.id),
                    format!("/delays/{}/{action}", mandate.id),
                ),
                None => (
                    format!("Mandate {}: a payment waits for you", mandate.id),
                    format!("/v1/approvals/{ask}?mandate_id={}", mandate.id),
                ),
            };
            let link = self.config().link(&link);
            self.tell_of(row, (&org, &state), &members, (title, link), ask).await?;
        }
        Ok(())
    }

    /// The mandate, while the question waits for a person.
    pub(crate) async fn pending_ask(
        &self,
        stream: &ledger::StreamId,
        ask: &str,
    ) -> Result<Option<Known>, Failed> {
        if self.kept_mandates().is_none() {
            return Ok(None);
        }
        let known = self.mandate_at(stream.clone()).await;
        let known = known.map_err(|refused| Failed::Later(refused.text))?;
        let now = self.millis().map_err(|refused| Failed::Later(refused.text))?;
        let pending = |known: &Known| {
            if let Some(action) = ask.strip_prefix(VETO) {
                return known.state.waits(now).any(|wait| wait.action.hash().to_string() == action);
            }
            let id = ask.parse::<ApprovalId>().ok();
            id.and_then(|id| known.state.approval(&id).map(|approval| approval.status))
                == Some(ApprovalStatus::Pending)
        };
        Ok(known.filter(pending))
    }
}
