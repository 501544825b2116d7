//! Checkpoints, witnesses, keys, records, proofs, openings.

use super::envelope::fetched;
use super::{Book, bent, claim, edited, respelled, sealed, signer};
use env::Duration;
use keys::Signer;
use pcm::message::Sender;
use pcm::message::sample::{Custody, Order, rid};
use serde_json::{Value, json};

pub fn book() -> Book {
    let mut book = Book::new("evidence");
    checkpoints(&mut book);
    keys(&mut book);
    records(&mut book);
    openings(&mut book);
    super::certificates::certificates(&mut book);
    book
}

fn checkpoints(book: &mut Book) {
    let (mut stage, order, message) = fetched(20);
    book.add(
        "unknown-log",
        "a log this receiver does not pin",
        message.clone(),
        &stage,
        "reject unknown_log",
    )
    .trusting(|t| t["evidence"]["logs"] = json!([super::stage(21).vkey().unwrap().to_string()]));
    let other = super::stage(21).note().unwrap().to_string();
    let mixed = edited(&mut stage, &order, |m| m["evidence"]["checkpoint"] = json!(other));
    book.add(
        "mixed-checkpoint",
        "the checkpoint of another pinned log",
        mixed,
        &stage,
        "reject bad_checkpoint",
    )
    .trusting(|t| {
        t["evidence"]["logs"]
            .as_array_mut()
            .unwrap()
            .push(json!(super::stage(21).vkey().unwrap().to_string()))
    });
    let mut note = |name, about, edit: &dyn Fn(&str) -> String| {
        let bent = edited(&mut stage, &order, |m| {
            m["evidence"]["checkpoint"] = json!(edit(m["evidence"]["checkpoint"].as_str().unwrap()));
        });
        book.add(name, about, bent, &stage, "reject bad_checkpoint");
    };
    note("checkpoint-size", "another size under the log's signature", &|note| {
        note.replacen("\n4\n", "\n5\n", 1)
    });
    note("checkpoint-zero", "a size with a leading zero", &|note| note.replacen("\n4\n", "\n04\n", 1));
    note("checkpoint-unsigned", "no signature line", &|note| {
        note.split("\n\n").next().unwrap().to_owned() + "\n\n"
    });
    note("checkpoint-twice", "the log's line twice", &|note| {
        let line = note.lines().last().unwrap();
        format!("{note}{line}\n")
    });
    note("checkpoint-extended", "a line more in the body", &|note| {
        note.replacen("\n\n", "\nextension\n\n", 1)
    });

    let witness = pcm_witness();
    let at = stage.now();
    let mut cosigned = stage.note().unwrap();
    let line = cosigned.cosign("witness.example".parse().unwrap(), signer(5), at).unwrap();
    cosigned.append(&line).unwrap();
    let draft = stage.draft(&order, &cosigned).unwrap();
    let seconded = stage.seal(&draft).unwrap();
    let needs = |t: &mut Value| {
        t["evidence"]["witnesses"] = json!([{"vkey": witness, "class": "public"}]);
        t["evidence"]["witnesses_required"] = json!(1);
    };
    book.add(
        "no-witness",
        "a witness is required and none cosigned",
        message.clone(),
        &stage,
        "reject witness_quorum",
    )
    .trusting(needs);
    book.add("witnessed", "the required witness cosigned", seconded.clone(), &stage, "accept c:proven")
        .trusting(needs);
    book.add(
        "operator-witness",
        "the witness is the operator's own, and only public ones count",
        seconded.clone(),
        &stage,
        "reject witness_quorum",
    )
    .trusting(|t| {
        needs(t);
        t["evidence"]["witnesses"][0]["class"] = json!("operator");
        t["witness_classes"] = json!(["public"]);
    });
    book.add(
        "false-witness",
        "a pinned witness's line over another time",
        edited_line(&seconded, &mut stage),
        &stage,
        "reject bad_checkpoint",
    )
    .trusting(needs);
    let aged = |t: &mut Value| {
        needs(t);
        t["max_checkpoint_age_s"] = json!(60);
    };
    book.add(
        "fresh-checkpoint",
        "seen by the witness a minute ago",
        seconded.clone(),
        &stage,
        "accept c:proven",
    )
    .trusting(aged)
    .at(at + Duration::from_secs(59));
    book.add(
        "stale-checkpoint",
        "seen by the witness over a minute ago",
        seconded.clone(),
        &stage,
        "reject stale_checkpoint",
    )
    .trusting(aged)
    .at(at + Duration::from_secs(62));
    book.add(
        "unseen-checkpoint",
        "freshness needs a witness's clock",
        message,
        &stage,
        "reject stale_checkpoint",
    )
    .trusting(|t| t["max_checkpoint_age_s"] = json!(60));
}

