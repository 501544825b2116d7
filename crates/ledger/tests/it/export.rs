use canon::Digest;
use ledger::Entry;
use ledger::export::{Line, Rule, line};

const BODY: &[u8] = br#"{"at":"2026-11-30T08:00:00.000Z","data":{"a":"}"},"n":7,"type":"room_opened"}"#;

#[test]
fn a_line_is_read_as_it_is_written() {
    let prev = Digest::of(b"before");
    let entry =
        Entry { seq: 7, prev, hash: Rule::PrevHex.link(&prev, BODY), bytes: BODY.to_vec(), payload: None };
    let written = line(&entry);
    let read = Line::parse(written.strip_suffix(b"\n").unwrap()).unwrap();
    assert_eq!(
        read,
        Line { body: BODY, hash: entry.hash, prev, prev_hex: prev.to_string().as_bytes(), seq: 7 }
    );
    assert_eq!(read.inner_number(), Some(7));
    assert_eq!(read.link(Rule::PrevHex), entry.hash);
    assert_eq!(read.link(Rule::PrevRaw), Rule::PrevRaw.link(&prev, BODY));
}

#[test]
fn other_spellings_are_no_lines() {
    let hash = Digest::ZERO;
    let good = format!(r#"{{"body":{{}},"hash":"{hash}","prev":"{hash}","seq":1}}"#);
    let check = |line: &str, expected: bool| {
        assert_eq!(Line::parse(line.as_bytes()).is_some(), expected, "{line}");
    };
    check(&good, true);
    check("", false);
    check(&format!(" {good}"), false);
    check(&format!("{good}\n"), false);
    check(&good.replace("\"seq\":1", "\"seq\":01"), false);
    check(&good.replace("\"seq\":1", "\"seq\":"), false);
    check(&good.replace("\"seq\":1", "\"seq\":18446744073709551616"), false);
    check(&good.replace("\"seq\":1", "\"seq\": 1"), false);
    check(&good.replace("\"prev\":\"0", "\"prev\":\"A"), false);
    check(&good.replace("\"hash\":\"0", "\"hash\":\""), false);
    check(&good.replace("\"hash\"", "\"Hash\""), false);
}

/// The number that counts is the one inside the body's own last members.
#[test]
fn the_inner_number() {
    let check = |body: &str, expected: Option<u64>| {
        let line =
            Line { body: body.as_bytes(), hash: Digest::ZERO, prev: Digest::ZERO, prev_hex: b"", seq: 1 };
        assert_eq!(line.inner_number(), expected, "{body}");
    };
    check(r#"{"at":"x","n":12,"type":"a.b_c"}"#, Some(12));
    check(r#"{"n":12,"type":"a"}"#, None);
    check(r#"{"at":"x","n":012,"type":"a"}"#, None);
    check(r#"{"at":"x","n":12,"type":"a","z":1}"#, None);
    check(r#"{"at":"x","n":12,"type":"A"}"#, None);
    check(r#"{"at":"x","data":",\"n\":12,\"type\":\"a"}"#, None);
    check("", None);
}

/// The two chain rules over one body.
#[test]
fn rules_differ() {
    let prev = Digest::of(b"before");
    assert_eq!(Rule::PrevHex.link(&prev, BODY), Digest::of(&[prev.to_string().as_bytes(), BODY].concat()));
    assert_eq!(Rule::PrevRaw.link(&prev, BODY), Digest::of(&[prev.as_bytes().as_slice(), BODY].concat()));
}
