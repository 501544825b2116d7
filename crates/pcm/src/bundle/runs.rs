//! The runs of a bundle: every record by itself, its place in its run, and what the report says of them all.

use super::approvals::Approvals;
use super::files::{Files, Stop, lines};
use super::pieces::{Piece, RunFiles, Source, run_files};
use super::tally::{Head, Tally};
use super::{Crew, Ground, MOST, Problem, Report};
use crate::timeline::Keys;
use crate::{Error, Event, Unverified, event};
use canon::{Digest, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the place of a record in its run is checked by, read from the record whether it holds or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) tenant: Option<String>,
    pub(crate) run_id: Option<String>,
    pub(crate) seq: Option<u64>,
    pub(crate) hash: Option<Digest>,
    run_seq: Option<u64>,
    run_prev: Option<Digest>,
    ends: bool,
}

/// One run, folded.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) first: Link,
    pub(crate) last: Link,
    pub(crate) head: Head,
    /// The last part of which a record was seen, and how many files it is in.
    part: usize,
    records: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// By the name of the file a run would be in, whole.
    pub(crate) runs: BTreeMap<String, Run>,
    parts: usize,
    in_parts: usize,
    problems: Vec<Problem>,
    chain: Vec<Problem>,
    layout: Vec<Problem>,
    tally: Tally,
    approvals: Approvals,
}

/// What one piece gives.
struct Checked {
    run: usize,
    part: usize,
    records: u64,
    first: Link,
    last: Link,
    head: Head,
    problems: Vec<Problem>,
    chain: Vec<Problem>,
    tally: Tally,
    /// The records of approvals, as text: what they say together is asked in their order.
    kept: Vec<Vec<u8>>,
}

impl Runs {
    pub(crate) fn read(files: &mut Files<'_>, keys: &Keys, crew: &dyn Crew) -> Result<Self, Stop> {
        let named = run_files(files);
        let source = Mutex::new(Source::new(files, &named));
        let sink = Mutex::new(Sink::default());
        crew.run(&|| {
            loop {
                // The guard is dropped before the piece is looked at.
                let piece = locked(&source).next();
                let Some(piece) = piece else { return };
                let part = || {
                    named
                        .get(piece.run)
                        .and_then(|run| run.parts.get(piece.part))
                        .map(|&name| name.to_owned())
                };
                let outcome = check(&piece, keys).map_err(|error| (error, part().unwrap_or_default()));
                if locked(&sink).put(piece.index, outcome, &named) {
                    locked(&source).stopped = true;
                }
            }
        });
        let source = source.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sink = sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (name, digest) in source.read {
            files.found(name, digest);
        }
        match (source.fault, sink.stopped) {
            (Some(error), _) => return Err(Stop::Unusable(error)),
            (None, Some((error, name))) => return Err(Stop::Structure(error, name)),
            (None, None) => {}
        }
        let mut runs = sink.runs;
        for run in &named {
            if !runs.runs.contains_key(&run.name) {
                return Err(Stop::Structure(Error::Structure("a run has no records"), run.name.clone()));
            }
            if let Some(why) = run.misnamed() {
                runs.layout.push(Problem::new(&Error::Parts(why), &run.name));
            }
            if run.in_parts() {
                runs.in_parts += 1;
                runs.parts += run.parts.len();
                if runs.runs.get(&run.name).is_some_and(|seen| seen.part + 1 != run.parts.len()) {
                    runs.layout.push(Problem::new(&Error::Parts("a part holds no records"), &run.name));
                }
            }
        }
        runs.twice();
        Ok(runs)
    }

    pub(crate) fn count(&self) -> usize {
        self.runs.len()
    }
    pub(crate) fn records(&self) -> u64 {
        self.runs.values().map(|run| run.records).sum()
    }
    pub(crate) fn last_seq(&self) -> u64 {
        self.runs.values().filter_map(|run| run.last.seq).max().unwrap_or_default()
    }
    pub(crate) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether all runs but one are findings or replays of that one.
    pub(crate) fn about_one(&self) -> bool {
        let mut main = self.runs.values().filter(|run| run.head.about.is_empty());
        let (Some(one), None) = (main.next(), main.next()) else { return false };
        self.runs.values().all(|run| {
            run.head.about.is_empty()
                || run.first.tenant == one.first.tenant
                    && one.first.run_id.as_ref().is_some_and(|id| run.head.about.contains(id))
        })
    }

