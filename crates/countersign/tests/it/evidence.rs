//! Evidence at the command line: a sample is written, verified and opened; what was changed is refused.

use crate::{err, out, run};

fn status(folder: &std::path::Path, arguments: &[&str]) -> Option<i32> {
    run(folder, arguments).status.code()
}

#[test]
fn a_sample_is_written_verified_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let written = run(here, &["evidence", "sample", ".", "--rotate"]);
    assert!(written.status.success(), "{}", err(&written));
    let verify = ["verify", "bundle.tkb", "--trust", "trust.json"];
    let shown = run(here, &verify);
    assert_eq!(shown.status.code(), Some(0), "{}", out(&shown));
    assert!(out(&shown).contains("Integrity: VERIFIED.\n"), "{}", out(&shown));
    // Another key took over, and no set of runs shows that no retirement is withheld.
    assert_eq!(status(here, &[&verify[..], &["--strict"]].concat()), Some(3));
    assert_eq!(status(here, &["verify", "bundle.tkb"]), Some(2));

    let report = run(here, &[&verify[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&out(&report)).unwrap();
    assert_eq!([&report["integrity"], &report["verdict"]], ["VERIFIED", "valid"]);
    assert_eq!(report["first_failure"], serde_json::Value::Null);

    let open = ["evidence", "open", "bundle.tkb", "openings.json", "--trust", "trust.json"];
    let opened = run(here, &open);
    assert!(opened.status.success(), "{}", err(&opened));
    assert_eq!(out(&opened).lines().filter(|line| line.ends_with(" opens")).count(), 9);
    let openings = std::fs::read_to_string(here.join("openings.json")).unwrap();
    std::fs::write(here.join("openings.json"), openings.replacen("12000", "12001", 1)).unwrap();
    assert_eq!(status(here, &open), Some(1));

    let mut bytes = std::fs::read(here.join("bundle.tkb")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(here.join("bundle.tkb"), bytes).unwrap();
    let broken = run(here, &[&verify[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&out(&broken)).unwrap();
    assert_eq!((broken.status.code(), report["integrity"].as_str()), (Some(2), Some("UNUSABLE BUNDLE")));
    assert_eq!(report["first_failure"], "bundle readable");
    assert_eq!(status(here, &open), Some(1));
}
