//! C2SP signed notes, tlog checkpoints and witness cosignatures (spec of PCM 3.6).
//!
//! A [`Note`] is what somebody presents: well formed, nothing checked. [`Note::verify`] turns it into a
//! [`SignedCheckpoint`] under [`Pins`], the keys the verifier already has.

use crate::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use canon::Digest;
use env::Timestamp;
use keys::ed25519::PublicKey;
use keys::{Signature, Signer};
use std::fmt;
use std::str::FromStr;

/// The longest note that is read, in bytes.
pub const MAX_NOTE: usize = 1 << 20;

/// The most signature lines a note may have.
pub const MAX_SIGNATURES: usize = 64;

/// The name of a key, and of the log or witness it belongs to: 1 to 255 bytes, no blank, no `+`, no control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(String);

impl KeyName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyName {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        let good = (1..=255).contains(&name.len())
            && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+');
        if good { Ok(Self(name.to_owned())) } else { Err(Error::KeyName { name: name.to_owned() }) }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyType {
    /// 0x01: Ed25519 over the note's text.
    Log,
    /// 0x04: Ed25519 over a time and the note's text (cosignature/v1).
    Witness,
}

impl KeyType {
    const fn byte(self) -> u8 {
        match self {
            Self::Log => 1,
            Self::Witness => 4,
        }
    }
}

/// A public key of a log or a witness, spelled `name+keyid+base64(type ‖ key)` (a vkey).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: KeyName,
    kind: KeyType,
    id: [u8; 4],
    public: PublicKey,
}

impl VerifierKey {
    pub fn new(name: KeyName, kind: KeyType, public: PublicKey) -> Self {
        let digest = Digest::of_parts(&[name.as_str().as_bytes(), b"\n", &[kind.byte()], public.as_bytes()]);
        let [a, b, c, d, ..] = *digest.as_bytes();
        Self { name, kind, id: [a, b, c, d], public }
    }
    pub const fn name(&self) -> &KeyName {
        &self.name
    }
    pub const fn kind(&self) -> KeyType {
        self.kind
    }
    /// The first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key).
    pub const fn id(&self) -> [u8; 4] {
        self.id
    }
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }
}

impl FromStr for VerifierKey {
    type Err = Error;
    /// Refuses an id that is not the key's own, a key that is not canonical or of small order, and other key types:
    /// a pinned key that could not be checked would be a pin that holds nothing.
    fn from_str(vkey: &str) -> Result<Self, Error> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Error::Vkey("not name+id+key"));
        };
        let bytes = STANDARD.decode(key).map_err(|_| Error::Vkey("the key is not canonical base64"))?;
        let (kind, raw) = bytes.split_first().ok_or(Error::Vkey("the key is empty"))?;
        let kind = match kind {
            1 => KeyType::Log,
            4 => KeyType::Witness,
            &kind => return Err(Error::KeyType { kind }),
        };
        let public = PublicKey::from_bytes(raw).map_err(|_| Error::Vkey("the key is refused"))?;
        let vkey = Self::new(name.parse()?, kind, public);
        if hex::encode(vkey.id) == id { Ok(vkey) } else { Err(Error::Vkey("the id is not the key's")) }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![self.kind.byte()];
        key.extend_from_slice(self.public.as_bytes());
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id), STANDARD.encode(key))
    }
}

/// What a log says of itself: its name, its size and its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: KeyName,
    pub size: u64,
    pub root: Digest,
}

impl Checkpoint {
    /// Exactly three lines: origin, decimal size, standard base64 of the root.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let form = Error::CheckpointForm;
        let body = text.strip_suffix('\n').ok_or(form("the last line is not ended"))?;
        let mut lines = body.split('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(form("it has not exactly three lines"));
        };
        Ok(Self {
            origin: origin.parse().map_err(|_| form("the origin is no key name"))?,
            size: decimal(size).ok_or(form("the size is no decimal number"))?,
            root: STANDARD
                .decode(root)
                .ok()
                .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
                .map(Digest::from_bytes)
                .ok_or(form("the root is not 32 bytes in canonical base64"))?,
        })
    }
}

/// A checkpoint and the signature lines under it, well formed and unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    checkpoint: Checkpoint,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    name: KeyName,
    id: [u8; 4],
    signature: Vec<u8>,
}

impl Note {
    /// A checkpoint signed by the log whose key is named after it.
    pub fn sign(checkpoint: Checkpoint, log: &dyn Signer) -> Result<Self, Error> {
        let key = VerifierKey::new(checkpoint.origin.clone(), KeyType::Log, ed25519_of(log)?);
        let signature = sign(log, checkpoint.text().as_bytes())?;
        let line = Line { name: key.name, id: key.id, signature };
        Ok(Self { checkpoint, lines: vec![line] })
    }

