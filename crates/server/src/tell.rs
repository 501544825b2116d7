//! Telling people that something waits: one outbox row becomes one row for each target, so that each is tried, delayed and
//! given up for itself and none is told again for another's sake. A link, never a decision.

use crate::caller::org_stream;
use crate::evidence::is_evidence;
use crate::session::Session;
use crate::worker::later;
use crate::{App, Error};
use approvals::people::{Act, By, Command, State};
use approvals::{Audience, MemberId, NotifyTarget, OrgId, Organization};
use async_trait::async_trait;
use canon::Digest;
use env::Duration;
use ledger::{Effect, StreamId};
use notify::{Message, Notifier};
use pxp::RoomId;
use serde::{Deserialize, Serialize};
use store::{Append, Claimed, Failed, Idempotency, Outgoing, StoreError};

/// Brings a message to one target.
#[async_trait]
pub trait Tell: Send + Sync + 'static {
    /// What a browser subscribes with, base64url; `None` without web push.
    fn web_push_key(&self) -> Option<String>;

    /// Whether a target can be used here. For refusing it when it is entered.
    fn check(&self, target: &NotifyTarget) -> Result<(), notify::Error>;

    /// `id` is the same for each attempt at the same message.
    async fn tell(&self, id: &str, target: &NotifyTarget, message: &Message) -> Result<(), notify::Error>;
}

#[async_trait]
impl Tell for Notifier {
    fn web_push_key(&self) -> Option<String> {
        self.application_server_key()
    }

    fn check(&self, target: &NotifyTarget) -> Result<(), notify::Error> {
        Self::check(self, target).map(drop)
    }

    async fn tell(&self, id: &str, target: &NotifyTarget, message: &Message) -> Result<(), notify::Error> {
        self.send(id, target, message).await
    }
}

/// Nobody is told.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

#[async_trait]
impl Tell for Silent {
    fn web_push_key(&self) -> Option<String> {
        None
    }

    fn check(&self, _: &NotifyTarget) -> Result<(), notify::Error> {
        Ok(())
    }

    async fn tell(&self, _: &str, _: &NotifyTarget, _: &Message) -> Result<(), notify::Error> {
        Ok(())
    }
}

/// What a row for one target carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notice {
    title: String,
    link: String,
    /// The question of the row's stream that it is about: once that is answered nobody is told any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    /// They were told before, and half of the time to answer is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
}

const WAITS: &str = "Something waits for you.";
const STILL_WAITS: &str = "It still waits for you: half of the time to answer is over.";

/// How long it is remembered that a row was turned into rows: longer than any row lives.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Attempts at one target before it is given up: about a day, since pauses double up to an hour.
const ATTEMPTS: u32 = 36;

/// The bounds of a pause that a receiver asks for.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);

impl App {
    /// What a browser subscribes to web push with; `None` where that is not configured.
    pub fn web_push_key(&self) -> Option<String> {
        self.notifier().web_push_key()
    }

    /// Sends a test message to one of the member's own targets, now. Refused as the receiver refuses it; one that is gone is
    /// removed.
    pub async fn send_test(&self, session: &Session, target: &Digest) -> Result<(), Error> {
        self.buckets().test_messages.take(&format!("{}/{}", session.org, session.member))?;
        let state = self.organization(&session.org).await?;
        let member = state.member(&session.member).map_err(|error| Error::of(&error))?;
        let known = member.notify.iter().find(|known| known.id() == *target).ok_or(Error::Missing)?;
        let base = self.config().public_url.as_str();
        let message = Message::new(
            base,
            "/asks",
            "A test message",
            "You asked for it. What waits for you is behind the link.",
        )
        .map_err(|error| Error::of(&error))?;
        let told = self.notifier().tell(&self.env().id(16), known, &message).await;
        if told == Err(notify::Error::Gone) {
            self.forget_target(&session.org, &session.member, target).await?;
        }
        told.map_err(|error| {
            let code = ledger::Coded::code(&error);
            Error::Upstream { code, text: format!("the test message did not go out: {error}") }
        })
    }

    /// Refuses an act that adds a target which this server cannot use. Those already there are let be.
    pub(crate) async fn check_targets(&self, session: &Session, act: &Act) -> Result<(), Error> {
        let added: &[NotifyTarget] = match act {
            Act::AddNotify { target } => std::slice::from_ref(target),
            Act::SetNotify { targets } => targets,
            _ => return Ok(()),
        };
        let state = self.organization(&session.org).await?;
        let known = state.member(&session.member).map_or(&[][..], |member| &member.notify);
        for target in added.iter().filter(|target| !known.contains(target)) {
            self.notifier().check(target).map_err(|error| {
                let code = ledger::Coded::code(&error);
                Error::malformed(code, "/target", error.to_string())
            })?;
        }
        Ok(())
    }

    /// A row for each target of everybody who may answer an ask; `again`: a reminder.
    pub(crate) async fn tell_of_ask(&self, row: &Claimed, ask: &str, again: bool) -> Result<(), Failed> {
        let Some(open) = self.open_ask(&row.stream, ask).await? else { return Ok(()) };
        let (Audience::Member { org, .. } | Audience::Approvers { org }) = &open.audience else {
            return Ok(());
        };
        let state = self.organization(org).await.map_err(later)?;
        let members = state.audience(&open.audience, self.now());
        let (title, link) = (open.brief.title.clone(), self.ask_link(&open));
        let notice = Notice { title, link, ask: Some(ask.to_owned()), again };
        self.fan_out(row, org, &state, &members, &notice).await
    }

