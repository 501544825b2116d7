//! Commitments, and what opens them (spec 3.7).

use crate::{Error, Event};
use canon::{Digest, Salt, Value};
use hmac::{KeyInit as _, Mac as _};
use std::fmt;
use std::str::FromStr;

/// The most an opened value may have in canonical bytes (spec 4.10).
pub const MAX_OPENING: usize = 64 << 10;

/// What a record says of a value it does not show: HMAC-SHA256(salt, ASCII of the value's digest), spelled
/// `hmac-sha256:` and 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commitment(Digest);

impl Commitment {
    /// The commitment to a digest under one record's salt.
    pub fn of(salt: &Salt, digest: &Digest) -> Self {
        Self(hmac(salt.as_bytes(), digest.prefixed().as_bytes()))
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hmac-sha256:{}", self.0)
    }
}

impl FromStr for Commitment {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix("hmac-sha256:").ok_or(Error::Opening)?;
        digits.parse().map(Self).map_err(|_| Error::Opening)
    }
}

/// A value and the salt under which a record committed to it. One salt opens one record, nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    pub salt: Salt,
    pub value: &'a Value<'a>,
}

impl Opening<'_> {
    /// The value is the arguments of a call of `tool`: what a `policy.decision`, the binding of an `approval.request` or
    /// `args_commitment` of the event commits to. Refused unless the record commits to exactly that.
    pub fn arguments(&self, event: &Event<'_>, tool: &str) -> Result<(), Error> {
        let data = event.data();
        let committed = match event.kind() {
            "approval.request" => data.pointer("/binding/args_commitment"),
            _ => data.get("args_commitment").or_else(|| event.value().get("args_commitment")),
        };
        self.opens(committed, &arguments_digest(tool, self.value)?)
    }

    /// The value is the content of a `tool.result` or an `input.observed`, as `{"result": R}` and so on, after redaction.
    /// Its length must be the one the record names.
    pub fn content(&self, event: &Event<'_>) -> Result<(), Error> {
        let bytes = canon::to_vec(self.value)?;
        let output = event.data().get("output").ok_or(Error::Opening)?;
        if output.get("size").and_then(Value::as_u64) != u64::try_from(bytes.len()).ok() {
            return Err(Error::Opening);
        }
        self.opens(output.get("hash"), &Digest::of(&bytes))
    }

    fn opens(&self, committed: Option<&Value<'_>>, digest: &Digest) -> Result<(), Error> {
        let committed: Commitment = committed.and_then(Value::as_str).ok_or(Error::Opening)?.parse()?;
        if committed == Commitment::of(&self.salt, digest) { Ok(()) } else { Err(Error::Opening) }
    }
}

/// SHA-256 of the canonical `{"args": A, "tool": name}`.
pub fn arguments_digest(tool: &str, arguments: &Value<'_>) -> Result<Digest, Error> {
    let parts: [&[u8]; 5] =
        [b"{\"args\":", &canon::to_vec(arguments)?, b",\"tool\":", &canon::to_vec(tool)?, b"}"];
    Ok(Digest::of(&parts.concat()))
}

/// SHA-256 of the canonical form of a content, and that form's length.
pub fn content_digest(content: &Value<'_>) -> Result<(Digest, usize), Error> {
    let bytes = canon::to_vec(content)?;
    Ok((Digest::of(&bytes), bytes.len()))
}

/// What a record's salt is derived from, beside the secret: `<type>:<salt_id>`; without one, the decision's id, and
/// `result:` before it for a result.
pub fn salt_label(event: &Event<'_>) -> Option<String> {
    let decision = event.data_text("decision_id");
    match (event.data_text("salt_id"), event.kind()) {
        (Some(id), kind) => Some(format!("{kind}:{id}")),
        (None, "tool.result") => decision.map(|id| format!("result:{id}")),
        (None, "policy.decision") => decision.map(str::to_owned),
        (None, _) => None,
    }
}

/// The salt of the record with that label.
pub fn salt(secret: &[u8; 32], label: &str) -> Salt {
    Salt::from_bytes(*hmac(secret, label.as_bytes()).as_bytes())
}

pub(crate) fn hmac(key: &[u8; 32], message: &[u8]) -> Digest {
    // A key shorter than the block is padded with zeros by definition (RFC 2104), so this cannot fail.
    let mut block = [0_u8; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = hmac::Hmac::<sha2::Sha256>::new(&block.into());
    mac.update(message);
    Digest::from_bytes(mac.finalize().into_bytes().into())
}
