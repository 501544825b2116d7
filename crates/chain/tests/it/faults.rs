//! Each call of the chain in each of the four ways, a restart at every step, and blocks that are taken back.

use crate::world::{Key, NETWORK, UNIT, World, key_hash, opened, recipient, signer};
use chain::faulty::{Call, Fault};
use chain::{Chain, ChainError, Faulty, LedgerChain, Release, Treasury, Value};
use mandate::authorization::Record;
use mandate::price::OutRef;
use std::sync::Arc;
use std::time::Duration;

/// A second treasury over the same ledger, whose chain can be told to fail.
fn faulty(world: &World) -> (Arc<Faulty<Arc<LedgerChain>>>, Treasury) {
    let chain = Arc::new(Faulty::new(world.chain.clone()));
    let treasury = Treasury::with_patience(
        chain.clone(),
        NETWORK,
        signer(7),
        world.clock.clone(),
        Duration::from_millis(30),
    );
    (chain, treasury.unwrap())
}

/// Builds, signs and hands in a release; whatever fails, fails.
async fn release(
    world: &World,
    treasury: &Treasury,
    record: &Record,
    bond: Option<OutRef>,
) -> Result<(), ChainError> {
    let built = treasury.release(&world.what(record, bond)).await?;
    let keys: &[&Key] = if record.fields.requires_principal { &[&world.approver] } else { &[] };
    treasury.submit(&world.sign(&built.tx, keys)).await.map(|_| ())
}

const FAULTS: [Fault; 4] =
    [Fault::FailsClean, Fault::FailsAfterLanding, Fault::NeverAnswers, Fault::LandsAndNeverAnswers];
const CALLS: [Call; 7] =
    [Call::Tip, Call::Parameters, Call::Utxos, Call::Utxo, Call::Submit, Call::Transaction, Call::Evaluate];

#[tokio::test]
async fn whatever_fails_a_release_pays_once() {
    for call in CALLS {
        for fault in FAULTS {
            let world = opened().await;
            let (chain, treasury) = faulty(&world);
            let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
            let record = world.record(1, 12 * UNIT, true);
            // The fault comes wherever that call is made first; then the caller does what a worker does: it looks, and if the
            // authorization was not used, it builds again.
            chain.next(call, fault);
            let mut tries = 0;
            while tries < 5 {
                tries += 1;
                let told = release(&world, &treasury, &record, Some(bond)).await;
                if let Err(error) = &told {
                    let known = matches!(
                        error,
                        ChainError::Unavailable(_) | ChainError::Unknown(_) | ChainError::Contention(_)
                    ) || matches!(error, ChainError::Rejected { invariant: Some(rule), .. } if rule == "R8");
                    assert!(known, "{call:?} {fault:?}: {error}");
                }
                if matches!(treasury.find(&record).await, Ok(Some(_))) {
                    break;
                }
            }
            assert!(tries <= 2, "{call:?} {fault:?}: {tries} tries");
            assert_eq!(
                world.held(&recipient()).await.quantity(&world.asset),
                12 * UNIT,
                "{call:?} {fault:?}"
            );
            assert_eq!(world.treasury.bond(bond).await.unwrap(), None, "{call:?} {fault:?}");
        }
    }
}

/// What a bond comes to, by whom.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    ByTime,
    ByApprover,
    Captured,
}

