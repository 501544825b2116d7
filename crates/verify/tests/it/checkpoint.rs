use crate::support::{export, trust, verdict};
use ledger::Coded;
use ledger::export::Rule;
use verify::{Kind, Trust, Verdict, verify};

#[test]
fn checkpoints() {
    let note = export(Rule::PrevHex, 1).0.log.unwrap().checkpoint;
    let check = |note: &str, trusted: Option<Trust>, expected: &str| {
        assert_eq!(verdict(note.as_bytes(), trusted.as_ref()), expected, "{note}");
    };
    check(&note, Some(trust(&[], &[1], 1)), "valid");
    check(&note, None, "trust_missing");
    check(&note, Some(trust(&[], &[], 0)), "log_unknown");
    check(&note, Some(trust(&[], &[3], 0)), "log_unsigned");
    check(&note.replacen("\n9\n", "\n8\n", 1), Some(trust(&[], &[1], 0)), "log_signature_bad");
    let unwitnessed: String = note.split_inclusive('\n').take(5).collect();
    check(&unwitnessed, Some(trust(&[], &[1], 0)), "valid");
    check(&unwitnessed, Some(trust(&[], &[1], 1)), "witness_quorum");

    let report = verify(note.as_bytes(), Some(&trust(&[], &[1], 1)));
    assert_eq!((report.verdict, report.kind), (Verdict::Valid, Some(Kind::Checkpoint)));
    assert_eq!(report.facts["witnesses"], "witness.example at 2027-01-15T08:00:00.000Z");
}

/// What is no proof at all.
#[test]
fn unusable_files() {
    for (bytes, expected) in [
        (b"".as_slice(), "syntax at byte 0"),
        (b"\xff", "invalid_utf8 at byte 0"),
        (b"{}", "unknown_kind at /type"),
        (b"[]", "unknown_kind at /type"),
        (br#"{"type":"urn:countersign:other:1"}"#, "unknown_kind at /type"),
        (br#"{"type":1,"type":2}"#, "duplicate_key at /type"),
        (br#"{"a":1e400}"#, "non_finite at /a"),
        (b"hello", "syntax at byte 0"),
    ] {
        assert_eq!(verdict(bytes, None), expected);
        assert_eq!(verify(bytes, None).verdict.exit_code(), 2);
    }
}

#[test]
fn trust_files() {
    let good = export(Rule::PrevHex, 1).0;
    let key = serde_json::to_string(&good.key).unwrap();
    let check = |file: &str, expected: &str| {
        let code = Trust::parse(file.as_bytes()).map_err(|error| error.code());
        assert_eq!(code.err().unwrap_or("ok"), expected, "{file}");
    };
    check("{}", "ok");
    check(&format!(r#"{{"servers":[{key}]}}"#), "ok");
    check(r#"{"server":[]}"#, "shape");
    check(r#"{"servers":[],"servers":[]}"#, "duplicate_key");
    check(r#"{"servers":[{"kty":"OKP"}]}"#, "shape");
    check(r#"{"logs":["a"]}"#, "vkey_form");
    check(r#"{"witnesses_required":1}"#, "quorum_beyond_pins");
    check(r#"{"witnesses_required":-1}"#, "shape");
}
