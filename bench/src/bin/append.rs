//! Appends to SQLite: 64 writers on 64 streams beside a bare group-commit loop that checks nothing.
//!
//! Every commit is synced. An entry has 400 bytes and its links; one append in ten brings an outbox row. The log is
//! fed meanwhile, as in a server, and its delay from the acknowledged append to the published checkpoint is shown.
//! Ends with an error if a bar is not met.

use bench::disk::fdatasync;
use bench::percentile;
use canon::Digest;
use env::{Source, Timestamp};
use keys::{Algorithm, SoftwareSigner};
use ledger::{Effect, Entry, Head, StreamId};
use rusqlite::{Connection, params};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use store::{Append, Journal, Log, Outgoing, ServerKey, Sqlite, StreamAppend};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Entries a second, at least, and how many times faster the bare loop may be.
const BAR: f64 = 40_000.0;
const BARE: f64 = 2.0;
/// Milliseconds from append to publishable proof, 99 in 100.
const PUBLISHED: f64 = 250.0;
const WRITERS: u32 = 64;
const WARM: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: u32 = 3;
const BYTES: usize = 400;

fn main() -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome<()> {
    let folder = tempfile::tempdir_in(".")?;
    println!("fdatasync of 8 KiB, median of 500, before: {:.3} ms", fdatasync(folder.path())?);
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    let mut delays = Vec::new();
    for round in 0..ROUNDS {
        bare.push(measure_bare(&folder.path().join(format!("bare{round}.db"))).await?);
        let (measured, mut waited) = measure(&folder.path().join(format!("ours{round}.db"))).await?;
        ours.push(measured);
        delays.append(&mut waited);
    }
    println!("fdatasync after: {:.3} ms", fdatasync(folder.path())?);
    let (ours, bare) = (median(ours), median(bare));
    let delay = percentile(&mut delays, 99);
    println!("| 64 writers, full fsync | entries/s | p50 ms | p99 ms |\n|---|---:|---:|---:|");
    for (name, measured) in [("bare group-commit loop", &bare), ("append", &ours)] {
        println!("| {name} | {:.0} | {:.2} | {:.2} |", measured.rate, measured.p50, measured.p99);
    }
    println!("bare / append: {:.2}", bare.rate / ours.rate);
    println!("append to published checkpoint under this load, p99: {delay:.0} ms");
    if ours.rate < BAR {
        return Err(format!("{:.0} entries/s, the bar is {BAR:.0}", ours.rate).into());
    }
    if bare.rate / ours.rate > BARE {
        return Err(format!(
            "the bare loop is {:.2} times as fast, the bar is {BARE}",
            bare.rate / ours.rate
        )
        .into());
    }
    if delay > PUBLISHED {
        return Err(format!("published after {delay:.0} ms, the bar is {PUBLISHED:.0}").into());
    }
    Ok(())
}

/// Entries a second, and milliseconds.
struct Measured {
    rate: f64,
    p50: f64,
    p99: f64,
}

/// Latencies of one round, from all writers.
fn measured(mut latencies: Vec<Duration>) -> Measured {
    let count = u32::try_from(latencies.len()).unwrap_or(u32::MAX);
    Measured {
        rate: f64::from(count) / ROUND.as_secs_f64(),
        p50: percentile(&mut latencies, 50),
        p99: percentile(&mut latencies, 99),
    }
}

fn median(mut rounds: Vec<Measured>) -> Measured {
    rounds.sort_by(|one, two| one.rate.total_cmp(&two.rate));
    rounds.swap_remove(rounds.len() / 2)
}

