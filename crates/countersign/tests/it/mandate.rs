//! `countersign mandate`: documents in files, one line out.

use crate::{err, out, run};
use std::path::Path;

const VECTORS: &str = include_str!("../../../../vectors/claudia/claudia.json");
const STATE: &str = r#"{"vault_balance":"135000000","spent_today":"0","day_index":20733,"last_nonce":"0",
    "anchor_version":3,"anchor_status":"active","observed_at_slot":1}"#;

fn write(folder: &Path, name: &str, pointer: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    let value = all.pointer(pointer).unwrap().clone();
    std::fs::write(folder.join(name), value.to_string()).unwrap();
    value
}

#[test]
fn hashes_evaluations_and_authorizations() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "m.json", "/derived/mandate_fixture/doc");
    write(at, "a.json", "/published/action/doc");
    write(at, "r.json", "/published/verification_report/doc");
    write(at, "f.json", "/published/authorization/base_fields");
    std::fs::write(at.join("s.json"), STATE).unwrap();
    let check = |arguments: &[&str], expected: &str| {
        let done = run(at, arguments);
        assert_eq!((out(&done).as_str(), done.status.code()), (expected, Some(0)), "{}", err(&done));
    };
    check(
        &["mandate", "hash", "m.json"],
        "9b3cea90447f1565999dd4a1dd71495fec3270008ba00336f907718a3a25bb5e\n",
    );
    check(
        &["mandate", "hash", "a.json"],
        "0e59a2758f848910b56285601985ceb147d1cb20c55cfb416159cad73c23ebab\n",
    );
    let evaluate = |more: &[&str]| {
        let fixed = ["mandate", "evaluate", "--mandate", "m.json", "--action", "a.json", "--state", "s.json"];
        let done = run(at, &[&fixed[..], &["--now", "2026-10-07T03:00:00Z"], more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
        let text = out(&done);
        let canonical = canon::canonicalize(text.as_bytes()).unwrap();
        assert_eq!(text.trim_end().as_bytes(), canonical, "one canonical line");
        std::fs::write(at.join("e.json"), &canonical).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        (read["outcome"].as_str().unwrap().to_owned(), read["signed"].as_bool().unwrap())
    };
    assert_eq!(evaluate(&[]), ("NEEDS_VERIFICATION".to_owned(), false));
    let all: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    let signature = all.pointer("/published/action/agent_signature").unwrap().as_str().unwrap();
    let given = ["--report", "r.json", "--signature", signature];
    assert_eq!(evaluate(&given), ("ALLOW".to_owned(), true));
    let parts = [
        "--action",
        "0e59a2758f848910b56285601985ceb147d1cb20c55cfb416159cad73c23ebab",
        "--mandate",
        "9b3cea90447f1565999dd4a1dd71495fec3270008ba00336f907718a3a25bb5e",
        "--verification",
        "d6170cccf0adc4c598938d95a7ddb10a8a99aa5e3f26f1d099651fa25089f0b6",
        "--outcome",
        "ALLOW",
    ];
    let by_parts = out(&run(at, &[&["mandate", "decision-hash"], &parts[..]].concat()));
    check(&["mandate", "decision-hash", "e.json"], &by_parts);
    let message = out(&run(at, &["mandate", "authorization", "f.json"]));
    let message: serde_json::Value = serde_json::from_str(&message).unwrap();
    assert_eq!(message["digest_hex"], "c862cbaa9d53417bf662fa8c54f1693e773a172084436111699a195fec2de78e");
    assert_eq!(message["message_hex"].as_str().unwrap().len(), 2 * 269);
}

/// Cases 1 to 32 of the conformance list, from the files a stranger has.
#[test]
fn the_engines_cases() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lines = include_str!("../../../../vectors/claudia/engine.jsonl").lines();
    let mut count = 0;
    for line in lines {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        for (name, member) in
            [("m.json", "mandate"), ("a.json", "action"), ("s.json", "state"), ("r.json", "evidence")]
        {
            std::fs::write(at.join(name), case[member].to_string()).unwrap();
        }
        let now = case["now"].to_string();
        let mut arguments = vec!["mandate", "evaluate", "--mandate", "m.json", "--action", "a.json"];
        arguments.extend(["--state", "s.json", "--now", &now]);
        if case["evidence"].is_object() {
            arguments.extend(["--report", "r.json"]);
        }
        if let Some(signature) = case["signature"].as_str() {
            arguments.extend(["--signature", signature]);
        }
        let done = run(at, &arguments);
        let expected = canon::canonicalize(case["evaluation"].to_string().as_bytes()).unwrap();
        assert_eq!(out(&done).trim_end().as_bytes(), expected, "case {}: {}", case["n"], err(&done));
        count += 1;
    }
    assert!(count > 35);
}

