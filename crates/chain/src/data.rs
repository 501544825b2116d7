//! The data of the validators (spec 2.2): anchors, vaults, redeemers.

use crate::ChainError;
use crate::value::{Asset, asset_name};
use canon::Digest;
use mandate::authorization::Record;
use mandate::plutus::Data;
use mandate::price::{OutRef, Signatories};
use mandate::text::{Hex, KeyHash, PolicyId, Units};
use mandate::{Credential, Hashed, Limits, Mandate, Millis, Status};

/// What an anchor says is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub mandate_hash: Digest,
    pub version: u32,
    pub status: Status,
    pub engine: Hex<32>,
    pub principal: KeyHash,
    /// Whose signatures a flagged release needs.
    pub approvers: Signatories,
    pub asset: Asset,
    pub limits: Limits,
    /// The last instant at which a release may be valid.
    pub valid_until: Millis,
}

/// What a vault remembers: the nonce used last, and what was spent on the day of the last release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VaultState {
    pub last_nonce: u64,
    pub day_index: u64,
    pub spent_today: u64,
}

impl Anchor {
    /// The anchor of a mandate whose money is in `asset`.
    pub fn of(mandate: &Hashed<Mandate>, asset: Asset) -> Result<Self, ChainError> {
        let expires = mandate.validity.expires_at.millis();
        Ok(Self {
            mandate_hash: mandate.hash(),
            version: mandate.version,
            status: mandate.status,
            engine: mandate.authority_engine.public_key.hex(),
            principal: mandate.principal.cardano_key_hash,
            approvers: mandate.signatories(),
            asset,
            limits: mandate.limits(),
            valid_until: expires.ok_or_else(|| ChainError::malformed("the mandate ended before 1970"))?,
        })
    }

    pub fn to_data(&self) -> Data {
        let status = match self.status {
            Status::Active => 0,
            Status::Revoked => 1,
        };
        Data::Constr(
            0,
            vec![
                Data::bytes(self.mandate_hash.as_bytes()),
                Data::Int(i128::from(self.version)),
                Data::Constr(status, Vec::new()),
                Data::bytes(self.engine.as_bytes()),
                Data::bytes(self.principal.as_bytes()),
                self.approvers.to_data(),
                Data::bytes(self.asset.0.as_bytes()),
                Data::bytes(self.asset.1.as_bytes()),
                Data::Int(self.limits.autonomous_limit.wide()),
                Data::Int(self.limits.hard_cap.wide()),
                Data::Int(self.limits.daily_cap.wide()),
                Data::Int(self.limits.treasury_minimum.wide()),
                Data::Int(i128::from(self.valid_until.get())),
            ],
        )
    }

    /// From CBOR in either list form. None for another shape, other lengths and other ranges.
    pub fn from_cbor(bytes: &[u8]) -> Option<Self> {
        let Data::Constr(0, fields) = Data::from_cbor(bytes)? else { return None };
        let [
            mandate_hash,
            version,
            status,
            engine,
            principal,
            approvers,
            policy,
            name,
            autonomous,
            hard,
            daily,
            minimum,
            valid_until,
        ] = fields.as_slice()
        else {
            return None;
        };
        let units = |data: &Data| number(data).map(Units::new);
        let Data::Bytes(name) = name else { return None };
        let status = match status {
            Data::Constr(0, fields) if fields.is_empty() => Status::Active,
            Data::Constr(1, fields) if fields.is_empty() => Status::Revoked,
            _ => return None,
        };
        Some(Self {
            mandate_hash: Digest::from_bytes(mandate_hash.as_bytes()?),
            version: u32::try_from(number(version)?).ok()?,
            status,
            engine: Hex::from_bytes(engine.as_bytes()?),
            principal: KeyHash::from_bytes(principal.as_bytes()?),
            approvers: Signatories::from_data(approvers)?,
            asset: (PolicyId::from_bytes(policy.as_bytes()?), asset_name(name)?),
            limits: Limits {
                autonomous_limit: units(autonomous)?,
                daily_cap: units(daily)?,
                hard_cap: units(hard)?,
                treasury_minimum: units(minimum)?,
            },
            valid_until: Millis::try_from(number(valid_until)?).ok()?,
        })
    }
}

impl VaultState {
    pub fn to_data(&self) -> Data {
        let numbers = [self.last_nonce, self.day_index, self.spent_today];
        Data::Constr(0, numbers.into_iter().map(|number| Data::Int(i128::from(number))).collect())
    }

    pub fn from_cbor(bytes: &[u8]) -> Option<Self> {
        let Data::Constr(0, fields) = Data::from_cbor(bytes)? else { return None };
        let [last_nonce, day_index, spent_today] = fields.as_slice() else { return None };
        Some(Self {
            last_nonce: number(last_nonce)?,
            day_index: number(day_index)?,
            spent_today: number(spent_today)?,
        })
    }

    /// After a release of `amount` in a transaction that is valid from `from`.
    #[must_use]
    pub fn after(&self, nonce: u64, amount: u64, from: Millis) -> Self {
        let day = from.day();
        let before = if day == self.day_index { self.spent_today } else { 0 };
        Self { last_nonce: nonce, day_index: day, spent_today: before.saturating_add(amount) }
    }
}

