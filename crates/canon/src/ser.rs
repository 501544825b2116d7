use crate::error::Fault;
use crate::lex::{MAX_INTEGER, out_of_range, too_deep};
use crate::order::Members;
use crate::read::Value;
use crate::{Code, Error, MAX_DEPTH, Raw, write};
use serde::ser::{self, Impossible, Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;

/// A value's RFC 8785 form: members sorted by UTF-16 code units, ECMAScript numbers. Refuses what JSON or the strict
/// reader would refuse: keys that are not text, floats that are not finite, integers beyond 2^53 - 1, duplicate keys,
/// more than [`MAX_DEPTH`] levels. Whole floats beyond 2^53 - 1 are written, see [`crate::canonicalize`].
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    let mut writer = Writer { out: Vec::with_capacity(512), members: Members::default(), depth: 0 };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => match number.as_i64() {
                Some(value) => serializer.serialize_i64(value),
                None => serializer.serialize_f64(number.as_f64()),
            },
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(values) => serializer.collect_seq(values),
            Self::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}

/// The same bytes in canonical form; in another format the value they stand for.
impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

struct Writer {
    out: Vec<u8>,
    members: Members<'static>,
    depth: usize,
}

impl Writer {
    fn enter(&mut self, bracket: u8) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.out.push(bracket);
        Ok(())
    }

    fn leave(&mut self, bracket: u8) {
        self.depth -= 1;
        self.out.push(bracket);
    }

    fn integer(&mut self, value: impl TryInto<i64>) -> Result<(), Fault> {
        match value.try_into() {
            Ok(value) if value.unsigned_abs() <= MAX_INTEGER => {
                // INVARIANT: a Vec takes every byte.
                let _ = std::io::Write::write_fmt(&mut self.out, format_args!("{value}"));
                Ok(())
            }
            _ => Err(out_of_range()),
        }
    }

    fn elements(&mut self, variant: Option<&'static str>) -> Result<Elements<'_>, Fault> {
        self.variant(variant)?;
        self.enter(b'[').map_err(|fault| within(fault, variant))?;
        Ok(Elements { writer: self, variant, len: 0 })
    }

    fn fields(&mut self, variant: Option<&'static str>) -> Result<Fields<'_>, Fault> {
        self.variant(variant)?;
        self.enter(b'{').map_err(|fault| within(fault, variant))?;
        let mark = self.members.mark();
        Ok(Fields { writer: self, variant, mark, pending: None })
    }

    /// Opens the object of one member that names a variant.
    fn variant(&mut self, variant: Option<&'static str>) -> Result<(), Fault> {
        if let Some(name) = variant {
            self.enter(b'{')?;
            write::string(&mut self.out, name);
            self.out.push(b':');
        }
        Ok(())
    }

    fn leave_variant(&mut self, variant: Option<&'static str>) {
        if variant.is_some() {
            self.leave(b'}');
        }
    }
}

fn within(fault: Fault, variant: Option<&'static str>) -> Fault {
    match variant {
        Some(name) => fault.inside(name),
        None => fault,
    }
}

impl<'w> Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Elements<'w>;
    type SerializeTuple = Elements<'w>;
    type SerializeTupleStruct = Elements<'w>;
    type SerializeTupleVariant = Elements<'w>;
    type SerializeMap = Fields<'w>;
    type SerializeStruct = Fields<'w>;
    type SerializeStructVariant = Fields<'w>;

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }
    fn serialize_i8(self, value: i8) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_i16(self, value: i16) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_i32(self, value: i32) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_i64(self, value: i64) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_i128(self, value: i128) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_u8(self, value: u8) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_u16(self, value: u16) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_u32(self, value: u32) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_u64(self, value: u64) -> Result<(), Fault> {
        self.integer(value)
    }
    fn serialize_u128(self, value: u128) -> Result<(), Fault> {
        self.integer(value)
    }
    /// As the double of the same value. The shortest decimal of a single is not unique: 42362.3125 is as near to
    /// 42362.312 as to 42362.313.
    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(Fault::new(Code::NonFinite, "a number is not finite"));
        }
        write::float(&mut self.out, value);
        Ok(())
    }
    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        write::string(&mut self.out, value);
        Ok(())
    }
    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        self.out.push(b'"');
        let written = std::fmt::Write::write_fmt(&mut Escaped(&mut self.out), format_args!("{value}"));
        self.out.push(b'"');
        written.map_err(|_| Fault::new(Code::Shape, "a value has no text"))
    }
    /// As an array of numbers.
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Fault> {
        self.collect_seq(value)
    }
    fn serialize_none(self) -> Result<(), Fault> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Fault> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Fault> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Fault> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.variant(Some(variant))?;
        value.serialize(&mut *self).map_err(|fault| fault.inside(variant))?;
        self.leave_variant(Some(variant));
        Ok(())
    }
    fn serialize_seq(self, _len: Option<usize>) -> Result<Elements<'w>, Fault> {
        self.elements(None)
    }
    fn serialize_tuple(self, _len: usize) -> Result<Elements<'w>, Fault> {
        self.elements(None)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'w>, Fault> {
        self.elements(None)
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Elements<'w>, Fault> {
        self.elements(Some(variant))
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Fields<'w>, Fault> {
        self.fields(None)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'w>, Fault> {
        self.fields(None)
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Fields<'w>, Fault> {
        self.fields(Some(variant))
    }
}