fn pcm_witness() -> String {
    let keys::PublicKey::Ed25519(key) = signer(5).public() else { panic!("an Ed25519 key") };
    ledger::note::VerifierKey::new("witness.example".parse().unwrap(), ledger::note::KeyType::Witness, key)
        .to_string()
}

/// A character of the witness's line is changed; the sender signs again.
fn edited_line(message: &[u8], stage: &mut pcm::message::sample::Stage<'_>) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(message).unwrap();
    let note = value["evidence"]["checkpoint"].as_str().unwrap().to_owned();
    let (head, line) = note.trim_end().rsplit_once('\n').unwrap();
    let (name, blob) = line.rsplit_once(' ').unwrap();
    let other = if &blob[40..41] == "A" { "B" } else { "A" };
    let turned = format!("{}{other}{}", &blob[..40], &blob[41..]);
    value["evidence"]["checkpoint"] = json!(format!("{head}\n{name} {turned}\n"));
    let members = value.as_object_mut().unwrap();
    for member in ["alg", "kid", "sig"] {
        members.remove(member);
    }
    stage.seal(&canon::parse(value.to_string().as_bytes()).unwrap()).unwrap()
}

fn keys(book: &mut Book) {
    let (mut stage, order, message) = fetched(22);
    book.add("algorithms", "a receiver that takes no Ed25519", message, &stage, "reject alg_not_allowed")
        .trusting(|t| t["evidence"]["algs"] = json!(["ml-dsa-65"]));
    let proofless =
        edited(&mut stage, &order, |m| m["evidence"]["keys_proof"] = m["evidence"]["proof"].clone());
    book.add(
        "key-not-included",
        "a key record that is not in the tree",
        proofless,
        &stage,
        "reject not_included",
    );
    let short = edited(&mut stage, &order, |m| m["evidence"]["keys_proof"] = json!(""));
    book.add("key-proof-short", "a proof of another length", short, &stage, "reject not_included");
    let beside = stage.beside(&[1]).unwrap();
    let not_a_key = edited(&mut stage, &order, |m| {
        m["evidence"]["keys"][0] = m["evidence"]["records"]["r1"].clone();
        m["evidence"]["keys_proof"] = json!(beside);
    });
    book.add(
        "no-key-record",
        "another record in the place of the first key's",
        not_a_key,
        &stage,
        "reject unknown_key",
    );
    let edited_key = edited(&mut stage, &order, |m| {
        m["evidence"]["keys"][0]["hash"] = json!(canon::Digest::ZERO.prefixed());
    });
    book.add(
        "key-record-edited",
        "the first key record under another hash",
        edited_key,
        &stage,
        "reject record_hash",
    );
    let draft = stage.draft(&order, &stage.note().unwrap()).unwrap();
    let bytes = spelled_out(&draft, &stage.sender(), 2);
    let by_log = {
        let log = signer(1);
        let hash = canon::Digest::of(&bytes);
        let kid = log.public().spki_kid().to_string();
        let statement = canon::to_vec(
            &json!({"t": pcm::message::TAG, "alg": "ed25519", "kid": kid, "hash": hash.prefixed()}),
        )
        .unwrap();
        let sig = log.sign(&statement).unwrap().base64();
        bent(&bytes, |m| {
            m["alg"] = json!("ed25519");
            m["kid"] = json!(kid);
            m["sig"] = json!(sig);
        })
    };
    book.add(
        "log-key",
        "signed by the log's key, which is no record key",
        by_log,
        &stage,
        "reject unknown_key",
    );

    let old = draft_by(&mut stage, &order);
    stage.rotate(signer(3)).unwrap();
    let rotated = sealed(&mut stage, &order);
    book.add(
        "rotated",
        "the next key signs, the old one's records stay good",
        rotated.clone(),
        &stage,
        "accept c:proven",
    );
    let retired = {
        let draft = stage.draft(&order, &stage.note().unwrap()).unwrap();
        let whole = spelled_out(&draft, &stage.sender(), 3);
        let old_stage = super::stage(22);
        old_stage.seal(&canon::parse(&whole).unwrap()).unwrap()
    };
    book.add(
        "key-retired",
        "signed by a key that was retired before the checkpoint",
        retired,
        &stage,
        "reject key_retired",
    );
    book.add(
        "withheld-retirement",
        "shown as of an older checkpoint, the old key is still good",
        old,
        &stage,
        "accept c:proven",
    );
    let unordered = edited(&mut stage, &order, |m| m["evidence"]["keys"].as_array_mut().unwrap().reverse());
    book.add("keys-unordered", "key records out of their order", unordered, &stage, "reject unknown_key");
    let beside = stage.beside(&[0]).unwrap();
    let early = edited(&mut stage, &order, |m| {
        m["evidence"]["keys"].as_array_mut().unwrap().truncate(1);
        m["evidence"]["keys"][0]["kid"] = json!(signer(2).public().spki_kid().to_string());
        m["evidence"]["keys_proof"] = json!(beside);
    });
    book.add(
        "key-not-shown",
        "the epoch of the signing key is not shown",
        early,
        &stage,
        "reject unknown_key",
    );
}

