//! What a log and a witness say to each other (C2SP tlog-witness): one call, `add-checkpoint`, and its answers.

use crate::Error;
use crate::merkle::verify_consistency;
use crate::note::{Checkpoint, Note, Pins, VerifierKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use canon::Digest;
use std::fmt::Write as _;

/// The longest request that is read, in bytes: 63 hashes and a note of many signatures.
pub const MAX_REQUEST: usize = 16 << 10;

/// The most hashes a consistency proof may have.
pub const MAX_PROOF: usize = 63;

/// The last part of the address that a request is posted to.
pub const CALL: &str = "add-checkpoint";

/// The media type of the answer that names a size.
pub const SIZE: &str = "text/x.tlog.size";

/// The body of `add-checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The size of the checkpoint that the witness cosigned last, as far as the log knows. 0: none, or not known.
    pub old: u64,
    /// From `old` to the size of the checkpoint; empty where `old` is 0.
    pub proof: Vec<Digest>,
    pub note: Note,
}

impl Request {
    /// Refuses what is longer than [`MAX_REQUEST`], a number with a sign or leading zeros, more than [`MAX_PROOF`] hashes,
    /// a hash that is not 32 bytes in canonical base64, a note that is malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        let form = |why: &str| Refused::Form(why.to_owned());
        if bytes.len() > MAX_REQUEST {
            return Err(form("the request is longer than 16 KiB"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| form("the request is not UTF-8"))?;
        let (head, note) =
            text.split_once("\n\n").ok_or_else(|| form("there is no empty line before the checkpoint"))?;
        let mut lines = head.split('\n');
        let old = lines.next().and_then(|line| line.strip_prefix("old ")).and_then(decimal);
        let old = old.ok_or_else(|| form("the first line is not 'old' and a size"))?;
        let proof: Vec<Digest> = lines
            .map(hash)
            .collect::<Option<_>>()
            .ok_or_else(|| form("a line of the proof is not a hash in base64"))?;
        if proof.len() > MAX_PROOF {
            return Err(form("the proof has more than 63 hashes"));
        }
        let note = Note::parse(note.as_bytes()).map_err(|error| Refused::Form(error.to_string()))?;
        Ok(Self { old, proof, note })
    }

    pub fn to_text(&self) -> String {
        let mut text = format!("old {}\n", self.old);
        for hash in &self.proof {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", STANDARD.encode(hash.as_bytes()));
        }
        let _ = write!(text, "\n{}", self.note);
        text
    }
}

/// Why a witness does not cosign, and the status that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{0}")]
    Form(String),
    #[error("this witness does not know the log")]
    UnknownLog,
    #[error("the log has not signed: {0}")]
    Unsigned(Error),
    #[error("the old size is beyond the checkpoint's")]
    OldBeyondNew,
    /// The size of the checkpoint cosigned last. Another root of that very size is refused so, too.
    #[error("the checkpoint seen last has {size} leaves")]
    Conflict { size: u64 },
    #[error("the tree seen last is not the beginning of this one: {0}")]
    Inconsistent(Error),
}

impl Refused {
    /// The HTTP status of the answer.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Form(_) | Self::OldBeyondNew => 400,
            Self::UnknownLog => 404,
            Self::Unsigned(_) => 403,
            Self::Conflict { .. } => 409,
            Self::Inconsistent(_) => 422,
        }
    }
}

/// Whether a witness that knows the keys of `logs` and cosigned `seen` last may cosign this. Whoever asks keeps `seen` from
/// changing until the new checkpoint is durable in its place.
pub fn judge(request: &Request, logs: &[VerifierKey], seen: Option<&Checkpoint>) -> Result<(), Refused> {
    let new = request.note.unverified();
    let own: Vec<VerifierKey> = logs.iter().filter(|key| *key.name() == new.origin).cloned().collect();
    if own.is_empty() {
        return Err(Refused::UnknownLog);
    }
    Pins::new(own, Vec::new(), 0).and_then(|pins| request.note.verify(&pins)).map_err(Refused::Unsigned)?;
    if request.old > new.size {
        return Err(Refused::OldBeyondNew);
    }
    let size = seen.map_or(0, |seen| seen.size);
    if request.old != size {
        return Err(Refused::Conflict { size });
    }
    let Some(seen) = seen.filter(|seen| seen.size > 0) else {
        let found = request.proof.len();
        return if found == 0 { Ok(()) } else { Err(Refused::Inconsistent(Error::PathLength { found })) };
    };
    if seen.size == new.size && seen.root != new.root {
        return Err(Refused::Conflict { size });
    }
    verify_consistency(seen.size, &seen.root, new.size, &new.root, &request.proof)
        .map_err(Refused::Inconsistent)
}

/// What a witness answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Signature lines.
    Cosigned(Vec<String>),
    /// It has seen a checkpoint of another size last.
    Seen(u64),
    /// Any other status, or a body that is none.
    Refused(u16),
}

impl Answer {
    pub fn read(status: u16, body: &[u8]) -> Self {
        let text = std::str::from_utf8(body).ok().and_then(|text| text.strip_suffix('\n'));
        match (status, text) {
            (200, Some(text)) => Self::Cosigned(text.split('\n').map(str::to_owned).collect()),
            (409, Some(text)) => decimal(text).map_or(Self::Refused(status), Self::Seen),
            _ => Self::Refused(status),
        }
    }
}

/// Appends to the note the line among `lines` that is of `key`, and right. Lines of other keys are passed over.
pub fn attach(note: &mut Note, lines: &[String], key: &VerifierKey) -> Result<(), Error> {
    for line in lines {
        let mut with = note.clone();
        with.append(line)?;
        // A second line of the key is refused here.
        if note.cosigned_by(key)?.is_none() && with.cosigned_by(key)?.is_some() {
            *note = with;
            return Ok(());
        }
    }
    Err(Error::BadCosignature { name: key.name().to_string() })
}

fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn hash(line: &str) -> Option<Digest> {
    let bytes = STANDARD.decode(line).ok()?;
    <[u8; 32]>::try_from(bytes).ok().map(Digest::from_bytes)
}
