//! Grants: the root a person approved, links that narrow, and what is asked under them.

use super::{Book, edited, respelled, sealed, stage};
use env::{Duration, Timestamp};
use pcm::message::Grant;
use pcm::message::sample::{Custody, Order, Stage};
use serde_json::{Value, json};

/// What a chain is made of: edits of the root, of what was approved, of each link.
pub struct Plan {
    pub root: fn(&mut Value),
    pub approved: fn(&mut Value),
    pub answer: &'static str,
    pub links: Vec<fn(&mut Value)>,
    pub tool: &'static str,
}

impl Default for Plan {
    fn default() -> Self {
        Self { root: |_| {}, approved: |_| {}, answer: "", links: Vec::new(), tool: "pcm.grant" }
    }
}

const NO_EDIT: fn(&mut Value) = |_| {};

fn schema() -> Value {
    json!({"type": "object", "required": ["order", "amount"], "additionalProperties": false, "properties": {
        "order": {"type": "integer"}, "amount": {"type": "integer", "minimum": 0}, "host": {"type": "string"},
        "path": {"type": "string"}, "regions": {"type": "array", "items": {"type": "string"}}}})
}

fn digest() -> canon::Digest {
    canon::Digest::of(&canon::canonicalize(schema().to_string().as_bytes()).unwrap())
}

pub fn agreed(trust: &mut Value) {
    trust["intents"] = json!([{"type": "refund.request", "schema": schema(), "units": {"amount": "USD.minor"}, "grant": true}]);
}

/// A chain on a stage; gives its links and the records to show.
pub fn chain(stage: &mut Stage<'_>, plan: &Plan) -> (Vec<Value>, Vec<canon::Value<'static>>, Vec<u64>) {
    let begin = stage.now() - Duration::from_secs(60);
    let holder = if plan.links.is_empty() { "token:agent" } else { "token:lead" };
    let mut root = json!({
        "id": "0123456789abcdef0123456789abcdef", "issuer": "ana", "holder": holder, "intents": ["refund.request"],
        "terms": [{"field": "amount", "op": "le", "value": 20000, "unit": "USD.minor"}, {"field": "order", "op": "eq", "value": 81}],
        "not_before": pcm::spelled(begin), "not_after": pcm::spelled(begin + Duration::from_secs(3600)),
        "audience": ["receiver"], "depth": plan.links.len(), "nonce": "00112233445566778899aabbccddeeff",
    });
    (plan.root)(&mut root);
    let mut approved = root.clone();
    (plan.approved)(&mut approved);
    let held = stage.decide(Custody::Executor, plan.tool, &approved.to_string(), "ask").unwrap();
    let asked = stage.ask(&held).unwrap();
    let answer = stage.answer(&asked, "approve", "ana", plan.answer).unwrap();
    root["root"] = json!({"approval_id": asked.approval_id});
    let records = vec![held.seq, asked.seq, answer];
    let (link, logged) = stage.grant(&root.to_string(), None, &records).unwrap();
    let (mut values, mut links, mut shown) = (vec![root], vec![link], [records, vec![logged]].concat());
    for (at, edit) in plan.links.iter().enumerate() {
        let parent = values.last().unwrap();
        let mut child = parent.clone();
        child.as_object_mut().unwrap().remove("root");
        let last = at + 1 == plan.links.len();
        child["id"] = json!(format!("{at:032x}"));
        child["issuer"] = parent["holder"].clone();
        child["holder"] = json!(if last { "token:agent" } else { "token:middle" });
        child["depth"] = json!(parent["depth"].as_u64().unwrap().saturating_sub(1));
        child["parent"] = json!(hash(parent));
        edit(&mut child);
        let (link, logged) = stage.grant(&child.to_string(), None, &[]).unwrap();
        values.push(child);
        links.push(link);
        shown.push(logged);
    }
    (values, links, shown)
}

pub fn hash(grant: &Value) -> String {
    canon::Digest::of(&canon::canonicalize(grant.to_string().as_bytes()).unwrap()).prefixed()
}

