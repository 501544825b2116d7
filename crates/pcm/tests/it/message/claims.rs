//! The predicates, tier by tier and value by value.

use super::{Book, claim, respelled, sealed, stage, trust, values};
use pcm::message::sample::{AGENT, Custody, Stage};
use serde_json::{Value, json};

const GET: &str = "http_get";
const URL: &str = "https://api.example.com/orders/81";

/// Adds the one-claim message.
pub struct Pen<'b> {
    pub book: &'b mut Book,
    pub stage: Stage<'static>,
}

impl Pen<'_> {
    pub fn add(
        &mut self,
        name: &'static str,
        about: &'static str,
        predicate: &str,
        args: Value,
        records: &[u64],
        expected: &'static str,
    ) {
        let message = sealed(&mut self.stage, &claim(predicate, args, records));
        self.book.add(name, about, message, &self.stage, expected);
    }

    pub fn call(&mut self, tool: &str, arguments: &Value, content: &Value) -> Vec<u64> {
        self.call_by(Custody::Executor, tool, arguments, content)
    }

    pub fn call_by(&mut self, custody: Custody, tool: &str, arguments: &Value, content: &Value) -> Vec<u64> {
        let (decision, result) =
            self.stage.call(custody, tool, &arguments.to_string(), &content.to_string()).unwrap();
        vec![decision, result]
    }
}

pub const PROVEN: &str = "accept c:proven";
pub const NONE: &str = "accept_unproven no_evidence c:no_evidence";
pub const T1: &str = "accept_unproven t1_only c:t1_only";
pub const OTHER: &str = "reject args_differ c:args_differ";
pub const RESULT: &str = "reject result_differs c:result_differs";

pub fn book() -> Book {
    let mut book = Book::new("claims");
    called(&mut Pen { book: &mut book, stage: stage(30) });
    fetched(&mut Pen { book: &mut book, stage: stage(31) });
    ran(&mut Pen { book: &mut book, stage: stage(32) });
    values::written(&mut Pen { book: &mut book, stage: stage(33) });
    values::valued(&mut Pen { book: &mut book, stage: stage(34) });
    values::reached(&mut Pen { book: &mut book, stage: stage(35) });
    values::decided(&mut Pen { book: &mut book, stage: stage(36) });
    book
}

