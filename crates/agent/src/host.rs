//! The host's side: our own standard input and output, which must not block whatever they are.

use crate::hub::Event;
use crate::lines::Lines;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Tells the hub what the host says, until the host closes its side.
pub async fn listen(input: Reader, events: mpsc::Sender<Event>) {
    let mut lines = Lines::new(input);
    while let Ok(Some(line)) = lines.next().await {
        if events.send(Event::Host(line)).await.is_err() {
            return;
        }
    }
    let _ = events.send(Event::HostClosed).await;
}

/// Writes what the hub says to the host. Ends once the hub has let go and everything is written.
pub async fn speak(
    mut output: Writer,
    mut lines: mpsc::UnboundedReceiver<String>,
    events: mpsc::Sender<Event>,
) {
    let mut batch = Vec::new();
    while let Some(line) = lines.recv().await {
        batch.clear();
        push(&mut batch, &line);
        while let Ok(line) = lines.try_recv() {
            push(&mut batch, &line);
        }
        if output.write_all(&batch).await.is_err() || output.flush().await.is_err() {
            let _ = events.send(Event::HostClosed).await;
            return;
        }
    }
}

fn push(batch: &mut Vec<u8>, line: &str) {
    batch.extend_from_slice(line.as_bytes());
    batch.push(b'\n');
}

/// Standard input: without a thread of its own where it is a pipe or a socket.
pub fn input() -> io::Result<Reader> {
    let own: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let again = own.try_clone()?;
    if let Ok(pipe) = pipe::Receiver::from_owned_fd(own) {
        return Ok(Box::new(pipe));
    }
    match socket(again) {
        Ok(socket) => Ok(Box::new(socket)),
        Err(_) => Ok(Box::new(tokio::io::stdin())),
    }
}

/// Standard output, as [`input`].
pub fn output() -> io::Result<Writer> {
    io::stdout().flush()?;
    let own: OwnedFd = io::stdout().as_fd().try_clone_to_owned()?;
    let again = own.try_clone()?;
    if let Ok(pipe) = pipe::Sender::from_owned_fd(own) {
        return Ok(Box::new(pipe));
    }
    match socket(again) {
        Ok(socket) => Ok(Box::new(socket)),
        Err(_) => Ok(Box::new(tokio::io::stdout())),
    }
}

/// Some hosts give their servers sockets for pipes.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdStream::from(fd);
    stream.local_addr()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
