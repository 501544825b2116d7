//! The server's log: every entry is proved, the tree never forks, whoever loses the lease signs nothing.

use env::Duration;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::merkle::{leaf_hash, verify_consistency};
use ledger::note::{KeyName, KeyType, Note, Pins, VerifierKey};
use ledger::tiles::{Bundle, Tile, TileSet};
use ledger::{Head, StreamId, merkle};
use std::sync::Arc;
use store::{Journal, Log, Published, Sqlite, StoreError};
use testkit::contract::{append, stream};
use testkit::{Fate, FaultyJournal, MemoryJournal, Rates, World};

fn signer() -> Arc<SoftwareSigner> {
    Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[3; 32]).unwrap())
}

fn origin() -> KeyName {
    "log.example".parse().unwrap()
}

fn log_on(journal: Arc<dyn Journal>, world: &World) -> Log {
    Log::new(journal, world.clock.clone(), signer(), origin())
}

fn verified(published: &Published) {
    let keys::PublicKey::Ed25519(key) = signer().public() else { panic!() };
    let pins = Pins::new(vec![VerifierKey::new(origin(), KeyType::Log, key)], vec![], 0).unwrap();
    let note = Note::parse(published.note.as_bytes()).unwrap();
    let checkpoint = note.verify(&pins).unwrap();
    assert_eq!(
        (checkpoint.checkpoint().size, checkpoint.checkpoint().root),
        (published.size, published.root)
    );
}

async fn grow(journal: &dyn Journal, name: &str, count: usize) -> StreamId {
    let at = journal.head(&stream(name)).await.unwrap();
    journal.append(append(name, at, &vec!["x"; count])).await.unwrap();
    stream(name)
}

#[tokio::test]
async fn every_entry_of_every_stream_is_proved_as_the_log_grows() {
    let world = World::new(1);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    let log = log_on(journal.clone(), &world);
    assert!(log.proof(&stream("a"), 1).await.unwrap().is_none());
    let mut before: Option<Published> = None;
    for (name, count) in [("a", 1), ("b", 1), ("a", 2), ("c", 251), ("b", 1), ("a", 1), ("c", 700)] {
        let stream = grow(&*journal, name, count).await;
        let last = journal.head(&stream).await.unwrap().seq;
        assert!(log.proof(&stream, last).await.unwrap().is_none(), "not under a checkpoint yet");
        let published = log.integrate().await.unwrap().unwrap();
        verified(&published);
        assert_eq!(published.size, journal.stats().await.unwrap().entries);
        for name in journal.streams(None, 99).await.unwrap() {
            for entry in journal.read(&name, 0, usize::MAX).await.unwrap() {
                let proof = log.proof(&name, entry.seq).await.unwrap().unwrap();
                assert!(proof.is_of(&name, entry.seq, &entry.hash));
                let note = Note::parse(proof.checkpoint.as_bytes()).unwrap();
                proof.verify_inclusion(&name, entry.seq, &entry.hash, note.unverified()).unwrap();
            }
        }
        if let Some(before) = before {
            let path = log.consistency(before.size, published.size).await.unwrap().unwrap();
            verify_consistency(before.size, &before.root, published.size, &published.root, &path).unwrap();
        }
        assert_eq!(log.integrate().await.unwrap().unwrap(), published, "nothing new, nothing signed");
        before = Some(published);
    }
    let size = before.unwrap().size;
    assert_eq!(log.consistency(1, size + 1).await.unwrap(), None);
    assert_eq!(log.consistency(0, size).await.unwrap(), None);
}

