//! Attacks on a vault (spec 3.2, cases 76 to 92): the engine's signature is genuine where it is not itself the attack, the transaction
//! passes the ledger's own rules, and the vault refuses it in the rule that is named.

use crate::world::{
    Key, UNIT, World, address, inline, key_hash, opened, placed, placed_under, recipient, signer, token,
};
use chain::build::{Plan, Spent};
use chain::{Anchor, Chain, Datum, Output, Utxo, Value, VaultState, data};
use env::Duration;
use mandate::authorization::{Fields, Record};
use mandate::plutus::Data;
use mandate::price::OutRef;
use mandate::text::{Hex, KeyHash, PositiveUnits, TxHash, Units};
use mandate::{Address, Credential, Millis, Network, Status};

const HELD: u64 = 300 * UNIT;

fn fresh() -> World {
    placed(VaultState::default(), HELD)
}

/// Tries a release whose plan was changed; nothing signs but the keys.
async fn attack(
    world: &World,
    record: &Record,
    keys: &[&Key],
    change: impl FnOnce(&mut Plan),
) -> Option<String> {
    let mut plan = world.plan(record, None).await.unwrap();
    change(&mut plan);
    world.try_out(plan, keys).await
}

fn refused(found: Option<String>, rule: &str, case: &str) {
    assert_eq!(found.as_deref(), Some(rule), "{case}");
}

async fn utxo(world: &World, at: OutRef) -> Utxo {
    world.chain.utxo(at).await.unwrap().unwrap()
}

#[tokio::test]
async fn r0_r1_the_vault_itself_and_alone() {
    let world = fresh();
    let record = world.record(1, UNIT, false);
    let fake = Output {
        value: Value::of(20 * UNIT).with(world.asset.clone(), HELD),
        ..world.vault_output(VaultState::default(), HELD)
    };
    let fake = utxo(&world, world.chain.place(fake).unwrap()).await;
    let found = attack(&world, &record, &[], |plan| {
        let value = &mut plan.outputs[0].value;
        *value = value.minus(&Value::default().with(token(world.vault.vault_hash, "VAULT"), 1)).unwrap();
        plan.inputs[0].utxo = fake.clone();
    })
    .await;
    refused(found, "R0", "76");
    let found = attack(&world, &record, &[&world.principal], |plan| {
        plan.spend(fake.clone(), data::WITHDRAW);
        plan.sign(key_hash(&world.principal));
    })
    .await;
    refused(found, "R1", "77");
}

#[tokio::test]
async fn r2_the_one_anchor() {
    let world = fresh();
    let record = world.record(1, UNIT, false);
    let (_, anchor) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let base = world.plan(&record, None).await.unwrap();
    let place = |output: Output| world.chain.place(output).unwrap();
    let mut mine = world.anchor.clone();
    mine.limits.autonomous_limit = Units::new(u64::MAX);
    let forged = Output { value: Value::of(5 * UNIT), ..world.anchor_output(&mine) };
    let moved = Output { address: recipient(), ..world.anchor_output(&mine) };
    let hashed = world.anchor_output(&mine).with(Datum::Hash(Hex::from_bytes([1; 32])));
    let duplicate = place(world.anchor_output(&mine));
    let swaps: [(&str, Vec<OutRef>); 5] = [
        ("78 missing", vec![]),
        ("78 forged", vec![place(forged)]),
        ("78 moved", vec![place(moved)]),
        ("78 datum by hash", vec![place(hashed)]),
        ("78 two of them", vec![anchor.at, duplicate]),
    ];
    for (case, references) in swaps {
        let mut plan = base.clone();
        plan.references.retain(|at| *at != anchor.at);
        plan.references.extend(references);
        refused(world.try_out(plan, &[]).await, "R2", case);
    }
    // Spent in the same transaction, and so no reference: revoking and releasing at once.
    let world = opened().await;
    let record = world.record(1, UNIT, false);
    let (before, anchor) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let next = Anchor { status: Status::Revoked, version: 4, ..before };
    let revoke = world.treasury.revoke(world.vault.mandate_ref).await.unwrap();
    let script = {
        let tx = chain::transaction::Transaction::read(&revoke.tx).unwrap();
        tx.scripts().unwrap().into_iter().find(|s| s.hash() == world.vault.mandate_ref).unwrap()
    };
    let found = attack(&world, &record, &[&world.principal], |plan| {
        plan.references.retain(|at| *at != anchor.at);
        plan.outputs.push(anchor.output.clone().with(inline(&next.to_data())));
        plan.scripts.push(script);
        plan.spend(anchor.clone(), data::REVOKE);
        plan.sign(key_hash(&world.principal));
    })
    .await;
    refused(found, "R2", "78 spent");
}

