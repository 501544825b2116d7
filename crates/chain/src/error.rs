//! Every way a chain refuses, and whether anything happened.

use ::ledger::{Coded, Who};

/// Why a chain did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// It did not answer, and nothing happened.
    #[error("the chain does not answer: {0}")]
    Unavailable(String),
    /// The answer to a submission was lost: it may have landed. Only the chain can tell.
    #[error("it is not known whether the transaction landed: {0}")]
    Unknown(String),
    /// The ledger refuses it, and would refuse it again. `invariant` is the validator's rule (`R6`, `b4`), or `EXPIRED`.
    #[error("refused by the ledger{}: {error}", .invariant.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default())]
    Rejected { invariant: Option<String>, error: String },
    /// What it spends was spent meanwhile: build it again.
    #[error("its inputs were spent meanwhile: {0}")]
    Contention(String),
    /// Not on chain, or not where it should be.
    #[error("{0} is not on chain")]
    Missing(String),
    /// It is not what it should be: bytes, a datum, a request that makes no sense.
    #[error("malformed: {0}")]
    Malformed(String),
    /// A wallet's answer that proves nothing for this transaction (W9).
    #[error("the witness is no good: {0}")]
    BadWitness(String),
    /// A wallet has too little, in lovelace or, where `of` says so, in a token.
    #[error("{needed} {of} are needed, the wallet has {available}")]
    Insufficient { needed: u64, available: u64, of: String },
    #[error("internal: {0}")]
    Bug(String),
}

impl ChainError {
    pub(crate) fn malformed(what: &str) -> Self {
        Self::Malformed(what.to_owned())
    }

    pub(crate) fn expired(what: &str) -> Self {
        Self::Rejected { invariant: Some("EXPIRED".to_owned()), error: what.to_owned() }
    }
}

impl Coded for ChainError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "chain_unavailable",
            Self::Unknown(_) => "chain_unknown",
            Self::Rejected { .. } => "chain_rejected",
            Self::Contention(_) => "chain_contention",
            Self::Missing(_) => "chain_missing",
            Self::Malformed(_) => "chain_malformed",
            Self::BadWitness(_) => "bad_witness",
            Self::Insufficient { .. } => "chain_insufficient",
            Self::Bug(_) => "internal",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Unavailable(_) | Self::Unknown(_) | Self::Insufficient { .. } => Who::Unavailable,
            Self::Rejected { .. } | Self::Contention(_) => Who::Conflict,
            Self::Missing(_) => Who::Missing,
            Self::Malformed(_) | Self::BadWitness(_) => Who::Caller,
            Self::Bug(_) => Who::Bug,
        }
    }
}
