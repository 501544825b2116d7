//! The members of each call.

use super::{Id, Name, Text};
use canon::Value;
use serde::{Deserialize, Serialize};

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

const fn zero(number: &u64) -> bool {
    *number == 0
}
