//! A brief in words. Every member of what is hashed is shown, and the bytes that are hashed go with the page.

use crate::words::{groups, shown, when};
use approvals::text::{look_alike, suspicious};
use canon::Digest;
use mandate::action::ActionType;
use mandate::brief::{Brief, amount};
use mandate::price::Tariff;
use mandate::report::Verified;
use mandate::text::Id;
use mandate::{Checked, Hashed, Mandate, Outcome, Reason};

/// A brief for its page.
#[derive(Debug)]
pub(crate) struct Shown {
    pub amount: Money,
    pub asset: String,
    pub kind: &'static str,
    pub counterparty: String,
    pub counterparty_id: String,
    /// What is odd about it; looked at before everything else.
    pub warnings: Vec<String>,
    /// In groups of four.
    pub recipient: Vec<String>,
    pub recipient_whole: String,
    pub reference: Option<Reference>,
    pub will_happen: String,
    /// The agent's own words.
    pub why: String,
    pub requested_by: String,
    pub action_id: String,
    pub action_hash: String,
    pub outcome: &'static str,
    pub reason: Option<&'static str>,
    pub reason_code: Option<&'static str>,
    pub approver: Option<String>,
    pub because: Vec<(String, &'static str)>,
    pub checks: Vec<Check>,
    pub limits: Vec<(&'static str, Money)>,
    pub verified: Option<Facts>,
    pub mandate: String,
    pub version: u32,
    pub mandate_hash: String,
    pub bond: Money,
    pub bond_asset: String,
    pub used: u32,
    pub per_day: u32,
    pub until: String,
    pub until_ms: u64,
    pub hash: Vec<String>,
    /// The very bytes that are hashed.
    pub canonical: String,
}

/// An amount twice: as people write it, and in base units.
#[derive(Debug, Clone)]
pub(crate) struct Money {
    pub display: String,
    pub units: String,
}

#[derive(Debug)]
pub(crate) struct Reference {
    pub number: String,
    pub id: String,
}

#[derive(Debug)]
pub(crate) struct Check {
    pub id: String,
    pub kind: &'static str,
    pub result: &'static str,
    pub class: &'static str,
    pub code: &'static str,
    pub reason: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Facts {
    pub good: bool,
    pub lines: Vec<(&'static str, bool)>,
    pub report_hash: String,
    pub tx: Option<String>,
}

impl Money {
    pub fn of(units: u64, decimals: u8) -> Self {
        Self { display: amount(units, decimals), units: units.to_string() }
    }
}

impl Shown {
    /// The brief of a mandate's approval. `paid_before` are the names under which the mandate has paid.
    pub fn of(
        brief: &Hashed<Brief>,
        mandate: &Mandate,
        tariff: &Tariff,
        paid_before: &[(Id, String)],
    ) -> Self {
        let decimals = mandate.asset.decimals;
        let what = &brief.what;
        let limits = [
            ("The agent may pay alone up to", brief.limits.autonomous_limit),
            ("Nobody may pay more at once than", brief.limits.hard_cap),
            ("At most a day", brief.limits.daily_cap),
            ("What must stay in the vault", brief.limits.treasury_minimum),
        ];
        let because = brief.escalation.iter().flat_map(|escalation| &escalation.because);
        Self {
            // As it is hashed, not as we would write it.
            amount: Money { display: shown(&what.amount.display), units: what.amount.value.to_string() },
            asset: what.amount.asset.to_string(),
            kind: kind(what.kind),
            counterparty: shown(what.counterparty.display.as_str()),
            counterparty_id: what.counterparty.id.to_string(),
            warnings: warnings(brief, paid_before),
            recipient: fours(what.recipient.as_str()),
            recipient_whole: what.recipient.as_str().to_owned(),
            reference: what.reference.as_ref().map(|reference| Reference {
                number: shown(reference.invoice_number.as_str()),
                id: shown(reference.invoice_id.as_str()),
            }),
            will_happen: shown(&brief.will_happen),
            why: shown(brief.why.as_str()),
            requested_by: brief.requested_by.to_string(),
            action_id: brief.action_id.to_string(),
            action_hash: brief.action_hash.to_string(),
            outcome: outcome(brief.engine.outcome),
            reason: brief.engine.reason.map(reason),
            reason_code: brief.engine.reason.map(Reason::as_str),
            approver: brief.escalation.as_ref().map(|escalation| shown(escalation.approver.as_str())),
            because: because.map(|one| (one.constraint.to_string(), reason(one.reason))).collect(),
            checks: brief.engine.checks.iter().map(check).collect(),
            limits: limits
                .into_iter()
                .map(|(name, units)| (name, Money::of(units.get(), decimals)))
                .collect(),
            verified: brief.verified.as_ref().map(|verified| Facts {
                good: verified.result == Verified::Verified,
                lines: facts(&verified.facts),
                report_hash: verified.report_hash.to_string(),
                tx: verified.sepolia_tx.as_ref().map(|tx| shown(tx.as_str())),
            }),
            mandate: brief.mandate.id.to_string(),
            version: brief.mandate.version,
            mandate_hash: brief.mandate.hash.to_string(),
            bond: bond_money(brief.cost.bond.amount.get(), tariff),
            bond_asset: brief.cost.bond.asset.to_string(),
            used: brief.cost.interrupt_budget.used,
            per_day: brief.cost.interrupt_budget.per_day,
            until: when(brief.expires_at_ms.timestamp()),
            until_ms: brief.expires_at_ms.get(),
            hash: groups(&brief.hash()),
            canonical: canonical(brief),
        }
    }
}

/// A bond as people write it: lovelace has six decimals; a token's are not known here.
pub(crate) fn bond_money(units: u64, tariff: &Tariff) -> Money {
    Money::of(units, if tariff.asset.policy_id.is_none() { LOVELACE } else { 0 })
}

const LOVELACE: u8 = 6;

/// `addr_test1…` to compare with another copy of it.
pub(crate) fn fours(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(4).map(|four| four.iter().collect()).collect()
}

/// What must be looked at twice: characters that cannot be seen, names like other names, a payee called otherwise before.
fn warnings(brief: &Brief, paid_before: &[(Id, String)]) -> Vec<String> {
    let counterparty = &brief.what.counterparty;
    let display = counterparty.display.as_str();
    let mut found = Vec::new();
    let reference = brief.what.reference.as_ref();
    let texts = [
        ("The payee’s name", display),
        ("The agent’s reason", brief.why.as_str()),
        ("The invoice’s number", reference.map_or("", |reference| reference.invoice_number.as_str())),
        ("The invoice’s id", reference.map_or("", |reference| reference.invoice_id.as_str())),
    ];
    for (place, text) in texts {
        found.extend(suspicious(text).into_iter().map(|odd| format!("{place}: {}", odd.sentence())));
    }
    let names = || paid_before.iter().filter(|(id, _)| *id == counterparty.id).map(|(_, name)| name.as_str());
    if names().next().is_some() && names().all(|name| name != display) {
        let before: Vec<String> = names().map(|name| format!("“{}”", shown(name))).collect();
        found.push(format!("{} was called {} when it was paid before.", counterparty.id, before.join(", ")));
    }
    let others = paid_before.iter().filter(|(id, _)| *id != counterparty.id);
    if let Some(other) = look_alike(display, others.map(|(_, name)| name.as_str())) {
        found.push(format!("The payee’s name looks like “{}”, who is somebody else.", shown(other)));
    }
    found
}

fn check(row: &mandate::brief::Check) -> Check {
    let (result, class) = result(row.result);
    Check {
        id: shown(&row.id),
        kind: check_kind(&row.kind),
        result,
        class,
        code: code(row.result),
        reason: row.reason.map(reason),
    }
}

pub(crate) const fn result(result: Checked) -> (&'static str, &'static str) {
    match result {
        Checked::NotEvaluated => ("not looked at", ""),
        Checked::Pass => ("passes", "stand-good"),
        Checked::Fail => ("fails", "stand-bad"),
        Checked::Pending => ("open", "stand-warn"),
        Checked::Escalate => ("needs a person", "stand-warn"),
        Checked::Delay => ("waits", "stand-warn"),
    }
}

const fn code(result: Checked) -> &'static str {
    match result {
        Checked::NotEvaluated => "not_evaluated",
        Checked::Pass => "pass",
        Checked::Fail => "fail",
        Checked::Pending => "pending",
        Checked::Escalate => "ESCALATE",
        Checked::Delay => "DELAY",
    }
}

pub(crate) fn check_kind(kind: &str) -> &'static str {
    match kind {
        "integrity" => "The proposal is well formed and signed by the agent",
        "validity" => "The mandate is in force",
        "purpose_in" => "The purpose is allowed",
        "action_in" => "This kind of act is allowed",
        "asset_eq" => "The currency is the mandate’s",
        "counterparty_in" => "The payee is on the list",
        "amount_lte" => "The amount is within a limit",
        "daily_spend_lte" => "The day’s spending is within its limit",
        "balance_after_gte" => "Enough stays in the vault",
        "verified_facts" => "Independent verifiers confirm the invoice",
        "rolling_spend_lte" => "Recent spending is within its limit",
        "counterparty_spend_lte" => "Recent spending on this payee is within its limit",
        "interrupt_budget" => "People may still be interrupted today",
        _ => "Another check",
    }
}

const fn kind(kind: ActionType) -> &'static str {
    match kind {
        ActionType::PayInvoice => "Pay an invoice",
        ActionType::Purchase => "Buy something",
        ActionType::Transfer => "Transfer money",
    }
}

pub(crate) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allow => "Allowed without a person",
        Outcome::Escalate => "Needs a person",
        Outcome::Deny => "Denied",
        Outcome::Delay => "Waits, and may be stopped",
        Outcome::NeedsVerification => "Needs verification first",
    }
}

