//! One JSON-RPC message as the text it came in, and where its members stand in it. What is not changed keeps its bytes.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// A part of a text.
pub type Span = Range<usize>;

/// The longest message that is passed on: 64 MiB.
pub const LONGEST: usize = 64 << 20;

/// A message: one JSON object on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    text: String,
    id: Option<Span>,
    method: Option<String>,
    params: Option<Span>,
    answer: Option<(Answer, Span)>,
}

/// What a response carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Result,
    Error,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    Request(&'a str),
    Notification(&'a str),
    Response,
}

/// An id, the same for every spelling of one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// Of an id as it is written.
    pub fn of(raw: &str) -> Self {
        match serde_json::from_str::<String>(raw) {
            Ok(text) => Self(format!("\"{text}")),
            Err(_) => Self(raw.to_owned()),
        }
    }

    /// As JSON.
    pub fn as_raw(&self) -> String {
        self.0.strip_prefix('"').map_or_else(|| self.0.clone(), quoted)
    }
}

impl Message {
    /// Reads the outermost members; none of them may be there twice. Refused: what is no object, or neither asks, tells nor
    /// answers.
    pub fn read(text: impl Into<String>) -> Option<Self> {
        let mut text: String = text.into();
        if text.contains(['\n', '\r']) {
            // Outside of a string they are blanks, inside they are no JSON.
            text = text.replace(['\n', '\r'], " ");
        }
        let mut message = Self { id: None, method: None, params: None, answer: None, text };
        for (name, span) in members(&message.text, 0..message.text.len())? {
            let is_null = message.text.get(span.clone()) == Some("null");
            let fresh = match name.as_str() {
                "id" if is_null => true,
                "id" => message.id.replace(span).is_none(),
                "method" => {
                    let method = text_at(&message.text, &span)?;
                    message.method.replace(method).is_none()
                }
                "params" => message.params.replace(span).is_none(),
                "result" => message.answer.replace((Answer::Result, span)).is_none(),
                "error" => message.answer.replace((Answer::Error, span)).is_none(),
                _ => true,
            };
            if !fresh {
                return None;
            }
        }
        (message.method.is_some() || message.answer.is_some()).then_some(message)
    }

    pub fn text(&self) -> &str {
        &self.text
    }
    pub fn into_text(self) -> String {
        self.text
    }
    pub fn kind(&self) -> Kind<'_> {
        match (&self.method, &self.id) {
            (Some(method), Some(_)) => Kind::Request(method),
            (Some(method), None) => Kind::Notification(method),
            (None, _) => Kind::Response,
        }
    }
    /// The id as it is written.
    pub fn raw_id(&self) -> Option<&str> {
        self.at(self.id.as_ref()?)
    }
    pub fn id(&self) -> Option<Id> {
        self.raw_id().map(Id::of)
    }
    /// What a response carries, and its text.
    pub fn answer(&self) -> Option<(Answer, &str)> {
        let (kind, span) = self.answer.as_ref()?;
        Some((*kind, self.at(span)?))
    }
    /// The result's place, if the response has one.
    pub fn result(&self) -> Option<Span> {
        self.answer.as_ref().filter(|(kind, _)| *kind == Answer::Result).map(|(_, span)| span.clone())
    }
    /// The parameters' text.
    pub fn params(&self) -> Option<&str> {
        self.at(self.params.as_ref()?)
    }
    /// Where a parameter stands, by the names that lead to it.
    pub fn param(&self, path: &[&str]) -> Option<Span> {
        find(&self.text, self.params.clone()?, path)
    }
    /// A parameter that is a text.
    pub fn param_text(&self, path: &[&str]) -> Option<String> {
        text_at(&self.text, &self.param(path)?)
    }
    /// A part of the text.
    pub fn at(&self, span: &Span) -> Option<&str> {
        self.text.get(span.clone())
    }
    /// The same message with another id.
    pub fn with_id(&self, raw: &str) -> String {
        self.id
            .as_ref()
            .map_or_else(|| self.text.clone(), |id| splice(&self.text, vec![(id.clone(), raw.to_owned())]))
    }
    /// The same message without these parameters.
    pub fn without(&self, names: &[&str]) -> String {
        let Some(params) = self.params.clone() else { return self.text.clone() };
        let kept: Vec<String> = members(&self.text, params.clone())
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, _)| !names.contains(&name.as_str()))
            .map(|(name, span)| format!("{}:{}", quoted(&name), self.at(&span).unwrap_or("null")))
            .collect();
        splice(&self.text, vec![(params, format!("{{{}}}", kept.join(",")))])
    }
    /// Whether the message says of itself that it is of a revision without sessions (2026-07-28 and later).
    pub fn revision(&self) -> Option<String> {
        self.param_text(&["_meta", "io.modelcontextprotocol/protocolVersion"])
    }
}

