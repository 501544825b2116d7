//! Runs aggregates on a journal: load, decide, append, and again when another was faster.

use crate::journal::{Append, Idempotency, Journal, Outgoing, Remembered, StreamAppend};
use crate::slots::{Folded, Slot, Slots};
use crate::{Error, StoreError};
use canon::Digest;
use env::{Duration, Source, Timestamp};
use ledger::{Aggregate, Decision, Effect, Entry, Fault, Head, StreamId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Executes commands and gives states. Clones share one cache.
#[derive(Clone)]
pub struct Runtime {
    journal: Arc<dyn Journal>,
    source: Arc<dyn Source>,
    slots: Arc<Slots>,
}

/// A client's idempotency key on one command.
#[expect(missing_debug_implementations, reason = "the key is the client's own")]
pub struct Once<A: Aggregate> {
    /// One credential on one operation.
    pub scope: String,
    pub key: String,
    /// Digest of the request: the same key with another request is refused.
    pub request: Digest,
    /// How long the answer is kept.
    pub keep: Duration,
    /// The bytes to answer again.
    pub response: fn(&A::Answer) -> Vec<u8>,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T> {
    /// Decided now.
    Fresh(T),
    /// Decided before under the same idempotency key: the bytes kept then.
    Repeated(Vec<u8>),
}

/// An executed command: durable, and folded into `state`.
#[expect(missing_debug_implementations, reason = "a state holds what only its parties may see")]
pub struct Executed<A: Aggregate> {
    pub reply: Reply<A::Answer>,
    pub state: Arc<A::State>,
    pub head: Head,
}

/// States kept in memory unless told otherwise.
const CACHED: usize = 4096;

/// How often a command is decided again because others moved its stream.
const TRIES: u32 = 64;

/// How often one append is sent again because its answer was lost.
const RESENDS: u32 = 5;

/// Entries read from the journal at a time.
const PAGE: usize = 512;

impl Runtime {
    pub fn new(journal: Arc<dyn Journal>, source: Arc<dyn Source>) -> Self {
        Self::with_cache(journal, source, CACHED)
    }

    /// Keeps at most about `states` states in memory.
    pub fn with_cache(journal: Arc<dyn Journal>, source: Arc<dyn Source>, states: usize) -> Self {
        Self { journal, source, slots: Arc::new(Slots::new(states)) }
    }

    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// Decides `command` on the stream's newest state and appends what was decided. Returns once it is durable.
    /// A lost answer is looked up: an append that landed is never decided a second time. A refusal, and a decision
    /// that appends nothing, rest on the state as it was during this call.
    pub async fn execute<A: Aggregate>(
        &self,
        stream: &StreamId,
        command: &A::Command,
        once: Option<Once<A>>,
    ) -> Result<Executed<A>, Error<A::Refusal>> {
        let slot = self.slots.of(stream);
        // Commands of this process on one stream take turns: the loser of a race would only decide again.
        let _turn = slot.turn.lock().await;
        if let Some(once) = &once
            && let Some(kept) = self.journal.recall(&once.scope, &once.key, self.source.now()).await?
        {
            return self.repeated(&slot, stream, once, kept).await;
        }
        let mut fresh = false;
        let mut at = match slot.folded::<A>() {
            Some(folded) => folded,
            None => {
                fresh = true;
                self.load::<A>(&slot, stream, Folded::default()).await?
            }
        };
        for attempt in 0..TRIES {
            let mut env = self.source.env();
            let now = env.now();
            let decided =
                guarded(stream, || A::decide(&at.state, command, &mut env)).map_err(Error::Fault)?;
            let decision = match decided {
                Ok(decision) if fresh || once.is_some() || appends(&decision) => decision,
                Err(refusal) if fresh => {
                    slot.keep(at);
                    return Err(Error::Refused(refusal));
                }
                _ => {
                    at = self.load::<A>(&slot, stream, at).await?;
                    fresh = true;
                    continue;
                }
            };
            let answer = decision.answer.clone();
            if !appends(&decision) && once.is_none() {
                slot.keep(at.clone());
                return Ok(Executed { reply: Reply::Fresh(answer), state: at.state, head: at.head });
            }
            let (append, next) =
                prepare::<A>(stream, &at, decision, once.as_ref(), now).map_err(Error::Fault)?;
            slot.expect(Some(next.clone()));
            let settled = self.settle(stream, append).await;
            if !matches!(settled, Ok(Settled::Landed)) {
                slot.expect::<A::State>(None);
            }
            match settled? {
                Settled::Landed => {
                    slot.keep(next.clone());
                    return Ok(Executed { reply: Reply::Fresh(answer), state: next.state, head: next.head });
                }
                Settled::Stale => {
                    if attempt > 2 {
                        self.step_aside(attempt).await;
                    }
                    at = self.load::<A>(&slot, stream, at).await?;
                    fresh = true;
                }
                Settled::Repeated(kept) => match &once {
                    Some(once) => return self.repeated(&slot, stream, once, kept).await,
                    None => return Err(Error::Store(StoreError::Repeated(kept))),
                },
            }
        }
        slot.keep(at);
        Err(Error::Busy(stream.clone()))
    }

    /// The newest state of a stream, and the head it is the fold of.
    pub async fn state<A: Aggregate>(
        &self,
        stream: &StreamId,
    ) -> Result<(Arc<A::State>, Head), Error<A::Refusal>> {
        let slot = self.slots.of(stream);
        let at = self.load::<A>(&slot, stream, slot.folded::<A>().unwrap_or_default()).await?;
        slot.keep(at.clone());
        Ok((at.state, at.head))
    }

    /// Resolves when the stream's head is beyond `after`.
    pub async fn moved(&self, stream: &StreamId, after: u64) -> Result<Head, StoreError> {
        self.journal.moved(stream, after).await
    }

    /// Folds what was appended since. Most looks find nothing, or what this process has just appended and folded.
    async fn load<A: Aggregate>(
        &self,
        slot: &Slot,
        stream: &StreamId,
        mut at: Folded<A::State>,
    ) -> Result<Folded<A::State>, Error<A::Refusal>> {
        if stream.kind() != A::KIND {
            return Err(Error::Fault(Fault::new("wrong_kind", stream)));
        }
        if at.head != Head::EMPTY {
            let head = self.journal.head(stream).await?;
            if head == at.head {
                return Ok(at);
            }
            if let Some(known) = slot.at::<A>(head) {
                return Ok(known);
            }
        }
        loop {
            let page = self.journal.read(stream, at.head.seq, PAGE).await?;
            for entry in &page {
                fold::<A>(stream, &mut at, entry).map_err(Error::Fault)?;
            }
            if page.len() < PAGE {
                return Ok(at);
            }
        }
    }

    /// Appends until the outcome is known. Sending the same entries again is safe: they land once or the head moved.
    async fn settle(&self, stream: &StreamId, append: Append) -> Result<Settled, StoreError> {
        let ours = append.streams.first().map(StreamAppend::head).filter(|_| has_entries(&append));
        let mut lost = None;
        for resend in 0..=RESENDS {
            let result = self.journal.append(append.clone()).await;
            let outcome = match result {
                Ok(_) => return Ok(Settled::Landed),
                Err(StoreError::Stale { .. }) => Settled::Stale,
                Err(StoreError::Repeated(kept)) => Settled::Repeated(kept),
                Err(StoreError::Unknown(why)) => {
                    lost = Some(why);
                    self.step_aside(resend).await;
                    continue;
                }
                Err(StoreError::Unavailable(why)) if lost.is_some() => {
                    lost = Some(why);
                    self.step_aside(resend).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // An earlier sending may be what this one ran into.
            let landed = lost.is_some() && self.landed(stream, ours, &append, &outcome).await?;
            return Ok(if landed { Settled::Landed } else { outcome });
        }
        Err(StoreError::Unknown(lost.unwrap_or_default()))
    }

    async fn landed(
        &self,
        stream: &StreamId,
        ours: Option<Head>,
        append: &Append,
        outcome: &Settled,
    ) -> Result<bool, StoreError> {
        match (ours, outcome) {
            (Some(ours), _) => {
                let stored = self.journal.read(stream, ours.seq.saturating_sub(1), 1).await?;
                Ok(stored.first().is_some_and(|entry| entry.hash == ours.hash))
            }
            (None, Settled::Repeated(kept)) => Ok(append
                .idempotency
                .as_ref()
                .is_some_and(|sent| sent.request == kept.request && sent.response == kept.response)),
            (None, _) => Ok(false),
        }
    }

    async fn repeated<A: Aggregate>(
        &self,
        slot: &Slot,
        stream: &StreamId,
        once: &Once<A>,
        kept: Remembered,
    ) -> Result<Executed<A>, Error<A::Refusal>> {
        if kept.request != once.request {
            return Err(Error::KeyReused);
        }
        let at = self.load::<A>(slot, stream, slot.folded::<A>().unwrap_or_default()).await?;
        slot.keep(at.clone());
        Ok(Executed { reply: Reply::Repeated(kept.response), state: at.state, head: at.head })
    }

    /// A short random pause, longer with each attempt: those who collided should not meet again.
    async fn step_aside(&self, attempt: u32) {
        let [random, ..] = self.source.env().bytes32();
        let longest = 1_u64 << attempt.min(6);
        tokio::time::sleep(std::time::Duration::from_micros(u64::from(random) * longest * 8)).await;
    }
}

enum Settled {
    Landed,
    Stale,
    Repeated(Remembered),
}

fn appends<E, T>(decision: &Decision<E, T>) -> bool {
    !(decision.events.is_empty() && decision.effects.is_empty() && decision.pointers.is_empty())
}

fn has_entries(append: &Append) -> bool {
    append.streams.iter().any(|part| !part.entries.is_empty())
}

/// A fault inside the evaluator refuses the command; it must not take others with it.
fn guarded<T>(stream: &StreamId, run: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| Fault::new("evaluator_fault", stream))
}

fn fold<A: Aggregate>(stream: &StreamId, at: &mut Folded<A::State>, entry: &Entry) -> Result<(), Fault> {
    let event = guarded(stream, || A::open(entry, at.head))??;
    step::<A>(stream, at, &event, entry)
}

/// Folds an event that `entry` holds.
fn step<A: Aggregate>(
    stream: &StreamId,
    at: &mut Folded<A::State>,
    event: &A::Event,
    entry: &Entry,
) -> Result<(), Fault> {
    if entry.seq != at.head.seq.saturating_add(1) || entry.prev != at.head.hash {
        return Err(Fault::new("broken_chain", format!("{stream} entry {}", entry.seq)));
    }
    at.head = Head { seq: entry.seq, hash: entry.hash };
    guarded(stream, || A::evolve(Arc::make_mut(&mut at.state), event, at.head))
}

/// The append of a decision, and the state once it has landed. What is folded is the event as it was decided, which is what a
/// reader will open: every test of a debug build looks that it is.
fn prepare<A: Aggregate>(
    stream: &StreamId,
    at: &Folded<A::State>,
    decision: Decision<A::Event, A::Answer>,
    once: Option<&Once<A>>,
    now: Timestamp,
) -> Result<(Append, Folded<A::State>), Fault> {
    let mut next = at.clone();
    let mut entries = Vec::with_capacity(decision.events.len());
    for event in &decision.events {
        let entry = guarded(stream, || A::seal(event, next.head))??;
        if cfg!(debug_assertions) && guarded(stream, || A::open(&entry, next.head))?? != *event {
            return Err(Fault::new("opened_otherwise", format!("{stream} entry {}", entry.seq)));
        }
        step::<A>(stream, &mut next, event, &entry)?;
        entries.push(entry);
    }
    let outbox = decision
        .effects
        .into_iter()
        .map(|effect| {
            let due = if let Effect::Wake { at, .. } = &effect { *at } else { now };
            Outgoing { stream: stream.clone(), effect, due }
        })
        .collect();
    let idempotency = once.map(|once| Idempotency {
        scope: once.scope.clone(),
        key: once.key.clone(),
        request: once.request,
        response: (once.response)(&decision.answer),
        now,
        expires: now + once.keep,
    });
    let append = Append {
        streams: vec![StreamAppend { stream: stream.clone(), expected: at.head, entries }],
        outbox,
        pointers: decision.pointers.into_iter().map(|pointer| (stream.clone(), pointer)).collect(),
        idempotency,
    };
    Ok((append, next))
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}
