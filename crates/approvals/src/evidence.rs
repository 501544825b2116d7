use crate::Decided;
use crate::ask::digest;
use canon::Digest;
use serde::{Deserialize, Serialize};

/// What a passkey or key signs for any answer: SHA-256 of the canonical bytes of this object. An approval can therefore
/// never be replayed as a decline, nor for another ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub v: u8,
    pub ask_id: String,
    pub action_hash: Digest,
    pub brief_hash: Digest,
    pub decision: Decided,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_hash: Option<Digest>,
    pub nonce: String,
}

impl Statement {
    pub const VERSION: u8 = 1;

    /// SHA-256 of the canonical bytes: the challenge of a passkey, the message of a key.
    pub fn hash(&self) -> Digest {
        digest(self)
    }
}

/// How it is known that the person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Evidence {
    /// A WebAuthn assertion whose challenge is the statement's hash. All base64url.
    Passkey { credential_id: String, authenticator_data: String, client_data_json: String, signature: String },
    /// A key the person holds: Ed25519 over the 32 bytes of the statement's hash; signature base64url.
    Ed25519 { thumbprint: String, signature: String },
    /// A wallet's COSE_Sign1 over the statement's hash (CIP-8, CIP-30). Hex.
    Wallet { address: String, cose_sign1: String, cose_key: String },
    /// A signed-in web session and nothing more: the session's public name, never its cookie.
    Session { session: String },
    /// An agent passed it on: the public name of the agent's credential.
    Relayed { agent: String },
}

impl Evidence {
    pub const fn kind(&self) -> EvidenceKind {
        match self {
            Self::Passkey { .. } => EvidenceKind::Passkey,
            Self::Ed25519 { .. } => EvidenceKind::Ed25519,
            Self::Wallet { .. } => EvidenceKind::Wallet,
            Self::Session { .. } => EvidenceKind::Session,
            Self::Relayed { .. } => EvidenceKind::Relayed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    Passkey,
    Ed25519,
    Wallet,
    Session,
    Relayed,
}

impl EvidenceKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passkey => "passkey",
            Self::Ed25519 => "ed25519",
            Self::Wallet => "wallet",
            Self::Session => "session",
            Self::Relayed => "relayed",
        }
    }
}

/// Which evidence settles an ask. A relayed answer may be held until confirmed by one of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepts {
    pub kinds: Vec<EvidenceKind>,
    pub relayed_is_held: bool,
}
