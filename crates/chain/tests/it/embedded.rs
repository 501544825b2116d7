//! The embedded ledger: what it keeps, and what it refuses that its library would take.

use crate::world::{Key, NETWORK, UNIT, address, inline, opened, placed, recipient, signer};
use chain::build::{Plan, Spent};
use chain::transaction::{Transaction, VKey};
use chain::{Chain, ChainError, ExUnits, LedgerChain, Output, Treasury, Value, VaultState, data};
use env::{Duration, Virtual};
use mandate::issue::ChainName;
use mandate::plutus::Data;
use mandate::{Address, Network};
use std::sync::Arc;

fn error(result: Result<mandate::text::TxHash, ChainError>) -> String {
    match result {
        Err(ChainError::Rejected { invariant, error }) => format!("{invariant:?} {error}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ledger_in_a_file_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let clock = Arc::new(Virtual::new(1, "2026-10-07T03:00:00.000Z".parse().unwrap()));
    let fee = signer(7);
    let open = || Arc::new(LedgerChain::open(Some(&path), clock.clone(), NETWORK).unwrap());
    let (at, paid, height) = {
        let chain = open();
        let at = chain.fund(&address(&fee), Value::of(100 * UNIT)).unwrap();
        let treasury = Treasury::new(chain.clone(), NETWORK, fee.clone(), clock.clone()).unwrap();
        let paid = treasury.wallet().pay(vec![Output::new(recipient(), Value::of(7 * UNIT))]).await.unwrap();
        treasury.submit(&paid.tx).await.unwrap();
        (at, paid, chain.tip().await.unwrap().height)
    };
    let chain = open();
    assert_eq!(chain.tip().await.unwrap().height, height);
    assert_eq!(chain.utxo(at).await.unwrap(), None);
    assert_eq!(chain.transaction(paid.tx_hash).await.unwrap().unwrap().tx, paid.tx);
    let held = chain.utxos(recipient().as_str()).await.unwrap();
    assert_eq!(held[0].output.value, Value::of(7 * UNIT));
    // Taking the block back is kept too.
    chain.roll_back(1).unwrap();
    drop(chain);
    let chain = open();
    assert_eq!(chain.transaction(paid.tx_hash).await.unwrap(), None);
    assert!(chain.utxo(at).await.unwrap().is_some());
    chain.submit(&paid.tx).await.unwrap();
}

#[tokio::test]
async fn a_file_that_several_have_open_is_one_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let clock = Arc::new(Virtual::new(1, "2026-10-07T03:00:00.000Z".parse().unwrap()));
    let fee = signer(7);
    let open = || Arc::new(LedgerChain::open(Some(&path), clock.clone(), NETWORK).unwrap());
    let (one, two) = (open(), open());
    let wallet =
        |chain: &Arc<LedgerChain>| Treasury::new(chain.clone(), NETWORK, fee.clone(), clock.clone()).unwrap();
    one.fund(&address(&fee), Value::of(100 * UNIT)).unwrap();
    let pay = |lovelace| vec![Output::new(recipient(), Value::of(lovelace))];
    let (first, second) = (wallet(&one), wallet(&two));
    let (a, b) = (first.wallet().pay(pay(7 * UNIT)).await.unwrap(), second.wallet().pay(pay(8 * UNIT)).await);
    let b = b.unwrap();
    two.submit(&b.tx).await.unwrap();
    // Both were built on the one output there was.
    assert!(matches!(one.submit(&a.tx).await, Err(ChainError::Contention(_))));
    assert_eq!(one.tip().await.unwrap(), two.tip().await.unwrap());
    assert_eq!(one.transaction(b.tx_hash).await.unwrap().unwrap().tx, b.tx);
    two.roll_back(1).unwrap();
    assert_eq!(one.transaction(b.tx_hash).await.unwrap(), None);
    one.submit(&a.tx).await.unwrap();
    assert_eq!(two.utxos(recipient().as_str()).await.unwrap()[0].output.value, Value::of(7 * UNIT));
    for _ in 0..20 {
        one.fund(&recipient(), Value::of(2 * UNIT)).unwrap();
        two.fund(&recipient(), Value::of(2 * UNIT)).unwrap();
    }
    assert_eq!(open().utxos(recipient().as_str()).await.unwrap().len(), 41);
}

#[tokio::test]
async fn an_address_names_a_chain() {
    let folder = tempfile::tempdir().unwrap();
    let kept = format!("file:{}", folder.path().join("ledger.sqlite").display());
    let clock = Arc::new(Virtual::new(1, "2026-10-07T03:00:00.000Z".parse().unwrap()));
    let open =
        |url: &str| chain::connect(url, "preprodTest", NETWORK, clock.clone(), fetch::Policy::default());
    for (url, expected) in [
        ("memory:", "LedgerChain"),
        (kept.as_str(), "LedgerChain"),
        ("https://cardano-preprod.blockfrost.io/api/v0", "Blockfrost"),
    ] {
        assert!(format!("{:?}", open(url).unwrap()).starts_with(expected), "{url}");
    }
    for url in ["", "file:", "ftp://x", "memory", "ledger.sqlite"] {
        assert!(matches!(open(url), Err(ChainError::Malformed(_))), "{url}");
    }
    // Not listed, so not called.
    let private = open("http://127.0.0.1:1/api/v0").unwrap().tip().await;
    assert!(matches!(private, Err(ChainError::Unavailable(_))), "{private:?}");
}

#[tokio::test]
async fn what_is_for_one_network_is_not_for_the_other() {
    let clock = Arc::new(Virtual::new(1, "2026-10-07T03:00:00.000Z".parse().unwrap()));
    let chain = Arc::new(LedgerChain::open(None, clock.clone(), ChainName::Mainnet).unwrap());
    let treasury = Treasury::new(chain.clone(), ChainName::Mainnet, signer(7), clock).unwrap();
    chain.fund(treasury.wallet().address(), Value::of(50 * UNIT)).unwrap();
    let there = Address::new(Network::Main, *recipient().payment(), None);
    for (to, good) in [(recipient(), false), (there, true)] {
        let built = treasury.wallet().pay(vec![Output::new(to, Value::of(3 * UNIT))]).await.unwrap();
        let told = chain.submit(&built.tx).await;
        assert_eq!(told.is_ok(), good, "{told:?}");
    }
    assert!(treasury.escrow().as_str().starts_with("addr1w"));
}

#[tokio::test]
async fn the_tip_is_as_late_as_the_clock() {
    let world = placed(VaultState::default(), UNIT);
    let before = world.chain.tip().await.unwrap();
    assert_eq!(before.time, world.now());
    world.clock.advance(Duration::from_secs(90));
    let after = world.chain.tip().await.unwrap();
    assert_eq!((after.slot - before.slot, after.height), (90, before.height));
}

/// A transaction that is good but for one thing.
#[tokio::test]
async fn what_the_library_leaves_out() {
    let world = placed(VaultState::default(), 300 * UNIT);
    let record = world.record(1, UNIT, false);
    let wallet = world.treasury.wallet();
    let good = wallet.complete(world.plan(&record, None).await.unwrap()).await.unwrap();

    let mut plan = world.plan(&record, None).await.unwrap();
    plan.units = Some(vec![ExUnits { memory: 10, steps: 10 }]);
    let meagre = wallet.complete(plan).await.unwrap();
    assert!(error(world.submit(&meagre.tx, &[]).await).contains("uses more than is declared"));

    let mut plan = world.plan(&record, None).await.unwrap();
    plan.units = Some(vec![ExUnits { memory: 14_000_001, steps: 1_000_000_000 }]);
    let greedy = wallet.complete(plan).await.unwrap();
    assert!(error(world.submit(&greedy.tx, &[]).await).contains("more execution units"));

    // A stranger's signature that is wrong, after one that is right.
    let read = Transaction::read(&good.tx).unwrap();
    let mut keys = read.vkeys().unwrap();
    keys.push(VKey { key: keys[0].key, signature: [1; 64] });
    let set = chain::transaction::witness_set(&keys[1..]);
    assert!(world.treasury.witness(&good.tx, &set, keys[0].hash()).is_err());

    // Valid up to a slot, and that slot is no longer in it.
    let until = read.until().unwrap();
    let left = world.chain.time(until).since(world.now());
    world.clock.advance(Duration::from_millis(left));
    assert!(error(world.submit(&good.tx, &[]).await).contains("EXPIRED"));
}

#[tokio::test]
async fn fees_scripts_and_collateral_are_paid_for() {
    let world = opened().await;
    let record = world.record(1, UNIT, false);
    let built = world.treasury.wallet().complete(world.plan(&record, None).await.unwrap()).await.unwrap();
    // The fee and the collateral are exactly what is needed: one lovelace less is refused.
    let cheaper = with_field(&built.body, 2, |fee| fee - 1);
    let refused = error(world.chain.submit(&resigned(&built.tx, &cheaper, &signer(7))).await);
    assert!(refused.contains("PreservationOfValue") || refused.contains("the fee is"), "{refused}");
    let short = with_field(&built.body, 17, |total| total - 1);
    let refused = error(world.chain.submit(&resigned(&built.tx, &short, &signer(7))).await);
    assert!(refused.contains("ollateral"), "{refused}");
    let naked = without_field(&built.body, 13);
    let refused = error(world.chain.submit(&resigned(&built.tx, &naked, &signer(7))).await);
    assert!(refused.contains("ollateral"), "{refused}");
    world.chain.submit(&built.tx).await.unwrap();
    // Its inputs are gone now: to build again is what helps.
    let again = world.chain.submit(&built.tx).await;
    assert!(matches!(again, Err(ChainError::Contention(_))), "{again:?}");
    // But whoever asks the treasury learns that it has landed.
    assert_eq!(world.treasury.submit(&built.tx).await.unwrap(), built.tx_hash);
}

#[tokio::test]
async fn every_byte_of_a_transaction_counts() {
    let world = opened().await;
    let record = world.record(1, 12 * UNIT, true);
    let plan = world.plan(&record, None).await.unwrap();
    let built = world.treasury.wallet().complete(plan).await.unwrap();
    let good = world.sign(&built.tx, &[&world.approver]);
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at] ^= 1 << (at % 8);
        let refused = world.chain.submit(&changed).await;
        assert!(refused.is_err(), "byte {at}");
        assert!(world.chain.submit(&good[..at]).await.is_err(), "cut at {at}");
    }
    world.chain.submit(&good).await.unwrap();
}

