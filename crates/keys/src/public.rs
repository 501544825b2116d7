use crate::{Code, Error, Jwk, ed25519, p256, text};
use canon::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The signature algorithms of the house. A key has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Ed25519,
    P256,
}

impl Algorithm {
    /// The JOSE name we write: `EdDSA` (RFC 8037) or `ES256` (RFC 7518).
    pub const fn jose(self) -> &'static str {
        match self {
            Self::Ed25519 => "EdDSA",
            Self::P256 => "ES256",
        }
    }

    /// Whether a JOSE `alg` names this algorithm; `Ed25519` is RFC 9864's word for `EdDSA` on this curve.
    pub fn answers_to(self, alg: &str) -> bool {
        match self {
            Self::Ed25519 => matches!(alg, "EdDSA" | "Ed25519"),
            Self::P256 => alg == "ES256",
        }
    }

    /// The name in the HTTP signature algorithms registry (RFC 9421 6.2).
    pub const fn http(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::P256 => "ecdsa-p256-sha256",
        }
    }
}

/// A public key that has passed its algorithm's checks. As JSON it is a JWK without `kid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicKey {
    Ed25519(ed25519::PublicKey),
    P256(p256::PublicKey),
}

impl PublicKey {
    /// The 32 bytes of an Ed25519 key.
    pub fn ed25519(bytes: &[u8]) -> Result<Self, Error> {
        ed25519::PublicKey::from_bytes(bytes).map(Self::Ed25519)
    }

    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(_) => Algorithm::Ed25519,
            Self::P256(_) => Algorithm::P256,
        }
    }

    /// Under the acceptance rule of [`ed25519`], or ES256 as r‖s.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        match self {
            Self::Ed25519(key) => key.verify(message, signature),
            Self::P256(key) => key.verify(message, signature),
        }
    }

    /// DER SubjectPublicKeyInfo (RFC 8410; RFC 5480).
    pub fn spki(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => [ED25519_SPKI, key.as_bytes().as_slice()].concat(),
            Self::P256(key) => [P256_SPKI, key.to_sec1().as_slice()].concat(),
        }
    }

    /// Refuses every DER but the one [`spki`](Self::spki) writes.
    pub fn from_spki(der: &[u8]) -> Result<Self, Error> {
        if let Some(key) = der.strip_prefix(ED25519_SPKI) {
            return Self::ed25519(key);
        }
        if let Some(point) = der.strip_prefix(P256_SPKI) {
            return p256::PublicKey::from_sec1(point).map(Self::P256);
        }
        Err(Error::new(Code::BadKey, "not the public key info of an ed25519 or p-256 key"))
    }

    /// The RFC 7638 thumbprint, by which the house names keys.
    pub fn thumbprint(&self) -> Kid {
        Kid::Thumbprint(Jwk::from(*self).thumbprint())
    }

    /// SHA-256 of the public key info, as PCM and X.509 name keys.
    pub fn spki_kid(&self) -> Kid {
        Kid::Spki(Digest::of(&self.spki()))
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Jwk::from(*self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Jwk::deserialize(deserializer).map(|jwk| jwk.key)
    }
}

/// The name of a key, by content: two keys never share one, and which spelling it is shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kid {
    /// RFC 7638, 43 characters of base64url.
    Thumbprint(Digest),
    /// `sha256:` and 64 hex digits of SHA-256(SubjectPublicKeyInfo).
    Spki(Digest),
}

impl Kid {
    /// Whether this names the key.
    pub fn names(&self, key: &PublicKey) -> bool {
        match self {
            Self::Thumbprint(_) => *self == key.thumbprint(),
            Self::Spki(_) => *self == key.spki_kid(),
        }
    }
}

impl fmt::Display for Kid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thumbprint(digest) => f.write_str(&digest.base64url()),
            Self::Spki(digest) => f.write_str(&digest.prefixed()),
        }
    }
}

impl fmt::Debug for Kid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Kid {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::new(Code::BadKid, format!("not a key identifier: {text:?}"));
        if let Some(digits) = text.strip_prefix("sha256:") {
            return digits.parse().map(Self::Spki).map_err(|_| bad());
        }
        let bytes = text::from_base64url(text, Code::BadKid).map_err(|_| bad())?;
        bytes.try_into().map(|bytes| Self::Thumbprint(Digest::from_bytes(bytes))).map_err(|_| bad())
    }
}

impl Serialize for Kid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Kid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// 64 bytes: R‖S of Ed25519, r‖s of ES256. As JSON, unpadded base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Error> {
        bytes.try_into().map(Self).map_err(|_| Error::new(Code::BadSignatureForm, "a signature has 64 bytes"))
    }
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
    /// From unpadded base64url, 86 characters.
    pub fn from_base64url(text: &str) -> Result<Self, Error> {
        Self::from_slice(&text::from_base64url(text, Code::BadSignatureForm)?)
    }
    pub fn base64url(&self) -> String {
        text::base64url(self.0)
    }
    /// From padded base64, as PCM records and notes carry it.
    pub fn from_base64(text: &str) -> Result<Self, Error> {
        Self::from_slice(&text::from_base64(text, Code::BadSignatureForm)?)
    }
    pub fn base64(&self) -> String {
        text::base64(self.0)
    }
    /// From the DER of an ES256 signature; strict DER only.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let signature = ::p256::ecdsa::Signature::from_der(der)
            .map_err(|_| Error::new(Code::BadSignatureForm, "not the der of an es256 signature"))?;
        Self::from_slice(&signature.to_bytes())
    }
    /// The DER of an ES256 signature. Refuses bytes that are none.
    pub fn to_der(&self) -> Result<Vec<u8>, Error> {
        let signature = ::p256::ecdsa::Signature::from_slice(&self.0)
            .map_err(|_| Error::new(Code::BadSignatureForm, "r or s is out of range"))?;
        Ok(signature.to_der().as_bytes().to_vec())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base64url())
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.base64url())
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_base64url(&text).map_err(serde::de::Error::custom)
    }
}

const ED25519_SPKI: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const P256_SPKI: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
