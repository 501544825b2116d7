//! Depth, at sizes too large for a vector.

use canon::{MAX_DEPTH, canonicalize, parse};

/// Both readers refuse `input` alike, with this code at this place.
fn check(input: impl AsRef<[u8]>, code: &str, place: &str) {
    let input = input.as_ref();
    let error = canonicalize(input).unwrap_err();
    assert_eq!(parse(input).unwrap_err(), error);
    assert_eq!((error.code.as_str(), error.place.as_str()), (code, place), "{}", input.escape_ascii());
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
