//! A power cut at any moment: what is left is what was synced, and nothing of the rest, or any part of it.
//!
//! A child works under strace, which notes every write, truncation, sync and name, and every acknowledgement. The notes are
//! played back onto a disk in memory that keeps what was synced apart from what was only written. At random moments that disk
//! is put into a folder as a cut would leave it, and the store is opened there: every append acknowledged by then must be
//! found. Once more with every sync passed over: that must be noticed, or the test shows nothing.

use crate::check::Check;
use crate::{KEY, dice, draw};
use bench::Outcome;
use env::Env;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use store::{ServerKey, Sqlite};

/// Acknowledgements that the child is let to give.
const ACKNOWLEDGED: usize = 600;

/// What a disk writes whole or not at all, in bytes.
const SECTOR: usize = 512;

const CALLS: &str =
    "trace=openat,unlink,rename,write,writev,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,msync";

pub async fn run(seed: u64, moments: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("live").join("journal.db");
    std::fs::create_dir(folder.path().join("live"))?;
    let notes = folder.path().join("notes");
    trace(&place, &notes, seed)?;
    let events = read(&notes)?;
    let acknowledged = events.iter().filter(|event| matches!(event, Event::Acknowledged(_))).count();
    let syncs = events.iter().filter(|event| matches!(event, Event::Synced { .. })).count();
    let mut dice = dice(seed);
    let found = replay(&events, folder.path(), moments, true, &mut dice).await?;
    println!("power cut: {acknowledged} appends acknowledged, {syncs} syncs, {found} cuts, nothing lost");
    match replay(&events, folder.path(), moments, false, &mut dice).await {
        Err(_) => Ok(()),
        Ok(_) => Err("a disk that ignores every sync went unnoticed".into()),
    }
}

/// Runs the child until it has said enough. Its next word then meets a closed pipe, and it ends.
fn trace(place: &Path, notes: &Path, seed: u64) -> Outcome<()> {
    let mut child = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "4194304", "-e", CALLS, "-o"])
        .arg(notes)
        .arg(std::env::current_exe()?)
        .args(["child", "sqlite"])
        .arg(place)
        .arg(seed.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("strace: {error} (apt-get install strace)"))?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    for _ in 0..ACKNOWLEDGED {
        lines.next().ok_or("the child ended by itself")??;
    }
    drop(lines);
    child.wait()?;
    Ok(())
}

/// What the notes say, in order. A write counts from its end, a sync covers what was written before it began.
#[derive(Debug)]
enum Event {
    Opened { path: String },
    Unlinked { path: String },
    Renamed { from: String, to: String },
    Wrote { path: String, at: Option<usize>, bytes: Vec<u8> },
    Cut { path: String, length: usize },
    SyncBegun { thread: u32, path: String },
    Synced { thread: u32, path: String },
    Acknowledged(String),
}

/// Reads the notes: a call that another thread came between is in two lines.
fn read(notes: &Path) -> Outcome<Vec<Event>> {
    let mut events = Vec::new();
    let mut begun: HashMap<u32, String> = HashMap::new();
    for line in BufReader::new(std::fs::File::open(notes)?).lines() {
        let line = line?;
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let thread: u32 = thread.parse()?;
        let rest = rest.trim_start();
        let is_sync = |call: &str| call.starts_with("fsync(") || call.starts_with("fdatasync(");
        let call = if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            if is_sync(head) {
                events.push(Event::SyncBegun { thread, path: descriptor(head)?.1 });
            }
            begun.insert(thread, head.to_owned());
            continue;
        } else if rest.starts_with("<... ") {
            let Some(head) = begun.remove(&thread) else { continue };
            let tail = rest.split_once(" resumed>").map_or("", |(_, tail)| tail);
            format!("{head}{tail}")
        } else {
            if is_sync(rest) {
                events.push(Event::SyncBegun { thread, path: descriptor(rest)?.1 });
            }
            rest.to_owned()
        };
        if let Some(event) = event(thread, &call)? {
            events.push(event);
        }
    }
    Ok(events)
}

