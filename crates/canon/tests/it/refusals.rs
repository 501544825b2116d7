use canon::{MAX_DEPTH, canonicalize, parse};

/// Both readers refuse `input` alike, with this code at this place.
fn check(input: impl AsRef<[u8]>, code: &str, place: &str) {
    let input = input.as_ref();
    let error = canonicalize(input).unwrap_err();
    assert_eq!(parse(input).unwrap_err(), error);
    assert_eq!((error.code.as_str(), error.place.as_str()), (code, place), "{}", input.escape_ascii());
}

#[test]
fn texts_that_are_no_json() {
    for (input, byte) in [
        ("", 0),
        (" ", 1),
        ("\u{feff}1", 0),
        ("nul", 0),
        ("nan", 0),
        ("True", 0),
        ("+1", 0),
        (".5", 0),
        ("01", 0),
        ("-01", 1),
        ("-", 1),
        ("1.", 2),
        ("1.e1", 2),
        ("1e", 2),
        ("1e+", 3),
        ("0x1", 1),
        ("1 2", 2),
        ("{} {}", 3),
        ("[1,]", 3),
        ("[,1]", 1),
        ("[1 1]", 3),
        ("[1", 2),
        ("[1}", 2),
        ("{\"a\":1,}", 7),
        ("{\"a\" 1}", 5),
        ("{\"a\":}", 5),
        ("{a:1}", 1),
        ("{1:1}", 1),
        ("{'a':1}", 1),
        ("{\"a\":1", 6),
        ("\"a", 2),
        ("\"a\n\"", 2),
        ("\"\u{0}\"", 1),
        ("\"\\x41\"", 2),
        ("\"\\u12G4\"", 5),
        ("\"\\u12", 5),
        ("\"\\ud800\\u12\"", 11),
        ("\"\\", 2),
        ("[1]//", 3),
        ("\u{a0}1", 0),
        ("\u{b}1", 0),
    ] {
        check(input, "syntax", &format!("byte {byte}"));
    }
}

#[test]
fn bytes_that_are_no_text() {
    for (input, byte) in [
        (&b"\xff"[..], 0),
        (b"\"a\x80\"", 2),
        (b"\"\xc0\xaf\"", 1),
        (b"\"\xed\xa0\x80\"", 1),
        (b"\"\xf4\x90\x80\x80\"", 1),
        (b"\"\xe2\x82", 1),
        // Found before every other fault, wherever it stands.
        (b"[NaN,\"\xff\"]", 6),
    ] {
        check(input, "invalid_utf8", &format!("byte {byte}"));
    }
}

#[test]
fn values_that_are_refused_are_pointed_at() {
    for (input, code, place) in [
        ("NaN", "non_finite", ""),
        ("Infinity", "non_finite", ""),
        ("[0,-Infinity]", "non_finite", "/1"),
        ("{\"a\":{\"b\":[1e400]}}", "non_finite", "/a/b/0"),
        ("-1e400", "non_finite", ""),
        ("[-1.8e308]", "non_finite", "/0"),
        ("{\"a/b\":{\"c~d\":9007199254740992}}", "int_range", "/a~1b/c~0d"),
        ("[\"\\udead\"]", "lone_surrogate", "/0"),
        ("{\"x\":{\"\\udead\":1}}", "lone_surrogate", "/x"),
        ("{\"a\":1,\"b\":2,\"a\":3}", "duplicate_key", "/a"),
        ("[{\"\":{\"b\":1,\"b\":1}}]", "duplicate_key", "/0//b"),
        // The pair that is complete first, in an object of few and of many members.
        ("{\"c\":0,\"b\":1,\"c\":2,\"b\":3}", "duplicate_key", "/c"),
        ("{\"a\":0,\"a\":1,\"b\":[{\"c\":1,\"c\":2}]}", "duplicate_key", "/b/0/c"),
        // A duplicate is found when its object closes; before that, whatever comes first.
        ("{\"a\":1,\"a\":NaN}", "non_finite", "/a"),
        ("{\"a\":1,\"a\":2,", "syntax", "byte 13"),
        ("[1e400,9007199254740992]", "non_finite", "/0"),
        ("[9007199254740992,1e400", "int_range", "/0"),
    ] {
        check(input, code, place);
    }
    let many: String = (0..40).map(|at| format!("\"k{at}\":0,")).collect();
    check(format!("{{{many}\"k7\":1,\"k3\":1}}"), "duplicate_key", "/k7");
}

#[test]
fn depth_is_bounded() {
    fn nested(open: &str, close: &str, depth: usize) -> String {
        format!("{}0{}", open.repeat(depth), close.repeat(depth))
    }
    for (open, close, step) in [("[", "]", "/0"), ("{\"a\":", "}", "/a")] {
        let deepest = nested(open, close, MAX_DEPTH);
        assert_eq!(canonicalize(deepest.as_bytes()).unwrap(), deepest.as_bytes());
        assert_eq!(canon::to_vec(&parse(deepest.as_bytes()).unwrap()).unwrap(), deepest.as_bytes());
        check(nested(open, close, MAX_DEPTH + 1), "depth", &step.repeat(MAX_DEPTH));
        check(open.repeat(1_000_000), "depth", &step.repeat(MAX_DEPTH));
    }
    let wide = format!("[{}[]]", "[[[]]],".repeat(1000));
    assert_eq!(canonicalize(wide.as_bytes()).unwrap(), wide.as_bytes());
}
