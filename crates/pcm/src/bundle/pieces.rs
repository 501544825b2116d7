//! The run files, unpacked one after the other and handed out in pieces of whole lines.

use super::files::{Files, too_long};
use crate::Error;
use crate::zip::{CHUNK, Entry, Unpack};
use canon::Digest;

/// How much of a file is handed out at a time, in bytes, if its lines allow.
const PIECE: usize = 256 << 10;

/// Whole lines of one file of one run.
pub(crate) struct Piece {
    /// Counted over all pieces.
    pub(crate) index: usize,
    pub(crate) run: usize,
    /// Which of the run's files, counted from 0.
    pub(crate) part: usize,
    pub(crate) bytes: Vec<u8>,
}

/// A run's files, in order: one, or its parts.
#[derive(Debug)]
pub(crate) struct RunFiles<'a> {
    /// `runs/<id>.jsonl`, whether there is such a file or its parts.
    pub(crate) name: String,
    pub(crate) parts: Vec<&'a str>,
}

impl RunFiles<'_> {
    /// What is wrong with the names of the parts.
    pub(crate) fn misnamed(&self) -> Option<&'static str> {
        if let [only] = self.parts.as_slice()
            && *only == self.name
        {
            return None;
        }
        if self.parts.contains(&self.name.as_str()) {
            return Some("one run in one file and in parts");
        }
        let expected = |index: usize| {
            let stem = self.name.strip_suffix(".jsonl").unwrap_or(&self.name);
            format!("{stem}.part-{:04}.jsonl", index + 1)
        };
        let gap = self.parts.iter().enumerate().any(|(index, part)| *part != expected(index));
        gap.then_some("a part is missing or misnamed")
    }

    pub(crate) fn in_parts(&self) -> bool {
        self.parts.iter().any(|part| *part != self.name)
    }
}

/// The runs by the names of their files, in the order of the names.
pub(crate) fn run_files<'a>(files: &Files<'a>) -> Vec<RunFiles<'a>> {
    let mut runs: Vec<RunFiles<'a>> = Vec::new();
    for name in files.names().filter(|name| name.starts_with("runs/")) {
        let whole = stem(name).map_or_else(|| name.to_owned(), |stem| format!("{stem}.jsonl"));
        match runs.iter_mut().rev().take(2).find(|run| run.name == whole) {
            Some(run) => run.parts.push(name),
            None => runs.push(RunFiles { name: whole, parts: vec![name] }),
        }
    }
    runs
}

/// The name of the run that `name` is a part of, without its ending.
fn stem(name: &str) -> Option<&str> {
    let (stem, number) = name.strip_suffix(".jsonl")?.rsplit_once(".part-")?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (digits && stem.len() > "runs/".len()).then_some(stem)
}

/// Where the pieces come from.
pub(crate) struct Source<'a> {
    /// Run, part, entry; the next one last.
    queue: Vec<(usize, usize, Entry<'a>)>,
    open: Option<Open<'a>>,
    pieces: usize,
    /// The digests of the files that were read to their end.
    pub(crate) read: Vec<(&'a str, Digest)>,
    pub(crate) stopped: Option<Fault>,
}

/// Why there are no more pieces.
#[derive(Debug)]
pub(crate) enum Fault {
    Zip(Error),
    Lines(Error, String),
    /// Somebody found enough.
    Enough,
}

struct Open<'a> {
    run: usize,
    part: usize,
    name: &'a str,
    unpack: Unpack<'a>,
    rest: Vec<u8>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(files: &Files<'a>, runs: &[RunFiles<'a>]) -> Self {
        let mut queue: Vec<_> = runs
            .iter()
            .enumerate()
            .flat_map(|(run, of)| of.parts.iter().enumerate().map(move |(part, name)| (run, part, *name)))
            .filter_map(|(run, part, name)| Some((run, part, files.entry(name)?)))
            .collect();
        queue.reverse();
        Self { queue, open: None, pieces: 0, read: Vec::new(), stopped: None }
    }

    pub(crate) fn next(&mut self) -> Option<Piece> {
        while self.stopped.is_none() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => {
                    let (run, part, entry) = self.queue.pop()?;
                    Open { run, part, name: entry.name, unpack: entry.unpack(), rest: Vec::new() }
                }
            };
            match open.lines() {
                Err(fault) => self.stopped = Some(fault),
                Ok((bytes, more)) => {
                    let (run, part) = (open.run, open.part);
                    if more {
                        self.open = Some(open);
                    } else {
                        self.read.push((open.name, open.unpack.digest()));
                    }
                    if !bytes.is_empty() {
                        self.pieces += 1;
                        return Some(Piece { index: self.pieces - 1, run, part, bytes });
                    }
                }
            }
        }
        None
    }
}

impl Open<'_> {
    /// The next whole lines, and whether there is more.
    fn lines(&mut self) -> Result<(Vec<u8>, bool), Fault> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.reserve((PIECE + CHUNK).saturating_sub(bytes.len()));
        loop {
            let before = bytes.len();
            let more = self.unpack.more(&mut bytes, CHUNK).map_err(Fault::Zip)?;
            let ended = bytes.get(before..).unwrap_or_default().iter().rposition(|&byte| byte == b'\n');
            if !more {
                return match bytes.last() {
                    Some(b'\n') | None => Ok((bytes, false)),
                    Some(_) => {
                        let why = Error::Structure("the last line is not ended");
                        Err(Fault::Lines(why, self.name.to_owned()))
                    }
                };
            }
            match ended {
                Some(at) if bytes.len() >= PIECE => {
                    self.rest = bytes.split_off(before + at + 1);
                    return Ok((bytes, true));
                }
                None if bytes.len() >= PIECE && !bytes.contains(&b'\n') && too_long(&bytes) => {
                    let why = Error::Structure("a line longer than 1 MiB");
                    return Err(Fault::Lines(why, self.name.to_owned()));
                }
                _ => {}
            }
        }
    }
}
