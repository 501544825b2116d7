//! Reading the log: runs, what opens their records, and a run as a bundle that anyone can check.

use crate::service::{Service, stream, unavailable};
use crate::writer::{RUNS, run_key};
use canon::Value;
use ledger::merkle;
use ledger::note::Note;
use ledger::tiles::TileSet;
use ledger::{Coded, Entry, Head};
use pcm::signer::rpc::{Answer, Read, Reveal};
use pcm::signer::{Fault, FaultCode, Identity, State};
use pcm::write::{self, Written, number, object, text};
use pcm::{Event, Unverified, opening};
use std::collections::BTreeSet;

/// A run as it is found in the log.
#[derive(Debug, Clone)]
pub struct Story {
    pub run_id: String,
    pub tenant: String,
    /// All of its records so far, in their order, with what is kept beside each.
    pub records: Vec<Entry>,
}

/// A line of a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub run_id: String,
    /// Where in the log it begins.
    pub first: u64,
}

/// Records read at a time.
const PAGE: usize = 1024;

/// Records of one answer.
const ANSWERED: u64 = 1000;

impl Service {
    /// Where in the log a run begins, whether it is open or over.
    pub async fn first_of(&self, run: &str) -> Result<Option<u64>, Fault> {
        let found = self.inner().journal.find(&run_key(run), "", 1).await.map_err(unavailable)?;
        Ok(found.first().and_then(|(item, _)| item.parse().ok()))
    }

    /// Runs in the order in which they began, after one that began at `after`.
    pub async fn runs(&self, after: Option<&Listed>, limit: usize) -> Result<Vec<Listed>, Fault> {
        let after = after.map(|run| format!("{}/{}", crate::writer::place(run.first), run.run_id));
        let after = after.unwrap_or_default();
        let found = self.inner().journal.find(RUNS, &after, limit).await.map_err(unavailable)?;
        let listed = |(item, _): (String, _)| {
            let (first, run_id) = item.split_once('/')?;
            Some(Listed { run_id: run_id.to_owned(), first: first.parse().ok()? })
        };
        Ok(found.into_iter().filter_map(listed).collect())
    }

    /// All records of a run.
    pub async fn story(&self, run: &str) -> Result<Story, Fault> {
        let unknown = || Fault::new(FaultCode::UnknownRun, "no such run");
        let mut at = self.first_of(run).await?.ok_or_else(unknown)?;
        let mut story = Story { run_id: run.to_owned(), tenant: String::new(), records: Vec::new() };
        // Ids need no escape, so a record of the run has these very bytes.
        let mark = format!("\"run_id\":\"{run}\"");
        loop {
            let page = self.inner().journal.read(&stream(), at, PAGE).await.map_err(unavailable)?;
            let full = page.len() == PAGE;
            at = at.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            for entry in page {
                if !contains(&entry.bytes, mark.as_bytes()) {
                    continue;
                }
                let record = Unverified::parse(&entry.bytes)?;
                let told = |name: &str| record.event().get(name).and_then(Value::as_str);
                if told("run_id") != Some(run) {
                    continue;
                }
                told("tenant").unwrap_or_default().clone_into(&mut story.tenant);
                let last = told("type") == Some("run.final");
                story.records.push(entry);
                if last {
                    return Ok(story);
                }
            }
            if !full {
                return Ok(story);
            }
        }
    }

    /// A run as a bundle: its records so far, under a checkpoint that covers them.
    pub async fn export(&self, run: &str) -> Result<Vec<u8>, Fault> {
        let story = self.story(run).await?;
        let last = story.records.last().map_or(0, |entry| entry.seq);
        let published = self.inner().log.covering(last).await.map_err(unavailable)?;
        let records: Vec<Written> = story.records.iter().map(written).collect();
        let keys = self.key_records(published.size).await?;
        let shown = keys.iter().chain(records.first()).chain(records.last()).map(|record| record.seq);
        let nodes = self.proving(published.size, shown).await?;
        let note = Note::parse(published.note.as_bytes()).map_err(pcm::Error::from)?;
        let run = write::Run { tenant: &story.tenant, run_id: &story.run_id, records: &records };
        Ok(write::bundle(&run, &keys, &note, &nodes)?)
    }

    /// The records that declare and retire keys, below a checkpoint.
    pub(crate) async fn key_records(&self, size: u64) -> Result<Vec<Written>, Fault> {
        let places: Vec<u64> = self.look(move |state: &State| state.keys().collect()).await?;
        let mut keys = Vec::new();
        for seq in places.into_iter().filter(|seq| *seq < size) {
            keys.push(written(&self.entry(seq).await?));
        }
        Ok(keys)
    }

    /// The record at a place of the log, with what is kept beside it.
    pub(crate) async fn entry(&self, seq: u64) -> Result<Entry, Fault> {
        let mut found = self.inner().journal.read(&stream(), seq, 1).await.map_err(unavailable)?;
        found.pop().ok_or_else(|| Fault::new(FaultCode::Unavailable, "a record is missing"))
    }

    /// The part of the tree that proves these leaves.
    pub(crate) async fn proving(
        &self,
        size: u64,
        leaves: impl IntoIterator<Item = u64>,
    ) -> Result<TileSet, Fault> {
        let mut nodes = Vec::new();
        for leaf in leaves {
            nodes.extend(merkle::inclusion_nodes(leaf, size).map_err(pcm::Error::from)?);
        }
        self.inner().log.nodes(size, &nodes).await.map_err(unavailable)
    }

