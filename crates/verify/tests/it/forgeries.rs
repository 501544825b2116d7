//! What a server could make of the agreed room that rewrites its chain and signs it anew: each breaks one rule under which
//! the room's entries were taken.

use crate::mutate::reseal;
use crate::support::signer;
use crate::vectors::{entry_of, payload_of, rewrite};
use canon::Digest;
use keys::Signer;
use serde_json::{Value, json};

pub struct Forged {
    pub name: &'static str,
    pub bundle: Value,
    pub code: Option<&'static str>,
    pub place: Option<&'static str>,
    pub unchecked: Option<&'static [&'static str]>,
    pub why: &'static str,
}

type Edit = fn(&mut Value);

pub fn forgeries(whole: &Value) -> Vec<Forged> {
    let mut all: Vec<Forged> = BROKEN
        .iter()
        .map(|(name, code, place, why, edit)| Forged {
            name,
            bundle: forged(whole, *edit),
            code: Some(code),
            place: Some(place),
            unchecked: None,
            why,
        })
        .collect();
    all.push(Forged {
        name: "unseen-brief.json",
        bundle: forged(whole, |bundle| {
            withhold(bundle, "envelope");
            rewrite(bundle, "brief", &|brief| brief["agreement"]["terms"][1] = json!("1.00 EUR"));
            let name = payload_of(bundle, "brief");
            entry_of(bundle, "brief")["data"]["brief_hash"] = json!(name);
            bundle["brief"] = serde_json::from_str(bundle["payloads"][&name].as_str().unwrap()).unwrap();
        }),
        code: None,
        place: None,
        unchecked: Some(&["brief", "agreement", "messages", "confirmations of seat B"]),
        why: "a message is withheld, so another brief passes: the verdict says that it was not checked",
    });
    all
}

fn forged(whole: &Value, edit: Edit) -> Value {
    let mut bundle = whole.clone();
    edit(&mut bundle);
    assert_ne!(bundle, *whole);
    for (index, entry) in bundle["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
        entry["n"] = json!(index + 1);
    }
    reseal(&mut bundle);
    bundle
}

const BROKEN: [(&str, &str, &str, &str, Edit); 22] = [
    (
        "forged-dependency.json",
        "bad_input",
        "entry 8",
        "a signed offer rests on another claim than the seat said",
        |bundle| envelope(bundle, |envelope| envelope["proposal"]["depends_on"] = json!(["A1.2"])),
    ),
    (
        "forged-dependency-unknown.json",
        "bad_input",
        "entry 8",
        "a signed offer rests on a claim that nobody made",
        |bundle| envelope(bundle, |envelope| envelope["proposal"]["depends_on"] = json!(["B9.7"])),
    ),
    ("forged-reference.json", "bad_input", "entry 8", "a signed claim cites another document", |bundle| {
        envelope(bundle, |envelope| envelope["claims"][1]["ref"] = json!("Notarised deed"))
    }),
    (
        "forged-lifetime.json",
        "bad_input",
        "entry 8",
        "a signed offer stands longer than it was made for",
        |bundle| {
            envelope(bundle, |envelope| {
                envelope["proposal"]["expires_at"] = json!("2099-01-01T00:00:00.000Z");
            });
        },
    ),
    ("forged-flags-stripped.json", "bad_flags", "entry 8", "what the server found is left out", |bundle| {
        envelope(bundle, |envelope| drop(envelope.as_object_mut().unwrap().remove("protocol_flags")));
    }),
    ("forged-flag.json", "bad_flags", "entry 8", "the server finds what there is not", |bundle| {
        let flag = json!([{ "code": "untagged_fact", "message": "no claim covers \"850\"" }]);
        let add = |envelope: &mut Value| envelope["protocol_flags"] = flag.clone();
        rewrite(bundle, "envelope", &|payload| add(&mut payload["envelope"]));
    }),
    (
        "forged-origin.json",
        "bad_input",
        "entry 8",
        "an assumption becomes a statement, as if it repeated another claim",
        |bundle| origin(bundle, "A1.1"),
    ),
    (
        "forged-origin-of-nothing.json",
        "bad_input",
        "entry 8",
        "the same, as if it repeated a claim that is not there",
        |bundle| origin(bundle, "B9.9"),
    ),
    (
        "forged-enrolment.json",
        "bad_enrolment",
        "entry 18",
        "a person's key gives way to a session in the middle of the room",
        |bundle| {
            let mut again = entry_of(bundle, "principal_enrolled").clone();
            again["data"].as_object_mut().unwrap().remove("key");
            insert(bundle, 17, again);
        },
    ),
    ("forged-join.json", "bad_join", "entry 4", "another agent takes a seat that is taken", |bundle| {
        let key = serde_json::to_value(signer(3).public()).unwrap();
        let data = json!({ "seat": "B", "agent": "Agent Mallory", "key": key, "secret_hash": Digest::ZERO.to_string() });
        insert(bundle, 3, json!({ "type": "agent_joined", "data": data }));
    }),
    (
        "forged-limit.json",
        "not_enforced",
        "entry 15",
        "an agreement beyond the limit of the card in the file, and nobody was asked",
        |bundle| {
            let (third, last) = (nth_envelope(bundle, 2), nth_envelope(bundle, 3));
            let last = bundle["entries"][last]["data"]["payload"].as_str().unwrap().to_owned();
            let agreed: Value = serde_json::from_str(bundle["payloads"][&last].as_str().unwrap()).unwrap();
            let accepts = agreed["envelope"]["accepts"].clone();
            rewrite_at(bundle, third, &|payload| {
                let authority = payload["input"]["authority"].clone();
                let envelope = payload["envelope"].as_object_mut().unwrap();
                envelope.remove("escalation");
                envelope.remove("protocol_flags");
                envelope.insert("status".into(), json!("agree"));
                envelope.insert("accepts".into(), accepts.clone());
                envelope.insert("authority".into(), authority);
            });
            bundle["entries"][third]["data"]["status"] = json!("agree");
            for kind in ["escalation", "principal_answer"] {
                let name = payload_of(bundle, kind);
                bundle["payloads"].as_object_mut().unwrap().remove(&name);
                bundle["entries"].as_array_mut().unwrap().retain(|entry| entry["type"] != kind);
            }
            bundle["payloads"].as_object_mut().unwrap().remove(&last);
            bundle["entries"].as_array_mut().unwrap().retain(|entry| entry["data"]["payload"] != json!(last));
        },
    ),
    (
        "forged-unreviewed.json",
        "not_enforced",
        "entry 11",
        "a seat without a key answers without a review of what it answers",
        |bundle| {
            let place = nth_envelope(bundle, 1);
            rewrite_at(bundle, place, &|payload| {
                payload["envelope"]["reviews"] = json!([]);
                payload["input"].as_object_mut().unwrap().remove("reviews");
            });
            let entries = bundle["entries"].as_array_mut().unwrap();
            entries.retain(|entry| entry["type"] != "review" || entry["data"]["seq"] != 2);
        },
    ),
    ("forged-pause.json", "paused", "entry 9", "a message in a room that is paused", |bundle| {
        insert(bundle, 7, json!({ "type": "room_paused", "data": { "reason": "stop" } }));
    }),
    ("forged-time.json", "bad_time", "entry 10", "time goes back", |bundle| {
        bundle["entries"][9]["at"] = json!("2020-01-01T00:00:00.000Z");
    }),
    ("forged-source-seat.json", "bad_source", "entry 10", "a source for the other seat's claim", |bundle| {
        entry_of(bundle, "source_attached")["data"]["seat"] = json!("B")
    }),
    ("forged-source-again.json", "bad_source", "entry 11", "a second source for one claim", |bundle| {
        let again = entry_of(bundle, "source_attached").clone();
        insert(bundle, 10, again);
    }),
    (
        "forged-withdrawal.json",
        "bad_withdrawal",
        "entry 9",
        "an offer taken back by another seat",
        |bundle| {
            let hash = offer(bundle);
            insert(bundle, 8, withdrawal(&hash));
        },
    ),
    (
        "forged-withdrawal-unknown.json",
        "bad_withdrawal",
        "entry 9",
        "an offer taken back that nobody made",
        |bundle| insert(bundle, 8, withdrawal(&json!(Digest::ZERO.to_string()))),
    ),
    ("forged-expiry.json", "bad_expiry", "entry 9", "an offer lapses before its time", |bundle| {
        let data = json!({ "seat": "A", "offer_hash": offer(bundle) });
        insert(bundle, 8, json!({ "type": "offer_expired", "data": data }));
    }),
    ("forged-names.json", "bad_opening", "entry 1", "two seats whose names look alike", |bundle| {
        entry_of(bundle, "room_opened")["data"]["seats"][1]["name"] = json!("ANA");
    }),
    ("forged-policy.json", "bad_opening", "entry 1", "a room without turns", |bundle| {
        entry_of(bundle, "room_opened")["data"]["policy"]["max_turns"] = json!(0);
    }),
    ("forged-question.json", "bad_escalation", "entry 17", "a question about another matter", |bundle| {
        entry_of(bundle, "escalation")["data"]["matter"] = json!(Digest::ZERO.to_string());
    }),
];

