use ledger::{Coded, Who};

/// Why evidence is refused. The codes are stable: they appear in verdicts (spec 4.3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("not strict JSON: {0}")]
    Json(#[from] canon::Error),
    /// Not the six members of a record, or one of another type (spec 3.2).
    #[error("not a record of format 2: {0}")]
    RecordForm(&'static str),
    /// Not an event of version 2 (spec 3.3).
    #[error("not an event of version 2: {why}")]
    Schema { place: String, why: &'static str },
    #[error("the hash is not that of the event")]
    RecordHash,
    #[error("algorithm {alg:?} is not allowed, or not the key's own")]
    Algorithm { alg: String },
    #[error("key {kid:?} is not declared at this place of the log")]
    UnknownKey { kid: String },
    #[error("key {kid:?} was retired after {last}")]
    KeyRetired { kid: String, last: u64 },
    #[error("not padded base64 of the right length")]
    Encoding,
    #[error("the signature is not the key's over this record")]
    RecordSignature,
    #[error("the record is of another log")]
    WrongLog,
    /// The tenant or the time is outside what the key's certificate says (spec 3.4).
    #[error("outside the certificate of its key: {0}")]
    OutsideCertificate(&'static str),
    #[error("a key record is malformed: {0}")]
    KeyRecord(&'static str),
    #[error("the certificate of a record key is refused: {0}")]
    Certificate(&'static str),
    #[error("not in the tree of the checkpoint")]
    NotIncluded,

    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    #[error("{0:?} signs twice")]
    SignedTwice(String),
    #[error("{found} of {required} required witnesses have cosigned")]
    Quorum { found: usize, required: usize },
    #[error("the pinned post-quantum key of the log has no good line")]
    Hybrid,
    #[error("the proofs name a tree of another size than the checkpoint")]
    TreeSize,

    #[error("the opened value is not what the record commits to")]
    Opening,
    #[error("an approval does not hold: {0}")]
    Approval(&'static str),
    #[error("not a registry leaf: {0}")]
    Leaf(&'static str),
    #[error("not a trust file: {0}")]
    Trust(&'static str),

    #[error("not a zip of the one layout: {0}")]
    Zip(&'static str),
    #[error("larger than an evidence bundle may be: {0}")]
    TooLarge(&'static str),
    #[error("the manifest is of no format that is read here: {0}")]
    Format(&'static str),
    #[error("needs a later verifier: {0}")]
    Later(String),
    #[error("not built as a bundle is: {0}")]
    Structure(&'static str),
    #[error("the files differ from the manifest")]
    Manifest,
    #[error("the record does not continue its run: {0}")]
    Chain(&'static str),
    #[error("the parts of a run are not whole: {0}")]
    Parts(&'static str),
    #[error("a policy is not named by its own digest")]
    PolicyName,
    #[error("the set of runs is not complete: {0}")]
    RunSet(&'static str),
    #[error("the anchor of the checkpoint does not hold: {0}")]
    Anchor(&'static str),
    #[error("the signer failed: {0}")]
    Signer(String),
    /// What is to be signed would be refused, or is contradicted by its own evidence (spec 4.12).
    #[error("the message is not signed: {code}")]
    Message { code: &'static str, place: String },
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "bad_json",
            Self::RecordForm(_) => "bad_record",
            Self::Schema { .. } => "bad_schema",
            Self::RecordHash => "record_hash",
            Self::Algorithm { .. } => "alg_not_allowed",
            Self::UnknownKey { .. } => "unknown_key",
            Self::KeyRetired { .. } => "key_retired",
            Self::Encoding => "bad_encoding",
            Self::RecordSignature => "record_signature",
            Self::WrongLog => "wrong_log",
            Self::OutsideCertificate(_) => "outside_certificate",
            Self::KeyRecord(_) => "bad_key_record",
            Self::Certificate(_) => "bad_certificate",
            Self::NotIncluded => "not_included",
            Self::Ledger(error) => error.code(),
            Self::SignedTwice(_) => "signed_twice",
            Self::Quorum { .. } => "witness_quorum",
            Self::Hybrid => "hybrid_signature",
            Self::TreeSize => "tree_size",
            Self::Opening => "bad_opening",
            Self::Approval(_) => "bad_approval",
            Self::Leaf(_) => "bad_leaf",
            Self::Trust(_) => "bad_trust",
            Self::Zip(_) => "bad_zip",
            Self::TooLarge(_) => "too_large",
            Self::Format(_) => "bad_format",
            Self::Later(_) => "needs_later_verifier",
            Self::Structure(_) => "bad_structure",
            Self::Manifest => "manifest_differs",
            Self::Chain(_) => "run_chain",
            Self::Parts(_) => "run_parts",
            Self::PolicyName => "policy_name",
            Self::RunSet(_) => "run_set",
            Self::Anchor(_) => "bad_anchor",
            Self::Signer(_) => "signer_failed",
            Self::Message { code, .. } => code,
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Signer(_) => Who::Unavailable,
            Self::Ledger(error) => error.who(),
            _ => Who::Caller,
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Schema { place, .. } | Self::Message { place, .. } => {
                Some(place.clone()).filter(|place| !place.is_empty())
            }
            Self::Json(error) => Some(error.place.clone()).filter(|place| !place.is_empty()),
            Self::Ledger(error) => error.place(),
            _ => None,
        }
    }
}