#[test]
fn what_is_no_document_is_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut mandate = write(at, "m.json", "/derived/mandate_fixture/doc");
    mandate["constraints"][1]["id"] = "purpose".into();
    std::fs::write(at.join("rules.json"), mandate.to_string()).unwrap();
    mandate["extra"] = 1.into();
    std::fs::write(at.join("shape.json"), mandate.to_string()).unwrap();
    let check = |file: &str, status: i32, expected: &str| {
        let done = run(at, &["mandate", "hash", file]);
        assert_eq!(done.status.code(), Some(status));
        assert!(err(&done).starts_with(expected), "{}", err(&done));
        assert_eq!(out(&done), "");
    };
    check("rules.json", 1, "mandate_rules: the mandate breaks its rules: two constraints are called purpose");
    check("shape.json", 2, "shape");
    check("none.json", 2, "none.json");
}

#[test]
fn an_approver_signs_statements_and_sign_ins_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = out(&run(at, &["mandate", "key", "k.jwk"]));
    assert_eq!(out(&run(at, &["mandate", "key", "k.jwk"])), made, "the same key when it is there");
    let (key, hash) = made.trim().split_once(' ').unwrap();
    assert_eq!(hash.len(), 56);
    let zero = "00".repeat(32);
    let statement = format!(
        r#"{{"v":1,"ask_id":"AP-1","action_hash":"{zero}","brief_hash":"{zero}","decision":"approve","nonce":"0123456789abcdef"}}"#
    );
    let parsed: approvals::Statement = canon::from_slice(statement.as_bytes()).unwrap();
    let check = |what: &str, message: &[u8], nonce: Option<&str>| {
        let done = run(at, &["mandate", "sign", what, "--key", "k.jwk"]);
        let printed: serde_json::Value = serde_json::from_str(&out(&done)).unwrap();
        assert_eq!((printed["key"].as_str(), printed["nonce"].as_str()), (Some(key), nonce));
        let public: mandate::text::Ed25519Key = key.parse().unwrap();
        let signature = printed["evidence"]["signature"].as_str().unwrap();
        let signature = keys::Signature::from_base64url(signature).unwrap();
        public.key().unwrap().verify(message, &signature).unwrap();
    };
    check(&statement, parsed.hash().as_bytes(), Some("0123456789abcdef"));
    std::fs::write(at.join("s.json"), format!("{statement}\n")).unwrap();
    check("s.json", parsed.hash().as_bytes(), Some("0123456789abcdef"));
    let sentence = format!("{}\nNonce: x", server::mandates::desk::SIGN_IN);
    check(&sentence, sentence.as_bytes(), None);
    for other in ["transfer everything", "{}", &statement.replace("\"v\"", "\"w\"")] {
        let done = run(at, &["mandate", "sign", other, "--key", "k.jwk"]);
        assert_eq!((done.status.code(), out(&done).as_str()), (Some(2), ""), "{other}");
    }
    let done = run(at, &["mandate", "witness", "00", "--key", "k.jwk"]);
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(2), ""));
    // Whose signature it is, of a key and of a wallet.
    for how in [&[][..], &["--wallet", "preprod"], &["--wallet", "mainnet"]] {
        for what in [&statement, &sentence] {
            let signed = out(&run(at, &[&["mandate", "sign", what, "--key", "k.jwk"], how].concat()));
            let who = run(at, &["mandate", "signer", what, "--signature", signed.trim()]);
            assert_eq!(out(&who), made, "{how:?} {}", err(&who));
            let other = what.replace("cdef", "fedc").replace("x", "y");
            let who = run(at, &["mandate", "signer", &other, "--signature", signed.trim()]);
            assert_eq!((who.status.code(), out(&who).as_str()), (Some(1), ""), "{how:?} {other}");
            let mut read: serde_json::Value = serde_json::from_str(&signed).unwrap();
            if let Some(key) = read["evidence"]["cose_key"].as_str() {
                let cip30 = serde_json::json!({ "key": key, "signature": read["evidence"]["cose_sign1"] });
                let who = run(at, &["mandate", "signer", what, "--signature", &cip30.to_string()]);
                assert_eq!(out(&who), made);
            }
            read["key"] = format!("ed25519:{}", "3b".repeat(32)).into();
            let who = run(at, &["mandate", "signer", what, "--signature", &read.to_string()]);
            assert_ne!(who.status.code(), Some(0), "another key");
        }
    }
}
