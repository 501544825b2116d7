//! A signer in the gateway's own process, to try things out: whoever runs the agent could change its log, so its checkpoints
//! say `dev` (D41).

use crate::commands::{Failure, read_input};
use env::{Duration, Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::signer::rpc::Ruling;
use pcm::signer::{Identity, Policy};
use signer::{Seat, Service, Setup};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use store::{Journal, Log, ServerKey, Sqlite};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The log's name in its checkpoints.
const ORIGIN: &str = "dev.countersign.local/evidence";

/// It runs until it is told to end.
pub struct Dev {
    pub seat: Seat,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Dev {
    /// On the store and the keys in `folder`, which are made if need be. Without a policy everything is allowed, and recorded.
    pub async fn open(folder: &Path, policy: Option<&Path>) -> Result<Self, Failure> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Failure::unusable(format!("{}: {error}", folder.display())))?;
        let source: Arc<dyn Source> = Arc::new(System);
        let key = |name: &str| {
            SoftwareSigner::open_or_create(&folder.join(name), Algorithm::Ed25519, &mut source.env())
                .map_err(Failure::unusable_by)
        };
        let (record, log) = (Arc::new(key("record.key")?), Arc::new(key("log.key")?));
        let server = ServerKey::open(&folder.join("server.key")).map_err(Failure::unusable_by)?;
        let secret = secret(&folder.join("secret"))?;
        let sqlite = Sqlite::open(&folder.join("evidence.sqlite"), server).map_err(Failure::unusable_by)?;
        let journal: Arc<dyn Journal> = Arc::new(sqlite);
        let origin = ORIGIN.parse().map_err(Failure::unusable_by)?;
        let log = Log::new(Arc::clone(&journal), Arc::clone(&source), log, origin).of_stream(signer::stream());
        let setup = Setup {
            journal,
            source,
            key: record,
            log,
            policy: policy.map_or_else(|| Ok(Policy { default: Ruling::Allow, rules: Vec::new() }), read_policy)?,
            secret,
            org: "dev".to_owned(),
            asks: String::new(),
            approval_lasts: Duration::from_secs(3600),
        };
        let service = Service::open(setup).await.map_err(Failure::unusable_by)?;
        let (stop, stopped) = oneshot::channel();
        let runs = service.clone();
        let running = tokio::spawn(async move {
            let told = async {
                let _ = stopped.await;
            };
            runs.run(told).await;
        });
        let who = Identity {
            name: "harness:wrap".to_owned(),
            tenant: "dev".to_owned(),
            gateway: true,
            observer: false,
            operator: false,
            person: None,
        };
        Ok(Self { seat: Seat { service, who }, stop, running })
    }

    /// Writes the last checkpoint.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.running.await;
    }
}

/// 32 bytes from which salts and run tokens derive, made if there are none.
fn secret(path: &Path) -> Result<[u8; 32], Failure> {
    let failed = |error: std::io::Error| Failure::unusable(format!("{}: {error}", path.display()));
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let fresh = System.env().bytes32();
            file.write_all(&fresh).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(fresh)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let kept = std::fs::read(path).map_err(failed)?;
            kept.try_into().map_err(|_| Failure::unusable(format!("{} has no 32 bytes", path.display())))
        }
        Err(error) => Err(failed(error)),
    }
}

fn read_policy(file: &Path) -> Result<Policy, Failure> {
    let text = read_input(file)?;
    let text = String::from_utf8(text).map_err(Failure::unusable_by)?;
    use figment::providers::Format;
    figment::Figment::from(figment::providers::Toml::string(&text)).extract().map_err(Failure::unusable_by)
}