pub fn order(links: Vec<canon::Value<'static>>, shown: Vec<u64>, args: Value) -> Order<'static> {
    let intent = Some(("refund.request", digest(), args.to_string()));
    Order { grants: links, shown, intent, ..Order::default() }
}

const ASKED: &str = r#"{"order":81,"amount":12000}"#;

pub fn book() -> Book {
    let mut book = Book::new("grants");
    intents(&mut book);
    roots(&mut book);
    asked(&mut book);
    links(&mut book);
    book
}

pub fn asking() -> Value {
    serde_json::from_str(ASKED).unwrap()
}

fn intents(book: &mut Book) {
    let mut stage = stage(50);
    let mut add = |name, about, schema: canon::Digest, args: Value, trusting: fn(&mut Value), expected| {
        let intent = Some(("refund.request", schema, args.to_string()));
        let message = sealed(&mut stage, &Order { intent, ..Order::default() });
        book.add(name, about, message, &stage, expected).trusting(trusting);
    };
    let free: fn(&mut Value) = |t| {
        agreed(t);
        t["intents"][0]["grant"] = json!(false);
    };
    add("intent", "an agreed intent that needs no grant", digest(), asking(), free, "accept");
    add("intent-unknown", "an intent nobody agreed", digest(), asking(), |_| {}, "reject unknown_intent");
    add(
        "intent-schema",
        "under another schema than was agreed",
        canon::Digest::ZERO,
        asking(),
        free,
        "reject schema_mismatch",
    );
    add(
        "intent-missing",
        "an argument is missing",
        digest(),
        json!({"order": 81}),
        free,
        "reject intent_invalid",
    );
    add(
        "intent-surplus",
        "an argument too many",
        digest(),
        json!({"order": 81, "amount": 1, "x": 1}),
        free,
        "reject intent_invalid",
    );
    add(
        "intent-negative",
        "less than nothing",
        digest(),
        json!({"order": 81, "amount": -1}),
        free,
        "reject intent_invalid",
    );
    add("intent-ungranted", "an intent that needs a grant", digest(), asking(), agreed, "reject no_grant");
    add(
        "intent-claims",
        "a claim this intent demands is missing",
        digest(),
        asking(),
        |t| {
            agreed(t);
            t["intents"][0]["grant"] = json!(false);
            t["intents"][0]["claims"] = json!(["approved_by"]);
        },
        "accept_unproven no_evidence",
    );
    let intent = Some(("refund.request", digest(), asking().to_string()));
    let exact = sealed(&mut stage, &Order { intent, ..Order::default() });
    let fraction = respelled(&exact, r#""amount":12000"#, r#""amount":12000.0"#);
    book.add(
        "intent-fraction",
        "an integer written with a fraction",
        fraction,
        &stage,
        "reject intent_invalid",
    )
    .trusting(free);
}

fn roots(book: &mut Book) {
    let mut seed = 70;
    let mut add = |name, about, plan: Plan, expected| {
        seed += 1;
        let mut stage = stage(seed);
        let (_, links, shown) = chain(&mut stage, &plan);
        let message = sealed(&mut stage, &order(links, shown, asking()));
        book.add(name, about, message, &stage, expected).trusting(agreed);
    };
    let unapproved = "reject grant_root_unapproved";
    add("grant", "a person approved exactly this grant", Plan::default(), "accept");
    add(
        "root-terms",
        "she approved another amount",
        Plan { approved: |g| g["terms"][0]["value"] = json!(10000), ..Plan::default() },
        "reject grant_terms_differ",
    );
    add(
        "root-holder",
        "she approved another holder",
        Plan { approved: |g| g["holder"] = json!("token:other"), ..Plan::default() },
        "reject grant_terms_differ",
    );
    add(
        "root-surplus",
        "she was shown a term more",
        Plan {
            approved: |g| {
                g["terms"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({"field": "host", "op": "host_is", "value": "a.example"}));
            },
            ..Plan::default()
        },
        "reject grant_terms_differ",
    );
    add(
        "root-by-agent",
        "an agent approved",
        Plan { answer: r#","approver_kind":"agent""#, ..Plan::default() },
        "reject grant_not_human",
    );
    add(
        "root-self",
        "whoever asked approved",
        Plan { answer: r#","self_approved":true"#, ..Plan::default() },
        unapproved,
    );
    add(
        "root-break-glass",
        "by break-glass",
        Plan { answer: r#","break_glass":true"#, ..Plan::default() },
        unapproved,
    );
    add(
        "root-issuer",
        "issued in another person's name",
        Plan { root: |g| g["issuer"] = json!("ben"), ..Plan::default() },
        unapproved,
    );
    add(
        "root-other-tool",
        "approved as a call of another tool",
        Plan { tool: "refund", ..Plan::default() },
        unapproved,
    );
    add(
        "root-wrong-holder",
        "held by another agent",
        Plan { root: |g| g["holder"] = json!("token:other"), ..Plan::default() },
        "reject grant_wrong_holder",
    );
    add(
        "root-over",
        "its window is over",
        Plan { root: |g| g["not_after"] = json!("2026-11-30T00:00:00.000000Z"), ..Plan::default() },
        "reject bad_schema",
    );
    add(
        "root-early",
        "its window has not begun",
        Plan {
            root: |g| {
                g["not_before"] = json!("2026-12-30T00:00:00.000000Z");
                g["not_after"] = json!("2026-12-31T00:00:00.000000Z");
            },
            ..Plan::default()
        },
        "reject grant_expired",
    );
    add(
        "root-audience",
        "for another receiver",
        Plan { root: |g| g["audience"] = json!(["other"]), ..Plan::default() },
        "reject grant_exceeded",
    );
    add(
        "root-intents",
        "for another intent",
        Plan { root: |g| g["intents"] = json!(["payment.request"]), ..Plan::default() },
        "reject grant_exceeded",
    );
    add(
        "root-unreadable",
        "a term with a host that has no one reading",
        Plan {
            root: |g| {
                g["terms"][1] = json!({"field": "host", "op": "host_is", "value": "0127.0.0.1"});
            },
            ..Plan::default()
        },
        "reject bad_schema",
    );

    let mut stage = stage(95);
    let (values, links, shown) = chain(&mut stage, &Plan::default());
    let good = order(links.clone(), shown.clone(), asking());
    let mut bad = |name, about, edit: &dyn Fn(&mut Value), expected| {
        let message = edited(&mut stage, &good, |m| edit(m));
        book.add(name, about, message, &stage, expected).trusting(agreed);
    };
    bad(
        "root-edited",
        "more than was logged",
        &|m| m["grants"][0]["grant"]["terms"][0]["value"] = json!(99999),
        "reject no_grant",
    );
    bad(
        "root-unsigned",
        "another signature",
        &|m| {
            m["grants"][0]["sig"] =
                m["sig"].as_str().map_or(json!(format!("{}==", "A".repeat(86))), |s| json!(s))
        },
        "reject bad_signature",
    );
    bad(
        "root-key",
        "a key the log never declared",
        &|m| m["grants"][0]["kid"] = json!(format!("sha256:{}", "0".repeat(64))),
        "reject unknown_key",
    );
    bad(
        "root-algorithm",
        "another algorithm",
        &|m| m["grants"][0]["alg"] = json!("none"),
        "reject alg_not_allowed",
    );
    bad(
        "root-not-logged",
        "another record in the place of the one that logs it",
        &|m| {
            m["claims"] =
                json!([{"id": "c", "pred": "x", "args": {}, "evidence": [m["grants"][0]["logged"]]}]);
            m["grants"][0]["logged"] = m["grants"][0]["approval"][0].clone();
        },
        "reject no_grant",
    );
    bad(
        "root-approval-short",
        "the answer is not among its records",
        &|m| {
            let answer = m["grants"][0]["approval"].as_array_mut().unwrap().pop().unwrap();
            m["claims"] = json!([{"id": "c", "pred": "x", "args": {}, "evidence": [answer]}]);
        },
        unapproved,
    );
    bad(
        "root-and-parent",
        "a root that has a parent",
        &|m| m["grants"][0]["grant"]["parent"] = json!(format!("sha256:{}", "0".repeat(64))),
        "reject bad_schema",
    );
    let message = sealed(&mut stage, &good);
    book.add(
        "revoked",
        "the receiver knows that it was revoked",
        message.clone(),
        &stage,
        "reject grant_expired",
    )
    .trusting(|t| {
        agreed(t);
        t["revoked"] = json!([hash(&values[0])]);
    });
    let late = Timestamp::from_micros(stage.now().as_micros()) + Duration::from_secs(3540);
    let later = edited(&mut stage, &good, |m| {
        m["iat"] = json!(pcm::spelled(late));
        m["exp"] = json!(pcm::spelled(late + Duration::from_secs(60)));
    });
    book.add("grant-over", "asked at the end of its window", later, &stage, "reject grant_expired")
        .trusting(agreed)
        .at(late);
}

fn asked(book: &mut Book) {
    let mut stage = stage(96);
    let plan = Plan {
        root: |g| {
            g["terms"] = json!([
                {"field": "amount", "op": "range", "value": [100, 20000], "unit": "USD.minor"},
                {"field": "host", "op": "host_under", "value": "shop.example"},
                {"field": "path", "op": "path_under", "value": "/refunds"},
                {"field": "regions", "op": "subset_of", "value": ["eu", "us"]},
                {"field": "order", "op": "in", "value": [81, 82]}
            ]);
            g["max_uses"] = json!(2);
        },
        ..Plan::default()
    };
    let (values, links, shown) = chain(&mut stage, &plan);
    let args = json!({"order": 81, "amount": 12000, "host": "api.shop.example", "path": "/refunds/81", "regions": ["eu"]});
    let mut add = |name, about, edit: fn(&mut Value), trusting: fn(&mut Value), expected| {
        let mut args = args.clone();
        edit(&mut args);
        let message = sealed(&mut stage, &order(links.clone(), shown.clone(), args));
        book.add(name, about, message, &stage, expected).trusting(trusting);
    };
    let over = "reject grant_exceeded";
    add("asked", "within every term", NO_EDIT, agreed, "accept");
    add("asked-most", "the most it allows", |a| a["amount"] = json!(20000), agreed, "accept");
    add("asked-more", "one cent more", |a| a["amount"] = json!(20001), agreed, over);
    add("asked-less", "less than the least", |a| a["amount"] = json!(99), agreed, over);
    add("asked-other-order", "an order it does not name", |a| a["order"] = json!(83), agreed, over);
    add("asked-domain", "the domain itself", |a| a["host"] = json!("shop.example"), agreed, "accept");
    add(
        "asked-other-host",
        "a host that only ends alike",
        |a| a["host"] = json!("evilshop.example"),
        agreed,
        over,
    );
    add(
        "asked-odd-host",
        "a host that has no one reading",
        |a| a["host"] = json!("api.Shop.example"),
        agreed,
        over,
    );
    add(
        "asked-other-path",
        "a path that only begins alike",
        |a| a["path"] = json!("/refunds-all"),
        agreed,
        over,
    );
    add("asked-dots", "a path with dots", |a| a["path"] = json!("/refunds/../all"), agreed, over);
    add("asked-region", "a region it does not name", |a| a["regions"] = json!(["eu", "cn"]), agreed, over);
    add("asked-no-region", "no region at all", |a| a["regions"] = json!([]), agreed, "accept");
    add(
        "asked-missing",
        "a field it limits is missing",
        |a| drop(a.as_object_mut().unwrap().remove("host")),
        agreed,
        over,
    );
    add(
        "asked-units",
        "the receiver counts in another unit",
        NO_EDIT,
        |t| {
            agreed(t);
            t["intents"][0]["units"]["amount"] = json!("USD");
        },
        over,
    );
    add(
        "asked-no-units",
        "the receiver names no unit",
        NO_EDIT,
        |t| {
            agreed(t);
            t["intents"][0]["units"] = json!({});
        },
        over,
    );
    let message = sealed(&mut stage, &order(links.clone(), shown.clone(), args.clone()));
    let uses = |n: u64| json!({"since": "2026-01-01T00:00:00.000000Z", "uses": {hash(&values[0]): n}});
    book.add("used-once", "once of two times", message.clone(), &stage, "accept")
        .trusting(agreed)
        .knowing(uses(1));
    book.add("used-up", "as often as it allows", message, &stage, "reject grant_used")
        .trusting(agreed)
        .knowing(uses(2));
    let silent = Order { intent: None, ..order(links, shown, args) };
    let message = sealed(&mut stage, &silent);
    book.add("grant-shown", "a grant that is shown without asking anything", message, &stage, "accept")
        .trusting(agreed);
}

fn links(book: &mut Book) {
    let mut seed = 120;
    let mut add = |name, about, plan: Plan, expected| {
        seed += 1;
        let mut stage = stage(seed);
        let (_, links, shown) = chain(&mut stage, &plan);
        let message = sealed(&mut stage, &order(links, shown, asking()));
        book.add(name, about, message, &stage, expected).trusting(agreed);
    };
    let one = |edit: fn(&mut Value)| Plan { links: vec![edit], ..Plan::default() };
    let widens = "reject grant_widens";
    add("link", "passed on as it is", one(NO_EDIT), "accept");
    add(
        "link-two",
        "passed on twice, narrower each time",
        Plan {
            links: vec![|g| g["terms"][0]["value"] = json!(15000), |g| g["terms"][0]["value"] = json!(12000)],
            ..Plan::default()
        },
        "accept",
    );
    add(
        "link-eq",
        "down to one amount",
        one(|g| g["terms"][0] = json!({"field": "amount", "op": "eq", "value": 12000, "unit": "USD.minor"})),
        "accept",
    );
    add(
        "link-more-terms",
        "with a term more",
        one(|g| {
            g["terms"]
                .as_array_mut()
                .unwrap()
                .push(json!({"field": "amount", "op": "ge", "value": 100, "unit": "USD.minor"}));
        }),
        "accept",
    );
    add("link-more", "a higher amount", one(|g| g["terms"][0]["value"] = json!(20001)), widens);
    add(
        "link-dropped",
        "a term is dropped",
        one(|g| drop(g["terms"].as_array_mut().unwrap().remove(1))),
        widens,
    );
    add(
        "link-unit",
        "the same number in another unit",
        one(|g| g["terms"][0]["unit"] = json!("USD")),
        widens,
    );
    add(
        "link-no-unit",
        "the unit is dropped",
        one(|g| drop(g["terms"][0].as_object_mut().unwrap().remove("unit"))),
        widens,
    );
    add("link-turned", "at least in place of at most", one(|g| g["terms"][0]["op"] = json!("ge")), widens);
    add(
        "link-not-listed",
        "a range in place of exactly one",
        one(|g| g["terms"][1] = json!({"field": "order", "op": "range", "value": [81, 81]})),
        widens,
    );
    add("link-type", "a text in place of a number", one(|g| g["terms"][1]["value"] = json!("81")), widens);
    add(
        "link-intents",
        "an intent more",
        one(|g| g["intents"] = json!(["refund.request", "payment.request"])),
        widens,
    );
    add("link-audience", "a receiver more", one(|g| g["audience"] = json!(["receiver", "other"])), widens);
    add(
        "link-later",
        "valid for longer",
        one(|g| g["not_after"] = json!("2026-12-31T00:00:00.000000Z")),
        widens,
    );
    add(
        "link-earlier",
        "valid from earlier",
        one(|g| g["not_before"] = json!("2026-01-01T00:00:00.000000Z")),
        widens,
    );
    add(
        "link-uses",
        "used more often",
        Plan {
            root: |g| g["max_uses"] = json!(2),
            links: vec![|g| g["max_uses"] = json!(3)],
            ..Plan::default()
        },
        widens,
    );
    add(
        "link-no-uses",
        "the count is dropped",
        Plan {
            root: |g| g["max_uses"] = json!(2),
            links: vec![|g| drop(g.as_object_mut().unwrap().remove("max_uses"))],
            ..Plan::default()
        },
        widens,
    );
    add(
        "link-fewer-uses",
        "used less often",
        Plan {
            root: |g| g["max_uses"] = json!(2),
            links: vec![|g| g["max_uses"] = json!(1)],
            ..Plan::default()
        },
        "accept",
    );
    add(
        "link-depth",
        "as many further links as before",
        one(|g| g["depth"] = json!(1)),
        "reject grant_depth",
    );
    add(
        "link-forbidden",
        "passed on although it may not be",
        Plan { root: |g| g["depth"] = json!(0), links: vec![|g| g["depth"] = json!(0)], ..Plan::default() },
        "reject grant_not_delegable",
    );
    add(
        "link-issuer",
        "passed on by somebody who does not hold it",
        one(|g| g["issuer"] = json!("token:thief")),
        "reject grant_wrong_holder",
    );
    add(
        "link-parent",
        "below another grant",
        one(|g| g["parent"] = json!(format!("sha256:{}", "0".repeat(64)))),
        "reject grant_root_unapproved",
    );
    add(
        "link-held-elsewhere",
        "the last is held by another agent",
        one(|g| g["holder"] = json!("token:other")),
        "reject grant_wrong_holder",
    );
    add(
        "link-widens-late",
        "the second link takes back what the first gave up",
        Plan {
            links: vec![|g| g["terms"][0]["value"] = json!(10000), |g| g["terms"][0]["value"] = json!(12000)],
            ..Plan::default()
        },
        widens,
    );
    let mut stage = stage(118);
    let (_, links, shown) = chain(&mut stage, &one(NO_EDIT));
    let headless = Order { grants: links[1..].to_vec(), ..order(links, shown[4..].to_vec(), asking()) };
    let message = sealed(&mut stage, &headless);
    book.add("link-rootless", "a link without its root", message, &stage, "reject grant_root_unapproved")
        .trusting(agreed);
}

/// The signer's own check of a link is the receiver's.
#[test]
fn the_signer_makes_no_link_that_widens() {
    let mut stage = stage(119);
    let (values, _, _) = chain(&mut stage, &Plan { links: vec![NO_EDIT], ..Plan::default() });
    let parent = Grant::read(&canon::parse(values[0].to_string().as_bytes()).unwrap()).unwrap();
    let mut child = values[1].clone();
    assert!(stage.grant(&child.to_string(), Some(&parent), &[]).is_ok());
    child["terms"][0]["value"] = json!(20001);
    let error = stage.grant(&child.to_string(), Some(&parent), &[]).unwrap_err();
    assert_eq!(ledger::Coded::code(&error), "grant_widens");
}
