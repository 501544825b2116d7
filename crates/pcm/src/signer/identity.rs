//! Who calls, and the token by which a run is shown to be somebody's (spec 3.10, 3.15).

use super::rpc::{Name, RegisterRun};
use super::{Fault, FaultCode};
use crate::opening::{hmac, salt};
use ::base64::Engine as _;
use ::base64::engine::general_purpose::URL_SAFE_NO_PAD;
use canon::{Digest, Salt};
use serde::{Deserialize, Serialize};

/// Who calls, as the transport knows it. Nothing a client says of itself is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `scheme:subject`, such as `uid:1000` or `token:agent`.
    pub name: String,
    pub tenant: String,
    /// It may call for others, whom it has authenticated, and what it runs is T2.
    pub gateway: bool,
    pub observer: bool,
    pub operator: bool,
    /// The person it belongs to: they never answer what it asks.
    pub person: Option<String>,
    /// Calls a second that change something, twice as many at once; `None` for as many as come (spec 3.16, D40).
    pub rate: Option<u32>,
}

impl Identity {
    /// The part of the name before the colon, and the part after it.
    pub fn parts(&self) -> (&str, &str) {
        parts(&self.name)
    }

    /// For whom it calls, and through whom: the caller a gateway names, or itself. Refused: a caller named by whoever is no
    /// gateway, or one that is no name.
    pub(crate) fn acting<'a>(&'a self, caller: Option<&'a Name>) -> Result<Acting<'a>, Fault> {
        let Some(caller) = caller else { return Ok(Acting { of: &self.name, via: None }) };
        if !self.gateway {
            return Err(Fault::new(FaultCode::Forbidden, "only a gateway names a caller"));
        }
        let (scheme, subject) = parts(caller.as_str());
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if scheme.is_empty() || subject.is_empty() || !scheme.bytes().all(good) {
            return Err(Fault::invalid("a caller is scheme:subject"));
        }
        Ok(Acting { of: caller.as_str(), via: Some(&self.name) })
    }

    /// The tenant of a run it registers. Refused: any but its own.
    pub(crate) fn tenant_of(&self, request: &RegisterRun) -> Result<&str, Fault> {
        match &request.tenant {
            Some(tenant) if tenant.as_str() != self.tenant => {
                Err(Fault::new(FaultCode::Forbidden, "a run is of its caller's own tenant"))
            }
            _ => Ok(&self.tenant),
        }
    }
}

/// For whom a call is made, and through which gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acting<'a> {
    pub of: &'a str,
    pub via: Option<&'a str>,
}

/// `scheme:subject` in its two parts.
pub(crate) fn parts(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", ""))
}

/// What only the signer knows: the keys of salts and of run tokens.
#[derive(Clone)]
pub struct Secrets {
    salts: [u8; 32],
    tokens: [u8; 32],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    run_id: String,
    sub: String,
    tenant: String,
}

impl Secrets {
    /// Both derive from one secret of 32 bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        let one = |label: &str| *salt(secret, label).as_bytes();
        Self { salts: one("countersign.evidence.salts.v1"), tokens: one("countersign.evidence.tokens.v1") }
    }

    /// The salt of the record with that label (spec 3.7).
    pub fn salt(&self, label: &str) -> Salt {
        salt(&self.salts, label)
    }

    /// The token of a run: whoever shows it speaks of a run of `sub`.
    pub fn token(&self, run_id: &str, sub: &str, tenant: &str) -> Result<String, Fault> {
        let claims = Claims { run_id: run_id.to_owned(), sub: sub.to_owned(), tenant: tenant.to_owned() };
        let payload = canon::to_vec(&claims).map_err(|error| Fault::invalid(error.to_string()))?;
        Ok(format!("{}.{}", URL_SAFE_NO_PAD.encode(&payload), URL_SAFE_NO_PAD.encode(self.mac(&payload))))
    }

    /// Whether a token is this run's, of that caller. Refused: any other text.
    pub(crate) fn check(&self, token: &str, run_id: &str, sub: &str, tenant: &str) -> Result<(), Fault> {
        // By their digests, so that how long it takes tells nothing of the right one.
        if Digest::of(self.token(run_id, sub, tenant)?.as_bytes()) == Digest::of(token.as_bytes()) {
            Ok(())
        } else {
            Err(Fault::new(FaultCode::RunTokenInvalid, "the token is not this run's, or not its caller's"))
        }
    }

    /// Of which run a token is, and whose. Refused: one that this signer did not make.
    pub fn owner(&self, token: &str) -> Result<(String, String), Fault> {
        let refused = || Fault::new(FaultCode::RunTokenInvalid, "the token is no run's");
        let payload = token.split_once('.').and_then(|(payload, _)| URL_SAFE_NO_PAD.decode(payload).ok());
        let payload = payload.ok_or_else(refused)?;
        let claims: Claims = canon::from_slice(&payload).map_err(|_| refused())?;
        self.check(token, &claims.run_id, &claims.sub, &claims.tenant)?;
        Ok((claims.run_id, claims.sub))
    }

    fn mac(&self, payload: &[u8]) -> [u8; 32] {
        *hmac(&self.tokens, &[b"tracekit.run_token.v1\n", payload].concat()).as_bytes()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}
