//! What a verifier already has (spec 3.13): never taken from the one who shows the evidence.

use crate::Error;
use crate::checkpoint::HybridKey;
use canon::{Object, Value};
use keys::PublicKey;
use ledger::note::{KeyName, Pins, VerifierKey};

/// Who runs a witness, an anchor or a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Public,
    Customer,
    Tracekit,
    /// Whoever runs the log: no independent eye.
    Operator,
}

impl Class {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Customer => "customer",
            Self::Tracekit => "tracekit",
            Self::Operator => "operator",
        }
    }

    pub(crate) fn read(value: &Value<'_>) -> Result<Self, Error> {
        Ok(match value.as_str() {
            Some("public") => Self::Public,
            Some("customer") => Self::Customer,
            Some("tracekit") => Self::Tracekit,
            Some("operator") => Self::Operator,
            _ => return Err(Error::Trust("a class is none of public, customer, tracekit and operator")),
        })
    }
}

/// A witness that is trusted to have seen what it cosigned.
#[derive(Debug, Clone)]
pub struct Witness {
    pub key: VerifierKey,
    pub class: Class,
}

/// An issuer of certificates for record keys: its own key, and its issuance log's.
#[derive(Debug, Clone)]
pub struct Issuer {
    pub key: VerifierKey,
    pub log: VerifierKey,
}

/// A log of signatures in which checkpoints are anchored (spec 3.13, D43).
#[derive(Debug, Clone)]
pub struct Rekor {
    /// The Sigstore trusted root, as it was written.
    pub trusted_root: Value<'static>,
    /// DER of the key under which the checkpoints' signatures are published.
    pub publishing_key: Vec<u8>,
    pub class: Class,
}

/// The trust file: `logs` and `algs` are required, no other member than these is allowed.
#[derive(Debug, Clone)]
pub struct Trust {
    pub(crate) logs: Vec<VerifierKey>,
    pub(crate) hybrids: Vec<HybridKey>,
    pub(crate) witnesses: Vec<Witness>,
    pub(crate) required: usize,
    pub(crate) algs: Vec<String>,
    pub(crate) issuers: Vec<Issuer>,
    pub(crate) rekor: Option<Rekor>,
    /// With the quorum, and without.
    pins: Pins,
    lines: Pins,
}

impl Trust {
    /// The longest trust file that is read, in bytes.
    pub const MAX: usize = 1 << 20;

    /// Whether a JSON value is meant as this file: it alone has `algs`.
    pub fn is(value: &Value<'_>) -> bool {
        value.get("algs").is_some()
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > Self::MAX {
            return Err(Error::Trust("it is longer than 1 MiB"));
        }
        Self::read(&canon::parse(bytes)?)
    }

