//! The service: what its transports call. Whatever changes something goes to the one writer and is answered once it is durable.

use crate::attest::Attest;
use crate::writer::{Job, Load, Told, Writer};
use async_trait::async_trait;
use canon::Value;
use env::{Duration, Source, Timestamp};
use keys::Signer;
use ledger::StreamId;
use pcm::signer::rpc::{Answer, ApprovalWait, Request, VERSIONS, reply};
use pcm::signer::{
    Answered, Command, Fault, FaultCode, House, Identity, Limits, Note, Policy, Secrets, State,
};
use pcm::write::{number, object, text};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::{Journal, Log, StoreError};
use tokio::sync::{mpsc, oneshot, watch};

/// What a signer is made of.
pub struct Setup {
    pub journal: Arc<dyn Journal>,
    pub source: Arc<dyn Source>,
    /// Signs records.
    pub key: Arc<dyn Signer>,
    /// Signs checkpoints and nothing else; the log is over the stream [`stream`].
    pub log: Log,
    pub policy: Policy,
    /// 32 bytes that only this signer knows: salts and run tokens derive from it.
    pub secret: [u8; 32],
    /// The organization whose approvers are asked.
    pub org: String,
    /// Where people answer: before the approval's name.
    pub asks: String,
    pub approval_lasts: Duration,
    /// It declares no key: for whoever only reads beside a signer that runs.
    pub reads_only: bool,
}

/// A signer in this process. Clones share it.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

pub(crate) struct Inner {
    pub journal: Arc<dyn Journal>,
    pub source: Arc<dyn Source>,
    pub key: Arc<dyn Signer>,
    pub log: Log,
    pub policy: Policy,
    pub house: House,
    pub org: String,
    pub asks: String,
    queue: mpsc::Sender<Job>,
    /// Counts the batches in which an approval changed.
    moved: watch::Receiver<u64>,
    waits: Mutex<HashMap<String, usize>>,
    /// Of each identity with a rate: what it has left, in millionths of a call, and when that was.
    paces: Mutex<HashMap<String, (u64, Timestamp)>>,
}

/// The stream of the log's records.
pub fn stream() -> StreamId {
    // INVARIANT: the literal is a stream's name.
    #[expect(clippy::expect_used, reason = "a constant")]
    "evidence/log".parse().expect("a stream id")
}

/// Calls that wait for the writer; more wait at its door.
const QUEUE: usize = 8192;

/// How long a wait lasts unless told otherwise, and at most; how many one identity has at a time (spec 3.16).
const WAIT_MS: u64 = 30_000;
const LONGEST_WAIT_MS: u64 = 300_000;
const WAITS: usize = 8;

/// How long a decision is good by its own word (spec 3.16).
const DECISION_LASTS: Duration = Duration::from_secs(300);

impl Service {
    /// Opens the log, or begins it: the first record declares the key. A key that the log does not know yet takes over from the
    /// one before. Refused: a key that the log has retired, and a log that does not hold.
    pub async fn open(setup: Setup) -> Result<Self, Fault> {
        let Setup { journal, source, key, log, policy, secret, org, asks, approval_lasts, reads_only } =
            setup;
        policy.check().map_err(|error| Fault::new(FaultCode::InvalidRequest, error.to_string()))?;
        let house = House {
            secrets: Secrets::new(&secret),
            policy: policy.hash().prefixed(),
            engine: concat!("countersign@", env!("CARGO_PKG_VERSION")).to_owned(),
            decision_lasts: DECISION_LASTS,
            approval_lasts,
            limits: Limits::default(),
        };
        let load = Load { journal: Arc::clone(&journal), stream: stream(), kid: key.public().spki_kid() };
        let (state, before) = load.first(&source).await?;
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (moves, moved) = watch::channel(0);
        let writer = Writer {
            load,
            source: Arc::clone(&source),
            key: Arc::clone(&key),
            house: house.clone(),
            org: org.clone(),
            moves,
            queue: queue.downgrade(),
        };
        let runtime = tokio::runtime::Handle::current();
        std::thread::Builder::new()
            .name("signer".to_owned())
            .spawn(move || writer.run(state, jobs, &runtime))
            .map_err(|error| Fault::new(FaultCode::Unavailable, error.to_string()))?;
        let service = Self(Arc::new(Inner {
            journal,
            source,
            key,
            log,
            policy,
            house,
            org,
            asks,
            queue,
            moved,
            waits: Mutex::default(),
            paces: Mutex::default(),
        }));
        if !reads_only && let Some(retires) = before.takes_over(&service.0.key.public())? {
            service.perform(Command::Key { key: service.0.key.public(), retires }).await?;
        }
        Ok(service)
    }

