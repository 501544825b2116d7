//! Opening a room, taking a seat, becoming its principal (W-01, W-02, W-20).

use super::Draft;
use crate::command::{Actor, Bearer, By, Driver, Enrol, Invite, Join, Open, Policy, Reply};
use crate::event::{AgentJoined, OpenedSeat, PrincipalEnrolled, RoomOpened};
use crate::state::State;
use crate::wire::{self, most};
use crate::{Refusal, SeatId};
use approvals::{Audience, EvidenceKind};

pub(crate) fn open(draft: &mut Draft<'_>, open: &Open) -> Result<Reply, Refusal> {
    if draft.state.room.is_some() {
        return Err(Refusal::RoomExists);
    }
    let Actor::Opener { by } = &open.actor else { return Err(Refusal::NotPermitted) };
    wire::required("/topic", &open.topic, most::TOPIC)?;
    if let Some(agent) = &open.agent {
        wire::name("/agent", agent, most::AGENT)?;
    }
    let mut invites = Vec::new();
    let mut seats = Vec::new();
    for (index, plan) in open.seats.iter().enumerate() {
        let limit = SeatId::MOST;
        let seat = SeatId::at(index).ok_or(Refusal::TooMany {
            place: "/seats".into(),
            count: open.seats.len(),
            limit,
        })?;
        let mut audience = plan.principal.clone();
        let mut invite_hash = None;
        if seat == SeatId::A {
            audience = audience.or_else(|| member(by.as_ref()));
        } else {
            let secret = Bearer::fresh(draft.env);
            invite_hash = Some(secret.hash());
            invites.push(Invite { seat, secret });
        }
        seats.push(OpenedSeat { seat, name: plan.name.clone(), driver: plan.driver, audience, invite_hash });
    }
    draft.push(
        RoomOpened {
            topic: open.topic.clone(),
            protocol: PROTOCOL.to_owned(),
            profile: PROFILE.to_owned(),
            room: open.room.clone(),
            seats,
            policy: open.policy.clone(),
            opener: by.clone(),
            payload: None,
        },
        None,
    )?;
    let (seat_secret, principal_link) = take(draft, SeatId::A, open.agent.clone(), open.key)?;
    for index in 0..open.seats.len() {
        if let Some(seat) = SeatId::at(index) {
            draft.list(seat);
        }
    }
    Ok(Reply::Opened { room: open.room.clone(), seat: SeatId::A, seat_secret, principal_link, invites })
}

pub(crate) fn join(draft: &mut Draft<'_>, join: &Join) -> Result<Reply, Refusal> {
    draft.going_on()?;
    let seat = draft.seat(join.seat)?;
    match &join.actor {
        Actor::Seat { seat: own } if *own == join.seat => return relabel(draft, join),
        Actor::Invite { seat: own } if *own == join.seat => {
            if seat.invite_used {
                return Err(Refusal::InviteUsed);
            }
        }
        Actor::Invite { .. } => return Err(Refusal::InviteUnknown),
        Actor::Server if seat.driver == Driver::BuiltIn && !seat.invite_used => {
            // The server moves the seat itself, so there is no secret; its person enrols as anyone else's does.
            let agent = join.agent.clone().unwrap_or_else(|| "built-in proxy".to_owned());
            let link = seat.principal.audience.is_none().then(|| Bearer::fresh(draft.env));
            let link_hash = link.as_ref().map(Bearer::hash);
            draft.push(
                AgentJoined {
                    seat: join.seat,
                    agent,
                    secret_hash: None,
                    link_hash,
                    key: None,
                    payload: None,
                },
                None,
            )?;
            return Ok(Reply::Joined { seat: join.seat, seat_secret: None, principal_link: link });
        }
        _ => return Err(Refusal::NotPermitted),
    }
    if let Some(audience) = join.principal.clone().filter(|_| seat.principal.audience.is_none()) {
        if matches!(audience, Audience::Holder { .. }) {
            return Err(Refusal::NotPermitted);
        }
        enrolled(draft, join.seat, audience, None, None)?;
    }
    let (seat_secret, principal_link) = take(draft, join.seat, join.agent.clone(), join.key)?;
    draft.list(join.seat);
    Ok(Reply::Joined { seat: join.seat, seat_secret: Some(seat_secret), principal_link })
}

