//! A Cardano transaction as far as a proof needs it: the hash of its body, and the note under metadata label 1694
//! (spec 2.4) that commits the head of a mandate's log. CBOR read by hand, bytes kept where hashes are over them.

use crate::authorization::AuthorizationDigest;
use crate::log::LogHead;
use crate::state::Authorization;
use crate::text::{Hex, TxHash};
use blake2::Digest as _;
use canon::Digest;

/// A transaction, or its body alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// BLAKE2b-256 of the body's bytes.
    pub hash: TxHash,
    /// Lovelace.
    pub fee: Option<u64>,
    /// The note under label 1694. A body alone has only the hash of it.
    pub note: Option<Note>,
}

/// `{auth, action, mandate, log_head: {seq, hash}}`; other members are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub auth: AuthorizationDigest,
    pub action: Digest,
    /// Id and version, `M-001@3`.
    pub mandate: String,
    pub log_head: LogHead,
}

const LABEL: i128 = 1694;

impl Transaction {
    /// From lower-case hex: an array `[body, witnesses, (valid,) auxiliary]`, or a body. Refuses auxiliary data that is
    /// not what the body names.
    pub fn read_hex(text: &str) -> Option<Self> {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        Self::read(&hex::decode(text).ok()?)
    }

    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader { bytes, at: 0 };
        let (body, auxiliary) = if bytes.first()? >> 5 == 5 {
            (reader.span()?, None)
        } else {
            let count = match reader.head()? {
                (4, Some(count @ (3 | 4))) => count,
                _ => return None,
            };
            let body = reader.span()?;
            (2..count).try_for_each(|_| reader.span().map(|_| ()))?;
            (body, Some(reader.span()?))
        };
        if reader.at != bytes.len() || body.first()? >> 5 != 5 {
            return None;
        }
        let item = Reader { bytes: body, at: 0 }.item(DEEPEST)?;
        let named = item.get(&Item::Int(7));
        let note = match auxiliary {
            None => None,
            Some([0xf6]) => match named {
                None => None,
                Some(_) => return None,
            },
            Some(auxiliary) => {
                if named != Some(&Item::Bytes(blake(auxiliary).to_vec())) {
                    return None;
                }
                note(&Reader { bytes: auxiliary, at: 0 }.item(DEEPEST)?)
            }
        };
        let fee = match item.get(&Item::Int(2)) {
            Some(Item::Int(fee)) => u64::try_from(*fee).ok(),
            _ => None,
        };
        Some(Self { hash: Hex::from_bytes(blake(body)), fee, note })
    }
}

impl Note {
    /// Whether it is about this authorization, and commits to this head.
    pub(crate) fn fits(&self, held: &Authorization, head: &LogHead) -> bool {
        let fields = &held.record.fields;
        self.auth == held.record.digest_hex
            && self.action == fields.action_hash
            && self.mandate == format!("{}@{}", held.action.mandate_id, fields.mandate_version)
            && self.log_head == *head
    }
}

fn blake(bytes: &[u8]) -> [u8; 32] {
    blake2::Blake2b256::digest(bytes).into()
}

