//! What a client says to the signer and what it hears (spec 3.15): one JSON object a call, closed, within its limits.
//!
//! The shapes are those of signer RPC v19. Who calls is never in them: it comes from the transport ([`Identity`]).
//!
//! [`Identity`]: super::Identity

use super::{Fault, FaultCode};
use canon::{Digest, Object, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
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

/// Which text the arguments were taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgsSource {
    /// `args` is the text itself, a string that holds strict JSON.
    Raw,
    Parsed,
    Coerced,
}

impl ArgsSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Parsed => "parsed",
            Self::Coerced => "coerced",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trusted {
    Trusted,
    Untrusted,
}

impl Trusted {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

/// A program that acts for somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub name: Text<128>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text<64>>,
}

/// Begins a run. `caller` is the client a gateway has authenticated.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterRun {
    pub request_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub agent: Agent,
}

/// Asks whether a call may be made. Nothing is run by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    pub stream: Id,
    pub client_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub tool_call_id: Id,
    #[serde(default, skip_serializing_if = "zero")]
    pub attempt: u64,
    pub tool: Text<256>,
    /// Read and not used: a class that the caller claims decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_class_hint: Option<Text<64>>,
    pub args_source: ArgsSource,
    pub args: Value<'static>,
}

/// Reports what a decided call gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    pub stream: Id,
    pub client_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub tool_call_id: Id,
    #[serde(default, skip_serializing_if = "zero")]
    pub attempt: u64,
    pub decision_id: Id,
    /// [`arguments_digest`](crate::opening::arguments_digest), `sha256:…`: what was run is what was decided.
    pub args_digest: Text<71>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value<'static>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text<4096>>,
    /// The caller has cut something out of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
}

/// What a caller says it has cut out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redaction {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Reports something that came in beside a call's result: a resource, a prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    pub stream: Id,
    pub client_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub source: Text<256>,
    pub trust: Trusted,
    pub value: Value<'static>,
}

/// Puts a call that was decided `ask` before a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub tool_call_id: Id,
    #[serde(default, skip_serializing_if = "zero")]
    pub attempt: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1024>>,
}

/// Answers once the approval is settled, or `timeout_ms` later (30 s without it, at most 300 s).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalWait {
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub approval_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Uses an approval for exactly the call it is of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalConsume {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub tool_call_id: Id,
    #[serde(default, skip_serializing_if = "zero")]
    pub attempt: u64,
    pub tool: Text<256>,
    pub args_source: ArgsSource,
    pub args: Value<'static>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id_hint: Option<Id>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalGet {
    pub approval_id: Id,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalList {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Id>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAbandon {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    pub approval_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1024>>,
}

/// Takes an approval back before it is used. An operator's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRevoke {
    pub request_id: Id,
    pub approval_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1024>>,
}

/// Ends a run: nothing follows `run.final`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseRun {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<256>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    /// How far the caller had counted: what never came becomes a gap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_client_seq: Vec<LastSeq>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastSeq {
    pub stream: Id,
    pub client_seq: u64,
}

/// Reads a run's records, as its owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// An observer's report of what went over the network.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObserveEffect {
    pub request_id: Id,
    pub instance: Id,
    /// Each as `effect.observed` has it, without `observer` and `attribution`, with the run it is of.
    pub effects: Vec<Value<'static>>,
}

/// Salts and values of a run's records. An operator's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    pub run_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seqs: Option<Vec<u64>>,
}

/// A message that carries its proofs (spec 4.12).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSend {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub to: Text<256>,
    /// `{type, schema, args}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Value<'static>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<16384>>,
    /// Each `{id, pred, args, evidence}`; `evidence` lists records of the run by their `run_seq`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<SentClaim>,
    /// Names the last link of the chain of grants to show, by its hash (`sha256:…`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Text<71>>,
    /// How long it may be accepted, seconds; 300 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<u64>,
    /// `{id, hash}` of the message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<Value<'static>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentClaim {
    pub id: Id,
    pub pred: Text<64>,
    pub args: Value<'static>,
    #[serde(default)]
    pub evidence: Vec<u64>,
}

