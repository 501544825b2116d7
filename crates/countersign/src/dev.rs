//! A signer in the gateway's own process, to try things out: whoever runs the agent could change its log, so its checkpoints
//! say `dev` (D41).

use crate::commands::{Failure, read_input};
use crate::config::Config;
use crate::evidence::{Evidence, service};
use crate::house::House;
use figment::Figment;
use figment::providers::{Format, Toml};
use pcm::signer::rpc::Ruling;
use pcm::signer::{Identity, Policy};
use signer::Seat;
use std::net::SocketAddr;
use std::path::Path;
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
    /// On the store and the keys in `folder`, which are made if need be, with the configuration file by which other commands find
    /// them. Without a policy everything is allowed, and recorded.
    pub async fn open(folder: &Path, policy: Option<&Path>) -> Result<Self, Failure> {
        let policy = match policy {
            Some(file) => read_policy(file)?,
            None => Policy { default: Ruling::Allow, rules: Vec::new() },
        };
        policy.check().map_err(Failure::unusable_by)?;
        let own = Evidence { origin: Some(ORIGIN.to_owned()), policy, ..Evidence::default() };
        // Nobody listens there.
        let config = Config::for_demo(SocketAddr::from(([127, 0, 0, 1], 8080)), folder)?;
        let house = House::open(config).await?;
        let file = folder.join(crate::config::DEFAULT_FILE);
        let text = format!("data = {folder:?}\n\n[evidence]\norigin = {ORIGIN:?}\n");
        std::fs::write(&file, text)
            .map_err(|error| Failure::unusable(format!("{}: {error}", file.display())))?;
        let service = service(&house.config, &own, &house.journal, false).await?;
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
            tenant: own.tenant,
            gateway: true,
            observer: false,
            operator: false,
            person: None,
            rate: None,
        };
        Ok(Self { seat: Seat { service, who }, stop, running })
    }

    /// Writes the last checkpoint.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.running.await;
    }
}

/// The same TOML as `[evidence.policy]` of a server.
fn read_policy(file: &Path) -> Result<Policy, Failure> {
    let text = String::from_utf8(read_input(file)?).map_err(Failure::unusable_by)?;
    Figment::from(Toml::string(&text)).extract().map_err(Failure::unusable_by)
}
