//! The naive twin: serde_json reads, serde_json_canonicalizer writes.

use canon::{Code, Raw, canonicalize, from_slice_and_form, is_canonical, parse, to_vec};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

const MAX: i64 = 9_007_199_254_740_991;

fn text() -> impl Strategy<Value = String> {
    let symbol = prop_oneof![
        4 => any::<char>(),
        4 => proptest::char::range(' ', '~'),
        1 => proptest::char::range('\0', '\u{1f}'),
        1 => prop_oneof![Just('"'), Just('\\'), Just('\u{1f600}'), Just('\u{fb33}'), Just('\u{7f}')],
    ];
    proptest::collection::vec(symbol, 0..12).prop_map(|symbols| symbols.into_iter().collect())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MAX..=MAX).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 20, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..20)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with every string's characters spelled as `\u` escapes.
fn escaped(value: &Value) -> String {
    let quote = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(text) => quote(text),
        Value::Array(values) => {
            format!("[ {} ]", values.iter().map(escaped).collect::<Vec<_>>().join("\t,"))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{}\r\n: {}", quote(key), escaped(value)))
                .collect();
            format!("{{{}}}", members.join(" , "))
        }
        other => other.to_string(),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(Option<i32>),
    Tuple(u16, String),
    Struct { zeta: f64, alpha: i64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Typed {
    zeta: Vec<Shape>,
    alpha: BTreeMap<String, Option<bool>>,
    #[serde(rename = "\u{fb33}")]
    hebrew: (char, u8),
    #[serde(rename = "\u{1f600}")]
    emoji: Box<[u8]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
}

fn typed() -> impl Strategy<Value = Typed> {
    let shape = prop_oneof![
        Just(Shape::Unit),
        any::<Option<i32>>().prop_map(Shape::Newtype),
        (any::<u16>(), text()).prop_map(|(number, text)| Shape::Tuple(number, text)),
        (proptest::num::f64::NORMAL, -MAX..=MAX).prop_map(|(zeta, alpha)| Shape::Struct { zeta, alpha }),
    ];
    let map = proptest::collection::btree_map(text(), any::<Option<bool>>(), 0..20);
    (proptest::collection::vec(shape, 0..5), map, any::<(char, u8)>(), any::<Vec<u8>>(), any::<Option<u8>>())
        .prop_map(|(zeta, alpha, hebrew, emoji, absent)| Typed {
            zeta,
            alpha,
            hebrew,
            emoji: emoji.into(),
            absent,
        })
}

proptest! {
    #[test]
    fn values_are_written_as_the_twin_writes_them(value in value()) {
        let theirs = serde_json_canonicalizer::to_vec(&value).unwrap();
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap(), escaped(&value)] {
            prop_assert_eq!(&canonicalize(text.as_bytes()).unwrap(), &theirs);
            prop_assert_eq!(&to_vec(&parse(text.as_bytes()).unwrap()).unwrap(), &theirs);
            prop_assert_eq!(is_canonical(text.as_bytes()).unwrap(), text.as_bytes() == theirs);
            let (embedded, canonical) = from_slice_and_form::<canon::Value>(text.as_bytes()).unwrap();
            prop_assert_eq!(embedded, parse(text.as_bytes()).unwrap());
            prop_assert!(!canonical || text.as_bytes() == theirs);
        }
        prop_assert_eq!(&to_vec(&value).unwrap(), &theirs);
        match canonicalize(&theirs) {
            Ok(again) => {
                prop_assert_eq!(&again, &theirs);
                prop_assert!(is_canonical(&theirs).unwrap());
                prop_assert_eq!(from_slice_and_form::<canon::Value>(&theirs).unwrap().0, parse(&theirs).unwrap());
                let raw = Raw::of(&value).unwrap();
                prop_assert_eq!(raw.as_bytes(), &theirs);
            }
            // Only a whole float beyond 2^53 - 1 has a form that cannot be read again.
            Err(error) => {
                prop_assert_eq!(error.code, Code::IntRange);
                prop_assert_eq!(Raw::of(&value).unwrap_err().code, Code::IntRange);
            }
        }
    }

    #[test]
    fn types_are_written_as_their_json_is(typed in typed()) {
        let json = serde_json::to_vec(&typed).unwrap();
        prop_assert_eq!(to_vec(&typed).unwrap(), canonicalize(&json).unwrap());
        let canonical = to_vec(&typed).unwrap();
        match from_slice_and_form::<Typed>(&canonical) {
            Ok((again, _)) => prop_assert_eq!(again, typed.clone()),
            Err(error) => prop_assert_eq!(error.code, Code::IntRange),
        }
        let (again, form) = from_slice_and_form::<Typed>(&json).unwrap();
        prop_assert_eq!(again, typed);
        prop_assert!(!form || json == canonical);
    }

    #[test]
    fn texts_are_accepted_as_the_twin_accepts_them(
        text in "([\\[\\]{},:\" ]|0|1|-|\\.|e|E|\\+|a|\\\\u0061|\\\\ud83d|\\\\ude00|\\\\n|null|true|\"a\"|\"b\":|9007199254740991|1e308|\u{e9}){0,12}"
    ) {
        let theirs = serde_json::from_str::<Value>(&text);
        match (parse(text.as_bytes()), theirs) {
            (Ok(_), Ok(theirs)) => {
                let theirs = serde_json_canonicalizer::to_vec(&theirs).unwrap();
                prop_assert_eq!(is_canonical(text.as_bytes()).unwrap(), text.as_bytes() == theirs);
                prop_assert_eq!(canonicalize(text.as_bytes()).unwrap(), theirs);
            }
            (Err(error), Ok(_)) => prop_assert!(matches!(error.code, Code::DuplicateKey | Code::IntRange)),
            (Err(error), Err(_)) => prop_assert_eq!(canonicalize(text.as_bytes()).unwrap_err(), error),
            (Ok(_), Err(theirs)) => prop_assert!(false, "accepted what the twin refuses: {}", theirs),
        }
    }

    /// Strings of every length around the eight bytes that are looked at together.
    #[test]
    fn a_string_ends_at_its_first_quote(before in "[a-z\u{80}-\u{2ff}]{0,20}", stop in "[\"\\\\\u{0}-\u{1f}]", after in "[ -~\u{80}-\u{2ff}]{0,20}") {
        let text = format!("\"{before}{stop}{after}");
        let ours = parse(text.as_bytes());
        let theirs = serde_json::from_str::<Value>(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
    }
}
