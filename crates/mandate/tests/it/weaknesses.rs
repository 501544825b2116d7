//! The weaknesses of spec 5.1 that are this crate's, each with the test that shows its remedy. (W8 and W14 of the engine
//! itself are in `engine.rs`.)

use crate::desk::{Desk, action, lock, tx};
use crate::fixture::{agent, approver};
use approvals::Evidence;
use mandate::command::{BondSpent, Command, Execution, Next, Reply, Verification};
use mandate::log::{DeclineReason, Fact};
use mandate::price::{BadBond, Locked, Signatories};
use mandate::state::ApprovalStatus;
use mandate::text::{Hex, KeyHash, PositiveUnits, Units};
use mandate::{Millis, Outcome, Reason, Refusal};
use serde_json::json;

fn refused(desk: &mut Desk, action: &serde_json::Value, bond: Locked) -> Option<BadBond> {
    match desk.pay(action, bond).next {
        Next::Priced { refused, .. } => refused,
        Next::Waiting => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn w1_a_bond_stays_as_long_as_was_sold() {
    let mut desk = Desk::new();
    let one = action("one", 1800);
    let price = desk.price(&one);
    let mut check = |edit: fn(&mut Locked), expected: BadBond| {
        let mut bond = lock(&price, 0);
        edit(&mut bond);
        assert_eq!(refused(&mut desk, &one, bond), Some(expected));
        assert_eq!(desk.state.pending().count(), 0);
    };
    check(
        |bond| bond.datum.locked_until_ms = Millis::try_from(bond.datum.locked_until_ms.get() - 1).unwrap(),
        BadBond::LockedUntil,
    );
    check(|bond| bond.datum.locked_until_ms = Millis::try_from(0).unwrap(), BadBond::LockedUntil);
    // And everything else it says.
    check(|bond| bond.datum.action_hash = canon::Digest::ZERO, BadBond::Action);
    check(|bond| bond.datum.approval_ref = canon::Digest::ZERO, BadBond::Approval);
    check(|bond| bond.datum.approvers = Signatories::one(KeyHash::from_bytes([1; 28])), BadBond::Approver);
    check(|bond| bond.datum.amount = PositiveUnits::try_from(4_999_999).unwrap(), BadBond::Amount);
    check(|bond| bond.value = Units::new(4_999_999), BadBond::Value);
    check(|bond| bond.address = "addr_test1elsewhere".parse().unwrap(), BadBond::Address);
    assert_eq!(refused(&mut desk, &one, lock(&price, 0)), None);
}

#[test]
fn w2_what_nobody_paid_for_is_not_counted() {
    let mut desk = Desk::new();
    for name in ["a", "b", "c"] {
        desk.price(&action(name, 1100));
    }
    let used = |desk: &mut Desk, name: &str| desk.price(&action(name, 1100)).interrupt_budget.used;
    assert_eq!(used(&mut desk, "d"), 0);
    desk.wait(3_600_000);
    desk.run(&Command::Tick).unwrap();
    assert_eq!(desk.count(|fact| matches!(fact, Fact::ApprovalExpired { .. })), 4);
    assert_eq!(used(&mut desk, "e"), 0, "an hour later, the same day");
    desk.ask(&action("f", 1100));
    assert_eq!(used(&mut desk, "g"), 1);
}

#[test]
fn w3_nobody_approves_but_the_approver() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    let drafted = desk.draft(&id).unwrap();
    let good = desk.approval_of(&drafted, &approver());
    let mut check = |expected: Refusal, edit: &dyn Fn(&mut mandate::command::Approve)| {
        let mut approve = good.clone();
        edit(&mut approve);
        assert_eq!(desk.run(&Command::Approve(Box::new(approve))), Err(expected));
        assert!(desk.state.authorizations().is_empty());
        assert_eq!(desk.count(|fact| matches!(fact, Fact::CFOApproved(_))), 0);
    };
    let stranger = crate::desk::sign(
        &mandate::proof::Question {
            ask_id: &id,
            action_hash: canon::Digest::ZERO,
            brief_hash: canon::Digest::ZERO,
        },
        approvals::Decided::Approve,
        &mandate::proof::ApproveBody { authorization_digest: drafted.digest },
        &agent(),
    );
    check(Refusal::NotTheApprover, &|approve| approve.signed = stranger.clone());
    check(Refusal::OtherStatement, &|approve| approve.signed.statement = canon::Digest::ZERO);
    check(Refusal::OtherStatement, &|approve| approve.signed.nonce = "fedcba9876543210".parse().unwrap());
    check(Refusal::DraftDiffers, &|approve| approve.digest = Hex::from_bytes([0; 32]));
    check(Refusal::BadApproverSignature, &|approve| {
        if let Evidence::Ed25519 { signature, .. } = &mut approve.signed.evidence {
            *signature = keys::Signature::from_bytes([1; 64]).base64url();
        }
    });
    for evidence in [Evidence::Session { session: "s".into() }, Evidence::Relayed { agent: "a".into() }] {
        check(Refusal::EvidenceNotAccepted, &|approve| approve.signed.evidence = evidence.clone());
    }
    // Case 66: the anchor says whose key it is.
    check(Refusal::NotTheApprover, &|approve| {
        approve.observed.approvers = vec![KeyHash::from_bytes([9; 28])]
    });
    // A decline is no approval, and one approval is not another's.
    let decline = desk.decline_of(&id, DeclineReason::Legitimate, &approver());
    let mut swapped = good.clone();
    swapped.signed = decline.signed;
    assert_eq!(desk.run(&Command::Approve(Box::new(swapped))), Err(Refusal::OtherStatement));
    let second = desk.ask(&action("two", 1800));
    let other = desk.draft(&second).unwrap();
    let mut swapped = desk.approval_of(&other, &approver());
    swapped.signed = good.signed;
    assert_eq!(desk.run(&Command::Approve(Box::new(swapped))), Err(Refusal::OtherStatement));
}

#[test]
fn w4_a_bond_that_is_owed_is_asked_for_until_it_is_spent() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    desk.wait(3_600_000);
    let wanted = format!(r#"{{"approval_id":"{id}","kind":"refund"}}"#);
    for round in 1..=3 {
        desk.run(&Command::Tick).unwrap();
        assert_eq!(desk.submitted().iter().filter(|body| **body == wanted).count(), round);
        assert!(matches!(desk.effects.last(), Some(ledger::Effect::Wake { .. })), "it looks again by itself");
        desk.wait(60_000);
    }
    desk.bond_spent(&id, BondSpent::Refunded { tx_hash: tx("refund") }).unwrap();
    let before = desk.effects.len();
    desk.run(&Command::Tick).unwrap();
    assert_eq!(desk.effects.len(), before);
}

#[test]
fn w5_a_price_past_its_time_is_made_anew() {
    let mut desk = Desk::new();
    let one = action("one", 1800);
    let old = desk.price(&one);
    desk.wait(3_600_000);
    let new = desk.price(&one);
    assert_ne!(new.approval_id, old.approval_id);
    assert_eq!(new.locked_until_ms.get(), old.locked_until_ms.get() + 3_600_000);
    // The old bond does not pay the new price.
    assert_eq!(refused(&mut desk, &one, lock(&old, 0)), Some(BadBond::Approval));
    assert_eq!(refused(&mut desk, &one, lock(&new, 0)), None);
}

#[test]
fn w6_the_very_output_counts_and_pays_once() {
    let mut desk = Desk::new();
    let (one, two) = (action("one", 1800), action("two", 1800));
    let price = desk.price(&one);
    let bond = lock(&price, 3);
    for _ in 0..50 {
        assert_eq!(desk.pay(&one, bond.clone()).next, Next::Waiting);
    }
    assert_eq!(desk.count(|fact| matches!(fact, Fact::ApprovalRequested(_))), 1);
    assert_eq!(desk.count(|fact| matches!(fact, Fact::BondLocked(_))), 1);
    // The same output under another datum's words pays nothing else.
    let other = desk.price(&two);
    let mut reused = lock(&other, 3);
    reused.at = bond.at;
    assert_eq!(refused(&mut desk, &two, reused), Some(BadBond::Spent));
}

#[test]
fn w8_two_that_fit_alone_do_not_fit_together() {
    let mut desk = Desk::new();
    for (name, expected) in [
        ("a", None),
        ("b", None),
        ("c", None),
        ("d", None),
        ("e", None),
        ("f", Some(Reason::DailyCapExceeded)),
    ] {
        assert_eq!(desk.check(&action(name, 1000)).evaluation.reason, expected, "{name}");
    }
    // The same when the vault's floor is what binds.
    let mut desk = Desk::new();
    desk.chain.balance = 115_000_000;
    assert_eq!(desk.check(&action("a", 1000)).evaluation.outcome, Outcome::Allow);
    assert_eq!(desk.check(&action("b", 1000)).evaluation.reason, Some(Reason::TreasuryFloorViolation));
    // Once the chain shows it, it is not counted twice; read before that, it is not forgotten.
    let mut desk = Desk::new();
    let before = desk.observed();
    let first = desk.check(&action("a", 1000));
    desk.execution(&first, Execution::Confirmed { tx_hash: tx("t"), block_height: 1 }).unwrap();
    let spent = |desk: &mut Desk, name: &str| {
        let row = crate::fixture::row(&desk.check(&action(name, 1)).evaluation, "daily_cap");
        row["detail"]["spent_today"].as_str().unwrap().to_owned()
    };
    assert_eq!(spent(&mut desk, "b"), "10000000");
    (desk.chain.spent, desk.chain.last_nonce) = (10_010_000, 2);
    assert_eq!(spent(&mut desk, "c"), "10010000");
    let mut stale = desk.command(&action("d", 1));
    stale.observed = before;
    assert_eq!(desk.send(stale), Err(Refusal::StaleReading));
}

#[test]
fn w10_the_bond_names_the_mandate() {
    let mut desk = Desk::new();
    let one = action("one", 1800);
    let price = desk.price(&one);
    let mut bond = lock(&price, 0);
    bond.datum.mandate_ref = KeyHash::from_bytes([0; 28]);
    assert_eq!(refused(&mut desk, &one, bond), Some(BadBond::Mandate));
}

#[test]
fn w12_a_mandate_has_a_chain_of_its_own() {
    let mut desk = Desk::new();
    desk.check(&action("one", 842));
    let numbers: Vec<u64> = desk.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=desk.entries.len() as u64).collect::<Vec<_>>());
    for entry in &desk.entries {
        let expected = canon::Digest::of_parts(&[entry.prev.as_bytes(), &entry.bytes]);
        assert_eq!(entry.hash, expected);
    }
}

