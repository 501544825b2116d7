//! Any bytes as an evidence bundle, as a record, as a trust file: no panic, the same report twice, and nothing verifies under
//! the recorded keys but what their log signed.

#![no_main]

use pcm::bundle::{Alone, Outcome, verify};
use pcm::{Trust, Unverified};
use std::sync::LazyLock;

static TRUST: LazyLock<Trust> = LazyLock::new(|| {
    Trust::parse(include_bytes!("../../vectors/pcm/tracekit/golden-v2/trust-rekor.json")).unwrap()
});

/// The root of the log's checkpoint, which all recorded bundles rest on.
static ROOT: LazyLock<String> = LazyLock::new(|| {
    let bundle = include_bytes!("../../vectors/pcm/tracekit/golden-v2/closed.tkb");
    root(&verify(bundle, &TRUST, &Alone)).unwrap()
});

fn root(report: &pcm::bundle::Report) -> Option<String> {
    report.facts.iter().find(|(name, _)| *name == "root").map(|(_, value)| value.clone())
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = Unverified::parse(bytes)
        && let Ok(record) = record.hashed()
    {
        assert_eq!(record.hash(), canon::Digest::of(&canon::to_vec(record.event().value()).unwrap()));
    }
    let _ = Trust::parse(bytes);
    let report = verify(bytes, &TRUST, &Alone);
    assert_eq!(verify(bytes, &TRUST, &Alone), report);
    match report.outcome {
        Outcome::Verified => assert_eq!(root(&report).as_ref(), Some(&*ROOT)),
        Outcome::Failed | Outcome::Unusable => assert!(report.first_failure().is_some()),
    }
});
