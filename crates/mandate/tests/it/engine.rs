//! Cases 1 to 32 of spec 3.2, and the weaknesses of spec 5.1 that are the engine's.

use crate::fixture::{Case, NOW, evidence, row};
use mandate::Outcome::{self, Allow, Delay, Deny, Escalate, NeedsVerification};
use mandate::{Millis, Reason, Snapshot};
use serde_json::{Value, json};

fn results(case: &Case) -> Vec<(String, String)> {
    let rows = case.run().checks;
    let json: Value = serde_json::from_slice(&canon::to_vec(&rows).unwrap()).unwrap();
    let text = |row: &Value, member: &str| row[member].as_str().unwrap().to_owned();
    json.as_array().unwrap().iter().map(|row| (text(row, "id"), text(row, "result"))).collect()
}

fn required(case: &Case) -> Vec<(String, Reason)> {
    case.run().approvals_required.iter().map(|r| (r.constraint.to_string(), r.reason)).collect()
}

#[test]
fn the_proposal_row() {
    let mut junk = Case::new();
    junk.action = json!({"nope": true});
    let evaluation = junk.gives(Deny, Some(Reason::InvalidProposal));
    assert_eq!(evaluation.action_hash, None);
    assert_eq!(row(&evaluation, "proposal")["detail"], json!({"issues": 1}));
    assert!(results(&junk)[1..].iter().all(|(_, result)| result == "not_evaluated"));

    let other = Case::of(|action| action["mandate_id"] = json!("M-999"));
    let evaluation = other.gives(Deny, Some(Reason::WrongMandate));
    assert_eq!(row(&evaluation, "proposal")["detail"], json!({"mandate_id": "M-999"}));

    let intruder = Case::of(|action| action["actor"] = json!("intruder"));
    let evaluation = intruder.gives(Deny, Some(Reason::AgentNotDelegate));
    assert_eq!(row(&evaluation, "proposal")["detail"], json!({"actor": "intruder"}));

    for signature in ["7".repeat(128), "7".repeat(126), "not hex".to_owned(), String::new()] {
        let mut forged = Case::new();
        forged.signature = Some(signature);
        assert!(!forged.gives(Deny, Some(Reason::InvalidAgentSignature)).signed);
    }
    let mut unsigned = Case::new();
    unsigned.signature = None;
    assert!(!unsigned.gives(Allow, None).signed);
    let evaluation = Case::new().gives(Allow, None);
    let hash = evaluation.action_hash.unwrap().to_string();
    assert_eq!(row(&evaluation, "proposal")["detail"], json!({"action_hash": hash, "signed": true}));
}

#[test]
fn a_delegate_may_sign_either_form_c1() {
    let mut case = Case::new();
    let canonical = canon::canonicalize(case.action.to_string().as_bytes()).unwrap();
    let signature = keys::Signer::sign(&crate::fixture::agent(), &canonical).unwrap();
    case.signature = Some(mandate::text::Hex::from_bytes(*signature.as_bytes()).to_string());
    assert!(case.gives(Allow, None).signed);
    let form = case.with(|inputs| mandate::judge(inputs).form);
    assert_eq!(form, Some(mandate::SignatureForm::CanonicalJson));
    let form = Case::new().with(|inputs| mandate::judge(inputs).form);
    assert_eq!(form, Some(mandate::SignatureForm::DomainSeparated));
}

#[test]
fn another_vault_is_not_this_mandates_d39() {
    Case::new().state("vault", json!("acme-treasury")).gives(Allow, None);
    let other = Case::new().state("vault", json!("other"));
    let evaluation = other.gives(Deny, Some(Reason::WrongMandate));
    assert_eq!(row(&evaluation, "proposal")["detail"], json!({"vault": "acme-treasury"}));
}

