//! Where a checkpoint is anchored (spec 3.13, D43): an entry of a Rekor v2 log over the note, and a time stamp (RFC 3161) of
//! the same bytes. Both are over the note's text and the log's own line, so later cosignatures do not matter.
//!
//! Believed are only the keys of the pinned trusted root, within their validity; certificates in the token are not looked at.
//! P-256 alone is checked: a stamp by another key is refused.

use crate::event::instant;
use crate::trust::{Rekor, Trust};
use crate::{Class, Error, base64, path};
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use canon::{Digest, Value};
use env::Timestamp;
use keys::{PublicKey, Signature};
use ledger::merkle;
use ledger::note::Note;

/// A log that holds the checkpoint, and since when at the latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub log: String,
    pub class: Class,
    pub at: Timestamp,
}

/// Checks both for the note. Refused: a stamp that is not over the note or not of a pinned authority valid at its time, an
/// entry that is not of the note under the pinned publishing key, that is in no pinned shard valid at that time, or whose
/// proof or checkpoint does not hold.
pub fn check(note: &[u8], entry: &[u8], stamp: &[u8], rekor: &Rekor, trust: &Trust) -> Result<Anchor, Error> {
    let data = anchored(note, trust)?;
    let at = stamped(stamp, &data, &rekor.trusted_root)?;
    let entry = canon::parse(entry)?;
    let body = body(&entry)?;
    bound(&body, &data, rekor)?;
    let log = included(&entry, &rekor.trusted_root, at)?;
    Ok(Anchor { log, class: rekor.class, at })
}

/// The bytes that are anchored: the note's text and the line of a pinned key of the log.
fn anchored(note: &[u8], trust: &Trust) -> Result<Vec<u8>, Error> {
    let note = Note::parse(note)?;
    let own = |name: &ledger::note::KeyName, id: [u8; 4]| {
        trust.logs.iter().any(|key| key.name() == name && key.id() == id && *name == note.unverified().origin)
    };
    let line = note.signatures().find(|(name, id, _)| own(name, *id)).ok_or(bad("the log has not signed"))?;
    let (name, id, signature) = line;
    let encoded = STANDARD.encode([&id, signature].concat());
    Ok(format!("{}\n— {name} {encoded}\n", note.unverified().text()).into_bytes())
}

/// The entry's body is a `hashedrekord` 0.0.2 of the bytes, signed with the pinned publishing key.
fn bound(body: &[u8], data: &[u8], rekor: &Rekor) -> Result<(), Error> {
    let entry = canon::parse(body)?;
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    let spec = "/spec/hashedRekordV002";
    let at = |rest: &str| text(&format!("{spec}/{rest}"));
    let digest = STANDARD.encode(Digest::of(data).as_bytes());
    let plain = text("/apiVersion") == Some("0.0.2")
        && text("/kind") == Some("hashedrekord")
        && at("data/algorithm") == Some("SHA2_256")
        && at("data/digest") == Some(&digest);
    if !plain {
        return Err(bad("the entry is not of this note"));
    }
    let key = at("signature/verifier/publicKey/rawBytes").and_then(base64);
    let details = at("signature/verifier/keyDetails") == Some("PKIX_ECDSA_P256_SHA_256");
    let signature = at("signature/content").and_then(base64).unwrap_or_default();
    if !details
        || key.as_deref() != Some(&rekor.publishing_key)
        || !holds(&rekor.publishing_key, data, &signature)
    {
        return Err(bad("the entry is not signed with the pinned publishing key"));
    }
    Ok(())
}

