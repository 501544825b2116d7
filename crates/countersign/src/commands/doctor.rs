use super::Failure;
use crate::cli::Setup;
use crate::config::{self, Config};
use crate::house::{self, House};
use env::Source;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Says what is set and from where, then tries everything a server needs. Ends refused if something does not work.
pub async fn run(setup: Setup) -> Result<(), Failure> {
    let file = setup.config.as_deref();
    println!("settings");
    for (name, source) in config::sources(file)? {
        println!("  {name:<20} {source}");
    }
    let config = Config::load(file, None)?;
    let mut findings = Findings::default();
    println!("checks");
    findings.folder(&config.data);
    let keys = [
        ("server keys", house::ring_folder(&config).join("ring.json")),
        ("log key", house::log_key_file(&config)),
        ("store key", house::server_key_file(&config)),
    ];
    for (name, path) in keys {
        findings.private(name, &path);
    }
    if let Some(own) = &config.evidence {
        findings.private("evidence keys", &crate::evidence::ring_folder(&config).join("ring.json"));
        findings.private("evidence log key", &crate::evidence::log_key_file(&config));
        findings.evidence(&config, own);
    }
    findings.log_name(&config);
    findings.public_url(&config);
    findings.notify(&config);
    findings.proxies(&config);
    findings.witnesses(&config);
    // Looking must not make anything: a store is opened only where one was made.
    if config.database_url.is_none() && !house::database_file(&config).exists() {
        findings.note("store", "nothing is there yet; it is made at the first start");
    } else {
        match House::open(config).await {
            Ok(house) => findings.store(&house).await,
            Err(failure) => findings.bad("store", &failure.reason),
        }
    }
    if findings.bad == 0 { Ok(()) } else { Err(Failure::refused(format!("{} to mend", findings.bad))) }
}

#[derive(Default)]
struct Findings {
    bad: usize,
}

impl Findings {
    fn good(&self, name: &str, text: &str) {
        println!("  ok      {name:<14} {text}");
    }
    fn note(&self, name: &str, text: &str) {
        println!("  note    {name:<14} {text}");
    }
    fn bad(&mut self, name: &str, text: &str) {
        println!("  MISSING {name:<14} {text}");
        self.bad = self.bad.saturating_add(1);
    }

    fn folder(&mut self, path: &Path) {
        let shown = path.display().to_string();
        match std::fs::metadata(path) {
            Err(_) => {
                self.note("data folder", &format!("{shown} does not exist; it is made at the first start"))
            }
            Ok(about) if about.permissions().mode() & 0o077 != 0 => {
                self.bad("data folder", &format!("{shown} is open to others: chmod 700"));
            }
            Ok(_) => self.good("data folder", &shown),
        }
    }

    fn private(&mut self, name: &str, path: &Path) {
        let shown = path.display().to_string();
        match std::fs::metadata(path) {
            Err(_) => self.note(name, &format!("{shown} does not exist; it is made at the first start")),
            Ok(about) if about.permissions().mode() & 0o077 != 0 => {
                self.bad(name, &format!("{shown} is open to others: chmod 600"));
            }
            Ok(_) => self.good(name, &shown),
        }
    }

    fn evidence(&mut self, config: &Config, own: &crate::evidence::Evidence) {
        let path = crate::evidence::socket_path(config);
        let rules = own.policy.rules.len();
        let text = format!("{}, {rules} rules, else {}", path.display(), own.policy.default.as_str());
        self.good("signer", &text);
        for caller in own.identities.iter().filter(|caller| caller.token_file.is_some()) {
            if let Some(file) = &caller.token_file {
                self.private(&caller.name, file);
            }
        }
    }

    fn log_name(&mut self, config: &Config) {
        match house::log_origin(config) {
            Err(failure) => self.bad("log name", &failure.reason),
            Ok(name) if house::log_origin_file(config).exists() => {
                self.good("log name", &format!("{name}, fixed at the first start"));
            }
            Ok(name) => self.note("log name", &format!("{name}; the first start fixes it")),
        }
    }

    fn public_url(&mut self, config: &Config) {
        let url = &config.server.public_url;
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match (url.scheme(), local, config.listen.ip().is_loopback()) {
            ("https", _, _) => self.good("public url", url.as_str()),
            (_, true, true) => self.note("public url", &format!("{url}: reachable from this machine only")),
            (_, true, false) => {
                self.bad(
                    "public url",
                    &format!("{url} is local, but the server listens on {}", config.listen),
                );
            }
            _ => self.bad("public url", &format!("{url}: passkeys and sign-in need https")),
        }
    }

    fn notify(&mut self, config: &Config) {
        match crate::notifier::build(config) {
            Err(failure) => self.bad("notifications", &failure.reason),
            Ok(_) => {
                let on = |set: bool| if set { "on" } else { "off" };
                let text = format!(
                    "ntfy on, webhook on, e-mail {}, web push {}",
                    on(config.notify.smtp.is_some()),
                    on(config.notify.web_push_contact.is_some())
                );
                self.good("notifications", &text);
            }
        }
    }

    fn proxies(&mut self, config: &Config) {
        let names: Vec<&str> = config.server.proxies.keys().map(String::as_str).collect();
        if names.is_empty() {
            self.note("proxies", "none configured: this server plays no seat itself and drafts no card");
        } else {
            self.good("proxies", &names.join(", "));
        }
        if let Some(name) = &config.server.draft_with
            && !config.server.proxies.contains_key(name)
        {
            self.bad("drafts", &format!("server.draft_with names \"{name}\", which is not configured"));
        }
    }

    fn witnesses(&mut self, config: &Config) {
        match crate::notifier::witnesses(config) {
            Err(failure) => self.bad("witnesses", &failure.reason),
            Ok(all) if all.is_empty() => {
                self.note(
                    "witnesses",
                    "none: only those who keep checkpoints would notice a log rolled back",
                );
            }
            Ok(all) => {
                let names: Vec<&str> = all.iter().map(|witness| witness.key.name().as_str()).collect();
                self.good("witnesses", &names.join(", "));
            }
        }
    }

    async fn store(&mut self, house: &House) {
        match house.journal.stats().await {
            Ok(stats) => {
                let text = format!(
                    "{} streams, {} entries, {} effects wait",
                    stats.streams, stats.entries, stats.outbox
                );
                self.good("store", &text);
            }
            Err(error) => self.bad("store", &error.to_string()),
        }
        match house.log.checkpoint().await {
            Ok(Some(published)) => {
                let age = env::System.now().since(published.at).as_secs();
                self.good("log", &format!("{} leaves under a checkpoint of {age} s ago", published.size));
            }
            Ok(None) => self.note("log", "no checkpoint yet; the server writes one at its first start"),
            Err(error) => self.bad("log", &error.to_string()),
        }
    }
}
