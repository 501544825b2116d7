//! Ed25519 (RFC 8032) with one acceptance rule everywhere: S below the group order, the key canonically encoded and not
//! of small order, the cofactorless equation \[S\]B = R + \[k\]A. Never batch verification.

use crate::{Code, Error, Signature};
use std::fmt;

/// A key that [`verify`](Self::verify) may be asked of: canonically encoded, on the curve, not of small order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// 32 bytes (RFC 8032 5.1.2). Refuses an encoding that does not encode back to itself, and small order.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; 32] =
            bytes.try_into().map_err(|_| Error::new(Code::BadKey, "an ed25519 key has 32 bytes"))?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes)
            .map_err(|_| Error::new(Code::BadKey, "not a point of the curve"))?;
        // The order of these two is the rule's own: a small-order key is named as such however it is spelled.
        if key.is_weak() {
            return Err(Error::new(Code::WeakKey, "an ed25519 key of small order"));
        }
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err(Error::new(Code::BadKey, "not canonically encoded"));
        }
        Ok(Self(key))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Accepts exactly what the rule of this module accepts; a small-order R is not its concern.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        let signature = canonical(signature)?;
        ed25519_dalek::Verifier::verify(&self.0, message, &signature)
            .map_err(|_| Error::new(Code::BadSignature, "not this key's signature over these bytes"))
    }

    /// As [`verify`](Self::verify), and refuses a small-order R too. Only for formats whose specification asks for it.
    pub fn verify_strict(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        let signature = canonical(signature)?;
        self.0
            .verify_strict(message, &signature)
            .map_err(|_| Error::new(Code::BadSignature, "not this key's signature over these bytes"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.as_bytes()))
    }
}

/// S below L, checked here too: a build in which some other crate turns on the library's `legacy_compatibility`
/// would otherwise accept a second signature for every message.
fn canonical(signature: &Signature) -> Result<ed25519_dalek::Signature, Error> {
    /// L = 2^252 + 27742317777372353535851937790883648493, little-endian.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
    if signature.s_bytes().iter().rev().lt(ORDER.iter().rev()) {
        Ok(signature)
    } else {
        Err(Error::new(Code::BadSignatureForm, "s is not below the group order"))
    }
}