fn draft_by(stage: &mut pcm::message::sample::Stage<'_>, order: &Order<'_>) -> Vec<u8> {
    sealed(stage, order)
}

/// A proof with its first hash once more at the end.
fn two(proof: &str) -> String {
    use base64::Engine as _;
    let base = base64::engine::general_purpose::STANDARD;
    let mut bytes = base.decode(proof).unwrap();
    bytes.extend_from_within(..32);
    base.encode(bytes)
}

/// Every record with the members it may leave out; those without a kid are signed by the key of that seed.
fn spelled_out(message: &canon::Value<'_>, from: &Sender, key: u8) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&canon::to_vec(message).unwrap()).unwrap();
    let evidence = value["evidence"].as_object_mut().unwrap();
    let mut keys = evidence.remove("keys").unwrap();
    let mut records = evidence.remove("records").unwrap();
    let all = keys.as_array_mut().unwrap().iter_mut().chain(records.as_object_mut().unwrap().values_mut());
    for record in all {
        let kid = json!(signer(key).public().spki_kid().to_string());
        let own = [("v", json!(2)), ("alg", json!("ed25519")), ("kid", kid)];
        let event = [
            ("schema_version", json!("tracekit.event.v2")),
            ("log_id", json!(from.log_id)),
            ("tenant", json!(from.tenant)),
            ("run_id", json!(from.run_id)),
        ];
        for (part, members) in [("", own.as_slice()), ("/event", event.as_slice())] {
            let part = record.pointer_mut(part).unwrap().as_object_mut().unwrap();
            for (name, member) in members {
                part.entry(*name).or_insert(member.clone());
            }
        }
        let event = canon::canonicalize(record["event"].to_string().as_bytes()).unwrap();
        record["hash"] = json!(canon::Digest::of(&event).prefixed());
    }
    value["evidence"]["keys"] = keys;
    value["evidence"]["records"] = records;
    canon::canonicalize(value.to_string().as_bytes()).unwrap()
}

