//! How other protocols carry a message (spec 4.14): in the `_meta` of an MCP `tools/call`, or in a data part of an A2A message. The
//! message never trusts its carrier: what it asks must be what the carrier asks, byte for byte in canonical form.

use super::code::Code;
use super::tools::registry;
use super::wire::{Fault, MAX_MESSAGE};
use crate::Error;
use crate::write::{object, text};
use canon::{Object, Value};

/// The member of `_meta` that holds a message, or the resource link to one.
pub const META: &str = "countersign.pcm/message";

/// The media type of a message.
pub const MEDIA_TYPE: &str = "application/vnd.countersign.pcm-message+json";

/// What an A2A Agent Card lists among its extensions, and an A2A message names.
pub const EXTENSION: &str = "urn:countersign:extension:pcm-message:1";

/// The longest message, in bytes, that goes into `_meta` itself.
pub const MAX_INLINE: usize = 64 << 10;

/// A message as a carrier has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Message(Vec<u8>),
    /// Where the receiver may read it, if it wants to.
    Link(String),
}

/// What goes into `_meta` under [`META`]: the message, or a link to where it is kept if it is longer than [`MAX_INLINE`].
pub fn meta(message: &[u8], link: &str) -> Result<Value<'static>, Error> {
    if message.len() <= MAX_INLINE {
        return Ok(canon::parse(message)?.into_static());
    }
    let parts = [("type", "resource_link"), ("uri", link), ("name", "message"), ("mimeType", MEDIA_TYPE)];
    object(parts.into_iter().map(|(name, value)| (name, text(value.to_owned()))).collect())
}

/// The message in the parameters of an MCP `tools/call`; `None` if it carries none. Refused: a link to another kind of thing, and
/// what is neither a message nor a link.
pub fn of_mcp(params: &Value<'_>) -> Result<Option<Carried>, Fault> {
    let Some(carried) = params.get("_meta").and_then(|meta| meta.get(META)) else { return Ok(None) };
    let fault = |why| Fault::new(Code::BadSchema, "/_meta/countersign.pcm~1message", why);
    if carried.get("type").and_then(Value::as_str) == Some("resource_link") {
        let told = |name| carried.get(name).and_then(Value::as_str);
        return match (told("uri"), told("mimeType")) {
            (Some(uri), Some(MEDIA_TYPE)) => Ok(Some(Carried::Link(uri.to_owned()))),
            _ => Err(fault("a link to no message")),
        };
    }
    carried.as_object().ok_or_else(|| fault("neither a message nor a link to one"))?;
    bytes(carried).map(|bytes| Some(Carried::Message(bytes)))
}

/// Whether the intent of a message is the call that carries it: its arguments are the call's, and its type is the tool's name or the
/// intent that the registry says the tool carries out.
pub fn agrees_with_call(message: &Value<'_>, params: &Value<'_>) -> Result<(), Fault> {
    let asked = params.get("arguments").cloned().unwrap_or_else(|| Value::Object(Object::default()));
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    agrees(message, Some(name), &asked)
}

/// The data part of an A2A message that carries it.
pub fn part(message: &[u8]) -> Result<Value<'static>, Error> {
    let kind = object(vec![("mediaType", text(MEDIA_TYPE)), ("extension", text(EXTENSION))])?;
    object(vec![("kind", text("data")), ("data", canon::parse(message)?.into_static()), ("metadata", kind)])
}

/// The message in an A2A message, alone or as the parameters of `message/send`; `None` if no part carries one. Refused: two of them,
/// and a message that does not name the extension.
pub fn of_a2a(carrier: &Value<'_>) -> Result<Option<Vec<u8>>, Fault> {
    let carrier = carrier.pointer("/params/message").or_else(|| carrier.get("message")).unwrap_or(carrier);
    let parts = carrier.get("parts").and_then(Value::as_array).unwrap_or_default();
    let mut ours = parts.iter().filter(|part| is_ours(part));
    let (Some(part), more) = (ours.next(), ours.next()) else { return Ok(None) };
    if more.is_some() {
        return Err(Fault::new(Code::BadSchema, "/parts", "two parts carry a message"));
    }
    let named = carrier.get("extensions").and_then(Value::as_array).unwrap_or_default();
    if !named.iter().any(|one| one.as_str() == Some(EXTENSION)) {
        return Err(Fault::new(Code::BadSchema, "/extensions", "the extension is not named"));
    }
    bytes(part.get("data").unwrap_or(&Value::Null)).map(Some)
}

/// Whether the intent of a message is what the A2A message that carries it asks: the data of its one other data part, if it has one.
pub fn agrees_with_parts(message: &Value<'_>, carrier: &Value<'_>) -> Result<(), Fault> {
    let carrier = carrier.pointer("/params/message").or_else(|| carrier.get("message")).unwrap_or(carrier);
    let parts = carrier.get("parts").and_then(Value::as_array).unwrap_or_default();
    let mut others = parts.iter().filter(|part| !is_ours(part)).filter_map(|part| part.get("data"));
    match (others.next(), others.next()) {
        (None, _) => Ok(()),
        (Some(asked), None) => agrees(message, None, asked),
        (Some(_), Some(_)) => {
            Err(Fault::new(Code::IntentInvalid, "/parts", "several parts ask for something"))
        }
    }
}

fn is_ours(part: &Value<'_>) -> bool {
    part.pointer("/metadata/mediaType").and_then(Value::as_str) == Some(MEDIA_TYPE)
}

fn agrees(message: &Value<'_>, name: Option<&str>, asked: &Value<'_>) -> Result<(), Fault> {
    let fault = |place, why| Fault::new(Code::IntentInvalid, place, why);
    let told = |name| message.get("intent").and_then(|intent| intent.get(name));
    let (Some(kind), Some(args)) = (told("type"), told("args")) else {
        return Err(fault("/intent", "it asks for nothing, and its carrier does"));
    };
    let kind = kind.as_str().unwrap_or_default();
    let carries_out = |name: &str| registry().and_then(|registry| registry.tool(name)?.intent.as_deref());
    if name.is_some_and(|name| kind != name && carries_out(name) != Some(kind)) {
        return Err(fault("/intent/type", "its carrier asks for something else"));
    }
    match (canon::to_vec(args), canon::to_vec(asked)) {
        (Ok(args), Ok(asked)) if args == asked => Ok(()),
        _ => Err(fault("/intent/args", "its carrier asks with other arguments")),
    }
}

/// A carried message by itself. Its canonical form has the same hash and signature.
fn bytes(message: &Value<'_>) -> Result<Vec<u8>, Fault> {
    let bytes =
        canon::to_vec(message).map_err(|error| Fault::new(Code::BadJson, error.place, error.detail))?;
    if bytes.len() > MAX_MESSAGE {
        Err(Fault::new(Code::TooLarge, "", "longer than 256 KiB"))
    } else {
        Ok(bytes)
    }
}
