//! What may never happen, tried at random: against a naive twin of the engine, and a vault that keeps its own rules.

use crate::desk::{Desk, Vault, action, lock, tx};
use crate::fixture::{Case, NOW, evidence, mandate_json, state_json};
use mandate::command::{Checked, Command, Execution, Next};
use mandate::log::{DeclineReason, Fact};
use mandate::price::Price;
use mandate::state::AuthorizationStatus;
use mandate::{HashedAction, Mandate, Millis, Outcome, Reason, Report, Snapshot};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const DAY: u64 = Millis::DAY;

/// What one evaluation of the fixture's mandate depends on.
#[derive(Debug, Clone)]
struct Inputs {
    amount: u64,
    spent: u64,
    yesterday: bool,
    balance: u64,
    in_flight: u64,
    used: u32,
    listed: bool,
    purpose: bool,
    purchase: bool,
    verified: bool,
    honest: bool,
    active: bool,
}

fn units() -> impl Strategy<Value = u64> {
    // Mostly near the limits: 10, 50 and 100 USDM.
    prop_oneof![
        (0..130_u64, 0..3_u64).prop_map(|(usdm, off)| (usdm * 1_000_000 + off).saturating_sub(1)),
        any::<u64>(),
        Just(u64::MAX),
    ]
}

fn inputs() -> impl Strategy<Value = Inputs> {
    (
        (units().prop_map(|amount| amount.max(1)), units(), any::<bool>(), units()),
        (prop_oneof![Just(0), units()], 0..5_u32, prop::bool::weighted(0.8), prop::bool::weighted(0.9)),
        (
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.9),
            prop::bool::weighted(0.9),
            prop::bool::weighted(0.9),
        ),
    )
        .prop_map(|((amount, spent, yesterday, balance), (in_flight, used, listed, purpose), rest)| {
            let (purchase, verified, honest, active) = rest;
            Inputs {
                amount,
                spent,
                yesterday,
                balance,
                in_flight,
                used,
                listed,
                purpose,
                purchase,
                verified,
                honest,
                active,
            }
        })
}

/// The rules in the plainest words.
fn twin(i: &Inputs) -> (Outcome, Option<Reason>) {
    let deny = |reason| (Outcome::Deny, Some(reason));
    let wide = i128::from;
    let spent = if i.yesterday { 0 } else { wide(i.spent) };
    if !i.active {
        return deny(Reason::MandateRevoked);
    }
    if !i.purpose {
        return deny(Reason::PurposeNotAuthorized);
    }
    if i.purchase {
        return deny(Reason::ActionNotAuthorized);
    }
    if i.amount > 50_000_000 {
        return deny(Reason::AmountAboveHardCap);
    }
    if spent + wide(i.in_flight) + wide(i.amount) > 50_000_000 {
        return deny(Reason::DailyCapExceeded);
    }
    if wide(i.balance) - wide(i.in_flight) - wide(i.amount) < 100_000_000 {
        return deny(Reason::TreasuryFloorViolation);
    }
    if !i.verified {
        return (Outcome::NeedsVerification, None);
    }
    if !i.honest {
        return deny(Reason::AmountMismatch);
    }
    if i.listed && i.amount <= 10_000_000 {
        return (Outcome::Allow, None);
    }
    if i.used >= 3 { deny(Reason::InterruptBudgetExhausted) } else { (Outcome::Escalate, None) }
}

fn case(i: &Inputs) -> Case {
    let mut case = Case::new();
    case.signature = None;
    case.action["amount"]["value"] = json!(i.amount.to_string());
    case.action["counterparty"]["id"] = json!(if i.listed { "aws" } else { "globex" });
    case.action["purpose"] = json!(if i.purpose { "invoice_payment" } else { "gifts" });
    case.action["type"] = json!(if i.purchase { "purchase" } else { "pay_invoice" });
    let today = NOW / DAY;
    case.state["spent_today"] = json!(i.spent.to_string());
    case.state["day_index"] = json!(if i.yesterday { today - 1 } else { today });
    case.state["vault_balance"] = json!(i.balance.to_string());
    case.state["in_flight"] = json!(i.in_flight.to_string());
    case.state["escalations_today"] = json!(i.used);
    case.state["anchor_status"] = json!(if i.active { "active" } else { "revoked" });
    case.evidence = i
        .verified
        .then(|| evidence(&case.action, NOW, |report| report["facts"]["amount_match"] = json!(i.honest)));
    case
}