#[test]
fn the_mandate_row() {
    let mut revoked = Case::new();
    revoked.mandate["status"] = json!("revoked");
    revoked.gives(Deny, Some(Reason::MandateRevoked));
    Case::new().state("anchor_status", json!("revoked")).gives(Deny, Some(Reason::MandateRevoked));
    Case::new().state("anchor_version", json!(4)).gives(Deny, Some(Reason::MandateVersionMismatch));
    let at = |now: u64| {
        let mut case = Case::new();
        case.now = now;
        case.mandate["validity"] =
            json!({"starts_at": "2026-10-07T03:00:00Z", "expires_at": "2026-10-07T03:00:01.5009Z"});
        case
    };
    at(NOW - 1).gives(Deny, Some(Reason::MandateNotStarted));
    at(NOW).gives(Allow, None);
    at(NOW + 1499).gives(Allow, None);
    at(NOW + 1500).gives(Deny, Some(Reason::MandateExpired));
}

#[test]
fn what_is_not_mentioned_is_denied() {
    let without = |id: &str, action: fn(&mut Value)| {
        let mut case = Case::of(action);
        case.mandate["constraints"].as_array_mut().unwrap().retain(|c| c["id"] != id);
        case
    };
    let purchase = |action: &mut Value| action["type"] = json!("purchase");
    without("action", |_| {}).gives(Allow, None);
    without("action", purchase).gives(Deny, Some(Reason::ActionNotAuthorized));
    Case::of(purchase).gives(Deny, Some(Reason::ActionNotAuthorized));
    let euros = |action: &mut Value| action["amount"]["asset"] = json!("EURM");
    without("asset", euros).gives(Deny, Some(Reason::AssetNotAuthorized));
    let evaluation = Case::of(euros).gives(Deny, Some(Reason::AssetNotAuthorized));
    assert_eq!(row(&evaluation, "asset")["result"], "fail");
}

#[test]
fn limits_and_their_edges() {
    let check = |cents: u64, balance: &str, outcome: Outcome, reason: Option<Reason>| {
        Case::amount(cents).state("vault_balance", json!(balance)).gives(outcome, reason)
    };
    check(1000, "135000000", Allow, None);
    check(1001, "135000000", Escalate, None);
    check(5000, "150000000", Escalate, None);
    check(5000, "135000000", Deny, Some(Reason::TreasuryFloorViolation));
    check(5001, "500000000", Deny, Some(Reason::AmountAboveHardCap));
    let evaluation = check(6000, "500000000", Deny, Some(Reason::AmountAboveHardCap));
    assert_eq!(evaluation.approvals_required.len(), 1);
    assert_eq!(evaluation.approvals_required[0].reason, Reason::AboveAutonomousLimit);
    assert_eq!(row(&evaluation, "hard_cap")["detail"], json!({"amount": "60000000", "limit": "50000000"}));
    // Below zero is written, not wrapped.
    let evaluation = check(5000, "0", Deny, Some(Reason::TreasuryFloorViolation));
    assert_eq!(
        row(&evaluation, "treasury_floor")["detail"],
        json!({"after": "-50000000", "amount": "50000000", "balance": "0", "minimum": "100000000"})
    );
}

#[test]
fn a_purpose_that_is_not_listed_ends_it() {
    let case = Case::of(|action| {
        action["purpose"] = json!("digital_collectibles");
        action["type"] = json!("purchase");
        action["amount"]["value"] = json!("2000000");
    });
    case.gives(Deny, Some(Reason::PurposeNotAuthorized));
    let failed: Vec<_> = results(&case).into_iter().filter(|(_, result)| result == "fail").collect();
    assert_eq!(failed, [("purpose".to_owned(), "fail".to_owned())]);
    assert!(results(&case).contains(&("action".to_owned(), "not_evaluated".to_owned())));
}

#[test]
fn facts_must_be_verified() {
    let evaluation = Case::amount(842).unverified().gives(NeedsVerification, None);
    assert_eq!(row(&evaluation, "invoice_facts")["result"], "pending");
    assert_eq!(row(&evaluation, "invoice_facts")["detail"], json!({"source": "stripe"}));
    assert_eq!(row(&evaluation, "interrupt_budget")["result"], "not_evaluated");
    // The floor is found before anybody is asked to verify.
    Case::amount(900)
        .unverified()
        .state("vault_balance", json!("108580000"))
        .state("spent_today", json!("26420000"))
        .gives(Deny, Some(Reason::TreasuryFloorViolation));
    let evaluation = Case::amount(1800).gives(Escalate, None);
    assert_eq!(row(&evaluation, "invoice_facts")["result"], "pass");
    assert_eq!(row(&evaluation, "autonomous")["result"], "ESCALATE");
}

