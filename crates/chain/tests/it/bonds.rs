//! Bonds: how they are locked, given back, captured, and attacked (spec 3.2, case 97).

use crate::world::{Key, NETWORK, UNIT, World, address, inline, key_hash, opened, placed, recipient, signer};
use chain::build::Plan;
use chain::{Asset, Chain, ChainError, Datum, Output, Treasury, Value, VaultState, data};
use env::Duration;
use mandate::brief::Budget;
use mandate::price::{BondAsset, BondDatum, OutRef, Price, PriceSchema};
use mandate::text::{KeyHash, PositiveUnits, Units};
use mandate::{Address, Credential, Network};

fn world() -> World {
    placed(VaultState::default(), 300 * UNIT)
}

fn price(world: &World) -> Price {
    let datum = world.bond_datum();
    Price {
        action_hash: datum.action_hash,
        amount: datum.amount,
        approval_id: "AP-1".parse().unwrap(),
        approver_key_hash: key_hash(&world.approver),
        approvers: None,
        asset: BondAsset { asset_name: "".parse().unwrap(), policy_id: None, symbol: "ADA".parse().unwrap() },
        escrow_address: world.treasury.escrow().as_str().parse().unwrap(),
        interrupt_budget: Budget { per_day: 3, used: 0 },
        locked_until_ms: datum.locked_until_ms,
        network: NETWORK,
        schema: PriceSchema::V01,
    }
}

#[tokio::test]
async fn a_lock_pays_its_price_and_comes_back_or_goes_to_the_sink() {
    let world = opened().await;
    let price = price(&world);
    world.chain.fund(&address(&world.agent), Value::of(30 * UNIT)).unwrap();
    let lock = world.agent_wallet().lock(&price, world.vault.mandate_ref).await.unwrap();
    let hash = world.treasury.lock_by(&lock.tx).await.unwrap();
    assert_eq!(hash, lock.tx_hash);
    // Handing it in again, as a client does that lost the answer, changes nothing.
    assert_eq!(world.treasury.lock_by(&lock.tx).await.unwrap(), hash);
    let elsewhere = world.agent_wallet().pay(vec![Output::new(recipient(), Value::of(UNIT))]).await.unwrap();
    assert!(matches!(world.treasury.lock_by(&elsewhere.tx).await, Err(ChainError::Malformed(_))));
    let at = OutRef { output_index: 0, tx_hash: hash };
    let locked = world.treasury.bond(at).await.unwrap().unwrap();
    assert_eq!(locked.pays(&price, &world.vault.mandate_ref), Ok(()));
    assert_eq!(locked.value, Units::new(5 * UNIT));

    let early = world.treasury.refund(at, None).await;
    assert!(
        matches!(&early, Err(ChainError::Rejected { invariant: Some(rule), .. }) if rule == "b2"),
        "{early:?}"
    );
    let approver = key_hash(&world.approver);
    assert!(world.treasury.refund(at, Some(key_hash(&world.agent))).await.is_err());
    assert!(world.treasury.capture(at, key_hash(&world.agent)).await.is_err());

    let capture = world.treasury.capture(at, approver).await.unwrap();
    assert!(world.submit(&capture.tx, &[]).await.is_err());
    world.submit(&capture.tx, &[&world.approver]).await.unwrap();
    assert_eq!(world.held(world.treasury.sink()).await, Value::of(5 * UNIT));
    assert_eq!(world.treasury.bond(at).await.unwrap(), None);
    let gone = world.treasury.capture(at, approver).await;
    assert!(matches!(gone, Err(ChainError::Contention(_))), "{gone:?}");

    let at = world.bond(&world.bond_datum(), Value::of(6 * UNIT));
    let refund = world.treasury.refund(at, Some(approver)).await.unwrap();
    let before = world.held(&address(&world.agent)).await.lovelace;
    world.submit(&refund.tx, &[&world.approver]).await.unwrap();
    // All of it, what was too much as well.
    assert_eq!(world.held(&address(&world.agent)).await.lovelace - before, 6 * UNIT);
}

