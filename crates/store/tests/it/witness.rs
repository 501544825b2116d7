//! Witnesses add to what is published and hold nothing up.

use async_trait::async_trait;
use canon::Digest;
use env::{Source, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::note::{Checkpoint, KeyName, KeyType, Note, Pins, VerifierKey};
use ledger::witness::{Request, judge};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{AddCheckpoint, Journal, Log, Published, Witness};
use testkit::World;
use testkit::contract::{append, stream};
use tokio::sync::Semaphore;

fn signer(seed: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()
}

fn key(name: &str, kind: KeyType, seed: u8) -> VerifierKey {
    let keys::PublicKey::Ed25519(public) = signer(seed).public() else { panic!() };
    VerifierKey::new(name.parse().unwrap(), kind, public)
}

fn origin() -> KeyName {
    "log.example".parse().unwrap()
}

/// A witness in memory, as the specification says one behaves. It answers as often as it has permits.
struct Fake {
    name: &'static str,
    seed: u8,
    seen: Mutex<Option<Checkpoint>>,
    answers: Mutex<Vec<u16>>,
    permits: Semaphore,
    /// One permit for each question that came.
    came: Semaphore,
}

impl Fake {
    fn new(name: &'static str, seed: u8, permits: usize) -> Arc<Self> {
        let (seen, answers) = (Mutex::default(), Mutex::default());
        Arc::new(Self {
            name,
            seed,
            seen,
            answers,
            permits: Semaphore::new(permits),
            came: Semaphore::new(0),
        })
    }

    fn witness(self: &Arc<Self>) -> Witness {
        let call: Arc<dyn AddCheckpoint> = self.clone();
        Witness { key: key(self.name, KeyType::Witness, self.seed), call }
    }

    fn answers(&self) -> Vec<u16> {
        self.answers.lock().unwrap().clone()
    }
}

const ALWAYS: usize = 1_000;

#[async_trait]
impl AddCheckpoint for Fake {
    async fn add_checkpoint(&self, body: String) -> Result<(u16, Vec<u8>), String> {
        self.came.add_permits(1);
        self.permits.acquire().await.unwrap().forget();
        let request = Request::parse(body.as_bytes()).unwrap();
        let mut seen = self.seen.lock().unwrap();
        let answer = match judge(&request, &[key("log.example", KeyType::Log, 3)], seen.as_ref()) {
            Ok(()) => {
                *seen = Some(request.note.unverified().clone());
                let at = Timestamp::from_secs(1_800_000_000);
                let line = request.note.cosign(self.name.parse().unwrap(), &signer(self.seed), at).unwrap();
                (200, format!("{line}\n").into_bytes())
            }
            Err(refused) => match refused {
                ledger::witness::Refused::Conflict { size } => (409, format!("{size}\n").into_bytes()),
                other => (other.status(), Vec::new()),
            },
        };
        self.answers.lock().unwrap().push(answer.0);
        Ok(answer)
    }
}

/// A log that is fed beside the test.
struct Running {
    log: Log,
    journal: Arc<dyn Journal>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    fn start(world: &World, witnesses: &[&Arc<Fake>]) -> Self {
        Self::over(Arc::new(world.memory.clone()), world.clock.clone(), witnesses)
    }

    fn over(journal: Arc<dyn Journal>, clock: Arc<dyn Source>, witnesses: &[&Arc<Fake>]) -> Self {
        let log = Log::new(journal.clone(), clock, Arc::new(signer(3)), origin())
            .with_witnesses(witnesses.iter().map(|fake| fake.witness()).collect());
        let task = tokio::spawn({
            let log = log.clone();
            async move { log.run(std::future::pending()).await }
        });
        Self { log, journal, task }
    }

    async fn grow(&self, name: &str, count: usize) {
        let at = self.journal.head(&stream(name)).await.unwrap();
        self.journal.append(append(name, at, &vec!["x"; count])).await.unwrap();
    }

    /// The published checkpoint once it is as asked.
    async fn published(&self, good: impl Fn(&Published) -> bool) -> Published {
        let found = async {
            loop {
                if let Some(published) =
                    self.journal.published("log").await.unwrap().filter(|found| good(found))
                {
                    return published;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found).await.expect("such a checkpoint")
    }
}

fn cosigned(note: &str, by: &[&Arc<Fake>]) -> bool {
    let witnesses: Vec<VerifierKey> =
        by.iter().map(|fake| key(fake.name, KeyType::Witness, fake.seed)).collect();
    let pins = Pins::new(vec![key("log.example", KeyType::Log, 3)], witnesses, by.len()).unwrap();
    Note::parse(note.as_bytes()).unwrap().verify(&pins).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_added_when_they_come_and_nothing_waits() {
    let world = World::new(1);
    lines_are_added(Arc::new(world.memory.clone()), world.clock.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_added_on_postgresql() {
    let journal = crate::postgres::fresh().await;
    lines_are_added(Arc::new(journal), Arc::new(env::System)).await;
}

async fn lines_are_added(journal: Arc<dyn Journal>, clock: Arc<dyn Source>) {
    let (one, two) = (Fake::new("one.example", 5, ALWAYS), Fake::new("two.example", 6, ALWAYS));
    let silent = Fake::new("silent.example", 7, 0);
    let running = Running::over(journal, clock, &[&one, &two, &silent]);
    for (count, size) in [(3, 3), (1, 4), (300, 304)] {
        running.grow("a", count).await;
        let published =
            running.published(|found| found.size == size && cosigned(&found.note, &[&one, &two])).await;
        assert_eq!(running.log.file("checkpoint").await.unwrap().unwrap(), published.note.as_bytes());
        assert!(!cosigned(&published.note, &[&silent]));
    }
    assert!(
        one.answers().iter().all(|status| *status == 200),
        "it is told what it saw last: {:?}",
        one.answers()
    );
    // The silent one answers after all: first of what it was asked, then of the newest.
    silent.permits.add_permits(ALWAYS);
    running.published(|found| found.size == 304 && cosigned(&found.note, &[&one, &two, &silent])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_is_under_the_checkpoint_that_more_have_cosigned() {
    let slow = Fake::new("slow.example", 5, 0);
    let running = Running::start(&World::new(2), &[&slow]);
    running.grow("a", 3).await;
    running.published(|found| found.size == 3).await;
    // The witness holds the first question while the log goes on.
    tokio::time::timeout(Duration::from_secs(20), slow.came.acquire())
        .await
        .expect("a question")
        .unwrap()
        .forget();
    running.grow("b", 1).await;
    let newest = running.published(|found| found.size == 4).await;
    assert_eq!(running.log.proof(&stream("a"), 1).await.unwrap().unwrap().checkpoint, newest.note);
    slow.permits.add_permits(1);
    let proof = async {
        loop {
            let proof = running.log.proof(&stream("a"), 1).await.unwrap().unwrap();
            if proof.checkpoint != newest.note {
                return proof;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let proof = tokio::time::timeout(Duration::from_secs(20), proof).await.expect("a cosigned proof");
    assert!(cosigned(&proof.checkpoint, &[&slow]));
    let note = Note::parse(proof.checkpoint.as_bytes()).unwrap();
    let entry = running.journal.read(&stream("a"), 0, 1).await.unwrap().remove(0);
    proof.verify_inclusion(&stream("a"), 1, &entry.hash, note.unverified()).unwrap();
    // What came later is proved all the same, under what there is.
    assert_eq!(running.log.proof(&stream("b"), 1).await.unwrap().unwrap().checkpoint, newest.note);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_is_brought_on_from_where_it_is() {
    let one = Fake::new("one.example", 5, ALWAYS);
    let world = World::new(3);
    let running = Running::start(&world, &[]);
    running.grow("a", 5).await;
    let early = running.published(|found| found.size == 5).await;
    running.grow("a", 4).await;
    running.published(|found| found.size == 9).await;
    running.task.abort();
    *one.seen.lock().unwrap() = Some(Checkpoint { origin: origin(), size: early.size, root: early.root });
    // The lease of the process before must run out first.
    world.clock.advance(env::Duration::from_secs(60));
    let again = Running::start(&world, &[&one]);
    again.published(|found| found.size == 9 && cosigned(&found.note, &[&one])).await;
    assert_eq!(one.answers(), [409, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_rolled_back_or_forked_is_not_cosigned_and_goes_on() {
    for (size, root) in [(3, Digest::of(b"fork")), (2, Digest::of(b"fork")), (99, Digest::of(b"more"))] {
        let one = Fake::new("one.example", 5, ALWAYS);
        *one.seen.lock().unwrap() = Some(Checkpoint { origin: origin(), size, root });
        let running = Running::start(&World::new(4), &[&one]);
        running.grow("a", 3).await;
        running.published(|found| found.size == 3).await;
        let refused = async {
            while one.answers().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), refused).await.expect("the witness is asked");
        running.grow("a", 1).await;
        let published = running.published(|found| found.size == 4).await;
        assert!(!cosigned(&published.note, &[&one]), "{size}");
        assert!(!one.answers().contains(&200), "{size}");
    }
}
