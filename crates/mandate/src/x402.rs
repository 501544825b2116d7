//! The documents of the x402 HTTP transport, version 2 (seed, "Escalation over HTTP 402"; spec 1.9): what a 402 says, and
//! what an agent answers. Headers carry them in base64, which is the edge's to undo.

use crate::log::ApprovalId;
use crate::price::{BondDatum, OutRef, Price};
use crate::text::{KeyHash, Text, TxHash};
use canon::{Raw, Value};
use serde::{Deserialize, Serialize};

/// The body of a 402, and its PAYMENT-REQUIRED header.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaymentRequired {
    #[serde(rename = "x402Version")]
    pub version: u8,
    pub error: &'static str,
    pub resource: Resource,
    pub accepts: [Entry; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resource {
    pub url: String,
    pub description: String,
}

/// One way to pay.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub scheme: &'static str,
    pub network: String,
    pub amount: String,
    pub asset: String,
    pub pay_to: String,
    pub max_timeout_seconds: u64,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Extra {
    /// `cardano-escrow`: the price itself.
    Escrow(Box<Price>),
    /// `exact`: a lock in a declared script. A chain id with a colon, which strict readers ask for.
    #[serde(rename_all = "camelCase")]
    Exact {
        asset_transfer_method: &'static str,
        script_hash: KeyHash,
        confirmation_policy: Confirmations,
        escalation: Box<Price>,
        /// The datum to lock under, in CBOR as hex, where the agent said to whom the bond goes back.
        #[serde(skip_serializing_if = "Option::is_none")]
        datum: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmations {
    pub l1_confirmations: u8,
}

/// What a 402 for this price says. `url` is where the check is sent again, `escrow` the hash of the escrow's script.
pub fn required(
    price: &Price,
    action_id: &str,
    url: &str,
    escrow: KeyHash,
    seconds: u64,
    datum: Option<&BondDatum>,
) -> PaymentRequired {
    let entry = |scheme, network: String, extra| Entry {
        scheme,
        network,
        amount: price.amount.to_string(),
        asset: price.asset.unit(),
        pay_to: price.escrow_address.to_string(),
        max_timeout_seconds: seconds,
        extra,
    };
    let exact = Extra::Exact {
        asset_transfer_method: "script",
        script_hash: escrow,
        confirmation_policy: Confirmations { l1_confirmations: 0 },
        escalation: Box::new(price.clone()),
        datum: datum.map(|datum| hex::encode(datum.to_data().to_cbor())),
    };
    PaymentRequired {
        version: 2,
        error: "escalation requires a bond",
        resource: Resource {
            url: url.to_owned(),
            description: format!("Human authority for action {action_id}"),
        },
        accepts: [
            entry("cardano-escrow", price.network.name().to_owned(), Extra::Escrow(Box::new(price.clone()))),
            entry("exact", price.network.caip2().to_owned(), exact),
        ],
    }
}

/// What an agent says it has paid with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    /// It has locked the bond itself.
    Locked { approval_id: ApprovalId, at: OutRef },
    /// It hands over the signed transaction, base64 of its CBOR; `nonce` is an input that it spends. A facilitator is given the
    /// whole document.
    Transaction { approval_id: ApprovalId, transaction: Text<1, 65_536>, nonce: OutRef, document: Raw },
}

/// Reads a PAYMENT-SIGNATURE. Whatever is neither of the two forms is no payment.
pub fn payment(json: &[u8]) -> Option<Payment> {
    let value = canon::parse(json).ok()?;
    if value.get("x402Version").and_then(Value::as_u64) != Some(2) {
        return None;
    }
    let accepted = value.get("accepted")?;
    let payload = value.get("payload")?.to_owned();
    if accepted.get("scheme").and_then(Value::as_str) == Some("exact") {
        let read: TransactionPayload = canon::from_value(payload).ok()?;
        let approval_id = accepted.pointer("/extra/escalation/approval_id")?.as_str()?.parse().ok()?;
        let (tx_hash, index) = read.nonce.split_once('#')?;
        let nonce = OutRef { tx_hash: tx_hash.parse().ok()?, output_index: index.parse().ok()? };
        let document = Raw::from_slice(json).ok()?;
        return Some(Payment::Transaction { approval_id, transaction: read.transaction, nonce, document });
    }
    let read: LockedPayload = canon::from_value(payload).ok()?;
    let at = OutRef { output_index: read.output_index, tx_hash: read.tx_hash };
    Some(Payment::Locked { approval_id: read.approval_id, at })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedPayload {
    approval_id: ApprovalId,
    output_index: u32,
    tx_hash: TxHash,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionPayload {
    nonce: String,
    transaction: Text<1, 65_536>,
}
