//! `propose`: one action, from its signature to its end.

use super::home::Home;
use super::{Failure, Propose, ada, read_input};
use client::{Agent, Answer, Ask, Decided, End, Error, Outcome, Pace, Priced};
use mandate::log::DeclineReason;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Exit status.
const DONE: u8 = 0;
const NO: u8 = 1;
const PERSON: u8 = 3;

/// What is told at the end: for a person, and as JSON.
struct Told {
    status: u8,
    lines: Vec<(&'static str, String)>,
    json: Map<String, Value>,
}

impl Told {
    fn add(&mut self, name: &str, value: Value) {
        self.json.insert(name.to_owned(), value);
    }
}

pub async fn run(asked: &Propose) -> Result<u8, Failure> {
    let home = Home::open(&asked.at)?;
    let action = read_input(&asked.action)?;
    let ask = Ask::sign(&action, home.delegate.as_ref(), !asked.dry, asked.run.as_deref()).map_err(failed)?;
    let agent = home.agent(Pace::default())?;
    let told = told(asked, &agent, &ask).await?;
    if asked.json {
        println!("{}", Value::Object(told.json));
    } else {
        for (name, what) in &told.lines {
            println!("{name:<9} {what}");
        }
    }
    Ok(told.status)
}

async fn told(asked: &Propose, agent: &Agent, ask: &Ask) -> Result<Told, Failure> {
    let decided = match agent.ask(ask).await.map_err(failed)? {
        Answer::Decided(decided) => *decided,
        Answer::Priced(priced) if !asked.pay => return Ok(unpaid(&priced)),
        Answer::Priced(priced) => {
            let price = &priced.price;
            if !asked.json {
                let amount = ada(price.amount.get());
                println!("price     a person must be asked: {amount} are locked for {}", price.approval_id);
            }
            agent.pay(ask, &priced).await.map_err(failed)?
        }
    };
    let mut told = said(&decided);
    let mut receipt_id = decided.receipt_id.clone();
    if let Some(seconds) = asked.wait {
        let patience = Duration::from_secs(seconds);
        let end = agent.follow(ask, &decided, patience).await.map_err(failed)?;
        if let Some(End::Released { receipt_id: settled, .. }) = &end {
            receipt_id.clone_from(settled);
        }
        ended(&mut told, end.as_ref(), &decided);
    }
    if asked.wait.is_some() || asked.receipt.is_some() {
        let receipt = agent.receipt(ask, &receipt_id).await.map_err(failed)?;
        if let Some(path) = &asked.receipt {
            std::fs::write(path, &receipt.proof)
                .map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
        }
        let by = if receipt.report.pinned { "keys you trust" } else { "the keys it carries itself" };
        told.lines.push(("receipt", format!("{receipt_id} holds, by {by}")));
        told.add("receipt", json!({ "id": receipt_id, "holds": true, "pinned": receipt.report.pinned }));
    }
    Ok(told)
}

fn unpaid(priced: &Priced) -> Told {
    let price = &priced.price;
    let line = format!(
        "a person must be asked: {}, back unless it was frivolous, until {} (--pay locks it)",
        ada(price.amount.get()),
        price.locked_until_ms.timestamp()
    );
    Told {
        status: PERSON,
        lines: vec![("price", line), ("approval", price.approval_id.to_string())],
        json: [
            ("outcome", json!("priced")),
            ("price", json!(price)),
            ("approval_id", json!(price.approval_id)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect(),
    }
}

/// What was decided.
fn said(decided: &Decided) -> Told {
    let (status, word, line) = match &decided.outcome {
        Outcome::Allowed(record) => {
            (DONE, "allowed", format!("authorized by the engine: {}", record.digest_hex))
        }
        Outcome::Allowable => {
            (DONE, "allowable", "within the agent's own limits; nothing was signed".to_owned())
        }
        Outcome::Quoted(price) => {
            (PERSON, "quoted", format!("a person would have to be asked, for {}", ada(price.amount.get())))
        }
        Outcome::Waiting(brief) => (PERSON, "waiting", brief.will_happen.clone()),
        Outcome::Delayed(until) => {
            (PERSON, "delayed", format!("until {}, unless somebody objects", until.timestamp()))
        }
        Outcome::Denied(reason) => (NO, "denied", reason.to_string()),
        Outcome::Declined { comment } => (
            NO,
            "declined",
            comment.as_ref().map_or_else(|| "a person said no".to_owned(), ToString::to_string),
        ),
    };
    let mut told =
        Told { status, lines: vec![(word, line), ("run", decided.run_id.to_string())], json: Map::new() };
    for (name, value) in [
        ("outcome", json!(word)),
        ("approval_id", json!(decided.approval_id)),
        ("bond", json!(decided.bond)),
        ("evaluation", json!(decided.evaluation)),
        ("receipt_id", json!(decided.receipt_id)),
        ("run_id", json!(decided.run_id)),
    ] {
        told.add(name, value);
    }
    match &decided.outcome {
        Outcome::Allowed(record) => told.add("authorization", json!(record)),
        Outcome::Quoted(price) => told.add("price", json!(price)),
        Outcome::Waiting(brief) => told.add("brief", json!(brief)),
        Outcome::Delayed(until) => told.add("delayed_until_ms", json!(until)),
        Outcome::Denied(reason) => told.add("reason", json!(reason)),
        Outcome::Declined { comment } => told.add("comment", json!(comment)),
        Outcome::Allowable => {}
    }
    if let Some(id) = &decided.approval_id {
        told.lines.push(("approval", id.to_string()));
    }
    told
}

/// How it ended, or that it has not.
fn ended(told: &mut Told, end: Option<&End>, decided: &Decided) {
    let (status, word, line) = match end {
        Some(End::Released { tx_hash, .. }) => (DONE, "released", format!("the vault paid in {tx_hash}")),
        Some(End::Declined { reason, comment }) => {
            let bond = match reason {
                DeclineReason::Legitimate => "the bond goes back",
                DeclineReason::Frivolous => "the bond is lost",
            };
            let comment = comment.as_ref().map(|comment| format!(": {comment}")).unwrap_or_default();
            (NO, "declined", format!("{bond}{comment}"))
        }
        Some(End::Closed(reason)) => {
            let why = reason.map_or_else(|| "it no longer fits".to_owned(), |reason| reason.to_string());
            (NO, "closed", why)
        }
        Some(End::Expired) => (NO, "expired", "nobody answered in time; the bond goes back".to_owned()),
        Some(End::Lapsed) => (NO, "lapsed", "the authorization ended unused".to_owned()),
        None => match &decided.outcome {
            Outcome::Allowed(_) | Outcome::Waiting(_) => {
                (PERSON, "open", "still under way; the same command asks again".to_owned())
            }
            _ => return,
        },
    };
    told.status = status;
    told.lines.push((word, line));
    let end = match end {
        Some(End::Released { tx_hash, receipt_id }) => {
            json!({ "what": word, "tx_hash": tx_hash, "receipt_id": receipt_id })
        }
        Some(End::Declined { reason, comment }) => {
            json!({ "what": word, "reason": reason, "comment": comment })
        }
        Some(End::Closed(reason)) => json!({ "what": word, "reason": reason }),
        _ => json!({ "what": word }),
    };
    told.add("end", end);
}

/// In one line, with its code in front.
pub fn failed(error: Error) -> Failure {
    use ledger::Coded;
    Failure::unusable(format!("{}: {error}", error.code()))
}
