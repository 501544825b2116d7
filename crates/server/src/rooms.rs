//! Rooms: every command and question a caller can put to one. Each is one execution on the room's stream; who may do
//! what is decided by the room itself, from the [`Actor`] this module works out.

use crate::caller::{Link, LinkKind};
use crate::once::Once;
use crate::{App, Caller, Error};
use approvals::{Audience, MemberId, OrgId, Right};
use canon::Digest;
use env::Timestamp;
use ledger::{Head, StreamId};
use pxp::command::{self, Disclosed, Scope};
use pxp::wire::Source;
use pxp::{
    Actor, By, CardInput, ClaimId, Command, EnvelopeInput, Refusal, Reply, Room, RoomId, SeatId, Sent,
    ShareId, State,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A seat taken.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Joined {
    pub room_id: String,
    pub seat: String,
    /// The seat's new link; the invite is dead. Absent when only the label changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub your_link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal_link: Option<String>,
}

/// A share link just made.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SharedLink {
    pub id: String,
    pub link: String,
}

/// One line of a list of rooms.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RoomLine {
    pub room_id: String,
    pub topic: String,
    /// `drafting`, `negotiating`, `paused`, `agreed`, `stalled` or `withdrawn`.
    pub status: String,
    /// The seats of the one who asks.
    pub seats: Vec<String>,
    pub opened_at: String,
    pub web_view: String,
}

/// Where a caller stands in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standpoint {
    pub room: RoomId,
    pub actor: Actor,
    /// The seat they act for; `None` for a share link.
    pub seat: Option<SeatId>,
}

impl App {
    /// Takes a seat with its invite, or, as the seat, changes the agent's label.
    pub async fn join_room(
        &self,
        caller: &Caller,
        room: &RoomId,
        agent: Option<String>,
        key: Option<keys::PublicKey>,
        once: Option<Once>,
    ) -> Result<Joined, Error> {
        let reply = match Once::repeated(once.as_ref())? {
            Some(reply) => reply,
            None => {
                let at = self.standpoint(caller, room, None).await?;
                let seat = at.seat()?;
                let join = command::Join { actor: at.actor, seat, agent, key, principal: None };
                self.execute(room, Command::Join(join), once).await?
            }
        };
        match reply {
            Reply::Joined { seat, seat_secret, principal_link } => Ok(Joined {
                room_id: room.to_string(),
                seat: seat.to_string(),
                your_link: seat_secret
                    .map(|secret| self.room_link(room, LinkKind::Seat, Some(seat), secret.expose())),
                principal_link: principal_link
                    .map(|secret| self.room_link(room, LinkKind::Principal, Some(seat), secret.expose())),
            }),
            // The agent of the seat, whose credential goes on.
            Reply::Done => Ok(Joined {
                room_id: room.to_string(),
                seat: self.standpoint(caller, room, None).await?.seat()?.to_string(),
                your_link: None,
                principal_link: None,
            }),
            _ => Err(unexpected("join")),
        }
    }

