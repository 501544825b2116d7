//! Mandates by hand: hash a document, judge an action, rebuild what the engine signs. No server, no network.

use super::{Failure, read_input};
use canon::{Digest, Raw, Value};
use clap::{Args, Subcommand};
use ledger::Coded;
use mandate::authorization::{Fields, Record};
use mandate::{
    Action, Evaluation, Evidence, Hashed, Inputs, Millis, Outcome, Proposal, Refusal, Report, Snapshot,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Mandate {
    /// Check a mandate, an action or a verification report, and print its hash
    Hash {
        /// The document; - for standard input
        file: PathBuf,
    },
    /// Judge an action against a mandate and print the evaluation
    Evaluate(Evaluate),
    /// Print the bytes the engine signs, and their digest
    Authorization {
        /// An authorization record, or its fields alone
        file: PathBuf,
    },
    /// Print the hash of a decision
    DecisionHash(Decision),
}

#[derive(Debug, Args)]
pub struct Evaluate {
    #[arg(long, value_name = "FILE")]
    mandate: PathBuf,
    /// An action, or {"action", "agent_signature"}
    #[arg(long, value_name = "FILE")]
    action: PathBuf,
    /// The delegate's signature over the action, in hex
    #[arg(long, value_name = "HEX")]
    signature: Option<String>,
    /// What was read of the vault and the anchor
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// {"report", "report_hash", "block_time_ms"}; or a report alone, taken to be recorded now
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Milliseconds since 1970, or 2026-10-07T03:00:00Z
    #[arg(long, value_name = "INSTANT")]
    now: String,
}

#[derive(Debug, Args)]
pub struct Decision {
    /// An evaluation that has it all; else the parts, of which any may be missing
    #[arg(conflicts_with_all = ["action", "mandate", "verification", "outcome"])]
    evaluation: Option<PathBuf>,
    #[arg(long, value_name = "HEX")]
    action: Option<Digest>,
    #[arg(long, value_name = "HEX")]
    mandate: Option<Digest>,
    #[arg(long, value_name = "HEX")]
    verification: Option<Digest>,
    /// ALLOW, ESCALATE or DENY
    #[arg(long, required_unless_present = "evaluation")]
    outcome: Option<String>,
}

pub fn run(command: &Mandate) -> Result<(), Failure> {
    let line = match command {
        Mandate::Hash { file } => hash(&read_input(file)?)?.to_string(),
        Mandate::Evaluate(arguments) => text(&evaluate(arguments)?)?,
        Mandate::Authorization { file } => text(&authorization(&read_input(file)?)?)?,
        Mandate::DecisionHash(decision) => decision_hash(decision)?.to_string(),
    };
    println!("{line}");
    Ok(())
}

fn hash(bytes: &[u8]) -> Result<Digest, Failure> {
    let value = canon::parse(bytes).map_err(|error| unusable(&error.into()))?;
    match value.get("schema").and_then(Value::as_str) {
        Some("action-ir/v0.1") => Hashed::<Action>::read(bytes).map(|action| action.hash()),
        Some("verification/v0.1") => Report::read(bytes).map(|report| report.hash()),
        _ => mandate::Mandate::read(bytes).map(|mandate| mandate.hash()),
    }
    .map_err(|refusal| unusable(&refusal))
}

fn evaluate(arguments: &Evaluate) -> Result<Evaluation, Failure> {
    let now = instant(&arguments.now)?;
    let mandate = mandate::Mandate::read(&read_input(&arguments.mandate)?).map_err(|r| unusable(&r))?;
    let state = Snapshot::read(&read_input(&arguments.state)?).map_err(|r| unusable(&r))?;
    let evidence = arguments.report.as_deref().map(|path| evidence(path, now)).transpose()?;
    let (action, enclosed) = proposal(read_input(&arguments.action)?);
    let proposal =
        Proposal { action: &action, agent_signature: arguments.signature.as_deref().or(enclosed.as_deref()) };
    Ok(mandate::evaluate(&Inputs {
        mandate: &mandate,
        proposal,
        state: &state,
        evidence: evidence.as_ref(),
        now,
    }))
}

/// A proposal taken apart; what is none is an action, good or bad.
fn proposal(bytes: Vec<u8>) -> (Vec<u8>, Option<String>) {
    let parts = canon::parse(&bytes).ok().and_then(|value| {
        let action = canon::to_vec(value.get("action")?).ok()?;
        Some((action, value.get("agent_signature").and_then(Value::as_str).map(str::to_owned)))
    });
    parts.unwrap_or((bytes, None))
}

fn evidence(path: &Path, now: Millis) -> Result<Evidence, Failure> {
    let bytes = read_input(path)?;
    let value = canon::parse(&bytes).map_err(|error| unusable(&error.into()))?;
    if value.get("report").is_some() {
        return canon::from_slice(&bytes).map_err(|error| unusable(&error.into()));
    }
    let report = Raw::from_slice(&bytes).map_err(|error| unusable(&error.into()))?;
    Ok(Evidence { block_time_ms: now, report_hash: report.digest(), report })
}

#[derive(Serialize)]
struct Message {
    digest_hex: String,
    message_hex: String,
}

fn authorization(bytes: &[u8]) -> Result<Message, Failure> {
    let value = canon::parse(bytes).map_err(|error| unusable(&error.into()))?;
    let fields = if value.get("fields").is_some() {
        let record: Record = canon::from_slice(bytes).map_err(|error| unusable(&error.into()))?;
        record.verify().map_err(|refusal| Failure::refused(words(&refusal)))?;
        record.fields
    } else {
        Fields::read(bytes).map_err(|refusal| unusable(&refusal))?
    };
    let message_hex = fields.message().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Message { digest_hex: fields.digest().to_string(), message_hex })
}

