//! The numbered cases of `vectors/pxp`: what a stranger's verifier must answer too.

use crate::mutate::{canonical, reseal};
use crate::play::{agreed, stalled, withdrawn};
use crate::support::{export, file, signed, signer};
use crate::twins::trust_text;
use canon::Digest;
use keys::Signer;
use ledger::Head;
use ledger::export::Rule;
use pxp::SeatId;
use pxp::view::Viewer;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use verify::{Trust, verify};

/// Every case is in the folder as it is made here, and is answered as the folder says.
#[test]
fn numbered_cases() {
    check(&folder(), &cases());
}

/// Writes the folder anew: `cargo test -p verify write_vectors -- --ignored`.
#[test]
#[ignore = "writes into the source tree"]
fn write_vectors() {
    write(&folder(), &cases());
    std::fs::write(folder().join("trust.json"), trust_text() + "\n").unwrap();
}

pub fn check(folder: &Path, made: &[Case]) {
    let told: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let trust = Trust::parse(&std::fs::read(folder.join("trust.json")).unwrap()).unwrap();
    assert_eq!(told.len(), made.len());
    for (told, case) in told.iter().zip(made) {
        assert_eq!(*told, case.told(), "{}", case.name);
        let bytes = std::fs::read(folder.join(case.file_name())).unwrap();
        assert!(bytes == case.file, "{} is not the file that is made here", case.name);
        let report = verify(&bytes, case.pinned.then_some(&trust));
        let answer = json!({ "verdict": report.verdict, "code": report.code });
        assert_eq!(answer, json!({ "verdict": told["verdict"], "code": told["code"] }), "{}", case.name);
        for (member, found) in [("place", json!(report.place)), ("unchecked", json!(report.unchecked))] {
            assert_eq!(*told.get(member).unwrap_or(&found), found, "{member} of {}", case.name);
        }
    }
}

pub fn write(folder: &Path, made: &[Case]) {
    std::fs::create_dir_all(folder).unwrap();
    for case in made {
        std::fs::write(folder.join(case.file_name()), &case.file).unwrap();
    }
    let told: Vec<String> = made.iter().map(|case| format!("  {}", case.told())).collect();
    std::fs::write(folder.join("cases.json"), format!("[\n{}\n]\n", told.join(",\n"))).unwrap();
    assert!(made.len() > 20);
}

pub struct Case {
    n: usize,
    name: &'static str,
    file: Vec<u8>,
    pinned: bool,
    verdict: &'static str,
    code: Option<&'static str>,
    why: &'static str,
    place: Option<&'static str>,
    unchecked: Option<&'static [&'static str]>,
}