    /// The log of its records.
    pub fn log(&self) -> &Log {
        &self.0.log
    }
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }
    /// The organization whose approvers are asked.
    pub fn org(&self) -> &str {
        &self.0.org
    }
    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Lets time pass, and feeds the log, until `shutdown` resolves.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let mut shutdown = std::pin::pin!(shutdown);
        let ticks = async {
            let mut clock = tokio::time::interval(TICK);
            clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                clock.tick().await;
                if let Err(error) = self.perform(Command::Tick).await {
                    tracing::warn!(%error, "the signer's clock");
                }
            }
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let feed = self.0.log.run(async {
            let _ = stopped.await;
        });
        tokio::pin!(feed);
        tokio::select! {
            () = &mut shutdown => {}
            () = ticks => {}
            () = &mut feed => {}
        }
        drop(stop);
        if let Err(error) = self.0.log.finish().await {
            tracing::warn!(%error, "the evidence log's last checkpoint");
        }
    }

    /// One call of one identity.
    pub async fn call(&self, who: &Identity, request: Request) -> Result<Answer, Fault> {
        match request {
            Request::Status => self.status(who),
            Request::CheckpointNudge => {
                let size = self.look(State::size).await?;
                self.0.log.covering(size).await.map_err(unavailable)?;
                Ok(Answer::Other(object(vec![("scheduled", Value::Bool(true))])?))
            }
            Request::ApprovalWait(of) => self.wait(who, of).await,
            Request::ApprovalGet(of) => {
                let (who, now) = (who.clone(), self.0.source.now());
                let told = self.look(move |state| state.told(&who, of.approval_id.as_str(), now)).await??;
                Ok(Answer::Told(Box::new(told)))
            }
            Request::ApprovalList(of) => {
                let (who, now) = (who.clone(), self.0.source.now());
                Ok(Answer::Page(self.look(move |state| state.page(&who, &of, now)).await?))
            }
            Request::Read(of) => self.read(who, &of).await,
            Request::Reveal(of) => self.reveal(who, &of).await,
            Request::MessageSend(of) => self.message_send(who, &of).await,
            Request::MessageStatus(of) => self.message_status(&of).await,
            Request::GrantRequest(of) => self.grant_request(who, of).await,
            Request::GrantDelegate(of) => self.grant_delegate(who, of).await,
            Request::GrantRevoke(of) => self.grant_revoke(who, of).await,
            request => self.plain(who, request).await,
        }
    }

    /// A call that the core decides.
    pub(crate) async fn plain(&self, who: &Identity, request: Request) -> Result<Answer, Fault> {
        self.paced(who)?;
        let asks = matches!(request, Request::ApprovalRequest(_));
        let mut command = Command::call(who, request, &self.0.policy, &self.0.house.secrets)?;
        if let Command::Call(called) = &mut command
            && let Some(run) = called.registers()
        {
            called.taken = self.first_of(run).await?.is_some();
        }
        let answer = self.perform(command).await?;
        if asks {
            typed(&answer).map(|standing| self.with_link(Answer::Approval(standing)))
        } else {
            Ok(answer)
        }
    }

    /// A person's answer to an approval. Who they are, and that they may, was verified.
    pub async fn answer(&self, answered: Answered) -> Result<Answer, Fault> {
        self.perform(Command::Answer(Box::new(answered))).await
    }

    /// Says in a run that something was signed.
    pub(crate) async fn note(&self, note: Note) -> Result<Answer, Fault> {
        self.perform(Command::Note(note)).await
    }

    /// Refused: a call of an identity that has called as often as it may.
    fn paced(&self, who: &Identity) -> Result<(), Fault> {
        const CALL: u64 = 1_000_000;
        let Some(rate) = who.rate.map(u64::from).filter(|rate| *rate > 0) else { return Ok(()) };
        let (burst, now) = (rate.saturating_mul(2 * CALL), self.0.source.now());
        let mut paces = self.0.paces.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, at) = paces.entry(who.name.clone()).or_insert((burst, now));
        let passed = now.since(*at).as_micros();
        *left = left.saturating_add(passed.saturating_mul(rate)).min(burst);
        *at = now;
        match left.checked_sub(CALL) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(Fault {
                retry_after_ms: Some((CALL - *left) / rate / 1000 + 1),
                ..Fault::new(FaultCode::QuotaExceeded, "as many calls a second as this identity may make")
            }),
        }
    }

    async fn perform(&self, command: Command) -> Result<Answer, Fault> {
        let (reply, answer) = oneshot::channel();
        self.0.queue.send(Job::Do(Box::new(command), reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Looks at the state, as it is durable.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let (reply, answer) = oneshot::channel();
        let look = move |state: &State| -> Told {
            let found = look(state);
            Box::new(move || drop(reply.send(found)))
        };
        self.0.queue.send(Job::Look(Box::new(look))).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())
    }

    fn status(&self, who: &Identity) -> Result<Answer, Fault> {
        let (scheme, subject) = who.parts();
        let identity = object(vec![
            ("scheme", text(scheme.to_owned())),
            ("subject", text(subject.to_owned())),
            ("attested", Value::Bool(true)),
        ])?;
        let signer =
            object(vec![("name", text("countersign")), ("version", text(env!("CARGO_PKG_VERSION")))])?;
        let [_, newest] = VERSIONS;
        Ok(Answer::Other(object(vec![
            ("rpc_version", number(newest)?),
            ("signer", signer),
            ("identity", identity),
        ])?))
    }

    async fn wait(&self, who: &Identity, of: ApprovalWait) -> Result<Answer, Fault> {
        let _place = Place::take(&self.0, &who.name)?;
        let longest = of.timeout_ms.unwrap_or(WAIT_MS).min(LONGEST_WAIT_MS);
        let end = tokio::time::Instant::now() + std::time::Duration::from_millis(longest);
        let mut moved = self.0.moved.clone();
        loop {
            moved.mark_unchanged();
            let (by, id, now) = (who.clone(), of.approval_id.clone(), self.0.source.now());
            let standing = self.look(move |state| state.standing(&by, id.as_str(), now)).await??;
            if standing.state.is_settled() || tokio::time::timeout_at(end, moved.changed()).await.is_err() {
                return Ok(self.with_link(Answer::Approval(standing)));
            }
        }
    }

    fn with_link(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Approval(mut standing) => {
                standing.url = Some(format!("{}{}", self.0.asks, standing.approval_id));
                Answer::Approval(standing)
            }
            other => other,
        }
    }
}