/// Runs every writer until the round is over and gathers the latencies of what was sent after the warm-up.
async fn load<F, R>(writer: impl Fn(u32) -> F) -> Outcome<Vec<Duration>>
where
    F: FnMut(u64) -> R + Send + 'static,
    R: Future<Output = Outcome<()>> + Send,
{
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        let mut write = writer(number);
        writers.spawn(async move {
            let mut latencies = Vec::new();
            let mut n = 0;
            while start.elapsed() < WARM + ROUND {
                let sent = Instant::now();
                write(n).await?;
                if sent - start >= WARM {
                    latencies.push(sent.elapsed());
                }
                n += 1;
            }
            Outcome::Ok(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = writers.join_next().await {
        all.append(&mut done??);
    }
    Ok(all)
}

async fn measure(path: &Path) -> Outcome<(Measured, Vec<Duration>)> {
    let journal = Sqlite::open(path, ServerKey::from_bytes([7; 32]))?;
    let shared: Arc<dyn Journal> = Arc::new(journal.clone());
    let signer = Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[3; 32])?);
    let log = Log::new(shared.clone(), Arc::new(env::System), signer, "log.example".parse()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let feeder = tokio::spawn(async move { log.run(async { drop(stopped.await) }).await });
    let over = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch(shared, over.clone()));
    let latencies = load(|number| {
        let journal = journal.clone();
        let stream = StreamId::new("room", &format!("bench-{number}"));
        let mut at = Head::EMPTY;
        move |n| {
            let append = stream.clone().map(|stream| next(stream, &mut at, n));
            let journal = journal.clone();
            async move { Ok(journal.append(append?).await.map(drop)?) }
        }
    })
    .await?;
    over.store(true, Ordering::Release);
    let delays = watcher.await??;
    drop(stop);
    feeder.await?;
    Ok((measured(latencies), delays))
}

/// How long the entries there are at some instant take until a checkpoint covers them.
async fn watch(journal: Arc<dyn Journal>, over: Arc<AtomicBool>) -> Outcome<Vec<Duration>> {
    let mut delays = Vec::new();
    while !over.load(Ordering::Acquire) {
        let entries = journal.stats().await?.entries;
        let since = Instant::now();
        while journal.published("log").await?.is_none_or(|published| published.size < entries) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        delays.push(since.elapsed());
        tokio::time::sleep(Duration::from_millis(17)).await;
    }
    Ok(delays)
}

fn next(stream: StreamId, at: &mut Head, n: u64) -> Append {
    let entry = entry(at, n);
    let expected = std::mem::replace(at, Head { seq: entry.seq, hash: entry.hash });
    let outbox = if n.is_multiple_of(10) {
        let due = env::System.now();
        let effect = Effect::Wake { stream: stream.to_string(), at: due };
        vec![Outgoing { stream: stream.clone(), effect, due }]
    } else {
        Vec::new()
    };
    Append {
        streams: vec![StreamAppend { stream, expected, entries: vec![entry] }],
        outbox,
        ..Append::default()
    }
}

fn entry(at: &Head, n: u64) -> Entry {
    let mut bytes = n.to_be_bytes().to_vec();
    bytes.resize(BYTES, b'x');
    let hash = Digest::of_parts(&[at.hash.as_bytes(), &bytes]);
    Entry { seq: at.seq + 1, prev: at.hash, hash, bytes, payload: None }
}

/// The floor: the same rows and settings, one thread, whatever waits is one transaction; nothing is checked, and nobody
/// could find an entry again.
async fn measure_bare(path: &Path) -> Outcome<Measured> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536;
         CREATE TABLE entry (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, seq INTEGER NOT NULL, prev BLOB NOT NULL,
             hash BLOB NOT NULL, bytes BLOB NOT NULL);
         CREATE TABLE outbox (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, effect BLOB NOT NULL, due INTEGER NOT NULL);
         CREATE INDEX outbox_due ON outbox (due, id);",
    )?;
    let (jobs, waiting) = mpsc::channel::<(u32, Entry, oneshot::Sender<()>)>();
    let thread = std::thread::spawn(move || bare_loop(&connection, &waiting));
    let latencies = load(|number| {
        let jobs = jobs.clone();
        let mut at = Head::EMPTY;
        move |n| {
            let entry = entry(&at, n);
            at = Head { seq: entry.seq, hash: entry.hash };
            let (reply, answer) = oneshot::channel();
            let sent = jobs.send((number, entry, reply));
            async move {
                sent.map_err(|_| "the loop ended")?;
                Ok(answer.await?)
            }
        }
    })
    .await?;
    drop(jobs);
    thread.join().map_err(|_| "the loop failed")??;
    Ok(measured(latencies))
}

fn bare_loop(
    connection: &Connection,
    waiting: &mpsc::Receiver<(u32, Entry, oneshot::Sender<()>)>,
) -> Outcome<()> {
    let row = "(?,?,?,?,?)";
    let one = format!("INSERT INTO entry (stream, seq, prev, hash, bytes) VALUES {row}");
    let many = format!("INSERT INTO entry (stream, seq, prev, hash, bytes) VALUES {}", [row; 8].join(","));
    while let Ok(first) = waiting.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).take(1024).collect();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for chunk in batch.chunks(8) {
            let (sql, size) = if chunk.len() == 8 { (&many, 8) } else { (&one, 1) };
            let mut statement = connection.prepare_cached(sql)?;
            for rows in chunk.chunks(size) {
                let mut at = 0;
                for (stream, entry, _) in rows {
                    statement.raw_bind_parameter(at + 1, stream)?;
                    statement.raw_bind_parameter(at + 2, i64::try_from(entry.seq)?)?;
                    statement.raw_bind_parameter(at + 3, entry.prev.as_bytes().as_slice())?;
                    statement.raw_bind_parameter(at + 4, entry.hash.as_bytes().as_slice())?;
                    statement.raw_bind_parameter(at + 5, entry.bytes.as_slice())?;
                    at += 5;
                }
                statement.raw_execute()?;
            }
        }
        for (stream, entry, _) in batch.iter().filter(|(_, entry, _)| entry.seq.is_multiple_of(10)) {
            connection
                .prepare_cached("INSERT INTO outbox (stream, effect, due) VALUES (?1, ?2, ?3)")?
                .execute(params![stream, entry.bytes.get(..100), Timestamp::EPOCH.as_micros()])?;
        }
        connection.execute_batch("COMMIT")?;
        for (_, _, reply) in batch {
            let _ = reply.send(());
        }
    }
    Ok(())
}