/// The members of the object at `within`, in the order written, or nothing if there is no object.
pub fn members(text: &str, within: Span) -> Option<Vec<(String, Span)>> {
    let part = text.get(within)?;
    let Members(found) = serde_json::from_str(part).ok()?;
    Some(found.into_iter().map(|(name, raw)| (name, place(text, raw.get()))).collect())
}

/// The elements of the array at `within`.
pub fn elements(text: &str, within: Span) -> Option<Vec<Span>> {
    let found: Vec<&RawValue> = serde_json::from_str(text.get(within)?).ok()?;
    Some(found.into_iter().map(|raw| place(text, raw.get())).collect())
}

/// Where the value stands to which these names lead.
pub fn find(text: &str, within: Span, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(within, |within, step| {
        members(text, within)?.into_iter().find(|(name, _)| name == step).map(|(_, span)| span)
    })
}

/// The JSON string at `span`, decoded.
pub fn text_at(text: &str, span: &Span) -> Option<String> {
    serde_json::from_str(text.get(span.clone())?).ok()
}

/// The text with each of these parts replaced.
pub fn splice(text: &str, mut edits: Vec<(Span, String)>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in edits {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        out.push_str(&new);
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A response with this result; both are JSON texts.
pub fn result(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// A response that refuses.
pub fn error(id: &str, code: i32, message: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{}}}}}",
        quoted(message)
    )
}

/// A request or, without an id, a notification.
pub fn call(id: Option<&str>, method: &str, params: &str) -> String {
    let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{},\"params\":{params}}}", quoted(method))
}

/// Where `part`, which is a part of `text`, stands in it.
fn place(text: &str, part: &str) -> Span {
    let start = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start.saturating_add(part.len())
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    found.push((name, map.next_value::<&'de RawValue>()?));
                }
                Ok(Members(found))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Kind<'_>>) {
        let message = Message::read(text);
        assert_eq!(message.as_ref().map(Message::kind), expected, "{text}");
    }

    #[test]
    fn a_message_is_known_by_its_outermost_members() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Some(Kind::Request("ping")));
        check(r#"{"id":"a","method":"tools\/call","params":{}}"#, Some(Kind::Request("tools/call")));
        check(
            r#"{"method":"notifications/initialized"}"#,
            Some(Kind::Notification("notifications/initialized")),
        );
        check(r#"{"id":1,"result":null}"#, Some(Kind::Response));
        check(r#"{"id":null,"error":{"code":1,"message":"x"}}"#, Some(Kind::Response));
        for bad in [
            "",
            "5",
            "[]",
            r#"[{"id":1,"method":"ping"}]"#,
            r#"{"id":1}"#,
            r#"{"id":1,"method":5}"#,
            r#"{"id":1,"method":"ping","method":"tools/call"}"#,
            r#"{"id":1,"id":2,"method":"ping"}"#,
            r#"{"id":1,"result":1,"error":2}"#,
            r#"{"id":1,"result":1} x"#,
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn what_is_not_changed_keeps_its_bytes() {
        let message = Message::read(
            r#"{ "jsonrpc":"2.0" ,"x":1e2,"id": 7,"method":"tools/call","params":{"name":"a\u0062","n":1.50,"requestState":"s"} }"#,
        )
        .unwrap();
        assert_eq!(message.param_text(&["name"]).unwrap(), "ab");
        assert_eq!(
            message.with_id("\"k\""),
            r#"{ "jsonrpc":"2.0" ,"x":1e2,"id": "k","method":"tools/call","params":{"name":"a\u0062","n":1.50,"requestState":"s"} }"#
        );
        assert_eq!(
            message.without(&["requestState"]),
            r#"{ "jsonrpc":"2.0" ,"x":1e2,"id": 7,"method":"tools/call","params":{"name":"a\u0062","n":1.50} }"#
        );
    }

    #[test]
    fn an_id_is_one_whatever_its_spelling() {
        assert_eq!(Id::of(r#""a\/b""#), Id::of(r#""a/b""#));
        assert_ne!(Id::of(r#""1""#), Id::of("1"));
    }
}
