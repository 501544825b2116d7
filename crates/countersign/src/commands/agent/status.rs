//! What an agent is, holds, and may still do.

use super::home::Home;
use super::propose::failed;
use super::{Failure, Status, ada, key_of};
use canon::Value;

pub async fn run(status: &Status) -> Result<(), Failure> {
    let home = Home::open(&status.at)?;
    println!("key       {}", key_of(&home.delegate)?);
    println!("address   {}", home.address()?);
    if home.has_chain() {
        let purse = home.purse()?;
        println!("holds     {}", ada(purse.lovelace().await.map_err(failed)?));
        println!(
            "bonds     {} (countersign mandate agent bond show)",
            purse.bonds().all().map_err(failed)?.len()
        );
    }
    let Some(id) = &status.mandate else { return Ok(()) };
    let server = home.server()?;
    let shown = server.get(&format!("/v1/mandates/{id}")).await.map_err(failed)?;
    let shown = canon::parse(&shown).map_err(Failure::unusable_by)?;
    let text = |at: &str| shown.pointer(at).and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let symbol = text("/mandate/asset/symbol");
    let version = shown.pointer("/anchor/version").and_then(Value::as_u64).unwrap_or_default();
    println!("mandate   {id} version {version}, {}", text("/anchor/status"));
    println!(
        "limits    alone {}, at most {}, {} a day, never below {} (base units of {symbol})",
        text("/limits/autonomous_limit"),
        text("/limits/hard_cap"),
        text("/limits/daily_cap"),
        text("/limits/treasury_minimum")
    );
    println!("vault     {} held, {} spent today", text("/vault/balance"), text("/vault/spent_today"));
    let roles = shown.pointer("/mandate/approvers").and_then(Value::as_array).unwrap_or_default();
    for role in roles.iter().filter_map(|approver| approver.get("role").and_then(Value::as_str)) {
        let path = format!("/v1/authority/{role}?mandate_id={id}");
        let view = server.get(&path).await.map_err(failed)?;
        let view = canon::parse(&view).map_err(Failure::unusable_by)?;
        let number = |at: &str| view.pointer(at).and_then(Value::as_u64).unwrap_or_default();
        println!(
            "{role:<9} asked {} of {} times today",
            number("/interrupt_budget/used"),
            number("/interrupt_budget/per_day")
        );
    }
    Ok(())
}
