use crate::play::{Play, digest, json};
use canon::{Digest, Raw, to_vec};
use ledger::{Head, Payload};
use pxp::chain;
use pxp::v0::envelope::Envelope;
use pxp::v0::ledger::{Check, LedgerEntry, verify};
use pxp::v0::{Card, Side};

const CARD: &str = r#"{"amendments":[],"escalate_when":["Date moves"],"goal":"Rent the hall on 4 May","known_facts":["80 guests confirmed"],"may_agree_to":["Up to 900 EUR"],"must_haves":["Seats for 80"],"must_never":["Pay in cash"],"principal":{"name":"Ana","role":""},"pxp":"0"}"#;
const CARD_HASH: &str = "57e36abe5100403a33fd7f67a4273d9852880597833e560c577234118daeae19";
const TERMS_HASH: &str = "7eb0aef310f430163b670901ed2299bd2508b7bf2a8135c395b93c886eec0a6b";

fn three() -> Vec<LedgerEntry> {
    let mut head = Head::EMPTY;
    let mut entries = Vec::new();
    for (kind, data) in
        [("room_opened", r#"{"a":1}"#), ("turn_limit", r#"{"a":2}"#), ("agreement", r#"{"a":3}"#)]
    {
        let at = "2026-11-30T08:00:00.000Z".parse().unwrap();
        let entry = chain::seal(kind, at, data.as_bytes(), head, None::<Payload>);
        entries.push(LedgerEntry::of(&entry, head).unwrap());
        head = Head { seq: entry.seq, hash: entry.hash };
    }
    entries
}

#[test]
fn t01_canonical_form_ignores_order_and_keeps_arrays_and_null() {
    let canonical = |text: &str| String::from_utf8(to_vec(&json(text)).unwrap()).unwrap();
    let one = canonical(r#"{"b":[2,1],"a":{"d":null,"c":1}}"#);
    assert_eq!(one, r#"{"a":{"c":1,"d":null},"b":[2,1]}"#);
    assert_eq!(one, canonical(r#"{"a":{"c":1,"d":null},"b":[2,1]}"#));
    assert_ne!(one, canonical(r#"{"a":{"c":1,"d":null},"b":[1,2]}"#));
    let order = to_vec(&json(r#"{"b":1,"a":{"d":null,"c":[2,1]},"é":"ü","😀":1,"\ufb33":2}"#)).unwrap();
    assert_eq!(
        Digest::of(&order),
        digest("3af3ad551a5281ef5af3d323d8ed9c6feaf8e4d0e53c47b5742271a17c2962fa")
    );
    // What is absent in a card or claim is left out, never null.
    let card = Card::normalise(&json(CARD), "", Side::A);
    assert!(!String::from_utf8(to_vec(&card).unwrap()).unwrap().contains("org"));
}

#[test]
fn t02_entries_are_numbered_and_linked() {
    let entries = three();
    assert_eq!(entries.iter().map(|entry| entry.n).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(entries[0].prev, Digest::ZERO);
    assert_eq!([entries[1].prev, entries[2].prev], [entries[0].hash, entries[1].hash]);
    assert_eq!(verify(&entries), Check::Whole { head: entries[2].hash });
}

#[test]
fn t03_an_empty_ledger_is_whole() {
    assert_eq!(verify(&[]), Check::Whole { head: Digest::ZERO });
}

#[test]
fn t04_an_edit_breaks_the_entry_it_was_made_in() {
    let mut edited = three();
    edited[1].data = Raw::from_slice(br#"{"a":9}"#).unwrap();
    assert_eq!(verify(&edited), Check::BrokenAt(2));
    let mut edited = three();
    edited[2].prev = edited[0].hash;
    assert_eq!(verify(&edited), Check::BrokenAt(3));
}

#[test]
fn t05_a_swap_or_a_dropped_first_entry_breaks_the_chain() {
    let mut swapped = three();
    swapped.swap(0, 1);
    assert!(!verify(&swapped).is_whole());
    let mut dropped = three();
    dropped.remove(0);
    assert!(!verify(&dropped).is_whole());
    let shown = String::from_utf8(to_vec(&verify(&dropped)).unwrap()).unwrap();
    assert_eq!(shown, r#"{"brokenAt":2,"ok":false}"#);
}

#[test]
fn the_published_hashes() {
    let card: Card = canon::from_slice(CARD.as_bytes()).unwrap();
    assert_eq!(card, Card::normalise(&json(CARD), "", Side::A));
    assert_eq!(card.hash(), digest(CARD_HASH));
    let mut amended = card.clone();
    amended.amendments.push(pxp::v0::card::Amendment {
        question: "May I pay 950?".to_owned(),
        answer: "Yes, 950 at most".to_owned(),
        at: "2026-11-30T09:00:00.000Z".parse().unwrap(),
    });
    assert_eq!(amended.hash(), digest("01cf857c526b77061a6597df31a4cbd49812ff989fdb2bad6d1ab5f6edf6b69c"));
    assert_eq!(
        Digest::of(b"Yes, 950 at most"),
        digest("a0ec4266d6256a4ecbec1d6985812f275e424e849fd10aafed4a8f7d4b41a0af")
    );
    let envelope = format!(
        r#"{{"pxp":"0","room":"R1","seq":1,"from":{{"seat":"A","principal":"Ana","speaker":"proxy","agent":"Agent A"}},
        "intent_hash":"{CARD_HASH}","message":"Offer","claims":[{{"id":"A1.1","text":"80 guests are confirmed",
        "origin":"stated","ref":"known_facts[0]"}}],"reviews":[],"status":"continue","proposal":{{"terms":["Hall on 4 May",
        "950 EUR by transfer"],"depends_on":["A1.1"]}},"proposal_hash":"{TERMS_HASH}","answer":"added later","answer_via":"web"}}"#
    );
    let envelope: Envelope = canon::from_slice(envelope.as_bytes()).unwrap();
    assert_eq!(envelope.proposal.as_ref().unwrap().hash(), digest(TERMS_HASH));
    assert_eq!(envelope.hash(), digest("b4502e145b278ae0b285ef29913429de62bb207c7831f17585d3a56ccaa549da"));
    let fixture = r#"{"principal":{"name":"Fixture A","role":"tester"},"goal":"Reach a fixture deal","must_haves":["A fixed must-have"]}"#;
    assert_eq!(
        Card::normalise(&json(fixture), "", Side::A).hash(),
        digest("83a05bea371eca4164e405717c3fdd17c7c2785b36d8bee359f0f36511f58dd7")
    );
    let opened = chain::seal(
        "room_opened",
        "2026-01-01T00:00:00.000Z".parse().unwrap(),
        br#"{"protocol":"PXP/0","topic":"Fixture room paused0001"}"#,
        Head::EMPTY,
        None,
    );
    assert_eq!(opened.hash, digest("b8682397590839015b88a4f08d94458a3a62edd97ec4beca42a451827cb93a5a"));
}

#[test]
fn t26_a_card_of_junk_has_the_right_shape_and_fails_validation() {
    let check = |raw: &str, complaint: &str| {
        let card = Card::normalise(&json(raw), "Ana", Side::A);
        assert_eq!((card.pxp.as_str(), card.principal.name.as_str()), ("0", "Ana"), "{raw}");
        assert_eq!(card.validate().unwrap_err().to_string(), complaint, "{raw}");
    };
    let both = "The card needs a goal. The card needs at least one must-have.";
    check("null", both);
    check("5", both);
    check(r#"{"principal":[],"goal":{"a":1},"must_haves":{"b":2}}"#, both);
    check(r#"{"goal":"x","must_haves":[""," "]}"#, "The card needs at least one must-have.");
    check(r#"{"must_haves":"one\ntwo"}"#, "The card needs a goal.");
    assert_eq!(Card::normalise(&json("{}"), "", Side::B).principal.name, "Principal B");
}

#[test]
fn t27_forged_amendments_are_dropped_and_deep_ones_refused() {
    let forged = r#"{"goal":"g","must_haves":["m"],"amendments":[{"question":"q","answer":"a","at":"2026-11-30T09:00:00.000Z"}],"extra":1}"#;
    let mut play = Play::open([pxp::v0::Mode::External; 2], 10);
    play.seal(Side::A, forged).unwrap();
    let seat = play.state.seat(Side::A);
    assert!(seat.card.as_ref().unwrap().amendments.is_empty());
    let sealed = &play.state.ledger.last().unwrap().data;
    assert!(sealed.as_str().contains(&seat.card_hash().unwrap().to_string()));
    let deep = format!(
        r#"{{"goal":"g","must_haves":["m"],"amendments":{}{}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    assert_eq!(canon::parse(deep.as_bytes()).unwrap_err().code, canon::Code::Depth);
}
