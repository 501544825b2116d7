//! Whoever verifies the facts of an invoice (spec 1.6). What is found is judged by the engine; nothing here is believed.

use async_trait::async_trait;
use mandate::basis::Quote;
use mandate::command::Verification;
use mandate::text::Text;
use mandate::{Evidence, HashedAction};

#[async_trait]
pub trait Verifier: Send + Sync + std::fmt::Debug + 'static {
    /// What is known of the action without asking anybody; [`Verification::NotTried`] for nothing.
    async fn known(&self, action: &HashedAction) -> Verification;

    /// Has the facts verified.
    async fn verify(&self, action: &HashedAction) -> Verification;

    /// Has a quote compared to the market (D32); `None` where that cannot be said now.
    async fn appraise(&self, _: &Quote) -> Option<Appraised> {
        None
    }
}

/// Whether a quote is on market, by whom, and where that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appraised {
    pub evidence: Evidence,
    pub registry_tx: Option<Text<1, 100>>,
}

/// No verifier: facts are never verified.
#[derive(Debug, Clone, Copy)]
pub struct Unverified;

#[async_trait]
impl Verifier for Unverified {
    async fn known(&self, _: &HashedAction) -> Verification {
        Verification::NotTried
    }

    async fn verify(&self, _: &HashedAction) -> Verification {
        Verification::Unavailable
    }
}