    /// The checks every record and every run must pass.
    pub(crate) fn checks(&self, ground: &Ground, report: &mut Report) {
        if self.in_parts > 0 {
            let detail =
                format!("{} runs in {} parts, each continuing the one before", self.in_parts, self.parts);
            report.judge("run parts", detail, self.layout.clone());
        }
        let records = self.records();
        report.judge(
            "signatures",
            format!("{records} records, each by a key valid at its place"),
            self.problems.clone(),
        );
        report.judge(
            "run chain",
            format!("{} runs, each without a gap from its first record", self.count()),
            self.chain.clone(),
        );
        let within = |link: &Link| match (link.seq, link.hash) {
            (Some(seq), Some(hash)) => ground.includes(seq, &hash),
            _ => false,
        };
        let outside = self.runs.iter().filter(|(_, run)| !(within(&run.first) && within(&run.last)));
        let outside: Vec<_> =
            outside.map(|(name, _)| Problem::new(&Error::NotIncluded, name)).take(MOST).collect();
        report.judge("inclusion", "the first and the last record of each run are in the tree", outside);
    }

    /// Runs that have not ended verify to their head.
    pub(crate) fn integrity(&self, report: &mut Report) {
        let mut open = self.runs.values().filter(|run| !run.last.ends);
        let count = open.clone().count();
        report.integrity = match open.next() {
            None => "VERIFIED".to_owned(),
            Some(run) if self.count() == 1 => {
                format!("VERIFIED TO HEAD {} (open)", run.last.run_seq.unwrap_or_default())
            }
            Some(_) => format!("VERIFIED ({count} run(s) open)"),
        };
    }

    /// What the records say of themselves.
    pub(crate) fn lines(&self, report: &mut Report) {
        let heads: Vec<_> = self.runs.values().map(|run| &run.head).collect();
        self.tally.lines(&heads, report);
    }

    pub(crate) fn approvals(&self, report: &mut Report) {
        self.approvals.lines(report);
        self.tally.last_lines(report);
    }

    /// Two files of one run would count its records twice.
    fn twice(&mut self) {
        let mut seen = BTreeSet::new();
        for (name, run) in &self.runs {
            if !seen.insert((run.first.tenant.clone(), run.first.run_id.clone())) {
                self.chain.push(Problem::new(&Error::Chain("the run is there twice"), name));
            }
        }
    }

