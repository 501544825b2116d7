//! Backups of a whole database, and their return, which never takes back what the log has published.

use super::schema::{self, failed};
use super::{poll, read};
use crate::journal::Published;
use crate::{ServerKey, StoreError};
use canon::Digest;
use env::Timestamp;
use ledger::merkle::{Tree, leaf_hash};
use rusqlite::Connection;
use rusqlite::backup::StepResult;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const TYPE: &str = "urn:countersign:backup:1";
const DATABASE: &str = "journal.db";
const MANIFEST: &str = "manifest.json";

/// What a backup holds. `manifest.json` beside `journal.db`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    r#type: String,
    pub at: Timestamp,
    /// The number of the schema's last migration.
    pub schema: u64,
    pub entries: u64,
    /// SHA-256 of `journal.db`.
    pub database: Digest,
    /// Names the server key without which its payloads stay sealed.
    pub server_key: Digest,
    /// The published checkpoint, a signed note.
    pub checkpoint: Option<String>,
}

impl Manifest {
    /// Reads a backup's manifest.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let bytes = std::fs::read(folder.join(MANIFEST)).map_err(disk)?;
        let manifest: Self =
            canon::from_slice(&bytes).map_err(|error| StoreError::Corrupt(format!("{MANIFEST}: {error}")))?;
        if manifest.r#type == TYPE {
            Ok(manifest)
        } else {
            Err(StoreError::Corrupt(format!("{MANIFEST}: its type is not {TYPE}")))
        }
    }
}

/// Brings a backup to `target`, where no server may have the file open. Refused, with nothing changed:
/// a backup that is not what its manifest says or was sealed with another key ([`StoreError::WrongKey`]); one that
/// lacks leaves which the log at `target`, or `witnessed` (size and root of a checkpoint somebody else has seen), has
/// published ([`StoreError::RollBack`]); one whose log is another ([`StoreError::Corrupt`]).
pub fn restore(
    folder: &Path,
    target: &Path,
    key: &ServerKey,
    witnessed: Option<(u64, Digest)>,
) -> Result<Manifest, StoreError> {
    let manifest = Manifest::read(folder)?;
    if manifest.server_key != key.fingerprint() {
        return Err(StoreError::WrongKey);
    }
    let fresh = beside(target, "restoring");
    let placed = (|| {
        copy_checked(&folder.join(DATABASE), &fresh, manifest.database)?;
        // Opened as a server would: an older schema is brought up to date here and not on the first start.
        let backup = schema::open_writer(&fresh, key)?;
        if target.exists() {
            let before = close(target)?;
            check_extends(&backup, before.map(|published| (published.size, published.root)))?;
        }
        check_extends(&backup, witnessed)?;
        leave_wal(&backup)?;
        drop(backup);
        for suffix in ["-wal", "-shm"] {
            remove(&beside(target, suffix))?;
            remove(&beside(&fresh, suffix))?;
        }
        File::open(&fresh).and_then(|file| file.sync_all()).map_err(disk)?;
        std::fs::rename(&fresh, target).map_err(disk)?;
        sync_folder(target)
    })();
    if placed.is_err() {
        for suffix in ["", "-wal", "-shm"] {
            remove(&beside(&fresh, suffix))?;
        }
    }
    placed.map(|()| manifest)
}

pub(super) fn backup(connection: &Connection, folder: &Path, now: Timestamp) -> Result<Manifest, StoreError> {
    std::fs::create_dir_all(folder).map_err(disk)?;
    if std::fs::read_dir(folder).map_err(disk)?.next().is_some() {
        return Err(StoreError::Unavailable(format!("'{}' is not empty", folder.display())));
    }
    let path = folder.join(DATABASE);
    let mut copy = Connection::open(&path).map_err(failed)?;
    copy_all(connection, &mut copy)?;
    leave_wal(&copy)?;
    let entries = poll::last_id(&copy)?;
    let checkpoint = read::published_ever(&copy)?.map(|published| published.note);
    let server_key: [u8; 32] = copy
        .query_row("SELECT value FROM meta WHERE name = 'server_key'", [], |row| row.get(0))
        .map_err(failed)?;
    let schema: i64 = copy.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    drop(copy);
    File::open(&path).and_then(|file| file.sync_all()).map_err(disk)?;
    let manifest = Manifest {
        r#type: TYPE.to_owned(),
        at: now,
        schema: schema::unsigned(schema)?,
        entries,
        database: digest(&path)?,
        server_key: Digest::from_bytes(server_key),
        checkpoint,
    };
    let bytes =
        canon::to_vec(&manifest).map_err(|_| StoreError::Broken("a manifest that cannot be written"))?;
    let mut file = File::create_new(folder.join(MANIFEST)).map_err(disk)?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(disk)?;
    sync_folder(&path)?;
    Ok(manifest)
}

