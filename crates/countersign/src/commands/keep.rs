//! Keeping a store: check it, copy it, bring it back.

use super::Failure;
use crate::cli::{Backup, Restore, Setup};
use crate::config::Config;
use crate::house::{House, database_file, log_key_file, ring_folder, server_key_file};
use approvals::Organization;
use env::Source;
use ledger::{Aggregate, Entry, Head, StreamId};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use store::ServerKey;

pub async fn fsck(setup: &Setup) -> Result<(), Failure> {
    let house = House::open(Config::load(setup.config.as_deref(), None)?).await?;
    let report = store::fsck(house.journal.as_ref(), rule).await.map_err(Failure::unusable_by)?;
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
    bring_keys(&config, &arguments.folder)?;
    let key = ServerKey::read(&server_key_file(&config)).map_err(Failure::unusable_by)?;
    let (folder, target) = (arguments.folder.clone(), database_file(&config));
    let manifest = tokio::task::spawn_blocking(move || store::sqlite::restore(&folder, &target, &key, None))
        .await
        .map_err(Failure::unusable_by)?
        .map_err(|error| Failure::refused(error.to_string()))?;
    println!("{} entries of {} are back", manifest.entries, manifest.at);
    Ok(())
}

/// The chain rule of each kind of stream this house knows.
fn rule(stream: &StreamId, entry: &Entry, prev: Head) -> Result<(), &'static str> {
    match stream.kind() {
        pxp::Room::KIND => pxp::Room::open(entry, prev).map(drop).map_err(|fault| fault.code),
        Organization::KIND => Organization::open(entry, prev).map(drop).map_err(|fault| fault.code),
        _ => Ok(()),
    }
}

fn copy_keys(config: &Config, folder: &Path) -> Result<(), Failure> {
    copy_private(&server_key_file(config), &folder.join("store.key"))?;
    copy_private(&log_key_file(config), &folder.join("log.jwk"))?;
    let ring = folder.join("keys");
    std::fs::create_dir(&ring).map_err(|error| at(&ring, &error))?;
    each_file(&ring_folder(config), |file, name| copy_private(file, &ring.join(name)))
}

/// Brings keys back to where there are none. Keys that are there stay: a store of other keys is refused later.
fn bring_keys(config: &Config, folder: &Path) -> Result<(), Failure> {
    let ring = ring_folder(config);
    std::fs::create_dir_all(&ring).map_err(|error| at(&ring, &error))?;
    for (from, to) in
        [(folder.join("store.key"), server_key_file(config)), (folder.join("log.jwk"), log_key_file(config))]
    {
        if !to.exists() {
            copy_private(&from, &to)?;
        }
    }
    if ring.join("ring.json").exists() {
        return Ok(());
    }
    each_file(&folder.join("keys"), |file, name| copy_private(file, &ring.join(name)))
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
