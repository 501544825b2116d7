use crate::{Code, Error, PublicKey, ed25519, p256, text};
use canon::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A public JSON Web Key (RFC 7517) of a closed shape: `kty`, `crv`, `x`, for P-256 also `y`; optionally `kid`, `alg`
/// and `use` (`sig`). Refused: a private member, any other member, an `alg` that is not the key's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwk {
    pub key: PublicKey,
    /// Whatever the owner calls it; [`crate::Kid`] is the name by content.
    pub kid: Option<String>,
    /// `EdDSA`, `Ed25519` or `ES256`, as written.
    pub alg: Option<String>,
}

impl Jwk {
    /// Reads exactly one strict JSON text.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        canon::from_slice::<Wire<'_>>(bytes)
            .map_err(|error| match error.code {
                canon::Code::Shape => Error { code: Code::BadJwk, ..Error::json(error) },
                _ => Error::json(error),
            })?
            .key()
    }

    /// Canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        canon::to_vec(self).map_err(Error::json)
    }

    /// RFC 7638: SHA-256 of the required members alone, sorted, without space. (For OKP keys, RFC 8037 2.)
    pub fn thumbprint(&self) -> Digest {
        let required = match &self.key {
            PublicKey::Ed25519(key) => {
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, text::base64url(key.as_bytes()))
            }
            PublicKey::P256(key) => {
                let (x, y) = coordinates(key);
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
        };
        Digest::of(required.as_bytes())
    }
}

impl From<PublicKey> for Jwk {
    fn from(key: PublicKey) -> Self {
        Self { key, kid: None, alg: None }
    }
}

impl Serialize for Jwk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kty, crv, x, y) = match &self.key {
            PublicKey::Ed25519(key) => ("OKP", "Ed25519", text::base64url(key.as_bytes()), None),
            PublicKey::P256(key) => {
                let (x, y) = coordinates(key);
                ("EC", "P-256", x, Some(y))
            }
        };
        Wire {
            kty: kty.into(),
            crv: crv.into(),
            x: x.into(),
            y: y.map(Cow::Owned),
            kid: self.kid.as_deref().map(Cow::Borrowed),
            alg: self.alg.as_deref().map(Cow::Borrowed),
            r#use: None,
            d: false,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Jwk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer)?.key().map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow)]
    kty: Cow<'a, str>,
    #[serde(borrow)]
    crv: Cow<'a, str>,
    #[serde(borrow)]
    x: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    y: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    kid: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    alg: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "use", skip_serializing_if = "Option::is_none")]
    r#use: Option<Cow<'a, str>>,
    /// Whether there is one, whatever it is.
    #[serde(default, skip_serializing, deserialize_with = "present")]
    d: bool,
}

impl Wire<'_> {
    fn key(self) -> Result<Jwk, Error> {
        if self.d {
            return Err(Error::new(Code::PrivateJwk, "a private key where a public one belongs").at("/d"));
        }
        let x = text::from_base64url(self.x.as_bytes(), Code::BadJwk).map_err(|error| error.at("/x"))?;
        let key = match (self.kty.as_ref(), self.crv.as_ref(), &self.y) {
            ("OKP", "Ed25519", None) => {
                PublicKey::Ed25519(ed25519::PublicKey::from_bytes(&x).map_err(|error| error.at("/x"))?)
            }
            ("EC", "P-256", Some(y)) => {
                let y = text::from_base64url(y.as_bytes(), Code::BadJwk).map_err(|error| error.at("/y"))?;
                PublicKey::P256(p256::PublicKey::from_coordinates(&x, &y).map_err(|error| error.at("/x"))?)
            }
            _ => {
                let kind = format!("kty {:?} with crv {:?}", self.kty, self.crv);
                return Err(Error::new(Code::BadJwk, format!("{kind} is not a key we know")).at("/kty"));
            }
        };
        if let Some(alg) = &self.alg
            && !key.algorithm().answers_to(alg)
        {
            return Err(
                Error::new(Code::WrongAlgorithm, format!("alg {alg:?} is not the key's own")).at("/alg")
            );
        }
        if self.r#use.as_deref().is_some_and(|purpose| purpose != "sig") {
            return Err(Error::new(Code::BadJwk, "use is not sig").at("/use"));
        }
        Ok(Jwk { key, kid: self.kid.map(Cow::into_owned), alg: self.alg.map(Cow::into_owned) })
    }
}

fn coordinates(key: &p256::PublicKey) -> (String, String) {
    let point = key.to_sec1();
    let (x, y) = point.split_at(33);
    (text::base64url(x.get(1..).unwrap_or_default()), text::base64url(y))
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}