#[tokio::test]
async fn r4_r5_this_mandate_and_this_vault() {
    let world = fresh();
    let cases: [(&str, &str, fn(&mut Fields)); 6] = [
        ("R4", "80 older version", |it| it.mandate_version = 2),
        ("R4", "80 newer version", |it| it.mandate_version = 4),
        ("R4", "80 other hash", |it| it.mandate_hash = canon::Digest::of(b"other")),
        ("R4", "80 other ref", |it| it.mandate_ref = KeyHash::from_bytes([5; 28])),
        ("R5", "81 mainnet", |it| it.chain_tag = 1),
        ("R5", "81 other vault", |it| it.vault_hash = KeyHash::from_bytes([5; 28])),
    ];
    for (rule, case, change) in cases {
        let mut fields = world.fields(1, UNIT, false);
        change(&mut fields);
        let found = attack(&world, &world.signed(fields), &[], |_| {}).await;
        refused(found, rule, case);
    }
}

#[tokio::test]
async fn r3_revoked() {
    let world = opened().await;
    let record = world.record(1, UNIT, false);
    let revoke = world.treasury.revoke(world.vault.mandate_ref).await.unwrap();
    world.submit(&revoke.tx, &[&world.principal]).await.unwrap();
    refused(attack(&world, &record, &[], |_| {}).await, "R3", "79");
}

#[tokio::test]
async fn r6_the_engines_signature_over_these_fields() {
    let world = fresh();
    let good = world.record(1, UNIT, false);
    let mut more = good.clone();
    more.fields.amount = PositiveUnits::try_from(2 * UNIT).unwrap();
    let mut elsewhere = good.clone();
    elsewhere.fields.recipient = address(&signer(98));
    let other = world.fields(1, UNIT, false).sign(signer(3).as_ref()).unwrap();
    let mut proposal = good.clone();
    let over_the_proposal = [b"AGENT_PROPOSAL_V1".as_slice(), good.fields.action_hash.as_bytes()].concat();
    let signature = keys::Signer::sign(world.engine.as_ref(), &over_the_proposal).unwrap();
    proposal.signature_hex = Hex::from_bytes(*signature.as_bytes());
    for (case, record) in
        [("82 amount", more), ("82 recipient", elsewhere), ("82 key", other), ("82 proposal's", proposal)]
    {
        refused(attack(&world, &record, &[], |_| {}).await, "R6", case);
    }
    // What is redeemed, field by field.
    let change = |change: &dyn Fn(&mut Vec<Data>, &mut Data)| {
        let Data::Constr(0, mut parts) = data::release(&good) else { panic!() };
        let mut signature = parts.pop().unwrap();
        let Some(Data::Constr(0, mut fields)) = parts.pop() else { panic!() };
        change(&mut fields, &mut signature);
        Data::Constr(0, vec![Data::Constr(0, fields), signature])
    };
    let short = change(&|_, signature| *signature = Data::Bytes(vec![7; 63]));
    let negative = change(&|fields, _| fields[9] = Data::Int(-1));
    let stake = change(&|fields, _| fields[12] = Data::Int(1));
    let flag = change(&|fields, _| fields[16] = Data::Int(2));
    for (case, redeemer) in
        [("82 short", short), ("82 negative", negative), ("82 no stake hash", stake), ("82 flag", flag)]
    {
        let found = attack(&world, &good, &[], |plan| plan.inputs[0].redeemer = Some(redeemer)).await;
        refused(found, "R6", case);
    }
}

