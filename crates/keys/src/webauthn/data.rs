//! The two binary formats: authenticator data (6.1) and the attestation object (6.5.4) with its COSE key.

use super::{Attestation, CredentialId, UserVerified, signed_bytes, verify_signature};
use crate::{Algorithm, Code, Error, PublicKey, p256};
use canon::Digest;
use ciborium::Value;

pub(super) const USER_PRESENT: u8 = 0x01;
pub(super) const USER_VERIFIED: u8 = 0x04;
pub(super) const BACKUP_ELIGIBLE: u8 = 0x08;
pub(super) const BACKED_UP: u8 = 0x10;
pub(super) const ATTESTED: u8 = 0x40;
pub(super) const EXTENSIONS: u8 = 0x80;

pub(super) struct AuthenticatorData {
    pub(super) relying_party: Digest,
    pub(super) user_present: bool,
    pub(super) user_verified: UserVerified,
    pub(super) backed_up: bool,
    pub(super) count: u32,
    pub(super) attested: Option<Attested>,
}

pub(super) struct Attested {
    pub(super) id: CredentialId,
    pub(super) key: PublicKey,
}

impl AuthenticatorData {
    /// Exactly what the flags say: nothing missing, nothing after the end.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        let relying_party = Digest::from_bytes(*take::<32>(&mut rest)?);
        let [flags] = *take::<1>(&mut rest)?;
        let count = u32::from_be_bytes(*take::<4>(&mut rest)?);
        if flags & BACKED_UP != 0 && flags & BACKUP_ELIGIBLE == 0 {
            return Err(malformed("backed up and not eligible for it"));
        }
        let attested = if flags & ATTESTED == 0 { None } else { Some(Attested::read(&mut rest)?) };
        if flags & EXTENSIONS != 0 && !matches!(read_canonical(&mut rest)?, Value::Map(_)) {
            return Err(malformed("the extensions are not a map"));
        }
        if !rest.is_empty() {
            return Err(malformed("bytes after the end"));
        }
        Ok(Self {
            relying_party,
            user_present: flags & USER_PRESENT != 0,
            user_verified: if flags & USER_VERIFIED == 0 { UserVerified::No } else { UserVerified::Yes },
            backed_up: flags & BACKED_UP != 0,
            count,
            attested,
        })
    }
}

impl Attested {
    fn read(rest: &mut &[u8]) -> Result<Self, Error> {
        let _model: &[u8; 16] = take(rest)?;
        let length = usize::from(u16::from_be_bytes(*take::<2>(rest)?));
        let (id, after) =
            rest.split_at_checked(length).ok_or_else(|| malformed("the credential id is cut off"))?;
        *rest = after;
        Ok(Self { id: CredentialId::from_bytes(id.to_vec())?, key: read_cose_key(&read_canonical(rest)?)? })
    }
}

pub(super) struct AttestationObject {
    pub(super) authenticator_data: Vec<u8>,
    format: String,
    statement: Vec<(Value, Value)>,
}

impl AttestationObject {
    /// One CBOR map of exactly `fmt`, `attStmt` and `authData`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bad = |detail| malformed(detail).at("attestation_object");
        if bytes.len() > LONGEST {
            return Err(bad("longer than 65536 bytes"));
        }
        let mut rest = bytes;
        let Value::Map(members) = read_cbor(&mut rest)? else { return Err(bad("not a map")) };
        if !rest.is_empty() {
            return Err(bad("bytes after the end"));
        }
        let (mut format, mut statement, mut authenticator_data) = (None, None, None);
        for (name, value) in members {
            match (name.as_text(), value) {
                (Some("fmt"), Value::Text(text)) => format = Some(text),
                (Some("attStmt"), Value::Map(map)) => statement = Some(map),
                (Some("authData"), Value::Bytes(bytes)) => authenticator_data = Some(bytes),
                _ => return Err(bad("a member that is unknown or of the wrong type")),
            }
        }
        match (format, statement, authenticator_data) {
            (Some(format), Some(statement), Some(authenticator_data)) => {
                Ok(Self { authenticator_data, format, statement })
            }
            _ => Err(bad("fmt, attStmt or authData is missing")),
        }
    }

    /// `none` must have an empty statement; `packed` without certificates is the credential's own signature and must be
    /// right (8.2); anything else is not looked at.
    pub(super) fn check(&self, key: &PublicKey, client_data_json: &[u8]) -> Result<Attestation, Error> {
        let member =
            |name: &str| self.statement.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, v)| v);
        match self.format.as_str() {
            "none" if self.statement.is_empty() => Ok(Attestation::None),
            "none" => Err(malformed("a statement where there is none").at("attestation_object")),
            "packed" if member("x5c").is_none() => {
                let algorithm = member("alg").and_then(Value::as_integer).map(i128::from);
                if algorithm != Some(cose_algorithm(key.algorithm())) {
                    let detail = "the attestation's algorithm is not the key's own";
                    return Err(Error::new(Code::WrongAlgorithm, detail).at("attestation_object"));
                }
                let signature = member("sig")
                    .and_then(Value::as_bytes)
                    .ok_or_else(|| malformed("the attestation has no signature").at("attestation_object"))?;
                verify_signature(key, &signed_bytes(&self.authenticator_data, client_data_json), signature)?;
                Ok(Attestation::Own)
            }
            _ => Ok(Attestation::Unchecked),
        }
    }
}

