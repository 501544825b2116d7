//! The order of members (RFC 8785, 3.2.3).

use crate::Code;
use crate::error::Fault;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

/// Compares by UTF-16 code units without converting. UTF-8 bytes give the same order but for one case: the first
/// differing bytes lead U+E000..U+FFFF on one side and a surrogate pair on the other; the pair comes first.
pub(crate) fn utf16(a: &str, b: &str) -> Ordering {
    for (x, y) in a.bytes().zip(b.bytes()) {
        if x != y {
            return match (x >= 0xf0, y >= 0xf0) {
                (true, false) if y >= 0xee => Ordering::Less,
                (false, true) if x >= 0xee => Ordering::Greater,
                _ => x.cmp(&y),
            };
        }
    }
    a.len().cmp(&b.len())
}

/// The members of all objects that are open while canonical bytes are written, innermost last. Each is written where
/// it comes and moved, if need be, when its object closes.
#[derive(Default)]
pub(crate) struct Members<'k> {
    open: Vec<Member<'k>>,
    scratch: Vec<u8>,
}

struct Member<'k> {
    key: Cow<'k, str>,
    /// Where its `"key":value` begins and ends in the output.
    start: usize,
    end: usize,
}

impl<'k> Members<'k> {
    /// The mark of an object that opens now.
    pub(crate) fn mark(&self) -> usize {
        self.open.len()
    }

    /// Adds a member that has been written to `start..end`, with one comma between it and the one before.
    pub(crate) fn push(&mut self, key: Cow<'k, str>, start: usize, end: usize) {
        self.open.push(Member { key, start, end });
    }

    /// Sorts the members since `mark`, which end `out`, and forgets them. Refuses two of one name.
    pub(crate) fn close(&mut self, mark: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        let members = self.open.get_mut(mark..).unwrap_or_default();
        if !members.is_sorted_by(|a, b| utf16(&a.key, &b.key) == Ordering::Less) {
            members.sort_unstable_by(|a, b| utf16(&a.key, &b.key));
            if members.windows(2).any(|pair| matches!(pair, [a, b] if a.key == b.key)) {
                members.sort_unstable_by_key(|member| member.start);
                return Err(duplicate(
                    repeated(members.iter().map(|member| member.key.as_ref())).unwrap_or_default(),
                ));
            }
            rearrange(members, out, &mut self.scratch);
        }
        self.open.truncate(mark);
        Ok(())
    }
}

#[cold]
pub(crate) fn duplicate(key: &str) -> Fault {
    Fault::new(Code::DuplicateKey, "an object has two members of one name").inside(key)
}

/// The first key, in the order given, that was there before.
pub(crate) fn repeated<'m>(mut keys: impl ExactSizeIterator<Item = &'m str> + Clone) -> Option<&'m str> {
    const FEW: usize = 16;
    if keys.len() <= FEW {
        let before = keys.clone();
        keys.enumerate()
            .find(|(at, key)| before.clone().take(*at).any(|other| other == *key))
            .map(|(_, key)| key)
    } else {
        let mut seen = HashSet::with_capacity(keys.len());
        keys.find(|key| !seen.insert(*key))
    }
}

fn rearrange(sorted: &[Member<'_>], out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
    scratch.clear();
    let mut first = out.len();
    for member in sorted {
        if !scratch.is_empty() {
            scratch.push(b',');
        }
        scratch.extend_from_slice(out.get(member.start..member.end).unwrap_or_default());
        first = first.min(member.start);
    }
    out.truncate(first);
    out.extend_from_slice(scratch);
}