/// The name of the pinned shard that holds the entry, valid at that time.
pub fn included(entry: &Value<'_>, root: &Value<'_>, at: Timestamp) -> Result<String, Error> {
    let body = body(entry)?;
    let id = entry.pointer("/logId/keyId").and_then(Value::as_str);
    let shards = root.get("tlogs").and_then(Value::as_array).unwrap_or_default();
    let of = |shard: &&Value<'_>| id.is_some() && shard.pointer("/logId/keyId").and_then(Value::as_str) == id;
    let shard = shards
        .iter()
        .find(of)
        .filter(|shard| shard.get("publicKey").is_some_and(|key| valid_at(key, at)))
        .ok_or(bad("the entry is in no pinned log valid at its time"))?;
    let proof = entry.get("inclusionProof").ok_or(bad("the entry has no proof"))?;
    let number =
        |name: &str| proof.get(name).and_then(Value::as_str).and_then(|text| text.parse::<u64>().ok());
    let (Some(index), Some(size)) = (number("logIndex"), number("treeSize")) else {
        return Err(bad("the proof is malformed"));
    };
    let root_hash = bytes(proof.get("rootHash")).and_then(|hash| <[u8; 32]>::try_from(hash).ok());
    let root_hash = Digest::from_bytes(root_hash.ok_or(bad("the proof is malformed"))?);
    let hashes = proof.get("hashes").and_then(path).ok_or(bad("the proof is malformed"))?;
    merkle::verify_inclusion(&merkle::leaf_hash(&body), index, size, &hashes, &root_hash)
        .map_err(|_| bad("the entry is not in its log"))?;
    let envelope = proof.pointer("/checkpoint/envelope").and_then(Value::as_str).unwrap_or_default();
    // Its key's id is the beginning of the log's id, not that of a note's key.
    let note = Note::parse(envelope.as_bytes())?;
    let said = note.unverified();
    let key = bytes(shard.pointer("/publicKey/rawBytes")).unwrap_or_default();
    let short = bytes(shard.pointer("/logId/keyId")).and_then(|id| id.first_chunk::<4>().copied());
    let signed = note.signatures().any(|(name, id, signature)| {
        *name == said.origin && Some(id) == short && holds(&key, said.text().as_bytes(), signature)
    });
    if !signed || said.size != size || said.root != root_hash {
        return Err(bad("the log has not signed the proof's tree"));
    }
    Ok(said.origin.to_string())
}

fn body(entry: &Value<'_>) -> Result<Vec<u8>, Error> {
    bytes(entry.get("canonicalizedBody")).ok_or(bad("the entry has no body"))
}

/// A signature of the key (DER): Ed25519, or ES256 in DER.
fn holds(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = PublicKey::from_spki(key) else { return false };
    let signature = match key {
        PublicKey::Ed25519(_) => Signature::from_slice(signature),
        PublicKey::P256(_) => Signature::from_der(signature),
    };
    signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
}

const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const TIME: u8 = 0x18;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const ZERO: u8 = 0xa0;

/// When a pinned authority stamped the bytes.
fn stamped(stamp: &[u8], data: &[u8], root: &Value<'_>) -> Result<Timestamp, Error> {
    token(stamp, data, root)
        .ok_or(bad("the time stamp is not over this note, or by no pinned authority valid at its time"))
}

