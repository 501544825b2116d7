//! What the pages of a mandate's principal are made of.

use super::acts::{Act, ActTold};
use super::desk::Reader;
use super::shapes::WitnessAsked;
use super::{Refused, unknown};
use crate::App;
use keys::Signer;
use mandate::metrics::Metrics;
use mandate::text::{Ed25519Key, KeyHash};
use mandate::{Hashed, Mandate, Vault};

/// A mandate as its principal may change it.
#[derive(Debug)]
pub struct Editing {
    pub mandate: Hashed<Mandate>,
    pub vault: Vault,
    /// The least version that may follow.
    pub next: u32,
}

impl App {
    /// Drafts an act.
    pub async fn act_drafted(&self, reader: &Reader, mandate: &str, act: Act) -> Result<ActTold, Refused> {
        self.draft_act(&reader.0, mandate, act).await
    }

    pub async fn acts_of(&self, reader: &Reader, mandate: &str) -> Result<Vec<ActTold>, Refused> {
        self.acts_told(&reader.0, mandate).await
    }

    pub async fn act_of_page(
        &self,
        reader: &Reader,
        mandate: &str,
        tx_hash: &str,
    ) -> Result<ActTold, Refused> {
        self.act_told(&reader.0, mandate, tx_hash).await
    }

    /// Takes a witness over an act.
    pub async fn act_signed(&self, mandate: &str, tx_hash: &str, witness: &str) -> Result<ActTold, Refused> {
        let bad = |_| Refused::bad("bad_witness", "/witness_cbor", "a witness set is cbor in hex");
        let asked = WitnessAsked { witness_cbor: witness.parse().map_err(bad)? };
        self.sign_act(mandate, tx_hash, &asked).await
    }

    /// A mandate for its principal's editor.
    pub async fn editing(&self, reader: &Reader, mandate: &str) -> Result<Editing, Refused> {
        let known = self.read_by(reader, mandate).await?;
        if !reader.keys().contains(&known.anchored.mandate.principal.cardano_key_hash) {
            return Err(Refused::forbidden("not_the_principal", "only the mandate's principal does this"));
        }
        let last = known.anchored.revoked.unwrap_or(known.anchored.mandate.version);
        Ok(Editing {
            mandate: known.anchored.mandate.clone(),
            vault: known.anchored.vault.clone(),
            next: last.saturating_add(1),
        })
    }

    /// A mandate's public figures.
    pub async fn figures(&self, mandate: &str) -> Result<Metrics, Refused> {
        self.mandates()?;
        self.metrics_of(&mandate.parse().map_err(|_| unknown())?).await
    }

    /// The keys by which a reader may open mandates here.
    pub fn opening_keys(&self, reader: &Reader) -> Result<Vec<KeyHash>, Refused> {
        let principals = &self.mandates()?.setup.principals;
        Ok(reader.keys().into_iter().filter(|key| principals.contains(key)).collect())
    }

    /// The key that a mandate of this server names as its engine's.
    pub fn engine_key(&self) -> Result<Ed25519Key, Refused> {
        match self.mandates()?.setup.engine.public() {
            keys::PublicKey::Ed25519(key) => Ok(Ed25519Key::from_bytes(*key.as_bytes())),
            keys::PublicKey::P256(_) => Err(unknown()),
        }
    }
}
