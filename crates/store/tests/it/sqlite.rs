//! What only SQLite has to show: settings, several processes on one file, sealing at rest, backups, released files.

use ledger::note::{KeyType, Pins, VerifierKey};
use ledger::{Head, Payload};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use store::{Append, Journal, Manifest, ServerKey, Sqlite, StoreError, fsck, restore};
use testkit::contract::{NOW, append, stream};
use testkit::tally::link;

const KEY: [u8; 32] = [7; 32];

fn open(path: &Path) -> Sqlite {
    Sqlite::open(path, ServerKey::from_bytes(KEY)).unwrap()
}

/// Appends these texts one by one, each on the newest head.
async fn append_all(journal: &Sqlite, name: &str, texts: &[&str]) -> Head {
    let mut at = journal.head(&stream(name)).await.unwrap();
    for text in texts {
        at = journal.append(append(name, at, &[text])).await.unwrap()[0];
    }
    at
}

fn private(name: &str, at: Head, text: &str) -> Append {
    let mut append = append(name, at, &["public"]);
    append.streams[0].entries[0].payload = Some(Payload::new(text.into()));
    append
}

async fn problems(journal: &dyn Journal) -> Vec<&'static str> {
    let rule = |_: &ledger::StreamId, entry: &ledger::Entry, at: Head| {
        if entry.hash == link(at.hash, &entry.bytes) { Ok(()) } else { Err("rule") }
    };
    let signer = keys::SoftwareSigner::from_seed(keys::Algorithm::Ed25519, &[3; 32]).unwrap();
    let keys::PublicKey::Ed25519(public) = keys::Signer::public(&signer) else { unreachable!() };
    let key = VerifierKey::new("log.example".parse().unwrap(), KeyType::Log, public);
    let log = Pins::new(vec![key], vec![], 0).unwrap();
    let mut codes: Vec<_> =
        fsck(journal, Some(&log), rule).await.unwrap().problems.iter().map(|it| it.code).collect();
    codes.dedup();
    codes
}

/// Everything a folder's files hold, write-ahead log included.
fn on_disk(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.is_file()).flat_map(|path| std::fs::read(path).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_append_is_in_the_file_whatever_becomes_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = open(&path);
    let head = append_all(&journal, "durable", &["a", "b"]).await;
    // A copy of the files as they are now is what a crash would leave.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let after = open(&crashed.path().join("journal.db"));
    assert_eq!(after.head(&stream("durable")).await.unwrap(), head);
    assert!(problems(&after).await.is_empty());
}

