//! Reports by quorum: the facts of an invoice, what one verifier may say, and when several carry a report.

use crate::fixture::{NOW, action_json, attested, evidence, said, verifier};
use canon::Raw;
use keys::Signer;
use mandate::invoice::{Invoice, Question};
use mandate::statement::{Agreed, Asked, Attested, Panel, Seat};
use mandate::text::{Ed25519Key, Text, Units};
use mandate::{Evidence, HashedAction, Millis, Reason};
use serde_json::{Value, json};

fn action() -> HashedAction {
    HashedAction::read(action_json().to_string().as_bytes()).unwrap()
}

fn now() -> Millis {
    Millis::try_from(NOW).unwrap()
}

fn trigger(name: &str) -> Text<1, 64> {
    name.parse().unwrap()
}

/// The invoice that the action is to pay.
fn invoice() -> Invoice {
    let action = action();
    let reference = action.reference.as_ref().unwrap();
    Invoice {
        amount_due: Some(Units::new(action.amount.value.get() / 10_000)),
        currency: "usd".parse().ok(),
        customer: "cus_acme".parse().ok(),
        id: Some(reference.invoice_id.clone()),
        payout_address: action.recipient.address.as_str().parse().ok(),
        status: "open".parse().ok(),
        vendor_id: action.counterparty.id.as_str().parse().ok(),
    }
}

fn report(invoice: &Invoice, trigger_id: &str) -> Raw {
    let action = action();
    let trigger_id = &trigger(trigger_id);
    let reference = action.reference.as_ref().unwrap();
    let question = Question { action: &action, reference, customer: "cus_acme", trigger_id };
    Raw::of(&invoice.report(&question).unwrap()).unwrap()
}

#[test]
fn facts_of_an_invoice() {
    let check = |edit: fn(&mut Invoice), expected: Option<Reason>| {
        let mut invoice = invoice();
        edit(&mut invoice);
        let report = mandate::Report::read(report(&invoice, "t").as_bytes()).unwrap();
        assert_eq!((report.reason, report.facts.first_false()), (expected, expected), "{invoice:?}");
    };
    check(|_| {}, None);
    check(|invoice| *invoice = Invoice::default(), Some(Reason::InvoiceNotFound));
    check(|invoice| invoice.id = "in_other".parse().ok(), Some(Reason::InvoiceNotFound));
    check(|invoice| invoice.customer = "cus_other".parse().ok(), Some(Reason::CustomerMismatch));
    check(|invoice| invoice.customer = None, Some(Reason::CustomerMismatch));
    // A Cyrillic a, another case, another vendor, none.
    for vendor in ["\u{430}ws", "AWS", "aws ", "globex"] {
        let mut invoice = invoice();
        invoice.vendor_id = vendor.parse().ok();
        let report = mandate::Report::read(report(&invoice, "t").as_bytes()).unwrap();
        assert_eq!(report.reason, Some(Reason::CustomerMismatch), "{vendor:?}");
    }
    check(|invoice| invoice.vendor_id = None, Some(Reason::CustomerMismatch));
    for status in ["draft", "paid", "void", "uncollectible", "OPEN"] {
        let mut invoice = invoice();
        invoice.status = status.parse().ok();
        let report = mandate::Report::read(report(&invoice, "t").as_bytes()).unwrap();
        assert_eq!(report.reason, Some(Reason::InvoiceNotOpen), "{status}");
    }
    check(|invoice| invoice.amount_due = Some(Units::new(843)), Some(Reason::AmountMismatch));
    check(|invoice| invoice.amount_due = Some(Units::new(u64::MAX)), Some(Reason::AmountMismatch));
    check(|invoice| invoice.currency = "eur".parse().ok(), Some(Reason::CurrencyMismatch));
    check(|invoice| invoice.currency = None, Some(Reason::CurrencyMismatch));
    check(|invoice| invoice.payout_address = "addr_test1x".parse().ok(), Some(Reason::RecipientMismatch));
    check(|invoice| invoice.payout_address = None, Some(Reason::RecipientMismatch));
}

