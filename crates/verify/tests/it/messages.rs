//! Messages through the one entry: verdict, code and report, for every numbered case that asks for no replay state.

use serde_json::Value;
use verify::{Kind, Trust, Verdict, verify};

const GROUPS: [&str; 7] = ["envelope", "evidence", "claims", "approvals", "grants", "still", "attacks"];

fn cases() -> Vec<Value> {
    let read = |group: &str| {
        let path = format!("{}/../../vectors/pcm/messages/{group}.jsonl", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let text: String = GROUPS.iter().map(|group| read(group)).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn trust(case: &Value) -> Trust {
    let now = pcm::instant(case["now"].as_str().unwrap()).unwrap();
    let receiver = case["receiver"].as_str().map(str::to_owned);
    Trust::parse(case["trust"].to_string().as_bytes()).unwrap().standing(now, receiver)
}

#[test]
fn numbered_messages_are_reported_with_their_verdict_and_code() {
    let mut seen = std::collections::BTreeMap::new();
    for case in cases() {
        // What does not name the protocol is of no known kind here.
        let nameless = ["no-version", "not-an-object"].iter().any(|name| case["name"] == *name);
        let Some(message) = case["message"].as_str().filter(|_| case["state"].is_null() && !nameless) else {
            continue;
        };
        let report = verify(message.as_bytes(), Some(&trust(&case)));
        let mut words = case["expected"].as_str().unwrap().split(' ');
        let verdict = match words.next().unwrap() {
            "accept" => Verdict::Valid,
            "accept_unproven" => Verdict::Unproven,
            _ => Verdict::Refused,
        };
        let code = words.next().filter(|word| !word.contains(':'));
        assert_eq!((report.verdict, report.code), (verdict, code), "{}", case["name"]);
        assert_eq!((report.kind, report.pinned), (Some(Kind::Message), true));
        *seen.entry(verdict.exit_code()).or_insert(0) += 1;
    }
    assert!(seen.len() == 3 && seen.values().all(|count| *count > 50), "{seen:?}");
}

#[test]
fn a_message_needs_a_receivers_trust_and_a_clock() {
    let case = cases().remove(0);
    let message = case["message"].as_str().unwrap().as_bytes();
    let check = |trust: Option<Trust>, code: &str| {
        let report = verify(message, trust.as_ref());
        assert_eq!((report.verdict, report.code), (Verdict::Unusable, Some(code)));
    };
    check(None, "trust_missing");
    check(Some(Trust::parse(b"{}").unwrap()), "trust_missing");
    check(Some(Trust::parse(case["trust"].to_string().as_bytes()).unwrap()), "now_missing");
}
