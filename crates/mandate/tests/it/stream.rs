//! The stream of a mandate: cases 46 to 75 of spec 3.2, as far as they are decided here.

use crate::desk::{Desk, action, lock, tx};
use crate::fixture::{NOW, agent, approver};
use ledger::Effect;
use mandate::command::{BondSpent, Command, Execution, Next, Reply, Verification};
use mandate::log::{DeclineReason, Fact};
use mandate::metrics::Tally;
use mandate::price::BondStatus;
use mandate::state::{ApprovalStatus, AuthorizationStatus};
use mandate::{Millis, Outcome, Reason, Refusal, Status};
use serde_json::{Value, json};

#[test]
fn an_allowed_action_is_authorized_once() {
    let mut desk = Desk::new();
    desk.verified = false;
    let one = action("one", 842);
    assert_eq!(desk.check(&one).next, Next::Verify);
    let after = desk.entries.len();
    assert_eq!(desk.check(&one).next, Next::Verify);
    assert_eq!(desk.entries.len(), after, "asked again while it is verified");
    desk.verified = true;
    let checked = desk.check(&one);
    assert_eq!((checked.evaluation.outcome, &checked.next), (Outcome::Allow, &Next::Authorized));
    assert_eq!(
        desk.types(1),
        [
            "RunStarted",
            "ActionProposed",
            "AuthorityEvaluationStarted",
            "AuthorityEvaluated",
            "CREVerificationStarted",
            "CREVerificationCompleted",
            "AuthorityEvaluationStarted",
            "AuthorityEvaluated",
            "AuthorizationIssued",
        ]
    );
    let record = checked.authorization.clone().unwrap();
    assert_eq!(record.verify(), Ok(()));
    let before = desk.entries.len();
    desk.wait(1000);
    assert_eq!(desk.check(&one).authorization, Some(record), "the same record, no new nonce");
    assert_eq!(desk.entries.len(), before);
}

#[test]
fn facts_that_were_asked_for_unsigned_do_not_finish_a_signed_check() {
    let mut desk = Desk::new();
    desk.verified = false;
    let one = action("one", 1800);
    let mut unsigned = desk.command(&one);
    unsigned.agent_signature = None;
    assert_eq!(desk.send(unsigned).unwrap().next, Next::Verify);
    desk.verified = true;
    let id = desk.ask(&one);
    // The log has what was signed, so a person can approve it.
    assert!(desk.state.approval(&id.parse().unwrap()).unwrap().agent_signature.is_some());
    assert!(matches!(desk.approve(&id), Ok(Reply::Approved { authorization: Some(_), .. })));
}

