//! How a proposal that is under way ends, by what its run's log says.

use crate::Error;
use canon::Value;
use mandate::Reason;
use mandate::log::DeclineReason;
use mandate::text::{Id, Text, TxHash};
use std::str::FromStr;

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The vault paid.
    Released { tx_hash: TxHash, receipt_id: String },
    /// A person said no.
    Declined { reason: DeclineReason, comment: Option<Text<1, 1000>> },
    /// When the person had signed, or was about to, it no longer fitted.
    Closed(Option<Reason>),
    /// Nobody answered in time. A bond goes back.
    Expired,
    /// The authorization ended unused.
    Lapsed,
}

/// What is followed in a log.
#[derive(Debug)]
pub(crate) struct Following<'a> {
    pub mandate: &'a Id,
    pub approval: Option<&'a str>,
    /// The authorization, once there is one.
    pub digest: Option<String>,
}

impl Following<'_> {
    /// The end, if the log has it. What the chain took back is no end.
    pub fn end(&mut self, log: &[u8]) -> Result<Option<End>, Error> {
        let log = canon::parse(log).map_err(|error| Error::Answer(error.to_string()))?;
        let events = log.get("events").and_then(Value::as_array);
        let events = events.ok_or_else(|| Error::Answer("a log without its events".to_owned()))?;
        let mut end = None;
        for event in events {
            let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
            let text = |name: &str| event.pointer(&format!("/payload/{name}")).and_then(Value::as_str);
            let of_approval = self.approval.is_some() && text("approval_id") == self.approval;
            let of_digest = self.digest.is_some() && text("digest") == self.digest.as_deref();
            match kind {
                "AuthorizationIssued" if of_approval => {
                    self.digest = text("authorization/digest_hex").map(str::to_owned);
                }
                "TransactionConfirmed" if of_digest => {
                    let seq = event.get("seq").and_then(Value::as_u64).unwrap_or_default();
                    let receipt_id = format!("R-{seq}-{}", self.mandate);
                    end = Some(End::Released { tx_hash: read(text("tx_hash"))?, receipt_id });
                }
                "SettlementUnknown" if of_digest => end = None,
                "TransactionRejected" if of_digest => {
                    let released = event.pointer("/payload/reservation_released").and_then(Value::as_bool);
                    end = end.or(released.unwrap_or(false).then_some(End::Lapsed));
                }
                "CFODeclined" if of_approval => {
                    let reason = match text("reason") {
                        Some("legitimate") => DeclineReason::Legitimate,
                        Some("frivolous") => DeclineReason::Frivolous,
                        _ => return Err(Error::Answer("a decline without its reason".to_owned())),
                    };
                    let comment = text("comment").map(|text| read(Some(text))).transpose()?;
                    end = Some(End::Declined { reason, comment });
                }
                "ApprovalExpired" if of_approval => end = Some(End::Expired),
                "ApprovalClosed" if of_approval => {
                    let reason = event.pointer("/payload/reason");
                    let reason = reason.map(|reason| canon::from_value(reason.to_owned())).transpose();
                    let reason = reason.map_err(|error| Error::Answer(error.to_string()))?;
                    end = Some(End::Closed(reason.flatten()));
                }
                _ => {}
            }
        }
        Ok(end)
    }
}

fn read<T: FromStr>(text: Option<&str>) -> Result<T, Error> {
    let bad = || Error::Answer("an entry of another shape".to_owned());
    text.and_then(|text| text.parse().ok()).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &str, expected: Option<End>) {
        let mandate = "M-001".parse().unwrap();
        let mut following = Following { mandate: &mandate, approval: Some("AP-1"), digest: None };
        let found = following.end(format!(r#"{{"events":[{events}]}}"#).as_bytes()).unwrap();
        assert_eq!(found, expected, "{events}");
    }

    #[test]
    fn the_log_says_how_it_ends() {
        let tx = "ab".repeat(32);
        let issued = r#"{"seq":5,"type":"AuthorizationIssued","payload":{"approval_id":"AP-1","authorization":{"digest_hex":"d"}}}"#;
        let paid = format!(
            r#"{{"seq":9,"type":"TransactionConfirmed","payload":{{"digest":"d","tx_hash":"{tx}"}}}}"#
        );
        let unknown = r#"{"seq":10,"type":"SettlementUnknown","payload":{"digest":"d"}}"#;
        let other = r#"{"seq":3,"type":"CFODeclined","payload":{"approval_id":"AP-2","reason":"frivolous"}}"#;
        let no = r#"{"seq":4,"type":"CFODeclined","payload":{"approval_id":"AP-1","comment":"No.","reason":"legitimate"}}"#;
        let released = End::Released { tx_hash: tx.parse().unwrap(), receipt_id: "R-9-M-001".to_owned() };
        check("", None);
        check(&format!("{other},{paid}"), None);
        check(&format!("{issued},{paid}"), Some(released));
        check(&format!("{issued},{paid},{unknown}"), None);
        check(
            no,
            Some(End::Declined { reason: DeclineReason::Legitimate, comment: Some("No.".parse().unwrap()) }),
        );
        check(r#"{"seq":4,"type":"ApprovalExpired","payload":{"approval_id":"AP-1"}}"#, Some(End::Expired));
        let closed = |reason: &str| {
            format!(
                r#"{{"seq":4,"type":"ApprovalClosed","payload":{{"approval_id":"AP-1","reason":{reason}}}}}"#
            )
        };
        check(&closed("null"), Some(End::Closed(None)));
        check(&closed(r#""DAILY_CAP_EXCEEDED""#), Some(End::Closed(Some(Reason::DailyCapExceeded))));
        let ended =
            r#"{"seq":9,"type":"TransactionRejected","payload":{"digest":"d","reservation_released":true}}"#;
        check(&format!("{issued},{ended}"), Some(End::Lapsed));
    }
}
