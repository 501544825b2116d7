use crate::{Algorithm, Code, Error, Jwk, PublicKey, Signature, p256, text};
use ::p256::ecdsa::signature::Signer as _;
use env::Env;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Whoever holds a private key: a file, a hardware token, a process under another uid.
pub trait Signer: Send + Sync {
    fn public(&self) -> PublicKey;

    /// Signs the bytes as they are: Ed25519, or ES256 over their SHA-256.
    fn sign(&self, message: &[u8]) -> Result<Signature, Error>;
}

impl<S: Signer + ?Sized> Signer for std::sync::Arc<S> {
    fn public(&self) -> PublicKey {
        (**self).public()
    }
    fn sign(&self, message: &[u8]) -> Result<Signature, Error> {
        (**self).sign(message)
    }
}

/// A private key in this process's memory, wiped when dropped. It has no `Debug` and cannot be taken out.
#[expect(missing_debug_implementations, reason = "a private key is never printed")]
pub struct SoftwareSigner {
    public: PublicKey,
    private: Private,
}

enum Private {
    Ed25519(Box<ed25519_dalek::SigningKey>),
    P256(Box<::p256::ecdsa::SigningKey>),
}

impl SoftwareSigner {
    /// A key nobody else can guess.
    pub fn generate(algorithm: Algorithm, env: &mut Env) -> Result<Self, Error> {
        loop {
            // A P-256 scalar is refused once in 2^32 draws; another is drawn.
            let seed = Zeroizing::new(env.bytes32());
            match Self::from_seed(algorithm, &seed) {
                Err(error) if error.code == Code::BadKey => {}
                done => return done,
            }
        }
    }

    /// From the RFC 8032 seed, or the P-256 scalar, big-endian. Refuses a scalar that is zero or not below the order.
    pub fn from_seed(algorithm: Algorithm, seed: &[u8; 32]) -> Result<Self, Error> {
        match algorithm {
            Algorithm::Ed25519 => {
                let key = Box::new(ed25519_dalek::SigningKey::from_bytes(seed));
                let public = PublicKey::ed25519(key.verifying_key().as_bytes())?;
                Ok(Self { public, private: Private::Ed25519(key) })
            }
            Algorithm::P256 => {
                let key = ::p256::ecdsa::SigningKey::from_slice(seed)
                    .map_err(|_| Error::new(Code::BadKey, "not a p-256 private key"))?;
                let point = key.verifying_key().to_sec1_point(false);
                let public = PublicKey::P256(p256::PublicKey::from_sec1(point.as_bytes())?);
                Ok(Self { public, private: Private::P256(Box::new(key)) })
            }
        }
    }

