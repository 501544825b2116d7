use canon::Digest;
use env::Env;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Compares in time that depends on the lengths alone.
pub fn equal(one: &[u8], two: &[u8]) -> bool {
    one.ct_eq(two).into()
}

/// A bearer secret while it is handed over: 43 characters of base64url, wiped when dropped, never printed.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// 32 bytes nobody can guess.
    pub fn fresh(env: &mut Env) -> Self {
        Self(Zeroizing::new(env.secret()))
    }

    /// The secret's characters, for the one message that hands it over.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SHA-256 of a bearer secret: enough to recognise it, useless to present. As JSON, 64 hex digits.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretHash(Digest);

impl SecretHash {
    pub fn of(secret: &str) -> Self {
        Self(Digest::of(secret.as_bytes()))
    }

    /// Whether this is the secret, in constant time.
    pub fn matches(&self, secret: &str) -> bool {
        *self == Self::of(secret)
    }

    /// The digest, for an index that finds the secret's record.
    pub const fn digest(&self) -> Digest {
        self.0
    }
}

impl From<Digest> for SecretHash {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        equal(self.0.as_bytes(), other.0.as_bytes())
    }
}

impl Eq for SecretHash {}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretHash({})", self.0)
    }
}
