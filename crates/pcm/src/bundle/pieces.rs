//! The run files, unpacked one after the other and handed out in pieces of whole lines.

use super::files::{Files, too_long};
use crate::Error;
use crate::zip::{CHUNK, Entry, Unpack};
use canon::Digest;
use std::collections::HashMap;

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
    let mut places = HashMap::new();
    for name in files.names().filter(|name| name.starts_with("runs/")) {
        let whole = stem(name).map_or_else(|| name.to_owned(), |stem| format!("{stem}.jsonl"));
        match places.get(&whole).and_then(|at: &usize| runs.get_mut(*at)) {
            Some(run) => run.parts.push(name),
            None => {
                places.insert(whole.clone(), runs.len());
                runs.push(RunFiles { name: whole, parts: vec![name] });
            }
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
    /// Somebody has seen enough.
    pub(crate) stopped: bool,
    /// A file that does not unpack.
    pub(crate) fault: Option<Error>,
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
        Self { queue, open: None, pieces: 0, read: Vec::new(), stopped: false, fault: None }
    }

    pub(crate) fn next(&mut self) -> Option<Piece> {
        while !self.stopped && self.fault.is_none() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => {
                    let (run, part, entry) = self.queue.pop()?;
                    Open { run, part, name: entry.name, unpack: entry.unpack(), rest: Vec::new() }
                }
            };
            match open.lines() {
                Err(error) => self.fault = Some(error),
                Ok((bytes, state)) => {
                    let (run, part) = (open.run, open.part);
                    match state {
                        State::More => self.open = Some(open),
                        State::End => self.read.push((open.name, open.unpack.digest())),
                        State::Enough => {}
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

enum State {
    More,
    End,
    /// What was handed out cannot be a line, so the rest of the file does not matter.
    Enough,
}

impl Open<'_> {
    /// The next lines: whole ones, but for what ends the file without ending its line, or is too long for one.
    fn lines(&mut self) -> Result<(Vec<u8>, State), Error> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.reserve((PIECE + CHUNK).saturating_sub(bytes.len()));
        // What is left from before has no line end.
        let mut whole = 0;
        loop {
            let before = bytes.len();
            if !self.unpack.more(&mut bytes, CHUNK)? {
                return Ok((bytes, State::End));
            }
            let new = bytes.get(before..).unwrap_or_default();
            whole = new.iter().rposition(|&byte| byte == b'\n').map_or(whole, |at| before + at + 1);
            if whole > 0 && bytes.len() >= PIECE {
                self.rest = bytes.split_off(whole);
                return Ok((bytes, State::More));
            }
            if too_long(bytes.get(whole..).unwrap_or_default()) {
                return Ok((bytes, State::Enough));
            }
        }
    }
}
