//! Connections. HTTP/1.1 straight on hyper: a parked request costs little beside its connection.

use crate::App;
use crate::router::guarded;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
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
/// the log, until `shutdown` resolves; then waits and streams end and open requests are let finish. At most
/// `limits.connections` are open at a time; more wait in the listener's queue.
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
                let connection = connection(router.clone(), stream, peer, stop.clone());
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

async fn connection(router: Router, stream: TcpStream, peer: SocketAddr, stop: CancellationToken) {
    // Small answers must not wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        // Else each waiting connection holds a buffer to see its client leave; a wait is over soon in any case.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
