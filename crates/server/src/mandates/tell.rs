//! Telling approvers that something waits: those members who read for one of the mandate's keys.

use super::Known;
use crate::App;
use crate::worker::later;
use approvals::MemberId;
use mandate::log::ApprovalId;
use mandate::state::ApprovalStatus;
use std::collections::BTreeMap;
use store::{Claimed, Failed};

impl App {
    /// A row for each target of everybody who may approve.
    pub(crate) async fn tell_of_approval(&self, row: &Claimed, ask: &str) -> Result<(), Failed> {
        let Some(mandates) = self.kept_mandates() else { return Ok(()) };
        let Some(known) = self.pending_ask(&row.stream, ask).await? else { return Ok(()) };
        let mandate = &known.anchored.mandate;
        let mut orgs = BTreeMap::<_, Vec<&MemberId>>::new();
        for seat in mandates.setup.approvers.iter().filter(|seat| mandate.approver(&seat.key).is_some()) {
            orgs.entry(seat.org.clone()).or_default().push(&seat.member);
        }
        for (org, members) in orgs {
            let state = self.organization(&org).await.map_err(later)?;
            let title = format!("Mandate {}: a payment waits for you", mandate.id);
            let link = self.config().link(&format!("/v1/approvals/{ask}?mandate_id={}", mandate.id));
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
        let pending = |known: &Known| {
            let id = ask.parse::<ApprovalId>().ok();
            id.and_then(|id| known.state.approval(&id).map(|approval| approval.status))
                == Some(ApprovalStatus::Pending)
        };
        Ok(known.filter(pending))
    }
}