#[tokio::test]
async fn after_its_hour_anybody_gives_a_bond_back() {
    let world = world();
    let at = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    world.clock.advance(Duration::from_secs(3600));
    assert!(world.treasury.refund(at, None).await.is_err(), "the last locked second");
    world.clock.advance(Duration::from_secs(1));
    let built = world.treasury.refund(at, None).await.unwrap();
    world.treasury.submit(&built.tx).await.unwrap();
    assert_eq!(world.held(&address(&world.agent)).await, Value::of(5 * UNIT));
}

#[tokio::test]
async fn only_a_bond_is_read_as_one() {
    let world = world();
    let datum = world.bond_datum();
    let junk: Asset = (KeyHash::from_bytes([0xdd; 28]), "00".parse().unwrap());
    let good = world.bond(&datum, Value::of(5 * UNIT));
    assert!(world.treasury.bond(good).await.unwrap().is_some());
    let escrow = world.treasury.escrow().clone();
    let place = |output: Output| world.chain.place(output).unwrap();
    let five = || Output::new(escrow.clone(), Value::of(5 * UNIT));
    for (case, at) in [
        ("no output", OutRef { output_index: 7, tx_hash: good.tx_hash }),
        ("no datum", place(five())),
        ("another datum", place(five().with(inline(&VaultState::default().to_data())))),
        ("datum by hash", place(five().with(Datum::Hash(mandate::text::Hex::from_bytes([0; 32]))))),
        ("a token beside it", world.bond(&datum, Value::of(5 * UNIT).with(junk.clone(), 5 * UNIT))),
    ] {
        assert_eq!(world.treasury.bond(at).await.unwrap(), None, "{case}");
    }
    // The address is told, and judged by whoever compares it with the price.
    let elsewhere = Output::new(recipient(), Value::of(5 * UNIT)).with(inline(&datum.to_data()));
    let elsewhere = world.treasury.bond(place(elsewhere)).await.unwrap().unwrap();
    assert_eq!(elsewhere.address.as_str(), recipient().as_str());

    let fee = signer(7);
    let treasury = Treasury::new(world.chain.clone(), NETWORK, fee, world.clock.clone()).unwrap();
    let treasury = treasury.with_bond_asset(junk.clone());
    assert_eq!(treasury.bond(good).await.unwrap(), None);
    let of_tokens = world.bond(&datum, Value::of(2 * UNIT).with(junk, 7));
    assert_eq!(treasury.bond(of_tokens).await.unwrap().unwrap().value, Units::new(7));
}

/// A refund or a capture by hand.
async fn spending(world: &World, at: OutRef, to: Address, redeemer: mandate::plutus::Data) -> Plan {
    let utxo = world.chain.utxo(at).await.unwrap().unwrap();
    let mut plan = Plan { scripts: vec![world.treasury.scripts().bond().clone()], ..Plan::default() };
    plan.outputs.push(Output::new(to, utxo.output.value.clone()));
    plan.spend(utxo, redeemer);
    plan
}

