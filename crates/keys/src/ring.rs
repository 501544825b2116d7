use crate::signer::{SoftwareSigner, sync_directory, write_private};
use crate::{Algorithm, Code, Error, Kid, PublicKey, Signer};
use env::{Env, Timestamp};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The keys of one role on disk: the one that signs now, and the public halves of all that signed before.
///
/// A directory (mode 0700) of `ring.json`, the public record, and one private key file named by its thumbprint. The
/// record is replaced whole; a private key is on disk before the record names it and gone after the record retires it.
#[expect(missing_debug_implementations, reason = "holds a private key")]
pub struct Ring {
    directory: PathBuf,
    signer: SoftwareSigner,
    keys: Vec<RingKey>,
}

/// A public key of a ring, and from when to when it signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingKey {
    pub key: PublicKey,
    pub since: Timestamp,
    /// When another took over; the current key has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// What a rotation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    pub retired: Kid,
    pub current: Kid,
    pub at: Timestamp,
}

impl Ring {
    /// Makes the directory, its first key and its record. Refuses a directory that has a record.
    pub fn create(directory: &Path, algorithm: Algorithm, env: &mut Env) -> Result<Self, Error> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| unusable(directory, format!("cannot be made: {error}")))?;
        let _guard = lock(directory)?;
        if record(directory).exists() {
            return Err(Error::new(Code::KeyFileExists, "there is a ring already").at(place(directory)));
        }
        let signer = new_key(directory, algorithm, env)?;
        let keys = vec![RingKey { key: signer.public(), since: env.now().to_millis(), until: None }];
        write_record(directory, &keys, env)?;
        Ok(Self { directory: directory.to_owned(), signer, keys })
    }

    /// Reads the record and the current private key. Refuses a record that names no current key, or two.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let (keys, current) = read_record(directory)?;
        let signer = SoftwareSigner::open(&private_file(directory, &current.thumbprint()))?;
        if signer.public() != current {
            return Err(unusable(directory, "the current key's file holds another key".into()));
        }
        Ok(Self { directory: directory.to_owned(), signer, keys })
    }

    /// [`open`](Self::open) if there is a record, else [`create`](Self::create).
    pub fn open_or_create(directory: &Path, algorithm: Algorithm, env: &mut Env) -> Result<Self, Error> {
        if record(directory).exists() {
            return Self::open(directory);
        }
        match Self::create(directory, algorithm, env) {
            Err(error) if error.code == Code::KeyFileExists => Self::open(directory),
            done => done,
        }
    }

    /// Retires the current key and makes another, of the same algorithm unless told otherwise. The old private key is
    /// deleted, its public half stays. Refused if the record on disk is no longer the one this ring was opened with.
    pub fn rotate(&mut self, algorithm: Option<Algorithm>, env: &mut Env) -> Result<Rotation, Error> {
        let _guard = lock(&self.directory)?;
        let (on_disk, _) = read_record(&self.directory)?;
        if on_disk != self.keys {
            return Err(unusable(
                &self.directory,
                "the ring was rotated by somebody else: open it again".into(),
            ));
        }
        let old = self.signer.public();
        let at = env.now().to_millis();
        // Dying before the record is replaced leaves a key file nobody names.
        let signer = new_key(&self.directory, algorithm.unwrap_or(old.algorithm()), env)?;
        let mut keys = vec![RingKey { key: signer.public(), since: at, until: None }];
        keys.extend(self.keys.iter().map(|key| RingKey { until: key.until.or(Some(at)), ..key.clone() }));
        // Dying after this leaves the old private key's file beside the record that retires it.
        write_record(&self.directory, &keys, env)?;
        let old_file = private_file(&self.directory, &old.thumbprint());
        std::fs::remove_file(&old_file)
            .and_then(|()| sync_directory(&old_file))
            .map_err(|error| unusable(&old_file, format!("the retired key cannot be deleted: {error}")))?;
        self.keys = keys;
        self.signer = signer;
        Ok(Rotation { retired: old.thumbprint(), current: self.signer.public().thumbprint(), at })
    }

    /// The key that signs now.
    pub const fn signer(&self) -> &SoftwareSigner {
        &self.signer
    }

    /// Takes the signing key out, for whoever runs with it.
    pub fn into_signer(self) -> SoftwareSigner {
        self.signer
    }

    /// Every public key, the current one first, then from the latest retired back.
    pub fn keys(&self) -> &[RingKey] {
        &self.keys
    }

    pub fn find(&self, kid: &Kid) -> Option<&RingKey> {
        self.keys.iter().find(|key| kid.names(&key.key))
    }
}

/// `v` is 1; the current key comes first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    v: u8,
    keys: Vec<RingKey>,
}

fn read_record(directory: &Path) -> Result<(Vec<RingKey>, PublicKey), Error> {
    let path = record(directory);
    let bytes = std::fs::read(&path).map_err(|error| unusable(&path, format!("cannot be read: {error}")))?;
    let Record { v, keys } =
        canon::from_slice(&bytes).map_err(|error| unusable(&path, format!("not a key ring: {error}")))?;
    match keys.split_first() {
        Some((current, retired))
            if v == 1 && current.until.is_none() && retired.iter().all(|key| key.until.is_some()) =>
        {
            let current = current.key;
            Ok((keys, current))
        }
        _ => Err(unusable(&path, "not one current key and then the retired".into())),
    }
}

fn write_record(directory: &Path, keys: &[RingKey], env: &mut Env) -> Result<(), Error> {
    let path = record(directory);
    let bytes = canon::to_vec(&Record { v: 1, keys: keys.to_vec() }).map_err(Error::json)?;
    let draft = path.with_added_extension(env.id(12));
    write_private(&draft, &bytes, &env.id(12))?;
    std::fs::rename(&draft, &path)
        .and_then(|()| sync_directory(&path))
        .map_err(|error| unusable(&path, format!("cannot be replaced: {error}")))
}

fn new_key(directory: &Path, algorithm: Algorithm, env: &mut Env) -> Result<SoftwareSigner, Error> {
    let signer = SoftwareSigner::generate(algorithm, env)?;
    signer.save(&private_file(directory, &signer.public().thumbprint()), env)?;
    Ok(signer)
}

/// Held until the file is closed, so it goes with the process.
fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join("lock");
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| unusable(&path, format!("cannot be locked: {error}")))
}

fn record(directory: &Path) -> PathBuf {
    directory.join("ring.json")
}

fn private_file(directory: &Path, kid: &Kid) -> PathBuf {
    directory.join(format!("{kid}.jwk"))
}

fn unusable(path: &Path, detail: String) -> Error {
    Error::new(Code::KeyFileUnusable, detail).at(place(path))
}

fn place(path: &Path) -> String {
    path.display().to_string()
}