#[test]
fn escalations_are_collected_in_order() {
    let globex = |cents: u64| {
        Case::of(|action| {
            action["counterparty"]["id"] = json!("globex");
            action["amount"]["value"] = json!((cents * 10_000).to_string());
        })
    };
    globex(842).gives(Escalate, None);
    assert_eq!(required(&globex(842)), [("counterparty".to_owned(), Reason::CounterpartyNotApproved)]);
    assert_eq!(
        required(&globex(1800)),
        [
            ("counterparty".to_owned(), Reason::CounterpartyNotApproved),
            ("autonomous".to_owned(), Reason::AboveAutonomousLimit)
        ]
    );
}

#[test]
fn the_day_counts_what_was_spent() {
    let spent =
        |day: u64| Case::amount(900).state("spent_today", json!("45000000")).state("day_index", json!(day));
    let today = NOW / 86_400_000;
    let evaluation = spent(today).gives(Deny, Some(Reason::DailyCapExceeded));
    assert_eq!(
        row(&evaluation, "daily_cap")["detail"],
        json!({"after": "54000000", "amount": "9000000", "cap": "50000000", "spent_today": "45000000"})
    );
    spent(today - 1).gives(Allow, None);
    spent(today + 1).gives(Deny, Some(Reason::DailyCapExceeded));
}

#[test]
fn a_malformed_state_is_an_error_and_never_zero() {
    let check = |member: &str, value: Value| {
        let mut state = crate::fixture::state_json();
        state[member] = value;
        assert!(Snapshot::read(state.to_string().as_bytes()).is_err(), "{state}");
    };
    for bad in [json!(""), json!("-1"), json!("0x1"), json!(0), json!(null), json!("18446744073709551616")] {
        check("spent_today", bad.clone());
        check("vault_balance", bad.clone());
        check("last_nonce", bad);
    }
    check("anchor_version", json!(0));
    check("anchor_status", json!("unknown"));
    check("day_index", json!(-1));
    check("escalations_today", json!(null));
    check("else", json!(1));
    let mut short = crate::fixture::state_json();
    short.as_object_mut().unwrap().remove("spent_today");
    assert!(Snapshot::read(short.to_string().as_bytes()).is_err());
    // An instant is a whole number of milliseconds.
    for (text, good) in
        [("NaN", false), ("1.5", false), ("-1", false), ("9007199254740992", false), ("0", true)]
    {
        assert_eq!(canon::from_slice::<Millis>(text.as_bytes()).is_ok(), good, "{text}");
    }
}