const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Deny => 0,
        Outcome::NeedsVerification => 1,
        Outcome::Escalate => 2,
        Outcome::Delay => 3,
        Outcome::Allow => 4,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_engine_is_its_twin(i in inputs()) {
        let evaluation = case(&i).run();
        prop_assert_eq!((evaluation.outcome, evaluation.reason), twin(&i));
    }

    /// A stricter mandate never allows more.
    #[test]
    fn authority_never_widens(i in inputs(), which in 0..9_usize, cut in 1..60_u64) {
        let case = case(&i);
        let loose = case.run().outcome;
        let mut strict = case;
        let constraint = &mut strict.mandate["constraints"][which];
        if let Some(values) = constraint["values"].as_array_mut() {
            values.insert(0, json!("nobody"));
            values.truncate(values.len() - 1);
        } else if let Some(value) = constraint["value"].as_str().and_then(|value| value.parse::<u64>().ok()) {
            let cut = cut * 1_000_000;
            let floor = constraint["kind"] == "balance_after_gte";
            let new = if floor { value + cut } else { value.saturating_sub(cut).max(1) };
            constraint["value"] = json!(new.to_string());
        }
        // Not every cut leaves a mandate.
        if Mandate::read(strict.mandate.to_string().as_bytes()).is_ok() {
            prop_assert!(rank(strict.run().outcome) <= rank(loose));
        }
    }

    /// Whatever the bytes: a refusal, never a panic.
    #[test]
    fn readers_survive_anything(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in any::<usize>()) {
        for valid in [crate::fixture::action_json(), mandate_json(), state_json(), crate::fixture::report_json()] {
            let mut text = valid.to_string().into_bytes();
            let at = at % text.len();
            text.splice(at..(at + bytes.len() / 8).min(text.len()), bytes.iter().copied().take(8));
            for input in [&text, &bytes] {
                let _ = HashedAction::read(input);
                let _ = Mandate::read(input);
                let _ = Snapshot::read(input);
                let _ = Report::read(input);
                let _ = mandate::authorization::Fields::read(input);
                let _ = mandate::price::BondDatum::from_cbor(input);
                let _ = canon::from_slice::<Price>(input);
                if let Ok(text) = std::str::from_utf8(input) {
                    let _ = text.parse::<mandate::Address>();
                    let _ = text.parse::<mandate::DateTime>();
                }
            }
            // What is read is written back as it was.
            if let Ok(read) = HashedAction::read(&text) {
                prop_assert_eq!(canon::to_vec(&read).unwrap(), canon::canonicalize(&text).unwrap());
            }
        }
    }
}

impl Vault {
    /// R7, R8, R10, R12, R15 of the vault on chain.
    fn release(&mut self, nonce: u64, amount: u64, valid_until: u64, now: u64) -> bool {
        let day = now / DAY;
        let spent = if day == self.day { self.spent } else { 0 };
        let good = now <= valid_until
            && nonce > self.last_nonce
            && day >= self.day
            && spent + amount <= 50_000_000
            && self.balance >= amount + 100_000_000;
        if good {
            *self = Self { balance: self.balance - amount, day, spent: spent + amount, last_nonce: nonce };
        }
        good
    }
}

/// One step: what is tried, and a few numbers to choose with.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    pick: usize,
    cents: u64,
    flag: bool,
}

fn steps() -> impl Strategy<Value = (u64, Vec<Step>)> {
    let step = (0..16_u8, 0..6_usize, 1..2_000_u64, any::<bool>())
        .prop_map(|(kind, pick, cents, flag)| Step { kind, pick, cents, flag });
    (any::<u64>(), proptest::collection::vec(step, 1..50))
}

/// A desk and what its agent knows.
struct Play {
    desk: Desk,
    before: Vault,
    prices: Vec<(Value, Price)>,
    names: usize,
    /// How many entries have been looked at, what people were asked, and what they signed.
    seen: usize,
    asked: BTreeMap<i64, u32>,
    signed: BTreeSet<String>,
}

impl Play {
    fn step(&mut self, step: &Step) {
        match step.kind {
            0..=4 => self.propose(step),
            5 | 6 => self.pay(step),
            7 | 8 => {
                if let Some(id) = self.pending(step.pick) {
                    let _ = self.desk.approve(&id);
                }
            }
            9 => {
                if let Some(id) = self.pending(step.pick) {
                    let reason = if step.flag { DeclineReason::Frivolous } else { DeclineReason::Legitimate };
                    let _ = self.desk.decline(&id, reason);
                }
            }
            10..=12 => self.settle(step),
            13 => {
                let millis = [1, 59_000, 601_000, 722_000, 3_600_000, DAY][step.pick];
                self.desk.wait(millis);
            }
            14 => drop(self.desk.run(&Command::Tick)),
            _ => self.reconcile(step),
        }
    }

    /// A new action, or an old one again; a few invoices that several actions claim.
    fn propose(&mut self, step: &Step) {
        let name = if step.pick == 0 { self.names.max(1) } else { self.names + 1 };
        self.names = self.names.max(name);
        let mut proposed = action(&format!("a{name}"), step.cents);
        if step.flag {
            proposed["reference"]["invoice_id"] = json!(format!("in_{}", step.pick));
        }
        let mut check = self.desk.command(&proposed);
        // Sometimes the chain was read before the last release.
        if step.pick == 1 {
            check.observed.vault_balance = mandate::text::Units::new(self.before.balance);
            check.observed.spent_today = mandate::text::Units::new(self.before.spent);
            check.observed.day_index = self.before.day;
            check.observed.last_nonce = mandate::text::Units::new(self.before.last_nonce);
        }
        if let Ok(Checked { next: Next::Priced { price, .. }, .. }) = self.desk.send(check) {
            self.prices.push((proposed, *price));
        }
    }

