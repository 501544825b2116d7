//! How long messages are.

use super::{claim, sealed, stage};
use pcm::message::sample::{Custody, Order, Stage};
use serde_json::{Value, json};

/// A message with one claim, whatever it claims, is at most 6,000 bytes long at the median, in a log of 10,000 records.
#[test]
fn a_message_with_one_claim_is_short() {
    let mut lengths: Vec<usize> = KINDS.iter().map(|kind| one(10_000, kind)).collect();
    lengths.sort_unstable();
    assert!(lengths[lengths.len() / 2] <= 6_000, "{lengths:?}");
}

type Kind = fn(&mut Stage<'_>) -> Order<'static>;

const KINDS: [Kind; 8] = [
    |s| fetched(s, "tool_called", json!({"tool": "http_get", "args": {"url": URL}})),
    |s| fetched(s, "http_fetched", json!({"method": "GET", "url": URL, "status": 200})),
    |s| {
        fetched(
            s,
            "result_value",
            json!({"tool": "http_get", "args": {}, "pointer": "/result/status", "value": 200}),
        )
    },
    |s| {
        ran(s, "tests_passed", json!({"argv": ["pytest", "-q"], "runner": "pytest", "counts": {"passed": 3}}))
    },
    |s| ran(s, "command_ran", json!({"argv": ["pytest", "-q"], "exit_code": 0})),
    |s| {
        let hash = canon::Digest::of(b"hello").prefixed();
        let call = call(s, "Write", r#"{"file_path":"/srv/a","content":"hello"}"#, r#"{"result":{}}"#);
        claim("file_written", json!({"path": "/srv/a", "sha256": hash}), &call)
    },
    |s| {
        let decided =
            s.decide(Custody::Executor, "http_get", r#"{"url":"https://a.example/"}"#, "allow").unwrap();
        claim("decided", json!({"tool": "http_get", "args": {}, "decision": "allow"}), &[decided.seq])
    },
    |s| {
        let held = s.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
        s.crowd(3);
        let asked = s.ask(&held).unwrap();
        s.crowd(500);
        let answer = s.answer(&asked, "approve", "ana", "").unwrap();
        let terms = json!([{"field": "order", "op": "eq", "value": 81}]);
        claim(
            "approved_by",
            json!({"person": "ana", "tool": "refund", "terms": terms}),
            &[held.seq, asked.seq, answer],
        )
    },
];

const URL: &str = "https://api.example.com/orders/81";

/// In the middle of a log of so many records, with others' records between its own.
fn one(size: u64, kind: &Kind) -> usize {
    let mut stage = stage(240);
    stage.crowd(size / 2);
    stage.register("agent", true).unwrap();
    stage.crowd(50);
    let order = kind(&mut stage);
    stage.crowd(size.saturating_sub(stage.size()));
    sealed(&mut stage, &order).len()
}

fn call(stage: &mut Stage<'_>, tool: &str, arguments: &str, content: &str) -> [u64; 2] {
    let decided = stage.decide(Custody::Executor, tool, arguments, "allow").unwrap();
    stage.crowd(3);
    [decided.seq, stage.result(&decided, content, true).unwrap()]
}

fn fetched(stage: &mut Stage<'_>, predicate: &'static str, args: Value) -> Order<'static> {
    let arguments = json!({"url": URL}).to_string();
    claim(
        predicate,
        args,
        &call(stage, "http_get", &arguments, r#"{"result":{"status":200,"body":"hello"}}"#),
    )
}

fn ran(stage: &mut Stage<'_>, predicate: &'static str, args: Value) -> Order<'static> {
    let content = r#"{"result":{"exit_code":0,"stdout":"3 passed in 0.10s"}}"#;
    claim(predicate, args, &call(stage, "run_tests", r#"{"argv":["pytest","-q"]}"#, content))
}
