//! The one writer: commands queue up, are decided in their order on the state in memory and sealed; meanwhile the batch before is
//! signed by two threads, appended, and answered once that is durable. Where the log has moved on, or nobody knows what was
//! written, what was decided since is decided again on the state as the log has it.

use crate::service::unavailable;
use canon::{Digest, Value};
use env::Source;
use keys::{Kid, Signer};
use ledger::{Effect, Entry, Head, Payload, Pointer, StreamId};
use pcm::signer::rpc::Answer;
use pcm::signer::{Command, Fault, FaultCode, House, Keyed, Sealed, State, decide};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Append, Journal, Outgoing, StoreError, StreamAppend};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

pub(crate) enum Job {
    Do(Box<Command>, Reply),
    /// Looks at the state; what it gives is run once that state is durable.
    Look(Look),
    /// Something was not written, and waits to be decided again.
    Again,
}

pub(crate) type Reply = oneshot::Sender<Result<Answer, Fault>>;
pub(crate) type Look = Box<dyn FnOnce(&State) -> Told + Send>;
pub(crate) type Told = Box<dyn FnOnce() + Send>;

/// Commands of one batch, at most.
const BATCH: usize = 512;

/// Records that are signed without help.
const FEW: usize = 8;

/// How often a batch is decided again because another process was faster, and sent again because its answer was lost.
const TRIES: usize = 16;

/// Records read at a time.
const PAGE: usize = 1024;

/// Where runs and key records are found.
pub(crate) const OPEN: &str = "evidence/open";
pub(crate) const RUNS: &str = "evidence/runs";
pub(crate) const KEYS: &str = "evidence/keys";

pub(crate) fn run_key(run: &str) -> String {
    format!("evidence/run/{run}")
}

/// Where the records that name this hash are found.
pub(crate) fn noted_key(hash: &str) -> String {
    format!("evidence/noted/{hash}")
}

/// A place in the log, so that places order as texts do.
pub(crate) fn place(seq: u64) -> String {
    format!("{seq:016}")
}

/// Reads the state from the log: from the beginning of the oldest run that is open.
pub(crate) struct Load {
    pub journal: Arc<dyn Journal>,
    pub stream: StreamId,
    pub kid: Kid,
}

impl Load {
    /// At start: a log without a record gets its name here.
    pub async fn first(&self, source: &Arc<dyn Source>) -> Result<(State, Keyed), Fault> {
        match self.state().await? {
            Some(found) => Ok(found),
            None => {
                let id = hex::encode(source.env().bytes16());
                Ok((State::new(&id), Keyed::default()))
            }
        }
    }

    async fn state(&self) -> Result<Option<(State, Keyed)>, Fault> {
        let read = |seq: u64| async move { self.one(seq).await };
        let head = self.journal.head(&self.stream).await.map_err(unavailable)?;
        if head == Head::EMPTY {
            return Ok(None);
        }
        let first = read(0).await?;
        let log_id = event(&first.bytes, "log_id")?;
        let mut keyed = Keyed::default();
        let (mut keys, mut own) = (Vec::new(), None);
        let mut after = String::new();
        loop {
            let page = self.journal.find(KEYS, &after, PAGE).await.map_err(unavailable)?;
            for (item, _) in &page {
                let seq = item.parse().map_err(|_| broken("a key's place"))?;
                let entry = read(seq).await?;
                let run_seq = keyed.take(&entry.bytes).map_err(|error| broken(&error.to_string()))?;
                own = Some((run_seq, entry.hash));
                keys.push(seq);
            }
            match page.last() {
                Some((item, _)) => after.clone_from(item),
                None => break,
            }
        }
        let open = self.journal.find(OPEN, "", 1).await.map_err(unavailable)?;
        let from = open.first().and_then(|(item, _)| item.split('/').next()?.parse::<u64>().ok());
        let from = from.unwrap_or(head.seq).min(head.seq);
        let prev = match from.checked_sub(1) {
            Some(before) => read(before).await?.hash,
            None => Digest::ZERO,
        };
        let mut state = State::resume(&log_id, from, prev, own, keys);
        loop {
            let page = self.journal.read(&self.stream, state.size(), PAGE).await.map_err(unavailable)?;
            for entry in &page {
                let kept = entry.payload.as_ref().map(|payload| payload.bytes.as_slice());
                state.evolve(&entry.bytes, kept).map_err(|error| broken(&error.to_string()))?;
            }
            if page.len() < PAGE {
                return Ok(Some((state, keyed)));
            }
        }
    }

