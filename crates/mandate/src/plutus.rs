//! Plutus data in CBOR (spec 2.2): constructors, integers, bytes, lists. Written as the reference writes it, read in either form.

use ciborium::Value;
use std::io::Cursor;

/// A value of an on-chain script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    Constr(u64, Vec<Data>),
    Int(i128),
    Bytes(Vec<u8>),
    List(Vec<Data>),
}

/// The deepest nesting that is read; no datum of ours needs more than two.
const DEEPEST: usize = 8;

impl Data {
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }

    /// Constructor tags 121 + index; fields and items in an indefinite list, none in an empty definite one. Constructors up to 6,
    /// integers of 64 bits and bytes up to 64 are what there is.
    pub fn to_cbor(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Refuses everything else that CBOR has, and anything after the value.
    pub fn from_cbor(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let value: Value = ciborium::de::from_reader_with_recursion_limit(&mut cursor, 2 * DEEPEST).ok()?;
        let whole = usize::try_from(cursor.position()).is_ok_and(|read| read == bytes.len());
        if whole { Self::read(&value, DEEPEST) } else { None }
    }

    pub const fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The bytes, if there are exactly N.
    pub fn as_bytes<const N: usize>(&self) -> Option<[u8; N]> {
        match self {
            Self::Bytes(bytes) => bytes.as_slice().try_into().ok(),
            _ => None,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Constr(index, fields) => {
                head(out, 6, 121_u64.saturating_add(*index));
                Self::write_list(fields, out);
            }
            Self::List(items) => Self::write_list(items, out),
            Self::Int(int) if *int < 0 => {
                head(out, 1, u64::try_from(int.saturating_add(1).saturating_neg()).unwrap_or(u64::MAX));
            }
            Self::Int(int) => head(out, 0, u64::try_from(*int).unwrap_or(u64::MAX)),
            Self::Bytes(bytes) => {
                head(out, 2, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                out.extend_from_slice(bytes);
            }
        }
    }

    fn write_list(items: &[Self], out: &mut Vec<u8>) {
        if items.is_empty() {
            return out.push(0x80);
        }
        out.push(0x9f);
        items.iter().for_each(|item| item.write(out));
        out.push(0xff);
    }

    fn read(value: &Value, depth: usize) -> Option<Self> {
        match value {
            Value::Integer(int) => Some(Self::Int(i128::from(*int))),
            Value::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
            Value::Tag(tag, inner) => {
                let index = tag.checked_sub(121).filter(|index| *index <= 6)?;
                Some(Self::Constr(index, Self::read_list(inner.as_array()?, depth)?))
            }
            Value::Array(items) => Some(Self::List(Self::read_list(items, depth)?)),
            _ => None,
        }
    }
}

impl Data {
    fn read_list(items: &[Value], depth: usize) -> Option<Vec<Self>> {
        let depth = depth.checked_sub(1)?;
        items.iter().map(|item| Self::read(item, depth)).collect()
    }
}

/// The first bytes of a CBOR item: its kind and a number, in the shortest form.
pub(crate) fn head(out: &mut Vec<u8>, major: u8, number: u64) {
    let kind = major << 5;
    let bytes = number.to_be_bytes();
    match number {
        0..24 => out.push(kind | bytes.last().copied().unwrap_or(0)),
        24..0x100 => {
            out.push(kind | 24);
            out.extend(bytes.iter().skip(7));
        }
        0x100..0x1_0000 => {
            out.push(kind | 25);
            out.extend(bytes.iter().skip(6));
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(kind | 26);
            out.extend(bytes.iter().skip(4));
        }
        _ => {
            out.push(kind | 27);
            out.extend(bytes);
        }
    }
}
