//! The Unix socket (spec 3.15): one JSON object a line, the first a greeting, calls pipelined, answers in their order. Who calls is
//! whom the kernel says the peer is.

use crate::service::Service;
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use pcm::signer::rpc::{MAX_FRAME, Request, VERSIONS, reply};
use pcm::signer::{Fault, FaultCode, Identity};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

/// Whom a peer's user id is, where anybody.
pub type Peers = Arc<dyn Fn(u32) -> Option<Identity> + Send + Sync>;

/// Calls of one connection that are under way; more wait in the socket.
const UNDER_WAY: usize = 256;

/// Binds the socket. One that nobody listens on any more is replaced; with `shared` every user of the machine may connect, and
/// those who are nobody here are refused by name.
pub fn bind(path: &Path, shared: bool) -> std::io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(Error::new(ErrorKind::AddrInUse, "another signer listens there"));
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    let mode = if shared { 0o666 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

/// Serves the socket until `shutdown` resolves; calls under way are answered.
pub async fn serve(
    service: Service,
    listener: UnixListener,
    peers: Peers,
    shutdown: impl Future<Output = ()> + Send,
) {
    let tasks = TaskTracker::new();
    let stop = tokio_util::sync::CancellationToken::new();
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (service, peers, stop) = (service.clone(), Arc::clone(&peers), stop.clone());
                tasks.spawn(async move {
                    tokio::select! {
                        () = connection(service, stream, peers) => {}
                        () = stop.cancelled() => {}
                    }
                });
            }
            // Out of file descriptors, most likely: let some close.
            Err(error) => {
                tracing::warn!(%error, "a connection to the signer was not accepted");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

async fn connection(service: Service, stream: UnixStream, peers: Peers) {
    let who = stream.peer_cred().ok().and_then(|peer| peers(peer.uid()));
    let (read, write) = stream.into_split();
    let (frames, queue) = mpsc::channel(UNDER_WAY);
    tokio::join!(read_frames(read, frames), answer_frames(service, who, queue, write));
}

/// Frames as they come; one that is too long is told and ends the connection.
async fn read_frames(from: OwnedReadHalf, frames: mpsc::Sender<Result<Vec<u8>, Fault>>) {
    let mut from = BufReader::with_capacity(64 << 10, from);
    loop {
        let mut line = Vec::new();
        let most = u64::try_from(MAX_FRAME).unwrap_or(u64::MAX).saturating_add(1);
        match (&mut from).take(most).read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        if line.pop() != Some(b'\n') {
            let long =
                Fault::new(FaultCode::InvalidRequest, "a frame is at most 1 MiB and ends with a line end");
            let _ = frames.send(Err(long)).await;
            return;
        }
        if frames.send(Ok(line)).await.is_err() {
            return;
        }
    }
}

async fn answer_frames(
    service: Service,
    who: Option<Identity>,
    mut queue: mpsc::Receiver<Result<Vec<u8>, Fault>>,
    mut to: OwnedWriteHalf,
) {
    let mut greeted = false;
    let mut under_way = FuturesOrdered::new();
    let mut open = true;
    while open || !under_way.is_empty() {
        tokio::select! {
            biased;
            Some(first) = under_way.next(), if !under_way.is_empty() => {
                // What else is ready goes out in the same write.
                let mut bytes: Vec<u8> = first;
                bytes.push(b'\n');
                while let Some(Some(more)) = futures::FutureExt::now_or_never(under_way.next()) {
                    bytes.extend::<Vec<u8>>(more);
                    bytes.push(b'\n');
                }
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            frame = queue.recv(), if open && under_way.len() < UNDER_WAY => match frame {
                None => open = false,
                Some(frame) => {
                    let (service, who) = (service.clone(), who.clone());
                    let was = std::mem::replace(&mut greeted, true);
                    // First polled in the order of the frames, so they reach the writer in it.
                    under_way.push_back(async move { one(&service, who.as_ref(), was, frame).await });
                }
            }
        }
    }
}

async fn one(
    service: &Service,
    who: Option<&Identity>,
    greeted: bool,
    frame: Result<Vec<u8>, Fault>,
) -> Vec<u8> {
    let frame = match frame {
        Ok(frame) => frame,
        Err(fault) => return reply(&Err(fault)),
    };
    if !greeted {
        return hello(&frame);
    }
    let Some(who) = who else {
        return reply(&Err(Fault::new(FaultCode::Unauthenticated, "this user is nobody here")));
    };
    let outcome = match Request::parse(&frame) {
        Ok(request) => service.call(who, request).await,
        Err(fault) => Err(fault),
    };
    reply(&outcome)
}

/// The greeting: what is spoken here. Refused: any other first frame, a version that is not spoken.
fn hello(frame: &[u8]) -> Vec<u8> {
    let refused = |why: &str| reply(&Err(Fault::new(FaultCode::InvalidRequest, why)));
    let Ok(value) = canon::parse(frame) else { return refused("the first frame is no strict JSON") };
    if value.get("method").and_then(canon::Value::as_str) != Some("hello") {
        return refused("the first frame greets: {\"method\":\"hello\"}");
    }
    let [oldest, newest] = VERSIONS;
    match value.get("proto") {
        Some(asked) if !asked.as_u64().is_some_and(|asked| (oldest..=newest).contains(&asked)) => {
            refused("this version is not spoken here")
        }
        _ => format!(
            "{{\"pid\":{},\"proto\":[{oldest},{newest}],\"version\":\"{}\"}}",
            std::process::id(),
            env!("CARGO_PKG_VERSION")
        )
        .into_bytes(),
    }
}
