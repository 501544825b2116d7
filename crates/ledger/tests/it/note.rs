use canon::Digest;
use env::Timestamp;
use keys::{Algorithm, SoftwareSigner};
use ledger::Coded;
use ledger::note::{Checkpoint, KeyType, Note, Pins, VerifierKey};

const VECTOR: &str = include_str!("../../../../vectors/ledger/c2sp_checkpoint.json");

/// The published checkpoint, with a log key and a witness pinned. Its hybrid lines are of keys nobody pinned.
#[test]
fn published_checkpoint() {
    let vector: serde_json::Value = serde_json::from_str(VECTOR).unwrap();
    let text = |name: &str| vector[name].as_str().unwrap().to_owned();
    let log: VerifierKey = text("log_vkey").parse().unwrap();
    let witness: VerifierKey = text("wit_vkey").parse().unwrap();
    assert_eq!((log.kind(), witness.kind()), (KeyType::Log, KeyType::Witness));
    assert_eq!((log.to_string(), witness.to_string()), (text("log_vkey"), text("wit_vkey")));

    let pins = Pins::new(vec![log], vec![witness], 1).unwrap();
    for member in ["note", "hybrid"] {
        let note = Note::parse(text(member).as_bytes()).unwrap();
        assert_eq!(note.to_string(), text(member));
        let signed = note.verify(&pins).unwrap();
        assert_eq!(signed.checkpoint().text(), text("text"));
        assert_eq!(signed.checkpoint().size, 13);
        let [seen] = signed.cosignatures() else { panic!("one witness") };
        assert_eq!(seen.witness.as_str(), "witness.example.org/w1");
        assert_eq!(seen.at, Timestamp::from_secs(0x68e7_7800));
    }

    // The vector's log key is made of SHA-256("log"): the same seed gives the same line.
    let again = Note::sign(
        Note::parse(text("note").as_bytes()).unwrap().unverified().clone(),
        &signer(*Digest::of(b"log").as_bytes()),
    )
    .unwrap();
    assert!(text("note").starts_with(&again.to_string()));
    let line = again
        .cosign(
            "witness.example.org/w1".parse().unwrap(),
            &signer(*Digest::of(b"witness").as_bytes()),
            Timestamp::from_secs(0x68e7_7800),
        )
        .unwrap();
    assert_eq!(format!("{again}{line}\n"), text("note"));
}

#[test]
fn malformed_notes() {
    let good = note("a.example").to_string();
    let (text, line) = good.split_once("\n\n").unwrap();
    let check = |note: String, expected: &str| {
        let code = Note::parse(note.as_bytes()).map_err(|error| error.code());
        assert_eq!(code.err().unwrap_or("ok"), expected, "{note:?}");
    };
    let body = |text: &str| format!("{text}\n\n{line}");
    check(good.clone(), "ok");
    check(String::new(), "note_form");
    check(text.to_owned(), "note_form");
    check(format!("{text}\n\n"), "note_form");
    check(format!("{text}\n\n\n"), "note_form");
    check(good.trim_end().to_owned(), "note_form");
    check(good.replace('\n', "\r\n"), "note_form");
    check(format!("{good}{}", "x".repeat(1 << 20)), "note_too_long");
    check(format!("{good}\n{line}"), "checkpoint_form");
    check(body(&format!("{text}\nextension")), "checkpoint_form");
    check(body(&text.replacen("a.example", "a example", 1)), "checkpoint_form");
    check(body(&text.replacen("a.example", "", 1)), "checkpoint_form");
    for size in ["08", "+8", "-8", "", " 8", "8.0", "18446744073709551616", "000000000000000000008"] {
        check(body(&text.replacen("\n8\n", &format!("\n{size}\n"), 1)), "checkpoint_form");
    }
    check(body(&text.replacen("\n8\n", "\n18446744073709551615\n", 1)), "ok");
    check(body(&text.replacen("=", "", 1)), "checkpoint_form");
    check(body("a.example\n8\nAAAA"), "checkpoint_form");
    // The last digit before the padding has two bits that must be zero.
    check(body(&format!("a.example\n8\n{}B=", "A".repeat(42))), "checkpoint_form");
    check(body(&format!("a.example\n8\n{}A=", "A".repeat(42))), "ok");
    for bad in [
        "a.example AAAAAAA=",
        "- a.example AAAAAAA=",
        "— a.example",
        "— a.example AAAAAA==",
        "— a.example AAAAAAA",
        "— a.example AAAAAAB=",
        "— a+b AAAAAAA=",
        "—  AAAAAAA=",
        "— a.example AAAAAAA= x",
        "— a.example ????",
    ] {
        check(format!("{good}{bad}\n"), "note_signature_line");
    }
    let other = "— b.example AAAAAAA=\n";
    check(format!("{good}{}", other.repeat(63)), "ok");
    check(format!("{good}{}", other.repeat(64)), "note_too_many_signatures");
    assert_eq!(Note::parse(b"\xff\n\n\n").unwrap_err().code(), "note_form");
}

#[test]
fn malformed_vkeys() {
    let good = key("a.example", KeyType::Log, 1).to_string();
    let check = |vkey: &str, expected: &str| {
        let code = vkey.parse::<VerifierKey>().map_err(|error| error.code());
        assert_eq!(code.err().unwrap_or("ok"), expected, "{vkey}");
    };
    check(&good, "ok");
    check(&good.replacen("a.", "b.", 1), "vkey_form");
    check(&good.replacen('+', "", 1), "vkey_form");
    check(&good.to_uppercase(), "vkey_form");
    check(&format!("{good}="), "vkey_form");
    check(&format!(" {good}"), "key_name");
    check("a.example+00000000+", "vkey_form");
    check("a.example+00000000+AQ==", "vkey_form");
    check("a.example+00000000+AgAA", "key_type_unsupported");
    check("a.example+00000000+/wAA", "key_type_unsupported");
    // The neutral element, of small order.
    let weak = format!("a.example+00000000+AQEA{}=", "A".repeat(40));
    check(&weak, "vkey_form");
}

