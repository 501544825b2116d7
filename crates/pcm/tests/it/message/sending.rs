//! Making messages: what is contradicted is not signed; what is not proven is.

use super::{claim, stage};
use ledger::Coded;
use pcm::message::sample::Custody;
use pcm::message::schemas;
use serde_json::{Value, json};

#[test]
fn the_signer_refuses_what_its_own_records_contradict() {
    let mut stage = stage(200);
    let arguments = r#"{"url":"https://api.example.com/"}"#;
    let (d, r) =
        stage.call(Custody::Executor, "http_get", arguments, r#"{"result":{"status":404}}"#).unwrap();
    let own = stage.call(Custody::Agent, "http_get", arguments, r#"{"result":{"status":200}}"#).unwrap();
    let note = stage.note().unwrap();
    let mut check = |predicate: &str, args: Value, records: &[u64], expected: Option<&str>| {
        let sent = stage.send(&claim(predicate, args, records), &note);
        assert_eq!(sent.as_ref().err().map(Coded::code), expected, "{predicate}");
        assert_eq!(sent.as_ref().err().and_then(Coded::place), expected.map(|_| "/claims/0".to_owned()));
    };
    let fetched = |status: u16| json!({"method": "GET", "url": "https://api.example.com/", "status": status});
    check("http_fetched", fetched(404), &[d, r], None);
    check("http_fetched", fetched(200), &[d, r], Some("result_differs"));
    check("tool_called", json!({"tool": "http_post", "args": {}}), &[d, r], Some("args_differ"));
    check("http_fetched", fetched(200), &[own.0, own.1], None);
    check("http_fetched", fetched(500), &[own.0, own.1], Some("result_differs"));
    check("tool_called", json!({"tool": "http_get", "args": {}}), &[], None);
}

/// Whoever reads the schemas reads what the readers read.
#[test]
fn schemas_are_valid_and_share_one_grant() {
    let read: Vec<Value> = schemas().iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    for ((name, _), schema) in schemas().iter().zip(&read) {
        assert_eq!(
            schema["$id"],
            json!(format!("urn:countersign:schema:{}", name.trim_end_matches(".schema.json")))
        );
    }
    let grant = &read[0]["$defs"]["grant"];
    for (name, value) in grant.as_object().unwrap() {
        assert_eq!(&read[1][name], value, "{name}");
    }
}