/// The note in auxiliary data: metadata alone, `[metadata, scripts]`, or tag 259 around a map whose 0 is metadata.
fn note(auxiliary: &Item) -> Option<Note> {
    let metadata = match auxiliary {
        Item::Array(parts) => parts.first()?,
        Item::Tag(259, inner) => inner.get(&Item::Int(0))?,
        other => other,
    };
    let note = metadata.get(&Item::Int(LABEL))?;
    let text = |of: &Item, name: &str| match of.get(&Item::Text(name.to_owned())) {
        Some(Item::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let head = note.get(&Item::Text("log_head".to_owned()))?;
    let seq = match head.get(&Item::Text("seq".to_owned())) {
        Some(Item::Int(seq)) => u64::try_from(*seq).ok()?,
        _ => return None,
    };
    Some(Note {
        auth: text(note, "auth")?.parse().ok()?,
        action: text(note, "action")?.parse().ok()?,
        mandate: text(note, "mandate")?,
        log_head: LogHead { hash: text(head, "hash")?.parse().ok()?, seq },
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Int(i128),
    Bytes(Vec<u8>),
    Text(String),
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Tag(u64, Box<Self>),
    /// Floats, booleans, null: not looked at.
    Other,
}

impl Item {
    /// A member that is there exactly once.
    fn get(&self, name: &Self) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        let mut found = members.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }
}

/// The deepest nesting that is read.
const DEEPEST: u8 = 24;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// The bytes of the next item.
    fn span(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.item(DEEPEST)?;
        self.bytes.get(start..self.at)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// The kind of an item and its number; none where its length is indefinite.
    fn head(&mut self) -> Option<(u8, Option<u64>)> {
        let first = *self.take(1)?.first()?;
        let number = match first & 31 {
            small @ 0..24 => u64::from(small),
            24 => u64::from(*self.take(1)?.first()?),
            25 => u64::from(u16::from_be_bytes(self.take(2)?.try_into().ok()?)),
            26 => u64::from(u32::from_be_bytes(self.take(4)?.try_into().ok()?)),
            27 => u64::from_be_bytes(self.take(8)?.try_into().ok()?),
            31 => return Some((first >> 5, None)),
            _ => return None,
        };
        Some((first >> 5, Some(number)))
    }

    fn item(&mut self, depth: u8) -> Option<Item> {
        let depth = depth.checked_sub(1)?;
        let (kind, number) = self.head()?;
        Some(match (kind, number) {
            (0, Some(number)) => Item::Int(i128::from(number)),
            (1, Some(number)) => Item::Int(-1 - i128::from(number)),
            (2 | 3, Some(length)) => text(kind, self.take(usize::try_from(length).ok()?)?.to_vec())?,
            (2 | 3, None) => text(kind, self.chunks(kind)?)?,
            (4, count) => {
                let mut items = Vec::new();
                while self.more(count, items.len())? {
                    items.push(self.item(depth)?);
                }
                Item::Array(items)
            }
            (5, count) => {
                let mut members = Vec::new();
                while self.more(count, members.len())? {
                    members.push((self.item(depth)?, self.item(depth)?));
                }
                Item::Map(members)
            }
            (6, Some(tag)) => Item::Tag(tag, Box::new(self.item(depth)?)),
            (7, Some(_)) => Item::Other,
            _ => return None,
        })
    }

    /// Whether a container has another item; the end of an indefinite one is consumed.
    fn more(&mut self, count: Option<u64>, read: usize) -> Option<bool> {
        match count {
            Some(count) => Some(u64::try_from(read).ok()? < count),
            None if self.bytes.get(self.at)? == &0xff => {
                self.at += 1;
                Some(false)
            }
            None => Some(true),
        }
    }

    /// The parts of a string of indefinite length.
    fn chunks(&mut self, kind: u8) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        while self.more(None, 0)? {
            let (found, length) = self.head()?;
            let length = usize::try_from(length?).ok()?;
            if found != kind {
                return None;
            }
            all.extend_from_slice(self.take(length)?);
        }
        Some(all)
    }
}

fn text(kind: u8, bytes: Vec<u8>) -> Option<Item> {
    if kind == 2 { Some(Item::Bytes(bytes)) } else { String::from_utf8(bytes).ok().map(Item::Text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex_of(bytes: &[u8]) -> String {
        hex::encode(bytes)
    }

    fn text_item(out: &mut Vec<u8>, text: &str) {
        crate::plutus::head(out, 3, u64::try_from(text.len()).unwrap());
        out.extend_from_slice(text.as_bytes());
    }

    fn metadata() -> Vec<u8> {
        let mut out = vec![0xa1, 0x19, 0x06, 0x9e, 0xa4];
        text_item(&mut out, "auth");
        text_item(&mut out, &"11".repeat(32));
        text_item(&mut out, "action");
        text_item(&mut out, &"22".repeat(32));
        text_item(&mut out, "mandate");
        text_item(&mut out, "M-001@3");
        text_item(&mut out, "log_head");
        out.push(0xa2);
        text_item(&mut out, "seq");
        out.push(0x09);
        text_item(&mut out, "hash");
        text_item(&mut out, &"33".repeat(32));
        out
    }

    fn whole(auxiliary: &[u8]) -> Vec<u8> {
        let mut out = vec![0x84, 0xa2, 0x02, 0x00, 0x07, 0x58, 0x20];
        out.extend_from_slice(&blake(auxiliary));
        out.extend_from_slice(&[0xa0, 0xf5]);
        out.extend_from_slice(auxiliary);
        out
    }

    #[test]
    fn the_note_is_found_in_every_form_of_auxiliary_data() {
        let plain = metadata();
        let listed = [&[0x82], plain.as_slice(), &[0x80]].concat();
        let tagged = [&[0xd9, 0x01, 0x03, 0xa1, 0x00], plain.as_slice()].concat();
        for auxiliary in [plain, listed, tagged] {
            let bytes = whole(&auxiliary);
            let read = Transaction::read_hex(&hex_of(&bytes)).unwrap();
            let note = read.note.unwrap();
            assert_eq!((note.mandate.as_str(), note.log_head.seq), ("M-001@3", 9));
            assert_eq!(read.hash.as_bytes(), &blake(&bytes[1..39]));
            // The body alone has the same hash, and only the hash of the note.
            let body = Transaction::read(&bytes[1..39]).unwrap();
            assert_eq!((body.hash, body.note), (read.hash, None));
        }
    }

    #[test]
    fn what_is_no_transaction() {
        let good = whole(&metadata());
        let check = |bytes: &[u8]| assert_eq!(Transaction::read(bytes), None, "{}", hex_of(bytes));
        for end in 0..good.len() {
            check(&good[..end]);
        }
        check(&[good.as_slice(), &[0]].concat());
        // Every byte of the note is under the body's hash.
        for at in 41..good.len() {
            let mut bent = good.clone();
            bent[at] ^= 1;
            check(&bent);
        }
        // A hash, and nothing that it is of.
        check(&[&good[..41], &[0xf6]].concat());
        assert_eq!(Transaction::read_hex(&hex_of(&good).to_uppercase()), None);
        assert_eq!(Transaction::read(&[0x84, 0xa1, 0x02, 0x00, 0xa0, 0xf5, 0xf6]).unwrap().note, None);
        assert_eq!(Transaction::read(&[0x9f; 200]), None);
    }
}
