//! What only PostgreSQL has to show: several processes, the sequencer, key changes between processes, lost servers.

use canon::Digest;
use env::{Duration, Source, System, Timestamp};
use ledger::{Effect, Entry, Head, Payload, Pointer, StreamId};
use sqlx::{Connection, Executor};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;
use store::postgres::{Options, Postgres, SEQUENCER};
use store::{Append, Idempotency, Journal, Outgoing, Runtime, ServerKey, StoreError, StreamAppend};
use testkit::pg;
use testkit::tally::{Command, Tally};

const DIRECT: Options = Options { connections: 8, sequencer: false };
const SEQUENCED: Options = Options { connections: 8, sequencer: true };
const KEY: [u8; 32] = [7; 32];
const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

async fn database() -> String {
    pg::Postgres::shared().expect("a PostgreSQL server").database().await.expect("a database")
}

/// A journal in a database of its own.
pub async fn fresh() -> Postgres {
    open(&database().await, DIRECT).await
}

async fn open(url: &str, options: Options) -> Postgres {
    Postgres::open(url, ServerKey::from_bytes(KEY), options).await.expect("the journal opens")
}

/// A journal that is the sequencer already.
async fn open_sequencer(url: &str) -> Postgres {
    let journal = open(url, SEQUENCED).await;
    let mut turn = tokio::time::interval(std::time::Duration::from_millis(5));
    while !journal.is_sequencer() {
        turn.tick().await;
    }
    journal
}

fn stream(name: &str) -> StreamId {
    format!("room/{name}").parse().unwrap()
}

fn entry(at: Head, bytes: &[u8], payload: Option<&[u8]>) -> Entry {
    let hash = Digest::of_parts(&[at.hash.as_bytes(), bytes]);
    let payload = payload.map(|bytes| Payload::new(bytes.to_vec()));
    Entry { seq: at.seq + 1, prev: at.hash, hash, bytes: bytes.to_vec(), payload }
}

fn on(name: &str, at: Head, texts: &[&str]) -> StreamAppend {
    let mut entries = Vec::new();
    let mut head = at;
    for text in texts {
        let entry = entry(head, text.as_bytes(), None);
        head = Head { seq: entry.seq, hash: entry.hash };
        entries.push(entry);
    }
    StreamAppend { stream: stream(name), expected: at, entries }
}

fn append(streams: Vec<StreamAppend>) -> Append {
    Append { streams, ..Append::default() }
}

fn sealed(name: &str, at: Head, secret: &[u8]) -> Append {
    append(vec![StreamAppend {
        stream: stream(name),
        expected: at,
        entries: vec![entry(at, b"names a payload", Some(secret))],
    }])
}

/// Reads a whole stream and checks its links.
async fn chain(journal: &Postgres, stream: &StreamId) -> Vec<Entry> {
    let mut tries = 0;
    // A connection from before a server was killed is found dead once.
    let entries = loop {
        match journal.read(stream, 0, usize::MAX).await {
            Err(StoreError::Unavailable(_)) if tries < 5 => tries += 1,
            read => break read.unwrap(),
        }
    };
    let mut at = Head::EMPTY;
    for entry in &entries {
        assert_eq!((entry.seq, entry.prev), (at.seq + 1, at.hash), "{stream}");
        assert_eq!(entry.hash, Digest::of_parts(&[entry.prev.as_bytes(), &entry.bytes]), "{stream}");
        at = Head { seq: entry.seq, hash: entry.hash };
    }
    assert_eq!(journal.head(stream).await.unwrap(), at);
    entries
}

