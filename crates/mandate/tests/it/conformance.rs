//! Which test plays which case of spec 3.2 and which weakness of spec 5.1: every number has one, and every test named is there.

use std::collections::BTreeSet;
use std::path::Path;

/// The numbers, the crate's tests, the file, the test.
type Listed = (&'static [u32], &'static str, &'static str);

const HERE: &str = "crates/mandate/tests/it";
const CHAIN: &str = "crates/chain/tests/it";
const SERVER: &str = "crates/server/tests/it/mandates";

#[rustfmt::skip]
const CASES: [(&str, Listed); 63] = [
    (HERE, (&[
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    ], "cases", "the_engines_cases_are_the_file")),
    (HERE, (&[19, 20], "cases", "an_unreadable_state_or_instant_gives_no_evaluation")),
    (HERE, (&[33], "shapes", "actions_are_read_strictly")),
    (HERE, (&[34], "shapes", "mandates_are_read_strictly")),
    (HERE, (&[35], "shapes", "mandates_keep_the_cross_rules")),
    (HERE, (&[36], "shapes", "a_hash_is_of_the_canonical_form")),
    (HERE, (&[37], "shapes", "a_verified_report_gives_no_reason")),
    (HERE, (&[38, 42], "authorizing", "an_allowed_action_is_authorized")),
    (HERE, (&[39, 41, 43], "authorizing", "what_was_not_allowed_is_not_authorized")),
    (HERE, (&[40], "authorizing", "an_escalated_action_needs_a_fresh_approval_of_itself")),
    (HERE, (&[44], "cases", "a_smuggled_evaluation_is_no_evaluation")),
    (HERE, (&[45], "vectors", "authorizations")),
    (SERVER, (&[46, 47], "asking", "case_46_47_an_escalation_is_priced_once")),
    (SERVER, (&[48], "asking", "case_48_what_does_not_pay_is_402_at_the_same_price")),
    (SERVER, (&[49], "asking", "case_49_a_paid_price_asks_the_person")),
    (SERVER, (&[50], "asking", "case_50_a_refund_address_gives_the_datum")),
    (SERVER, (&[51], "asking", "case_51_a_signed_lock_is_submitted_for_the_agent")),
    (SERVER, (&[52], "facilitating", "case_52_what_a_facilitator_refuses_is_not_settled")),
    (SERVER, (&[53, 55, 56], "asking", "case_53_55_56_only_those_who_were_asked_count")),
    (SERVER, (&[54], "asking", "case_54_the_last_interruption_is_sold_once")),
    (SERVER, (&[57], "deciding", "case_57_the_last_of_the_budget_can_be_approved")),
    (SERVER, (&[58], "asking", "case_58_what_is_not_there")),
    (SERVER, (&[59], "deciding", "case_59_approving_twice_is_approving_once")),
    (SERVER, (&[60], "deciding", "case_60_what_no_longer_fits_is_closed")),
    (SERVER, (&[61, 62], "deciding", "case_61_62_a_log_that_was_changed_signs_nothing")),
    (SERVER, (&[63], "deciding", "case_63_an_outage_closes_nothing")),
    (SERVER, (&[64], "deciding", "case_64_w9_an_execution_is_of_this_release_and_once")),
    (SERVER, (&[65], "deciding", "case_65_a_decline_is_signed_for_this_and_nothing_else")),
    (SERVER, (&[66], "deciding", "case_66_the_approver_is_the_anchors")),
    (SERVER, (&[67], "deciding", "case_67_a_bond_goes_where_the_approver_said")),
    (SERVER, (&[68], "settling", "case_68_an_hour_passes_and_nobody_looks")),
    (SERVER, (&[69], "deciding", "case_69_the_figures_of_a_day")),
    (SERVER, (&[70], "asking", "case_70_one_invoice_is_paid_once")),
    (SERVER, (&[71], "asking", "case_71_another_number_is_not_verified")),
    (SERVER, (&[72], "asking", "case_72_masumi_has_nothing_executed")),
    (SERVER, (&[73], "asking", "case_73_plain_english_is_nobodys_word")),
    (SERVER, (&[74], "asking", "case_74_idempotency")),
    (SERVER, (&[75], "settling", "case_75_what_expires_is_looked_for_before_it_is_issued_again")),
    (CHAIN, (&[76, 77], "vaults", "r0_r1_the_vault_itself_and_alone")),
    (CHAIN, (&[78], "vaults", "r2_the_one_anchor")),
    (CHAIN, (&[79], "vaults", "r3_revoked")),
    (CHAIN, (&[80, 81], "vaults", "r4_r5_this_mandate_and_this_vault")),
    (CHAIN, (&[82], "vaults", "r6_the_engines_signature_over_these_fields")),
    (CHAIN, (&[83], "vaults", "r7_in_time")),
    (CHAIN, (&[84, 85, 86], "vaults", "r8_to_r10_once_this_asset_below_the_cap")),
    (CHAIN, (&[87], "vaults", "r11_above_the_limit_a_person_signs")),
    (CHAIN, (&[88], "vaults", "r12_the_days_spending")),
    (CHAIN, (&[88], "vaults", "r12_r13_the_day_is_that_of_the_start")),
    (CHAIN, (&[89], "vaults", "r13_the_vault_goes_on_as_it_must")),
    (CHAIN, (&[90, 91], "vaults", "r14_r15_nothing_else_leaves")),
    (CHAIN, (&[92], "vaults", "r16_the_exact_recipient")),
    (CHAIN, (&[93], "openings", "deposits_only_add")),
    (CHAIN, (&[94], "openings", "only_the_principal_withdraws")),
    (CHAIN, (&[95], "openings", "a_vault_is_opened_once_empty_by_the_principal")),
    (CHAIN, (&[96], "anchors", "an_anchor_is_minted_once_active_and_valid_by_its_principal")),
    (CHAIN, (&[96], "anchors", "updates_grow_and_are_the_principals")),
    (CHAIN, (&[96], "anchors", "revoking_changes_nothing_else_and_can_be_undone")),
    (CHAIN, (&[96], "anchors", "only_the_token_makes_an_anchor")),
    (CHAIN, (&[97], "bonds", "after_its_hour_anybody_gives_a_bond_back")),
    (CHAIN, (&[97], "bonds", "nobody_takes_a_bond")),
    (CHAIN, (&[97], "bonds", "time_gives_back_and_never_captures")),
    (CHAIN, (&[97], "bonds", "one_payment_is_one_bond")),
    (CHAIN, (&[97], "bonds", "a_token_bond_needs_its_token")),
];

#[rustfmt::skip]
const WEAKNESSES: [(&str, Listed); 20] = [
    (HERE, (&[1], "weaknesses", "w1_a_bond_stays_as_long_as_was_sold")),
    (HERE, (&[2], "weaknesses", "w2_what_nobody_paid_for_is_not_counted")),
    (HERE, (&[3], "weaknesses", "w3_nobody_approves_but_the_approver")),
    (SERVER, (&[3], "callers", "nobody_but_the_approver_authorizes")),
    (HERE, (&[4], "weaknesses", "w4_a_bond_that_is_owed_is_asked_for_until_it_is_spent")),
    (HERE, (&[5], "weaknesses", "w5_a_price_past_its_time_is_made_anew")),
    (HERE, (&[6], "weaknesses", "w6_the_very_output_counts_and_pays_once")),
    (SERVER, (&[7], "cardano", "w7_what_a_person_signs_is_paid_and_the_bond_goes_back_with_it")),
    (HERE, (&[8], "engine", "w8_what_is_under_way_counts")),
    (HERE, (&[8], "weaknesses", "w8_two_that_fit_alone_do_not_fit_together")),
    (SERVER, (&[9], "deciding", "case_64_w9_an_execution_is_of_this_release_and_once")),
    (CHAIN, (&[9], "bonds", "a_witness_is_checked_before_it_is_taken")),
    (HERE, (&[10], "weaknesses", "w10_the_bond_names_the_mandate")),
    (CHAIN, (&[11], "anchors", "an_anchor_is_minted_once_active_and_valid_by_its_principal")),
    (HERE, (&[12], "weaknesses", "w12_a_mandate_has_a_chain_of_its_own")),
    (HERE, (&[13], "weaknesses", "w13_what_fails_while_approving_undoes_nothing")),
    (HERE, (&[14], "engine", "w14_facts_that_come_first_hide_no_denial")),
    (HERE, (&[15], "weaknesses", "w15_approving_is_no_second_decision_and_junk_is_not_one_action")),
    (SERVER, (&[16], "callers", "w16_what_waits_for_an_approver_is_not_public")),
    (SERVER, (&[17], "cardano", "w17_what_the_fee_wallet_pays_for_is_told")),
];

#[test]
fn every_case_has_a_test() {
    listed(&CASES, 97);
    listed(&WEAKNESSES, 17);
}

/// The cases that are one file say their own numbers, and those on chain say them where they fail.
#[test]
fn the_files_of_cases_have_their_numbers() {
    let engine = read("vectors/claudia/engine.jsonl");
    let played: BTreeSet<u32> = engine
        .lines()
        .filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["n"].as_u64().map(|number| u32::try_from(number).unwrap())
        })
        .collect();
    for (folder, (numbers, file, _)) in CASES {
        let text = read(&format!("{folder}/{file}.rs"));
        for number in numbers {
            match file {
                "cases" if *number <= 32 && !matches!(number, 19 | 20) => {
                    assert!(played.contains(number), "case {number} is not in the file");
                }
                "vaults" | "openings" | "anchors" | "bonds" => {
                    assert!(text.contains(&format!("\"{number}")), "case {number} is not told in {file}");
                }
                _ => {}
            }
        }
    }
}

fn listed(all: &[(&str, Listed)], last: u32) {
    let numbers: BTreeSet<u32> = all.iter().flat_map(|(_, (numbers, ..))| numbers.iter().copied()).collect();
    let missing: Vec<u32> = (1..=last).filter(|number| !numbers.contains(number)).collect();
    assert!(missing.is_empty() && numbers.len() == last as usize, "no test plays {missing:?}");
    for (folder, (numbers, file, test)) in all {
        let text = read(&format!("{folder}/{file}.rs"));
        let there = text.split_once(&format!("fn {test}()"));
        let (before, _) = there.unwrap_or_else(|| panic!("{numbers:?}: {file} has no {test}"));
        let above = before.rsplit_once("\n}\n").map_or(before, |(_, above)| above);
        assert!(
            above.contains("#[test]") || above.contains("#[tokio::test"),
            "{numbers:?}: {test} is no test"
        );
        assert!(!above.contains("#[ignore"), "{numbers:?}: {test} is not run");
    }
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
