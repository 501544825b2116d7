//! Record keys that an issuer certified, before receivers that pin issuers.

use super::{Book, claim, sealed, signer};
use base64::Engine as _;
use env::{Duration, Env, Timestamp};
use keys::{PublicKey, Signer};
use ledger::merkle::leaf_hash;
use ledger::note::{Checkpoint, KeyType, Note, VerifierKey};
use pcm::message::sample::{Custody, Stage};
use serde_json::{Value, json};

const START: i64 = 1_796_000_000;

pub fn certificates(book: &mut Book) {
    let mut add = |name, about, plan: &Plan, expected| {
        let mut stage = plan.stage();
        let call =
            stage.call(Custody::Executor, "http_get", r#"{"url":"https://a.example/"}"#, "{}").unwrap();
        let order = claim("tool_called", json!({"tool": "http_get", "args": {}}), &[call.0, call.1]);
        let message = sealed(&mut stage, &order);
        book.add(name, about, message, &stage, expected).trusting(|t| {
            t["evidence"]["issuers"] = json!([{
                "vkey": vkey("issuer.example", KeyType::Log, 6),
                "issuance_log_vkey": vkey("issuer.example/log", KeyType::Log, 7),
            }]);
            t["evidence"]["witnesses"] =
                json!([{"vkey": vkey("witness.example", KeyType::Witness, 5), "class": "public"}]);
        });
    };
    let good = Plan::default();
    add(
        "certified",
        "an issuer certified the key for this tenant, and a witness saw it",
        &good,
        "accept c:proven",
    );
    let none = Plan { none: true, ..Plan::default() };
    add("not-certified", "issuers are pinned, and the key has no certificate", &none, "reject unknown_key");
    let other = Plan { tenants: "other", ..Plan::default() };
    add("certified-for-another", "the certificate names another tenant", &other, "reject unknown_key");
    let ended = Plan { until: START - 1, ..Plan::default() };
    add("certificate-ended", "the certificate ended before the records", &ended, "reject unknown_key");
    let forged = Plan { issuer: 8, ..Plan::default() };
    add("certificate-forged", "signed by an issuer nobody pins", &forged, "reject unknown_key");
    let unseen = Plan { witnessed: false, ..Plan::default() };
    add("certificate-unseen", "no witness saw the issuer's log", &unseen, "reject unknown_key");
}

struct Plan {
    none: bool,
    tenants: &'static str,
    until: i64,
    issuer: u8,
    witnessed: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { none: false, tenants: "acme", until: START + 3600, issuer: 6, witnessed: true }
    }
}

impl Plan {
    fn stage(&self) -> Stage<'static> {
        let env = Env::new(Timestamp::from_secs(START), [26; 32]);
        Stage::certified(env, signer(1), signer(2), |log_id| {
            if self.none {
                return Ok(None);
            }
            Ok(Some(canon::parse(self.entry(log_id).to_string().as_bytes()).unwrap().into_static()))
        })
        .unwrap()
    }

    /// The issuer's statement in the one leaf of its log.
    fn entry(&self, log_id: &str) -> Value {
        let key = signer(2).public();
        let cert = json!({
            "kid": key.spki_kid().to_string(),
            "spki": base64::engine::general_purpose::STANDARD.encode(key.spki()),
            "log_id": log_id,
            "tenants": [self.tenants],
            "not_before": START - 3600,
            "not_after": self.until,
            "serial": "01",
        });
        let mut signed = cert.clone();
        signed["t"] = json!("tracekit.cert.v2");
        let sig = signer(self.issuer).sign(&canonical(&signed)).unwrap().base64();
        let document = json!({"cert": cert, "sig": sig});
        let root = leaf_hash(canon::Digest::of(&canonical(&document)).as_bytes());
        let checkpoint = Checkpoint { origin: "issuer.example/log".parse().unwrap(), size: 1, root };
        let mut note = Note::sign(checkpoint, signer(7)).unwrap();
        if self.witnessed {
            let at = Timestamp::from_secs(START) + Duration::from_secs(1);
            let line = note.cosign("witness.example".parse().unwrap(), signer(5), at).unwrap();
            note.append(&line).unwrap();
        }
        json!({"certificate": document, "index": 0, "inclusion": [], "checkpoint": note.to_string()})
    }
}

fn canonical(value: &Value) -> Vec<u8> {
    canon::canonicalize(value.to_string().as_bytes()).unwrap()
}

fn vkey(name: &str, kind: KeyType, seed: u8) -> String {
    let PublicKey::Ed25519(key) = signer(seed).public() else { panic!("an Ed25519 key") };
    VerifierKey::new(name.parse().unwrap(), kind, key).to_string()
}
