//! The published schemas, read by another validator than ours, against every case.

use super::cases;
use ledger::Coded;
use pcm::message::{Receiver, schemas};
use serde_json::Value;

fn validator(name: &str) -> jsonschema::Validator {
    let (_, text) = schemas().into_iter().find(|(file, _)| file.starts_with(name)).unwrap();
    jsonschema::options().build(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
}

/// What no schema can say: names that lead somewhere, days there are, the kind of a number's token.
const BEYOND: [&str; 6] =
    ["no-such-day", "unknown-record", "same-id", "opening-of-nothing", "fraction", "approved-wrong-shape"];

/// Whatever is refused for its shape is refused by the schema, and nothing else is.
#[test]
fn messages_grants_and_trust_documents_are_of_their_schemas() {
    let [message, grant, trust] = ["pcm-message", "pcm-grant", "pcm-trust"].map(validator);
    let (mut good, mut grants, mut refused) = (0, 0, 0);
    for case in cases() {
        assert!(trust.is_valid(&case.trust), "{}", case.name);
        let Ok(value) = serde_json::from_slice::<Value>(&case.message) else { continue };
        let early = ["bad_json", "bad_version", "too_large"].iter().any(|code| case.expected.ends_with(code));
        let misshapen = case.group == "envelope" && case.expected == "reject bad_schema";
        match () {
            () if early => {}
            () if misshapen && !BEYOND.contains(&case.name) => {
                assert!(!message.is_valid(&value), "{}", case.name);
                refused += 1;
            }
            () => {
                let of_it = message.is_valid(&value);
                assert!(of_it || case.expected == "reject bad_schema", "{}", case.name);
                for link in value["grants"].as_array().unwrap() {
                    assert_eq!(grant.is_valid(&link["grant"]), of_it, "{}", case.name);
                    grants += 1;
                }
                good += 1;
            }
        }
    }
    assert!(good > 300 && grants > 60 && refused >= 14, "{good} {grants} {refused}");
    let mut short = cases()[0].trust.clone();
    for member in ["pcm", "evidence", "receivers", "speakers", "registry"] {
        let taken = short.as_object_mut().unwrap().remove(member).unwrap();
        assert!(!trust.is_valid(&short), "{member}");
        short[member] = taken;
    }
    short["guests"] = true.into();
    assert!(!trust.is_valid(&short));
}

/// A keyword that is not checked here is no keyword of an agreed intent; the other verifier has the same table.
#[test]
fn an_intent_is_of_a_schema_that_is_read_whole() {
    let text = cases()[0].trust.to_string();
    let check = |schema: &str, good: bool| {
        let intents = format!(r#"{{"intents":[{{"type":"x","schema":{schema}}}],"#);
        let read = Receiver::parse(text.replacen('{', &intents, 1).as_bytes());
        assert_eq!(read.as_ref().err().map(Coded::code), (!good).then_some("bad_trust"), "{schema}");
    };
    check("{}", true);
    check(
        r#"{"type":"object","properties":{"n":{"type":["integer","null"],"minimum":0}},"required":["n"]}"#,
        true,
    );
    check(r##"{"$defs":{"a":{"const":1}},"properties":{"n":{"$ref":"#/$defs/a"}}}"##, true);
    check(r#"{"properties":{"n":{"pattern":"^[a-z][a-z0-9_.-]*$"}}}"#, true);
    check(r#"{"properties":{"n":{"pattern":"^\\d{2}-[0-9a-f]{1,4}$"}}}"#, true);
    check(r#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#, true);
    check(r#"{"not":{}}"#, false);
    check(r#"{"properties":{"n":{"multipleOf":2}}}"#, false);
    check(r#"{"properties":{"n":{"minimum":0.0}}}"#, true);
    check(r#"{"properties":{"n":{"minimum":0.5}}}"#, false);
    check(r##"{"properties":{"n":{"$ref":"#/$defs/none"}}}"##, false);
    check(r#"{"properties":{"n":{"pattern":"^(a|b)$"}}}"#, false);
    check(r#"{"properties":{"n":{"pattern":"^[a-z]+a$"}}}"#, false);
    check(r#"{"properties":{"n":{"pattern":"a"}}}"#, false);
    check(r#"{"items":true}"#, false);
    check(r#"{"if":{}}"#, false);
    check(r#"{"enum":[null]}"#, false);
}
