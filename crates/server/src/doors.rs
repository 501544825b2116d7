//! Links of principals that no agent may be given (W-02). An agent that opens a room or takes a seat speaks for somebody
//! whom this server does not know: that person's link goes to whoever runs the server, who hands it on.

use crate::opening::{OpenRoom, Opened, SeatLink};
use crate::rooms::room_stream;
use crate::{App, Caller, Error, Joined, Once};
use canon::Digest;
use env::{Duration, Timestamp};
use ledger::Pointer;
use pxp::{RoomId, SeatId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use store::{Append, Idempotency, StoreError};
use tokio::sync::broadcast;

/// How many are kept in memory, and listed at most.
const MOST: usize = 500;

/// How long one is kept in the store.
const KEEP: Duration = Duration::from_secs(90 * 24 * 3600);
/// Where they are kept, sealed as every answer is; and the pointers that list them.
const SCOPE: &str = "door";
const INDEX: &str = "doors";

/// One principal's link, good once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    pub room: RoomId,
    pub seat: SeatId,
    /// What whoever opened the room calls the person.
    pub name: String,
    pub topic: String,
    pub link: String,
    pub at: Timestamp,
}

/// The links that this process gave out, and who is told of them. All links of all processes are in the store.
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

    fn tell(&self, door: Door) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(door.clone());
        drop(kept);
        // Nobody may be listening.
        let _ = self.told.send(door);
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
        let at = self.now();
        let door = |seat: SeatId, link: String| Door {
            room: room.clone(),
            seat,
            name: names.get(seat.index()).cloned().unwrap_or_default(),
            topic: topic.clone(),
            link,
            at,
        };
        if let Some(link) = opened.principal_link.take() {
            self.keep_door(door(SeatId::A, link)).await?;
        }
        let seat = |link: &SeatLink| link.seat.parse::<SeatId>().ok();
        let of_principal = |link: &SeatLink| {
            seat(link).is_some_and(|seat| played.get(seat.index()).copied().unwrap_or(false))
        };
        let (principals, invites) = opened.invites.into_iter().partition(of_principal);
        opened.invites = invites;
        for link in principals {
            if let Some(seat) = seat(&link) {
                self.keep_door(door(seat, link.link)).await?;
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
            self.keep_door(Door { room: room.clone(), seat, name, topic, link, at: self.now() }).await?;
        }
        Ok(joined)
    }

    /// The links that still let somebody in, newest first, whichever process gave them out.
    pub async fn open_doors(&self) -> Result<Vec<Door>, Error> {
        let mut open = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.journal().find(INDEX, &after, MOST).await?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            for (item, _) in page {
                let kept = self.journal().recall(SCOPE, &item, self.now()).await?;
                let Some(kept) = kept else { continue };
                let door: Door = canon::from_slice(&kept.response)?;
                let (state, _) = self.room_state(&door.room).await?;
                let waits = state.seat(door.seat).is_some_and(|seat| seat.principal.audience.is_none());
                if waits && !state.is_ended() {
                    open.push(door);
                } else {
                    let clear = Pointer::Clear { key: INDEX.to_owned(), item };
                    let pointers = vec![(room_stream(&door.room)?, clear)];
                    self.journal().append(Append { pointers, ..Append::default() }).await?;
                }
            }
        }
        open.sort_by_key(|one| std::cmp::Reverse(one.at));
        open.truncate(MOST);
        Ok(open)
    }

    /// Keeps a link and tells of it. One that is kept already came with a repeated request.
    async fn keep_door(&self, door: Door) -> Result<(), Error> {
        let item = format!("{}:{}", door.room, door.seat);
        let set = Pointer::Set { key: INDEX.to_owned(), item: item.clone() };
        let kept = Idempotency {
            scope: SCOPE.to_owned(),
            key: item,
            request: Digest::of(door.link.as_bytes()),
            response: canon::to_vec(&door)?,
            now: self.now(),
            expires: self.now() + KEEP,
        };
        let append = Append {
            pointers: vec![(room_stream(&door.room)?, set)],
            idempotency: Some(kept),
            ..Append::default()
        };
        match self.journal().append(append).await {
            Ok(_) => self.doors().tell(door),
            Err(StoreError::Repeated(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("room", &self.room).field("seat", &self.seat).finish_non_exhaustive()
    }
}
