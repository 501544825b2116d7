use crate::{Code, Error, PublicKey, text};
use canon::Digest;
use env::Env;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The 32 bytes a ceremony signs: fresh for a registration, the hash of what was shown for an answer. Written in
/// base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Challenge([u8; 32]);

impl Challenge {
    /// One nobody can have signed before.
    pub fn fresh(env: &mut Env) -> Self {
        Self(env.bytes32())
    }
}

impl From<Digest> for Challenge {
    fn from(digest: Digest) -> Self {
        Self(*digest.as_bytes())
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::base64url(self.0))
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Challenge {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = text::from_base64url(text, Code::WrongChallenge)?;
        bytes.try_into().map(Self).map_err(|_| Error::new(Code::WrongChallenge, "a challenge has 32 bytes"))
    }
}

impl Serialize for Challenge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Challenge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An authenticator's name for a credential: 1 to 1023 bytes. Written in base64url.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(Vec<u8>);

impl CredentialId {
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        if (1..=1023).contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(Error::new(Code::BadAuthenticatorData, "a credential id has 1 to 1023 bytes")
                .at("credential_id"))
        }
    }
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::base64url(&self.0))
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CredentialId {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::from_bytes(
            text::from_base64url(text, Code::BadAuthenticatorData)
                .map_err(|error| error.at("credential_id"))?,
        )
    }
}

impl Serialize for CredentialId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CredentialId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An enrolled passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    pub id: CredentialId,
    pub key: PublicKey,
    /// The last counter seen.
    pub count: u32,
    pub backed_up: bool,
    pub attestation: Attestation,
}

/// What is known of the authenticator's make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attestation {
    None,
    /// The credential signed its own registration.
    Own,
    /// A statement of a kind we do not check.
    Unchecked,
}

/// What `navigator.credentials.create` gives, each member base64url.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    #[serde(with = "spelled")]
    pub client_data_json: Vec<u8>,
    #[serde(with = "spelled")]
    pub attestation_object: Vec<u8>,
}

/// What `navigator.credentials.get` gives, each member base64url.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    pub credential_id: CredentialId,
    #[serde(with = "spelled")]
    pub authenticator_data: Vec<u8>,
    #[serde(with = "spelled")]
    pub client_data_json: Vec<u8>,
    #[serde(with = "spelled")]
    pub signature: Vec<u8>,
}

impl Assertion {
    /// From the four base64url texts.
    pub fn from_base64url(
        credential_id: &str,
        authenticator_data: &str,
        client_data_json: &str,
        signature: &str,
    ) -> Result<Self, Error> {
        let bytes = |text, place: &str| {
            text::from_base64url(text, Code::BadAuthenticatorData).map_err(|error: Error| error.at(place))
        };
        Ok(Self {
            credential_id: credential_id.parse()?,
            authenticator_data: bytes(authenticator_data, "authenticator_data")?,
            client_data_json: bytes(client_data_json, "client_data_json")?,
            signature: bytes(signature, "signature")?,
        })
    }
}

mod spelled {
    use crate::{Code, text};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text::base64url(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let spelled = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text::from_base64url(spelled.as_bytes(), Code::BadAuthenticatorData).map_err(serde::de::Error::custom)
    }
}
