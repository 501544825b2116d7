//! Connections. HTTP/1.1 straight on hyper, as long as there is something to do; a request that waits is taken out of it.

use crate::App;
use crate::guard::dress;
use crate::parking::{Exit, Manner, Parked, Socket, Wait};
use crate::router::guarded;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// A client has this long to send its request line and headers.
const HEADERS: Duration = Duration::from_secs(20);
/// Open requests get this long once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves `routes` (see [`crate::router`], with whatever was merged) behind what every request passes, and runs effects and
/// the log, until `shutdown` resolves; then waits and streams end, open requests are let finish, and the log gets what they
/// appended. At most `limits.connections` are open at a time; more wait in the listener's queue.
pub async fn serve(
    app: &App,
    routes: Router<App>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) {
    let router = guarded(app, routes);
    let worker = tokio::spawn({
        let app = app.clone();
        async move { app.work().await }
    });
    accept(app, router, listener, shutdown).await;
    if tokio::time::timeout(DRAIN, worker).await.is_err() {
        tracing::warn!("effects still running after {DRAIN:?} were cut; they run again");
    }
    if let Some(log) = app.log() {
        match tokio::time::timeout(DRAIN, log.finish()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the log lacks the last entries; the next start publishes them")
            }
            Err(_) => tracing::warn!("the log lacks the last entries; the next start publishes them"),
        }
    }
}

async fn accept(app: &App, router: Router, listener: TcpListener, shutdown: impl Future<Output = ()> + Send) {
    let connections = app.config().limits.connections;
    let places = Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)));
    let tasks = TaskTracker::new();
    let stop = app.stopping().clone();
    tokio::pin!(shutdown);
    loop {
        let place = tokio::select! {
            () = &mut shutdown => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = connection(app.clone(), router.clone(), stream, peer, stop.clone());
                tasks.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            // Out of file descriptors, most likely: let some close.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    stop.cancel();
    tasks.close();
    if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("requests still open after {DRAIN:?} were cut");
    }
}

async fn connection(app: App, router: Router, stream: TcpStream, peer: SocketAddr, stop: CancellationToken) {
    // Small answers must not wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let mut next = Next { before: Bytes::new(), stream, answer: None };
    // Boxed, so that what a connection needs while it serves is gone while it waits.
    while let Some(Left { unread, stream, wait }) = Box::pin(exchange(&router, next, peer, &stop)).await {
        next = match wait {
            Some((manner, wait)) => {
                let mut answer = wait.await;
                dress(&app, true, &mut answer);
                Next { before: [manner.again(), &unread].concat().into(), stream, answer: Some(answer) }
            }
            None => {
                let spoken = tokio::select! {
                    spoken = tokio::time::timeout(HEADERS, stream.readable()) => spoken,
                    () = stop.cancelled() => return,
                };
                if !matches!(spoken, Ok(Ok(()))) {
                    return;
                }
                Next { before: unread, stream, answer: None }
            }
        };
    }
}

/// A connection that is to be served on.
struct Next {
    /// What was read of it already.
    before: Bytes,
    stream: TcpStream,
    /// The answer to the first request.
    answer: Option<Response>,
}

/// A connection that needs no buffers for now.
struct Left {
    unread: Bytes,
    stream: TcpStream,
    /// The answer its client waits for; `None`: the client has all its answers.
    wait: Option<(Manner, Wait)>,
}

/// Serves requests until the connection ends (`None`), one of them waits, or there is none.
async fn exchange(router: &Router, next: Next, peer: SocketAddr, stop: &CancellationToken) -> Option<Left> {
    let exit = Exit::default();
    let (answer, parked) = (Mutex::new(next.answer), Mutex::new(None));
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let (answer, parked) = (locked(&answer).take(), &parked);
        let manner = Manner::of(request.version(), request.headers());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(exit.clone());
        let (router, exit) = (router.clone(), exit.clone());
        async move {
            if let Some(answer) = answer {
                return Ok(answer);
            }
            exit.asked(true);
            let mut response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
            exit.asked(false);
            match response.extensions_mut().remove::<Parked>() {
                None => Ok(response),
                Some(wait) => {
                    *locked(parked) = wait.take().map(|wait| (manner, wait));
                    // Failing is how a service gets the connection back unanswered.
                    Err(Set)
                }
            }
        }
    });
    let socket = Socket::new(next.before, next.stream, exit.clone());
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        // Else each waiting connection holds a buffer to see its client leave; a wait is over soon in any case.
        .half_close(true)
        // The answer to a wait that ended because the server stops says that the connection ends.
        .keep_alive(!stop.is_cancelled())
        .serve_connection(socket, service);
    let ended = tokio::select! {
        // First, so that an answer that is ready goes out although the server stops.
        biased;
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    let wait = locked(&parked).take();
    if wait.is_some() || (exit.is_at_rest() && !stop.is_cancelled()) {
        let parts = connection.into_parts();
        let (before, stream) = parts.io.into_inner();
        // In memory of their own: the connection's buffer goes.
        let unread = Bytes::from([parts.read_buf, before].concat());
        return Some(Left { unread, stream, wait });
    }
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
    None
}

/// The request has been set aside.
#[derive(Debug, thiserror::Error)]
#[error("the request waits elsewhere")]
struct Set;

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