    fn fold(&mut self, mut checked: Checked, named: &[RunFiles<'_>]) {
        let Some(files) = named.get(checked.run) else { return };
        keep(&mut self.problems, checked.problems);
        match self.runs.get_mut(&files.name) {
            None => {
                let links = (&checked.first.run_seq, &checked.first.run_prev);
                if links != (&Some(0), &Some(Digest::ZERO)) || checked.first.run_id.is_none() {
                    let place = place(&checked.first, &files.name);
                    self.chain.push(Problem::new(&Error::Chain("the run does not begin here"), place));
                }
                let run = Run {
                    first: checked.first,
                    last: checked.last,
                    head: checked.head,
                    part: checked.part,
                    records: checked.records,
                };
                if checked.part != 0 {
                    self.layout.push(Problem::new(&Error::Parts("a part holds no records"), &files.name));
                }
                self.runs.insert(files.name.clone(), run);
            }
            Some(run) => {
                if let Some(why) = run.last.broken(&checked.first) {
                    let place = place(&checked.first, &files.name);
                    self.chain.push(Problem::new(&Error::Chain(why), place));
                }
                if checked.part > run.part {
                    let whole = checked.part == run.part + 1 && checked.first.run_prev == run.last.hash;
                    if !whole {
                        let why = Error::Parts("a part does not continue the one before");
                        self.layout.push(Problem::new(&why, &files.name));
                    }
                    run.part = checked.part;
                }
                run.last = checked.last;
                run.records += checked.records;
            }
        }
        keep(&mut self.chain, checked.chain);
        self.tally.add(checked.run, std::mem::take(&mut checked.tally));
        for line in &checked.kept {
            if let Ok(record) = Unverified::parse(line)
                && let Ok(event) = Event::read(record.event())
            {
                self.approvals.next(&event);
            }
        }
    }
}

/// A piece that was looked at, or what of its file is not built as it must be.
type Outcome = Result<Box<Checked>, (Error, String)>;

/// Takes the results in their order, whoever brings them first.
#[derive(Default)]
struct Sink {
    runs: Runs,
    next: usize,
    waiting: HashMap<usize, Outcome>,
    stopped: Option<(Error, String)>,
}

impl Sink {
    /// Whether the reading may stop.
    fn put(&mut self, index: usize, outcome: Outcome, named: &[RunFiles<'_>]) -> bool {
        self.waiting.insert(index, outcome);
        while let Some(outcome) = self.waiting.remove(&self.next) {
            self.next += 1;
            match outcome {
                Ok(checked) if self.stopped.is_none() => self.runs.fold(*checked, named),
                Err(stop) if self.stopped.is_none() => self.stopped = Some(stop),
                _ => {}
            }
        }
        self.stopped.is_some()
    }
}

fn check(piece: &Piece, keys: &Keys) -> Result<Box<Checked>, Error> {
    let mut checked: Option<Box<Checked>> = None;
    for line in lines(&piece.bytes) {
        let line = line?;
        let record = match Unverified::parse(line) {
            Err(error @ Error::Json(_)) => return Err(error),
            other => other,
        };
        let outcome = match &record {
            Ok(record) => record.check(keys).map_err(|error| (Link::claimed(record), error)),
            Err(error) => Err((Link::nothing(), error.clone())),
        };
        let link = match &outcome {
            Ok(record) => Link::of(&record.event(), record.hash()),
            Err((link, _)) => link.clone(),
        };
        let into = match &mut checked {
            Some(into) => {
                if let Some(why) = into.last.broken(&link) {
                    push(&mut into.chain, || Problem::new(&Error::Chain(why), place(&link, "")));
                }
                into.records += 1;
                into.last = link;
                into
            }
            none => none.insert(Checked::begin(piece, link)),
        };
        match outcome {
            Err((link, error)) => push(&mut into.problems, || Problem::new(&error, place(&link, ""))),
            Ok(record) => {
                let event = record.event();
                into.tally.take(&event);
                if event.run_seq() == 0 {
                    into.head = Head::of(&event);
                }
                if Approvals::concern(&event) {
                    into.kept.push(line.to_vec());
                }
            }
        }
    }
    checked.ok_or(Error::Structure("a run has no records"))
}

impl Checked {
    fn begin(piece: &Piece, link: Link) -> Box<Self> {
        Box::new(Self {
            run: piece.run,
            part: piece.part,
            records: 1,
            first: link.clone(),
            last: link,
            head: Head::default(),
            problems: Vec::new(),
            chain: Vec::new(),
            tally: Tally::default(),
            kept: Vec::new(),
        })
    }
}

impl Link {
    fn of(event: &Event<'_>, hash: Digest) -> Self {
        Self {
            tenant: Some(event.tenant().to_owned()),
            run_id: Some(event.run_id().to_owned()),
            seq: Some(event.position().0),
            hash: Some(hash),
            run_seq: Some(event.run_seq()),
            run_prev: Some(event.run_prev_hash()),
            ends: event.kind() == "run.final",
        }
    }

    fn claimed(record: &Unverified<'_>) -> Self {
        let text = |name| record.event().get(name).and_then(Value::as_str);
        let number = |name| record.event().get(name).and_then(Value::as_u64);
        Self {
            tenant: text("tenant").map(str::to_owned),
            run_id: text("run_id").map(str::to_owned),
            seq: number("seq"),
            hash: record.hash(),
            run_seq: number("run_seq"),
            run_prev: text("run_prev_hash").and_then(event::digest),
            ends: text("type") == Some("run.final"),
        }
    }

    const fn nothing() -> Self {
        Self { tenant: None, run_id: None, seq: None, hash: None, run_seq: None, run_prev: None, ends: false }
    }

    /// Why `next` does not come after this one.
    fn broken(&self, next: &Self) -> Option<&'static str> {
        if self.ends {
            return Some("it comes after the run's end");
        }
        if next.run_seq.is_none() || self.run_seq.and_then(|seq| seq.checked_add(1)) != next.run_seq {
            return Some("its number in the run is not the next");
        }
        if next.hash.is_none() || next.run_prev.is_none() || next.run_prev != self.hash {
            return Some("it does not name the record before");
        }
        if (&next.tenant, &next.run_id) != (&self.tenant, &self.run_id) {
            return Some("it is of another run");
        }
        if next.seq.is_none() || next.seq <= self.seq {
            return Some("its place in the log is not after the one before");
        }
        None
    }
}

fn place(link: &Link, or: &str) -> String {
    link.seq.map_or_else(|| or.to_owned(), |seq| format!("seq {seq}"))
}

fn push(problems: &mut Vec<Problem>, problem: impl FnOnce() -> Problem) {
    if problems.len() < MOST {
        problems.push(problem());
    }
}

fn keep(problems: &mut Vec<Problem>, more: Vec<Problem>) {
    problems.extend(more.into_iter().take(MOST.saturating_sub(problems.len())));
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
