//! Cases 1 to 32 of spec 3.2 as documents: `vectors/claudia/engine.jsonl`, which other engines and `countersign mandate
//! evaluate` can be held to. Cases 33 to 37 are in `shapes`, 38 to 44 in `authorizing`, 45 in `vectors`.

use crate::fixture::{Case, NOW, evidence};
use mandate::Millis;
use mandate::Outcome::{self, Allow, Deny, Escalate, NeedsVerification};
use mandate::Reason;
use serde_json::{Value, json};
use std::path::PathBuf;

fn cases() -> Vec<(u32, &'static str, Case, Outcome, Option<Reason>)> {
    let of = |edit: fn(&mut Value)| Case::of(edit);
    let state = |case: Case, member: &str, value: Value| case.state(member, value);
    let report = |edit: fn(&mut Value)| {
        let mut case = Case::new();
        case.evidence = Some(evidence(&case.action, NOW, edit));
        case
    };
    let mandate = |mut case: Case, edit: fn(&mut Value)| {
        edit(&mut case.mandate);
        case
    };
    let seen = |block_time: u64| {
        let mut case = Case::new();
        case.evidence.as_mut().unwrap().block_time_ms = Millis::try_from(block_time).unwrap();
        case
    };
    let signed = |signature: Option<String>| Case { signature, ..Case::new() };
    let at = |now: u64| {
        let edit: fn(&mut Value) = |m| {
            m["validity"] =
                json!({"starts_at": "2026-10-07T03:00:00Z", "expires_at": "2026-10-07T04:00:00Z"});
        };
        Case { now, ..mandate(Case::new().unverified(), edit) }
    };
    let today = NOW / Millis::DAY;
    let used = |count: u64, day: u64| {
        let case = state(Case::amount(1800), "escalations_today", json!(count));
        state(case, "escalation_day_index", json!(day))
    };
    let rich = |cents: u64, balance: &str| state(Case::amount(cents), "vault_balance", json!(balance));
    let globex: fn(&mut Value) = |a| a["counterparty"]["id"] = json!("globex");
    let junk = Case { action: json!({"nope": true}), evidence: None, signature: None, ..Case::new() };
    let floor = state(Case::amount(900).unverified(), "vault_balance", json!("108580000"));
    let spent = |day: u64| {
        let case = state(Case::amount(900), "spent_today", json!("45000000"));
        state(case, "day_index", json!(day))
    };
    let other_hash = {
        let mut case = Case::new();
        case.evidence.as_mut().unwrap().report_hash = canon::Digest::ZERO;
        case
    };
    vec![
        (1, "no action", junk, Deny, Some(Reason::InvalidProposal)),
        (2, "another mandate", of(|a| a["mandate_id"] = json!("M-999")), Deny, Some(Reason::WrongMandate)),
        (3, "an intruder", of(|a| a["actor"] = json!("intruder")), Deny, Some(Reason::AgentNotDelegate)),
        (4, "a random signature", signed(Some("5a".repeat(64))), Deny, Some(Reason::InvalidAgentSignature)),
        (5, "no signature", signed(None), Allow, None),
        (
            6,
            "revoked on chain",
            state(Case::new(), "anchor_status", json!("revoked")),
            Deny,
            Some(Reason::MandateRevoked),
        ),
        (
            6,
            "revoked by the document",
            mandate(Case::new(), |m| m["status"] = json!("revoked")),
            Deny,
            Some(Reason::MandateRevoked),
        ),
        (
            7,
            "another version on chain",
            state(Case::new(), "anchor_version", json!(4)),
            Deny,
            Some(Reason::MandateVersionMismatch),
        ),
        (8, "a millisecond early", at(NOW - 1), Deny, Some(Reason::MandateNotStarted)),
        (9, "at the end", at(NOW + 3_600_000), Deny, Some(Reason::MandateExpired)),
        (
            10,
            "another purpose",
            of(|a| {
                a["purpose"] = json!("digital_collectibles");
                a["type"] = json!("purchase");
                a["amount"]["value"] = json!("2000000");
            })
            .unverified(),
            Deny,
            Some(Reason::PurposeNotAuthorized),
        ),
        (11, "60 USDM", rich(6000, "500000000"), Deny, Some(Reason::AmountAboveHardCap)),
        (12, "exactly 10", Case::amount(1000), Allow, None),
        (12, "10.01", Case::amount(1001), Escalate, None),
        (12, "exactly 50 of 150", rich(5000, "150000000"), Escalate, None),
        (12, "exactly 50 of 135", Case::amount(5000), Deny, Some(Reason::TreasuryFloorViolation)),
        (12, "50.01", rich(5001, "500000000"), Deny, Some(Reason::AmountAboveHardCap)),
        (13, "no report", Case::new().unverified(), NeedsVerification, None),
        (
            14,
            "the floor before any verification",
            state(floor, "spent_today", json!("26420000")),
            Deny,
            Some(Reason::TreasuryFloorViolation),
        ),
        (15, "18 USDM, verified", Case::amount(1800), Escalate, None),
        (16, "a vendor that is not listed", of(globex), Escalate, None),
        (
            17,
            "the same, 18 USDM",
            of(|a| {
                a["counterparty"]["id"] = json!("globex");
                a["amount"]["value"] = json!("18000000");
            }),
            Escalate,
            None,
        ),
        (18, "45 spent today, and 9", spent(today), Deny, Some(Reason::DailyCapExceeded)),
        (18, "45 spent yesterday, and 9", spent(today - 1), Allow, None),
        (
            21,
            "a mismatch",
            report(|r| {
                r["result"] = json!("MISMATCH");
                r["reason"] = json!("RECIPIENT_MISMATCH");
            }),
            Deny,
            Some(Reason::RecipientMismatch),
        ),
        (
            22,
            "verified with a false fact",
            report(|r| r["facts"]["amount_match"] = json!(false)),
            Deny,
            Some(Reason::AmountMismatch),
        ),
        (
            23,
            "verified for another recipient",
            report(|r| {
                r["verified_recipient"] =
                    json!("addr_test1vqg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygxrcya6");
            }),
            Deny,
            Some(Reason::RecipientMismatch),
        ),
        (
            24,
            "a report and no reference",
            of(|a| drop(a.as_object_mut().unwrap().remove("reference"))),
            Deny,
            Some(Reason::InvoiceNotFound),
        ),
        (25, "ten minutes old", seen(NOW - 600_000), Allow, None),
        (25, "and a millisecond", seen(NOW - 600_001), NeedsVerification, None),
        (26, "a minute ahead", seen(NOW + 60_000), Allow, None),
        (26, "and a millisecond", seen(NOW + 60_001), NeedsVerification, None),
        (
            27,
            "a report for another action",
            report(|r| r["action_hash"] = json!("00".repeat(32))),
            NeedsVerification,
            None,
        ),
        (27, "a report under another hash", other_hash, NeedsVerification, None),
        (28, "two of three asked", used(2, today), Escalate, None),
        (29, "three of three asked", used(3, today), Deny, Some(Reason::InterruptBudgetExhausted)),
        (30, "three asked yesterday", used(3, today - 1), Escalate, None),
        (31, "allowed, with three asked", state(Case::new(), "escalations_today", json!(3)), Allow, None),
        (
            32,
            "nobody may be asked",
            mandate(Case::amount(1800), |m| m["interrupt_budget"]["per_day"] = json!(0)),
            Deny,
            Some(Reason::InterruptBudgetExhausted),
        ),
    ]
}