/// Text that is written piece by piece.
struct Escaped<'w>(&'w mut Vec<u8>);

impl std::fmt::Write for Escaped<'_> {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        write::escaped(self.0, piece);
        Ok(())
    }
}

/// An open array, inside the object of a variant if it has one.
struct Elements<'w> {
    writer: &'w mut Writer,
    variant: Option<&'static str>,
    len: usize,
}

impl SerializeSeq for Elements<'_> {
    type Ok = ();
    type Error = Fault;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        if self.len > 0 {
            self.writer.out.push(b',');
        }
        value.serialize(&mut *self.writer).map_err(|fault| within(fault.inside(self.len), self.variant))?;
        self.len += 1;
        Ok(())
    }
    fn end(self) -> Result<(), Fault> {
        self.writer.leave(b']');
        self.writer.leave_variant(self.variant);
        Ok(())
    }
}

/// An open object, inside the object of a variant if it has one.
struct Fields<'w> {
    writer: &'w mut Writer,
    variant: Option<&'static str>,
    mark: usize,
    /// A key that waits for its value, and where its member begins.
    pending: Option<(Cow<'static, str>, usize)>,
}

impl Fields<'_> {
    fn name(&mut self, key: Cow<'static, str>) {
        let out = &mut self.writer.out;
        if self.writer.members.mark() > self.mark {
            out.push(b',');
        }
        let start = out.len();
        write::string(out, &key);
        out.push(b':');
        self.pending = Some((key, start));
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let Some((key, start)) = self.pending.take() else {
            return Err(Fault::new(Code::Shape, "a value came before its key"));
        };
        if let Err(fault) = value.serialize(&mut *self.writer) {
            return Err(within(fault.inside(key), self.variant));
        }
        self.writer.members.push(key, start, self.writer.out.len());
        Ok(())
    }

    fn close(self) -> Result<(), Fault> {
        if self.pending.is_some() {
            return Err(within(Fault::new(Code::Shape, "a key came without its value"), self.variant));
        }
        let Writer { out, members, .. } = &mut *self.writer;
        members.close(self.mark, out).map_err(|fault| within(fault, self.variant))?;
        self.writer.leave(b'}');
        self.writer.leave_variant(self.variant);
        Ok(())
    }
}

impl SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Fault;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let key = key.serialize(Key).map_err(|fault| within(fault, self.variant))?;
        self.name(key);
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.value(value)
    }
    fn end(self) -> Result<(), Fault> {
        self.close()
    }
}

macro_rules! elements {
    ($($kind:ident :: $method:ident),*) => {$(
        impl ser::$kind for Elements<'_> {
            type Ok = ();
            type Error = Fault;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                SerializeSeq::serialize_element(self, value)
            }
            fn end(self) -> Result<(), Fault> {
                SerializeSeq::end(self)
            }
        }
    )*};
}
elements!(
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl ser::$kind for Fields<'_> {
            type Ok = ();
            type Error = Fault;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Fault> {
                self.name(Cow::Borrowed(key));
                self.value(value)
            }
            fn end(self) -> Result<(), Fault> {
                self.close()
            }
        }
    )*};
}
fields!(SerializeStruct, SerializeStructVariant);

/// Writes a member's name: a text and nothing else.
struct Key;

macro_rules! refused {
    ($($method:ident $kind:ty),*) => {$(
        fn $method(self, _: $kind) -> Result<Self::Ok, Fault> {
            Err(no_text())
        }
    )*};
}

#[cold]
fn no_text() -> Fault {
    Fault::new(Code::Shape, "the name of a member must be text")
}

impl Serializer for Key {
    type Ok = Cow<'static, str>;
    type Error = Fault;
    type SerializeSeq = Impossible<Self::Ok, Fault>;
    type SerializeTuple = Impossible<Self::Ok, Fault>;
    type SerializeTupleStruct = Impossible<Self::Ok, Fault>;
    type SerializeTupleVariant = Impossible<Self::Ok, Fault>;
    type SerializeMap = Impossible<Self::Ok, Fault>;
    type SerializeStruct = Impossible<Self::Ok, Fault>;
    type SerializeStructVariant = Impossible<Self::Ok, Fault>;

    fn serialize_str(self, value: &str) -> Result<Self::Ok, Fault> {
        Ok(Cow::Owned(value.to_owned()))
    }
    fn serialize_char(self, value: char) -> Result<Self::Ok, Fault> {
        Ok(Cow::Owned(value.to_string()))
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, Fault> {
        Ok(Cow::Borrowed(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Self::Ok, Fault> {
        value.serialize(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Fault> {
        value.serialize(self)
    }

    refused! {
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
        serialize_u128 u128, serialize_f32 f32, serialize_f64 f64, serialize_bytes &[u8],
        serialize_unit_struct &'static str
    }
    fn serialize_none(self) -> Result<Self::Ok, Fault> {
        Err(no_text())
    }
    fn serialize_unit(self) -> Result<Self::Ok, Fault> {
        Err(no_text())
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<Self::Ok, Fault> {
        Err(no_text())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Fault> {
        Err(no_text())
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Fault> {
        Err(no_text())
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Fault> {
        Err(no_text())
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Fault> {
        Err(no_text())
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        Err(no_text())
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Fault> {
        Err(no_text())
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Fault> {
        Err(no_text())
    }
}
