//! Commitments of real records, opened.

use crate::vectors::{json, read, trust};
use canon::Salt;
use pcm::bundle::{Alone, verify};
use pcm::{Event, Opening, Tier, opening};

/// A salt of the vector.
fn salt(hex: &str) -> Salt {
    Salt::from_bytes(*hex.parse::<canon::Digest>().unwrap().as_bytes())
}

/// The worked example of spec 3.7.
#[test]
fn the_worked_example() {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(0..).for_each(|(byte, at)| *byte = at);
    let arguments = canon::parse(br#"{"command":"ls -la"}"#).unwrap();
    let digest = opening::arguments_digest("Bash", &arguments).unwrap();
    assert!(digest.to_string().starts_with("b7c38435") && digest.to_string().ends_with("9f64"));
    let commitment = pcm::Commitment::of(&Salt::from_bytes(bytes), &digest).to_string();
    assert!(commitment.starts_with("hmac-sha256:b0793fca") && commitment.ends_with("8d99"));
}

/// Every revealed salt of the generated bundle opens its own record's commitment and no other record's.
#[test]
fn a_salt_opens_its_own_record_and_no_other() {
    let told = json("generated-t2/openings.json");
    let text = crate::parts::unpacked(&read("generated-t2/t2-approval.tkb"), "runs/");
    let mut opened = 0;
    let mut tiers = Vec::new();
    for line in text.lines() {
        let value = canon::parse(line.as_bytes()).unwrap();
        let event = Event::read(value.get("event").unwrap()).unwrap();
        if matches!(event.kind(), "policy.decision" | "tool.result") {
            tiers.push(event.tier());
        }
        for (seq, revealed) in told["reveal"].as_object().unwrap() {
            let salt = salt(revealed["salt"].as_str().unwrap());
            let own = *seq == event.position().0.to_string();
            let Some(call) = event.tool_call_id() else { continue };
            let (bytes, holds) = if event.kind() == "tool.result" {
                let bytes = told["results"][call].to_string();
                let content = canon::parse(bytes.as_bytes()).unwrap();
                (bytes.clone(), Opening { salt, value: &content }.content(&event).is_ok())
            } else {
                let bytes = told["calls"][call]["args"].to_string();
                let arguments = canon::parse(bytes.as_bytes()).unwrap();
                let tool = told["calls"][call]["tool"].as_str().unwrap();
                (bytes.clone(), Opening { salt, value: &arguments }.arguments(&event, tool).is_ok())
            };
            assert_eq!(holds, own, "salt of {seq} on {}: {bytes}", event.position());
            opened += usize::from(holds);
        }
    }
    assert_eq!(opened, 7);
    assert_eq!(tiers, [Tier::T1, Tier::T1, Tier::T2, Tier::T2, Tier::T2, Tier::T2]);
    let report = verify(&read("generated-t2/t2-approval.tkb"), &trust("generated-t2/trust.json"), &Alone);
    assert!(report.first_failure().is_none());
}
