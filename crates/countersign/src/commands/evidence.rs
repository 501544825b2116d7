//! Evidence bundles: one to try, and openings of what records commit to. Checking a bundle is `verify`.

use super::Failure;
use canon::{Digest, Salt, Value};
use clap::Subcommand;
use env::{Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::bundle::{self, Alone, Outcome};
use pcm::sample::{Revealed, story};
use pcm::{Event, Opening, Position, Trust, Unverified, opening, write};
use std::path::{Path, PathBuf};

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

pub fn run(command: &Evidence) -> Result<(), Failure> {
    match command {
        Evidence::Sample { folder, calls, rotate } => sample(folder, *calls, *rotate),
        Evidence::Open { file, openings, trust } => open(file, openings, trust),
    }
}

fn sample(folder: &Path, calls: u64, rotate: bool) -> Result<(), Failure> {
    let mut env = System.env();
    let mut key = || SoftwareSigner::generate(Algorithm::Ed25519, &mut env).map_err(Failure::unusable_by);
    let (log, record, next) = (key()?, key()?, key()?);
    let rotate: Option<&dyn keys::Signer> = if rotate { Some(&next) } else { None };
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