    /// A row for each target of a member, named as `org/member`.
    pub(crate) async fn tell_member(
        &self,
        row: &Claimed,
        member: &str,
        title: &str,
        link: &str,
    ) -> Result<(), Failed> {
        let Some((org, member)) = member.split_once('/') else { return Ok(()) };
        let (org, member) = (OrgId(org.to_owned()), MemberId(member.to_owned()));
        let state = self.organization(&org).await.map_err(later)?;
        let notice = Notice { title: title.to_owned(), link: link.to_owned(), ask: None, again: false };
        self.fan_out(row, &org, &state, &[&member], &notice).await
    }

    /// Tells one target, named as `org/member/id`. One that was removed meanwhile is told nothing.
    pub(crate) async fn deliver(&self, row: &Claimed, to: &str, body: &str) -> Result<(), Failed> {
        let never = |why: String| Failed::Never(why);
        let notice: Notice = canon::from_slice(body.as_bytes()).map_err(|error| never(error.to_string()))?;
        let mut parts = to.splitn(3, '/');
        let (Some(org), Some(member), Some(id)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(never(format!("'{to}' names no target")));
        };
        let (org, member) = (OrgId(org.to_owned()), MemberId(member.to_owned()));
        let state = self.organization(&org).await.map_err(later)?;
        let Ok((targets, quiet)) = state.notify(&member, self.now()) else { return Ok(()) };
        let Some(target) = targets.iter().find(|target| target.id().to_string() == id) else { return Ok(()) };
        if let Some(due) = quiet {
            return Err(Failed::NotBefore { due, why: "quiet hours".to_owned() });
        }
        if let Some(ask) = &notice.ask
            && !self.still_waits(&row.stream, ask).await?
        {
            return Ok(());
        }
        let base = self.config().public_url.as_str();
        let body = if notice.again { STILL_WAITS } else { WAITS };
        let message = Message::new(base, &notice.link, &notice.title, body)
            .map_err(|error| never(error.to_string()))?;
        let message_id = Digest::of(format!("{base} {} {to}", row.id).as_bytes()).to_string();
        match self.notifier().tell(&message_id, target, &message).await {
            Ok(()) => Ok(()),
            Err(notify::Error::Gone) => {
                tracing::info!(%org, %member, kind = target.kind(), "a notification target is gone and was removed");
                self.forget_target(&org, &member, &target.id()).await.map_err(later)
            }
            Err(error) if error.is_permanent() => Err(never(format!("{}: {error}", target.kind()))),
            Err(error) if row.attempts >= ATTEMPTS => {
                Err(never(format!("{}: {error}, after {ATTEMPTS} attempts", target.kind())))
            }
            Err(notify::Error::Busy { status, retry_after: Some(wait) }) => {
                let due = self.now() + wait.clamp(SHORTEST, LONGEST);
                Err(Failed::NotBefore { due, why: format!("{} answers {status}", target.kind()) })
            }
            Err(error) => Err(Failed::Later(format!("{}: {error}", target.kind()))),
        }
    }

    /// A row for each target of these members, until the question is answered.
    pub(crate) async fn tell_of(
        &self,
        row: &Claimed,
        (org, state): (&OrgId, &State),
        members: &[&MemberId],
        (title, link): (String, String),
        ask: &str,
    ) -> Result<(), Failed> {
        let notice = Notice { title, link, ask: Some(ask.to_owned()), again: false };
        self.fan_out(row, org, state, members, &notice).await
    }

    async fn still_waits(&self, stream: &StreamId, ask: &str) -> Result<bool, Failed> {
        if stream.kind() == "mandate" {
            return Ok(self.pending_ask(stream, ask).await?.is_some());
        }
        Ok(self.open_ask(stream, ask).await?.is_some())
    }

    /// The question, while it may be answered.
    async fn open_ask(&self, stream: &StreamId, ask: &str) -> Result<Option<approvals::Ask>, Failed> {
        if is_evidence(stream) {
            return self.open_evidence(ask).await.map_err(later);
        }
        let Ok(room) = stream.id().parse::<RoomId>() else { return Ok(None) };
        let (state, _) = self.room_state(&room).await.map_err(later)?;
        Ok(state.asks().into_iter().find(|open| open.id == ask))
    }

    /// Turns a row into one for each target, once whatever happens to this worker.
    async fn fan_out(
        &self,
        row: &Claimed,
        org: &OrgId,
        state: &State,
        members: &[&MemberId],
        notice: &Notice,
    ) -> Result<(), Failed> {
        let now = self.now();
        let body = canon::to_vec(notice).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let body = body.ok_or_else(|| Failed::Never("a notice that cannot be written".to_owned()))?;
        let mut outbox = Vec::new();
        for &member in members {
            let Ok((targets, quiet)) = state.notify(member, now) else { continue };
            outbox.extend(targets.iter().map(|target| Outgoing {
                stream: row.stream.clone(),
                effect: Effect::Deliver { to: format!("{org}/{member}/{}", target.id()), body: body.clone() },
                due: quiet.unwrap_or(now),
            }));
        }
        if outbox.is_empty() {
            return Ok(());
        }
        let idempotency = Idempotency {
            scope: "notify".to_owned(),
            key: row.id.to_string(),
            request: Digest::of(body.as_bytes()),
            response: Vec::new(),
            now,
            expires: now + REMEMBERED,
        };
        let append = Append { outbox, idempotency: Some(idempotency), ..Append::default() };
        match self.journal().append(append).await {
            Ok(_) | Err(StoreError::Repeated(_)) => Ok(()),
            Err(error) => Err(later(Error::of(&error))),
        }
    }

    async fn forget_target(&self, org: &OrgId, member: &MemberId, target: &Digest) -> Result<(), Error> {
        let act = Act::RemoveNotify { member: member.clone(), target: *target };
        let command = Command { by: By::Server, act };
        self.runtime().execute::<Organization>(&org_stream(&org.0)?, &command, None).await?;
        Ok(())
    }
}
