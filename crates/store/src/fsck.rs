//! Checks everything a journal holds against everything else it holds.

use crate::journal::{Journal, Published};
use crate::log::SERVER_LOG;
use crate::{Error, Runtime, StoreError};
use canon::Digest;
use ledger::merkle::leaf_hash;
use ledger::note::{Note, Pins};
use ledger::tiles::{self, Builder};
use ledger::{Aggregate, Entry, Head, StreamId};
use std::collections::{HashMap, HashSet};

/// What was checked, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub streams: u64,
    pub entries: u64,
    /// Payloads that opened and have the digest their entry was stored with. Erased ones are not counted.
    pub payloads: u64,
    pub pointers: u64,
    /// Entries that have a leaf number.
    pub leaves: u64,
    /// Leaves under the published checkpoint.
    pub published: u64,
    pub problems: Vec<Problem>,
}

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable word: `number`, `link`, `payload`, `leaf`, `tile`, `root`, `checkpoint`, `pointer`, `head`.
    pub code: &'static str,
    /// A stream and entry, a leaf, a tile or a pointer.
    pub place: String,
}

const PAGE: usize = 1024;

/// Reads the whole store: each chain's numbers and links, each payload's digest, each pointer's stream, the log's
/// leaves against the entries, its tree against the leaves, its tiles against the tree, and the checkpoint's signature
/// where the key of the `log` is given. `rule` is the protocol's own check of an entry after its predecessor; the store
/// knows no format. Entries appended meanwhile may be left out.
pub async fn fsck(
    journal: &dyn Journal,
    log: Option<&Pins>,
    rule: impl Fn(&StreamId, &Entry, Head) -> Result<(), &'static str> + Send + Sync,
) -> Result<Report, StoreError> {
    let mut report = Report::default();
    // The log first: what is under a checkpoint now has its entry when the streams are read.
    let hashes = check_log(journal, log, &mut report).await?;
    let mut after = None;
    loop {
        let page = journal.streams(after.as_ref(), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        for stream in &page {
            check_stream(journal, stream, hashes.get(stream), &rule, &mut report).await?;
        }
    }
    for (stream, leaves) in &hashes {
        if journal.head(stream).await?.seq < u64::try_from(leaves.len()).unwrap_or(u64::MAX) {
            report.note("leaf", format!("{stream} has fewer entries than leaves"));
        }
    }
    check_pointers(journal, &mut report).await?;
    Ok(report)
}

/// The pointers that the states of one kind of stream must have set, and that are not there. Folds every such stream.
pub async fn missing_pointers<A: Aggregate>(runtime: &Runtime) -> Result<Vec<Problem>, Error<A::Refusal>> {
    let mut missing = look_for_pointers::<A>(runtime).await?;
    // What an append moved between the two readings is there at a second look.
    if !missing.is_empty() {
        let again = look_for_pointers::<A>(runtime).await?;
        missing.retain(|problem| again.contains(problem));
    }
    Ok(missing)
}

async fn look_for_pointers<A: Aggregate>(runtime: &Runtime) -> Result<Vec<Problem>, Error<A::Refusal>> {
    let journal = runtime.journal();
    let set = all_pointers(journal.as_ref()).await?;
    let mut missing = Vec::new();
    let mut after = None;
    loop {
        let page = journal.streams(after.as_ref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(missing) };
        after = Some(last.clone());
        for stream in page.into_iter().filter(|stream| stream.kind() == A::KIND) {
            let (state, _) = runtime.state::<A>(&stream).await?;
            for (key, item) in A::pointers(&state) {
                let wanted = (key, item, stream.clone());
                if !set.contains(&wanted) {
                    let place = format!("{} {} of {stream} is missing", wanted.0, wanted.1);
                    missing.push(Problem { code: "pointer", place });
                }
            }
        }
    }
}

async fn all_pointers(journal: &dyn Journal) -> Result<HashSet<(String, String, StreamId)>, StoreError> {
    let mut all = HashSet::new();
    let mut after = (String::new(), String::new());
    loop {
        let page = journal.pointers((&after.0, &after.1), PAGE).await?;
        let Some((key, item, _)) = page.last() else { return Ok(all) };
        after = (key.clone(), item.clone());
        all.extend(page);
    }
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn note(&mut self, code: &'static str, place: String) {
        self.problems.push(Problem { code, place });
    }
}

async fn check_stream(
    journal: &dyn Journal,
    stream: &StreamId,
    leaves: Option<&Vec<Digest>>,
    rule: &(impl Fn(&StreamId, &Entry, Head) -> Result<(), &'static str> + Send + Sync),
    report: &mut Report,
) -> Result<(), StoreError> {
    report.streams += 1;
    let mut at = Head::EMPTY;
    loop {
        let page = match journal.read(stream, at.seq, PAGE).await {
            Ok(page) => page,
            // One bad payload hides its page: read on one entry at a time.
            Err(StoreError::Corrupt(_)) => match journal.read(stream, at.seq, 1).await {
                Ok(one) => one,
                Err(StoreError::Corrupt(why)) => {
                    report.note("payload", format!("{stream} entry {}: {why}", at.seq.saturating_add(1)));
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        if page.is_empty() {
            break;
        }
        for entry in &page {
            let place = || format!("{stream} entry {}", entry.seq);
            // What does not come after the last one would be read again and again.
            if entry.seq <= at.seq {
                report.note("number", place());
                return Ok(());
            }
            if entry.seq != at.seq.saturating_add(1) {
                report.note("number", place());
            }
            if entry.prev != at.hash {
                report.note("link", place());
            }
            if let Err(code) = rule(stream, entry, at) {
                report.note(code, place());
            }
            let leaf = usize::try_from(entry.seq).ok().and_then(|seq| leaves?.get(seq.checked_sub(1)?));
            if leaf.is_some_and(|hash| *hash != entry.hash) {
                report.note("leaf", place());
            }
            report.entries += 1;
            report.payloads += u64::from(entry.payload.is_some());
            at = Head { seq: entry.seq, hash: entry.hash };
        }
    }
    let head = journal.head(stream).await?;
    if head.seq < at.seq || (head.seq == at.seq && head.hash != at.hash) {
        report.note("head", stream.to_string());
    }
    Ok(())
}

/// The hashes of each stream's leaves, in order.
async fn check_log(
    journal: &dyn Journal,
    log: Option<&Pins>,
    report: &mut Report,
) -> Result<HashMap<StreamId, Vec<Digest>>, StoreError> {
    let published = journal.published(SERVER_LOG).await?;
    if let (Some(published), Some(log)) = (&published, log)
        && !is_signed(published, log)
    {
        report.note("checkpoint", format!("checkpoint of {} leaves", published.size));
    }
    // Tiles are stored with the checkpoint they are under, in one transaction.
    if published.is_none() && journal.tile(SERVER_LOG, 0, 0).await?.is_some() {
        report.note("checkpoint", "the log has tiles and no checkpoint".to_owned());
    }
    let size = published.as_ref().map_or(0, |published| published.size);
    let mut hashes: HashMap<StreamId, Vec<Digest>> = HashMap::new();
    let mut builder = Builder::new();
    loop {
        let page = journal.leaves(report.leaves, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for leaf in page {
            if leaf.index != report.leaves {
                report.note("leaf", format!("leaf {}", report.leaves));
                return Ok(hashes);
            }
            report.leaves += 1;
            if leaf.index < size {
                builder.push(leaf_hash(&leaf.data()));
            }
            let of_stream = hashes.entry(leaf.stream.clone()).or_default();
            of_stream.push(leaf.hash);
            if u64::try_from(of_stream.len()) != Ok(leaf.seq) {
                report.note("leaf", format!("{} entry {}", leaf.stream, leaf.seq));
            }
        }
    }
    if let Some(published) = published {
        report.published = published.size;
        if builder.size() != published.size || builder.root() != published.root {
            report.note("root", format!("checkpoint of {} leaves", published.size));
        }
        check_tiles(journal, &mut builder, report).await?;
    }
    Ok(hashes)
}

/// Whether the note says what the row says, under the log's key.
fn is_signed(published: &Published, log: &Pins) -> bool {
    let signed = Note::parse(published.note.as_bytes()).and_then(|note| note.verify(log));
    signed.is_ok_and(|signed| {
        let tree = signed.checkpoint();
        (tree.size, tree.root) == (published.size, published.root)
    })
}

async fn check_tiles(
    journal: &dyn Journal,
    builder: &mut Builder,
    report: &mut Report,
) -> Result<(), StoreError> {
    for (tile, expected) in builder.take() {
        let stored = journal.tile(SERVER_LOG, tile.level(), tile.index()).await?.unwrap_or_default();
        if stored.get(..expected.len()) != Some(expected.as_slice()) {
            report.note("tile", tiles::Tile::to_string(&tile));
        }
    }
    Ok(())
}

async fn check_pointers(journal: &dyn Journal, report: &mut Report) -> Result<(), StoreError> {
    let mut after = (String::new(), String::new());
    loop {
        let page = journal.pointers((&after.0, &after.1), PAGE).await?;
        let Some((key, item, _)) = page.last() else { return Ok(()) };
        after = (key.clone(), item.clone());
        for (key, item, stream) in page {
            report.pointers += 1;
            if journal.head(&stream).await? == Head::EMPTY {
                report.note("pointer", format!("{key} {item}"));
            }
        }
    }
}
