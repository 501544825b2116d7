//! Fixture F (spec 3.2): the derived mandate of the vectors, the recorded action, a report 30 s old.

use canon::{Digest, Raw};
use keys::{Algorithm, Signer, SoftwareSigner};
use mandate::statement::{Attested, SignedStatement, Statement, StatementSchema};
use mandate::text::Hex;
use mandate::{Evaluation, Evidence, Inputs, Mandate, Millis, Outcome, Proposal, Reason, Snapshot};
use serde_json::{Value, json};

pub const NOW: u64 = 1_791_342_000_000;

pub fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../vectors/claudia/claudia.json")).unwrap()
}

pub fn mandate_json() -> Value {
    vectors()["derived"]["mandate_fixture"]["doc"].clone()
}

pub fn action_json() -> Value {
    vectors()["published"]["action"]["doc"].clone()
}

pub fn report_json() -> Value {
    vectors()["published"]["verification_report"]["doc"].clone()
}

pub fn state_json() -> Value {
    json!({
        "vault_balance": "135000000", "spent_today": "0", "day_index": NOW / 86_400_000, "last_nonce": "0",
        "anchor_version": 3, "anchor_status": "active", "observed_at_slot": 1
    })
}

pub fn agent() -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[2; 32]).unwrap()
}

pub fn engine_key() -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[1; 32]).unwrap()
}

pub fn approver() -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[5; 32]).unwrap()
}

pub fn sign(action: &Value) -> String {
    let hash = mandate::HashedAction::read(action.to_string().as_bytes()).map(|action| action.hash());
    let hash = hash.unwrap_or(Digest::ZERO);
    let signature = agent().sign(&mandate::signing_bytes(&hash)).unwrap();
    Hex::from_bytes(*signature.as_bytes()).to_string()
}

/// A report about this very action: everything holds, found 30 s ago.
pub fn evidence(action: &Value, now: u64, edit: impl FnOnce(&mut Value)) -> Evidence {
    let mut report = report_json();
    let hash = mandate::HashedAction::read(action.to_string().as_bytes()).unwrap().hash();
    report["action_hash"] = json!(hash.to_string());
    report["verified_amount"] = action["amount"]["value"].clone();
    report["verified_recipient"] = action["recipient"]["address"].clone();
    edit(&mut report);
    let report = Raw::from_slice(report.to_string().as_bytes()).unwrap();
    let report_hash = report.digest();
    Evidence::bare(Millis::try_from(now - 30_000).unwrap(), report, report_hash)
}

/// The verifiers north, south and west.
pub fn verifier(name: &str) -> SoftwareSigner {
    let seed = ["north", "south", "west"].iter().position(|known| *known == name).unwrap() as u8;
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[21 + seed; 32]).unwrap()
}

/// What a verifier says of a report it has just read.
pub fn said(name: &str, report: &Raw, number: Option<&str>, at: Millis) -> SignedStatement {
    let statement = Statement {
        invoice_number: number.map(|number| number.parse().unwrap()),
        observed_at_ms: at,
        report_hash: report.digest(),
        schema: StatementSchema::V01,
        verifier: name.parse().unwrap(),
    };
    statement.sign(&verifier(name)).unwrap()
}

/// The same evidence by two verifiers, against a third that read a paid invoice.
pub fn attested(evidence: Evidence, action: &Value) -> Evidence {
    let number = action["reference"]["invoice_number"].as_str();
    let mut other: Value = serde_json::from_str(evidence.report.as_str()).unwrap();
    other["status"] = json!("paid");
    other["facts"]["status_open"] = json!(false);
    other["result"] = json!("MISMATCH");
    other["reason"] = json!("INVOICE_NOT_OPEN");
    let other = Raw::from_slice(other.to_string().as_bytes()).unwrap();
    let at = evidence.block_time_ms;
    let signed = said("west", &other, number, at);
    Evidence {
        statements: ["north", "south"].map(|name| said(name, &evidence.report, number, at)).to_vec(),
        dissent: vec![Attested { report: other, signed }],
        ..evidence
    }
}

/// One evaluation, built up by edits of the fixture.
pub struct Case {
    pub mandate: Value,
    pub action: Value,
    pub state: Value,
    pub signature: Option<String>,
    pub evidence: Option<Evidence>,
    pub now: u64,
}

impl Case {
    /// The fixture: 8.42 USDM to a listed vendor, signed and verified.
    pub fn new() -> Self {
        Self::of(|_| {})
    }

    pub fn of(edit: impl FnOnce(&mut Value)) -> Self {
        let mut action = action_json();
        edit(&mut action);
        Self {
            mandate: mandate_json(),
            signature: Some(sign(&action)),
            evidence: Some(evidence(&action, NOW, |_| {})),
            action,
            state: state_json(),
            now: NOW,
        }
    }

    /// The fixture with another amount, in hundredths of a USDM.
    pub fn amount(cents: u64) -> Self {
        Self::of(|action| action["amount"]["value"] = json!((cents * 10_000).to_string()))
    }

    pub fn state(mut self, member: &str, value: Value) -> Self {
        self.state[member] = value;
        self
    }

    pub fn unverified(mut self) -> Self {
        self.evidence = None;
        self
    }

    pub fn with<T>(&self, run: impl FnOnce(&Inputs<'_>) -> T) -> T {
        let mandate = Mandate::read(self.mandate.to_string().as_bytes()).unwrap();
        let state = Snapshot::read(self.state.to_string().as_bytes()).unwrap();
        let action = self.action.to_string();
        let proposal = Proposal { action: action.as_bytes(), agent_signature: self.signature.as_deref() };
        run(&Inputs {
            mandate: &mandate,
            proposal,
            state: &state,
            evidence: self.evidence.as_ref(),
            now: Millis::try_from(self.now).unwrap(),
        })
    }

    pub fn run(&self) -> Evaluation {
        self.with(mandate::evaluate)
    }

    /// Checks outcome and top-level reason, and that what JSON says of it can be read again.
    pub fn gives(&self, outcome: Outcome, reason: Option<Reason>) -> Evaluation {
        let evaluation = self.run();
        assert_eq!((evaluation.outcome, evaluation.reason), (outcome, reason), "{evaluation:#?}");
        assert_eq!(evaluation, self.run());
        let bytes = canon::to_vec(&evaluation).unwrap();
        let again: Evaluation = canon::from_slice(&bytes).unwrap();
        assert_eq!(again, evaluation);
        assert_eq!(canon::to_vec(&again).unwrap(), bytes);
        evaluation
    }
}

/// A row as JSON.
pub fn row(evaluation: &Evaluation, id: &str) -> Value {
    let row = evaluation.checks.iter().find(|row| row.id == id).unwrap();
    serde_json::from_slice(&canon::to_vec(row).unwrap()).unwrap()
}
