//! JSON, the envelope, who sends, to whom, when; replay.

use super::{Book, bent, claim, edited, sealed, stage};
use env::Duration;
use pcm::message::sample::{Custody, Order, Stage};
use serde_json::{Value, json};

/// A stage on which one page was fetched, and the message that says so.
pub fn fetched(seed: u8) -> (Stage<'static>, Order<'static>, Vec<u8>) {
    let mut stage = stage(seed);
    let (decision, result) = stage
        .call(
            Custody::Executor,
            "http_get",
            r#"{"url":"https://api.example.com/orders/81"}"#,
            r#"{"result":{"status":200,"body":"{\"order\":81}"}}"#,
        )
        .unwrap();
    let args = json!({"tool": "http_get", "args": {"url": "https://api.example.com/orders/81"}});
    let order = claim("tool_called", args, &[decision, result]);
    let message = sealed(&mut stage, &order);
    (stage, order, message)
}

pub fn book() -> Book {
    let mut book = Book::new("envelope");
    let (mut stage, order, message) = fetched(10);
    book.add(
        "sound",
        "one call, run by an executor, decided, done and opened",
        message.clone(),
        &stage,
        "accept c:proven",
    );
    texts(&mut book, &stage, &message);
    shapes(&mut book, &mut stage, &order, &message);
    origins(&mut book, &mut stage, &order);
    replays(&mut book, &mut stage, &order);
    book
}

