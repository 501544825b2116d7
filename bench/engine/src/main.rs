//! One decision of the seed's mandate, its inputs as JSON texts: ours, Cedar 4 and a Rust engine of OPA's Rego, in
//! alternating rounds of one run. Ends with an error if ours is not the fastest, or takes longer than [`BAR`].
//!
//! Ours reads the action, hashes it, reads the chain state, reads the report, hashes it, judges, and hashes the decision.
//! The others are given one text with everything they need, amounts already as numbers, and hash nothing.

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use mandate::{Evidence, Hashed, HashedAction, Inputs, Mandate, Millis, Proposal, Snapshot, decision_hash};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nanoseconds.
const BAR: f64 = 3_000.0;
const ROUNDS: usize = 41;
const CALLS: u32 = 2_000;
/// 2026-10-07T08:00:30Z.
const NOW: u64 = 1_791_360_030_000;

const MANDATE: &str = include_str!("../../data/seed-mandate.json");
const CEDAR: &str = include_str!("../../data/mandate.cedar");
const REGO: &str = include_str!("../../data/mandate.rego");
/// The policies of [`CEDAR`] are numbered in their order; this one escalates.
const AUTONOMOUS: &str = "policy3";

type Fault = Box<dyn Error>;

fn main() -> Result<(), Fault> {
    let mandate = Mandate::read(MANDATE.as_bytes())?;
    let mut cedar = Cedar::new()?;
    let mut rego = Rego::new()?;
    for (cents, vendor, expected) in [
        (842, "aws", "ALLOW"),
        (1_000, "aws", "ALLOW"),
        (1_800, "aws", "ESCALATE"),
        (2_501, "aws", "DENY"),
        (842, "globex", "DENY"),
    ] {
        let case = Case::new(cents, vendor)?;
        let answers = [ours(&mandate, &case)?, cedar.decide(&case)?, rego.decide(&case)?];
        if answers != [expected; 3] {
            return Err(format!("{cents} to {vendor}: {answers:?}").into());
        }
    }
    let case = Case::new(842, "aws")?;
    let mut rounds = [(); 4].map(|()| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        let [whole, typed, theirs, opa] = &mut rounds;
        whole.push(round(|| ours(&mandate, black_box(&case)))?);
        typed.push(round(|| judged(&mandate, black_box(&case)))?);
        theirs.push(round(|| cedar.decide(black_box(&case)))?);
        opa.push(round(|| rego.decide(black_box(&case)))?);
    }
    let [whole, typed, theirs, opa] = rounds.map(|mut times| {
        times.sort_unstable();
        times.get(ROUNDS / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e9 / f64::from(CALLS))
    });
    println!("one decision, one thread, median of {ROUNDS} rounds of {CALLS} calls\n");
    println!("| engine | ns a decision | times as slow |\n|---|---:|---:|");
    for (name, nanos) in [
        ("ours: three texts read, action and report hashed, judged", whole),
        ("ours: action read and hashed, state and report read before", typed),
        ("Cedar 4.14: context read, judged", theirs),
        ("regorus 0.14 (Rego in Rust): input read, judged", opa),
    ] {
        println!("| {name} | {nanos:.0} | {:.1} |", nanos / whole);
    }
    if whole < BAR && whole < theirs && whole < opa {
        Ok(())
    } else {
        Err(format!("the bar is {BAR} ns, and faster than both").into())
    }
}

/// The inputs of one decision.
struct Case {
    action: String,
    state: &'static str,
    report: String,
    /// For the others.
    input: String,
    read: (Snapshot, Evidence),
}

