//! Attacks on an anchor (spec 3.2, case 96).

use crate::world::{Key, NETWORK, UNIT, World, inline, key_hash, opened, placed, recipient, signer, token};
use chain::build::{Plan, Spent};
use chain::{Anchor, Chain, Datum, Output, Value, VaultState, data};
use mandate::text::Units;
use mandate::{Address, Credential, Network, Status};

type Change<'a> = Box<dyn Fn(&mut Plan) + 'a>;

#[tokio::test]
async fn an_anchor_is_minted_once_active_and_valid_by_its_principal() {
    let world = placed(VaultState::default(), UNIT);
    let purse = world.treasury.wallet().address().clone();
    let at = world.chain.fund(&purse, Value::of(50 * UNIT)).unwrap();
    let seed = world.chain.utxo(at).await.unwrap().unwrap();
    let script = world.treasury.scripts().anchor(&seed.at).unwrap();
    let minted = token(script.hash(), "MANDATE");
    let output = |anchor: &Anchor| {
        Output::new(script.address(NETWORK), Value::default().with(minted.clone(), 1))
            .with(inline(&anchor.to_data()))
    };
    let mut base = Plan::default();
    base.inputs.push(Spent { utxo: seed, redeemer: None });
    base.outputs.push(output(&world.anchor));
    base.mint.push((minted.clone(), 1));
    base.scripts.push(script.clone());
    base.sign(key_hash(&world.principal));
    let with = |change: fn(&mut Anchor)| {
        let mut anchor = world.anchor.clone();
        change(&mut anchor);
        inline(&anchor.to_data())
    };
    // Lengths and signs that our own types cannot spell.
    let field = |at: usize, value: mandate::plutus::Data| {
        let mandate::plutus::Data::Constr(0, mut fields) = world.anchor.to_data() else { panic!() };
        fields[at] = value;
        inline(&mandate::plutus::Data::Constr(0, fields))
    };
    let bytes = |length| mandate::plutus::Data::Bytes(vec![1; length]);
    let int = mandate::plutus::Data::Int;
    let datum = |datum: Datum| -> Change<'_> {
        Box::new(move |plan: &mut Plan| plan.outputs[0].datum = datum.clone())
    };
    let cases: Vec<(&str, Option<&str>, Change<'_>)> = vec![
        ("96 good", None, Box::new(|_| {})),
        ("96 without the seed", Some("m1"), Box::new(|plan| plan.inputs.clear())),
        (
            "96 two tokens",
            Some("m2"),
            Box::new(|plan| {
                plan.mint[0].1 = 2;
                plan.outputs[0].value = Value::default().with(minted.clone(), 2);
            }),
        ),
        (
            "96 another token",
            Some("m2"),
            Box::new(|plan| {
                let other = token(script.hash(), "OTHER");
                plan.mint.push((other.clone(), 1));
                plan.outputs.push(Output::new(recipient(), Value::default().with(other, 1)));
            }),
        ),
        ("96 elsewhere", Some("m3"), Box::new(|plan| plan.outputs[0].address = recipient())),
        ("96 no datum", Some("m3"), datum(Datum::None)),
        ("96 revoked", Some("m3"), datum(with(|it| it.status = Status::Revoked))),
        ("96 version 0", Some("m4"), datum(with(|it| it.version = 0))),
        ("96 no limit", Some("m4"), datum(with(|it| it.limits.autonomous_limit = Units::ZERO))),
        ("96 cap below limit", Some("m4"), datum(with(|it| it.limits.hard_cap = Units::new(1)))),
        ("96 day below limit", Some("m4"), datum(with(|it| it.limits.daily_cap = Units::new(1)))),
        ("96 version 2^32", Some("m4"), datum(field(1, int(1 << 32)))),
        ("96 short hash", Some("m4"), datum(field(0, bytes(31)))),
        ("96 short engine key", Some("m4"), datum(field(3, bytes(31)))),
        ("96 short approver (W11)", Some("m4"), datum(field(5, bytes(27)))),
        ("96 long approver (W11)", Some("m4"), datum(field(5, bytes(29)))),
        ("96 short policy", Some("m4"), datum(field(6, bytes(0)))),
        ("96 long name", Some("m4"), datum(field(7, bytes(33)))),
        ("96 floor below nothing", Some("m4"), datum(field(11, int(-1)))),
        ("96 the approver", Some("m5"), Box::new(|plan| plan.signers = [key_hash(&world.approver)].into())),
    ];
    for (case, rule, change) in cases.into_iter().rev() {
        let mut plan = base.clone();
        change(&mut plan);
        let key = if rule == Some("m5") { &world.approver } else { &world.principal };
        assert_eq!(world.try_out(plan, &[key]).await.as_deref(), rule, "{case}");
    }
}

/// The plan of an update or a revocation, to be changed.
async fn spending(world: &World, next: &Anchor, redeemer: mandate::plutus::Data) -> Plan {
    let (_, utxo) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    let revoke = world.treasury.revoke(world.vault.mandate_ref).await.unwrap();
    let scripts = chain::transaction::Transaction::read(&revoke.tx).unwrap().scripts().unwrap();
    let mut plan = Plan { scripts, ..Plan::default() };
    plan.outputs.push(utxo.output.clone().with(inline(&next.to_data())));
    plan.spend(utxo, redeemer);
    plan
}