#[tokio::test]
async fn nobody_spends_without_the_key() {
    let world = placed(VaultState::default(), UNIT);
    let at = world.chain.fund(&address(&world.agent), Value::of(9 * UNIT)).unwrap();
    let utxo = world.chain.utxo(at).await.unwrap().unwrap();
    let mut plan = Plan::default();
    plan.inputs.push(Spent { utxo, redeemer: None });
    let built = world.treasury.wallet().complete(plan).await.unwrap();
    let none: &[&Key] = &[];
    assert!(error(world.submit(&built.tx, none).await).contains("VKWitnessMissing"));
    assert!(error(world.submit(&built.tx, &[&world.engine]).await).contains("VKWitnessMissing"));
    world.submit(&built.tx, &[&world.agent]).await.unwrap();
}

#[tokio::test]
async fn the_sink_gives_nothing_back() {
    let world = placed(VaultState::default(), UNIT);
    let sink = world.treasury.sink().clone();
    assert_eq!(sink.as_str(), "addr_test1wq3vnggra5ljl2tunqkhd4hz4agvt422cvrfswcedj8um2cwsu3l3");
    for datum in [chain::Datum::None, inline(&Data::Int(0))] {
        let at = world.chain.place(Output::new(sink.clone(), Value::of(9 * UNIT)).with(datum)).unwrap();
        let utxo = world.chain.utxo(at).await.unwrap().unwrap();
        let mut plan = Plan { scripts: vec![world.treasury.scripts().sink().clone()], ..Plan::default() };
        plan.units = Some(vec![crate::world::PLENTY]);
        plan.spend(utxo, data::REFUND);
        let built = world.treasury.wallet().complete(plan).await.unwrap();
        assert!(matches!(world.submit(&built.tx, &[]).await, Err(ChainError::Rejected { .. })));
    }
}

