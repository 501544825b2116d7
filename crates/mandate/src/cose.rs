//! A wallet's signature over a message (CIP-8, CIP-30; spec 1.10): COSE_Sign1 with Ed25519, read strictly, and made as a
//! wallet makes it.

use crate::address::{Address, Network};
use crate::plutus::head;
use crate::text::KeyHash;
use keys::Signer;
use std::fmt;

/// Why a wallet's signature proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadWallet(pub &'static str);

impl fmt::Display for BadWallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Checks that the key in `cose_key` signed exactly `message` for its own address, and gives the key. Definite lengths only,
/// at most 6 levels and 16 entries; the payload is the message itself, not its hash; the address is of `network` and its
/// payment key is the signer.
pub fn verify(
    cose_sign1: &[u8],
    cose_key: &[u8],
    message: &[u8],
    network: Network,
) -> Result<keys::ed25519::PublicKey, BadWallet> {
    let key = public_key(cose_key)?;
    let sign1 = read(cose_sign1).ok_or(BadWallet("cose_sign1 is not plain cbor"))?;
    let sign1 = match &sign1 {
        Item::Tag(18, inner) => inner.as_ref(),
        other => other,
    };
    let Item::Array(parts) = sign1 else { return Err(BadWallet("cose_sign1 is no array")) };
    let [Item::Bytes(protected), Item::Map(unprotected), Item::Bytes(payload), Item::Bytes(signature)] =
        parts.as_slice()
    else {
        return Err(BadWallet("cose_sign1 has four parts"));
    };
    let hashed = Item::Text(b"hashed".to_vec());
    if unprotected.iter().any(|(name, value)| *name == hashed && *value != Item::Simple(20)) {
        return Err(BadWallet("the payload is a hash"));
    }
    if payload != message {
        return Err(BadWallet("another message was signed"));
    }
    let Some(Item::Map(headers)) = read(protected) else {
        return Err(BadWallet("the protected headers are no map"));
    };
    if field(&headers, &Item::Int(1)) != Some(&Item::Int(-8)) {
        return Err(BadWallet("the algorithm is not eddsa"));
    }
    let Some(Item::Bytes(address)) = field(&headers, &Item::Text(b"address".to_vec())) else {
        return Err(BadWallet("the headers name no address"));
    };
    if payment_key(address, network) != Some(KeyHash::of_key(&key)) {
        return Err(BadWallet("the address is not the signer's"));
    }
    let signature =
        keys::Signature::from_slice(signature).map_err(|_| BadWallet("a signature has 64 bytes"))?;
    key.verify(&signed_bytes(protected, payload), &signature)
        .map_err(|_| BadWallet("not this key's signature"))?;
    Ok(key)
}

/// What a wallet answers to `signData` (CIP-30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedData {
    /// COSE_Sign1.
    pub signature: Vec<u8>,
    /// COSE_Key.
    pub key: Vec<u8>,
}

/// Signs a message as a wallet does, for an address of its own. `public` is the signer's.
pub fn sign(
    signer: &dyn Signer,
    public: &keys::ed25519::PublicKey,
    message: &[u8],
    address: &Address,
) -> Result<SignedData, keys::Error> {
    let mut protected = vec![0xa2, 0x01, 0x27];
    string(&mut protected, 3, b"address");
    string(&mut protected, 2, &address.to_bytes());
    let made = signer.sign(&signed_bytes(&protected, message))?;
    let mut signature = vec![0x84];
    string(&mut signature, 2, &protected);
    signature.push(0xa1);
    string(&mut signature, 3, b"hashed");
    signature.push(0xf4);
    string(&mut signature, 2, message);
    string(&mut signature, 2, made.as_bytes());
    let mut key = vec![0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21];
    string(&mut key, 2, public.as_bytes());
    Ok(SignedData { signature, key })
}

