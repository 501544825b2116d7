//! Opening a room: who may, under which policy, and the links that are handed out once.

use crate::caller::LinkKind;
use crate::limits::bucket;
use crate::once::Once;
use crate::rooms::unexpected;
use crate::{App, Caller, Error};
use approvals::{Audience, MemberId, OrgId};
use pxp::command::{self, Driver, Invite, Relayed, SeatPlan};
use pxp::{Actor, Bearer, By, Command, Policy, Reply, RoomId, SeatId};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A room to open. Seat A is the opener's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRoom {
    pub topic: String,
    /// The display name of the opener's principal.
    pub name: String,
    /// The label of the opener's agent.
    pub agent: Option<String>,
    /// If given, seat A signs every envelope with it.
    pub key: Option<keys::PublicKey>,
    /// The other seats, in order.
    pub others: Vec<OtherSeat>,
    /// Any approver of the opener's organization answers for seat A, instead of the opener alone.
    pub for_organization: bool,
    pub max_turns: Option<u32>,
    /// A relayed answer waits until the person confirms it.
    pub hold_relayed: Option<bool>,
}

/// A seat of somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSeat {
    pub name: String,
    /// The configured proxy that plays it; without one an agent joins by its invite.
    pub proxy: Option<String>,
}

/// A room just opened, with the links that are handed out once.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Opened {
    pub room_id: String,
    /// For the opener's agent.
    pub your_link: String,
    /// For the opener's principal, who enrols with it. Absent where the principal is a member of an organization here, and
    /// where an agent opened the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal_link: Option<String>,
    pub invites: Vec<SeatLink>,
}

/// The one-time link of a seat: an invite for the agent that joins, or, for a seat that this server plays, the link by which
/// its person enrols and seals the card.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeatLink {
    pub seat: String,
    pub link: String,
}

impl App {
    /// Opens a room. In sign-in mode by a member or their agent only.
    pub async fn open_room(
        &self,
        caller: &Caller,
        address: IpAddr,
        input: OpenRoom,
        once: Option<Once>,
    ) -> Result<Opened, Error> {
        let owner = self.opener(caller).await?;
        self.check_proxies(&input.others)?;
        self.may_open(owner.as_ref(), address)?;
        let room: RoomId = self.env().id(10).parse().map_err(|_| Error::Bug("a fresh room id".to_owned()))?;
        let open = self.opening(&room, owner.as_ref(), &input);
        let built_in: Vec<(usize, String)> = input
            .others
            .iter()
            .enumerate()
            .filter_map(|(index, other)| Some((index.saturating_add(1), other.proxy.clone()?)))
            .collect();
        let executed = self.execute(&room, Command::Open(open), once).await?;
        let Reply::Opened { room, seat, seat_secret, principal_link, invites } = executed else {
            return Err(unexpected("open"));
        };
        if let Some((org, member)) = &owner {
            tracing::info!(%room, %org, %member, "room opened");
        }
        let mut links = Vec::new();
        for Invite { seat, secret } in invites {
            links.push(SeatLink {
                seat: seat.to_string(),
                link: self.room_link(&room, LinkKind::Invite, Some(seat), secret.expose()),
            });
        }
        for (index, proxy) in built_in {
            let Some(seat) = SeatId::at(index) else { continue };
            links.retain(|link| link.seat != seat.to_string());
            if let Some(secret) = self.seat_proxy(&room, seat, proxy).await? {
                links.push(SeatLink {
                    seat: seat.to_string(),
                    link: self.room_link(&room, LinkKind::Principal, Some(seat), secret.expose()),
                });
            }
        }
        links.sort_by(|one, two| one.seat.cmp(&two.seat));
        Ok(Opened {
            your_link: self.room_link(&room, LinkKind::Seat, Some(seat), seat_secret.expose()),
            principal_link: principal_link
                .map(|link| self.room_link(&room, LinkKind::Principal, Some(seat), link.expose())),
            invites: links,
            room_id: room.to_string(),
        })
    }

