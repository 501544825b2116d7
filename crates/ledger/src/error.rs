use crate::{Coded, Who};

/// Why a proof, a note, a key or a tile is refused. The codes are stable: they appear in verdicts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// RFC 9162 2.1.3.2: a leaf's index is below the size of its tree.
    #[error("leaf {index} is beyond a tree of {size}")]
    IndexBeyondTree { index: u64, size: u64 },
    /// A proof has exactly as many hashes as the sizes demand.
    #[error("a proof of {found} hashes has the wrong length")]
    PathLength { found: usize },
    #[error("the path does not lead from the leaf to the root")]
    InclusionFailed,
    #[error("an empty tree proves nothing about a later one")]
    ConsistencyFromEmpty,
    #[error("the tree shrunk from {old} to {new}")]
    Shrunk { old: u64, new: u64 },
    #[error("the later tree does not begin with the earlier one")]
    ConsistencyFailed,

    #[error("a note of {found} bytes is longer than 1 MiB")]
    NoteTooLong { found: usize },
    #[error("not a signed note: {0}")]
    NoteForm(&'static str),
    #[error("the note has more than 64 signatures")]
    TooManySignatures,
    #[error("signature line {line} is malformed: {why}")]
    SignatureLine { line: usize, why: &'static str },
    #[error("not a checkpoint: {0}")]
    CheckpointForm(&'static str),
    #[error("{name:?} is no key name")]
    KeyName { name: String },
    #[error("not a verifier key: {0}")]
    Vkey(&'static str),
    #[error("key type {kind:#04x} cannot be checked here")]
    KeyType { kind: u8 },
    #[error("key {name:?} is pinned twice")]
    PinnedTwice { name: String },
    #[error("{required} witnesses are required, {pinned} are pinned")]
    QuorumBeyondPins { required: usize, pinned: usize },
    #[error("no pinned log key is named after the origin {origin:?}")]
    LogUnknown { origin: String },
    #[error("the log {origin:?} has not signed")]
    LogUnsigned { origin: String },
    #[error("the signature of {name:?} is wrong")]
    BadSignature { name: String },
    #[error("the cosignature of {name:?} is wrong")]
    BadCosignature { name: String },
    #[error("{name:?} signs twice")]
    SignedTwice { name: String },
    #[error("{found} of {required} required witnesses have cosigned")]
    Quorum { found: usize, required: usize },
    #[error("the signer failed: {0}")]
    Signer(String),

    #[error("{path:?} names no tile")]
    TilePath { path: String },
    #[error("tile {path} is malformed: {why}")]
    Tile { path: String, why: &'static str },
    #[error("tile {path} is missing")]
    TileMissing { path: String },
    #[error("entry of {found} bytes is longer than 65535 bytes")]
    EntryTooLong { found: usize },
    #[error("peaks do not fit a tree of {size}")]
    Peaks { size: u64 },
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::IndexBeyondTree { .. } => "index_beyond_tree",
            Self::PathLength { .. } => "path_length",
            Self::InclusionFailed => "inclusion_failed",
            Self::ConsistencyFromEmpty => "consistency_from_empty",
            Self::Shrunk { .. } => "shrunk",
            Self::ConsistencyFailed => "consistency_failed",
            Self::NoteTooLong { .. } => "note_too_long",
            Self::NoteForm(_) => "note_form",
            Self::TooManySignatures => "note_too_many_signatures",
            Self::SignatureLine { .. } => "note_signature_line",
            Self::CheckpointForm(_) => "checkpoint_form",
            Self::KeyName { .. } => "key_name",
            Self::Vkey(_) => "vkey_form",
            Self::KeyType { .. } => "key_type_unsupported",
            Self::PinnedTwice { .. } => "key_pinned_twice",
            Self::QuorumBeyondPins { .. } => "quorum_beyond_pins",
            Self::LogUnknown { .. } => "log_unknown",
            Self::LogUnsigned { .. } => "log_unsigned",
            Self::BadSignature { .. } => "log_signature_bad",
            Self::BadCosignature { .. } => "cosignature_bad",
            Self::SignedTwice { .. } => "signed_twice",
            Self::Quorum { .. } => "witness_quorum",
            Self::Signer(_) => "signer_failed",
            Self::TilePath { .. } => "tile_path",
            Self::Tile { .. } => "tile_form",
            Self::TileMissing { .. } => "tile_missing",
            Self::EntryTooLong { .. } => "entry_too_long",
            Self::Peaks { .. } => "tree_form",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Signer(_) | Self::TileMissing { .. } => Who::Unavailable,
            Self::EntryTooLong { .. } | Self::Peaks { .. } => Who::Bug,
            _ => Who::Caller,
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::SignatureLine { line, .. } => Some(format!("signature {line}")),
            Self::BadSignature { name } | Self::BadCosignature { name } | Self::SignedTwice { name } => {
                Some(format!("signature of {name}"))
            }
            Self::Tile { path, .. } | Self::TileMissing { path } | Self::TilePath { path } => {
                Some(path.clone())
            }
            _ => None,
        }
    }
}
