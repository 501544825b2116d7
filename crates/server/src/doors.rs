//! Links of principals that no agent may be given (W-02). An agent that opens a room or takes a seat speaks for somebody
//! whom this server does not know: that person's link goes to whoever runs the server, who hands it on.

use crate::opening::{OpenRoom, Opened, SeatLink};
use crate::{App, Caller, Error, Joined, Once};
use pxp::{RoomId, SeatId};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;

/// How many are kept; older ones go first.
const MOST: usize = 500;

/// One principal's link, good once.
#[derive(Clone, PartialEq, Eq)]
pub struct Door {
    pub room: RoomId,
    pub seat: SeatId,
    /// What whoever opened the room calls the person.
    pub name: String,
    pub topic: String,
    pub link: String,
}

/// The links of this process, in memory only: a link that nobody took before the process ends is gone.
#[derive(Debug)]
pub struct Doors {
    kept: Mutex<VecDeque<Door>>,
    told: broadcast::Sender<Door>,
}

impl Default for Doors {
    fn default() -> Self {
        Self { kept: Mutex::default(), told: broadcast::channel(64).0 }
    }
}

impl Doors {
    /// Every link kept from now on.
    pub fn follow(&self) -> broadcast::Receiver<Door> {
        self.told.subscribe()
    }

    /// The link of a seat's principal.
    pub fn of(&self, room: &RoomId, seat: SeatId) -> Option<Door> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|door| door.room == *room && door.seat == seat).cloned()
    }

    /// Newest first.
    pub fn all(&self) -> Vec<Door> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }

    fn keep(&self, door: Door) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A repeated request is answered with the same link.
        if kept.contains(&door) {
            return;
        }
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(door.clone());
        drop(kept);
        // Nobody may be listening.
        let _ = self.told.send(door);
    }

    fn forget(&self, door: &Door) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|kept| kept != door);
    }
}

impl App {
    /// Opens a room for a caller who may be an agent: the answer holds a principal's link only for a person who is
    /// signed in.
    pub async fn open_for_agent(
        &self,
        caller: &Caller,
        address: IpAddr,
        input: OpenRoom,
        once: Option<Once>,
    ) -> Result<Opened, Error> {
        let names: Vec<String> = std::iter::once(&input.name)
            .chain(input.others.iter().map(|other| &other.name))
            .cloned()
            .collect();
        let topic = input.topic.clone();
        let played: Vec<bool> =
            std::iter::once(false).chain(input.others.iter().map(|other| other.proxy.is_some())).collect();
        let mut opened = self.open_room(caller, address, input, once).await?;
        if matches!(caller, Caller::Member { .. }) {
            return Ok(opened);
        }
        let room: RoomId = opened.room_id.parse().map_err(|_| Error::Bug("a room id".to_owned()))?;
        let door = |seat: SeatId, link: String| Door {
            room: room.clone(),
            seat,
            name: names.get(seat.index()).cloned().unwrap_or_default(),
            topic: topic.clone(),
            link,
        };
        if let Some(link) = opened.principal_link.take() {
            self.doors().keep(door(SeatId::A, link));
        }
        let seat = |link: &SeatLink| link.seat.parse::<SeatId>().ok();
        let of_principal = |link: &SeatLink| {
            seat(link).is_some_and(|seat| played.get(seat.index()).copied().unwrap_or(false))
        };
        let (principals, invites) = opened.invites.into_iter().partition(of_principal);
        opened.invites = invites;
        for link in principals {
            if let Some(seat) = seat(&link) {
                self.doors().keep(door(seat, link.link));
            }
        }
        Ok(opened)
    }

    /// Takes a seat for a caller who may be an agent: the answer never holds the principal's link. A person takes the seat in
    /// the console.
    pub async fn join_for_agent(
        &self,
        caller: &Caller,
        room: &RoomId,
        agent: Option<String>,
        key: Option<keys::PublicKey>,
        once: Option<Once>,
    ) -> Result<Joined, Error> {
        let mut joined = self.join_room(caller, room, agent, key, once).await?;
        if let Some(link) = joined.principal_link.take() {
            let (state, _) = self.room_state(room).await?;
            let seat: SeatId = joined.seat.parse().map_err(|_| Error::Bug("a seat".to_owned()))?;
            let name = state.seat(seat).map(|seat| seat.name.clone()).unwrap_or_default();
            let topic = state.room.as_ref().map(|room| room.topic.clone()).unwrap_or_default();
            self.doors().keep(Door { room: room.clone(), seat, name, topic, link });
        }
        Ok(joined)
    }

    /// The links that still let somebody in, newest first.
    pub async fn open_doors(&self) -> Result<Vec<Door>, Error> {
        let mut open = Vec::new();
        for door in self.doors().all() {
            let (state, _) = self.room_state(&door.room).await?;
            let waits = state.seat(door.seat).is_some_and(|seat| seat.principal.audience.is_none());
            if waits && !state.is_ended() {
                open.push(door);
            } else {
                self.doors().forget(&door);
            }
        }
        Ok(open)
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("room", &self.room).field("seat", &self.seat).finish_non_exhaustive()
    }
}
