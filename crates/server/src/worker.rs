//! What happens after a decision is durable: people are told ([`crate::tell`]), deadlines pass, this server's own seats move.

use crate::rooms::room_stream;
use crate::{App, Error};
use approvals::people::Target;
use approvals::{Audience, OrgId};
use async_trait::async_trait;
use env::Timestamp;
use ledger::{Effect, StreamId};
use pxp::{By, Command, RoomId};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Claimed, Failed, Handler, Outbox};

/// How often limits forget what they no longer need.
const TIDY: std::time::Duration = std::time::Duration::from_secs(60);
/// How often the chain is looked at although nobody asks.
const SWEEP: std::time::Duration = std::time::Duration::from_secs(30);

impl App {
    /// Runs effects, and feeds the log if there is one, until the server stops. Any number of processes may: leases keep
    /// each effect, and the log, with one.
    pub async fn work(&self) {
        let outbox = Outbox::new(
            Arc::clone(self.journal()),
            Arc::clone(self.runtime().source()),
            Arc::new(self.clone()),
        );
        let log = async {
            if let Some(log) = self.log() {
                log.run(self.stopping().cancelled()).await;
            }
        };
        let tidy = async {
            loop {
                tokio::select! {
                    () = self.stopping().cancelled() => return,
                    () = tokio::time::sleep(TIDY) => self.tidy(),
                }
            }
        };
        let sweep = async {
            while self.kept_mandates().is_some() {
                tokio::select! {
                    () = self.stopping().cancelled() => return,
                    () = tokio::time::sleep(SWEEP) => {}
                }
                if let Err(refused) = self.sweep_mandates().await {
                    tracing::warn!(error = refused.text, "the mandates could not be looked at");
                }
            }
        };
        let evidence = async {
            if let Some(service) = self.signer_service() {
                service.run(self.stopping().cancelled()).await;
            }
        };
        tokio::join!(outbox.run(self.stopping().cancelled()), evidence, log, tidy, sweep);
    }

    /// The clock of a room moved; if it is the turn of a seat of ours, it plays, and at half time of a question its person is
    /// reminded.
    async fn wake(&self, row: &Claimed, stream: &str, at: Timestamp) -> Result<(), Failed> {
        if self.now() < at {
            return Err(Failed::Later("it is not time yet".to_owned()));
        }
        let Ok(stream) = stream.parse::<StreamId>() else { return Ok(()) };
        if stream.kind() == "mandate" {
            return self.tick_mandate(&stream).await;
        }
        let Ok(room) = stream.id().parse::<RoomId>() else { return Ok(()) };
        if stream.kind() != "room" {
            return Ok(());
        }
        self.done(&room, Command::Tick, None).await.map_err(later)?;
        self.play(&room).await.map_err(later)?;
        let (state, _) = self.room_state(&room).await.map_err(later)?;
        match state.asks().first() {
            Some(ask) if state.reminder().is_some_and(|due| due.to_millis() == at.to_millis()) => {
                self.tell_of_ask(row, &ask.id, true).await
            }
            _ => Ok(()),
        }
    }

    /// Whether somebody stopped the room, or everything, by the switch of an organization that it concerns.
    pub(crate) async fn is_stopped(&self, room: &RoomId) -> Result<bool, Error> {
        self.is_stream_stopped(&room_stream(room)?).await
    }

    /// The same for any stream.
    pub(crate) async fn is_stream_stopped(&self, stream: &StreamId) -> Result<bool, Error> {
        let target = Target::Stream { stream: stream.as_str().to_owned() };
        for org in self.concerned(stream).await? {
            if self.organization(&org).await?.running([&target]).is_err() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The organizations whose switch stops a stream: those with a person in the room. What no organization has a part in,
    /// mandates among it, stands under the first one of the configuration, the one of whoever runs the server.
    pub(crate) async fn concerned(&self, stream: &StreamId) -> Result<BTreeSet<OrgId>, Error> {
        let mut concerned = BTreeSet::new();
        if let ("room", Ok(room)) = (stream.kind(), stream.id().parse::<RoomId>()) {
            let (state, _) = self.room_state(&room).await?;
            let people = state.seats.iter().filter_map(|seat| seat.principal.audience.as_ref());
            concerned.extend(people.filter_map(Audience::org).cloned());
            if let Some(By::Member { org, .. }) = state.room.as_ref().and_then(|room| room.opener.as_ref()) {
                concerned.insert(org.clone());
            }
        }
        if concerned.is_empty() {
            concerned.extend(self.config().organizations.first().cloned().map(OrgId));
        }
        Ok(concerned)
    }
}

#[async_trait]
impl Handler for App {
    async fn run(&self, row: &Claimed) -> Result<(), Failed> {
        match &row.effect {
            Effect::Ask { ask, .. } if row.stream.kind() == "mandate" => {
                self.tell_of_approval(row, ask).await
            }
            Effect::Ask { ask, .. } => self.tell_of_ask(row, ask, false).await,
            Effect::Notify { member, title, link } => self.tell_member(row, member, title, link).await,
            Effect::Deliver { to, body } => self.deliver(row, to, body).await,
            Effect::Wake { stream, at } => self.wake(row, stream, *at).await,
            Effect::Submit { rail, body } if rail == "mandate" => self.carry_out(&row.stream, body).await,
            Effect::Submit { .. } => Err(Failed::Never("nobody here does that".to_owned())),
        }
    }
}

pub(crate) fn later(error: Error) -> Failed {
    Failed::Later(error.to_string())
}
