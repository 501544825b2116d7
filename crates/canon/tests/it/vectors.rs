//! The numbered vectors of `vectors/canon`.

use canon::{Digest, canonicalize, from_slice, parse, to_vec};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    input: String,
    canonical: Option<String>,
    sha256: Option<Digest>,
    error: Option<String>,
}

fn check(vector: &Vector) {
    let Vector { id, input, canonical, sha256, error } = vector;
    let written = canonicalize(input.as_bytes());
    let parsed = parse(input.as_bytes());
    match error {
        Some(code) => {
            assert_eq!(written.unwrap_err().code.as_str(), code, "{id}");
            assert_eq!(parsed.unwrap_err().code.as_str(), code, "{id}");
        }
        None => {
            let written = written.unwrap();
            assert_eq!(written, canonical.as_deref().unwrap().as_bytes(), "{id}");
            assert_eq!(Digest::of(&written), sha256.unwrap(), "{id}");
            assert_eq!(to_vec(&parsed.unwrap()).unwrap(), written, "{id}");
        }
    }
}

fn check_file(text: &str, count: usize) {
    let vectors: Vec<Vector> = text.lines().map(|line| from_slice(line.as_bytes()).unwrap()).collect();
    assert_eq!(vectors.len(), count);
    vectors.iter().for_each(check);
}

#[test]
fn tracekit() {
    check_file(include_str!("../../../../vectors/canon/jcs.jsonl"), 167);
}
