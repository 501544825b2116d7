use env::Timestamp;
use keys::PublicKey;
use ledger::note::{Pins, VerifierKey};
use ledger::{Coded, Who};
use mandate::text::Ed25519Key;
use pcm::message::Receiver;
use serde::Deserialize;
use std::sync::Arc;

/// The keys a verifier already has.
///
/// As a file: `{"servers":[JWK], "logs":[vkey], "witnesses":[vkey], "witnesses_required":n, "origins":[origin],
/// "verifiers":["ed25519:…"], "verifiers_required":n}`, strict JSON, every member optional, no other. Or the trust file of
/// evidence, which has `algs`: [`pcm::Trust`]. Or that of a receiver of messages, which has `speakers` and holds one of evidence:
/// [`pcm::message::Receiver`].
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Servers whose heads are believed. Empty: none is.
    pub(crate) servers: Vec<PublicKey>,
    /// Where passkeys may have signed. Empty: wherever the record itself says.
    pub(crate) origins: Vec<String>,
    /// Who may have signed for the facts that a mandate's judgements rest on.
    verifiers: Vec<Ed25519Key>,
    verifiers_required: usize,
    pub(crate) pins: Pins,
    /// For evidence.
    pub(crate) evidence: Option<pcm::Trust>,
    /// For messages.
    pub(crate) messages: Option<Arc<Receiver>>,
    /// When messages are judged.
    pub(crate) now: Option<Timestamp>,
    /// As which of the file's receivers; `None` for any.
    pub(crate) receiver: Option<String>,
    logs: usize,
    witnesses_required: usize,
}

/// Why a trust file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trust file refused ({code}): {detail}")]
pub struct TrustError {
    code: &'static str,
    place: String,
    detail: String,
}

impl Trust {
    pub fn parse(bytes: &[u8]) -> Result<Self, TrustError> {
        let value = canon::parse(bytes).map_err(json_error)?;
        if Receiver::is(&value) {
            let receiver = Receiver::read(&value).map_err(|error| evidence_error(&error))?;
            let own = Self::of_evidence(receiver.trust().clone());
            return Ok(Self { messages: Some(Arc::new(receiver)), ..own });
        }
        if pcm::Trust::is(&value) {
            return pcm::Trust::read(&value).map(Self::of_evidence).map_err(|error| evidence_error(&error));
        }
        let wire: Wire = canon::from_value(value).map_err(json_error)?;
        let keys = |keys: &[String], list: &str| {
            keys.iter()
                .enumerate()
                .map(|(index, key)| {
                    key.parse().map_err(|error| ledger_error(&error, format!("/{list}/{index}")))
                })
                .collect::<Result<Vec<VerifierKey>, _>>()
        };
        let logs = keys(&wire.logs, "logs")?;
        let witnesses = keys(&wire.witnesses, "witnesses")?;
        let pins = Pins::new(logs, witnesses, wire.witnesses_required)
            .map_err(|error| ledger_error(&error, String::new()))?;
        let mut distinct = wire.verifiers.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let refused = |place: &str, detail: &str| TrustError {
            code: "bad_verifiers",
            place: place.to_owned(),
            detail: detail.to_owned(),
        };
        if distinct.len() != wire.verifiers.len() {
            return Err(refused("/verifiers", "a verifier's key occurs twice"));
        }
        if wire.verifiers_required > distinct.len() {
            return Err(refused("/verifiers_required", "more than there are verifiers"));
        }
        Ok(Self {
            servers: wire.servers,
            origins: wire.origins,
            verifiers: wire.verifiers,
            verifiers_required: wire.verifiers_required,
            pins,
            logs: wire.logs.len(),
            witnesses_required: wire.witnesses_required,
            ..Self::default()
        })
    }

    /// The same, with the instant at which messages are judged, and as which receiver.
    #[must_use]
    pub fn standing(self, now: Timestamp, receiver: Option<String>) -> Self {
        Self { now: Some(now), receiver, ..self }
    }

    /// No server is known by it, so it says nothing of rooms and mandates.
    fn of_evidence(evidence: pcm::Trust) -> Self {
        Self {
            pins: evidence.pins().clone(),
            logs: evidence.origins().count(),
            witnesses_required: evidence.required(),
            evidence: Some(evidence),
            ..Self::default()
        }
    }

    /// Whether as many of the verifiers as are demanded, and at least so many, are among these keys, which are distinct.
    pub(crate) fn verified_by(&self, keys: &[Ed25519Key], least: usize) -> bool {
        keys.iter().filter(|key| self.verifiers.contains(key)).count() >= self.verifiers_required.max(least)
    }

    /// Whether a proof without a place in a known log is refused: where a log's key is pinned or witnesses are required.
    pub(crate) const fn requires_log(&self) -> bool {
        self.logs > 0 || self.witnesses_required > 0
    }
}

impl Coded for TrustError {
    fn code(&self) -> &'static str {
        self.code
    }
    fn who(&self) -> Who {
        Who::Caller
    }
    fn place(&self) -> Option<String> {
        Some(self.place.clone()).filter(|place| !place.is_empty())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(default)]
    servers: Vec<PublicKey>,
    #[serde(default)]
    logs: Vec<String>,
    #[serde(default)]
    witnesses: Vec<String>,
    #[serde(default)]
    witnesses_required: usize,
    #[serde(default)]
    origins: Vec<String>,
    #[serde(default)]
    verifiers: Vec<Ed25519Key>,
    #[serde(default)]
    verifiers_required: usize,
}

fn json_error(error: canon::Error) -> TrustError {
    TrustError { code: error.code.as_str(), place: error.place, detail: error.detail }
}

fn evidence_error(error: &pcm::Error) -> TrustError {
    TrustError { code: error.code(), place: error.place().unwrap_or_default(), detail: error.to_string() }
}

fn ledger_error(error: &ledger::Error, place: String) -> TrustError {
    TrustError { code: error.code(), place, detail: error.to_string() }
}
