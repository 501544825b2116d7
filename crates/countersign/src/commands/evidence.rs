//! Evidence: the runs of this house's signer, bundles of them, one to try, and openings of what records commit to. Checking a
//! bundle is `verify`.

use super::Failure;
use crate::cli::Setup;
use crate::config::Config;
use crate::house::House;
use canon::{Digest, Salt, Value};
use clap::Subcommand;
use env::{Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::bundle::{self, Alone, Outcome};
use pcm::sample::{Revealed, story};
use pcm::{Event, Opening, Position, Trust, Unverified, opening, write};
use signer::Service;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum Evidence {
    /// Write a bundle with a story in it, its trust file, and what opens its records
    ///
    /// The keys are made for this bundle alone and are not kept.
    Sample {
        /// An existing folder; bundle.tkb, trust.json and openings.json are written into it
        folder: PathBuf,
        /// How many calls the story has beside the one that is approved
        #[arg(long, default_value_t = 3, value_name = "N")]
        calls: u64,
        /// Let another record key take over before the approved call
        #[arg(long)]
        rotate: bool,
    },
    /// List the runs of this server's signer, the newest last
    Runs {
        #[command(flatten)]
        setup: Setup,
        /// The last so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        last: usize,
    },
    /// Print the records of a run, a line each
    Show {
        #[command(flatten)]
        setup: Setup,
        run: String,
    },
    /// Write a run as a bundle that anyone can check with `countersign verify`
    ///
    /// Its trust file is printed by `countersign evidence trust`.
    Export {
        #[command(flatten)]
        setup: Setup,
        run: String,
        /// Where to; standard output without it
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print what opens the records of a run: salts and values, as `countersign evidence open` reads them
    ///
    /// Whoever has them reads what was called and what came back. Give away only what is theirs to see.
    Reveal {
        #[command(flatten)]
        setup: Setup,
        run: String,
        /// Only the record at this place of the log; may be given again
        #[arg(long = "record", value_name = "SEQ")]
        records: Vec<u64>,
    },
    /// Print the trust file for this signer's bundles
    Trust(Setup),
    /// Check that values and salts are what the records of a bundle commit to
    ///
    /// The bundle itself must hold. Prints a line for each opening; exit status 1 if one does not fit.
    Open {
        /// The bundle
        file: PathBuf,
        /// JSON: an array of {seq, salt, value, tool?}; `tool` where the record does not name it
        openings: PathBuf,
        /// The keys you trust
        #[arg(long, value_name = "FILE")]
        trust: PathBuf,
    },
}

pub async fn run(command: &Evidence) -> Result<ExitCode, Failure> {
    match command {
        Evidence::Sample { folder, calls, rotate } => sample(folder, *calls, *rotate),
        Evidence::Open { file, openings, trust } => open(file, openings, trust),
        Evidence::Trust(setup) => trust_file(setup),
        Evidence::Runs { setup, last } => runs(setup, *last).await,
        Evidence::Show { setup, run } => show(setup, run).await,
        Evidence::Export { setup, run, out } => export(setup, run, out.as_deref()).await,
        Evidence::Reveal { setup, run, records } => reveal(setup, run, records).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The signer of the house, to be read; it may be running.
async fn service(setup: &Setup) -> Result<Service, Failure> {
    let config = configured(setup)?;
    if !crate::evidence::log_key_file(&config).exists() {
        return Err(Failure::unusable("this server has no signer yet: run countersign signer"));
    }
    let house = House::open(config).await?;
    let own = house.config.evidence.clone().unwrap_or_default();
    crate::evidence::service(&house.config, &own, &house.journal, true).await
}

fn configured(setup: &Setup) -> Result<Config, Failure> {
    let mut config = Config::load(setup.config.as_deref(), None)?;
    config.evidence.get_or_insert_default();
    Ok(config)
}

fn trust_file(setup: &Setup) -> Result<(), Failure> {
    let config = configured(setup)?;
    let own = config.evidence.clone().unwrap_or_default();
    let log = crate::evidence::log_key(&config, &own)?.to_string();
    let witnesses: Vec<_> = config
        .log
        .witnesses
        .iter()
        .map(|witness| serde_json::json!({"vkey": witness.key, "class": "operator"}))
        .collect();
    let mut trust = serde_json::json!({"logs": [log], "algs": ["ed25519"]});
    if let Some(trust) = trust.as_object_mut().filter(|_| !witnesses.is_empty()) {
        trust.insert("witnesses".to_owned(), witnesses.into());
    }
    println!("{}", serde_json::to_string_pretty(&trust).map_err(Failure::unusable_by)?);
    Ok(())
}

async fn runs(setup: &Setup, last: usize) -> Result<(), Failure> {
    let service = service(setup).await?;
    let mut listed = std::collections::VecDeque::new();
    let mut after = None;
    loop {
        let page = service.runs(after.as_ref(), 1000).await.map_err(Failure::unusable_by)?;
        let Some(newest) = page.last().cloned() else { break };
        after = Some(newest);
        for run in page {
            listed.push_back(run);
            if listed.len() > last {
                listed.pop_front();
            }
        }
    }
    for run in listed {
        let id = run.run_id.clone();
        let open =
            service.look(move |state| state.run(&id).map(|run| (run.owner().to_owned(), run.records())));
        match open.await.map_err(Failure::unusable_by)? {
            Some((owner, records)) => {
                println!("{}  seq {}  open, {records} records, of {owner}", run.run_id, run.first)
            }
            None => println!("{}  seq {}  over", run.run_id, run.first),
        }
    }
    Ok(())
}

async fn show(setup: &Setup, run: &str) -> Result<(), Failure> {
    let story = service(setup).await?.story(run).await.map_err(Failure::unusable_by)?;
    for entry in &story.records {
        let record = Unverified::parse(&entry.bytes).map_err(Failure::unusable_by)?;
        let event = Event::read(record.event()).map_err(Failure::unusable_by)?;
        let tier = match event.tier() {
            pcm::Tier::T1 => "T1",
            pcm::Tier::T2 => "T2",
            pcm::Tier::Signer => "signer",
        };
        let data = canon::to_vec(event.data()).map_err(Failure::unusable_by)?;
        let data = String::from_utf8(data).map_err(Failure::unusable_by)?;
        println!("{}  {}  {tier:<6}  {}  {data}", event.position(), event.when(), event.kind());
    }
    Ok(())
}

async fn export(setup: &Setup, run: &str, out: Option<&Path>) -> Result<(), Failure> {
    let bytes = service(setup).await?.export(run).await.map_err(Failure::unusable_by)?;
    match out {
        None => {
            std::io::Write::write_all(&mut std::io::stdout().lock(), &bytes).map_err(Failure::unusable_by)
        }
        Some(path) => std::fs::write(path, bytes)
            .map_err(|error| Failure::unusable(format!("{}: {error}", path.display()))),
    }
}

async fn reveal(setup: &Setup, run: &str, records: &[u64]) -> Result<(), Failure> {
    let wanted = (!records.is_empty()).then(|| records.iter().copied().collect());
    let openings =
        service(setup).await?.openings(run, wanted.as_ref()).await.map_err(Failure::unusable_by)?;
    let bytes = canon::to_vec(&Value::Array(openings)).map_err(Failure::unusable_by)?;
    println!("{}", String::from_utf8(bytes).map_err(Failure::unusable_by)?);
    Ok(())
}

fn sample(folder: &Path, calls: u64, rotate: bool) -> Result<(), Failure> {
    let mut env = System.env();
    let mut key = || SoftwareSigner::generate(Algorithm::Ed25519, &mut env).map_err(Failure::unusable_by);
    let (log, record, next) = (key()?, key()?, key()?);
    let next: &dyn keys::Signer = &next;
    let rotate = rotate.then_some(next);
    let sample = story(&mut env, &log, &record, rotate, calls).map_err(Failure::unusable_by)?;
    let trust = serde_json::json!({"logs": [sample.log.to_string()], "algs": ["ed25519"]}).to_string();
    let openings =
        sample.openings.iter().map(revealed).collect::<Result<Vec<_>, _>>().map_err(Failure::unusable_by)?;
    let openings = canon::to_vec(&Value::Array(openings)).map_err(Failure::unusable_by)?;
    for (name, content) in
        [("bundle.tkb", sample.bundle), ("trust.json", trust.into_bytes()), ("openings.json", openings)]
    {
        let path = folder.join(name);
        std::fs::write(&path, content)
            .map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn revealed(one: &Revealed) -> Result<Value<'static>, pcm::Error> {
    write::object(vec![
        ("seq", write::number(one.seq)?),
        ("type", write::text(one.kind)),
        ("salt", write::text(Digest::from_bytes(*one.salt.as_bytes()).to_string())),
        ("tool", one.tool.map_or(Value::Null, write::text)),
        ("value", one.value.clone()),
    ])
}

fn open(file: &Path, openings: &Path, trust: &Path) -> Result<(), Failure> {
    let trust = Trust::parse(&super::read_input(trust)?).map_err(Failure::unusable_by)?;
    let bytes = super::read_input(file)?;
    let report = bundle::verify(&bytes, &trust, &Alone);
    if report.outcome != Outcome::Verified {
        let failed = report.first_failure().map(|check| format!(": {}", check.check));
        return Err(Failure::refused(format!("the bundle does not hold{}", failed.unwrap_or_default())));
    }
    let text = super::read_input(openings)?;
    let value = canon::parse(&text).map_err(Failure::unusable_by)?;
    let all = value.as_array().ok_or_else(|| Failure::unusable("the openings are no array"))?;
    let place = |one: &Value<'_>| one.get("seq").and_then(Value::as_u64).map(Position);
    let records =
        bundle::records(&bytes, &all.iter().filter_map(place).collect()).map_err(Failure::unusable_by)?;
    let mut wrong = 0;
    for one in all {
        let at = place(one).ok_or_else(|| Failure::unusable("an opening has no seq"))?;
        let outcome = records.get(&at).ok_or(pcm::Error::Opening).and_then(|line| opens(one, line));
        wrong += usize::from(outcome.is_err());
        println!("{at}: {}", outcome.map_or_else(|error| error.to_string(), |kind| format!("{kind} opens")));
    }
    if wrong == 0 { Ok(()) } else { Err(Failure::refused(format!("{wrong} of {} do not open", all.len()))) }
}

/// The type of the record that the opening fits.
fn opens(one: &Value<'_>, line: &[u8]) -> Result<String, pcm::Error> {
    let record = Unverified::parse(line)?;
    let event = Event::read(record.event())?;
    let salt: Digest = one
        .get("salt")
        .and_then(Value::as_str)
        .and_then(|hex| hex.parse().ok())
        .ok_or(pcm::Error::Opening)?;
    let value = one.get("value").ok_or(pcm::Error::Opening)?;
    if canon::to_vec(value)?.len() > opening::MAX_OPENING {
        return Err(pcm::Error::TooLarge("an opening is longer than 64 KiB"));
    }
    let opening = Opening { salt: Salt::from_bytes(*salt.as_bytes()), value };
    let named =
        event.data_text("tool").or_else(|| event.data().pointer("/binding/tool").and_then(Value::as_str));
    match named.or_else(|| one.get("tool").and_then(Value::as_str)) {
        Some(tool) if event.kind() != "tool.result" => opening.arguments(&event, tool)?,
        _ => opening.content(&event)?,
    }
    Ok(event.kind().to_owned())
}
