//! A verifier of facts: a process with its own key and its own way to the billing source.

use super::Failure;
use super::serve::{listen, stopped};
use crate::cli::Verifier;
use crate::config::explain;
use crate::mandates::{caller_secret, secret_of};
use env::Source;
use evm::{Feed, Node};
use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use keys::{Algorithm, SecretHash, SoftwareSigner};
use mandate::basis::Pair;
use mandate::text::{Id, Text};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verifier::{Desk, Stripe, router};

/// The configuration. Relative paths are in the data folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Goes into every statement; whoever asks knows the key by it.
    name: Id,
    listen: SocketAddr,
    /// Folder of its key. Made with mode 0700.
    data: PathBuf,
    /// `host:port` that it may call although not public.
    #[serde(default)]
    fetch_allow: Vec<fetch::HostPort>,
    /// Files, each with the bearer key of one who may ask.
    callers: Vec<PathBuf>,
    stripe: Billing,
    /// By mandate, who the billing source has to know as the one that pays.
    customers: HashMap<Id, Text<1, 64>>,
    /// By pair, where its price is read.
    #[serde(default)]
    feeds: HashMap<Pair, PriceFeed>,
}

/// A contract with the interface AggregatorV3.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFeed {
    /// The node, by JSON-RPC.
    url: String,
    chain_id: u64,
    contract: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Billing {
    #[serde(default = "stripe")]
    url: String,
    /// Holds a restricted key that may read invoices.
    key_file: PathBuf,
}

fn stripe() -> String {
    "https://api.stripe.com".to_owned()
}

#[derive(Serialize)]
struct Defaults {
    listen: &'static str,
    data: &'static str,
}

pub async fn run(arguments: Verifier) -> Result<(), Failure> {
    let config = load(&arguments)?;
    let desk = open(&config)?;
    let key = desk.key().map_err(Failure::unusable_by)?;
    let listener = listen(&config.listen.to_string()).await?;
    let address = listener.local_addr().map_err(Failure::unusable_by)?;
    let banner = format!("verifier {} listens on {address}\n  key  {key}\n", config.name);
    // A server does not end because nobody reads what it says.
    let _ = std::io::stdout().lock().write_all(banner.as_bytes());
    let served = axum::serve(listener, router(Arc::new(desk))).with_graceful_shutdown(stopped()?);
    served.await.map_err(Failure::unusable_by)
}

fn load(arguments: &Verifier) -> Result<Config, Failure> {
    let path = &arguments.config;
    if !path.is_file() {
        return Err(Failure::unusable(format!("{}: no such file", path.display())));
    }
    let defaults = Defaults { listen: "127.0.0.1:8095", data: "countersign-verifier" };
    let mut figment = Figment::from(Serialized::defaults(defaults)).merge(Toml::file_exact(path));
    if let Some(listen) = &arguments.listen {
        figment = figment.merge(("listen", listen));
    }
    figment.extract().map_err(|error| Failure::unusable(explain(error)))
}

fn open(config: &Config) -> Result<Desk, Failure> {
    let data = &config.data;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|error| Failure::unusable(format!("{}: {error}", data.display())))?;
    let signer = SoftwareSigner::open_or_create(
        &data.join("verifier.jwk"),
        Algorithm::Ed25519,
        &mut env::System.env(),
    )
    .map_err(Failure::unusable_by)?;
    let policy = fetch::Policy { allow: config.fetch_allow.clone(), ..fetch::Policy::default() };
    let client = fetch::Client::new(policy).map_err(Failure::unusable_by)?;
    let key = secret_of(&data.join(&config.stripe.key_file))?;
    let callers = config.callers.iter().map(|file: &PathBuf| caller(&data.join(file)));
    Ok(Desk {
        name: config.name.clone(),
        signer: Arc::new(signer),
        clock: Arc::new(env::System),
        callers: callers.collect::<Result<_, _>>()?,
        feeds: config
            .feeds
            .iter()
            .map(|(pair, from)| Ok((pair.clone(), feed(&client, from)?)))
            .collect::<Result<_, Failure>>()?,
        billing: Stripe::new(client, &config.stripe.url, &key).map_err(Failure::unusable_by)?,
        customers: config.customers.clone(),
    })
}

fn feed(client: &fetch::Client, from: &PriceFeed) -> Result<Feed, Failure> {
    let node = Node::new(client.clone(), &from.url).map_err(Failure::unusable_by)?;
    let contract = from.contract.parse().map_err(Failure::unusable_by)?;
    Ok(Feed::new(node, from.chain_id, contract))
}

fn caller(path: &Path) -> Result<SecretHash, Failure> {
    caller_secret(path).map(|secret| SecretHash::of(&secret))
}
