//! What is written here, read here.

use env::{Env, Timestamp};
use keys::{Algorithm, SoftwareSigner};
use pcm::bundle::{Alone, Outcome, verify};
use pcm::sample::{Sample, story};
use pcm::{Event, Opening, Trust};

fn signer(seed: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()
}

pub fn sample(calls: u64, rotate: bool) -> Sample {
    let mut env = Env::new(Timestamp::from_secs(1_796_000_000), [7; 32]);
    let next = signer(3);
    let rotate = rotate.then_some(&next as &dyn keys::Signer);
    story(&mut env, &signer(1), &signer(2), rotate, calls).unwrap()
}

pub fn trust(sample: &Sample) -> Trust {
    Trust::parse(format!(r#"{{"logs":["{}"],"algs":["ed25519"]}}"#, sample.log).as_bytes()).unwrap()
}

#[test]
fn a_bundle_of_ours_holds_with_and_without_another_key() {
    for rotate in [false, true] {
        let sample = sample(3, rotate);
        let report = verify(&sample.bundle, &trust(&sample), &Alone);
        assert_eq!(
            (report.outcome, report.integrity.as_str()),
            (Outcome::Verified, "VERIFIED"),
            "{report:#?}"
        );
        assert_eq!(report.facts[4], ("records", "14".to_owned()));
        assert_eq!(
            report.checks.iter().filter(|check| check.check == "keys").count(),
            1 + usize::from(rotate)
        );
    }
}

#[test]
fn every_commitment_of_ours_is_opened_by_its_own_salt() {
    let sample = sample(2, true);
    let text = crate::parts::unpacked(&sample.bundle, "runs/");
    let mut opened = 0;
    for line in text.lines() {
        let value = canon::parse(line.as_bytes()).unwrap();
        let event = Event::read(value.get("event").unwrap()).unwrap();
        for revealed in &sample.openings {
            let opening = Opening { salt: revealed.salt, value: &revealed.value };
            let tool = event.data_text("tool").unwrap_or("refund");
            let holds = opening.arguments(&event, tool).is_ok() || opening.content(&event).is_ok();
            assert_eq!(holds, revealed.seq == event.position().0);
            opened += usize::from(holds);
        }
    }
    assert_eq!(opened, sample.openings.len());
    assert_eq!(opened, 7);
}