#[test]
fn another_key_and_a_newer_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    drop(open(&path));
    let other = Sqlite::open(&path, ServerKey::from_bytes([8; 32])).unwrap_err();
    assert!(matches!(other, StoreError::WrongKey), "{other}");
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 999").unwrap();
    let newer = Sqlite::open(&path, ServerKey::from_bytes(KEY)).unwrap_err();
    assert!(matches!(newer, StoreError::Unavailable(_)), "{newer}");
    std::fs::write(&path, b"not a database, but long enough to be looked at by whoever opens it").unwrap();
    assert!(Sqlite::open(&path, ServerKey::from_bytes(KEY)).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_private_is_in_the_files_and_nothing_erased_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = open(&path);
    let mut kept = private("sealed", Head::EMPTY, "a private payload");
    kept.outbox.push(store::Outgoing {
        stream: stream("sealed"),
        effect: ledger::Effect::Deliver { to: "peer".into(), body: "a private delivery".into() },
        due: NOW,
    });
    kept.idempotency = Some(store::Idempotency {
        scope: "s".into(),
        key: "k".into(),
        request: canon::Digest::ZERO,
        response: b"a private answer".to_vec(),
        now: NOW,
        expires: NOW + env::Duration::from_secs(1),
    });
    journal.append(kept).await.unwrap();
    let wrapped = |path: &Path| -> Option<Vec<u8>> {
        Connection::open(path).unwrap().query_row("SELECT key FROM stream", [], |row| row.get(0)).unwrap()
    };
    let key = wrapped(&path).unwrap();
    let disk = on_disk(folder.path());
    for secret in ["a private payload", "a private delivery", "a private answer"] {
        assert!(!holds(&disk, secret), "{secret}");
    }
    assert!(holds(&disk, "public"));
    assert!(disk.windows(key.len()).any(|window| window == key));
    journal.erase(&stream("sealed")).await.unwrap();
    assert_eq!(wrapped(&path), None);
    drop(journal);
    let disk = on_disk(folder.path());
    assert!(!disk.windows(key.len()).any(|window| window == key), "the erased key is still in a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn fsck_names_what_was_changed_behind_its_back() {
    let check = async |change: &str, expected: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        let at = append_all(&journal, "checked", &["a", "b", "c"]).await;
        let mut last = private("checked", at, "secret");
        last.pointers.push((stream("checked"), ledger::Pointer::Set { key: "k".into(), item: "i".into() }));
        journal.append(last).await.unwrap();
        testkit_log(&journal).integrate().await.unwrap().unwrap();
        assert!(problems(&journal).await.is_empty());
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        assert_eq!(problems(&journal).await, expected, "{change}");
    };
    check("UPDATE entry SET bytes = x'00' WHERE seq = 2", &["rule"]).await;
    check("UPDATE entry SET hash = zeroblob(32) WHERE seq = 2", &["root", "tile", "rule", "link", "rule"])
        .await;
    check("UPDATE entry SET seq = 9 WHERE seq = 4", &["leaf", "root", "tile", "payload"]).await;
    check("UPDATE entry SET prev = zeroblob(32) WHERE seq = 3", &["link"]).await;
    check("UPDATE entry SET digest = zeroblob(32) WHERE seq = 4", &["payload"]).await;
    check("UPDATE entry SET sealed = zeroblob(100) WHERE seq = 4", &["payload"]).await;
    check("UPDATE entry SET sealed = NULL WHERE seq = 4", &["payload"]).await;
    check("UPDATE place SET seq = 5 WHERE seq = 4", &["number"]).await;
    check("UPDATE tile SET hashes = zeroblob(128)", &["tile"]).await;
    check("DELETE FROM published", &["checkpoint"]).await;
    check("UPDATE published SET note = replace(note, 'log.example', 'log.other')", &["checkpoint"]).await;
    check("UPDATE published SET note = 'x'", &["checkpoint"]).await;
    check("UPDATE published SET root = zeroblob(32)", &["checkpoint", "root"]).await;
    check("INSERT INTO stream VALUES (9, 'tally/none', NULL); UPDATE pointer SET stream = 9", &["pointer"])
        .await;
    check("DELETE FROM entry WHERE seq = 4", &["root"]).await;
}

