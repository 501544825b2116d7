//! Reads a type straight from the text, with no tree between: the fast way of [`crate::from_slice`]. It accepts only what
//! the tree would give as well. Whatever it refuses is read again by the tree, which knows the code and the place.

use crate::de::{RAW, TOKEN};
use crate::error::Fault;
use crate::lex::{Lexer, Start};
use crate::order::utf16;
use crate::{pass, read};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// What was read, and whether its text is canonical.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Option<(T, bool)> {
    let lexer = Lexer::new(bytes).ok()?;
    let mut reader = Reader { lexer, started: None, names: Vec::new(), in_order: true, guessed: false };
    let mut again = Reader { lexer: reader.lexer.clone(), names: Vec::new(), in_order: false, ..reader };
    match reader.whole() {
        Ok(read) => Some(read),
        Err(Missed) if reader.guessed => again.whole().ok(),
        Err(Missed) => None,
    }
}

/// Something to ask the tree about.
#[derive(Debug)]
struct Missed;

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not read straight from the text")
    }
}

impl std::error::Error for Missed {}

impl de::Error for Missed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }
    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }
}

impl From<Fault> for Missed {
    fn from(_: Fault) -> Self {
        Self
    }
}

struct Reader<'de> {
    lexer: Lexer<'de>,
    /// A value that has been begun and not read.
    started: Option<Start>,
    /// The names of all objects that are open, innermost last.
    names: Vec<&'de str>,
    /// Members of a type are expected where the type has them.
    in_order: bool,
    /// Some were.
    guessed: bool,
}

/// Objects with more members, and out of order, are the tree's.
const MOST: usize = 32;

impl<'de> Reader<'de> {
    #[inline]
    fn whole<T: Deserialize<'de>>(&mut self) -> Result<(T, bool), Missed> {
        let read = T::deserialize(&mut *self)?;
        self.lexer.end()?;
        Ok((read, self.lexer.is_canonical()))
    }

    #[inline]
    fn start(&mut self) -> Result<Start, Missed> {
        match self.started.take() {
            Some(start) => Ok(start),
            None => Ok(self.lexer.start()?),
        }
    }

    /// A member's name, which its object has not had before. Names that ascend are new.
    fn name(&mut self, mark: usize, ascending: &mut bool) -> Result<&'de str, Missed> {
        let Cow::Borrowed(name) = self.lexer.key()? else { return Err(Missed) };
        let before = self.names.get(mark..).unwrap_or_default();
        *ascending &= before.last().is_none_or(|last| utf16(last, name) == Ordering::Less);
        if !*ascending {
            self.lexer.note(false);
            if before.len() >= MOST || before.contains(&name) {
                return Err(Missed);
            }
        }
        self.names.push(name);
        Ok(name)
    }

    fn text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Missed> {
        match self.lexer.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn elements<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Missed> {
        let more = self.lexer.any(b']');
        let mut elements = Elements { reader: self, more };
        let read = visitor.visit_seq(&mut elements)?;
        if elements.more { Err(Missed) } else { Ok(read) }
    }

    fn members<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Missed> {
        let mark = self.names.len();
        let more = self.lexer.any(b'}');
        let mut members = Members { reader: self, mark, ascending: true, more, due: false };
        let read = visitor.visit_map(&mut members)?;
        if members.more || members.due {
            return Err(Missed);
        }
        self.names.truncate(mark);
        Ok(read)
    }

    /// An object whose members come as its type has them: what is absent is passed over, and nothing else is there.
    fn fields<V: Visitor<'de>>(
        &mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Missed> {
        self.guessed = true;
        let more = self.lexer.any(b'}');
        let mut rest = Fields { reader: self, names: fields.iter(), more };
        let read = visitor.visit_seq(&mut rest)?;
        // A type with aliases has more names than members.
        if rest.more || rest.names.next().is_some() { Err(Missed) } else { Ok(read) }
    }
}

