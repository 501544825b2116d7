//! The predicates about files, values, contacts and decisions.

use super::claims::{NONE, OTHER, PROVEN, Pen, RESULT, T1};
use super::{claim, sealed};
use pcm::message::sample::{Custody, Order};
use serde_json::{Value, json};

pub fn written(pen: &mut Pen<'_>) {
    let hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let good = pen.call(
        "Write",
        &json!({"file_path": "/srv/app/a.txt", "content": "hello"}),
        &json!({"result": {}}),
    );
    let mut add =
        |name, about, args: Value, expected| pen.add(name, about, "file_written", args, &good, expected);
    add("written", "path and content", json!({"path": "/srv/app/a.txt", "sha256": hello}), PROVEN);
    add("written-path", "another file", json!({"path": "/srv/app/b.txt", "sha256": hello}), OTHER);
    add(
        "written-content",
        "another content",
        json!({"path": "/srv/app/a.txt", "sha256": format!("sha256:{}", "0".repeat(64))}),
        OTHER,
    );
    add(
        "written-dots",
        "a path with dots",
        json!({"path": "/srv/app/./a.txt", "sha256": hello}),
        "accept_unproven ambiguous_path c:ambiguous_path",
    );
    let edit = pen.call(
        "Edit",
        &json!({"file_path": "/srv/app/a.txt", "old": "x", "new": "hello"}),
        &json!({"result": {}}),
    );
    pen.add(
        "written-edit",
        "an edit does not say what came of it",
        "file_written",
        json!({"path": "/srv/app/a.txt", "sha256": hello}),
        &edit,
        "accept_unproven coarse_evidence c:coarse_evidence",
    );
    let read =
        pen.call("Read", &json!({"file_path": "/srv/app/a.txt"}), &json!({"result": {"content": "hello"}}));
    pen.add(
        "written-read",
        "a tool that only reads",
        "file_written",
        json!({"path": "/srv/app/a.txt", "sha256": hello}),
        &read,
        "accept_unproven unknown_tool c:unknown_tool",
    );
    let own = pen.call_by(
        Custody::Agent,
        "Write",
        &json!({"file_path": "/srv/app/a.txt", "content": "hello"}),
        &json!({"result": {}}),
    );
    pen.add(
        "written-self-report",
        "the agent says that it wrote",
        "file_written",
        json!({"path": "/srv/app/a.txt", "sha256": hello}),
        &own,
        T1,
    );
}

pub fn valued(pen: &mut Pen<'_>) {
    let content = json!({"result": {"total": 12000, "rate": 0.5, "body": "{\"order\":81,\"list\":[1,2]}", "huge": "{\"n\":1e400}",
        "twice": "{\"n\":1,\"n\":2}"}});
    let good = pen.call("crm:total", &json!({"order": 81}), &content);
    let args = |pointer: &str, value: Value| json!({"tool": "crm:total", "args": {"order": 81}, "pointer": pointer, "value": value});
    let mut add =
        |name, about, args: Value, expected| pen.add(name, about, "result_value", args, &good, expected);
    add("value", "a number of the result", args("/result/total", json!(12000)), PROVEN);
    add("value-differs", "another number", args("/result/total", json!(12001)), RESULT);
    add("value-missing", "no such place", args("/result/sum", json!(12000)), RESULT);
    add(
        "value-other-call",
        "of another order",
        json!({"tool": "crm:total", "args": {"order": 82}, "pointer": "/result/total", "value": 12000}),
        OTHER,
    );
    add("value-in-text", "inside JSON that a text holds", args("/result/body/order", json!(81)), PROVEN);
    add("value-list", "a list inside it", args("/result/body/list", json!([1, 2])), PROVEN);
    let number = "accept_unproven ambiguous_number c:ambiguous_number";
    add("value-fraction", "a fraction has no one reading", args("/result/rate", json!(0.5)), number);
    add(
        "value-not-finite",
        "1e400 inside opened output: unproven (D45)",
        args("/result/huge/n", json!(1)),
        number,
    );
    add(
        "value-duplicate",
        "a name twice inside opened output",
        args("/result/twice/n", json!(1)),
        "accept_unproven ambiguous_text c:ambiguous_text",
    );
    add("value-null", "nothing is not null", args("/result/none", json!(null)), RESULT);
}