/// `name(5<path>, "bytes", 4, 0) = 4`. A call that failed did nothing.
fn event(thread: u32, call: &str) -> Outcome<Option<Event>> {
    let Some((head, result)) = call.rsplit_once(" = ") else { return Ok(None) };
    if result.starts_with('-') || result.starts_with('?') {
        return Ok(None);
    }
    let Some((name, arguments)) = head.trim_end().strip_suffix(')').and_then(|head| head.split_once('('))
    else {
        return Ok(None);
    };
    let texts: Vec<Vec<u8>> =
        arguments.split('"').skip(1).step_by(2).map(unescape).collect::<Outcome<_>>()?;
    let text = |place: usize| -> Outcome<String> {
        Ok(String::from_utf8(texts.get(place).ok_or("a path is missing")?.clone())?)
    };
    // What follows the last text, or the descriptor: plain numbers.
    let tail = arguments.rsplit_once(['"', '>']).map_or("", |(_, tail)| tail);
    let numbers: Vec<usize> = tail.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    Ok(Some(match name {
        "openat" if arguments.contains("O_CREAT") => Event::Opened { path: text(0)? },
        "openat" => return Ok(None),
        "unlink" => Event::Unlinked { path: text(0)? },
        "rename" => Event::Renamed { from: text(0)?, to: text(1)? },
        "write" => {
            let (number, path) = descriptor(call)?;
            let bytes = texts.first().ok_or("a write without bytes")?.clone();
            match number {
                1 => Event::Acknowledged(String::from_utf8(bytes)?),
                _ => Event::Wrote { path, at: None, bytes },
            }
        }
        "pwrite64" => {
            let bytes = texts.first().ok_or("a write without bytes")?.clone();
            let at = Some(*numbers.last().ok_or("a write without a place")?);
            Event::Wrote { path: descriptor(call)?.1, at, bytes }
        }
        "ftruncate" => {
            let length = *numbers.last().ok_or("a truncation without a length")?;
            Event::Cut { path: descriptor(call)?.1, length }
        }
        "fsync" | "fdatasync" => Event::Synced { thread, path: descriptor(call)?.1 },
        other => return Err(format!("the store calls {other}, which this test does not know").into()),
    }))
}

/// The number and the path of `name(5<path>`.
fn descriptor(call: &str) -> Outcome<(u32, String)> {
    let (_, rest) = call.split_once('(').ok_or("no arguments")?;
    let (number, rest) = rest.split_once('<').ok_or_else(|| format!("no descriptor in {rest:.40}"))?;
    let (path, _) = rest.split_once('>').ok_or("no path")?;
    Ok((number.parse()?, String::from_utf8(unescape(path)?)?))
}

/// Every byte is written as `\x41`.
fn unescape(text: &str) -> Outcome<Vec<u8>> {
    text.split("\\x").skip(1).map(|byte| Ok(u8::from_str_radix(byte, 16)?)).collect()
}

/// A disk: what was synced, and what was written since.
#[derive(Default)]
struct Disk {
    files: Vec<File>,
    /// What each name leads to for the running program, and after a cut.
    names: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    /// How much of which file a sync that has begun covers.
    syncing: HashMap<u32, (usize, usize)>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    written: Vec<Change>,
    length: usize,
}

enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

impl Disk {
    fn file(&mut self, path: &str) -> usize {
        if let Some(known) = self.names.get(path) {
            return *known;
        }
        self.files.push(File::default());
        let number = self.files.len().saturating_sub(1);
        self.names.insert(path.to_owned(), number);
        number
    }

