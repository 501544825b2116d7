use crate::{Error, Message};
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls as Encryption, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use serde::Deserialize;
use std::time::Duration;

/// How to reach a mail server. The operator's own choice, so it may be any address.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smtp {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    /// The sender, e.g. `Countersign <countersign@example.com>`.
    pub from: String,
    #[serde(default)]
    pub username: Option<String>,
    #[serde(default)]
    pub password: Option<String>,
}

/// How the way to the mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// From the first byte, usually port 465.
    Implicit,
    /// By STARTTLS, and not at all if that fails; usually port 587.
    Starttls,
    /// Not protected: refused together with a password, unless the server is on this machine.
    None,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Smtp({}:{}, {:?})", self.host, self.port, self.tls)
    }
}

/// Sends mail through one server.
#[derive(Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

const TIMEOUT: Duration = Duration::from_secs(20);

impl Mailer {
    pub fn new(smtp: Smtp) -> Result<Self, Error> {
        let setup = |detail: String| Error::Setup { detail };
        let from: Mailbox = smtp.from.parse().map_err(|_| setup(format!("{:?} is no sender", smtp.from)))?;
        let parameters = || {
            TlsParameters::new(smtp.host.clone())
                .map_err(|error| setup(format!("tls to {:?}: {error}", smtp.host)))
        };
        let encryption = match smtp.tls {
            Tls::Implicit => Encryption::Wrapper(parameters()?),
            Tls::Starttls => Encryption::Required(parameters()?),
            Tls::None => Encryption::None,
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(smtp.host.clone())
            .port(smtp.port)
            .tls(encryption)
            .timeout(Some(TIMEOUT));
        if let (Some(username), Some(password)) = (smtp.username, smtp.password) {
            let local = matches!(smtp.host.as_str(), "localhost" | "127.0.0.1" | "::1");
            if smtp.tls == Tls::None && !local {
                return Err(setup("a mail password is not sent unprotected".to_owned()));
            }
            builder = builder.credentials(Credentials::new(username, password));
        }
        Ok(Self { transport: builder.build(), from })
    }

    pub(crate) async fn send(&self, id: &str, to: Mailbox, message: &Message) -> Result<(), Error> {
        let domain = self.from.email.domain();
        let text = if message.body().is_empty() {
            format!("{}\r\n", message.link())
        } else {
            format!("{}\r\n\r\n{}\r\n", message.body(), message.link())
        };
        let mail = lettre::Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(message.title())
            .message_id(Some(format!("<{id}@{domain}>")))
            .header(ContentType::TEXT_PLAIN)
            .body(text)
            .map_err(|error| Error::Setup { detail: error.to_string() })?;
        match self.transport.send(mail).await {
            Ok(_) => Ok(()),
            // 5xx: this mail to this mailbox never goes through. Anything else may.
            Err(error) if error.is_permanent() => Err(error
                .status()
                .map_or(Error::Refused { status: 550 }, |code| Error::Refused { status: u16::from(code) })),
            Err(error) if error.is_client() => Err(Error::Setup { detail: error.to_string() }),
            Err(error) => Err(Error::Mail { detail: error.to_string() }),
        }
    }
}