#[tokio::test]
async fn a_wallet_that_has_too_little_says_so() {
    let world = placed(VaultState::default(), UNIT);
    let wallet = world.agent_wallet();
    let pay = vec![Output::new(recipient(), Value::of(7 * UNIT))];
    let empty = wallet.pay(pay.clone()).await;
    assert!(matches!(empty, Err(ChainError::Insufficient { available: 0, .. })), "{empty:?}");
    world.chain.fund(wallet.address(), Value::of(7 * UNIT)).unwrap();
    let short = wallet.pay(pay.clone()).await;
    assert!(matches!(short, Err(ChainError::Insufficient { .. })), "{short:?}");
    world.chain.fund(wallet.address(), Value::of(2 * UNIT)).unwrap();
    let built = wallet.pay(pay).await.unwrap();
    world.chain.submit(&built.tx).await.unwrap();
}

#[tokio::test]
async fn many_small_outputs_pay_together() {
    let world = placed(VaultState::default(), UNIT);
    let wallet = world.agent_wallet();
    for _ in 0..40 {
        world.chain.fund(wallet.address(), Value::of(2 * UNIT)).unwrap();
    }
    let built = wallet.pay(vec![Output::new(recipient(), Value::of(60 * UNIT))]).await.unwrap();
    world.chain.submit(&built.tx).await.unwrap();
    assert_eq!(world.held(&recipient()).await, Value::of(60 * UNIT));
}