    /// Seals the caller's card. Gives its hash.
    pub async fn seal_card(
        &self,
        caller: &Caller,
        room: &RoomId,
        card: CardInput,
        once: Option<Once>,
    ) -> Result<Digest, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let seal = command::Seal { seat: at.seat()?, actor: at.actor, card };
        match self.execute(room, Command::Seal(seal), once).await? {
            Reply::Sealed { card_hash, .. } => Ok(card_hash),
            _ => Err(unexpected("seal")),
        }
    }

    /// Sends an envelope. `msg_id` makes a retry the same message; a seat with a key signs.
    pub async fn send_envelope(
        &self,
        caller: &Caller,
        room: &RoomId,
        envelope: EnvelopeInput,
        msg_id: Option<String>,
        signature: Option<String>,
        once: Option<Once>,
    ) -> Result<Sent, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let send = command::Send { seat: at.seat()?, actor: at.actor, msg_id, envelope, signature };
        match self.execute(room, Command::Send(send), once).await? {
            Reply::Sent(sent) => Ok(sent),
            _ => Err(unexpected("send")),
        }
    }

    /// Attaches a source that anyone can fetch and compare.
    pub async fn attach_source(
        &self,
        caller: &Caller,
        room: &RoomId,
        claim: ClaimId,
        source: Source,
        once: Option<Once>,
    ) -> Result<(), Error> {
        let at = self.standpoint(caller, room, None).await?;
        let attach = command::AttachSource { seat: at.seat()?, actor: at.actor, claim, source };
        self.done(room, Command::AttachSource(attach), once).await
    }

    /// Withdraws one offer, or with none named leaves the room, which ends it.
    pub async fn withdraw(
        &self,
        caller: &Caller,
        room: &RoomId,
        offer_hash: Option<Digest>,
        reason: String,
        once: Option<Once>,
    ) -> Result<(), Error> {
        let at = self.standpoint(caller, room, None).await?;
        let seat = at.seat()?;
        let command = match offer_hash {
            Some(offer_hash) => {
                Command::WithdrawOffer(command::WithdrawOffer { actor: at.actor, seat, offer_hash, reason })
            }
            None => Command::Leave(command::Leave { actor: at.actor, seat, reason }),
        };
        self.done(room, command, once).await
    }

    /// Shows the card, or one clause of it, to another seat.
    pub async fn disclose(
        &self,
        caller: &Caller,
        room: &RoomId,
        to: SeatId,
        what: Disclosed,
        once: Option<Once>,
    ) -> Result<(), Error> {
        let at = self.standpoint(caller, room, None).await?;
        let disclose = command::Disclose { seat: at.seat()?, actor: at.actor, to, what };
        self.done(room, Command::Disclose(disclose), once).await
    }

    /// Makes a share link.
    pub async fn share(
        &self,
        caller: &Caller,
        room: &RoomId,
        scope: Scope,
        expires_at: Option<Timestamp>,
        once: Option<Once>,
    ) -> Result<SharedLink, Error> {
        let at = self.standpoint(caller, room, None).await?;
        let share = command::Share { seat: at.seat()?, actor: at.actor, scope, expires_at };
        match self.execute(room, Command::Share(share), once).await? {
            Reply::Shared { id, secret } => Ok(SharedLink {
                id: id.to_string(),
                link: self.room_link(room, LinkKind::Share, None, secret.expose()),
            }),
            _ => Err(unexpected("share")),
        }
    }

    pub async fn unshare(
        &self,
        caller: &Caller,
        room: &RoomId,
        share: ShareId,
        once: Option<Once>,
    ) -> Result<(), Error> {
        let at = self.standpoint(caller, room, None).await?;
        let unshare = command::Unshare { seat: at.seat()?, actor: at.actor, share };
        self.done(room, Command::Unshare(unshare), once).await
    }

    /// Replaces the seat's secret; the old link is dead. Gives the new one.
    pub async fn rotate(&self, caller: &Caller, room: &RoomId, once: Option<Once>) -> Result<String, Error> {
        let reply = match Once::repeated(once.as_ref())? {
            Some(reply) => reply,
            None => {
                let at = self.standpoint(caller, room, None).await?;
                let rotate = command::Rotate { seat: at.seat()?, actor: at.actor };
                self.execute(room, Command::Rotate(rotate), once).await?
            }
        };
        match reply {
            Reply::Rotated { seat, seat_secret } => {
                Ok(self.room_link(room, LinkKind::Seat, Some(seat), seat_secret.expose()))
            }
            _ => Err(unexpected("rotate")),
        }
    }

    /// Stops the room at once, or lets it go on ([`App::switch`]).
    pub async fn pause(
        &self,
        caller: &Caller,
        room: &RoomId,
        reason: Option<String>,
        once: Option<Once>,
    ) -> Result<(), Error> {
        let actor = self.switch(caller, room).await?;
        let command = match reason {
            Some(reason) => Command::Pause(command::Pause { actor, reason }),
            None => Command::Resume(command::Resume { actor }),
        };
        self.done(room, command, once).await
    }

    /// The rooms a member (or their agent) has a part in, newest first by id order of the index.
    pub async fn list_rooms(&self, caller: &Caller, limit: usize) -> Result<Vec<RoomLine>, Error> {
        let (org, member) = match caller {
            Caller::Member { session, .. } => (session.org.clone(), session.member.clone()),
            Caller::Agent { org, member, .. } => (org.clone(), member.clone()),
            Caller::Seat { room, .. } | Caller::Principal { room, .. } => {
                return Ok(vec![self.room_line(caller, room).await?]);
            }
            _ => return Err(Error::Unauthenticated),
        };
        let mut lines = Vec::new();
        for key in [format!("rooms/{org}/{member}"), format!("rooms/{org}/approvers")] {
            for (_, stream) in self.journal().find(&key, "", limit).await? {
                let Ok(room) = stream.id().parse::<RoomId>() else { continue };
                let known = lines.iter().any(|line: &RoomLine| line.room_id == room.as_str());
                if !known && let Ok(line) = self.room_line(caller, &room).await {
                    lines.push(line);
                }
            }
        }
        lines.sort_by(|one, two| two.opened_at.cmp(&one.opened_at));
        lines.truncate(limit);
        Ok(lines)
    }

    /// The state of a room and the head it is the fold of.
    pub async fn room_state(&self, room: &RoomId) -> Result<(Arc<State>, Head), Error> {
        Ok(self.runtime().state::<Room>(&room_stream(room)?).await?)
    }

    /// Where the caller stands in the room, and its state. The same refusal whether or not there is such a room.
    pub async fn standpoint(
        &self,
        caller: &Caller,
        room: &RoomId,
        seat: Option<SeatId>,
    ) -> Result<Standpoint, Error> {
        let actor = match caller {
            Caller::Nobody => return Err(Error::Unauthenticated),
            Caller::Seat { room: of, seat } if of == room => Actor::Seat { seat: *seat },
            Caller::Invite { room: of, seat } if of == room => Actor::Invite { seat: *seat },
            Caller::Link { room: of, seat } if of == room => Actor::Link { seat: *seat },
            Caller::Principal { room: of, seat } if of == room => {
                Actor::Principal { seat: *seat, by: By::Holder }
            }
            Caller::Share { room: of, id, scope } if of == room => {
                Actor::Share { id: id.clone(), scope: *scope }
            }
            Caller::Member { session, .. } => {
                self.as_principal(&session.org, &session.member, room, seat).await?
            }
            _ => return Err(Error::Missing),
        };
        let own = match &actor {
            Actor::Seat { seat }
            | Actor::Principal { seat, .. }
            | Actor::Invite { seat }
            | Actor::Link { seat } => Some(*seat),
            Actor::Share { .. } | Actor::Opener { .. } | Actor::Server => None,
        };
        Ok(Standpoint { room: room.clone(), actor, seat: own })
    }

    /// Whether the caller has something to do (their card, their turn, the end): `None`, or the wait for it. With `since`,
    /// the number of the last entry they have seen, a question to their principal wakes them once and not again.
    pub(crate) async fn await_turn(
        &self,
        headers: &http::HeaderMap,
        link: Option<&str>,
        since: Option<u64>,
        seconds: Option<u64>,
    ) -> Result<Option<Turn>, Error> {
        let link = Link::parse(&self.config().public_url, link.unwrap_or_default())?;
        let caller = self.authenticate(headers, Some(&link)).await?;
        let seat = self.standpoint(&caller, &link.room, None).await?.seat()?;
        let (state, head) = self.room_state(&link.room).await?;
        if ready(&state, seat, head.seq, since) {
            return Ok(None);
        }
        let stream = room_stream(&link.room)?;
        Ok(Some(Turn { app: self.clone(), stream, seat, since, end: self.end_of_wait(seconds) }))
    }

    /// Waits until the room has moved beyond `since`. Gives whether time ran out.
    pub async fn wait_moved(&self, room: &RoomId, since: u64, seconds: Option<u64>) -> Result<bool, Error> {
        let end = self.end_of_wait(seconds);
        self.wait_until(&room_stream(room)?, end, |_, head| head.seq > since).await
    }

    fn end_of_wait(&self, seconds: Option<u64>) -> Instant {
        let longest = self.config().limits.wait_seconds;
        let seconds = seconds.filter(|seconds| *seconds > 0).unwrap_or(20).min(longest);
        Instant::now() + Duration::from_secs(seconds)
    }

    async fn wait_until(
        &self,
        stream: &StreamId,
        end: Instant,
        enough: impl Fn(&State, Head) -> bool,
    ) -> Result<bool, Error> {
        loop {
            let (state, head) = self.runtime().state::<Room>(stream).await?;
            if enough(&state, head) {
                return Ok(false);
            }
            drop(state);
            tokio::select! {
                moved = self.runtime().moved(stream, head.seq) => { moved?; }
                () = tokio::time::sleep_until(end) => return Ok(true),
                () = self.stopping().cancelled() => return Ok(true),
            }
        }
    }

    /// Runs a command on a room; a repeated one gives the answer kept then.
    pub(crate) async fn execute(
        &self,
        room: &RoomId,
        command: Command,
        once: Option<Once>,
    ) -> Result<Reply, Error> {
        // The switch of an organization stops its rooms; the clock, which only ends things, goes on.
        if !matches!(command, Command::Tick | Command::Open(_)) && self.is_stopped(room).await? {
            return Err(Error::of(&Refusal::Paused));
        }
        let keep = once.map(|once| once.keep::<Room>(|reply| canon::to_vec(reply).unwrap_or_default()));
        let executed = self.runtime().execute::<Room>(&room_stream(room)?, &command, keep).await?;
        match executed.reply {
            store::Reply::Fresh(reply) => Ok(reply),
            store::Reply::Repeated(bytes) => Ok(canon::from_slice(&bytes)?),
        }
    }

    pub(crate) async fn done(
        &self,
        room: &RoomId,
        command: Command,
        once: Option<Once>,
    ) -> Result<(), Error> {
        self.execute(room, command, once).await.map(|_| ())
    }

    /// The seat of this room that a member answers for: the named one, else the first.
    async fn as_principal(
        &self,
        org: &OrgId,
        member: &MemberId,
        room: &RoomId,
        seat: Option<SeatId>,
    ) -> Result<Actor, Error> {
        let person = self.person(org, member).await?;
        let (state, _) = self.room_state(room).await?;
        state
            .seats
            .iter()
            .filter(|of| seat.is_none_or(|seat| of.id == seat))
            .find_map(|of| {
                let right = person.right(of.principal.audience.as_ref()?)?;
                let acting_for = match right {
                    Right::Own => None,
                    Right::For(other) => Some(other),
                };
                let by = By::Member { org: org.clone(), member: member.clone(), acting_for };
                Some(Actor::Principal { seat: of.id, by })
            })
            .ok_or(Error::Missing)
    }

    async fn room_line(&self, caller: &Caller, room: &RoomId) -> Result<RoomLine, Error> {
        let (state, _) = self.room_state(room).await?;
        let opened = state.room.as_ref().ok_or(Error::Missing)?;
        let seats = self.standpoint(caller, room, None).await.ok().and_then(|at| at.seat);
        Ok(RoomLine {
            room_id: room.to_string(),
            topic: opened.topic.clone(),
            status: pxp::view::status(&state).to_owned(),
            seats: seats.iter().map(ToString::to_string).collect(),
            opened_at: opened.at.to_string(),
            web_view: self.config().link(&format!("/room/{room}")),
        })
    }

    /// As whom the caller holds the room's switch: as the person of seat A, or as a member who may stop things in the
    /// organization of that person. Another organization has its own switch, which stops the room too.
    pub async fn switch(&self, caller: &Caller, room: &RoomId) -> Result<Actor, Error> {
        let at = self.standpoint(caller, room, Some(SeatId::A)).await;
        if let Ok(Standpoint { actor: actor @ Actor::Principal { seat, .. }, .. }) = at
            && seat == SeatId::A
        {
            return Ok(actor);
        }
        if let Caller::Member { session, roles } = caller
            && approvals::may(roles, approvals::Power::Stop)
        {
            let (state, _) = self.room_state(room).await?;
            let of_a = state.seat(SeatId::A).and_then(|seat| seat.principal.audience.as_ref());
            if of_a.and_then(Audience::org) == Some(&session.org) {
                return Ok(Actor::Server);
            }
        }
        self.standpoint(caller, room, None).await?;
        Err(Error::Forbidden {
            code: "not_permitted",
            text: "only the person of seat A and their organization may stop a room".to_owned(),
        })
    }
}

