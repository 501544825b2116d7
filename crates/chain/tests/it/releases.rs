//! A vault from its opening to its end, every transaction judged by the ledger and its scripts.

use crate::world::{UNIT, address, key_hash, opened, recipient, signer};
use chain::{Chain, ChainError, Value};
use env::Duration;
use mandate::Status;
use mandate::text::Units;

#[tokio::test]
async fn an_authorization_pays_once() {
    let world = opened().await;
    let before = world.treasury.observe(&world.vault).await.unwrap();
    assert_eq!((before.vault_balance, before.last_nonce), (Units::new(135 * UNIT), Units::ZERO));
    assert_eq!((before.anchor_status, before.anchor_version), (Status::Active, 3));
    assert_eq!(before.approvers, [key_hash(&world.approver)]);

    let record = world.record(1, 8 * UNIT, false);
    assert_eq!(world.treasury.find(&record).await.unwrap(), None);
    let hash = world.release(&record, None, &[]).await.unwrap();

    let after = world.treasury.observe(&world.vault).await.unwrap();
    assert_eq!(after.vault_balance, Units::new(127 * UNIT));
    assert_eq!(
        (after.last_nonce, after.spent_today, after.day_index),
        (Units::new(1), Units::new(8 * UNIT), world.now().day())
    );
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 8 * UNIT);
    let found = world.treasury.find(&record).await.unwrap().unwrap();
    assert_eq!(found.tx_hash, hash);
    assert_eq!(world.treasury.confirmed(hash).await.unwrap(), Some(found.block_height));

    // The same authorization again is refused by the vault, by its nonce.
    let again = world.release(&record, None, &[]).await;
    let Err(ChainError::Rejected { invariant, .. }) = again else { panic!("{again:?}") };
    assert_eq!(invariant.as_deref(), Some("R8"));
}

#[tokio::test]
async fn one_signature_releases_and_refunds() {
    let world = opened().await;
    let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    let record = world.record(1, 18 * UNIT, true);
    let unsigned = world.release(&record, Some(bond), &[]).await;
    assert!(matches!(unsigned, Err(ChainError::Rejected { invariant: None, .. })), "{unsigned:?}");
    world.release(&record, Some(bond), &[&world.approver]).await.unwrap();
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 18 * UNIT);
    assert_eq!(world.held(&address(&world.agent)).await, Value::of(5 * UNIT));
    assert_eq!(world.treasury.bond(bond).await.unwrap(), None);
}

#[tokio::test]
async fn what_was_used_is_found_behind_later_releases() {
    let world = opened().await;
    let records = [world.record(1, UNIT, false), world.record(3, UNIT, false), world.record(4, UNIT, false)];
    let mut hashes = Vec::new();
    for record in &records {
        hashes.push(world.release(record, None, &[]).await.unwrap());
    }
    for (record, hash) in records.iter().zip(&hashes) {
        assert_eq!(world.treasury.find(record).await.unwrap().unwrap().tx_hash, *hash);
    }
    // Skipped, to come, and the same nonce for another amount.
    for record in
        [world.record(2, UNIT, false), world.record(9, UNIT, false), world.record(3, 2 * UNIT, false)]
    {
        assert_eq!(world.treasury.find(&record).await.unwrap(), None);
    }
}

#[tokio::test]
async fn the_day_turns_at_midnight() {
    let world = opened().await;
    world.release(&world.record(1, 9 * UNIT, false), None, &[]).await.unwrap();
    // 20:59:30 later it is 23:59:30; half a minute on it is tomorrow, and a release then counts for tomorrow.
    world.clock.advance(Duration::from_secs(20 * 3600 + 59 * 60 + 30));
    world.release(&world.record(2, 9 * UNIT, false), None, &[]).await.unwrap();
    assert_eq!(world.treasury.observe(&world.vault).await.unwrap().spent_today, Units::new(18 * UNIT));
    world.clock.advance(Duration::from_secs(31));
    world.release(&world.record(3, 9 * UNIT, false), None, &[]).await.unwrap();
    let observed = world.treasury.observe(&world.vault).await.unwrap();
    assert_eq!((observed.day_index, observed.spent_today), (world.now().day(), Units::new(9 * UNIT)));
}

