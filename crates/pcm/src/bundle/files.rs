//! The files of a bundle, and the manifest over them: an index, never trusted.

use crate::zip::{self, Entry};
use crate::{Error, Unverified};
use canon::{Digest, Value};
use std::collections::BTreeMap;

/// The layout that is read here.
pub const FORMAT: &str = "tracekit.bundle.v2";
/// The latest version whose records and layout are known here.
pub const VERSION: &str = "1.4.2";

/// The longest line of a JSON lines file; the shortest a signed record can be.
const MAX_LINE: usize = 1 << 20;
const MIN_LINE: usize = 256;

/// Why the checks cannot go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Not a bundle: nothing that was found so far counts.
    Unusable(Error),
    /// Not built as a bundle is, and where.
    Structure(Error, String),
}

pub(crate) struct Files<'a> {
    entries: BTreeMap<&'a str, Entry<'a>>,
    /// What the manifest says: the digest of every other file. `None` if it says nothing of the kind.
    listed: Option<BTreeMap<String, Option<Digest>>>,
    found: BTreeMap<&'a str, Digest>,
}

impl<'a> Files<'a> {
    /// The archive, its manifest and the version it asks for.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut entries: BTreeMap<_, _> =
            zip::open(bytes)?.into_iter().map(|entry| (entry.name, entry)).collect();
        let manifest = entries.remove("manifest.json").ok_or(Error::Format("there is no manifest"))?;
        let (manifest, _) = manifest.read()?;
        let manifest = canon::parse(&manifest)?;
        if manifest.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(Error::Format("another format than tracekit.bundle.v2"));
        }
        let asked = manifest.get("verifier_min_version").and_then(Value::as_str);
        let asked = asked.ok_or(Error::Format("no verifier_min_version"))?;
        let version = version(asked).ok_or(Error::Format("verifier_min_version is no version"))?;
        if Some(version) > self::version(VERSION) {
            return Err(Error::Later(asked.to_owned()));
        }
        let listed = manifest.get("files").and_then(Value::as_object).map(|files| {
            let digest = |value: &Value<'_>| value.as_str().and_then(|text| text.parse().ok());
            files.iter().map(|(name, value)| (name.to_owned(), digest(value))).collect()
        });
        Ok(Self { entries, listed, found: BTreeMap::new() })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.entries.keys().copied()
    }
    pub(crate) fn entry(&self, name: &str) -> Option<Entry<'a>> {
        self.entries.get(name).copied()
    }
    /// Notes the digest of a file that was read elsewhere.
    pub(crate) fn found(&mut self, name: &'a str, digest: Digest) {
        self.found.insert(name, digest);
    }
    /// A file whole.
    pub(crate) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stop> {
        let Some(entry) = self.entry(name) else { return Ok(None) };
        let (content, digest) = entry.read().map_err(Stop::Unusable)?;
        self.found.insert(entry.name, digest);
        Ok(Some(content))
    }
    /// A file a bundle must have.
    pub(crate) fn need(&mut self, name: &str) -> Result<Vec<u8>, Stop> {
        self.read(name)?
            .ok_or_else(|| Stop::Structure(Error::Structure("a file is missing"), name.to_owned()))
    }

    /// Reads what nobody has read, and compares all with the manifest. What differs, is missing or is not listed.
    pub(crate) fn differing(&mut self) -> Result<Vec<String>, Error> {
        for (name, entry) in &self.entries {
            if !self.found.contains_key(name) {
                self.found.insert(name, entry.digest()?);
            }
        }
        let Some(listed) = &self.listed else { return Ok(vec!["manifest.json".to_owned()]) };
        let missing = listed.keys().filter(|name| !self.found.contains_key(name.as_str())).cloned();
        let differing = self
            .found
            .iter()
            .filter(|(name, digest)| listed.get(**name) != Some(&Some(**digest)))
            .map(|(name, _)| (*name).to_owned());
        let mut all: Vec<_> = missing.chain(differing).collect();
        all.sort_unstable();
        Ok(all)
    }

    /// The digest of a file that [`Files::differing`] has seen.
    pub(crate) fn digest(&self, name: &str) -> Option<Digest> {
        self.found.get(name).copied()
    }
}

/// The lines of a JSON lines file, as records of which nothing is checked, one at a time.
pub(crate) fn records<'b>(
    bytes: &'b [u8],
    name: &'b str,
) -> impl Iterator<Item = Result<(&'b [u8], Unverified<'b>), Stop>> {
    lines(bytes).map(move |line| {
        let read = |line| Unverified::parse(line).map(|record| (line, record));
        line.and_then(read).map_err(|error| match error {
            error @ (Error::Json(_) | Error::Structure(_)) => Stop::Structure(error, name.to_owned()),
            _ => Stop::Structure(Error::Structure("a line is no record"), name.to_owned()),
        })
    })
}

/// Whole lines, each ended, none too long and none too short.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], Error>> {
    bytes.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").ok_or(Error::Structure("the last line is not ended"))?;
        match line.len() {
            ..MIN_LINE => Err(Error::Structure("a line shorter than a record")),
            MIN_LINE..=MAX_LINE => Ok(line),
            _ => Err(Error::Structure("a line longer than 1 MiB")),
        }
    })
}

/// Whether what is not ended yet is already too long for a line.
pub(crate) const fn too_long(rest: &[u8]) -> bool {
    rest.len() > MAX_LINE
}

/// One to three numbers of at most nine digits.
fn version(text: &str) -> Option<[u64; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split('.');
    for (at, number) in numbers.iter_mut().enumerate() {
        match parts.next() {
            Some(part) if (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()) => {
                *number = part.parse().ok()?;
            }
            None if at > 0 => break,
            _ => return None,
        }
    }
    parts.next().is_none().then_some(numbers)
}