#[test]
fn w13_what_fails_while_approving_undoes_nothing() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    assert!(matches!(desk.approve(&id), Ok(Reply::Approved { .. })));
    let authorized = desk.state.approval(&id.parse().unwrap()).unwrap().clone();
    let entries = desk.entries.len();
    // A verifier that is down, a stranger, a second opening: none of them takes the authorization back.
    assert!(desk.draft_with(&id, Verification::Unavailable).is_err());
    let stranger = desk.decline_of(&id, DeclineReason::Legitimate, &agent());
    assert!(desk.run(&Command::Decline(Box::new(stranger))).is_err());
    assert!(desk.approve(&id).is_err());
    assert_eq!(desk.entries.len(), entries);
    assert_eq!(desk.state.approval(&id.parse().unwrap()), Some(&authorized));
    assert_eq!(authorized.status, ApprovalStatus::Authorized);
}

#[test]
fn w15_approving_is_no_second_decision_and_junk_is_not_one_action() {
    let mut desk = Desk::new();
    desk.check(&json!({"junk": 1}));
    desk.check(&json!({"junk": 2}));
    let id = desk.ask(&action("one", 1800));
    desk.wait(1_800_000);
    desk.approve(&id).unwrap();
    let mut tally = mandate::metrics::Tally::default();
    desk.events().iter().for_each(|event| tally.fold(event));
    let metrics = tally.metrics();
    assert_eq!((metrics.actions_evaluated, metrics.deny, metrics.escalate), (3, 2, 1));
    assert_eq!(metrics.median_decision_ms, Some(0));
}
