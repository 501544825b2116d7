use super::{countersign, err, out, run};
use std::path::{Path, PathBuf};

/// Plays the demo to its end; gives what it printed and the folder where it kept the proof.
fn play(folder: &Path) -> (String, PathBuf) {
    let output = countersign(folder, &["demo", "--exit", "--listen", "127.0.0.1:0"])
        .env("TMPDIR", folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let printed = out(&output);
    let kept = printed.lines().find_map(|line| line.strip_prefix("kept: ")).unwrap().into();
    (printed, kept)
}

#[test]
fn a_room_is_played_and_its_proof_holds_against_tampering() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, kept) = play(folder.path());
    for step in ["cards", "claims", "challenge", "escalation", "answer", "agreement", "DECISION BRIEF"] {
        assert!(printed.contains(step), "no {step} in {printed}");
    }
    assert!(printed.contains("valid: every check passed, by keys you trust"), "{printed}");

    let bundle = kept.join("room.bundle.json");
    let trust = kept.join("trust.json");
    let verify = |file: &Path| {
        let output =
            run(&kept, &["verify", file.to_str().unwrap(), "--trust", trust.to_str().unwrap(), "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), report)
    };
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
