//! What a client says to the signer and what it hears (spec 3.15): one JSON object a call, closed, within its limits.
//!
//! The shapes are those of signer RPC v19. Who calls is never in them: it comes from the transport ([`Identity`]).
//!
//! [`Identity`]: super::Identity

mod answers;
mod calls;

pub use answers::*;
pub use calls::*;

use super::{Fault, FaultCode};
use canon::{Object, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The versions of the RPC that are spoken: the oldest and the newest.
pub const VERSIONS: [u64; 2] = [15, 19];

/// The longest frame, with everything in it (spec 3.16).
pub const MAX_FRAME: usize = 1 << 20;

/// `[A-Za-z0-9._:-]`, 1 to 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Id(String);

/// Text of at most so many characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<const MOST: usize>(String);

/// `scheme:subject`, at most 256 characters.
pub type Name = Text<256>;

impl Id {
    /// `None` for any other text.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
        ((1..=128).contains(&text.len()) && text.bytes().all(good)).then_some(Self(text))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MOST: usize> Text<MOST> {
    /// `None` for a longer text.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (text.chars().take(MOST + 1).count() <= MOST).then_some(Self(text))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MOST: usize> fmt::Display for Text<MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::new(text).ok_or_else(|| D::Error::custom("not an id: 1 to 128 of [A-Za-z0-9._:-]"))
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for Text<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::new(text).ok_or_else(|| D::Error::custom("a longer text than this may be"))
    }
}

/// A call, whole.
#[derive(Debug, Clone)]
pub enum Request {
    RegisterRun(RegisterRun),
    Decide(Decide),
    Complete(Complete),
    Observe(Observe),
    ApprovalRequest(ApprovalRequest),
    ApprovalWait(ApprovalWait),
    ApprovalConsume(ApprovalConsume),
    ApprovalGet(ApprovalGet),
    ApprovalList(ApprovalList),
    ApprovalAbandon(ApprovalAbandon),
    ApprovalRevoke(ApprovalRevoke),
    CloseRun(CloseRun),
    Read(Read),
    ObserveEffect(ObserveEffect),
    Reveal(Reveal),
    MessageSend(MessageSend),
    MessageStatus(MessageStatus),
    GrantRequest(GrantRequest),
    GrantDelegate(GrantDelegate),
    GrantRevoke(GrantRevoke),
    Status,
    CheckpointNudge,
}

impl Request {
    /// From a frame. Refused: no strict JSON, no object, an unknown method, another shape than the method's.
    pub fn parse(frame: &[u8]) -> Result<Self, Fault> {
        let value = canon::parse(frame).map_err(|error| Fault::invalid(format!("{error}")))?;
        Self::read(value)
    }

    /// From a frame that was read.
    pub fn read(value: Value<'_>) -> Result<Self, Fault> {
        let (method, body) = split(value)?;
        fn of<T: for<'de> Deserialize<'de>>(body: Value<'_>) -> Result<T, Fault> {
            canon::from_value(body).map_err(|error| Fault::invalid(format!("{error}")))
        }
        Ok(match method.as_str() {
            "register_run" => Self::RegisterRun(of(body)?),
            "decide" => Self::Decide(of(body)?),
            "complete" => Self::Complete(of(body)?),
            "observe" => Self::Observe(of(body)?),
            "approval_request" => Self::ApprovalRequest(of(body)?),
            "approval_wait" => Self::ApprovalWait(of(body)?),
            "approval_consume" => Self::ApprovalConsume(of(body)?),
            "approval_get" => Self::ApprovalGet(of(body)?),
            "approval_list" => Self::ApprovalList(of(body)?),
            "approval_abandon" => Self::ApprovalAbandon(of(body)?),
            "approval_revoke" => Self::ApprovalRevoke(of(body)?),
            "close_run" => Self::CloseRun(of(body)?),
            "read" => Self::Read(of(body)?),
            "observe_effect" => Self::ObserveEffect(of(body)?),
            "reveal" => Self::Reveal(of(body)?),
            "message_send" => Self::MessageSend(of(body)?),
            "message_status" => Self::MessageStatus(of(body)?),
            "grant_request" => Self::GrantRequest(of(body)?),
            "grant_delegate" => Self::GrantDelegate(of(body)?),
            "grant_revoke" => Self::GrantRevoke(of(body)?),
            "status" => of::<Nothing>(body).map(|_| Self::Status)?,
            "checkpoint_nudge" => of::<Nothing>(body).map(|_| Self::CheckpointNudge)?,
            other => return Err(Fault::invalid(format!("there is no method {other:?}"))),
        })
    }

    /// The frame, without a line end.
    pub fn frame(&self) -> Result<Vec<u8>, Fault> {
        fn body<T: Serialize>(of: &T) -> Result<Vec<u8>, Fault> {
            canon::to_vec(of).map_err(|error| Fault::invalid(format!("{error}")))
        }
        let (method, bytes) = match self {
            Self::RegisterRun(of) => ("register_run", body(of)?),
            Self::Decide(of) => ("decide", body(of)?),
            Self::Complete(of) => ("complete", body(of)?),
            Self::Observe(of) => ("observe", body(of)?),
            Self::ApprovalRequest(of) => ("approval_request", body(of)?),
            Self::ApprovalWait(of) => ("approval_wait", body(of)?),
            Self::ApprovalConsume(of) => ("approval_consume", body(of)?),
            Self::ApprovalGet(of) => ("approval_get", body(of)?),
            Self::ApprovalList(of) => ("approval_list", body(of)?),
            Self::ApprovalAbandon(of) => ("approval_abandon", body(of)?),
            Self::ApprovalRevoke(of) => ("approval_revoke", body(of)?),
            Self::CloseRun(of) => ("close_run", body(of)?),
            Self::Read(of) => ("read", body(of)?),
            Self::ObserveEffect(of) => ("observe_effect", body(of)?),
            Self::Reveal(of) => ("reveal", body(of)?),
            Self::MessageSend(of) => ("message_send", body(of)?),
            Self::MessageStatus(of) => ("message_status", body(of)?),
            Self::GrantRequest(of) => ("grant_request", body(of)?),
            Self::GrantDelegate(of) => ("grant_delegate", body(of)?),
            Self::GrantRevoke(of) => ("grant_revoke", body(of)?),
            Self::Status => ("status", b"{}".to_vec()),
            Self::CheckpointNudge => ("checkpoint_nudge", b"{}".to_vec()),
        };
        let mut frame = format!("{{\"method\":\"{method}\"").into_bytes();
        match bytes.get(1..) {
            Some(rest) if rest != b"}" => {
                frame.push(b',');
                frame.extend_from_slice(rest);
            }
            _ => frame.push(b'}'),
        }
        Ok(frame)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The method, and the members beside it.
fn split(value: Value<'_>) -> Result<(String, Value<'_>), Fault> {
    let Value::Object(object) = value else { return Err(Fault::invalid("a call is an object".to_owned())) };
    let method = object.get("method").and_then(Value::as_str);
    let method = method.ok_or_else(|| Fault::invalid("a call names its method".to_owned()))?.to_owned();
    let rest = object.into_members().filter(|(name, _)| name != "method").collect();
    let rest = Object::new(rest).map_err(|error| Fault::invalid(error.to_string()))?;
    Ok((method, Value::Object(rest)))
}

/// What goes back: the answer, or `{"error": {code, message, retry_after_ms?}}`.
pub fn reply(outcome: &Result<Answer, Fault>) -> Vec<u8> {
    let bytes = match outcome {
        Ok(answer) => canon::to_vec(answer),
        Err(fault) => canon::to_vec(&Refusal { error: fault.clone() }),
    };
    bytes.unwrap_or_else(|_| b"{\"error\":{\"code\":\"unavailable\",\"message\":\"\"}}".to_vec())
}

/// Reads a reply as what the call promises.
pub fn read_reply<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, Fault> {
    let value = canon::parse(bytes).map_err(|error| broken(&error))?;
    if value.get("error").is_some() && value.as_object().is_some_and(|object| object.len() == 1) {
        let refusal: Refusal = canon::from_value(value.into_static()).map_err(|error| broken(&error))?;
        return Err(refusal.error);
    }
    canon::from_value(value.into_static()).map_err(|error| broken(&error))
}

fn broken(error: &canon::Error) -> Fault {
    Fault::new(FaultCode::Unavailable, format!("the signer's answer cannot be read: {error}"))
}

#[derive(Serialize, Deserialize)]
struct Refusal {
    error: Fault,
}
