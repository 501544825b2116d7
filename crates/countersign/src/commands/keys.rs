use super::Failure;
use crate::cli::{Keys, Setup};
use crate::config::Config;
use crate::house::{log_key_file, log_origin, ring_folder};
use env::Source;
use keys::{Jwk, PublicKey, Ring, Signer, SoftwareSigner};
use ledger::note::{KeyType, VerifierKey};
use mandate::text::Ed25519Key;
use serde::Serialize;
use std::path::Path;

pub fn run(command: &Keys) -> Result<(), Failure> {
    let (Keys::List(setup) | Keys::Trust(setup) | Keys::Rotate { setup, .. }) = command;
    let config = load(setup)?;
    let folder = match command {
        Keys::Rotate { evidence: true, .. } => crate::evidence::ring_folder(&config),
        _ => ring_folder(&config),
    };
    let mut ring = Ring::open(&folder).map_err(Failure::unusable_by)?;
    match command {
        Keys::List(_) => {
            for key in ring.keys() {
                let until = key.until.map_or_else(|| "now".to_owned(), |until| until.to_string());
                println!("{}  {} to {until}\n  {}", key.key.thumbprint(), key.since, jwk(&key.key)?);
            }
            println!("log  {}", vkey(&config)?);
            if let Some(own) = &config.evidence
                && crate::evidence::log_key_file(&config).exists()
            {
                println!("evidence log  {}", crate::evidence::log_key(&config, own)?);
            }
        }
        Keys::Trust(_) => println!("{}", trust(&config, ring.keys().iter().map(|key| &key.key))?),
        Keys::Rotate { evidence, .. } => {
            let rotation = ring.rotate(None, &mut env::System.env()).map_err(Failure::unusable_by)?;
            println!("retired {}\ncurrent {}\nsince   {}", rotation.retired, rotation.current, rotation.at);
            match evidence {
                true => {
                    println!("Restart the server: its log declares the new key, and retires the old one.")
                }
                false => {
                    println!("Restart the server to sign with it. Everyone is signed out of the console.");
                }
            }
        }
    }
    Ok(())
}

/// A trust file that believes these servers and this house's log.
pub fn trust<'a>(config: &Config, servers: impl Iterator<Item = &'a PublicKey>) -> Result<String, Failure> {
    let trust = TrustFile {
        servers: servers.map(|key| Jwk::from(*key)).collect(),
        logs: vec![vkey(config)?],
        witnesses: config.log.witnesses.iter().map(|witness| witness.key.clone()).collect(),
        origins: config.server.page_origins(),
        verifiers: config.mandates.iter().flat_map(|own| &own.verifiers).map(|peer| peer.key).collect(),
    };
    serde_json::to_string_pretty(&trust).map_err(Failure::unusable_by)
}

#[derive(Serialize)]
struct TrustFile {
    servers: Vec<Jwk>,
    logs: Vec<String>,
    /// How many of them a verifier demands is theirs to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    witnesses: Vec<String>,
    /// Where this house's passkeys sign.
    origins: Vec<String>,
    /// Who signs for the facts of invoices; how many are demanded is theirs to say, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verifiers: Vec<Ed25519Key>,
}

fn vkey(config: &Config) -> Result<String, Failure> {
    log_key(config, &log_key_file(config)).map(|key| key.to_string())
}

/// The key of this house's log, read from a file.
pub fn log_key(config: &Config, file: &Path) -> Result<VerifierKey, Failure> {
    named_log_key(&log_origin(config)?, file)
}

/// The same under a name that is known.
pub fn named_log_key(origin: &str, file: &Path) -> Result<VerifierKey, Failure> {
    let signer = SoftwareSigner::open(file).map_err(Failure::unusable_by)?;
    let PublicKey::Ed25519(public) = signer.public() else {
        return Err(Failure::unusable("the log's key is not Ed25519"));
    };
    let name = origin.parse().map_err(Failure::unusable_by)?;
    Ok(VerifierKey::new(name, KeyType::Log, public))
}

fn jwk(key: &PublicKey) -> Result<String, Failure> {
    let bytes = canon::to_vec(&Jwk::from(*key)).map_err(Failure::unusable_by)?;
    String::from_utf8(bytes).map_err(Failure::unusable_by)
}

fn load(setup: &Setup) -> Result<Config, Failure> {
    Config::load(setup.config.as_deref(), None)
}
