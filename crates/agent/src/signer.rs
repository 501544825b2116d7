//! What the gateway asks of a signer (spec 3.15), however it is reached.

use crate::Error;
use async_trait::async_trait;
use canon::Value;
use serde::{Deserialize, Serialize};

/// A run that the signer has registered for us.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub id: String,
    pub token: String,
}

/// The token is a secret.
impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({})", self.id)
    }
}

/// What policy says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruled {
    pub decision: String,
    pub ruling: Ruling,
    pub rules: Vec<String>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    Deny,
    Ask,
}

/// Where an approval stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub approval: String,
    pub state: State,
    pub expires_at: Option<String>,
    pub url: Option<String>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Requested,
    Approved,
    Rejected,
    Expired,
    Consumed,
}

/// What came of a call, for the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Came<'a> {
    pub call: &'a str,
    pub decision: &'a str,
    pub digest: &'a str,
    pub ok: bool,
    pub result: Option<&'a Value<'a>>,
    pub error: Option<&'a str>,
}

/// A signer. Every answer is given after what it answers is durable.
#[async_trait]
pub trait Signer: Send + Sync + 'static {
    async fn register(&self, agent: &str) -> Result<Run, Error>;
    async fn decide(&self, run: &Run, call: &str, tool: &str, arguments: &Value<'_>) -> Result<Ruled, Error>;
    async fn complete(&self, run: &Run, came: Came<'_>) -> Result<(), Error>;
    async fn observe(&self, run: &Run, source: &str, content: &Value<'_>) -> Result<(), Error>;
    async fn request_approval(&self, run: &Run, call: &str) -> Result<Standing, Error>;
    /// Answers once the approval is settled, or after so many milliseconds.
    async fn wait(&self, run: &Run, approval: &str, millis: u64) -> Result<Standing, Error>;
    /// Uses an approval for exactly this call. Refused with the signer's code (`TK-…`).
    async fn consume(&self, run: &Run, call: &str, tool: &str, arguments: &Value<'_>) -> Result<(), Error>;
    async fn close(&self, run: &Run) -> Result<(), Error>;
}
