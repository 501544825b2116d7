/// Why a key, a signature or what surrounds it is refused. The words are stable: they appear on the wire and in
/// verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// Not a public key of the algorithm: wrong length, not on the curve, not canonically encoded.
    BadKey,
    /// An Ed25519 key of small order.
    WeakKey,
    /// Not a key identifier.
    BadKid,
    /// A signature of the wrong length or encoding, or whose S is not below the group order.
    BadSignatureForm,
    /// The signature is not this key's over these bytes.
    BadSignature,
    /// The algorithm named is not the key's own, or not among those allowed.
    WrongAlgorithm,
    /// Not strict JSON, or not of the shape expected.
    BadJson,
    /// A JWK that is malformed or has a member outside the closed list.
    BadJwk,
    /// A JWK that carries a private member.
    PrivateJwk,
    /// Not three base64url parts between dots, or too long.
    BadJws,
    /// A header member outside the allow-list, or one of the wrong type.
    HeaderNotAllowed,
    /// The `typ` is not the one this place takes.
    WrongTyp,
    /// The key a header carries is not the key it is checked with.
    WrongKey,
    /// The signature headers are absent, or no signature fits the profile.
    SignatureMissing,
    /// More than one signature fits the profile.
    SignatureAmbiguous,
    /// A signature header that is not a structured field of the form RFC 9421 gives.
    BadSignatureField,
    /// A component that is unknown, repeated, absent from the message, or required and not covered.
    BadComponent,
    /// A signature parameter that is required and absent, unknown, or of the wrong type.
    BadParameter,
    /// Nobody's key by that identifier.
    UnknownKey,
    /// Made too long ago, or past its expiry.
    Expired,
    /// Made in the future.
    NotYetValid,
    /// The content is not what Content-Digest says.
    DigestMismatch,
    /// Content-Digest is required and absent, or names no algorithm we know.
    DigestMissing,
    /// `type` of the client data is not the ceremony's.
    WrongCeremony,
    /// The challenge signed is not the one given.
    WrongChallenge,
    /// The origin is not on the list.
    WrongOrigin,
    /// Signed inside a frame of another site.
    CrossOrigin,
    /// The relying party hash is not ours.
    WrongRelyingParty,
    /// The authenticator did not see anybody.
    UserNotPresent,
    /// The authenticator did not check who it was, and the policy asks for it.
    UserNotVerified,
    /// Authenticator data or an attestation object that breaks its format.
    BadAuthenticatorData,
    /// The credential is not the one asked for.
    WrongCredential,
    /// A key file that others can read or write.
    KeyFileExposed,
    /// A key file that is absent or holds no key.
    KeyFileUnusable,
    /// A key file is already there.
    KeyFileExists,
    /// The signer does not answer.
    SignerUnavailable,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadKey => "bad_key",
            Self::WeakKey => "weak_key",
            Self::BadKid => "bad_kid",
            Self::BadSignatureForm => "bad_signature_form",
            Self::BadSignature => "bad_signature",
            Self::WrongAlgorithm => "alg_not_allowed",
            Self::BadJson => "bad_json",
            Self::BadJwk => "bad_jwk",
            Self::PrivateJwk => "private_jwk",
            Self::BadJws => "malformed_jws",
            Self::HeaderNotAllowed => "header_not_allowed",
            Self::WrongTyp => "typ_mismatch",
            Self::WrongKey => "key_mismatch",
            Self::SignatureMissing => "signature_missing",
            Self::SignatureAmbiguous => "signature_ambiguous",
            Self::BadSignatureField => "bad_signature_field",
            Self::BadComponent => "bad_component",
            Self::BadParameter => "bad_parameter",
            Self::UnknownKey => "unknown_key",
            Self::Expired => "signature_expired",
            Self::NotYetValid => "signature_not_yet_valid",
            Self::DigestMismatch => "digest_mismatch",
            Self::DigestMissing => "digest_missing",
            Self::WrongCeremony => "wrong_ceremony",
            Self::WrongChallenge => "wrong_challenge",
            Self::WrongOrigin => "wrong_origin",
            Self::CrossOrigin => "cross_origin",
            Self::WrongRelyingParty => "wrong_relying_party",
            Self::UserNotPresent => "user_not_present",
            Self::UserNotVerified => "user_not_verified",
            Self::BadAuthenticatorData => "bad_authenticator_data",
            Self::WrongCredential => "wrong_credential",
            Self::KeyFileExposed => "key_file_exposed",
            Self::KeyFileUnusable => "key_file_unusable",
            Self::KeyFileExists => "key_file_exists",
            Self::SignerUnavailable => "signer_unavailable",
        }
    }

    /// Whose fault it is.
    pub const fn fault(self) -> Fault {
        match self {
            Self::BadKey
            | Self::WeakKey
            | Self::BadKid
            | Self::BadSignatureForm
            | Self::BadJson
            | Self::BadJwk
            | Self::PrivateJwk
            | Self::BadJws
            | Self::BadSignatureField
            | Self::BadComponent
            | Self::BadParameter
            | Self::BadAuthenticatorData => Fault::Malformed,
            Self::BadSignature
            | Self::WrongAlgorithm
            | Self::HeaderNotAllowed
            | Self::WrongTyp
            | Self::WrongKey
            | Self::SignatureMissing
            | Self::SignatureAmbiguous
            | Self::UnknownKey
            | Self::Expired
            | Self::NotYetValid
            | Self::DigestMismatch
            | Self::DigestMissing
            | Self::WrongCeremony
            | Self::WrongChallenge
            | Self::WrongOrigin
            | Self::CrossOrigin
            | Self::WrongRelyingParty
            | Self::UserNotPresent
            | Self::UserNotVerified
            | Self::WrongCredential => Fault::Unproven,
            Self::KeyFileExposed | Self::KeyFileUnusable | Self::KeyFileExists | Self::SignerUnavailable => {
                Fault::Unavailable
            }
        }
    }
}

/// Whose fault a refusal is. (`ledger::Coded` is implemented in `ledger`, which stands on this crate.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The bytes are not of their format.
    Malformed,
    /// Well formed, and proves nothing here.
    Unproven,
    /// Our own key cannot be used.
    Unavailable,
}

/// A refusal, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {detail}", code.as_str(), if place.is_empty() { String::new() } else { format!(" at {place}") })]
pub struct Error {
    pub code: Code,
    /// A JSON Pointer, a header's name or a file; empty where the whole input is meant.
    pub place: String,
    /// One lower-case sentence for a person.
    pub detail: String,
}

impl Error {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, place: String::new(), detail: detail.into() }
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The same refusal, found inside a part: `payload/iss`, `payload byte 7`.
    pub(crate) fn inside(mut self, part: &str) -> Self {
        let space = if self.place.is_empty() || self.place.starts_with('/') { "" } else { " " };
        self.place = format!("{part}{space}{}", self.place);
        self
    }

    pub(crate) fn json(error: canon::Error) -> Self {
        Self {
            code: Code::BadJson,
            place: error.place,
            detail: format!("{}: {}", error.code.as_str(), error.detail),
        }
    }
}