#[tokio::test]
async fn the_files_are_those_of_tlog_tiles() {
    let world = World::new(2);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    let log = log_on(journal.clone(), &world);
    assert_eq!(log.file("checkpoint").await.unwrap(), None);
    grow(&*journal, "files", 600).await;
    let published = log.integrate().await.unwrap().unwrap();
    assert_eq!(log.file("checkpoint").await.unwrap().unwrap(), published.note.as_bytes());
    let mut set = TileSet::new(600);
    for tile in TileSet::needed(600, &merkle::root_nodes(600)).unwrap() {
        set.insert(tile, &log.file(&tile.to_string()).await.unwrap().unwrap()).unwrap();
    }
    assert_eq!(set.root().unwrap(), published.root);
    let tile: Tile = "tile/0/001".parse().unwrap();
    let hashes = tile.read(&log.file("tile/0/001").await.unwrap().unwrap()).unwrap();
    let bundle: Bundle = "tile/entries/001".parse().unwrap();
    let bytes = log.file("tile/entries/001").await.unwrap().unwrap();
    let leaves = bundle.read(&bytes).unwrap();
    assert_eq!(hashes, leaves.iter().map(|leaf| leaf_hash(leaf)).collect::<Vec<_>>());
    for (path, found) in [
        ("tile/0/002.p/88", true),
        ("tile/0/002.p/3", true),
        ("tile/0/002.p/89", false),
        ("tile/0/002", false),
        ("tile/0/003", false),
        ("tile/1/000.p/2", true),
        ("tile/1/000.p/3", false),
        ("tile/entries/002.p/88", true),
        ("tile/entries/002.p/89", false),
        ("tile/entries/002", false),
        ("tile/0/1", false),
        ("../journal.db", false),
    ] {
        assert_eq!(log.file(path).await.unwrap().is_some(), found, "{path}");
    }
}

#[tokio::test]
async fn one_feeds_the_log_and_another_takes_over() {
    let world = World::new(3);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    let (one, two) = (log_on(journal.clone(), &world), log_on(journal.clone(), &world));
    grow(&*journal, "a", 300).await;
    assert_eq!(one.integrate().await.unwrap().unwrap().size, 300);
    grow(&*journal, "a", 3).await;
    assert_eq!(two.integrate().await.unwrap(), None);
    world.clock.advance(Duration::from_secs(10));
    let taken = two.integrate().await.unwrap().unwrap();
    assert_eq!(taken.size, 303);
    grow(&*journal, "a", 3).await;
    assert_eq!(one.integrate().await.unwrap(), None);
    let next = two.integrate().await.unwrap().unwrap();
    let path = one.consistency(taken.size, next.size).await.unwrap().unwrap();
    verify_consistency(taken.size, &taken.root, next.size, &next.root, &path).unwrap();
}

#[tokio::test]
async fn who_stops_leaves_nothing_unpublished_and_no_lease() {
    let world = World::new(5);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    let (one, two) = (log_on(journal.clone(), &world), log_on(journal.clone(), &world));
    one.run(std::future::ready(())).await;
    grow(&*journal, "a", 300).await;
    one.finish().await.unwrap();
    assert_eq!(journal.published("log").await.unwrap().unwrap().size, 300);
    grow(&*journal, "a", 3).await;
    assert_eq!(two.integrate().await.unwrap().unwrap().size, 303);
    one.finish().await.unwrap();
    assert_eq!(journal.published("log").await.unwrap().unwrap().size, 303);
}

#[tokio::test]
async fn a_holder_that_slept_through_its_lease_is_fenced() {
    let world = World::new(4);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    let log = log_on(journal.clone(), &world);
    grow(&*journal, "a", 5).await;
    log.integrate().await.unwrap().unwrap();
    let later = world.now() + Duration::from_secs(100);
    // Another process, whose clock is ahead, has taken the lease; this one still believes in its own.
    journal.lease("log", "another", later, Duration::from_secs(1000)).await.unwrap().unwrap();
    grow(&*journal, "a", 5).await;
    let error = log.integrate().await.unwrap_err();
    assert!(matches!(error, StoreError::Fenced(_)), "{error}");
    assert_eq!(journal.published("log").await.unwrap().unwrap().size, 5);
    assert_eq!(log.integrate().await.unwrap(), None);
}