    /// Again, while this signer's key is in force.
    async fn again(&self) -> Result<State, Fault> {
        let (state, keyed) = self.state().await?.ok_or_else(|| broken("the log is gone"))?;
        match keyed.in_force() {
            Some(kid) if kid == self.kid.to_string() => Ok(state),
            _ => Err(Fault::new(FaultCode::Unavailable, "another key signs this log now")),
        }
    }

    async fn one(&self, seq: u64) -> Result<Entry, Fault> {
        let mut found = self.journal.read(&self.stream, seq, 1).await.map_err(unavailable)?;
        found.pop().ok_or_else(|| broken("a record is missing"))
    }
}

fn event(line: &[u8], name: &str) -> Result<String, Fault> {
    let record = canon::parse(line).map_err(|error| broken(&error.to_string()))?;
    let found = record.pointer(&format!("/event/{name}")).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| broken("a record is not one"))
}

fn broken(why: &str) -> Fault {
    Fault::new(FaultCode::Unavailable, format!("the evidence log does not hold: {why}"))
}

pub(crate) struct Writer {
    pub load: Load,
    pub source: Arc<dyn Source>,
    pub key: Arc<dyn Signer>,
    pub house: House,
    pub org: String,
    /// Counts the batches in which an approval changed.
    pub moves: watch::Sender<u64>,
    /// Its own queue.
    pub queue: mpsc::WeakSender<Job>,
}

/// A command, who waits for it, and how often it was decided before.
struct Waiting {
    command: Box<Command>,
    reply: Reply,
    tries: usize,
}

/// What was decided together, on one state that follows the batch before.
struct Batch {
    /// How many batches had failed when it was decided.
    failures: u64,
    head: Head,
    sealed: Vec<Sealed>,
    commands: Vec<Waiting>,
    answers: Vec<Result<Answer, Fault>>,
    told: Vec<Told>,
}

enum Ready {
    Batch(Batch),
    /// Everything before is written or given back.
    Through(std::sync::mpsc::SyncSender<()>),
}