fn decision_hash(decision: &Decision) -> Result<Digest, Failure> {
    if let Some(path) = &decision.evaluation {
        let bytes = read_input(path)?;
        let evaluation: Evaluation = canon::from_slice(&bytes).map_err(|error| unusable(&error.into()))?;
        return Ok(mandate::decision_hash(
            evaluation.action_hash,
            Some(evaluation.mandate_hash),
            evaluation.verification_hash,
            evaluation.outcome,
        ));
    }
    let word = decision.outcome.as_deref().unwrap_or_default();
    let outcome = [Outcome::Allow, Outcome::Escalate, Outcome::Deny, Outcome::Delay]
        .into_iter()
        .find(|outcome| outcome.as_str() == word)
        .ok_or_else(|| Failure::unusable(format!("{word:?} is no outcome")))?;
    Ok(mandate::decision_hash(decision.action, decision.mandate, decision.verification, outcome))
}

fn instant(text: &str) -> Result<Millis, Failure> {
    let read = match text.parse::<u64>() {
        Ok(millis) => Millis::try_from(millis).ok(),
        Err(_) => text.parse::<mandate::DateTime>().ok().and_then(|at| at.millis()),
    };
    read.ok_or_else(|| {
        Failure::unusable(format!("{text:?} is no instant: milliseconds, or 2026-10-07T03:00:00Z"))
    })
}

fn text<T: Serialize>(value: &T) -> Result<String, Failure> {
    let bytes = canon::to_vec(value).map_err(Failure::unusable_by)?;
    String::from_utf8(bytes).map_err(Failure::unusable_by)
}

/// A document that is none is of no use; a mandate that breaks its own rules is refused.
fn unusable(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::MandateRules { .. } => Failure::refused(words(refusal)),
        _ => Failure::unusable(words(refusal)),
    }
}

fn words(refusal: &Refusal) -> String {
    match refusal.place() {
        Some(place) => format!("{} at {place}: {refusal}", refusal.code()),
        None => format!("{}: {refusal}", refusal.code()),
    }
}