#[test]
fn each_fact_has_its_reason() {
    let check = |edit: fn(&mut Value), expected: Option<Reason>| {
        let mut case = Case::new();
        case.evidence = Some(evidence(&case.action, NOW, edit));
        match expected {
            Some(reason) => case.gives(Deny, Some(reason)),
            None => case.gives(NeedsVerification, None),
        };
    };
    check(
        |r| {
            r["result"] = json!("MISMATCH");
            r["reason"] = json!("RECIPIENT_MISMATCH");
        },
        Some(Reason::RecipientMismatch),
    );
    for (fact, reason) in [
        ("exists", Reason::InvoiceNotFound),
        ("customer_match", Reason::CustomerMismatch),
        ("status_open", Reason::InvoiceNotOpen),
        ("amount_match", Reason::AmountMismatch),
        ("currency_match", Reason::CurrencyMismatch),
        ("recipient_match", Reason::RecipientMismatch),
    ] {
        let mut case = Case::new();
        case.evidence = Some(evidence(&case.action, NOW, |r| r["facts"][fact] = json!(false)));
        case.gives(Deny, Some(reason));
    }
    let other = "addr_test1vqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygxrcya6";
    check(|r| r["verified_recipient"] = json!(null), Some(Reason::RecipientMismatch));
    let mut case = Case::new();
    case.evidence = Some(evidence(&case.action, NOW, |r| r["verified_recipient"] = json!(other)));
    case.gives(Deny, Some(Reason::RecipientMismatch));
    check(|r| r["verified_amount"] = json!("8420001"), Some(Reason::AmountMismatch));
    check(|r| r["verified_currency"] = json!("eur"), Some(Reason::CurrencyMismatch));
    check(|r| r["verified_currency"] = json!(null), Some(Reason::CurrencyMismatch));
    check(|r| r["invoice_id"] = json!("in_other"), Some(Reason::InvoiceNotFound));
    // Of no use: another action's, malformed, with a reason beside VERIFIED.
    check(|r| r["action_hash"] = json!("00".repeat(32)), None);
    check(|r| r["reason"] = json!("AMOUNT_MISMATCH"), None);
    check(|r| r["extra"] = json!(1), None);
    check(|r| r["result"] = json!("MISMATCH"), None);
    let mut lying = Case::new();
    lying.evidence.as_mut().unwrap().report_hash = canon::Digest::ZERO;
    lying.gives(NeedsVerification, None);
    let unreferenced = Case::of(|action| {
        action.as_object_mut().unwrap().remove("reference");
    });
    unreferenced.gives(Deny, Some(Reason::InvoiceNotFound));
}

#[test]
fn a_report_is_fresh_for_ten_minutes() {
    let check = |block_time: u64, expected: Outcome| {
        let mut case = Case::new();
        case.evidence.as_mut().unwrap().block_time_ms = Millis::try_from(block_time).unwrap();
        case.gives(expected, None);
    };
    check(NOW - 600_000, Allow);
    check(NOW - 600_001, NeedsVerification);
    check(NOW + 60_000, Allow);
    check(NOW + 60_001, NeedsVerification);
}

#[test]
fn interruptions_are_counted() {
    let used = |used: u64, day: u64| {
        Case::amount(1800).state("escalations_today", json!(used)).state("escalation_day_index", json!(day))
    };
    let today = NOW / 86_400_000;
    let evaluation = used(2, today).gives(Escalate, None);
    assert_eq!(
        row(&evaluation, "interrupt_budget")["detail"],
        json!({"per_day": 3, "remaining": 0, "used": 2})
    );
    let evaluation = used(3, today).gives(Deny, Some(Reason::InterruptBudgetExhausted));
    assert_eq!(evaluation.approvals_required.len(), 1);
    assert_eq!(row(&evaluation, "interrupt_budget")["detail"], json!({"per_day": 3, "used": 3}));
    used(3, today - 1).gives(Escalate, None);
    let evaluation = Case::new().state("escalations_today", json!(3)).gives(Allow, None);
    assert_eq!(row(&evaluation, "interrupt_budget")["result"], "not_evaluated");
    let mut never = Case::amount(1800);
    never.mandate["interrupt_budget"]["per_day"] = json!(0);
    never.gives(Deny, Some(Reason::InterruptBudgetExhausted));
}

#[test]
fn w8_what_is_under_way_counts() {
    let case = |in_flight: &str| Case::amount(900).state("in_flight", json!(in_flight));
    case("26000000").gives(Allow, None);
    let evaluation = case("26000001").gives(Deny, Some(Reason::TreasuryFloorViolation));
    assert_eq!(row(&evaluation, "treasury_floor")["detail"]["in_flight"], "26000001");
    let rich = |in_flight: &str| case(in_flight).state("vault_balance", json!("900000000"));
    rich("41000000").gives(Allow, None);
    rich("41000001").gives(Deny, Some(Reason::DailyCapExceeded));
    // It counts on the day after, too: it may be released then.
    rich("41000001")
        .state("day_index", json!(NOW / 86_400_000 - 1))
        .gives(Deny, Some(Reason::DailyCapExceeded));
}

