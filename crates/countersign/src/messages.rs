//! The section `[messages]`: whom a server that receives messages believes, and who may hand them over.

use crate::commands::{Failure, read_input};
use crate::config::Config;
use keys::SecretHash;
use pcm::message::Receiver;
use serde::Deserialize;
use server::messages::{Recipient, Setup};
use std::path::{Path, PathBuf};

/// `[messages]`. Relative paths are in the data folder.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// The receiver's trust file (docs/messages.md).
    pub trust: PathBuf,
    /// Programs that hand messages over by HTTP; the owner may too.
    #[serde(default)]
    pub recipients: Vec<Program>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Which of the trust file's receivers it is.
    pub id: String,
    /// Holds its bearer secret.
    pub key_file: PathBuf,
}

/// What receiving stands on, by the configuration or by another trust file. `None` where there is neither.
pub fn setup(config: &Config, trust: Option<&Path>) -> Result<Option<Setup>, Failure> {
    let own = config.messages.as_ref();
    let file = trust.map(Path::to_owned).or_else(|| own.map(|own| config.data.join(&own.trust)));
    let Some(file) = file else { return Ok(None) };
    let receiver = Receiver::parse(&read_input(&file)?)
        .map_err(|error| Failure::unusable(format!("{}: {error}", file.display())))?;
    let recipients = own.map_or(&[][..], |own| &own.recipients).iter().map(|program| {
        if !receiver.receives(&program.id) {
            let text =
                format!("config: messages.recipients: {:?} is no receiver of the trust file", program.id);
            return Err(Failure::unusable(text));
        }
        let secret = crate::mandates::caller_secret(&config.data.join(&program.key_file))?;
        Ok(Recipient { id: program.id.clone(), key: SecretHash::of(&secret) })
    });
    let recipients = recipients.collect::<Result<_, _>>()?;
    Ok(Some(Setup { receiver, recipients, mark: mark_file(config) }))
}

/// How far what was accepted has come; no backup has it, so that an old one is seen to be old.
pub fn mark_file(config: &Config) -> PathBuf {
    config.data.join("messages.mark")
}
