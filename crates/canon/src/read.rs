use crate::error::Fault;
use crate::lex::{Lexer, MAX_INTEGER, Start, out_of_range};
use crate::{Code, Error, order};
use std::borrow::Cow;

/// A JSON value as it was written. Objects keep their order; number tokens are kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number<'a>),
    String(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    Object(Object<'a>),
}

/// A number token, already checked to be finite and in range. Two are equal if they are written alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number<'a>(pub(crate) Cow<'a, str>);

/// An object's members in the order written, without duplicates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a>(pub(crate) Vec<(Cow<'a, str>, Value<'a>)>);

/// Reads exactly one strict JSON text. Refuses, in this order: bytes that are not UTF-8; then the first fault in
/// reading order, where a duplicate name is found at its object's closing bracket.
pub fn parse(bytes: &[u8]) -> Result<Value<'_>, Error> {
    let mut lexer = Lexer::new(bytes)?;
    let value = value(&mut lexer)?;
    lexer.end()?;
    Ok(value)
}

impl<'a> Value<'a> {
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
    pub const fn as_number(&self) -> Option<&Number<'a>> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
    /// The value of an integer token.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }
    /// The value of an integer token that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
    /// The member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }
    /// The value a JSON Pointer (RFC 6901) leads to.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, step| match value {
            Self::Object(object) => object.get(&step.replace("~1", "/").replace("~0", "~")),
            Self::Array(values) if step == "0" || !step.starts_with(['0', '+']) => {
                values.get(step.parse::<usize>().ok()?)
            }
            _ => None,
        })
    }
    /// Takes the member `key` out, if this is an object that has it.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        let Self::Object(Object(members)) = self else { return None };
        let at = members.iter().position(|(name, _)| name == key)?;
        Some(members.remove(at).1)
    }
    /// The member `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(object) => object.get_mut(key),
            _ => None,
        }
    }
    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Value<'static> {
        self.clone().into_static()
    }
    /// The same value, borrowing nothing.
    pub fn into_static(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(Number(token)) => Value::Number(Number(Cow::Owned(token.into_owned()))),
            Self::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Self::Array(values) => Value::Array(values.into_iter().map(Value::into_static).collect()),
            Self::Object(object) => Value::Object(Object(
                object
                    .0
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_static()))
                    .collect(),
            )),
        }
    }
}

impl Number<'_> {
    /// The token as it was written.
    pub fn token(&self) -> &str {
        &self.0
    }
    /// Whether it was written without fraction and exponent: `1`, not `1.0`.
    pub fn is_integer_token(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
    /// The value of an integer token.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
    /// The value of an integer token that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|value| u64::try_from(value).ok())
    }
    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        // INVARIANT: every token was read as a finite double before.
        self.0.parse().unwrap_or_default()
    }
}

impl TryFrom<i64> for Number<'static> {
    type Error = Error;
    fn try_from(value: i64) -> Result<Self, Error> {
        if value.unsigned_abs() > MAX_INTEGER {
            return Err(out_of_range().into());
        }
        Ok(Self(Cow::Owned(value.to_string())))
    }
}

impl TryFrom<u64> for Number<'static> {
    type Error = Error;
    fn try_from(value: u64) -> Result<Self, Error> {
        i64::try_from(value).map_err(|_| out_of_range().into()).and_then(Self::try_from)
    }
}

/// A token of the fractional kind: `1.0`, not `1`.
impl TryFrom<f64> for Number<'static> {
    type Error = Error;
    fn try_from(value: f64) -> Result<Self, Error> {
        if !value.is_finite() {
            return Err(Fault::new(Code::NonFinite, "a number is not finite").into());
        }
        Ok(Self(Cow::Owned(format!("{value:?}"))))
    }
}

impl<'a> Object<'a> {
    /// Refuses two members of one name.
    pub fn new(members: Vec<(Cow<'a, str>, Value<'a>)>) -> Result<Self, Error> {
        distinct(members).map(Self).map_err(Error::from)
    }
    /// Adds a member unless there is one of that name.
    pub fn or_insert(&mut self, key: &'a str, value: impl FnOnce() -> Value<'a>) {
        if self.get(key).is_none() {
            self.0.push((Cow::Borrowed(key), value()));
        }
    }
    /// The member `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value<'a>> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }
    pub fn into_members(self) -> impl ExactSizeIterator<Item = (Cow<'a, str>, Value<'a>)> {
        self.0.into_iter()
    }
    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
    /// The members in the order written.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }
}

pub(crate) fn value<'a>(lexer: &mut Lexer<'a>) -> Result<Value<'a>, Fault> {
    Ok(match lexer.start()? {
        Start::String => Value::String(lexer.string()?),
        Start::Number => Value::Number(Number(Cow::Borrowed(lexer.number()?.token))),
        Start::Object => Value::Object(Object(members(lexer)?)),
        Start::Array => Value::Array(elements(lexer)?),
        Start::Null => Value::Null,
        Start::True => Value::Bool(true),
        Start::False => Value::Bool(false),
    })
}

fn elements<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<Value<'a>>, Fault> {
    let mut values = Vec::new();
    let mut more = lexer.any(b']');
    while more {
        values.push(value(lexer).map_err(|fault| fault.inside(values.len()))?);
        more = lexer.more(b']')?;
    }
    Ok(values)
}

fn members<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<(Cow<'a, str>, Value<'a>)>, Fault> {
    let mut members = Vec::new();
    let mut more = lexer.any(b'}');
    while more {
        let key = lexer.key()?;
        match value(lexer) {
            Ok(value) => members.push((key, value)),
            Err(fault) => return Err(fault.inside(key)),
        }
        more = lexer.more(b'}')?;
    }
    distinct(members)
}

fn distinct<'a>(members: Vec<(Cow<'a, str>, Value<'a>)>) -> Result<Vec<(Cow<'a, str>, Value<'a>)>, Fault> {
    match order::repeated(members.iter().map(|(key, _)| key.as_ref())) {
        None => Ok(members),
        Some(key) => Err(order::duplicate(key)),
    }
}
