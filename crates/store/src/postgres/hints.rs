//! Hints between processes: what moved is told by NOTIFY after the commit, and looked up all the same.
//!
//! NOTIFY inside the append's transaction would make all commits of the database wait for one another. So each
//! process tells the others afterwards, many streams at once. A hint that is lost, with its process or its
//! connection, costs time only: the streams somebody waits for are looked at by themselves too.

use super::lanes::Lanes;
use crate::hub::Hub;
use env::Source;
use ledger::{Head, StreamId};
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Row};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const CHANNEL: &str = "countersign";
/// PostgreSQL refuses payloads of 8000 bytes.
const PAYLOAD: usize = 7800;
/// Between two notifications: a stream that moves on its own is told at once, a thousand a second together.
const PAUSE: Duration = Duration::from_millis(2);
/// How often awaited streams are looked at while hints arrive, and while they cannot.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_DEAF: Duration = Duration::from_millis(50);
const LOOK_CHUNK: usize = 1000;

/// What this process has committed.
#[derive(Debug)]
pub(super) struct Moved {
    pub streams: Vec<(StreamId, u64)>,
    pub outbox: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Hints(mpsc::UnboundedSender<Moved>);

impl Hints {
    pub fn tell(&self, moved: Moved) {
        // Without a teller there is nobody to tell: the pool is closed.
        let _ = self.0.send(moved);
    }
}

/// Starts telling, listening and looking.
pub(super) fn start(pool: &PgPool, lanes: &Lanes, hub: &Hub, tasks: &mut JoinSet<()>) -> Hints {
    let (sender, receiver) = mpsc::unbounded_channel();
    let origin = env::System.env().id(16);
    let hears = Arc::new(AtomicBool::new(false));
    tasks.spawn(tell(lanes.clone(), receiver, origin.clone()));
    tasks.spawn(listen(pool.clone(), hub.clone(), origin, Arc::clone(&hears)));
    tasks.spawn(look(pool.clone(), hub.clone(), hears));
    Hints(sender)
}

/// A payload is the origin, then lines `stream seq`, and `!` if the outbox has new rows.
async fn tell(lanes: Lanes, mut moved: mpsc::UnboundedReceiver<Moved>, origin: String) {
    while let Some(first) = moved.recv().await {
        let mut streams = HashMap::new();
        let mut outbox = false;
        let mut next = Some(first);
        while let Some(Moved { streams: some, outbox: new }) = next {
            streams.extend(some);
            outbox |= new;
            next = moved.try_recv().ok();
        }
        let mut payload = origin.clone();
        if outbox {
            payload.push_str("\n!");
        }
        for (stream, seq) in streams {
            let line = format!("\n{stream} {seq}");
            if payload.len().saturating_add(line.len()) > PAYLOAD {
                notify(&lanes, &payload).await;
                payload.clone_from(&origin);
            }
            payload.push_str(&line);
        }
        notify(&lanes, &payload).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn notify(lanes: &Lanes, payload: &str) {
    let Ok(mut lane) = lanes.take().await else { return };
    // NOTIFY takes a transaction number, so its commit is logged: nobody need wait for the disk. What is told of is
    // durable already.
    let sent = sqlx::query("SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)")
        .bind(CHANNEL)
        .bind(payload)
        .execute(&mut lane.connection)
        .await;
    match sent {
        Ok(_) => lane.done(),
        Err(error) => tracing::debug!(%error, "a hint was lost"),
    }
}

async fn listen(pool: PgPool, hub: Hub, origin: String, hears: Arc<AtomicBool>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&pool).await
            && listener.listen(CHANNEL).await.is_ok()
        {
            hears.store(true, Ordering::Relaxed);
            // `None` is a connection lost: what was told meanwhile is found by looking.
            while let Ok(Some(hint)) = listener.try_recv().await {
                hear(&hub, &origin, hint.payload());
            }
        }
        hears.store(false, Ordering::Relaxed);
        if pool.is_closed() {
            break;
        }
        tokio::time::sleep(LOOK_DEAF).await;
    }
}

fn hear(hub: &Hub, origin: &str, payload: &str) {
    let mut lines = payload.lines();
    if lines.next() == Some(origin) {
        return;
    }
    for line in lines {
        if line == "!" {
            hub.outgoing();
        } else if let Some((stream, seq)) = line.split_once(' ')
            && let (Ok(stream), Ok(seq)) = (stream.parse(), seq.parse())
        {
            hub.moved(&stream, hinted(seq));
        }
    }
    hub.grown(None);
}

/// A waiter needs the number only; it reads the head itself.
fn hinted(seq: u64) -> Head {
    Head { seq, ..Head::EMPTY }
}

async fn look(pool: PgPool, hub: Hub, hears: Arc<AtomicBool>) {
    while !pool.is_closed() {
        tokio::time::sleep(if hears.load(Ordering::Relaxed) { LOOK } else { LOOK_DEAF }).await;
        for streams in hub.awaited().chunks(LOOK_CHUNK) {
            let names: Vec<&str> = streams.iter().map(StreamId::as_str).collect();
            let rows = sqlx::query(
                "SELECT s.place, (SELECT e.seq FROM entry e WHERE e.stream = s.stream ORDER BY e.seq DESC LIMIT 1)
                 FROM unnest($1::text[]) WITH ORDINALITY AS s (stream, place)",
            )
            .bind(names)
            .fetch_all(&pool)
            .await;
            for row in rows.unwrap_or_default() {
                let place = row.try_get::<i64, _>(0).ok().and_then(|place| usize::try_from(place).ok());
                let seq =
                    row.try_get::<Option<i64>, _>(1).ok().flatten().and_then(|seq| u64::try_from(seq).ok());
                if let (Some(place), Some(seq)) = (place, seq)
                    && let Some(stream) = streams.get(place.saturating_sub(1))
                {
                    hub.moved(stream, hinted(seq));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hints_of_others_wake_and_nothing_else_does() {
        let hub = Hub::default();
        let stream: StreamId = "room/one".parse().unwrap();
        let mut outbox = hub.outbox();
        let mut waiter = hub.subscribe(&stream);
        let mut check = |payload: &str, woken: bool, rows: bool| {
            hear(&hub, "me", payload);
            let heard = futures::FutureExt::now_or_never(waiter.beyond(4)).is_some();
            assert_eq!((heard, outbox.has_changed().unwrap()), (woken, rows), "{payload}");
            outbox.mark_unchanged();
        };
        check("me\n!\nroom/one 9", false, false);
        check("you\nroom/two 9\nroom/one x\n\n?", false, false);
        check("you\n!\nroom/one 4", false, true);
        check("you\nroom/one 5", true, false);
    }
}
