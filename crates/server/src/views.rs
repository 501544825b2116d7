//! What a caller sees of a room, and what leaves it: views, ledger pages, events, briefs, bundles.

use crate::rooms::room_stream;
use crate::{App, Caller, Error};
use ledger::log::{SignedHead, head_message};
use ledger::{Aggregate, Entry, Head, StreamId};
use pxp::bundle::{self, Attested, BundleEntry};
use pxp::event::Body;
use pxp::{Actor, Event, Room, RoomId, Sent, State, Status, Viewer, view};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Entries read from the store at a time.
const PAGE: usize = 500;
/// The most entries a bundle holds.
const LONGEST: u64 = 200_000;

/// A room as the caller may see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RoomView {
    #[serde(flatten)]
    pub room: view::RoomView,
    /// The number of the last entry: what `wait` takes.
    pub since: u64,
    /// The page where a person sees the room.
    pub web_view: String,
    /// Where the brief is, once the room has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief_url: Option<String>,
}

/// A brief, or that there is none yet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BriefView {
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief_url: Option<String>,
    /// Absent before the end.
    #[serde(flatten)]
    pub brief: Option<view::BriefView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What became of an envelope.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentView {
    pub seq: u64,
    /// After enforcement: `escalate` where the server asked the principal.
    pub status: Status,
    pub claims: Vec<pxp::ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<pxp::QuestionId>,
    pub protocol_flags: Vec<pxp::Flag>,
    /// The message had been recorded before.
    pub replayed: bool,
}

/// A part of a ledger.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerPage {
    pub protocol: &'static str,
    pub room: RoomId,
    pub entries: Vec<BundleEntry>,
    /// The whole chain's head under the server's signature.
    pub head: SignedHead,
}

/// A part of a room's events.
#[derive(Debug)]
pub(crate) struct EventsPage {
    pub told: Vec<Told>,
    /// The last entry told of.
    pub seen: u64,
    /// The caller has now seen everything: how the room stands, as JSON.
    pub state: Option<String>,
}

/// One event: an entry, or what it records.
#[derive(Debug)]
pub(crate) struct Told {
    pub n: u64,
    pub kind: &'static str,
    pub data: String,
}

impl From<Sent> for SentView {
    fn from(sent: Sent) -> Self {
        Self {
            seq: sent.seq,
            status: sent.status,
            claims: sent.claims,
            offer_hash: sent.offer_hash.map(|hash| hash.to_string()),
            question_id: sent.question_id,
            protocol_flags: sent.protocol_flags,
            replayed: sent.replayed,
        }
    }
}

impl App {
    /// The room as the caller may see it now.
    pub async fn view_room(&self, caller: &Caller, room: &RoomId) -> Result<RoomView, Error> {
        self.view_room_since(caller, room, 0).await
    }

    /// Like [`App::view_room`], for a caller who has seen the room when `since` was its last entry: the transcript
    /// leaves out what was sent before (see [`view::room_since`]).
    pub async fn view_room_since(
        &self,
        caller: &Caller,
        room: &RoomId,
        since: u64,
    ) -> Result<RoomView, Error> {
        let viewer = self.viewer(caller, room).await?;
        let (state, _) = self.room_state(room).await?;
        self.spell_view(&state, viewer, room, since)
    }

    /// The brief, once there is one and the caller may read it.
    pub async fn brief(&self, caller: &Caller, room: &RoomId) -> Result<BriefView, Error> {
        let viewer = self.viewer(caller, room).await?;
        if !viewer.reads_brief() {
            return Err(may_not("this link does not show the brief"));
        }
        let (state, _) = self.room_state(room).await?;
        let brief = view::brief(&state, viewer);
        Ok(BriefView {
            status: view::status(&state).to_owned(),
            brief_url: brief.as_ref().map(|_| self.brief_url(room)),
            note: brief.is_none().then(|| "The room has not ended; there is no brief yet.".to_owned()),
            brief,
        })
    }

    /// Entries after a number, as the chain has them, and the head of the whole chain, signed.
    pub async fn ledger_page(
        &self,
        caller: &Caller,
        room: &RoomId,
        after: u64,
        limit: usize,
    ) -> Result<LedgerPage, Error> {
        if !self.viewer(caller, room).await?.reads_ledger() {
            return Err(may_not("this link does not show the ledger"));
        }
        let stream = room_stream(room)?;
        let (_, head) = self.room_state(room).await?;
        let entries = self.journal().read(&stream, after, limit).await?;
        Ok(LedgerPage {
            protocol: "PXP/0",
            room: room.clone(),
            entries: entries
                .iter()
                .map(|entry| told(entry).map(|(entry, _)| entry))
                .collect::<Result<_, _>>()?,
            head: self.sign_head(&stream, head)?,
        })
    }

    /// The room as one canonical file that verifies with public keys alone: what the caller may see, the signed head,
    /// and its place in the server's log where that has been published.
    pub async fn bundle(&self, caller: &Caller, room: &RoomId) -> Result<Vec<u8>, Error> {
        let viewer = self.viewer(caller, room).await?;
        self.bundle_for(viewer, room).await
    }

