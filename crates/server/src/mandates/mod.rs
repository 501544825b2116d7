//! The Authority API (spec 1.7 to 1.14): what agents ask of a mandate over HTTP, what its people answer, and what the
//! chain is asked to do. Decisions are the mandate's own stream's; here they are carried to the wire and to the chain.

mod acts;
mod answer;
mod approve;
mod check;
pub mod desk;
mod facilitator;
pub mod fixture;
mod http;
mod interpret;
mod kept;
pub mod masumi;
pub mod office;
mod proof;
mod proving;
mod quorum;
mod rail;
mod reading;
mod receipts;
mod refused;
mod registry;
mod settle;
mod shapes;
mod tell;
mod verifier;
mod view;
mod waits;
mod who;
mod witnesses;

pub use acts::{Act, ActTold, Paid, Progress, Told, What};
pub use answer::Verified;
pub use facilitator::Facilitator;
pub use mandate::request::{SIGNATURE_TAG, signature_profile};
pub use quorum::{Peer, Quorum};
pub use rail::{Built, ChainError, Found, Rail, Release};
pub use refused::Refused;
pub use registry::{Embedded, Entry, Recorded, Registry, RegistryError};
pub use verifier::{Appraised, Unverified, Verifier};
pub use waits::Waits;
pub use who::{CallerKey, Kind, Seated};

pub(crate) use http::routes;

use crate::{App, Error};
use ::http::StatusCode;
use keys::Signer;
use ledger::StreamId;
use mandate::command::{Anchor, EngineKey, Reply};
use mandate::price::Tariff;
use mandate::state::Anchored;
use mandate::text::{Id, KeyHash, Text};
use mandate::{Authority, Command, Hashed, Mandate, Millis, State, Vault};
use reading::Readings;
use receipts::Receipts;
use std::sync::Arc;
use view::Views;

/// What a server that keeps mandates is made of.
#[derive(Clone)]
pub struct Setup {
    /// Signs authorizations; every mandate of this server names its key.
    pub engine: Arc<dyn Signer>,
    pub rail: Arc<dyn Rail>,
    pub verifier: Arc<dyn Verifier>,
    pub tariff: Tariff,
    /// Where captured bonds go.
    pub sink: Text<1, 200>,
    pub callers: Vec<CallerKey>,
    /// Members who read what waits for an approver's key. Deciding always takes the key.
    pub approvers: Vec<Seated>,
    /// Keys that may open mandates here: the fee wallet pays for it.
    pub principals: Vec<KeyHash>,
    /// Which of `server.proxies` reads plain English.
    pub model: Option<String>,
    /// How long one reading of vault and anchor answers checks.
    pub reading: env::Duration,
    /// Checks that are sold as Masumi jobs; `None`: none are.
    pub masumi: Option<masumi::Selling>,
    /// Who submits the locks that agents hand over; without one this server does.
    pub facilitator: Option<Facilitator>,
}

/// Mandates as this server keeps them.
pub(crate) struct Mandates {
    pub setup: Setup,
    pub readings: Readings,
    pub views: Views,
    pub receipts: Receipts,
    pub running: crate::once::InFlight,
    pub turns: settle::Turns,
}

impl Mandates {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            readings: Readings::default(),
            views: Views::default(),
            receipts: Receipts::default(),
            running: crate::once::InFlight::default(),
            turns: settle::Turns::default(),
        }
    }

    pub fn engine(&self) -> EngineKey {
        EngineKey(Arc::clone(&self.setup.engine))
    }
}

/// A mandate as it stands.
#[derive(Clone)]
pub(crate) struct Known {
    pub stream: StreamId,
    pub state: Arc<State>,
    pub head: ledger::Head,
    pub anchored: Arc<Anchored>,
}

impl App {
    /// Refused where this server keeps no mandates.
    pub(crate) fn mandates(&self) -> Result<&Mandates, Refused> {
        self.kept_mandates()
            .ok_or_else(|| Refused::missing("mandates_off", "no mandates are configured on this server"))
    }

