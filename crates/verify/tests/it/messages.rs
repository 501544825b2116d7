//! Messages through the one entry: verdict, code and report, for every numbered case that asks for no replay state.

use crate::mutate::change;
use crate::support::signer;
use crate::twins::{Case, Dice, agree_at, count};
use canon::Digest;
use keys::Signer;
use serde_json::{Value, json};
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

const SEED: u64 = 20_261_130;
const MUTATIONS: usize = 2_000;

/// 2,000 changed messages, as they are or signed anew by their sender: both verifiers give one verdict, one code and one place.
#[test]
fn two_verifiers_agree_on_mutated_messages() {
    let all = cases();
    let sound: Vec<&Value> = all
        .iter()
        .filter(|case| case["expected"].as_str().unwrap().starts_with("accept") && case["state"].is_null())
        .filter(|case| case["message"].is_string() && case["receiver"].is_null())
        .collect();
    let mut dice = Dice::new(SEED);
    let (mut asked, mut moments) = (Vec::new(), Vec::new());
    for round in 0..MUTATIONS {
        let case = sound[dice.below(sound.len())];
        let mut message: Value = serde_json::from_str(case["message"].as_str().unwrap()).unwrap();
        let before = message.clone();
        let mut what = String::new();
        while message == before {
            // Openings, claims and grants are what most rules are about.
            let parts = ["/evidence", "/claims", "/grants", "/evidence/openings", "/from", ""];
            let part = parts[dice.below(parts.len())];
            let empty = |part: &Value| part == &json!([]) || part == &json!({});
            let empty = message.pointer(part).is_none_or(empty);
            what = change(if empty { &mut message } else { message.pointer_mut(part).unwrap() }, &mut dice);
        }
        if round % 3 > 0 {
            resign(&mut message);
        }
        let name = format!("seed {SEED}, round {round}, {}: {what}", case["name"]);
        asked.push(Case {
            name,
            file: message.to_string().into_bytes(),
            trust: Some(case["trust"].to_string()),
        });
        moments.push(pcm::instant(case["now"].as_str().unwrap()));
    }
    let verdicts = agree_at(&["verdict", "code", "place"], &asked, |id| moments[id]);
    let told = [Verdict::Valid, Verdict::Unproven, Verdict::Refused].map(|verdict| count(&verdicts, verdict));
    assert!(told.iter().all(|count| *count > 10), "{told:?}");
    for (case, verdict) in asked.iter().zip(&verdicts).step_by(3) {
        // What has lost its version is no message to anybody.
        assert!([Verdict::Refused, Verdict::Unusable].contains(verdict), "{}", case.name);
    }
}

/// Under the record key of the numbered messages.
fn resign(message: &mut Value) {
    let canonical = |value: &Value| canon::canonicalize(value.to_string().as_bytes()).ok();
    let Some(members) = message.as_object_mut() else { return };
    for name in ["alg", "kid", "sig"] {
        members.remove(name);
    }
    let signer = signer(2);
    let kid = signer.public().spki_kid().to_string();
    let hash = canonical(message).map_or(Digest::ZERO, |bytes| Digest::of(&bytes)).prefixed();
    let signed = json!({"alg": "ed25519", "hash": hash, "kid": kid, "t": pcm::message::TAG});
    let signature = signer.sign(&canonical(&signed).unwrap()).unwrap().base64();
    message["alg"] = json!("ed25519");
    message["kid"] = json!(kid);
    message["sig"] = json!(signature);
}
