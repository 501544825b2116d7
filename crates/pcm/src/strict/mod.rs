//! One strict reading wherever parsers disagree (spec 4.9). What is outside it is not false: it is ambiguous, and proves
//! nothing. Pure functions; each gives the one reading, or says what kind of text it could not read.

mod host;
mod shell;
mod url;

pub use host::{Host, host};
pub use shell::argv;
pub use url::{Url, url};

use canon::{Code, Value};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization as _;

/// What cannot be read in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ambiguous {
    /// A host or a URL.
    Host,
    Path,
    Shell,
    Number,
    Text,
}

/// The largest integer that every JSON parser reads alike, 2^53 - 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// An integer written without fraction, exponent and minus zero, within ±(2^53 - 1).
pub fn number(value: &Value<'_>) -> Result<i64, Ambiguous> {
    let number = value.as_number().filter(|number| number.is_integer_token() && number.token() != "-0");
    let number = number.and_then(canon::Number::as_i64).filter(|value| value.unsigned_abs() <= MAX_INTEGER);
    number.ok_or(Ambiguous::Number)
}

/// Text in Unicode's composed form (NFC), without control and format characters and without line and paragraph
/// separators; so without anything that turns the reading direction.
pub fn text(text: &str) -> Result<&str, Ambiguous> {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.bytes().all(plain) {
        return Ok(text);
    }
    let hidden = |c| matches!(get_general_category(c), Control | Format | LineSeparator | ParagraphSeparator);
    let good = !text.chars().any(hidden) && text.nfc().eq(text.chars());
    if good { Ok(text) } else { Err(Ambiguous::Text) }
}

/// An absolute path: `/` alone parts it, no part is empty, `.` or `..`, no backslash, [`text`].
pub fn path(path: &str) -> Result<&str, Ambiguous> {
    let good = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\') && text(part).is_ok();
    match path.strip_prefix('/') {
        Some(rest) if rest.split('/').all(good) => Ok(path),
        _ => Err(Ambiguous::Path),
    }
}

/// [`path`] in ASCII, as grants name them.
pub fn plain_path(text: &str) -> Result<&str, Ambiguous> {
    path(text).and_then(|path| if path.is_ascii() { Ok(path) } else { Err(Ambiguous::Path) })
}

/// Whether `inner` is `outer` or lies below it, part by part. Both are read by [`path`].
pub fn is_under(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether every number and every text in a value, names of members too, has one reading.
pub fn value(value: &Value<'_>) -> Result<(), Ambiguous> {
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(_) => number(value).map(drop),
        Value::String(string) => lines(string),
        Value::Array(values) => values.iter().try_for_each(self::value),
        Value::Object(object) => object.iter().try_for_each(|(name, member)| {
            lines(name)?;
            self::value(member)
        }),
    }
}

/// The value a JSON Pointer (RFC 6901) leads to. A step into a text goes on inside the strict JSON it holds, as tools
/// often carry it; a text that strict JSON refuses is ambiguous there. `None` where there is no such place.
pub fn pointed<'v>(value: &'v Value<'v>, pointer: &str) -> Result<Option<Value<'v>>, Ambiguous> {
    if let Some(found) = value.pointer(pointer) {
        return Ok(Some(found.clone()));
    }
    let ends = pointer.match_indices('/').map(|(at, _)| at).skip(1).chain([pointer.len()]);
    for (head, rest) in
        ends.filter_map(|at| pointer.split_at_checked(at)).filter(|(_, rest)| !rest.is_empty())
    {
        if let Some(Value::String(text)) = value.pointer(head) {
            let inner = canon::parse(text.as_bytes()).map_err(|error| match error.code {
                Code::NonFinite | Code::IntRange => Ambiguous::Number,
                _ => Ambiguous::Text,
            })?;
            return Ok(inner.pointer(rest).map(Value::to_owned));
        }
    }
    Ok(None)
}

