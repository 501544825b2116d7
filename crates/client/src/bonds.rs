//! Locks that were made, each on disk before it goes out: one file for a price, so a price has one lock however often, and
//! from however many processes, it is paid.

use crate::Error;
use canon::Digest;
use chain::transaction::Transaction;
use mandate::Price;
use mandate::price::OutRef;
use mandate::text::{Id, KeyHash, TxHash};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder of locks.
#[derive(Debug, Clone)]
pub struct Bonds(PathBuf);

/// A lock, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub mandate_id: Id,
    pub mandate_ref: KeyHash,
    pub price: Price,
    /// The signed transaction in hex.
    pub tx: String,
    pub tx_hash: TxHash,
}

impl Kept {
    /// The output that holds the bond.
    pub const fn at(&self) -> OutRef {
        OutRef { output_index: 0, tx_hash: self.tx_hash }
    }

    /// The signed transaction.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        hex::decode(&self.tx).map_err(|_| Error::Answer("a kept lock that is no transaction".to_owned()))
    }

    /// An input that it spends: the `nonce` of an x402 `exact` payment.
    pub fn nonce(&self) -> Result<String, Error> {
        let bytes = self.bytes()?;
        let inputs = Transaction::read(&bytes)?.inputs().unwrap_or_default();
        let first = inputs.first().ok_or_else(|| Error::Answer("a kept lock without inputs".to_owned()))?;
        Ok(format!("{}#{}", first.tx_hash, first.output_index))
    }
}

impl Bonds {
    /// Made if it is not there, for its owner alone.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(folder, &error))?;
        Ok(Self(folder.to_owned()))
    }

    /// The lock that was made for a price.
    pub fn of(&self, price: &Price) -> Result<Option<Kept>, Error> {
        let path = self.path(price)?;
        match std::fs::read(&path) {
            Ok(bytes) => read(&path, &bytes).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// All of them, those that end first first.
    pub fn all(&self) -> Result<Vec<Kept>, Error> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(|error| failed(&self.0, &error))? {
            let path = entry.map_err(|error| failed(&self.0, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let bytes = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
                all.push(read(&path, &bytes)?);
            }
        }
        all.sort_by_key(|kept: &Kept| (kept.price.locked_until_ms, kept.tx_hash));
        Ok(all)
    }

    /// Keeps a lock; durable when this returns. Where another process was faster, its lock is given.
    pub fn keep(&self, kept: Kept) -> Result<Kept, Error> {
        let path = self.path(&kept.price)?;
        let draft = self.0.join(format!("{}.draft", kept.tx_hash));
        let bytes = canon::to_vec(&kept).map_err(|error| Error::Answer(error.to_string()))?;
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            // A link, unlike a rename, fails if the name is taken.
            std::fs::hard_link(&draft, &path)
        };
        let written = write();
        let _ = std::fs::remove_file(&draft);
        match written {
            Ok(()) => {
                let synced = File::open(&self.0).and_then(|folder| folder.sync_all());
                synced.map_err(|error| failed(&self.0, &error)).map(|()| kept)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                self.of(&kept.price)?.ok_or_else(|| failed(&path, &error))
            }
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Forgets a lock: one that the chain refused and nobody else has, or one that is spent.
    pub fn forget(&self, kept: &Kept) -> Result<(), Error> {
        let path = self.path(&kept.price)?;
        std::fs::remove_file(&path).map_err(|error| failed(&path, &error))
    }

    /// Named by all that the price says: an approval of the same name and of another hour is another.
    fn path(&self, price: &Price) -> Result<PathBuf, Error> {
        let bytes = canon::to_vec(price).map_err(|error| Error::Answer(error.to_string()))?;
        let name = Digest::of(&bytes).to_string();
        Ok(self.0.join(format!("{}.json", name.get(..32).unwrap_or_default())))
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<Kept, Error> {
    let kept = canon::from_slice(bytes);
    kept.map_err(|error| Error::Folder { path: path.display().to_string(), detail: error.to_string() })
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Folder { path: path.display().to_string(), detail: error.to_string() }
}
