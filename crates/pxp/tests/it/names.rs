//! What tells people and amounts apart: a label or a name that could pass for another is refused, with its place.

use crate::table::*;
use ledger::Coded;
use pxp::limit::{Limit, TermValue};
use pxp::wire::ProposalInput;
use pxp::{Command, EnvelopeInput, Refusal, SeatId};

/// The code and the place of a refusal.
fn told<T>(result: Result<T, Refusal>) -> (&'static str, String) {
    match result {
        Ok(_) => ("ok", String::new()),
        Err(refusal) => (refusal.code(), refusal.place().unwrap_or_default()),
    }
}

#[test]
fn labels_of_limits_and_values_are_plain() {
    let check = |label: &str, code: &str| {
        let place = |place: &str| if code == "ok" { String::new() } else { place.to_owned() };
        let mut card = card(A);
        card.limits = vec![Limit { label: Some(label.into()), ..at_most_900() }];
        let sealed = told(Table::joined(2, policy()).seal(A, card));
        assert_eq!(sealed, (code, place("/limits/0/label")), "{label:?}");
        let values = vec![price(100), TermValue { label: label.into(), ..price(100) }];
        let proposal = ProposalInput { values, ..proposal("The hall", &["new1"]) };
        let sent = told(Table::sealed().send(A, EnvelopeInput { proposal: Some(proposal), ..offer("") }));
        assert_eq!(sent, (code, place("/proposal/values/1/label")), "{label:?}");
    };
    check("Net rent_2.a-b", "ok");
    check(" ", "empty");
    for label in ["r\u{435}nt", "ren\u{200b}t", "\u{202e}rent", "rent\n", "r\u{e9}nt", "rent!"] {
        check(label, "label_suspicious");
    }
}

#[test]
fn names_of_principals_are_told_apart() {
    let named = |seat: SeatId, name: &str| {
        let mut input = card(seat);
        input.principal.name = name.into();
        input
    };
    let check = |name: &str, at_opening: &str, at_sealing: &str| {
        let place = |code: &str, place: &str| if code == "ok" { String::new() } else { place.to_owned() };
        let mut plan = open(2, policy());
        plan.seats[0].name = "Ace Hall".into();
        plan.seats[1].name = name.into();
        let opened = told(Table::empty(7).run(Command::Open(plan)));
        assert_eq!(opened, (at_opening, place(at_opening, "/seats/1/name")), "{name:?}");
        let mut table = Table::joined(2, policy());
        table.seal(A, named(A, "Ace Hall")).unwrap();
        let sealed = told(table.seal(b(), named(b(), name)));
        assert_eq!(sealed, (at_sealing, place(at_sealing, "/principal/name")), "{name:?}");
    };
    for good in ["Ben", "Sony ソニー", "Müller & Söhne", "Seat B"] {
        check(good, "ok", "ok");
    }
    check(" ", "empty", "empty");
    for bad in [
        "Amaz\u{43e}n",
        "Ben\u{202e}",
        "B\u{200b}en",
        "B\u{e0041}en",
        "Ben\u{a0}Li",
        " Ben",
        "xn--80ak6aa92e.com",
    ] {
        check(bad, "name_suspicious", "name_suspicious");
    }
    for twin in ["Ace Hall", "ACE HALL", "AceHall", "Ace HaIl", "Ace Ha11"] {
        check(twin, "name_alike", "name_alike");
    }
    let mut table = Table::joined(2, policy());
    table.seal(A, named(A, "Ace")).unwrap();
    let sealed = told(table.seal(b(), named(b(), "\u{410}\u{441}\u{435}")));
    assert_eq!(sealed, ("name_alike", "/principal/name".to_owned()), "another alphabet throughout");
}
