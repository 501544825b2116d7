//! The contract on every journal that needs no server. PostgreSQL's run is beside its own tests.

use std::sync::Arc;
use store::{ServerKey, Sqlite};
use testkit::{FaultyJournal, MemoryJournal, journal_contract};

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    journal_contract(Arc::new(MemoryJournal::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Sqlite::open(&folder.path().join("journal.db"), ServerKey::from_bytes([7; 32])).unwrap();
    journal_contract(Arc::new(journal)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_journal_that_is_told_to_work() {
    journal_contract(Arc::new(FaultyJournal::new(Arc::new(MemoryJournal::new()), 1))).await;
}
