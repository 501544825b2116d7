//! CBOR by hand: the few forms a transaction is written in, and a reader that gives back the bytes as they were, since it is
//! those that are hashed and signed.

/// The first bytes of an item: its kind and a number, in the shortest form.
pub(crate) fn head(out: &mut Vec<u8>, major: u8, number: u64) {
    let kind = major << 5;
    let bytes = number.to_be_bytes();
    let (code, skip) = match number {
        0..24 => (bytes.last().copied().unwrap_or(0), 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    out.push(kind | code);
    out.extend(bytes.iter().skip(skip));
}

pub(crate) fn uint(out: &mut Vec<u8>, number: u64) {
    head(out, 0, number);
}

pub(crate) fn int(out: &mut Vec<u8>, number: i64) {
    match u64::try_from(number) {
        Ok(number) => head(out, 0, number),
        Err(_) => head(out, 1, (-1 - number).unsigned_abs()),
    }
}

pub(crate) fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, 2, length(bytes.len()));
    out.extend_from_slice(bytes);
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    head(out, 3, length(text.len()));
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn array(out: &mut Vec<u8>, items: usize) {
    head(out, 4, length(items));
}

pub(crate) fn map(out: &mut Vec<u8>, entries: usize) {
    head(out, 5, length(entries));
}

pub(crate) fn tag(out: &mut Vec<u8>, number: u64) {
    head(out, 6, number);
}

/// A set (tag 258) of items that are written already.
pub(crate) fn set(out: &mut Vec<u8>, items: &[Vec<u8>]) {
    tag(out, SET);
    array(out, items.len());
    items.iter().for_each(|item| out.extend_from_slice(item));
}

/// The items of an array or a set, each as it was written, and nothing after them.
pub(crate) fn items(raw: &[u8]) -> Option<Vec<&[u8]>> {
    list(untagged(raw, SET).unwrap_or(raw), 4)
}

/// The entries of a map, each part as it was written, and nothing after them.
pub(crate) fn entries(raw: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let flat = list(raw, 5)?;
    let pairs = flat.chunks_exact(2);
    pairs
        .map(|pair| match pair {
            [key, value] => Some((*key, *value)),
            _ => None,
        })
        .collect()
}

/// What is under a tag.
pub(crate) fn untagged(raw: &[u8], number: u64) -> Option<&[u8]> {
    let mut rest = raw;
    match take_head(&mut rest)? {
        (6, Some(found)) if found == number => Some(rest),
        _ => None,
    }
}

pub(crate) fn as_uint(raw: &[u8]) -> Option<u64> {
    let mut rest = raw;
    match take_head(&mut rest)? {
        (0, Some(number)) if rest.is_empty() => Some(number),
        _ => None,
    }
}

/// The bytes of a string of bytes, in one piece or in several.
pub(crate) fn as_bytes(raw: &[u8]) -> Option<Vec<u8>> {
    let mut rest = raw;
    match take_head(&mut rest)? {
        (2, Some(number)) => {
            let taken = take(&mut rest, number)?;
            rest.is_empty().then(|| taken.to_vec())
        }
        (2, None) => {
            let mut whole = Vec::new();
            while !take_break(&mut rest) {
                let (2, Some(number)) = take_head(&mut rest)? else { return None };
                whole.extend_from_slice(take(&mut rest, number)?);
            }
            rest.is_empty().then_some(whole)
        }
        _ => None,
    }
}

pub(crate) fn as_bool(raw: &[u8]) -> Option<bool> {
    match raw {
        [0xf5] => Some(true),
        [0xf4] => Some(false),
        _ => None,
    }
}

pub(crate) const NULL: u8 = 0xf6;
const SET: u64 = 258;
/// The deepest nesting that is read.
const DEEPEST: u8 = 64;

fn length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The items of an array, or of a map one after the other.
fn list(raw: &[u8], major: u8) -> Option<Vec<&[u8]>> {
    let mut rest = raw;
    let (found, count) = take_head(&mut rest)?;
    if found != major {
        return None;
    }
    let each = if major == 5 { 2 } else { 1 };
    let mut items = Vec::new();
    match count {
        Some(count) => {
            for _ in 0..count.checked_mul(each)? {
                items.push(take_item(&mut rest, DEEPEST)?);
            }
        }
        None => {
            while !take_break(&mut rest) {
                items.push(take_item(&mut rest, DEEPEST)?);
            }
        }
    }
    let even = items.len().is_multiple_of(usize::try_from(each).ok()?);
    (rest.is_empty() && even).then_some(items)
}

/// Kind and number; no number where the length is open.
fn take_head(rest: &mut &[u8]) -> Option<(u8, Option<u64>)> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    let number = match first & 31 {
        small @ 0..24 => Some(u64::from(small)),
        24 => Some(u64::from(*take(rest, 1)?.first()?)),
        25 => Some(u64::from(u16::from_be_bytes(take(rest, 2)?.try_into().ok()?))),
        26 => Some(u64::from(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?))),
        27 => Some(u64::from_be_bytes(take(rest, 8)?.try_into().ok()?)),
        31 => None,
        _ => return None,
    };
    Some((first >> 5, number))
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken)
}

