//! An invoice as its billing source has it, in one form, and the six facts that follow from it (spec 1.6).

use crate::action::{HashedAction, Reference};
use crate::engine::fiat;
use crate::report::{Facts, Report, ReportSchema, Verified};
use crate::text::{Text, Units};
use crate::{Hashed, Refusal};
use serde::Serialize;

/// The tuple of spec 1.6: what the source does not say, or says malformed, is null. Its hash is the report's `invoice_hash`.
/// Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Invoice {
    /// In cents.
    pub amount_due: Option<Units>,
    pub currency: Option<Text<0, 8>>,
    pub customer: Option<Text<1, 64>>,
    pub id: Option<Text<1, 64>>,
    /// Only where the source names the network of the payment with it.
    pub payout_address: Option<Text<1, 200>>,
    pub status: Option<Text<0, 32>>,
    pub vendor_id: Option<Text<1, 64>>,
}

/// What is asked of an invoice.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub action: &'a HashedAction,
    pub reference: &'a Reference,
    /// Whoever the billing source has to know as the one that pays.
    pub customer: &'a str,
    /// Made by whoever asks, anew each time: an answer to another question shows.
    pub trigger_id: &'a Text<1, 64>,
}

/// Base units of six decimals in a cent.
const UNITS_IN_A_CENT: u64 = 10_000;

impl Invoice {
    /// The report. Every fact but the first needs the invoice to be the one that was asked for. The parties match where the
    /// payer is `customer` and the payee's id, letter for letter, is the action's counterparty: a name that only looks like
    /// it is another.
    pub fn report(&self, question: &Question<'_>) -> Result<Hashed<Report>, Refusal> {
        let Question { action, reference, customer, trigger_id } = *question;
        let said = |text: &Option<Text<1, 64>>, expected: &str| {
            text.as_ref().is_some_and(|text| text.as_str() == expected)
        };
        let amount =
            self.amount_due.and_then(|cents| cents.get().checked_mul(UNITS_IN_A_CENT)).map(Units::new);
        let currency = self.currency.as_ref().map(Text::as_str);
        let recipient = self.payout_address.as_ref().map(Text::as_str);
        let exists = self.id.as_ref() == Some(&reference.invoice_id);
        let facts = Facts {
            amount_match: exists && amount == Some(action.amount.value.units()),
            currency_match: exists && currency.is_some() && currency == fiat(&action.amount.asset),
            customer_match: exists
                && said(&self.customer, customer)
                && said(&self.vendor_id, action.counterparty.id.as_str()),
            exists,
            recipient_match: exists && recipient == Some(action.recipient.address.as_str()),
            status_open: exists && self.status.as_ref().map(Text::as_str) == Some("open"),
        };
        let reason = facts.first_false();
        let verified_recipient = recipient.map(str::parse).transpose();
        let report = Report {
            action_hash: action.hash(),
            facts,
            invoice_hash: Hashed::of(self.clone())?.hash(),
            invoice_id: reference.invoice_id.clone(),
            reason,
            result: if reason.is_none() { Verified::Verified } else { Verified::Mismatch },
            schema: ReportSchema::V01,
            status: self.status.clone(),
            trigger_id: trigger_id.clone(),
            verified_amount: amount,
            verified_currency: self.currency.clone(),
            verified_recipient: verified_recipient
                .map_err(|_| Refusal::BadValue { place: "/verified_recipient".to_owned() })?,
        };
        Ok(Hashed::of(report)?)
    }
}
