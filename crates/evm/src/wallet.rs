//! The account that pays for records: a secp256k1 key, and EIP-1559 transactions under its signature.

use crate::word::{Address, TxHash, keccak};
use crate::{Error, rlp};
use k256::ecdsa::SigningKey;
use std::fmt;
use zeroize::Zeroizing;

pub struct Wallet {
    key: SigningKey,
    address: Address,
}

/// A transaction that calls a contract and carries no value.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub chain_id: u64,
    pub nonce: u64,
    pub tip: u128,
    pub max_fee: u128,
    pub gas: u64,
    pub to: Address,
    pub data: &'a [u8],
}

impl Wallet {
    /// From a private key as 64 hex digits, with or without `0x`.
    pub fn new(text: &str) -> Result<Self, Error> {
        let bad = || Error::Settings("not a private key: 64 hex digits".to_owned());
        let text = text.trim();
        let mut bytes = Zeroizing::new([0_u8; 32]);
        hex::decode_to_slice(text.strip_prefix("0x").unwrap_or(text), bytes.as_mut()).map_err(|_| bad())?;
        let key = SigningKey::from_slice(bytes.as_ref()).map_err(|_| bad())?;
        let point = key.verifying_key().to_sec1_point(false);
        // Without the byte that says it is uncompressed.
        let hash = keccak(point.as_bytes().get(1..).unwrap_or_default());
        let (_, last) = hash.split_at(12);
        let address = Address(last.try_into().map_err(|_| bad())?);
        Ok(Self { key, address })
    }

    pub const fn address(&self) -> Address {
        self.address
    }

    /// The signed transaction as it is sent, and its hash.
    pub fn sign(&self, call: &Call<'_>) -> (Vec<u8>, TxHash) {
        let mut fields = Vec::with_capacity(256);
        rlp::number(&mut fields, call.chain_id.into());
        rlp::number(&mut fields, call.nonce.into());
        rlp::number(&mut fields, call.tip);
        rlp::number(&mut fields, call.max_fee);
        rlp::number(&mut fields, call.gas.into());
        rlp::bytes(&mut fields, &call.to.0);
        rlp::number(&mut fields, 0);
        rlp::bytes(&mut fields, call.data);
        // No access list.
        fields.extend(rlp::list(&[]));
        let (signature, recovery) = self.key.sign_prehash_recoverable(&keccak(&typed(&fields)));
        rlp::number(&mut fields, u128::from(recovery.is_y_odd()));
        let (r, s) = signature.split_bytes();
        for part in [r, s] {
            let start = part.iter().position(|byte| *byte != 0).unwrap_or(part.len());
            rlp::bytes(&mut fields, part.get(start..).unwrap_or_default());
        }
        let raw = typed(&fields);
        let hash = TxHash(keccak(&raw));
        (raw, hash)
    }
}

/// Type 2 (EIP-1559).
fn typed(fields: &[u8]) -> Vec<u8> {
    let mut out = vec![2];
    out.extend(rlp::list(fields));
    out
}

impl fmt::Debug for Wallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wallet({})", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_its_keys() {
        let check = |key: &str, expected: Option<&str>| {
            let address = Wallet::new(key).ok().map(|wallet| wallet.address().to_string());
            assert_eq!(address.as_deref(), expected);
        };
        // The example of EIP-155, and the first account of every development chain.
        let example = "46".repeat(32);
        check(&example, Some("0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"));
        check(
            "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\n",
            Some("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
        );
        for bad in ["", "46", &"00".repeat(32), &"ff".repeat(32), &"4g".repeat(32)] {
            check(bad, None);
        }
    }
}
