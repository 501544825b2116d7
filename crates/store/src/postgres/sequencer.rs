//! The leased sequencer: one process at a time writes many appends in one statement.
//!
//! Its lease decides who batches, never what is right: every append is compared in the database all the same.
//! While this process does not hold it, and for what cannot be batched, appends go straight to the database.

use super::error::Failure;
use super::lanes::Lanes;
use super::leases;
use super::rows::{Columns, Prepared, Refused};
use crate::{Lease, StoreError};
use env::{Duration, Source};
use sqlx::PgPool;
use sqlx::postgres::PgConnection;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

/// The name of its lease.
pub const SEQUENCER: &str = "sequencer";

/// How long a first append waits for others, as long as fewer have come than are under way.
const GATHER: std::time::Duration = std::time::Duration::from_micros(200);
/// Appends a statement, at most.
const BATCH: usize = 256;
/// Batches under way at once: while one waits for the disk, another is made.
const FLIGHTS: usize = 2;
/// A batch that another process came in between is sent this often.
const TRIES: usize = 3;
const LEASE: Duration = Duration::from_secs(6);
const RENEW: std::time::Duration = std::time::Duration::from_secs(2);

/// What comes back of an append: itself, and how it went.
pub(super) type Outcome = (Prepared, Result<(), Failure>);

/// The way to the sequencer of this process.
#[derive(Debug)]
pub(super) struct Sequencer {
    jobs: mpsc::UnboundedSender<Job>,
    held: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Job {
    prepared: Prepared,
    reply: oneshot::Sender<Outcome>,
}

impl Sequencer {
    /// Returns the handle and the task to run.
    pub fn new(pool: PgPool, lanes: Lanes) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (jobs, queue) = mpsc::unbounded_channel();
        let held = Arc::new(AtomicBool::new(false));
        let holder = env::System.env().id(20);
        let task = Task {
            pool,
            lanes,
            queue,
            waiting: VecDeque::new(),
            claimed: HashSet::new(),
            flights: JoinSet::new(),
            held: Arc::clone(&held),
            holder,
            lease: None,
            flying: 0,
        };
        (Self { jobs, held }, task.run())
    }

    /// Whether this process holds the lease.
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Hands an append over. `Err` gives it back: nothing was done.
    pub async fn append(&self, prepared: Prepared) -> Result<Outcome, Option<Prepared>> {
        let (reply, outcome) = oneshot::channel();
        self.jobs.send(Job { prepared, reply }).map_err(|lost| Some(lost.0.prepared))?;
        outcome.await.map_err(|_| None)
    }
}

struct Task {
    pool: PgPool,
    lanes: Lanes,
    queue: mpsc::UnboundedReceiver<Job>,
    /// Jobs put off because they collide with one that is under way.
    waiting: VecDeque<Job>,
    /// What the appends under way may share with no other.
    claimed: HashSet<String>,
    flights: JoinSet<Landed>,
    held: Arc<AtomicBool>,
    holder: String,
    lease: Option<Lease>,
    /// How many appends are under way.
    flying: usize,
}

/// A batch that was sent: what it had claimed, and whether the lease turned out to be lost.
struct Landed {
    appends: usize,
    claims: Vec<String>,
    fenced: bool,
}

impl Task {
    async fn run(mut self) {
        let mut renew = tokio::time::interval(RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while self.flights.len() < FLIGHTS && !self.waiting.is_empty() && self.send().await {}
            tokio::select! {
                biased;
                _ = renew.tick() => self.renew().await,
                Some(landed) = self.flights.join_next(), if !self.flights.is_empty() => self.land(landed),
                job = self.queue.recv(), if self.flights.len() < FLIGHTS => match job {
                    Some(job) => self.waiting.push_back(job),
                    None => break,
                },
            }
        }
        while let Some(landed) = self.flights.join_next().await {
            self.land(landed);
        }
        if let Some(lease) = self.lease.take() {
            let _ = leases::release(&self.pool, &lease).await;
        }
    }

    async fn renew(&mut self) {
        let taken = leases::take(&self.pool, SEQUENCER, &self.holder, env::System.now(), LEASE).await;
        // Without an answer the lease may be lost: then the next batch is refused, and nothing is.
        if let Ok(lease) = taken {
            self.hold(lease);
        }
    }

    fn hold(&mut self, lease: Option<Lease>) {
        self.held.store(lease.is_some(), Ordering::Release);
        self.lease = lease;
    }

    fn land(&mut self, landed: Result<Landed, tokio::task::JoinError>) {
        match landed {
            Ok(Landed { appends, claims, fenced }) => {
                self.flying = self.flying.saturating_sub(appends);
                for claim in claims {
                    self.claimed.remove(&claim);
                }
                if fenced {
                    self.hold(None);
                }
            }
            // Nobody was told how it went: whoever waited finds out by reading.
            Err(_) => {
                self.flying = 0;
                self.claimed.clear();
            }
        }
    }