fn seat(name: &str) -> Seat {
    let keys::PublicKey::Ed25519(key) = verifier(name).public() else { panic!("an ed25519 key") };
    Seat { name: name.parse().unwrap(), key: Ed25519Key::from_bytes(*key.as_bytes()) }
}

fn panel() -> Panel {
    Panel::new(["north", "south", "west"].map(seat).to_vec(), 2).unwrap()
}

#[test]
fn panels_that_two_camps_or_one_key_could_carry_are_refused() {
    let check = |names: &[&str], required: usize, good: bool| {
        let seats = names.iter().map(|name| seat(name)).collect();
        assert_eq!(Panel::new(seats, required).is_ok(), good, "{names:?} {required}");
    };
    check(&["north"], 1, true);
    check(&["north", "south", "west"], 2, true);
    check(&["north", "south", "west"], 3, true);
    check(&["north", "south", "west"], 1, false);
    check(&["north", "south"], 1, false);
    check(&["north", "south"], 3, false);
    check(&[], 0, false);
    check(&["north", "north"], 2, false);
    let mut renamed = seat("north");
    renamed.name = "east".parse().unwrap();
    assert!(Panel::new(vec![seat("north"), renamed], 2).is_err());
}

#[test]
fn one_verifier_says_one_thing_to_one_question() {
    let action = action();
    let number = action.reference.as_ref().map(|reference| reference.invoice_number.as_str());
    let good = report(&invoice(), "asked");
    let check = |from: &str, report: &Raw, by: &str, at: u64, good: bool| {
        let at = Millis::try_from(at).unwrap();
        let attested = Attested { report: report.clone(), signed: said(by, report, number, at) };
        let asked = Asked { action: &action, trigger_id: &trigger("asked"), now: now() };
        let answer = canon::to_vec(&attested).unwrap();
        assert_eq!(panel().take(&from.parse().unwrap(), &answer, &asked).is_ok(), good, "{from} {by} {at:?}");
    };
    check("north", &good, "north", NOW, true);
    check("north", &good, "north", NOW - 60_000, true);
    check("north", &good, "north", NOW + 60_000, true);
    // Stale, or from the future.
    check("north", &good, "north", NOW - 60_001, false);
    check("north", &good, "north", NOW + 60_001, false);
    // Under another's name, by another's key.
    check("south", &good, "north", NOW, false);
    // What was said of another question, or another invoice.
    check("north", &report(&invoice(), "before"), "north", NOW, false);
    let mut other: Value = serde_json::from_str(good.as_str()).unwrap();
    other["invoice_id"] = json!("in_other");
    check("north", &Raw::from_slice(other.to_string().as_bytes()).unwrap(), "north", NOW, false);
    other["action_hash"] = json!("0b".repeat(32));
    check("north", &Raw::from_slice(other.to_string().as_bytes()).unwrap(), "north", NOW, false);
    // A reason beside VERIFIED.
    let mut odd: Value = serde_json::from_str(good.as_str()).unwrap();
    odd["reason"] = json!("AMOUNT_MISMATCH");
    check("north", &Raw::from_slice(odd.to_string().as_bytes()).unwrap(), "north", NOW, false);
    // A signature over another report, and one that is none.
    let asked = Asked { action: &action, trigger_id: &trigger("asked"), now: now() };
    let whole = Attested { report: good.clone(), signed: said("north", &good, number, now()) };
    let bend = |edit: &dyn Fn(&mut Attested)| {
        let mut bent = whole.clone();
        edit(&mut bent);
        panel().take(&"north".parse().unwrap(), &canon::to_vec(&bent).unwrap(), &asked).is_ok()
    };
    assert!(bend(&|_| {}));
    assert!(!bend(&|bent| bent.report = report(&Invoice::default(), "asked")));
    assert!(!bend(&|bent| bent.signed.signature = said("south", &good, number, now()).signature));
    assert!(!bend(&|bent| bent.signed.statement.invoice_number = None));
    assert!(!bend(&|bent| bent.signed = said("west", &good, number, now())));
    assert!(panel().take(&"east".parse().unwrap(), &canon::to_vec(&whole).unwrap(), &asked).is_err());
}