/// `Release [Authorization, signature]`: the 18 fields of the message, tags and hashes apart.
pub fn release(record: &Record) -> Data {
    let it = &record.fields;
    let payment = it.recipient.payment();
    let (stake_tag, stake_hash) = match it.recipient.stake() {
        None => (0, Vec::new()),
        Some(Credential::Key(hash)) => (1, hash.as_bytes().to_vec()),
        Some(Credential::Script(hash)) => (2, hash.as_bytes().to_vec()),
    };
    let number = |number: u64| Data::Int(i128::from(number));
    let flag = |flag: bool| Data::Int(i128::from(flag));
    let authorization = Data::Constr(
        0,
        vec![
            number(u64::from(it.chain_tag)),
            Data::bytes(it.vault_hash.as_bytes()),
            Data::bytes(it.mandate_ref.as_bytes()),
            Data::bytes(it.mandate_hash.as_bytes()),
            number(u64::from(it.mandate_version)),
            Data::bytes(it.action_hash.as_bytes()),
            number(u64::from(it.action_type)),
            Data::bytes(it.asset_policy.as_bytes()),
            Data::bytes(it.asset_name.as_bytes()),
            number(it.amount.get()),
            flag(matches!(payment, Credential::Script(_))),
            Data::bytes(payment.hash().as_bytes()),
            Data::Int(stake_tag),
            Data::Bytes(stake_hash),
            number(it.nonce.get()),
            number(it.valid_until.get()),
            flag(it.requires_principal),
            Data::bytes(it.verification_ref.unwrap_or(Digest::ZERO).as_bytes()),
        ],
    );
    Data::Constr(0, vec![authorization, Data::bytes(record.signature_hex.as_bytes())])
}

/// A redeemer without fields.
pub(crate) const fn plain(index: u64) -> Data {
    Data::Constr(index, Vec::new())
}

/// `Update [the next anchor]`.
pub fn update(next: &Anchor) -> Data {
    Data::Constr(0, vec![next.to_data()])
}

/// An output's name, as scripts take it for a parameter.
pub(crate) fn out_ref(at: &OutRef) -> Data {
    Data::Constr(0, vec![Data::bytes(at.tx_hash.as_bytes()), Data::Int(i128::from(at.output_index))])
}

pub const DEPOSIT: Data = plain(1);
pub const WITHDRAW: Data = plain(2);
pub const REVOKE: Data = plain(1);
pub const REFUND: Data = plain(0);
pub const CAPTURE: Data = plain(1);
/// Minting redeemers say nothing.
pub const MINT: Data = plain(0);

fn number(data: &Data) -> Option<u64> {
    data.as_int().and_then(|int| u64::try_from(int).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mandate::text::TxHash;

    #[test]
    fn the_pinned_forms() {
        let hex = |data: &Data| hex::encode(data.to_cbor());
        assert_eq!(hex(&VaultState::default().to_data()), "d8799f000000ff");
        assert_eq!(hex(&DEPOSIT), "d87a80");
        assert_eq!(hex(&WITHDRAW), "d87b80");
        assert_eq!(hex(&REVOKE), "d87a80");
        assert_eq!(hex(&MINT), "d87980");
        let at = OutRef { output_index: 0, tx_hash: TxHash::from_bytes([0xa5; 32]) };
        assert_eq!(hex(&out_ref(&at)), format!("d8799f5820{}00ff", "a5".repeat(32)));
    }

    #[test]
    fn data_is_read_in_either_list_form() {
        let state = VaultState { last_nonce: u64::MAX, day_index: 20_733, spent_today: 7 };
        assert_eq!(VaultState::from_cbor(&state.to_data().to_cbor()), Some(state));
        let definite = hex::decode("d87983010203").unwrap();
        let read = VaultState { last_nonce: 1, day_index: 2, spent_today: 3 };
        assert_eq!(VaultState::from_cbor(&definite), Some(read));
        for bad in ["d8799f0000ff", "d87a9f000000ff", "d8799f000020ff", "d8799f00000000ff", "00"] {
            assert_eq!(VaultState::from_cbor(&hex::decode(bad).unwrap()), None, "{bad}");
        }
        let anchor = Anchor {
            mandate_hash: Digest::of(b"m"),
            version: 3,
            status: Status::Revoked,
            engine: Hex::from_bytes([1; 32]),
            principal: KeyHash::from_bytes([2; 28]),
            approvers: Signatories::one(KeyHash::from_bytes([3; 28])),
            asset: (PolicyId::from_bytes([4; 28]), asset_name(b"tUSDM").unwrap()),
            limits: Limits {
                autonomous_limit: Units::new(1),
                daily_cap: Units::new(2),
                hard_cap: Units::new(3),
                treasury_minimum: Units::new(u64::MAX),
            },
            valid_until: Millis::default().plus(1_800_000_000_000),
        };
        assert_eq!(Anchor::from_cbor(&anchor.to_data().to_cbor()), Some(anchor.clone()));
        let keys: Vec<_> = (3..6).map(|byte| KeyHash::from_bytes([byte; 28])).collect();
        let several = Anchor { approvers: Signatories { keys, required: 2 }, ..anchor };
        assert_eq!(Anchor::from_cbor(&several.to_data().to_cbor()), Some(several));
    }
}
