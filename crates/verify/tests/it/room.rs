use crate::busy::busy;
use crate::play::{Play, SITE, agreed, stalled, withdrawn};
use crate::support::{trust, verdict};
use crate::twins::{Case, agree, trust_text};
use pxp::view::Viewer;
use pxp::{Scope, SeatId};
use verify::{Kind, Trust, Verdict, verify};

pub fn viewers() -> [Viewer; 5] {
    [
        Viewer::Principal(SeatId::A),
        Viewer::Principal(SeatId::at(1).unwrap()),
        Viewer::Seat(SeatId::A),
        Viewer::Share(Scope::Transcript),
        Viewer::Share(Scope::Ledger),
    ]
}

/// A room played through the core verifies, for each viewer and for all of them together.
#[test]
fn good_rooms() {
    for (play, outcome, entries) in [
        (agreed(), "agreed", 20),
        (withdrawn(), "withdrawn", 20),
        (stalled(), "stalled", 6),
        (busy(), "withdrawn", 40),
    ] {
        let check = |bundle: pxp::bundle::Bundle, what: &str| {
            let bytes = bundle.to_vec().unwrap();
            for trust in [None, Some(trust(&[1], &[1], 1))] {
                let report = verify(&bytes, trust.as_ref());
                assert_eq!(
                    (report.verdict, report.kind),
                    (Verdict::Valid, Some(Kind::RoomBundle)),
                    "{outcome} for {what}: {report:?}"
                );
                assert_eq!(report.facts["outcome"], outcome);
                assert!(report.facts["entries"].parse::<usize>().unwrap() >= entries);
            }
        };
        check(play.whole(), "all");
        for viewer in viewers() {
            check(play.bundle(viewer), &format!("{viewer:?}"));
        }
    }
}

#[test]
fn trust_decides() {
    let bytes = agreed().whole().to_vec().unwrap();
    assert_eq!(verdict(&bytes, Some(&trust(&[3], &[1], 1))), "server_untrusted at /keys");
    assert_eq!(verdict(&bytes, Some(&trust(&[1], &[3], 0))), "log_unsigned at /log/checkpoint");
    // Seat B's person answers with a passkey of this site.
    let bytes = withdrawn().whole().to_vec().unwrap();
    for (origin, expected) in [(SITE, "valid"), ("https://other.example", "origin_untrusted at entry 20")] {
        let mut file: serde_json::Value = serde_json::from_str(&trust_text()).unwrap();
        file["origins"] = serde_json::json!([origin]);
        let text = file.to_string();
        assert_eq!(verdict(&bytes, Some(&Trust::parse(text.as_bytes()).unwrap())), expected);
        agree(&[Case { name: origin.to_owned(), file: bytes.clone(), trust: Some(text) }]);
    }
}

/// A brief verifies alone, also where entries follow its own.
#[test]
fn briefs() {
    let mut shared = agreed();
    shared.share("A", Scope::Brief);
    for (play, entries) in [(agreed(), 1), (shared, 2), (stalled(), 1)] {
        let proof = play.brief();
        assert_eq!(proof.entries.len(), entries);
        let bytes = proof.to_vec().unwrap();
        for trust in [None, Some(trust(&[1], &[1], 1))] {
            let report = verify(&bytes, trust.as_ref());
            assert_eq!((report.verdict, report.kind), (Verdict::Valid, Some(Kind::Brief)), "{report:?}");
        }
        let check = |edit: fn(&mut pxp::bundle::BriefProof), expected: &str| {
            let mut proof = proof.clone();
            edit(&mut proof);
            assert_eq!(verdict(&proof.to_vec().unwrap(), None), expected);
        };
        check(|proof| proof.brief.topic.push('!'), "bad_brief at /brief");
        check(|proof| proof.entries.clear(), "no_entries at /entries");
        check(|proof| proof.head.n += 1, "bad_head at /head");
        check(|proof| proof.room = "r2".parse().unwrap(), "bad_head_signature at /head/signature");
    }
}

pub fn plays() -> Vec<(&'static str, Play)> {
    vec![("agreed", agreed()), ("withdrawn", withdrawn()), ("stalled", stalled()), ("busy", busy())]
}
