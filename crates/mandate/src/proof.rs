//! How it is known that an approver decided: their own key over exactly this decision (D6, D33).

use crate::authorization::AuthorizationDigest;
use crate::log::DeclineReason;
use crate::text::{KeyHash, Text};
use crate::{Mandate, Network, Refusal, cose};
use approvals::{Credentials, Decided, Evidence, Person, PlainKey, Statement};
use canon::Digest;
use env::Timestamp;
use keys::PublicKey;
use serde::{Deserialize, Serialize};

/// A decision as it was signed: evidence over the statement, and the key that verifies it, so that anyone can check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    pub evidence: Evidence,
    pub key: PublicKey,
    pub nonce: Text<16, 64>,
    /// The hash of what was signed; recomputed, never trusted.
    pub statement: Digest,
}

/// What an approver decides about, as they are shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'a> {
    pub ask_id: &'a str,
    pub action_hash: Digest,
    pub brief_hash: Digest,
}

/// Who may decide: the mandate's approvers whose keys the anchor has, with wallets of one network.
#[derive(Debug, Clone, Copy)]
pub struct Approvers<'a> {
    pub mandate: &'a Mandate,
    pub anchored: &'a [KeyHash],
    pub network: Network,
}

impl Approvers<'_> {
    /// Which approver's key it is.
    fn named(&self, signed: &Signed) -> Result<KeyHash, Refusal> {
        let PublicKey::Ed25519(key) = &signed.key else { return Err(Refusal::NotTheApprover) };
        let hash = KeyHash::of_key(key);
        if self.mandate.approver(&hash).is_none() || !self.anchored.contains(&hash) {
            return Err(Refusal::NotTheApprover);
        }
        Ok(hash)
    }

    /// The older signature of a decline: a wallet's, over [`decline_message`], which names no brief.
    pub fn older_decline(
        &self,
        approval_id: &str,
        reason: DeclineReason,
        signed: &Signed,
    ) -> Result<KeyHash, Refusal> {
        let hash = self.named(signed)?;
        let Evidence::Wallet { cose_sign1, cose_key, .. } = &signed.evidence else {
            return Err(Refusal::EvidenceNotAccepted);
        };
        let message = decline_message(approval_id, reason)?;
        if Digest::of(&message) != signed.statement {
            return Err(Refusal::OtherStatement);
        }
        self.wallet(signed, cose_sign1, cose_key, &message).map(|()| hash)
    }

    fn wallet(
        &self,
        signed: &Signed,
        cose_sign1: &str,
        cose_key: &str,
        message: &[u8],
    ) -> Result<(), Refusal> {
        let bytes = |text: &str| hex::decode(text).map_err(|_| Refusal::BadApproverSignature);
        let key = cose::verify(&bytes(cose_sign1)?, &bytes(cose_key)?, message, self.network)
            .map_err(|_| Refusal::BadApproverSignature)?;
        if PublicKey::Ed25519(key) == signed.key { Ok(()) } else { Err(Refusal::BadApproverSignature) }
    }
}

/// The answer that goes with an approval: which authorization it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveBody {
    pub authorization_digest: AuthorizationDigest,
}

/// The answer that goes with a decline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclineBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Text<1, 1000>>,
    pub reason: DeclineReason,
}

/// The answer that goes with a veto: nothing more to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VetoBody {}

/// The message of the older decline signature (spec 1.10): canonical `{approval_id, decision, reason}`.
pub fn decline_message(approval_id: &str, reason: DeclineReason) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct Message<'a> {
        approval_id: &'a str,
        decision: &'static str,
        reason: DeclineReason,
    }
    Ok(canon::to_vec(&Message { approval_id, decision: "decline", reason })?)
}

/// How a wait is called where people are asked.
pub fn veto_ask(action: &Digest) -> String {
    format!("veto:{action}")
}

impl<'a> Question<'a> {
    /// Whether a wait is to be stopped. `ask_id` is [`veto_ask`]'s; what is shown is the action itself.
    pub const fn of_wait(ask_id: &'a str, action: Digest) -> Self {
        Self { ask_id, action_hash: action, brief_hash: action }
    }
}

impl Question<'_> {
    /// What is signed: D6's statement, whose `answer_hash` covers the body.
    pub fn statement<T: Serialize>(
        &self,
        decision: Decided,
        body: &T,
        nonce: &str,
    ) -> Result<Statement, Refusal> {
        Ok(Statement {
            v: Statement::VERSION,
            ask_id: self.ask_id.to_owned(),
            action_hash: self.action_hash,
            brief_hash: self.brief_hash,
            decision,
            answer_hash: Some(Digest::of(&canon::to_vec(body)?)),
            nonce: nonce.to_owned(),
        })
    }

    /// Which approver of the mandate signed this decision. The key must be an approver's both in the mandate and in the
    /// anchor (case 66); the signature must be over this very statement.
    pub fn signer<T: Serialize>(
        &self,
        decision: Decided,
        body: &T,
        signed: &Signed,
        approvers: &Approvers<'_>,
        at: Timestamp,
    ) -> Result<KeyHash, Refusal> {
        let hash = approvers.named(signed)?;
        let statement = self.statement(decision, body, signed.nonce.as_str())?.hash();
        if statement != signed.statement {
            return Err(Refusal::OtherStatement);
        }
        let plain = match &signed.evidence {
            Evidence::Ed25519 { .. } => PlainKey { key: signed.key, since: Timestamp::EPOCH, until: None },
            Evidence::Wallet { cose_sign1, cose_key, .. } => {
                return approvers.wallet(signed, cose_sign1, cose_key, statement.as_bytes()).map(|()| hash);
            }
            Evidence::Passkey { .. } | Evidence::Session { .. } | Evidence::Relayed { .. } => {
                return Err(Refusal::EvidenceNotAccepted);
            }
        };
        // Whose key it is was settled above; what is left is the signature.
        let mut keys = Credentials::of(Person::Holder { stream: String::new(), role: String::new() });
        keys.plain_keys = vec![plain];
        approvals::proves(&signed.evidence, &statement, &keys, at)
            .map(|_| hash)
            .map_err(|_| Refusal::BadApproverSignature)
    }
}