#[tokio::test]
async fn nobody_takes_a_bond() {
    let world = world();
    let datum = world.bond_datum();
    let agent = address(&world.agent);
    let approver = &world.approver;
    let bond = world.bond(&datum, Value::of(5 * UNIT));
    let slots = *world.chain.slots();
    let here = slots.at(world.now());
    type Change<'a> = Box<dyn Fn(&mut Plan) + 'a>;
    let same = |_: &mut Plan| {};
    let stake = Some(Credential::Key(key_hash(&world.principal)));
    let staked = Address::new(Network::Test, *agent.payment(), stake);
    let cases: Vec<(&str, &str, Vec<&Key>, bool, Change<'_>)> = vec![
        ("97 before the lock's end", "b2", vec![], false, Box::new(move |plan| plan.from = Some(here))),
        ("97 no start", "b2", vec![], false, Box::new(same)),
        ("97 the agent itself", "b2", vec![&world.agent], false, Box::new(same)),
        (
            "97 a lovelace less",
            "b3",
            vec![approver],
            false,
            Box::new(|plan| plan.outputs[0].value.lovelace -= 1),
        ),
        (
            "97 other stake",
            "b3",
            vec![approver],
            false,
            Box::new(move |plan| plan.outputs[0].address = staked.clone()),
        ),
        (
            "97 to somebody",
            "b3",
            vec![approver],
            false,
            Box::new(|plan| plan.outputs[0].address = recipient()),
        ),
        (
            "97 marked as another payment",
            "b3",
            vec![approver],
            false,
            Box::new(|plan| {
                plan.outputs[0].datum = inline(&VaultState::default().to_data());
            }),
        ),
        ("97 captured by nobody", "b4", vec![], true, Box::new(same)),
        ("97 captured by the agent's own key", "b4", vec![&world.agent], true, Box::new(same)),
        (
            "97 captured for the agent",
            "b5",
            vec![approver],
            true,
            Box::new(|plan| plan.outputs[0].address = address(&world.agent)),
        ),
        (
            "97 captured for the approver",
            "b5",
            vec![approver],
            true,
            Box::new(|plan| plan.outputs[0].address = address(&world.approver)),
        ),
        (
            "97 captured for another script",
            "b5",
            vec![approver],
            true,
            Box::new(|plan| {
                plan.outputs[0].address = world.treasury.escrow().clone();
            }),
        ),
        (
            "97 captured short",
            "b5",
            vec![approver],
            true,
            Box::new(|plan| plan.outputs[0].value.lovelace -= 1),
        ),
    ];
    for (case, rule, keys, capture, change) in cases {
        let (to, redeemer) = if capture {
            (world.treasury.sink().clone(), data::CAPTURE)
        } else {
            (agent.clone(), data::REFUND)
        };
        let mut plan = spending(&world, bond, to, redeemer).await;
        plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        change(&mut plan);
        assert_eq!(world.try_out(plan, &keys).await.as_deref(), Some(rule), "{case}");
    }
}

#[tokio::test]
async fn time_gives_back_and_never_captures() {
    let world = world();
    let datum = world.bond_datum();
    let bond = world.bond(&datum, Value::of(5 * UNIT));
    world.clock.advance(Duration::from_secs(3700));
    let slots = *world.chain.slots();
    let end = slots.at(datum.locked_until_ms);
    let mut plan = spending(&world, bond, world.treasury.sink().clone(), data::CAPTURE).await;
    plan.from = Some(end + 1);
    assert_eq!(world.try_out(plan, &[]).await.as_deref(), Some("b4"), "97 captured after the lock");
    for (from, rule) in [(end, Some("b2")), (end + 1, None)] {
        let mut plan = spending(&world, bond, address(&world.agent), data::REFUND).await;
        plan.from = Some(from);
        assert_eq!(world.try_out(plan, &[]).await.as_deref(), rule, "97 {from}");
    }
}

#[tokio::test]
async fn one_payment_is_one_bond() {
    let world = world();
    let datum = world.bond_datum();
    let (one, two) = (world.bond(&datum, Value::of(5 * UNIT)), world.bond(&datum, Value::of(5 * UNIT)));
    let mut plan = spending(&world, one, address(&world.agent), data::REFUND).await;
    let second = world.chain.utxo(two).await.unwrap().unwrap();
    plan.spend(second, data::REFUND);
    plan.sign(key_hash(&world.approver));
    assert_eq!(world.try_out(plan, &[&world.approver]).await.as_deref(), Some("b0"));

    // The release's own output to the agent is not the refund: here both are in the same token.
    let asset = world.asset.clone();
    let in_tokens = BondDatum { amount: PositiveUnits::try_from(UNIT).unwrap(), ..datum.clone() };
    let bond = world.bond(&in_tokens, Value::of(2 * UNIT).with(asset, UNIT));
    let mut fields = world.fields(1, UNIT, true);
    fields.recipient = address(&world.agent);
    let mut plan = world.plan(&world.signed(fields), None).await.unwrap();
    plan.scripts.push(world.treasury.scripts().bond().clone());
    plan.spend(world.chain.utxo(bond).await.unwrap().unwrap(), data::REFUND);
    assert_eq!(world.try_out(plan, &[&world.approver]).await.as_deref(), Some("b3"));
}

