//! Verification reports (spec 1.6): six facts about an invoice, and how long they are good for.

use crate::action::HashedAction;
use crate::hashed::Spelled;
use crate::reason::Reason;
use crate::statement::{Attested, SignedStatement};
use crate::text::{Text, Units, nullable};
use crate::time::Millis;
use crate::{Hashed, Refusal};
use canon::{Digest, Raw};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// `verification/v0.1`. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub action_hash: Digest,
    pub facts: Facts,
    pub invoice_hash: Digest,
    pub invoice_id: Text<1, 64>,
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<Reason>,
    pub result: Verified,
    pub schema: ReportSchema,
    #[serde(deserialize_with = "nullable")]
    pub status: Option<Text<0, 32>>,
    pub trigger_id: Text<1, 64>,
    #[serde(deserialize_with = "nullable")]
    pub verified_amount: Option<Units>,
    #[serde(deserialize_with = "nullable")]
    pub verified_currency: Option<Text<0, 8>>,
    #[serde(deserialize_with = "nullable")]
    pub verified_recipient: Option<Text<0, 200>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReportSchema {
    #[serde(rename = "verification/v0.1")]
    V01,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verified {
    Verified,
    Mismatch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub amount_match: bool,
    pub currency_match: bool,
    pub customer_match: bool,
    pub exists: bool,
    pub recipient_match: bool,
    pub status_open: bool,
}

impl Facts {
    /// The first fact that does not hold, by the reason it gives.
    pub fn first_false(&self) -> Option<Reason> {
        [
            (self.exists, Reason::InvoiceNotFound),
            (self.customer_match, Reason::CustomerMismatch),
            (self.status_open, Reason::InvoiceNotOpen),
            (self.amount_match, Reason::AmountMismatch),
            (self.currency_match, Reason::CurrencyMismatch),
            (self.recipient_match, Reason::RecipientMismatch),
        ]
        .into_iter()
        .find_map(|(holds, reason)| (!holds).then_some(reason))
    }
}

impl Spelled for Report {}

impl Report {
    /// Reads a report. Beyond its shape: the reason is null exactly where the result is VERIFIED, and is one of the six.
    pub fn read(bytes: &[u8]) -> Result<Hashed<Self>, Refusal> {
        Self::consistent(Hashed::read(bytes)?)
    }

    fn consistent(report: Hashed<Self>) -> Result<Hashed<Self>, Refusal> {
        let good = match (report.result, report.reason) {
            (Verified::Verified, None) => true,
            (Verified::Mismatch, Some(reason)) => reason.is_fact(),
            _ => false,
        };
        if good { Ok(report) } else { Err(Refusal::BadValue { place: "/reason".to_owned() }) }
    }
}

/// A report as it was found in a registry: not yet known to be of any use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// When the registry's chain recorded it; without one, when the first of the verifiers read the source.
    pub block_time_ms: Millis,
    /// Who read something else at the same time, and what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Attested>,
    pub report: Raw,
    pub report_hash: Digest,
    /// Whose report it is: nobody's where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<SignedStatement>,
}

/// How old a report may be, and how far ahead of us its chain's clock may run.
const OLDEST_MS: u64 = 600_000;
const AHEAD_MS: u64 = 60_000;

impl Evidence {
    /// Of a report that no statement backs.
    pub const fn bare(block_time_ms: Millis, report: Raw, report_hash: Digest) -> Self {
        Self { block_time_ms, dissent: Vec::new(), report, report_hash, statements: Vec::new() }
    }

    /// Whether what signs for the report does: each statement is about it, each dissent about the other report it brings, all
    /// by different keys under different names, read close to when the report was recorded. Evidence without any is sound.
    pub fn is_sound(&self) -> bool {
        let all = || self.statements.iter().chain(self.dissent.iter().map(|other| &other.signed));
        let apart = |many: usize| many == self.statements.len().saturating_add(self.dissent.len());
        let keys: BTreeSet<_> = all().map(|signed| signed.key).collect();
        let names: BTreeSet<_> = all().map(|signed| signed.statement.verifier.clone()).collect();
        let numbers: BTreeSet<_> =
            self.statements.iter().map(|signed| signed.statement.invoice_number.clone()).collect();
        let about = self.statements.iter().all(|signed| signed.statement.report_hash == self.report_hash);
        let other = self.dissent.iter().all(|other| {
            let said = &other.signed.statement;
            said.report_hash == other.report.digest()
                && (said.report_hash != self.report_hash || !numbers.contains(&said.invoice_number))
        });
        let recorded = self.block_time_ms;
        let close = all()
            .map(|signed| signed.statement.observed_at_ms)
            .all(|read| recorded.since(read) <= OLDEST_MS && read.since(recorded) <= AHEAD_MS);
        let backed = !self.statements.is_empty() || self.dissent.is_empty();
        let one = numbers.len() <= 1 && apart(keys.len()) && apart(names.len());
        backed && one && about && other && close && all().all(SignedStatement::holds)
    }

    /// The report, if it is one that this action can be judged by now (spec 1.6): well formed, about this action, the one
    /// its hash names, and fresh. Anything else is as if there were none.
    pub fn usable(&self, action: &HashedAction, now: Millis) -> Option<Hashed<Report>> {
        let report = Report::read(self.report.as_bytes()).ok()?;
        let about = report.action_hash == action.hash() && report.hash() == self.report_hash;
        let fresh = now.since(self.block_time_ms) <= OLDEST_MS && self.block_time_ms.since(now) <= AHEAD_MS;
        (about && fresh).then_some(report)
    }
}
