//! The tokenizer under every reader of this crate.

use crate::error::Fault;
use crate::{Code, MAX_DEPTH};
use std::borrow::Cow;

/// A position in one text. The whole text is checked to be UTF-8 before the first token; after that the first
/// fault in reading order is the one reported.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether all tokens so far are written as RFC 8785 writes them. Says nothing of the order of members.
    canonical: bool,
}

/// A number token: as written, and its value unless it is an integer token.
pub(crate) struct Numeral<'a> {
    pub(crate) token: &'a str,
    pub(crate) float: Option<f64>,
}

/// What the next token begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Object,
    Array,
    String,
    Number,
    Null,
    True,
    False,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { text, at: 0, depth: 0, canonical: true }),
            Err(error) => {
                Err(Fault::at_byte(Code::InvalidUtf8, error.valid_up_to(), "the text is not UTF-8"))
            }
        }
    }

    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Where the next value begins.
    pub(crate) fn value_at(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    #[inline]
    pub(crate) const fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// From here on: whatever was read before, or that something is not canonical.
    #[inline]
    pub(crate) const fn note(&mut self, canonical: bool) {
        self.canonical = canonical;
    }

    /// Whether a string is next, with no blank before it.
    #[inline]
    pub(crate) fn is_string(&self) -> bool {
        self.peek() == Some(b'"')
    }

    /// The text from `start` to here.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Skips blanks and tells what follows, consuming the bracket of a container and all of a literal.
    #[inline]
    pub(crate) fn start(&mut self) -> Result<Start, Fault> {
        match self.skip_blanks() {
            Some(b'"') => Ok(Start::String),
            Some(b'{') => self.enter(Start::Object),
            Some(b'[') => self.enter(Start::Array),
            Some(b'0'..=b'9') => Ok(Start::Number),
            Some(b'-') if !self.follows("-Infinity") => Ok(Start::Number),
            Some(b'n') => self.literal("null", Start::Null),
            Some(b't') => self.literal("true", Start::True),
            Some(b'f') => self.literal("false", Start::False),
            _ if ["NaN", "Infinity", "-Infinity"].iter().any(|word| self.follows(word)) => {
                Err(Fault::new(Code::NonFinite, "a number is not finite"))
            }
            _ => Err(self.syntax("a value was expected")),
        }
    }

    /// Before the first element of a container: `false` (and the bracket consumed) if there is none.
    #[inline]
    pub(crate) fn any(&mut self, close: u8) -> bool {
        let empty = self.skip_blanks() == Some(close);
        if empty {
            self.leave();
        }
        !empty
    }

    /// After an element: whether a comma announces another, else the bracket is consumed.
    #[inline]
    pub(crate) fn more(&mut self, close: u8) -> Result<bool, Fault> {
        match self.skip_blanks() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.leave();
                Ok(false)
            }
            _ => Err(self.syntax("a comma or a closing bracket was expected")),
        }
    }

    /// Consumes a member's name and the colon after it if they are `name`, without an escape or a blank. `name` needs no
    /// escape.
    #[inline]
    pub(crate) fn is_key(&mut self, name: &str) -> bool {
        let after = self.rest().strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(name.as_bytes()));
        let is = after.is_some_and(|after| after.starts_with(b"\":"));
        if is {
            self.at += name.len() + 3;
        }
        is
    }

    /// A member's name and the colon after it.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>, Fault> {
        if let Some(text) = self.text.get(self.at..).and_then(|rest| rest.strip_prefix('"'))
            && let Some((name, after)) = text.split_at_checked(plain_run(text.as_bytes()))
            && after.as_bytes().starts_with(b"\":")
        {
            self.at += name.len() + 3;
            return Ok(Cow::Borrowed(name));
        }
        if self.skip_blanks() != Some(b'"') {
            return Err(self.syntax("a name in quotes was expected"));
        }
        let key = self.string()?;
        if self.skip_blanks() != Some(b':') {
            return Err(self.syntax("a colon was expected"));
        }
        self.at += 1;
        Ok(key)
    }

    /// A string whose opening quote is next, decoded. Borrowed if and only if it was written without an escape.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let run = plain_run(rest.as_bytes());
        self.at += run;
        match rest.split_at_checked(run) {
            Some((plain, after)) if after.as_bytes().first() == Some(&b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(plain))
            }
            _ => self.escaped(start).map(Cow::Owned),
        }
    }

    /// The same, checked and not decoded.
    #[inline]
    pub(crate) fn pass_string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            self.at += plain_run(self.rest());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.escape().map(drop)?,
            }
        }
    }

    /// A number whose first character is next.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Numeral<'a>, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let integer = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.text.as_bytes().get(integer) == Some(&b'0') {
            self.at = integer;
            return Err(self.syntax("a number must not begin with zeros"));
        }
        let mut fractional = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            fractional = true;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
            fractional = true;
        }
        let token = self.since(start);
        let numeral = if fractional { float(token) } else { integral(token, digits) }?;
        self.canonical = self.canonical
            && match numeral.float {
                Some(value) => ryu_js::Buffer::new().format_finite(value) == token,
                None => token != "-0",
            };
        Ok(numeral)
    }

    /// Nothing but blanks may follow.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        match self.skip_blanks() {
            None => Ok(()),
            Some(_) => Err(self.syntax("the text goes on after its value")),
        }
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => {
                    self.at += 1;
                    self.canonical = false;
                }
                next => return next,
            }
        }
    }

    fn follows(&self, word: &str) -> bool {
        self.rest().starts_with(word.as_bytes())
    }

    fn literal(&mut self, word: &str, start: Start) -> Result<Start, Fault> {
        if !self.follows(word) {
            return Err(self.syntax("a value was expected"));
        }
        self.at += word.len();
        Ok(start)
    }

    fn enter(&mut self, start: Start) -> Result<Start, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.at += 1;
        Ok(start)
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax("a digit was expected")) } else { Ok(self.at - start) }
    }

    /// The rest of a string that has an escape (or a fault) at the current place.
    fn escaped(&mut self, start: usize) -> Result<String, Fault> {
        let mut decoded = String::new();
        // What follows it is not in `decoded` yet.
        let mut start = start;
        loop {
            decoded.push_str(self.since(start));
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(decoded);
            }
            start = self.at + 1;
            match self.escape()? {
                // Behind its backslash it stands as itself, and goes with what follows.
                '"' | '\\' if self.at == start + 1 => {}
                other => {
                    decoded.push(other);
                    start = self.at;
                }
            }
            self.at += plain_run(self.rest());
        }
    }

    /// What the escape that is next stands for.
    fn escape(&mut self) -> Result<char, Fault> {
        match self.peek() {
            Some(b'\\') => self.at += 1,
            Some(_) => return Err(self.syntax("a control character must be escaped")),
            None => return Err(self.syntax("the string does not end")),
        }
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\')) => char::from(byte),
            Some(b'/') => {
                self.canonical = false;
                '/'
            }
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.syntax("no such escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `uXXXX`, and the low half that must follow a high one.
    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.unit()?;
        if let Some(scalar) = char::from_u32(first) {
            return Ok(scalar);
        }
        if first < 0xdc00 && self.follows("\\u") {
            self.at += 1;
            let second = self.unit()?;
            if (0xdc00..0xe000).contains(&second) {
                let scalar = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(scalar).ok_or_else(lone);
            }
        }
        Err(lone())
    }

    /// `uXXXX` as one UTF-16 code unit.
    fn unit(&mut self) -> Result<u32, Fault> {
        self.at += 1;
        let start = self.at;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.syntax("four hex digits were expected")) };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        let short = matches!(unit, 0x08..=0x0a | 0x0c | 0x0d);
        let lower = !self.since(start).bytes().any(|byte| byte.is_ascii_uppercase());
        self.canonical &= unit < 0x20 && !short && lower;
        Ok(unit)
    }

    #[cold]
    fn syntax(&self, detail: &'static str) -> Fault {
        Fault::at_byte(Code::Syntax, self.at, detail)
    }
}