pub(crate) const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::InvalidProposal => "the proposal is not well formed",
        Reason::InvalidAgentSignature => "the agent’s signature does not hold",
        Reason::AgentNotDelegate => "the agent is not the mandate’s",
        Reason::WrongMandate => "it names another mandate",
        Reason::MandateRevoked => "the mandate is revoked",
        Reason::MandateVersionMismatch => "the mandate’s version is not the anchored one",
        Reason::MandateNotStarted => "the mandate has not begun",
        Reason::MandateExpired => "the mandate is over",
        Reason::PurposeNotAuthorized => "the purpose is not allowed",
        Reason::ActionNotAuthorized => "this kind of act is not allowed",
        Reason::AssetNotAuthorized => "the currency is not the mandate’s",
        Reason::AmountAboveHardCap => "it is above what anybody may pay at once",
        Reason::DailyCapExceeded => "it would exceed the day’s limit",
        Reason::TreasuryFloorViolation => "too little would stay in the vault",
        Reason::InvoiceNotFound => "the invoice was not found",
        Reason::CustomerMismatch => "the invoice is another customer’s",
        Reason::InvoiceNotOpen => "the invoice is not open",
        Reason::AmountMismatch => "the invoice has another amount",
        Reason::CurrencyMismatch => "the invoice has another currency",
        Reason::RecipientMismatch => "the invoice names another recipient",
        Reason::VerificationUnavailable => "the facts cannot be verified now",
        Reason::CounterpartyNotApproved => "the payee is not on the list",
        Reason::AboveAutonomousLimit => "it is above what the agent may pay alone",
        Reason::PrincipalDeclined => "a person declined it",
        Reason::InterruptBudgetExhausted => "people have been interrupted often enough today",
        Reason::RollingCapExceeded => "it would exceed the limit of these days",
        Reason::CounterpartyCapExceeded => "it would exceed this payee’s limit",
        Reason::AboveDelayLimit => "it is above what is done at once",
        Reason::Vetoed => "it was stopped while it waited",
        Reason::EvaluatorFault => "the engine failed, and so nothing is allowed",
    }
}

