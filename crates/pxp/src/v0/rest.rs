//! The room as the HTTP surface shows it (spec 2.9): the same to everyone but for the viewer's own card and draft.

use super::brief::{Brief, brief};
use super::card::Card;
use super::envelope::{Envelope, Registered};
use super::ledger::{self, Check, LedgerEntry};
use super::room::{Mode, Pending, Phase, Side, State, Via};
use canon::Digest;
use env::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Who looks: nobody in particular, a seat, or both seats of a demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    Anonymous,
    Seat(Side),
    Demo(Side),
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestView<'a> {
    pub id: &'a str,
    pub topic: &'a str,
    pub demo: bool,
    pub status: Phase,
    pub created_at: Option<Timestamp>,
    pub seat: Option<Side>,
    pub seats: Seats<'a>,
    pub envelopes: &'a [Envelope],
    #[serde(serialize_with = "by_id")]
    pub claims: &'a [Registered],
    pub turn: Option<Side>,
    pub turn_count: u64,
    pub max_turns: u64,
    pub pending: Option<&'a Pending>,
    pub error: Option<&'a str>,
    pub brief: Option<Brief>,
    pub interrupted: bool,
    pub ledger: &'a [LedgerEntry],
    pub ledger_check: Check,
    pub thinking: bool,
    pub waiting_on: Option<Side>,
    pub live: bool,
    pub mcp_url: &'a str,
}

#[derive(Debug, Clone, Serialize)]
pub struct Seats<'a> {
    #[serde(rename = "A")]
    pub a: SeatView<'a>,
    #[serde(rename = "B")]
    pub b: SeatView<'a>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatView<'a> {
    pub name: &'a str,
    pub role: &'a str,
    pub sealed: bool,
    pub card_hash: Option<Digest>,
    pub drafted: bool,
    pub mode: Mode,
    pub agent: Option<&'a str>,
    pub sealed_via: Option<Via>,
    #[serde(flatten)]
    pub own: Option<Own<'a>>,
}

/// What only the seat itself sees.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Own<'a> {
    pub card: Option<&'a Card>,
    pub draft_text: &'a str,
}

/// `live`: whether this server has a built-in proxy.
pub fn view<'a>(state: &'a State, viewer: Viewer, live: bool, mcp_url: &'a str) -> RestView<'a> {
    RestView {
        id: &state.id,
        topic: &state.topic,
        demo: state.demo,
        status: state.phase,
        created_at: state.created_at,
        seat: match viewer {
            Viewer::Anonymous => None,
            Viewer::Seat(side) | Viewer::Demo(side) => Some(side),
        },
        seats: Seats { a: seat(state, Side::A, viewer), b: seat(state, Side::B, viewer) },
        envelopes: &state.envelopes,
        claims: &state.claims,
        turn: state.turn,
        turn_count: state.turn_count,
        max_turns: state.max_turns,
        pending: state.pending.as_ref(),
        error: state.error,
        brief: brief(state),
        interrupted: state.interrupted,
        ledger: &state.ledger,
        ledger_check: ledger::verify(&state.ledger),
        thinking: state.in_flight.is_some(),
        waiting_on: state.waiting_on(),
        live,
        mcp_url,
    }
}

fn seat(state: &State, side: Side, viewer: Viewer) -> SeatView<'_> {
    let seat = state.seat(side);
    let own = match viewer {
        Viewer::Anonymous => false,
        Viewer::Seat(own) => own == side,
        Viewer::Demo(_) => true,
    };
    SeatView {
        name: seat.principal(),
        role: seat.card.as_ref().map_or("", |card| &card.principal.role),
        sealed: seat.card.is_some(),
        card_hash: seat.card_hash(),
        drafted: seat.drafts > 0,
        mode: seat.mode,
        agent: seat.agent.as_deref(),
        sealed_via: seat.sealed_via,
        own: own.then_some(Own { card: seat.card.as_ref(), draft_text: &seat.draft_text }),
    }
}

fn by_id<S: Serializer>(claims: &&[Registered], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(claims.len()))?;
    for claim in *claims {
        map.serialize_entry(&claim.claim.id, claim)?;
    }
    map.end()
}
