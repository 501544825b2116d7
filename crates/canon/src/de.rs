use crate::error::Fault;
use crate::read::{Number, Object, Value, parse};
use crate::{Code, Error, Raw};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::fmt;

/// Reads strict JSON into a type. What is no strict JSON is refused with its code, before the type is looked at; what
/// is of another shape is refused with [`Code::Shape`] and the place. An integer is only read from an integer token.
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    from_slice_and_form(bytes).map(|(read, _)| read)
}

/// As [`from_slice`], and whether the bytes are known to be canonical (RFC 8785). A type whose values have one spelling each
/// need not be written again to be hashed then.
pub fn from_slice_and_form<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, bool), Error> {
    match crate::stream::read(bytes) {
        Some(read) => Ok(read),
        None => from_value(parse(bytes)?).map(|read| (read, false)),
    }
}

/// Reads a value into a type, as [`from_slice`].
pub fn from_value<'de, T: Deserialize<'de>>(value: Value<'de>) -> Result<T, Error> {
    T::deserialize(Reader(value)).map_err(Error::from)
}

/// The name under which [`Value`] asks for a token instead of a machine number.
pub(crate) const TOKEN: &str = "$canon::Value";

/// The name under which [`Raw`] asks for canonical text.
pub(crate) const RAW: &str = "$canon::Raw";

struct Reader<'de>(Value<'de>);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64()),
            },
            Value::String(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Value::String(Cow::Owned(text)) => visitor.visit_string(text),
            Value::Array(values) => elements(values, visitor),
            Value::Object(object) => members(object, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            // JSON has no bytes, so the visitor of a value takes bytes for a number token.
            Value::Number(number) if name == TOKEN => visitor.visit_bytes(number.token().as_bytes()),
            value => visitor.visit_newtype_struct(Self(value)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(Variant { variant, content: None }),
            Value::Object(object) => {
                let mut members = object.0.into_iter();
                match (members.next(), members.next()) {
                    (Some((variant, content)), None) => {
                        visitor.visit_enum(Variant { variant, content: Some(content) })
                    }
                    _ => Err(Fault::new(Code::Shape, "an object with exactly one member was expected")),
                }
            }
            _ => Err(Fault::new(Code::Shape, "a string or an object with one member was expected")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    /// What has named members is an object, though a derived reader would take a list of their values.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Array(_) => Err(Fault::new(Code::Shape, "an object was expected")),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier
    }
}

fn elements<'de, V: Visitor<'de>>(values: Vec<Value<'de>>, visitor: V) -> Result<V::Value, Fault> {
    let mut elements = Elements { rest: values.into_iter(), index: 0 };
    let read = visitor.visit_seq(&mut elements)?;
    if elements.rest.len() == 0 {
        Ok(read)
    } else {
        Err(Fault::new(Code::Shape, format!("at most {} elements were expected", elements.index)))
    }
}

fn members<'de, V: Visitor<'de>>(object: Object<'de>, visitor: V) -> Result<V::Value, Fault> {
    let mut members = Members { rest: object.0.into_iter(), pending: None };
    visitor.visit_map(&mut members)
}

struct Elements<'de> {
    rest: std::vec::IntoIter<Value<'de>>,
    index: usize,
}

impl<'de> de::SeqAccess<'de> for &mut Elements<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Reader(value)).map(Some).map_err(|fault| fault.inside(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'de> {
    rest: std::vec::IntoIter<(Cow<'de, str>, Value<'de>)>,
    /// The member whose key has been read: its name for the place of a fault, and its value.
    pending: Option<(Cow<'de, str>, Value<'de>)>,
}

impl<'de> de::MapAccess<'de> for &mut Members<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(Key(key.clone())).map_err(|fault| fault.inside(&key))?;
        self.pending = Some((key, value));
        Ok(Some(read))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (key, value) = self
            .pending
            .take()
            .ok_or_else(|| Fault::new(Code::Shape, "a value was asked for before its key"))?;
        seed.deserialize(Reader(value)).map_err(|fault| fault.inside(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A member's name. Only texts are read from it; numbers in quotes are not numbers.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(Variant { variant: self.0, content: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Variant<'de> {
    variant: Cow<'de, str>,
    content: Option<Value<'de>>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>), Fault> {
        let Self { variant, content } = self;
        let read = seed.deserialize(Key(variant.clone()));
        match content {
            None => Ok((read?, Content { variant, content: None })),
            Some(content) => {
                let read = read.map_err(|fault| fault.inside(&variant))?;
                Ok((read, Content { variant, content: Some(content) }))
            }
        }
    }
}

struct Content<'de> {
    variant: Cow<'de, str>,
    content: Option<Value<'de>>,
}

impl<'de> Content<'de> {
    fn read<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, Fault>) -> Result<T, Fault> {
        let content = self.content.ok_or_else(|| Fault::new(Code::Shape, "this variant has content"))?;
        read(Reader(content)).map_err(|fault| fault.inside(self.variant))
    }
}

impl<'de> de::VariantAccess<'de> for Content<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None => Ok(()),
            // It has one spelling: its name.
            Some(_) => self.read(|_| Err(Fault::new(Code::Shape, "this variant has no content"))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.read(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.read(|content| content.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.read(|content| content.deserialize_struct("", fields, visitor))
    }
}

/// Read by [`from_slice`], number tokens are kept as written; through serde's own buffers (`flatten`, `untagged`) and
/// other formats their kind is kept.
impl<'de> Deserialize<'de> for Value<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TOKEN, Any)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Raw;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            /// The canonical text itself, from a reader that knows what is asked.
            fn visit_byte_buf<E: de::Error>(self, canonical: Vec<u8>) -> Result<Raw, E> {
                String::from_utf8(canonical).map(Raw::trusted).map_err(E::custom)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Raw, D::Error> {
                Raw::of(&Value::deserialize(inner)?).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Text)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        inner.deserialize_any(self)
    }
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        Value::deserialize(inner)
    }
    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_bytes<E: de::Error>(self, token: &[u8]) -> Result<Self::Value, E> {
        match parse(token) {
            Ok(Value::Number(Number(token))) => Ok(Value::Number(Number(Cow::Owned(token.into_owned())))),
            _ => Err(E::invalid_type(de::Unexpected::Bytes(token), &self)),
        }
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Number::try_from(value).map(Value::Number).map_err(E::custom)
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Number::try_from(value).map(Value::Number).map_err(E::custom)
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Number::try_from(value).map(Value::Number).map_err(E::custom)
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::String(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Value::String(Cow::Owned(text)))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::new();
        while let Some((key, value)) = members.next_entry::<String, Value<'static>>()? {
            object.push((Cow::Owned(key), value));
        }
        Object::new(object).map(Value::Object).map_err(de::Error::custom)
    }
}