impl Writer {
    /// Until nobody can ask any more.
    pub fn run(&self, state: State, jobs: mpsc::Receiver<Job>, runtime: &Handle) {
        let failures = AtomicU64::new(0);
        let (ready, batches) = std::sync::mpsc::sync_channel(1);
        let (back, given_back) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let failures = &failures;
            scope.spawn(move || self.write(batches, &back, failures, runtime));
            self.prepare(state, jobs, ready, &given_back, failures, runtime);
        });
    }

    /// Decides what comes, one batch ahead of what is written.
    fn prepare(
        &self,
        state: State,
        mut jobs: mpsc::Receiver<Job>,
        ready: std::sync::mpsc::SyncSender<Ready>,
        given_back: &std::sync::mpsc::Receiver<Vec<Waiting>>,
        failures: &AtomicU64,
        runtime: &Handle,
    ) {
        // `None`: what is in memory is not what the log says.
        let (mut state, mut known) = (Some(state), 0);
        loop {
            let mut commands = Vec::new();
            let mut looks = Vec::new();
            if failures.load(Ordering::Acquire) != known {
                let (through, done) = std::sync::mpsc::sync_channel(0);
                if ready.send(Ready::Through(through)).is_err() || done.recv().is_err() {
                    return;
                }
                known = failures.load(Ordering::Acquire);
                commands.extend(given_back.try_iter().flatten());
                state = None;
            }
            let mut next = match commands.is_empty() {
                true => match jobs.blocking_recv() {
                    Some(job) => Some(job),
                    None => return,
                },
                false => jobs.try_recv().ok(),
            };
            while let Some(job) = next {
                match job {
                    Job::Do(command, reply) => commands.push(Waiting { command, reply, tries: 0 }),
                    Job::Look(look) => looks.push(look),
                    Job::Again => {}
                }
                next = if commands.len() < BATCH { jobs.try_recv().ok() } else { None };
            }
            if commands.is_empty() && looks.is_empty() {
                continue;
            }
            let mut current = match state.take().map_or_else(|| runtime.block_on(self.load.again()), Ok) {
                Ok(current) => current,
                // Whoever looks and gets no answer hears that the signer does not answer.
                Err(fault) => {
                    tracing::error!(%fault, "the signer cannot read its log");
                    refuse(commands, &fault);
                    continue;
                }
            };
            let head = Head { seq: current.size(), hash: current.head() };
            let (sealed, answers) = self.decide(&mut current, &commands);
            let told = looks.into_iter().map(|look| look(&current)).collect();
            let batch = Batch { failures: known, head, sealed, commands, answers, told };
            if ready.send(Ready::Batch(batch)).is_err() {
                return;
            }
            state = Some(current);
        }
    }

    /// Signs and writes batches in their order. What follows one that failed is given back.
    fn write(
        &self,
        batches: std::sync::mpsc::Receiver<Ready>,
        back: &std::sync::mpsc::Sender<Vec<Waiting>>,
        failures: &AtomicU64,
        runtime: &Handle,
    ) {
        let give_back = |commands: Vec<Waiting>| {
            let _ = back.send(commands);
            if let Some(queue) = self.queue.upgrade() {
                // A queue that is full wakes by itself.
                let _ = queue.try_send(Job::Again);
            }
        };
        for ready in batches {
            let mut batch = match ready {
                Ready::Through(through) => {
                    let _ = through.send(());
                    continue;
                }
                Ready::Batch(batch) => batch,
            };
            if batch.failures != failures.load(Ordering::Acquire) {
                give_back(batch.commands);
                continue;
            }
            let written = match batch.sealed.is_empty() {
                true => Ok(true),
                false => self
                    .append(batch.head, &batch.sealed)
                    .and_then(|append| runtime.block_on(self.settle(append)).map_err(unavailable)),
            };
            match written {
                Ok(true) => {
                    answer(batch.commands, batch.answers);
                    batch.told.into_iter().for_each(|told| told());
                    let moves = |one: &Sealed| one.approval.is_some() || one.kind == "run.final";
                    if batch.sealed.iter().any(moves) {
                        self.moves.send_modify(|count| *count += 1);
                    }
                }
                // Another process was faster.
                Ok(false) => {
                    failures.fetch_add(1, Ordering::AcqRel);
                    batch.commands.iter_mut().for_each(|one| one.tries += 1);
                    let (again, given_up): (Vec<_>, Vec<_>) =
                        batch.commands.into_iter().partition(|one| one.tries < TRIES);
                    let why = "others write this log without a pause";
                    refuse(given_up, &Fault::new(FaultCode::Unavailable, why));
                    give_back(again);
                }
                Err(fault) => {
                    tracing::error!(%fault, "the signer cannot write its log");
                    failures.fetch_add(1, Ordering::AcqRel);
                    refuse(batch.commands, &fault);
                }
            }
        }
    }

    fn decide(&self, state: &mut State, commands: &[Waiting]) -> (Vec<Sealed>, Vec<Result<Answer, Fault>>) {
        let kid = self.key.public().spki_kid();
        let mut sealed = Vec::new();
        let answers = commands.iter().map(|one| {
            let mut env = self.source.env();
            let now = env.now();
            let decision = decide(state, &self.house, &one.command, &mut env)?;
            for said in decision.records {
                // A record that cannot be sealed was checked by nobody before: the caller's values are in it.
                sealed.push(state.seal(said, now, &kid)?);
            }
            Ok(decision.answer)
        });
        let answers = answers.collect();
        (sealed, answers)
    }

    fn append(&self, head: Head, sealed: &[Sealed]) -> Result<Append, Fault> {
        let stream = &self.load.stream;
        let lines = self.sign(sealed)?;
        let (mut pointers, mut outbox) = (Vec::new(), Vec::new());
        let mut point = |pointer| pointers.push((stream.clone(), pointer));
        for one in sealed {
            let approval = one.approval.as_deref().unwrap_or_default();
            let inbox = || (format!("inbox/{}/approvers", self.org), format!("evidence:{approval}"));
            match one.kind {
                "signer.epoch" | "key.retire" => point(set(KEYS, place(one.seq()))),
                "run.registered" => {
                    let item = format!("{}/{}", place(one.seq()), one.run_id);
                    point(set(OPEN, item.clone()));
                    point(set(RUNS, item));
                    point(set(&run_key(&one.run_id), place(one.seq())));
                }
                "run.final" => {
                    let item = format!("{}/{}", place(one.first), one.run_id);
                    point(Pointer::Clear { key: OPEN.to_owned(), item });
                }
                "approval.request" => {
                    let (key, item) = inbox();
                    point(Pointer::Set { key, item });
                    let effect = Effect::Ask { ask: approval.to_owned(), stream: stream.to_string() };
                    outbox.push(Outgoing { stream: stream.clone(), effect, due: self.source.now() });
                }
                "approval" | "approval.expired" | "approval.abandoned" | "approval.revoked" => {
                    let (key, item) = inbox();
                    point(Pointer::Clear { key, item });
                }
                _ => {}
            }
            if let Some(hash) = &one.noted {
                point(set(&noted_key(hash), place(one.seq())));
            }
        }
        let entries = sealed.iter().zip(lines).map(|(one, bytes)| Entry {
            seq: one.seq().saturating_add(1),
            prev: one.prev,
            hash: one.hash(),
            bytes,
            payload: one.kept.clone().map(Payload::new),
        });
        let part = StreamAppend { stream: stream.clone(), expected: head, entries: entries.collect() };
        Ok(Append { streams: vec![part], outbox, pointers, idempotency: None })
    }

    /// The lines of the records, signed by this thread and another.
    fn sign(&self, sealed: &[Sealed]) -> Result<Vec<Vec<u8>>, Fault> {
        let sign = |part: &[Sealed]| -> Result<Vec<Vec<u8>>, pcm::Error> {
            part.iter().map(|one| one.sign(&*self.key)).collect()
        };
        let (one, other) = sealed.split_at(if sealed.len() > FEW { sealed.len() / 2 } else { 0 });
        let lines = std::thread::scope(|scope| {
            let helper = (!one.is_empty()).then(|| scope.spawn(|| sign(one)));
            let rest = sign(other)?;
            let mut lines = match helper {
                Some(helper) => {
                    helper.join().map_err(|_| pcm::Error::Signer("a thread of it ended".to_owned()))??
                }
                None => Vec::new(),
            };
            lines.extend(rest);
            Ok::<_, pcm::Error>(lines)
        });
        lines.map_err(|error| Fault::new(FaultCode::Unavailable, error.to_string()))
    }

    /// Appends until it is known what became of it. `false`: the log had moved on, and nothing of it was written.
    async fn settle(&self, append: Append) -> Result<bool, StoreError> {
        let ours = append.streams.first().map(StreamAppend::head);
        let mut lost = None;
        for _ in 0..TRIES {
            match self.load.journal.append(append.clone()).await {
                Ok(_) => return Ok(true),
                Err(StoreError::Stale { .. }) if lost.is_none() => return Ok(false),
                // An earlier sending may be what this one ran into.
                Err(StoreError::Stale { .. }) => {
                    let Some(ours) = ours else { return Ok(false) };
                    let before = ours.seq.saturating_sub(1);
                    let stored = self.load.journal.read(&self.load.stream, before, 1).await?;
                    return Ok(stored.first().is_some_and(|entry| entry.hash == ours.hash));
                }
                Err(StoreError::Unknown(why)) => lost = Some(why),
                Err(StoreError::Unavailable(why)) if lost.is_some() => lost = Some(why),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Err(StoreError::Unknown(lost.unwrap_or_default()))
    }
}

fn set(key: &str, item: String) -> Pointer {
    Pointer::Set { key: key.to_owned(), item }
}

fn answer(commands: Vec<Waiting>, answers: Vec<Result<Answer, Fault>>) {
    for (one, answer) in commands.into_iter().zip(answers) {
        // Whoever asked may have left.
        let _ = one.reply.send(answer);
    }
}

fn refuse(commands: Vec<Waiting>, fault: &Fault) {
    for one in commands {
        let _ = one.reply.send(Err(fault.clone()));
    }
}
