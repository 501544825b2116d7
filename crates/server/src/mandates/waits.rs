//! What is done after a while unless an approver objects (`mandate/v0.2`): who may object reads what waits, and stops it by
//! their own signature.

use super::desk::Reader;
use super::shapes::{OfMandateAsked, SignedBody, StatementShown, VetoAsked};
use super::who::Who;
use super::{Known, Refused, bug};
use crate::App;
use approvals::Decided;
use canon::Digest;
use keys::PublicKey;
use mandate::command::{Reply, Veto};
use mandate::proof::{Question, Signed, VetoBody, veto_ask};
use mandate::state::Wait;
use mandate::text::{Id, KeyHash};
use mandate::{Action, Command, Hashed, Mandate, Millis};
use serde::Serialize;

/// A line of what waits.
#[derive(Debug, Serialize)]
pub(crate) struct Waiting {
    pub action: Hashed<Action>,
    pub action_hash: Digest,
    pub mandate_id: Id,
    pub run_id: mandate::log::RunId,
    pub since_ms: Millis,
    pub until_ms: Millis,
}

/// One of them, for its page.
#[derive(Debug)]
pub struct Waits {
    pub mandate: Hashed<Mandate>,
    pub wait: Wait,
}

impl App {
    /// What waits in the mandates of this approver, the first to be done first.
    pub(crate) async fn waits_of(&self, keys: &[KeyHash]) -> Result<Vec<(Known, Wait)>, Refused> {
        let now = self.millis()?;
        let mut found = Vec::new();
        for known in self.all_mandates().await? {
            if super::approve::of_any(&known, keys) {
                let waits = known.state.waits(now).cloned().collect::<Vec<_>>();
                found.extend(waits.into_iter().map(|wait| (known.clone(), wait)));
            }
        }
        found.sort_by_key(|(_, wait)| wait.until);
        Ok(found)
    }

    pub(crate) async fn waiting(&self, who: &Who) -> Result<Vec<Waiting>, Refused> {
        let keys = super::approve::keys_of(who)?;
        let line = |(known, wait): (Known, Wait)| Waiting {
            action_hash: wait.action.hash(),
            action: wait.action,
            mandate_id: known.anchored.mandate.id.clone(),
            run_id: wait.run,
            since_ms: wait.since,
            until_ms: wait.until,
        };
        Ok(self.waits_of(&keys).await?.into_iter().map(line).collect())
    }

    /// What waits for a reader of pages.
    pub async fn waits_read(&self, reader: &Reader) -> Result<Vec<Waits>, Refused> {
        let all = self.waits_of(&reader.keys()).await?;
        let told = |(known, wait): (Known, Wait)| Waits { mandate: known.anchored.mandate.clone(), wait };
        Ok(all.into_iter().map(told).collect())
    }

    /// What an approver signs to stop one.
    pub(crate) async fn veto_statement(
        &self,
        who: &Who,
        action: &Digest,
        asked: &OfMandateAsked,
    ) -> Result<StatementShown, Refused> {
        let keys = super::approve::keys_of(who)?;
        self.wait_for(action, asked.mandate_id.as_ref(), &keys).await?;
        let ask_id = veto_ask(action);
        let nonce = self.env().secret();
        let statement =
            Question::of_wait(&ask_id, *action).statement(Decided::Decline, &VetoBody {}, &nonce)?;
        Ok(StatementShown { statement_hash: statement.hash(), statement })
    }

    /// The same, for a page.
    pub async fn veto_draft(
        &self,
        reader: &Reader,
        mandate: &str,
        action: &str,
    ) -> Result<serde_json::Value, Refused> {
        let (asked, action) = named(mandate, action)?;
        serde_json::to_value(self.veto_statement(&reader.0, &action, &asked).await?).map_err(bug)
    }

    /// Stops it, with a signature over that.
    pub(crate) async fn veto(&self, action: &Digest, asked: VetoAsked) -> Result<(), Refused> {
        let SignedBody { evidence, key, nonce } = asked.signed;
        let key = key.key().map_err(|_| Refused::bad("bad_key", "/signed/key", "not an ed25519 key"))?;
        let found = self.wait_for(action, asked.mandate_id.as_ref(), &[KeyHash::of_key(&key)]).await;
        let known = found.map_err(super::approve::not_theirs)?;
        let ask_id = veto_ask(action);
        let question = Question::of_wait(&ask_id, *action);
        let statement = question.statement(Decided::Decline, &VetoBody {}, nonce.as_str())?.hash();
        let signed = Signed { evidence, key: PublicKey::Ed25519(key), nonce, statement };
        let approvers = self.fresh_reading(&known).await?.approvers;
        let command = Command::Veto(Box::new(Veto { action_hash: *action, signed, approvers }));
        match self.authority(&known.stream, &command).await?.0 {
            Reply::Done => Ok(()),
            _ => Err(super::unexpected()),
        }
    }

    /// The same, from a page: what the command line printed.
    pub async fn veto_signed(&self, mandate: &str, action: &str, signature: &str) -> Result<(), Refused> {
        let (asked, action) = named(mandate, action)?;
        let signed = super::desk::signed_body(signature)?;
        self.veto(&action, VetoAsked { mandate_id: asked.mandate_id, signed }).await
    }

    /// The mandate in which an action waits, of an approver who has one of these keys.
    async fn wait_for(
        &self,
        action: &Digest,
        mandate: Option<&Id>,
        keys: &[KeyHash],
    ) -> Result<Known, Refused> {
        let found = self.waits_of(keys).await?.into_iter().find(|(known, wait)| {
            wait.action.hash() == *action && mandate.is_none_or(|id| known.anchored.mandate.id == *id)
        });
        found.map(|(known, _)| known).ok_or_else(missing)
    }
}

fn named(mandate: &str, action: &str) -> Result<(OfMandateAsked, Digest), Refused> {
    let mandate_id = mandate.parse().map_err(|_| missing())?;
    Ok((OfMandateAsked { mandate_id: Some(mandate_id) }, action.parse().map_err(|_| missing())?))
}

fn missing() -> Refused {
    Refused::missing("delay_unknown", "nothing waits under this name")
}
