//! 10,000 agents that wait for their turn, each in a room of its own: what they cost the server in memory, and how fast
//! 200 of them are woken one after the other. Load and server are two processes on the same machine.
//! Ends with an error if a bar is not met.

use bench::house::{Connection, House, Seat, join, open, serve_if_asked};
use bench::{Outcome, disk, percentile};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WAITERS: u32 = 10_000;
/// Those that are woken: the last ones seated. The others' rooms wait for their second agent.
const WOKEN: u32 = 200;
/// Rooms are made by this many connections.
const MAKERS: u32 = 16;
/// Longer than a wait lasts, so each waiter comes back once at least.
const IDLE: Duration = Duration::from_secs(40);
/// MB of resident memory.
const MEMORY: f64 = 200.0;

fn main() -> Outcome {
    if serve_if_asked()? {
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome {
    let house = Arc::new(House::start()?);
    let sync = disk::fdatasync(house.folder())?;
    let (empty, _) = house.memory()?;
    let pairs = seat_all(&house).await?;
    let (seated, _) = house.memory()?;

    let shared = Arc::new(Shared::default());
    let mut waiters = JoinSet::new();
    let mut movers = Vec::new();
    for Pair { waits, moves } in pairs {
        let connection = house.connect().await?;
        movers.extend(moves);
        waiters.spawn(wait(connection, waits, Arc::clone(&shared)));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut idle: f64 = 0.0;
    let until = Instant::now() + IDLE;
    while Instant::now() < until {
        idle = idle.max(house.memory()?.0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let came_back = shared.timed_out.load(Ordering::Relaxed);

    let mut sent = std::collections::HashMap::new();
    for seat in movers {
        let mut connection = house.connect().await?;
        sent.insert(seat.room.clone(), Instant::now());
        let envelope = json!({ "envelope": { "message": "The hall is free.", "status": "continue" } });
        let path = format!("/api/rooms/{}/envelopes", seat.room);
        connection.call("POST", &path, &seat.secret, &envelope).await?;
    }
    let mut woken = Vec::new();
    while woken.len() < sent.len() {
        let (room, at) = waiters.join_next().await.ok_or("no waiter left")???;
        woken.push(at - *sent.get(&room).ok_or("woken without an envelope")?);
    }
    shared.over.store(true, Ordering::Relaxed);
    waiters.shutdown().await;

    let (_, most) = house.memory()?;
    println!(
        "fdatasync of 8 KiB, median of 500: {sync:.3} ms; {came_back} waits timed out and were made again\n"
    );
    println!("| server | resident MB |\n|---|---:|");
    println!("| started | {empty:.0} |\n| with {WAITERS} rooms | {seated:.0} |");
    println!(
        "| with {WAITERS} idle waiters, the most in {} s | {idle:.0} |\n| at any time | {most:.0} |",
        IDLE.as_secs()
    );
    let [p50, p99] = [50, 99].map(|part| percentile(&mut woken, part));
    println!("\nwoken among them, envelope sent to wait answered: p50 {p50:.2} ms, p99 {p99:.2} ms");
    if idle < MEMORY { Ok(()) } else { Err(format!("the bar is {MEMORY} MB").into()) }
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    timed_out: AtomicU32,
}

struct Pair {
    waits: Seat,
    /// The seat whose envelope wakes it.
    moves: Option<Seat>,
}

async fn seat_all(house: &Arc<House>) -> Outcome<Vec<Pair>> {
    let mut makers = JoinSet::new();
    for maker in 0..MAKERS {
        let house = Arc::clone(house);
        makers.spawn(async move {
            let mut connection = house.connect().await?;
            let mut pairs = Vec::new();
            for number in (maker..WAITERS).step_by(usize::try_from(MAKERS)?) {
                let (a, invite) = open(&mut connection).await?;
                if number < WAITERS - WOKEN {
                    pairs.push(Pair { waits: a, moves: None });
                } else {
                    let b = join(&mut connection, &a.room, &invite).await?;
                    pairs.push(Pair { waits: b, moves: Some(a) });
                }
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(pairs)
        });
    }
    let mut pairs = Vec::new();
    while let Some(made) = makers.join_next().await {
        pairs.append(&mut made??);
    }
    Ok(pairs)
}

/// Waits, again and again, until it is the seat's turn. Gives the room and when the answer had come.
async fn wait(mut connection: Connection, seat: Seat, shared: Arc<Shared>) -> Outcome<(String, Instant)> {
    let mut since = 0;
    loop {
        let arguments = json!({ "link": seat.link, "timeout_seconds": 25, "since": since });
        let answer = connection.tool("wait_for_turn", &arguments).await?;
        if answer.body.pointer("/your_turn") == Some(&Value::Bool(true)) {
            return Ok((seat.room, answer.at));
        }
        if shared.over.load(Ordering::Relaxed) {
            return Err("over".into());
        }
        shared.timed_out.fetch_add(1, Ordering::Relaxed);
        since = answer.body.pointer("/since").and_then(Value::as_u64).ok_or("no since")?;
    }
}
