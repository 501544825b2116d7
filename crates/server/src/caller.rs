//! Who sends a request, as far as its credentials show.

use crate::session::{Session, bearer};
use crate::{App, Error};
use approvals::people::{Act, By, Command};
use approvals::{MemberId, OrgId, Organization, Person, Role};
use canon::Digest;
use http::HeaderMap;
use ledger::StreamId;
use pxp::{Actor, RoomId, Scope, SeatId, ShareId};
use std::collections::BTreeSet;
use url::Url;

/// Who sends a request. A room's own credential goes before a person's, a bearer header before a cookie.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    Nobody,
    /// The agent that holds a seat.
    Seat {
        room: RoomId,
        seat: SeatId,
    },
    /// Somebody who was invited to a seat and has not taken it.
    Invite {
        room: RoomId,
        seat: SeatId,
    },
    /// Somebody with the one-time link by which a seat's person enrols.
    Link {
        room: RoomId,
        seat: SeatId,
    },
    /// A seat's person, by their own credential for this room.
    Principal {
        room: RoomId,
        seat: SeatId,
    },
    Share {
        room: RoomId,
        id: ShareId,
        scope: Scope,
    },
    /// A signed-in person.
    Member {
        session: Session,
        roles: BTreeSet<Role>,
    },
    /// A member's agent, by its key.
    Agent {
        org: OrgId,
        member: MemberId,
        key: String,
    },
}

/// A link to a room, as handed out: `<public>/room/<id>#seat=A&t=<secret>`. The secret is in the fragment, which browsers
/// do not send; `i` is an invite, `p` a principal's link, `s` a share.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    pub room: RoomId,
    pub secret: Option<String>,
}

/// What a link's secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Seat,
    Invite,
    Principal,
    Share,
}

impl LinkKind {
    const fn letter(self) -> char {
        match self {
            Self::Seat => 't',
            Self::Invite => 'i',
            Self::Principal => 'p',
            Self::Share => 's',
        }
    }
}

impl Link {
    /// Only the room: the credential comes otherwise.
    pub const fn to(room: RoomId) -> Self {
        Self { room, secret: None }
    }

    /// Reads a link, whole or relative to the public URL; whose host it names does not matter. A secret in the query is
    /// read too.
    pub fn parse(public: &Url, text: &str) -> Result<Self, Error> {
        let bad = || Error::malformed("bad_link", "/link", "this is no link to a room");
        let url = public.join(text.trim()).map_err(|_| bad())?;
        let room = url.path().trim_end_matches('/').rsplit_once("/room/").ok_or_else(bad)?.1;
        let room = room.parse().map_err(|_| bad())?;
        let pairs = |text: &str| -> Option<String> {
            url::form_urlencoded::parse(text.as_bytes())
                .find(|(key, _)| matches!(key.as_ref(), "t" | "i" | "p" | "s"))
                .map(|(_, secret)| secret.into_owned())
        };
        let secret = url.fragment().and_then(pairs).or_else(|| url.query().and_then(pairs));
        Ok(Self { room, secret })
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({})", self.room)
    }
}

impl App {
    /// A link to hand out.
    pub fn room_link(&self, room: &RoomId, kind: LinkKind, seat: Option<SeatId>, secret: &str) -> String {
        let seat = seat.map(|seat| format!("seat={seat}&")).unwrap_or_default();
        self.config().link(&format!("/room/{room}#{seat}{}={secret}", kind.letter()))
    }

    /// Who sends these headers, in view of a room if a link names one. A credential that is presented and not known is
    /// refused, as is one that is used too often; without any the caller is [`Caller::Nobody`].
    pub async fn authenticate(&self, headers: &HeaderMap, link: Option<&Link>) -> Result<Caller, Error> {
        let (caller, credential) = self.identify(headers, link).await?;
        if let Some(credential) = credential {
            self.buckets().credential.take(&credential)?;
        }
        Ok(caller)
    }

