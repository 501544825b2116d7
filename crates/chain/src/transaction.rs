//! A transaction, read without changing a byte: what is signed is the body as it was written.

use crate::{ChainError, ExUnits, Script, cbor};
use blake2::Digest as _;
use mandate::price::OutRef;
use mandate::text::{KeyHash, TxHash};

/// The parts of a transaction in CBOR.
#[derive(Debug, Clone)]
pub struct Transaction<'a> {
    body: &'a [u8],
    witnesses: &'a [u8],
    valid: bool,
    auxiliary: Option<&'a [u8]>,
    fields: Vec<(u64, &'a [u8])>,
}

/// A key and its signature over a body's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VKey {
    pub key: [u8; 32],
    pub signature: [u8; 64],
}

/// What a script is run for, and what it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redeemer {
    /// 0 spending, 1 minting.
    pub purpose: u64,
    pub index: u64,
    pub units: ExUnits,
}

impl Redeemer {
    fn read(purpose: &[u8], index: &[u8], units: &[u8]) -> Option<Self> {
        let parts = cbor::items(units)?;
        let [memory, steps] = parts.as_slice() else { return None };
        let units = ExUnits { memory: cbor::as_uint(memory)?, steps: cbor::as_uint(steps)? };
        Some(Self { purpose: cbor::as_uint(purpose)?, index: cbor::as_uint(index)?, units })
    }
}

impl<'a> Transaction<'a> {
    /// Refuses what is not `[body, witness set, is_valid, auxiliary data]`, and anything after it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ChainError> {
        Self::parts(bytes).ok_or_else(|| ChainError::malformed("not a transaction"))
    }

    fn parts(bytes: &'a [u8]) -> Option<Self> {
        let parts = cbor::items(bytes)?;
        let [body, witnesses, valid, auxiliary] = parts.as_slice() else { return None };
        let fields = cbor::entries(body)?.into_iter().map(|(key, value)| Some((cbor::as_uint(key)?, value)));
        Some(Self {
            body,
            witnesses,
            valid: cbor::as_bool(valid)?,
            auxiliary: (*auxiliary != [cbor::NULL]).then_some(*auxiliary),
            fields: fields.collect::<Option<_>>()?,
        })
    }

    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// BLAKE2b-256 of the body.
    pub fn hash(&self) -> TxHash {
        hash(self.body)
    }

    /// Whether it says of itself that its scripts succeed.
    pub const fn is_valid(&self) -> bool {
        self.valid
    }

    pub const fn auxiliary(&self) -> Option<&'a [u8]> {
        self.auxiliary
    }

    pub fn inputs(&self) -> Option<Vec<OutRef>> {
        self.references_in(0)
    }
    pub fn collateral(&self) -> Option<Vec<OutRef>> {
        self.references_in(13)
    }
    pub fn reference_inputs(&self) -> Option<Vec<OutRef>> {
        self.references_in(18)
    }
    /// Each output as it was written.
    pub fn outputs(&self) -> Option<Vec<&'a [u8]>> {
        cbor::items(self.field(1)?)
    }
    pub fn collateral_return(&self) -> Option<&'a [u8]> {
        self.field(16)
    }
    /// What it says is taken of its collateral.
    pub fn total_collateral(&self) -> Option<u64> {
        cbor::as_uint(self.field(17)?)
    }
    pub fn fee(&self) -> Option<u64> {
        cbor::as_uint(self.field(2)?)
    }
    /// The keys it names as required to sign. None where they cannot be read.
    pub fn signers(&self) -> Option<Vec<KeyHash>> {
        let Some(raw) = self.field(14) else { return Some(Vec::new()) };
        let keys = cbor::items(raw)?.into_iter();
        keys.map(|key| Some(KeyHash::from_bytes(cbor::as_bytes(key)?.try_into().ok()?))).collect()
    }
    /// The first slot in which it is no longer valid.
    pub fn until(&self) -> Option<u64> {
        cbor::as_uint(self.field(3)?)
    }
    /// Whether tokens are minted under the policy.
    pub fn mints(&self, policy: &KeyHash) -> bool {
        let minted = self.field(9).and_then(cbor::entries).unwrap_or_default();
        minted.iter().any(|(key, _)| cbor::as_bytes(key).is_some_and(|key| key == policy.as_bytes()))
    }

    /// Its redeemers, in their order. None where the witness set cannot be read.
    pub fn redeemers(&self) -> Option<Vec<Redeemer>> {
        let Some(raw) = self.witness(5)? else { return Some(Vec::new()) };
        if let Some(entries) = cbor::entries(raw) {
            return entries
                .into_iter()
                .map(|(key, value)| {
                    let key = cbor::items(key)?;
                    Redeemer::read(key.first()?, key.get(1)?, cbor::items(value)?.get(1)?)
                })
                .collect();
        }
        cbor::items(raw)?
            .into_iter()
            .map(|redeemer| {
                let parts = cbor::items(redeemer)?;
                Redeemer::read(parts.first()?, parts.get(1)?, parts.get(3)?)
            })
            .collect()
    }

    /// The Plutus V3 scripts it brings along.
    pub fn scripts(&self) -> Option<Vec<Script>> {
        let Some(raw) = self.witness(7)? else { return Some(Vec::new()) };
        cbor::items(raw)?.into_iter().map(|script| Some(Script::new(cbor::as_bytes(script)?))).collect()
    }

    pub fn vkeys(&self) -> Option<Vec<VKey>> {
        vkeys(self.witnesses)
    }

    /// The same transaction with one more signature; everything else stays as it was written.
    pub(crate) fn with(&self, vkey: &VKey) -> Option<Vec<u8>> {
        let mut keys = self.vkeys()?;
        if !keys.contains(vkey) {
            keys.push(*vkey);
        }
        let mut others = cbor::entries(self.witnesses)?;
        others.retain(|(key, _)| cbor::as_uint(key) != Some(0));
        let mut set = Vec::new();
        cbor::map(&mut set, others.len().checked_add(1)?);
        cbor::uint(&mut set, 0);
        write_vkeys(&mut set, &keys);
        for (key, value) in others {
            set.extend_from_slice(key);
            set.extend_from_slice(value);
        }
        Some(write(self.body, &set, self.auxiliary))
    }

    fn field(&self, number: u64) -> Option<&'a [u8]> {
        self.fields.iter().find(|(key, _)| *key == number).map(|(_, value)| *value)
    }

    fn references_in(&self, number: u64) -> Option<Vec<OutRef>> {
        let Some(raw) = self.field(number) else { return Some(Vec::new()) };
        cbor::items(raw)?.into_iter().map(out_ref).collect()
    }

    fn witness(&self, number: u64) -> Option<Option<&'a [u8]>> {
        let entries = cbor::entries(self.witnesses)?;
        Some(entries.iter().find(|(key, _)| cbor::as_uint(key) == Some(number)).map(|(_, value)| *value))
    }
}

