//! Messages that carry their proofs, as this server receives them: judged, committed in the journal, and only then delivered
//! (spec 4.7, 4.13).

mod mark;
mod view;

pub use view::{Line, Verdict};

use crate::session::bearer;
use crate::{App, Caller, Error};
use approvals::Role;
use canon::Digest;
use env::Timestamp;
use http::HeaderMap;
use keys::SecretHash;
use ledger::{Aggregate, Head, StreamId, Who};
use mark::Mark;
use pcm::message::accepted::{Command, LETTER, Receipt, Refused, State, letter};
use pcm::message::{Accepted, At, Code, Fault, Judgement, Memory, Overall, Receiver, Replay, Seen};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Append, Runtime, StoreError, StreamAppend};

/// What receiving stands on.
#[derive(Debug)]
pub struct Setup {
    pub receiver: Receiver,
    /// Who may hand messages over beside the owner.
    pub recipients: Vec<Recipient>,
    /// The file of the mark: outside the database, and not in its backups.
    pub mark: PathBuf,
}

/// A program that receives messages.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// Which of the trust file's receivers it is.
    pub id: String,
    pub key: SecretHash,
}

/// Where messages are accepted.
#[derive(Debug)]
pub struct Desk {
    receiver: Receiver,
    recipients: Vec<Recipient>,
    mark: Mark,
    seen: Seen,
}

/// How what was accepted comes to be known where it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Nothing was ever accepted: messages issued from now on may be.
    First,
    /// It was lost: only messages issued once every clock is past this moment may be accepted.
    Anew,
    /// It is in the database, whole: other machines use it too.
    Join,
}

impl Desk {
    pub fn new(setup: Setup) -> Self {
        let Setup { receiver, recipients, mark } = setup;
        Self { receiver, recipients, mark: Mark::at(mark), seen: Seen::default() }
    }

    /// Judges a message as it would be now, and commits nothing.
    pub async fn judge(
        &self,
        runtime: &Runtime,
        bytes: &[u8],
        receiver: Option<&str>,
    ) -> Result<Judgement, Error> {
        let known = self.known(runtime).await?;
        let lost = Memory::default();
        let replay: &dyn Replay = match &known {
            Some(state) => state.as_ref(),
            None => &lost,
        };
        let at = At { now: runtime.source().now(), receiver, replay: Some(replay) };
        Ok(self.seen.verify(bytes, &self.receiver, &at))
    }

