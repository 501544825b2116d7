//! Proofs of mandates: what they are, what is refused and why, and that both verifiers say so.

use crate::fixture::verifier;
use crate::mandate_vectors::{job, rehashed};
use crate::mutate::{canonical, change};
use crate::stories::{Story, first, header, small, stories};
use crate::support::verdict;
use crate::twins::{Case, Dice, agree, count, trust_text};
use canon::Digest;
use keys::Signer;
use ledger::{Entry, Head};
use mandate::log::link;
use mandate::text::Ed25519Key;
use serde_json::{Value, json};
use verify::{Kind, Trust, Verdict, verify};

const SEED: u64 = 20_261_130;
const MUTATIONS: usize = 2_000;

#[test]
fn every_proof_of_a_log_holds() {
    let pinned = Trust::parse(trust_text().as_bytes()).unwrap();
    let mut kinds = Vec::new();
    for story in stories() {
        let mut files: Vec<(String, Vec<u8>)> = vec![(format!("{} lines", story.name), story.lines())];
        files.extend(story.proofs().into_iter().map(|(name, file)| (name, file.to_string().into_bytes())));
        for (name, file) in files {
            for trust in [None, Some(&pinned)] {
                let report = verify(&file, trust);
                assert_eq!(report.verdict, Verdict::Valid, "{name}: {report:?}");
                assert_eq!(report.facts["entries"], story.desk.entries.len().to_string());
                kinds.push(report.kind.unwrap());
            }
        }
    }
    for kind in [Kind::MandateLog, Kind::RunLog, Kind::Receipt, Kind::MandateBrief] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

/// What a stranger may have done to a file without its server's key.
#[test]
fn five_tamperings_are_refused() {
    let story = first();
    let proofs = story.proofs();
    let receipt = &proofs.iter().find(|(name, _)| name.ends_with("receipt eight")).unwrap().1;
    let check = |edit: fn(&mut Value), expected: &str| {
        let mut file = receipt.clone();
        edit(&mut file);
        assert_ne!(file, *receipt, "{expected}");
        assert_eq!(verdict(file.to_string().as_bytes(), None), expected);
    };
    // Another recipient of the money.
    check(
        |file| {
            let to = "addr_test1vqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygxrcya6";
            file["receipt"]["authorization"]["fields"]["recipient"] = json!(to);
        },
        "bad_authorization at /receipt/authorization",
    );
    // A denial that becomes a yes.
    check(
        |file| file["receipt"]["receipt"]["evaluation"]["outcome"] = json!("ALLOW"),
        "bad_receipt_hash at /receipt/receipt_hash",
    );
    // A word of the log.
    check(
        |file| file["entries"][2]["payload"]["action"]["rationale"] = json!("urgent"),
        "bad_hash at entry 3",
    );
    // An entry that is left out.
    check(|file| drop(file["entries"].as_array_mut().unwrap().remove(5)), "bad_number at entry 6");
    // Another transaction.
    check(
        |file| {
            let text = file["transaction"].as_str().unwrap().replacen("021a00028d15", "021a00028d16", 1);
            file["transaction"] = json!(text);
        },
        "transaction_mismatch at /transaction",
    );
}

/// What a server could write that makes every hash and its own signatures anew: each is found at its entry.
#[test]
fn what_a_server_could_forge_is_found() {
    let story = first();
    let log = story.proofs().remove(0).1;
    for (kind, edit, expected) in forgeries() {
        let mut file = log.clone();
        let at = file["entries"].as_array().unwrap().iter().position(|entry| entry["type"] == kind);
        edit(&mut file["entries"][at.unwrap()]["payload"]);
        assert_ne!(file, log, "{expected}");
        reseal(&mut file);
        let found = verdict(file.to_string().as_bytes(), None);
        assert_eq!(found.split(" at ").next(), Some(expected), "{kind}: {found}");
    }
}

type Forgery = (&'static str, fn(&mut Value), &'static str);

/// The first entry of a type, what is changed in it, and what both verifiers say of it.
pub fn forgeries() -> Vec<Forgery> {
    fn other(value: &mut Value) {
        *value = json!(Digest::of(b"other").to_string());
    }
    vec![
        ("MandateUpdated", |p| p["mandate"]["interrupt_budget"]["per_day"] = json!(9), "bad_mandate_hash"),
        (
            "MandateUpdated",
            |p| p["mandate"]["validity"]["expires_at"] = json!("2020-01-01T00:00:00Z"),
            "mandate_rules",
        ),
        ("MandateUpdated", |p| p["note"] = json!("x"), "bad_event"),
        ("RunStarted", |p| p["limits"]["hard_cap"] = json!("1"), "bad_run"),
        ("ActionProposed", |p| p["action"]["amount"]["value"] = json!("1"), "bad_action_hash"),
        ("ActionProposed", |p| p["agent_signature"] = json!("11".repeat(64)), "bad_evaluation"),
        ("ActionProposed", |p| p["signature_form"] = json!("canonical_json"), "bad_signature_form"),
        ("CREVerificationStarted", |p| p["invoice_id"] = json!("in_other"), "bad_verification"),
        (
            "CREVerificationCompleted",
            |p| p["evidence"]["report"]["facts"]["exists"] = json!(false),
            "bad_evaluation",
        ),
        ("CREVerificationCompleted", |p| p["evidence"]["statements"] = json!([]), "bad_event"),
        (
            "CREVerificationCompleted",
            |p| drop(p["evidence"].as_object_mut().unwrap().remove("statements")),
            "bad_statement",
        ),
        ("CREVerificationCompleted", |p| p["evidence"]["statements"][0]["note"] = json!(1), "bad_event"),
        (
            "CREVerificationCompleted",
            |p| p["evidence"]["statements"][0]["signature"] = json!("11".repeat(64)),
            "bad_statement",
        ),
        (
            "CREVerificationCompleted",
            |p| p["evidence"]["statements"][0]["statement"]["verifier"] = json!("east"),
            "bad_statement",
        ),
        (
            "CREVerificationCompleted",
            |p| p["evidence"]["statements"][1] = p["evidence"]["statements"][0].clone(),
            "bad_statement",
        ),
        ("CREVerificationCompleted", |p| p["evidence"]["block_time_ms"] = json!(1), "bad_statement"),
        (
            "CREVerificationCompleted",
            |p| p["evidence"]["dissent"][0]["report"]["status"] = json!("open"),
            "bad_statement",
        ),
        ("AuthorityEvaluated", |p| p["evaluation"]["outcome"] = json!("ALLOW"), "bad_evaluation"),
        ("AuthorityEvaluated", |p| p["state"]["vault_balance"] = json!("1"), "bad_evaluation"),
        ("AuthorityEvaluated", |p| p["state"]["escalations_today"] = json!(2), "bad_snapshot"),
        ("AuthorityEvaluated", |p| other(&mut p["decision_hash"]), "bad_decision_hash"),
        ("ActionDenied", |p| p["layer"] = json!("cre"), "bad_denial"),
        ("AuthorizationIssued", |p| p["authorization"]["fields"]["nonce"] = json!("9"), "bad_authorization"),
        (
            "AuthorizationIssued",
            |p| p["authorization"]["signature_hex"] = json!("11".repeat(64)),
            "bad_engine_signature",
        ),
        ("AuthorizationIssued", |p| p["compromised_engine"] = json!(true), "engine_key_mismatch"),
        ("TransactionBuilt", |p| p["log_head"]["seq"] = json!(2), "bad_log_head"),
        ("TransactionBuilt", |p| other(&mut p["tx_hash"]), "bad_transaction"),
        ("TransactionConfirmed", |p| other(&mut p["digest"]), "bad_execution"),
        ("BondRequired", |p| p["price"]["amount"] = json!("1"), "bad_price"),
        ("BondLocked", |p| p["amount"] = json!("4999999"), "bad_bond"),
        ("ApprovalRequested", |p| p["brief"]["why"] = json!("pay this at once"), "bad_brief"),
        ("ApprovalRequested", |p| p["brief"]["what"]["amount"]["display"] = json!("1 USDM"), "bad_brief"),
        ("ApprovalRequested", |p| other(&mut p["brief_hash"]), "bad_brief_hash"),
        ("ApprovalRequested", |p| p["bond"]["output_index"] = json!(7), "bad_bond"),
        ("AuthorizationDrafted", |p| p["fields"]["amount"] = json!("1"), "bad_draft"),
        ("AuthorizationDrafted", |p| p["fields"]["nonce"] = json!("1"), "bad_nonce"),
        ("AuthorizationDrafted", |p| other(&mut p["digest"]), "bad_digest"),
        ("CFOApproved", |p| other(&mut p["digest"]), "draft_mismatch"),
        ("CFOApproved", |p| other(&mut p["brief_hash"]), "bad_brief_hash"),
        ("CFOApproved", |p| p["cfo_key_hash"] = json!("11".repeat(28)), "bad_approver_signature"),
        ("CFOApproved", |p| p["signed"]["nonce"] = json!("fedcba9876543210"), "bad_approver_signature"),
        ("CFODeclined", |p| p["reason"] = json!("legitimate"), "bad_approver_signature"),
        ("BondRefunded", |p| p["reason"] = json!("expired"), "bad_bond"),
        ("BondCaptured", |p| p["approval_id"] = json!("AP-1"), "bad_bond"),
        ("ApprovalExpired", |p| p["approval_id"] = json!("AP-9"), "bad_approval"),
        ("ApprovalClosed", |p| p["reason"] = json!("DAILY_CAP_EXCEEDED"), "bad_approval"),
    ]
}

/// A number that differs is denied by what enough verifiers signed: about this invoice, and under the number that is on record.
#[test]
fn another_number_is_signed_for() {
    let log = first().proofs().remove(0).1;
    let entries = log["entries"].as_array().unwrap();
    let signed = |entry: &Value| entry["type"] == "ActionDenied" && entry["payload"]["evidence"].is_object();
    let at = entries.iter().position(signed).unwrap();
    let edits: [Forgery; 5] = [
        // Older logs have none: it is the next release that commits to another log.
        ("left out", |p| drop(p.as_object_mut().unwrap().remove("evidence")), "bad_log_head"),
        ("unsigned", |p| drop(p["evidence"].as_object_mut().unwrap().remove("statements")), "bad_statement"),
        ("forged", |p| p["evidence"]["statements"][0]["signature"] = json!("11".repeat(64)), "bad_statement"),
        (
            "of another number",
            |p| {
                p["evidence"]["statements"][0]["statement"]["invoice_number"] = json!("INV-2");
            },
            "bad_statement",
        ),
        ("null", |p| p["evidence"] = json!(null), "bad_event"),
    ];
    let mut cases = Vec::new();
    for (name, edit, expected) in edits {
        let mut file = log.clone();
        edit(&mut file["entries"][at]["payload"]);
        reseal(&mut file);
        let file = file.to_string().into_bytes();
        let found = verdict(&file, None);
        assert_eq!(found.split(" at ").next(), Some(expected), "{name}");
        cases.push(Case { name: name.to_owned(), file, trust: None });
    }
    agree(&cases);
}

/// Whoever knows the verifiers demands as many of them as they please.
#[test]
fn reports_are_of_verifiers_in_the_trust_file() {
    let file = small().proofs().remove(0).1.to_string().into_bytes();
    let verifiers = |names: &[&str]| -> Vec<String> {
        let key = |name: &&str| match verifier(name).public() {
            keys::PublicKey::Ed25519(key) => Ed25519Key::from_bytes(*key.as_bytes()).to_string(),
            keys::PublicKey::P256(_) => panic!("an ed25519 key"),
        };
        names.iter().map(key).collect()
    };
    let mut cases = Vec::new();
    for (names, required, expected) in [
        (&["north", "south"][..], 0, Verdict::Valid),
        (&["north", "south"], 2, Verdict::Valid),
        (&["north", "south", "west"], 2, Verdict::Valid),
        // The third read something else.
        (&["north", "south", "west"], 3, Verdict::Refused),
        (&["north", "west"], 2, Verdict::Refused),
        (&["west"], 1, Verdict::Refused),
    ] {
        let mut trust: Value = serde_json::from_str(&trust_text()).unwrap();
        trust["verifiers"] = json!(verifiers(names));
        trust["verifiers_required"] = json!(required);
        let trust = trust.to_string();
        let report = verify(&file, Some(&Trust::parse(trust.as_bytes()).unwrap()));
        let code = (expected == Verdict::Refused).then_some("verifiers_missing");
        assert_eq!((report.verdict, report.code), (expected, code), "{names:?} {required}");
        cases.push(Case { name: format!("{names:?} {required}"), file: file.clone(), trust: Some(trust) });
    }
    agree(&cases);
    for bad in [
        json!({ "verifiers": verifiers(&["north", "north"]) }),
        json!({ "verifiers": verifiers(&["north"]), "verifiers_required": 2 }),
        json!({ "verifiers": ["x"] }),
    ] {
        assert!(Trust::parse(bad.to_string().as_bytes()).is_err(), "{bad}");
    }
}

/// The claim beside the log.
#[test]
fn claims_are_held_against_the_log() {
    let story = first();
    let proofs = story.proofs();
    let file = |name: &str| proofs.iter().find(|(known, _)| known.ends_with(name)).unwrap().1.clone();
    for (name, edit, expected) in claims() {
        let mut bent = file(name);
        edit(&mut bent);
        assert_eq!(verdict(bent.to_string().as_bytes(), None), expected, "{name}");
    }
}

type Bent = (&'static str, fn(&mut Value), &'static str);

pub fn claims() -> Vec<Bent> {
    fn other() -> Value {
        json!(Digest::of(b"other").to_string())
    }
    fn rehash(file: &mut Value) {
        let receipt = canonical(&file["receipt"]["receipt"]);
        file["receipt"]["receipt_hash"] = json!(Digest::of(receipt.as_bytes()).to_string());
    }
    vec![
        (
            "run run-1",
            |f| f["run"]["closing"]["signature"] = json!("11".repeat(64)),
            "bad_closing_signature at /run/closing/signature",
        ),
        ("run run-1", |f| f["run"]["closing"]["seq"] = json!(3), "bad_closing at /run/closing"),
        ("run run-1", |f| f["run"]["anchor"] = Value::Null, "bad_anchor at /run/anchor"),
        ("run run-1", |f| f["run"]["anchor"]["tx_hash"] = other(), "bad_anchor at /run/anchor"),
        ("run run-1", |f| f["run"]["run_id"] = json!("run-9"), "run_unknown at /run/run_id"),
        ("run run-1", |f| f["run"]["note"] = json!(1), "shape at /run/note"),
        ("brief", |f| f["brief"]["brief"]["why"] = json!("x"), "bad_brief_hash at /brief/brief_hash"),
        (
            "brief",
            |f| {
                f["brief"]["brief"]["why"] = json!("x");
                let hash = Digest::of(canonical(&f["brief"]["brief"]).as_bytes()).to_string();
                f["brief"]["brief_hash"] = json!(hash);
            },
            "brief_not_shown at /brief/brief",
        ),
        (
            "receipt eight",
            |f| f["receipt"]["receipt_hash"] = other(),
            "bad_receipt_hash at /receipt/receipt_hash",
        ),
        (
            "receipt eight",
            |f| {
                f["receipt"]["receipt"]["settlement"]["block"] = json!(1);
                rehash(f);
            },
            "bad_receipt at /receipt/receipt",
        ),
        (
            "receipt eight",
            |f| {
                f["receipt"]["receipt"]["evidence"]["last_event_hash"] = other();
                rehash(f);
            },
            "bad_receipt at /receipt/receipt",
        ),
        (
            "receipt eight",
            |f| f["receipt"]["mandate"]["version"] = json!(9),
            "bad_mandate_hash at /receipt/mandate",
        ),
        (
            "receipt eight",
            |f| f["receipt"]["authorization"] = Value::Null,
            "bad_authorization at /receipt/authorization",
        ),
        ("receipt eight", |f| f["transaction"] = json!("84"), "bad_transaction at /transaction"),
        (
            "receipt eight",
            |f| {
                // The body alone has no metadata to show.
                let text = f["transaction"].as_str().unwrap()[2..2 + 84].to_owned();
                f["transaction"] = json!(text);
            },
            "metadata_missing at /transaction",
        ),
        ("receipt nine", |f| f["run"] = json!({"anchor": null, "closing": null, "run_id": "run-1"}), "shape"),
        ("log", |f| f["export"]["rule"] = json!("prev_hex"), "bad_rule at /rule"),
        ("log", |f| f["export"]["type"] = json!("x"), "shape at /export/type"),
        ("log", |f| f["export"]["stream"] = json!("mandate/M-002"), "bad_stream at /stream"),
        ("log", |f| f["export"]["head"]["n"] = json!(9), "head_mismatch at /head"),
        ("log", |f| drop(f["entries"].as_array_mut().unwrap().pop()), "tail_missing at entry 156"),
        ("log", |f| f["entries"][0]["seq"] = json!(2), "bad_number at entry 1"),
        ("log", |f| f["entries"][1]["prev_hash"] = other(), "bad_prev at entry 2"),
        ("log", |f| f["entries"][1]["action_id"] = json!("x y"), "shape at /entries/1/action_id"),
    ]
}

/// 2,000 changed logs: both verifiers give one verdict and one code for each.
#[test]
fn two_verifiers_agree_on_mutated_mandates() {
    let mut dice = Dice::new(SEED);
    let mut cases = Vec::new();
    let pinned = trust_text();
    let stories = stories();
    let files: Vec<(String, Value)> = stories.iter().flat_map(Story::proofs).collect();
    for story in &stories {
        let name = format!("{} lines", story.name);
        cases.push(Case { name, file: story.lines(), trust: Some(pinned.clone()) });
    }
    for (name, file) in &files {
        for trust in [None, Some(pinned.clone())] {
            cases.push(Case { name: name.clone(), file: file.to_string().into_bytes(), trust });
        }
    }
    let good = cases.len();
    for (kind, edit, _) in forgeries() {
        let mut file = files[0].1.clone();
        let at = file["entries"].as_array().unwrap().iter().position(|entry| entry["type"] == kind);
        edit(&mut file["entries"][at.unwrap()]["payload"]);
        reseal(&mut file);
        cases.push(Case { name: format!("forged {kind}"), file: file.to_string().into_bytes(), trust: None });
    }
    for (name, edit, expected) in claims() {
        let mut file = files.iter().find(|(known, _)| known.ends_with(name)).unwrap().1.clone();
        edit(&mut file);
        let name = format!("{name}, {expected}");
        cases.push(Case { name, file: file.to_string().into_bytes(), trust: None });
    }
    let made = cases.len();
    // Mostly short logs, which are quick.
    let small = small();
    let mut short = small.proofs();
    short.extend([&small, &stories[1]].into_iter().flat_map(shortened));
    for round in 0..MUTATIONS {
        let pool = if dice.below(16) == 0 { &files } else { &short };
        let (name, file) = &pool[dice.below(pool.len())];
        let mut changed = file.clone();
        let mut what = String::new();
        while changed == *file {
            what = match round % 4 {
                0 => change(&mut changed, &mut dice),
                1 | 2 => {
                    let entries = changed["entries"].as_array().unwrap().len();
                    let index = dice.below(entries);
                    let payload = &mut changed["entries"][index]["payload"];
                    let what = match payload.as_object().is_some_and(|members| members.is_empty()) {
                        true => {
                            payload["surplus"] = json!(1);
                            "joined".to_owned()
                        }
                        false => change(payload, &mut dice),
                    };
                    mend(&mut changed["entries"][index], &mut dice);
                    reseal(&mut changed);
                    format!("entry {}: {what}, resealed", index + 1)
                }
                _ => rearrange(&mut changed, &mut dice),
            };
        }
        let trust = (round % 2 == 0).then(|| pinned.clone());
        let name = format!("seed {SEED}, round {round}, {name}: {what}");
        cases.push(Case { name, file: changed.to_string().into_bytes(), trust });
    }
    let verdicts = agree(&cases);
    assert_eq!(count(&verdicts[..good], Verdict::Valid), good);
    assert_eq!(count(&verdicts[good..made], Verdict::Refused), made - good);
    assert!(count(&verdicts[made..], Verdict::Refused) > MUTATIONS * 8 / 10);
    // Whatever is changed in a file and not made anew by its server is found.
    for (case, verdict) in cases[made..].iter().zip(&verdicts[made..]).step_by(4) {
        let of_others = case.trust.is_none() && case.name.contains("log/checkpoint");
        let left_out = [
            ": run lost",
            ": brief lost",
            ": receipt lost",
            ": transaction lost",
            "closing nulled",
            "closing lost",
        ];
        let less = left_out.iter().any(|left| case.name.contains(left)) || case.name.contains("export/log");
        assert!(*verdict != Verdict::Valid || of_others || less, "{}", case.name);
    }
}

/// The log alone, of the first so many entries.
fn shortened(story: &Story) -> Vec<(String, Value)> {
    let entries = &story.desk.entries;
    (1..entries.len().min(40))
        .step_by(4)
        .map(|count| {
            let proof = mandate::Proof::of(header(&entries[..count]), &entries[..count]).unwrap();
            let value = serde_json::from_slice(&proof.to_vec().unwrap()).unwrap();
            (format!("{} of {count}", story.name), value)
        })
        .collect()
}

/// Half of the forgers also mend the hashes beside what they changed.
fn mend(entry: &mut Value, dice: &mut Dice) {
    if dice.below(2) == 0 {
        return;
    }
    for (document, hash) in [("action", "action_hash"), ("mandate", "mandate_hash"), ("brief", "brief_hash")]
    {
        if entry["payload"][document].is_object() && entry["payload"].get(hash).is_some() {
            let mended = Digest::of(canonical(&entry["payload"][document]).as_bytes());
            entry["payload"][hash] = json!(mended.to_string());
        }
    }
    if entry["payload"]["action"]["id"].is_string() {
        entry["action_id"] = entry["payload"]["action"]["id"].clone();
    }
}

/// Entries dropped, swapped, repeated, cut or dated otherwise; resealed or not.
fn rearrange(file: &mut Value, dice: &mut Dice) -> String {
    let entries = file["entries"].as_array_mut().unwrap();
    let (one, two) = (dice.below(entries.len()), dice.below(entries.len()));
    let kind = dice.below(7);
    match kind {
        0 => drop(entries.remove(one)),
        1 => entries.swap(one, two),
        2 => entries.truncate(one),
        3 => entries.insert(one, entries[two].clone()),
        4 => entries[one]["run_id"] = json!("run-2"),
        5 => entries[one]["created_at"] = entries[two]["created_at"].clone(),
        _ => entries[one]["type"] = entries[two]["type"].clone(),
    }
    let reseals = dice.below(4) != 0;
    if reseals {
        for (index, entry) in file["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
            entry["seq"] = json!(index + 1);
        }
        reseal(file);
    }
    format!("rearranged {kind} at {one} and {two}, resealed: {reseals}")
}

/// Links, hashes, head and log made anew under the server's key.
pub fn reseal(file: &mut Value) {
    let mut head = Head::EMPTY;
    let mut sealed = Vec::new();
    for entry in file["entries"].as_array_mut().unwrap() {
        let mut body = entry.clone();
        for name in ["hash", "prev_hash"] {
            body.as_object_mut().unwrap().remove(name);
        }
        let bytes = canonical(&body).into_bytes();
        let hash = link(&head.hash, &bytes);
        entry["prev_hash"] = json!(head.hash.to_string());
        entry["hash"] = json!(hash.to_string());
        let seq = entry["seq"].as_u64().unwrap_or(head.seq + 1);
        sealed.push(Entry { seq, prev: head.hash, hash, bytes, payload: None });
        head = Head { seq, hash };
    }
    let header = header(&sealed);
    file["export"]["head"] = serde_json::to_value(header.head).unwrap();
    file["export"]["log"] = serde_json::to_value(header.log).unwrap();
}

/// Masumi jobs, changed as they are and with every hash made anew: both verifiers give one verdict and one code.
#[test]
fn two_verifiers_agree_on_mutated_jobs() {
    let mut dice = Dice::new(SEED);
    let proofs = small().proofs();
    let good = job(&proofs.iter().find(|(name, _)| name == "small receipt one").unwrap().1);
    let mut cases = vec![Case {
        name: "a job".to_owned(),
        file: good.to_string().into_bytes(),
        trust: Some(trust_text()),
    }];
    for round in 0..400 {
        let mut bent = good.clone();
        let mut what = String::new();
        while bent == good {
            if round % 2 == 0 {
                what = change(&mut bent, &mut dice);
                continue;
            }
            let mut result: Value = serde_json::from_str(bent["result"].as_str().unwrap()).unwrap();
            what = change(&mut result, &mut dice);
            let hash = Digest::of(canonical(&result["receipt"]["receipt"]).as_bytes());
            if dice.below(2) == 0 && result["receipt"].is_object() {
                result["receipt"]["receipt_hash"] = json!(hash.to_string());
            }
            rehashed(&mut bent, canonical(&result));
        }
        let name = format!("seed {SEED}, round {round}: {what}");
        cases.push(Case { name, file: bent.to_string().into_bytes(), trust: None });
    }
    let verdicts = agree(&cases);
    assert_eq!(verdicts[0], Verdict::Valid);
    // What is changed and not hashed anew is found; a result hashed anew may still be one that fits.
    for (case, verdict) in cases[1..].iter().zip(&verdicts[1..]).step_by(2) {
        // Which payment it is of, only the chain says.
        let of_another = case.name.contains("blockchain_identifier");
        assert!(*verdict != Verdict::Valid || of_another, "{}", case.name);
    }
    assert!(count(&verdicts, Verdict::Refused) > 300);
}