impl VKey {
    pub fn hash(&self) -> KeyHash {
        use blake2::digest::consts::U28;
        KeyHash::from_bytes(blake2::Blake2b::<U28>::digest(self.key).into())
    }

    /// Whether it signs a body of this hash.
    pub fn verify(&self, hash: &TxHash) -> Result<(), keys::Error> {
        let key = keys::ed25519::PublicKey::from_bytes(&self.key)?;
        key.verify(hash.as_bytes(), &keys::Signature::from_bytes(self.signature))
    }
}

/// The signatures in a witness set, as a wallet gives it back.
pub(crate) fn vkeys(witness_set: &[u8]) -> Option<Vec<VKey>> {
    let entries = cbor::entries(witness_set)?;
    let Some((_, raw)) = entries.iter().find(|(key, _)| cbor::as_uint(key) == Some(0)) else {
        return Some(Vec::new());
    };
    cbor::items(raw)?
        .into_iter()
        .map(|pair| {
            let parts = cbor::items(pair)?;
            let [key, signature] = parts.as_slice() else { return None };
            let key = cbor::as_bytes(key)?.try_into().ok()?;
            Some(VKey { key, signature: cbor::as_bytes(signature)?.try_into().ok()? })
        })
        .collect()
}

/// A witness set of signatures alone, as a wallet gives it back.
pub fn witness_set(keys: &[VKey]) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::map(&mut out, 1);
    cbor::uint(&mut out, 0);
    write_vkeys(&mut out, keys);
    out
}

pub(crate) fn write_vkeys(out: &mut Vec<u8>, keys: &[VKey]) {
    let items: Vec<_> = keys
        .iter()
        .map(|vkey| {
            let mut item = Vec::new();
            cbor::array(&mut item, 2);
            cbor::bytes(&mut item, &vkey.key);
            cbor::bytes(&mut item, &vkey.signature);
            item
        })
        .collect();
    cbor::set(out, &items);
}

pub(crate) fn write(body: &[u8], witness_set: &[u8], auxiliary: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::array(&mut out, 4);
    out.extend_from_slice(body);
    out.extend_from_slice(witness_set);
    out.push(0xf5);
    out.extend_from_slice(auxiliary.unwrap_or(&[cbor::NULL]));
    out
}

pub(crate) fn hash(body: &[u8]) -> TxHash {
    TxHash::from_bytes(blake2::Blake2b256::digest(body).into())
}

fn out_ref(raw: &[u8]) -> Option<OutRef> {
    let parts = cbor::items(raw)?;
    let [hash, index] = parts.as_slice() else { return None };
    let tx_hash = TxHash::from_bytes(cbor::as_bytes(hash)?.try_into().ok()?);
    Some(OutRef { output_index: u32::try_from(cbor::as_uint(index)?).ok()?, tx_hash })
}