fn testkit_log(journal: &Sqlite) -> store::Log {
    let signer = keys::SoftwareSigner::from_seed(keys::Algorithm::Ed25519, &[3; 32]).unwrap();
    let origin = "log.example".parse().unwrap();
    store::Log::new(Arc::new(journal.clone()), Arc::new(env::System), Arc::new(signer), origin)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_comes_back_and_never_takes_back_what_was_published() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let key = ServerKey::from_bytes(KEY);
    let journal = open(&at("live.db"));
    let one = append_all(&journal, "kept", &["a", "b"]).await;
    journal.append(private("kept", one, "secret")).await.unwrap();
    let log = testkit_log(&journal);
    let published = log.integrate().await.unwrap().unwrap();
    let manifest = journal.backup(&at("backup"), NOW).await.unwrap();
    assert_eq!(manifest, Manifest::read(&at("backup")).unwrap());
    assert_eq!((manifest.entries, manifest.checkpoint.as_ref()), (3, Some(&published.note)));
    assert!(journal.backup(&at("backup"), NOW).await.is_err(), "the folder is not empty");

    restore(&at("backup"), &at("elsewhere.db"), &key, None).unwrap();
    let restored = open(&at("elsewhere.db"));
    assert_eq!(
        restored.read(&stream("kept"), 0, 9).await.unwrap(),
        journal.read(&stream("kept"), 0, 9).await.unwrap()
    );
    assert!(problems(&restored).await.is_empty());

    // The same state is no step back; a longer log is.
    let busy = restore(&at("backup"), &at("live.db"), &key, None).unwrap_err();
    assert!(matches!(busy, StoreError::Unavailable(_)), "{busy}");
    append_all(&journal, "kept", &["d"]).await;
    let longer = log.integrate().await.unwrap().unwrap();
    closed(&at("live.db"), (journal, log));
    let back = restore(&at("backup"), &at("live.db"), &key, None).unwrap_err();
    assert!(matches!(back, StoreError::RollBack { published: 4, backup: 3 }), "{back}");
    let seen = restore(&at("backup"), &at("new.db"), &key, Some((longer.size, longer.root))).unwrap_err();
    assert!(matches!(seen, StoreError::RollBack { published: 4, backup: 3 }), "{seen}");
    let fork = restore(&at("backup"), &at("new.db"), &key, Some((2, canon::Digest::ZERO))).unwrap_err();
    assert!(matches!(fork, StoreError::Corrupt(_)), "{fork}");
    assert!(!at("new.db").exists());
    let other = restore(&at("backup"), &at("new.db"), &ServerKey::from_bytes([1; 32]), None).unwrap_err();
    assert!(matches!(other, StoreError::WrongKey));

    let live = open(&at("live.db"));
    assert_eq!(live.head(&stream("kept")).await.unwrap().seq, 4, "refused with nothing changed");
    let newer = live.backup(&at("newer"), NOW).await.unwrap();
    assert_eq!(newer.entries, 4);
    closed(&at("live.db"), live);
    restore(&at("newer"), &at("live.db"), &key, None).unwrap();
    let mut bytes = std::fs::read(at("newer").join("journal.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(at("newer").join("journal.db"), bytes).unwrap();
    assert!(matches!(restore(&at("newer"), &at("live.db"), &key, None), Err(StoreError::Corrupt(_))));
}

/// Drops a journal and waits until its threads have let go of the file: only then it leaves WAL mode.
fn closed<T>(path: &Path, journal: T) {
    drop(journal);
    let file = Connection::open(path).unwrap();
    while !file
        .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))
        .is_ok_and(|mode| mode == "delete")
    {
        std::thread::yield_now();
    }
}

/// Two journals on one file, as two processes would have them: one wakes the other's waiters.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_hears_of_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (one, two) = (open(&path), open(&path));
    let mut at = Head::EMPTY;
    for seq in 0..20 {
        let waits = tokio::spawn({
            let two = two.clone();
            async move { two.moved(&stream("shared"), seq).await }
        });
        let grows = tokio::spawn({
            let two = two.clone();
            async move { two.grown(seq).await }
        });
        at = one.append(append("shared", at, &["x"])).await.unwrap()[0];
        assert_eq!(waits.await.unwrap().unwrap(), at);
        grows.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_waiters_are_woken_each_by_its_own_stream() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(&folder.path().join("journal.db"));
    let mut waits = tokio::task::JoinSet::new();
    for n in 0..10_000_u64 {
        let journal = journal.clone();
        waits.spawn(async move { (n, journal.moved(&stream(&n.to_string()), 0).await.unwrap().seq) });
    }
    let mut woken = 0;
    for n in (0..10_000_u64).step_by(100) {
        journal.append(append(&n.to_string(), Head::EMPTY, &["x"])).await.unwrap();
        assert_eq!(waits.join_next().await.unwrap().unwrap(), (n, 1));
        woken += 1;
    }
    assert_eq!(waits.len(), 10_000 - woken);
    assert!(waits.try_join_next().is_none(), "nobody else was woken");
}

const WRITERS: usize = 8;
const APPENDS: usize = 200;

