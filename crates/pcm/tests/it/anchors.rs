//! A checkpoint's post-quantum line, and its anchor in a public log.

use crate::vectors::{json, read, trust};
use pcm::bundle::{Alone, verify};
use pcm::{Error, Trust};

fn pinned(keys: &[&serde_json::Value]) -> Trust {
    Trust::parse(serde_json::json!({"logs": keys, "algs": ["ed25519"]}).to_string().as_bytes()).unwrap()
}

#[test]
fn a_pinned_post_quantum_key_must_have_signed() {
    let vector = json("slh_dsa_note.json");
    let note = vector["note"].as_str().unwrap();
    let both = pinned(&[&vector["log_vkey"], &vector["slh_vkey"]]);
    let opened = both.open(note.as_bytes()).unwrap();
    assert!(opened.hybrid);
    assert_eq!(opened.size, 13);
    let one = pinned(&[&vector["log_vkey"]]).open(note.as_bytes()).unwrap();
    assert!(!one.hybrid);
    let without: Vec<_> = note.split('\n').filter(|line| line.len() < 5000).collect();
    assert_eq!(both.open(without.join("\n").as_bytes()), Err(Error::Hybrid));
    // One symbol in the middle of the line.
    let at = note.len() - 5000;
    let other = if &note[at..=at] == "A" { "B" } else { "A" };
    let forged = format!("{}{other}{}", &note[..at], &note[at + 1..]);
    assert_eq!(both.open(forged.as_bytes()), Err(Error::Hybrid));
}

/// Every byte of the entry and of the time stamp matters: what is changed is refused, or says the same.
#[test]
fn an_anchor_that_was_changed_is_refused() {
    let files = crate::parts::files(&read("golden-v2/closed.tkb"));
    let file = |name: &str| files.iter().find(|(file, _)| file == name).unwrap().1.clone();
    let (note, entry, stamp) = (file("checkpoints/18.note"), file("rekor/18.json"), file("tsa/18.tsr"));
    let trust = trust("golden-v2/trust-rekor.json");
    let rekor = trust.rekor().unwrap();
    let whole = pcm::anchor::check(&note, &entry, &stamp, rekor, &trust).unwrap();
    assert_eq!(whole.log, "127.0.0.1:53855");
    let mut refused = 0;
    for at in (0..stamp.len()).step_by(3) {
        let mut changed = stamp.clone();
        changed[at] ^= 4;
        match pcm::anchor::check(&note, &entry, &changed, rekor, &trust) {
            Ok(same) => assert_eq!(same, whole),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > stamp.len() / 8, "{refused}");
    let proof = "/inclusionProof";
    for place in [
        "/canonicalizedBody",
        "/logId/keyId",
        &format!("{proof}/rootHash"),
        &format!("{proof}/treeSize"),
        &format!("{proof}/checkpoint/envelope"),
    ] {
        let mut changed: serde_json::Value = serde_json::from_slice(&entry).unwrap();
        let text = changed.pointer(place).unwrap().as_str().unwrap().to_owned();
        let other = if text.starts_with('9') { "8" } else { "9" };
        *changed.pointer_mut(place).unwrap() = format!("{other}{}", &text[1..]).into();
        let outcome = pcm::anchor::check(&note, changed.to_string().as_bytes(), &stamp, rekor, &trust);
        assert!(outcome.is_err(), "{place}");
    }
    assert!(pcm::anchor::check(&note, &entry, &[], rekor, &trust).is_err());
}

/// The saved entry of the public staging log: its proof, and its log's checkpoint under the saved trusted root.
#[test]
fn the_staging_entry_is_in_its_log() {
    let entry = read("rekor-staging/tle.json");
    let root = read("rekor-staging/trusted_root.json");
    let (entry, root) = (canon::parse(&entry).unwrap(), canon::parse(&root).unwrap());
    let at = pcm::instant("2026-10-09T00:00:00.000000Z").unwrap();
    assert_eq!(pcm::anchor::included(&entry, &root, at).unwrap(), "log2025-alpha3.rekor.sigstage.dev");
    let before = pcm::instant("2025-01-01T00:00:00.000000Z").unwrap();
    assert!(pcm::anchor::included(&entry, &root, before).is_err());
}

#[test]
fn an_anchor_is_told_where_it_is_pinned_alone() {
    for (trust_file, told) in [("golden-v2/trust.json", false), ("golden-v2/trust-rekor.json", true)] {
        let report = verify(&read("golden-v2/closed.tkb"), &trust(trust_file), &Alone);
        assert_eq!(report.checks.iter().any(|check| check.check == "rekor anchor"), told);
    }
}
