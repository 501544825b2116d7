//! The numbered vectors of `vectors/canon`.

use canon::{Digest, canonicalize, from_slice, parse, to_vec};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    input: Option<String>,
    input_hex: Option<String>,
    canonical: Option<String>,
    sha256: Option<Digest>,
    error: Option<String>,
    place: Option<String>,
}

fn check(vector: &Vector) {
    let Vector { id, input, input_hex, canonical, sha256, error, place } = vector;
    let input = match (input, input_hex) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(digits)) => hex::decode(digits).unwrap(),
        _ => panic!("{id} has not exactly one input"),
    };
    let written = canonicalize(&input);
    let parsed = parse(&input);
    match error {
        Some(code) => {
            let refusal = written.unwrap_err();
            assert_eq!(refusal.code.as_str(), code, "{id}");
            assert_eq!(refusal.place, *place.as_ref().unwrap_or(&refusal.place), "{id}");
            assert_eq!(parsed.unwrap_err(), refusal, "{id}");
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

#[test]
fn house() {
    check_file(include_str!("../../../../vectors/canon/house.jsonl"), 121);
}
