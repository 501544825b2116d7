//! Goes over canonical text without keeping any of it.

use crate::lex::{Lexer, Start};
use crate::order::utf16;
use crate::{Error, canonicalize};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Whether strict JSON is in its RFC 8785 form. Refuses what [`crate::parse`] refuses.
pub fn is_canonical(bytes: &[u8]) -> Result<bool, Error> {
    if whole(bytes) { Ok(true) } else { Ok(canonicalize(bytes)? == bytes) }
}

/// Whether the bytes are canonical JSON that can be read.
pub(crate) fn whole(bytes: &[u8]) -> bool {
    let Ok(mut lexer) = Lexer::new(bytes) else { return false };
    next(&mut lexer).is_some_and(|text| text.len() == bytes.len())
}

/// The text of the next value if it is canonical. Where it is not, or is at fault, nothing is read.
pub(crate) fn next<'a>(lexer: &mut Lexer<'a>) -> Option<&'a str> {
    let before = lexer.clone();
    let start = lexer.value_at();
    let noted = lexer.is_canonical();
    lexer.note(true);
    if value(lexer).is_some() {
        lexer.note(noted);
        Some(lexer.since(start))
    } else {
        *lexer = before;
        None
    }
}

fn value(lexer: &mut Lexer<'_>) -> Option<()> {
    match lexer.start().ok()? {
        Start::String => lexer.pass_string().ok()?,
        Start::Number => lexer.number().map(drop).ok()?,
        Start::Object => object(lexer)?,
        Start::Array => {
            let mut more = lexer.any(b']');
            while more {
                value(lexer)?;
                more = lexer.more(b']').ok()?;
            }
        }
        Start::Null | Start::True | Start::False => {}
    }
    lexer.is_canonical().then_some(())
}

/// Names that ascend are names that differ.
fn object(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut last: Option<Cow<'_, str>> = None;
    let mut more = lexer.any(b'}');
    while more {
        let name = lexer.key().ok()?;
        if last.is_some_and(|last| utf16(&last, &name) != Ordering::Less) {
            return None;
        }
        last = Some(name);
        value(lexer)?;
        more = lexer.more(b'}').ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    /// What is passed over is what the writer would write.
    #[test]
    fn canonical_text_is_passed_over() {
        let check = |text: &str, expected: Result<bool, Code>| {
            assert_eq!(is_canonical(text.as_bytes()).map_err(|error| error.code), expected, "{text}");
            assert_eq!(whole(text.as_bytes()), expected == Ok(true), "{text}");
        };
        for (text, expected) in [
            (r#"{"a":[1,-2,true,null,"x"],"b":{},"c":[]}"#, true),
            (r#"{"b":1,"a":1}"#, false),
            (r#"[{"b":1,"a":1}]"#, false),
            ("{\"\u{1f600}\":1,\"\u{fb33}\":2}", true),
            ("{\"\u{fb33}\":2,\"\u{1f600}\":1}", false),
            (r#"{"\u0061":1}"#, false),
            (r#""\"\\\b\t\n\f\r\u0000\u001f/""#, true),
            (r#""\u001F""#, false),
            (r#""\u0008""#, false),
            (r#""\/""#, false),
            (r#""\u00e9""#, false),
            (r#""\ud83d\ude00""#, false),
            ("0.5", true),
            ("1e+21", true),
            ("1e21", false),
            ("1.0", false),
            ("1e5", false),
            ("0.0000010", false),
            ("-0", false),
            ("[1, 2]", false),
            ("[1 ,2]", false),
            (" 1", false),
            ("1\n", false),
        ] {
            check(text, Ok(expected));
        }
        check(r#"{"a":1,"a":1}"#, Err(Code::DuplicateKey));
        check(r#"{"a":1,"b":1,"a":1}"#, Err(Code::DuplicateKey));
        check("[9007199254740992]", Err(Code::IntRange));
        check(r#"["\ud800"]"#, Err(Code::LoneSurrogate));
        check("[\"\u{1}\"]", Err(Code::Syntax));
        check(r#"["\x"]"#, Err(Code::Syntax));
        check("[\"", Err(Code::Syntax));
        check("[1]]", Err(Code::Syntax));
        check("", Err(Code::Syntax));
        check(&("[".repeat(129) + &"]".repeat(129)), Err(Code::Depth));
        assert_eq!(is_canonical(b"\xff").map_err(|error| error.code), Err(Code::InvalidUtf8));
    }
}