/// All pages in one step: the source is read in one transaction, so the copy is of one instant. A busy source is
/// tried again, for some seconds.
fn copy_all(connection: &Connection, copy: &mut Connection) -> Result<(), StoreError> {
    let backup = rusqlite::backup::Backup::new(connection, copy).map_err(failed)?;
    for _ in 0..200 {
        match backup.step(-1).map_err(failed)? {
            StepResult::Done => return Ok(()),
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
    Err(StoreError::Unavailable("the database was busy for too long".into()))
}

/// Moves the write-ahead log into the file and cuts it, so that nothing erased is left in it. A reader that is in the
/// way keeps it longer: the next erasure or the last close cuts it.
pub(super) fn cut_log(connection: &Connection) -> Result<(), StoreError> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)
}

/// Refused unless the backup's log goes on from the published one.
fn check_extends(backup: &Connection, published: Option<(u64, Digest)>) -> Result<(), StoreError> {
    let Some((size, root)) = published else { return Ok(()) };
    let held = read::published_ever(backup)?.map_or(0, |published| published.size);
    if held < size {
        return Err(StoreError::RollBack { published: size, backup: held });
    }
    if root_of(backup, size)? == root {
        Ok(())
    } else {
        Err(StoreError::Corrupt(format!("the backup's first {size} leaves are not those published")))
    }
}

fn root_of(connection: &Connection, size: u64) -> Result<Digest, StoreError> {
    const PAGE: usize = 4096;
    let mut tree = Tree::new();
    while tree.size() < size {
        let page = read::leaves(connection, tree.size(), PAGE)?;
        if page.is_empty() {
            return Err(StoreError::Corrupt("the backup has fewer leaves than its checkpoint".into()));
        }
        for leaf in page {
            if tree.size() < size {
                tree.push(leaf_hash(&leaf.data()));
            }
        }
    }
    Ok(tree.root())
}

/// Takes the target for itself, and says what it has published. SQLite lets a file leave WAL mode only while nobody
/// else has it open.
fn close(target: &Path) -> Result<Option<Published>, StoreError> {
    let connection = Connection::open(target).map_err(failed)?;
    leave_wal(&connection)
        .map_err(|error| StoreError::Unavailable(format!("'{}' is in use: {error}", target.display())))?;
    read::published_ever(&connection)
}

fn leave_wal(connection: &Connection) -> Result<(), StoreError> {
    let mode: String =
        connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).map_err(failed)?;
    if mode == "delete" { Ok(()) } else { Err(StoreError::Unavailable(format!("journal mode is '{mode}'"))) }
}

fn copy_checked(from: &Path, to: &Path, expected: Digest) -> Result<(), StoreError> {
    remove(to)?;
    std::fs::copy(from, to).map_err(disk)?;
    if digest(to)? == expected {
        Ok(())
    } else {
        Err(StoreError::Corrupt(format!("{DATABASE} is not what {MANIFEST} names")))
    }
}

fn digest(path: &Path) -> Result<Digest, StoreError> {
    use sha2::Digest as _;
    let mut file = File::open(path).map_err(disk)?;
    let mut hash = sha2::Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer).map_err(disk)?;
        if count == 0 {
            return Ok(Digest::from_bytes(hash.finalize().into()));
        }
        hash.update(buffer.get(..count).unwrap_or_default());
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(error)),
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(disk)
}

fn disk(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
