//! What a gateway must still know after it was killed: its run, the calls it sent, the calls that wait for a person.
//!
//! A file of lines in a folder, one file a gateway that runs; the next one that finds it free goes on from it. It outlives a
//! killed process; after a loss of power the signer's own log is what counts.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The run, as it was registered. The token is a secret, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    pub run: String,
    pub token: String,
    /// For whom the signer lets us speak, if it knows us as a gateway.
    pub caller: Option<String>,
}

/// A call that was allowed, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    pub call: String,
    pub decision: String,
    pub digest: String,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parked {
    pub call: String,
    pub decision: String,
    pub digest: String,
    pub approval: String,
    pub url: Option<String>,
    pub expires_at: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Run(Held),
    Sent(Sent),
    Parked(Parked),
    /// The call, sent or parked, needs no more thought.
    Over(String),
}

impl Parked {
    pub fn sent(&self) -> Sent {
        Sent { call: self.call.clone(), decision: self.decision.clone(), digest: self.digest.clone() }
    }
}

/// What was found.
#[derive(Default, PartialEq, Eq)]
pub struct Found {
    pub run: Option<Held>,
    pub sent: BTreeMap<String, Sent>,
    pub parked: BTreeMap<String, Parked>,
}

#[derive(Debug)]
pub struct Slot {
    file: File,
    path: PathBuf,
}

/// Gateways of one name that run at the same time.
const MOST: u32 = 1_000;

impl Slot {
    /// Takes the first free slot of `folder`, which is made if need be.
    pub fn take(folder: &Path) -> Result<(Self, Found), Error> {
        let failed = |path: &Path, error: std::io::Error| Error::State {
            what: path.display().to_string(),
            why: error.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        for number in 0..MOST {
            let path = folder.join(format!("{number}.jsonl"));
            let mut options = OpenOptions::new();
            let file = options.read(true).append(true).create(true).mode(0o600).open(&path);
            let file = file.map_err(|error| failed(&path, error))?;
            match file.try_lock() {
                Ok(()) => {
                    let mut slot = Self { file, path };
                    let found = slot.read()?;
                    return Ok((slot, found));
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
            }
        }
        Err(Error::State { what: folder.display().to_string(), why: "every slot is taken".to_owned() })
    }

    pub fn sent(&mut self, sent: &Sent) -> Result<(), Error> {
        self.write(&Line::Sent(sent.clone()))
    }
    pub fn parked(&mut self, parked: &Parked) -> Result<(), Error> {
        self.write(&Line::Parked(parked.clone()))
    }
    pub fn over(&mut self, call: &str) -> Result<(), Error> {
        self.write(&Line::Over(call.to_owned()))
    }

    /// Forgets everything but what is given.
    pub fn rewrite(&mut self, found: &Found) -> Result<(), Error> {
        let mut text = Vec::new();
        let run = found.run.iter().cloned().map(Line::Run);
        let sent = found.sent.values().cloned().map(Line::Sent);
        for line in run.chain(sent).chain(found.parked.values().cloned().map(Line::Parked)) {
            self.append(&line, &mut text)?;
        }
        let done = self.file.set_len(0).and_then(|()| self.file.write_all(&text));
        done.map_err(|error| self.failed(&error))
    }

    /// A line that was cut short by the end of its process says nothing.
    fn read(&mut self) -> Result<Found, Error> {
        let mut text = String::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_string(&mut text));
        read.map_err(|error| self.failed(&error))?;
        let mut found = Found::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            match line {
                Line::Run(run) => found.run = Some(run),
                Line::Sent(sent) => drop(found.sent.insert(sent.call.clone(), sent)),
                Line::Parked(parked) => drop(found.parked.insert(parked.call.clone(), parked)),
                Line::Over(call) => {
                    found.sent.remove(&call);
                    found.parked.remove(&call);
                }
            }
        }
        Ok(found)
    }

    fn write(&mut self, line: &Line) -> Result<(), Error> {
        let mut text = Vec::new();
        self.append(line, &mut text)?;
        self.file.write_all(&text).map_err(|error| self.failed(&error))
    }

    fn append(&self, line: &Line, text: &mut Vec<u8>) -> Result<(), Error> {
        serde_json::to_writer(&mut *text, line).map_err(|error| self.failed(&error))?;
        text.push(b'\n');
        Ok(())
    }

    fn failed(&self, error: &impl ToString) -> Error {
        Error::State { what: self.path.display().to_string(), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(call: &str) -> Sent {
        Sent { call: call.to_owned(), decision: "d".to_owned(), digest: "sha256:0".to_owned() }
    }

    #[test]
    fn a_slot_is_one_gateways_and_the_next_goes_on_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, found) = Slot::take(folder.path()).unwrap();
        assert!(found == Found::default());
        let run = Held { run: "r".to_owned(), token: "t".to_owned(), caller: None };
        one.rewrite(&Found { run: Some(run.clone()), ..Found::default() }).unwrap();
        one.sent(&sent("a")).unwrap();
        one.sent(&sent("b")).unwrap();
        one.over("a").unwrap();
        let (other, found) = Slot::take(folder.path()).unwrap();
        assert!(found == Found::default());
        drop((one, other));

        std::fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("0.jsonl"))
            .unwrap()
            .write_all(b"{\"over\":\"b")
            .unwrap();
        let (mut one, found) = Slot::take(folder.path()).unwrap();
        assert!(found.run == Some(run));
        assert_eq!(found.sent.keys().collect::<Vec<_>>(), ["b"]);
        one.rewrite(&Found { parked: BTreeMap::new(), ..found }).unwrap();
        drop(one);
        let (_, found) = Slot::take(folder.path()).unwrap();
        assert_eq!(found.sent.keys().collect::<Vec<_>>(), ["b"]);
    }
}
