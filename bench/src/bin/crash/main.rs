//! kill -9 in a loop, under load, on both stores.
//!
//! A child process appends to its streams and prints what was acknowledged; it is killed at a random moment. Then
//! the store is opened again: every acknowledged entry must be there, every chain must verify, and the questions
//! that are pending by the chains must be those the pointers find, each with its row in the outbox. On PostgreSQL
//! some rounds also kill a backend, which makes the server recover, or the whole server.
//!
//! `crash [--rounds N] [--seed N] [sqlite|postgres]`, 200 rounds on both stores by default.
//! `crash power [--moments N] [--seed N]` cuts the power of the SQLite store instead ([`power`]), at 60 moments by default.

mod check;
mod child;
mod power;

use bench::Outcome;
use check::Check;
use env::{Env, Timestamp};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::postgres::{Options, Postgres, SEQUENCER};
use store::{Journal, ServerKey, Sqlite};
use testkit::pg;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const KEY: [u8; 32] = [9; 32];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match words.as_slice() {
        ["child", store, place, seed] => runtime.block_on(async {
            let journal = open(store, place, true).await?;
            child::run(journal, seed.parse()?).await
        }),
        ["power", words @ ..] => {
            let (seed, moments) = read_power(words)?;
            println!("seed {seed}");
            let cut = runtime.block_on(power::run(seed, moments));
            cut.map_err(|error| format!("power, seed {seed}: {error}").into())
        }
        words => runtime.block_on(run(&Plan::read(words)?)),
    }
}

fn read_power(words: &[&str]) -> Outcome<(u64, usize)> {
    let now = env::Source::now(&env::System).as_micros();
    let (mut seed, mut moments) = (u64::try_from(now)?, 60);
    for pair in words.chunks(2) {
        match pair {
            ["--moments", number] => moments = number.parse()?,
            ["--seed", number] => seed = number.parse()?,
            _ => return Err("power takes --moments N and --seed N".into()),
        }
    }
    Ok((seed, moments))
}

struct Plan {
    rounds: u32,
    seed: u64,
    stores: Vec<&'static str>,
}

impl Plan {
    fn read(words: &[&str]) -> Outcome<Self> {
        let now = env::Source::now(&env::System).as_micros();
        let mut plan = Self { rounds: 200, seed: u64::try_from(now)?, stores: vec!["sqlite", "postgres"] };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--rounds" => plan.rounds = words.next().ok_or("--rounds needs a number")?.parse()?,
                "--seed" => plan.seed = words.next().ok_or("--seed needs a number")?.parse()?,
                "sqlite" => plan.stores = vec!["sqlite"],
                "postgres" => plan.stores = vec!["postgres"],
                other => return Err(format!("'{other}' is neither an option nor a store").into()),
            }
        }
        Ok(plan)
    }
}

async fn run(plan: &Plan) -> Outcome<()> {
    println!("seed {}", plan.seed);
    for store in &plan.stores {
        let started = Instant::now();
        let outcome = if *store == "sqlite" { sqlite(plan).await } else { postgres(plan).await };
        let check = outcome.map_err(|error| format!("{store}, seed {}: {error}", plan.seed))?;
        println!(
            "{store}: {} rounds in {} s, {} entries acknowledged, {} found, {} questions pending, nothing lost",
            plan.rounds,
            started.elapsed().as_secs(),
            check.acknowledged,
            check.entries(),
            check.pending()
        );
    }
    Ok(())
}

async fn sqlite(plan: &Plan) -> Outcome<Check> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("crash.db");
    let place = path.to_str().ok_or("a temporary path that is no text")?;
    let mut dice = dice(plan.seed);
    let mut check = Check::default();
    for round in 0..plan.rounds {
        let mut child = Running::start("sqlite", place, draw(&mut dice))?;
        child.work(&mut dice).await?;
        check.acknowledge(&child.kill().await?)?;
        let journal = Sqlite::open(Path::new(place), ServerKey::from_bytes(KEY))?;
        check.round(&journal).await.map_err(|error| format!("round {round}: {error}"))?;
    }
    let journal = Sqlite::open(Path::new(place), ServerKey::from_bytes(KEY))?;
    check.whole(&journal).await?;
    Ok(check)
}