/// `Sig_structure`: `["Signature1", protected as received, empty, payload]`.
pub fn signed_bytes(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x84];
    for (major, bytes) in [(3, b"Signature1".as_slice()), (2, protected), (2, b""), (2, payload)] {
        string(&mut out, major, bytes);
    }
    out
}

fn string(out: &mut Vec<u8>, major: u8, bytes: &[u8]) {
    head(out, major, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    out.extend_from_slice(bytes);
}

/// The payment key of a Shelley address in its bytes, where it has one (types 0, 2 and 6).
fn payment_key(address: &[u8], network: Network) -> Option<KeyHash> {
    let (head, rest) = address.split_first()?;
    let length = match head >> 4 {
        0 | 2 => 56,
        6 => 28,
        _ => return None,
    };
    let key = rest.get(..28).filter(|_| rest.len() == length && head & 15 == network.tag())?;
    Some(KeyHash::from_bytes(key.try_into().ok()?))
}

/// The key in a COSE_Key with kty OKP, crv Ed25519 and x.
pub fn public_key(bytes: &[u8]) -> Result<keys::ed25519::PublicKey, BadWallet> {
    let Some(Item::Map(members)) = read(bytes) else { return Err(BadWallet("cose_key is no map")) };
    let right = field(&members, &Item::Int(1)) == Some(&Item::Int(1))
        && field(&members, &Item::Int(-1)) == Some(&Item::Int(6));
    match field(&members, &Item::Int(-2)) {
        Some(Item::Bytes(x)) if right => {
            keys::ed25519::PublicKey::from_bytes(x).map_err(|_| BadWallet("cose_key is no ed25519 key"))
        }
        _ => Err(BadWallet("cose_key is no ed25519 key")),
    }
}

/// A member that is there exactly once.
fn field<'a>(members: &'a [(Item, Item)], name: &Item) -> Option<&'a Item> {
    let mut found = members.iter().filter(|(known, _)| known == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value),
        _ => None,
    }
}

/// CBOR as wallets write it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Int(i128),
    Bytes(Vec<u8>),
    Text(Vec<u8>),
    Array(Vec<Item>),
    Map(Vec<(Item, Item)>),
    Tag(u64, Box<Item>),
    Simple(u8),
}

const DEEPEST: u8 = 6;
const MOST: u64 = 16;

/// One item and nothing after it.
fn read(bytes: &[u8]) -> Option<Item> {
    let mut rest = bytes;
    let item = item(&mut rest, DEEPEST)?;
    rest.is_empty().then_some(item)
}

fn item(rest: &mut &[u8], depth: u8) -> Option<Item> {
    let depth = depth.checked_sub(1)?;
    let (&first, after) = rest.split_first()?;
    *rest = after;
    let number = match first & 31 {
        small @ 0..24 => u64::from(small),
        24 => u64::from(*take(rest, 1)?.first()?),
        25 => u64::from(u16::from_be_bytes(take(rest, 2)?.try_into().ok()?)),
        26 => u64::from(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?)),
        27 => u64::from_be_bytes(take(rest, 8)?.try_into().ok()?),
        // Indefinite lengths, and what CBOR keeps for later.
        _ => return None,
    };
    let entries = || if number <= MOST { Some(0..number) } else { None };
    Some(match first >> 5 {
        0 => Item::Int(i128::from(number)),
        1 => Item::Int(-1 - i128::from(number)),
        2 => Item::Bytes(take(rest, usize::try_from(number).ok()?)?.to_vec()),
        3 => Item::Text(take(rest, usize::try_from(number).ok()?)?.to_vec()),
        4 => Item::Array(entries()?.map(|_| item(rest, depth)).collect::<Option<_>>()?),
        5 => Item::Map(
            entries()?.map(|_| Some((item(rest, depth)?, item(rest, depth)?))).collect::<Option<_>>()?,
        ),
        6 => Item::Tag(number, Box::new(item(rest, depth)?)),
        _ if first & 31 < 24 => Item::Simple(first & 31),
        _ => return None,
    })
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}