#[tokio::test]
async fn updates_grow_and_are_the_principals() {
    let world = opened().await;
    let heir = signer(66);
    let next = Anchor { version: 4, ..world.anchor.clone() };
    let handed = Anchor { principal: key_hash(&heir), ..next.clone() };
    let staked = Address::new(
        Network::Test,
        Credential::Script(world.vault.mandate_ref),
        Some(Credential::Key(key_hash(&world.agent))),
    );
    let (principal, approver) = (&world.principal, &world.approver);
    let nothing: Change<'_> = Box::new(|_| {});
    let older = Anchor { version: 2, ..next.clone() };
    let same = Anchor { version: 3, ..next.clone() };
    let mut invalid = next.clone();
    invalid.limits.hard_cap = Units::new(1);
    let active = Anchor { version: 9, ..next.clone() };
    let cases: Vec<(&str, Option<&str>, &Anchor, Vec<&Key>, Change<'_>)> = vec![
        ("96 nobody", Some("u1"), &next, vec![], Box::new(|_| {})),
        ("96 the approver", Some("u1"), &next, vec![approver], Box::new(|_| {})),
        ("96 the heir alone", Some("u1"), &handed, vec![&heir], Box::new(|_| {})),
        ("96 without the heir", Some("u2"), &handed, vec![principal], Box::new(|_| {})),
        ("96 older", Some("u3"), &older, vec![principal], Box::new(|_| {})),
        ("96 the same version", Some("u3"), &same, vec![principal], Box::new(|_| {})),
        ("96 invalid", Some("u3"), &invalid, vec![principal], Box::new(|_| {})),
        (
            "96 other output",
            Some("s2"),
            &next,
            vec![principal],
            Box::new(|plan| {
                plan.outputs[0].datum = inline(&active.to_data());
            }),
        ),
        (
            "96 elsewhere",
            Some("s2"),
            &next,
            vec![principal],
            Box::new(|plan| plan.outputs[0].address = recipient()),
        ),
        (
            "96 stake",
            Some("s2"),
            &next,
            vec![principal],
            Box::new(|plan| plan.outputs[0].address = staked.clone()),
        ),
        (
            "96 datum by hash",
            Some("s2"),
            &next,
            vec![principal],
            Box::new(|plan| {
                plan.outputs[0].datum = Datum::Hash(mandate::text::Hex::from_bytes([1; 32]));
            }),
        ),
        ("96 handed over", None, &handed, vec![principal, &heir], nothing),
    ];
    for (case, rule, next, keys, change) in cases {
        let mut plan = spending(&world, next, data::update(next)).await;
        plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        change(&mut plan);
        assert_eq!(world.try_out(plan, &keys).await.as_deref(), rule, "{case}");
    }
}

#[tokio::test]
async fn revoking_changes_nothing_else_and_can_be_undone() {
    let world = opened().await;
    let revoked = |version| Anchor { status: Status::Revoked, version, ..world.anchor.clone() };
    let active = Anchor { version: 4, ..world.anchor.clone() };
    let mut richer = revoked(4);
    richer.limits.hard_cap = Units::new(60 * UNIT);
    let (principal, approver) = (&world.principal, &world.approver);
    let none: &[&Key] = &[];
    for (case, rule, next, keys) in [
        ("96 nobody", Some("k1"), revoked(4), none),
        ("96 the approver", Some("k1"), revoked(4), &[approver]),
        ("96 the same version", Some("s2"), revoked(3), &[principal]),
        ("96 two versions", Some("s2"), revoked(5), &[principal]),
        ("96 still active", Some("s2"), active, &[principal]),
        ("96 other limits", Some("s2"), richer, &[principal]),
        ("96 revoked", None, revoked(4), &[principal]),
    ] {
        let mut plan = spending(&world, &next, data::REVOKE).await;
        plan.signers = keys.iter().map(|key| key_hash(key)).collect();
        assert_eq!(world.try_out(plan, keys).await.as_deref(), rule, "{case}");
    }
    let again = Anchor { version: 5, ..world.anchor.clone() };
    let built = world.treasury.update(world.vault.mandate_ref, &again).await.unwrap();
    world.submit(&built.tx, &[principal]).await.unwrap();
    assert_eq!(world.treasury.anchored(world.vault.mandate_ref).await.unwrap().0.status, Status::Active);
}

#[tokio::test]
async fn only_the_token_makes_an_anchor() {
    let world = opened().await;
    let next = Anchor { version: 4, ..world.anchor.clone() };
    let mut plan = spending(&world, &next, data::update(&next)).await;
    let fake = Output { value: Value::of(5 * UNIT), ..world.anchor_output(&world.anchor) };
    let at = world.chain.place(fake).unwrap();
    let fake = world.chain.utxo(at).await.unwrap().unwrap();
    let (_, real) = world.treasury.anchored(world.vault.mandate_ref).await.unwrap();
    plan.inputs.retain(|input| input.utxo.at != real.at);
    plan.outputs[0].value = Value::of(5 * UNIT);
    plan.spend(fake, data::update(&next));
    plan.sign(key_hash(&world.principal));
    assert_eq!(world.try_out(plan, &[&world.principal]).await.as_deref(), Some("s1"));
}