impl Case {
    pub fn new(
        n: usize,
        name: &'static str,
        file: Vec<u8>,
        pinned: bool,
        code: Option<&'static str>,
        why: &'static str,
    ) -> Self {
        let verdict = match code {
            None => "valid",
            Some("duplicate_key" | "unknown_kind" | "trust_missing") => "unusable",
            Some(_) => "refused",
        };
        Self { n, name, file, pinned, verdict, code, why, place: None, unchecked: None }
    }
    fn file_name(&self) -> String {
        format!("{:02}-{}", self.n, self.name)
    }
    fn told(&self) -> Value {
        let mut told = json!({
            "n": self.n, "file": self.file_name(), "trust": self.pinned, "verdict": self.verdict,
            "code": self.code, "why": self.why,
        });
        if let Some(place) = self.place {
            told["place"] = json!(place);
        }
        if let Some(unchecked) = self.unchecked {
            told["unchecked"] = json!(unchecked);
        }
        told
    }
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/pxp"))
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name, file: Vec<u8>, pinned, code: Option<&'static str>, why| {
        cases.push(Case::new(cases.len() + 1, name, file, pinned, code, why));
    };
    let whole = value(agreed().whole());
    let text = |bundle: &Value| bundle.to_string().into_bytes();

    add("agreed.json", text(&whole), true, None, "two seats agree; one signs, one answers with a passkey");
    add(
        "agreed-unpinned.json",
        text(&whole),
        false,
        None,
        "the same without a trust file: whole, but not pinned",
    );
    add(
        "withdrawn.json",
        text(&value(withdrawn().whole())),
        true,
        None,
        "three seats, relayed answers, one leaves",
    );
    add("stalled.json", text(&value(stalled().whole())), true, None, "a turn's deadline passes");
    let side = value(agreed().bundle(Viewer::Principal(SeatId::at(1).unwrap())));
    add(
        "one-side.json",
        text(&side),
        true,
        None,
        "what one side may see: the other's private parts are withheld",
    );

    let mut edited = |name, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bundle = whole.clone();
        edit(&mut bundle);
        assert_ne!(bundle, whole, "{name}");
        add(name, text(&bundle), true, Some(code), why);
    };
    edited("message-edited.json", "bad_payload", "a word of a message is changed", &|bundle| {
        let name = payload_of(bundle, "envelope");
        let text = bundle["payloads"][&name].as_str().unwrap().replacen("Offer", "Order", 1);
        bundle["payloads"][&name] = json!(text);
    });
    edited("entry-edited.json", "bad_hash", "an instant is changed", &|bundle| {
        bundle["entries"][3]["at"] = json!("2026-12-01T00:00:00.000Z");
    });
    edited("entry-dropped.json", "bad_number", "an entry is taken out", &|bundle| {
        bundle["entries"].as_array_mut().unwrap().remove(4);
    });
    edited("entries-swapped.json", "bad_number", "two entries change places", &|bundle| {
        bundle["entries"].as_array_mut().unwrap().swap(4, 5);
    });
    edited("tail-lost.json", "bad_head", "the last entry is missing", &|bundle| {
        bundle["entries"].as_array_mut().unwrap().pop();
    });
    edited(
        "false-parent.json",
        "bad_prev",
        "an entry names a parent it never had, and is hashed to it",
        &|bundle| {
            let entry = &mut bundle["entries"][6];
            let prev = Digest::of(b"another parent").to_string();
            let body =
                json!({ "at": entry["at"], "data": entry["data"], "n": entry["n"], "type": entry["type"] });
            let hash = Digest::of_parts(&[prev.as_bytes(), canonical(&body).as_bytes()]);
            entry["prev"] = json!(prev);
            entry["hash"] = json!(hash.to_string());
        },
    );
    edited("other-server.json", "server_untrusted", "made whole by a server that is not pinned", &|bundle| {
        bundle["keys"]["server"] = serde_json::to_value(signer(3).public()).unwrap();
    });
    edited(
        "head-signature.json",
        "bad_head_signature",
        "the head under a signature of something else",
        &|bundle| {
            let other = signed(&"room/r1".parse().unwrap(), Head::EMPTY).0;
            bundle["head"]["signature"] = serde_json::to_value(other.signature).unwrap();
        },
    );
    edited("payload-surplus.json", "extra_payload", "a payload that no entry names", &|bundle| {
        bundle["payloads"][Digest::of(b"{}").to_string()] = json!("{}");
    });
    edited("payload-lost.json", "bad_withheld", "a payload is gone and not said to be withheld", &|bundle| {
        let name = payload_of(bundle, "card_sealed");
        bundle["payloads"].as_object_mut().unwrap().remove(&name);
    });
    edited("brief-edited.json", "bad_brief", "the brief says more than the room does", &|bundle| {
        bundle["brief"]["agreement"]["terms"][1] = json!("850.00 EUR by transfer");
    });
    edited("seat-key.json", "bad_seat_keys", "another key for a seat than the chain has", &|bundle| {
        bundle["keys"]["seats"]["A"] = serde_json::to_value(signer(3).public()).unwrap();
    });
    edited("member-surplus.json", "shape", "a member that the format does not have", &|bundle| {
        bundle["note"] = json!("trust me");
    });

    // What a server could do that makes every hash and its own signatures anew.
    let mut forged = |name, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bundle = whole.clone();
        edit(&mut bundle);
        assert_ne!(bundle, whole, "{name}");
        reseal(&mut bundle);
        add(name, text(&bundle), true, Some(code), why);
    };
    forged(
        "forged-envelope-hash.json",
        "bad_envelope_hash",
        "resealed: an entry's hash is of another message",
        &|bundle| {
            let entry = entry_of(bundle, "envelope");
            entry["data"]["envelope_hash"] = json!(Digest::of(b"other").to_string());
        },
    );
    forged("forged-message.json", "bad_input", "resealed: the record is not what the seat sent", &|bundle| {
        rewrite(bundle, "envelope", &|payload| {
            payload["envelope"]["claims"][0]["text"] = json!("800 guests are confirmed");
        });
    });
    forged(
        "forged-signed-message.json",
        "bad_signature",
        "resealed: what the seat signed is changed with it",
        &|bundle| {
            rewrite(bundle, "envelope", &|payload| {
                for part in ["envelope", "input"] {
                    payload[part]["claims"][0]["text"] = json!("800 guests are confirmed");
                }
            });
        },
    );
    forged(
        "forged-ruling.json",
        "bad_answer",
        "resealed: the ruling is not the one committed to",
        &|bundle| {
            entry_of(bundle, "principal_answer")["data"]["ruling"] = json!("deny");
        },
    );
    forged(
        "forged-standing.json",
        "bad_evidence",
        "resealed: an answer's standing does not fit its evidence",
        &|bundle| {
            entry_of(bundle, "principal_answer")["data"]["standing"] = json!("confirmed");
        },
    );
    forged(
        "forged-evidence.json",
        "bad_evidence",
        "resealed: another key answers for the principal",
        &|bundle| {
            rewrite(bundle, "principal_answer", &|payload| {
                payload["proof"]["key"] = serde_json::to_value(signer(3).public()).unwrap();
            });
        },
    );
    forged("forged-card.json", "bad_card_hash", "resealed: the card is not the one sealed", &|bundle| {
        rewrite(bundle, "card_sealed", &|payload| payload["must_never"] = json!([]));
    });
    forged("forged-agreement.json", "bad_agreement", "resealed: an agreement on another offer", &|bundle| {
        entry_of(bundle, "agreement")["data"]["offer_hash"] = json!(Digest::of(b"offer").to_string());
    });
    forged("forged-review.json", "bad_review", "resealed: a challenge becomes an acceptance", &|bundle| {
        entry_of(bundle, "review")["data"]["verdict"] = json!("accept");
    });

    let mut logged = |name, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bundle = whole.clone();
        edit(&mut bundle["log"]);
        add(name, text(&bundle), true, Some(code), why);
    };
    logged("log-missing.json", "log_missing", "a log is pinned and there is no log proof", &|log| {
        *log = Value::Null
    });
    logged("log-leaf.json", "leaf_mismatch", "the leaf is of another entry", &|log| {
        log["leaf"] = json!("00")
    });
    logged("log-index.json", "index_beyond_tree", "an index beyond the tree", &|log| log["index"] = json!(9));
    logged("log-path-longer.json", "path_length", "one hash too many", &|log| {
        log["proof"].as_array_mut().unwrap().push(json!(Digest::ZERO.to_string()));
    });
    logged("log-path.json", "inclusion_failed", "a path to another root", &|log| log["index"] = json!(4));
    logged("log-of-another.json", "log_unknown", "another log's name over the same key list", &|log| {
        log["checkpoint"] =
            json!(log["checkpoint"].as_str().unwrap().replacen("log.example", "log.other", 1));
    });
    logged("log-unwitnessed.json", "witness_quorum", "the witness's line is taken out", &|log| {
        let note: String = log["checkpoint"].as_str().unwrap().split_inclusive('\n').take(5).collect();
        log["checkpoint"] = json!(note);
    });

    let twice = whole.to_string().replacen("{\"brief\":", "{\"brief\":null,\"brief\":", 1);
    assert_ne!(twice, whole.to_string());
    add(
        "duplicate-key.json",
        twice.into_bytes(),
        true,
        Some("duplicate_key"),
        "two readers could read it differently",
    );
    add(
        "unknown-kind.json",
        b"{\"type\":\"urn:example:other\"}".to_vec(),
        true,
        Some("unknown_kind"),
        "no proof of ours",
    );

    let (header, entries) = export(Rule::PrevHex, 3);
    let good = file(&header, &entries);
    add("export.jsonl", good.clone(), true, None, "a stream of three entries");
    let edited = String::from_utf8(good).unwrap().replacen("entry 2", "entry 3", 1);
    add(
        "export-edited.jsonl",
        edited.into_bytes(),
        true,
        Some("bad_hash"),
        "a word of the second entry is changed",
    );
    add(
        "export-cut.jsonl",
        file(&header, &entries[..2]),
        true,
        Some("tail_missing"),
        "the last line is missing",
    );
    let note = header.log.unwrap().checkpoint;
    add("checkpoint.txt", note.clone().into_bytes(), true, None, "a checkpoint with its witness");
    add(
        "checkpoint-unpinned.txt",
        note.clone().into_bytes(),
        false,
        Some("trust_missing"),
        "a note carries no key",
    );
    let grown = note.replacen("\n9\n", "\n10\n", 1).into_bytes();
    add("checkpoint-edited.txt", grown, true, Some("log_signature_bad"), "another size than the log signed");

    // Resealed by the server too: what a room would never have taken.
    let mut untaken = |name, code, why, edit: &dyn Fn(&mut Value)| {
        let mut bundle = whole.clone();
        edit(&mut bundle);
        assert_ne!(bundle, whole, "{name}");
        reseal(&mut bundle);
        add(name, text(&bundle), true, Some(code), why);
    };
    untaken("forged-source.json", "bad_source", "resealed: a source that is no https address", &|bundle| {
        entry_of(bundle, "source_attached")["data"]["source"]["uri"] = json!("javascript:0");
    });
    untaken(
        "forged-label.json",
        "bad_label",
        "resealed: a limit with a letter of another alphabet",
        &|bundle| {
            rewrite(bundle, "card_sealed", &|payload| payload["limits"][0]["label"] = json!("pr\u{456}ce"));
            let name = entry_of(bundle, "card_sealed")["data"]["payload"].clone();
            entry_of(bundle, "card_sealed")["data"]["card_hash"] = name;
        },
    );
    let numbered = cases.len();
    cases.extend(crate::forgeries::forgeries(&whole).into_iter().enumerate().map(|(index, forged)| Case {
        place: forged.place,
        unchecked: forged.unchecked,
        ..Case::new(numbered + index + 1, forged.name, text(&forged.bundle), true, forged.code, forged.why)
    }));
    cases
}