#[test]
fn it_is_released_when_that_is_asked() {
    let mut desk = Desk::new();
    let one = action("one", 842);
    let mut dry = desk.command(&one);
    dry.execute = false;
    let checked = desk.send(dry).unwrap();
    let digest = checked.authorization.as_ref().unwrap().digest_hex;
    let wanted = format!(r#"{{"digest":"{digest}","kind":"release"}}"#);
    assert!(!desk.submitted().contains(&wanted));
    let entries = desk.entries.len();
    desk.check(&one);
    assert!(desk.submitted().contains(&wanted));
    assert_eq!(desk.entries.len(), entries);
    desk.execution(&checked, Execution::Submitted { tx_hash: tx("t") }).unwrap();
    let before = desk.submitted().len();
    desk.check(&one);
    assert_eq!(desk.submitted().len(), before, "under way already");
}

#[test]
fn what_is_not_signed_or_not_allowed_gets_no_authorization() {
    let mut desk = Desk::new();
    let mut unsigned = desk.command(&action("one", 842));
    unsigned.agent_signature = None;
    let checked = desk.send(unsigned).unwrap();
    assert_eq!((checked.evaluation.outcome, checked.authorization), (Outcome::Allow, None));
    let mut unsigned = desk.command(&action("two", 1800));
    unsigned.agent_signature = None;
    assert_eq!(desk.send(unsigned).unwrap().next, Next::Nothing, "nothing is priced");
    assert_eq!(desk.check(&json!({"nope": true})).evaluation.reason, Some(Reason::InvalidProposal));
    assert_eq!(desk.check(&action("three", 6000)).evaluation.reason, Some(Reason::AmountAboveHardCap));
    assert!(desk.state.authorizations().is_empty());
    let denied = desk.count(|fact| matches!(fact, Fact::ActionDenied { .. }));
    assert_eq!(denied, 2);
}

#[test]
fn a_price_is_the_same_until_it_is_paid() {
    let mut desk = Desk::new();
    let one = action("one", 1800);
    let price = desk.price(&one);
    assert_eq!(price.locked_until_ms.get(), NOW + 3_600_000);
    assert_eq!(price.amount.get(), 5_000_000);
    let entries = desk.entries.len();
    desk.wait(60_000);
    assert_eq!(desk.price(&one), price);
    assert_eq!(desk.entries.len(), entries, "asked again, nothing new");
    assert_eq!(desk.state.pending().count(), 0);
    assert_eq!(desk.count(|fact| matches!(fact, Fact::BondRequired { .. })), 1);
    let checked = desk.pay(&one, lock(&price, 0));
    assert_eq!(checked.next, Next::Waiting);
    assert_eq!(checked.bond.unwrap().status, BondStatus::Locked);
    let brief = checked.brief.unwrap();
    let bytes = canon::to_vec(&brief).unwrap();
    assert_eq!(canon::Digest::of(&bytes), brief.hash());
    assert_eq!(desk.state.pending().count(), 1);
    let types = desk.types(entries);
    assert_eq!(types[types.len() - 2..], ["BondLocked", "ApprovalRequested"]);
    // Waiting is waiting.
    let entries = desk.entries.len();
    assert_eq!(desk.check(&one).next, Next::Waiting);
    assert_eq!(desk.entries.len(), entries);
}

#[test]
fn prices_that_nobody_pays_are_not_made_without_end() {
    let mut desk = Desk::new();
    for n in 0..200 {
        desk.price(&action(&format!("a{n}"), 1100));
    }
    let more = desk.command(&action("more", 1100));
    assert_eq!(desk.send(more), Err(Refusal::TooManyPriced { max: 200 }));
    desk.wait(3_600_000);
    desk.run(&Command::Tick).unwrap();
    desk.price(&action("more", 1100));
}

#[test]
fn a_quote_is_owed_by_nobody() {
    let mut desk = Desk::new();
    let mut dry = desk.command(&action("one", 1800));
    dry.execute = false;
    let Next::Quoted(price) = desk.send(dry).unwrap().next else { panic!("a quote") };
    assert_eq!(price.approval_id.as_str(), "quote");
    assert_eq!(desk.count(|fact| matches!(fact, Fact::BondRequired { .. })), 0);
    assert_eq!(desk.state.open().count(), 0);
}

#[test]
fn the_brief_says_what_is_signed() {
    let mut desk = Desk::new();
    desk.ask(&action("one", 1801));
    let brief = desk.state.pending().next().unwrap().brief.clone().unwrap();
    let brief: Value = serde_json::from_slice(&canon::to_vec(&brief).unwrap()).unwrap();
    assert_eq!(brief["what"]["amount"]["display"], "18.01 USDM");
    assert_eq!(brief["engine"]["reason"], "ABOVE_AUTONOMOUS_LIMIT");
    assert_eq!(
        brief["escalation"]["because"],
        json!([{"constraint": "autonomous", "reason": "ABOVE_AUTONOMOUS_LIMIT"}])
    );
    assert_eq!(
        brief["limits"],
        json!({"autonomous_limit": "10000000", "daily_cap": "50000000", "hard_cap": "50000000",
            "treasury_minimum": "100000000"})
    );
    assert_eq!(
        brief["cost"],
        json!({"bond": {"amount": "5000000", "asset": "ADA"}, "interrupt_budget": {"per_day": 3, "used": 0}})
    );
    assert_eq!(brief["verified"]["facts"]["exists"], true);
    assert_eq!(
        brief["will_happen"],
        "Release 18.01 USDM from vault acme-treasury to \
         addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl for AWS (demo vendor) for invoice INV-3821 \
         (in_one). Nothing else is authorized by this signature."
    );
    assert_eq!(brief["expires_at_ms"], NOW + 3_600_000);
}

#[test]
fn amounts_are_exact_at_every_scale() {
    let check = |units: u64, decimals: u8, expected: &str| {
        assert_eq!(mandate::brief::amount(units, decimals), expected);
    };
    check(18_000_000, 6, "18");
    check(8_420_000, 6, "8.42");
    check(1, 6, "0.000001");
    check(0, 6, "0");
    check(7, 0, "7");
    check(100, 0, "100");
    check(u64::MAX, 0, "18446744073709551615");
    check(u64::MAX, 18, "18.446744073709551615");
    check(1, 18, "0.000000000000000001");
    check(u64::MAX, 6, "18446744073709.551615");
}

#[test]
fn three_a_day_and_no_fourth() {
    let mut desk = Desk::new();
    for name in ["one", "two", "three"] {
        desk.ask(&action(name, 1100));
    }
    // Nothing is priced that could not be asked.
    let checked = desk.check(&action("four", 1100));
    assert_eq!(checked.evaluation.reason, Some(Reason::InterruptBudgetExhausted));
    assert_eq!(checked.next, Next::Nothing);
    assert_eq!(desk.state.paged(Millis::try_from(desk.now()).unwrap()), 3);
    // The third can still be approved, and a new day begins anew.
    assert!(matches!(desk.approve("AP-3"), Ok(Reply::Approved { authorization: Some(_), .. })));
    desk.wait(Millis::DAY - NOW % Millis::DAY);
    desk.price(&action("five", 1100));
}

#[test]
fn a_race_for_the_last_slot_loses_no_bond() {
    let mut desk = Desk::with(|mandate| mandate["interrupt_budget"]["per_day"] = json!(1));
    let (one, two) = (action("one", 1100), action("two", 1100));
    let (first, second) = (desk.price(&one), desk.price(&two));
    assert_eq!(desk.pay(&one, lock(&first, 0)).next, Next::Waiting);
    let checked = desk.pay(&two, lock(&second, 0));
    assert_eq!(checked.evaluation.reason, Some(Reason::InterruptBudgetExhausted));
    assert_eq!(checked.bond.unwrap().status, BondStatus::Locked);
    assert_eq!(desk.state.pending().count(), 1, "nobody was asked");
    // It goes back when its time is over.
    desk.wait(3_600_000);
    desk.run(&Command::Tick).unwrap();
    assert!(desk.submitted().contains(&r#"{"approval_id":"AP-2","kind":"refund"}"#.to_owned()));
    desk.bond_spent("AP-2", BondSpent::Refunded { tx_hash: tx("refund") }).unwrap();
    let approval = desk.state.approval(&"AP-2".parse().unwrap()).unwrap();
    assert_eq!((approval.status, approval.owed()), (ApprovalStatus::Expired, None));
}

#[test]
fn approving_gives_one_authorization() {
    let mut desk = Desk::new();
    let one = action("one", 1800);
    let id = desk.ask(&one);
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    let entries = desk.entries.len();
    assert_eq!(desk.draft_with(&id, verification.clone()).unwrap().unwrap(), drafted);
    assert_eq!(desk.entries.len(), entries, "opened twice, drafted once");
    let mut approve = desk.approval_of(&drafted, &approver());
    approve.verification = verification;
    let reply = desk.run(&Command::Approve(Box::new(approve.clone()))).unwrap();
    let Reply::Approved { authorization: Some(record), .. } = &reply else { panic!("{reply:?}") };
    assert!(record.fields.requires_principal);
    assert_eq!(record.digest_hex, drafted.digest);
    assert_eq!(record.verify(), Ok(()));
    let entries = desk.entries.len();
    assert_eq!(desk.run(&Command::Approve(Box::new(approve.clone()))).unwrap(), reply);
    assert_eq!(desk.entries.len(), entries, "approved twice, authorized once");
    let mut forged = approve;
    let approvals::Evidence::Ed25519 { signature, .. } = &mut forged.signed.evidence else { panic!() };
    *signature = "A".repeat(signature.len());
    assert_eq!(desk.run(&Command::Approve(Box::new(forged))), Err(Refusal::BadApproverSignature));
    assert_eq!(desk.check(&one).authorization.as_ref(), Some(record.as_ref()));
    assert!(desk.submitted().contains(&format!(r#"{{"approval_id":"{id}","kind":"refund"}}"#)));
}

#[test]
fn what_has_changed_meanwhile_closes_an_approval() {
    let closed = |change: fn(&mut Desk), reason: Reason| {
        let mut desk = Desk::new();
        let id = desk.ask(&action("one", 1800));
        change(&mut desk);
        match desk.draft(&id).unwrap_err() {
            Reply::Closed { reason: found, .. } => assert_eq!(found, Some(reason)),
            other => panic!("{other:?}"),
        }
        assert_eq!(desk.state.approval(&id.parse().unwrap()).unwrap().status, ApprovalStatus::Closed);
        assert!(desk.state.authorizations().is_empty());
    };
    closed(|desk| desk.chain.balance = 100_000_000, Reason::TreasuryFloorViolation);
    closed(|desk| desk.chain.spent = 40_000_000, Reason::DailyCapExceeded);
    closed(|desk| desk.anchor_status = Status::Revoked, Reason::MandateRevoked);
    closed(|desk| drop(desk.run(&Command::Revoke { version: 4 })), Reason::MandateRevoked);
    // An outage closes nothing (case 63).
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    let outage = desk.draft_with(&id, Verification::Unavailable);
    assert_eq!(outage.err(), Some(Refusal::VerificationNeeded));
    assert_eq!(desk.state.pending().count(), 1);
}

#[test]
fn a_draft_that_no_longer_fits_is_not_signed() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    let mut approve = desk.approval_of(&drafted, &approver());
    approve.verification = verification;
    // The vault has moved past its nonce: the chain would refuse it.
    desk.chain.last_nonce = drafted.fields.nonce.get();
    approve.observed = desk.observed();
    let refused = desk.run(&Command::Approve(Box::new(approve)));
    assert_eq!(refused, Err(Refusal::DraftDiffers));
    let again = desk.draft(&id).unwrap();
    assert!(again.fields.nonce > drafted.fields.nonce);
    // One that is about to end is not signed either.
    desk.wait(Millis::TEN_MINUTES - 60_000);
    let late = desk.approval_of(&again, &approver());
    assert_eq!(desk.run(&Command::Approve(Box::new(late))), Err(Refusal::DraftDiffers));
}

#[test]
fn declining_is_signed_and_decides_the_bond() {
    let check = |reason: DeclineReason, kind: &str| {
        let mut desk = Desk::new();
        let one = action("one", 1800);
        let id = desk.ask(&one);
        let other = match reason {
            DeclineReason::Legitimate => DeclineReason::Frivolous,
            DeclineReason::Frivolous => DeclineReason::Legitimate,
        };
        let mut flipped = desk.decline_of(&id, reason, &approver());
        flipped.reason = other;
        assert_eq!(desk.run(&Command::Decline(Box::new(flipped))), Err(Refusal::OtherStatement));
        let stranger = desk.decline_of(&id, reason, &agent());
        assert_eq!(desk.run(&Command::Decline(Box::new(stranger))), Err(Refusal::NotTheApprover));
        let Ok(Reply::Declined { bond, .. }) = desk.decline(&id, reason) else { panic!("declined") };
        assert_eq!(bond.status, BondStatus::Locked);
        assert!(desk.submitted().contains(&format!(r#"{{"approval_id":"{id}","kind":"{kind}"}}"#)));
        let again = desk.decline(&id, reason);
        assert_eq!(again, Err(Refusal::NotPending { status: "declined" }));
        // The answer stands for this very act.
        assert_eq!(desk.check(&one).evaluation.reason, Some(Reason::PrincipalDeclined));
        let spent = match reason {
            DeclineReason::Legitimate => BondSpent::Refunded { tx_hash: tx("spent") },
            DeclineReason::Frivolous => {
                BondSpent::Captured { tx_hash: tx("spent"), sink_address: "sink".parse().unwrap() }
            }
        };
        desk.bond_spent(&id, spent.clone()).unwrap();
        assert_eq!(desk.bond_spent(&id, spent), Ok(Reply::Done));
        let other = BondSpent::Refunded { tx_hash: tx("other") };
        assert_eq!(desk.bond_spent(&id, other), Err(Refusal::BondNotLocked));
        // A block is gone: the bond is owed again, is asked for, and is spent by whatever lands.
        assert_eq!(desk.state.spent(desk.now().try_into().unwrap()).count(), 1);
        let asked = desk.effects.len();
        desk.bond_spent(&id, BondSpent::Undone).unwrap();
        let row = format!(r#"{{"approval_id":"{id}","kind":"{kind}"}}"#);
        assert!(
            desk.effects[asked..]
                .iter()
                .any(|effect| matches!(effect, Effect::Submit { body, .. } if *body == row))
        );
        assert_eq!(desk.bond_spent(&id, BondSpent::Undone), Ok(Reply::Done));
        assert_eq!(desk.state.open().count(), 1);
        let again = match reason {
            DeclineReason::Legitimate => BondSpent::Refunded { tx_hash: tx("again") },
            DeclineReason::Frivolous => {
                BondSpent::Captured { tx_hash: tx("again"), sink_address: "sink".parse().unwrap() }
            }
        };
        desk.bond_spent(&id, again).unwrap();
        let mut tally = Tally::default();
        desk.events().iter().for_each(|event| tally.fold(event));
        let bonds = tally.metrics().bonds;
        assert_eq!(bonds.refunded + bonds.captured, 1, "the one that was undone counts no more");
        assert_eq!(desk.state.open().count(), 0);
    };
    check(DeclineReason::Legitimate, "refund");
    check(DeclineReason::Frivolous, "capture");
}

#[test]
fn an_hour_ends_it() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("paid", 1800));
    desk.price(&action("unpaid", 1800));
    desk.wait(3_599_999);
    desk.run(&Command::Tick).unwrap();
    assert_eq!(desk.state.pending().count(), 1);
    desk.wait(1);
    assert_eq!(desk.approve(&id), Err(Refusal::NotPending { status: "expired" }));
    desk.run(&Command::Tick).unwrap();
    assert_eq!(desk.state.pending().count(), 0);
    let unpaid = desk.state.approval(&"AP-2".parse().unwrap()).unwrap();
    let bond = unpaid.bond(&desk.mandate);
    assert_eq!((bond.status, bond.tx_hash), (BondStatus::Expired, None));
    assert_eq!(unpaid.owed(), None);
    assert!(desk.submitted().contains(&format!(r#"{{"approval_id":"{id}","kind":"refund"}}"#)));
}

#[test]
fn the_figures_of_a_day() {
    let mut desk = Desk::new();
    desk.check(&action("allowed", 842));
    desk.check(&action("denied", 6000));
    desk.price(&action("unpaid", 1100));
    let approved = desk.ask(&action("approved", 1100));
    desk.approve(&approved).unwrap();
    desk.bond_spent(&approved, BondSpent::Refunded { tx_hash: tx("refund") }).unwrap();
    let frivolous = desk.ask(&action("frivolous", 1100));
    desk.decline(&frivolous, DeclineReason::Frivolous).unwrap();
    let sink_address = "sink".parse().unwrap();
    desk.bond_spent(&frivolous, BondSpent::Captured { tx_hash: tx("capture"), sink_address }).unwrap();
    let mut tally = Tally::default();
    desk.events().iter().for_each(|event| tally.fold(event));
    let metrics: Value = serde_json::from_slice(&canon::to_vec(&tally.metrics()).unwrap()).unwrap();
    assert_eq!(
        metrics,
        json!({"actions_evaluated": 5, "allow": 1, "deny": 1, "escalate": 3, "interruptions_per_100_actions": 40,
            "bonds": {"required": 3, "locked": 2, "refunded": 1, "captured": 1}, "budget_exhausted": 0,
            "median_decision_ms": 0, "fees": {"releases": 0, "bond_spends": 2, "lovelace": 0}})
    );
    let empty: Value = serde_json::from_slice(&canon::to_vec(&Tally::default().metrics()).unwrap()).unwrap();
    assert_eq!(empty["median_decision_ms"], Value::Null);
}

#[test]
fn one_invoice_is_paid_once() {
    let mut desk = Desk::new();
    let same_invoice = |name: &str| {
        let mut one = action(name, 100);
        one["reference"]["invoice_id"] = json!("in_same");
        one
    };
    let first = desk.check(&same_invoice("a"));
    assert_eq!(first.next, Next::Authorized);
    for name in ["b", "c", "d", "e"] {
        let checked = desk.check(&same_invoice(name));
        assert_eq!(checked.evaluation.reason, Some(Reason::InvoiceNotOpen));
        let row = crate::fixture::row(&checked.evaluation, "invoice_facts");
        assert_eq!(
            row["detail"],
            json!({"source": "reservation", "authorization_id": "Z-0001", "holder": "live"})
        );
    }
    desk.execution(&first, Execution::Confirmed { tx_hash: tx("t"), block_height: 9 }).unwrap();
    let checked = desk.check(&same_invoice("a"));
    assert_eq!(checked.evaluation.reason, Some(Reason::InvoiceNotOpen));
    assert_eq!(desk.state.authorizations().len(), 1);
}

#[test]
fn a_number_that_is_not_on_record_needs_no_verifier() {
    let mut desk = Desk::new();
    let mut check = desk.command(&action("one", 842));
    check.verification = Verification::NumberDiffers { on_record: None, evidence: None };
    let checked = desk.send(check).unwrap();
    assert_eq!(checked.evaluation.reason, Some(Reason::InvoiceNotFound));
    assert_eq!(
        crate::fixture::row(&checked.evaluation, "invoice_facts")["detail"],
        json!({"source": "stripe", "invoice_id": "in_one", "invoice_number": "INV-3821", "on_record": null})
    );
    assert!(!desk.types(0).contains(&"CREVerificationStarted".to_owned()));
    let mut check = desk.command(&action("two", 842));
    check.verification = Verification::Unavailable;
    assert_eq!(desk.send(check).unwrap().evaluation.reason, Some(Reason::VerificationUnavailable));
}

#[test]
fn an_authorization_that_was_not_used_ends() {
    let mut desk = Desk::new();
    let one = action("one", 842);
    let first = desk.check(&one);
    assert_eq!(desk.execution(&first, Execution::NotFound), Err(Refusal::ReservationEnding));
    desk.wait(Millis::TEN_MINUTES);
    let retry = desk.command(&one);
    assert_eq!(desk.send(retry), Err(Refusal::ReservationEnding));
    desk.wait(120_001);
    let digest = first.authorization.as_ref().unwrap().digest_hex;
    let retry = desk.command(&one);
    assert_eq!(desk.send(retry), Err(Refusal::ReservationUnclear { digest }));
    desk.run(&Command::Tick).unwrap();
    assert!(desk.submitted().contains(&format!(r#"{{"digest":"{digest}","kind":"reconcile"}}"#)));
    desk.execution(&first, Execution::NotFound).unwrap();
    let rejected = desk.events().into_iter().find_map(|event| match event.fact {
        Fact::TransactionRejected(rejected) => Some(rejected),
        _ => None,
    });
    let rejected = rejected.unwrap();
    assert!(rejected.reservation_released);
    assert_eq!(rejected.invariant.unwrap().as_str(), "EXPIRED");
    let second = desk.check(&one).authorization.unwrap();
    assert_eq!(second.fields.nonce.get(), 2);
    assert_eq!(desk.execution(&first, Execution::NotFound), Err(Refusal::AuthorizationOver));
}

#[test]
fn a_lost_answer_stays_reserved_until_the_chain_tells() {
    let mut desk = Desk::new();
    let one = action("one", 842);
    let first = desk.check(&one);
    desk.execution(&first, Execution::Submitted { tx_hash: tx("t") }).unwrap();
    desk.execution(&first, Execution::Unknown).unwrap();
    assert_eq!(desk.check(&one).authorization, first.authorization, "never authorized twice");
    // It landed, after all; and then the block is gone again.
    desk.execution(&first, Execution::Confirmed { tx_hash: tx("t"), block_height: 5 }).unwrap();
    desk.execution(&first, Execution::Confirmed { tx_hash: tx("t"), block_height: 5 }).unwrap();
    let other = Execution::Confirmed { tx_hash: tx("u"), block_height: 5 };
    assert_eq!(desk.execution(&first, other), Err(Refusal::SettledOtherwise));
    desk.execution(&first, Execution::Unknown).unwrap();
    let digest = first.authorization.as_ref().unwrap().digest_hex;
    assert_eq!(desk.state.authorization(&digest).unwrap().status, AuthorizationStatus::Unknown);
    // A refusal by the chain does not free it either: whoever holds it may try again.
    let error = "script failed".parse().unwrap();
    let refused = Execution::Rejected { tx_hash: None, invariant: "R12".parse().ok(), error };
    desk.execution(&first, refused).unwrap();
    assert_eq!(desk.check(&one).authorization, first.authorization);
}

#[test]
fn a_pause_stops_everything_but_saying_no() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    desk.run(&Command::Pause { reason: "incident".parse().unwrap() }).unwrap();
    let check = desk.command(&action("two", 100));
    assert_eq!(desk.send(check), Err(Refusal::Paused));
    assert_eq!(desk.approve(&id), Err(Refusal::Paused));
    desk.decline(&id, DeclineReason::Legitimate).unwrap();
    desk.run(&Command::Resume).unwrap();
    assert_eq!(desk.check(&action("two", 100)).next, Next::Authorized);
    assert_eq!(desk.run(&Command::Resume), Err(Refusal::NotPaused));
}

#[test]
fn a_later_version_replaces_an_earlier_one() {
    let mut desk = Desk::new();
    assert!(matches!(
        desk.run(&Command::Anchor(Box::new(desk.anchor()))),
        Ok(Reply::Anchored { version: 3, .. })
    ));
    assert_eq!(desk.entries.len(), 1, "nothing new");
    let mut later = crate::fixture::mandate_json();
    later["approvers"][0]["cardano_key_hash"] = json!(crate::desk::key_hash(&approver()).to_string());
    let anchor = |desk: &Desk, json: &Value| {
        let mandate = mandate::Mandate::read(json.to_string().as_bytes()).unwrap();
        let mut anchor = desk.anchor();
        anchor.observed.mandate_hash = mandate.hash();
        anchor.observed.anchor_version = mandate.version;
        anchor.mandate = mandate;
        Command::Anchor(Box::new(anchor))
    };
    later["interrupt_budget"]["per_day"] = json!(9);
    let command = anchor(&desk, &later);
    assert_eq!(desk.run(&command), Err(Refusal::VersionMustGrow { known: 3 }));
    later["version"] = json!(4);
    let command = anchor(&desk, &later);
    assert!(desk.run(&command).is_ok());
    let revoke = |desk: &mut Desk, version: u32| desk.run(&Command::Revoke { version });
    assert_eq!(revoke(&mut desk, 4), Err(Refusal::VersionMustGrow { known: 4 }));
    assert_eq!(revoke(&mut desk, 5), Ok(Reply::Done));
    assert_eq!(desk.run(&command), Err(Refusal::VersionMustGrow { known: 5 }), "it stays revoked");
    later["version"] = json!(6);
    let command = anchor(&desk, &later);
    assert!(desk.run(&command).is_ok());
    // Read with the old version, the anchor is behind.
    let check = desk.command(&action("one", 100));
    assert_eq!(desk.send(check).unwrap().evaluation.reason, Some(Reason::MandateVersionMismatch));
    // A document that is not the anchored one is never evaluated.
    let mut check = desk.command(&action("two", 100));
    check.observed.anchor_version = 6;
    assert_eq!(desk.send(check), Err(Refusal::AnchorDiffers));
}

#[test]
fn a_delayed_action_waits_for_its_time_or_a_veto() {
    let delayed = |mandate: &mut Value| {
        mandate["schema"] = json!("mandate/v0.2");
        mandate["constraints"].as_array_mut().unwrap().push(json!({"id": "wait", "kind": "amount_lte",
            "value": "5000000", "on_violation": "DELAY", "delay_seconds": 900, "approver": "CFO"}));
    };
    let mut desk = Desk::with(delayed);
    let one = action("one", 800);
    assert_eq!(desk.check(&one).next, Next::Delayed);
    let entries = desk.entries.len();
    desk.wait(899_999);
    assert_eq!(desk.check(&one).next, Next::Delayed);
    assert_eq!(desk.entries.len(), entries, "asked again, nothing new");
    desk.wait(1);
    assert_eq!(desk.check(&one).next, Next::Authorized);
    let two = action("two", 800);
    let hash = desk.check(&two).evaluation.action_hash.unwrap();
    let ask_id = format!("veto:{hash}");
    let question = mandate::proof::Question { ask_id: &ask_id, action_hash: hash, brief_hash: hash };
    let veto = |desk: &Desk, signer: &keys::SoftwareSigner| {
        let signed =
            crate::desk::sign(&question, approvals::Decided::Decline, &mandate::proof::VetoBody {}, signer);
        let approvers = desk.approvers.clone();
        Command::Veto(Box::new(mandate::command::Veto { action_hash: hash, signed, approvers }))
    };
    let (strangers, ours) = (veto(&desk, &agent()), veto(&desk, &approver()));
    assert_eq!(desk.run(&strangers), Err(Refusal::NotTheApprover));
    assert_eq!(desk.run(&ours), Ok(Reply::Done));
    desk.wait(900_000);
    assert_eq!(desk.check(&two).evaluation.reason, Some(Reason::Vetoed));
}

#[test]
fn a_quorum_signs_one_draft() {
    let ceo = keys::SoftwareSigner::from_seed(keys::Algorithm::Ed25519, &[6; 32]).unwrap();
    let ceo_hash = crate::desk::key_hash(&ceo).to_string();
    let mut desk = Desk::with(|mandate| {
        mandate["schema"] = json!("mandate/v0.2");
        mandate["quorum"] = json!({"required": 2});
        mandate["approvers"]
            .as_array_mut()
            .unwrap()
            .push(json!({"role": "CEO", "cardano_key_hash": ceo_hash}));
    });
    let id = desk.ask(&action("one", 1800));
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    let sign = |desk: &mut Desk, signer: &keys::SoftwareSigner| {
        let mut approve = desk.approval_of(&drafted, signer);
        approve.verification = verification.clone();
        match desk.run(&Command::Approve(Box::new(approve))) {
            Ok(Reply::Approved { signed, required, authorization }) => {
                (signed, required, authorization.is_some())
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(sign(&mut desk, &ceo), (1, 2, false));
    assert_eq!(sign(&mut desk, &ceo), (1, 2, false), "one person counts once");
    assert_eq!(sign(&mut desk, &approver()), (2, 2, true));
}