/// What a verifier refuses, and what it passes over.
#[test]
fn verification() {
    let (log, other) = (key("a.example", KeyType::Log, 1), key("b.example", KeyType::Log, 2));
    let (w1, w2) = (key("w1", KeyType::Witness, 11), key("w2", KeyType::Witness, 12));
    let good = note("a.example");
    let line = |name: &str, seed, at| {
        good.cosign(name.parse().unwrap(), &signer([seed; 32]), Timestamp::from_secs(at)).unwrap()
    };
    let (l1, l2) = (line("w1", 11, 1_000), line("w2", 12, 2_000));
    let check = |note: &str, logs: &[&VerifierKey], required: usize, expected: &str| {
        let logs = logs.iter().map(|&key| key.clone()).collect();
        let pins = Pins::new(logs, vec![w1.clone(), w2.clone()], required).unwrap();
        let outcome = Note::parse(note.as_bytes()).unwrap().verify(&pins);
        assert_eq!(outcome.map_or_else(|error| error.code(), |_| "ok"), expected, "{note}");
    };
    let with =
        |lines: &[&str]| format!("{good}{}", lines.iter().map(|l| format!("{l}\n")).collect::<String>());
    let own = good.to_string().lines().last().unwrap().to_owned();

    check(&with(&[]), &[&log], 0, "ok");
    check(&with(&[]), &[&log, &other], 0, "ok");
    check(&with(&[]), &[], 0, "log_unknown");
    check(&with(&[]), &[&other], 0, "log_unknown");
    check(&with(&[&own]), &[&log], 0, "signed_twice");
    check(&with(&[&l1]), &[&log], 1, "ok");
    check(&with(&[&l1]), &[&log], 2, "witness_quorum");
    check(&with(&[&l1, &l2]), &[&log], 2, "ok");
    check(&with(&[&l1, &l1]), &[&log], 1, "signed_twice");
    check(&with(&[&line("w1", 12, 1_000)]), &[&log], 0, "ok");
    check(&with(&[&line("w3", 13, 1_000)]), &[&log], 1, "witness_quorum");

    // Another log's checkpoint under this log's name, or the reverse: the origin is inside what is signed.
    let renamed = good.to_string().replacen("a.example", "b.example", 1);
    check(&renamed, &[&log, &other], 0, "log_signature_bad");
    check(&renamed, &[&other], 0, "log_unsigned");
    check(&with(&[]).replacen("\n8\n", "\n9\n", 1), &[&log], 0, "log_signature_bad");
    check(&with(&[]).replacen("\n8\n", "\n9\n", 1), &[&log, &other], 0, "log_signature_bad");

    // A witness that signed another text, another time, or in the log's own form.
    let grown = Note::sign(checkpoint("a.example", 9), &signer([1; 32])).unwrap();
    check(&format!("{grown}{l1}\n"), &[&log], 0, "cosignature_bad");
    let retimed = {
        use base64::Engine as _;
        let engine = base64::engine::general_purpose::STANDARD;
        let mut bytes = engine.decode(l1.rsplit_once(' ').unwrap().1).unwrap();
        bytes[11] ^= 1;
        format!("— w1 {}", engine.encode(bytes))
    };
    check(&with(&[&retimed]), &[&log], 0, "cosignature_bad");

    let mut appended = good.clone();
    appended.append(&format!("{l1}\n")).unwrap();
    assert_eq!(appended.to_string(), with(&[&l1]));
    assert_eq!(appended.append("w2").unwrap_err().code(), "note_signature_line");
}

#[test]
fn pins() {
    let log = |seed| key("a.example", KeyType::Log, seed);
    let witness = |name: &str, seed| key(name, KeyType::Witness, seed);
    let check = |logs: Vec<VerifierKey>, witnesses: Vec<VerifierKey>, required, expected: &str| {
        let outcome = Pins::new(logs, witnesses, required);
        assert_eq!(outcome.map_or_else(|error| error.code(), |_| "ok"), expected);
    };
    check(vec![log(1), log(2)], vec![witness("w1", 1)], 1, "ok");
    check(vec![log(1), log(1)], vec![], 0, "key_pinned_twice");
    check(vec![log(1)], vec![witness("w1", 1), witness("w1", 1)], 0, "key_pinned_twice");
    // One key under two names would be two witnesses.
    check(vec![log(1)], vec![witness("w1", 1), witness("w2", 1)], 2, "key_pinned_twice");
    // Two keys of one name are one witness.
    check(vec![log(1)], vec![witness("w1", 1), witness("w1", 2)], 2, "quorum_beyond_pins");
    check(vec![witness("w1", 1)], vec![], 0, "vkey_form");
    check(vec![], vec![log(1)], 0, "vkey_form");
}

fn signer(seed: [u8; 32]) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &seed).unwrap()
}

fn key(name: &str, kind: KeyType, seed: u8) -> VerifierKey {
    match keys::Signer::public(&signer([seed; 32])) {
        keys::PublicKey::Ed25519(public) => VerifierKey::new(name.parse().unwrap(), kind, public),
        keys::PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

fn checkpoint(origin: &str, size: u64) -> Checkpoint {
    Checkpoint { origin: origin.parse().unwrap(), size, root: Digest::of(b"root") }
}

fn note(origin: &str) -> Note {
    Note::sign(checkpoint(origin, 8), &signer([1; 32])).unwrap()
}