#[tokio::test]
async fn whatever_fails_no_bond_is_lost_or_paid_twice() {
    for end in [End::ByTime, End::ByApprover, End::Captured] {
        for call in
            [Call::Utxos, Call::Utxo, Call::Parameters, Call::Evaluate, Call::Submit, Call::Transaction]
        {
            for fault in FAULTS {
                let case = format!("{end:?} {call:?} {fault:?}");
                let world = crate::world::placed(chain::VaultState::default(), UNIT);
                let (chain, treasury) = faulty(&world);
                let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
                let approver = key_hash(&world.approver);
                if end == End::ByTime {
                    world.clock.advance(env::Duration::from_secs(3601));
                }
                chain.next(call, fault);
                let spend = async || {
                    let (built, keys): (_, &[&Key]) = match end {
                        End::ByTime => (treasury.refund(bond, None).await?, &[]),
                        End::ByApprover => (treasury.refund(bond, Some(approver)).await?, &[&world.approver]),
                        End::Captured => (treasury.capture(bond, approver).await?, &[&world.approver]),
                    };
                    treasury.submit(&world.sign(&built.tx, keys)).await
                };
                // As a sweeper does: again, until the output is gone.
                let mut tries = 0;
                while tries < 4 && !matches!(treasury.bond(bond).await, Ok(None)) {
                    tries += 1;
                    if let Err(error) = spend().await {
                        let known = matches!(
                            error,
                            ChainError::Unavailable(_) | ChainError::Unknown(_) | ChainError::Contention(_)
                        );
                        assert!(known, "{case}: {error}");
                    }
                }
                assert!(tries <= 2, "{case}: {tries} tries");
                let (agent, sink) = (crate::world::address(&world.agent), world.treasury.sink().clone());
                let (to, other) = if end == End::Captured { (sink, agent) } else { (agent, sink) };
                assert_eq!(world.held(&to).await, Value::of(5 * UNIT), "{case}");
                assert_eq!(world.held(&other).await, Value::default(), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_found() {
    for fault in [Fault::FailsAfterLanding, Fault::LandsAndNeverAnswers] {
        let world = opened().await;
        let (chain, treasury) = faulty(&world);
        let record = world.record(1, UNIT, false);
        chain.next(Call::Submit, fault);
        chain.next(Call::Transaction, Fault::FailsClean);
        let told = release(&world, &treasury, &record, None).await;
        assert!(matches!(told, Err(ChainError::Unknown(_))), "{fault:?} {told:?}");
        // Only the chain can tell, and it does.
        assert!(treasury.find(&record).await.unwrap().is_some());
        // Where it can be asked at once, nothing is unknown.
        let next = world.record(2, UNIT, false);
        chain.next(Call::Submit, fault);
        release(&world, &treasury, &next, None).await.unwrap();
    }
    let world = opened().await;
    let (chain, treasury) = faulty(&world);
    let record = world.record(1, UNIT, false);
    chain.next(Call::Submit, Fault::NeverAnswers);
    let told = release(&world, &treasury, &record, None).await;
    assert!(matches!(told, Err(ChainError::Unknown(_))), "{told:?}");
    assert_eq!(treasury.find(&record).await.unwrap(), None);
}

#[tokio::test]
async fn five_blocks_taken_back_pay_nobody_twice() {
    let world = opened().await;
    let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    let flagged = world.record(1, 12 * UNIT, true);
    let approver = [&world.approver];
    let first = world.release(&flagged, Some(bond), &approver).await.unwrap();
    let mut later = Vec::new();
    for nonce in 2..6 {
        let record = world.record(nonce, UNIT, false);
        world.release(&record, None, &[]).await.unwrap();
        later.push(record);
    }
    let kept = world.chain.transaction(first).await.unwrap().unwrap().tx;
    world.chain.roll_back(5).unwrap();
    assert_eq!(world.treasury.confirmed(first).await.unwrap(), None);
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 0);
    for record in later.iter().chain([&flagged]) {
        assert_eq!(world.treasury.find(record).await.unwrap(), None);
    }
    assert!(world.treasury.bond(bond).await.unwrap().is_some(), "the bond is locked again");
    // The signed transaction is still good, as it was signed, and so is each authorization, once.
    assert_eq!(world.treasury.submit(&kept).await.unwrap(), first);
    for record in &later {
        world.release(record, None, &[]).await.unwrap();
        let again = world.release(record, None, &[]).await;
        assert!(matches!(again, Err(ChainError::Rejected { invariant: Some(_), .. })), "{again:?}");
    }
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 16 * UNIT);
    assert_eq!(world.treasury.bond(bond).await.unwrap(), None);
}

#[tokio::test]
async fn two_that_build_at_once_pay_once() {
    let world = opened().await;
    let record = world.record(1, UNIT, false);
    let (_, other) = faulty(&world);
    let what = world.what(&record, None);
    let one = world.treasury.release(&what).await.unwrap();
    let two = other.release(&Release { mandate: "M-001@4", ..what }).await.unwrap();
    assert_ne!(one.tx_hash, two.tx_hash);
    world.treasury.submit(&one.tx).await.unwrap();
    let late = other.submit(&two.tx).await;
    assert!(matches!(late, Err(ChainError::Contention(_))), "{late:?}");
    assert_eq!(other.find(&record).await.unwrap().unwrap().tx_hash, one.tx_hash);
}

#[tokio::test]
async fn releases_at_once_spend_different_money() {
    let world = opened().await;
    let approver = key_hash(&world.approver);
    let bonds: Vec<_> = (0..3).map(|_| world.bond(&world.bond_datum(), Value::of(5 * UNIT))).collect();
    let mut built = Vec::new();
    for bond in &bonds {
        built.push(world.treasury.refund(*bond, Some(approver)).await.unwrap());
    }
    // Built before any of them landed, and none of them spends what another does.
    for built in &built {
        world.submit(&built.tx, &[&world.approver]).await.unwrap();
    }
}

/// Every step by another process over the same file: nothing is remembered but what is on chain.
#[tokio::test]
async fn a_restart_between_any_two_steps_changes_nothing() {
    use chain::{Output, Wallet};
    use mandate::price::approval_ref;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let template = crate::world::placed(chain::VaultState::default(), UNIT);
    let clock = template.clock.clone();
    let fee = signer(7);
    let open = || {
        let chain = Arc::new(LedgerChain::open(Some(&path), clock.clone(), NETWORK).unwrap());
        let treasury = Treasury::new(chain.clone(), NETWORK, fee.clone(), clock.clone()).unwrap();
        (chain, treasury)
    };
    let signed = |treasury: &Treasury, tx: &[u8], key: &Key| {
        let set = chain::wallet::sign_tx(tx, key.as_ref()).unwrap();
        treasury.witness(tx, &set, key_hash(key)).unwrap()
    };
    let (principal, approver) = (&template.principal, &template.approver);
    let from = crate::world::address(principal);
    {
        let (chain, _) = open();
        for _ in 0..3 {
            chain.fund(&crate::world::address(&fee), Value::of(200 * UNIT)).unwrap();
        }
        chain.fund(&from, Value::of(5 * UNIT).with(template.asset.clone(), 200 * UNIT)).unwrap();
    }
    let mandate_ref = {
        let (_, treasury) = open();
        let anchoring = treasury.anchor(&template.anchor).await.unwrap();
        treasury.submit(&signed(&treasury, &anchoring.built.tx, principal)).await.unwrap();
        anchoring.mandate_ref
    };
    let vault = {
        let (_, treasury) = open();
        let opening = treasury.open_vault(mandate_ref).await.unwrap();
        treasury.submit(&signed(&treasury, &opening.built.tx, principal)).await.unwrap();
        opening.vault
    };
    {
        let (_, treasury) = open();
        let deposit = treasury.deposit(&vault, &from, 150 * UNIT).await.unwrap();
        treasury.submit(&signed(&treasury, &deposit.tx, principal)).await.unwrap();
    }
    let bond = {
        let (chain, treasury) = open();
        let agent = Wallet::new(chain.clone(), NETWORK, template.agent.clone(), clock.clone()).unwrap();
        chain.fund(agent.address(), Value::of(20 * UNIT)).unwrap();
        let mut datum = template.bond_datum();
        datum.mandate_ref = mandate_ref;
        datum.approval_ref = approval_ref("AP-2");
        let output = Output::new(treasury.escrow().clone(), Value::of(5 * UNIT));
        let lock = agent.pay(vec![output.with(crate::world::inline(&datum.to_data()))]).await.unwrap();
        OutRef { output_index: 0, tx_hash: treasury.lock_by(&lock.tx).await.unwrap() }
    };
    let mut fields = template.fields(1, 12 * UNIT, true);
    (fields.mandate_ref, fields.vault_hash) = (mandate_ref, vault.vault_hash);
    let record = template.signed(fields);
    let built = {
        let (_, treasury) = open();
        assert!(treasury.bond(bond).await.unwrap().is_some());
        treasury.release(&Release { vault: &vault, ..template.what(&record, Some(bond)) }).await.unwrap()
    };
    let whole = signed(&open().1, &built.tx, approver);
    let hash = open().1.submit(&whole).await.unwrap();
    let (chain, treasury) = open();
    assert_eq!(treasury.submit(&whole).await.unwrap(), hash, "handed in again after a restart");
    assert_eq!(treasury.find(&record).await.unwrap().unwrap().tx_hash, hash);
    assert_eq!(treasury.bond(bond).await.unwrap(), None);
    assert_eq!(treasury.observe(&vault).await.unwrap().vault_balance.get(), 138 * UNIT);
    let paid = chain.utxos(recipient().as_str()).await.unwrap();
    assert_eq!(paid.len(), 1);
    assert_eq!(paid[0].output.value.quantity(&template.asset), 12 * UNIT);
}
