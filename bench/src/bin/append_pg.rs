//! Appends to PostgreSQL: one round trip each beside bare inserts, then through the leased sequencer.
//!
//! One process writes, the server runs beside it on the same machine with every commit synced. An entry has 400
//! bytes and its links; one append in ten brings an outbox row. The log's numbering runs meanwhile, as in a server.
//! Ends with an error if a bar is not met.

use bench::Outcome;
use bench::disk::fdatasync;
use canon::Digest;
use env::Source;
use ledger::{Effect, Entry, Head, StreamId};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::postgres::{Options, Postgres};
use store::{Append, Journal, Outgoing, ServerKey, StreamAppend};
use testkit::pg;

/// Entries a second, at least: one round trip an append, then the sequencer with 16 and with 64 streams.
const BARS: [f64; 3] = [8_000.0, 20_000.0, 35_000.0];
/// How many times faster bare inserts may be than appends.
const BARE: f64 = 1.7;
/// Two thirds are for appends: one for each of the 16 writers.
const CONNECTIONS: u32 = 24;
const WARM: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
const BYTES: usize = 400;
const SETTINGS: [&str; 3] = ["shared_buffers = 512MB", "max_wal_size = 4GB", "checkpoint_timeout = 30min"];

fn main() -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome<()> {
    let server = pg::Postgres::private(&SETTINGS)?;
    let url = server.database().await?;
    println!("fdatasync of 8 KiB, median of 500, before: {:.3} ms", fdatasync(&std::env::temp_dir())?);

    let direct = open(&url, CONNECTIONS, false).await?;
    let mut bare = Vec::new();
    let mut single = Vec::new();
    for round in 0..ROUNDS {
        bare.push(measure_bare(&url, 16, round).await?);
        single.push(measure(&direct, 16, &format!("direct{round}")).await?);
    }
    direct.close().await;

    let sequencer = open(&url, CONNECTIONS, true).await?;
    while !sequencer.is_sequencer() {
        tokio::task::yield_now().await;
    }
    let mut batched = Vec::new();
    for streams in [16, 64, 256] {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            rounds.push(measure(&sequencer, streams, &format!("batch{streams}.{round}")).await?);
        }
        batched.push((streams, median(rounds)));
    }
    sequencer.close().await;
    println!("fdatasync of 8 KiB, median of 500, after: {:.3} ms\n", fdatasync(&std::env::temp_dir())?);

    let (bare, single) = (median(bare), median(single));
    println!("| PostgreSQL | entries/s | p50 ms | p99 ms |\n|---|---:|---:|---:|");
    bare.print("bare single-row inserts, 16 connections");
    single.print("append in one round trip, 16 streams");
    for (streams, rate) in &batched {
        rate.print(&format!("leased sequencer, {streams} streams"));
    }
    println!("\nbare inserts are {:.2} times as fast as appends", bare.rate / single.rate);
    let rates = std::iter::once(single.rate).chain(batched.iter().map(|(_, rate)| rate.rate));
    if rates.zip(BARS).all(|(rate, bar)| rate >= bar) && bare.rate <= single.rate * BARE {
        Ok(())
    } else {
        Err(format!("the bars are {BARS:?} entries/s and {BARE} times").into())
    }
}

/// What one round showed.
struct Rate {
    rate: f64,
    p50: Duration,
    p99: Duration,
}

impl Rate {
    fn new(mut times: Vec<Duration>, took: Duration) -> Self {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len().saturating_mul(part) / 100).copied().unwrap_or_default();
        let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
        Self { rate: count / took.as_secs_f64(), p50: at(50), p99: at(99) }
    }

    fn print(&self, name: &str) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("| {name} | {:.0} | {:.2} | {:.2} |", self.rate, ms(self.p50), ms(self.p99));
    }
}

fn median(mut rounds: Vec<Rate>) -> Rate {
    rounds.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    rounds.swap_remove(rounds.len() / 2)
}

async fn open(url: &str, connections: u32, sequencer: bool) -> Outcome<Arc<Postgres>> {
    Ok(Arc::new(
        Postgres::open(url, ServerKey::from_bytes([1; 32]), Options { connections, sequencer }).await?,
    ))
}