/// A body with one number changed, which must not change its width.
fn with_field(body: &[u8], key: u8, change: impl Fn(u64) -> u64) -> Vec<u8> {
    let found: Vec<usize> =
        (0..body.len()).filter(|at| body[*at] == key && body.get(at + 1) == Some(&0x1a)).collect();
    let at = found[0];
    let number = u32::from_be_bytes(body[at + 2..at + 6].try_into().unwrap());
    let changed = u32::try_from(change(u64::from(number))).unwrap();
    [&body[..at + 2], &changed.to_be_bytes(), &body[at + 6..]].concat()
}

/// A body without its set of one output (collateral).
fn without_field(body: &[u8], key: u8) -> Vec<u8> {
    let mark = [key, 0xd9, 0x01, 0x02, 0x81, 0x82, 0x58, 0x20];
    let at = body.windows(mark.len()).position(|window| window == mark).unwrap();
    let mut short = body.to_vec();
    short[0] -= 1;
    let length = mark.len() + 32 + 1;
    short.drain(at..at + length);
    short
}

/// Another body under the same scripts and redeemers, signed by the fee wallet.
fn resigned(tx: &[u8], body: &[u8], key: &Key) -> Vec<u8> {
    let old = Transaction::read(tx).unwrap();
    let at = tx.windows(old.body().len()).position(|window| window == old.body()).unwrap();
    let rest = &tx[at + old.body().len()..];
    let bare = [&tx[..at], body, rest].concat();
    let before = old.vkeys().unwrap()[0];
    let hash = Transaction::read(&bare).unwrap().hash();
    let signature = keys::Signer::sign(key.as_ref(), hash.as_bytes()).unwrap();
    let place = bare.windows(64).position(|window| window == before.signature).unwrap();
    [&bare[..place], signature.as_bytes(), &bare[place + 64..]].concat()
}
