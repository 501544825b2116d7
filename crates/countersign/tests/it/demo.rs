use super::{countersign, err, out, run};
use std::path::{Path, PathBuf};

/// Plays the demo to its end; gives what it printed and the folder where it kept the proof.
fn play(folder: &Path, part: &str) -> (String, PathBuf) {
    let recorded = folder.join("recorded.json");
    let record = ["--record", recorded.to_str().unwrap()];
    let output =
        countersign(folder, &[&["demo", part, "--exit", "--listen", "127.0.0.1:0"], &record[..]].concat())
            .env("TMPDIR", folder)
            .output()
            .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let printed = out(&output);
    let kept = printed.lines().find_map(|line| line.strip_prefix("kept: ")).unwrap().into();
    (printed, kept)
}

fn verify(folder: &Path, file: &Path, trust: &Path) -> (Option<i32>, serde_json::Value) {
    let output =
        run(folder, &["verify", file.to_str().unwrap(), "--trust", trust.to_str().unwrap(), "--json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_mandate_is_played_and_its_receipts_hold_against_tampering() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, kept) = play(folder.path(), "mandate");
    for step in [
        "allow",
        "HTTP 402",
        "the CFO reads: Release 18 USDM",
        "frivolous",
        "legitimate",
        "INTERRUPT_BUDGET_EXHAUSTED",
    ] {
        assert!(printed.contains(step), "no {step} in {printed}");
    }
    assert!(printed.contains("bonds back 2, captured 1 (5 ADA in the sink); 123.58 USDM left"), "{printed}");
    crate::fixtures::still_have_their_shape(&folder.path().join("recorded.json"));
    let job = kept.join("job.json");
    let output = run(folder.path(), &["verify", job.to_str().unwrap(), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), report["kind"].as_str()), (Some(0), Some("masumi_job")), "{report}");
    let trust = kept.join("trust.json");
    for name in ["allowed", "approved", "declined", "denied"] {
        let file = kept.join(format!("receipt-{name}.json"));
        let (status, report) = verify(&kept, &file, &trust);
        assert_eq!((status, report["pinned"].as_bool()), (Some(0), Some(true)), "{name}: {report}");
    }
    let whole = std::fs::read_to_string(kept.join("receipt-approved.json")).unwrap();
    let forged = kept.join("forged.json");
    for (from, to) in [
        ("\"value\":\"18000000\"", "\"value\":\"81000000\""),
        ("\"outcome\":\"ESCALATE\"", "\"outcome\":\"ALLOW\""),
        ("Amazon Web Services", "Amazon Web Servlces"),
        ("\"result\":\"VERIFIED\"", "\"result\":\"MISMATCH\""),
        ("\"requires_principal\":true", "\"requires_principal\":false"),
    ] {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&forged, whole.replacen(from, to, 1)).unwrap();
        let (status, report) = verify(&kept, &forged, &trust);
        assert_eq!((status, report["verdict"].as_str()), (Some(1), Some("refused")), "{from}: {report}");
        assert!(report["code"].is_string() && report["place"].is_string(), "{report}");
    }
}

#[test]
fn a_room_is_played_and_its_proof_holds_against_tampering() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, kept) = play(folder.path(), "room");
    for step in ["cards", "claims", "challenge", "escalation", "answer", "agreement", "DECISION BRIEF"] {
        assert!(printed.contains(step), "no {step} in {printed}");
    }
    assert!(printed.contains("valid: every check passed, by keys you trust"), "{printed}");

    let bundle = kept.join("room.bundle.json");
    let trust = kept.join("trust.json");
    let verify = |file: &Path| verify(&kept, file, &trust);
    let (status, report) = verify(&bundle);
    assert_eq!(
        (status, report["verdict"].as_str(), report["pinned"].as_bool()),
        (Some(0), Some("valid"), Some(true))
    );

    let whole = std::fs::read_to_string(&bundle).unwrap();
    let forged = kept.join("forged.json");
    for (from, to) in [
        ("950 EUR by bank transfer", "550 EUR by bank transfer"),
        ("Hall hire for 4 May 2027", "Hall hire for 5 May 2027"),
        ("\"outcome\":\"agreed\"", "\"outcome\":\"stalled\""),
    ] {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&forged, whole.replacen(from, to, 1)).unwrap();
        let (status, report) = verify(&forged);
        assert_eq!((status, report["verdict"].as_str()), (Some(1), Some("refused")), "{from}: {report}");
        assert!(report["code"].is_string() && report["place"].is_string(), "{report}");
    }
    std::fs::write(&forged, "no proof").unwrap();
    let (status, report) = verify(&forged);
    assert_eq!((status, report["verdict"].as_str()), (Some(2), Some("unusable")));
}
