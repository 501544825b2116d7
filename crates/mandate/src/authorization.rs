//! What the engine signs (spec 2.1), the record of it, and the hash of a decision (spec 1.8).

use crate::address::{Address, Credential};
use crate::text::{AssetName, Hex, KeyHash, PolicyId, PositiveUnits, at_most};
use crate::time::Millis;
use crate::{Outcome, Refusal};
use blake2::Digest as _;
use canon::Digest;
use keys::Signer;
use serde::{Deserialize, Deserializer, Serialize};

/// The fields of an authorization, as they are recorded. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    pub action_hash: Digest,
    /// 1 pay_invoice, 2 purchase, 3 transfer (D31).
    #[serde(deserialize_with = "action_type")]
    pub action_type: u8,
    pub amount: PositiveUnits,
    pub asset_name: AssetName,
    pub asset_policy: PolicyId,
    /// 0 preprod, 1 mainnet.
    #[serde(deserialize_with = "chain_tag")]
    pub chain_tag: u8,
    pub mandate_hash: Digest,
    /// The policy of the anchor.
    pub mandate_ref: KeyHash,
    pub mandate_version: u32,
    pub nonce: PositiveUnits,
    pub recipient: Address,
    pub requires_principal: bool,
    /// The last instant at which it may be used.
    pub valid_until: Millis,
    pub vault_hash: KeyHash,
    pub verification_ref: Option<Digest>,
}

/// BLAKE2b-256 of an authorization's message: what the engine signs, what the recipient's output carries.
pub type AuthorizationDigest = Hex<32>;

const DOMAIN: &[u8; 22] = b"AGENT_AUTHORIZATION_V1";

impl Fields {
    /// Reads the fields. Refuses a recipient of another network than the chain tag's, version 0 and an instant 0.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let fields: Self = canon::from_slice(bytes)?;
        fields.check()?;
        Ok(fields)
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let wrong = |place: &str| Err(Refusal::BadValue { place: place.to_owned() });
        if self.recipient.network().tag() != self.chain_tag {
            return wrong("/recipient");
        }
        if self.mandate_version == 0 {
            return wrong("/mandate_version");
        }
        if self.valid_until.get() == 0 { wrong("/valid_until") } else { Ok(()) }
    }

    /// The message: a fixed layout of 264 bytes and the asset name, and 28 more where the recipient has a stake part.
    /// Integers are big-endian. Every width is fixed or named, so no two sets of fields give the same bytes.
    pub fn message(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(324);
        bytes.extend_from_slice(DOMAIN);
        bytes.push(self.chain_tag);
        bytes.extend_from_slice(self.vault_hash.as_bytes());
        bytes.extend_from_slice(self.mandate_ref.as_bytes());
        bytes.extend_from_slice(self.mandate_hash.as_bytes());
        bytes.extend_from_slice(&self.mandate_version.to_be_bytes());
        bytes.extend_from_slice(self.action_hash.as_bytes());
        bytes.push(self.action_type);
        bytes.extend_from_slice(self.asset_policy.as_bytes());
        // INVARIANT: an asset name has at most 32 bytes.
        bytes.push(u8::try_from(self.asset_name.as_bytes().len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(self.asset_name.as_bytes());
        bytes.extend_from_slice(&self.amount.get().to_be_bytes());
        let payment = self.recipient.payment();
        bytes.push(u8::from(matches!(payment, Credential::Script(_))));
        bytes.extend_from_slice(payment.hash().as_bytes());
        match self.recipient.stake() {
            None => bytes.push(0),
            Some(stake) => {
                bytes.push(if matches!(stake, Credential::Script(_)) { 2 } else { 1 });
                bytes.extend_from_slice(stake.hash().as_bytes());
            }
        }
        bytes.extend_from_slice(&self.nonce.get().to_be_bytes());
        bytes.extend_from_slice(&self.valid_until.get().to_be_bytes());
        bytes.push(u8::from(self.requires_principal));
        bytes.extend_from_slice(self.verification_ref.unwrap_or(Digest::ZERO).as_bytes());
        bytes
    }

    pub fn digest(&self) -> AuthorizationDigest {
        Hex::from_bytes(blake2::Blake2b256::digest(self.message()).into())
    }

    /// Signs the digest. Ed25519 is deterministic: the same fields always give the same record.
    pub fn sign(self, engine: &dyn Signer) -> Result<Record, Refusal> {
        let digest = self.digest();
        let keys::PublicKey::Ed25519(public) = engine.public() else { return Err(Refusal::EngineKey) };
        let signature = engine.sign(digest.as_bytes()).map_err(Refusal::Keys)?;
        Ok(Record {
            digest_hex: digest,
            engine_public_key: Hex::from_bytes(*public.as_bytes()),
            message_hex: hex::encode(self.message()),
            fields: self,
            schema: RecordSchema::V01,
            signature_hex: Hex::from_bytes(*signature.as_bytes()),
        })
    }
}

/// `authorization/v0.1`: an authorization as it is handed out. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub digest_hex: AuthorizationDigest,
    pub engine_public_key: Hex<32>,
    pub fields: Fields,
    pub message_hex: String,
    pub schema: RecordSchema,
    pub signature_hex: Hex<64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordSchema {
    #[serde(rename = "authorization/v0.1")]
    V01,
}

impl Record {
    /// Whether its bytes are those of its fields, and signed by the key it names. Whose key that is, is the mandate's to
    /// say.
    pub fn verify(&self) -> Result<(), Refusal> {
        self.fields.check()?;
        let wrong = |place: &str| Err(Refusal::BadValue { place: place.to_owned() });
        if hex::encode(self.fields.message()) != self.message_hex {
            return wrong("/message_hex");
        }
        if self.fields.digest() != self.digest_hex {
            return wrong("/digest_hex");
        }
        let key = keys::ed25519::PublicKey::from_bytes(self.engine_public_key.as_bytes());
        let signature = keys::Signature::from_bytes(*self.signature_hex.as_bytes());
        key.and_then(|key| key.verify(self.digest_hex.as_bytes(), &signature)).map_err(Refusal::Keys)
    }
}

/// SHA-256(action hash ‖ mandate hash ‖ verification hash ‖ outcome in ASCII); a missing part is 32 zero bytes.
pub fn decision_hash(
    action: Option<Digest>,
    mandate: Option<Digest>,
    verification: Option<Digest>,
    outcome: Outcome,
) -> Digest {
    let part = |digest: Option<Digest>| digest.unwrap_or(Digest::ZERO);
    Digest::of_parts(&[
        part(action).as_bytes(),
        part(mandate).as_bytes(),
        part(verification).as_bytes(),
        outcome.as_str().as_bytes(),
    ])
}

fn action_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match at_most(deserializer, 3)? {
        0 => Err(serde::de::Error::custom("action types are 1 to 3")),
        code => Ok(u8::try_from(code).unwrap_or(3)),
    }
}

fn chain_tag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    at_most(deserializer, 1).map(|tag| u8::from(tag == 1))
}
