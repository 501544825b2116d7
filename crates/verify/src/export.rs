//! A ledger export: lines are checked in blocks by as many threads as there are cores, then joined in order.

use crate::report::{Check, Stop};
use crate::{MAX_LINE, Report, Trust, log, mandate};
use canon::Digest;
use ledger::export::{Header, Line, Rule, TYPE};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::sync::{Mutex, mpsc};

/// How much is handed to a thread at once, and the longest line.
const BLOCK: u64 = 1 << 20;

/// The header, if the first line is one of an export; what is wrong with it otherwise.
pub(crate) fn header(line: &[u8]) -> Option<Check<Header>> {
    let value = canon::parse(line.strip_suffix(b"\n")?).ok()?;
    if value.get("type")?.as_str()? != TYPE {
        return None;
    }
    Some(canon::from_value(value).map_err(|error| Stop::shape(&error)))
}

pub(crate) fn check(
    header: Check<Header>,
    reader: &mut impl BufRead,
    trust: Option<&Trust>,
    report: &mut Report,
) -> Check {
    let header = header?;
    let head = &header.head;
    report.fact("stream", &header.stream);
    report.fact("entries", head.n);
    report.fact("head", head.hash);
    if header.stream.kind() == mandate::KIND {
        mandate::lines(&header, reader, trust, report)?;
        log::head(&header.stream, head, &header.key, trust)?;
        return log::check(header.log.as_ref(), &header.stream, head, &header.key, trust, report);
    }
    let end = chain(header.rule, reader)?;
    if end.seq < head.n {
        let place = format!("entry {}", end.seq + 1);
        return Err(Stop::refused("tail_missing", place, format!("the head is entry {}", head.n)));
    }
    if (end.seq, end.hash) != (head.n, head.hash) {
        return Err(Stop::refused("head_mismatch", "/head", "the chain does not end at its head"));
    }
    log::head(&header.stream, head, &header.key, trust)?;
    log::check(header.log.as_ref(), &header.stream, head, &header.key, trust, report)
}

/// A stretch of the chain, or the first fault in it.
struct Stretch {
    /// The `prev` of its first entry, `None` where its first line is already at fault for another reason.
    prev: Option<Digest>,
    end: Result<Digest, Stop>,
    lines: u64,
}

struct Block {
    number: u64,
    /// The number of its first entry.
    first: u64,
    bytes: Vec<u8>,
}

