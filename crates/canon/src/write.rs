use crate::error::Fault;
use crate::lex::{Lexer, Numeral, Start, plain_run};
use crate::order::Members;
use crate::{Error, pass};
use std::borrow::Cow;

/// Strict JSON to its RFC 8785 form, straight from token to byte. Refuses exactly what [`crate::parse`] refuses.
///
/// The form of a float that happens to be whole and beyond 2^53 - 1 (`1e20`) is an integer token which the reader
/// refuses: such a form can be hashed but not read again. [`crate::Raw`] refuses it.
pub fn canonicalize(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    if pass::whole(bytes) {
        return Ok(bytes.to_vec());
    }
    let mut lexer = Lexer::new(bytes)?;
    let mut writer =
        Writer { lexer: &mut lexer, out: Vec::with_capacity(bytes.len()), members: Members::default() };
    writer.value()?;
    let out = writer.out;
    lexer.end()?;
    Ok(out)
}

/// The canonical form of the next value of a text.
pub(crate) fn value(lexer: &mut Lexer<'_>) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer { lexer, out: Vec::with_capacity(512), members: Members::default() };
    writer.value()?;
    Ok(writer.out)
}

struct Writer<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    out: Vec<u8>,
    members: Members<'a>,
}

impl Writer<'_, '_> {
    fn value(&mut self) -> Result<(), Fault> {
        match self.lexer.start()? {
            Start::String => {
                let start = self.lexer.at();
                let text = self.lexer.string()?;
                // Written without an escape, a string is its own canonical form.
                match text {
                    Cow::Borrowed(_) => self.out.extend_from_slice(self.lexer.since(start).as_bytes()),
                    Cow::Owned(text) => string(&mut self.out, &text),
                }
            }
            Start::Number => numeral(&mut self.out, &self.lexer.number()?),
            Start::Object => self.object()?,
            Start::Array => self.array()?,
            Start::Null => self.out.extend_from_slice(b"null"),
            Start::True => self.out.extend_from_slice(b"true"),
            Start::False => self.out.extend_from_slice(b"false"),
        }
        Ok(())
    }

    fn array(&mut self) -> Result<(), Fault> {
        self.out.push(b'[');
        let mut more = self.lexer.any(b']');
        let mut index = 0_usize;
        while more {
            self.value().map_err(|fault| fault.inside(index))?;
            more = self.lexer.more(b']')?;
            if more {
                self.out.push(b',');
            }
            index += 1;
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self) -> Result<(), Fault> {
        self.out.push(b'{');
        let mark = self.members.mark();
        let mut more = self.lexer.any(b'}');
        while more {
            let start = self.out.len();
            let key = self.lexer.key()?;
            match &key {
                Cow::Borrowed(plain) => quoted(&mut self.out, plain),
                Cow::Owned(text) => string(&mut self.out, text),
            }
            self.out.push(b':');
            if let Err(fault) = self.value() {
                return Err(fault.inside(key));
            }
            self.members.push(key, start, self.out.len());
            more = self.lexer.more(b'}')?;
            if more {
                self.out.push(b',');
            }
        }
        self.members.close(mark, &mut self.out)?;
        self.out.push(b'}');
        Ok(())
    }
}

/// Writes a number token (RFC 8785, 3.2.2.3).
fn numeral(out: &mut Vec<u8>, numeral: &Numeral<'_>) {
    match numeral.float {
        Some(value) => float(out, value),
        None if numeral.token == "-0" => out.push(b'0'),
        // An integer token has no leading zeros and fits, so it is its own canonical form.
        None => out.extend_from_slice(numeral.token.as_bytes()),
    }
}

/// Writes a finite double as ECMAScript's Number::toString does, which RFC 8785 makes the form of numbers. `ryu-js` is
/// that algorithm, kept by the Boa engine and run against its conformance suite; `ryu` and the standard library
/// choose other exponents.
pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

/// Writes a string, escaping only what must be (RFC 8785, 3.2.2.2).
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escaped(out, text);
    out.push(b'"');
}

/// The inside of a string.
pub(crate) fn escaped(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text.as_bytes();
    loop {
        let (plain, after) = rest.split_at_checked(plain_run(rest)).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = after.split_first() else { return };
        rest = after;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x0d => out.extend_from_slice(b"\\r"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend([byte >> 4, byte & 15].iter().filter_map(|&digit| HEX.get(usize::from(digit))));
            }
        }
    }
}

fn quoted(out: &mut Vec<u8>, plain: &str) {
    out.push(b'"');
    out.extend_from_slice(plain.as_bytes());
    out.push(b'"');
}