    fn pay(&mut self, step: &Step) {
        let count = self.prices.len().max(1);
        let Some((proposed, price)) = self.prices.get(step.pick % count).cloned() else { return };
        let mut check = self.desk.command(&proposed);
        check.bond = Some(lock(&price, 0));
        let _ = self.desk.send(check);
    }

    fn pending(&self, pick: usize) -> Option<String> {
        let ids: Vec<_> = self.desk.state.pending().map(|approval| approval.id().to_string()).collect();
        ids.get(pick % ids.len().max(1)).cloned()
    }

    /// Any holder of an authorization submits it; the answer may be lost.
    fn settle(&mut self, step: &Step) {
        let now = self.desk.now();
        let all = self.desk.state.authorizations();
        let Some(held) = all.get(step.pick % all.len().max(1)) else { return };
        let digest = held.record.digest_hex;
        let fields = &held.record.fields;
        let (nonce, amount, until) = (held.nonce, fields.amount.get(), fields.valid_until.get());
        let tx_hash = tx(&digest.to_string());
        let before = self.desk.chain.clone();
        if self.desk.chain.release(nonce, amount, until, now) {
            self.before = before;
            let what = if step.flag {
                Execution::Unknown
            } else {
                Execution::Confirmed { tx_hash, block_height: now }
            };
            self.desk.run(&Command::Execution { digest, what }).unwrap();
        }
    }

    /// The chain is asked about an authorization whose end has passed.
    fn reconcile(&mut self, step: &Step) {
        let all = self.desk.state.authorizations();
        let Some(held) = all.get(step.pick % all.len().max(1)) else { return };
        let digest = held.record.digest_hex;
        // Whatever the vault released last, it released this one's nonce or never will.
        let landed = self.released(held.nonce);
        let what = if landed {
            Execution::Confirmed { tx_hash: tx(&digest.to_string()), block_height: 1 }
        } else {
            Execution::NotFound
        };
        let _ = self.desk.run(&Command::Execution { digest, what });
    }

    fn released(&self, nonce: u64) -> bool {
        let unknown = |status| matches!(status, AuthorizationStatus::Unknown | AuthorizationStatus::Settled);
        self.desk.state.authorizations().iter().any(|held| held.nonce == nonce && unknown(held.status))
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let now = self.desk.now();
        let all = self.desk.state.authorizations();
        // All that is out could be used together, in the order of nonces.
        let mut vault = self.desk.chain.clone();
        for held in &all {
            let fields = &held.record.fields;
            let live = !matches!(held.status, AuthorizationStatus::Released | AuthorizationStatus::Settled)
                && held.nonce > vault.last_nonce
                && now <= fields.valid_until.get();
            if live {
                let used = vault.release(held.nonce, fields.amount.get(), fields.valid_until.get(), now);
                prop_assert!(used, "{:?} does not fit beside the rest", fields);
            }
        }
        // One release an action and an invoice.
        let mut invoices = BTreeMap::new();
        for held in all.iter().filter(|held| held.status != AuthorizationStatus::Released) {
            let reference = held.action.reference.as_ref().unwrap();
            *invoices.entry(reference.invoice_id.to_string()).or_insert(0) += 1;
        }
        prop_assert!(invoices.values().all(|count| *count == 1), "{:?}", invoices);
        // A person for everything above the agent's own limit, and nobody asked too often.
        let events = self.desk.events_after(self.seen);
        self.seen = self.desk.entries.len();
        for event in &events {
            match &event.fact {
                Fact::ApprovalRequested(_) => {
                    let count = self.asked.entry(event.at.as_secs() / 86_400).or_insert(0);
                    *count += 1;
                    prop_assert!(*count <= 3);
                }
                Fact::CFOApproved(approved) => {
                    self.signed.insert(approved.digest.to_string());
                }
                Fact::AuthorizationIssued(issued) => {
                    let fields = &issued.authorization.fields;
                    prop_assert_eq!(issued.authorization.verify(), Ok(()));
                    prop_assert_eq!(fields.requires_principal, fields.amount.get() > 10_000_000);
                    prop_assert_eq!(fields.requires_principal, issued.approval_id.is_some());
                    let signed = self.signed.contains(&issued.authorization.digest_hex.to_string());
                    prop_assert_eq!(fields.requires_principal, signed);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_order_of_events_goes_beyond_the_mandate((seed, steps) in steps()) {
        let mut desk = Desk::seeded(seed, |_| {});
        desk.chain.balance = 160_000_000;
        let before = desk.chain.clone();
        let mut play = Play { desk, before, prices: Vec::new(), names: 0, seen: 0, asked: BTreeMap::new(), signed: BTreeSet::new() };
        for step in &steps {
            play.step(step);
            play.check()?;
        }
    }
}