    /// Sends what waits and collides with nothing under way. `false` if that is nothing.
    async fn send(&mut self) -> bool {
        let mut batch = self.gather().await;
        if batch.is_empty() {
            return false;
        }
        self.flying = self.flying.saturating_add(batch.len());
        // In byte order of the streams, as every append goes: none waits for another in a circle.
        batch.sort_by(|a, b| first_stream(&a.prepared).cmp(&first_stream(&b.prepared)));
        self.flights.spawn(fly(self.lanes.clone(), self.lease.clone(), batch));
        true
    }

    /// Takes what waits, and what comes within [`GATHER`]: as many as keep all flights equally full.
    async fn gather(&mut self) -> Vec<Job> {
        let until = Instant::now() + GATHER;
        let mut batch = Vec::new();
        let mut put_off = VecDeque::new();
        loop {
            let waiting = self.waiting.len().saturating_add(self.queue.len());
            let all = self.flying.saturating_add(waiting).saturating_add(batch.len());
            let share = all.div_ceil(FLIGHTS).min(BATCH);
            while batch.len() < share {
                let Some(job) = self.waiting.pop_front().or_else(|| self.queue.try_recv().ok()) else {
                    break;
                };
                if job.prepared.claim(&mut self.claimed) { batch.push(job) } else { put_off.push_back(job) }
            }
            if batch.len() >= share || Instant::now() >= until {
                break;
            }
            tokio::task::yield_now().await;
        }
        put_off.append(&mut self.waiting);
        self.waiting = put_off;
        batch
    }
}

/// Writes a batch and answers each of it.
async fn fly(lanes: Lanes, lease: Option<Lease>, batch: Vec<Job>) -> Landed {
    let appends = batch.len();
    let (prepared, replies): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|job| (job.prepared, job.reply)).unzip();
    let claims = prepared.iter().flat_map(Prepared::claims).collect();
    let (outcomes, fenced) = write_batch(&lanes, lease, &prepared).await;
    for ((prepared, reply), outcome) in prepared.into_iter().zip(replies).zip(outcomes) {
        // Whoever asked may have gone; what was written stays.
        let _ = reply.send((prepared, outcome));
    }
    Landed { appends, claims, fenced }
}

/// One outcome for each, in order; and whether the lease is lost.
async fn write_batch(
    lanes: &Lanes,
    lease: Option<Lease>,
    batch: &[Prepared],
) -> (Vec<Result<(), Failure>>, bool) {
    let all = |failure: &dyn Fn() -> Failure| batch.iter().map(|_| Err(failure())).collect();
    let Some(lease) = lease else { return (all(&fenced), false) };
    let mut lane = match lanes.take().await {
        Ok(lane) => lane,
        Err(error) => return (all(&|| Failure::Store(error.clone())), false),
    };
    let mut written = write_once(&mut lane.connection, &lease, batch).await;
    for _ in 1..TRIES {
        // Another process was faster with one of them, which is stale by now: the others are no worse for it.
        if !matches!(written, Err(Failure::Taken)) {
            break;
        }
        written = write_once(&mut lane.connection, &lease, batch).await;
    }
    if !matches!(written, Err(Failure::Store(StoreError::Unknown(_)))) {
        lane.done();
    }
    match written {
        Ok(refused) => {
            let mut outcomes: Vec<Result<(), Failure>> = batch.iter().map(|_| Ok(())).collect();
            for refusal in refused {
                if let Some(outcome) = outcomes.get_mut(refusal.place) {
                    *outcome = Err(refusal.why);
                }
            }
            (outcomes, false)
        }
        Err(Failure::Store(StoreError::Unknown(said))) => {
            (all(&|| Failure::Store(StoreError::Unknown(said.clone()))), false)
        }
        Err(Failure::Store(StoreError::Fenced(_))) => (all(&fenced), true),
        // Rolled back, perhaps for the sake of one of them: each goes its own way.
        Err(_) => (all(&fenced), false),
    }
}

async fn write_once(
    connection: &mut PgConnection,
    lease: &Lease,
    batch: &[Prepared],
) -> Result<Vec<Refused>, Failure> {
    let mut columns = Columns::default();
    for prepared in batch {
        columns.add(prepared);
    }
    columns.batch(connection, lease).await
}

/// Nothing was written: the append goes straight to the database.
fn fenced() -> Failure {
    Failure::Store(StoreError::Fenced(SEQUENCER.into()))
}

fn first_stream(prepared: &Prepared) -> Option<&ledger::StreamId> {
    prepared.append.streams.first().map(|part| &part.stream)
}