fn called(pen: &mut Pen<'_>) {
    let said = json!({"tool": "crm:find", "args": {"name": "Zoë", "limit": 3}});
    let arguments = json!({"name": "Zoë", "limit": 3, "order": "newest"});
    let fine = json!({"result": {"found": 1}});
    let good = pen.call("crm:find", &arguments, &fine);
    let mut add = |name, about, args: &Value, records: &[u64], expected| {
        pen.add(name, about, "tool_called", args.clone(), records, expected);
    };
    add(
        "called",
        "a tool no registry describes was called with these arguments among others",
        &said,
        &good,
        PROVEN,
    );
    add("called-no-records", "nothing is shown", &said, &[], NONE);
    add("called-decision-only", "decided, and not shown to have run", &said, &good[..1], NONE);
    add("called-result-only", "a result without the decision is a report", &said, &good[1..], T1);
    add("called-registration-only", "a record that says nothing of calls", &said, &[1], NONE);
    add(
        "called-other-tool",
        "the records are of another tool",
        &json!({"tool": "crm:delete", "args": {}}),
        &good,
        OTHER,
    );
    add(
        "called-other-value",
        "another value was sent",
        &json!({"tool": "crm:find", "args": {"limit": 4}}),
        &good,
        OTHER,
    );
    add(
        "called-other-type",
        "a text is not a number",
        &json!({"tool": "crm:find", "args": {"limit": "3"}}),
        &good,
        OTHER,
    );
    add(
        "called-missing-argument",
        "an argument that was not sent",
        &json!({"tool": "crm:find", "args": {"page": 1}}),
        &good,
        OTHER,
    );
    add(
        "called-decomposed",
        "a name in decomposed form",
        &json!({"tool": "crm:find", "args": {"name": "Zoe\u{308}"}}),
        &good,
        "accept_unproven ambiguous_text c:ambiguous_text",
    );
    add(
        "called-turned",
        "a name with a control that turns the reading direction",
        &json!({"tool": "crm:find", "args": {"name": "Zoë\u{202e}"}}),
        &good,
        "accept_unproven ambiguous_text c:ambiguous_text",
    );
    let exact = claim("tool_called", json!({"tool": "crm:find", "args": {"limit": 3}}), &good);
    let fraction = respelled(&sealed(&mut pen.stage, &exact), r#""limit":3"#, r#""limit":3.0"#);
    pen.book.add(
        "called-fraction",
        "3.0 has not the one reading of 3",
        fraction,
        &pen.stage,
        "accept_unproven ambiguous_number c:ambiguous_number",
    );
    let own = pen.call_by(Custody::Agent, "crm:find", &arguments, &fine);
    pen.add(
        "called-self-report",
        "the agent's own process decided and ran it",
        "tool_called",
        said.clone(),
        &own,
        T1,
    );
    pen.add(
        "called-self-report-lie",
        "the agent's own record says otherwise",
        "tool_called",
        json!({"tool": "crm:find", "args": {"limit": 9}}),
        &own,
        OTHER,
    );
    pen.add(
        "called-two",
        "two calls single out none",
        "tool_called",
        said.clone(),
        &[good.clone(), own.clone()].concat(),
        "accept_unproven coarse_evidence c:coarse_evidence",
    );
    pen.add(
        "called-mixed",
        "one call's decision with another's result",
        "tool_called",
        said.clone(),
        &[good[0], own[1]],
        NONE,
    );
    let told = pen
        .stage
        .say("tool.call", "sdk", r#"{"tool_use_id":"x","name":"crm:find","input":{}}"#, Some("x"))
        .unwrap();
    pen.add("called-told", "the agent says that it called", "tool_called", said.clone(), &[told], T1);
    let message =
        pen.stage.say("ext", "sdk", r#"{"name":"note","tier":"T2","source":"gateway"}"#, None).unwrap();
    pen.add(
        "called-dressed-up",
        "the agent's own record with words of a gateway inside",
        "tool_called",
        said.clone(),
        &[message],
        T1,
    );

    let stage = &mut pen.stage;
    let denied = stage.decide(Custody::Executor, "crm:find", &arguments.to_string(), "deny").unwrap();
    let failed = stage.decide(Custody::Executor, "crm:find", &arguments.to_string(), "allow").unwrap();
    let failure = stage.result(&failed, r#"{"error":"no such table"}"#, false).unwrap();
    let own_failed = stage.decide(Custody::Agent, "crm:find", &arguments.to_string(), "allow").unwrap();
    let own_failure = stage.result(&own_failed, r#"{"error":"no such table"}"#, false).unwrap();
    let flagged = stage.decide(Custody::Executor, "crm:find", &arguments.to_string(), "flag").unwrap();
    let flagged_result = stage.result(&flagged, "{\"result\":{}}", true).unwrap();
    let held = stage.decide(Custody::Executor, "crm:find", &arguments.to_string(), "ask").unwrap();
    let asked = stage.ask(&held).unwrap();
    let answer = stage.answer(&asked, "approve", "ana", "").unwrap();
    let used = stage.consume(&asked).unwrap();
    let held_result = stage.result(&held, "{\"result\":{}}", true).unwrap();
    let refused = stage.decide(Custody::Executor, "crm:find", &arguments.to_string(), "ask").unwrap();
    let asked = stage.ask(&refused).unwrap();
    let rejection = stage.answer(&asked, "reject", "ana", "").unwrap();
    let refused_result = stage.result(&refused, "{\"result\":{}}", true).unwrap();
    let gap =
        stage.say("capture.gap", "signer", r#"{"reason":"lost","kind":"client_counter_gap"}"#, None).unwrap();
    let mut add = |name, about, records: &[u64], expected| {
        pen.add(name, about, "tool_called", said.clone(), records, expected)
    };
    add("called-denied", "it was denied", &[denied.seq], "reject call_denied c:call_denied");
    add("called-failed", "it failed", &[failed.seq, failure], "reject call_failed c:call_failed");
    add(
        "called-failed-self-report",
        "by the agent's own word it failed",
        &[own_failed.seq, own_failure],
        "reject call_failed c:call_failed",
    );
    add("called-flagged", "flagged, and run", &[flagged.seq, flagged_result], PROVEN);
    add("called-held", "held, approved, used, run", &[held.seq, used, held_result], PROVEN);
    add(
        "called-held-whole",
        "the same with the whole approval",
        &[held.seq, asked.seq - 5, answer, used, held_result],
        PROVEN,
    );
    add("called-held-unused", "held, and no use of an approval shown", &[held.seq, held_result], NONE);
    add(
        "called-rejected",
        "a person said no",
        &[refused.seq, rejection, refused_result],
        "reject approval_rejected c:approval_rejected",
    );
    add(
        "called-with-gap",
        "a gap is among the records",
        &[good[0], good[1], gap],
        "accept_unproven gap_in_run c:gap_in_run",
    );

    let run = pen.stage.run_id().to_owned();
    pen.stage.register("agent", true).unwrap();
    pen.add(
        "called-other-run",
        "true records of another run",
        "tool_called",
        said.clone(),
        &good,
        "reject wrong_run c:wrong_run",
    );
    pen.stage.resume(&run);
    let data = r#"{"tool_use_id":"z","tool":"crm:find","decision_id":"dec-z","decision":"allow","rule_ids":[],"via":"token:executor","caller":"token:other"}"#;
    let foreign = pen.stage.say("policy.decision", "gateway", data, Some("z")).unwrap();
    pen.add(
        "called-for-another",
        "decided for another agent",
        "tool_called",
        said,
        &[foreign],
        "reject wrong_run c:wrong_run",
    );
    assert_eq!(AGENT, "token:agent");
}

fn fetched(pen: &mut Pen<'_>) {
    let page = json!({"result": {"status": 200, "body": "hello"}});
    let body = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let good = pen.call(GET, &json!({"url": URL}), &page);
    let mut add =
        |name, about, args: Value, expected| pen.add(name, about, "http_fetched", args, &good, expected);
    add(
        "fetched",
        "method, URL, status and body",
        json!({"method": "GET", "url": URL, "status": 200, "body_sha256": body}),
        PROVEN,
    );
    add("fetched-url", "the URL alone", json!({"method": "GET", "url": URL}), PROVEN);
    add("fetched-status", "another status", json!({"method": "GET", "url": URL, "status": 201}), RESULT);
    add(
        "fetched-body",
        "another body",
        json!({"method": "GET", "url": URL, "body_sha256": format!("sha256:{}", "0".repeat(64))}),
        RESULT,
    );
    add("fetched-method", "another method", json!({"method": "POST", "url": URL}), OTHER);
    add(
        "fetched-path",
        "another path",
        json!({"method": "GET", "url": "https://api.example.com/orders/82"}),
        OTHER,
    );
    add(
        "fetched-scheme",
        "http is not https",
        json!({"method": "GET", "url": "http://api.example.com/orders/81"}),
        OTHER,
    );
    let host = "accept_unproven ambiguous_host c:ambiguous_host";
    add(
        "fetched-capitals",
        "a host in capitals",
        json!({"method": "GET", "url": "https://API.example.com/orders/81"}),
        host,
    );
    add(
        "fetched-user",
        "a user before the host",
        json!({"method": "GET", "url": "https://api.example.com@evil.example/"}),
        host,
    );
    add(
        "fetched-default-port",
        "the scheme's own port, written",
        json!({"method": "GET", "url": "https://api.example.com:443/orders/81"}),
        host,
    );
    let odd = pen.call(GET, &json!({"url": "https://a.example\\@b.example/"}), &page);
    pen.add(
        "fetched-backslash",
        "parsers find two hosts in the opened URL",
        "http_fetched",
        json!({"method": "GET", "url": "https://b.example/"}),
        &odd,
        host,
    );
    let octal = pen.call(GET, &json!({"url": "http://0127.0.0.1/"}), &page);
    pen.add(
        "fetched-octal",
        "0127 is 87 for some and 127 for others",
        "http_fetched",
        json!({"method": "GET", "url": "http://127.0.0.1/"}),
        &octal,
        host,
    );
    let root = pen.call(GET, &json!({"url": "https://api.example.com"}), &page);
    pen.add(
        "fetched-root",
        "an empty path reads as a slash",
        "http_fetched",
        json!({"method": "GET", "url": "https://api.example.com/"}),
        &root,
        PROVEN,
    );
    let posted = pen.call("http_request", &json!({"url": URL, "method": "POST"}), &page);
    pen.add(
        "fetched-posted",
        "a tool whose method is an argument",
        "http_fetched",
        json!({"method": "POST", "url": URL}),
        &posted,
        PROVEN,
    );
    let own = pen.call_by(Custody::Agent, GET, &json!({"url": URL}), &page);
    pen.add(
        "fetched-self-report",
        "the agent's own word",
        "http_fetched",
        json!({"method": "GET", "url": URL, "status": 200}),
        &own,
        T1,
    );
    let shell = pen.call("Bash", &json!({"command": "curl https://api.example.com/orders/81"}), &page);
    pen.add(
        "fetched-by-shell",
        "a shell is no HTTP tool",
        "http_fetched",
        json!({"method": "GET", "url": URL}),
        &shell,
        "accept_unproven unknown_tool c:unknown_tool",
    );
    let stage = &mut pen.stage;
    let decided = stage.decide(Custody::Executor, GET, &json!({"url": URL}).to_string(), "allow").unwrap();
    let cut = stage
        .result_with(
            &decided,
            &page.to_string(),
            true,
            r#","redaction":{"rules":["r"],"count":1,"client_claimed":false}"#,
        )
        .unwrap();
    let status = json!({"method": "GET", "url": URL, "status": 200});
    pen.add(
        "fetched-redacted",
        "something of the result was redacted",
        "http_fetched",
        status.clone(),
        &[decided.seq, cut],
        "accept_unproven redacted c:redacted",
    );
    let mut shut = claim("http_fetched", status.clone(), &good);
    shut.closed = vec![good[1]];
    let message = sealed(&mut pen.stage, &shut);
    pen.book.add(
        "fetched-not-opened",
        "the result is not opened",
        message,
        &pen.stage,
        "accept_unproven not_opened c:not_opened",
    );
    let message = sealed(&mut pen.stage, &claim("http_fetched", status, &good));
    pen.book
        .add(
            "fetched-other-registry",
            "another registry of tools was agreed",
            message,
            &pen.stage,
            "accept_unproven unknown_tool c:unknown_tool",
        )
        .trusting(|t| t["registry"] = json!(format!("sha256:{}", "0".repeat(64))));
    assert!(trust(&pen.stage)["registry"].as_str().unwrap().starts_with("sha256:"));
}

fn ran(pen: &mut Pen<'_>) {
    let out = |code: i64, text: &str| json!({"result": {"exit_code": code, "stdout": text}});
    let green = out(0, "....\n3 passed, 1 skipped in 0.12s\n");
    let good = pen.call("Bash", &json!({"command": "python3 -m pytest -q tests", "cwd": "/srv/app"}), &green);
    let argv = json!(["python3", "-m", "pytest", "-q", "tests"]);
    let mut add =
        |name, about, args: Value, expected| pen.add(name, about, "tests_passed", args, &good, expected);
    add(
        "tests",
        "command, folder and counts",
        json!({"argv": argv, "cwd": "/srv/app", "runner": "pytest", "counts": {"passed": 3, "skipped": 1}}),
        PROVEN,
    );
    add(
        "tests-none-failed",
        "a count that is not named is zero",
        json!({"argv": argv, "runner": "pytest", "counts": {"failed": 0}}),
        PROVEN,
    );
    add(
        "tests-counts",
        "more than passed",
        json!({"argv": argv, "runner": "pytest", "counts": {"passed": 4}}),
        RESULT,
    );
    add("tests-argv", "another command", json!({"argv": ["pytest"], "runner": "pytest"}), OTHER);
    add("tests-cwd", "another folder", json!({"argv": argv, "cwd": "/srv/other", "runner": "pytest"}), OTHER);
    add(
        "tests-cwd-dots",
        "a folder with dots",
        json!({"argv": argv, "cwd": "/srv/x/../app", "runner": "pytest"}),
        "accept_unproven ambiguous_path c:ambiguous_path",
    );
    add(
        "tests-runner",
        "a runner the registry does not have",
        json!({"argv": argv, "runner": "nose"}),
        "accept_unproven unknown_tool c:unknown_tool",
    );
    let red = pen.call("Bash", &json!({"command": "pytest -q"}), &out(1, "1 failed, 2 passed in 0.10s"));
    pen.add(
        "tests-failed",
        "the run ended with 1",
        "tests_passed",
        json!({"argv": ["pytest", "-q"], "runner": "pytest"}),
        &red,
        RESULT,
    );
    pen.add(
        "ran-one",
        "that it ended with 1 is true",
        "command_ran",
        json!({"argv": ["pytest", "-q"], "exit_code": 1}),
        &red,
        PROVEN,
    );
    pen.add(
        "ran-zero",
        "that it ended with 0 is not",
        "command_ran",
        json!({"argv": ["pytest", "-q"], "exit_code": 0}),
        &red,
        RESULT,
    );
    let masked = pen.call("Bash", &json!({"command": "pytest -q || true"}), &green);
    let shell = "accept_unproven ambiguous_shell c:ambiguous_shell";
    pen.add(
        "tests-masked",
        "a command line with an operator",
        "tests_passed",
        json!({"argv": ["pytest", "-q"], "runner": "pytest"}),
        &masked,
        shell,
    );
    let quoted = pen.call("Bash", &json!({"command": "pytest -k 'a or b'"}), &green);
    pen.add(
        "tests-quoted",
        "a quoted word",
        "tests_passed",
        json!({"argv": ["pytest", "-k", "a or b"], "runner": "pytest"}),
        &quoted,
        PROVEN,
    );
    let escaped = pen.call("Bash", &json!({"command": "pytest -k a\\ b"}), &green);
    pen.add(
        "tests-escaped",
        "shells and shlex part it alike, but not everything that looks so",
        "tests_passed",
        json!({"argv": ["pytest", "-k", "a b"], "runner": "pytest"}),
        &escaped,
        shell,
    );
    let listed = pen.call("exec", &json!({"argv": ["pytest", "-k", "a;b"]}), &green);
    pen.add(
        "tests-words",
        "a tool that takes words needs no shell's reading",
        "tests_passed",
        json!({"argv": ["pytest", "-k", "a;b"], "runner": "pytest"}),
        &listed,
        PROVEN,
    );
    let vague = pen.call("Bash", &json!({"command": "pytest -q"}), &out(0, "it went well"));
    pen.add(
        "tests-no-counts",
        "counts that cannot be read",
        "tests_passed",
        json!({"argv": ["pytest", "-q"], "runner": "pytest", "counts": {"passed": 3}}),
        &vague,
        "accept_unproven ambiguous_text c:ambiguous_text",
    );
    let own = pen.call_by(Custody::Agent, "Bash", &json!({"command": "pytest -q"}), &green);
    pen.add(
        "tests-self-report",
        "the agent says that they passed",
        "tests_passed",
        json!({"argv": ["pytest", "-q"], "runner": "pytest"}),
        &own,
        T1,
    );
    let ended =
        pen.call("Bash", &json!({"command": "true"}), &json!({"result": {"exit_code": 0, "stdout": ""}}));
    let exact =
        sealed(&mut pen.stage, &claim("command_ran", json!({"argv": ["true"], "exit_code": 0}), &ended));
    let fraction = respelled(&exact, r#""exit_code":0,"#, r#""exit_code":0.0,"#);
    pen.book.add(
        "ran-fraction",
        "an exit code written 0.0",
        fraction,
        &pen.stage,
        "accept_unproven ambiguous_number c:ambiguous_number",
    );
}
