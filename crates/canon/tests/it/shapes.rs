//! Reading into types.

use canon::{Code, Digest, Raw, Value, from_slice};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Card<'a> {
    name: &'a str,
    #[serde(borrow)]
    note: Option<Cow<'a, str>>,
    #[serde(default)]
    clauses: Vec<Clause>,
    #[serde(default)]
    limits: BTreeMap<String, u32>,
    any: Option<Value<'static>>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Clause {
    Empty,
    Wrapped(i8),
    Pair(u8, bool),
    Named { floor: f64 },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    One { value: Value<'static> },
    Two,
}

fn check<'de, T: Deserialize<'de> + Debug + PartialEq>(input: &'de str, expected: T) {
    assert_eq!(from_slice::<T>(input.as_bytes()).unwrap(), expected, "{input}");
}

#[track_caller]
fn refuse<'de, T: Deserialize<'de> + Debug>(input: &'de str, code: Code, place: &str) {
    let error = from_slice::<T>(input.as_bytes()).unwrap_err();
    assert_eq!((error.code, error.place.as_str()), (code, place), "{input}: {error}");
}

#[test]
fn types_are_read() {
    check(
        r#" {"name":"Ana","clauses":["empty",{"wrapped":-3},{"pair":[7,true]},{"named":{"floor":2}}],"limits":{"a":1}} "#,
        Card {
            name: "Ana",
            note: None,
            clauses: vec![
                Clause::Empty,
                Clause::Wrapped(-3),
                Clause::Pair(7, true),
                Clause::Named { floor: 2.0 },
            ],
            limits: BTreeMap::from([("a".to_owned(), 1)]),
            any: None,
        },
    );
    check("[1,null,3]", vec![Some(1_u64), None, Some(3)]);
    check("null", ());
    check("\"x\"", 'x');
    check("[0,\"a\"]", (0_i32, "a"));
    check("-0", 0_i64);
    check(&format!("\"{}\"", Digest::ZERO), Digest::ZERO);
    check(r#"{"kind":"two"}"#, Tagged::Two);
    check("\"\\u0061\"", "a".to_owned());
}

#[test]
fn embedded_values_keep_their_tokens() {
    let read: BTreeMap<String, Value> = from_slice(br#"{"a":{"b":[1.50,"\n"],"a":-0}}"#).unwrap();
    assert_eq!(read["a"].pointer("/b/0").unwrap().as_number().unwrap().token(), "1.50");
    // Through serde's buffer of a tagged enum the kind is kept.
    let Tagged::One { value } = from_slice(br#"{"value":[1.0,1],"kind":"one"}"#).unwrap() else { panic!() };
    let numbers: Vec<_> = value.as_array().unwrap().iter().map(|n| n.as_i64()).collect();
    assert_eq!(numbers, [None, Some(1)]);
    let raw: BTreeMap<String, Raw> = from_slice(br#"{"a":{"b":[1.50,"\n"],"a":-0}}"#).unwrap();
    assert_eq!(raw["a"].as_str(), r#"{"a":0,"b":[1.5,"\n"]}"#);
}

#[test]
fn other_shapes_are_refused_with_their_place() {
    refuse::<Card>(r#"{"name":1}"#, Code::Shape, "/name");
    refuse::<Card>(r#"{"name":"a","nmae":1}"#, Code::Shape, "/nmae");
    refuse::<Card>(r#"{"note":"a"}"#, Code::Shape, "");
    refuse::<Card>(r#"{"name":"a","clauses":["empty","full"]}"#, Code::Shape, "/clauses/1");
    refuse::<Card>(r#"{"name":"a","clauses":[{"full":1}]}"#, Code::Shape, "/clauses/0/full");
    refuse::<Card>(r#"{"name":"a","clauses":[{"wrapped":128}]}"#, Code::Shape, "/clauses/0/wrapped");
    refuse::<Card>(r#"{"name":"a","clauses":[{"pair":[1,true,3]}]}"#, Code::Shape, "/clauses/0/pair");
    refuse::<Card>(r#"{"name":"a","clauses":[{"pair":[1,2]}]}"#, Code::Shape, "/clauses/0/pair/1");
    refuse::<Card>(r#"{"name":"a","clauses":[{"empty":1,"pair":2}]}"#, Code::Shape, "/clauses/0");
    refuse::<Card>(r#"{"name":"a","limits":{"x/y":-1}}"#, Code::Shape, "/limits/x~1y");
    refuse::<Card>(r#"{"name":"a","any":{"x":[1,1e999]}}"#, Code::NonFinite, "/any/x/1");
    refuse::<u64>("1.0", Code::Shape, "");
    refuse::<u64>("-1", Code::Shape, "");
    refuse::<bool>("\"true\"", Code::Shape, "");
    refuse::<BTreeMap<u32, u32>>(r#"{"1":1}"#, Code::Shape, "/1");
    // Strictness comes before shape.
    refuse::<Card>(r#"{"name":1,"x":2,"x":2}"#, Code::DuplicateKey, "/x");
    // A type that refuses while it is read has no code but this.
    refuse::<BTreeMap<&str, Raw>>(r#"{"a":[1e20]}"#, Code::Shape, "/a");
}

#[test]
fn values_are_looked_into() {
    let value = canon::parse(br#"{"a/b":[{"m~n":null},true,"x",7],"":{"":2}}"#).unwrap();
    for (pointer, expected) in [
        ("/a~1b/0/m~0n", Some("null")),
        ("/a~1b/1", Some("true")),
        ("/a~1b/2", Some("\"x\"")),
        ("//", Some("2")),
        ("/a~1b/4", None),
        ("/a~1b/01", None),
        ("/a~1b/+1", None),
        ("/a~1b/-", None),
        ("/a", None),
        ("a", None),
    ] {
        let found =
            value.pointer(pointer).map(|found| String::from_utf8(canon::to_vec(found).unwrap()).unwrap());
        assert_eq!(found.as_deref(), expected, "{pointer}");
    }
    assert_eq!(value.pointer(""), Some(&value));
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["a/b", ""]);
    assert_eq!(value.get("").unwrap().get("").unwrap().as_u64(), Some(2));
    assert_eq!(value.to_owned().into_static(), value);
}
