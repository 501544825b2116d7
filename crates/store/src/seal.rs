//! Payloads at rest: XChaCha20-Poly1305 under a data key a stream, each data key wrapped by the server key.

use crate::StoreError;
use canon::Digest;
use chacha20poly1305::aead::{Aead, KeyInit, Payload as Sealable};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use env::Source;
use ledger::{Payload, StreamId};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The key that wraps every data key of a store. Whoever lacks it cannot read payloads; the chain needs it not.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ServerKey([u8; 32]);

impl ServerKey {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn generate() -> Self {
        Self(env::System.env().bytes32())
    }

    /// Reads the key's 32 raw bytes from a file. Refused if others may read the file.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| unreadable(path, &error.to_string());
        let mut file = std::fs::File::open(path).map_err(failed)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
                return Err(unreadable(path, "others may read it: set its mode to 0600"));
            }
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(33));
        Read::by_ref(&mut file).take(33).read_to_end(&mut bytes).map_err(failed)?;
        match <[u8; 32]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Self(key)),
            Err(_) => Err(unreadable(path, "it is not 32 bytes")),
        }
    }

    /// Reads the key, or makes it with mode 0600 where there is no file. Of two processes that make it at the same
    /// time one wins and both have its key.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path.exists() {
            return Self::read(path);
        }
        let key = Self::generate();
        let failed = |error: std::io::Error| unreadable(path, &error.to_string());
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.new", Digest::of(&env::System.env().bytes32())));
        let fresh = Path::new(&name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(fresh).map_err(failed)?;
        file.write_all(&key.0).and_then(|()| file.sync_all()).map_err(failed)?;
        // A hard link appears whole or not at all, and never replaces another's key.
        let linked = std::fs::hard_link(fresh, path);
        std::fs::remove_file(fresh).map_err(failed)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(error)),
            _ => Self::read(path),
        }
    }

    /// Names the key without telling it: what a store notes to refuse another one.
    pub fn fingerprint(&self) -> Digest {
        Digest::of_parts(&[b"countersign.serverkey.v1\0", &self.0])
    }

    /// Seals what lies beside the chain for a while (kept answers, outbox rows), bound to `context`.
    pub fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        encrypt(&self.0, &[b"countersign.beside.v1\0", context.as_bytes()].concat(), plain)
    }

    /// Opens what [`ServerKey::seal`] sealed under the same context.
    pub fn unseal(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        decrypt(&self.0, &[b"countersign.beside.v1\0", context.as_bytes()].concat(), sealed)
            .map(|plain| plain.to_vec())
            .ok_or_else(|| StoreError::Corrupt(format!("what is sealed as '{context}' does not open")))
    }

    /// A fresh data key for a stream, and its wrapped form to keep.
    pub fn fresh(&self, stream: &StreamId) -> Result<(DataKey, Vec<u8>), StoreError> {
        let key = DataKey(env::System.env().bytes32());
        let wrapped = encrypt(&self.0, &wrap_context(stream), &key.0)?;
        Ok((key, wrapped))
    }

    /// Unwraps a stream's data key.
    pub fn unwrap(&self, stream: &StreamId, wrapped: &[u8]) -> Result<DataKey, StoreError> {
        let bytes = decrypt(&self.0, &wrap_context(stream), wrapped)
            .ok_or_else(|| StoreError::Corrupt(format!("the data key of {stream} does not unwrap")))?;
        <[u8; 32]>::try_from(bytes.as_slice())
            .map(DataKey)
            .map_err(|_| StoreError::Corrupt(format!("the data key of {stream} has a wrong length")))
    }
}

/// The key of one stream's payloads.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct DataKey([u8; 32]);

impl DataKey {
    /// Nonce ‖ ciphertext, bound to the entry's place and the payload's digest.
    pub fn seal(&self, stream: &StreamId, seq: u64, payload: &Payload) -> Result<Vec<u8>, StoreError> {
        encrypt(&self.0, &payload_context(stream, seq, payload.digest), &payload.bytes)
    }

