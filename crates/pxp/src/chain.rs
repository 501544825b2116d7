//! The chain rule of a room, the same in both profiles (spec of PXP 1.2, seed section 6).
//!
//! An entry's body is the canonical form of `{n, type, at, data}`; its hash is SHA-256 of the previous hash as 64 hex
//! characters followed by that body. The first entry follows 64 zeros. The number is inside the hash, so a reorder or a
//! dropped first entry breaks the chain; a dropped tail does not, which is why heads are signed.

use canon::{Digest, Value};
use env::Timestamp;
use ledger::{Entry, Fault, Head, Payload};
use serde::Deserialize;

/// One entry as it stands in the chain, read but not yet given a meaning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    pub n: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub at: Timestamp,
    pub data: Value<'static>,
}

/// The entry after `prev`. `kind` is one of the house's own `[a-z_]+` words and `data` canonical JSON.
pub fn seal(kind: &str, at: Timestamp, data: &[u8], prev: Head, payload: Option<Payload>) -> Entry {
    let seq = prev.seq.saturating_add(1);
    let bytes = body(seq, kind, at, data);
    Entry { seq, prev: prev.hash, hash: link(&prev.hash, &bytes), bytes, payload }
}

/// Reads an entry at its place. Refuses a number, link or hash that the rule does not give, and what [`read`] refuses.
pub fn open(entry: &Entry, prev: Head) -> Result<Body, Fault> {
    let fault = |code| Fault::new(code, format!("entry {}", prev.seq.saturating_add(1)));
    if Some(entry.seq) != prev.seq.checked_add(1) {
        return Err(fault("bad_number"));
    }
    if entry.prev != prev.hash {
        return Err(fault("bad_prev"));
    }
    if link(&entry.prev, &entry.bytes) != entry.hash {
        return Err(fault("bad_hash"));
    }
    if entry.payload.as_ref().is_some_and(|payload| Digest::of(&payload.bytes) != payload.digest) {
        return Err(fault("bad_payload"));
    }
    read(entry)
}

/// Reads an entry whose place in the chain was checked. Refuses another number inside it, and a body that is not
/// canonical.
pub fn read(entry: &Entry) -> Result<Body, Fault> {
    let fault = |code| Fault::new(code, format!("entry {}", entry.seq));
    let read: Body = canon::from_slice(&entry.bytes).map_err(|_| fault("bad_body"))?;
    if read.n != entry.seq {
        return Err(fault("bad_number"));
    }
    let data = canon::to_vec(&read.data).map_err(|_| fault("bad_body"))?;
    if body(read.n, &read.kind, read.at, &data) != entry.bytes {
        return Err(fault("not_canonical"));
    }
    Ok(read)
}

/// `hash = SHA-256(prev as hex ‖ body)`.
pub fn link(prev: &Digest, body: &[u8]) -> Digest {
    Digest::of_parts(&[prev.to_string().as_bytes(), body])
}

/// The canonical form of `{n, type, at, data}`: the four keys in order, since no value but `data` needs an escape.
fn body(n: u64, kind: &str, at: Timestamp, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len().saturating_add(96));
    bytes.extend_from_slice(format!(r#"{{"at":"{at}","data":"#).as_bytes());
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(format!(r#","n":{n},"type":"{kind}"}}"#).as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// The three entries of the spec's section 1.3.
    fn sample() -> Vec<Entry> {
        let card = "57e36abe5100403a33fd7f67a4273d9852880597833e560c577234118daeae19";
        let envelope = "b4502e145b278ae0b285ef29913429de62bb207c7831f17585d3a56ccaa549da";
        let mut head = Head::EMPTY;
        let mut entries = Vec::new();
        for (kind, when, data) in [
            (
                "room_opened",
                "2026-11-30T08:00:00.000Z",
                r#"{"protocol":"PXP/0","topic":"Hall hire"}"#.to_owned(),
            ),
            (
                "card_sealed",
                "2026-11-30T08:01:00.000Z",
                format!(r#"{{"card_hash":"{card}","principal":"Ana","seat":"A","via":"mcp"}}"#),
            ),
            (
                "envelope",
                "2026-11-30T08:02:00.000Z",
                format!(r#"{{"envelope_hash":"{envelope}","seat":"A","seq":1,"status":"continue"}}"#),
            ),
        ] {
            let entry = seal(kind, at(when), data.as_bytes(), head, None);
            head = Head { seq: entry.seq, hash: entry.hash };
            entries.push(entry);
        }
        entries
    }

    /// `None` where the whole chain is good, else the code and place of the first fault.
    fn walk(entries: &[Entry]) -> Option<(&'static str, String)> {
        let mut head = Head::EMPTY;
        for entry in entries {
            if let Err(fault) = open(entry, head) {
                return Some((fault.code, fault.place));
            }
            head = Head { seq: entry.seq, hash: entry.hash };
        }
        None
    }

    #[test]
    fn the_published_hashes() {
        let hashes: Vec<String> = sample().iter().map(|entry| entry.hash.to_string()).collect();
        assert_eq!(
            hashes,
            [
                "5a776c74c35c819cd4d448d40fea1f6410e0029d7c5feb351ea9cdee37900267",
                "17bdf0b1ea7e7e914817bf49458b673e07be3f81644817d660cbed70e7ede3aa",
                "68105b3d474492add14acd8f1a8f06a278ec4dac76c82a5693b8ac821e554949",
            ]
        );
        assert_eq!(walk(&sample()), None);
    }

    #[test]
    fn every_edit_is_found_where_it_was_made() {
        let check = |edit: fn(&mut Vec<Entry>), expected: (&'static str, &str)| {
            let mut entries = sample();
            edit(&mut entries);
            assert_eq!(walk(&entries), Some((expected.0, expected.1.to_owned())));
        };
        check(
            |e| e[1].bytes = String::from_utf8(e[1].bytes.clone()).unwrap().replace("Ana", "Eve").into(),
            ("bad_hash", "entry 2"),
        );
        check(|e| e[2].prev = Digest::ZERO, ("bad_prev", "entry 3"));
        check(|e| e.swap(0, 1), ("bad_number", "entry 1"));
        check(|e| drop(e.remove(0)), ("bad_number", "entry 1"));
        check(
            |e| {
                e[0].bytes =
                    br#"{"n":1,"at":"2026-11-30T08:00:00.000Z","data":{},"type":"room_opened"}"#.to_vec();
                e[0].hash = link(&e[0].prev, &e[0].bytes);
            },
            ("not_canonical", "entry 1"),
        );
        check(
            |e| e[0].payload = Some(Payload { digest: Digest::ZERO, bytes: vec![1] }),
            ("bad_payload", "entry 1"),
        );
    }
}