#[cold]
pub(crate) fn too_deep() -> Fault {
    Fault::new(Code::Depth, "arrays and objects are nested more than 128 deep")
}

/// 2^53 - 1, the largest integer that every reader of JSON keeps (RFC 7493, 2.2).
pub(crate) const MAX_INTEGER: u64 = 9_007_199_254_740_991;

#[cold]
pub(crate) fn out_of_range() -> Fault {
    Fault::new(Code::IntRange, "an integer is beyond 2^53 - 1")
}

#[cold]
fn lone() -> Fault {
    Fault::new(Code::LoneSurrogate, "half of a surrogate pair stands alone")
}

fn float(token: &str) -> Result<Numeral<'_>, Fault> {
    match token.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Numeral { token, float: Some(value) }),
        _ => Err(Fault::new(Code::NonFinite, "a number is not finite")),
    }
}

fn integral(token: &str, digits: usize) -> Result<Numeral<'_>, Fault> {
    let magnitude = token.strip_prefix('-').unwrap_or(token);
    // 15 digits cannot exceed the bound, so the common token needs no arithmetic.
    let good = digits < 16 || digits == 16 && magnitude.parse().is_ok_and(|value: u64| value <= MAX_INTEGER);
    if good { Ok(Numeral { token, float: None }) } else { Err(out_of_range()) }
}

/// How many bytes come before the first quote, backslash or control character. Eight at a time: in each byte of
/// `hit` the top bit says whether that byte of the word is one of the three; bits above the first may be wrong, so
/// only the first is used. Control characters and the quote are those that are at most 0x20 with bit 1 turned.
#[inline]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, tail) = bytes.as_chunks::<8>();
    let mut run = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let turned = word ^ (ONES * 0x02);
        let slash = word ^ (ONES * 0x5c);
        let hit = (turned.wrapping_sub(ONES * 0x21) & !turned) | (slash.wrapping_sub(ONES) & !slash);
        let hit = hit & (ONES * 0x80);
        if hit != 0 {
            return run + usize::try_from(hit.trailing_zeros() / 8).unwrap_or_default();
        }
        run += 8;
    }
    run + tail.iter().take_while(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\')).count()
}
