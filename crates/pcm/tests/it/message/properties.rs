//! The five security claims, each against a naive twin.

use super::envelope::fetched;
use super::{claim, sealed, stage, told, trust};
use env::Timestamp;
use pcm::message::sample::{Custody, Stage};
use pcm::message::{At, Memory, Overall, Receiver, Replay, Term, narrower, verify};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn receiver(stage: &Stage<'_>) -> Receiver {
    Receiver::parse(trust(stage).to_string().as_bytes()).unwrap()
}

fn at(now: Timestamp) -> At<'static> {
    At { now, receiver: None, replay: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Origin: whatever byte of an accepted message is changed, it is refused, or it is the same message.
    #[test]
    fn origin(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (stage, _, message) = fetched(230);
        let receiver = receiver(&stage);
        let mut bent = message.clone();
        *place.get_mut(&mut bent) = byte;
        let judged = verify(&bent, &receiver, &at(stage.now()));
        let same = canon::canonicalize(&bent).is_ok_and(|bytes| bytes == canon::canonicalize(&message).unwrap());
        prop_assert_eq!(judged.overall == Overall::Accept, same);
    }

    /// Evidence soundness: a call is proven if and only if the log has it, run by a gateway, with those arguments.
    #[test]
    fn evidence_soundness(
        calls in prop::collection::vec((0_u8..3, 0_i64..3, any::<bool>(), any::<bool>()), 1..5),
        wanted in (0_u8..3, 0_i64..3),
        cited in any::<prop::sample::Index>(),
    ) {
        let mut stage = stage(231);
        let mut log = Vec::new();
        for (tool, number, executor, ok) in &calls {
            let custody = if *executor { Custody::Executor } else { Custody::Agent };
            let decided = stage.decide(custody, &format!("tool{tool}"), &json!({"n": number}).to_string(), "allow").unwrap();
            let result = stage.result(&decided, "{\"result\":{}}", *ok).unwrap();
            log.push(vec![decided.seq, result]);
        }
        let index = cited.index(calls.len());
        let args = json!({"tool": format!("tool{}", wanted.0), "args": {"n": wanted.1}});
        let message = sealed(&mut stage, &claim("tool_called", args, &log[index]));
        let judged = verify(&message, &receiver(&stage), &at(stage.now()));
        let (tool, number, executor, ok) = calls[index];
        let true_ = (tool, number) == wanted && ok;
        let expected = match (true_, executor) {
            (true, true) => Overall::Accept,
            (true, false) => Overall::AcceptUnproven,
            (false, _) => Overall::Reject,
        };
        prop_assert_eq!(judged.overall, expected, "{}", told(&judged));
    }

    /// T1 non-elevation: no choice and no order of the agent's own records proves anything.
    #[test]
    fn t1_non_elevation(choice in prop::collection::vec(any::<prop::sample::Index>(), 0..7), predicate in 0_usize..5) {
        let mut stage = stage(232);
        let mut records = Vec::new();
        let url = r#"{"url":"https://a.example/","file_path":"/srv/a","content":"hello","command":"pytest"}"#;
        let content = r#"{"result":{"status":200,"exit_code":0,"stdout":"1 passed","body":"hello"}}"#;
        for tool in ["http_get", "Write", "Bash"] {
            let (d, r) = stage.call(Custody::Agent, tool, url, content).unwrap();
            records.extend([d, r]);
        }
        let held = stage.decide(Custody::Agent, "refund", r#"{"order":81,"cents":1}"#, "ask").unwrap();
        let asked = stage.ask(&held).unwrap();
        records.extend([held.seq, asked.seq]);
        records.push(stage.answer(&asked, "approve", "ana", "").unwrap());
        records.push(stage.say("tool.call", "sdk", r#"{"tool_use_id":"x","name":"http_get","input":{}}"#, Some("x")).unwrap());
        records.push(stage.say("ext", "sdk", r#"{"name":"note","via":"token:executor"}"#, None).unwrap());
        let (name, args) = [
            ("tool_called", json!({"tool": "http_get", "args": {}})),
            ("http_fetched", json!({"method": "GET", "url": "https://a.example/", "status": 200})),
            ("file_written", json!({"path": "/srv/a", "sha256": canon::Digest::of(b"hello").prefixed()})),
            ("tests_passed", json!({"argv": ["pytest"], "runner": "pytest", "counts": {"passed": 1}})),
            ("approved_by", json!({"person": "ana", "tool": "refund", "terms": []})),
        ][predicate].clone();
        let chosen: BTreeSet<u64> = choice.iter().map(|one| *one.get(&records)).collect();
        let message = sealed(&mut stage, &claim(name, args, &Vec::from_iter(chosen)));
        let judged = verify(&message, &receiver(&stage), &at(stage.now()));
        prop_assert_ne!(judged.overall, Overall::Accept, "{}", told(&judged));
    }
}

/// A term, and which of the small numbers meet it: said twice, in two ways.
fn term() -> impl Strategy<Value = (Value, BTreeSet<i64>)> {
    let small = -2_i64..=4;
    let all = || -3_i64..=5;
    prop_oneof![
        small
            .clone()
            .prop_map(move |n| (json!({"op": "eq", "value": n}), all().filter(|v| *v == n).collect())),
        small
            .clone()
            .prop_map(move |n| (json!({"op": "le", "value": n}), all().filter(|v| *v <= n).collect())),
        small
            .clone()
            .prop_map(move |n| (json!({"op": "ge", "value": n}), all().filter(|v| *v >= n).collect())),
        (small.clone(), 0_i64..4).prop_map(move |(from, more)| {
            (
                json!({"op": "range", "value": [from, from + more]}),
                all().filter(|v| (from..=from + more).contains(v)).collect(),
            )
        }),
        prop::collection::btree_set(small, 1..4).prop_map(move |set| (
            json!({"op": "in", "value": set}),
            all().filter(|v| set.contains(v)).collect()
        )),
    ]
    .prop_map(|(mut term, meets)| {
        term["field"] = json!("n");
        (term, meets)
    })
}

fn read(term: &Value) -> Term {
    Term::read(&canon::parse(term.to_string().as_bytes()).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Attenuation: what a narrower link lets through, its parent lets through; a term meets exactly what its twin says.
    #[test]
    fn attenuation(
        parent in prop::collection::vec(term(), 0..3),
        child in prop::collection::vec(term(), 0..3),
    ) {
        let through = |terms: &[(Value, BTreeSet<i64>)]| -> BTreeSet<i64> {
            (-3..=5).filter(|n| terms.iter().all(|(_, meets)| meets.contains(n))).collect()
        };
        for (term, meets) in parent.iter().chain(&child) {
            for n in -3_i64..=5 {
                let value = canon::parse(n.to_string().as_bytes()).unwrap().into_static();
                prop_assert_eq!(read(term).meets(&value, None), Ok(meets.contains(&n)));
            }
        }
        let terms = |terms: &[(Value, BTreeSet<i64>)]| terms.iter().map(|(term, _)| read(term)).collect::<Vec<_>>();
        if narrower(&terms(&child), &terms(&parent)) {
            prop_assert!(through(&child).is_subset(&through(&parent)), "{:?} {:?}", child, parent);
        }
    }

    /// At-most-once: in any order of arrivals and restarts, no message is accepted twice; a restart that loses the state
    /// accepts nothing that was issued before it.
    #[test]
    fn at_most_once(steps in prop::collection::vec((0_usize..3, 0_u8..8), 1..10)) {
        use std::sync::OnceLock;
        static SENT: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        let mut first = stage(233);
        let order = super::claim("x", json!({}), &[]);
        let sent = SENT.get_or_init(|| (0..3).map(|_| sealed(&mut first, &order)).collect());
        let receiver = receiver(&first);
        let now = first.now();
        let mut memory = Memory::since(Timestamp::from_secs(0));
        let mut twin: Vec<usize> = Vec::new();
        let mut lost = false;
        for (which, event) in steps {
            match event {
                0 => {
                    memory = Memory::default();
                    lost = true;
                }
                1 => {
                    memory = Memory::since(now + env::Duration::from_secs(1));
                    lost = true;
                }
                2 => memory = memory.clone(),
                _ => {}
            }
            let replay: &dyn Replay = &memory;
            let judged = verify(&sent[which], &receiver, &At { now, receiver: None, replay: Some(replay) });
            let fresh = !lost && !twin.contains(&which);
            prop_assert_eq!(judged.overall != Overall::Reject, fresh, "{}", told(&judged));
            if let Some(acceptance) = judged.acceptance {
                prop_assert_eq!(memory.accept(&acceptance, now), Ok(()));
                prop_assert!(memory.accept(&acceptance, now).is_err());
                twin.push(which);
            }
        }
    }
}