/// Run by [`eight_processes_make_one_chain`] alone: appends to a shared stream and to its own.
#[tokio::test]
async fn writes_as_a_child() {
    let (Ok(path), Ok(me)) = (std::env::var("STORE_TEST_FILE"), std::env::var("STORE_TEST_WRITER")) else {
        assert!(std::env::var("STORE_TEST_FILE").is_err());
        return;
    };
    let journal = open(Path::new(&path));
    let (mut shared, mut own) = (Head::EMPTY, Head::EMPTY);
    for n in 0..APPENDS {
        own = journal.append(append(&format!("own-{me}"), own, &[&format!("{me} {n}")])).await.unwrap()[0];
        loop {
            match journal.append(append("one", shared, &[&format!("{me} {n}")])).await {
                Ok(heads) => break shared = heads[0],
                Err(StoreError::Stale { actual, .. }) => shared = actual,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_processes_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let children: Vec<_> = (0..WRITERS)
        .map(|me| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "sqlite::writes_as_a_child"])
                .env("STORE_TEST_FILE", &path)
                .env("STORE_TEST_WRITER", me.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let journal = open(&path);
    let shared = journal.read(&stream("one"), 0, usize::MAX).await.unwrap();
    assert_eq!(shared.len(), WRITERS * APPENDS);
    let mut next = BTreeMap::new();
    for entry in &shared {
        let text = String::from_utf8(entry.bytes.clone()).unwrap();
        let (me, n) = text.split_once(' ').unwrap();
        let expected = next.entry(me.to_owned()).or_insert(0_usize);
        assert_eq!(n, expected.to_string(), "each acknowledged append is there once, in order");
        *expected += 1;
    }
    for me in 0..WRITERS {
        assert_eq!(journal.head(&stream(&format!("own-{me}"))).await.unwrap().seq, APPENDS as u64);
    }
    assert_eq!(
        testkit_log(&journal).integrate().await.unwrap().unwrap().size,
        (2 * WRITERS * APPENDS) as u64
    );
    assert!(problems(&journal).await.is_empty());
}

/// Entries that came together wait for their places; whoever reads finds them all the same, and so does another process.
#[tokio::test(flavor = "multi_thread")]
async fn entries_are_found_before_they_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = open(&path);
    let raw = Connection::open(&path).unwrap();
    let unplaced = || -> i64 {
        raw.query_row("SELECT (SELECT count(*) FROM entry) - (SELECT count(*) FROM place)", [], |row| {
            row.get(0)
        })
        .unwrap()
    };
    append_all(&journal, "a", &["1", "2"]).await;
    assert_eq!(unplaced(), 0, "few get theirs at once");

    let many: Vec<String> = (3..=12).map(|n| n.to_string()).collect();
    let texts: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut append = append("a", journal.head(&stream("a")).await.unwrap(), &texts);
    append.streams[0].entries[9].payload = Some(Payload::new(b"private".to_vec()));
    journal.append(append).await.unwrap();
    assert_eq!(unplaced(), 10);

    for journal in [journal.clone(), open(&path)] {
        let head = journal.head(&stream("a")).await.unwrap();
        assert_eq!(head.seq, 12);
        for (after, limit, expected) in [(0, 99, 1..=12), (1, 3, 2..=4), (5, 2, 6..=7), (11, 9, 12..=12)] {
            let read = journal.read(&stream("a"), after, limit).await.unwrap();
            let found: Vec<u64> = read.iter().map(|entry| entry.seq).collect();
            assert_eq!(found, expected.collect::<Vec<_>>(), "after {after}, at most {limit}");
        }
        for seq in 1..=12 {
            assert_eq!(journal.leaf(&stream("a"), seq).await.unwrap(), Some(seq - 1));
        }
        assert_eq!(journal.leaf(&stream("a"), 13).await.unwrap(), None);
        assert!(problems(&journal).await.is_empty());
    }

    // A second process goes on from an entry that has no place, and a stale head is refused there as well.
    let other = open(&path);
    let stale = other.append(self::append("a", Head::EMPTY, &["x"])).await;
    assert!(matches!(stale, Err(StoreError::Stale { actual, .. }) if actual.seq == 12), "{stale:?}");
    assert_eq!(unplaced(), 10);
    assert_eq!(append_all(&other, "a", &["13"]).await.seq, 13);
    assert_eq!(unplaced(), 0);

    let many = vec!["x"; 600];
    append_all(&journal, "b", &["0"]).await;
    journal.append(self::append("b", journal.head(&stream("b")).await.unwrap(), &many)).await.unwrap();
    assert_eq!(unplaced(), 0, "so many do not wait");

    journal.append(self::append("c", Head::EMPTY, &texts)).await.unwrap();
    assert_eq!(unplaced(), 10);
    journal.erase(&stream("a")).await.unwrap();
    let erased = journal.read(&stream("a"), 11, 9).await.unwrap();
    assert!(erased.iter().all(|entry| entry.payload.is_none()));
    assert!(problems(&journal).await.is_empty());
}

/// Payloads of entries without a place are erased as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_place_is_erased_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = open(&path);
    let mut append = append("a", Head::EMPTY, &["x"; 10]);
    append.streams[0].entries[9].payload = Some(Payload::new(b"private".to_vec()));
    journal.append(append).await.unwrap();
    assert!(journal.read(&stream("a"), 9, 1).await.unwrap()[0].payload.is_some());
    journal.erase(&stream("a")).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    let sealed: i64 =
        raw.query_row("SELECT count(*) FROM entry WHERE sealed IS NOT NULL", [], |row| row.get(0)).unwrap();
    assert_eq!(sealed, 0);
}

/// Every released schema, as a database file that was written under it: it opens, it is whole, it can be added to.
#[tokio::test(flavor = "multi_thread")]
async fn released_schemas_open() {
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
    let versions =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite")).unwrap().count();
    for version in 1..=versions {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let file = released.join(format!("sqlite-{version:04}.db"));
        std::fs::copy(&file, &path).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let journal = open(&path);
        let entries = journal.read(&stream("released"), 0, 9).await.unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[2].payload.as_ref().unwrap().bytes, b"a private payload");
        assert_eq!(journal.find("released", "", 9).await.unwrap().len(), 1);
        assert_eq!(journal.claim(NOW, env::Duration::from_secs(1), 9).await.unwrap().len(), 1);
        assert_eq!(journal.recall("scope", "key", NOW).await.unwrap().unwrap().response, b"answer");
        assert_eq!(journal.published("log").await.unwrap().unwrap().size, 3);
        append_all(&journal, "released", &["more"]).await;
        assert_eq!(testkit_log(&journal).integrate().await.unwrap().unwrap().size, 4);
        assert!(problems(&journal).await.is_empty());
    }
}

/// Writes the file of the present schema into `tests/released`. Run once with `--ignored` when a schema is released.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes a released file"]
async fn write_the_released_file() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(&folder.path().join("journal.db"));
    let two = append_all(&journal, "released", &["a", "b"]).await;
    let mut third = private("released", two, "a private payload");
    third
        .pointers
        .push((stream("released"), ledger::Pointer::Set { key: "released".into(), item: "i".into() }));
    third.outbox.push(store::Outgoing {
        stream: stream("released"),
        effect: ledger::Effect::Ask { ask: "a".into(), stream: "tally/released".into() },
        due: NOW,
    });
    third.idempotency = Some(store::Idempotency {
        scope: "scope".into(),
        key: "key".into(),
        request: canon::Digest::ZERO,
        response: b"answer".to_vec(),
        now: NOW,
        expires: NOW + env::Duration::from_secs(1),
    });
    journal.append(third).await.unwrap();
    testkit_log(&journal).integrate().await.unwrap().unwrap();
    let manifest = journal.backup(&folder.path().join("backup"), NOW).await.unwrap();
    let file = format!("tests/released/sqlite-{:04}.db", manifest.schema);
    std::fs::copy(folder.path().join("backup/journal.db"), Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .unwrap();
}