    /// A run's records, for its owner, a gateway that holds its token, or an operator.
    pub(crate) async fn read(&self, who: &Identity, of: &Read) -> Result<Answer, Fault> {
        let (run, owner) = self.inner().house.secrets.owner(of.run_token.as_str())?;
        if run != of.run_id.as_str() || (owner != who.name && !who.gateway && !who.operator) {
            return Err(Fault::new(
                FaultCode::RunTokenInvalid,
                "the token is not this run's, or not its caller's",
            ));
        }
        let from = of.from_seq.unwrap_or_default();
        let limit = of.limit.unwrap_or(ANSWERED).clamp(1, ANSWERED);
        let story = self.story(&run).await?;
        let mut events = Vec::new();
        let from_at = usize::try_from(from).unwrap_or(usize::MAX);
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        for (entry, seq) in story.records.iter().skip(from_at).take(most).zip(from..) {
            let record = Unverified::parse(&entry.bytes)?;
            let told = |name: &str| record.event().get(name).map(Value::to_owned).unwrap_or(Value::Null);
            events.push(object(vec![
                ("run_seq", number(seq)?),
                ("type", told("type")),
                ("event_hash", text(entry.hash.prefixed())),
                ("data", told("data")),
            ])?);
        }
        let next = from.saturating_add(u64::try_from(events.len()).unwrap_or(u64::MAX));
        let total = u64::try_from(story.records.len()).unwrap_or(u64::MAX);
        let next = if next < total { number(next)? } else { Value::Null };
        Ok(Answer::Other(object(vec![("events", Value::Array(events)), ("next_seq", next)])?))
    }

    /// What opens records of a run (spec 3.7), for an operator: each `{seq, type, salt, tool, value}`.
    pub(crate) async fn reveal(&self, who: &Identity, of: &Reveal) -> Result<Answer, Fault> {
        if !who.operator {
            return Err(Fault::new(FaultCode::Forbidden, "only an operator reveals what records commit to"));
        }
        let wanted: Option<BTreeSet<u64>> = of.seqs.as_ref().map(|seqs| seqs.iter().copied().collect());
        let openings = self.openings(of.run_id.as_str(), wanted.as_ref()).await?;
        Ok(Answer::Other(object(vec![("openings", Value::Array(openings))])?))
    }

    /// What opens records of a run, those at these places of the log or all.
    pub async fn openings(
        &self,
        run: &str,
        wanted: Option<&BTreeSet<u64>>,
    ) -> Result<Vec<Value<'static>>, Fault> {
        let story = self.story(run).await?;
        let chosen =
            |entry: &&Entry| wanted.is_none_or(|wanted| wanted.contains(&entry.seq.saturating_sub(1)));
        let mut openings = Vec::new();
        for entry in story.records.iter().filter(chosen) {
            let Some(opened) = self.opened(entry)? else { continue };
            let salt = canon::Digest::from_bytes(*opened.salt.as_bytes());
            openings.push(object(vec![
                ("seq", number(entry.seq.saturating_sub(1))?),
                ("type", text(opened.kind)),
                ("salt", text(salt.to_string())),
                ("tool", opened.tool.map_or(Value::Null, text)),
                ("value", opened.value),
            ])?);
        }
        Ok(openings)
    }

    /// What a record commits to, if it commits to something that was kept.
    pub(crate) fn opened(&self, entry: &Entry) -> Result<Option<Opened>, Fault> {
        let record = Unverified::parse(&entry.bytes)?;
        let event = Event::read(record.event())?;
        let Some(label) = opening::salt_label(&event) else { return Ok(None) };
        let Some(payload) = &entry.payload else { return Ok(None) };
        let kept = canon::parse(&payload.bytes).map_err(pcm::Error::from)?;
        let tool =
            event.data_text("tool").or_else(|| event.data().pointer("/binding/tool").and_then(Value::as_str));
        let value = kept.get("args").or_else(|| kept.get("content"));
        Ok(value.map(|value| Opened {
            kind: event.kind().to_owned(),
            tool: tool.map(str::to_owned),
            salt: self.inner().house.secrets.salt(&label),
            arguments: kept.get("args").is_some(),
            value: value.to_owned(),
        }))
    }
}

/// What opens one record.
pub(crate) struct Opened {
    pub kind: String,
    pub tool: Option<String>,
    pub salt: canon::Salt,
    /// The value is the arguments of a call of `tool`, else a content.
    pub arguments: bool,
    pub value: Value<'static>,
}

/// Whether an entry of the signer's stream is a record that follows: its schema, its hash, its place.
pub fn follows(entry: &Entry, prev: Head) -> Result<(), &'static str> {
    let record = Unverified::parse(&entry.bytes).map_err(|error| error.code())?;
    let record = record.hashed().map_err(|error| error.code())?;
    let event = record.event();
    let good = record.hash() == entry.hash
        && event.prev_hash() == prev.hash
        && event.position().0 == prev.seq
        && entry.seq == prev.seq.saturating_add(1);
    if good { Ok(()) } else { Err("run_chain") }
}

pub(crate) fn written(entry: &Entry) -> Written {
    Written { seq: entry.seq.saturating_sub(1), hash: entry.hash, line: entry.bytes.clone() }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