/// Each answer by who gives it, the status it read, and the number.
fn tallied(answers: &[(&str, &str, Option<&str>)]) -> Option<Agreed> {
    let answers: Vec<_> = answers
        .iter()
        .map(|(name, status, number)| {
            let mut invoice = invoice();
            invoice.status = status.parse().ok();
            let report = report(&invoice, "asked");
            Attested { signed: said(name, &report, *number, now()), report }
        })
        .collect();
    panel().tally(&answers, &action())
}

#[test]
fn enough_must_say_the_same() {
    let number = action_json()["reference"]["invoice_number"].as_str().unwrap().to_owned();
    let number = Some(number.as_str());
    let on = |agreed: Option<Agreed>| match agreed {
        Some(Agreed::On(evidence)) => {
            assert!(evidence.is_sound());
            assert!(evidence.usable(&action(), now()).is_some());
            (evidence.statements.len(), evidence.dissent.len())
        }
        _ => (0, 0),
    };
    assert_eq!(on(tallied(&[("north", "open", number)])), (0, 0));
    assert_eq!(on(tallied(&[("north", "open", number), ("south", "paid", number)])), (0, 0));
    assert_eq!(on(tallied(&[("north", "open", number), ("south", "open", number)])), (2, 0));
    // One of three lies, whenever it comes.
    for liar in 0..3 {
        let mut all = [("north", "open", number), ("south", "open", number), ("west", "open", number)];
        all[liar].1 = "void";
        assert_eq!(on(tallied(&all)), (2, 1));
    }
    assert_eq!(on(tallied(&[("north", "open", number), ("south", "open", None)])), (0, 0));
    let other =
        tallied(&[("north", "open", Some("X-1")), ("south", "open", Some("X-1")), ("west", "open", number)]);
    let Some(Agreed::Number { on_record, evidence }) = other else { panic!("{other:?}") };
    assert_eq!(on_record, "X-1".parse().ok());
    assert!(evidence.is_sound());
    assert_eq!((evidence.statements.len(), evidence.dissent.len()), (2, 1));
}

#[test]
fn what_signs_for_a_report_is_checked_by_whoever_reads_it() {
    let sound = || attested(evidence(&action_json(), NOW, |_| {}), &action_json());
    assert!(sound().is_sound());
    let check = |edit: fn(&mut Evidence)| {
        let mut bent = sound();
        edit(&mut bent);
        assert!(!bent.is_sound(), "{bent:?}");
    };
    check(|e| e.statements.clear());
    check(|e| e.statements[1] = e.statements[0].clone());
    check(|e| e.statements[0].key = e.statements[1].key);
    check(|e| e.statements[0].statement.invoice_number = None);
    check(|e| e.statements[0].signature = e.statements[1].signature);
    check(|e| e.report_hash = canon::Digest::ZERO);
    check(|e| e.block_time_ms = e.block_time_ms.plus(600_001));
    check(|e| e.block_time_ms = Millis::try_from(e.block_time_ms.get() - 60_001).unwrap());
    check(|e| e.dissent[0].report = e.report.clone());
    check(|e| e.dissent[0].signed = e.statements[0].clone());
    // One verifier under both.
    check(|e| {
        let number = e.dissent[0].signed.statement.invoice_number.clone();
        let number = number.as_ref().map(Text::as_str);
        e.dissent[0].signed = said("north", &e.dissent[0].report.clone(), number, e.block_time_ms);
    });
}
