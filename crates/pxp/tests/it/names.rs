//! What tells people and amounts apart: a label or a name that could pass for another is refused, with its place.

use crate::table::*;
use ledger::Coded;
use pxp::limit::{Limit, TermValue};
use pxp::wire::ProposalInput;
use pxp::{EnvelopeInput, Refusal};

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
