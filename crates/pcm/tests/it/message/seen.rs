//! What was checked before is not checked again, and nothing else is believed for it.

use super::{claim, edited, sealed, stage, told, trust};
use pcm::message::sample::Custody;
use pcm::message::{At, Receiver, Seen};
use serde_json::json;

/// With checkpoint and keys checked before, every message is judged as without.
#[test]
fn a_warm_receiver_judges_as_a_cold_one() {
    let warm: std::cell::RefCell<std::collections::BTreeMap<String, Seen>> = Default::default();
    for case in super::cases().iter().filter(|case| case.state.is_none()) {
        let receiver = Receiver::parse(case.trust.to_string().as_bytes()).unwrap();
        let at = At { now: case.now, receiver: case.receiver, replay: None };
        let cold = pcm::message::verify(&case.message, &receiver, &at);
        let mut warm = warm.borrow_mut();
        let seen = warm.entry(case.trust.to_string()).or_default();
        assert_eq!(seen.verify(&case.message, &receiver, &at), cold, "{}", case.name);
        assert_eq!(seen.verify(&case.message, &receiver, &at), cold, "{} again", case.name);
    }
}

#[test]
fn another_note_or_another_key_is_checked_for_itself() {
    let mut stage = stage(245);
    let (d, r) = stage.call(Custody::Executor, "http_get", "{}", "{}").unwrap();
    let order = claim("tool_called", json!({"tool": "http_get", "args": {}}), &[d, r]);
    let receiver = Receiver::parse(trust(&stage).to_string().as_bytes()).unwrap();
    let at = At { now: stage.now(), receiver: None, replay: None };
    let seen = Seen::default();
    let good = sealed(&mut stage, &order);
    assert_eq!(told(&seen.verify(&good, &receiver, &at)), "accept c:proven");
    let note = edited(&mut stage, &order, |m| {
        let note =
            m["evidence"]["checkpoint"].as_str().unwrap().replace("countersign.local", "countersign.locaI");
        m["evidence"]["checkpoint"] = json!(note);
    });
    assert_eq!(told(&seen.verify(&note, &receiver, &at)), "reject bad_checkpoint");
    // The epoch under another signature, of the same key's: of another record.
    let forged = edited(&mut stage, &order, |m| {
        m["evidence"]["keys"][0]["sig"] = m["evidence"]["records"]["r1"]["sig"].clone();
    });
    assert_eq!(told(&seen.verify(&forged, &receiver, &at)), "reject record_signature");
}
