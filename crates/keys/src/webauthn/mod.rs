//! WebAuthn (Level 2) without a browser or a server: a registration becomes a [`Credential`], an assertion is checked
//! against one. Assertions are evidence that anyone verifies later, so the check is pure and complete in itself.
//!
//! Accepted: ES256 and EdDSA credentials; attestation `none` and self attestation (whose signature is checked), every
//! other form as if it were none. The signature counter is reported and never decides.

mod client;
mod credential;
mod data;
#[cfg(any(test, feature = "soft"))]
mod soft;

pub use credential::{Assertion, Attestation, Challenge, Credential, CredentialId, Registration};
#[cfg(any(test, feature = "soft"))]
pub use soft::Authenticator;

use crate::{Code, Error, PublicKey, Signature};
use canon::Digest;
use client::Ceremony;
use data::AuthenticatorData;

/// Who asks: the relying party identifier, the origins its pages have, and whether the authenticator must know who
/// pressed its button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// A domain, e.g. `example.com`.
    pub id: String,
    /// Exact origins, e.g. `https://example.com`.
    pub origins: Vec<String>,
    pub verification: Verification,
}

/// Whether the authenticator must have verified the user (PIN, fingerprint).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    Required,
    Preferred,
}

/// What an assertion that holds says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asserted {
    pub verified: UserVerified,
    /// To be kept with the credential.
    pub count: u32,
    pub counter: Counter,
    /// Whether the credential is a copy of one kept elsewhere.
    pub backed_up: bool,
}

/// Whether the authenticator said that it knew the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserVerified {
    Yes,
    No,
}

/// What the signature counter says of cloning (7.2 step 21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// The authenticator does not count.
    Unused,
    Advanced,
    /// Not beyond the last one seen: a clone, or answers out of order.
    Regressed,
}

impl RelyingParty {
    /// Section 7.1. The algorithm is one of those we ask for, ES256 and EdDSA.
    pub fn register(&self, challenge: &Challenge, registration: &Registration) -> Result<Credential, Error> {
        client::check(&registration.client_data_json, Ceremony::Create, challenge, &self.origins)?;
        let object = data::AttestationObject::parse(&registration.attestation_object)?;
        let data = AuthenticatorData::parse(&object.authenticator_data)?;
        self.check_flags(&data)?;
        let Some(attested) = data.attested.as_ref() else {
            return Err(
                Error::new(Code::BadAuthenticatorData, "there is no credential").at("attestation_object")
            );
        };
        let attestation = object.check(&attested.key, &registration.client_data_json)?;
        Ok(Credential {
            id: attested.id.clone(),
            key: attested.key,
            count: data.count,
            backed_up: data.backed_up,
            attestation,
        })
    }

    /// Section 7.2, against the credential that is asked for. `challenge` is the hash of what the person was shown.
    pub fn verify(
        &self,
        challenge: &Challenge,
        credential: &Credential,
        assertion: &Assertion,
    ) -> Result<Asserted, Error> {
        if assertion.credential_id != credential.id {
            return Err(Error::new(Code::WrongCredential, "not the credential asked for").at("credential_id"));
        }
        client::check(&assertion.client_data_json, Ceremony::Get, challenge, &self.origins)?;
        let data = AuthenticatorData::parse(&assertion.authenticator_data)?;
        if data.attested.is_some() {
            let detail = "an assertion carries no credential";
            return Err(Error::new(Code::BadAuthenticatorData, detail).at("authenticator_data"));
        }
        self.check_flags(&data)?;
        let signed = signed_bytes(&assertion.authenticator_data, &assertion.client_data_json);
        verify_signature(&credential.key, &signed, &assertion.signature)?;
        Ok(Asserted {
            verified: data.user_verified,
            count: data.count,
            counter: match (credential.count, data.count) {
                (0, 0) => Counter::Unused,
                (last, now) if now > last => Counter::Advanced,
                _ => Counter::Regressed,
            },
            backed_up: data.backed_up,
        })
    }

    fn check_flags(&self, data: &AuthenticatorData) -> Result<(), Error> {
        let refused = |code, detail: &str| Err(Error::new(code, detail).at("authenticator_data"));
        if data.relying_party != Digest::of(self.id.as_bytes()) {
            return refused(Code::WrongRelyingParty, "made for another relying party");
        }
        if !data.user_present {
            return refused(Code::UserNotPresent, "the authenticator saw nobody");
        }
        if self.verification == Verification::Required && data.user_verified == UserVerified::No {
            return refused(Code::UserNotVerified, "the authenticator did not check who it was");
        }
        Ok(())
    }
}

/// authenticatorData ‖ SHA-256(clientDataJSON).
fn signed_bytes(authenticator_data: &[u8], client_data_json: &[u8]) -> Vec<u8> {
    [authenticator_data, Digest::of(client_data_json).as_bytes().as_slice()].concat()
}

/// 6.5.5: ES256 as DER, EdDSA as it is.
fn verify_signature(key: &PublicKey, signed: &[u8], signature: &[u8]) -> Result<(), Error> {
    match key {
        PublicKey::P256(key) => key.verify_der(signed, signature),
        PublicKey::Ed25519(key) => {
            Signature::from_slice(signature).and_then(|signature| key.verify(signed, &signature))
        }
    }
    .map_err(|error| error.at("signature"))
}
