//! still_holds, and receivers who demand it.

use super::{Book, sealed, stage};
use pcm::message::sample::{Custody, Order, Stage};
use serde_json::{Value, json};

const STALE: &str = "accept_unproven gap_in_run t:proven s:gap_in_run";
const HOLDS: &str = "accept t:proven s:proven";

const TREE: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A stage on which the tests passed.
fn tested(seed: u8, before: &dyn Fn(&mut Stage<'_>)) -> (Stage<'static>, [u64; 2]) {
    let mut stage = stage(seed);
    before(&mut stage);
    let (decision, result) = stage
        .call(
            Custody::Executor,
            "run_tests",
            r#"{"argv":["pytest","-q"]}"#,
            r#"{"result":{"exit_code":0,"stdout":"3 passed"}}"#,
        )
        .unwrap();
    (stage, [decision, result])
}

fn order(tests: [u64; 2], still: Value, records: Vec<u64>) -> Order<'static> {
    let args = json!({"argv": ["pytest", "-q"], "runner": "pytest"});
    Order {
        claims: vec![
            ("t", "tests_passed", args.to_string(), tests.to_vec()),
            ("s", "still_holds", still.to_string(), records),
        ],
        ..Order::default()
    }
}

pub fn book() -> Book {
    let mut book = Book::new("still");
    let plain = |s: &mut Stage<'_>| {
        drop(s.call(Custody::Executor, "Read", r#"{"file_path":"/srv/app/a"}"#, "{\"result\":{}}"))
    };
    let of = json!({"claim": "t", "paths": ["/srv/app"]});
    let mut add = |name, about, expected, later: &dyn Fn(&mut Stage<'_>) -> Vec<u64>| {
        let (mut stage, tests) = tested(60, &plain);
        let records = later(&mut stage);
        let message = sealed(&mut stage, &order(tests, of.clone(), records));
        book.add(name, about, message, &stage, expected);
    };
    let call = |s: &mut Stage<'_>, custody, tool: &str, arguments: &str| {
        let (d, r) = s.call(custody, tool, arguments, "{\"result\":{}}").unwrap();
        vec![d, r]
    };
    let t2 = Custody::Executor;
    add("still", "nothing was recorded after the tests", HOLDS, &|_| Vec::new());
    add("still-read", "only a file was read since", HOLDS, &|s| {
        call(s, t2, "Read", r#"{"file_path":"/srv/app/a"}"#)
    });
    add("still-elsewhere", "a file elsewhere was written", HOLDS, &|s| {
        call(s, t2, "Write", r#"{"file_path":"/tmp/x","content":""}"#)
    });
    let wrote = "reject result_differs t:proven s:result_differs";
    add("stale", "a file of the tree was written since", wrote, &|s| {
        call(s, t2, "Write", r#"{"file_path":"/srv/app/a","content":""}"#)
    });
    add("stale-folder", "the tree itself was written", wrote, &|s| {
        call(s, t2, "Write", r#"{"file_path":"/srv","content":""}"#)
    });
    add("stale-hidden", "the write is left out, and the run is not whole", STALE, &|s| {
        call(s, t2, "Write", r#"{"file_path":"/srv/app/a","content":""}"#);
        call(s, t2, "Read", r#"{"file_path":"/srv/app/a"}"#)
    });
    add("stale-end-hidden", "the write comes last and is left out", STALE, &|s| {
        call(s, t2, "Write", r#"{"file_path":"/srv/app/a","content":""}"#);
        Vec::new()
    });
    add("stale-shell", "a shell may have written anything", STALE, &|s| {
        call(s, t2, "Bash", r#"{"command":"make"}"#)
    });
    add("stale-unknown", "a tool no registry describes", STALE, &|s| call(s, t2, "crm:sync", "{}"));
    add("stale-own", "the agent's own process wrote", wrote, &|s| {
        call(s, Custody::Agent, "Write", r#"{"file_path":"/srv/app/a","content":""}"#)
    });
    add("stale-gap", "a gap since", STALE, &|s| {
        vec![
            s.say("capture.gap", "signer", r#"{"reason":"lost","kind":"client_counter_gap"}"#, None).unwrap(),
        ]
    });
    add("still-denied", "a write that was denied", HOLDS, &|s| {
        vec![s.decide(t2, "Write", r#"{"file_path":"/srv/app/a","content":""}"#, "deny").unwrap().seq]
    });
    add(
        "stale-dots",
        "a path that may lead anywhere",
        "accept_unproven ambiguous_path t:proven s:ambiguous_path",
        &|s| call(s, t2, "Write", r#"{"file_path":"/tmp/../srv/app/a","content":""}"#),
    );
    add("still-final", "the run is over, and the log goes on with others", HOLDS, &|s| {
        let data = format!(r#"{{"head_run_seq":6,"head_hash":"sha256:{}"}}"#, "0".repeat(64));
        let last = s.say("run.final", "signer", &data, None).unwrap();
        s.say_for("acme", "other-run", "ext", r#"{"name":"note"}"#).unwrap();
        vec![last]
    });
    add("stale-other-run", "the log goes on, and the run may as well", STALE, &|s| {
        s.say_for("acme", "other-run", "ext", r#"{"name":"note"}"#).unwrap();
        Vec::new()
    });

    let (mut stage, tests) = tested(61, &plain);
    let alone =
        Order { claims: order(tests, json!({}), Vec::new()).claims[..1].to_vec(), ..Order::default() };
    let message = sealed(&mut stage, &alone);
    book.add("not-demanded", "existential: they passed once", message.clone(), &stage, "accept t:proven");
    book.add(
        "demanded",
        "a receiver that counts tests only while they hold",
        message,
        &stage,
        "accept_unproven gap_in_run t:gap_in_run",
    )
    .trusting(|t| t["still"] = json!(["tests_passed"]));
    let message = sealed(&mut stage, &order(tests, of.clone(), Vec::new()));
    book.add("demanded-shown", "the same, shown to hold still", message, &stage, HOLDS)
        .trusting(|t| t["still"] = json!(["tests_passed"]));
    let message = sealed(&mut stage, &order(tests, json!({"claim": "x", "paths": ["/srv/app"]}), Vec::new()));
    book.add(
        "still-of-nothing",
        "of a claim that is not there",
        message,
        &stage,
        "accept_unproven no_evidence t:proven s:no_evidence",
    );
    let message =
        sealed(&mut stage, &order(tests, json!({"claim": "t", "paths": ["/srv/../app"]}), Vec::new()));
    book.add(
        "still-dots",
        "a path with dots",
        message,
        &stage,
        "accept_unproven ambiguous_path t:proven s:ambiguous_path",
    );

    let mut add = |name, about, hash: &str, between: bool, path: &str, expected| {
        let (mut stage, tests) = tested(62, &|s| {
            s.call(
                t2,
                "tree_digest",
                &json!({"path": path}).to_string(),
                &json!({"result": {"sha256": TREE}}).to_string(),
            )
            .unwrap();
            if between {
                s.call(t2, "Write", r#"{"file_path":"/srv/app/a","content":""}"#, "{\"result\":{}}").unwrap();
            }
        });
        let records = (2..tests[0]).collect();
        let still = json!({"claim": "t", "paths": ["/srv/app"], "tree": hash});
        let message = sealed(&mut stage, &order(tests, still, records));
        book.add(name, about, message, &stage, expected);
    };
    add("tree", "the tree's digest before the tests, and nothing written since", TREE, false, "/srv", HOLDS);
    add("tree-other", "another digest", &TREE.replace("aaaa", "bbbb"), false, "/srv", wrote);
    add(
        "tree-elsewhere",
        "the digest of another folder",
        TREE,
        false,
        "/tmp",
        "reject args_differ t:proven s:args_differ",
    );
    add(
        "tree-written",
        "written between the digest and the tests",
        TREE,
        true,
        "/srv",
        "accept_unproven coarse_evidence t:proven s:coarse_evidence",
    );
    book
}