    /// The line of a witness that has seen this checkpoint at `at` (whole seconds), as it is appended to a note.
    pub fn cosign(&self, witness: KeyName, signer: &dyn Signer, at: Timestamp) -> Result<String, Error> {
        let key = VerifierKey::new(witness, KeyType::Witness, ed25519_of(signer)?);
        let time = u64::try_from(at.as_secs()).map_err(|_| Error::Signer("a time before 1970".to_owned()))?;
        let mut signature = time.to_be_bytes().to_vec();
        signature.extend(sign(signer, &cosigned(time, &self.checkpoint.text()))?);
        Ok(Line { name: key.name, id: key.id, signature }.to_string())
    }

    /// Appends a signature line (with or without its line end) that somebody else made.
    pub fn append(&mut self, line: &str) -> Result<(), Error> {
        let number = self.lines.len() + 1;
        if number > MAX_SIGNATURES {
            return Err(Error::TooManySignatures);
        }
        self.lines.push(Line::parse(line.strip_suffix('\n').unwrap_or(line), number)?);
        Ok(())
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_NOTE {
            return Err(Error::NoteTooLong { found: bytes.len() });
        }
        let note = std::str::from_utf8(bytes).map_err(|_| Error::NoteForm("it is not UTF-8"))?;
        if note.chars().any(|c| c.is_control() && c != '\n') {
            return Err(Error::NoteForm("it has a control character"));
        }
        let (text, signatures) =
            note.rsplit_once("\n\n").ok_or(Error::NoteForm("no blank line before the signatures"))?;
        let signatures =
            signatures.strip_suffix('\n').ok_or(Error::NoteForm("the last line is not ended"))?;
        let lines = signatures
            .split('\n')
            .enumerate()
            .map(|(index, line)| match index {
                MAX_SIGNATURES.. => Err(Error::TooManySignatures),
                _ => Line::parse(line, index + 1),
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { checkpoint: Checkpoint::parse(&format!("{text}\n"))?, lines })
    }

    /// What the note says, before anything is checked.
    pub const fn unverified(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The signature lines in their order: the name and the id of the key, and what it made; nothing is checked.
    pub fn signatures(&self) -> impl Iterator<Item = (&KeyName, [u8; 4], &[u8])> {
        self.lines.iter().map(|line| (&line.name, line.id, line.signature.as_slice()))
    }

    /// Checks the note under the pinned keys. Lines of other keys are ignored. Refused: a bad signature of a pinned key,
    /// a pinned key that signs twice, no signature of a log key named after the origin, too few witnesses.
    pub fn verify(&self, pins: &Pins) -> Result<SignedCheckpoint, Error> {
        let origin = &self.checkpoint.origin;
        if !pins.logs.iter().any(|key| key.name == *origin) {
            return Err(Error::LogUnknown { origin: origin.to_string() });
        }
        let text = self.checkpoint.text();
        let mut signed = false;
        for key in &pins.logs {
            let Some(line) = self.line_of(key)? else { continue };
            if !verify(&key.public, text.as_bytes(), &line.signature) {
                return Err(Error::BadSignature { name: key.name.to_string() });
            }
            signed |= key.name == *origin;
        }
        if !signed {
            return Err(Error::LogUnsigned { origin: origin.to_string() });
        }
        let mut cosignatures: Vec<Cosignature> = Vec::new();
        for key in &pins.witnesses {
            let Some(at) = self.cosigned_by(key)? else { continue };
            if !cosignatures.iter().any(|other| other.witness == key.name) {
                cosignatures.push(Cosignature { witness: key.name.clone(), at });
            }
        }
        if cosignatures.len() < pins.required {
            return Err(Error::Quorum { found: cosignatures.len(), required: pins.required });
        }
        Ok(SignedCheckpoint { checkpoint: self.checkpoint.clone(), cosignatures })
    }

    /// When the witness of this key says that it saw the checkpoint; `None` without a line of the key. Refused: a line of
    /// the key that is wrong, or two of them. What the log signed is not looked at.
    pub fn cosigned_by(&self, key: &VerifierKey) -> Result<Option<Timestamp>, Error> {
        let Some(line) = self.line_of(key)? else { return Ok(None) };
        let bad = || Error::BadCosignature { name: key.name.to_string() };
        let (time, signature) = line.signature.split_first_chunk::<8>().ok_or_else(bad)?;
        let time = u64::from_be_bytes(*time);
        if !verify(&key.public, &cosigned(time, &self.checkpoint.text()), signature) {
            return Err(bad());
        }
        Ok(Some(Timestamp::from_secs(i64::try_from(time).map_err(|_| bad())?)))
    }

    /// Takes over the line of one key from a note of the same checkpoint, if it is there.
    pub fn take_line(&mut self, from: &Self, key: &VerifierKey) -> Result<(), Error> {
        if self.line_of(key)?.is_none()
            && self.checkpoint == from.checkpoint
            && let Some(line) = from.line_of(key)?
        {
            self.append(&line.to_string())?;
        }
        Ok(())
    }

    fn line_of(&self, key: &VerifierKey) -> Result<Option<&Line>, Error> {
        let mut lines = self.lines.iter().filter(|line| line.name == key.name && line.id == key.id);
        match (lines.next(), lines.next()) {
            (_, Some(_)) => Err(Error::SignedTwice { name: key.name.to_string() }),
            (line, None) => Ok(line),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.checkpoint.text())?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Line {
    fn parse(line: &str, number: usize) -> Result<Self, Error> {
        let form = |why| Error::SignatureLine { line: number, why };
        let rest = line.strip_prefix("— ").ok_or_else(|| form("no dash"))?;
        let (name, signature) = rest.split_once(' ').ok_or_else(|| form("no signature"))?;
        let bytes = STANDARD.decode(signature).map_err(|_| form("not canonical base64"))?;
        let (id, signature) = bytes.split_first_chunk::<4>().ok_or_else(|| form("no key id"))?;
        if signature.is_empty() {
            return Err(form("no signature"));
        }
        let name = name.parse().map_err(|_| form("no key name"))?;
        Ok(Self { name, id: *id, signature: signature.to_vec() })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.id.to_vec();
        bytes.extend_from_slice(&self.signature);
        write!(f, "— {} {}", self.name, STANDARD.encode(bytes))
    }
}

/// The keys a verifier already has, and how many witnesses it demands.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    logs: Vec<VerifierKey>,
    witnesses: Vec<VerifierKey>,
    required: usize,
}

impl Pins {
    /// Refuses a key in the wrong list, a key or a witness's key material pinned twice, and a quorum that the pinned
    /// witnesses could not reach. One witness counts once, however many of its keys are pinned.
    pub fn new(logs: Vec<VerifierKey>, witnesses: Vec<VerifierKey>, required: usize) -> Result<Self, Error> {
        if logs.iter().any(|key| key.kind != KeyType::Log) {
            return Err(Error::Vkey("a witness's key is pinned as a log's"));
        }
        if witnesses.iter().any(|key| key.kind != KeyType::Witness) {
            return Err(Error::Vkey("a log's key is pinned as a witness's"));
        }
        twice(&logs, |a, b| a.name == b.name && a.id == b.id)?;
        twice(&witnesses, |a, b| a.public == b.public || (a.name == b.name && a.id == b.id))?;
        let mut names: Vec<_> = witnesses.iter().map(VerifierKey::name).collect();
        names.sort_unstable();
        names.dedup();
        if required > names.len() {
            return Err(Error::QuorumBeyondPins { required, pinned: names.len() });
        }
        Ok(Self { logs, witnesses, required })
    }
}

/// A checkpoint whose log has signed it and whose witnesses are enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    cosignatures: Vec<Cosignature>,
}

impl SignedCheckpoint {
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }
    /// The pinned witnesses that cosigned, each once.
    pub fn cosignatures(&self) -> &[Cosignature] {
        &self.cosignatures
    }
}

/// That a witness saw the log grow to this checkpoint, and when it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    pub witness: KeyName,
    pub at: Timestamp,
}