/// A seat that waits for its turn.
pub(crate) struct Turn {
    app: App,
    stream: StreamId,
    seat: SeatId,
    since: Option<u64>,
    end: Instant,
}

impl Turn {
    /// Gives whether time ran out.
    pub(crate) async fn wait(self) -> Result<bool, Error> {
        let Self { app, stream, seat, since, end } = self;
        app.wait_until(&stream, end, |state, head| ready(state, seat, head.seq, since)).await
    }
}

impl Standpoint {
    /// The seat the caller acts for; a share link acts for none.
    pub fn seat(&self) -> Result<SeatId, Error> {
        self.seat.ok_or_else(|| Error::Forbidden {
            code: "not_permitted",
            text: "a share link only reads".to_owned(),
        })
    }
}

/// The stream of a room.
pub(crate) fn room_stream(room: &RoomId) -> Result<StreamId, Error> {
    StreamId::new("room", room.as_str()).map_err(|_| Error::Missing)
}

/// Whether a seat's agent has something to do. What only its person can do wakes it once.
fn ready(state: &State, seat: SeatId, head: u64, since: Option<u64>) -> bool {
    use pxp::state::Phase;
    let moved = since.is_none_or(|since| head > since);
    match &state.phase {
        Phase::Ended(_) => true,
        Phase::Drafting => moved && state.seat(seat).is_some_and(|own| own.card_hash.is_none()),
        Phase::Negotiating => state.turn == Some(seat) && (state.paused.is_none() || moved),
        Phase::Awaiting(_) => moved && state.pending().is_some_and(|question| question.seat == seat),
    }
}

pub(crate) fn unexpected(what: &str) -> Error {
    Error::Bug(format!("a room gave another reply than '{what}' has"))
}
