//! What else may be done with a vault: money put in, taken out, a vault opened (spec 3.2, cases 93 to 95).

use crate::world::{Key, UNIT, World, inline, key_hash, placed, recipient, token};
use chain::build::{Plan, Spent};
use chain::{Chain, Datum, Output, Utxo, Value, VaultState, data};
use mandate::price::OutRef;
use mandate::text::{KeyHash, TxHash};
use mandate::{Address, Credential, Network};

const HELD: u64 = 300 * UNIT;

fn fresh() -> World {
    placed(VaultState::default(), HELD)
}

async fn utxo(world: &World, at: OutRef) -> Utxo {
    world.chain.utxo(at).await.unwrap().unwrap()
}

#[tokio::test]
async fn deposits_only_add() {
    let world = fresh();
    let (_, vault) = world.treasury.vault(world.vault.vault_hash).await.unwrap();
    let (_, anchor) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let junk = (KeyHash::from_bytes([0xdd; 28]), world.asset.1.clone());
    let purse = world.treasury.wallet().address().clone();
    let funds = Value::of(5 * UNIT).with(junk.clone(), 1).with(world.asset.clone(), UNIT);
    let funded = utxo(&world, world.chain.fund(&purse, funds).unwrap()).await;
    let fake = Output { value: Value::of(9 * UNIT), ..vault.output.clone() };
    let fake = utxo(&world, world.chain.place(fake).unwrap()).await;
    let staked = Address::new(
        Network::Test,
        Credential::Script(world.vault.vault_hash),
        Some(Credential::Key(key_hash(&world.agent))),
    );
    let mut base = Plan { references: vec![anchor.at], ..Plan::default() };
    base.scripts.push(vault_script(&world));
    base.inputs.push(Spent { utxo: funded, redeemer: None });
    base.outputs.push(vault.output.clone());
    base.spend(vault, data::DEPOSIT);
    let of = |asset: &chain::Asset, amount| Value::default().with(asset.clone(), amount);
    type Change<'a> = Box<dyn Fn(&mut Plan) + 'a>;
    let cases: Vec<(&str, Option<&str>, Change<'_>)> = vec![
        (
            "93 all",
            None,
            Box::new(|plan| {
                plan.outputs[0].value = plan.outputs[0].value.plus(&of(&world.asset, UNIT)).unwrap()
            }),
        ),
        (
            "93 not the vault",
            Some("R0"),
            Box::new(|plan| {
                plan.inputs[1].utxo = fake.clone();
                plan.outputs[0] = fake.output.clone();
            }),
        ),
        (
            "93 two of them",
            Some("R1"),
            Box::new(|plan| {
                plan.spend(fake.clone(), data::WITHDRAW);
                plan.sign(key_hash(&world.principal));
            }),
        ),
        ("93 without the anchor", Some("R2"), Box::new(|plan| plan.references.clear())),
        (
            "93 datum",
            Some("d1"),
            Box::new(|plan| {
                plan.outputs[0].datum =
                    inline(&VaultState { last_nonce: 1, ..VaultState::default() }.to_data());
            }),
        ),
        ("93 stake", Some("d1"), Box::new(|plan| plan.outputs[0].address = staked.clone())),
        (
            "93 reference script",
            Some("d1"),
            Box::new(|plan| plan.outputs[0].script = Some(vault_script(&world))),
        ),
        (
            "93 a unit less",
            Some("d2"),
            Box::new(|plan| {
                plan.outputs[0].value = plan.outputs[0].value.minus(&of(&world.asset, 1)).unwrap();
            }),
        ),
        ("93 a lovelace less", Some("d2"), Box::new(|plan| plan.outputs[0].value.lovelace -= 1)),
        (
            "93 junk",
            Some("d2"),
            Box::new(|plan| {
                plan.outputs[0].value = plan.outputs[0].value.plus(&of(&junk, 1)).unwrap();
            }),
        ),
    ];
    for (case, rule, change) in cases.into_iter().rev() {
        let mut plan = base.clone();
        change(&mut plan);
        let keys: &[&Key] = if plan.signers.is_empty() { &[] } else { &[&world.principal] };
        assert_eq!(world.try_out(plan, keys).await.as_deref(), rule, "{case}");
    }
}