    /// Reads a key file: a private JWK as [`create`](Self::create) writes it. Refuses a file that group or others may
    /// read or write, one that is not a regular file, and a public half that is not the private one's.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unusable =
            |detail: String| Error::new(Code::KeyFileUnusable, detail).at(path.display().to_string());
        let mut file = File::open(path).map_err(|error| unusable(format!("cannot be opened: {error}")))?;
        let about = file.metadata().map_err(|error| unusable(format!("cannot be examined: {error}")))?;
        if !about.is_file() {
            return Err(unusable("not a regular file".into()));
        }
        if about.mode() & 0o077 != 0 {
            let detail = format!(
                "mode {:04o}: group and others must have no access (chmod 600)",
                about.mode() & 0o7777
            );
            return Err(Error::new(Code::KeyFileExposed, detail).at(path.display().to_string()));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_FILE));
        let limit = u64::try_from(LONGEST_FILE).unwrap_or(u64::MAX);
        Read::by_ref(&mut file)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| unusable(format!("cannot be read: {error}")))?;
        Self::from_private_jwk(&bytes).map_err(|error| unusable(error.detail))
    }

    /// Makes a key and its file, mode 0600, whole or not at all, durable when this returns. Refuses to replace a file.
    pub fn create(path: &Path, algorithm: Algorithm, env: &mut Env) -> Result<Self, Error> {
        let signer = Self::generate(algorithm, env)?;
        signer.save(path, env)?;
        Ok(signer)
    }

    /// Writes the key file, as [`create`](Self::create) does.
    pub(crate) fn save(&self, path: &Path, env: &mut Env) -> Result<(), Error> {
        write_private(path, &self.private_jwk()?, &env.id(12))
    }

    /// [`open`](Self::open) if the file is there, else [`create`](Self::create). Of two processes that race, one
    /// creates and both open the same key.
    pub fn open_or_create(path: &Path, algorithm: Algorithm, env: &mut Env) -> Result<Self, Error> {
        if path.symlink_metadata().is_ok() {
            return Self::open(path);
        }
        match Self::create(path, algorithm, env) {
            Err(error) if error.code == Code::KeyFileExists => Self::open(path),
            done => done,
        }
    }

    fn from_private_jwk(bytes: &[u8]) -> Result<Self, Error> {
        let wire: PrivateJwk<'_> =
            canon::from_slice(bytes).map_err(|_| Error::new(Code::KeyFileUnusable, "not a private jwk"))?;
        let algorithm = match (wire.kty, wire.crv) {
            ("OKP", "Ed25519") => Algorithm::Ed25519,
            ("EC", "P-256") => Algorithm::P256,
            _ => return Err(Error::new(Code::KeyFileUnusable, "not a key type we know")),
        };
        let seed = Zeroizing::new(text::from_base64url(wire.d, Code::KeyFileUnusable)?);
        let seed: &[u8; 32] = seed
            .as_slice()
            .try_into()
            .map_err(|_| Error::new(Code::KeyFileUnusable, "a private key has 32 bytes"))?;
        let signer = Self::from_seed(algorithm, seed)?;
        let given = canon::canonicalize(bytes).map(Zeroizing::new).map_err(Error::json)?;
        if *signer.private_jwk()? != *given {
            return Err(Error::new(Code::KeyFileUnusable, "the public half is not the private half's"));
        }
        Ok(signer)
    }

    fn private_jwk(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let public = canon::to_vec(&Jwk::from(self.public())).map_err(Error::json)?;
        let public: PublicWire<'_> = canon::from_slice(&public).map_err(Error::json)?;
        let seed: Zeroizing<[u8; 32]> = Zeroizing::new(match &self.private {
            Private::Ed25519(key) => key.to_bytes(),
            Private::P256(key) => key.to_bytes().into(),
        });
        let d = Zeroizing::new(text::base64url(seed.as_slice()));
        let wire = PrivateJwk { kty: public.kty, crv: public.crv, x: public.x, y: public.y, d: &d };
        canon::to_vec(&wire).map(Zeroizing::new).map_err(Error::json)
    }
}

impl Signer for SoftwareSigner {
    fn public(&self) -> PublicKey {
        self.public
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, Error> {
        Ok(match &self.private {
            Private::Ed25519(key) => {
                Signature::from_bytes(ed25519_dalek::Signer::sign(key.as_ref(), message).to_bytes())
            }
            Private::P256(key) => {
                let signature: ::p256::ecdsa::Signature = key.sign(message);
                Signature::from_bytes(signature.to_bytes().into())
            }
        })
    }
}

/// Writes `bytes` to a new file of mode 0600: whole or not at all, durable, never over another file.
pub(crate) fn write_private(path: &Path, bytes: &[u8], unique: &str) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::AlreadyExists => Code::KeyFileExists,
            _ => Code::KeyFileUnusable,
        };
        Error::new(code, format!("cannot be written: {error}")).at(path.display().to_string())
    };
    let draft = path.with_added_extension(format!("{unique}.tmp"));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A link, unlike a rename, fails if the name is taken.
        std::fs::hard_link(&draft, path)
    };
    let written = write();
    // A draft that stays behind is readable by nobody else and is not read by us.
    let _ = std::fs::remove_file(&draft);
    written.and_then(|()| sync_directory(path)).map_err(failed)
}

/// Makes the name of `path` itself durable.
pub(crate) fn sync_directory(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => File::open(directory)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

const LONGEST_FILE: usize = 4096;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrivateJwk<'a> {
    #[serde(borrow)]
    kty: &'a str,
    crv: &'a str,
    x: &'a str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    y: Option<&'a str>,
    d: &'a str,
}

#[derive(Deserialize)]
struct PublicWire<'a> {
    kty: &'a str,
    crv: &'a str,
    x: &'a str,
    #[serde(default)]
    y: Option<&'a str>,
}
