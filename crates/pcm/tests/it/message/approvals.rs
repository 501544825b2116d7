//! approved_by: three records of one call, and what they cover.

use super::{Book, claim, edited, sealed, stage};
use env::Duration;
use pcm::message::sample::{Asked, Custody, Decided, Stage, rid};
use serde_json::{Value, json};

const PROVEN: &str = "accept c:proven";
const OTHER: &str = "reject approval_other_call c:approval_other_call";
const COVERS: &str = "reject approval_not_covering c:approval_not_covering";
const REJECTED: &str = "reject approval_rejected c:approval_rejected";
const WHO: &str = "reject approver_differs c:approver_differs";

struct Held {
    decided: Decided,
    asked: Asked,
}

fn hold(stage: &mut Stage<'_>) -> Held {
    let decided = stage.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
    let asked = stage.ask(&decided).unwrap();
    Held { decided, asked }
}

fn said(terms: Value) -> Value {
    json!({"person": "ana", "tool": "refund", "terms": terms})
}

pub fn book() -> Book {
    let mut book = Book::new("approvals");
    covering(&mut book);
    answers(&mut book);
    linkage(&mut book);
    book
}

fn covering(book: &mut Book) {
    let mut stage = stage(40);
    let held = hold(&mut stage);
    let answer = stage.answer(&held.asked, "approve", "ana", "").unwrap();
    let used = stage.consume(&held.asked).unwrap();
    let result = stage.result(&held.decided, r#"{"result":{"refund":"re_1"}}"#, true).unwrap();
    let three = [held.decided.seq, held.asked.seq, answer];
    let mut add = |name, about, args: Value, records: &[u64], expected| {
        let message = sealed(&mut stage, &claim("approved_by", args, records));
        book.add(name, about, message, &stage, expected);
    };
    let order = json!({"field": "order", "op": "eq", "value": 81});
    let amount =
        |op: &str, value: Value| json!({"field": "amount", "op": op, "value": value, "unit": "USD.minor"});
    add(
        "approved",
        "Ana approved this refund",
        said(json!([order, amount("eq", json!(12000))])),
        &three,
        PROVEN,
    );
    add("approved-tool", "the call, without terms", said(json!([])), &three, PROVEN);
    add(
        "approved-up-to",
        "at most 200.00 is implied by 120.00",
        said(json!([amount("le", json!(20000))])),
        &three,
        PROVEN,
    );
    add(
        "approved-range",
        "a range it lies in",
        said(json!([amount("range", json!([0, 12000]))])),
        &three,
        PROVEN,
    );
    add(
        "approved-one-of",
        "one of several orders",
        said(json!([{"field": "order", "op": "in", "value": [80, 81]}])),
        &three,
        PROVEN,
    );
    add(
        "approved-intent",
        "the intent that the tool carries out",
        json!({"person": "ana", "intent": "refund.request", "terms": [order]}),
        &three,
        PROVEN,
    );
    add("approved-less", "at most 100.00 is not", said(json!([amount("le", json!(10000))])), &three, COVERS);
    add(
        "approved-other-order",
        "another order",
        said(json!([{"field": "order", "op": "eq", "value": 82}])),
        &three,
        COVERS,
    );
    add(
        "approved-other-unit",
        "dollars are not cents",
        said(json!([{"field": "amount", "op": "le", "value": 20000, "unit": "USD"}])),
        &three,
        COVERS,
    );
    add(
        "approved-no-unit",
        "a number without its unit",
        said(json!([{"field": "amount", "op": "le", "value": 20000}])),
        &three,
        COVERS,
    );
    add(
        "approved-other-field",
        "a field the tool does not have",
        said(json!([{"field": "payee", "op": "eq", "value": "x"}])),
        &three,
        COVERS,
    );
    add(
        "approved-other-tool",
        "another tool",
        json!({"person": "ana", "tool": "pay", "terms": []}),
        &three,
        COVERS,
    );
    add(
        "approved-other-intent",
        "another intent",
        json!({"person": "ana", "intent": "payment.request", "terms": []}),
        &three,
        COVERS,
    );
    add(
        "approved-fraction",
        "a bound written with a fraction",
        said(json!([amount("le", json!(20000.5))])),
        &three,
        "accept_unproven ambiguous_number c:ambiguous_number",
    );
    add(
        "approved-wrong-shape",
        "a range that ends before it begins",
        said(json!([amount("range", json!([2, 1]))])),
        &three,
        "reject bad_schema",
    );
    add(
        "approved-done",
        "and it was done",
        json!({"person": "ana", "tool": "refund", "terms": [order], "done": true}),
        &[&three[..], &[used, result]].concat(),
        PROVEN,
    );
    add(
        "approved-not-done",
        "done, and its result is not shown",
        json!({"person": "ana", "tool": "refund", "terms": [order], "done": true}),
        &three,
        "accept_unproven no_evidence c:no_evidence",
    );
    add(
        "approved-ben",
        "it was Ana, not Ben",
        json!({"person": "ben", "tool": "refund", "terms": []}),
        &three,
        WHO,
    );
    add(
        "approved-look-alike",
        "a name that only looks like hers",
        json!({"person": "аna", "tool": "refund", "terms": []}),
        &three,
        WHO,
    );
    add(
        "approved-hidden",
        "her name with a character that cannot be seen",
        json!({"person": "an\u{200b}a", "tool": "refund", "terms": []}),
        &three,
        "accept_unproven ambiguous_text c:ambiguous_text",
    );
    add(
        "approved-answer-only",
        "an answer without what was asked",
        said(json!([])),
        &three[2..],
        "accept_unproven no_evidence c:no_evidence",
    );
    add(
        "approved-nothing",
        "nothing is shown",
        said(json!([])),
        &[],
        "accept_unproven no_evidence c:no_evidence",
    );
    let mut shut = claim("approved_by", said(json!([order])), &three);
    shut.closed = vec![held.asked.seq];
    let message = sealed(&mut stage, &shut);
    book.add(
        "approved-not-opened",
        "what was asked is not opened",
        message,
        &stage,
        "accept_unproven not_opened c:not_opened",
    );
}

fn answers(book: &mut Book) {
    let mut stage = stage(41);
    let mut add = |name, about, expected, answer: &dyn Fn(&mut Stage<'_>, &Held) -> Vec<u64>| {
        let held = hold(&mut stage);
        let mut records = vec![held.decided.seq, held.asked.seq];
        records.extend(answer(&mut stage, &held));
        let message = sealed(&mut stage, &claim("approved_by", said(json!([])), &records));
        book.add(name, about, message, &stage, expected);
    };
    let yes = |stage: &mut Stage<'_>, held: &Held, more: &str| {
        stage.answer(&held.asked, "approve", "ana", more).unwrap()
    };
    add("rejected", "she said no", REJECTED, &|s, h| vec![s.answer(&h.asked, "reject", "ana", "").unwrap()]);
    add("timed-out", "nobody answered in time", REJECTED, &|s, h| {
        vec![s.answer(&h.asked, "timeout", "ana", "").unwrap()]
    });
    add("late", "she answered after its end", REJECTED, &|s, h| {
        s.wait(Duration::from_secs(3601));
        vec![yes(s, h, "")]
    });
    add("self-approved", "whoever asked answered", WHO, &|s, h| vec![yes(s, h, r#","self_approved":true"#)]);
    add("by-an-agent", "an agent answered", WHO, &|s, h| vec![yes(s, h, r#","approver_kind":"agent""#)]);
    add("break-glass", "by break-glass, which this receiver does not take", REJECTED, &|s, h| {
        vec![yes(s, h, r#","break_glass":true"#)]
    });
    add("revoked", "taken back before it was used", REJECTED, &|s, h| {
        let answer = yes(s, h, "");
        let data = format!(r#"{{"approval_id":"{}","by":"token:ben"}}"#, h.asked.approval_id);
        vec![answer, s.say("approval.revoked", "signer", &data, Some(&h.asked.call)).unwrap()]
    });
    add("expired-unused", "it ended before it was used", REJECTED, &|s, h| {
        let answer = yes(s, h, "");
        let data = format!(r#"{{"approval_id":"{}"}}"#, h.asked.approval_id);
        vec![answer, s.say("approval.expired", "signer", &data, Some(&h.asked.call)).unwrap()]
    });
    add("ended-after-use", "what was used stays used", PROVEN, &|s, h| {
        let answer = yes(s, h, "");
        let used = s.consume(&h.asked).unwrap();
        let data = format!(r#"{{"approval_id":"{}"}}"#, h.asked.approval_id);
        vec![answer, used, s.say("approval.expired", "signer", &data, Some(&h.asked.call)).unwrap()]
    });
    let held = hold(&mut stage);
    let broken = yes(&mut stage, &held, r#","break_glass":true"#);
    let message = sealed(
        &mut stage,
        &claim("approved_by", said(json!([])), &[held.decided.seq, held.asked.seq, broken]),
    );
    book.add("break-glass-taken", "by break-glass, which this receiver takes", message, &stage, PROVEN)
        .trusting(|t| t["break_glass"] = json!(true));
    let held = hold(&mut stage);
    let data = format!(
        r#"{{"tool_use_id":"{}","approval_id":"{}","decision":"approve","approver":"slack:U1","channel":"slack","person":"ana",
            "approver_identity":{{"scheme":"slack","subject":"U1","attested":false}},
            "via":{{"scheme":"token","subject":"bridge","attested":true}}}}"#,
        held.asked.call, held.asked.approval_id
    );
    let bridged = stage.say("approval", "sdk", &data, Some(&held.asked.call)).unwrap();
    let message = sealed(
        &mut stage,
        &claim("approved_by", said(json!([])), &[held.decided.seq, held.asked.seq, bridged]),
    );
    book.add(
        "bridge-unknown",
        "a bridge vouches, and this receiver does not believe it",
        message.clone(),
        &stage,
        "accept_unproven t1_only c:t1_only",
    );
    book.add("bridge-believed", "a bridge that this receiver believes", message, &stage, PROVEN)
        .trusting(|t| t["bridges"] = json!(["token:bridge"]));
}

fn linkage(book: &mut Book) {
    let mut stage = stage(42);
    let one = hold(&mut stage);
    let two = hold(&mut stage);
    let answer_two = stage.answer(&two.asked, "approve", "ana", "").unwrap();
    let mut add = |stage: &mut Stage<'_>, name, about, records: &[u64], expected| {
        let message = sealed(stage, &claim("approved_by", said(json!([])), records));
        book.add(name, about, message, stage, expected);
    };
    add(
        &mut stage,
        "other-answer",
        "the answer to another request",
        &[one.decided.seq, one.asked.seq, answer_two],
        OTHER,
    );
    add(
        &mut stage,
        "other-request",
        "the request of another decision",
        &[one.decided.seq, two.asked.seq, answer_two],
        OTHER,
    );
    add(
        &mut stage,
        "two-requests",
        "two requests single out none",
        &[one.decided.seq, one.asked.seq, two.asked.seq, answer_two],
        "accept_unproven coarse_evidence c:coarse_evidence",
    );
    let named = stage
        .decide_as(
            Custody::Executor,
            "refund-81-approved",
            "refund",
            r#"{"order":81,"cents":99999}"#,
            "allow",
        )
        .unwrap();
    let ran = stage.result(&named, r#"{"result":{}}"#, true).unwrap();
    add(
        &mut stage,
        "approved-by-name",
        "a call the agent named refund-81-approved",
        &[named.seq, ran],
        "accept_unproven no_evidence c:no_evidence",
    );
    add(
        &mut stage,
        "approved-by-name-borrowed",
        "the same with another call's request and answer",
        &[named.seq, two.asked.seq, answer_two],
        OTHER,
    );
    let decided = stage.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
    let cheap = canon::parse(br#"{"order":81,"cents":1}"#).unwrap().into_static();
    let switched = stage.ask_for(&decided, "refund", &cheap, &decided.call.clone()).unwrap();
    let answer = stage.answer(&switched, "approve", "ana", "").unwrap();
    add(
        &mut stage,
        "other-arguments",
        "less was asked for than was decided",
        &[decided.seq, switched.seq, answer],
        OTHER,
    );
    let decided = stage.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
    let elsewhere = stage.ask_for(&decided, "refund", &cheap, "call-of-another").unwrap();
    let answer = stage.answer(&elsewhere, "approve", "ana", "").unwrap();
    add(
        &mut stage,
        "other-call-id",
        "bound to another call of the run",
        &[decided.seq, elsewhere.seq, answer],
        OTHER,
    );
    let allowed =
        stage.decide(Custody::Executor, "refund", r#"{"order":81,"cents":12000}"#, "allow").unwrap();
    let asked = stage.ask(&allowed).unwrap();
    let answer = stage.answer(&asked, "approve", "ana", "").unwrap();
    add(&mut stage, "not-held", "the decision did not ask", &[allowed.seq, asked.seq, answer], OTHER);
    let own = stage.decide(Custody::Agent, "refund", r#"{"order":81,"cents":12000}"#, "ask").unwrap();
    let asked = stage.ask(&own).unwrap();
    let answer = stage.answer(&asked, "approve", "ana", "").unwrap();
    add(
        &mut stage,
        "own-decision",
        "decided by the agent's own process",
        &[own.seq, asked.seq, answer],
        "accept_unproven t1_only c:t1_only",
    );
    let held = hold(&mut stage);
    let answer = stage.answer(&held.asked, "approve", "ana", "").unwrap();
    let records = [held.decided.seq, held.asked.seq, answer];
    let forged = edited(&mut stage, &claim("approved_by", said(json!([])), &records), |m| {
        m["evidence"]["records"][rid(answer)]["event"]["data"]["person"] = json!("ben");
    });
    book.add(
        "answer-edited",
        "the person's name is changed in the record",
        forged,
        &stage,
        "reject record_signature",
    );
    stage.register("agent", true).unwrap();
    let message = sealed(&mut stage, &claim("approved_by", said(json!([])), &records));
    book.add(
        "approved-other-run",
        "a true approval of another run",
        message,
        &stage,
        "reject wrong_run c:wrong_run",
    );
}