pub(crate) fn facts(facts: &mandate::report::Facts) -> Vec<(&'static str, bool)> {
    vec![
        ("The invoice exists", facts.exists),
        ("It is this customer’s", facts.customer_match),
        ("It is open", facts.status_open),
        ("The amount is the same", facts.amount_match),
        ("The currency is the same", facts.currency_match),
        ("The recipient is the same", facts.recipient_match),
    ]
}

/// The canonical bytes, which are text.
pub(crate) fn canonical<T: serde::Serialize>(value: &T) -> String {
    canon::to_vec(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A limit with its currency.
pub(crate) fn money(units: u64, decimals: u8, symbol: impl std::fmt::Display) -> String {
    format!("{} {symbol}", amount(units, decimals))
}

/// A hash of which the page has the text alone.
pub(crate) fn hash_groups(text: &str) -> Vec<String> {
    text.parse::<Digest>().map(|digest| groups(&digest)).unwrap_or_else(|_| fours(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_at_both_ends() {
        let check = |units: u64, decimals: u8, display: &str| {
            let money = Money::of(units, decimals);
            assert_eq!((money.display.as_str(), money.units), (display, units.to_string()));
        };
        check(0, 6, "0");
        check(u64::MAX, 0, "18446744073709551615");
        check(u64::MAX, 18, "18.446744073709551615");
        check(1, 18, "0.000000000000000001");
        check(18_000_000, 6, "18");
    }

    fn fixture(decimals: u8) -> (Hashed<Mandate>, Tariff) {
        let text = include_str!("../../../../vectors/claudia/claudia.json");
        let mut vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let document = vectors.pointer_mut("/derived/mandate_fixture/doc").unwrap();
        *document.pointer_mut("/asset/decimals").unwrap() = decimals.into();
        let tariff = serde_json::json!({
            "amount": "5000000", "asset": { "policy_id": "", "asset_name": "", "symbol": "ADA" },
            "held_ms": 3_600_000,
            "escrow_address": "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f" });
        let mandate = Mandate::read(document.to_string().as_bytes()).unwrap();
        (mandate, canon::from_slice(tariff.to_string().as_bytes()).unwrap())
    }

    fn brief(display: &str, value: &str, shown: &str, why: &str) -> Hashed<Brief> {
        let json = serde_json::json!({
            "schema": "brief/v0.1", "action_hash": "01".repeat(32), "action_id": "A1", "requested_by": "cfo-agent-01",
            "cost": { "bond": { "amount": "5000000", "asset": "ADA" }, "interrupt_budget": { "per_day": 3, "used": 1 } },
            "engine": { "outcome": "ESCALATE", "reason": "ABOVE_AUTONOMOUS_LIMIT", "checks": [
                { "id": "autonomous", "kind": "amount_lte", "reason": "ABOVE_AUTONOMOUS_LIMIT", "result": "ESCALATE" }] },
            "escalation": { "approver": "CFO",
                "because": [{ "constraint": "autonomous", "reason": "ABOVE_AUTONOMOUS_LIMIT" }] },
            "expires_at_ms": 1_791_348_000_000_u64,
            "limits": { "autonomous_limit": "10000000", "daily_cap": "50000000", "hard_cap": "50000000",
                "treasury_minimum": "100000000" },
            "mandate": { "hash": "02".repeat(32), "id": "M-001", "version": 3 },
            "verified": null,
            "what": { "amount": { "asset": "USDM", "display": shown, "value": value },
                "counterparty": { "display": display, "id": "aws" }, "reference": null, "type": "pay_invoice",
                "recipient": "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl" },
            "why": why, "will_happen": format!("Release {shown} to {display}."),
        });
        Hashed::of(canon::from_slice(json.to_string().as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_brief_is_shown_whole_and_hashes_to_what_it_carries() {
        for (decimals, display) in [(0, "18446744073709551615 USDM"), (18, "18.446744073709551615 USDM")] {
            let (mandate, tariff) = fixture(decimals);
            let brief = brief("AWS", "18446744073709551615", display, "It is due.");
            let shown = Shown::of(&brief, &mandate, &tariff, &[]);
            assert_eq!(shown.amount.display, display);
            assert_eq!(shown.amount.units, "18446744073709551615");
            assert_eq!(Digest::of(shown.canonical.as_bytes()).to_string(), shown.hash.concat());
            assert_eq!((shown.bond.display.as_str(), shown.used, shown.per_day), ("5", 1, 3));
            assert!(shown.warnings.is_empty(), "{:?}", shown.warnings);
            assert!(shown.checks.iter().all(|check| check.kind != "Another check"));
        }
    }

    #[test]
    fn strangers_texts_are_looked_at() {
        let (mandate, tariff) = fixture(6);
        let paid = [("aws", "AWS"), ("stripe", "Stripe")];
        let paid: Vec<(Id, String)> =
            paid.iter().map(|(id, name)| (id.parse().unwrap(), (*name).to_owned())).collect();
        let check = |display: &str, why: &str, expected: &[&str]| {
            let shown = Shown::of(&brief(display, "18", "18 USDM", why), &mandate, &tariff, &paid);
            let found = |part: &&&str| !shown.warnings.iter().any(|warning| warning.contains(**part));
            assert!(!expected.iter().any(|part| found(&part)), "{:?}", shown.warnings);
            assert_eq!(shown.warnings.is_empty(), expected.is_empty(), "{:?}", shown.warnings);
            assert!(!shown.counterparty.contains('\u{202e}') && !shown.will_happen.contains('\u{202e}'));
        };
        check("AWS", "It is due.", &[]);
        check("AWS Ltd", "", &["aws was called “AWS” when it was paid before"]);
        check("\u{405}tripe", "", &["looks like “Stripe”, who is somebody else", "several alphabets"]);
        check(
            "AWS\u{202e}",
            "",
            &["The payee’s name: The text contains characters that change the reading direction"],
        );
        check(
            "AWS",
            "pay\u{200b}now",
            &["The agent’s reason: The text contains characters that cannot be seen"],
        );
    }

    #[test]
    fn addresses_are_read_in_fours() {
        assert_eq!(fours("addr_test1x"), ["addr", "_tes", "t1x"]);
    }
}