/// What a refusal is, without its texts.
fn kind(result: &Result<Vec<Head>, StoreError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => ledger::Coded::code(error),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract() {
    testkit::journal_contract(Arc::new(open(&database().await, DIRECT).await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_through_the_sequencer() {
    testkit::journal_contract(Arc::new(open_sequencer(&database().await).await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_behind_one_database_count_as_one() {
    let url = database().await;
    let name = StreamId::new("tally", "shared").unwrap();
    let servers = [open_sequencer(&url).await, open(&url, DIRECT).await];
    let runtimes = servers.clone().map(|journal| Runtime::new(Arc::new(journal), Arc::new(System)));
    let mut tasks = Vec::new();
    for number in 0..10 {
        let (runtime, name) = (runtimes[number % 2].clone(), name.clone());
        tasks.push(tokio::spawn(async move {
            let mut done = 0;
            while done < 20 {
                match runtime.execute::<Tally>(&name, &Command::Add { amount: 1, note: None }, None).await {
                    Ok(_) => done += 1,
                    // Others kept moving the stream: the caller comes again.
                    Err(store::Error::Busy(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for runtime in &runtimes {
        let (state, head) = runtime.state::<Tally>(&name).await.unwrap();
        assert_eq!((state.sum, head.seq), (200, 200));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_land_alike_directly_and_through_the_sequencer() {
    for options in [DIRECT, SEQUENCED] {
        let url = database().await;
        let journal = if options.sequencer { open_sequencer(&url).await } else { open(&url, options).await };
        let one = journal.append(append(vec![on("one", Head::EMPTY, &["a", "b", "c"])])).await.unwrap()[0];
        assert_eq!(one.seq, 3);
        let stale = journal.append(append(vec![on("one", Head { seq: 2, ..one }, &["x"])])).await;
        assert!(matches!(stale, Err(StoreError::Stale { actual, .. }) if actual == one), "{stale:?}");
        let stale = journal.append(append(vec![on("one", Head { seq: 9, ..one }, &["x"])])).await;
        assert!(matches!(stale, Err(StoreError::Stale { actual, .. }) if actual == one), "{stale:?}");
        let stale = journal.append(append(vec![on("one", Head::EMPTY, &["x", "y"])])).await;
        assert!(matches!(stale, Err(StoreError::Stale { actual, .. }) if actual == one), "{stale:?}");
        let stale = journal.append(append(vec![on("new", Head { seq: 1, ..one }, &["x"])])).await;
        assert!(matches!(stale, Err(StoreError::Stale { actual: Head::EMPTY, .. })), "{stale:?}");
        assert_eq!(chain(&journal, &stream("one")).await.len(), 3);
        assert!(chain(&journal, &stream("new")).await.is_empty());
    }
}

/// One entry more is written by a statement of its own, in four shapes.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_lands_with_its_payload_and_its_effect_or_not_at_all() {
    let journal = open(&database().await, DIRECT).await;
    let first = sealed("one", Head::EMPTY, b"first");
    let mut head = journal.append(first).await.unwrap()[0];
    let shaped = |at: Head, secret: Option<&[u8]>, wakes: bool| {
        let effect = Effect::Wake { stream: format!("room/after{}", at.seq), at: NOW };
        // An effect may be of another stream than the entry.
        let row = Outgoing { stream: stream("other"), effect, due: NOW };
        let entries = vec![entry(at, b"one more", secret)];
        Append {
            outbox: wakes.then_some(row).into_iter().collect(),
            ..append(vec![StreamAppend { stream: stream("one"), expected: at, entries }])
        }
    };
    let shapes: [(Option<&[u8]>, bool); 4] =
        [(None, false), (None, true), (Some(b"sealed"), false), (Some(b"sealed too"), true)];
    let mut rows = BTreeSet::new();
    for (secret, wakes) in shapes {
        let before = head;
        head = journal.append(shaped(before, secret, wakes)).await.unwrap()[0];
        let last = journal.read(&stream("one"), before.seq, 9).await.unwrap().pop().unwrap();
        assert_eq!((last.seq, last.hash, last.prev), (head.seq, head.hash, before.hash));
        assert_eq!(last.payload.map(|payload| payload.bytes), secret.map(<[u8]>::to_vec));
        if wakes {
            rows.insert(format!("room/after{}", before.seq));
        }
        for wrong in [before, Head { hash: Digest::of(b"nowhere"), ..head }, Head { seq: 99, ..head }] {
            let stale = journal.append(shaped(wrong, secret, wakes)).await;
            assert!(matches!(stale, Err(StoreError::Stale { actual, .. }) if actual == head), "{stale:?}");
        }
    }
    assert_eq!(chain(&journal, &stream("one")).await.len(), 5);
    let claimed = journal.claim(NOW, Duration::from_secs(9), 100).await.unwrap();
    let found: BTreeSet<_> = claimed
        .into_iter()
        .map(|row| match row.effect {
            Effect::Wake { stream: named, .. } if row.stream == stream("other") => named,
            other => panic!("{other:?} of {}", row.stream),
        })
        .collect();
    assert_eq!(found, rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_refuses_only_those_that_are_wrong() {
    let journal = open_sequencer(&database().await).await;
    let now = System.now();
    let idem = |key: &str| Idempotency {
        scope: "test".into(),
        key: key.into(),
        request: Digest::of(key.as_bytes()),
        response: key.as_bytes().to_vec(),
        now,
        expires: now + Duration::from_secs(60),
    };
    let used = Append { idempotency: Some(idem("used")), ..append(vec![on("first", Head::EMPTY, &["a"])]) };
    journal.append(used).await.unwrap();
    // In every round: good ones, one stale, one repeated, all at the same time; a stale one must leave its key free.
    let mut tasks = Vec::new();
    for number in 0..40 {
        let journal = journal.clone();
        let name = format!("n{number}");
        let (base, key) = match number % 4 {
            0 => (Head { seq: 5, hash: Digest::of(b"nowhere") }, format!("stale{number}")),
            1 => (Head::EMPTY, "used".to_owned()),
            _ => (Head::EMPTY, format!("good{number}")),
        };
        let part = on(&name, base, &["a", "b"]);
        let set = Pointer::Set { key: "list".into(), item: name.clone() };
        let effect = Effect::Wake { stream: format!("room/{name}"), at: now };
        let append = Append {
            pointers: vec![(part.stream.clone(), set)],
            outbox: vec![Outgoing { stream: part.stream.clone(), effect, due: now }],
            idempotency: Some(idem(&key)),
            streams: vec![part],
        };
        tasks.push(tokio::spawn(async move { (number, key, journal.append(append).await) }));
    }
    let mut landed = BTreeSet::new();
    for task in tasks {
        let (number, key, result) = task.await.unwrap();
        let expected = ["stale", "idempotency_key_used", "ok", "ok"][number % 4];
        assert_eq!(kind(&result), expected, "{number}: {result:?}");
        let remembered = journal.recall("test", &key, now).await.unwrap();
        assert_eq!(remembered.is_some(), number % 4 != 0, "{number}");
        assert_eq!(chain(&journal, &stream(&format!("n{number}"))).await.is_empty(), expected != "ok");
        if expected == "ok" {
            landed.insert(format!("n{number}"));
        }
    }
    let found = journal.find("list", "", 100).await.unwrap();
    assert_eq!(found.into_iter().map(|(item, _)| item).collect::<BTreeSet<_>>(), landed);
    let claimed = journal.claim(now, Duration::from_secs(9), 100).await.unwrap();
    assert_eq!(claimed.into_iter().map(|row| row.stream.id().to_owned()).collect::<BTreeSet<_>>(), landed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequencer_that_lost_its_lease_writes_nothing_as_one() {
    let journal = open_sequencer(&database().await).await;
    let first = journal.append(append(vec![on("one", Head::EMPTY, &["a"])])).await.unwrap()[0];
    // Another process waits until the lease has run out and takes it.
    let later = System.now() + Duration::from_secs(3600);
    let lease = journal.lease(SEQUENCER, "other", later, Duration::from_secs(3600)).await.unwrap();
    assert!(lease.is_some_and(|lease| lease.epoch == 2));
    let second = journal.append(append(vec![on("one", first, &["b"])])).await.unwrap()[0];
    assert_eq!(second.seq, 2);
    assert!(!journal.is_sequencer());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_only_compared_cannot_move_meanwhile() {
    let url = database().await;
    let (one, two) = (open(&url, DIRECT).await, open(&url, DIRECT).await);
    let mut heads = [Head::EMPTY; 2];
    for round in 0..50 {
        // Each writes its own stream if the other's has not moved: at most one may.
        let text = format!("{round}");
        let left = append(vec![on("left", heads[0], &[&text]), on("right", heads[1], &[])]);
        let right = append(vec![on("right", heads[1], &[&text]), on("left", heads[0], &[])]);
        let (left, right) = tokio::join!(one.append(left), two.append(right));
        assert_eq!(BTreeSet::from([kind(&left), kind(&right)]), BTreeSet::from(["ok", "stale"]), "{round}");
        heads = [one.head(&stream("left")).await.unwrap(), one.head(&stream("right")).await.unwrap()];
    }
    assert_eq!(heads[0].seq + heads[1].seq, 50);
    let stats = one.stats().await.unwrap();
    assert_eq!((stats.streams, stats.entries), (2, 50));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_by_another_process_is_heeded() {
    let url = database().await;
    let (one, two) = (open_sequencer(&url).await, open(&url, DIRECT).await);
    let name = stream("secret");
    let mut at = one.append(sealed("secret", Head::EMPTY, b"first")).await.unwrap()[0];
    let shown = |entries: Vec<Entry>| {
        entries.into_iter().map(|entry| entry.payload.map(|payload| payload.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(shown(chain(&two, &name).await), [Some(b"first".to_vec())]);
    two.erase(&name).await.unwrap();
    // `one` still remembers the erased key: the append must not be sealed under it.
    at = one.append(sealed("secret", at, b"second")).await.unwrap()[0];
    one.append(append(vec![on("secret", at, &["no payload"])])).await.unwrap();
    for journal in [&one, &two] {
        assert_eq!(shown(chain(journal, &name).await), [None, Some(b"second".to_vec()), None]);
    }
    let wrong = Postgres::open(&url, ServerKey::from_bytes([8; 32]), DIRECT).await;
    assert!(matches!(wrong, Err(StoreError::WrongKey)));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiters_of_another_process_hear_of_entries_and_effects() {
    let url = database().await;
    let (one, two) = (open(&url, DIRECT).await, open(&url, DIRECT).await);
    let name = stream("watched");
    let now = System.now();
    let waiter = tokio::spawn({
        let (two, name) = (two.clone(), name.clone());
        async move { two.moved(&name, 1).await }
    });
    let grown = tokio::spawn({
        let two = two.clone();
        async move { two.grown(1).await }
    });
    let outgoing = tokio::spawn(async move { two.outgoing(0).await });
    let first = one.append(append(vec![on("watched", Head::EMPTY, &["a"])])).await.unwrap()[0];
    let effect = Effect::Wake { stream: name.to_string(), at: now };
    // A hint may be lost before the other process listens, so effects are told of until it has heard.
    let mut at = first;
    while !outgoing.is_finished() {
        let row = Outgoing { stream: name.clone(), effect: effect.clone(), due: now };
        let more = Append { outbox: vec![row], ..append(vec![on("watched", at, &["b"])]) };
        at = one.append(more).await.unwrap()[0];
        tokio::task::yield_now().await;
    }
    assert!(waiter.await.unwrap().unwrap().seq > 1);
    grown.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn leaf_numbers_follow_every_chain_and_are_fenced() {
    check_leaf_numbers(open(&database().await, DIRECT).await).await;
    check_leaf_numbers(open_sequencer(&database().await).await).await;
}

async fn check_leaf_numbers(journal: Postgres) {
    let now = System.now();
    let lease = journal.lease("log", "me", now, Duration::from_secs(10)).await.unwrap().unwrap();
    let mut heads = [Head::EMPTY; 3];
    for round in 0..20 {
        let given = [0, 1, 2].map(|place| {
            let texts = vec!["x"; 1 + (round + place) % 3];
            journal.append(append(vec![on(&format!("s{place}"), heads[place], &texts)]))
        });
        for (head, landed) in heads.iter_mut().zip(futures::future::join_all(given).await) {
            *head = landed.unwrap()[0];
        }
        // Less than what one append or one batch has, too.
        let before = journal.leaves(0, 1000).await.unwrap().len() as u64;
        let limit = 1 + round % 5;
        let numbered = journal.number(&lease, limit).await.unwrap();
        assert!(before < numbered && numbered <= before + limit as u64, "{before} {numbered} {limit}");
    }
    let total: u64 = heads.iter().map(|head| head.seq).sum();
    while journal.number(&lease, 7).await.unwrap() < total {}
    let leaves = journal.leaves(0, 1000).await.unwrap();
    assert_eq!(leaves.len() as u64, total);
    let mut next = std::collections::BTreeMap::new();
    for (place, leaf) in leaves.iter().enumerate() {
        assert_eq!(leaf.index, place as u64);
        let seq = next.entry(leaf.stream.clone()).or_insert(0);
        *seq += 1;
        assert_eq!(leaf.seq, *seq);
        assert_eq!(journal.leaf(&leaf.stream, leaf.seq).await.unwrap(), Some(leaf.index));
        assert_eq!(journal.leaves(leaf.index, 2).await.unwrap(), leaves[place..leaves.len().min(place + 2)]);
    }
    for (stream, next) in next {
        assert_eq!(journal.leaf(&stream, next + 1).await.unwrap(), None);
    }
    let other =
        journal.lease("log", "you", now + Duration::from_secs(11), Duration::from_secs(10)).await.unwrap();
    assert!(other.is_some());
    assert!(matches!(journal.number(&lease, 5).await, Err(StoreError::Fenced(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_acknowledged() {
    let mut server = pg::Postgres::private(&[]).expect("a PostgreSQL server");
    let url = server.database().await.unwrap();
    let journal = open(&url, SEQUENCED).await;
    let name = stream("kept");
    let mut acknowledged = Vec::new();
    let mut lost = 0;
    for round in 0..3 {
        let mut head = journal.head(&name).await.unwrap_or(Head::EMPTY);
        for number in 0..60 {
            if number == 30 {
                server.kill().unwrap();
                // Backends that have not noticed yet may still commit, and then it counts.
                let late = journal.append(append(vec![on("kept", head, &["late"])])).await;
                acknowledged.extend(late.into_iter().flatten());
                server.restart().unwrap();
                server.ready().await.unwrap();
            }
            match journal.append(append(vec![on("kept", head, &[&format!("{round}.{number}")])])).await {
                Ok(heads) => {
                    head = heads[0];
                    acknowledged.push(head);
                }
                Err(StoreError::Stale { actual, .. }) => head = actual,
                // A connection of the dead server says so once; what was sent on it may have landed.
                Err(StoreError::Unknown(_) | StoreError::Unavailable(_)) => lost += 1,
                Err(error) => panic!("round {round}: {error}"),
            }
        }
    }
    assert!(lost < 60 && acknowledged.len() > 90, "{lost} lost, {} acknowledged", acknowledged.len());
    let entries = chain(&journal, &name).await;
    for head in acknowledged {
        assert_eq!(entries[head.seq as usize - 1].hash, head.hash);
    }
}

/// Run by [`eight_processes_make_one_chain_a_stream`] in processes of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a child process"]
async fn child_appends() {
    let Ok(url) = std::env::var("STORE_TEST_CHILD") else { return };
    let number: usize = std::env::var("STORE_TEST_NUMBER").unwrap().parse().unwrap();
    // One in two may be the sequencer, so batches and direct appends meet.
    let journal = open(&url, Options { connections: 6, sequencer: number.is_multiple_of(2) }).await;
    let mut at = std::collections::HashMap::new();
    for round in 0..200 {
        for name in ["shared".to_owned(), format!("many{}", round % 5)] {
            loop {
                let head = at.get(&name).copied().unwrap_or(Head::EMPTY);
                let text = format!("{number}.{round}.{name}");
                match journal.append(append(vec![on(&name, head, &[&text])])).await {
                    Ok(heads) => {
                        at.insert(name.clone(), heads[0]);
                        break;
                    }
                    Err(StoreError::Stale { actual, .. }) => {
                        at.insert(name.clone(), actual);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_processes_make_one_chain_a_stream() {
    let url = database().await;
    let children: Vec<_> = (0..8)
        .map(|number| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "postgres::child_appends", "--ignored"])
                .env("STORE_TEST_CHILD", &url)
                .env("STORE_TEST_NUMBER", format!("{number}"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let journal = open(&url, DIRECT).await;
    let mut texts = BTreeSet::new();
    for name in ["shared", "many0", "many1", "many2", "many3", "many4"] {
        let entries = chain(&journal, &stream(name)).await;
        assert_eq!(entries.len(), if name == "shared" { 1600 } else { 320 });
        texts.extend(entries.into_iter().map(|entry| entry.bytes));
    }
    assert_eq!(texts.len(), 3200);
    let lease = journal.lease("log", "me", System.now(), Duration::from_secs(60)).await.unwrap().unwrap();
    assert_eq!(journal.number(&lease, usize::MAX).await.unwrap(), 3200);
}

/// The migration a database is at.
const SCHEMA: u32 = 3;

fn released(version: u32) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/released/postgres-{version:04}.sql"))
}

/// Every released schema, as the dump of a database that was written under it: it opens, it is whole, it can be
/// added to.
#[tokio::test(flavor = "multi_thread")]
async fn released_schemas_open() {
    let migrations = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    assert_eq!(std::fs::read_dir(migrations).unwrap().count(), SCHEMA as usize);
    for version in 1..=SCHEMA {
        let url = database().await;
        let dump = std::fs::read_to_string(released(version)).unwrap();
        let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
        connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(dump))).await.unwrap();
        connection.close().await.unwrap();
        let journal = open(&url, DIRECT).await;
        let name = stream("released");
        let entries = chain(&journal, &name).await;
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[2].payload.as_ref().unwrap().bytes, b"a private payload");
        assert_eq!(journal.find("released", "", 9).await.unwrap(), [("i".to_owned(), name.clone())]);
        assert_eq!(journal.claim(NOW, Duration::from_secs(1), 9).await.unwrap().len(), 1);
        assert_eq!(journal.recall("scope", "key", NOW).await.unwrap().unwrap().response, b"answer");
        assert_eq!(journal.leaf(&name, 2).await.unwrap(), Some(1));
        let at = journal.head(&name).await.unwrap();
        journal.append(sealed("released", at, b"more")).await.unwrap();
        let lease = journal.lease("log", "me", NOW, Duration::from_secs(60)).await.unwrap().unwrap();
        assert_eq!(journal.number(&lease, 9).await.unwrap(), 4);
        assert_eq!(chain(&journal, &name).await.len(), 4);
    }
}

/// Writes the dump of the present schema into `tests/released`. Run once with `--ignored` when a schema is released.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes a released dump"]
async fn write_the_released_dump() {
    let url = database().await;
    let journal = open(&url, DIRECT).await;
    let name = stream("released");
    let two = journal.append(append(vec![on("released", Head::EMPTY, &["a", "b"])])).await.unwrap()[0];
    let lease = journal.lease("log", "me", NOW, Duration::from_secs(1)).await.unwrap().unwrap();
    journal.number(&lease, 9).await.unwrap();
    journal.release(&lease).await.unwrap();
    let third = Append {
        pointers: vec![(name.clone(), Pointer::Set { key: "released".into(), item: "i".into() })],
        outbox: vec![Outgoing {
            stream: name.clone(),
            effect: Effect::Ask { ask: "a".into(), stream: name.to_string() },
            due: NOW,
        }],
        idempotency: Some(Idempotency {
            scope: "scope".into(),
            key: "key".into(),
            request: Digest::ZERO,
            response: b"answer".to_vec(),
            now: NOW,
            expires: NOW + Duration::from_secs(1),
        }),
        ..sealed("released", two, b"a private payload")
    };
    journal.append(third).await.unwrap();
    let dump = std::process::Command::new("pg_dump")
        .args(["--inserts", "--no-owner", "--no-privileges", "--no-comments", "--dbname", &url])
        .output()
        .unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let text = String::from_utf8(dump.stdout).unwrap();
    // Commands to psql, and comments that name the server, are no SQL of the schema.
    let lines = text.lines().filter(|line| !line.starts_with(['\\', '-']) && !line.is_empty());
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(released(SCHEMA), text).unwrap();
}