fn records(book: &mut Book) {
    let (mut stage, order, _) = fetched(23);
    let mut bad = |name, about, edit: &dyn Fn(&mut Value), expected| {
        let bent = edited(&mut stage, &order, |m| edit(&mut m["evidence"]["records"]));
        book.add(name, about, bent, &stage, expected);
    };
    bad(
        "record-edited",
        "the result says that it failed",
        &|r| r["r3"]["event"]["data"]["ok"] = json!(false),
        "reject record_signature",
    );
    bad(
        "record-hash",
        "a hash that is not the event's",
        &|r| r["r3"]["hash"] = json!(canon::Digest::ZERO.prefixed()),
        "reject record_hash",
    );
    bad("record-version", "a record of version 3", &|r| r["r3"]["v"] = json!(3), "reject bad_schema");
    bad(
        "record-of-nobody",
        "an event that is no object",
        &|r| r["r3"]["event"] = json!("decided"),
        "reject bad_schema",
    );
    bad(
        "record-schema",
        "a member no event has",
        &|r| r["r3"]["event"]["data"]["x"] = json!(1),
        "reject bad_schema",
    );
    bad("record-members", "a record has six members", &|r| r["r3"]["note"] = json!("x"), "reject bad_schema");
    bad(
        "record-signature",
        "the signature of another record",
        &|r| r["r3"]["sig"] = r["r2"]["sig"].clone(),
        "reject record_signature",
    );
    bad(
        "record-signature-form",
        "a signature that is too short",
        &|r| r["r3"]["sig"] = json!("AAAA"),
        "reject bad_encoding",
    );
    bad(
        "record-key",
        "a key the log never declared",
        &|r| r["r3"]["kid"] = json!(format!("sha256:{}", "0".repeat(64))),
        "reject unknown_key",
    );
    bad(
        "record-algorithm",
        "another algorithm",
        &|r| r["r3"]["alg"] = json!("ecdsa"),
        "reject alg_not_allowed",
    );
    bad(
        "unused-record",
        "a record under a second name, and nothing rests on it",
        &|r| r["spare"] = r["r3"].clone(),
        "reject unused_evidence",
    );

    let mut lone = |name, about, edit: &dyn Fn(&str) -> String, expected| {
        let bent = edited(&mut stage, &order, |m| {
            let proof = m["evidence"]["proof"].as_str().unwrap().to_owned();
            m["evidence"]["proof"] = json!(edit(&proof));
        });
        book.add(name, about, bent, &stage, expected);
    };
    let hash = "A".repeat(43) + "=";
    lone("proof-other", "another hash", &|_| hash.clone(), "reject not_included");
    lone("proof-missing", "no hash", &|_| String::new(), "reject not_included");
    lone("proof-twice", "a hash too many", &|p| two(p), "reject not_included");
    lone("proof-not-base64", "base64 with bits to spare", &|p| p.replace('=', ""), "reject bad_encoding");
    lone("proof-cut", "31 bytes", &|_| "A".repeat(42) + "==", "reject bad_encoding");
    lone("proof-spelled", "no base64 at all", &|_| "-".to_owned(), "reject bad_schema");
    let whole = spelled_out(&stage.draft(&order, &stage.note().unwrap()).unwrap(), &stage.sender(), 2);
    let whole = stage.seal(&canon::parse(&whole).unwrap()).unwrap();
    book.add("spelled-out", "records that leave nothing out", whole, &stage, "accept c:proven");
    let twice = edited(&mut stage, &order, |m| {
        m["evidence"]["records"]["again"] = m["evidence"]["records"]["r3"].clone();
        m["claims"][0]["evidence"].as_array_mut().unwrap().push(json!("again"));
    });
    book.add("record-twice", "one record under two names", twice, &stage, "accept c:proven");

    let fraction = respelled(&sealed(&mut stage, &order), r#""seq":3,"#, r#""seq":3.0,"#);
    book.add(
        "record-fraction",
        "seq is written 3.0, under the same hash",
        fraction,
        &stage,
        "reject bad_schema",
    );
    let (other, _, foreign) = fetched(24);
    let mut foreign: Value = serde_json::from_slice(&foreign).unwrap();
    foreign["evidence"]["records"]["r3"]["event"]["log_id"] = json!(other.sender().log_id);
    foreign["evidence"]["records"]["r3"]["event"]["run_id"] = json!(other.sender().run_id);
    let spliced = edited(&mut stage, &order, |m| {
        m["evidence"]["records"]["r3"] = foreign["evidence"]["records"]["r3"].clone()
    });
    book.add(
        "record-of-another-log",
        "a true record of another log of the same signer",
        spliced,
        &stage,
        "reject wrong_log",
    );
    drop(other);
    let private = stage.say_for("rival", "their-run", "ext", r#"{"name":"note"}"#).unwrap();
    let mut borrowed = order.clone();
    borrowed.claims[0].3.push(private);
    let borrowed = sealed(&mut stage, &borrowed);
    book.add(
        "another-tenant",
        "a record of another tenant of the log",
        borrowed,
        &stage,
        "reject wrong_tenant",
    );
}

fn openings(book: &mut Book) {
    let (mut stage, order, _) = fetched(25);
    let mut bad = |name, about, edit: &dyn Fn(&mut Value), expected| {
        let bent = edited(&mut stage, &order, |m| edit(&mut m["evidence"]["openings"]));
        book.add(name, about, bent, &stage, expected);
    };
    let no = "reject bad_opening";
    bad(
        "opening-value",
        "other arguments than were committed to",
        &|o| o["r2"]["args"]["url"] = json!("https://evil.example/"),
        no,
    );
    bad("opening-salt", "another salt", &|o| o["r2"]["salt"] = json!("0".repeat(64)), no);
    bad(
        "opening-salt-of-other",
        "the salt of another record",
        &|o| o["r2"]["salt"] = o["r3"]["salt"].clone(),
        no,
    );
    bad(
        "opening-content",
        "another content than was committed to",
        &|o| o["r3"]["content"]["result"]["status"] = json!(201),
        no,
    );
    bad(
        "opening-kind",
        "a content opened as arguments",
        &|o| {
            let content = o["r3"]["content"].clone();
            o["r3"] = json!({"salt": o["r3"]["salt"], "args": content});
        },
        no,
    );
    bad(
        "opening-of-uncommitted",
        "a record that commits to nothing",
        &|o| o["r1"] = json!({"salt": "0".repeat(64), "args": {}}),
        no,
    );
    bad(
        "salt-upper-case",
        "a salt in capitals",
        &|o| o["r2"]["salt"] = json!("A".repeat(64)),
        "reject bad_schema",
    );
    let fraction = respelled(&sealed(&mut stage, &order), r#""status":200"#, r#""status":200.0"#);
    book.add(
        "opening-number",
        "a number of an opening, spelled 200.0, of which nothing is said",
        fraction,
        &stage,
        "accept c:proven",
    );
    let half = Order { closed: vec![3], ..order.clone() };
    let half = sealed(&mut stage, &half);
    book.add(
        "half-open",
        "arguments opened, result not, and nothing said of the result",
        half,
        &stage,
        "accept c:proven",
    );
    let shut = Order { closed: vec![2, 3], ..order.clone() };
    let shut = sealed(&mut stage, &shut);
    book.add("not-opened", "nothing opened", shut, &stage, "accept_unproven not_opened c:not_opened");
    let (d, r) = stage
        .call(
            Custody::Executor,
            "http_get",
            r#"{"url":"https://api.example.com/orders/81"}"#,
            "{\"result\":{}}",
        )
        .unwrap();
    let again = claim("tool_called", json!({"tool": "http_get", "args": {}}), &[d, r]);
    let swapped = edited(&mut stage, &again, |m| {
        let salt = json!("1".repeat(64));
        m["evidence"]["openings"][rid(d)]["salt"] = salt;
    });
    book.add("salts-differ", "the same arguments in another call have another salt", swapped, &stage, no);
    let _ = stage;
}
