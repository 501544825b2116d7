//! An agent's folder: two keys, the settings, and the bonds that were locked.

use super::{At, New, address_of};
use crate::commands::Failure;
use client::{Agent, Credential, Pace, Purse, Server};
use env::Source;
use figment::Figment;
use figment::providers::{Format, Toml};
use keys::{Algorithm, Signer, SoftwareSigner};
use mandate::Address;
use mandate::issue::ChainName;
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most lovelace that a bond may be, unless it is set.
pub const MOST: u64 = 10_000_000;

const SETTINGS: &str = "agent.toml";

/// `agent.toml`. Relative paths are in the folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    chain: Option<String>,
    #[serde(default)]
    chain_project_file: Option<PathBuf>,
    network: ChainName,
    #[serde(default = "most")]
    most: u64,
    /// Instead of signing requests with the delegate key.
    #[serde(default)]
    bearer_file: Option<PathBuf>,
    /// By whose keys receipts must be.
    #[serde(default)]
    trust: Option<PathBuf>,
}

/// An opened folder.
pub struct Home {
    folder: PathBuf,
    settings: Settings,
    pub delegate: Arc<SoftwareSigner>,
    wallet: Arc<SoftwareSigner>,
    source: Arc<dyn Source>,
}

impl Home {
    /// Makes the folder, its keys and settings; what is there stays as it is.
    pub fn make(new: &New) -> Result<Self, Failure> {
        let folder = &new.at.home;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(folder, &error))?;
        let key = |name: &str| {
            let made = SoftwareSigner::open_or_create(
                &folder.join(name),
                Algorithm::Ed25519,
                &mut env::System.env(),
            );
            made.map(drop).map_err(Failure::unusable_by)
        };
        key(DELEGATE)?;
        key(WALLET)?;
        let path = folder.join(SETTINGS);
        let text = settings(new)?;
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => file.write_all(text.as_bytes()).map_err(|error| failed(&path, &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, &error)),
        }
        Self::open(&new.at)
    }

    pub fn open(at: &At) -> Result<Self, Failure> {
        let folder = at.home.clone();
        let path = folder.join(SETTINGS);
        if !path.is_file() {
            let text = format!("{}: no agent's folder (countersign mandate agent new)", folder.display());
            return Err(Failure::unusable(text));
        }
        let read = Figment::from(Toml::file_exact(&path)).extract::<Settings>();
        let mut settings = read.map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
        if at.server.is_some() {
            settings.server.clone_from(&at.server);
        }
        let key =
            |name: &str| SoftwareSigner::open(&folder.join(name)).map(Arc::new).map_err(Failure::unusable_by);
        let (delegate, wallet) = (key(DELEGATE)?, key(WALLET)?);
        Ok(Self { folder, settings, delegate, wallet, source: Arc::new(env::System) })
    }

    pub fn address(&self) -> Result<Address, Failure> {
        address_of(&self.wallet, self.settings.network)
    }

    pub const fn has_chain(&self) -> bool {
        self.settings.chain.is_some()
    }

    /// The agent with what it has: a purse where a chain is set, a trust file where one is.
    pub fn agent(&self, pace: Pace) -> Result<Agent, Failure> {
        let mut agent = Agent::new(self.server()?, Arc::clone(&self.source)).with_pace(pace);
        if self.has_chain() {
            agent = agent.with_purse(self.purse()?);
        }
        if let Some(path) = &self.settings.trust {
            let bytes = super::read_input(&self.folder.join(path))?;
            agent = agent.with_trust(verify::Trust::parse(&bytes).map_err(Failure::unusable_by)?);
        }
        Ok(agent)
    }

    pub fn server(&self) -> Result<Server, Failure> {
        let origin = self.settings.server.as_deref();
        let origin =
            origin.ok_or_else(|| Failure::unusable("no server: --server URL, or set it in agent.toml"))?;
        let credential = match &self.settings.bearer_file {
            Some(path) => Credential::Bearer(secret(&self.folder.join(path))?),
            None => Credential::Key(Arc::<SoftwareSigner>::clone(&self.delegate)),
        };
        let client = fetch::Client::new(self.policy()?).map_err(Failure::unusable_by)?;
        Server::new(origin, client, credential, Arc::clone(&self.source))
            .map_err(|error| Failure::unusable(format!("{origin}: {error}")))
    }

    pub fn purse(&self) -> Result<Purse, Failure> {
        let chain = self.settings.chain.as_deref();
        let chain =
            chain.ok_or_else(|| Failure::unusable("no chain is set in agent.toml to lock a bond on"))?;
        let url = match chain.strip_prefix("file:").filter(|path| !path.is_empty()) {
            Some(path) => format!("file:{}", self.folder.join(path).display()),
            None => chain.to_owned(),
        };
        let project = match &self.settings.chain_project_file {
            Some(path) => secret(&self.folder.join(path))?,
            None => String::new(),
        };
        let source = Arc::clone(&self.source);
        let network = self.settings.network;
        let chain = chain::connect(&url, &project, network, Arc::clone(&source), self.policy()?)
            .map_err(Failure::unusable_by)?;
        let wallet: Arc<dyn Signer> = Arc::<SoftwareSigner>::clone(&self.wallet);
        let bonds = self.folder.join("bonds");
        Purse::new(chain, network, wallet, source, &bonds, self.settings.most).map_err(Failure::unusable_by)
    }

    fn policy(&self) -> Result<fetch::Policy, Failure> {
        let allow = self.settings.allow.iter().map(|pair| pair.parse()).collect::<Result<_, _>>();
        let allow = allow.map_err(|error| Failure::unusable(format!("agent.toml: allow: {error}")))?;
        // A check may wait for the verifiers, and a proof holds a whole log.
        Ok(fetch::Policy {
            allow,
            timeout: std::time::Duration::from_secs(60),
            max_body: 64 << 20,
            ..fetch::Policy::default()
        })
    }
}

const DELEGATE: &str = "delegate.jwk";
const WALLET: &str = "wallet.jwk";

/// The settings as a person edits them.
fn settings(new: &New) -> Result<String, Failure> {
    let quoted = |text: &str| serde_json::to_string(text).map_err(Failure::unusable_by);
    let mut text = String::from("# An agent of a mandate. Relative paths are in this folder.\n");
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name} = {value}");
    };
    if let Some(server) = &new.at.server {
        line("server", quoted(server)?);
    }
    if !new.allow.is_empty() {
        let all = new.allow.iter().map(|pair| quoted(pair)).collect::<Result<Vec<_>, _>>()?;
        line("allow", format!("[{}]", all.join(", ")));
    }
    if let Some(chain) = &new.chain {
        line("chain", quoted(&absolute(chain)?)?);
    }
    if let Some(file) = &new.chain_project_file {
        let file = std::path::absolute(file).map_err(Failure::unusable_by)?;
        line("chain_project_file", quoted(&file.display().to_string())?);
    }
    line("network", quoted(&new.network)?);
    line("most", new.most.to_string());
    Ok(text)
}

/// A path on the command line is from where it is typed; in the settings it is from the folder.
fn absolute(chain: &str) -> Result<String, Failure> {
    match chain.strip_prefix("file:").filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = std::path::absolute(path).map_err(Failure::unusable_by)?;
            Ok(format!("file:{}", path.display()))
        }
        None => Ok(chain.to_owned()),
    }
}

/// A file that holds a secret and nothing else.
fn secret(path: &Path) -> Result<String, Failure> {
    let read = std::fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    Ok(read.trim().to_owned())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unusable(format!("{}: {error}", path.display()))
}

const fn most() -> u64 {
    MOST
}
