//! The text of the draft (docs/pcm-cs.md) says what the code and the data are.

use super::cases;
use canon::Digest;
use pcm::message::carriage::{EXTENSION, MEDIA_TYPE, META};
use pcm::message::{Code, GRANT_RECORD, GRANT_TAG, MESSAGE_RECORD, Message, TAG, VERSION, registry_digest};
use serde_json::Value;
use std::collections::BTreeMap;

fn file(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_text_has_the_codes_the_constants_and_the_example_as_they_are() {
    let text = file("docs/pcm-cs.md");
    let mut classes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for code in Code::ALL {
        classes.entry(code.class().as_str()).or_default().push(format!("`{}`", code.as_str()));
    }
    for (class, codes) in classes {
        let row = format!("| {class} | {} |", codes.join(", "));
        assert!(text.contains(&row), "{row}");
    }
    let table = Digest::of(&canon::canonicalize(file("registry/implication-1.json").as_bytes()).unwrap());
    let case = &cases()[0];
    let message: Value = serde_json::from_slice(&case.message).unwrap();
    let hash = Message::read(&case.message).unwrap().hash();
    let word = |pointer: &str| message.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let constants = [VERSION, TAG, GRANT_TAG, GRANT_RECORD, MESSAGE_RECORD, META, MEDIA_TYPE, EXTENSION];
    let example = [
        registry_digest().prefixed(),
        table.prefixed(),
        format!("{},{:03} bytes", case.message.len() / 1_000, case.message.len() % 1_000),
        hash.prefixed(),
        word("/sig"),
        word("/kid"),
        word("/evidence/checkpoint"),
        word("/evidence/proof"),
        word("/evidence/keys_proof"),
        word("/evidence/records/r3/sig"),
        word("/evidence/openings/r2/salt"),
    ];
    for part in example.iter().map(String::as_str).chain(constants) {
        assert!(text.contains(part.trim()), "{part}");
    }
}