/// [`text`] in which line feeds and tabs stay what they are.
fn lines(string: &str) -> Result<(), Ambiguous> {
    string.split(['\n', '\t']).try_for_each(|part| text(part).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_reading() {
        let check = |input: &str, good: bool| assert_eq!(path(input).is_ok(), good, "{input:?}");
        check("/srv/app/main.py", true);
        check("/srv/a b/übung.txt", true);
        check("/...", true);
        check("/srv/.hidden", true);
        check("/", false);
        check("", false);
        check("srv/app", false);
        check("/srv//app", false);
        check("/srv/app/", false);
        check("/srv/./app", false);
        check("/srv/../app", false);
        check("/srv/..", false);
        check("/srv\\app", false);
        check("/srv/a\u{0}b", false);
        check("/srv/a\nb", false);
        check("/srv/u\u{308}bung", false);
        check("/srv/\u{202e}txt", false);
        check("~/app", false);
        assert!(plain_path("/srv/übung").is_err() && plain_path("/srv/app").is_ok());
    }

    #[test]
    fn below_is_part_by_part() {
        let check = |inner, outer, expected| assert_eq!(is_under(inner, outer), expected, "{inner} {outer}");
        check("/srv/app", "/srv/app", true);
        check("/srv/app/x", "/srv/app", true);
        check("/srv/apple", "/srv/app", false);
        check("/srv", "/srv/app", false);
    }

    #[test]
    fn a_number_is_an_integer_every_parser_holds() {
        let check = |input: &str, expected| {
            assert_eq!(number(&canon::parse(input.as_bytes()).unwrap()), expected, "{input}");
        };
        check("0", Ok(0));
        check("-12", Ok(-12));
        check("9007199254740991", Ok(9_007_199_254_740_991));
        check("1.0", Err(Ambiguous::Number));
        check("1e3", Err(Ambiguous::Number));
        check("-0", Err(Ambiguous::Number));
        check("\"1\"", Err(Ambiguous::Number));
        check("null", Err(Ambiguous::Number));
    }

    #[test]
    fn text_is_composed_and_shows_all_it_has() {
        let check = |input: &str, good: bool| assert_eq!(text(input).is_ok(), good, "{input:?}");
        check("Ana", true);
        check("Zoë", true);
        check("日本語", true);
        check("Zoe\u{308}", false);
        check("a\u{200b}b", false);
        check("a\u{202e}b", false);
        check("a\u{2066}b", false);
        check("a\u{2028}b", false);
        check("a\u{2029}b", false);
        check("a\u{0}b", false);
        check("a\u{ad}b", false);
        check("a\tb", false);
        check("\u{feff}a", false);
    }

    #[test]
    fn a_pointer_goes_on_inside_json_that_a_text_holds() {
        let check = |input: &str, pointer: &str, expected: Result<Option<&str>, Ambiguous>| {
            let value = canon::parse(input.as_bytes()).unwrap();
            let found = pointed(&value, pointer).map(|found| found.map(|v| canon::to_vec(&v).unwrap()));
            assert_eq!(found, expected.map(|text| text.map(|t| t.as_bytes().to_vec())), "{input} {pointer}");
        };
        check(r#"{"a":{"b":[1,2]}}"#, "/a/b/1", Ok(Some("2")));
        check(r#"{"a":"{\"b\":3}"}"#, "/a/b", Ok(Some("3")));
        check(r#"{"a":"{\"b\":3}"}"#, "/a", Ok(Some(r#""{\"b\":3}""#)));
        check(r#"{"a":"{\"b\":1e400}"}"#, "/a/b", Err(Ambiguous::Number));
        check(r#"{"a":"{\"b\":12345678901234567890}"}"#, "/a/b", Err(Ambiguous::Number));
        check(r#"{"a":"{\"b\":1,\"b\":2}"}"#, "/a/b", Err(Ambiguous::Text));
        check(r#"{"a":"no json"}"#, "/a/b", Err(Ambiguous::Text));
        check(r#"{"a":1}"#, "/b", Ok(None));
        check(r#"{"a":1}"#, "", Ok(Some(r#"{"a":1}"#)));
    }
}
