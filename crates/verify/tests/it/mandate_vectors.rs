//! The numbered cases of `vectors/claudia`: proofs of a mandate, whole, cut, edited and forged.

use crate::mandates::reseal;
use crate::mutate::canonical;
use crate::stories::{first, small};
use crate::twins::trust_text;
use crate::vectors::{Case, check, write};
use canon::Digest;
use mandate::job::Job;
use mandate::mip004;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Every case is in the folder as it is made here, and is answered as the folder says.
#[test]
fn numbered_cases_of_mandates() {
    check(&folder(), &cases());
}

/// Writes the folder anew: `cargo test -p verify write_mandate_vectors -- --ignored`.
#[test]
#[ignore = "writes into the source tree"]
fn write_mandate_vectors() {
    write(&folder(), &cases());
    std::fs::write(folder().join("trust.json"), trust_text() + "\n").unwrap();
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/claudia"))
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name, file: Vec<u8>, pinned, code: Option<&'static str>, why| {
        cases.push(Case::new(cases.len() + 1, name, file, pinned, code, why));
    };
    let story = small();
    let proofs = story.proofs();
    let file = |name: &str| proofs.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let text = |file: &Value| file.to_string().into_bytes();
    let (receipt, run, brief) = (file("small receipt two"), file("small run run-1"), file("small brief"));

    add("receipt.json", text(&receipt), true, None, "approved by a person, released, with its transaction");
    add("receipt-unpinned.json", text(&receipt), false, None, "the same without a trust file");
    add(
        "receipt-allowed.json",
        text(&file("small receipt one")),
        true,
        None,
        "within the agent's own limits",
    );
    add(
        "run.json",
        text(&run),
        true,
        None,
        "a finished run, closed by the engine; no later release covers it yet",
    );
    add("brief.json", text(&brief), true, None, "what the approver was shown");
    add("export.jsonl", story.lines(), true, None, "the whole log, line by line");
    add(
        "story.jsonl",
        first().lines(),
        true,
        None,
        "three days of a mandate: denials, a rollback, wallets, an expiry, a later version",
    );

    let mut edited = |name, base: &Value, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bent = base.clone();
        edit(&mut bent);
        assert_ne!(bent, *base, "{name}");
        add(name, text(&bent), true, Some(code), why);
    };
    edited("log-edited.json", &receipt, "bad_hash", "a word of an action is changed", &|f| {
        f["entries"][2]["payload"]["action"]["rationale"] = json!("urgent");
    });
    edited("log-entry-lost.json", &receipt, "bad_number", "an entry is left out", &|f| {
        f["entries"].as_array_mut().unwrap().remove(5);
    });
    edited("log-cut.json", &run, "tail_missing", "the last entry is missing", &|f| {
        f["entries"].as_array_mut().unwrap().pop();
    });
    edited("recipient.json", &receipt, "bad_authorization", "the record names another recipient", &|f| {
        let to = "addr_test1vqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygxrcya6";
        f["receipt"]["authorization"]["fields"]["recipient"] = json!(to);
    });
    edited("receipt-hash.json", &receipt, "bad_receipt_hash", "an outcome is changed", &|f| {
        f["receipt"]["receipt"]["evaluation"]["outcome"] = json!("ALLOW");
    });
    edited("receipt-other.json", &receipt, "bad_receipt", "the same, hashed anew", &|f| {
        f["receipt"]["receipt"]["evaluation"]["outcome"] = json!("ALLOW");
        let hash = Digest::of(canonical(&f["receipt"]["receipt"]).as_bytes());
        f["receipt"]["receipt_hash"] = json!(hash.to_string());
    });
    edited("transaction.json", &receipt, "transaction_mismatch", "a transaction with another fee", &|f| {
        let other = f["transaction"].as_str().unwrap().replacen("021a00028d15", "021a00028d16", 1);
        f["transaction"] = json!(other);
    });
    edited("transaction-body.json", &receipt, "metadata_missing", "the body alone shows no log head", &|f| {
        let body = f["transaction"].as_str().unwrap()[2..86].to_owned();
        f["transaction"] = json!(body);
    });
    edited("closing.json", &run, "bad_closing_signature", "the engine closed something else", &|f| {
        f["run"]["closing"]["signature"] = json!("11".repeat(64));
    });
    edited("anchor.json", &run, "bad_anchor", "a release that does not cover the run", &|f| {
        let release =
            f["entries"].as_array().unwrap().iter().find(|e| e["type"] == "TransactionBuilt").unwrap();
        let (head, tx_hash) = (&release["payload"]["log_head"], &release["payload"]["tx_hash"]);
        f["run"]["anchor"] = json!({"hash": head["hash"], "seq": head["seq"], "tx_hash": tx_hash});
    });
    edited("brief-edited.json", &brief, "bad_brief_hash", "a word of the brief is changed", &|f| {
        f["brief"]["brief"]["why"] = json!("urgent");
    });
    edited("brief-other.json", &brief, "brief_not_shown", "a brief that nobody was shown", &|f| {
        f["brief"]["brief"]["why"] = json!("urgent");
        let hash = Digest::of(canonical(&f["brief"]["brief"]).as_bytes());
        f["brief"]["brief_hash"] = json!(hash.to_string());
    });
    edited("member-surplus.json", &receipt, "shape", "a member that the format does not have", &|f| {
        f["note"] = json!("trust me");
    });

    // What a server could do that makes every hash and its own signatures anew.
    let mut forged = |name, kind: &str, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bent = file("small log");
        let entries = bent["entries"].as_array_mut().unwrap();
        edit(&mut entries.iter_mut().find(|entry| entry["type"] == kind).unwrap()["payload"]);
        reseal(&mut bent);
        add(name, text(&bent), true, Some(code), why);
    };
    forged(
        "forged-outcome.json",
        "AuthorityEvaluated",
        "bad_evaluation",
        "resealed: a judgement the engine does not make",
        &|p| p["evaluation"]["signed"] = json!(false),
    );
    forged(
        "forged-count.json",
        "AuthorityEvaluated",
        "bad_snapshot",
        "resealed: interruptions miscounted",
        &|p| {
            p["state"]["escalations_today"] = json!(2);
        },
    );
    forged(
        "forged-brief.json",
        "ApprovalRequested",
        "bad_brief",
        "resealed: another brief was shown",
        &|p| {
            p["brief"]["what"]["amount"]["display"] = json!("1 USDM");
        },
    );
    forged(
        "forged-draft.json",
        "AuthorizationDrafted",
        "bad_draft",
        "resealed: another amount to sign",
        &|p| {
            p["fields"]["amount"] = json!("1");
        },
    );
    forged(
        "forged-approval.json",
        "CFOApproved",
        "bad_approver_signature",
        "resealed: somebody else approves",
        &|p| p["cfo_key_hash"] = json!("11".repeat(28)),
    );
    forged(
        "forged-engine.json",
        "AuthorizationIssued",
        "bad_engine_signature",
        "resealed: the engine did not sign",
        &|p| p["authorization"]["signature_hex"] = json!("11".repeat(64)),
    );
    forged("forged-head.json", "TransactionBuilt", "bad_log_head", "resealed: a head that never was", &|p| {
        p["log_head"]["seq"] = json!(2);
    });
    let twice = receipt.to_string().replacen("{\"entries\":", "{\"entries\":[],\"entries\":", 1);
    assert_ne!(twice, receipt.to_string());
    add(
        "duplicate-key.json",
        twice.into_bytes(),
        true,
        Some("duplicate_key"),
        "two readers could read it differently",
    );
    let job = job(&file("small receipt one"));
    add("job.json", text(&job), false, None, "a Masumi job: an authorization was sold");
    for (name, code, why, edit) in job_edits() {
        let mut bent = job.clone();
        edit(&mut bent);
        assert_ne!(bent, job, "{name}");
        add(name, text(&bent), false, Some(code), why);
    }
    cases
}

