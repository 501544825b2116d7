//! A stream's place in the server's own log, and the head a server signs for it.

use crate::{Error, StreamId, merkle};
use canon::Digest;
use serde::{Deserialize, Serialize};

/// What the server's log holds of an entry: SHA-256(stream id) ‖ seq as u64 big-endian ‖ entry hash.
pub fn leaf_data(stream: &StreamId, seq: u64, hash: &Digest) -> [u8; 72] {
    let mut data = [0; 72];
    let (name, rest) = data.split_at_mut(32);
    let (number, entry) = rest.split_at_mut(8);
    name.copy_from_slice(Digest::of(stream.as_str().as_bytes()).as_bytes());
    number.copy_from_slice(&seq.to_be_bytes());
    entry.copy_from_slice(hash.as_bytes());
    data
}

/// What a server signs for the head of a stream: four lines, the last without its end.
pub fn head_message(stream: &StreamId, n: u64, hash: &Digest) -> Vec<u8> {
    format!("countersign.head.v1\n{stream}\n{n}\n{hash}").into_bytes()
}

/// The head of a chain under its server's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    pub n: u64,
    pub hash: Digest,
    pub signature: keys::Signature,
}

/// That an entry is in the server's log: a signed checkpoint and the path to its root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogProof {
    /// A C2SP note.
    pub checkpoint: String,
    /// The leaf's number, 0 for the first.
    pub index: u64,
    /// [`leaf_data`] in lower-case hex.
    pub leaf: String,
    /// The inclusion path, leaf to root.
    pub proof: Vec<Digest>,
}

impl LogProof {
    /// Whether the leaf is this entry's. Its place in the tree is [`verify_inclusion`](Self::verify_inclusion)'s concern.
    pub fn is_of(&self, stream: &StreamId, seq: u64, hash: &Digest) -> bool {
        self.leaf == hex::encode(leaf_data(stream, seq, hash))
    }

    /// Whether the entry is in the tree that a checkpoint names.
    pub fn verify_inclusion(
        &self,
        stream: &StreamId,
        seq: u64,
        hash: &Digest,
        tree: &crate::note::Checkpoint,
    ) -> Result<(), Error> {
        let leaf = merkle::leaf_hash(&leaf_data(stream, seq, hash));
        merkle::verify_inclusion(&leaf, self.index, tree.size, &self.proof, &tree.root)
    }
}
