//! Where a request that only waits is kept: outside the HTTP connection and the layers around its handler, whose buffers
//! are many times what the wait itself needs.

use axum::body::Bytes;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Version, header};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// A wait, and the answer at its end.
pub(crate) type Wait = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Lets a wait out of its connection: among the extensions of each request of a connection that can.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exit(Arc<Flow>);

/// How a connection stands.
#[derive(Debug, Default)]
struct Flow {
    /// It has bytes that its client does not take yet. They would be lost.
    is_blocked: AtomicBool,
    /// A request is being answered.
    is_asked: AtomicBool,
    /// It ended only here: the client has its answers and has said nothing since.
    is_at_rest: AtomicBool,
}

/// The wait, among the extensions of the response that stands for an answer that comes later.
#[derive(Clone)]
pub(crate) struct Parked(Arc<Mutex<Option<Wait>>>);

impl Exit {
    /// The response that brings the wait to the connection and goes no further; or the wait again, to be waited for here.
    pub(crate) fn park(&self, wait: Wait) -> std::result::Result<Response, Wait> {
        if self.0.is_blocked.load(Ordering::Relaxed) {
            return Err(wait);
        }
        let mut response = Response::default();
        response.extensions_mut().insert(Parked(Arc::new(Mutex::new(Some(wait)))));
        Ok(response)
    }
}

impl Exit {
    /// A request begins, or its answer is there.
    pub(crate) fn asked(&self, asked: bool) {
        self.0.is_asked.store(asked, Ordering::Relaxed);
    }

    /// Whether the connection was left because it rests.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.0.is_at_rest.load(Ordering::Relaxed)
    }
}

impl Parked {
    pub(crate) fn take(&self) -> Option<Wait> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a later answer needs to know of the connection it goes out on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// HTTP/1.0.
    is_old: bool,
    keeps_alive: bool,
}

impl Manner {
    pub(crate) fn of(version: Version, headers: &HeaderMap) -> Self {
        let says = |word: &str| {
            let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
        };
        let is_old = version == Version::HTTP_10;
        Self { is_old, keeps_alive: if is_old { says("keep-alive") } else { !says("close") } }
    }

    /// A request in place of the one that has waited: its answer is sent as that one's would have been.
    pub(crate) const fn again(self) -> &'static [u8] {
        match (self.is_old, self.keeps_alive) {
            (false, true) => b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
            (false, false) => b"POST / HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            (true, true) => b"POST / HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
            (true, false) => b"POST / HTTP/1.0\r\ncontent-length: 0\r\n\r\n",
        }
    }
}

/// What a parked request keeps of itself: the headers that say who asks, whom, and how the answer is to be.
pub(crate) fn kept(parts: &Parts) -> HeaderMap {
    let needed = [
        header::ACCEPT,
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::COOKIE,
        header::HOST,
        header::ORIGIN,
    ];
    let mut kept = HeaderMap::new();
    for (name, value) in &parts.headers {
        if needed.contains(name) || name.as_str().starts_with("mcp-") {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

/// A client's socket, with what was read of it and not used yet. Between an answer and the next request it seems to end,
/// so that a connection that rests is left, and its buffers with it.
pub(crate) struct Socket {
    before: Bytes,
    stream: TokioIo<TcpStream>,
    exit: Exit,
    /// The last that went over it was an answer.
    has_answered: bool,
}

impl Socket {
    pub(crate) fn new(before: Bytes, stream: TcpStream, exit: Exit) -> Self {
        Self { before, stream: TokioIo::new(stream), exit, has_answered: false }
    }

    /// The socket, and what was not read again.
    pub(crate) fn into_inner(self) -> (Bytes, TcpStream) {
        (self.before, self.stream.into_inner())
    }

    fn noted(&mut self, sent: Poll<Result<usize>>) -> Poll<Result<usize>> {
        self.exit.0.is_blocked.store(sent.is_pending(), Ordering::Relaxed);
        self.has_answered = true;
        sent
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut to: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        if self.before.is_empty() {
            let read = Pin::new(&mut self.stream).poll_read(cx, to);
            let flow = &self.exit.0;
            let is_busy = flow.is_asked.load(Ordering::Relaxed) || flow.is_blocked.load(Ordering::Relaxed);
            if read.is_pending() && self.has_answered && !is_busy {
                flow.is_at_rest.store(true, Ordering::Relaxed);
                return Poll::Ready(Ok(()));
            }
            if read.is_ready() {
                self.has_answered = false;
            }
            return read;
        }
        self.has_answered = false;
        let count = self.before.len().min(to.remaining());
        to.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.noted(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.noted(sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.exit.is_at_rest() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Version, connection: &[&str], expected: &str) {
        let mut headers = HeaderMap::new();
        for value in connection {
            headers.append(header::CONNECTION, value.parse().unwrap());
        }
        let again = std::str::from_utf8(Manner::of(version, &headers).again()).unwrap();
        let mut lines = again.lines();
        let found = [lines.next().unwrap(), lines.find(|line| line.starts_with("connection")).unwrap_or("")];
        assert_eq!(found.join(" ").trim(), expected, "{version:?} {connection:?}");
    }

    #[test]
    fn a_later_answer_treats_the_connection_as_the_request_wished() {
        check(Version::HTTP_11, &[], "POST / HTTP/1.1");
        check(Version::HTTP_11, &["keep-alive"], "POST / HTTP/1.1");
        check(Version::HTTP_11, &["te, Close"], "POST / HTTP/1.1 connection: close");
        check(Version::HTTP_11, &["te", "close"], "POST / HTTP/1.1 connection: close");
        check(Version::HTTP_10, &[], "POST / HTTP/1.0");
        check(Version::HTTP_10, &["Keep-Alive"], "POST / HTTP/1.0 connection: keep-alive");
    }
}
