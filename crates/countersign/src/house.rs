//! What every command stands on: the keys on disk, the journal, the server's services.

use crate::commands::Failure;
use crate::config::Config;
use env::Source;
use keys::{Algorithm, Ring, Signer, SoftwareSigner};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::log::Log;
use store::{Journal, Postgres, ServerKey, Sqlite};

/// The opened house.
pub struct House {
    pub config: Config,
    pub journal: Arc<dyn Journal>,
    /// The same journal where it is a file: only files are copied by `backup`.
    pub sqlite: Option<Sqlite>,
    pub ring: Ring,
    pub log: Log,
}

impl House {
    /// Opens or makes the data folder, its keys and the store.
    pub async fn open(config: Config) -> Result<Self, Failure> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&config.data)
            .map_err(|error| Failure::unusable(format!("{}: {error}", config.data.display())))?;
        nothing_lost(&config)?;
        let source: Arc<dyn Source> = Arc::new(env::System);
        let ring = Ring::open_or_create(&ring_folder(&config), Algorithm::Ed25519, &mut source.env())
            .map_err(Failure::unusable_by)?;
        let log_key =
            SoftwareSigner::open_or_create(&log_key_file(&config), Algorithm::Ed25519, &mut source.env())
                .map_err(Failure::unusable_by)?;
        let server_key = ServerKey::open(&server_key_file(&config)).map_err(Failure::unusable_by)?;
        let (journal, sqlite): (Arc<dyn Journal>, _) = match &config.database_url {
            Some(url) => {
                let postgres = Postgres::open(url, server_key, store::postgres::Options::default())
                    .await
                    .map_err(Failure::unusable_by)?;
                (Arc::new(postgres), None)
            }
            None => {
                let path = database_file(&config);
                let sqlite = tokio::task::spawn_blocking(move || Sqlite::open(&path, server_key))
                    .await
                    .map_err(Failure::unusable_by)?
                    .map_err(Failure::unusable_by)?;
                (Arc::new(sqlite.clone()), Some(sqlite))
            }
        };
        let origin = log_origin(&config)?.parse().map_err(Failure::unusable_by)?;
        let log = Log::new(Arc::clone(&journal), source, Arc::new(log_key), origin)
            .with_witnesses(crate::notifier::witnesses(&config)?);
        Ok(Self { config, journal, sqlite, ring, log })
    }

    /// The services of a server on this house, and the house's parts no longer needed apart.
    pub fn app(self) -> Result<server::App, Failure> {
        let source: Arc<dyn Source> = Arc::new(env::System);
        let mandates = crate::mandates::setup(&self.config, &source)?;
        let messages = crate::messages::setup(&self.config, None)?;
        let app = self.app_with(mandates)?;
        if let Some(setup) = messages {
            app.receive(setup);
        }
        Ok(app)
    }

    /// The same, with these mandates.
    pub fn app_with(self, mandates: Option<server::mandates::Setup>) -> Result<server::App, Failure> {
        let notifier = crate::notifier::build(&self.config)?;
        let fetch = crate::notifier::client(&self.config)?;
        let signer: Arc<dyn Signer> = Arc::new(self.ring.into_signer());
        let source: Arc<dyn Source> = Arc::new(env::System);
        server::App::new(server::Parts {
            config: self.config.server,
            journal: self.journal,
            source,
            signer,
            log: Some(self.log),
            fetch,
            notifier,
            mandates,
        })
        .map_err(Failure::unusable_by)
    }
}

/// A server that has run before never makes a lost key or store anew: that would fork its log under its own name.
fn nothing_lost(config: &Config) -> Result<(), Failure> {
    if !log_origin_file(config).exists() {
        return Ok(());
    }
    let store = config.database_url.is_none().then(|| database_file(config));
    let keys = [ring_folder(config).join("ring.json"), log_key_file(config), server_key_file(config)];
    let lost = |path: &PathBuf| !std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    match keys.into_iter().chain(store).find(lost) {
        None => Ok(()),
        Some(lost) => Err(Failure::unusable(format!(
            "{} is missing or empty, and this server has run before: restore a backup, or begin anew in another data folder",
            lost.display()
        ))),
    }
}

pub fn ring_folder(config: &Config) -> PathBuf {
    config.data.join("keys")
}

/// The log's own key: it signs checkpoints only and is never rotated, because witnesses pin it.
pub fn log_key_file(config: &Config) -> PathBuf {
    config.data.join("log.jwk")
}

/// The log's name: what the first start fixed, else what these settings would give it. Whoever knows the log by its name
/// would take a renamed one for another, so settings that name it otherwise are refused.
pub fn log_origin(config: &Config) -> Result<String, Failure> {
    log_origin_in(config, &log_origin_file(config))
}

/// The same, where the first start fixed it in this file.
pub fn log_origin_in(config: &Config, file: &Path) -> Result<String, Failure> {
    let fixed = match std::fs::read_to_string(file) {
        Ok(text) => text.trim_end().to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(config.first_log_origin()),
        Err(error) => return Err(Failure::unusable(format!("{}: {error}", file.display()))),
    };
    match &config.log.origin {
        Some(other) if *other != fixed => Err(Failure::unusable(format!(
            "log.origin is \"{other}\", but this log has been \"{fixed}\" since its first start ({})",
            file.display()
        ))),
        _ => Ok(fixed),
    }
}

/// Keeps the log's name as it is now, whatever address the server has later. Nothing changes where it was kept before.
pub fn fix_log_origin(config: &Config) -> Result<(), Failure> {
    let file = log_origin_file(config);
    let failed = |error: std::io::Error| Failure::unusable(format!("{}: {error}", file.display()));
    let origin = log_origin(config)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(mut new) => writeln!(new, "{origin}").and_then(|()| new.sync_all()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

pub fn log_origin_file(config: &Config) -> PathBuf {
    config.data.join("log.origin")
}

/// The key that wraps the data keys of payloads.
pub fn server_key_file(config: &Config) -> PathBuf {
    config.data.join("store.key")
}

pub fn database_file(config: &Config) -> PathBuf {
    config.data.join("journal.db")
}