    /// The bundle that a viewer may have; for whoever runs the server.
    pub async fn bundle_for(&self, viewer: Viewer, room: &RoomId) -> Result<Vec<u8>, Error> {
        if !viewer.reads_ledger() {
            return Err(may_not("this link does not show the ledger"));
        }
        let stream = room_stream(room)?;
        let (state, head) = self.room_state(room).await?;
        let entries = self.entries(&stream, head).await?;
        let log = match self.log() {
            Some(log) => log.proof(&stream, head.seq).await?,
            None => None,
        };
        let attested = Attested { key: self.signer().public(), head: self.sign_head(&stream, head)?, log };
        let bundle =
            bundle::assemble(&state, &entries, viewer, attested).map_err(|error| Error::of(&error))?;
        bundle.to_vec().map_err(|error| Error::of(&error))
    }

    /// Events after an entry, as far as the caller may know of them.
    pub(crate) async fn events_page(
        &self,
        caller: &Caller,
        room: &RoomId,
        after: u64,
        limit: usize,
    ) -> Result<EventsPage, Error> {
        let viewer = self.viewer(caller, room).await?;
        let stream = room_stream(room)?;
        let (state, head) = self.room_state(room).await?;
        let entries = self.journal().read(&stream, after, limit).await?;
        let mut events = Vec::new();
        let mut seen = after.min(head.seq);
        for entry in &entries {
            seen = entry.seq;
            let (entry, event) = told(entry)?;
            if viewer.reads_ledger() {
                events.push(Told { n: entry.n, kind: "entry", data: spell(&entry)? });
            }
            if viewer.reads_payload(&event.fact)
                && let Some(Body::Envelope(recorded)) = &event.body
            {
                events.push(Told { n: entry.n, kind: "envelope", data: spell(&recorded.envelope)? });
            }
        }
        let now_at = if seen >= head.seq {
            let mut view = self.spell_view(&state, viewer, room, u64::MAX)?;
            // Told as events already.
            view.room.transcript.clear();
            Some(spell(&view)?)
        } else {
            None
        };
        Ok(EventsPage { told: events, seen, state: now_at })
    }

    /// As whom the caller looks.
    pub async fn viewer(&self, caller: &Caller, room: &RoomId) -> Result<Viewer, Error> {
        let at = self.standpoint(caller, room, None).await?;
        Ok(match at.actor {
            Actor::Seat { seat } => Viewer::Seat(seat),
            Actor::Principal { seat, .. } => Viewer::Principal(seat),
            Actor::Share { scope, .. } => Viewer::Share(scope),
            // An invite or a link shows that there is something to be let into.
            Actor::Invite { .. } | Actor::Link { .. } | Actor::Opener { .. } | Actor::Server => {
                Viewer::Nobody
            }
        })
    }

    fn spell_view(
        &self,
        state: &Arc<State>,
        viewer: Viewer,
        room: &RoomId,
        since: u64,
    ) -> Result<RoomView, Error> {
        let view = view::room_since(state, viewer, self.now(), since).map_err(|error| Error::of(&error))?;
        Ok(RoomView {
            since: view.version,
            web_view: self.config().link(&format!("/room/{room}")),
            brief_url: view.brief_ready.then(|| self.brief_url(room)),
            room: view,
        })
    }

    fn brief_url(&self, room: &RoomId) -> String {
        self.config().link(&format!("/brief/{room}"))
    }

    pub(crate) fn sign_head(&self, stream: &StreamId, head: Head) -> Result<SignedHead, Error> {
        let signature = self
            .signer()
            .sign(&head_message(stream, head.seq, &head.hash))
            .map_err(|error| Error::Bug(error.to_string()))?;
        Ok(SignedHead { n: head.seq, hash: head.hash, signature })
    }

    async fn entries(&self, stream: &StreamId, head: Head) -> Result<Vec<Entry>, Error> {
        if head.seq > LONGEST {
            return Err(Error::Conflict {
                code: "room_too_long",
                text: "the room is too long for one file".to_owned(),
            });
        }
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let after = entries.last().map_or(0, |entry| entry.seq);
            let page = self.journal().read(stream, after, PAGE).await?;
            // Entries later than the state this answer describes stay out.
            entries.extend(page.into_iter().take_while(|entry| entry.seq <= head.seq));
            let last = entries.last().map_or(0, |entry| entry.seq);
            if last >= head.seq || last == after {
                return Ok(entries);
            }
        }
    }
}

/// An entry as it is exported, and what it says.
fn told(entry: &Entry) -> Result<(BundleEntry, Event), Error> {
    let prev = Head { seq: entry.seq.saturating_sub(1), hash: entry.prev };
    let event = Room::open(entry, prev).map_err(|fault| Error::Bug(fault.to_string()))?;
    let data = event.fact.data().map_err(|error| Error::Bug(error.to_string()))?;
    let told = BundleEntry {
        n: entry.seq,
        kind: event.fact.kind().to_owned(),
        at: event.at,
        data: canon::Raw::from_slice(&data)?,
        prev: entry.prev,
        hash: entry.hash,
    };
    Ok((told, event))
}

fn spell<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Bug(error.to_string()))
}

pub(crate) fn may_not(text: &str) -> Error {
    Error::Forbidden { code: "not_permitted", text: text.to_owned() }
}
