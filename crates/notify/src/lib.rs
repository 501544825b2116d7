//! Tells a person that something waits for them: by web push, ntfy, e-mail or webhook. A [`Message`] is a title, a line and
//! a link to this server; it decides nothing and holds no secret. Whether now is a time to disturb is decided elsewhere.

mod email;
mod error;
mod message;
mod ntfy;
mod target;
mod web_push;
mod webhook;

pub use email::{Mailer, Smtp, Tls};
pub use error::Error;
pub use message::Message;
pub use target::Target;
pub use web_push::Vapid;
pub use webhook::signature as webhook_signature;

use approvals::NotifyTarget;
use env::Source;
use std::sync::Arc;

/// What is configured. Whatever is not is refused with `not_configured`.
#[derive(Default)]
pub struct Channels {
    pub web_push: Option<Vapid>,
    pub email: Option<Mailer>,
}

/// Delivers messages. Cheap to clone.
#[derive(Clone)]
pub struct Notifier {
    client: fetch::Client,
    channels: Arc<Channels>,
    source: Arc<dyn Source>,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier")
            .field("web_push", &self.channels.web_push.is_some())
            .field("email", &self.channels.email.is_some())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
}

impl Notifier {
    pub fn new(client: fetch::Client, channels: Channels, source: Arc<dyn Source>) -> Self {
        Self { client, channels: Arc::new(channels), source }
    }

    /// Whether a target can be used here: its form, its address, its channel. For refusing it when it is entered.
    pub fn check(&self, target: &NotifyTarget) -> Result<Target, Error> {
        let target = Target::parse(target)?;
        match &target {
            Target::WebPush(push) => {
                self.vapid()?;
                self.client.permits(&push.endpoint).map_err(Error::from)?;
            }
            Target::Ntfy(ntfy) => self.client.permits(&ntfy.server).map_err(Error::from)?,
            Target::Webhook(hook) => self.client.permits(&hook.url).map_err(Error::from)?,
            Target::Email(_) => {
                self.mailer()?;
            }
        }
        Ok(target)
    }

    /// The public key that a browser subscribes with, base64url of the uncompressed point; `None` without web push.
    pub fn application_server_key(&self) -> Option<String> {
        self.channels.web_push.as_ref().map(Vapid::application_server_key)
    }

    /// Brings one message to one target. `id` is the same for each attempt at the same message, so that a receiver can drop
    /// a repeated one. [`Error::is_permanent`] says whether another attempt is of any use.
    pub async fn send(&self, id: &str, target: &NotifyTarget, message: &Message) -> Result<(), Error> {
        let now = self.source.now();
        match self.check(target)? {
            Target::WebPush(push) => web_push::send(&self.client, self.vapid()?, &push, message, now).await,
            Target::Ntfy(ntfy) => ntfy::send(&self.client, &ntfy, message).await,
            Target::Webhook(hook) => webhook::send(&self.client, &hook, id, message, now).await,
            Target::Email(address) => self.mailer()?.send(id, address, message).await,
        }
    }

    fn vapid(&self) -> Result<&Vapid, Error> {
        self.channels.web_push.as_ref().ok_or(Error::NotConfigured { channel: "web_push" })
    }

    fn mailer(&self) -> Result<&Mailer, Error> {
        self.channels.email.as_ref().ok_or(Error::NotConfigured { channel: "email" })
    }
}
