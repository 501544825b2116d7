//! Keeping a store: check it, copy it, bring it back, let a part of it go.

use super::keys::{log_key, named_log_key};
use super::{Failure, read_input};
use crate::cli::{Backup, Erase, Restore, Setup};
use crate::config::Config;
use crate::evidence;
use crate::house::{
    House, database_file, log_key_file, log_origin_file, log_origin_in, ring_folder, server_key_file,
};
use approvals::Organization;
use canon::Digest;
use env::Source;
use ledger::note::{Note, Pins};
use ledger::{Aggregate, Entry, Head, StreamId};
use pcm::message::Accepted;
use pcm::message::accepted::{LETTER, open_letter};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Journal, ServerKey};

/// Entries read at a time.
const PAGE: usize = 512;

pub async fn fsck(setup: &Setup) -> Result<(), Failure> {
    let house = House::open(Config::load(setup.config.as_deref(), None)?).await?;
    let log = log_key(&house.config, &log_key_file(&house.config))?;
    let log = Pins::new(vec![log], Vec::new(), 0).map_err(Failure::unusable_by)?;
    let mut report =
        store::fsck(house.journal.as_ref(), Some(&log), rule).await.map_err(Failure::unusable_by)?;
    // What cannot be folded has been told already.
    if report.is_sound() {
        report.problems = missing_pointers(&house).await?;
    }
    println!(
        "{} streams, {} entries, {} payloads, {} pointers, {} leaves of which {} published",
        report.streams, report.entries, report.payloads, report.pointers, report.leaves, report.published
    );
    if report.is_sound() {
        println!("sound");
        return Ok(());
    }
    let problems: Vec<String> =
        report.problems.iter().map(|problem| format!("{}: {}", problem.code, problem.place)).collect();
    Err(Failure::refused(problems.join("\n")))
}

async fn missing_pointers(house: &House) -> Result<Vec<store::Problem>, Failure> {
    let runtime = store::Runtime::new(Arc::clone(&house.journal), Arc::new(env::System));
    let mut missing =
        store::missing_pointers::<Organization>(&runtime).await.map_err(Failure::unusable_by)?;
    missing.extend(store::missing_pointers::<pxp::Room>(&runtime).await.map_err(Failure::unusable_by)?);
    let mandates = store::missing_pointers::<mandate::Authority>(&runtime).await;
    missing.extend(mandates.map_err(Failure::unusable_by)?);
    Ok(missing)
}

pub async fn backup(arguments: &Backup) -> Result<(), Failure> {
    let house = House::open(Config::load(arguments.setup.config.as_deref(), None)?).await?;
    let Some(sqlite) = &house.sqlite else {
        return Err(Failure::unusable(
            "the store is PostgreSQL: copy it with pg_dump, and the data folder's keys",
        ));
    };
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&arguments.folder)
        .map_err(|error| at(&arguments.folder, &error))?;
    let manifest = sqlite.backup(&arguments.folder, env::System.now()).await.map_err(Failure::unusable_by)?;
    let store = arguments.folder.join("journal.db");
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| at(&store, &error))?;
    copy_keys(&house.config, &arguments.folder)?;
    println!("{} entries, schema {}, into {}", manifest.entries, manifest.schema, arguments.folder.display());
    println!("Keep it as secret as the server itself: its private keys are in it.");
    Ok(())
}

pub async fn restore(arguments: &Restore) -> Result<(), Failure> {
    let config = Config::load(arguments.setup.config.as_deref(), None)?;
    if config.database_url.is_some() {
        return Err(Failure::unusable("the store is PostgreSQL: bring it back with pg_restore"));
    }
    let kept = match &arguments.checkpoint {
        Some(path) => Some(kept_checkpoint(&config, path, &arguments.folder)?),
        None => None,
    };
    let mut brought = Vec::new();
    let restored = match bring_keys(&config, &arguments.folder, &mut brought) {
        Ok(()) => bring_store(&config, &arguments.folder, kept).await,
        Err(failure) => Err(failure),
    };
    // What was refused leaves nothing: another backup may be the right one.
    if restored.is_err() {
        for path in brought.iter().rev() {
            let removed = if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
            removed.map_err(|error| at(path, &error))?;
        }
    }
    let manifest = restored?;
    println!("{} entries of {} are back", manifest.entries, manifest.at);
    Ok(())
}

