//! ES256: ECDSA on P-256 with SHA-256 (RFC 7518 3.4), as r‖s or as DER. Signatures are malleable by nature: both s and
//! n - s are accepted, so a signature never identifies anything.

use crate::{Code, Error, Signature};
use ::p256::ecdsa::signature::Verifier;
use std::fmt;

/// A point of the curve, never the identity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(::p256::ecdsa::VerifyingKey);

impl PublicKey {
    /// SEC 1, uncompressed: 0x04 ‖ x ‖ y, 65 bytes. Refuses other forms and points off the curve.
    pub fn from_sec1(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != 65 || bytes.first() != Some(&4) {
            return Err(Error::new(Code::BadKey, "a p-256 key is 0x04 and two coordinates of 32 bytes"));
        }
        ::p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
            .map(Self)
            .map_err(|_| Error::new(Code::BadKey, "not a point of the curve"))
    }

    /// The two coordinates, 32 bytes each, big-endian.
    pub fn from_coordinates(x: &[u8], y: &[u8]) -> Result<Self, Error> {
        if x.len() != 32 || y.len() != 32 {
            return Err(Error::new(Code::BadKey, "a p-256 coordinate has 32 bytes"));
        }
        Self::from_sec1(&[&[4], x, y].concat())
    }

    /// 0x04 ‖ x ‖ y.
    pub fn to_sec1(&self) -> [u8; 65] {
        let mut bytes = [0; 65];
        for (to, from) in bytes.iter_mut().zip(self.0.to_sec1_point(false).as_bytes()) {
            *to = *from;
        }
        bytes
    }

    /// `signature` is r‖s.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        let signature = ::p256::ecdsa::Signature::from_slice(signature.as_bytes())
            .map_err(|_| Error::new(Code::BadSignatureForm, "r or s is out of range"))?;
        self.0
            .verify(message, &signature)
            .map_err(|_| Error::new(Code::BadSignature, "not this key's signature over these bytes"))
    }

    /// `signature` is DER (RFC 3279 2.2.3), as WebAuthn and X.509 carry it.
    pub fn verify_der(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify(message, &Signature::from_der(signature)?)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.to_sec1()))
    }
}
