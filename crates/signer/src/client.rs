//! A client of the signer's socket: one connection, calls pipelined, answers in their order.

use crate::attest::Attest;
use async_trait::async_trait;
use pcm::signer::rpc::{Request, VERSIONS};
use pcm::signer::{Fault, FaultCode};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};

/// A signer behind its socket. A connection that breaks is made anew by the next call; what was under way then is answered
/// [`FaultCode::Unavailable`], and may be sent again as it was.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    line: tokio::sync::Mutex<Option<Line>>,
}

type Reply = oneshot::Sender<Vec<u8>>;

/// Who waits for an answer, in the order in which they asked.
type Waiting = Mutex<VecDeque<Reply>>;

#[derive(Debug, Clone)]
struct Line(mpsc::UnboundedSender<(Vec<u8>, Reply)>);

/// The longest answer, with its line end.
const LONGEST: usize = 64 << 20;

impl Client {
    /// Connects and greets. Refused: no signer there, or one of another version.
    pub async fn connect(path: &Path) -> Result<Self, Fault> {
        let line = Line::open(path).await?;
        Ok(Self { path: path.to_owned(), line: tokio::sync::Mutex::new(Some(line)) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn line(&self) -> Result<Line, Fault> {
        let mut line = self.line.lock().await;
        match &*line {
            Some(open) if !open.0.is_closed() => Ok(open.clone()),
            _ => {
                let open = Line::open(&self.path).await?;
                *line = Some(open.clone());
                Ok(open)
            }
        }
    }
}

#[async_trait]
impl Attest for Client {
    async fn call(&self, request: Request) -> Result<Vec<u8>, Fault> {
        let frame = request.frame()?;
        // A wait would hold up what comes after it on the same connection.
        let line = match request {
            Request::ApprovalWait(_) => Line::open(&self.path).await?,
            _ => self.line().await?,
        };
        line.ask(frame).await
    }
}

impl Line {
    async fn open(path: &Path) -> Result<Self, Fault> {
        let stream = UnixStream::connect(path)
            .await
            .map_err(|error| gone(&format!("no signer at {}: {error}", path.display())))?;
        let (read, write) = stream.into_split();
        let (calls, queue) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        tokio::spawn(async move {
            // Either end is the end of both; whoever still waits then is told by its reply being dropped.
            tokio::select! {
                () = send(write, queue, &waiting) => {}
                () = receive(read, &waiting) => {}
            }
            lock(&waiting).clear();
        });
        let line = Self(calls);
        let greeting =
            line.ask(format!("{{\"method\":\"hello\",\"proto\":{}}}", VERSIONS[1]).into_bytes()).await?;
        let hello = canon::parse(&greeting).map_err(|error| gone(&error.to_string()))?;
        let speaks = hello.get("proto").and_then(canon::Value::as_array).unwrap_or_default();
        match speaks {
            [from, to] if from.as_u64() <= Some(VERSIONS[1]) && Some(VERSIONS[1]) <= to.as_u64() => Ok(line),
            _ => {
                let said = hello.pointer("/error/message").and_then(canon::Value::as_str);
                Err(gone(said.unwrap_or("the signer speaks another version")))
            }
        }
    }

    async fn ask(&self, frame: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let (reply, answer) = oneshot::channel();
        self.0.send((frame, reply)).map_err(|_| gone("the connection to the signer is closed"))?;
        answer.await.map_err(|_| gone("the connection to the signer broke"))
    }
}

/// Sends calls, those that wait together in one write. Ends with the connection.
async fn send(
    mut to: OwnedWriteHalf,
    mut queue: mpsc::UnboundedReceiver<(Vec<u8>, Reply)>,
    waiting: &Waiting,
) {
    while let Some(first) = queue.recv().await {
        let mut bytes = Vec::new();
        let mut next = Some(first);
        while let Some((frame, reply)) = next {
            bytes.extend(frame);
            bytes.push(b'\n');
            lock(waiting).push_back(reply);
            next = queue.try_recv().ok();
        }
        if to.write_all(&bytes).await.is_err() {
            break;
        }
    }
}

async fn receive(from: OwnedReadHalf, waiting: &Waiting) {
    let mut from = BufReader::with_capacity(64 << 10, from);
    loop {
        let mut line = Vec::new();
        match from.read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 && line.ends_with(b"\n") && line.len() <= LONGEST => {}
            _ => break,
        }
        line.pop();
        let reply = lock(waiting).pop_front();
        match reply {
            // Whoever asked may have left.
            Some(reply) => drop(reply.send(line)),
            None => break,
        }
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, VecDeque<Reply>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone(why: &str) -> Fault {
    Fault::new(FaultCode::Unavailable, why)
}