/// Whatever call fails, before or after it landed, the log goes on without a fork.
#[tokio::test]
async fn every_fault_leaves_one_log() {
    for seed in 0..30 {
        let world = World::new(seed);
        let faulty = Arc::new(FaultyJournal::new(Arc::new(world.memory.clone()), seed));
        let log = log_on(faulty.clone(), &world);
        let clean = log_on(Arc::new(world.memory.clone()), &world);
        faulty.rates(Rates { fails_clean: 60, fails_landed: 60, hangs: 0 });
        let mut before: Option<Published> = None;
        for _ in 0..20 {
            grow(&world.memory, "a", 40).await;
            let _ = log.integrate().await;
            let Some(now) = world.memory.published("log").await.unwrap() else { continue };
            verified(&now);
            if let Some(before) = before {
                let path = clean.consistency(before.size, now.size).await.unwrap().unwrap();
                verify_consistency(before.size, &before.root, now.size, &now.root, &path)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
            before = Some(now);
        }
        faulty.rates(Rates::default());
        assert_eq!(log.integrate().await.unwrap().unwrap().size, 800, "seed {seed}");
    }
}

#[tokio::test]
async fn a_log_whose_tiles_were_changed_is_never_signed_again() {
    let world = World::new(5);
    let journal: Arc<dyn Journal> = Arc::new(world.memory.clone());
    grow(&*journal, "a", 5).await;
    log_on(journal.clone(), &world).integrate().await.unwrap().unwrap();
    world.clock.advance(Duration::from_secs(10));
    let lease = journal.lease("log", "forger", world.now(), Duration::from_secs(1)).await.unwrap().unwrap();
    let forged = store::Tile { level: 0, index: 0, hashes: vec![0; 6 * 32] };
    let kept = journal.published("log").await.unwrap().unwrap();
    assert!(journal.publish(&lease, 5, vec![forged], kept).await.unwrap());
    journal.release(&lease).await.unwrap();
    grow(&*journal, "a", 1).await;
    let error = log_on(journal.clone(), &world).integrate().await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

/// From the acknowledged append to a publishable proof, with the log fed in the background.
#[tokio::test(flavor = "multi_thread")]
async fn a_proof_follows_an_append_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let key = store::ServerKey::from_bytes([7; 32]);
    let journal: Arc<dyn Journal> = Arc::new(Sqlite::open(&folder.path().join("journal.db"), key).unwrap());
    let log = Log::new(journal.clone(), Arc::new(env::System), signer(), origin());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let feeder = tokio::spawn({
        let log = log.clone();
        async move { log.run(async { drop(stopped.await) }).await }
    });
    let mut waits = Vec::new();
    let mut at = Head::EMPTY;
    for _ in 0..50 {
        at = journal.append(append("fed", at, &["x"])).await.unwrap()[0];
        let since = std::time::Instant::now();
        while log.proof(&stream("fed"), at.seq).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        waits.push(since.elapsed());
    }
    waits.sort();
    // The bar is 250 ms on an idle machine and is measured by the bench; here others build at the same time.
    assert!(waits[waits.len() / 2] < std::time::Duration::from_secs(1), "{waits:?}");
    stop.send(()).unwrap();
    feeder.await.unwrap();
    // The lease was given back: another process need not wait for it.
    let other = Log::new(journal.clone(), Arc::new(env::System), signer(), origin());
    assert_eq!(other.integrate().await.unwrap().unwrap().size, 50);
}

#[tokio::test]
async fn a_lost_answer_to_publish_is_looked_up() {
    let world = World::new(6);
    let memory: MemoryJournal = world.memory.clone();
    let faulty = Arc::new(FaultyJournal::new(Arc::new(memory.clone()), 1));
    grow(&memory, "a", 5).await;
    let log = log_on(faulty.clone(), &world);
    faulty.rates(Rates { fails_landed: 1000, ..Rates::default() });
    assert!(log.integrate().await.is_err());
    faulty.rates(Rates::default());
    faulty.script([Fate::Works]);
    assert_eq!(log.integrate().await.unwrap().unwrap().size, 5);
}

/// The log over one stream: its leaves are the hashes of the stream's entries, whatever else the store holds.
#[tokio::test]
async fn a_stream_has_a_log_of_its_own() {
    let world = World::new(5);
    let log = log_on(Arc::new(world.memory.clone()), &world).of_stream(stream("apart"));
    for name in ["other", "apart", "other", "apart", "apart"] {
        grow(&world.memory, name, 1).await;
    }
    let published = log.covering(3).await.unwrap();
    let entries = world.memory.read(&stream("apart"), 0, 9).await.unwrap();
    let mut tree = ledger::merkle::MemoryTree::new();
    for entry in &entries {
        tree.push(ledger::merkle::leaf_hash(entry.hash.as_bytes()));
    }
    assert_eq!((published.size, published.root), (3, tree.root()));
    let path = ledger::merkle::inclusion_nodes(1, 3).unwrap();
    let nodes = log.nodes(3, &path).await.unwrap();
    assert_eq!(
        ledger::merkle::prove_inclusion(&nodes, 1, 3).unwrap(),
        ledger::merkle::prove_inclusion(&tree, 1, 3).unwrap()
    );
    assert_eq!(world.memory.published("log").await.unwrap(), None, "the server's log is another");
}