fn vault_script(world: &World) -> chain::Script {
    let seed = OutRef { output_index: 0, tx_hash: TxHash::from_bytes([2; 32]) };
    world.treasury.scripts().vault(world.vault.mandate_ref, &seed).unwrap()
}

#[tokio::test]
async fn only_the_principal_withdraws() {
    let world = fresh();
    let (_, vault) = world.treasury.vault(world.vault.vault_hash).await.unwrap();
    let (_, anchor) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let junk = Output { datum: Datum::None, value: Value::of(9 * UNIT), ..vault.output.clone() };
    let junk = utxo(&world, world.chain.place(junk).unwrap()).await;
    let none: &[&Key] = &[];
    for (case, keys, rule) in [
        ("94 nobody", none, Some("w1")),
        ("94 the approver", &[&world.approver], Some("w1")),
        ("94 the engine", &[&world.engine], Some("w1")),
        ("94 the principal", &[&world.principal], None),
    ] {
        let mut plan = Plan { references: vec![anchor.at], ..Plan::default() };
        plan.scripts.push(vault_script(&world));
        plan.spend(vault.clone(), data::WITHDRAW);
        plan.spend(junk.clone(), data::WITHDRAW);
        plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        assert_eq!(world.try_out(plan, keys).await.as_deref(), rule, "{case}");
    }
}

#[tokio::test]
async fn a_vault_is_opened_once_empty_by_the_principal() {
    let world = fresh();
    let (_, anchor) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let purse = world.treasury.wallet().address().clone();
    let seed = utxo(&world, world.chain.fund(&purse, Value::of(50 * UNIT)).unwrap()).await;
    let script = world.treasury.scripts().vault(world.vault.mandate_ref, &seed.at).unwrap();
    let minted = token(script.hash(), "VAULT");
    let opened = Output::new(script.address(crate::world::NETWORK), Value::default().with(minted.clone(), 1))
        .with(inline(&VaultState::default().to_data()));
    let mut base = Plan { references: vec![anchor.at], ..Plan::default() };
    base.inputs.push(Spent { utxo: seed, redeemer: None });
    base.outputs.push(opened);
    base.mint.push((minted.clone(), 1));
    base.scripts.push(script.clone());
    base.sign(key_hash(&world.principal));
    type Change<'a> = Box<dyn Fn(&mut Plan) + 'a>;
    let cases: Vec<(&str, Option<&str>, Change<'_>)> = vec![
        ("95 good", None, Box::new(|_| {})),
        ("95 without the seed", Some("v1"), Box::new(|plan| plan.inputs.clear())),
        (
            "95 two tokens",
            Some("v2"),
            Box::new(|plan| {
                plan.mint[0].1 = 2;
                plan.outputs[0].value = Value::default().with(minted.clone(), 2);
            }),
        ),
        (
            "95 another token",
            Some("v2"),
            Box::new(|plan| {
                let other = token(script.hash(), "OTHER");
                plan.mint.push((other.clone(), 1));
                plan.outputs.push(Output::new(recipient(), Value::default().with(other, 1)));
            }),
        ),
        ("95 elsewhere", Some("v2"), Box::new(|plan| plan.outputs[0].address = recipient())),
        (
            "95 not empty",
            Some("v2"),
            Box::new(|plan| {
                plan.outputs[0].datum =
                    inline(&VaultState { spent_today: 1, ..VaultState::default() }.to_data());
            }),
        ),
        ("95 no datum", Some("v2"), Box::new(|plan| plan.outputs[0].datum = Datum::None)),
        (
            "95 the approver",
            Some("v3"),
            Box::new(|plan| {
                plan.signers = [key_hash(&world.approver)].into();
            }),
        ),
        ("95 no anchor", Some("R2"), Box::new(|plan| plan.references.clear())),
    ];
    for (case, rule, change) in cases.into_iter().rev() {
        let mut plan = base.clone();
        change(&mut plan);
        let key = if rule == Some("v3") { &world.approver } else { &world.principal };
        assert_eq!(world.try_out(plan, &[key]).await.as_deref(), rule, "{case}");
    }
}
