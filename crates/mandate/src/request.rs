//! Requests to a server that keeps mandates, as whoever has a key of one signs them (RFC 9421).

use env::Duration;
use keys::http::{Body, Parameter, Profile};

/// The tag of a signature that asks for authority.
pub const SIGNATURE_TAG: &str = "countersign-authority";

/// How long a signature is good for.
pub const LONGEST: Duration = Duration::from_secs(480);
/// How far the signer's clock may be off.
pub const SKEW: Duration = Duration::from_secs(60);

/// What the signature of a request covers. Its `keyid` is `ed25519:` and the key in hex.
pub const fn signature_profile() -> Profile<'static> {
    Profile {
        components: &["@method", "@authority", "@path", "@query"],
        body: Body::IfAny,
        label: None,
        tag: Some(SIGNATURE_TAG),
        requires: &[Parameter::KeyId, Parameter::Nonce, Parameter::Tag],
        max_age: LONGEST,
        skew: SKEW,
    }
}