fn value(bundle: pxp::bundle::Bundle) -> Value {
    serde_json::from_slice(&bundle.to_vec().unwrap()).unwrap()
}

pub fn entry_of<'a>(bundle: &'a mut Value, kind: &str) -> &'a mut Value {
    bundle["entries"].as_array_mut().unwrap().iter_mut().find(|entry| entry["type"] == kind).unwrap()
}

pub fn payload_of(bundle: &mut Value, kind: &str) -> String {
    entry_of(bundle, kind)["data"]["payload"].as_str().unwrap().to_owned()
}

/// Changes the first payload of a kind, and what names it.
pub fn rewrite(bundle: &mut Value, kind: &str, edit: &dyn Fn(&mut Value)) {
    let name = payload_of(bundle, kind);
    let mut payload: Value = serde_json::from_str(bundle["payloads"][&name].as_str().unwrap()).unwrap();
    edit(&mut payload);
    let text = canonical(&payload);
    let renamed = Digest::of(text.as_bytes()).to_string();
    let payloads = bundle["payloads"].as_object_mut().unwrap();
    payloads.remove(&name);
    payloads.insert(renamed.clone(), json!(text));
    let data = &mut entry_of(bundle, kind)["data"];
    data["payload"] = json!(renamed);
    if kind == "envelope" {
        data["envelope_hash"] = json!(Digest::of(canonical(&payload["envelope"]).as_bytes()).to_string());
    }
}
