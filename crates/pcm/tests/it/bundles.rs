//! Bundles of the reference implementation: the same verdicts, and for the good ones the same report.

use crate::vectors::{json, read, trust};
use pcm::bundle::{Alone, Crew, Outcome, Report, Status, verify};

fn exit(report: &Report) -> u64 {
    match report.outcome {
        Outcome::Verified => 0,
        Outcome::Failed => 1,
        Outcome::Unusable => 2,
    }
}

#[test]
fn what_must_be_refused_is_refused_where_the_reference_does() {
    let folder = "golden-negative";
    let pinned = trust(&format!("{folder}/trust.json"));
    let cases = json(&format!("{folder}/expected.json"));
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 24);
    for case in cases {
        let file = case["bundle"].as_str().unwrap();
        let report = verify(&read(&format!("{folder}/{file}")), &pinned, &Alone);
        let expected = &case["expected"];
        let failed = report.first_failure().map(|check| check.check);
        assert_eq!(
            (exit(&report), report.integrity.as_str(), failed),
            (
                expected["exit_code"].as_u64().unwrap(),
                expected["integrity"].as_str().unwrap(),
                expected["first_failure"].as_str()
            ),
            "{file}: {report:#?}"
        );
    }
}

#[test]
fn what_holds_is_reported_as_the_reference_reports_it() {
    let cases = json("golden-v2/expected.json");
    for case in cases["cases"].as_array().unwrap() {
        let (file, pinned) = (case["args"][0].as_str().unwrap(), case["args"][2].as_str().unwrap());
        let report =
            verify(&read(&format!("golden-v2/{file}")), &trust(&format!("golden-v2/{pinned}")), &Alone);
        let expected = &case["expected"];
        assert_eq!(
            format!("Integrity: {}.", report.integrity),
            expected["integrity"].as_str().unwrap(),
            "{report:#?}"
        );
        assert_eq!(format!("Assurance: {}.", report.assurance), expected["assurance"].as_str().unwrap());
        assert_eq!(exit(&report), expected["exit_code"].as_u64().unwrap());
        let checks: Vec<_> = report
            .checks
            .iter()
            .map(|check| {
                let status = match check.status {
                    Status::Pass => "pass",
                    Status::Warn => "warn",
                    Status::Fail => "fail",
                };
                serde_json::json!([check.check, status])
            })
            .collect();
        assert_eq!(serde_json::Value::from(checks), expected["checks"], "{file} under {pinned}");
    }
}

/// Two threads that take turns find what one finds, whatever the bundle.
#[test]
fn many_threads_find_what_one_finds() {
    struct Three;
    impl Crew for Three {
        fn run(&self, work: &(dyn Fn() + Sync)) {
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(work);
                }
            });
        }
    }
    let pinned = trust("golden-negative/trust.json");
    let mut bundles = 0;
    for entry in std::fs::read_dir(crate::vectors::path("golden-negative")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "tkb") {
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(
                verify(&bytes, &pinned, &Three),
                verify(&bytes, &pinned, &Alone),
                "{}",
                path.display()
            );
            bundles += 1;
        }
    }
    assert_eq!(bundles, 24);
}

#[test]
fn a_run_with_calls_by_an_executor_and_a_persons_approval_holds() {
    let report = verify(&read("generated-t2/t2-approval.tkb"), &trust("generated-t2/trust.json"), &Alone);
    assert_eq!((report.outcome, report.integrity.as_str()), (Outcome::Verified, "VERIFIED"), "{report:#?}");
    let tiers = report.checks.iter().find(|check| check.check == "tiers").unwrap();
    assert!(tiers.detail.starts_with("3 calls: T1 0, T2 2, T3 0, untiered 1;"), "{}", tiers.detail);
}