impl Case {
    fn new(cents: u64, vendor: &str) -> Result<Self, Fault> {
        const ADDRESS: &str = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl";
        let amount = cents.saturating_mul(10_000);
        let action = format!(
            r#"{{"schema":"action-ir/v0.1","id":"A-INV-0001","mandate_id":"M-001","actor":"cfo-agent-01",
            "type":"pay_invoice","purpose":"vendor_invoice","counterparty":{{"id":"{vendor}","display":"Amazon Web Services"}},
            "amount":{{"value":"{amount}","asset":"USDM"}},"recipient":{{"chain":"cardano","address":"{ADDRESS}"}},
            "source":{{"vault":"treasury-main"}},"reference":{{"invoice_id":"in_0001","invoice_number":"AWS-2026-10"}},
            "rationale":"October compute bill, due in 3 days.","created_at":"2026-10-07T08:00:00Z"}}"#
        );
        let hash = HashedAction::read(action.as_bytes())?.hash();
        let report = format!(
            r#"{{"action_hash":"{hash}","facts":{{"amount_match":true,"currency_match":true,"customer_match":true,"exists":true,"recipient_match":true,"status_open":true}},"invoice_hash":"{hash}","invoice_id":"in_0001","reason":null,"result":"VERIFIED","schema":"verification/v0.1","status":"open","trigger_id":"trg-1","verified_amount":"{amount}","verified_currency":"usd","verified_recipient":"{ADDRESS}"}}"#
        );
        let report_hash = canon::Digest::of(report.as_bytes());
        let at = NOW.saturating_sub(30_000);
        let report = format!(r#"{{"block_time_ms":{at},"report":{report},"report_hash":"{report_hash}"}}"#);
        let state = r#"{"vault_balance":"135000000","spent_today":"0","day_index":20733,"last_nonce":"0","anchor_version":3,"anchor_status":"active","observed_at_slot":1,"escalations_today":0,"escalation_day_index":20733}"#;
        let input = format!(
            r#"{{"mandate_id":"M-001","actor":"cfo-agent-01","type":"pay_invoice","purpose":"vendor_invoice","counterparty":"{vendor}","amount":{amount},"asset":"USDM","recipient":"{ADDRESS}","invoice_id":"in_0001","now":{NOW},"vault_balance":135000000,"spent_today":0,"day_index":20733,"today":20733,"anchor_version":3,"anchor_status":"active","escalations_today":0,"report_age":30000,"report":{{"invoice_id":"in_0001","result":"VERIFIED","exists":true,"customer_match":true,"status_open":true,"amount_match":true,"currency_match":true,"recipient_match":true,"verified_amount":{amount},"verified_currency":"usd","verified_recipient":"{ADDRESS}"}}}}"#
        );
        let read = (Snapshot::read(state.as_bytes())?, canon::from_slice(report.as_bytes())?);
        Ok(Self { action, state, report, input, read })
    }
}

/// Everything from the texts.
fn ours(mandate: &Hashed<Mandate>, case: &Case) -> Result<&'static str, Fault> {
    let state = Snapshot::read(case.state.as_bytes())?;
    let evidence: Evidence = canon::from_slice(case.report.as_bytes())?;
    decide(mandate, &case.action, &state, &evidence)
}

/// The action from its text; the state and the report were read before.
fn judged(mandate: &Hashed<Mandate>, case: &Case) -> Result<&'static str, Fault> {
    let (state, evidence) = &case.read;
    decide(mandate, &case.action, state, evidence)
}

fn decide(
    mandate: &Hashed<Mandate>,
    action: &str,
    state: &Snapshot,
    evidence: &Evidence,
) -> Result<&'static str, Fault> {
    let proposal = Proposal { action: action.as_bytes(), agent_signature: None };
    let now = Millis::try_from(NOW)?;
    let evaluation = mandate::evaluate(&Inputs { mandate, proposal, state, evidence: Some(evidence), now });
    black_box(decision_hash(
        evaluation.action_hash,
        Some(evaluation.mandate_hash),
        evaluation.verification_hash,
        evaluation.outcome,
    ));
    Ok(evaluation.outcome.as_str())
}

struct Cedar {
    policies: PolicySet,
    entities: Entities,
    authorizer: Authorizer,
    who: [EntityUid; 3],
}

impl Cedar {
    fn new() -> Result<Self, Fault> {
        let uid = |text: &str| text.parse::<EntityUid>();
        let who = [
            uid(r#"Agent::"cfo-agent-01""#)?,
            uid(r#"Action::"pay_invoice""#)?,
            uid(r#"Vault::"treasury-main""#)?,
        ];
        let entities = Entities::empty();
        Ok(Self { policies: CEDAR.parse()?, entities, authorizer: Authorizer::new(), who })
    }

    fn decide(&mut self, case: &Case) -> Result<&'static str, Fault> {
        let context = Context::from_json_str(&case.input, None)?;
        let [principal, action, resource] = self.who.clone();
        let request = Request::new(principal, action, resource, context, None)?;
        let answer = self.authorizer.is_authorized(&request, &self.policies, &self.entities);
        if answer.diagnostics().errors().next().is_some() {
            return Err("cedar found an error in its policies".into());
        }
        let only_autonomous = answer.diagnostics().reason().all(|id| id.to_string() == AUTONOMOUS);
        Ok(match answer.decision() {
            Decision::Allow => "ALLOW",
            Decision::Deny if only_autonomous => "ESCALATE",
            Decision::Deny => "DENY",
        })
    }
}

struct Rego(regorus::Engine);

impl Rego {
    fn new() -> Result<Self, Fault> {
        let mut engine = regorus::Engine::new();
        engine.add_policy("mandate.rego".to_owned(), REGO.to_owned())?;
        Ok(Self(engine))
    }

    fn decide(&mut self, case: &Case) -> Result<&'static str, Fault> {
        self.0.set_input(regorus::Value::from_json_str(&case.input)?);
        let answer = self.0.eval_rule("data.mandate.outcome".to_owned())?;
        match answer.as_string()?.as_ref() {
            "ALLOW" => Ok("ALLOW"),
            "ESCALATE" => Ok("ESCALATE"),
            _ => Ok("DENY"),
        }
    }
}

fn round(mut decide: impl FnMut() -> Result<&'static str, Fault>) -> Result<Duration, Fault> {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(decide()?);
    }
    Ok(start.elapsed())
}
