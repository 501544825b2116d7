//! Which record key was valid where (spec 3.4). Validity is by position in the log, never by time.

use crate::checkpoint::Checkpoint;
use crate::record::{ALG, Purpose, Record, Unverified};
use crate::{Error, Event, Position, Trust, base64};
use canon::{Digest, Value};
use env::Timestamp;
use keys::{Kid, PublicKey, Signature};
use ledger::merkle;
use std::collections::HashMap;

/// The record keys of one log, declared and retired by its own records.
#[derive(Debug, Clone)]
pub struct Keys {
    log_id: String,
    /// Whether the verifier takes [`ALG`] at all.
    allowed: bool,
    declared: Vec<RecordKey>,
    /// Where each is among them.
    places: HashMap<String, usize>,
    last: Option<u64>,
}

/// A key, and the places of the log it may sign for.
#[derive(Debug, Clone)]
pub struct RecordKey {
    kid: Kid,
    name: String,
    public: PublicKey,
    from: u64,
    until: Option<u64>,
    certificate: Option<Certificate>,
}

/// What a pinned issuer says of a record key.
#[derive(Debug, Clone)]
struct Certificate {
    issuer: String,
    tenants: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Keys {
    /// No key yet. `log_id` is that of the first record.
    pub fn new(log_id: &str, trust: &Trust) -> Self {
        Self {
            log_id: log_id.to_owned(),
            allowed: trust.allows(ALG),
            declared: Vec::new(),
            places: HashMap::new(),
            last: None,
        }
    }

    /// Takes the next `signer.epoch` or `key.retire` of the log, of which the caller has checked that it is in the tree.
    /// Refused: any other type, one that does not follow the last, a first one that does not begin the log, a record that
    /// does not hold under a key valid at its place or declared by itself, a key that is not its kid's, a retired key
    /// declared again, a retirement of no known key, a certificate that does not hold, none where issuers are pinned.
    pub fn take(&mut self, record: &Unverified<'_>, trust: &Trust) -> Result<(), Error> {
        let event = Event::read(record.event())?;
        self.take_if(&event, trust, |keys| record.check(keys).map(drop))
    }

    /// The same of a record whose hash was checked before.
    pub(crate) fn take_hashed(
        &mut self,
        record: &Unverified<'_>,
        hashed: &Record<'_>,
        trust: &Trust,
    ) -> Result<(), Error> {
        self.take_if(&hashed.event(), trust, |keys| record.signed(hashed, keys))
    }

    fn take_if(
        &mut self,
        event: &Event<'_>,
        trust: &Trust,
        holds: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Position(seq) = event.position();
        match self.last {
            None if seq != 0 => return Err(Error::KeyRecord("the first is not the log's first record")),
            Some(last) if seq <= last => return Err(Error::KeyRecord("it does not follow the one before")),
            _ => {}
        }
        let before = self.declared.len();
        let outcome = match event.kind() {
            "signer.epoch" => self.declare(event, trust),
            "key.retire" => Ok(()),
            _ => Err(Error::KeyRecord("it neither declares nor retires a key")),
        };
        let outcome = outcome.and_then(|()| holds(self)).and_then(|()| match event.kind() {
            "key.retire" => self.retire(event),
            _ => Ok(()),
        });
        match outcome {
            Ok(()) => self.last = Some(seq),
            // What a record that does not hold has declared is forgotten.
            Err(_) => {
                for key in self.declared.drain(before..) {
                    self.places.remove(&key.name);
                }
            }
        }
        outcome
    }

    /// The key of that name, if it may sign at that place.
    pub fn at(&self, kid: &str, at: Position) -> Result<&RecordKey, Error> {
        let unknown = || Error::UnknownKey { kid: kid.to_owned() };
        let key = self.places.get(kid).and_then(|at| self.declared.get(*at)).ok_or_else(unknown)?;
        match key.until {
            _ if at.0 < key.from => Err(unknown()),
            Some(last) if at.0 > last => Err(Error::KeyRetired { kid: kid.to_owned(), last }),
            _ => Ok(key),
        }
    }

    pub fn log_id(&self) -> &str {
        &self.log_id
    }
    pub fn declared(&self) -> &[RecordKey] {
        &self.declared
    }
    /// The place of the last key record that was taken.
    pub fn last(&self) -> Option<Position> {
        self.last.map(Position)
    }

    pub(crate) fn allows(&self, alg: &str) -> bool {
        self.allowed && alg == ALG
    }

    fn declare(&mut self, event: &Event<'_>, trust: &Trust) -> Result<(), Error> {
        let Position(seq) = event.position();
        let bridge = event.data().get("bridge").is_some();
        for one in event.data().get("keys").and_then(Value::as_array).unwrap_or_default() {
            let text = |name| one.get(name).and_then(Value::as_str).unwrap_or_default();
            let spki = base64(text("spki")).ok_or(Error::Encoding)?;
            let public = PublicKey::from_spki(&spki).map_err(|_| Error::KeyRecord("a key is none"))?;
            let kid = public.spki_kid();
            if kid.to_string() != text("kid")
                || text("alg") != ALG
                || !matches!(public, PublicKey::Ed25519(_))
            {
                return Err(Error::KeyRecord("a key is not what its name or its algorithm says"));
            }
            let certificate = match one.get("cert") {
                Some(entry) => Some(certificate(entry, &kid, text("spki"), &self.log_id, trust)?),
                None if trust.issuers.is_empty() || bridge => None,
                None => return Err(Error::Certificate("there is none, and issuers are pinned")),
            };
            let name = kid.to_string();
            match self.places.get(&name).and_then(|at| self.declared.get(*at)) {
                Some(key) if key.until.is_some() => {
                    return Err(Error::KeyRecord("a retired key is declared again"));
                }
                // Its validity began before.
                Some(_) => {}
                None => {
                    self.places.insert(name.clone(), self.declared.len());
                    self.declared.push(RecordKey { kid, name, public, from: seq, until: None, certificate });
                }
            }
        }
        Ok(())
    }

    fn retire(&mut self, event: &Event<'_>) -> Result<(), Error> {
        let kid = event.data_text("kid").unwrap_or_default();
        let last = event.data().get("last_seq").and_then(Value::as_u64);
        let last = last.ok_or(Error::KeyRecord("it names no last place"))?;
        let key = self.places.get(kid).and_then(|at| self.declared.get_mut(*at));
        let key = key.ok_or(Error::KeyRecord("it retires an unknown key"))?;
        key.until = Some(key.until.map_or(last, |before| before.min(last)));
        Ok(())
    }
}

impl RecordKey {
    pub const fn kid(&self) -> Kid {
        self.kid
    }
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }
    /// The first place it may sign for.
    pub const fn from(&self) -> Position {
        Position(self.from)
    }
    /// The last place it may sign for, once it is retired.
    pub fn until(&self) -> Option<Position> {
        self.until.map(Position)
    }
    /// The issuer that certified it, if one did.
    pub fn issuer(&self) -> Option<&str> {
        self.certificate.as_ref().map(|certificate| certificate.issuer.as_str())
    }