/// How often the signer looks at the time.
const TICK: std::time::Duration = std::time::Duration::from_millis(500);

/// One of the waits an identity may have.
struct Place<'a> {
    inner: &'a Inner,
    name: String,
}

impl<'a> Place<'a> {
    fn take(inner: &'a Inner, name: &str) -> Result<Self, Fault> {
        let mut waits = inner.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = waits.entry(name.to_owned()).or_default();
        if *taken >= WAITS {
            return Err(Fault {
                retry_after_ms: Some(1000),
                ..Fault::new(FaultCode::QuotaExceeded, "as many calls wait as this identity may have")
            });
        }
        *taken += 1;
        Ok(Self { inner, name: name.to_owned() })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waits = self.inner.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = waits.get_mut(&self.name) {
            *taken -= 1;
            if *taken == 0 {
                waits.remove(&self.name);
            }
        }
    }
}

/// A client in the signer's own process, as one identity.
#[derive(Debug, Clone)]
pub struct Seat {
    pub service: Service,
    pub who: Identity,
}

#[async_trait]
impl Attest for Seat {
    async fn call(&self, request: Request) -> Result<Vec<u8>, Fault> {
        Ok(reply(&self.service.call(&self.who, request).await))
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("log", self.0.log.origin()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("org", &self.org).finish_non_exhaustive()
    }
}

/// An answer as what it is, also where it is remembered of an earlier sending.
pub(crate) fn typed<T: for<'de> serde::Deserialize<'de>>(answer: &Answer) -> Result<T, Fault> {
    let bytes = canon::to_vec(answer).map_err(pcm::Error::from)?;
    Ok(canon::from_slice(&bytes).map_err(pcm::Error::from)?)
}

pub(crate) fn unavailable(error: StoreError) -> Fault {
    Fault::new(FaultCode::Unavailable, error.to_string())
}

fn ended() -> Fault {
    Fault::new(FaultCode::Unavailable, "the signer does not answer now")
}