    /// Like [`App::authenticate`], without counting the use. With the digest of the credential that was good.
    pub(crate) async fn identify(
        &self,
        headers: &HeaderMap,
        link: Option<&Link>,
    ) -> Result<(Caller, Option<Digest>), Error> {
        let used = |secret: &str| Some(Digest::of(secret.as_bytes()));
        let held = bearer(headers);
        if let Some(link) = link {
            let cookie = self.seals().room_secret(headers, link.room.as_str());
            let secrets = [held, link.secret.as_deref(), cookie.as_deref()];
            for secret in secrets.into_iter().flatten() {
                if let Some(caller) = self.room_caller(&link.room, secret).await? {
                    return Ok((caller, used(secret)));
                }
            }
        }
        if let Some(secret) = held {
            return Ok((self.agent(secret).await?, used(secret)));
        }
        if let Some(session) = self.seals().session(headers, self.now())
            && let Some(roles) = self.session_roles(&session).await?
        {
            let credential = used(&session.name);
            return Ok((Caller::Member { session, roles }, credential));
        }
        let presented = link.is_some_and(|link| link.secret.is_some());
        if presented { Err(Error::Unauthenticated) } else { Ok((Caller::Nobody, None)) }
    }

    /// Whose secret this is in the room; `None` if it is nobody's or there is no such room.
    async fn room_caller(&self, room: &RoomId, secret: &str) -> Result<Option<Caller>, Error> {
        let (state, _) = self.room_state(room).await?;
        let room = room.clone();
        Ok(state.authenticate(secret, self.now()).and_then(|actor| match actor {
            Actor::Seat { seat } => Some(Caller::Seat { room, seat }),
            Actor::Invite { seat } => Some(Caller::Invite { room, seat }),
            Actor::Link { seat } => Some(Caller::Link { room, seat }),
            Actor::Principal { seat, .. } => Some(Caller::Principal { room, seat }),
            Actor::Share { id, scope } => Some(Caller::Share { room, id, scope }),
            Actor::Opener { .. } | Actor::Server => None,
        }))
    }

    /// The agent whose key this is, in whichever organization. Its use is recorded at most daily.
    async fn agent(&self, secret: &str) -> Result<Caller, Error> {
        let now = self.now();
        for org in &self.config().organizations {
            let stream = org_stream(org)?;
            let (state, _) = self.runtime().state::<Organization>(&stream).await?;
            let Ok(key) = state.agent(secret, now) else { continue };
            let (id, member) = (key.id.clone(), key.member.clone());
            if state.wants_touch(&id, now) {
                let touch = Command { by: By::Server, act: Act::TouchAgentKey { key: id.clone() } };
                self.runtime().execute::<Organization>(&stream, &touch, None).await?;
            }
            return Ok(Caller::Agent { org: OrgId(org.clone()), member, key: id });
        }
        Err(Error::Unauthenticated)
    }

    /// The roles of a session's member, if the session was not ended and its epoch still holds.
    async fn session_roles(&self, session: &Session) -> Result<Option<BTreeSet<Role>>, Error> {
        if self.is_ended(&session.name).await? {
            return Ok(None);
        }
        let (state, _) = self.runtime().state::<Organization>(&org_stream(&session.org.0)?).await?;
        Ok(state.session(&session.member, session.epoch).ok().map(|member| member.roles.clone()))
    }

    /// The person behind a member, with what was delegated to them.
    pub(crate) async fn person(&self, org: &OrgId, member: &MemberId) -> Result<Person, Error> {
        let (state, _) = self.runtime().state::<Organization>(&org_stream(&org.0)?).await?;
        state.person(member, self.now()).map_err(|error| Error::of(&error))
    }
}

/// The stream of an organization.
pub(crate) fn org_stream(org: &str) -> Result<StreamId, Error> {
    StreamId::new("org", org).map_err(|_| Error::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, Option<&str>)>) {
        let public = Url::parse("https://sign.example/base/").unwrap();
        let link = Link::parse(&public, text).ok();
        let found = link.as_ref().map(|link| (link.room.as_str(), link.secret.as_deref()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn links() {
        check("https://sign.example/room/abc#seat=A&t=s3cret", Some(("abc", Some("s3cret"))));
        check("https://other.example/room/abc#seat=A&t=s3cret", Some(("abc", Some("s3cret"))));
        check("/room/abc?seat=A&t=s3cret", Some(("abc", Some("s3cret"))));
        check("/room/abc/#i=x", Some(("abc", Some("x"))));
        check("/room/abc", Some(("abc", None)));
        check("/rooms/abc#t=x", None);
        check("/room/a b#t=x", None);
        check("", None);
        check("http://[::1", None);
    }
}
