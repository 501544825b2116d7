//! Prices that are paid and prices that are not; one lock a price, whatever the chain does.

use crate::world::{BOND, NETWORK, World, address, ask, key};
use chain::faulty::{Call, Fault};
use chain::{Chain, ChainError, Faulty, LedgerChain, Value};
use client::{Answer, Error, MandateShown, Outcome, Purse, Standing};
use env::{Duration, Source, Virtual};
use mandate::{Millis, Price};
use serde_json::json;
use std::sync::Arc;

async fn priced(world: &World, id: &str) -> (Price, MandateShown) {
    let Answer::Priced(priced) = world.agent().ask(&ask(id, 18)).await.unwrap() else { panic!("a price") };
    (priced.price, world.server(2).mandate(&"M-001".parse().unwrap()).await.unwrap())
}

#[tokio::test]
async fn a_price_is_paid_only_as_it_should_be() {
    let world = World::start().await;
    let agent = world.agent();
    let purse = agent.purse().unwrap();
    let (price, shown) = priced(&world, "A1").await;
    let now = Millis::try_from(env::System.now()).unwrap();
    purse.accepts(&price, &shown, now).unwrap();
    let later = price.locked_until_ms.plus(25 * 3_600_000).get();
    for (name, value, expected) in [
        ("network", json!("cardano-mainnet"), "price_network"),
        ("escrow_address", json!(address(8).as_str()), "price_escrow"),
        (
            "asset",
            json!({ "policy_id": "ee".repeat(28), "asset_name": "00", "symbol": "USDM" }),
            "price_asset",
        ),
        ("amount", json!((BOND + 1).to_string()), "price_amount"),
        ("locked_until_ms", json!(now.get()), "price_time"),
        ("locked_until_ms", json!(later), "price_time"),
        ("approver_key_hash", json!("55".repeat(28)), "price_approver"),
    ] {
        let mut other: serde_json::Value = serde_json::from_slice(&canon::to_vec(&price).unwrap()).unwrap();
        other[name] = value;
        let other: Price = canon::from_slice(other.to_string().as_bytes()).unwrap();
        let told = purse.accepts(&other, &shown, now);
        assert!(matches!(&told, Err(Error::Price { code, .. }) if *code == expected), "{name}: {told:?}");
    }
    // A mandate that is not the one under the anchor.
    let mut lying = crate::world::mandate();
    lying["interrupt_budget"]["per_day"] = json!(9);
    let lying = json!({ "anchor": { "mandate_ref": shown.anchor.mandate_ref }, "mandate": lying });
    let lying: MandateShown = canon::from_slice(lying.to_string().as_bytes()).unwrap();
    let told = purse.lock(&price, &lying).await;
    assert!(matches!(told, Err(Error::Price { code: "price_mandate", .. })), "{told:?}");
    assert_eq!((world.locked().await, purse.bonds().all().unwrap().len()), (0, 0));
}

#[tokio::test]
async fn each_submission_four_ways_locks_once() {
    let world = World::start().await;
    let mut n = 0;
    for fault in [Fault::Works, Fault::FailsClean, Fault::FailsAfterLanding] {
        n += 1;
        let chain = Arc::new(Faulty::new(world.chain.clone()));
        chain.next(Call::Submit, fault);
        let agent = world.agent_on(chain.clone());
        let decided = agent.propose(&ask(&format!("A{n}"), 11)).await.unwrap();
        assert!(matches!(decided.outcome, Outcome::Waiting(_)), "{fault:?} {decided:?}");
        assert_eq!(world.locked().await, n, "{fault:?}");
    }
    // It ends between keeping and submitting: the next one submits what was kept.
    let (price, shown) = priced(&world, "A9").await;
    let kept = world.agent().purse().unwrap().prepare(&price, &shown).await.unwrap();
    assert_eq!(world.locked().await, n);
    let decided = world.agent().propose(&ask("A9", 18)).await.unwrap();
    assert_eq!(decided.bond.unwrap().tx_hash, Some(kept.tx_hash));
    assert_eq!(world.locked().await, n + 1);
}

#[tokio::test]
async fn what_something_else_was_faster_with_is_made_anew_and_what_was_out_is_not() {
    let world = World::start().await;
    let (price, shown) = priced(&world, "A1").await;
    let (one, two) = (world.agent(), world.agent());
    // Two processes, the same wallet, two prices: both build on the same output.
    let (other, _) = priced(&world, "A2").await;
    let first = one.purse().unwrap().prepare(&price, &shown).await.unwrap();
    let second = two.purse().unwrap().lock(&other, &shown).await.unwrap();
    assert_ne!(first.tx_hash, second.tx_hash);
    // What is kept from before may have been out: it is not made anew.
    let told = one.purse().unwrap().lock(&price, &shown).await;
    assert!(matches!(told, Err(Error::Chain(ChainError::Contention(_)))), "{told:?}");
    assert_eq!(world.locked().await, 1);
    // What nobody else had is.
    one.purse().unwrap().bonds().forget(&first).unwrap();
    let anew = one.purse().unwrap().lock(&price, &shown).await.unwrap();
    assert_ne!(anew.tx_hash, first.tx_hash);
    assert_eq!(world.locked().await, 2);
}

#[tokio::test]
async fn a_bond_whose_time_is_over_is_taken_back() {
    let clock = Arc::new(Virtual::new(1, "2026-10-07T03:00:00.000Z".parse().unwrap()));
    let world = World::start().await;
    let (mut price, _) = priced(&world, "A1").await;
    price.locked_until_ms = Millis::try_from(clock.now()).unwrap().plus(3_600_000);
    let chain = Arc::new(LedgerChain::open(None, clock.clone(), NETWORK).unwrap());
    for _ in 0..4 {
        chain.fund(&address(10), Value::of(20_000_000)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let purse = Purse::new(chain.clone(), NETWORK, key(10), clock.clone(), folder.path(), BOND).unwrap();
    let before = purse.lovelace().await.unwrap();
    let built = chain::Wallet::new(chain.clone(), NETWORK, key(10), clock.clone()).unwrap();
    let built = built.lock(&price, world.vault.mandate_ref).await.unwrap();
    let kept = client::Kept {
        mandate_id: "M-001".parse().unwrap(),
        mandate_ref: world.vault.mandate_ref,
        price,
        tx: hex::encode(&built.tx),
        tx_hash: built.tx_hash,
    };
    let kept = purse.bonds().keep(kept).unwrap();
    assert_eq!(purse.standing(&kept).await.unwrap(), Standing::Absent);
    purse.submit(&kept).await.unwrap();
    assert_eq!(purse.standing(&kept).await.unwrap(), Standing::Locked);
    assert!(purse.recover(&kept).await.is_err(), "it is still locked");
    clock.advance(Duration::from_secs(3_602));
    purse.recover(&kept).await.unwrap();
    assert_eq!(purse.standing(&kept).await.unwrap(), Standing::Spent);
    let fees = before - purse.lovelace().await.unwrap();
    assert!(fees < 1_500_000, "{fees}");
    // The folder is its owner's alone, and so is each file.
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(chain.tip().await.unwrap().height, 6);
}