pub(crate) fn enrol(draft: &mut Draft<'_>, enrol: &Enrol) -> Result<Reply, Refusal> {
    draft.going_on()?;
    draft.seat(enrol.seat)?;
    match &enrol.actor {
        Actor::Link { seat: own } if *own == enrol.seat => {}
        _ => return Err(Refusal::NotPermitted),
    }
    match &enrol.as_member {
        Some(audience @ (Audience::Member { .. } | Audience::Approvers { .. })) => {
            enrolled(draft, enrol.seat, audience.clone(), None, None)?;
            draft.list(enrol.seat);
            Ok(Reply::Enrolled { seat: enrol.seat, principal_secret: None })
        }
        Some(Audience::Holder { .. }) => Err(Refusal::NotPermitted),
        None => {
            let secret = Bearer::fresh(draft.env);
            let audience = holder(&draft.state, enrol.seat);
            enrolled(draft, enrol.seat, audience, Some(&secret), Some(enrol))?;
            Ok(Reply::Enrolled { seat: enrol.seat, principal_secret: Some(secret) })
        }
    }
}

/// Seats an agent under a fresh secret; with a link for the principal where nobody answers for the seat yet.
fn take(
    draft: &mut Draft<'_>,
    seat: SeatId,
    agent: Option<String>,
    key: Option<keys::PublicKey>,
) -> Result<(Bearer, Option<Bearer>), Refusal> {
    let secret = Bearer::fresh(draft.env);
    let link = draft.seat(seat)?.principal.audience.is_none().then(|| Bearer::fresh(draft.env));
    draft.push(
        AgentJoined {
            seat,
            agent: agent.unwrap_or_else(|| "agent".to_owned()),
            secret_hash: Some(secret.hash()),
            link_hash: link.as_ref().map(Bearer::hash),
            key,
            payload: None,
        },
        None,
    )?;
    Ok((secret, link))
}

fn enrolled(
    draft: &mut Draft<'_>,
    seat: SeatId,
    audience: Audience,
    secret: Option<&Bearer>,
    with: Option<&Enrol>,
) -> Result<(), Refusal> {
    draft.push(
        PrincipalEnrolled {
            seat,
            audience,
            secret_hash: secret.map(Bearer::hash),
            passkey: with.and_then(|enrol| enrol.passkey.clone()),
            key: with.and_then(|enrol| enrol.key),
            payload: None,
        },
        None,
    )
}

fn relabel(draft: &mut Draft<'_>, join: &Join) -> Result<Reply, Refusal> {
    let seat = draft.seat(join.seat)?;
    let reply = Reply::Joined { seat: join.seat, seat_secret: None, principal_link: None };
    if join.key.is_some() && join.key != seat.key {
        return Err(Refusal::BadKey { detail: "a seat's key is the one it joined with".to_owned() });
    }
    let Some(agent) = join.agent.clone().filter(|agent| seat.agent.as_ref() != Some(agent)) else {
        return Ok(reply);
    };
    draft.push(
        AgentJoined { seat: join.seat, agent, secret_hash: None, link_hash: None, key: None, payload: None },
        None,
    )?;
    Ok(reply)
}

/// A room as it may be opened: its seats in order, names that nobody takes for another's, a policy within bounds.
pub(super) fn may_open(state: &State, data: &RoomOpened) -> Result<(), Refusal> {
    if state.room.is_some() {
        return Err(Refusal::RoomExists);
    }
    wire::required("/topic", &data.topic, most::TOPIC)?;
    let bad = |place: &str, detail: &str| Refusal::BadValue { place: place.into(), detail: detail.into() };
    if data.protocol != PROTOCOL || data.profile != PROFILE {
        return Err(bad("/profile", "PXP/0, strict"));
    }
    if data.seats.len() < 2 {
        return Err(bad("/seats", "a room has two seats or more"));
    }
    wire::count("/seats", data.seats.len(), SeatId::MOST)?;
    for (index, plan) in data.seats.iter().enumerate() {
        let place = format!("/seats/{index}/name");
        wire::principal(&place, &plan.name, most::SEAT_NAME)?;
        let twin = data.seats.iter().take(index).position(|other| wire::are_alike(&plan.name, &other.name));
        if let Some(seat) = twin.and_then(SeatId::at) {
            return Err(Refusal::NameAlike { place, seat });
        }
        if matches!(plan.audience, Some(Audience::Holder { .. })) {
            return Err(bad(&format!("/seats/{index}/principal"), "a holder enrols by link"));
        }
        if SeatId::at(index) != Some(plan.seat) || plan.invite_hash.is_none() != (plan.seat == SeatId::A) {
            return Err(bad(&format!("/seats/{index}"), "A first, and an invite for each of the others"));
        }
    }
    check_policy(&data.policy)
}

