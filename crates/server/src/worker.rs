//! What happens after a decision is durable: people are told, deadlines pass, this server's own seats move.

use crate::caller::org_stream;
use crate::{App, Error};
use approvals::people::Target;
use approvals::{Audience, MemberId, NotifyTarget, OrgId, Organization, Power};
use async_trait::async_trait;
use env::Timestamp;
use ledger::{Effect, StreamId};
use notify::{Message, Notifier};
use pxp::{Command, RoomId};
use std::sync::Arc;
use store::{Failed, Handler, Outbox};

/// How often limits forget what they no longer need.
const TIDY: std::time::Duration = std::time::Duration::from_secs(60);

/// Brings a message to one target: a link, never a decision.
#[async_trait]
pub trait Tell: Send + Sync + 'static {
    /// `id` is the same for each attempt at the same message. `false`: it may work later; a target that can never work
    /// counts as told.
    async fn tell(&self, id: &str, target: &NotifyTarget, message: &Message) -> bool;
}

#[async_trait]
impl Tell for Notifier {
    async fn tell(&self, id: &str, target: &NotifyTarget, message: &Message) -> bool {
        match self.send(id, target, message).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, kind = target.kind(), "a notification did not go out");
                error.is_permanent()
            }
        }
    }
}

/// Nobody is told.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

#[async_trait]
impl Tell for Silent {
    async fn tell(&self, _: &str, _: &NotifyTarget, _: &Message) -> bool {
        true
    }
}

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
        tokio::join!(outbox.run(self.stopping().cancelled()), log, tidy);
    }

    /// Tells everybody who may answer an ask that it waits for them.
    async fn tell_of_ask(&self, stream: &StreamId, ask: &str) -> Result<(), Failed> {
        let Ok(room) = stream.id().parse::<RoomId>() else { return Ok(()) };
        let (state, _) = self.room_state(&room).await.map_err(later)?;
        // Answered meanwhile: nobody needs to hear of it.
        let Some(ask) = state.asks().into_iter().find(|open| open.id == ask) else { return Ok(()) };
        let link = self.ask_link(&ask);
        match &ask.audience {
            Audience::Member { org, member } => self.tell(org, member, &ask.brief.title, &link).await,
            Audience::Approvers { org } => {
                let (state, _) = self
                    .runtime()
                    .state::<Organization>(&org_stream(&org.0).map_err(later)?)
                    .await
                    .map_err(|error| later(error.into()))?;
                for member in state.members().filter(|member| member.may(Power::Answer)) {
                    // One approver's quiet hours or broken target do not hold back the others.
                    if let Err(why) = self.tell(org, &member.id, &ask.brief.title, &link).await {
                        tracing::info!(%why, %org, member = %member.id, "an approver was not told");
                    }
                }
                Ok(())
            }
            Audience::Holder { .. } => Ok(()),
        }
    }

    async fn tell(&self, org: &OrgId, member: &MemberId, title: &str, link: &str) -> Result<(), Failed> {
        let stream = org_stream(&org.0).map_err(later)?;
        let (state, _) =
            self.runtime().state::<Organization>(&stream).await.map_err(|error| later(error.into()))?;
        let Ok((targets, quiet_until)) = state.notify(member, self.now()) else { return Ok(()) };
        if quiet_until.is_some() {
            return Err(Failed::Later("quiet hours".to_owned()));
        }
        let message =
            Message::new(self.config().public_url.as_str(), link, title, "Something waits for you.")
                .map_err(|error| Failed::Never(error.to_string()))?;
        let id = canon::Digest::of(format!("{org}/{member} {link}").as_bytes()).to_string();
        let mut all = true;
        for target in targets {
            all &= self.notifier().tell(&id, target, &message).await;
        }
        if all { Ok(()) } else { Err(Failed::Later("a notification did not go out".to_owned())) }
    }

    /// The clock of a room moved; if it is the turn of a seat of ours, it plays.
    async fn wake(&self, stream: &str, at: Timestamp) -> Result<(), Failed> {
        if self.now() < at {
            return Err(Failed::Later("it is not time yet".to_owned()));
        }
        let Ok(stream) = stream.parse::<StreamId>() else { return Ok(()) };
        let Ok(room) = stream.id().parse::<RoomId>() else { return Ok(()) };
        if stream.kind() != "room" {
            return Ok(());
        }
        self.done(&room, Command::Tick, None).await.map_err(later)?;
        self.play(&room).await.map_err(later)
    }

    /// Whether somebody stopped the room, or everything, by the switch of its organization.
    pub(crate) async fn is_stopped(&self, room: &RoomId) -> Result<bool, Error> {
        let target = Target::Stream { stream: room.stream() };
        for org in &self.config().organizations {
            let (state, _) = self.runtime().state::<Organization>(&org_stream(org)?).await?;
            if state.running([&target]).is_err() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[async_trait]
impl Handler for App {
    async fn run(&self, stream: &StreamId, effect: &Effect, _: u32) -> Result<(), Failed> {
        match effect {
            Effect::Ask { ask, .. } => self.tell_of_ask(stream, ask).await,
            Effect::Notify { member, title, link, .. } => {
                let Some((org, member)) = member.split_once('/') else { return Ok(()) };
                self.tell(&OrgId(org.to_owned()), &MemberId(member.to_owned()), title, link).await
            }
            Effect::Wake { stream, at } => self.wake(stream, *at).await,
            // No protocol of this server delivers or submits.
            Effect::Deliver { .. } | Effect::Submit { .. } => {
                Err(Failed::Never("nobody here does that".to_owned()))
            }
        }
    }
}

fn later(error: Error) -> Failed {
    Failed::Later(error.to_string())
}