    /// Whether the key's certificate, if it has one, covers the event: its time, and its tenant but for the signer's own.
    pub(crate) fn covers(&self, event: &Event<'_>) -> Result<(), Error> {
        let Some(certificate) = &self.certificate else { return Ok(()) };
        let at = event.text("ts").and_then(crate::event::instant);
        if !at.is_some_and(|at| certificate.not_before <= at && at <= certificate.not_after) {
            return Err(Error::OutsideCertificate("the time"));
        }
        let own = (event.tenant(), event.run_id()) == (crate::event::SIGNER_TENANT, crate::event::SIGNER_RUN);
        if own || certificate.tenants.iter().any(|tenant| tenant == event.tenant()) {
            Ok(())
        } else {
            Err(Error::OutsideCertificate("the tenant"))
        }
    }
}

/// An issuance entry: signed by a pinned issuer, for this key and this log, in the issuer's own log at a checkpoint that
/// enough pinned witnesses cosigned, one at the least.
fn certificate(
    entry: &Value<'_>,
    kid: &Kid,
    spki: &str,
    log_id: &str,
    trust: &Trust,
) -> Result<Certificate, Error> {
    let form = Error::Certificate("it is malformed");
    let document = entry.get("certificate").ok_or(form.clone())?;
    let cert = document.get("cert").and_then(Value::as_object).ok_or(form.clone())?;
    let text = |name| cert.get(name).and_then(Value::as_str).ok_or(form.clone());
    let seconds = |name| cert.get(name).and_then(Value::as_i64).map(Timestamp::from_secs).ok_or(form.clone());
    let signature = document.get("sig").and_then(Value::as_str).ok_or(form.clone())?;
    let signature = Signature::from_base64(signature).map_err(|_| Error::Encoding)?;
    let message = tagged(cert, Purpose::Cert)?;
    let issuer = trust
        .issuers
        .iter()
        .find(|issuer| PublicKey::Ed25519(*issuer.key.public()).verify(&message, &signature).is_ok());
    let issuer = issuer.ok_or(Error::Certificate("no pinned issuer has signed it"))?;
    let note = entry.get("checkpoint").and_then(Value::as_str).ok_or(form.clone())?;
    let issuance = issuance(note.as_bytes(), issuer, trust)?;
    let index = entry.get("index").and_then(Value::as_u64).ok_or(form.clone())?;
    let path = crate::path(entry.get("inclusion").unwrap_or(&Value::Null)).ok_or(form.clone())?;
    let leaf = merkle::leaf_hash(Digest::of(&canon::to_vec(document)?).as_bytes());
    merkle::verify_inclusion(&leaf, index, issuance.size, &path, &issuance.root)
        .map_err(|_| Error::Certificate("it is not in the issuer's log"))?;
    if text("kid")? != kid.to_string() || text("spki")? != spki || text("log_id")? != log_id {
        return Err(Error::Certificate("it is of another key or log"));
    }
    let tenants = cert.get("tenants").and_then(Value::as_array).ok_or(form.clone())?;
    Ok(Certificate {
        issuer: issuer.key.name().to_string(),
        tenants: tenants.iter().filter_map(|tenant| tenant.as_str().map(str::to_owned)).collect(),
        not_before: seconds("not_before")?,
        not_after: seconds("not_after")?,
    })
}

fn issuance(note: &[u8], issuer: &crate::trust::Issuer, trust: &Trust) -> Result<Checkpoint, Error> {
    let refused = |_| Error::Certificate("the checkpoint of the issuer's log does not hold");
    let mut pinned = trust.clone();
    pinned.hybrids = Vec::new();
    let own = issuer.log.clone();
    let checkpoint = pinned.with_logs(vec![own]).and_then(|trust| trust.open(note)).map_err(refused)?;
    if checkpoint.seen.len() < trust.required.max(1) {
        return Err(Error::Certificate("too few witnesses have cosigned the issuer's log"));
    }
    Ok(checkpoint)
}

/// The canonical form of an object with the tag of a purpose.
fn tagged(object: &canon::Object<'_>, purpose: Purpose) -> Result<Vec<u8>, Error> {
    let mut members: Vec<_> =
        object.iter().map(|(name, value)| (name.to_owned().into(), value.clone())).collect();
    members.push(("t".into(), Value::String(purpose.tag().into())));
    Ok(canon::to_vec(&Value::Object(canon::Object::new(members)?))?)
}