#[tokio::test]
async fn r7_in_time() {
    let world = fresh();
    let slots = *world.chain.slots();
    let here = slots.at(world.now());
    let mut fields = world.fields(1, UNIT, false);
    fields.valid_until = slots.time(here + 120);
    let record = world.signed(fields);
    for (case, from, until, rule) in [
        ("83 after valid_until", Some(here), Some(here + 121), Some("R7")),
        ("83 no start", None, Some(here + 120), Some("R7")),
        ("83 no end", Some(here), None, Some("R7")),
        ("83 equal", Some(here), Some(here + 120), None),
    ] {
        let found = attack(&world, &record, &[], |plan| (plan.from, plan.until) = (from, until)).await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
    let long = world.record(2, UNIT, false);
    let found =
        attack(&world, &long, &[], |plan| (plan.from, plan.until) = (Some(here - 1), Some(here + 600))).await;
    refused(found, "R7", "83 a window of 601 s");
    let found =
        attack(&world, &long, &[], |plan| (plan.from, plan.until) = (Some(here), Some(here + 600))).await;
    assert_eq!(found, None, "83 a window of 600 s");

    let ending =
        placed_under(|anchor, now| anchor.valid_until = now.plus(100_000), VaultState::default(), HELD);
    let found =
        attack(&ending, &ending.record(1, UNIT, false), &[], |plan| plan.until = Some(here + 101)).await;
    refused(found, "R7", "83 after the anchor's end");
}

#[tokio::test]
async fn r8_to_r10_once_this_asset_below_the_cap() {
    let world = placed(VaultState { last_nonce: 5, ..VaultState::default() }, HELD);
    for (case, nonce, rule) in
        [("84 replay", 5, Some("R8")), ("84 lower", 4, Some("R8")), ("84 next", 6, None)]
    {
        let found = attack(&world, &world.record(nonce, UNIT, false), &[], |_| {}).await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
    let world = fresh();
    for (case, kind) in [("85 type 4", 4), ("85 type 0", 0)] {
        let mut fields = world.fields(1, UNIT, false);
        fields.action_type = kind;
        refused(attack(&world, &world.signed(fields), &[], |_| {}).await, "R9", case);
    }
    let mut fields = world.fields(1, UNIT, false);
    fields.asset_policy = KeyHash::from_bytes([0xdd; 28]);
    let other = world.signed(fields.clone());
    let junk = (fields.asset_policy, fields.asset_name.clone());
    let vault = world.treasury.vault(world.vault.vault_hash).await.unwrap().1;
    world
        .chain
        .fund(world.treasury.wallet().address(), Value::of(5 * UNIT).with(junk.clone(), UNIT))
        .unwrap();
    let mut plan = world.plan(&world.record(1, UNIT, false), None).await.unwrap();
    plan.outputs[0].value = vault.output.value.clone();
    plan.outputs[1] = Output::new(recipient(), Value::default().with(junk, UNIT))
        .with(inline(&Data::bytes(other.digest_hex.as_bytes())));
    plan.inputs[0].redeemer = Some(data::release(&other));
    refused(world.try_out(plan, &[]).await, "R9", "85 other asset");
    nothing_is_not_an_amount(&world).await;

    let world = fresh();
    for (case, amount, rule) in [("86 cap + 1", 50 * UNIT + 1, Some("R10")), ("86 cap", 50 * UNIT, None)] {
        let found = attack(&world, &world.record(1, amount, true), &[&world.approver], |_| {}).await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
}

/// Our own types cannot hold an amount of zero: its message is signed by hand.
async fn nothing_is_not_an_amount(world: &World) {
    let good = world.record(1, UNIT, false);
    let mut message = good.fields.message();
    let at = 22 + 1 + 28 + 28 + 32 + 4 + 32 + 1 + 28 + 1 + good.fields.asset_name.as_bytes().len();
    message[at..at + 8].fill(0);
    let digest: [u8; 32] = {
        use blake2::Digest;
        blake2::Blake2b256::digest(&message).into()
    };
    let signature = keys::Signer::sign(world.engine.as_ref(), &digest).unwrap();
    let Data::Constr(0, mut parts) = data::release(&good) else { panic!() };
    let Data::Constr(0, fields) = &mut parts[0] else { panic!() };
    fields[9] = Data::Int(0);
    parts[1] = Data::bytes(signature.as_bytes());
    let found =
        attack(world, &good, &[], |plan| plan.inputs[0].redeemer = Some(Data::Constr(0, parts))).await;
    refused(found, "R9", "85 nothing");
}

#[tokio::test]
async fn r11_above_the_limit_a_person_signs() {
    let world = fresh();
    let (approver, principal, other) = (&world.approver, &world.principal, &signer(44));
    let none: &[&Key] = &[];
    for (case, amount, flagged, keys, rule) in [
        ("87 unflagged", 10 * UNIT + 1, false, none, Some("R11")),
        ("87 unflagged, though signed", 10 * UNIT + 1, false, &[approver], Some("R11")),
        ("87 flagged and small, unsigned", UNIT, true, none, Some("R11")),
        ("87 signed by somebody", 11 * UNIT, true, &[other], Some("R11")),
        ("87 signed by the principal", 11 * UNIT, true, &[principal], Some("R11")),
        ("87 the limit itself", 10 * UNIT, false, none, None),
    ] {
        let found = attack(&world, &world.record(1, amount, flagged), keys, |plan| {
            plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        })
        .await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
}

#[tokio::test]
async fn r12_the_days_spending() {
    let today = fresh().now().day();
    let spent = |spent_today, day_index| VaultState { last_nonce: 1, day_index, spent_today };
    for (case, state, amount, rule) in [
        ("88 up to the cap", spent(45 * UNIT, today), 5 * UNIT, None),
        ("88 one more", spent(45 * UNIT, today), 5 * UNIT + 1, Some("R12")),
        ("88 yesterday's does not count", spent(50 * UNIT, today - 1), 10 * UNIT, None),
    ] {
        let world = placed(state, HELD);
        let found = attack(&world, &world.record(2, amount, false), &[], |_| {}).await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
    // A vault that knows of tomorrow: today's release would be of the past.
    let world = placed(spent(0, today + 1), HELD);
    let slots = *world.chain.slots();
    let here = slots.at(world.now());
    let found = attack(&world, &world.record(2, UNIT, false), &[], |plan| {
        (plan.from, plan.until) = (Some(here - 60), Some(here + 300));
        let next = VaultState { last_nonce: 2, day_index: today, spent_today: UNIT };
        plan.outputs[0].datum = inline(&next.to_data());
    })
    .await;
    refused(found, "R12", "88 a past day");
}

#[tokio::test]
async fn r12_r13_the_day_is_that_of_the_start() {
    let start = |day: u64| Millis::default().plus(day * Millis::DAY);
    let today = fresh().now().day();
    let state = VaultState { last_nonce: 1, day_index: today, spent_today: 50 * UNIT };
    // In the last second of the day the cap is reached; in the first of the next one it is not.
    for (case, from_next, told, rule) in [
        ("88 last second", false, today, Some("R12")),
        ("88 first second", true, today + 1, None),
        ("88 the end's day", false, today + 1, Some("R12")),
    ] {
        let world = placed(state, HELD);
        let slots = *world.chain.slots();
        let midnight = slots.at(start(today + 1));
        world.clock.advance(Duration::from_millis(start(today + 1).since(world.now())));
        let from = if from_next { midnight } else { midnight - 1 };
        let found = attack(&world, &world.record(2, UNIT, false), &[], |plan| {
            (plan.from, plan.until) = (Some(from), Some(midnight + 300));
            let next = VaultState { last_nonce: 2, day_index: told, spent_today: UNIT };
            plan.outputs[0].datum = inline(&next.to_data());
        })
        .await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
    // Below the cap the lie is in the datum.
    let world = placed(VaultState { spent_today: 0, ..state }, HELD);
    let midnight = world.chain.slots().at(start(today + 1));
    world.clock.advance(Duration::from_millis(start(today + 1).since(world.now())));
    let found = attack(&world, &world.record(2, UNIT, false), &[], |plan| {
        (plan.from, plan.until) = (Some(midnight - 1), Some(midnight + 300));
        let next = VaultState { last_nonce: 2, day_index: today + 1, spent_today: UNIT };
        plan.outputs[0].datum = inline(&next.to_data());
    })
    .await;
    refused(found, "R13", "88 the end's day, below the cap");
}

#[tokio::test]
async fn r13_the_vault_goes_on_as_it_must() {
    let world = fresh();
    let record = world.record(1, UNIT, false);
    let day = world.now().day();
    let state = |last_nonce, day_index, spent_today| {
        inline(&VaultState { last_nonce, day_index, spent_today }.to_data())
    };
    let staked = Address::new(
        Network::Test,
        Credential::Script(world.vault.vault_hash),
        Some(Credential::Key(key_hash(&world.agent))),
    );
    let script = world.treasury.scripts().bond().clone();
    type Change<'a> = Box<dyn Fn(&mut Plan) + 'a>;
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("89 reset", Box::new(|plan| plan.outputs[0].datum = state(0, 0, 0))),
        ("89 spending not recorded", Box::new(|plan| plan.outputs[0].datum = state(1, day, 0))),
        ("89 nonce not recorded", Box::new(|plan| plan.outputs[0].datum = state(0, day, UNIT))),
        ("89 no datum", Box::new(|plan| plan.outputs[0].datum = Datum::None)),
        ("89 stake", Box::new(|plan| plan.outputs[0].address = staked.clone())),
        ("89 reference script", Box::new(|plan| plan.outputs[0].script = Some(script.clone()))),
        (
            "89 split",
            Box::new(|plan| {
                let half = Value::of(5 * UNIT).with(world.asset.clone(), 10 * UNIT);
                let whole = &mut plan.outputs[0];
                whole.value = whole.value.minus(&half).unwrap();
                let other = Output { value: half, ..whole.clone() };
                plan.outputs.push(other);
            }),
        ),
        ("89 elsewhere", Box::new(|plan| plan.outputs[0].address = recipient())),
    ];
    for (case, change) in cases {
        refused(attack(&world, &record, &[], change).await, "R13", case);
    }
}

#[tokio::test]
async fn r14_r15_nothing_else_leaves() {
    let world = fresh();
    let record = world.record(1, UNIT, false);
    let junk = (KeyHash::from_bytes([0xdd; 28]), world.asset.1.clone());
    let purse = world.treasury.wallet().address().clone();
    let more = Value::of(5 * UNIT).with(junk.clone(), 1).with(world.asset.clone(), 1);
    let funded = utxo(&world, world.chain.fund(&purse, more).unwrap()).await;
    type Change<'a> = Box<dyn Fn(&mut Value) + 'a>;
    let add =
        |asset: chain::Asset| move |value: &mut Value| *value = std::mem::take(value).with(asset.clone(), 1);
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("90 a lovelace", Box::new(|value| value.lovelace -= 1)),
        (
            "90 a unit",
            Box::new(|value| *value = value.minus(&Value::default().with(world.asset.clone(), 1)).unwrap()),
        ),
        ("90 a unit more", Box::new(add(world.asset.clone()))),
        ("90 junk", Box::new(add(junk))),
    ];
    for (case, change) in cases {
        let found = attack(&world, &record, &[], |plan| {
            change(&mut plan.outputs[0].value);
            plan.inputs.push(Spent { utxo: funded.clone(), redeemer: None });
        })
        .await;
        refused(found, "R14", case);
    }
    for (case, held, rule) in
        [("91 the floor", 100 * UNIT, None), ("91 below it", 100 * UNIT - 1, Some("R15"))]
    {
        let world = placed(VaultState::default(), held + UNIT);
        let found = attack(&world, &world.record(1, UNIT, false), &[], |_| {}).await;
        assert_eq!(found.as_deref(), rule, "{case}");
    }
}

#[tokio::test]
async fn r16_the_exact_recipient() {
    let world = fresh();
    let record = world.record(1, UNIT, false);
    let digest = Data::bytes(record.digest_hex.as_bytes());
    let one_less = Value::default().with(world.asset.clone(), UNIT - 1);
    let stake = Some(Credential::Key(key_hash(&world.agent)));
    let key = *recipient().payment();
    let staked = Address::new(Network::Test, key, stake);
    let scripted = Address::new(Network::Test, Credential::Script(*key.hash()), None);
    let script = world.treasury.scripts().bond().clone();
    type Change<'a> = Box<dyn Fn(&mut Output) + 'a>;
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("92 another digest", Box::new(|out| out.datum = inline(&Data::Bytes(vec![7; 32])))),
        ("92 a short digest", Box::new(|out| out.datum = inline(&Data::Bytes(vec![7; 31])))),
        ("92 no digest", Box::new(|out| out.datum = Datum::None)),
        ("92 the digest's hash", Box::new(|out| out.datum = Datum::Hash(Hex::from_bytes([7; 32])))),
        (
            "92 a constructor around it",
            Box::new(|out| out.datum = inline(&Data::Constr(0, vec![digest.clone()]))),
        ),
        ("92 too little", Box::new(|out| out.value.tokens = one_less.tokens.clone())),
        ("92 stake", Box::new(|out| out.address = staked.clone())),
        ("92 script for key", Box::new(|out| out.address = scripted.clone())),
        ("92 somebody else", Box::new(|out| out.address = address(&signer(98)))),
        ("92 reference script", Box::new(|out| out.script = Some(script.clone()))),
    ];
    for (case, change) in cases {
        let found = attack(&world, &record, &[], |plan| change(&mut plan.outputs[1])).await;
        refused(found, "R16", case);
    }
    two_vaults_do_not_share_one_payment(&world, &record).await;
    // To the vault itself: it would have two outputs, or pay nobody.
    let mut fields = world.fields(1, UNIT, false);
    fields.recipient = Address::new(Network::Test, Credential::Script(world.vault.vault_hash), None);
    let own = world.signed(fields);
    let mut plan = world.plan(&record, None).await.unwrap();
    plan.inputs[0].redeemer = Some(data::release(&own));
    plan.outputs[1].datum = inline(&Data::bytes(own.digest_hex.as_bytes()));
    refused(world.try_out(plan, &[]).await, "R16", "92 the vault");
}

async fn two_vaults_do_not_share_one_payment(world: &World, record: &Record) {
    let seed = OutRef { output_index: 3, tx_hash: TxHash::from_bytes([3; 32]) };
    let script = world.treasury.scripts().vault(world.vault.mandate_ref, &seed).unwrap();
    let policy = script.hash();
    let mut second = world.vault_output(VaultState::default(), HELD);
    second.address = script.address(crate::world::NETWORK);
    second.value = Value::of(20 * UNIT).with(token(policy, "VAULT"), 1).with(world.asset.clone(), HELD);
    let second = utxo(world, world.chain.place(second).unwrap()).await;
    let mut fields = record.fields.clone();
    fields.vault_hash = policy;
    let other = world.signed(fields);
    let found = attack(world, record, &[], |plan| {
        let spent = Value::default().with(world.asset.clone(), UNIT);
        let rest = Output {
            value: second.output.value.minus(&spent).unwrap(),
            datum: plan.outputs[0].datum.clone(),
            ..second.output.clone()
        };
        plan.outputs.push(rest);
        plan.scripts.push(script);
        plan.spend(second, data::release(&other));
    })
    .await;
    refused(found, "R16", "92 two vaults, one payment");
}
