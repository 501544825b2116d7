//! The ways out of this process, as configured: the one HTTP client, how people are told, who is asked to witness the log.

use crate::commands::Failure;
use crate::config::Config;
use async_trait::async_trait;
use fetch::{Destination, Request};
use http::Method;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::note::{KeyType, VerifierKey};
use ledger::witness::CALL;
use notify::{Channels, Mailer, Notifier, Vapid};
use server::Tell;
use std::sync::Arc;
use store::{AddCheckpoint, Witness};

/// The outbound client, with what the operator allows beyond public addresses.
pub fn client(config: &Config) -> Result<fetch::Client, Failure> {
    fetch::Client::new(policy(config)?).map_err(Failure::unusable_by)
}

pub fn policy(config: &Config) -> Result<fetch::Policy, Failure> {
    let allow = config
        .server
        .fetch_allow
        .iter()
        .map(|pair| pair.parse())
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::unusable(format!("config: server.fetch_allow: {error}")))?;
    Ok(fetch::Policy { allow, ..fetch::Policy::default() })
}

/// The channels of the configuration. ntfy and webhooks need none.
pub fn build(config: &Config) -> Result<Arc<dyn Tell>, Failure> {
    let bad = |key: &str, error: &dyn std::fmt::Display| Failure::unusable(format!("config: {key}: {error}"));
    let mut channels = Channels::default();
    if let Some(smtp) = &config.notify.smtp {
        channels.email = Some(Mailer::new(smtp.clone()).map_err(|error| bad("notify.smtp", &error))?);
    }
    if let Some(contact) = &config.notify.web_push_contact {
        let path = config.data.join("web-push.jwk");
        let key = SoftwareSigner::open_or_create(&path, Algorithm::P256, &mut env::Source::env(&env::System))
            .map_err(Failure::unusable_by)?;
        let key: Arc<dyn Signer> = Arc::new(key);
        channels.web_push =
            Some(Vapid::new(key, contact).map_err(|error| bad("notify.web_push_contact", &error))?);
    }
    Ok(Arc::new(Notifier::new(client(config)?, channels, Arc::new(env::System))))
}

/// The witnesses of the configuration. An address that may not be called is refused here.
pub fn witnesses(config: &Config) -> Result<Vec<Witness>, Failure> {
    let client = client(config)?;
    let read = |witness: &crate::config::Witness| {
        let bad = |why: String| Failure::unusable(format!("config: log.witnesses: {}: {why}", witness.url));
        let key: VerifierKey = witness.key.parse().map_err(|error: ledger::Error| bad(error.to_string()))?;
        if key.kind() != KeyType::Witness {
            return Err(bad("its key is a log's".to_owned()));
        }
        let url = format!("{}/{CALL}", witness.url.trim_end_matches('/'));
        let to = Destination::parse(&url).map_err(|error| bad(error.to_string()))?;
        client.permits(&to).map_err(|error| bad(error.to_string()))?;
        Ok(Witness { key, call: Arc::new(Call { client: client.clone(), to }) })
    };
    config.log.witnesses.iter().map(read).collect()
}

/// A witness over HTTP.
struct Call {
    client: fetch::Client,
    to: Destination,
}

#[async_trait]
impl AddCheckpoint for Call {
    async fn add_checkpoint(&self, body: String) -> Result<(u16, Vec<u8>), String> {
        let request = Request { body: body.into(), ..Request::new(Method::POST, self.to.clone()) };
        let answer = self.client.send(request).await.map_err(|error| error.to_string())?;
        Ok((answer.status.as_u16(), answer.body.to_vec()))
    }
}