async fn bring_store(
    config: &Config,
    folder: &Path,
    kept: Option<(u64, Digest)>,
) -> Result<store::Manifest, Failure> {
    let key = ServerKey::read(&server_key_file(config)).map_err(Failure::unusable_by)?;
    let (folder, target) = (folder.to_owned(), database_file(config));
    let placed = target.clone();
    let manifest = tokio::task::spawn_blocking(move || store::sqlite::restore(&folder, &target, &key, kept))
        .await
        .map_err(Failure::unusable_by)?
        .map_err(|error| Failure::refused(error.to_string()))?;
    std::fs::set_permissions(&placed, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| at(&placed, &error))?;
    Ok(manifest)
}

/// Destroys the payloads of a room that has ended. Its chain is checked afterwards: nothing of it may have changed.
pub async fn erase(arguments: &Erase) -> Result<(), Failure> {
    let house = House::open(Config::load(arguments.setup.config.as_deref(), None)?).await?;
    let room: pxp::RoomId = arguments.room.parse().map_err(Failure::unusable_by)?;
    let stream: StreamId = room.stream().parse().map_err(Failure::unusable_by)?;
    let journal = house.journal.as_ref();
    let (head, payloads) = walk(journal, &stream).await?;
    if head == Head::EMPTY {
        return Err(Failure::refused(format!("there is no room {room}")));
    }
    let runtime = store::Runtime::new(Arc::clone(&house.journal), Arc::new(env::System));
    let (state, _) = runtime.state::<pxp::Room>(&stream).await.map_err(Failure::unusable_by)?;
    if !state.is_ended() {
        return Err(Failure::refused(format!(
            "room {room} has not ended: its sides still rest on their cards"
        )));
    }
    if !arguments.yes {
        let would = format!("{payloads} private parts of room {room} would be destroyed for good");
        return Err(Failure::refused(format!("{would}. Nothing was done: add --yes")));
    }
    journal.erase(&stream).await.map_err(Failure::unusable_by)?;
    let (after, left) = walk(journal, &stream).await?;
    if after != head || left > 0 {
        return Err(Failure::refused(format!("{left} private parts are left: run it again")));
    }
    println!("{payloads} private parts of room {room} are gone; its {} entries verify", head.seq);
    println!(
        "A server that is running may hold them in memory: restart it. Backups and bundles made before still hold them."
    );
    Ok(())
}

/// Where a chain ends, each of its entries checked, and how many payloads it has.
async fn walk(journal: &dyn Journal, stream: &StreamId) -> Result<(Head, usize), Failure> {
    let (mut at, mut payloads) = (Head::EMPTY, 0);
    loop {
        let page = journal.read(stream, at.seq, PAGE).await.map_err(Failure::unusable_by)?;
        for entry in &page {
            rule(stream, entry, at)
                .map_err(|code| Failure::refused(format!("entry {}: {code}", entry.seq)))?;
            payloads += usize::from(entry.payload.is_some());
            at = Head { seq: entry.seq, hash: entry.hash };
        }
        if page.len() < PAGE {
            return Ok((at, payloads));
        }
    }
}

/// Size and root of a checkpoint that this house's log signed. Key and name of the log are those here, or the backup's where
/// there is no key here, as [`bring_keys`] brings them.
fn kept_checkpoint(config: &Config, path: &Path, backup: &Path) -> Result<(u64, Digest), Failure> {
    let here = log_key_file(config);
    let key = if here.exists() {
        log_key(config, &here)?
    } else {
        named_log_key(&log_origin_in(config, &backup.join("log.origin"))?, &backup.join("log.jwk"))?
    };
    let refused = |error: ledger::Error| Failure::refused(format!("{}: {error}", path.display()));
    let pins = Pins::new(vec![key], Vec::new(), 0).map_err(refused)?;
    let note = Note::parse(&read_input(path)?).map_err(refused)?;
    let signed = note.verify(&pins).map_err(refused)?;
    Ok((signed.checkpoint().size, signed.checkpoint().root))
}