fn twice(keys: &[VerifierKey], same: impl Fn(&VerifierKey, &VerifierKey) -> bool) -> Result<(), Error> {
    for (index, key) in keys.iter().enumerate() {
        if keys.iter().take(index).any(|other| same(other, key)) {
            return Err(Error::PinnedTwice { name: key.name.to_string() });
        }
    }
    Ok(())
}

/// What a witness signs (C2SP tlog-cosignature, cosignature/v1).
fn cosigned(time: u64, text: &str) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// A number without sign and leading zeros, of at most 20 digits, within 64 bits.
fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn verify(key: &PublicKey, message: &[u8], signature: &[u8]) -> bool {
    Signature::from_slice(signature).is_ok_and(|signature| key.verify(message, &signature).is_ok())
}

fn sign(signer: &dyn Signer, message: &[u8]) -> Result<Vec<u8>, Error> {
    let signature = signer.sign(message).map_err(|error| Error::Signer(error.to_string()))?;
    Ok(signature.as_bytes().to_vec())
}

fn ed25519_of(signer: &dyn Signer) -> Result<PublicKey, Error> {
    match signer.public() {
        keys::PublicKey::Ed25519(key) => Ok(key),
        keys::PublicKey::P256(_) => Err(Error::Signer("a note is signed with Ed25519 only".to_owned())),
    }
}
