//! Briefs as a person reads them.

use crate::table::*;
use pxp::brief::{Known, tell, text};
use pxp::view::Viewer;
use pxp::wire::{Origin, Verdict};
use pxp::{EnvelopeInput, Ruling, view};
use std::path::Path;

/// The text is the golden file's; `UPDATE_GOLDEN=1` writes it.
fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/briefs").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(golden, found, "{name} is stale: run this test with UPDATE_GOLDEN=1");
}

fn told(table: &Table, viewer: Viewer) -> String {
    let view = view::brief(&table.state, viewer).unwrap();
    text(&view.brief, &Known::of_view(viewer.seat(), &view)).unwrap()
}

/// Agreed after a forced question whose answer an agent passed on: figures without claims, a restated claim, a line that
/// does not exist, a disputed claim the agreement rests on.
fn agreed() -> Table {
    let mut table = Table::sealed_with(2, policy(), limited);
    let claims = vec![
        claim("80 guests are confirmed", Origin::Stated, Some("known_facts[0]")),
        claim("The hall holds 100", Origin::Sourced, Some("fire permit")),
        claim("The floor is new", Origin::Stated, Some("known_facts[3]")),
    ];
    let mut offer = proposal("The hall for 950 EUR, with 40 tables", &["new1", "new2"]);
    offer.values = vec![price(95_000)];
    offer.authority[0].clauses.push("must_never[9]".into());
    table
        .send(A, EnvelopeInput { claims, proposal: Some(offer), ..say("40 tables, 12 lamps on 3 May") })
        .unwrap();
    let mut answer = ruling("q1", Ruling::Allow, &[]);
    answer.public_summary = Some("This once".into());
    table
        .run(pxp::Command::Answer(pxp::command::Answer {
            actor: pxp::Actor::Seat { seat: A },
            seat: A,
            answer,
            proof: relayed(),
        }))
        .unwrap();
    let mut offer = proposal("The hall for 950 EUR, with 40 tables", &["A1.1", "A1.2"]);
    offer.values = vec![price(95_000)];
    let sent = table.send(A, EnvelopeInput { proposal: Some(offer), ..say("An offer") }).unwrap();
    let reviews = vec![
        review("A1.1", Verdict::Accept),
        review("A1.2", Verdict::Challenge),
        review("A1.3", Verdict::Accept),
    ];
    table.send(b(), EnvelopeInput { reviews, ..escalate("Is the permit enough?", &["A1.2"]) }).unwrap();
    table.answer(b(), ruling("q2", Ruling::Allow, &["A1.2"])).unwrap();
    // Over the limit of B's card as well: its own principal allows exactly this offer.
    let hash = sent.offer_hash.unwrap();
    table.send(b(), agree(hash)).unwrap();
    table.answer(b(), ruling("q3", Ruling::Allow, &[])).unwrap();
    table.send(b(), agree(hash)).unwrap();
    assert!(table.state.agreement.is_some(), "{:?}", table.state.phase);
    table
}

#[test]
fn the_text_of_an_agreement_for_each_reader() {
    let table = agreed();
    golden("agreed.txt", &told(&table, Viewer::Share(pxp::Scope::Brief)));
    golden("agreed-for-b.txt", &told(&table, Viewer::Principal(b())));
    let own = told(&table, Viewer::Principal(b()));
    for private in ["Is the permit enough?", "My private words", "Up to 900 EUR for the evening"] {
        assert!(own.contains(private), "{private}");
        assert!(!told(&table, Viewer::Share(pxp::Scope::Brief)).contains(private), "{private}");
    }
}

#[test]
fn the_text_where_nothing_was_agreed() {
    let mut table = Table::sealed();
    table.send(A, offer("The hall \u{202e}for an evening")).unwrap();
    table.wait(4 * 86_400).unwrap();
    let text = told(&table, Viewer::Share(pxp::Scope::Brief));
    golden("stalled.txt", &text);
    assert!(text.lines().all(|line| line.chars().count() <= 96), "lines are broken");
}

/// Every flag is told once, whatever its code.
#[test]
fn no_flag_is_lost() {
    let mut table = agreed();
    let mut brief = table.state.brief.take().unwrap().brief.unwrap();
    let told = |brief: &pxp::Brief| text(brief, &Known::default()).unwrap();
    for fact in ["40", "12", "3 May"] {
        assert!(told(&brief).contains(&format!("\"{fact}\"")), "{fact} in {}", told(&brief));
    }
    // What a later claim covers stands beside the message it was said in, not beside the terms.
    assert!(told(&brief).contains("In the agreed terms: \"40\"."), "{}", told(&brief));
    let agreed = brief.agreement.as_mut().unwrap();
    agreed.proposed_seq += 1;
    assert!(!told(&brief).contains("In the agreed terms"), "{}", told(&brief));
    brief.protocol_flags[0].code = "of_a_later_server".into();
    brief.protocol_flags[0].message = "something new".into();
    assert!(told(&brief).contains("something new"));
    let groups = tell(&brief, &Known::default()).unverified;
    assert!(groups.iter().all(|group| !group.lines.is_empty()));
}
