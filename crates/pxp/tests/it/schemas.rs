//! The published schemas, as files under `docs/schemas/`.

use crate::table::*;
use std::path::Path;

#[test]
fn the_schemas_are_the_files_in_docs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    for (name, text) in pxp::schemas() {
        let path = folder.join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(golden, text, "{name} is stale: run this test with UPDATE_GOLDEN=1");
        assert!(text.contains(&format!("urn:countersign:schema:{}", name.trim_end_matches(".schema.json"))));
    }
}

#[test]
fn what_a_room_publishes_fits_its_schemas() {
    let table = crate::bundles::whole_room();
    let check = |name: &str, document: serde_json::Value| {
        let (_, schema) = pxp::schemas().into_iter().find(|(file, _)| *file == name).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let serde_json::Value::Object(mut more) = document else { panic!("{name} is an object") };
        more.insert("unknown".into(), true.into());
        assert!(!validator.is_valid(&more.into()), "{name} is closed");
    };
    let json = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
    for seat in &table.state.seats {
        check("intent-card.schema.json", json(canon::to_vec(seat.card.as_ref().unwrap()).unwrap()));
    }
    for envelope in &table.state.envelopes {
        check("envelope.schema.json", json(canon::to_vec(&**envelope).unwrap()));
    }
    let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
    check("brief.schema.json", json(canon::to_vec(brief).unwrap()));
    let bundle = crate::bundles::export(&table, pxp::Viewer::Seat(A));
    check("bundle.schema.json", json(bundle.to_vec().unwrap()));
}

#[test]
fn input_with_unknown_members_is_refused() {
    let check = |text: &str, good: bool| {
        let read = canon::from_slice::<pxp::EnvelopeInput>(text.as_bytes());
        assert_eq!(read.is_ok(), good, "{text}: {read:?}");
    };
    check(r#"{"message":"m","status":"continue"}"#, true);
    check(r#"{"message":"m","status":"continue","extra":1}"#, false);
    check(r#"{"message":"m","message":"n","status":"continue"}"#, false);
    check(r#"{"message":"m","status":"maybe"}"#, false);
    check(
        r#"{"message":"m","status":"continue","claims":[{"text":"t","origin":"stated","by":"me"}]}"#,
        false,
    );
    check(r#"{"message":{},"status":"continue"}"#, false);
    let sent = canon::to_vec(&offer("The hall")).unwrap();
    assert_eq!(canon::from_slice::<pxp::EnvelopeInput>(&sent).unwrap(), offer("The hall"));
    let sealed = canon::to_vec(&limited(A)).unwrap();
    assert_eq!(canon::from_slice::<pxp::CardInput>(&sealed).unwrap(), limited(A));
}
