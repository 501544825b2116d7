//! Words of 32 bytes, addresses, and how both are written.

use crate::Error;
use sha3::{Digest, Keccak256};
use std::fmt;
use std::str::FromStr;

/// 32 bytes, big-endian.
pub type Word = [u8; 32];

/// The hash of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TxHash(pub Word);

/// An account or a contract: `0x` and 40 hex digits. A spelling with both cases must be the checksummed one (EIP-55).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address(pub [u8; 20]);

pub fn keccak(bytes: &[u8]) -> Word {
    Keccak256::digest(bytes).into()
}

/// The first four bytes of the hash of a function's signature.
pub(crate) fn selector(signature: &str) -> [u8; 4] {
    let [a, b, c, d, ..] = keccak(signature.as_bytes());
    [a, b, c, d]
}

/// A call's data: the selector, and words.
pub(crate) fn call_data(signature: &str, words: &[Word]) -> Vec<u8> {
    let mut data = selector(signature).to_vec();
    data.extend(words.iter().flatten());
    data
}

/// The words that a call gave back.
pub(crate) fn words(bytes: &[u8]) -> Vec<Word> {
    bytes.as_chunks::<32>().0.to_vec()
}

/// A number below 2^64, if it is one.
pub(crate) fn small(word: &Word) -> Option<u64> {
    let (high, low) = word.split_at(24);
    high.iter().all(|byte| *byte == 0).then(|| low.try_into().map(u64::from_be_bytes).ok()).flatten()
}

impl FromStr for Address {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Settings(format!("{text:?} is not an address: 0x and 40 hex digits"));
        let digits = text.strip_prefix("0x").ok_or_else(bad)?;
        let mut bytes = [0; 20];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| bad())?;
        let mixed =
            digits.bytes().any(|b| b.is_ascii_uppercase()) && digits.bytes().any(|b| b.is_ascii_lowercase());
        if mixed && checksummed(&bytes) != digits {
            return Err(Error::Settings(format!("{text:?}: the address's checksum is wrong")));
        }
        Ok(Self(bytes))
    }
}

/// EIP-55, without `0x`.
fn checksummed(bytes: &[u8; 20]) -> String {
    let plain = hex::encode(bytes);
    let hash = hex::encode(keccak(plain.as_bytes()));
    plain
        .chars()
        .zip(hash.chars())
        .map(|(digit, by)| if by >= '8' { digit.to_ascii_uppercase() } else { digit })
        .collect()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", checksummed(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

impl fmt::Debug for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_checksum() {
        let check = |text: &str, good: bool| {
            let read = text.parse::<Address>();
            assert_eq!(read.is_ok(), good, "{text}");
            if let Ok(read) = read {
                assert_eq!(read.to_string().to_lowercase(), text.to_lowercase());
            }
        };
        // The examples of EIP-55.
        check("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true);
        check("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", true);
        check("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", true);
        check("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", true);
        check("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", false);
        check("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", false);
        check("0x5aaeb6053f3e94c9b9a09f33669435e7ef1bea", false);
        check("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg", false);
    }

    #[test]
    fn the_hash_is_keccak() {
        let empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
        assert_eq!(hex::encode(keccak(b"")), empty);
        assert_eq!(hex::encode(selector("transfer(address,uint256)")), "a9059cbb");
    }
}