    /// Refuses other members, keys of the wrong kind or pinned twice, and a quorum that the pinned witnesses cannot reach.
    pub fn read(value: &Value<'_>) -> Result<Self, Error> {
        const MEMBERS: [&str; 8] =
            ["logs", "witnesses", "algs", "witnesses_required", "rekor", "monitors", "issuers", "analyzers"];
        let file = value.as_object().ok_or(Error::Trust("it is no object"))?;
        if file.keys().any(|name| !MEMBERS.contains(&name)) {
            return Err(Error::Trust("it has a member that no trust file has"));
        }
        let (mut logs, mut hybrids) = (Vec::new(), Vec::new());
        for vkey in texts(file, "logs")? {
            match HybridKey::parse(vkey)? {
                Some(key) => hybrids.push(key),
                None => logs.push(vkey.parse::<VerifierKey>()?),
            }
        }
        let algs: Vec<String> = texts(file, "algs")?.into_iter().map(str::to_owned).collect();
        if logs.is_empty() && hybrids.is_empty() || algs.is_empty() {
            return Err(Error::Trust("logs and algs name at least one each"));
        }
        let witnesses = list(file, "witnesses")?
            .iter()
            .map(|one| {
                let one = members(one, &["vkey", "class"])?;
                Ok(Witness { key: text(one, "vkey")?.parse()?, class: class(one)? })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let required = match file.get("witnesses_required") {
            None => 0,
            Some(value) => value
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .ok_or(Error::Trust("witnesses_required is no count"))?,
        };
        let cosigners = || witnesses.iter().map(|witness| witness.key.clone()).collect();
        list(file, "monitors")?.iter().try_for_each(monitor)?;
        list(file, "analyzers")?.iter().try_for_each(analyzer)?;
        Ok(Self {
            hybrids,
            required,
            algs,
            issuers: list(file, "issuers")?.iter().map(issuer).collect::<Result<_, _>>()?,
            rekor: file.get("rekor").filter(|value| !is_empty(value)).map(rekor).transpose()?,
            pins: Pins::new(logs.clone(), cosigners(), required)?,
            lines: Pins::new(logs.clone(), cosigners(), 0)?,
            logs,
            witnesses,
        })
    }

    /// The same trust in other logs.
    pub(crate) fn with_logs(self, logs: Vec<VerifierKey>) -> Result<Self, Error> {
        let witnesses = self.witnesses.iter().map(|witness| witness.key.clone()).collect();
        let lines = Pins::new(logs.clone(), witnesses, 0)?;
        Ok(Self { logs, lines, ..self })
    }

    /// The keys for a checkpoint that stands alone, with the quorum.
    pub const fn pins(&self) -> &Pins {
        &self.pins
    }
    /// The same without the quorum, see [`Checkpoint::quorum`](crate::Checkpoint::quorum).
    pub(crate) const fn lines(&self) -> &Pins {
        &self.lines
    }
    /// How many pinned witnesses must have cosigned a checkpoint.
    pub const fn required(&self) -> usize {
        self.required
    }
    /// The names of the pinned logs.
    pub fn origins(&self) -> impl Iterator<Item = &KeyName> {
        self.logs.iter().map(VerifierKey::name)
    }
    /// The log of signatures in which anchors are believed.
    pub const fn rekor(&self) -> Option<&Rekor> {
        self.rekor.as_ref()
    }
    pub fn allows(&self, alg: &str) -> bool {
        self.algs.iter().any(|allowed| allowed == alg)
    }
}

fn is_empty(value: &Value<'_>) -> bool {
    value.as_object().is_some_and(Object::is_empty)
}

fn list<'v>(file: &'v Object<'_>, name: &'static str) -> Result<&'v [Value<'v>], Error> {
    match file.get(name) {
        None => Ok(&[]),
        Some(value) => value.as_array().ok_or(Error::Trust("a list is none")),
    }
}

fn texts<'v>(file: &'v Object<'_>, name: &'static str) -> Result<Vec<&'v str>, Error> {
    list(file, name)?.iter().map(|one| one.as_str().ok_or(Error::Trust("an element is no text"))).collect()
}

fn members<'v>(value: &'v Value<'_>, names: &[&str]) -> Result<&'v Object<'v>, Error> {
    value
        .as_object()
        .filter(|one| one.len() == names.len() && names.iter().all(|name| one.get(name).is_some()))
        .ok_or(Error::Trust("an element has not exactly its members"))
}

fn text<'v>(one: &'v Object<'_>, name: &str) -> Result<&'v str, Error> {
    one.get(name).and_then(Value::as_str).ok_or(Error::Trust("a member is no text"))
}

fn class(one: &Object<'_>) -> Result<Class, Error> {
    Class::read(one.get("class").unwrap_or(&Value::Null))
}

fn issuer(value: &Value<'_>) -> Result<Issuer, Error> {
    let one = members(value, &["vkey", "issuance_log_vkey"])?;
    Ok(Issuer { key: text(one, "vkey")?.parse()?, log: text(one, "issuance_log_vkey")?.parse()? })
}

/// Monitors judge by the clock, so their reports are not read here; their keys are.
fn monitor(value: &Value<'_>) -> Result<(), Error> {
    let one = members(value, &["vkey", "class", "max_age_s"])?;
    text(one, "vkey")?.parse::<VerifierKey>()?;
    class(one)?;
    match one.get("max_age_s").and_then(Value::as_u64) {
        Some(1..) => Ok(()),
        _ => Err(Error::Trust("max_age_s is no count of seconds")),
    }
}

fn analyzer(value: &Value<'_>) -> Result<(), Error> {
    let scheme = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    match value.as_str().and_then(|text| text.split_once(':')) {
        Some((name, subject)) if scheme(name) && !subject.is_empty() => Ok(()),
        _ => Err(Error::Trust("an analyzer is not scheme:subject")),
    }
}

fn rekor(value: &Value<'_>) -> Result<Rekor, Error> {
    let one = members(value, &["trusted_root", "publishing_key", "class"])?;
    let root = one.get("trusted_root").filter(|root| root.as_object().is_some());
    let key =
        crate::base64(text(one, "publishing_key")?).ok_or(Error::Trust("publishing_key is not base64"))?;
    PublicKey::from_spki(&key).map_err(|_| Error::Trust("publishing_key is no key"))?;
    Ok(Rekor {
        trusted_root: root.ok_or(Error::Trust("trusted_root is no object"))?.to_owned(),
        publishing_key: key,
        class: class(one)?,
    })
}
