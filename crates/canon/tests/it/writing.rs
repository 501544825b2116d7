//! What the writer refuses.

use canon::{Code, Raw, to_vec};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::{BTreeMap, HashMap};

fn check<T: Serialize>(value: T, expected: Result<&str, (Code, &str)>) {
    let written = to_vec(&value);
    match (&written, expected) {
        (Ok(bytes), Ok(text)) => assert_eq!(bytes, text.as_bytes()),
        (Err(error), Err((code, place))) => assert_eq!((error.code, error.place.as_str()), (code, place)),
        _ => panic!("{written:?}, expected {expected:?}"),
    }
}

/// A map that writes one key as often as it is told.
struct Repeats(&'static [&'static str]);

impl Serialize for Repeats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in self.0 {
            map.serialize_entry(key, &0)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Flat {
    b: u8,
    #[serde(flatten)]
    rest: BTreeMap<&'static str, u8>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Plain,
    Wrapped(u8),
}

#[derive(Serialize)]
enum Variant {
    Tuple(u8, f64),
    Struct { inner: f64 },
    Newtype(f64),
}

#[test]
fn what_cannot_be_read_is_not_written() {
    check(9_007_199_254_740_991_i64, Ok("9007199254740991"));
    check(-9_007_199_254_740_991_i128, Ok("-9007199254740991"));
    check([0, 9_007_199_254_740_992_u64], Err((Code::IntRange, "/1")));
    check(u64::MAX, Err((Code::IntRange, "")));
    check(i64::MIN, Err((Code::IntRange, "")));
    check(u128::MAX, Err((Code::IntRange, "")));
    check(BTreeMap::from([("x", f64::NAN)]), Err((Code::NonFinite, "/x")));
    check(f32::INFINITY, Err((Code::NonFinite, "")));
    check(0.1_f32, Ok("0.10000000149011612"));
    check(-0.0, Ok("0"));
    check(Repeats(&["b", "a", "c"]), Ok(r#"{"a":0,"b":0,"c":0}"#));
    check([Repeats(&["b", "a", "b"])], Err((Code::DuplicateKey, "/0/b")));
    check(Flat { b: 1, rest: BTreeMap::from([("a", 2)]) }, Ok(r#"{"a":2,"b":1}"#));
    check(Flat { b: 1, rest: BTreeMap::from([("b", 2)]) }, Err((Code::DuplicateKey, "/b")));
    check(HashMap::from([(1, 1)]), Err((Code::Shape, "")));
    check(HashMap::from([(true, 1)]), Err((Code::Shape, "")));
    check([HashMap::from([(Some(()), 1)])], Err((Code::Shape, "/0")));
    check(BTreeMap::from([(Key::Plain, 1)]), Ok(r#"{"Plain":1}"#));
    check(BTreeMap::from([(Key::Wrapped(1), 1)]), Err((Code::Shape, "")));
    check(BTreeMap::from([('é', 1)]), Ok(r#"{"é":1}"#));
}

#[test]
fn variants_name_their_content() {
    check(Variant::Tuple(1, 0.5), Ok(r#"{"Tuple":[1,0.5]}"#));
    check([Variant::Tuple(1, f64::NAN)], Err((Code::NonFinite, "/0/Tuple/1")));
    check(Variant::Struct { inner: f64::NAN }, Err((Code::NonFinite, "/Struct/inner")));
    check(Variant::Newtype(f64::NAN), Err((Code::NonFinite, "/Newtype")));
}

#[test]
fn raw_is_embedded_as_it_is() {
    let raw = Raw::from_slice(br#" {"b":[1.0,"\u0061"],"a":-0} "#).unwrap();
    assert_eq!(raw.as_str(), r#"{"a":0,"b":[1,"a"]}"#);
    check(
        BTreeMap::from([("z", &raw), ("a", &raw)]),
        Ok(r#"{"a":{"a":0,"b":[1,"a"]},"z":{"a":0,"b":[1,"a"]}}"#),
    );
    assert_eq!(serde_json::to_string(&[&raw]).unwrap(), format!("[{raw}]"));
    let mut deep = Raw::of(&0).unwrap();
    for _ in 0..canon::MAX_DEPTH {
        deep = Raw::of(&[&deep]).unwrap();
    }
    check([&deep], Err((Code::Depth, &"/0".repeat(canon::MAX_DEPTH))));
}