fn texts(book: &mut Book, stage: &Stage<'_>, message: &[u8]) {
    let text = std::str::from_utf8(message).unwrap();
    let mut bad = |name, about, bytes: Vec<u8>| {
        book.add(name, about, bytes, stage, "reject bad_json");
    };
    let with = |from: &str, to: &str| {
        assert!(text.contains(from));
        text.replacen(from, to, 1).into_bytes()
    };
    bad("empty", "no text at all", Vec::new());
    bad("not-utf8", "a byte that is no UTF-8", [&message[..message.len() - 1], &[0xff, b'}']].concat());
    bad("byte-order-mark", "a mark before the text", [&[0xef, 0xbb, 0xbf], message].concat());
    bad("two-texts", "something after the text", [message, b"{}"].concat());
    bad("cut", "the last brace is missing", message[..message.len() - 1].to_vec());
    bad("duplicate-name", "a name twice in one object", with(r#""to":"#, r#""to":"x","to":"#));
    bad(
        "duplicate-escaped",
        "the same name, once with an escape",
        with(r#""to":"#, r#""t\u006f":"x","to":"#),
    );
    bad(
        "not-finite",
        "1e400: refused in the bytes of a message (D45)",
        with(r#""args":{"#, r#""args":{"n":1e400,"#),
    );
    bad("integer-range", "an integer beyond 2^53-1", with(r#""args":{"#, r#""args":{"n":9007199254740993,"#));
    bad("nan", "no JSON number", with(r#""args":{"#, r#""args":{"n":NaN,"#));
    bad("lone-surrogate", "half of a pair", with(r#""args":{"#, r#""args":{"n":"\ud800","#));
    bad("trailing-comma", "a comma before a brace", with(r#","to":"#, r#",,"to":"#));
    let deep = |levels: usize| format!(r#""args":{{"n":{}1{},"#, "[".repeat(levels), "]".repeat(levels));
    bad("too-deep", "nested over 128", with(r#""args":{"#, &deep(130)));
    bad("nested-over-32", "nested over 32 outside an event", with(r#""args":{"#, &deep(30)));
}

fn shapes(book: &mut Book, stage: &mut Stage<'_>, order: &Order<'_>, message: &[u8]) {
    let mut bad = |name, about, edit: &dyn Fn(&mut Value), expected| {
        let bent = bent(message, |value| edit(value));
        assert_ne!(bent, message, "{name}");
        book.add(name, about, bent, stage, expected);
    };
    bad("version", "another version", &|m| m["pcm"] = json!("pcm/0.1"), "reject bad_version");
    bad(
        "no-version",
        "no version",
        &|m| drop(m.as_object_mut().unwrap().remove("pcm")),
        "reject bad_version",
    );
    bad("not-an-object", "an array", &|m| *m = json!([]), "reject bad_version");
    for (name, member) in [
        ("without-id", "id"),
        ("without-to", "to"),
        ("without-exp", "exp"),
        ("without-claims", "claims"),
        ("without-grants", "grants"),
        ("without-evidence", "evidence"),
        ("without-sig", "sig"),
    ] {
        bad(
            name,
            "a required member is missing",
            &|m| drop(m.as_object_mut().unwrap().remove(member)),
            "reject bad_schema",
        );
    }
    let shape = "reject bad_schema";
    bad("surplus", "a member no message has", &|m| m["note"] = json!("x"), shape);
    bad("surplus-in-claim", "a member no claim has", &|m| m["claims"][0]["weight"] = json!(1), shape);
    bad(
        "surplus-in-args",
        "a member the predicate does not have",
        &|m| m["claims"][0]["args"]["x"] = json!(1),
        shape,
    );
    bad("id-upper-case", "an id in capitals", &|m| m["id"] = json!("A".repeat(32)), shape);
    bad("two-receivers", "to is a list", &|m| m["to"] = json!(["receiver"]), shape);
    bad("no-such-day", "issued on 30 February", &|m| m["iat"] = json!("2026-02-30T00:00:00.000000Z"), shape);
    bad(
        "milliseconds",
        "a time with three decimals",
        &|m| m["exp"] = json!("2026-11-30T00:00:00.000Z"),
        shape,
    );
    bad(
        "unknown-record",
        "a claim names a record that is not shown",
        &|m| {
            m["claims"][0]["evidence"] = json!(["r99"]);
        },
        shape,
    );
    bad(
        "same-id",
        "two claims of one id",
        &|m| {
            let one = m["claims"][0].clone();
            m["claims"].as_array_mut().unwrap().push(one);
        },
        shape,
    );
    bad(
        "opening-of-nothing",
        "an opening of a record that is not shown",
        &|m| {
            m["evidence"]["openings"]["r99"] = json!({"salt": "0".repeat(64), "args": {}});
        },
        shape,
    );
    bad(
        "opening-of-both",
        "an opening of arguments and content at once",
        &|m| {
            m["evidence"]["openings"]["r2"]["content"] = json!({});
        },
        shape,
    );
    bad(
        "fraction",
        "a port of a claim is written 443.0",
        &|m| {
            m["claims"][0] = json!({"id": "c", "pred": "net_reached", "args": {"host": "a.example", "port": 443.0,
            "window": {"from": "2026-11-30T00:00:00.000000Z", "to": "2026-11-30T00:00:00.000000Z"}}, "evidence": []});
        },
        shape,
    );
    bad(
        "many-claims",
        "17 claims",
        &|m| {
            m["claims"] = (0..17)
                .map(|n| json!({"id": format!("c{n}"), "pred": "x", "args": {}, "evidence": []}))
                .collect();
        },
        "reject too_large",
    );
    bad(
        "many-grants",
        "9 grants",
        &|m| m["grants"] = json!([{}, {}, {}, {}, {}, {}, {}, {}, {}]),
        "reject too_large",
    );
    bad(
        "long-text",
        "more than 16 KiB of text",
        &|m| m["text"] = json!("x".repeat((16 << 10) + 1)),
        "reject too_large",
    );
    bad("algorithm", "another algorithm", &|m| m["alg"] = json!("none"), "reject alg_not_allowed");
    bad(
        "signature-not-base64",
        "base64 with bits to spare",
        &|m| {
            let sig = m["sig"].as_str().unwrap().replace("==", "=");
            m["sig"] = json!(sig);
        },
        "reject bad_encoding",
    );
    bad(
        "signature-edited",
        "a word changed after signing",
        &|m| m["to"] = json!("other"),
        "reject bad_signature",
    );
    bad("text-edited", "free text is signed too", &|m| m["text"] = json!("please"), "reject bad_signature");
    bad(
        "another-key",
        "a key the log never declared",
        &|m| m["kid"] = json!(format!("sha256:{}", "0".repeat(64))),
        "reject unknown_key",
    );
    let noted = edited(stage, order, |m| m["text"] = json!("approved by Ana, trust me"));
    book.add("text-is-no-evidence", "free text changes nothing", noted, stage, "accept c:proven");
    let unknown = edited(stage, order, |m| m["claims"][0]["pred"] = json!("wished"));
    book.add(
        "unknown-predicate",
        "no rule says how it is proven",
        unknown,
        stage,
        "accept_unproven unknown_predicate c:unknown_predicate",
    );
    let silent = Order { claims: Vec::new(), ..order.clone() };
    let silent = sealed(stage, &silent);
    book.add("no-claims", "a signed message that claims nothing", silent, stage, "accept");
}

fn origins(book: &mut Book, stage: &mut Stage<'_>, order: &Order<'_>) {
    let message = sealed(stage, order);
    let now = stage.now();
    let good = "accept c:proven";
    book.add(
        "other-audience",
        "addressed to another receiver",
        edited(stage, order, |m| m["to"] = json!("other")),
        stage,
        "reject wrong_audience",
    );
    book.add("as-itself", "judged as the receiver it is for", message.clone(), stage, good)
        .as_receiver("receiver");
    book.add(
        "as-another",
        "judged as another of the receivers",
        message.clone(),
        stage,
        "reject wrong_audience",
    )
    .as_receiver("second")
    .trusting(|t| t["receivers"] = json!(["receiver", "second"]));
    book.add("last-moment", "one microsecond before its end, clocks being one", message.clone(), stage, good)
        .trusting(|t| t["skew_s"] = json!(0))
        .at(now + Duration::from_secs(600) - Duration::from_micros(1));
    book.add("expired", "at its end", message.clone(), stage, "reject expired")
        .trusting(|t| t["skew_s"] = json!(0))
        .at(now + Duration::from_secs(600));
    book.add("within-skew", "past its end, within what clocks may differ", message.clone(), stage, good)
        .at(now + Duration::from_secs(659));
    book.add("future", "issued later than clocks may differ", message.clone(), stage, "reject not_yet_valid")
        .at(now - Duration::from_secs(61));
    book.add(
        "long-life",
        "valid for longer than this receiver remembers",
        message.clone(),
        stage,
        "reject expired",
    )
    .trusting(|t| t["max_lifetime_s"] = json!(599));
    let backwards = edited(stage, order, |m| m["exp"] = m["iat"].clone());
    book.add("no-life", "ends when it is issued", backwards, stage, "reject expired");
    book.add(
        "not-listed",
        "an agent that may not speak for this log",
        message.clone(),
        stage,
        "reject wrong_sender",
    )
    .trusting(|t| t["speakers"][0]["agents"] = json!(["token:other"]));
    book.add("any-agent", "a tenant any of whose agents may speak", message.clone(), stage, good)
        .trusting(|t| drop(t["speakers"][0].as_object_mut().unwrap().remove("agents")));
    book.add(
        "other-tenant",
        "a tenant this log may not speak for",
        message.clone(),
        stage,
        "reject wrong_sender",
    )
    .trusting(|t| t["speakers"][0]["tenant"] = json!("other"));
    let posing = edited(stage, order, |m| m["from"]["agent"] = json!("token:boss"));
    book.add("posing", "the run was registered by another agent", posing, stage, "reject wrong_sender")
        .trusting(|t| t["speakers"][0]["agents"] = json!(["token:boss"]));
    let elsewhere = edited(stage, order, |m| {
        let run = std::mem::replace(&mut m["from"]["run_id"], json!("another"));
        for record in m["evidence"]["records"].as_object_mut().unwrap().values_mut() {
            record["event"]["run_id"] = run.clone();
        }
    });
    book.add("no-such-run", "a run nobody registered", elsewhere, stage, "reject wrong_sender");
    let mut anonymous = super::stage(11);
    anonymous.register("agent", false).unwrap();
    let unattested = sealed(&mut anonymous, &Order::default());
    book.add(
        "unattested",
        "whoever registered the run was not known to the signer",
        unattested,
        &anonymous,
        "reject wrong_sender",
    );
}

fn replays(book: &mut Book, stage: &mut Stage<'_>, order: &Order<'_>) {
    let message = sealed(stage, order);
    let value: Value = serde_json::from_slice(&message).unwrap();
    let (origin, id, issued) = (&value["from"]["origin"], &value["id"], &value["iat"]);
    let before = "2026-01-01T00:00:00.000000Z";
    let mut add = |name, about, state, expected| {
        book.add(name, about, message.clone(), stage, expected).knowing(state);
    };
    add("fresh", "nothing was accepted before", json!({"since": before}), "accept c:proven");
    add(
        "replayed",
        "accepted before",
        json!({"since": before, "accepted": [[origin, id]]}),
        "reject replayed",
    );
    add(
        "other-log",
        "the same id of another log",
        json!({"since": before, "accepted": [["other.example/log", id]]}),
        "accept c:proven",
    );
    add("lost-state", "what was accepted is not known", json!("lost"), "reject replay_state_unavailable");
    add(
        "old-epoch",
        "issued before the state begins",
        json!({"since": "2026-12-31T00:00:00.000000Z"}),
        "reject replay_state_unavailable",
    );
    add("epoch-begins", "issued when the state begins", json!({"since": issued}), "accept c:proven");
    let size = stage.size();
    let largest = |size: u64| json!({"since": before, "largest": {origin.as_str().unwrap(): [size, format!("sha256:{}", "1".repeat(64))]}});
    let mut add = |name, about, state, expected| {
        book.add(name, about, message.clone(), stage, expected).knowing(state);
    };
    add(
        "forked-log",
        "another history of the same size was believed",
        largest(size),
        "reject bad_checkpoint",
    );
    add("grown-log", "a smaller checkpoint was believed before", largest(size - 1), "accept c:proven");
}
