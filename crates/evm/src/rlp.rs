//! Recursive length prefix, written only: byte strings, numbers, lists.

/// A byte string.
pub fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes {
        [byte] if *byte < 0x80 => out.push(*byte),
        _ => {
            prefix(out, 0x80, bytes.len());
            out.extend_from_slice(bytes);
        }
    }
}

/// A number: its bytes, big-endian, without leading zeros.
pub fn number(out: &mut Vec<u8>, number: u128) {
    let all = number.to_be_bytes();
    let start = all.iter().position(|byte| *byte != 0).unwrap_or(all.len());
    bytes(out, all.get(start..).unwrap_or_default());
}

/// A list of what is in `items` already.
pub fn list(items: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len().saturating_add(9));
    prefix(&mut out, 0xc0, items.len());
    out.extend_from_slice(items);
    out
}

fn prefix(out: &mut Vec<u8>, base: u8, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 56 => out.push(base.saturating_add(short)),
        _ => {
            let all = length.to_be_bytes();
            let start = all.iter().position(|byte| *byte != 0).unwrap_or(0);
            let digits = all.get(start..).unwrap_or_default();
            let many = u8::try_from(digits.len()).unwrap_or(8);
            out.push(base.saturating_add(55).saturating_add(many));
            out.extend_from_slice(digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_yellow_paper() {
        let check = |write: &dyn Fn(&mut Vec<u8>), expected: &str| {
            let mut out = Vec::new();
            write(&mut out);
            assert_eq!(hex::encode(out), expected);
        };
        check(&|out| bytes(out, b"dog"), "83646f67");
        check(&|out| bytes(out, b""), "80");
        check(&|out| bytes(out, &[0]), "00");
        check(&|out| bytes(out, &[0x80]), "8180");
        check(&|out| number(out, 0), "80");
        check(&|out| number(out, 15), "0f");
        check(&|out| number(out, 1024), "820400");
        check(&|out| bytes(out, &[7; 56]), &format!("b838{}", "07".repeat(56)));
        check(&|out| bytes(out, &[7; 1024]), &format!("b90400{}", "07".repeat(1024)));
        assert_eq!(hex::encode(list(&[])), "c0");
        assert_eq!(hex::encode(list(&[7; 56])), format!("f838{}", "07".repeat(56)));
    }
}