    fn play(&mut self, event: &Event, syncs: bool) {
        match event {
            Event::Opened { path } => {
                self.file(path);
            }
            Event::Unlinked { path } => {
                self.names.remove(path);
            }
            Event::Renamed { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Event::Wrote { path, at, bytes } => {
                let number = self.file(path);
                let Some(file) = self.files.get_mut(number) else { return };
                let at = at.unwrap_or(file.length);
                file.length = file.length.max(at.saturating_add(bytes.len()));
                file.written.push(Change::Write { at, bytes: bytes.clone() });
            }
            Event::Cut { path, length } => {
                let number = self.file(path);
                let Some(file) = self.files.get_mut(number) else { return };
                file.length = *length;
                file.written.push(Change::Cut(*length));
            }
            Event::SyncBegun { thread, path } => {
                if let Some(&number) = self.names.get(path) {
                    let covered = self.files.get(number).map_or(0, |file| file.written.len());
                    self.syncing.insert(*thread, (number, covered));
                }
            }
            Event::Synced { thread, path } if syncs => match self.syncing.remove(thread) {
                Some((number, covered)) => {
                    let Some(file) = self.files.get_mut(number) else { return };
                    let covered = covered.min(file.written.len());
                    for change in file.written.drain(..covered) {
                        change.apply(&mut file.synced);
                    }
                }
                // A folder: the names in it.
                None => {
                    let inside = |name: &str| Path::new(name).parent() == Some(Path::new(path));
                    self.durable.retain(|name, _| !inside(name));
                    let kept = self.names.iter().filter(|(name, _)| inside(name));
                    self.durable.extend(kept.map(|(name, file)| (name.clone(), *file)));
                }
            },
            Event::Synced { .. } | Event::Acknowledged(_) => {}
        }
    }

    /// Writes the files of the store into a folder as a cut leaves them: with `dice` any part of what was not synced.
    fn put(&self, folder: &Path, mut dice: Option<&mut Env>) -> Outcome<()> {
        for (name, number) in &self.durable {
            let Some(base) = Path::new(name).file_name() else { continue };
            // The index over the write-ahead log lives in memory alone and is made anew.
            if !name.contains("journal.db") || name.ends_with("-shm") {
                continue;
            }
            let file = self.files.get(*number).ok_or("no such file")?;
            let mut bytes = file.synced.clone();
            if let Some(dice) = dice.as_deref_mut() {
                file.written.iter().for_each(|change| change.apply_partly(&mut bytes, dice));
            }
            std::fs::write(folder.join(base), bytes)?;
        }
        Ok(())
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => write_at(to, *at, bytes),
            Self::Cut(length) => to.resize(*length, 0),
        }
    }

    fn apply_partly(&self, to: &mut Vec<u8>, dice: &mut Env) {
        match self {
            Self::Write { at, bytes } => {
                let mut done = 0;
                while done < bytes.len() {
                    let at = at.saturating_add(done);
                    let end = bytes.len().min(done.saturating_add(SECTOR - at % SECTOR));
                    if draw(dice).is_multiple_of(2) {
                        write_at(to, at, bytes.get(done..end).unwrap_or_default());
                    }
                    done = end;
                }
            }
            Self::Cut(_) if draw(dice).is_multiple_of(2) => self.apply(to),
            Self::Cut(_) => {}
        }
    }
}

fn write_at(to: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at.saturating_add(bytes.len());
    if to.len() < end {
        to.resize(end, 0);
    }
    if let Some(place) = to.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}

/// Cuts the power at random moments after the first acknowledgement. Gives how many cuts were looked at.
async fn replay(
    events: &[Event],
    folder: &Path,
    moments: usize,
    syncs: bool,
    dice: &mut Env,
) -> Outcome<usize> {
    let first = events
        .iter()
        .position(|event| matches!(event, Event::Acknowledged(_)))
        .ok_or("nothing was acknowledged")?;
    let span = u64::try_from(events.len().saturating_sub(first))?;
    let mut cuts: Vec<usize> = std::iter::repeat_with(|| draw(dice) % span)
        .take(moments)
        .map(|place| Ok(first.saturating_add(usize::try_from(place)?)))
        .collect::<Outcome<_>>()?;
    cuts.sort_unstable();
    cuts.dedup();
    let (mut disk, mut said, mut cuts) = (Disk::default(), Vec::new(), cuts.into_iter().peekable());
    let mut looked = 0;
    for (number, event) in events.iter().enumerate() {
        disk.play(event, syncs);
        if let Event::Acknowledged(line) = event {
            said.push(line.trim_end().to_owned());
        }
        if cuts.next_if_eq(&number).is_none() {
            continue;
        }
        for partly in [false, true] {
            let left = tempfile::tempdir_in(folder)?;
            disk.put(left.path(), partly.then_some(&mut *dice))?;
            let found = look(left.path(), &said).await;
            let how = if partly { "with a part of what was not synced" } else { "with what was synced" };
            found.map_err(|error| format!("cut after event {number}, {how}: {error}"))?;
            looked += 1;
        }
    }
    Ok(looked)
}

async fn look(folder: &Path, said: &[String]) -> Outcome<()> {
    let journal = Sqlite::open(&folder.join("journal.db"), ServerKey::from_bytes(KEY))?;
    let mut check = Check::default();
    check.acknowledge(said)?;
    check.round(&journal).await?;
    check.whole(&journal).await
}