#[test]
fn w14_facts_that_come_first_hide_no_denial() {
    let mut case = Case::amount(6000).unverified();
    case.mandate["constraints"].as_array_mut().unwrap().rotate_right(1);
    assert_eq!(case.mandate["constraints"][0]["kind"], "verified_facts");
    let evaluation = case.gives(Deny, Some(Reason::AmountAboveHardCap));
    assert_eq!(row(&evaluation, "invoice_facts")["result"], "pending");
    let mut case = Case::new().unverified();
    case.mandate["constraints"].as_array_mut().unwrap().rotate_right(1);
    let evaluation = case.gives(NeedsVerification, None);
    assert_eq!(row(&evaluation, "treasury_floor")["result"], "pass");
}

fn v02(case: &mut Case, constraint: Value) {
    case.mandate["schema"] = json!("mandate/v0.2");
    case.mandate["constraints"].as_array_mut().unwrap().push(constraint);
}

#[test]
fn windows_count_what_was_spent_in_them() {
    let history = json!([
        {"amount": "4000000", "at_ms": NOW - 3_600_000, "counterparty": "aws"},
        {"amount": "2000000", "at_ms": NOW - 3_599_999, "counterparty": "aws"},
        {"amount": "1000000", "at_ms": NOW - 1, "counterparty": "stripe"},
    ]);
    let check = |constraint: Value, expected: Option<Reason>, spent: &str| {
        let mut case = Case::amount(800).state("history", history.clone());
        v02(&mut case, constraint);
        let evaluation = case.gives(if expected.is_some() { Deny } else { Allow }, expected);
        assert_eq!(row(&evaluation, "window")["detail"]["spent"], spent);
    };
    let rolling = |value: &str, seconds: u32| {
        json!({"id": "window", "kind": "rolling_spend_lte", "value": value, "window_seconds": seconds,
            "on_violation": "DENY"})
    };
    check(rolling("11000000", 3600), None, "3000000");
    check(rolling("10999999", 3600), Some(Reason::RollingCapExceeded), "3000000");
    check(rolling("11000000", 3660), Some(Reason::RollingCapExceeded), "7000000");
    let each = |value: &str, who: Option<&str>| {
        let mut constraint = rolling(value, 3600);
        constraint["kind"] = json!("counterparty_spend_lte");
        if let Some(who) = who {
            constraint["counterparty"] = json!(who);
        }
        constraint
    };
    check(each("10000000", None), None, "2000000");
    check(each("9999999", None), Some(Reason::CounterpartyCapExceeded), "2000000");
    check(each("1", Some("stripe")), None, "2000000");
    check(each("1", Some("aws")), Some(Reason::CounterpartyCapExceeded), "2000000");
}

#[test]
fn a_delay_passes_unless_somebody_objects() {
    let case = |delay: Option<(u64, bool)>| {
        let mut case = Case::amount(800);
        v02(
            &mut case,
            json!({"id": "wait", "kind": "amount_lte", "value": "5000000", "on_violation": "DELAY",
                "delay_seconds": 900, "approver": "CFO"}),
        );
        if let Some((since, vetoed)) = delay {
            case.state["delay"] = json!({"since_ms": since, "vetoed": vetoed});
        }
        case
    };
    let evaluation = case(None).gives(Delay, None);
    assert_eq!(evaluation.delayed_until_ms.unwrap().get(), NOW + 900_000);
    assert_eq!(row(&evaluation, "wait")["reason"], "ABOVE_DELAY_LIMIT");
    case(Some((NOW - 899_999, false))).gives(Delay, None);
    case(Some((NOW - 900_000, false))).gives(Allow, None);
    case(Some((NOW - 900_000, true))).gives(Deny, Some(Reason::Vetoed));
    // A person who signs need not wait as well; what is denied is denied.
    let mut escalated = case(None);
    escalated.mandate["constraints"][4]["value"] = json!("7000000");
    assert_eq!(escalated.gives(Escalate, None).delayed_until_ms, None);
    let mut denied = case(None);
    denied.state["vault_balance"] = json!("1");
    denied.gives(Deny, Some(Reason::TreasuryFloorViolation));
}