/// Checks every line and every link. The first fault in the order of the file is the one reported.
fn chain(rule: Rule, reader: &mut impl BufRead) -> Check<ledger::Head> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (to_workers, blocks) = mpsc::sync_channel::<Block>(threads);
    let blocks = Mutex::new(blocks);
    let (done, stretches) = mpsc::channel::<(u64, Stretch)>();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            let blocks = &blocks;
            scope.spawn(move || {
                loop {
                    // Only the receiving is under the lock; a closed channel ends the thread.
                    let next = blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
                    let Ok(block) = next else { return };
                    if done.send((block.number, stretch(rule, &block))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut join = Join::default();
        let outcome = feed(reader, &to_workers, &stretches, &mut join);
        drop(to_workers);
        outcome?;
        for (number, stretch) in stretches {
            join.take(number, stretch)?;
        }
        Ok(join.head)
    })
}

/// Cuts the file into blocks of whole lines. What has come back is joined in between, so a fault ends the reading.
fn feed(
    reader: &mut impl BufRead,
    to_workers: &mpsc::SyncSender<Block>,
    stretches: &mpsc::Receiver<(u64, Stretch)>,
    join: &mut Join,
) -> Check {
    let mut first = 1;
    for number in 0.. {
        let mut bytes = Vec::with_capacity(MAX_LINE + 4096);
        let unreadable = |error| Stop::unusable("unreadable", "", error);
        reader.by_ref().take(BLOCK).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if !bytes.ends_with(b"\n") {
            reader.by_ref().take(BLOCK).read_until(b'\n', &mut bytes).map_err(unreadable)?;
        }
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let block = Block { number, first, bytes };
        first += u64::try_from(lines).unwrap_or(u64::MAX);
        if to_workers.send(block).is_err() {
            return Ok(());
        }
        while let Ok((number, stretch)) = stretches.try_recv() {
            join.take(number, stretch)?;
        }
    }
    Ok(())
}

/// Stretches in order, whatever order they come in.
struct Join {
    head: ledger::Head,
    next: u64,
    waiting: BTreeMap<u64, Stretch>,
}

impl Default for Join {
    fn default() -> Self {
        Self { head: ledger::Head::EMPTY, next: 0, waiting: BTreeMap::new() }
    }
}

impl Join {
    fn take(&mut self, number: u64, stretch: Stretch) -> Check {
        self.waiting.insert(number, stretch);
        while let Some(stretch) = self.waiting.remove(&self.next) {
            self.next += 1;
            if stretch.prev.is_some_and(|prev| prev != self.head.hash) {
                return Err(bad_prev(self.head.seq + 1));
            }
            self.head.hash = stretch.end?;
            self.head.seq += stretch.lines;
        }
        Ok(())
    }
}

fn stretch(rule: Rule, block: &Block) -> Stretch {
    let mut stretch = Stretch { prev: None, end: Ok(Digest::ZERO), lines: 0 };
    let mut before: Option<Digest> = None;
    for line in block.bytes.split_inclusive(|&byte| byte == b'\n') {
        let seq = block.first + stretch.lines;
        match entry(rule, line, seq, before, &mut stretch.prev) {
            Ok(hash) => before = Some(hash),
            Err(stop) => {
                stretch.end = Err(stop);
                return stretch;
            }
        }
        stretch.lines += 1;
    }
    stretch.end = Ok(before.unwrap_or(Digest::ZERO));
    stretch
}

/// One line: its form, its number, its link, its hash, its body, the number in it. Gives the hash.
fn entry(
    rule: Rule,
    line: &[u8],
    seq: u64,
    before: Option<Digest>,
    first: &mut Option<Digest>,
) -> Check<Digest> {
    let read = bare(rule, line, seq, before, first)?;
    if read.inner_number() != Some(seq) {
        return Err(Stop::refused(
            "bad_number",
            format!("entry {seq}"),
            "the number inside the entry is another",
        ));
    }
    Ok(read.hash)
}

/// A line whose form, number, link, hash and spelling are right.
pub(crate) fn bare<'l>(
    rule: Rule,
    line: &'l [u8],
    seq: u64,
    before: Option<Digest>,
    first: &mut Option<Digest>,
) -> Check<Line<'l>> {
    let refused = |code, detail| Err(Stop::refused(code, format!("entry {seq}"), detail));
    if line.len() > MAX_LINE {
        return refused("line_too_long", "a line is longer than 1 MiB");
    }
    let Some(read) = line.strip_suffix(b"\n").and_then(Line::parse) else {
        return refused("bad_line", "not the line of an entry");
    };
    if read.seq != seq {
        return refused("bad_number", "entries are numbered from 1 without a gap");
    }
    match before {
        None => *first = Some(read.prev),
        Some(before) if before == read.prev => {}
        Some(_) => return Err(bad_prev(seq)),
    }
    if read.link(rule) != read.hash {
        return refused("bad_hash", "the hash is not that of the entry after its predecessor");
    }
    match canon::canonicalize(read.body) {
        Err(_) => refused("bad_body", "the entry is not strict JSON"),
        Ok(canonical) if canonical != read.body => refused("not_canonical", "the entry is not canonical"),
        Ok(_) => Ok(read),
    }
}

fn bad_prev(seq: u64) -> Stop {
    Stop::refused("bad_prev", format!("entry {seq}"), "the entry names another predecessor")
}