/// Asks a person for a grant (spec 4.6): a held call of `pcm.grant` whose arguments are the grant without its root. Asked again with
/// the same members once somebody has approved, it issues the grant. It takes two places of the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    pub stream: Id,
    pub client_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub tool_call_id: Id,
    pub grant: Value<'static>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1024>>,
}

/// Passes a grant on. `grant` comes without `parent`, which is the hash of the one it narrows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantDelegate {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub parent: Text<71>,
    pub grant: Value<'static>,
}

/// Takes a grant back, by its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRevoke {
    pub request_id: Id,
    pub run_id: Id,
    pub run_token: Text<1024>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Name>,
    pub grant: Text<71>,
}

/// Whether a message or a grant of this hash was signed here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageStatus {
    pub hash: Text<71>,
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
            canon::from_value(body.into_static()).map_err(|error| Fault::invalid(format!("{error}")))
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
    let Value::Object(object) = &value else { return Err(Fault::invalid("a call is an object".to_owned())) };
    let method = object.get("method").and_then(Value::as_str);
    let method = method.ok_or_else(|| Fault::invalid("a call names its method".to_owned()))?.to_owned();
    let rest = object.iter().filter(|(name, _)| *name != "method");
    let rest = rest.map(|(name, value)| (Cow::Owned(name.to_owned()), value.clone())).collect();
    let rest = Object::new(rest).map_err(|error| Fault::invalid(error.to_string()))?;
    Ok((method, Value::Object(rest).into_static()))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    pub run_id: String,
    pub run_token: String,
    pub tenant: String,
    pub tenant_attested: bool,
    pub principal_attested: bool,
}

/// What may be done with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Allow,
    Deny,
    /// A person must say so first.
    Ask,
}

impl Ruling {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub decision: Ruling,
    pub decision_id: String,
    pub rule_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub run_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// Where in its run a record stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub run_seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Requested,
    Approved,
    Rejected,
    Expired,
    Consumed,
}

impl ApprovalState {
    /// Whether somebody or the time has decided.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Requested)
    }
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Consumed => "consumed",
        }
    }
}

/// Where an approval stands. `url` is where a person answers it, an addition of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalStanding {
    pub approval_id: String,
    pub state: ApprovalState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consumed {
    pub ok: bool,
    pub rule_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The signer's own copy of the arguments: that is what runs (T2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value<'static>>,
}

/// An approval with what it is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalTold {
    pub approval_id: String,
    pub state: ApprovalState,
    pub run_id: String,
    pub tool_call_id: String,
    pub attempt: u64,
    pub tool: String,
    pub rule_ids: Vec<String>,
    pub policy_hash: String,
    pub requester: String,
    pub expires_at: String,
    /// These three only where one approval is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_source: Option<ArgsSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value<'static>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalPage {
    pub approvals: Vec<ApprovalTold>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub run_id: String,
    /// `closing`; a run that is over has given its `run.final` already.
    pub state: String,
    pub run_seq: u64,
}

/// One answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Registered(Registered),
    Decided(Decided),
    Recorded(Recorded),
    Approval(ApprovalStanding),
    Consumed(Consumed),
    Told(Box<ApprovalTold>),
    Page(ApprovalPage),
    Closed(Closed),
    /// What is answered from elsewhere than the state: as it is.
    Other(Value<'static>),
}

impl Serialize for Answer {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Registered(of) => of.serialize(to),
            Self::Decided(of) => of.serialize(to),
            Self::Recorded(of) => of.serialize(to),
            Self::Approval(of) => of.serialize(to),
            Self::Consumed(of) => of.serialize(to),
            Self::Told(of) => of.serialize(to),
            Self::Page(of) => of.serialize(to),
            Self::Closed(of) => of.serialize(to),
            Self::Other(of) => of.serialize(to),
        }
    }
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn zero(number: &u64) -> bool {
    *number == 0
}
