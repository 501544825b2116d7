//! How inbound values become text (spec 2.1, 2.2).

use canon::Value;
use std::borrow::Cow;

/// Characters (UTF-16 code units) a text is cut to.
pub mod limit {
    pub const TOPIC: usize = 160;
    pub const SEAT_NAME: usize = 80;
    pub const NAME: usize = 80;
    pub const ROLE: usize = 120;
    pub const ORG: usize = 120;
    pub const GOAL: usize = 400;
    pub const CLAUSE: usize = 300;
    pub const CLAIM: usize = 400;
    pub const REF: usize = 160;
    pub const CLAIM_ID: usize = 20;
    pub const REASON: usize = 300;
    pub const TERM: usize = 300;
    pub const MESSAGE: usize = 1500;
    pub const QUESTION: usize = 400;
    pub const ANSWER: usize = 1000;
    pub const AGENT: usize = 60;
    pub const DRAFT: usize = 4000;
}

/// The value's text, trimmed, then cut to `max` UTF-16 code units. Numbers and booleans become their text, an array of
/// such its comma-joined text; everything else is empty.
pub fn text(value: Option<&Value<'_>>, max: usize) -> String {
    let whole = match value {
        Some(Value::Array(items)) => {
            let parts: Option<Vec<_>> = items.iter().map(primitive).collect();
            Cow::Owned(parts.unwrap_or_default().join(","))
        }
        Some(value) => primitive(value).unwrap_or_default(),
        None => Cow::Borrowed(""),
    };
    cut(trim(&whole), max).to_owned()
}

/// The items of a list: an array, or a text split at line ends. Each is cut to `max`; empty ones are dropped, and so is
/// what comes after `items` of them.
pub fn list(value: Option<&Value<'_>>, items: usize, max: usize) -> Vec<String> {
    let all: Vec<String> = match value {
        Some(Value::Array(values)) => values.iter().map(|value| text(Some(value), max)).collect(),
        Some(Value::String(lines)) => lines.split('\n').map(|line| cut(trim(line), max).to_owned()).collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|item| !item.is_empty()).take(items).collect()
}

/// What ECMAScript's `trim` removes: white space and line ends, U+FEFF among them, U+0085 not.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// The longest prefix of at most `max` UTF-16 code units that ends between characters.
pub fn cut(text: &str, max: usize) -> &str {
    let mut units = 0_usize;
    for (at, c) in text.char_indices() {
        units = units.saturating_add(c.len_utf16());
        if units > max {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

fn primitive<'v>(value: &'v Value<'_>) -> Option<Cow<'v, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        // The canonical spelling of a number is ECMAScript's.
        Value::Number(_) => {
            canon::to_vec(value).ok().and_then(|text| String::from_utf8(text).ok()).map(Cow::Owned)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_text() {
        let check = |json: &str, max: usize, expected: &str| {
            let value = canon::parse(json.as_bytes()).unwrap();
            assert_eq!(text(Some(&value), max), expected, "{json}");
        };
        check(r#""  a b ""#, 9, "a b");
        check(r#""\ufeff\u00a0a\u2029""#, 9, "a");
        check(r#""\u0085a""#, 9, "\u{85}a");
        check("12.50", 9, "12.5");
        check("1e21", 9, "1e+21");
        check("true", 9, "true");
        check(r#"["a",1,false]"#, 9, "a,1,false");
        check(r#"[["a"]]"#, 9, "");
        check(r#"[{}]"#, 9, "");
        check("{}", 9, "");
        check("null", 9, "");
        check(r#""abcd""#, 3, "abc");
        check(r#""ab😀""#, 3, "ab");
        check(r#""ab😀""#, 4, "ab😀");
        assert_eq!(text(None, 9), "");
    }

    #[test]
    fn lists_are_arrays_or_lines() {
        let check = |json: &str, expected: &[&str]| {
            let value = canon::parse(json.as_bytes()).unwrap();
            assert_eq!(list(Some(&value), 3, 4), expected, "{json}");
        };
        check(r#"["a","",{},"b","c","d"]"#, &["a", "b", "c"]);
        check(r#""one\n\n two \r\nthree""#, &["one", "two", "thre"]);
        check("7", &[]);
    }
}
