//! What must hold after every kill.

use crate::child::{PENDING, SCOPE, STREAMS, WRITERS, hash, secret, stream};
use bench::Outcome;
use canon::Digest;
use env::Source;
use ledger::{Head, StreamId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::{Journal, fsck};

/// What a child said was durable: a stream's entry and its hash.
type Acknowledged = (StreamId, u64, Digest);

/// What the chains have said so far, and what was acknowledged.
#[derive(Default)]
pub struct Check {
    /// Appends acknowledged.
    pub acknowledged: u64,
    /// Acknowledged since the last round: the key, and (stream, seq, hash) of each head.
    fresh: Vec<(String, Vec<Acknowledged>)>,
    /// Hashes of every stream, seq 1 first.
    chains: HashMap<StreamId, Vec<Digest>>,
    pending: BTreeSet<String>,
    asked: u64,
    /// In how many streams each pair stands.
    pairs: BTreeMap<String, u32>,
}

impl Check {
    pub fn entries(&self) -> usize {
        self.chains.values().map(Vec::len).sum()
    }

    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes the lines a child has printed. Each was written whole, so a torn one is an error.
    pub fn acknowledge(&mut self, lines: &[String]) -> Outcome<()> {
        for line in lines {
            let mut words = line.split(' ');
            let id = words.next().ok_or("an empty line")?.to_owned();
            let mut heads = Vec::new();
            while let Some(name) = words.next() {
                let seq = words.next().ok_or("a torn line")?.parse()?;
                heads.push((name.parse()?, seq, words.next().ok_or("a torn line")?.parse()?));
            }
            self.acknowledged = self.acknowledged.saturating_add(1);
            self.fresh.push((id, heads));
        }
        Ok(())
    }

    /// Reads what is new since the last round, and looks that nothing old is gone.
    pub async fn round(&mut self, journal: &dyn Journal) -> Outcome<()> {
        for writer in 0..WRITERS {
            for place in 0..STREAMS {
                self.read(journal, &stream(writer, place)?).await?;
            }
        }
        for (id, heads) in std::mem::take(&mut self.fresh) {
            for (name, seq, hash) in heads {
                let place = usize::try_from(seq)?.checked_sub(1).ok_or("an entry 0")?;
                if self.chains.get(&name).and_then(|chain| chain.get(place)) != Some(&hash) {
                    return Err(format!("acknowledged entry {seq} of {name} is lost").into());
                }
            }
            let kept = journal.recall(SCOPE, &id, env::System.now()).await?;
            if kept.is_none_or(|kept| kept.response != id.as_bytes()) {
                return Err(format!("the answer kept for {id} is lost").into());
            }
        }
        if let Some((id, count)) = self.pairs.iter().find(|(_, count)| **count != 2) {
            return Err(format!("append {id} was torn: it stands in {count} streams of 2").into());
        }
        self.questions(journal).await
    }

    /// The whole store against itself.
    pub async fn whole(&self, journal: &dyn Journal) -> Outcome<()> {
        let report = fsck(journal, None, |_, entry, prev| {
            if entry.hash == hash(&prev.hash, &entry.bytes) { Ok(()) } else { Err("hash") }
        })
        .await?;
        if !report.is_sound() {
            return Err(format!("fsck found {:?}", report.problems).into());
        }
        let entries = u64::try_from(self.entries())?;
        if report.entries == entries { Ok(()) } else { Err("fsck read other entries".into()) }
    }

    async fn read(&mut self, journal: &dyn Journal, name: &StreamId) -> Outcome<()> {
        let chain = self.chains.entry(name.clone()).or_default();
        let known = u64::try_from(chain.len())?;
        // The last entry known is read again: it must still be there, with the same hash.
        let entries = journal.read(name, known.saturating_sub(1), usize::MAX).await?;
        let mut entries = entries.into_iter();
        let mut at = Head::EMPTY;
        if let Some(last) = chain.last() {
            let again = entries.next().ok_or_else(|| format!("{name} lost its end"))?;
            if again.seq != known || again.hash != *last {
                return Err(format!("entry {known} of {name} has changed").into());
            }
            at = Head { seq: known, hash: *last };
        }
        for entry in entries {
            if entry.seq != at.seq.saturating_add(1) || entry.prev != at.hash {
                return Err(format!("entry {} of {name} does not follow {}", entry.seq, at.seq).into());
            }
            if entry.hash != hash(&entry.prev, &entry.bytes) {
                return Err(format!("entry {} of {name} is not its hash", entry.seq).into());
            }
            if entry.payload.is_some_and(|payload| payload.bytes != secret(&entry.bytes)) {
                return Err(format!("the payload of entry {} of {name} is another's", entry.seq).into());
            }
            at = Head { seq: entry.seq, hash: entry.hash };
            chain.push(entry.hash);
            let text = String::from_utf8(entry.bytes)?;
            match text.split_once(' ') {
                Some(("ask", id)) => {
                    self.asked = self.asked.saturating_add(1);
                    self.pending.insert(id.to_owned());
                }
                Some(("answer", id)) => {
                    self.pending.remove(id);
                }
                Some(("pair", id)) => {
                    let count = self.pairs.entry(id.to_owned()).or_default();
                    *count = count.saturating_add(1);
                }
                _ => {}
            }
        }
        if journal.head(name).await? == at {
            Ok(())
        } else {
            Err(format!("the head of {name} is elsewhere").into())
        }
    }

    /// The pointers find what is pending by the chains; the outbox, which nobody works off, has a row for each ask.
    async fn questions(&self, journal: &dyn Journal) -> Outcome<()> {
        let found: BTreeSet<String> =
            journal.find(PENDING, "", usize::MAX).await?.into_iter().map(|(item, _)| item).collect();
        if found != self.pending {
            return Err(
                format!("{} questions are pending, {} are found", self.pending.len(), found.len()).into()
            );
        }
        let rows = journal.stats().await?.outbox;
        if rows == self.asked {
            Ok(())
        } else {
            Err(format!("{} asks, {rows} outbox rows", self.asked).into())
        }
    }
}
