//! The ways out of this process, as configured: the one HTTP client, and how people are told.

use crate::commands::Failure;
use crate::config::Config;
use keys::{Algorithm, Signer, SoftwareSigner};
use notify::{Channels, Mailer, Notifier, Vapid};
use server::Tell;
use std::sync::Arc;

/// The outbound client, with what the operator allows beyond public addresses.
pub fn client(config: &Config) -> Result<fetch::Client, Failure> {
    let allow = config
        .server
        .fetch_allow
        .iter()
        .map(|pair| pair.parse())
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::unusable(format!("config: server.fetch_allow: {error}")))?;
    fetch::Client::new(fetch::Policy { allow, ..fetch::Policy::default() }).map_err(Failure::unusable_by)
}

/// The channels of the configuration. ntfy and webhooks need none.
pub fn build(config: &Config) -> Result<Arc<dyn Tell>, Failure> {
    let mut channels = Channels::default();
    if let Some(smtp) = &config.notify.smtp {
        channels.email = Some(Mailer::new(smtp.clone()).map_err(Failure::unusable_by)?);
    }
    if let Some(contact) = &config.notify.web_push_contact {
        let path = config.data.join("web-push.jwk");
        let key = SoftwareSigner::open_or_create(&path, Algorithm::P256, &mut env::Source::env(&env::System))
            .map_err(Failure::unusable_by)?;
        let key: Arc<dyn Signer> = Arc::new(key);
        channels.web_push = Some(Vapid::new(key, contact).map_err(Failure::unusable_by)?);
    }
    Ok(Arc::new(Notifier::new(client(config)?, channels, Arc::new(env::System))))
}
