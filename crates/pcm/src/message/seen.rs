//! What one receiver has checked before, so that it is not checked again: checkpoints and keys come with every message of a log.

use super::check::{At, Judgement, judged};
use super::receiver::Receiver;
use super::wire::Fault;
use crate::{Checkpoint, Keys, Record, Unverified};
use canon::Digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Checkpoints and keys that held under one receiver's trust. For another receiver there is another.
#[derive(Debug, Default)]
pub struct Seen {
    checkpoints: Mutex<HashMap<Digest, Checkpoint>>,
    keys: Mutex<HashMap<Digest, Arc<Keys>>>,
}

/// Of each; more, and all are forgotten.
const MOST: usize = 256;

impl Seen {
    /// Judges a message as [`super::verify`] does, and remembers its checkpoint and its keys.
    pub fn verify(&self, bytes: &[u8], receiver: &Receiver, at: &At<'_>) -> Judgement {
        judged(bytes, receiver, at, self)
    }

    /// By the note, byte for byte, and the log it is shown for.
    pub(crate) fn checkpoint(
        &self,
        origin: &str,
        note: &str,
        open: impl FnOnce() -> Result<Checkpoint, Fault>,
    ) -> Result<Checkpoint, Fault> {
        let name = Digest::of_parts(&[origin.as_bytes(), b"\0", note.as_bytes()]);
        once(&self.checkpoints, name, open)
    }

    /// By all that is signed of each, and the signature.
    pub(crate) fn keys(
        &self,
        log_id: &str,
        shown: &[(&Unverified<'_>, Record<'_>)],
        take: impl FnOnce() -> Result<Keys, Fault>,
    ) -> Result<Arc<Keys>, Fault> {
        let mut name = Digest::of(log_id.as_bytes());
        for (record, hashed) in shown {
            let [kid, alg, signature] = record.signed_as();
            let hash = hashed.hash();
            name = Digest::of_parts(&[name.as_bytes(), hash.as_bytes(), kid, b"\0", alg, b"\0", signature]);
        }
        once(&self.keys, name, || take().map(Arc::new))
    }
}

fn once<T: Clone>(
    known: &Mutex<HashMap<Digest, T>>,
    name: Digest,
    check: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, Fault> {
    // A thread that died held nothing half done.
    let lock = || known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(found) = lock().get(&name) {
        return Ok(found.clone());
    }
    let found = check()?;
    let mut known = lock();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(name, found.clone());
    Ok(found)
}
