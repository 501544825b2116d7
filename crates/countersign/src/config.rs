//! One TOML file, environment over it. Unknown keys are refused; `doctor` says where each value came from.

use crate::commands::Failure;
use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use ledger::note::KeyName;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// All that can be set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Loopback unless set.
    pub listen: SocketAddr,
    /// Folder of the server's keys and, without `database_url`, of the SQLite store. Made with mode 0700.
    pub data: PathBuf,
    /// `postgres://…`: any number of servers share it.
    #[serde(default)]
    pub database_url: Option<String>,
    #[serde(default)]
    pub log: Log,
    #[serde(default)]
    pub notify: Notify,
    #[serde(default)]
    pub server: server::Config,
    /// Off without it.
    #[serde(default)]
    pub mandates: Option<crate::mandates::Mandates>,
    /// Off without it.
    #[serde(default)]
    pub messages: Option<crate::messages::Messages>,
    /// The signer. Off without it.
    #[serde(default)]
    pub evidence: Option<crate::evidence::Evidence>,
}

/// The server's transparency log.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The log's name in its checkpoints; without it the host of `server.public_url` at the first start, and `/log`. The
    /// first start fixes it.
    pub origin: Option<String>,
    /// Who is asked to cosign its checkpoints.
    pub witnesses: Vec<Witness>,
}

/// A witness (C2SP tlog-witness).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The prefix of its address, before `/add-checkpoint`.
    pub url: String,
    /// What it signs with: a vkey of type 4.
    pub key: String,
}

/// How people are told that something waits for them. ntfy and webhooks need nothing set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    pub smtp: Option<notify::Smtp>,
    /// `mailto:` or `https:` address for the push services; web push is off without it.
    pub web_push_contact: Option<String>,
}

/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "countersign.toml";

/// Environment variables that set something: `COUNTERSIGN_LISTEN`, `COUNTERSIGN_SERVER__PUBLIC_URL`, `DATABASE_URL`.
const PREFIX: &str = "COUNTERSIGN_";

impl Config {
    /// Reads file and environment. `listen` goes over both.
    pub fn load(file: Option<&Path>, listen: Option<&str>) -> Result<Self, Failure> {
        let figment = figment(file, listen)?;
        let mut config: Self = figment.extract().map_err(|error| Failure::unusable(explain(error)))?;
        if figment.find_value("server.public_url").is_err()
            && let Ok(url) = format!("http://localhost:{}", config.listen.port()).parse()
        {
            config.server.public_url = url;
        }
        config.check()?;
        Ok(config)
    }

    /// Refuses values that have the right type and cannot be, by their key.
    fn check(&self) -> Result<(), Failure> {
        let bad = |key: &str, why: &dyn std::fmt::Display| Failure::unusable(format!("config: {key}: {why}"));
        self.server.check().map_err(|error| bad(&format!("server.{}", error.key), &error.why))?;
        if let Some(origin) = &self.log.origin {
            origin.parse::<KeyName>().map_err(|error| bad("log.origin", &error))?;
        }
        let url = self.database_url.as_deref().unwrap_or("postgres:");
        if !(url.starts_with("postgres:") || url.starts_with("postgresql:")) {
            return Err(bad("database_url", &"not a postgres:// address"));
        }
        if let Some(own) = &self.evidence {
            own.check(self).map_err(|(key, why)| bad(&key, &why))?;
        }
        Ok(())
    }

    /// A server of its own, set by nothing but these two.
    pub fn for_demo(listen: SocketAddr, data: &Path) -> Result<Self, Failure> {
        let public_url =
            format!("http://localhost:{}", listen.port()).parse().map_err(Failure::unusable_by)?;
        Ok(Self {
            listen,
            data: data.to_owned(),
            database_url: None,
            log: Log::default(),
            notify: Notify::default(),
            server: server::Config { public_url, ..server::Config::default() },
            mandates: None,
            messages: None,
            evidence: None,
        })
    }

    /// The log's name as these settings would have it, were this the first start.
    pub fn first_log_origin(&self) -> String {
        self.log.origin.clone().unwrap_or_else(|| {
            let url = &self.server.public_url;
            let host = url.host_str().unwrap_or("localhost");
            url.port().map_or_else(|| format!("{host}/log"), |port| format!("{host}:{port}/log"))
        })
    }
}

/// Where every value that is set comes from, in words.
pub fn sources(file: Option<&Path>) -> Result<Vec<(String, String)>, Failure> {
    let figment = figment(file, None)?;
    let names =
        ["listen", "data", "database_url", "log.origin", "server.public_url", "server.sign_in", "server.v0"];
    Ok(names
        .iter()
        .map(|name| {
            let source = figment.find_metadata(name).map_or_else(
                || "not set".to_owned(),
                |metadata| match &metadata.source {
                    Some(source) => source.to_string(),
                    None => metadata.name.to_string(),
                },
            );
            ((*name).to_owned(), source)
        })
        .collect())
}

#[derive(Serialize)]
struct Defaults {
    listen: &'static str,
    data: &'static str,
}

fn figment(file: Option<&Path>, listen: Option<&str>) -> Result<Figment, Failure> {
    let path = match file {
        Some(path) if !path.is_file() => {
            return Err(Failure::unusable(format!("{}: no such file", path.display())));
        }
        Some(path) => path,
        None => Path::new(DEFAULT_FILE),
    };
    let mut figment =
        Figment::from(Serialized::defaults(Defaults { listen: "127.0.0.1:8080", data: "countersign-data" }));
    if path.is_file() {
        figment = figment.merge(Toml::file_exact(path));
    }
    figment = figment
        .merge(Env::prefixed(PREFIX).ignore(&["config"]).split("__"))
        .merge(Env::raw().only(&["DATABASE_URL"]));
    if let Some(listen) = listen {
        figment = figment.merge(("listen", listen));
    }
    Ok(figment)
}

/// Each fault with the key and the file or variable that set it.
pub fn explain(errors: figment::Error) -> String {
    let lines: Vec<String> = errors
        .into_iter()
        .map(|error| {
            let key = error.path.join(".");
            let from = error
                .metadata
                .as_ref()
                .map(|metadata| match &metadata.source {
                    Some(source) => format!(" ({source})"),
                    None => format!(" ({})", metadata.name),
                })
                .unwrap_or_default();
            let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
            format!("config: {key}{}{from}", error.kind)
        })
        .collect();
    lines.join("\n")
}