    /// Refused as [`StoreError::Corrupt`] unless the bytes open and have the digest.
    pub fn open(
        &self,
        stream: &StreamId,
        seq: u64,
        digest: Digest,
        sealed: &[u8],
    ) -> Result<Payload, StoreError> {
        let corrupt = || StoreError::Corrupt(format!("the payload of entry {seq} of {stream} does not open"));
        let bytes = decrypt(&self.0, &payload_context(stream, seq, digest), sealed).ok_or_else(corrupt)?;
        let payload = Payload::new(bytes.to_vec());
        if payload.digest == digest { Ok(payload) } else { Err(corrupt()) }
    }
}

fn unreadable(path: &Path, why: &str) -> StoreError {
    StoreError::Unavailable(format!("server key '{}': {why}", path.display()))
}

fn wrap_context(stream: &StreamId) -> Vec<u8> {
    [b"countersign.datakey.v1\0", stream.as_str().as_bytes()].concat()
}

fn payload_context(stream: &StreamId, seq: u64, digest: Digest) -> Vec<u8> {
    [
        b"countersign.payload.v1\0".as_slice(),
        &seq.to_be_bytes(),
        digest.as_bytes(),
        stream.as_str().as_bytes(),
    ]
    .concat()
}

/// The nonces are random: 24 bytes never repeat under one key.
fn encrypt(key: &[u8; 32], context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
    let random = env::System.env().bytes32();
    let mut out = Vec::with_capacity(plain.len().saturating_add(40));
    out.extend(random.iter().take(24));
    let nonce = XNonce::try_from(out.as_slice()).map_err(|_| StoreError::Broken("a nonce has 24 bytes"))?;
    let sealed = XChaCha20Poly1305::new(&Key::from(*key))
        .encrypt(&nonce, Sealable { msg: plain, aad: context })
        .map_err(|_| StoreError::Broken("a payload is too long to seal"))?;
    out.extend_from_slice(&sealed);
    Ok(out)
}

fn decrypt(key: &[u8; 32], context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, rest) = sealed.split_at_checked(24)?;
    let nonce = XNonce::try_from(nonce).ok()?;
    XChaCha20Poly1305::new(&Key::from(*key))
        .decrypt(&nonce, Sealable { msg: rest, aad: context })
        .ok()
        .map(Zeroizing::new)
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DataKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_opens_only_at_its_place_with_its_keys() {
        let stream: StreamId = "room/one".parse().unwrap();
        let other: StreamId = "room/two".parse().unwrap();
        let server = ServerKey::from_bytes([1; 32]);
        let (key, wrapped) = server.fresh(&stream).unwrap();
        let payload = Payload::new(b"private".to_vec());
        let sealed = key.seal(&stream, 3, &payload).unwrap();
        let check = |server: &ServerKey, stream: &StreamId, seq: u64, sealed: &[u8], good: bool| {
            let opened =
                server.unwrap(stream, &wrapped).and_then(|key| key.open(stream, seq, payload.digest, sealed));
            assert_eq!(opened.is_ok_and(|opened| opened == payload), good);
        };
        check(&server, &stream, 3, &sealed, true);
        check(&server, &stream, 4, &sealed, false);
        check(&server, &other, 3, &sealed, false);
        check(&ServerKey::from_bytes([2; 32]), &stream, 3, &sealed, false);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            check(&server, &stream, 3, &changed, false);
        }
        check(&server, &stream, 3, &sealed[..20], false);
    }

    #[test]
    fn the_key_file_is_made_once_and_guarded() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.key");
        assert!(ServerKey::read(&path).is_err());
        let made = ServerKey::open(&path).unwrap().fingerprint();
        assert_eq!(ServerKey::open(&path).unwrap().fingerprint(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(ServerKey::read(&path).is_err());
    }
}
