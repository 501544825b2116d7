//! The strict reader and the writer, beside serde_json and serde_json_canonicalizer.

#![no_main]

use canon::{Code, Raw, Value};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let parsed = canon::parse(bytes);
    let written = canon::canonicalize(bytes);
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    match (parsed, written) {
        (Ok(value), Ok(canonical)) => {
            assert_eq!(canon::to_vec(&value).unwrap(), canonical);
            assert_eq!(canon::from_slice::<Value>(bytes).unwrap(), value);
            match canon::canonicalize(&canonical) {
                Ok(again) => assert_eq!(again, canonical),
                Err(error) => assert_eq!(error.code, Code::IntRange),
            }
            assert_eq!(Raw::of(&value).ok(), Raw::from_slice(bytes).ok());
            match theirs {
                Ok(theirs) => assert_eq!(serde_json_canonicalizer::to_vec(&theirs).unwrap(), canonical),
                // Its depth ends one level before ours.
                Err(error) => assert!(error.to_string().contains("recursion limit"), "{error}"),
            }
        }
        (Err(parsed), Err(written)) => {
            assert_eq!(parsed, written);
            if theirs.is_ok() {
                assert!(matches!(parsed.code, Code::DuplicateKey | Code::IntRange), "{parsed}");
            }
        }
        (parsed, written) => panic!("{parsed:?} beside {written:?}"),
    }
});
