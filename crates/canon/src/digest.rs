use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;
use std::fmt;
use std::str::FromStr;

/// A SHA-256 digest. Written as 64 lower-case hex digits; [`Digest::prefixed`] and [`Digest::base64url`] give the
/// other spellings that protocols use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest in lower-case hex")]
pub struct DigestError;

impl Digest {
    pub const ZERO: Self = Self([0; 32]);

    /// SHA-256 of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
    /// SHA-256 of the parts, one after the other.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = sha2::Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
    /// `sha256:` and hex.
    pub fn prefixed(&self) -> String {
        format!("sha256:{self}")
    }
    /// Unpadded base64url.
    pub fn base64url(&self) -> String {
        use base64::Engine;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.0)
    }

    fn spell<'b>(&self, digits: &'b mut [u8; 64]) -> &'b str {
        // INVARIANT: 64 places for 32 bytes, and hex digits are text.
        let _ = hex::encode_to_slice(self.0, digits);
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spell(&mut [0; 64]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| DigestError)?;
        let (pairs, _) = digits.as_chunks::<2>();
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = (nibble(*high), nibble(*low));
            *byte = high << 4 | low & 0xf;
            wrong |= high | low;
        }
        if wrong & NONE == 0 { Ok(Self(bytes)) } else { Err(DigestError) }
    }
}

/// What a hex digit stands for; [`NONE`] set if it is none, or an upper-case one.
const fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => NONE,
    }
}

const NONE: u8 = 0x10;

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.spell(&mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hex;
        impl serde::de::Visitor<'_> for Hex {
            type Value = Digest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Hex)
    }
}

/// 32 random bytes that hide what a commitment commits to. Written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl Salt {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

impl Serialize for Salt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Digest(self.0))
    }
}

impl<'de> Deserialize<'de> for Salt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Digest::deserialize(deserializer).map(|digest| Self(digest.0))
    }
}

/// A hiding commitment: HMAC-SHA256(salt, ASCII domain ‖ 0x00 ‖ canonical bytes of the value).
pub fn commit(salt: &Salt, domain: &str, canonical: &[u8]) -> Digest {
    use hmac::{KeyInit, Mac};
    // A key shorter than the block is padded with zeros by definition (RFC 2104), so this cannot fail.
    let mut block = [0_u8; 64];
    for (to, from) in block.iter_mut().zip(salt.0) {
        *to = from;
    }
    let mut mac = hmac::Hmac::<sha2::Sha256>::new(&block.into());
    mac.update(domain.as_bytes());
    mac.update(&[0]);
    mac.update(canonical);
    Digest(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, the one-block example.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_digest_has_three_spellings_and_reads_one() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest, Digest::of_parts(&[b"a", b"", b"bc"]));
        assert_eq!(digest.to_string(), ABC);
        assert_eq!(digest.prefixed(), format!("sha256:{ABC}"));
        assert_eq!(digest.base64url(), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
        let check = |text: &str, expected| assert_eq!(text.parse::<Digest>(), expected, "{text}");
        check(ABC, Ok(digest));
        check(&ABC.to_uppercase(), Err(DigestError));
        check(&ABC[1..], Err(DigestError));
        check(&format!("{ABC}0"), Err(DigestError));
        check(&ABC.replace('b', "g"), Err(DigestError));
        check(&digest.prefixed(), Err(DigestError));
    }

    /// The expected digest was made with Python's `hmac`.
    #[test]
    fn a_commitment_separates_domain_from_value() {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(0..).for_each(|(byte, at)| *byte = at);
        let salt = Salt::from_bytes(bytes);
        let commitment = commit(&salt, "pxp.card", br#"{"a":1}"#);
        assert_eq!(
            commitment.to_string(),
            "550628b3b89ee902ed98311eef166c2e2ca238604e120e56b1e31c2ff1f948f5"
        );
        assert_ne!(commitment, commit(&Salt::from_bytes([0; 32]), "pxp.card", br#"{"a":1}"#));
        assert_ne!(commit(&salt, "ab", b"c"), commit(&salt, "a", b"bc"));
    }
}