/// -7 and -8 (RFC 9053).
pub(super) const fn cose_algorithm(algorithm: Algorithm) -> i128 {
    match algorithm {
        Algorithm::P256 => -7,
        Algorithm::Ed25519 => -8,
    }
}

const LONGEST: usize = 64 * 1024;

/// A COSE key (RFC 9053 7) of exactly the members its type needs: 1 kty, 3 alg, -1 crv, -2 x, for EC2 also -3 y.
fn read_cose_key(value: &Value) -> Result<PublicKey, Error> {
    let Value::Map(members) = value else { return Err(malformed("the credential's key is not a map")) };
    let mut numbers = [None; 3];
    let mut coordinates: [Option<&[u8]>; 2] = [None; 2];
    for (label, value) in members {
        let label =
            label.as_integer().map(i128::from).ok_or_else(|| malformed("a label that is not a number"))?;
        let [kty, alg, crv] = &mut numbers;
        let [x, y] = &mut coordinates;
        match (label, value) {
            (1, Value::Integer(number)) => *kty = Some(i128::from(*number)),
            (3, Value::Integer(number)) => *alg = Some(i128::from(*number)),
            (-1, Value::Integer(number)) => *crv = Some(i128::from(*number)),
            (-2, Value::Bytes(bytes)) => *x = Some(bytes),
            (-3, Value::Bytes(bytes)) => *y = Some(bytes),
            _ => return Err(malformed("a member of the key that is unknown or of the wrong type")),
        }
    }
    match (numbers, coordinates) {
        ([Some(2), Some(-7), Some(1)], [Some(x), Some(y)]) => {
            p256::PublicKey::from_coordinates(x, y).map(PublicKey::P256)
        }
        ([Some(1), Some(-8), Some(6)], [Some(x), None]) => PublicKey::ed25519(x),
        _ => Err(Error::new(Code::WrongAlgorithm, "the credential's key is neither es256 nor eddsa")),
    }
}

/// One value of CTAP2's canonical form but for the order of members: shortest heads, definite lengths, neither tags nor
/// floats, at most four levels.
fn read_canonical(rest: &mut &[u8]) -> Result<Value, Error> {
    let before = *rest;
    let value = read_cbor(rest)?;
    let mut written = Vec::with_capacity(before.len());
    ciborium::into_writer(&value, &mut written).map_err(|_| malformed("not cbor"))?;
    if before.strip_suffix(*rest) == Some(&written) && is_plain(&value, 4) {
        Ok(value)
    } else {
        Err(malformed("not canonical cbor"))
    }
}

fn is_plain(value: &Value, levels: usize) -> bool {
    let inner = levels.checked_sub(1);
    match value {
        Value::Map(members) => inner.is_some_and(|inner| {
            members.iter().all(|(key, value)| is_plain(key, inner) && is_plain(value, inner))
        }),
        Value::Array(items) => inner.is_some_and(|inner| items.iter().all(|item| is_plain(item, inner))),
        Value::Float(_) | Value::Tag(..) => false,
        _ => true,
    }
}

/// One value: no map has a key twice, nothing is nested deeper than 16.
fn read_cbor(rest: &mut &[u8]) -> Result<Value, Error> {
    let value: Value =
        ciborium::de::from_reader_with_recursion_limit(&mut *rest, 16).map_err(|_| malformed("not cbor"))?;
    if has_duplicates(&value) { Err(malformed("a map has a key twice")) } else { Ok(value) }
}

fn has_duplicates(value: &Value) -> bool {
    match value {
        Value::Map(members) => members.iter().enumerate().any(|(index, (key, value))| {
            members.iter().take(index).any(|(other, _)| other == key)
                || has_duplicates(key)
                || has_duplicates(value)
        }),
        Value::Array(items) => items.iter().any(has_duplicates),
        Value::Tag(_, inner) => has_duplicates(inner),
        _ => false,
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Error> {
    let (taken, after) = rest.split_first_chunk().ok_or_else(|| malformed("cut off"))?;
    *rest = after;
    Ok(taken)
}

fn malformed(detail: &str) -> Error {
    Error::new(Code::BadAuthenticatorData, detail).at("authenticator_data")
}
