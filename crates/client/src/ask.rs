//! What is asked: an action under the delegate's signature.

use crate::Error;
use bytes::Bytes;
use canon::Raw;
use keys::Signer;
use mandate::HashedAction;
use mandate::text::{Hex, Id};
use serde::Serialize;

/// A proposal as it is sent, byte for byte the same each time: an idempotency key is of one body.
#[derive(Debug, Clone)]
pub struct Ask {
    pub action: HashedAction,
    /// The canonical body of a check.
    pub body: Bytes,
}

#[derive(Serialize)]
struct Body<'a> {
    execute: bool,
    mandate_id: &'a Id,
    proposal: Proposal<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Proposal<'a> {
    action: &'a Raw,
    agent_signature: String,
}

impl Ask {
    /// Signs an action (C1: the form with the domain in front). `execute`: it is to be done, not only judged. Refuses what is
    /// no action.
    pub fn sign(
        action: &[u8],
        delegate: &dyn Signer,
        execute: bool,
        run: Option<&str>,
    ) -> Result<Self, Error> {
        let read = HashedAction::read(action)?;
        let raw = Raw::from_slice(action).map_err(|error| Error::Action(error.into()))?;
        let signature = delegate.sign(&mandate::signing_bytes(&read.hash()))?;
        let agent_signature = Hex::from_bytes(*signature.as_bytes()).to_string();
        let proposal = Proposal { action: &raw, agent_signature };
        let body = Body { execute, mandate_id: &read.mandate_id, proposal, run_id: run };
        let body = canon::to_vec(&body).map_err(|error| Error::Action(error.into()))?.into();
        Ok(Self { action: read, body })
    }
}