/// Whether a type has its members in the order of the canonical form. In text they are then each there once.
fn ascend(names: &[&str]) -> bool {
    names.is_sorted_by(|one, two| utf16(one, two) == Ordering::Less)
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Missed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        match self.start()? {
            Start::Null => visitor.visit_unit(),
            Start::True => visitor.visit_bool(true),
            Start::False => visitor.visit_bool(false),
            Start::Number => {
                let numeral = self.lexer.number()?;
                match numeral.float {
                    Some(value) => visitor.visit_f64(value),
                    None => match numeral.token.parse::<i64>() {
                        Ok(value) => match u64::try_from(value) {
                            Ok(value) => visitor.visit_u64(value),
                            Err(_) => visitor.visit_i64(value),
                        },
                        Err(_) => Err(Missed),
                    },
                }
            }
            Start::String => self.text(visitor),
            Start::Array => self.elements(visitor),
            Start::Object => self.members(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        if self.started.is_none() && self.lexer.is_string() {
            self.text(visitor)
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        match self.start()? {
            Start::Null => visitor.visit_none(),
            start => {
                self.started = Some(start);
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Missed> {
        if name == RAW && self.started.is_none() {
            // JSON has no bytes, so the visitor of canonical text takes bytes for it.
            if let Some(text) = pass::next(&mut self.lexer) {
                return visitor.visit_byte_buf(text.as_bytes().to_vec());
            }
            self.lexer.note(false);
            let canonical = crate::write::value(&mut self.lexer)?;
            // It may be one that cannot be read.
            if !pass::whole(&canonical) {
                return Err(Missed);
            }
            return visitor.visit_byte_buf(canonical);
        }
        if name == TOKEN {
            match self.start()? {
                // As the tree does: the token, as bytes.
                Start::Number => return visitor.visit_bytes(self.lexer.number()?.token.as_bytes()),
                start => self.started = Some(start),
            }
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Missed> {
        match self.start()? {
            Start::String => match self.lexer.string()? {
                Cow::Borrowed(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
                Cow::Owned(text) => visitor.visit_enum(text.into_deserializer()),
            },
            Start::Object if self.lexer.any(b'}') => {
                let Cow::Borrowed(variant) = self.lexer.key()? else { return Err(Missed) };
                let read = visitor.visit_enum(Variant { variant, reader: self })?;
                if self.lexer.more(b'}')? { Err(Missed) } else { Ok(read) }
            }
            _ => Err(Missed),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        if self.started.is_some() {
            return Err(Missed);
        }
        if pass::next(&mut self.lexer).is_none() {
            self.lexer.note(false);
            read::value(&mut self.lexer)?;
        }
        visitor.visit_unit()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Missed> {
        match self.start()? {
            Start::Object if self.in_order && ascend(fields) => self.fields(fields, visitor),
            Start::Object => self.members(visitor),
            Start::Array => Err(Missed),
            start => {
                self.started = Some(start);
                self.deserialize_any(visitor)
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// The members of a type, each at its place.
struct Fields<'r, 'de> {
    reader: &'r mut Reader<'de>,
    names: std::slice::Iter<'static, &'static str>,
    more: bool,
}

impl<'de> de::SeqAccess<'de> for &mut Fields<'_, 'de> {
    type Error = Missed;

    /// `None` where the member is absent: only what need not be there goes on then.
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Missed> {
        let name = self.names.next().ok_or(Missed)?;
        if !self.more || !self.reader.lexer.is_key(name) {
            return Ok(None);
        }
        let read = seed.deserialize(&mut *self.reader)?;
        self.more = self.reader.lexer.more(b'}')?;
        Ok(Some(read))
    }
}

struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    more: bool,
}

impl<'de> de::SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = Missed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Missed> {
        if !self.more {
            return Ok(None);
        }
        let read = seed.deserialize(&mut *self.reader)?;
        self.more = self.reader.lexer.more(b']')?;
        Ok(Some(read))
    }
}

struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    mark: usize,
    ascending: bool,
    more: bool,
    /// A name has been read, and not its value.
    due: bool,
}

impl<'de> de::MapAccess<'de> for &mut Members<'_, 'de> {
    type Error = Missed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Missed> {
        if !self.more || self.due {
            return if self.due { Err(Missed) } else { Ok(None) };
        }
        let name = self.reader.name(self.mark, &mut self.ascending)?;
        self.due = true;
        seed.deserialize(Key(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Missed> {
        let read = seed.deserialize(&mut *self.reader)?;
        self.more = self.reader.lexer.more(b'}')?;
        self.due = false;
        Ok(read)
    }
}

/// A member's name: a text and nothing else.
struct Key<'de>(&'de str);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Missed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Missed> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Missed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Missed> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant with its content: an object of one member.
struct Variant<'r, 'de> {
    variant: &'de str,
    reader: &'r mut Reader<'de>,
}

impl<'r, 'de> de::EnumAccess<'de> for Variant<'r, 'de> {
    type Error = Missed;
    type Variant = Content<'r, 'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant), Missed> {
        Ok((seed.deserialize(Key(self.variant))?, Content(self.reader)))
    }
}

struct Content<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::VariantAccess<'de> for Content<'_, 'de> {
    type Error = Missed;

    fn unit_variant(self) -> Result<(), Missed> {
        Err(Missed)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Missed> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Missed> {
        self.0.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Missed> {
        self.0.deserialize_struct("", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, canonicalize, from_value, parse};
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        a: u32,
        #[serde(default)]
        b: Option<String>,
        #[serde(default)]
        c: Vec<Kind>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Loose {
        a: i8,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Renamed {
        #[serde(default, alias = "b")]
        a: Option<u8>,
        #[serde(default)]
        c: Option<u8>,
        #[serde(default, rename = "d")]
        last: u8,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Unit,
        One(u8),
        Two(u8, u8),
        Named { x: bool },
    }

    /// What is read straight is what the tree gives, for every type and text; and of good texts nothing is missed.
    #[test]
    fn it_reads_what_the_tree_reads() {
        fn one<T: for<'de> Deserialize<'de> + PartialEq + fmt::Debug>(text: &str) -> usize {
            let tree = parse(text.as_bytes()).and_then(from_value::<T>);
            let straight = read::<T>(text.as_bytes());
            if let Some((straight, canonical)) = &straight {
                assert_eq!(tree.as_ref().ok(), Some(straight), "{text}");
                assert_eq!(canonicalize(text.as_bytes()).unwrap() == text.as_bytes(), *canonical, "{text}");
            }
            usize::from(straight.is_some())
        }
        fn all(text: &str) -> [usize; 5] {
            one::<Renamed>(text);
            [
                one::<Strict>(text),
                one::<Loose>(text),
                one::<Kind>(text),
                one::<Value<'static>>(text),
                one::<BTreeMap<String, Option<f64>>>(text),
            ]
        }
        for (text, expected) in [
            (r#"{"a":1}"#, [1, 1, 0, 1, 1]),
            (r#"{"a":1,"b":null}"#, [1, 1, 0, 1, 1]),
            (r#" {"b":"x\u00e9\n", "a" : 4294967295 } "#, [1, 0, 0, 1, 0]),
            (r#"{"a":1,"c":["unit",{"one":7},{"two":[1,2]},{"named":{"x":true}}]}"#, [1, 1, 0, 1, 0]),
            (r#"{"b":1,"c":2,"d":3}"#, [0, 0, 0, 1, 1]),
            (r#"{"a":1,"b":"2","c":[]}"#, [1, 1, 0, 1, 0]),
            (r#"{"a":1,"d":2}"#, [0, 1, 0, 1, 1]),
            (r#"{"c":[],"a":1}"#, [1, 1, 0, 1, 0]),
            (r#"{"a":-0}"#, [1, 1, 0, 1, 1]),
            (r#"{"a":1.0}"#, [0, 0, 0, 1, 1]),
            (r#"{"a":1,"a":1}"#, [0, 0, 0, 0, 0]),
            (r#"{"a":1,"x":{"y":1,"y":1}}"#, [0, 0, 0, 0, 0]),
            (r#"{"a":1,"x":{"y":[1,{"z":null}]}}"#, [0, 1, 0, 1, 0]),
            (r#"{"a":1,"\u0061":1}"#, [0, 0, 0, 0, 0]),
            (r#"{"a":9007199254740992}"#, [0, 0, 0, 0, 0]),
            (r#"{"a":1}x"#, [0, 0, 0, 0, 0]),
            (r#"{"a":1,}"#, [0, 0, 0, 0, 0]),
            (r#"{"one":1,"two":2}"#, [0, 0, 0, 1, 1]),
            (r#"{"one":256}"#, [0, 0, 0, 1, 1]),
            (r#"{"two":[1,2,3]}"#, [0, 0, 0, 1, 0]),
            (r#"{"named":[true]}"#, [0, 0, 0, 1, 0]),
            ("[1]", [0, 0, 0, 1, 0]),
            (r#"{"unit":null}"#, [0, 0, 0, 1, 1]),
            (r#""unit""#, [0, 0, 1, 1, 0]),
            (r#""\u0075nit""#, [0, 0, 1, 1, 0]),
            (r#"["\ud800"]"#, [0, 0, 0, 0, 0]),
            ("[1,2]", [0, 0, 0, 1, 0]),
            ("1e400", [0, 0, 0, 0, 0]),
            ("{}", [0, 0, 0, 1, 1]),
            ("", [0, 0, 0, 0, 0]),
        ] {
            assert_eq!(all(text), expected, "{text}");
        }
        let wide: String = (0..40).map(|n| format!(r#""k{n}":{n},"#)).collect();
        assert_eq!(all(&format!("{{{}}}", wide.trim_end_matches(',')))[3], 0, "the tree's");
        let deep = "[".repeat(129) + &"]".repeat(129);
        assert_eq!(all(&deep)[3], 0);
    }
}
