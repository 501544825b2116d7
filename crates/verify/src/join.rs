//! A proof of a mandate from the parts a person has: an exported log, an answer of the API, a transaction from the chain.

use ::mandate::Proof;
use canon::{Raw, Value};
use ledger::export;
use std::collections::BTreeMap;

/// The parts as one proof. `None`: they are not parts of one, or there is no log among them.
pub fn join(parts: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut proof = Members::from([("type".to_owned(), Raw::of(Proof::TYPE).ok()?)]);
    for part in parts {
        proof.extend(log_of(part).or_else(|| claim_of(part)).or_else(|| transaction_of(part))?);
    }
    proof.contains_key("export").then(|| canon::to_vec(&proof).ok())?
}

type Members = BTreeMap<String, Raw>;

/// A mandate's export, or a proof: its header and entries.
fn log_of(part: &[u8]) -> Option<Members> {
    if let Ok(whole) = canon::parse(part)
        && is(&whole, Proof::TYPE)
    {
        return members(&whole);
    }
    let mut lines = part.trim_ascii_end().split(|byte| *byte == b'\n');
    let header = canon::parse(lines.next()?).ok().filter(|header| is(header, export::TYPE))?;
    let entries = lines.map(|line| {
        let line = canon::parse(line).ok()?;
        let mut entry = members(line.get("body")?)?;
        entry.insert("hash".to_owned(), Raw::of(line.get("hash")?).ok()?);
        entry.insert("prev_hash".to_owned(), Raw::of(line.get("prev")?).ok()?);
        Some(entry)
    });
    let entries = entries.collect::<Option<Vec<_>>>()?;
    let (header, entries) = (Raw::of(&header).ok()?, Raw::of(&entries).ok()?);
    Some(Members::from([("export".to_owned(), header), ("entries".to_owned(), entries)]))
}

/// What the API says of a receipt or a run.
fn claim_of(part: &[u8]) -> Option<Members> {
    let value = canon::parse(part).ok()?;
    let pick = |name: &str| Some((name.to_owned(), Raw::of(value.get(name)?).ok()?));
    if value.get("receipt").and_then(Value::as_object).is_some() && value.get("receipt_hash").is_some() {
        let names = ["authorization", "mandate", "receipt", "receipt_hash"];
        let claim: Members = names.into_iter().filter_map(pick).collect();
        return Some(Members::from([("receipt".to_owned(), Raw::of(&claim).ok()?)]));
    }
    let run = value.get("run").filter(|_| value.get("events").is_some())?;
    let id = run.as_str().or_else(|| run.get("run_id")?.as_str())?;
    let mut claim = Members::from([("run_id".to_owned(), Raw::of(id).ok()?)]);
    for name in ["anchor", "closing"] {
        claim.insert(name.to_owned(), Raw::of(value.get(name).unwrap_or(&Value::Null)).ok()?);
    }
    Some(Members::from([("run".to_owned(), Raw::of(&claim).ok()?)]))
}

/// A transaction: its bytes, or their hex.
fn transaction_of(part: &[u8]) -> Option<Members> {
    let text = std::str::from_utf8(part).unwrap_or_default().trim().to_ascii_lowercase();
    let written =
        !text.is_empty() && text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let hex = if written {
        text
    } else if matches!(part.first(), Some(0x83 | 0x84)) {
        part.iter().map(|byte| format!("{byte:02x}")).collect()
    } else {
        return None;
    };
    Some(Members::from([("transaction".to_owned(), Raw::of(&hex).ok()?)]))
}

fn is(value: &Value<'_>, kind: &str) -> bool {
    value.get("type").and_then(Value::as_str) == Some(kind)
}

fn members(value: &Value<'_>) -> Option<Members> {
    let all = value.as_object()?.iter();
    all.map(|(name, value)| Some((name.to_string(), Raw::of(value).ok()?))).collect()
}
