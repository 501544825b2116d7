//! Stripe's REST API, or whatever speaks it: one call, `GET /v1/invoices/{id}`, with a restricted key that may do no more.

use crate::Error;
use canon::Value;
use fetch::{Client, Destination, Request};
use http::{Method, header};
use mandate::invoice::Invoice;
use mandate::text::{Text, Units};
use std::fmt;
use std::str::FromStr;

/// A billing source.
pub struct Stripe {
    client: Client,
    /// Without a slash at its end.
    base: String,
    authorization: header::HeaderValue,
}

/// What the source has, and the number under which people know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub invoice: Invoice,
    pub number: Option<Text<0, 64>>,
}

/// The shapes below are this version's.
const VERSION: &str = "2024-06-20";
const VERSION_HEADER: &str = "stripe-version";

impl Stripe {
    /// `base` is as `https://api.stripe.com`; refused is one that `client` would not call, and a key that is none.
    pub fn new(client: Client, base: &str, key: &str) -> Result<Self, Error> {
        let base = base.trim_end_matches('/').to_owned();
        let setup = |error: &dyn fmt::Display| Error::Bug(format!("the billing source: {error}"));
        let to = Destination::parse(&base).map_err(|error| setup(&error))?;
        client.permits(&to).map_err(|error| setup(&error))?;
        if key.is_empty() {
            return Err(setup(&"its key is empty"));
        }
        let mut authorization = header::HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| setup(&"its key is no key"))?;
        authorization.set_sensitive(true);
        Ok(Self { client, base, authorization })
    }

    /// The invoice, or that there is none. Everything else is an error: what was not read is not known.
    pub async fn invoice(&self, id: &str) -> Result<Option<Found>, Error> {
        // No invoice has such an id; asked for, it would be another path.
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(None);
        }
        let unavailable = |error: fetch::Error| Error::SourceUnavailable { detail: error.to_string() };
        let to = Destination::parse(&format!("{}/v1/invoices/{id}", self.base)).map_err(unavailable)?;
        let mut request = Request::new(Method::GET, to);
        request.headers.insert(header::AUTHORIZATION, self.authorization.clone());
        request.headers.insert(VERSION_HEADER, header::HeaderValue::from_static(VERSION));
        let answer = self.client.send(request).await.map_err(unavailable)?;
        match answer.status.as_u16() {
            200 => read(&answer.body).map(Some),
            404 if is_missing(&answer.body) => Ok(None),
            status @ (401 | 403) => Err(Error::SourceRefused { status }),
            429 => {
                let after = answer.headers.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok());
                Err(Error::SourceBusy { after: after.and_then(|after| after.parse().ok()).unwrap_or(BUSY) })
            }
            status => Err(Error::SourceUnavailable { detail: format!("status {status}") }),
        }
    }
}

/// Seconds.
const BUSY: u64 = 5;

/// Reads an invoice. What is malformed in it is null; what is none at all is refused.
fn read(body: &[u8]) -> Result<Found, Error> {
    let malformed = |detail: String| Error::SourceMalformed { detail };
    let value = canon::parse(body).map_err(|error| malformed(error.to_string()))?;
    if value.get("object").and_then(Value::as_str) != Some("invoice") {
        return Err(malformed("not of the kind \"invoice\"".to_owned()));
    }
    let noted = |name: &str| value.get("metadata").and_then(|metadata| metadata.get(name));
    // An id, or the object itself where the source was told to expand it.
    let customer = value.get("customer").map(|customer| customer.get("id").unwrap_or(customer));
    let payout = text::<200>(noted("payout_address")).filter(|address| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let network =
            if address.as_str().starts_with("addr_test") { "cardano-preprod" } else { "cardano-mainnet" };
        address.as_str().bytes().all(plain) && noted("payout_chain").and_then(Value::as_str) == Some(network)
    });
    let invoice = Invoice {
        amount_due: value.get("amount_due").and_then(Value::as_u64).map(Units::new),
        currency: parsed(value.get("currency")),
        customer: text(customer),
        id: text(value.get("id")),
        payout_address: payout,
        status: parsed(value.get("status")),
        vendor_id: text(noted("vendor_id")),
    };
    Ok(Found { invoice, number: parsed(value.get("number")) })
}

/// Whether it is the source's own word that there is no such invoice, and not that of something in between.
fn is_missing(body: &[u8]) -> bool {
    canon::parse(body).is_ok_and(|value| {
        value.pointer("/error/type").and_then(Value::as_str) == Some("invalid_request_error")
    })
}

fn text<const MAX: usize>(value: Option<&Value<'_>>) -> Option<Text<1, MAX>> {
    parsed(value)
}

fn parsed<T: FromStr>(value: Option<&Value<'_>>) -> Option<T> {
    value.and_then(Value::as_str).and_then(|text| text.parse().ok())
}

impl fmt::Debug for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripe").field("base", &self.base).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<Found>) {
        assert_eq!(read(body.as_bytes()).ok(), expected, "{body}");
    }

    #[test]
    fn what_is_malformed_is_null() {
        let whole = r#"{"object":"invoice","id":"in_1","number":"AWS-1","amount_due":842,"currency":"usd","status":"open",
            "customer":"cus_1","tax_percent":19.5,"metadata":{"vendor_id":"aws","payout_chain":"cardano-preprod",
            "payout_address":"addr_test1x"}}"#;
        let found = Found {
            invoice: Invoice {
                amount_due: Some(Units::new(842)),
                currency: "usd".parse().ok(),
                customer: "cus_1".parse().ok(),
                id: "in_1".parse().ok(),
                payout_address: "addr_test1x".parse().ok(),
                status: "open".parse().ok(),
                vendor_id: "aws".parse().ok(),
            },
            number: "AWS-1".parse().ok(),
        };
        check(whole, Some(found.clone()));
        check(&whole.replace("\"cus_1\"", r#"{"id":"cus_1","object":"customer"}"#), Some(found.clone()));
        let without = |edit: fn(&mut Invoice)| {
            let mut found = found.clone();
            edit(&mut found.invoice);
            Some(found)
        };
        for amount in ["-842", "842.5", "\"842\"", "null"] {
            check(
                &whole.replace(":842", &format!(":{amount}")),
                without(|invoice| invoice.amount_due = None),
            );
        }
        for (good, bad) in [
            ("cardano-preprod", "cardano-mainnet"),
            ("cardano-preprod", "cardano"),
            ("addr_test1x", "ADDR_TEST1X"),
            ("addr_test1x", "addr_test1x "),
        ] {
            check(&whole.replace(good, bad), without(|invoice| invoice.payout_address = None));
        }
        check(r#"{"object":"invoice"}"#, Some(Found::default()));
        for none in [
            "",
            "[]",
            "{}",
            r#"{"object":"charge","id":"in_1"}"#,
            r#"{"object":"invoice","id":"a","id":"b"}"#,
        ] {
            check(none, None);
        }
    }
}