#[tokio::test]
async fn the_principal_withdraws_updates_hands_over_and_revokes() {
    let world = opened().await;
    let to = address(&signer(55));
    let built = world.treasury.withdraw(&world.vault, 5 * UNIT, &to).await.unwrap();
    world.submit(&built.tx, &[&world.principal]).await.unwrap();
    assert_eq!(world.held(&to).await.quantity(&world.asset), 5 * UNIT);

    let heir = signer(66);
    let mut next = world.anchor.clone();
    next.version = 4;
    next.limits.autonomous_limit = Units::new(UNIT);
    next.principal = key_hash(&heir);
    let built = world.treasury.update(world.vault.mandate_ref, &next).await.unwrap();
    world.submit(&built.tx, &[&world.principal, &heir]).await.unwrap();
    assert_eq!(world.treasury.anchored(world.vault.mandate_ref).await.unwrap().0, next);
    let old = world.release(&world.record(1, UNIT, false), None, &[]).await;
    let Err(ChainError::Rejected { invariant, .. }) = old else { panic!("{old:?}") };
    assert_eq!(invariant.as_deref(), Some("R4"));

    let built = world.treasury.revoke(world.vault.mandate_ref).await.unwrap();
    world.submit(&built.tx, &[&heir]).await.unwrap();
    let observed = world.treasury.observe(&world.vault).await.unwrap();
    assert_eq!((observed.anchor_status, observed.anchor_version), (Status::Revoked, 5));
}

#[tokio::test]
async fn the_metadata_names_the_release() {
    let world = opened().await;
    let record = world.record(1, UNIT, false);
    let hash = world.release(&record, None, &[]).await.unwrap();
    let confirmed = world.chain.transaction(hash).await.unwrap().unwrap();
    let transaction = chain::transaction::Transaction::read(&confirmed.tx).unwrap();
    let metadata = transaction.auxiliary().unwrap();
    let expected = chain::build::label_1694(
        &record.digest_hex.to_string(),
        &record.fields.action_hash.to_string(),
        "M-001@3",
        7,
        &canon::Digest::of(b"log").to_string(),
    );
    assert_eq!(metadata, expected);
}

#[tokio::test]
async fn nothing_is_built_that_is_too_late_or_for_a_script() {
    let world = opened().await;
    let mut fields = world.fields(1, UNIT, false);
    fields.valid_until = world.now().plus(59_999);
    let late = world.release(&world.signed(fields), None, &[]).await;
    assert!(
        matches!(&late, Err(ChainError::Rejected { invariant: Some(rule), .. }) if rule == "EXPIRED"),
        "{late:?}"
    );
    let mut fields = world.fields(1, UNIT, false);
    fields.recipient = world.treasury.sink().clone();
    let script = world.release(&world.signed(fields), None, &[]).await;
    assert!(matches!(script, Err(ChainError::Malformed(_))), "{script:?}");
}

/// Fees in lovelace, as docs/chain.md tells them.
#[tokio::test]
async fn what_it_costs() {
    let world = opened().await;
    let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    let small = world.record(1, UNIT, false);
    let flagged = world.record(2, 12 * UNIT, true);
    for (case, record, bond, most) in
        [("a release", &small, None, 450_000), ("with a refund", &flagged, Some(bond), 650_000)]
    {
        let plan = world.plan(record, bond).await.unwrap();
        let built = world.treasury.wallet().complete(plan).await.unwrap();
        let tx = chain::transaction::Transaction::read(&built.tx).unwrap();
        let fee = tx.fee().unwrap();
        assert!(fee <= most, "{case}: {fee} {:?} {} bytes", tx.redeemers(), built.tx.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_other_threads_pay_one_after_the_other() {
    let world = std::sync::Arc::new(opened().await);
    let workers: Vec<_> = (1..=4)
        .map(|nonce| {
            let world = world.clone();
            tokio::spawn(async move {
                let record = world.record(nonce, UNIT, false);
                // A nonce that was passed over is refused for good; spent inputs are built on again.
                loop {
                    match world.release(&record, None, &[]).await {
                        Err(ChainError::Contention(_)) => {}
                        Err(ChainError::Rejected { invariant: Some(rule), .. }) if rule == "R8" => return 0,
                        paid => return paid.map(|_| UNIT).unwrap(),
                    }
                }
            })
        })
        .collect();
    let mut sum = 0;
    for worker in workers {
        sum += worker.await.unwrap();
    }
    assert!(sum >= UNIT);
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), sum);
    assert_eq!(world.treasury.observe(&world.vault).await.unwrap().spent_today.get(), sum);
}