    /// Judges a message and, unless it is rejected, commits that it was accepted, durably, before it is given back. A message
    /// whose commit is not known to the caller, because this failed after it, is lost: it is never accepted again.
    pub async fn accept(
        &self,
        runtime: &Runtime,
        bytes: &[u8],
        receiver: Option<&str>,
    ) -> Result<Judgement, Error> {
        let mut judgement = self.judge(runtime, bytes, receiver).await?;
        if judgement.overall == Overall::Reject {
            return Ok(judgement);
        }
        let lost = || Error::Bug("a message that may be accepted says not whose it is".to_owned());
        let receipt = Receipt::of(&judgement, bytes).ok_or_else(lost)?;
        keep(runtime, bytes).await?;
        let command = Command::Accept(Box::new(receipt));
        match runtime.execute::<Accepted>(&stream()?, &command, None).await {
            Ok(executed) => self.mark(executed.head, Mark::advance).await?,
            Err(store::Error::Refused(Refused(code))) => {
                let place = if code == Code::Replayed { "/id" } else { "" };
                let detail = code.sentence().to_owned();
                judgement.overall = Overall::Reject;
                judgement.fault = Some(Fault { code, place: place.to_owned(), detail });
                judgement.acceptance = None;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(judgement)
    }

    /// Begins to know what is accepted. Refused: a first epoch where something was, joining a database that has none.
    pub async fn begin(&self, runtime: &Runtime, how: Begin) -> Result<State, Error> {
        let stream = stream()?;
        let (state, head) = match how {
            Begin::Join => runtime.state::<Accepted>(&stream).await?,
            Begin::First | Begin::Anew => {
                let first = how == Begin::First;
                let command = Command::Epoch { skew: self.receiver.skew(), first };
                let done = runtime.execute::<Accepted>(&stream, &command, None).await?;
                (done.state, done.head)
            }
        };
        if head == Head::EMPTY {
            return Err(unavailable("no epoch was begun in this database"));
        }
        self.mark(head, Mark::put).await?;
        Ok(state.as_ref().clone())
    }

    /// The last messages accepted before entry `before`, newest first.
    pub async fn lines(
        &self,
        runtime: &Runtime,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Line>, Error> {
        let stream = stream()?;
        let journal = runtime.journal();
        let end = match before {
            Some(before) => before.saturating_sub(1),
            None => journal.head(&stream).await?.seq,
        };
        let from = end.saturating_sub(u64::try_from(limit).unwrap_or(u64::MAX));
        let count = usize::try_from(end.saturating_sub(from)).unwrap_or(limit);
        let entries = journal.read(&stream, from, count).await?;
        let lines = entries.iter().rev().filter_map(Line::of);
        Ok(lines.collect())
    }

    /// What was accepted by that entry: its line and the message, unless it was erased.
    pub async fn message(&self, runtime: &Runtime, n: u64) -> Result<(Line, Option<Vec<u8>>), Error> {
        let journal = runtime.journal();
        let entries = journal.read(&stream()?, n.saturating_sub(1), 1).await?;
        let line = entries.first().filter(|entry| entry.seq == n).and_then(Line::of).ok_or(Error::Missing)?;
        let kept = journal.read(&letters(&line.receipt.bytes)?, 0, 1).await?;
        Ok((line, kept.into_iter().find_map(|entry| entry.payload).map(|payload| payload.bytes)))
    }

    /// Whether it is known what was accepted: only then can anything be.
    pub async fn knows(&self, runtime: &Runtime) -> Result<bool, Error> {
        Ok(self.known(runtime).await?.is_some())
    }

    /// What was found of an accepted message when it was accepted.
    pub fn as_of(&self, bytes: &[u8], at: Timestamp) -> Judgement {
        self.seen.verify(bytes, &self.receiver, &At { now: at, receiver: None, replay: None })
    }

    /// As which receiver this bearer secret hands messages over.
    fn recipient(&self, secret: &str) -> Option<&Recipient> {
        self.recipients.iter().find(|one| one.key.matches(secret))
    }

    /// What was accepted, if that is known: not without a mark, and not in a database that is behind it.
    async fn known(&self, runtime: &Runtime) -> Result<Option<Arc<State>>, Error> {
        let mark = self.mark.clone();
        let mark = blocking(move || mark.read()).await?;
        let Ok(Some(mark)) = mark else { return Ok(None) };
        let stream = stream()?;
        let state = match runtime.state::<Accepted>(&stream).await {
            Ok((state, _)) => state,
            Err(store::Error::Fault(_) | store::Error::Store(StoreError::Corrupt(_))) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let marked = runtime.journal().read(&stream, mark.seq.saturating_sub(1), 1).await?;
        let there = marked.first().is_some_and(|entry| entry.seq == mark.seq && entry.hash == mark.hash);
        Ok(there.then_some(state))
    }

    async fn mark(
        &self,
        head: Head,
        to: impl FnOnce(&Mark, Head) -> std::io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let mark = self.mark.clone();
        let moved = blocking(move || to(&mark, head)).await?;
        moved.map_err(|error| unavailable(&format!("the mark of what was accepted cannot be moved: {error}")))
    }
}

impl App {
    /// Receives messages from now on. `false` if it did already.
    pub fn receive(&self, setup: Setup) -> bool {
        self.desk_cell().set(Desk::new(setup)).is_ok()
    }

    /// Where messages are accepted; refused where this server receives none.
    pub fn desk(&self) -> Result<&Desk, Error> {
        self.desk_cell().get().ok_or_else(|| Error::Refused {
            code: "messages_off",
            who: Who::Missing,
            place: None,
            text: "this server receives no messages".to_owned(),
            retryable: false,
        })
    }

    pub fn receives_messages(&self) -> bool {
        self.desk_cell().get().is_some()
    }

    /// As which receiver these headers hand messages over: a recipient as itself, the owner as any.
    pub(crate) async fn handing_over(&self, headers: &HeaderMap) -> Result<Option<String>, Error> {
        let desk = self.desk()?;
        if let Some(secret) = bearer(headers)
            && let Some(recipient) = desk.recipient(secret)
        {
            self.buckets().credential.take(&Digest::of(secret.as_bytes()))?;
            return Ok(Some(recipient.id.clone()));
        }
        match self.authenticate(headers, None).await? {
            Caller::Member { roles, .. } if roles.contains(&Role::Owner) => Ok(None),
            Caller::Nobody => Err(Error::Unauthenticated),
            _ => Err(Error::Forbidden {
                code: "not_a_recipient",
                text: "only a recipient or the owner hands messages over".to_owned(),
            }),
        }
    }
}

fn stream() -> Result<StreamId, Error> {
    StreamId::new(Accepted::KIND, "accepted").map_err(|_| Error::Missing)
}

/// The stream of one message as it came: its content can be erased alone.
fn letters(bytes: &Digest) -> Result<StreamId, Error> {
    StreamId::new(LETTER, &bytes.to_string()).map_err(|_| Error::Missing)
}

/// Keeps a message as it came. One that is kept already stays as it is.
async fn keep(runtime: &Runtime, bytes: &[u8]) -> Result<(), Error> {
    let stream = letters(&Digest::of(bytes))?;
    let part = StreamAppend { stream, expected: Head::EMPTY, entries: vec![letter(bytes)] };
    match runtime.journal().append(Append { streams: vec![part], ..Append::default() }).await {
        Ok(_) | Err(StoreError::Stale { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Bug(error.to_string()))
}

/// What is wrong with a message or its carrier, as this server says it.
pub(crate) fn refused(fault: Fault) -> Error {
    let Fault { code, place, detail } = fault;
    let who = if code == Code::ReplayStateUnavailable { Who::Unavailable } else { Who::Caller };
    Error::Refused { code: code.as_str(), who, place: Some(place), text: detail, retryable: false }
}

fn unavailable(text: &str) -> Error {
    Error::Unavailable { code: Code::ReplayStateUnavailable.as_str(), text: text.to_owned() }
}

/// How long one message may be, in bytes, where it comes by itself or inside another.
pub const LONGEST: usize = pcm::message::MAX_MESSAGE * 2;