/// Each case as one line: its inputs as they are given to an engine, and the whole evaluation.
fn lines() -> String {
    let lines: Vec<String> = cases()
        .into_iter()
        .map(|(n, name, case, outcome, reason)| {
            let evaluation = case.gives(outcome, reason);
            let json = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).unwrap();
            let evidence = case.evidence.as_ref().map(|evidence| json(canon::to_vec(evidence).unwrap()));
            let line = json!({
                "n": n, "name": name, "mandate": case.mandate, "action": case.action, "signature": case.signature,
                "state": case.state, "evidence": evidence, "now": case.now,
                "evaluation": json(canon::to_vec(&evaluation).unwrap()),
            });
            line.to_string()
        })
        .collect();
    lines.join("\n") + "\n"
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/claudia/engine.jsonl"))
}

#[test]
fn the_engines_cases_are_the_file() {
    let golden = std::fs::read_to_string(path()).unwrap_or_default();
    let made = lines();
    assert_eq!(golden.lines().count(), made.lines().count());
    for (golden, made) in golden.lines().zip(made.lines()) {
        assert_eq!(golden, made);
    }
}

/// Writes the file anew: `cargo test -p mandate write_engine_cases -- --ignored`.
#[test]
#[ignore = "writes into the source tree"]
fn write_engine_cases() {
    std::fs::write(path(), lines()).unwrap();
    assert!(cases().len() > 35);
}

/// Case 19 and 20: what cannot be read is an error and never an evaluation.
#[test]
fn an_unreadable_state_or_instant_gives_no_evaluation() {
    let check = |member: &str, value: &str| {
        let mut state = crate::fixture::state_json();
        state[member] = json!(value);
        assert!(mandate::Snapshot::read(state.to_string().as_bytes()).is_err(), "{member} {value}");
    };
    for bad in ["", "-1", "0x1"] {
        check("spent_today", bad);
    }
    check("vault_balance", "8f0d180");
    assert!(canon::from_slice::<Millis>(b"NaN").is_err());
}

/// Case 44: an evaluation that is smuggled in with a proposal is not looked at: the action is no action any more.
#[test]
fn a_smuggled_evaluation_is_no_evaluation() {
    let case = Case::of(|action| action["amount"]["value"] = json!("18000000"));
    let smuggled = case.with(|inputs| {
        let mut text = String::from_utf8(inputs.proposal.action.to_vec()).unwrap();
        text.insert_str(1, r#""evaluation":{"outcome":"ALLOW"},"#);
        let proposal = mandate::Proposal { action: text.as_bytes(), ..inputs.proposal };
        mandate::issue(&mandate::Inputs { proposal, ..*inputs }, &crate::authorizing::vault(), 1, None)
    });
    assert_eq!(smuggled, Err(mandate::Refusal::Unissued(mandate::Unissued::NotAuthorizable)));
    let evaluation = case.run();
    assert_eq!(evaluation.outcome, Escalate);
}
