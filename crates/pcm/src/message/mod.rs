//! Messages that carry their proofs: our draft of PCM's message layer (spec 4), version `pcm/0.1-cs`.
//!
//! A message says who sends it, what it asks, what it claims, and under which grants; each claim names records of the sender's
//! log that are shown with their places in its tree. [`verify`] judges it offline under a [`Receiver`], what the receiver already
//! has. Claims are existential: something happened. Only `still_holds` says that it still does.

pub mod accepted;
mod approved;
mod call;
pub mod carriage;
mod check;
mod claims;
mod code;
mod grants;
mod receiver;
mod replay;
pub mod sample;
mod seen;
mod send;
mod shelf;
mod still;
mod terms;
mod tools;
mod wire;
pub mod words;

pub use accepted::Accepted;
pub use check::{At, Finding, Heading, Judgement, TAG, verify};
pub use code::{Class, Code, Overall, Verdict};
pub use grants::{GRANT_RECORD, GRANT_TAG, GRANT_TOOL, Grant, REVOKED_RECORD, asked};
pub use receiver::Receiver;
pub use replay::{Acceptance, Memory, Replay};
pub use seen::Seen;
pub use send::{Claim, Draft, Intent, MESSAGE_RECORD, Proof, Reveal, grant_record, link, message_record};
pub use terms::{Term, narrower};
pub use tools::registry_digest;
pub use wire::{Fault, MAX_MESSAGE, Message, Sender, VERSION};

/// `(file name, JSON)` of the published JSON Schemas of messages, ids `urn:countersign:schema:<name>`.
pub const fn schemas() -> [(&'static str, &'static str); 3] {
    [
        ("pcm-message.schema.json", include_str!("../../../../docs/schemas/pcm-message.schema.json")),
        ("pcm-grant.schema.json", include_str!("../../../../docs/schemas/pcm-grant.schema.json")),
        ("pcm-trust.schema.json", include_str!("../../../../docs/schemas/pcm-trust.schema.json")),
    ]
}
