//! Bundles taken apart and put together by other code than the verifier's.

use std::io::Read;

/// The text of the one file whose name begins so, read with the central directory alone.
pub fn unpacked(zip: &[u8], prefix: &str) -> String {
    let mut files = files(zip);
    files.retain(|(name, _)| name.starts_with(prefix));
    assert_eq!(files.len(), 1);
    String::from_utf8(files.remove(0).1).unwrap()
}

/// Names and contents in their order.
pub fn files(zip: &[u8]) -> Vec<(String, Vec<u8>)> {
    let number = |at: usize, size: usize| -> usize {
        zip[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
    };
    let end = zip.len() - 22;
    let mut at = number(end + 16, 4);
    let mut files = Vec::new();
    while at < end {
        let (method, packed, name, offset) =
            (number(at + 10, 2), number(at + 20, 4), number(at + 28, 2), number(at + 42, 4));
        let content = &zip[offset + 30 + name..][..packed];
        let mut bytes = Vec::new();
        match method {
            0 => bytes.extend_from_slice(content),
            _ => {
                flate2::read::DeflateDecoder::new(content).read_to_end(&mut bytes).unwrap();
            }
        }
        files.push((String::from_utf8(zip[at + 46..][..name].to_vec()).unwrap(), bytes));
        at += 46 + name;
    }
    files
}
