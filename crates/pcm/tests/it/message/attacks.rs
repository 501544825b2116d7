//! What the catalogue of attacks (docs/attacks.md) needs beyond the other cases, what is not protected, and that the page names
//! cases and tests there are.

use super::grants::{Plan, agreed, asking, chain, hash, order};
use super::{Book, cases, claim, sealed, stage, trust};
use env::{Duration, Timestamp};
use pcm::message::sample::{Asked, Custody, Decided, Order, Stage};
use pcm::message::{At, Code, Memory, Overall, Receiver, Replay, verify};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const EXECUTOR: Custody = Custody::Executor;

fn hold(stage: &mut Stage<'_>) -> (Decided, Asked) {
    let decided = stage.decide(EXECUTOR, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
    let asked = stage.ask(&decided).unwrap();
    (decided, asked)
}

pub fn book() -> Book {
    let mut book = Book::new("attacks");
    approvals(&mut book);
    unprotected(&mut book);
    book
}

fn approvals(book: &mut Book) {
    let mut stage = stage(150);
    let said = json!({"person": "ana", "tool": "refund", "terms": []});
    let told = stage
        .say("ext", "sdk", r#"{"name":"approval","decision":"approve","person":"ana","tool":"refund"}"#, None)
        .unwrap();
    let message = sealed(&mut stage, &claim("approved_by", said.clone(), &[told]));
    book.add(
        "approval-self-told",
        "the agent wrote down that Ana approved",
        message,
        &stage,
        "accept_unproven no_evidence c:no_evidence",
    );

    let (decided, asked) = hold(&mut stage);
    let answer = stage.answer(&asked, "approve", "ana", r#","same_user":true"#).unwrap();
    let message = sealed(&mut stage, &claim("approved_by", said.clone(), &[decided.seq, asked.seq, answer]));
    book.add(
        "approval-same-user",
        "whoever answered is the user the agent runs as",
        message,
        &stage,
        "reject approver_differs c:approver_differs",
    );

    let (decided, asked) = hold(&mut stage);
    let answer = stage.answer(&asked, "approve", "ana", "").unwrap();
    let data = format!(r#"{{"approval_id":"{}","by":"token:ben"}}"#, asked.approval_id);
    let revoked = stage.say("approval.revoked", "signer", &data, Some(&asked.call)).unwrap();
    let both = Order {
        claims: vec![
            ("c", "approved_by", said.to_string(), vec![decided.seq, asked.seq, answer]),
            ("d", "noted", json!({}).to_string(), vec![revoked]),
        ],
        ..Order::default()
    };
    let message = sealed(&mut stage, &both);
    book.add(
        "approval-revoked-beside",
        "the claim does not cite what took it back, another does",
        message,
        &stage,
        "reject approval_rejected c:approval_rejected d:unknown_predicate",
    );

    let (decided, asked) = hold(&mut stage);
    let answer = stage.answer(&asked, "approve", "ana", "").unwrap();
    let data = format!(r#"{{"approval_id":"{}"}}"#, asked.approval_id);
    let used = stage.say("approval.consumed", "signer", &data, Some("another-call")).unwrap();
    let result = stage.result(&decided, r#"{"result":{}}"#, true).unwrap();
    let done = json!({"person": "ana", "tool": "refund", "terms": [], "done": true});
    let message =
        sealed(&mut stage, &claim("approved_by", done, &[decided.seq, asked.seq, answer, used, result]));
    book.add(
        "approval-used-elsewhere",
        "another call used what was approved for this one",
        message,
        &stage,
        "accept_unproven no_evidence c:no_evidence",
    );
}

/// Accepted although it is not so, or not any more.
fn unprotected(book: &mut Book) {
    let page = r#"{"result":{"status":200,"body":"it never answered"}}"#;
    let mut liar = stage(151);
    let (d, r) = liar.call(EXECUTOR, "http_get", r#"{"url":"https://a.example/"}"#, page).unwrap();
    let fetched = json!({"method": "GET", "url": "https://a.example/", "status": 200});
    let message = sealed(&mut liar, &claim("http_fetched", fetched, &[d, r]));
    book.add(
        "signer-lies",
        "nothing was fetched: whoever holds the record key wrote that an executor did",
        message,
        &liar,
        "accept c:proven",
    );

    let tested = |stage: &mut Stage<'_>| {
        let out = r#"{"result":{"exit_code":0,"stdout":"3 passed"}}"#;
        stage.call(EXECUTOR, "run_tests", r#"{"argv":["pytest"]}"#, out).unwrap()
    };
    let passed = json!({"argv": ["pytest"], "runner": "pytest"});
    let mut quiet = stage(152);
    let (d, r) = tested(&mut quiet);
    quiet
        .call(EXECUTOR, "Write", r#"{"file_path":"/srv/app/a.py","content":""}"#, r#"{"result":{}}"#)
        .unwrap();
    let message = sealed(&mut quiet, &claim("tests_passed", passed, &[d, r]));
    book.add(
        "true-no-more",
        "they passed, the code changed since, and that is not shown",
        message,
        &quiet,
        "accept c:proven",
    );

    let mut open = stage(153);
    let secret = r#"{"url":"https://a.example/?token=s3cret"}"#;
    let (d, r) = open.call(EXECUTOR, "http_get", secret, page).unwrap();
    let message = sealed(&mut open, &claim("tool_called", json!({"tool": "http_get", "args": {}}), &[d, r]));
    assert!(std::str::from_utf8(&message).unwrap().contains("s3cret"));
    book.add(
        "in-clear",
        "an opened value is readable by whoever carries the message",
        message,
        &open,
        "accept c:proven",
    );

    let mut shared = stage(154);
    let plan = Plan {
        root: |g| {
            g["max_uses"] = json!(1);
            g["audience"] = json!(["receiver", "other"]);
        },
        ..Plan::default()
    };
    let (values, links, shown) = chain(&mut shared, &plan);
    let message = sealed(&mut shared, &order(links, shown, asking()));
    let since = "2026-01-01T00:00:00.000000Z";
    let mut add = |name, about, uses: Value, expected| {
        book.add(name, about, message.clone(), &shared, expected)
            .trusting(agreed)
            .knowing(json!({"since": since, "uses": uses}));
    };
    add(
        "grant-spent-elsewhere",
        "a grant for one use, which another receiver took already",
        json!({}),
        "accept",
    );
    add("grant-spent-here", "the same, taken here", json!({hash(&values[0]): 1}), "reject grant_used");

    let mut forked = stage(152);
    let (d, r) = tested(&mut forked);
    let message =
        sealed(&mut forked, &claim("command_ran", json!({"argv": ["pytest"], "exit_code": 0}), &[d, r]));
    book.add(
        "split-view",
        "the log shows this receiver another history than it showed others, and no witness is asked",
        message,
        &forked,
        "accept c:proven",
    );
}

/// Two messages under a grant for one use were both judged before either was accepted: the transaction takes one.
#[test]
fn of_two_that_race_one_is_accepted() {
    let mut stage = stage(155);
    let plan = Plan { root: |g| g["max_uses"] = json!(1), ..Plan::default() };
    let (_, links, shown) = chain(&mut stage, &plan);
    let order = order(links, shown, asking());
    let messages = [sealed(&mut stage, &order), sealed(&mut stage, &order)];
    let mut trust = trust(&stage);
    agreed(&mut trust);
    let receiver = Receiver::parse(trust.to_string().as_bytes()).unwrap();
    let (mut memory, now) = (Memory::since(Timestamp::from_secs(0)), stage.now());
    let found: Vec<_> = messages
        .iter()
        .map(|message| {
            let replay: &dyn Replay = &memory;
            let judged = verify(message, &receiver, &At { now, receiver: None, replay: Some(replay) });
            assert_eq!(judged.overall, Overall::Accept);
            judged.acceptance.unwrap()
        })
        .collect();
    assert_eq!(memory.accept(&found[0], now), Ok(()));
    assert_eq!(memory.accept(&found[1], now), Err(Code::GrantUsed));
    assert_eq!(memory.accept(&found[0], now + Duration::from_secs(1)), Err(Code::Replayed));
}

/// Every row says two sentences, and names cases whose verdict is among the codes it gives, or tests there are.
#[test]
fn the_catalogue_of_attacks_names_what_there_is() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = std::fs::read_to_string(root.join("docs/attacks.md")).unwrap();
    let mut expected: BTreeMap<String, String> = cases()
        .iter()
        .map(|case| (format!("{}/{}", case.group, case.name), case.expected.to_owned()))
        .collect();
    let negative =
        std::fs::read_to_string(root.join("vectors/pcm/tracekit/golden-negative/expected.json")).unwrap();
    let negative: Value = serde_json::from_str(&negative).unwrap();
    for case in negative["cases"].as_array().unwrap() {
        let name = case["bundle"].as_str().unwrap().trim_end_matches(".tkb");
        let check = case["expected"]["first_failure"].as_str().unwrap().replace(' ', "_");
        expected.insert(format!("bundle/{name}"), check);
    }
    let mut tests = BTreeSet::new();
    for krate in std::fs::read_dir(root.join("crates")).unwrap() {
        functions(&krate.unwrap().path(), &mut tests);
    }
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [number, attack, happens, shown] = cells[..] else { panic!("not four cells: {row}") };
        rows += 1;
        assert_eq!(number.trim().parse(), Ok(rows), "{row}");
        assert!(attack.matches(['.', '?']).count() >= 2, "two sentences: {row}");
        let (codes, names) = (quoted(happens), quoted(shown));
        assert!(!names.is_empty(), "nothing shows it: {row}");
        for name in names {
            match expected.get(name) {
                Some(found) => {
                    let words = found.split([' ', ':']);
                    assert!(
                        words.into_iter().any(|word| codes.contains(&word)),
                        "{name} gives {found}: {row}"
                    );
                }
                None => assert!(tests.contains(name), "there is no {name:?}: {row}"),
            }
        }
    }
    assert!(rows >= 29, "{rows}");
}

fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names of all functions in a folder's Rust files.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text
                .lines()
                .filter_map(|line| line.trim_start().trim_start_matches("async ").strip_prefix("fn "));
            found.extend(names.filter_map(|rest| rest.split(['(', '<']).next()).map(str::to_owned));
        }
    }
}
