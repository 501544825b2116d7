//! Bonds by hand: for agents whose own x402 client pays, and for what was left behind.

use super::home::Home;
use super::propose::failed;
use super::{Bond, Failure, ada, read_input};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::Value;
use client::{Error, Kept, Standing};
use env::Source;
use mandate::{Millis, Price};
use serde_json::json;

pub async fn run(bond: &Bond) -> Result<(), Failure> {
    match bond {
        Bond::Lock { at, price, mandate, unsubmitted } => {
            let home = Home::open(at)?;
            let price = price_of(&read_input(price)?)?;
            let shown = home.server()?.mandate(mandate).await.map_err(failed)?;
            let purse = home.purse()?;
            purse.accepts(&price, &shown, now()?).map_err(failed)?;
            let kept = if *unsubmitted {
                purse.prepare(&price, &shown).await
            } else {
                purse.lock(&price, &shown).await
            };
            println!("{}", told(&kept.map_err(failed)?).map_err(failed)?);
            Ok(())
        }
        Bond::Show { at } => {
            let purse = Home::open(at)?.purse()?;
            for kept in purse.bonds().all().map_err(failed)? {
                let standing = match purse.standing(&kept).await.map_err(failed)? {
                    Standing::Locked if now()? > kept.price.locked_until_ms => "due",
                    Standing::Locked => "locked",
                    Standing::Spent => "spent",
                    Standing::Absent => "absent",
                };
                println!("{}", line(&kept, standing));
            }
            Ok(())
        }
        Bond::Recover { at } => {
            let purse = Home::open(at)?.purse()?;
            for kept in purse.bonds().all().map_err(failed)? {
                let due = now()? > kept.price.locked_until_ms;
                if due && purse.standing(&kept).await.map_err(failed)? == Standing::Locked {
                    let tx_hash = purse.recover(&kept).await.map_err(failed)?;
                    println!("{} in {tx_hash}", line(&kept, "recovered"));
                }
            }
            Ok(())
        }
    }
}

fn line(kept: &Kept, standing: &str) -> String {
    let (price, at) = (&kept.price, kept.at());
    format!(
        "{standing:<9} {} {} of {}, until {}, {}#{}",
        price.approval_id,
        ada(price.amount.get()),
        kept.mandate_id,
        price.locked_until_ms.timestamp(),
        at.tx_hash,
        at.output_index
    )
}

/// Where it is, and the transaction as an x402 `exact` payment carries it.
fn told(kept: &Kept) -> Result<serde_json::Value, Error> {
    let at = kept.at();
    Ok(json!({
        "approval_id": kept.price.approval_id,
        "nonce": kept.nonce()?,
        "output_index": at.output_index,
        "transaction": STANDARD.encode(kept.bytes()?),
        "tx_hash": at.tx_hash,
    }))
}

/// Of a 402 document, of one of its entries, or the price itself.
fn price_of(bytes: &[u8]) -> Result<Price, Failure> {
    let value = canon::parse(bytes).map_err(Failure::unusable_by)?;
    let escrow = |entry: &&Value<'_>| entry.get("scheme").and_then(Value::as_str) == Some("cardano-escrow");
    let entries = value.get("accepts").and_then(Value::as_array).unwrap_or_default();
    let entry = entries.iter().find(escrow).unwrap_or(&value);
    let price = entry.pointer("/extra/escalation").or_else(|| entry.get("extra")).unwrap_or(entry);
    canon::from_value(price.to_owned())
        .map_err(|error| Failure::unusable(format!("neither a 402 document nor a price: {error}")))
}

fn now() -> Result<Millis, Failure> {
    Millis::try_from(env::System.now()).map_err(Failure::unusable_by)
}