fn take_break(rest: &mut &[u8]) -> bool {
    match rest.split_first() {
        Some((0xff, after)) => {
            *rest = after;
            true
        }
        _ => false,
    }
}

/// One item, as it was written.
pub(crate) fn take_item<'a>(rest: &mut &'a [u8], depth: u8) -> Option<&'a [u8]> {
    let before = *rest;
    skip(rest, depth)?;
    before.get(..before.len().checked_sub(rest.len())?)
}

fn skip(rest: &mut &[u8], depth: u8) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let (major, number) = take_head(rest)?;
    match (major, number) {
        (0 | 1, Some(_)) | (7, Some(_)) => {}
        (2 | 3, Some(length)) => {
            take(rest, length)?;
        }
        (4, Some(count)) => {
            for _ in 0..count {
                skip(rest, depth)?;
            }
        }
        (5, Some(count)) => {
            for _ in 0..count.checked_mul(2)? {
                skip(rest, depth)?;
            }
        }
        (6, Some(_)) => skip(rest, depth)?,
        (2..=5, None) => {
            while !take_break(rest) {
                skip(rest, depth)?;
            }
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_as_they_were_written() {
        let raw = hex::decode("9f0141ff8201a0d9010282f5f6ff").unwrap();
        let found = items(&raw).unwrap();
        let shown: Vec<_> = found.iter().map(hex::encode).collect();
        assert_eq!(shown, ["01", "41ff", "8201a0", "d9010282f5f6"]);
        assert_eq!(items(found[3]).unwrap(), [[0xf5], [0xf6]]);
        assert_eq!(as_bytes(&hex::decode("5f4101420203ff").unwrap()).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn what_is_broken_is_refused() {
        for raw in ["", "82", "8201", "9f01", "a101", "bf01ff", "5f01ff", "820102ff", "1c", "d90102"] {
            let raw = hex::decode(raw).unwrap();
            assert!(items(&raw).is_none() && entries(&raw).is_none() && as_bytes(&raw).is_none(), "{raw:?}");
        }
        let deep = [vec![0x81; 100], vec![0]].concat();
        assert!(items(&deep).is_none());
    }

    #[test]
    fn integers_have_their_shortest_form() {
        for (number, expected) in [
            (0, "00"),
            (23, "17"),
            (24, "1818"),
            (-1, "20"),
            (-900, "390383"),
            (i64::MIN, "3b7fffffffffffffff"),
        ] {
            let mut out = Vec::new();
            int(&mut out, number);
            assert_eq!(hex::encode(out), expected);
        }
    }
}