#[tokio::test]
async fn a_token_bond_needs_its_token() {
    let world = world();
    let datum = BondDatum { amount: PositiveUnits::try_from(7).unwrap(), ..world.bond_datum() };
    let token: Asset = (KeyHash::from_bytes([0xdd; 28]), "00".parse().unwrap());
    let other: Asset = (KeyHash::from_bytes([0xdc; 28]), "00".parse().unwrap());
    let approver = [&world.approver];
    let bond = world.bond(&datum, Value::of(9 * UNIT).with(token.clone(), 7));
    for (to, redeemer, rule) in
        [(address(&world.agent), data::REFUND, "b3"), (world.treasury.sink().clone(), data::CAPTURE, "b5")]
    {
        let mut plan = spending(&world, bond, to, redeemer).await;
        plan.outputs[0].value = Value::of(9 * UNIT).with(token.clone(), 6);
        plan.sign(key_hash(&world.approver));
        assert_eq!(world.try_out(plan, &approver).await.as_deref(), Some(rule));
    }
    let two = world.bond(&datum, Value::of(9 * UNIT).with(token, 7).with(other, 1));
    let mut plan = spending(&world, two, address(&world.agent), data::REFUND).await;
    plan.sign(key_hash(&world.approver));
    assert_eq!(world.try_out(plan, &approver).await.as_deref(), Some("b1"), "97 two tokens");
    let escrow = world.treasury.escrow().clone();
    let bare = world.chain.place(Output::new(escrow, Value::of(9 * UNIT))).unwrap();
    let mut plan = spending(&world, bare, address(&world.agent), data::REFUND).await;
    plan.sign(key_hash(&world.approver));
    assert_eq!(world.try_out(plan, &approver).await.as_deref(), Some("b1"), "97 no datum");
}

#[tokio::test]
async fn a_witness_is_checked_before_it_is_taken() {
    let world = opened().await;
    let record = world.record(1, 11 * UNIT, true);
    let what = world.what(&record, None);
    let built = world.treasury.release(&what).await.unwrap();
    let log_head = mandate::log::LogHead { seq: 8, ..what.log_head };
    let another = world.treasury.release(&chain::Release { log_head, ..what }).await.unwrap();
    let key = key_hash(&world.approver);
    let set = |tx: &[u8], key: &Key| chain::wallet::sign_tx(tx, key.as_ref()).unwrap();
    let good = set(&built.tx, &world.approver);
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for (case, set) in [
        ("somebody else's", set(&built.tx, &world.agent)),
        ("another transaction's", set(&another.tx, &world.approver)),
        ("a broken one", wrong),
        ("an empty set", vec![0xa0]),
        ("no set", vec![]),
        ("a whole transaction", built.tx.clone()),
    ] {
        let refused = world.treasury.witness(&built.tx, &set, key);
        assert!(matches!(refused, Err(ChainError::BadWitness(_))), "{case}: {refused:?}");
    }
    let signed = world.treasury.witness(&built.tx, &good, key).unwrap();
    assert_eq!(chain::transaction::Transaction::read(&signed).unwrap().body(), built.body);
    assert_eq!(world.treasury.witness(&signed, &good, key).unwrap(), signed, "twice is once");
    world.treasury.submit(&signed).await.unwrap();
}