    /// The member who opens a room, if one does. The two refusals of sign-in mode are fixed sentences.
    async fn opener(&self, caller: &Caller) -> Result<Option<(OrgId, MemberId)>, Error> {
        match caller {
            Caller::Agent { org, member, .. } => Ok(Some((org.clone(), member.clone()))),
            Caller::Member { session, .. } => Ok(Some((session.org.clone(), session.member.clone()))),
            _ if self.config().sign_in => Err(Error::Refused {
                code: "agent_key_required",
                who: ledger::Who::Unauthenticated,
                place: None,
                text: self.key_sentence(false),
                retryable: false,
            }),
            _ => Ok(None),
        }
    }

    /// What sign-in mode says to an agent without a key, or with one that no longer works.
    pub(crate) fn key_sentence(&self, presented: bool) -> String {
        let page = self.config().link("/keys");
        if presented {
            format!(
                "This agent key does not work (any more). Make a new one at {page} and send it as Authorization: Bearer."
            )
        } else {
            format!(
                "Opening a room here needs an agent key. Make one at {page} and send it as Authorization: Bearer."
            )
        }
    }

    fn may_open(&self, owner: Option<&(OrgId, MemberId)>, address: IpAddr) -> Result<(), Error> {
        match owner {
            Some((org, member)) => self.buckets().rooms_by_member.take(&format!("{org}/{member}")),
            None => self.buckets().rooms_by_address.take(&bucket(address)),
        }
    }

    fn opening(&self, room: &RoomId, owner: Option<&(OrgId, MemberId)>, input: &OpenRoom) -> command::Open {
        let defaults = &self.config().rooms;
        let seconds = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        let hold = input.hold_relayed.unwrap_or(defaults.hold_relayed);
        let policy = Policy {
            max_turns: input.max_turns.unwrap_or(defaults.max_turns),
            turn_seconds: seconds(defaults.turn_seconds),
            answer_seconds: seconds(defaults.escalation_seconds),
            offer_seconds: seconds(defaults.offer_seconds),
            relayed: if hold { Relayed::Hold } else { Relayed::Accept },
            ..Policy::default()
        };
        let principal = owner.map(|(org, member)| {
            if input.for_organization {
                Audience::Approvers { org: org.clone() }
            } else {
                Audience::Member { org: org.clone(), member: member.clone() }
            }
        });
        let opener = SeatPlan { name: input.name.clone(), driver: Driver::External, principal };
        let others = input.others.iter().map(|other| SeatPlan {
            name: other.name.clone(),
            driver: if other.proxy.is_some() { Driver::BuiltIn } else { Driver::External },
            principal: None,
        });
        let by = owner.map(|(org, member)| By::Member {
            org: org.clone(),
            member: member.clone(),
            acting_for: None,
        });
        command::Open {
            actor: Actor::Opener { by },
            room: room.clone(),
            topic: input.topic.clone(),
            seats: std::iter::once(opener).chain(others).collect(),
            agent: input.agent.clone(),
            key: input.key,
            policy,
        }
    }

    fn check_proxies(&self, others: &[OtherSeat]) -> Result<(), Error> {
        let missing = others
            .iter()
            .filter_map(|other| other.proxy.as_ref())
            .find(|name| !self.config().proxies.contains_key(*name));
        match missing {
            None => Ok(()),
            Some(name) => Err(Error::Unavailable {
                code: "proxy_not_configured",
                text: format!("this server has no proxy called '{name}'"),
            }),
        }
    }

    /// Seats a proxy of this server. Gives the secret of the link by which the seat's person enrols; none when a repeated
    /// request finds the seat taken by the first.
    async fn seat_proxy(&self, room: &RoomId, seat: SeatId, proxy: String) -> Result<Option<Bearer>, Error> {
        let join =
            command::Join { actor: Actor::Server, seat, agent: Some(proxy), key: None, principal: None };
        match self.execute(room, Command::Join(join), None).await {
            Ok(Reply::Joined { principal_link, .. }) => Ok(principal_link),
            Ok(_) | Err(Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
