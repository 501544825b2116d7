//! A quorum on chain (D38): so many distinct listed signatures, for a release and for the end of a bond, and each attack by its rule.

use crate::world::{
    Key, NETWORK, UNIT, World, address, inline, key_hash, opened, placed_under, recipient, signer,
};
use chain::build::{Plan, Spent};
use chain::{Anchor, Chain, ChainError, Output, Release, Value, VaultState, data};
use mandate::plutus::Data;
use mandate::price::{BondDatum, Signatories};
use mandate::text::KeyHash;

fn approvers() -> [Key; 3] {
    [signer(9), signer(10), signer(11)]
}

/// Two of three.
fn two_of_three() -> Signatories {
    Signatories { keys: approvers().iter().map(key_hash).collect(), required: 2 }
}

fn world() -> World {
    placed_under(|anchor, _| anchor.approvers = two_of_three(), VaultState::default(), 300 * UNIT)
}

/// What is tried with whose signatures, and the rule that refuses it.
fn table(rule: &str) -> Vec<(&'static str, Vec<Key>, Option<String>)> {
    let [one, two, three] = approvers();
    let no = || Some(rule.to_owned());
    vec![
        ("nobody", vec![], no()),
        ("m - 1", vec![one.clone()], no()),
        ("m - 1, another", vec![three.clone()], no()),
        ("m - 1 and an outsider", vec![one.clone(), signer(44)], no()),
        ("m - 1 and the principal", vec![two.clone(), signer(8)], no()),
        ("two outsiders", vec![signer(44), signer(45)], no()),
        ("m", vec![one.clone(), two.clone()], None),
        ("m, others", vec![three.clone(), two.clone()], None),
        ("n", vec![one, two, three], None),
    ]
}

#[tokio::test]
async fn r11_counts_distinct_listed_signatories() {
    for (case, keys, rule) in table("R11") {
        let world = world();
        let record = world.record(1, 11 * UNIT, true);
        let mut plan = world.plan(&record, None).await.unwrap();
        plan.signers = keys.iter().map(key_hash).collect();
        let keys: Vec<&Key> = keys.iter().collect();
        assert_eq!(world.try_out(plan, &keys).await, rule, "{case}");
    }
}

#[tokio::test]
async fn the_escrow_counts_as_well() {
    for (redeemer, rule) in [(data::REFUND, "b2"), (data::CAPTURE, "b4")] {
        for (case, keys, rule) in table(rule) {
            let world = world();
            let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
            let utxo = world.chain.utxo(bond).await.unwrap().unwrap();
            let mut plan = Plan { scripts: vec![world.treasury.scripts().bond().clone()], ..Plan::default() };
            let sink = world.treasury.sink().clone();
            let to = if redeemer == data::REFUND { address(&world.agent) } else { sink };
            plan.outputs.push(Output::new(to, utxo.output.value.clone()));
            plan.spend(utxo, redeemer.clone());
            plan.signers = keys.iter().map(key_hash).collect();
            let keys: Vec<&Key> = keys.iter().collect();
            assert_eq!(world.try_out(plan, &keys).await, rule, "{case}");
        }
    }
}

/// A key that a bond's datum lists twice signs once. An anchor with such a list is not minted at all.
#[tokio::test]
async fn nobody_counts_twice() {
    let world = world();
    let [one, two, _] = approvers();
    let twice = Signatories { keys: vec![key_hash(&one), key_hash(&one), key_hash(&two)], required: 2 };
    let datum = BondDatum { approvers: twice.clone(), ..world.bond_datum() };
    assert_eq!(
        BondDatum::from_cbor(&datum.to_data().to_cbor()).ok(),
        None,
        "our own reader takes no such list"
    );
    let bond = world.bond(&datum, Value::of(5 * UNIT));
    let utxo = world.chain.utxo(bond).await.unwrap().unwrap();
    for (keys, rule) in [(vec![&one], Some("b4")), (vec![&one, &two], None)] {
        let mut plan = Plan { scripts: vec![world.treasury.scripts().bond().clone()], ..Plan::default() };
        plan.outputs.push(Output::new(world.treasury.sink().clone(), utxo.output.value.clone()));
        plan.spend(utxo.clone(), data::CAPTURE);
        plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        assert_eq!(world.try_out(plan, &keys).await.as_deref(), rule);
    }
}