    /// Takes up a mandate whose hash its anchor names, or a later version of one. Gives the version in force.
    pub async fn anchor_mandate(
        &self,
        document: &[u8],
        vault: Vault,
        vault_name: Option<Id>,
    ) -> Result<u32, Refused> {
        let mandate: Hashed<Mandate> = Mandate::read(document)?;
        let mandates = self.mandates()?;
        let observed = mandates.setup.rail.observe(&vault).await.map_err(reading::unreadable)?;
        let stream = mandate_stream(&mandate.id)?;
        let tariff = mandates.setup.tariff.clone();
        let anchor = Anchor { mandate, observed, tariff, vault, vault_name };
        let command = Command::Anchor(Box::new(anchor));
        match self.authority(&stream, &command).await?.0 {
            Reply::Anchored { version, .. } => Ok(version),
            _ => Err(unexpected()),
        }
    }

    /// The newest version of a mandate that this server has taken up, or its revocation's.
    pub async fn mandate_version(&self, id: &Id) -> Option<u32> {
        let known = self.mandate(id).await.ok()?;
        Some(known.anchored.revoked.unwrap_or(known.anchored.mandate.version))
    }

    /// Decides a command on a mandate's stream.
    pub(crate) async fn authority(
        &self,
        stream: &StreamId,
        command: &Command,
    ) -> Result<(Reply, Known), store::Error<mandate::Refusal>> {
        let authorizes = matches!(command, Command::Check(_) | Command::Draft(_) | Command::Approve(_));
        if authorizes && self.is_switched_off(stream).await? {
            return Err(store::Error::Refused(mandate::Refusal::Paused));
        }
        let executed = self.runtime().execute::<Authority>(stream, command, None).await?;
        let store::Reply::Fresh(reply) = executed.reply else {
            return Err(store::Error::KeyReused);
        };
        let anchored = executed.state.in_force();
        let anchored = anchored.ok_or(store::Error::Refused(mandate::Refusal::MandateUnknown))?;
        Ok((reply, Known { stream: stream.clone(), state: executed.state, head: executed.head, anchored }))
    }

    /// Whether somebody stopped the mandate, or everything, by the switch of an organization (D8).
    pub(crate) async fn is_switched_off(
        &self,
        stream: &StreamId,
    ) -> Result<bool, store::Error<mandate::Refusal>> {
        let stopped = self.is_stream_stopped(stream).await;
        stopped.map_err(|error| store::StoreError::Unavailable(error.to_string()).into())
    }

    /// A mandate as it stands, by its id.
    pub(crate) async fn mandate(&self, id: &Id) -> Result<Known, Refused> {
        self.mandates()?;
        let stream = mandate_stream(id)?;
        self.mandate_at(stream).await?.ok_or_else(unknown)
    }

    /// The same, by its stream.
    pub(crate) async fn mandate_at(&self, stream: StreamId) -> Result<Option<Known>, Refused> {
        let (state, head) = self.runtime().state::<Authority>(&stream).await?;
        let anchored = state.in_force();
        Ok(anchored.map(|anchored| Known { stream, state, head, anchored }))
    }

    /// Every mandate of this server.
    pub(crate) async fn all_mandates(&self) -> Result<Vec<Known>, Refused> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.journal().find(mandate::MANDATES, &after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(all) };
            after = last.clone();
            for (_, stream) in page {
                all.extend(self.mandate_at(stream).await?);
            }
        }
    }

    /// The instant of a decision, as mandates count it.
    pub(crate) fn millis(&self) -> Result<Millis, Refused> {
        Millis::try_from(self.now()).map_err(|_| unexpected())
    }
}

const PAGE: usize = 200;

pub(crate) fn mandate_stream(id: &Id) -> Result<StreamId, Refused> {
    StreamId::new("mandate", id.as_str()).map_err(|_| unknown())
}

pub(crate) fn unknown() -> Refused {
    Refused::missing("mandate_unknown", "no such mandate")
}

/// An answer that the command before cannot give.
pub(crate) fn unexpected() -> Refused {
    Error::Bug("a command gave another reply".to_owned()).into()
}

/// A fault of ours, in words for the log.
pub(crate) fn bug(text: impl std::fmt::Display) -> Refused {
    let refused = Error::Bug(text.to_string());
    debug_assert_eq!(crate::problem::status(&refused), StatusCode::INTERNAL_SERVER_ERROR);
    refused.into()
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("rail", &self.rail).finish_non_exhaustive()
    }
}
