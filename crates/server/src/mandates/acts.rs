//! What a mandate's principal does on chain: drafted here, signed by the principal's own key, sent, and followed until it is in a
//! block. Then the mandate's stream follows: a version that is anchored is in force, a revocation is on record.
//!
//! A draft is kept before anybody sees it, and what was signed before it is sent. The same transaction is sent again until
//! it is in a block, or something it spends is gone: it lands once or not at all.

use super::kept::Shelf;
use super::shapes::WitnessAsked;
use super::who::{Role, Who};
use super::{ChainError, Known, Refused, bug, mandate_stream, unknown};
use crate::App;
use ::http::StatusCode;
use canon::Raw;
pub use chain::treasury::{Paid, Told, What};
use chain::{Anchor, Asset, Treasury};
use env::{Duration, Timestamp};
use keys::Signer;
use ledger::StreamId;
use mandate::command::Observed;
use mandate::text::{AssetName, Id, KeyHash, PolicyId, PositiveUnits, TxHash};
use mandate::{Address, Command, Hashed, Mandate, Status, Vault};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Failed;

/// What a principal wants done. Amounts are base units of the vault's token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// A mandate that is not anchored yet.
    Anchor {
        mandate: Raw,
        asset_policy: PolicyId,
        asset_name: AssetName,
        /// The name by which actions must name the vault.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vault_name: Option<Id>,
    },
    /// Its vault, empty.
    Open {},
    Deposit {
        amount: PositiveUnits,
        from: Address,
    },
    Withdraw {
        amount: PositiveUnits,
        to: Address,
    },
    /// A later version. Where it names another principal, both sign.
    Update {
        mandate: Raw,
    },
    Revoke {},
}

/// A draft as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    act: Act,
    at: Timestamp,
    /// Of the anchor it mints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mandate_ref: Option<KeyHash>,
    /// Hex, signed by the fee wallet.
    tx: String,
    tx_hash: TxHash,
    /// That it opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vault: Option<Vault>,
}

/// What became of one that was sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Confirmed { block_height: u64 },
    Failed { code: String, text: String },
}

/// An act as its people see it.
#[derive(Debug, Clone, Serialize)]
pub struct ActTold {
    pub act: Act,
    pub at: Timestamp,
    pub mandate_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mandate_ref: Option<KeyHash>,
    pub progress: Progress,
    /// Who has signed, of those that must.
    pub signed: Vec<KeyHash>,
    pub told: Told,
    pub tx_hash: TxHash,
    pub unsigned_tx_cbor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<Vault>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Progress {
    /// Somebody has yet to sign.
    Unsigned,
    /// All have signed; it is not in a block.
    Sent,
    Confirmed {
        block_height: u64,
    },
    /// Nothing happened, and nothing will.
    Failed {
        code: String,
        text: String,
    },
}

/// The mandate of an act: one that is kept here, or one that is being opened.
enum Of {
    Known(Box<Known>),
    New,
}

/// How soon a transaction is looked for that was just sent.
const LOOK: Duration = Duration::from_secs(5);
/// How long a block may still be taken back.
const SETTLES: Duration = Duration::from_millis(mandate::state::SETTLES_MS);
/// Acts of one mandate.
const MOST: usize = 10_000;

impl App {
    /// Drafts an act, for the principal alone.
    pub(crate) async fn draft_act(&self, who: &Who, id: &str, act: Act) -> Result<ActTold, Refused> {
        let (id, of) = self.act_of(who, id, Some(&act)).await?;
        let stream = mandate_stream(&id)?;
        let treasury = self.treasury()?;
        let (mut mandate_ref, mut opened) = (None, None);
        let built = match (&act, &of) {
            (Act::Anchor { mandate, asset_policy, asset_name, .. }, Of::New) => {
                let mandate = self.drafted(mandate, &id)?;
                let anchor = Anchor::of(&mandate, (*asset_policy, asset_name.clone()))?;
                let anchoring = treasury.anchor(&anchor).await?;
                mandate_ref = Some(anchoring.mandate_ref);
                anchoring.built
            }
            (Act::Open {}, Of::New) => {
                let (_, anchored) = self.anchoring(&stream).await?.ok_or_else(unanchored)?;
                let opening = treasury.open_vault(anchored).await?;
                (mandate_ref, opened) = (Some(anchored), Some(opening.vault));
                opening.built
            }
            (Act::Anchor { .. } | Act::Open {}, Of::Known(_)) => {
                return Err(conflict("vault_open", "this mandate has its vault"));
            }
            (_, Of::New) => return Err(unanchored()),
            (Act::Deposit { amount, from }, Of::Known(known)) => {
                self.same_network(from, known, "/from")?;
                treasury.deposit(&known.anchored.vault, from, amount.get()).await?
            }
            (Act::Withdraw { amount, to }, Of::Known(known)) => {
                self.same_network(to, known, "/to")?;
                treasury.withdraw(&known.anchored.vault, amount.get(), to).await?
            }
            (Act::Update { mandate }, Of::Known(known)) => {
                let next = self.drafted(mandate, &id)?;
                self.follows(known, &next)?;
                let vault = &known.anchored.vault;
                if self.fresh_reading(known).await?.mandate_hash == next.hash() {
                    let name = known.anchored.vault_name.clone();
                    self.anchor_mandate(mandate.as_bytes(), vault.clone(), name).await?;
                    return Err(conflict(
                        "anchored_already",
                        "this version is anchored already, and is in force here now",
                    ));
                }
                treasury.update(vault.mandate_ref, &Anchor::of(&next, asset_of(vault))?).await?
            }
            (Act::Revoke {}, Of::Known(known)) => treasury.revoke(known.anchored.vault.mandate_ref).await?,
        };
        let draft = Draft {
            act,
            at: self.now(),
            mandate_ref,
            tx: ::hex::encode(&built.tx),
            tx_hash: built.tx_hash,
            vault: opened,
        };
        for number in self.acts_kept(&stream).await?.len()..MOST {
            if self.keep(Shelf::Act, &format!("{stream} {number}"), &draft, None).await? {
                return self.act_shown(&id, draft).await;
            }
        }
        Err(conflict("too_many_acts", "this mandate has too many acts"))
    }