/// A job whose result is the decision that a receipt is of, as it stands in the log.
pub fn job(proof: &Value) -> Value {
    let claim = &proof["receipt"];
    let hash = &claim["receipt"]["action"]["hash"];
    let entries = proof["entries"].as_array().unwrap();
    let judged = |entry: &&Value| {
        entry["type"] == "AuthorityEvaluated" && entry["payload"]["evaluation"]["action_hash"] == *hash
    };
    let judged = &entries.iter().rev().find(judged).unwrap()["payload"];
    let evaluation = &judged["evaluation"];
    let result = json!({
        "authorization": claim["authorization"], "brief": null, "checks": evaluation["checks"],
        "decision": evaluation["outcome"], "decision_hash": judged["decision_hash"], "escalation": null,
        "evaluation": evaluation, "interpreted_action": null, "reason": evaluation["reason"],
        "receipt": { "receipt": claim["receipt"], "receipt_hash": claim["receipt_hash"], "receipt_id": "R-9-M-001" },
        "summary": "ALLOW under M-001@3: \"quoted\", \u{1f980} and a line\nend.", "verification": null,
    });
    let input = json!({ "mandate_id": "M-001", "request_text": "pay \u{e9} \"it\"" });
    let buyer = "aabbccddeeff00112233".parse().unwrap();
    let input = canon::Raw::from_slice(input.to_string().as_bytes()).unwrap();
    let job = Job::of("5e1f".parse().unwrap(), buyer, input, canonical(&result)).unwrap();
    serde_json::from_slice(&canon::to_vec(&job).unwrap()).unwrap()
}

