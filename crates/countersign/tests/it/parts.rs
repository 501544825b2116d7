//! `countersign verify RECEIPT --log FILE --tx FILE`: a receipt, its log and the transaction, from where a person has them.

use super::run;
use serde_json::{Value, json};
use std::path::Path;

/// The parts of a whole proof: what the API says of the receipt, the log as the proof or as the export has it, the release.
struct Parts {
    receipt: Value,
    log: Value,
    tx: String,
}

fn parts() -> Parts {
    let mut whole: Value =
        serde_json::from_str(include_str!("../../../../vectors/claudia/01-receipt.json")).unwrap();
    let members = whole.as_object_mut().unwrap();
    let receipt = members.remove("receipt").unwrap();
    let tx = members.remove("transaction").unwrap().as_str().unwrap().to_owned();
    Parts { receipt, log: whole, tx }
}

impl Parts {
    fn verify(&self, folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
        std::fs::write(folder.join("receipt.json"), self.receipt.to_string()).unwrap();
        std::fs::write(folder.join("log.json"), self.log.to_string()).unwrap();
        std::fs::write(folder.join("tx.hex"), &self.tx).unwrap();
        let trust = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/claudia/trust.json");
        let all = [&["verify", "--json", "--trust", trust, "receipt.json"], arguments].concat();
        let output = run(folder, &all);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    }
}

const BOTH: [&str; 4] = ["--log", "log.json", "--tx", "tx.hex"];

#[test]
fn a_receipt_is_checked_with_its_log_and_its_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = parts();
    let (status, report) = whole.verify(folder, &BOTH);
    assert_eq!((status, &report["kind"], &report["pinned"]), (Some(0), &json!("receipt"), &json!(true)));
    assert_eq!(report["facts"]["transaction"], "commits to this log");
    // The transaction as bytes, and without it.
    let bytes: Vec<u8> = (0..whole.tx.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&whole.tx[at..at + 2], 16).unwrap())
        .collect();
    std::fs::write(folder.join("tx.cbor"), bytes).unwrap();
    assert_eq!(whole.verify(folder, &["--log", "log.json", "--tx", "tx.cbor"]), (status, report));
    let (status, report) = whole.verify(folder, &["--log", "log.json"]);
    assert_eq!((status, report["facts"].get("transaction")), (Some(0), None));
    // A receipt alone is no proof, and neither is one with a transaction and no log.
    assert_eq!(whole.verify(folder, &[]).0, Some(2));
    assert_eq!(whole.verify(folder, &["--tx", "tx.hex"]).0, Some(2));
}

#[test]
fn what_was_tampered_with_in_any_part_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |expected: &str, edit: &dyn Fn(&mut Parts)| {
        let mut parts = parts();
        edit(&mut parts);
        let (status, report) = parts.verify(folder.path(), &BOTH);
        assert_eq!((status, report["code"].as_str()), (Some(1), Some(expected)), "{report}");
    };
    check("bad_receipt_hash", &|parts| parts.receipt["receipt"]["evaluation"]["outcome"] = json!("ALLOW"));
    check("bad_authorization", &|parts| {
        let to = "addr_test1vqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygxrcya6";
        parts.receipt["authorization"]["fields"]["recipient"] = json!(to);
    });
    check("bad_hash", &|parts| parts.log["entries"][2]["payload"]["action"]["rationale"] = json!("urgent"));
    check("bad_number", &|parts| {
        parts.log["entries"].as_array_mut().unwrap().remove(5);
    });
    check("transaction_mismatch", &|parts| parts.tx = parts.tx.replacen("021a00028d15", "021a00028d16", 1));
    check("metadata_missing", &|parts| parts.tx = parts.tx[2..86].to_owned());
}
