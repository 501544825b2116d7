//! How many event streams may be open: in all, in a room, and with one credential, where a further one ends the oldest.

use crate::Error;
use crate::config::Limits;
use canon::Digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The open event streams.
#[derive(Debug, Clone)]
pub struct Streams(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    all: usize,
    per_room: usize,
    per_credential: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    rooms: HashMap<String, Vec<Seen>>,
    count: usize,
}

#[derive(Debug)]
struct Seen {
    number: u64,
    credential: Digest,
    end: CancellationToken,
}

/// One open stream's place; dropping it frees the place.
#[derive(Debug)]
pub struct Place {
    shared: Arc<Shared>,
    room: String,
    number: u64,
    /// Cancelled when a newer stream of the same credential takes over.
    pub end: CancellationToken,
}

impl Streams {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Shared {
            all: limits.streams,
            per_room: limits.streams_per_room,
            per_credential: limits.streams_per_credential.max(1),
            open: Mutex::default(),
        }))
    }

    /// A place for one more stream of this credential in this room.
    pub fn enter(&self, room: &str, credential: Digest) -> Result<Place, Error> {
        let shared = &self.0;
        let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        let in_room = open.rooms.get(room).map_or(&[][..], Vec::as_slice);
        let mine = in_room.iter().filter(|seen| seen.credential == credential).count();
        let replaces = mine >= shared.per_credential;
        if !replaces && (open.count >= shared.all || in_room.len() >= shared.per_room) {
            return Err(Error::RateLimited { code: "too_many_streams", retry_after: 30 });
        }
        if replaces && let Some(list) = open.rooms.get_mut(room) {
            if let Some(oldest) = list.iter().position(|seen| seen.credential == credential) {
                list.remove(oldest).end.cancel();
            }
            open.count = open.count.saturating_sub(1);
        }
        let number = open.next;
        open.next = open.next.wrapping_add(1);
        open.count = open.count.saturating_add(1);
        gauge(open.count);
        let end = CancellationToken::new();
        open.rooms.entry(room.to_owned()).or_default().push(Seen { number, credential, end: end.clone() });
        drop(open);
        Ok(Place { shared: Arc::clone(shared), room: room.to_owned(), number, end })
    }
}

fn gauge(count: usize) {
    metrics::gauge!("countersign_event_streams").set(u32::try_from(count).unwrap_or(u32::MAX));
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(list) = open.rooms.get_mut(&self.room) else { return };
        let before = list.len();
        list.retain(|seen| seen.number != self.number);
        let gone = before.saturating_sub(list.len());
        if list.is_empty() {
            open.rooms.remove(&self.room);
        }
        open.count = open.count.saturating_sub(gone);
        gauge(open.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(streams: &Streams) -> usize {
        streams.0.open.lock().unwrap().count
    }

    #[test]
    fn a_further_stream_of_one_credential_ends_its_oldest() {
        let limits =
            Limits { streams: 4, streams_per_room: 3, streams_per_credential: 2, ..Limits::default() };
        let streams = Streams::new(&limits);
        let me = Digest::of(b"me");
        let first = streams.enter("r", me).unwrap();
        let second = streams.enter("r", me).unwrap();
        let third = streams.enter("r", me).unwrap();
        assert!(first.end.is_cancelled());
        assert!(!second.end.is_cancelled());
        assert_eq!(count(&streams), 2);
        let _other = streams.enter("r", Digest::of(b"other")).unwrap();
        assert!(streams.enter("r", Digest::of(b"fourth")).is_err());
        let _elsewhere = streams.enter("s", me).unwrap();
        assert!(streams.enter("t", me).is_err());
        drop(third);
        assert!(streams.enter("t", me).is_ok());
        drop(first);
        assert_eq!(count(&streams), 3);
    }
}
