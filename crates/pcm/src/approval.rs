//! Approvals (spec 3.9): what is asked is bound to one call, and the records of an approval stand in one order.

use crate::{Error, Event};
use canon::{Digest, Value};

/// What a request binds: one attempt at one call of one run, its tool, its arguments by commitment, under one policy.
pub const BINDING: [&str; 12] = [
    "v",
    "approval_id",
    "tenant",
    "run_id",
    "tool_call_id",
    "attempt",
    "tool",
    "args_commitment",
    "args_source",
    "policy_hash",
    "nonce",
    "expires_at",
];

/// SHA-256 of the binding's canonical form.
pub fn binding_digest(binding: &Value<'_>) -> Result<Digest, Error> {
    Ok(Digest::of(&canon::to_vec(binding)?))
}

/// What a person's passkey signs for an approval: SHA-256 of `{v:1, approval_id, binding_digest, decision:"approve"}`.
pub fn statement(approval_id: &str, binding: &Digest) -> Result<Digest, Error> {
    let binding = binding.prefixed();
    let parts: [&[u8]; 5] = [
        b"{\"approval_id\":",
        &canon::to_vec(approval_id)?,
        b",\"binding_digest\":\"",
        binding.as_bytes(),
        b"\",\"decision\":\"approve\",\"v\":1}",
    ];
    Ok(Digest::of(&parts.concat()))
}

/// Whether the request's binding is its own: the digest recomputes, and every member it shares with the record that carries
/// it is equal there.
pub fn bound(request: &Event<'_>) -> Result<(), Error> {
    let refused = Error::Approval;
    let data = request.data();
    let binding = data.get("binding").ok_or(refused("there is no binding"))?;
    if data.get("binding_digest").and_then(Value::as_str) != Some(&binding_digest(binding)?.prefixed()) {
        return Err(refused("the digest is not the binding's"));
    }
    let said = |name: &str| binding.get(name).and_then(Value::as_str);
    let own = [
        ("approval_id", request.data_text("approval_id")),
        ("tenant", Some(request.tenant())),
        ("run_id", Some(request.run_id())),
        ("tool_call_id", request.tool_call_id()),
        ("policy_hash", request.data_text("policy_hash")),
        ("expires_at", request.data_text("expires_at")),
    ];
    if own.iter().any(|(name, value)| said(name) != *value)
        || binding.get("attempt").and_then(Value::as_u64) != Some(request.attempt())
    {
        return Err(refused("the binding is of another call"));
    }
    Ok(())
}

/// One approval as its run's records tell it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    expires_at: String,
    /// The call asked for: its name and its attempt.
    call: (Option<String>, u64),
    not_before: Option<String>,
    consume_by: Option<String>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Requested,
    Approved,
    Rejected,
    Consumed,
    Ended,
}

impl Story {
    /// Begins with the request.
    pub fn begin(request: &Event<'_>) -> Result<Self, Error> {
        bound(request)?;
        Ok(Self {
            expires_at: request.data_text("expires_at").unwrap_or_default().to_owned(),
            call: (request.tool_call_id().map(str::to_owned), request.attempt()),
            not_before: None,
            consume_by: None,
            state: State::Requested,
        })
    }

    /// The next record that names this approval. Refused: an answer to what is answered or ended, or after its end; a use of
    /// what is not approved, used before, out of its window, or by another call.
    pub fn next(&mut self, event: &Event<'_>) -> Result<(), Error> {
        let refused = |why| Err(Error::Approval(why));
        match (event.kind(), event.data_text("decision")) {
            ("approval", Some("approve" | "reject")) if self.state != State::Requested => {
                return refused("it is answered twice, or after it ended");
            }
            ("approval", Some("approve")) => {
                if event.when() >= self.expires_at.as_str() {
                    return refused("it is answered after its end");
                }
                let told = |name| event.data_text(name).map(str::to_owned);
                (self.not_before, self.consume_by) = (told("not_before"), told("consume_by"));
                self.state = State::Approved;
            }
            ("approval", Some("reject")) => self.state = State::Rejected,
            ("approval.consumed", _) => {
                if self.state != State::Approved {
                    return refused("it is used without an approval, or twice");
                }
                if event.tool_call_id() != self.call.0.as_deref() || event.attempt() != self.call.1 {
                    return refused("it is used by another call");
                }
                let early = self.not_before.as_deref().is_some_and(|from| event.when() < from);
                let late = self.expires_at.as_str() <= event.when()
                    || self.consume_by.as_deref().is_some_and(|by| by <= event.when());
                if early || late {
                    return refused("it is used outside its window");
                }
                self.state = State::Consumed;
            }
            // What was used stays used.
            ("approval.expired" | "approval.abandoned" | "approval.revoked", _)
                if self.state != State::Consumed =>
            {
                self.state = State::Ended;
            }
            _ => {}
        }
        Ok(())
    }
}
