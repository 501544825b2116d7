//! What each call is answered.

use super::ArgsSource;
use canon::{Digest, Value};
use serde::{Deserialize, Serialize};

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