pub fn reached(pen: &mut Pen<'_>) {
    let effect = |host: &str, port: u16, attribution: &str, connections: u64| {
        format!(
            r#"{{"observer":"mtls:egress","kind":"net","host":"{host}","port":{port},"bytes_out":10,"bytes_in":20,"connections":{connections},
                "first_ts":"2026-11-30T10:00:00.000000Z","last_ts":"2026-11-30T10:00:59.000000Z","attribution":"{attribution}"}}"#
        )
    };
    let mut see = |data: &str| pen.stage.say("effect.observed", "signer", data, None).unwrap();
    let good = see(&effect("api.example.com", 443, "token", 1));
    let vague = see(&effect("api.example.com", 443, "identity", 1));
    let tried = see(&effect("api.example.com", 443, "token", 0));
    let lost = pen
        .stage
        .say("capture.gap", "signer", r#"{"reason":"silent","kind":"observer_lost"}"#, None)
        .unwrap();
    let window = json!({"from": "2026-11-30T10:00:00.000000Z", "to": "2026-11-30T10:01:00.000000Z"});
    let args = |host: &str, port: u16| json!({"host": host, "port": port, "window": window});
    let coarse = "accept_unproven coarse_evidence c:coarse_evidence";
    let mut add = |name, about, args: Value, records: &[u64], expected| {
        pen.add(name, about, "net_reached", args, records, expected)
    };
    add(
        "reached",
        "seen by the egress observer, by the run's token",
        args("api.example.com", 443),
        &[good],
        PROVEN,
    );
    add("reached-nothing", "nothing is shown", args("api.example.com", 443), &[], NONE);
    add("reached-host", "another host", args("evil.example", 443), &[good], OTHER);
    add("reached-port", "another port", args("api.example.com", 80), &[good], OTHER);
    add(
        "reached-capitals",
        "a host in capitals",
        args("API.example.com", 443),
        &[good],
        "accept_unproven ambiguous_host c:ambiguous_host",
    );
    add(
        "reached-by-identity",
        "any of the agent's runs may have done it",
        args("api.example.com", 443),
        &[vague],
        coarse,
    );
    add("reached-tried", "no connection came about", args("api.example.com", 443), &[tried], coarse);
    add(
        "reached-gap",
        "the observer was lost for a while",
        args("api.example.com", 443),
        &[good, lost],
        "accept_unproven gap_in_run c:gap_in_run",
    );
    let narrow = json!({"host": "api.example.com", "port": 443, "window": {"from": "2026-11-30T10:00:30.000000Z", "to": "2026-11-30T10:01:00.000000Z"}});
    add("reached-window", "seen within a minute, claimed within half of one", narrow, &[good], coarse);
}

pub fn decided(pen: &mut Pen<'_>) {
    let arguments = json!({"order": 81, "cents": 12000});
    let denied = pen.stage.decide(Custody::Executor, "refund", &arguments.to_string(), "deny").unwrap();
    let own = pen.stage.decide(Custody::Agent, "refund", &arguments.to_string(), "allow").unwrap();
    let args = |decision: &str, cents: u64| json!({"tool": "refund", "args": {"cents": cents}, "decision": decision});
    let mut add = |name, about, args: Value, records: &[u64], expected| {
        pen.add(name, about, "decided", args, records, expected)
    };
    add("decided", "it was denied", args("deny", 12000), &[denied.seq], PROVEN);
    add(
        "decided-otherwise",
        "it was not allowed",
        args("allow", 12000),
        &[denied.seq],
        "reject call_denied c:call_denied",
    );
    add("decided-other-call", "the decision is of another call", args("deny", 1), &[denied.seq], OTHER);
    add("decided-self-report", "the agent's own process decided", args("allow", 12000), &[own.seq], T1);
    add("decided-ask", "allowed is not asked", args("ask", 12000), &[own.seq], RESULT);
    let mut shut = claim("decided", args("deny", 12000), &[denied.seq]);
    shut.closed = vec![denied.seq];
    let message = sealed(&mut pen.stage, &shut);
    pen.book.add(
        "decided-not-opened",
        "the arguments are not opened",
        message,
        &pen.stage,
        "accept_unproven not_opened c:not_opened",
    );
    let both = Order {
        claims: vec![
            ("a", "decided", args("deny", 12000).to_string(), vec![denied.seq]),
            ("b", "decided", args("allow", 12000).to_string(), vec![own.seq]),
            ("c", "decided", args("allow", 12000).to_string(), vec![denied.seq]),
        ],
        ..Order::default()
    };
    let message = sealed(&mut pen.stage, &both);
    pen.book.add(
        "each-alone",
        "each claim is judged alone, and one that fails rejects the message",
        message,
        &pen.stage,
        "reject call_denied a:proven b:t1_only c:call_denied",
    );
}