/// The first to join a seat takes it, with a link for its person where nobody answers for it yet; others change the label.
pub(super) fn may_join(state: &State, data: &AgentJoined) -> Result<(), Refusal> {
    let seat = state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    wire::name("/agent", &data.agent, most::AGENT)?;
    let brings = [data.secret_hash.is_some(), data.link_hash.is_some(), data.key.is_some()];
    if seat.agent.is_some() {
        return match brings {
            [false, false, false] if seat.label_changes >= most::LABEL_CHANGES => {
                Err(Refusal::LabelLimit { limit: most::LABEL_CHANGES })
            }
            [false, false, false] => Ok(()),
            _ => Err(Refusal::InviteUsed),
        };
    }
    let driven = seat.driver == Driver::BuiltIn && data.key.is_none();
    if (data.secret_hash.is_some() || driven) && data.link_hash.is_some() == seat.principal.audience.is_none()
    {
        Ok(())
    } else {
        Err(Refusal::NotPermitted)
    }
}

/// A seat's person enrols once: with what they bring by link, or as somebody whom the organization knows.
pub(super) fn may_enrol(state: &State, data: &PrincipalEnrolled) -> Result<(), Refusal> {
    let seat = state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    if seat.principal.link_used {
        return Err(Refusal::InviteUsed);
    }
    if seat.principal.audience.is_some() {
        return Err(Refusal::PrincipalBound);
    }
    let good = match &data.audience {
        Audience::Holder { .. } => {
            data.audience == holder(state, data.seat)
                && data.secret_hash.is_some()
                && seat.principal.link.is_some()
        }
        Audience::Member { .. } | Audience::Approvers { .. } => {
            data.secret_hash.is_none() && data.passkey.is_none() && data.key.is_none()
        }
    };
    if good { Ok(()) } else { Err(Refusal::NotPermitted) }
}

fn holder(state: &State, seat: SeatId) -> Audience {
    let stream = state.id().map(crate::RoomId::stream).unwrap_or_default();
    Audience::Holder { stream, role: format!("principal:{seat}") }
}

fn check_policy(policy: &Policy) -> Result<(), Refusal> {
    const YEAR: u32 = 366 * 86_400;
    let bad = |place: &str, detail: &str| Refusal::BadValue {
        place: format!("/policy/{place}"),
        detail: detail.into(),
    };
    if !(1..=1000).contains(&policy.max_turns) {
        return Err(bad("max_turns", "1 to 1000"));
    }
    for (place, seconds) in [
        ("turn_seconds", policy.turn_seconds),
        ("answer_seconds", policy.answer_seconds),
        ("offer_seconds", policy.offer_seconds),
    ] {
        if seconds.is_some_and(|seconds| !(1..=YEAR).contains(&seconds)) {
            return Err(bad(place, "one second to a year"));
        }
    }
    if policy.evidence.is_empty() || policy.evidence.contains(&EvidenceKind::Relayed) {
        return Err(bad("evidence", "one or more kinds of direct evidence"));
    }
    Ok(())
}

const PROTOCOL: &str = "PXP/0";
const PROFILE: &str = "strict";

fn member(by: Option<&By>) -> Option<Audience> {
    match by {
        Some(By::Member { org, member, .. }) => {
            Some(Audience::Member { org: org.clone(), member: member.clone() })
        }
        Some(By::Holder) | None => None,
    }
}
