//! The part of structured fields (RFC 8941) that signatures use: dictionaries of inner lists and of byte sequences.
//! Stricter than the RFC in one way: a key that is there twice is refused instead of the last one winning.

use crate::{Code, Error, text};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bare {
    Text(String),
    Integer(i64),
    Token(String),
    Bytes(Vec<u8>),
    Bool(bool),
}

pub(super) type Named = Vec<(String, Bare)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) value: Bare,
    pub(super) parameters: Named,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InnerList {
    pub(super) items: Vec<Item>,
    pub(super) parameters: Named,
}

impl InnerList {
    /// The parameter, if it is a string.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find_map(|(key, value)| match value {
            Bare::Text(text) if key == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether every string in it can be written.
    pub(super) fn is_writable(&self) -> bool {
        let good = |value: &Bare| match value {
            Bare::Text(text) => text.bytes().all(is_printable),
            _ => true,
        };
        self.items.iter().all(|item| good(&item.value))
            && self.parameters.iter().all(|(_, value)| good(value))
    }
}

/// A dictionary whose every member is an inner list.
pub(super) fn inner_lists(field: &str) -> Result<Vec<(String, InnerList)>, Error> {
    dictionary(field)?
        .into_iter()
        .map(|(key, member)| match member {
            Member::List(list) => Ok((key, list)),
            Member::Item(_) => Err(malformed("a member is not a list")),
        })
        .collect()
}

/// A dictionary whose every member is a byte sequence. Parameters are read and dropped.
pub(super) fn byte_sequences(field: &str) -> Result<Vec<(String, Vec<u8>)>, Error> {
    dictionary(field)?
        .into_iter()
        .map(|(key, member)| match member {
            Member::Item(Item { value: Bare::Bytes(bytes), .. }) => Ok((key, bytes)),
            _ => Err(malformed("a member is not a byte sequence")),
        })
        .collect()
}

impl fmt::Display for Bare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Token(token) => f.write_str(token),
            Self::Bytes(bytes) => write!(f, ":{}:", text::base64(bytes)),
            Self::Bool(value) => f.write_str(if *value { "?1" } else { "?0" }),
        }
    }
}

impl fmt::Display for InnerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}", item.value)?;
            write_parameters(f, &item.parameters)?;
        }
        f.write_str(")")?;
        write_parameters(f, &self.parameters)
    }
}

enum Member {
    List(InnerList),
    Item(Item),
}

fn write_parameters(f: &mut fmt::Formatter<'_>, parameters: &Named) -> fmt::Result {
    for (name, value) in parameters {
        match value {
            Bare::Bool(true) => write!(f, ";{name}")?,
            value => write!(f, ";{name}={value}")?,
        }
    }
    Ok(())
}