async fn postgres(plan: &Plan) -> Outcome<Check> {
    let mut server = pg::Postgres::private(&["max_wal_size = 512MB"])?;
    let url = server.database().await?;
    let mut dice = dice(plan.seed);
    let mut check = Check::default();
    for round in 0..plan.rounds {
        let mut child = Running::start("postgres", &url, draw(&mut dice))?;
        child.work(&mut dice).await?;
        match draw(&mut dice) % 4 {
            0 => {
                server.kill()?;
                // The child runs on without a server for a moment, and must not take that for success.
                tokio::time::sleep(Duration::from_millis(draw(&mut dice) % 50)).await;
                check.acknowledge(&child.kill().await?)?;
                server.restart()?;
            }
            1 => {
                server.kill_backend(draw(&mut dice))?;
                // The server recovers and the child goes on, or is killed before that.
                tokio::time::sleep(Duration::from_millis(draw(&mut dice) % 500)).await;
                check.acknowledge(&child.kill().await?)?;
            }
            _ => check.acknowledge(&child.kill().await?)?,
        }
        server.ready().await?;
        alone(&url).await?;
        let journal = open_postgres(&url, false).await?;
        check.round(&journal).await.map_err(|error| format!("round {round}: {error}"))?;
        free_sequencer(&journal).await?;
        journal.close().await;
    }
    let journal = open_postgres(&url, false).await?;
    check.whole(&journal).await?;
    Ok(check)
}

async fn open(store: &str, place: &str, sequencer: bool) -> Outcome<Arc<dyn Journal>> {
    Ok(match store {
        "sqlite" => Arc::new(Sqlite::open(Path::new(place), ServerKey::from_bytes(KEY))?),
        _ => Arc::new(open_postgres(place, sequencer).await?),
    })
}

async fn open_postgres(url: &str, sequencer: bool) -> Outcome<Postgres> {
    let options = Options { connections: 12, sequencer };
    // A server that recovers refuses connections for a moment.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match Postgres::open(url, ServerKey::from_bytes(KEY), options).await {
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            Ok(journal) => return Ok(journal),
        }
    }
}

/// A dead sequencer's lease runs for seconds: given back, so that the next child batches too.
async fn free_sequencer(journal: &Postgres) -> Outcome<()> {
    let far = Timestamp::from_secs(9_000_000_000);
    if let Some(lease) = journal.lease(SEQUENCER, "parent", far, env::Duration::from_secs(1)).await? {
        journal.release(&lease).await?;
    }
    Ok(())
}

/// Waits until the dead child's last statements have ended on the server, one way or the other.
async fn alone(url: &str) -> Outcome<()> {
    use sqlx::Connection;
    let mut connection = sqlx::PgConnection::connect(url).await?;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let others: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND backend_type = 'client backend'",
        )
        .fetch_one(&mut connection)
        .await?;
        if others == 0 {
            return Ok(connection.close().await?);
        }
        if Instant::now() > deadline {
            return Err("a backend outlives its client".into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A child process at work, and what it has printed.
struct Running {
    child: Child,
    lines: tokio::task::JoinHandle<std::io::Result<Vec<String>>>,
    begun: tokio::sync::oneshot::Receiver<()>,
}

impl Running {
    fn start(store: &str, place: &str, seed: u64) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["child", store, place, &seed.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
        let (tell, begun) = tokio::sync::oneshot::channel();
        let lines = tokio::spawn(async move {
            let mut lines = Vec::new();
            let mut tell = Some(tell);
            while let Some(line) = output.next_line().await? {
                lines.push(line);
                if let Some(tell) = tell.take() {
                    let _ = tell.send(());
                }
            }
            Ok(lines)
        });
        Ok(Self { child, lines, begun })
    }

    /// Lets it work for up to 0.4 s after its first acknowledgement; one in eight is not waited for.
    async fn work(&mut self, dice: &mut Env) -> Outcome<()> {
        if !draw(dice).is_multiple_of(8) && (&mut self.begun).await.is_err() {
            return Err("the child ended by itself".into());
        }
        tokio::time::sleep(Duration::from_micros(draw(dice) % 400_000)).await;
        match self.child.try_wait()? {
            Some(status) => Err(format!("the child ended by itself: {status}").into()),
            None => Ok(()),
        }
    }

    /// kill -9, then everything it said.
    async fn kill(mut self) -> Outcome<Vec<String>> {
        self.child.kill().await?;
        Ok(self.lines.await??)
    }
}

pub fn dice(seed: u64) -> Env {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(seed.to_be_bytes()) {
        *to = from;
    }
    Env::new(Timestamp::EPOCH, bytes)
}

pub fn draw(dice: &mut Env) -> u64 {
    dice.bytes32().iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
