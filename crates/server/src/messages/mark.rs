//! The mark outside the database: how far what was accepted has come. A database that is behind it was rolled back.

use canon::Digest;
use ledger::Head;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file of one line: the number and the hash of an entry. Several processes on one machine may share it.
#[derive(Debug, Clone)]
pub(super) struct Mark(PathBuf);

impl Mark {
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// `None` where there is no mark. A mark that cannot be read is an error.
    pub fn read(&self) -> Result<Option<Head>> {
        match File::open(&self.0) {
            Ok(file) => {
                file.lock_shared()?;
                line(&file).map(Some)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves the mark on, durably. One that is further already stays.
    pub fn advance(&self, head: Head) -> Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(&self.0)?;
        file.lock()?;
        if line(&file)?.seq < head.seq { write(&file, head) } else { Ok(()) }
    }

    /// Puts the mark there, wherever it was.
    pub fn put(&self, head: Head) -> Result<()> {
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&self.0)?;
        file.lock()?;
        file.set_len(LENGTH)?;
        write(&file, head)?;
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

/// 20 digits, a blank, 64 hex digits, a line end.
const LENGTH: u64 = 86;

/// In one sector, so that a power cut leaves the old line or the new one, or none that can be read.
fn write(file: &File, head: Head) -> Result<()> {
    file.write_all_at(format!("{:020} {}\n", head.seq, head.hash).as_bytes(), 0)?;
    file.sync_all()
}

fn line(file: &File) -> Result<Head> {
    let mut text = String::new();
    file.take(LENGTH + 1).read_to_string(&mut text)?;
    let parts = text.strip_suffix('\n').and_then(|line| line.split_once(' '));
    let read =
        |(seq, hash): (&str, &str)| Some(Head { seq: seq.parse().ok()?, hash: hash.parse::<Digest>().ok()? });
    parts.and_then(read).ok_or_else(|| Error::new(ErrorKind::InvalidData, "the mark cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward_and_is_put_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let mark = Mark::at(folder.path().join("mark"));
        let head = |seq| Head { seq, hash: Digest::of(&[u8::try_from(seq).unwrap()]) };
        assert_eq!(mark.read().unwrap(), None);
        assert!(mark.advance(head(1)).is_err());
        mark.put(head(3)).unwrap();
        mark.advance(head(2)).unwrap();
        assert_eq!(mark.read().unwrap(), Some(head(3)));
        mark.advance(head(4)).unwrap();
        assert_eq!(mark.read().unwrap(), Some(head(4)));
        mark.put(head(1)).unwrap();
        assert_eq!(mark.read().unwrap(), Some(head(1)));
        std::fs::write(&mark.0, "7").unwrap();
        assert!(mark.read().is_err());
    }
}