fn dictionary(field: &str) -> Result<Vec<(String, Member)>, Error> {
    let mut reader = Reader { rest: field.trim_matches(' ') };
    let mut members: Vec<(String, Member)> = Vec::new();
    while !reader.rest.is_empty() {
        let key = reader.key()?;
        let member = if !reader.takes('=') {
            Member::Item(Item { value: Bare::Bool(true), parameters: reader.parameters()? })
        } else if reader.rest.starts_with('(') {
            Member::List(reader.inner_list()?)
        } else {
            Member::Item(reader.item()?)
        };
        if members.iter().any(|(other, _)| *other == key) {
            return Err(malformed("a key is there twice"));
        }
        members.push((key, member));
        reader.skip(&[' ', '\t']);
        if reader.rest.is_empty() {
            break;
        }
        if !reader.takes(',') {
            return Err(malformed("members are separated by commas"));
        }
        reader.skip(&[' ', '\t']);
        if reader.rest.is_empty() {
            return Err(malformed("a comma at the end"));
        }
    }
    Ok(members)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn takes(&mut self, symbol: char) -> bool {
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, symbols: &[char]) {
        self.rest = self.rest.trim_start_matches(symbols);
    }

    fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|symbol| !of(symbol)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        run
    }

    /// `[a-z*][a-z0-9_.*-]*`
    fn key(&mut self) -> Result<String, Error> {
        if !self.rest.starts_with(|first: char| first.is_ascii_lowercase() || first == '*') {
            return Err(malformed("a key begins with a lower-case letter"));
        }
        let key = self.run(|symbol| {
            symbol.is_ascii_lowercase() || symbol.is_ascii_digit() || matches!(symbol, '_' | '-' | '.' | '*')
        });
        Ok(key.to_owned())
    }

    fn inner_list(&mut self) -> Result<InnerList, Error> {
        if !self.takes('(') {
            return Err(malformed("a list begins with a parenthesis"));
        }
        let mut items = Vec::new();
        loop {
            self.skip(&[' ']);
            if self.takes(')') {
                return Ok(InnerList { items, parameters: self.parameters()? });
            }
            items.push(self.item()?);
            if !self.rest.starts_with([' ', ')']) {
                return Err(malformed("items of a list are separated by spaces"));
            }
        }
    }

    fn item(&mut self) -> Result<Item, Error> {
        Ok(Item { value: self.bare()?, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> Result<Named, Error> {
        let mut parameters: Named = Vec::new();
        while self.takes(';') {
            self.skip(&[' ']);
            let key = self.key()?;
            let value = if self.takes('=') { self.bare()? } else { Bare::Bool(true) };
            if parameters.iter().any(|(other, _)| *other == key) {
                return Err(malformed("a parameter is there twice"));
            }
            parameters.push((key, value));
        }
        Ok(parameters)
    }

    fn bare(&mut self) -> Result<Bare, Error> {
        match self.rest.chars().next() {
            Some('"') => self.string(),
            Some(':') => self.bytes(),
            Some('?') => match self.rest.split_at_checked(2) {
                Some((value @ ("?0" | "?1"), rest)) => {
                    self.rest = rest;
                    Ok(Bare::Bool(value == "?1"))
                }
                _ => Err(malformed("a boolean is ?0 or ?1")),
            },
            Some('-' | '0'..='9') => self.integer(),
            Some(first) if first.is_ascii_alphabetic() || first == '*' => Ok(Bare::Token(
                self.run(|symbol| symbol.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(symbol))
                    .to_owned(),
            )),
            _ => Err(malformed("not a value")),
        }
    }

    /// At most 15 digits. Decimals are not used here and are refused.
    fn integer(&mut self) -> Result<Bare, Error> {
        let negative = self.takes('-');
        let digits = self.run(|symbol| symbol.is_ascii_digit());
        if digits.is_empty() || digits.len() > 15 || self.rest.starts_with('.') {
            return Err(malformed("not an integer of at most 15 digits"));
        }
        let number: i64 = digits.parse().map_err(|_| malformed("not an integer"))?;
        Ok(Bare::Integer(if negative { -number } else { number }))
    }

    fn string(&mut self) -> Result<Bare, Error> {
        let mut text = String::new();
        let mut symbols = self.rest.char_indices().skip(1);
        while let Some((at, symbol)) = symbols.next() {
            match symbol {
                '"' => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Ok(Bare::Text(text));
                }
                '\\' => match symbols.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    _ => return Err(malformed("a string escapes only quotes and backslashes")),
                },
                symbol if u8::try_from(symbol).is_ok_and(is_printable) => text.push(symbol),
                _ => return Err(malformed("a string is printable ASCII")),
            }
        }
        Err(malformed("a string that does not end"))
    }

    fn bytes(&mut self) -> Result<Bare, Error> {
        let (encoded, rest) = self
            .rest
            .strip_prefix(':')
            .and_then(|rest| rest.split_once(':'))
            .ok_or_else(|| malformed("a byte sequence that does not end"))?;
        self.rest = rest;
        text::from_base64(encoded, Code::BadSignatureField).map(Bare::Bytes)
    }
}

fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

fn malformed(detail: &str) -> Error {
    Error::new(Code::BadSignatureField, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, expected: Option<&str>) {
        let written = inner_lists(field).ok().map(|lists| {
            lists.iter().map(|(key, list)| format!("{key}={list}")).collect::<Vec<_>>().join(", ")
        });
        assert_eq!(written.as_deref(), expected, "{field}");
    }

    #[test]
    fn lists_are_read_and_written_in_one_form() {
        check("", Some(""));
        check("sig=()", Some("sig=()"));
        check("sig=(  \"a\"   \"b\" )", Some("sig=(\"a\" \"b\")"));
        check("sig=(\"a\");created=1;x;y=?1;z=?0", Some("sig=(\"a\");created=1;x;y;z=?0"));
        check("a=(\"x\";key=\"k\") , b=(\"\\\"\\\\\")", Some("a=(\"x\";key=\"k\"), b=(\"\\\"\\\\\")"));
        check("a=(t:o/k *)", Some("a=(t:o/k *)"));
        check("a=(:AQ==:)", Some("a=(:AQ==:)"));
        check("a=(-007)", Some("a=(-7)"));
    }

    #[test]
    fn malformed_fields_are_refused() {
        for field in [
            "sig",
            "sig=",
            "Sig=()",
            "sig=(",
            "sig=(\"a\"\"b\")",
            "sig=(),",
            "sig=() sig2=()",
            "sig=(), sig=()",
            "sig=();a=1;a=2",
            "sig=();created=1.5",
            "sig=();created=1234567890123456",
            "sig=(\"\\n\")",
            "sig=(\"é\")",
            "sig=(:A:)",
            "sig=(:AQ)",
            "sig=(?2)",
            "sig=:AQ==:",
            "sig=();",
            "sig=();A=1",
        ] {
            check(field, None);
        }
    }
}