    /// The acts of a mandate, newest first, for its principal.
    pub(crate) async fn acts_told(&self, who: &Who, id: &str) -> Result<Vec<ActTold>, Refused> {
        let (id, _) = self.act_of(who, id, None).await?;
        let stream = mandate_stream(&id)?;
        let mut told = Vec::new();
        for draft in self.acts_kept(&stream).await?.into_iter().rev() {
            told.push(self.act_shown(&id, draft).await?);
        }
        Ok(told)
    }

    /// One of them.
    pub(crate) async fn act_told(&self, who: &Who, id: &str, tx_hash: &str) -> Result<ActTold, Refused> {
        let (id, _) = self.act_of(who, id, None).await?;
        let stream = mandate_stream(&id)?;
        let draft = self.act_kept(&stream, tx_hash).await?;
        self.act_shown(&id, draft).await
    }

    /// Takes a witness of whoever must sign, whoever brings it, and sends the act once all are there.
    pub(crate) async fn sign_act(
        &self,
        id: &str,
        tx_hash: &str,
        asked: &WitnessAsked,
    ) -> Result<ActTold, Refused> {
        let id: Id = id.parse().map_err(|_| unknown())?;
        let stream = mandate_stream(&id)?;
        let draft = self.act_kept(&stream, tx_hash).await?;
        let name = draft.tx_hash.to_string();
        if self.kept::<String>(Shelf::Signed, &name).await?.is_some() {
            return Err(conflict("act_sent", "this was signed and sent before"));
        }
        let treasury = self.treasury()?;
        let tx = ::hex::decode(&draft.tx).map_err(bug)?;
        let set = super::approve::witness_of(&asked.witness_cbor)?;
        let signers = treasury.told(&tx)?.signers;
        let witnessed = self.witnessed(&tx, &name, &signers, &set).await?;
        if let Some(whole) = witnessed.whole {
            let row = format!(r#"{{"kind":"act","tx_hash":"{name}"}}"#);
            self.keep(Shelf::Signed, &name, &::hex::encode(&whole), Some((&stream, row))).await?;
        }
        self.act_shown(&id, draft).await
    }

    /// Sends a signed act, or looks what became of it.
    pub(crate) async fn carry_act(&self, stream: &StreamId, tx_hash: TxHash) -> Result<(), Failed> {
        let later = |refused: Refused| Failed::Later(format!("{}: {}", refused.code, refused.text));
        if self.follow_act(stream, tx_hash).await.map_err(later)? {
            return Ok(());
        }
        let why = "an act is not in a block yet".to_owned();
        Err(Failed::NotBefore { due: self.now() + LOOK, why })
    }

    /// Whether it has come to its end.
    async fn follow_act(&self, stream: &StreamId, tx_hash: TxHash) -> Result<bool, Refused> {
        let name = tx_hash.to_string();
        let Some(tx) = self.kept::<String>(Shelf::Signed, &name).await? else { return Ok(true) };
        let treasury = self.treasury()?;
        let tx = ::hex::decode(&tx).map_err(bug)?;
        let failed = |code: &str, text: String| End::Failed { code: code.to_owned(), text };
        let mut block = treasury.confirmed(tx_hash).await?;
        if block.is_none() {
            match treasury.submit(&tx).await {
                Ok(_) => block = treasury.confirmed(tx_hash).await?,
                Err(ChainError::Unknown(why)) => {
                    tracing::warn!(%stream, name, why, "a submission's answer was lost");
                    return Ok(false);
                }
                // Ours may be the one that spends it, and not in a block yet.
                Err(ChainError::Contention(text)) => {
                    if treasury.is_spendable(&tx).await? || treasury.confirmed(tx_hash).await?.is_some() {
                        return Ok(false);
                    }
                    self.keep(Shelf::ActEnd, &name, &failed("chain_contention", text), None).await?;
                    return Ok(true);
                }
                Err(error @ (ChainError::Rejected { .. } | ChainError::Malformed(_))) => {
                    self.keep(Shelf::ActEnd, &name, &failed("chain_rejected", error.to_string()), None)
                        .await?;
                    return Ok(true);
                }
                Err(trouble) => return Err(trouble.into()),
            }
        }
        let Some(block_height) = block else { return Ok(false) };
        let draft = self.act_kept(stream, &name).await?;
        self.took_effect(stream, &draft).await?;
        self.keep(Shelf::ActEnd, &name, &End::Confirmed { block_height }, None).await?;
        Ok(true)
    }

    /// The stream follows what is on chain now.
    async fn took_effect(&self, stream: &StreamId, draft: &Draft) -> Result<(), Refused> {
        self.mandates()?.readings.forget(stream);
        let known = self.mandate_at(stream.clone()).await?;
        let taken = match (&draft.act, known) {
            (Act::Open {}, None) => match (self.anchoring(stream).await?, &draft.vault) {
                (Some((Act::Anchor { mandate, vault_name, .. }, _)), Some(vault)) => {
                    self.anchor_mandate(mandate.as_bytes(), vault.clone(), vault_name).await.map(drop)
                }
                _ => Ok(()),
            },
            (Act::Update { mandate }, Some(known)) => {
                let Known { anchored, .. } = known;
                let (vault, name) = (anchored.vault.clone(), anchored.vault_name.clone());
                self.anchor_mandate(mandate.as_bytes(), vault, name).await.map(drop)
            }
            (Act::Revoke {}, Some(known)) => {
                let observed = self.fresh_reading(&known).await?;
                self.follow_revocation(&known, &observed).await
            }
            _ => Ok(()),
        };
        match taken {
            // Something later is anchored by now, and is followed by itself.
            Err(refused) if matches!(refused.code.as_ref(), "anchor_mismatch" | "version_must_grow") => {
                Ok(())
            }
            other => other,
        }
    }

    /// Records that the anchor says revoked.
    async fn follow_revocation(&self, known: &Known, observed: &Observed) -> Result<(), Refused> {
        let new = observed.anchor_status == Status::Revoked
            && known.anchored.revoked.is_none()
            && observed.anchor_version > known.anchored.mandate.version;
        if new {
            let command = Command::Revoke { version: observed.anchor_version };
            self.authority(&known.stream, &command).await?;
        }
        Ok(())
    }

    /// Follows what was done to the anchor, by whatever means; and sends again what was in a block that is gone.
    pub(crate) async fn sweep_acts(&self, known: &Known, observed: &Observed) -> Result<(), Refused> {
        self.follow_revocation(known, observed).await?;
        let Some(treasury) = self.mandates()?.setup.rail.treasury() else { return Ok(()) };
        for draft in self.acts_kept(&known.stream).await?.into_iter().rev() {
            if draft.at + SETTLES < self.now() {
                break;
            }
            let name = draft.tx_hash.to_string();
            let confirmed = matches!(self.kept(Shelf::ActEnd, &name).await?, Some(End::Confirmed { .. }));
            if confirmed && treasury.confirmed(draft.tx_hash).await?.is_none() {
                tracing::warn!(stream = %known.stream, name, "an act is not in the chain any more");
                self.ask_rail(&known.stream, format!(r#"{{"kind":"act","tx_hash":"{name}"}}"#)).await?;
            }
        }
        Ok(())
    }

    /// The transactions that the anchor and the vault stand in, as far as the chain tells.
    pub(crate) async fn standing(&self, vault: &Vault) -> Result<Option<(TxHash, TxHash)>, Refused> {
        let Some(treasury) = self.mandates()?.setup.rail.treasury() else { return Ok(None) };
        let (_, anchor) = treasury.anchored(vault.mandate_ref).await.map_err(super::reading::unreadable)?;
        let (_, money) = treasury.vault(vault.vault_hash).await.map_err(super::reading::unreadable)?;
        Ok(Some((anchor.at.tx_hash, money.at.tx_hash)))
    }

    /// The mandate that an act is of, for its principal. Who may open one is configured.
    async fn act_of(&self, who: &Who, id: &str, act: Option<&Act>) -> Result<(Id, Of), Refused> {
        let keys = who.keys();
        if matches!(who, Who::Nobody) {
            return Err(Refused::nobody());
        }
        let id: Id = id.parse().map_err(|_| unknown())?;
        let stream = mandate_stream(&id)?;
        if let Some(known) = self.mandate_at(stream.clone()).await? {
            let mandate = &known.anchored.mandate;
            return match who.role(mandate) {
                _ if keys.contains(&mandate.principal.cardano_key_hash) => {
                    Ok((id, Of::Known(Box::new(known))))
                }
                Role::Stranger | Role::Nobody => Err(unknown()),
                _ => Err(Refused::forbidden("not_the_principal", "only the mandate's principal does this")),
            };
        }
        let drafted = self.anchoring_drafted(&stream).await?;
        let document = match (act, &drafted) {
            (Some(Act::Anchor { mandate, .. }), _) | (_, Some(Act::Anchor { mandate, .. })) => {
                mandate.clone()
            }
            _ => return Err(unknown()),
        };
        let principal = Mandate::read(document.as_bytes()).map_err(refused_document)?;
        let principal = principal.principal.cardano_key_hash;
        if !keys.contains(&principal) {
            return Err(unknown());
        }
        if !self.mandates()?.setup.principals.contains(&principal) {
            let text = "this key may not open mandates here: the server's configuration lists who may";
            return Err(Refused::forbidden("not_the_principal", text));
        }
        Ok((id, Of::New))
    }

    /// The newest draft of an anchor, whatever became of it.
    async fn anchoring_drafted(&self, stream: &StreamId) -> Result<Option<Act>, Refused> {
        let drafts = self.acts_kept(stream).await?.into_iter().rev();
        Ok(drafts.map(|draft| draft.act).find(|act| matches!(act, Act::Anchor { .. })))
    }

    /// The newest anchor that is in a block.
    async fn anchoring(&self, stream: &StreamId) -> Result<Option<(Act, KeyHash)>, Refused> {
        for draft in self.acts_kept(stream).await?.into_iter().rev() {
            let Some(mandate_ref) = draft.mandate_ref.filter(|_| matches!(draft.act, Act::Anchor { .. }))
            else {
                continue;
            };
            let end = self.kept(Shelf::ActEnd, &draft.tx_hash.to_string()).await?;
            if matches!(end, Some(End::Confirmed { .. })) {
                return Ok(Some((draft.act, mandate_ref)));
            }
        }
        Ok(None)
    }

    /// A mandate as it may be anchored here.
    fn drafted(&self, document: &Raw, id: &Id) -> Result<Hashed<Mandate>, Refused> {
        let mandate = Mandate::read(document.as_bytes()).map_err(refused_document)?;
        let place = |place: &str| format!("/mandate{place}");
        if mandate.id != *id {
            return Err(Refused::bad("bad_mandate", &place("/id"), "the id is another mandate's"));
        }
        if mandate.status != Status::Active {
            let text = "a mandate that is anchored is active; it ends by being revoked";
            return Err(Refused::bad("bad_mandate", &place("/status"), text));
        }
        let engine = mandate.authority_engine.public_key.key().map(keys::PublicKey::Ed25519);
        if engine.ok() != Some(self.mandates()?.setup.engine.public()) {
            let text = "the engine's key is not this server's";
            return Err(Refused::bad("bad_mandate", &place("/authority_engine/public_key"), text));
        }
        Ok(mandate)
    }

    /// Whether a version may follow the one in force.
    fn follows(&self, known: &Known, next: &Mandate) -> Result<(), Refused> {
        let anchored = &known.anchored;
        if next.asset != anchored.mandate.asset {
            let text = "the vault's money is in another asset";
            return Err(Refused::bad("bad_mandate", "/mandate/asset", text));
        }
        let last = anchored.revoked.unwrap_or(anchored.mandate.version);
        if next.version <= last {
            let refused = Refused::from(mandate::Refusal::VersionMustGrow { known: last });
            return Err(Refused { place: Some("/mandate/version".to_owned()), ..refused });
        }
        Ok(())
    }

    fn same_network(&self, address: &Address, known: &Known, place: &str) -> Result<(), Refused> {
        if address.network() == known.anchored.vault.network.network() {
            return Ok(());
        }
        Err(Refused::bad("bad_address", place, "an address of another network"))
    }

    fn treasury(&self) -> Result<&Treasury, Refused> {
        let treasury = self.mandates()?.setup.rail.treasury();
        treasury.ok_or_else(|| Refused::missing("treasury_off", "this server builds no transactions"))
    }

    async fn acts_kept(&self, stream: &StreamId) -> Result<Vec<Draft>, Refused> {
        let mut found = Vec::new();
        while let Some(draft) = self.kept::<Draft>(Shelf::Act, &format!("{stream} {}", found.len())).await? {
            found.push(draft);
        }
        Ok(found)
    }

    async fn act_kept(&self, stream: &StreamId, tx_hash: &str) -> Result<Draft, Refused> {
        let all = self.acts_kept(stream).await?;
        let found = all.into_iter().find(|draft| draft.tx_hash.to_string() == tx_hash);
        found.ok_or_else(|| Refused::missing("act_unknown", "no such act of this mandate"))
    }

    async fn act_shown(&self, id: &Id, draft: Draft) -> Result<ActTold, Refused> {
        let name = draft.tx_hash.to_string();
        let told = self.treasury()?.told(&::hex::decode(&draft.tx).map_err(bug)?)?;
        let signed = self.signed_of(&name, &told.signers).await?;
        let end = self.kept::<End>(Shelf::ActEnd, &name).await?;
        let progress = match end {
            Some(End::Confirmed { block_height }) => Progress::Confirmed { block_height },
            Some(End::Failed { code, text }) => Progress::Failed { code, text },
            None if signed.len() == told.signers.len() => Progress::Sent,
            None => Progress::Unsigned,
        };
        Ok(ActTold {
            act: draft.act,
            at: draft.at,
            mandate_id: id.clone(),
            mandate_ref: draft.mandate_ref,
            progress,
            signed,
            told,
            tx_hash: draft.tx_hash,
            unsigned_tx_cbor: draft.tx,
            vault: draft.vault,
        })
    }
}

fn asset_of(vault: &Vault) -> Asset {
    (vault.asset_policy, vault.asset_name.clone())
}

/// A document with everything that is wrong with it.
pub(crate) fn refused_document(refusal: mandate::Refusal) -> Refused {
    let problems = match &refusal {
        mandate::Refusal::MandateRules { problems } => Some(json!(problems)),
        _ => None,
    };
    let mut refused = Refused::from(refusal);
    refused.place = Some(format!("/mandate{}", refused.place.unwrap_or_default()));
    match problems {
        Some(problems) => refused.with("problems", problems),
        None => refused,
    }
}

fn unanchored() -> Refused {
    conflict("not_anchored", "the mandate's anchor is not in a block yet")
}

fn conflict(code: &'static str, text: &str) -> Refused {
    Refused::new(StatusCode::CONFLICT, code, text)
}