/// Another result under hashes of its own.
pub fn rehashed(job: &mut Value, result: String) {
    let buyer = job["identifier_from_purchaser"].as_str().unwrap().to_owned();
    job["result_hash"] = json!(mip004::result_hash(&buyer, &result).unwrap().to_string());
    job["result_hash_raw"] = json!(mip004::raw_result_hash(&buyer, &result).to_string());
    job["result"] = json!(result);
}

type Edit = fn(&mut Value);

/// What may be wrong with a job.
pub fn job_edits() -> Vec<(&'static str, &'static str, &'static str, Edit)> {
    fn told(job: &mut Value, edit: impl Fn(&mut Value)) {
        let mut result: Value = serde_json::from_str(job["result"].as_str().unwrap()).unwrap();
        edit(&mut result);
        rehashed(job, canonical(&result));
    }
    vec![
        ("job-input.json", "bad_input_hash", "another input", |job| {
            job["input_data"]["mandate_id"] = json!("M-002")
        }),
        ("job-buyer.json", "bad_input_hash", "another purchaser", |job| {
            job["identifier_from_purchaser"] = json!("00112233445566778899");
        }),
        ("job-result.json", "bad_result_hash", "a word of the result", |job| {
            let text = job["result"].as_str().unwrap().replacen("ALLOW", "DENY", 1);
            job["result"] = json!(text);
        }),
        ("job-raw-hash.json", "bad_result_hash", "the hash of the other form", |job| {
            job["result_hash_raw"] = job["result_hash"].clone();
        }),
        ("job-spaced.json", "bad_result", "hashed anew: a result that is not canonical", |job| {
            let text = job["result"].as_str().unwrap().replacen(':', ": ", 1);
            rehashed(job, text);
        }),
        ("job-text.json", "bad_result", "hashed anew: a result that is no decision", |job| {
            rehashed(job, "Resume generated".to_owned());
        }),
        ("job-decision.json", "bad_result", "hashed anew: not the decision of its evaluation", |job| {
            told(job, |result| result["decision"] = json!("DENY"));
        }),
        (
            "job-outcome.json",
            "bad_decision_hash",
            "hashed anew: another evaluation than the one decided",
            |job| {
                told(job, |result| {
                    result["decision"] = json!("ESCALATE");
                    result["evaluation"]["outcome"] = json!("ESCALATE");
                });
            },
        ),
        ("job-receipt-hash.json", "bad_receipt_hash", "hashed anew: a receipt that was changed", |job| {
            told(job, |result| result["receipt"]["receipt"]["principal"] = json!("Other Corp"));
        }),
        ("job-receipt.json", "bad_receipt", "hashed anew: the receipt of another action", |job| {
            told(job, |result| {
                result["receipt"]["receipt"]["action"]["hash"] = Value::Null;
                let hash = Digest::of(canonical(&result["receipt"]["receipt"]).as_bytes());
                result["receipt"]["receipt_hash"] = json!(hash.to_string());
            });
        }),
        (
            "job-unauthorized.json",
            "bad_authorization",
            "hashed anew: allowed and signed, but no authorization",
            |job| {
                told(job, |result| result["authorization"] = Value::Null);
            },
        ),
        ("job-signature.json", "bad_authorization", "hashed anew: the engine did not sign", |job| {
            told(job, |result| result["authorization"]["signature_hex"] = json!("11".repeat(64)));
        }),
    ]
}