/// Changes the first envelope as it is recorded, not what its seat sent and signed.
fn envelope(bundle: &mut Value, edit: fn(&mut Value)) {
    rewrite(bundle, "envelope", &|payload| edit(&mut payload["envelope"]));
}

fn origin(bundle: &mut Value, restates: &str) {
    rewrite(bundle, "envelope", &|payload| {
        payload["envelope"]["claims"][2]["origin"] = json!("stated");
        payload["envelope"]["claims"][2]["restates"] = json!(restates);
    });
}

/// Puts an entry after `place` others, at the instant of the one before it.
fn insert(bundle: &mut Value, place: usize, mut entry: Value) {
    let entries = bundle["entries"].as_array_mut().unwrap();
    entry["at"] = entries[place - 1]["at"].clone();
    entries.insert(place, entry);
}

fn offer(bundle: &mut Value) -> Value {
    let name = payload_of(bundle, "envelope");
    let payload: Value = serde_json::from_str(bundle["payloads"][&name].as_str().unwrap()).unwrap();
    payload["envelope"]["offer_hash"].clone()
}

fn withdrawal(hash: &Value) -> Value {
    let data = json!({ "seat": "B", "offer_hash": hash, "by_principal": true, "reason": "no" });
    json!({ "type": "offer_withdrawn", "data": data })
}

fn withhold(bundle: &mut Value, kind: &str) {
    let name = payload_of(bundle, kind);
    bundle["payloads"].as_object_mut().unwrap().remove(&name);
    bundle["withheld"].as_array_mut().unwrap().push(json!(name));
}

fn nth_envelope(bundle: &Value, n: usize) -> usize {
    let entries = bundle["entries"].as_array().unwrap();
    (0..entries.len()).filter(|at| entries[*at]["type"] == "envelope").nth(n).unwrap()
}

/// The same as [`rewrite`], for the envelope at a place.
fn rewrite_at(bundle: &mut Value, place: usize, edit: &dyn Fn(&mut Value)) {
    let entries = bundle["entries"].as_array_mut().unwrap();
    let earlier: Vec<Value> = entries.drain(..place).collect();
    rewrite(bundle, "envelope", edit);
    bundle["entries"].as_array_mut().unwrap().splice(0..0, earlier);
}
