//! Where every call is decided before it goes out, and recorded before its answer goes back (D42).

use crate::Error;
use async_trait::async_trait;
use std::fmt;

/// A tool call as the host sent it.
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    /// As policy knows it: `mcp:<upstream>/<tool>` (spec 3.10).
    pub tool: String,
    /// JSON, byte for byte as sent, read strictly; `{}` where the call has none.
    pub arguments: String,
    /// What the host gave back of an earlier answer's `requestState`.
    pub state: Option<String>,
}

/// Arguments may be private.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({}, {} bytes)", self.tool, self.arguments.len())
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may be sent, once. The decision is on record.
    Allow(Ticket),
    Deny(Denial),
    /// A person is asked. The same call, sent again, uses the answer.
    Ask(Asked),
}

/// The decision under which a call was sent, to be completed with what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    /// The call's id in its run.
    pub call: String,
    pub decision: String,
    /// `sha256:` of tool and arguments (spec 3.7).
    pub digest: String,
    /// The approval it used, if a person was asked.
    pub approval: Option<String>,
}

/// Why a call is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// A rule's or a refusal's own code, `TK-…`, or one of this crate's.
    pub code: String,
    /// A sentence for the agent.
    pub text: String,
    pub decision: Option<String>,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub approval: String,
    pub decision: String,
    /// Where the person answers, if the signer says.
    pub url: Option<String>,
    /// Who was asked, if the signer says.
    pub who: Option<String>,
    pub expires_at: Option<String>,
    /// Milliseconds after which another try makes sense.
    pub retry_after: u64,
}

/// What came of a call that was allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream answered: its result or its error as `{"result":…}` or `{"error":…}`, JSON as it came.
    Answered { content: String, ok: bool },
    /// It was not sent after all.
    NotSent(String),
    /// It was sent, and nobody knows what came of it.
    Unknown(String),
}

/// The signer's side of the gateway.
#[async_trait]
pub trait Gate: Send + Sync + 'static {
    /// Decides. What is allowed is on record, durably, when this returns.
    async fn decide(&self, call: &Call) -> Result<Decision, Error>;
    /// Records what came of it; durable when this returns.
    async fn complete(&self, ticket: &Ticket, outcome: &Outcome) -> Result<(), Error>;
    /// Records what the agent was given to read: `source` names where from, `content` is JSON.
    async fn observe(&self, source: &str, content: &str) -> Result<(), Error>;
    /// Nothing more will come.
    async fn close(&self);
}
