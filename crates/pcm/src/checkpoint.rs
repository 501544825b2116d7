//! Checkpoints under a verifier's trust (spec 3.6): the log's line, the witnesses' lines, and the post-quantum line of a
//! log whose key for it is pinned.

use crate::trust::{Class, Trust};
use crate::{Error, base64};
use canon::Digest;
use env::Timestamp;
use fips205::slh_dsa_sha2_128s as slh;
use fips205::traits::{SerDes as _, Verifier as _};
use ledger::merkle;
use ledger::note::{KeyName, KeyType, Note, Pins, VerifierKey};

/// What a log says of itself, believed: signed by a pinned key named after it, and by its pinned post-quantum key if there
/// is one. How many witnesses are enough is asked apart: [`Checkpoint::quorum`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: KeyName,
    pub size: u64,
    pub root: Digest,
    /// One for each pinned witness that cosigned.
    pub seen: Vec<Seen>,
    /// Whether a pinned post-quantum key of this log signed too.
    pub hybrid: bool,
}

/// That a pinned witness saw the log grow to this checkpoint, and when it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub witness: KeyName,
    pub class: Class,
    pub at: Timestamp,
}

impl Checkpoint {
    /// Refuses a checkpoint that fewer pinned witnesses cosigned than the trust file demands.
    pub fn quorum(&self, trust: &Trust) -> Result<(), Error> {
        let (found, required) = (self.seen.len(), trust.required);
        if found < required { Err(Error::Quorum { found, required }) } else { Ok(()) }
    }

    /// Whether the record with this hash has this place in the tree.
    pub fn includes(&self, hash: &Digest, seq: u64, path: &[Digest]) -> Result<(), Error> {
        merkle::verify_inclusion(&crate::record::leaf(hash), seq, self.size, path, &self.root)
            .map_err(|_| Error::NotIncluded)
    }
}

/// A pinned post-quantum key of a log: SLH-DSA-SHA2-128s (FIPS 205, pure, empty context), under its own key type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HybridKey {
    name: KeyName,
    id: [u8; 4],
    public: [u8; 32],
}

const HYBRID: u8 = 0xff;
const SLH_DSA: &[u8] = b"tracekit/slh-dsa-sha2-128s";

impl HybridKey {
    /// `None` for a vkey of another type.
    pub(crate) fn parse(vkey: &str) -> Result<Option<Self>, Error> {
        let form = |why| Error::Ledger(ledger::Error::Vkey(why));
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Ok(None);
        };
        let bytes = base64(key).unwrap_or_default();
        let Some((&HYBRID, rest)) = bytes.split_first() else { return Ok(None) };
        let public = rest.strip_prefix(SLH_DSA).and_then(|key| <[u8; 32]>::try_from(key).ok());
        let key = Self::new(name.parse()?, public.ok_or(form("the key is refused"))?);
        if hex::encode(key.id) == id { Ok(Some(key)) } else { Err(form("the id is not the key's")) }
    }

    fn new(name: KeyName, public: [u8; 32]) -> Self {
        let digest = Digest::of_parts(&[name.as_str().as_bytes(), b"\n", &[HYBRID], SLH_DSA, &public]);
        let [a, b, c, d, ..] = *digest.as_bytes();
        Self { name, id: [a, b, c, d], public }
    }

    fn holds(&self, text: &str, signature: &[u8]) -> bool {
        let Ok(key) = slh::PublicKey::try_from_bytes(self.public) else { return false };
        <&[u8; slh::SIG_LEN]>::try_from(signature)
            .is_ok_and(|signature| key.verify(text.as_bytes(), signature, &[]))
    }
}

impl Trust {
    /// Opens a note under the pinned keys. Refused: a note that is malformed, a key that signs twice, a bad signature of a
    /// pinned key, no signature of a pinned log key named after the origin, no good line of its pinned post-quantum key.
    pub fn open(&self, note: &[u8]) -> Result<Checkpoint, Error> {
        let note = Note::parse(note)?;
        self.judge(&note, self.lines(), &self.hybrids)
    }

    /// Opens a note that the keys of the log `origin` sign under another name: of its registry (spec 3.12).
    pub(crate) fn open_as(&self, note: &[u8], origin: &KeyName, name: &KeyName) -> Result<Checkpoint, Error> {
        let note = Note::parse(note)?;
        let logs = self
            .logs
            .iter()
            .filter(|key| key.name() == origin)
            .map(|key| VerifierKey::new(name.clone(), KeyType::Log, *key.public()))
            .collect();
        let hybrids: Vec<_> = self
            .hybrids
            .iter()
            .filter(|key| key.name == *origin)
            .map(|key| HybridKey::new(name.clone(), key.public))
            .collect();
        let pins = Pins::new(logs, self.witnesses.iter().map(|witness| witness.key.clone()).collect(), 0)?;
        self.judge(&note, &pins, &hybrids)
    }

    fn judge(&self, note: &Note, pins: &Pins, hybrids: &[HybridKey]) -> Result<Checkpoint, Error> {
        once(note)?;
        note.verify(pins)?;
        let said = note.unverified();
        let mut hybrid = false;
        for key in hybrids {
            let line = note.signatures().find(|(name, id, _)| **name == key.name && *id == key.id);
            match line {
                Some((_, _, signature)) if key.holds(&said.text(), signature) => {
                    hybrid |= key.name == said.origin
                }
                None if key.name != said.origin => {}
                _ => return Err(Error::Hybrid),
            }
        }
        let mut seen = Vec::new();
        for witness in &self.witnesses {
            if let Some(at) = note.cosigned_by(&witness.key)? {
                seen.push(Seen { witness: witness.key.name().clone(), class: witness.class, at });
            }
        }
        Ok(Checkpoint { origin: said.origin.clone(), size: said.size, root: said.root, seen, hybrid })
    }
}

/// No key signs twice, pinned or not.
fn once(note: &Note) -> Result<(), Error> {
    let mut keys: Vec<_> = note.signatures().map(|(name, id, _)| (name, id)).collect();
    keys.sort_unstable();
    match keys.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(a.0),
        _ => None,
    }) {
        Some(name) => Err(Error::SignedTwice(name.to_string())),
        None => Ok(()),
    }
}
