//! From an envelope sent over HTTP to the other seat's `wait_for_turn` answered over MCP, durable: 200 rooms, each with a
//! turn a second. Load and server are two processes on the same machine; every commit is synced.
//! Ends with an error if a bar is not met.

use bench::house::{Answer, Connection, House, Seat, join, open, serve_if_asked};
use bench::{Outcome, disk, percentile};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const ROOMS: u32 = 200;
/// One turn of each room.
const PERIOD: Duration = Duration::from_secs(1);
/// As many turns as a room has unless told otherwise; the first ones are not counted.
const TURNS: u32 = 20;
const WARM: u32 = 2;
/// Milliseconds, 50 and 99 in 100.
const BARS: [f64; 2] = [2.0, 10.0];

fn main() -> Outcome {
    if serve_if_asked()? {
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome {
    let house = Arc::new(House::start()?);
    let before = disk::fdatasync(house.folder())?;
    let mut players = Vec::new();
    for _ in 0..ROOMS {
        players.push(Player::sit(&house).await?);
    }
    let start = Instant::now() + PERIOD;
    let mut rooms = JoinSet::new();
    for (number, player) in (0..ROOMS).zip(players) {
        rooms.spawn(player.play(start + PERIOD * number / ROOMS));
    }
    let mut turns = Turns::default();
    while let Some(played) = rooms.join_next().await {
        let mut played = played??;
        turns.woken.append(&mut played.woken);
        turns.sent.append(&mut played.sent);
    }
    let took = start.elapsed();
    let after = disk::fdatasync(house.folder())?;
    let sync = f64::midpoint(before, after);
    let count = f64::from(ROOMS * TURNS);
    println!("fdatasync of 8 KiB, median of 500: {before:.3} ms before, {after:.3} ms after");
    println!("{count:.0} turns at {:.0} a second\n", count / took.as_secs_f64());
    println!("| {ROOMS} rooms | p50 ms | p90 ms | p99 ms |\n|---|---:|---:|---:|");
    let rows = [
        ("envelope sent to its acknowledgement", &mut turns.sent),
        ("envelope sent to the other seat's wait answered", &mut turns.woken),
    ];
    let mut found = [0.0; 2];
    for (name, times) in rows {
        let [p50, p90, p99] = [50, 90, 99].map(|part| percentile(times, part));
        println!("| {name} | {p50:.2} | {p90:.2} | {p99:.2} |");
        found = [p50, p99];
    }
    let bars = BARS.map(|bar| disk::bar(bar, sync));
    println!("| bar at this disk | {:.2} | | {:.2} |", bars[0], bars[1]);
    let (now, most) = house.memory()?;
    println!("\nserver memory: {now:.0} MB, at most {most:.0} MB");
    if found.iter().zip(bars).all(|(found, bar)| *found <= bar) {
        Ok(())
    } else {
        Err(format!("the bars are {bars:.2?} ms, found {found:.2?} ms").into())
    }
}

#[derive(Default)]
struct Turns {
    sent: Vec<Duration>,
    woken: Vec<Duration>,
}

/// Both agents of one room, each with a connection that sends and one that waits.
struct Player {
    seats: [Agent; 2],
}

struct Agent {
    seat: Seat,
    sends: Connection,
    waits: Connection,
    /// The claims of the other side that wait for a review.
    open: Vec<Value>,
    since: u64,
}

impl Player {
    async fn sit(house: &House) -> Outcome<Self> {
        let mut connection = house.connect().await?;
        let (a, invite) = open(&mut connection).await?;
        let b = join(&mut connection, &a.room, &invite).await?;
        Ok(Self { seats: [Agent::new(house, a).await?, Agent::new(house, b).await?] })
    }

    async fn play(self, start: Instant) -> Outcome<Turns> {
        let [mut mover, mut waiter] = self.seats;
        let mut turns = Turns::default();
        for turn in 0..TURNS {
            let due = start + PERIOD * turn;
            let move_when_due = async {
                tokio::time::sleep_until(due.into()).await;
                let sent = Instant::now();
                Ok((sent, mover.send(turn).await?))
            };
            let (woken, (sent, acknowledged)) = tokio::try_join!(waiter.wait(), move_when_due)?;
            if turn >= WARM {
                turns.woken.push(woken - sent);
                turns.sent.push(acknowledged - sent);
            }
            std::mem::swap(&mut mover, &mut waiter);
        }
        Ok(turns)
    }
}

impl Agent {
    async fn new(house: &House, seat: Seat) -> Outcome<Self> {
        let (sends, waits) = (house.connect().await?, house.connect().await?);
        Ok(Self { seat, sends, waits, open: Vec::new(), since: 0 })
    }

    /// Waits for the turn. Gives when the answer had come.
    async fn wait(&mut self) -> Outcome<Instant> {
        let arguments = json!({ "link": self.seat.link, "timeout_seconds": 25, "since": self.since });
        let Answer { at, body } = self.waits.tool("wait_for_turn", &arguments).await?;
        if body.pointer("/your_turn") != Some(&Value::Bool(true)) {
            return Err(format!("woken without a turn: {body}").into());
        }
        self.since = body.pointer("/since").and_then(Value::as_u64).ok_or("no since")?;
        self.open = body.pointer("/claims_to_review").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(at)
    }

    /// A message with a claim, and a review of each claim of the other side. Gives when it was acknowledged.
    async fn send(&mut self, turn: u32) -> Outcome<Instant> {
        let reviews: Vec<Value> = self
            .open
            .iter()
            .map(|claim| json!({ "claim_id": claim.get("id"), "verdict": "accept", "reason": "seen" }))
            .collect();
        let envelope = json!({
            "message": "The hall has seats for the guests, and the price seems fair to us for that evening.",
            "status": "continue",
            "claims": [{ "text": format!("Point {turn} about the hall"), "origin": "assumed" }],
            "reviews": reviews,
        });
        let body = json!({ "envelope": envelope, "client_msg_id": format!("m{turn}") });
        let path = format!("/api/rooms/{}/envelopes", self.seat.room);
        Ok(self.sends.call("POST", &path, &self.seat.secret, &body).await?.at)
    }
}
