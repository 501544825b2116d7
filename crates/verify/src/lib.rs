//! One entry for every proof the house issues: what is it, does it hold, and if not, why and where.
//!
//! Needs no server, no database and no network. What a proof is checked against is [`Trust`], the keys a verifier
//! already has; without one, a file is checked against the keys it carries and the report says that they are not pinned.

mod basis;
mod checkpoint;
mod evidence;
mod export;
mod job;
mod join;
mod log;
mod mandate;
mod message;
mod report;
mod room;
mod trust;

pub use join::join;
pub use pcm::bundle::{Alone, Crew};
pub use report::{Claim, Evidence, Kind, Message, Report, Verdict};
pub use trust::{Trust, TrustError};

use report::{Check, Stop};
use serde::Deserialize;
use std::io::{BufRead, Read};

/// The longest file that is read whole, in bytes. A ledger export is streamed and has no such limit.
pub const MAX_FILE: usize = 64 << 20;

/// Checks a file given as bytes.
pub fn verify(bytes: &[u8], trust: Option<&Trust>) -> Report {
    verify_reader(bytes, trust)
}

/// Checks a file as it is read; of a ledger export only a few blocks are in memory at a time.
pub fn verify_reader(reader: impl BufRead, trust: Option<&Trust>) -> Report {
    verify_with(reader, trust, &Alone)
}

/// The same with a crew that checks the records of evidence.
pub fn verify_with(mut reader: impl BufRead, trust: Option<&Trust>, crew: &dyn Crew) -> Report {
    let mut report = Report::new(trust.is_some());
    let outcome = run(&mut reader, trust, crew, &mut report);
    report.conclude(outcome)
}

fn run(reader: &mut impl BufRead, trust: Option<&Trust>, crew: &dyn Crew, report: &mut Report) -> Check {
    let mut first = Vec::new();
    take(reader, MAX_LINE, b'\n', &mut first)?;
    if let Some(header) = export::header(&first) {
        let mandate = header.as_ref().is_ok_and(|header| header.stream.kind() == mandate::KIND);
        report.kind = Some(if mandate { Kind::MandateLog } else { Kind::LedgerExport });
        return export::check(header, reader, trust, report);
    }
    if pcm::bundle::looks_like(&first) {
        report.kind = Some(Kind::Evidence);
        let limit = u64::try_from(pcm::bundle::MAX_FILE + 1).unwrap_or(u64::MAX);
        reader
            .take(limit)
            .read_to_end(&mut first)
            .map_err(|error| Stop::unusable("unreadable", "", error))?;
        return evidence::check(&first, trust, crew, report);
    }
    let limit = u64::try_from(MAX_FILE + 1).unwrap_or(u64::MAX);
    reader.take(limit).read_to_end(&mut first).map_err(|error| Stop::unusable("unreadable", "", error))?;
    if first.len() > MAX_FILE {
        return Err(Stop::unusable("file_too_long", "", "the file is longer than 64 MiB"));
    }
    whole(&first, trust, report)
}

fn whole(bytes: &[u8], trust: Option<&Trust>, report: &mut Report) -> Check {
    if checkpoint::looks_like(bytes) {
        report.kind = Some(Kind::Checkpoint);
        return checkpoint::check(bytes, trust, report);
    }
    // The long one among them is read once, straight into its type.
    if canon::from_slice::<Said>(bytes).is_ok_and(|said| said.kind == room::TYPE && !said.pcm) {
        report.kind = Some(Kind::RoomBundle);
        return room::check(bytes, trust, report);
    }
    let parsed = canon::parse(bytes);
    if message::looks_like(parsed.as_ref().ok(), trust) {
        report.kind = Some(Kind::Message);
        return message::check(bytes, trust, report);
    }
    let value = parsed.map_err(|error| Stop::unusable_json(&error))?;
    match value.get("type").and_then(canon::Value::as_str) {
        Some(room::BRIEF) => {
            report.kind = Some(Kind::Brief);
            room::check_brief(value, trust, report)
        }
        Some(basis::TYPE) => {
            report.kind = Some(Kind::Basis);
            basis::check(value, bytes, trust, report)
        }
        Some(mandate::TYPE) => mandate::check(value, bytes, trust, report),
        Some(job::TYPE) => job::check(value, report),
        _ => Err(Stop::unusable("unknown_kind", "/type", "no proof this verifier knows")),
    }
}

/// What a proof says it is; the rest is passed over.
#[derive(Deserialize)]
struct Said {
    #[serde(default, deserialize_with = "there")]
    pcm: bool,
    #[serde(rename = "type")]
    kind: String,
}

fn there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// The longest line of an export, in bytes.
const MAX_LINE: usize = 1 << 20;

/// Reads up to and including `end`, at most `limit` bytes; what is longer is left unread.
fn take(reader: &mut impl BufRead, limit: usize, end: u8, into: &mut Vec<u8>) -> Check {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    reader
        .by_ref()
        .take(limit)
        .read_until(end, into)
        .map_err(|error| Stop::unusable("unreadable", "", error))?;
    Ok(())
}