#[tokio::test]
async fn only_a_sound_quorum_is_anchored() {
    let world = world();
    let purse = world.treasury.wallet().address().clone();
    let at = world.chain.fund(&purse, Value::of(50 * UNIT)).unwrap();
    let seed = world.chain.utxo(at).await.unwrap().unwrap();
    let script = world.treasury.scripts().anchor(&seed.at).unwrap();
    let minted = crate::world::token(script.hash(), "MANDATE");
    let key = |byte: u8, length: usize| Data::Bytes(vec![byte; length]);
    let quorum =
        |required: i128, keys: Vec<Data>| Data::Constr(0, vec![Data::Int(required), Data::List(keys)]);
    let many = |count: u8| (0..count).map(|byte| key(byte, 28)).collect::<Vec<_>>();
    for (case, approver, rule) in [
        ("none must sign", quorum(0, many(2)), Some("m4")),
        ("more than there are", quorum(3, many(2)), Some("m4")),
        ("nobody listed", quorum(1, vec![]), Some("m4")),
        ("one twice", quorum(2, vec![key(1, 28), key(2, 28), key(1, 28)]), Some("m4")),
        ("a short key", quorum(1, vec![key(1, 28), key(2, 27)]), Some("m4")),
        ("a short last key", quorum(1, vec![key(2, 27)]), Some("m4")),
        ("seventeen", quorum(2, many(17)), Some("m4")),
        ("sixteen", quorum(16, many(16)), None),
    ] {
        let Data::Constr(0, mut fields) = world.anchor.to_data() else { panic!() };
        fields[5] = approver;
        let mut plan = Plan::default();
        plan.inputs.push(Spent { utxo: seed.clone(), redeemer: None });
        plan.outputs.push(
            Output::new(script.address(NETWORK), Value::default().with(minted.clone(), 1))
                .with(inline(&Data::Constr(0, fields))),
        );
        plan.mint.push((minted.clone(), 1));
        plan.scripts.push(script.clone());
        plan.sign(key_hash(&world.principal));
        assert_eq!(world.try_out(plan, &[&world.principal]).await.as_deref(), rule, "{case}");
    }
}

/// What the treasury builds: anchored, released by two of three with the bond given back, refunded and captured.
#[tokio::test]
async fn two_of_three_release_refund_and_capture() {
    let world = opened().await;
    let next = Anchor { version: 4, approvers: two_of_three(), ..world.anchor.clone() };
    let built = world.treasury.update(world.vault.mandate_ref, &next).await.unwrap();
    world.submit(&built.tx, &[&world.principal]).await.unwrap();
    assert_eq!(world.treasury.anchored(world.vault.mandate_ref).await.unwrap().0, next);
    assert_eq!(world.treasury.observe(&world.vault).await.unwrap().approvers, two_of_three().keys);

    let [one, two, three] = approvers();
    let hashes = |keys: &[&Key]| keys.iter().map(|key| key_hash(key)).collect::<Vec<KeyHash>>();
    let bond =
        || world.bond(&BondDatum { approvers: two_of_three(), ..world.bond_datum() }, Value::of(5 * UNIT));
    let mut fields = world.fields(1, 18 * UNIT, true);
    fields.mandate_version = 4;
    let record = world.signed(fields);
    let first = bond();
    let what = world.what(&record, Some(first));
    for keys in [&[&one][..], &[&one, &world.principal]] {
        let few = world.treasury.release(&Release { signers: &hashes(keys), ..what }).await;
        assert!(matches!(few, Err(ChainError::Malformed(_))), "{few:?}");
    }
    let built = world.treasury.release(&Release { signers: &hashes(&[&one, &three]), ..what }).await.unwrap();
    assert!(world.submit(&built.tx, &[&one]).await.is_err());
    assert!(world.submit(&built.tx, &[&one, &two]).await.is_err(), "the second is the third approver");
    world.submit(&built.tx, &[&one, &three]).await.unwrap();
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 18 * UNIT);
    assert_eq!(world.treasury.bond(first).await.unwrap(), None);

    let second = bond();
    assert!(world.treasury.refund(second, Some(key_hash(&world.principal))).await.is_err());
    let refund = world.treasury.refund(second, Some(key_hash(&three))).await.unwrap();
    world.submit(&refund.tx, &[&three, &one]).await.unwrap();
    let third = bond();
    let capture = world.treasury.capture(third, key_hash(&two)).await.unwrap();
    assert!(world.submit(&capture.tx, &[&two]).await.is_err());
    world.submit(&capture.tx, &[&two, &one]).await.unwrap();
    assert_eq!(world.held(world.treasury.sink()).await, Value::of(5 * UNIT));
}
