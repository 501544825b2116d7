use super::{err, out, run_with};

/// What `canon` prints for an input: canonical bytes and status 0, or the code alone and status 2.
fn check(input: &[u8], expected: Result<&str, &str>) {
    let folder = tempfile::tempdir().unwrap();
    let output = run_with(folder.path(), &["canon"], input);
    match expected {
        Ok(canonical) => {
            assert_eq!(out(&output), canonical);
            assert_eq!(output.status.code(), Some(0));
        }
        Err(code) => {
            assert_eq!((out(&output), err(&output)), (String::new(), format!("{code}\n")));
            assert_eq!(output.status.code(), Some(2));
        }
    }
}

#[test]
fn canonical_bytes_or_the_code_alone() {
    check(br#" { "b": 1.0, "a": "\u00e9" } "#, Ok(r#"{"a":"é","b":1}"#));
    check(b"\"\xff\"", Err("invalid_utf8"));
    check(b"{", Err("syntax"));
    check(br#"{"a":1,"a":2}"#, Err("duplicate_key"));
    check(b"1e400", Err("non_finite"));
    check(br#"{"amount":9007199254740993}"#, Err("int_range"));
    check(br#""\ud800""#, Err("lone_surrogate"));
    check("[".repeat(129).as_bytes(), Err("depth"));
}

#[test]
fn the_hash_is_of_the_canonical_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_with(folder.path(), &["canon", "--hash", "-"], b"-0");
    assert_eq!(out(&output), "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9\n");
}