/// The chain rule of each kind of stream this house knows.
fn rule(stream: &StreamId, entry: &Entry, prev: Head) -> Result<(), &'static str> {
    match stream.kind() {
        pxp::Room::KIND => pxp::Room::open(entry, prev).map(drop).map_err(|fault| fault.code),
        mandate::Authority::KIND => {
            mandate::Authority::open(entry, prev).map(drop).map_err(|fault| fault.code)
        }
        Organization::KIND => Organization::open(entry, prev).map(drop).map_err(|fault| fault.code),
        _ if *stream == signer::stream() => signer::follows(entry, prev),
        Accepted::KIND => Accepted::open(entry, prev).map(drop).map_err(|fault| fault.code),
        LETTER => open_letter(entry).map_err(|fault| fault.code),
        _ => Ok(()),
    }
}

fn copy_keys(config: &Config, folder: &Path) -> Result<(), Failure> {
    copy_private(&server_key_file(config), &folder.join("store.key"))?;
    copy_private(&log_key_file(config), &folder.join("log.jwk"))?;
    let origin = log_origin_file(config);
    if origin.exists() {
        copy_private(&origin, &folder.join("log.origin"))?;
    }
    let ring = folder.join("keys");
    std::fs::DirBuilder::new().mode(0o700).create(&ring).map_err(|error| at(&ring, &error))?;
    each_file(&ring_folder(config), |file, name| copy_private(file, &ring.join(name)))?;
    copy_evidence(config, folder)
}

/// Brings keys back to where there are none, and notes each. Keys that are there stay: a store of other keys is refused
/// later.
fn bring_keys(config: &Config, folder: &Path, brought: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let ring = ring_folder(config);
    for missing in [&config.data, &ring] {
        if !missing.exists() {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(missing);
            made.map_err(|error| at(missing, &error))?;
            brought.push(missing.clone());
        }
    }
    let mut bring = |from: &Path, to: PathBuf| {
        copy_private(from, &to)?;
        brought.push(to);
        Ok(())
    };
    // The log's name goes with its key. A copy of a server that never started has none.
    let origin = folder.join("log.origin");
    if origin.exists() && !log_key_file(config).exists() {
        bring(&origin, log_origin_file(config))?;
    }
    for (from, to) in
        [(folder.join("store.key"), server_key_file(config)), (folder.join("log.jwk"), log_key_file(config))]
    {
        if !to.exists() {
            bring(&from, to)?;
        }
    }
    let (kept, own) = (folder.join("evidence"), evidence::folder(config));
    if kept.join("log.jwk").exists() && !own.exists() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(evidence::ring_folder(config))
            .map_err(|error| at(&own, &error))?;
        bring(&kept.join("log.jwk"), evidence::log_key_file(config))?;
        each_file(&kept.join("keys"), |file, name| bring(file, evidence::ring_folder(config).join(name)))?;
    }
    if ring.join("ring.json").exists() {
        return Ok(());
    }
    each_file(&folder.join("keys"), |file, name| bring(file, ring.join(name)))
}

/// The signer's keys, where there is one.
fn copy_evidence(config: &Config, folder: &Path) -> Result<(), Failure> {
    if !evidence::log_key_file(config).exists() {
        return Ok(());
    }
    let kept = folder.join("evidence");
    let ring = kept.join("keys");
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&ring);
    made.map_err(|error| at(&ring, &error))?;
    copy_private(&evidence::log_key_file(config), &kept.join("log.jwk"))?;
    each_file(&evidence::ring_folder(config), |file, name| copy_private(file, &ring.join(name)))
}

fn each_file(
    folder: &Path,
    mut with: impl FnMut(&Path, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let entry = entry.map_err(|error| at(folder, &error))?;
        if entry.path().is_file() {
            with(&entry.path(), Path::new(&entry.file_name()))?;
        }
    }
    Ok(())
}

/// Copies a file with its mode and makes the copy durable.
fn copy_private(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::copy(from, to).map_err(|error| at(from, &error))?;
    std::fs::File::open(to).and_then(|file| file.sync_all()).map_err(|error| at(to, &error))
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unusable(format!("{}: {error}", path.display()))
}
