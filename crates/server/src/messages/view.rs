//! How a verdict and a line of the record are spelled.

use env::Timestamp;
use ledger::{Aggregate, Entry, Head};
use pcm::message::accepted::{Fact, Receipt};
use pcm::message::{Accepted, Class, Code, Judgement};
use schemars::JsonSchema;
use serde::Serialize;

/// What became of a message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Verdict {
    /// `accept`, `accept_unproven` or `reject`.
    pub overall: &'static str,
    /// Why it is rejected, or the first reason why it is not wholly proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// JSON Pointer into the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// SHA-256 of the message without its signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `scheme:subject`; believed only if the message is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// One a claim; none if the message was refused before.
    pub claims: Vec<Found>,
    /// The hash of the last grant, under which it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Seen>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    pub id: String,
    /// `proven`, `unproven` or `failed`.
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Seen {
    pub origin: String,
    pub size: u64,
    pub root: String,
}

impl Verdict {
    pub fn of(judgement: &Judgement) -> Self {
        let (fault, heading) = (judgement.fault.as_ref(), judgement.heading.as_ref());
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self {
            overall: judgement.overall.as_str(),
            code: fault.map(|fault| fault.code.as_str()),
            class: fault.map(|fault| fault.code.class()).map(Class::as_str),
            place: fault.and_then(|fault| said(&fault.place)),
            detail: fault.and_then(|fault| said(&fault.detail)),
            message: heading.map(|heading| heading.hash.prefixed()),
            id: heading.map(|heading| heading.id.clone()),
            from: heading.map(|heading| heading.from.agent.clone()),
            to: heading.map(|heading| heading.to.clone()),
            claims: judgement
                .claims
                .iter()
                .map(|finding| Found {
                    id: finding.id.clone(),
                    verdict: finding.verdict.as_str(),
                    code: finding.verdict.code().map(Code::as_str),
                })
                .collect(),
            grant: judgement.grant.map(|hash| hash.prefixed()),
            checkpoint: judgement.checkpoint.as_ref().map(|checkpoint| Seen {
                origin: checkpoint.origin.to_string(),
                size: checkpoint.size,
                root: checkpoint.root.prefixed(),
            }),
        }
    }
}

/// An accepted message in the record.
#[derive(Debug, Clone)]
pub struct Line {
    /// The number of its entry.
    pub n: u64,
    pub at: Timestamp,
    pub receipt: Receipt,
}

impl Line {
    /// `None` for an entry that accepts nothing.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let before = Head { seq: entry.seq.saturating_sub(1), hash: entry.prev };
        let event = Accepted::open(entry, before).ok()?;
        match event.fact {
            Fact::Accepted(receipt) => Some(Self { n: entry.seq, at: event.at, receipt: *receipt }),
            Fact::Epoch { .. } => None,
        }
    }
}
