use crate::Decided;
use canon::Digest;
use serde::{Deserialize, Serialize};

/// What a passkey or key signs for any answer: SHA-256 of the canonical bytes of this object. An approval can therefore
/// never be replayed as a decline, nor for another ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// How it is known that the person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A WebAuthn assertion whose challenge is the statement's hash. All base64url.
    Passkey { credential_id: String, authenticator_data: String, client_data_json: String, signature: String },
    /// A key the person holds: Ed25519 over the 32 bytes of the statement's hash; signature base64url.
    Ed25519 { thumbprint: String, signature: String },
    /// A wallet's COSE_Sign1 over the statement's hash (CIP-8, CIP-30). Hex.
    Wallet { address: String, cose_sign1: String, cose_key: String },
    /// A signed-in web session and nothing more.
    Session { session: String },
    /// An agent passed it on.
    Relayed { agent: String },
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

/// Which evidence settles an ask. A relayed answer may be held until confirmed by one of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepts {
    pub kinds: Vec<EvidenceKind>,
    pub relayed_is_held: bool,
}