fn token(stamp: &[u8], data: &[u8], root: &Value<'_>) -> Option<Timestamp> {
    let [status, token] = <[Der<'_>; 2]>::try_from(alone(stamp, SEQUENCE)?.items()?).ok()?;
    let granted = status.of(SEQUENCE)?.items()?.first()?.of(INTEGER)?;
    if !matches!(granted.body, [0 | 1]) {
        return None;
    }
    let [kind, content] = <[Der<'_>; 2]>::try_from(token.of(SEQUENCE)?.items()?).ok()?;
    let signed = alone(content.of(ZERO)?.body, SEQUENCE)?.items()?;
    if kind.of(OID)?.body != SIGNED_DATA {
        return None;
    }
    let [kind, content] = <[Der<'_>; 2]>::try_from(signed.get(2)?.of(SEQUENCE)?.items()?).ok()?;
    let info = alone(content.of(ZERO)?.body, OCTETS)?.body;
    let [signer] = <[Der<'_>; 1]>::try_from(signed.last()?.of(SET)?.items()?).ok()?;
    let signer = signer.of(SEQUENCE)?.items()?;
    let named = |at: usize| Some(signer.get(at)?.of(SEQUENCE)?.items()?.first()?.of(OID)?.body);
    let attributes = signer.get(3)?.of(ZERO)?;
    let told = |name: &[u8]| {
        attributes.items()?.iter().find_map(|attribute| {
            let [kind, values] = <[Der<'_>; 2]>::try_from(attribute.of(SEQUENCE)?.items()?).ok()?;
            (kind.body == name).then(|| values.of(SET)?.items()?.first().copied()).flatten()
        })
    };
    let bound = kind.of(OID)?.body == TST_INFO
        && named(2)? == SHA256
        && named(4)? == ECDSA_SHA256
        && told(CONTENT_TYPE)?.body == TST_INFO
        && told(MESSAGE_DIGEST)?.body == Digest::of(info).as_bytes();
    let fields = alone(info, SEQUENCE)?.items()?;
    let imprint = fields.get(2)?.of(SEQUENCE)?.items()?;
    let over = imprint.first()?.of(SEQUENCE)?.items()?.first()?.of(OID)?.body == SHA256
        && imprint.get(1)?.of(OCTETS)?.body == Digest::of(data).as_bytes();
    if !bound || !over {
        return None;
    }
    let at = time(fields.get(4)?.of(TIME)?)?;
    // The signature is over the attributes as a set.
    let message = [&[SET], attributes.whole.get(1..)?].concat();
    let signature = signer.get(5)?.of(OCTETS)?.body;
    let authorities = root.get("timestampAuthorities")?.as_array()?;
    authorities.iter().any(|authority| stamps(authority, at, &message, signature) == Some(true)).then_some(at)
}

/// Whether this authority, valid at that time, has signed.
fn stamps(authority: &Value<'_>, at: Timestamp, message: &[u8], signature: &[u8]) -> Option<bool> {
    let certificate = bytes(authority.pointer("/certChain/certificates/0/rawBytes"))?;
    let signed = alone(&certificate, SEQUENCE)?.items()?.first()?.of(SEQUENCE)?.items()?;
    // A version is before the rest, if there is one.
    let skip = usize::from(signed.first()?.tag == ZERO);
    let [from, to] = <[Der<'_>; 2]>::try_from(signed.get(skip + 3)?.of(SEQUENCE)?.items()?).ok()?;
    let key = signed.get(skip + 5)?.of(SEQUENCE)?.whole;
    Some(valid_at(authority, at) && time(from)? <= at && at <= time(to)? && holds(key, message, signature))
}

/// Whether `validFor` of a trusted root covers the time.
fn valid_at(entry: &Value<'_>, at: Timestamp) -> bool {
    let bound = |name| entry.pointer(name).and_then(Value::as_str).map(second);
    let started = bound("/validFor/start").flatten().is_some_and(|start| start <= at);
    let ended = bound("/validFor/end").is_some_and(|end| end.is_none_or(|end| at > end));
    started && !ended
}

/// `YYYY-MM-DDThh:mm:ss`, a fraction or none, `Z`; whole seconds.
fn second(text: &str) -> Option<Timestamp> {
    let rest = text.get(19..)?.strip_suffix('Z')?;
    let fraction = rest.is_empty()
        || rest.strip_prefix('.').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    fraction.then(|| instant(&format!("{}.000000Z", text.get(..19)?))).flatten()
}

/// A GeneralizedTime or a UTCTime to the second.
fn time(der: Der<'_>) -> Option<Timestamp> {
    let text = std::str::from_utf8(der.body).ok()?;
    let text = match der.tag {
        TIME => text.to_owned(),
        UTC_TIME => format!("{}{text}", if text.get(..2)? < "50" { "20" } else { "19" }),
        _ => return None,
    };
    let part = |from: usize, to: usize| text.get(from..to);
    let (date, clock) =
        ((part(0, 4)?, part(4, 6)?, part(6, 8)?), (part(8, 10)?, part(10, 12)?, part(12, 14)?));
    instant(&format!("{}-{}-{}T{}:{}:{}.000000Z", date.0, date.1, date.2, clock.0, clock.1, clock.2))
        .filter(|_| text.ends_with('Z'))
}

/// One element of DER.
#[derive(Debug, Clone, Copy)]
struct Der<'a> {
    tag: u8,
    body: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Der<'a> {
    fn of(self, tag: u8) -> Option<Self> {
        (self.tag == tag).then_some(self)
    }
    fn items(&self) -> Option<Vec<Der<'a>>> {
        let mut rest = self.body;
        let mut items = Vec::new();
        while !rest.is_empty() {
            let (item, after) = next(rest)?;
            items.push(item);
            rest = after;
        }
        Some(items)
    }
}

/// The one element that the bytes are.
fn alone(bytes: &[u8], tag: u8) -> Option<Der<'_>> {
    let (item, rest) = next(bytes)?;
    rest.is_empty().then_some(item)?.of(tag)
}

fn next(bytes: &[u8]) -> Option<(Der<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = if short < 0x80 {
        (usize::from(short), rest)
    } else {
        let (digits, rest) = rest
            .split_at_checked(usize::from(short & 0x7f))
            .filter(|(digits, _)| (1..=4).contains(&digits.len()))?;
        (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
    };
    let (body, rest) = rest.split_at_checked(length)?;
    let whole = bytes.get(..bytes.len() - rest.len())?;
    Some((Der { tag, body, whole }, rest))
}

fn bytes(value: Option<&Value<'_>>) -> Option<Vec<u8>> {
    base64(value?.as_str()?)
}

const fn bad(why: &'static str) -> Error {
    Error::Anchor(why)
}