/// `streams` writers, each on a stream of its own, one append at a time.
async fn measure(journal: &Arc<Postgres>, streams: usize, name: &str) -> Outcome<Rate> {
    let numbering = tokio::spawn(number(Arc::clone(journal)));
    let begin = Instant::now() + WARM;
    let end = begin + ROUND;
    let mut writers = Vec::new();
    for place in 0..streams {
        let journal = Arc::clone(journal);
        let stream: StreamId = format!("room/{name}.{place}").parse()?;
        writers.push(tokio::spawn(async move { write(&journal, &stream, begin, end).await }));
    }
    let mut times = Vec::new();
    for writer in writers {
        times.extend(writer.await??);
    }
    numbering.abort();
    Ok(Rate::new(times, ROUND))
}

async fn write(
    journal: &Postgres,
    stream: &StreamId,
    begin: Instant,
    end: Instant,
) -> Outcome<Vec<Duration>> {
    let mut head = Head::EMPTY;
    let mut times = Vec::new();
    loop {
        let append = append_of(stream, head);
        let sent = Instant::now();
        head = journal.append(append).await?.first().copied().ok_or("no head")?;
        let done = Instant::now();
        if done >= end {
            return Ok(times);
        }
        if sent >= begin {
            times.push(done - sent);
        }
    }
}

fn append_of(stream: &StreamId, head: Head) -> Append {
    let bytes = vec![b'x'; BYTES];
    let hash = Digest::of_parts(&[head.hash.as_bytes(), &bytes]);
    let entry = Entry { seq: head.seq + 1, prev: head.hash, hash, bytes, payload: None };
    let now = env::System.now();
    let effect = Effect::Wake { stream: stream.to_string(), at: now };
    let outbox = entry.seq.is_multiple_of(10).then(|| Outgoing { stream: stream.clone(), effect, due: now });
    Append {
        streams: vec![StreamAppend { stream: stream.clone(), expected: head, entries: vec![entry] }],
        outbox: outbox.into_iter().collect(),
        ..Append::default()
    }
}

/// Numbers entries as the server's log does: woken by growth, at most ten times a second.
async fn number(journal: Arc<Postgres>) -> Outcome<()> {
    let mut turn = tokio::time::interval(Duration::from_millis(100));
    let mut total = 0;
    loop {
        turn.tick().await;
        journal.grown(total).await?;
        let lease = journal.lease("log", "bench", env::System.now(), env::Duration::from_secs(10)).await?;
        total = journal.number(&lease.ok_or("another holds the lease")?, 100_000).await?;
    }
}

/// The same rows without anything around them: one insert, one commit, each writer on a connection of its own.
async fn measure_bare(url: &str, connections: usize, round: usize) -> Outcome<Rate> {
    let mut setup = PgConnection::connect(url).await?;
    setup
        .execute(
            "DROP TABLE IF EXISTS bare;
             CREATE TABLE bare (stream text COLLATE \"C\" NOT NULL, seq bigint NOT NULL, prev bytea NOT NULL,
                 hash bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (stream, seq))",
        )
        .await?;
    let begin = Instant::now() + WARM;
    let end = begin + ROUND;
    let mut writers = Vec::new();
    for place in 0..connections {
        let (mut connection, stream) =
            (PgConnection::connect(url).await?, format!("room/bare{round}.{place}"));
        writers.push(tokio::spawn(async move { insert(&mut connection, &stream, begin, end).await }));
    }
    let mut times = Vec::new();
    for writer in writers {
        times.extend(writer.await??);
    }
    Ok(Rate::new(times, ROUND))
}

async fn insert(
    connection: &mut PgConnection,
    stream: &str,
    begin: Instant,
    end: Instant,
) -> Outcome<Vec<Duration>> {
    let mut times = Vec::new();
    let mut prev = Digest::ZERO;
    for seq in 1_i64.. {
        let bytes = vec![b'x'; BYTES];
        let hash = Digest::of_parts(&[prev.as_bytes(), &bytes]);
        let sent = Instant::now();
        sqlx::query("INSERT INTO bare (stream, seq, prev, hash, bytes) VALUES ($1, $2, $3, $4, $5)")
            .bind(stream)
            .bind(seq)
            .bind(prev.as_bytes().as_slice())
            .bind(hash.as_bytes().as_slice())
            .bind(bytes)
            .execute(&mut *connection)
            .await?;
        let done = Instant::now();
        prev = hash;
        if done >= end {
            break;
        }
        if sent >= begin {
            times.push(done - sent);
        }
    }
    Ok(times)
}
