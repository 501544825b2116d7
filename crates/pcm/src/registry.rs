//! The registry log: of each tenant, which runs were registered and ended (spec 3.12).

use crate::opening::hmac;
use crate::{Error, Event, Record};
use canon::Digest;
use ledger::note::KeyName;

/// The bytes of a leaf.
pub const LEAF: usize = 89;

/// What a leaf is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Registered,
    Final,
    Closed,
    Retired,
    Gap,
    Tamper,
}

impl Kind {
    const ALL: [(u8, &'static str, Self); 6] = [
        (1, "run.registered", Self::Registered),
        (2, "run.final", Self::Final),
        (3, "log.closed", Self::Closed),
        (4, "key.retire", Self::Retired),
        (5, "capture.gap", Self::Gap),
        (6, "trace.tamper", Self::Tamper),
    ];

    /// The type of the record it stands for.
    pub fn of(event: &Event<'_>) -> Option<Self> {
        Self::ALL.iter().find(|(_, name, _)| *name == event.kind()).map(|(_, _, kind)| *kind)
    }

    fn byte(self) -> u8 {
        Self::ALL.iter().find(|(_, _, kind)| *kind == self).map_or(0, |(byte, _, _)| *byte)
    }
}

/// A leaf: its type, the salted hash of the run, the log, the place and the hash of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    pub kind: Kind,
    pub run: Digest,
    pub log_id: [u8; 16],
    pub seq: u64,
    pub hash: Digest,
}

impl Leaf {
    /// The leaf of a record that has one.
    pub fn of(record: &Record<'_>, salt: &Digest) -> Option<Self> {
        let event = record.event();
        let mut log_id = [0; 16];
        hex::decode_to_slice(event.log_id(), &mut log_id).ok()?;
        let (kind, run) = (Kind::of(&event)?, run_hash(salt, event.run_id()));
        Some(Self { kind, run, log_id, seq: event.position().0, hash: record.hash() })
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; LEAF] = bytes.try_into().map_err(|_| Error::Leaf("it has not 89 bytes"))?;
        let [byte, rest @ ..] = bytes;
        let kind = Kind::ALL.iter().find(|(known, _, _)| known == byte).map(|(_, _, kind)| *kind);
        let cut = || Error::Leaf("it has not 89 bytes");
        let (run, rest) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let (log_id, rest) = rest.split_first_chunk::<16>().ok_or_else(cut)?;
        let (seq, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let hash = <[u8; 32]>::try_from(rest).map_err(|_| cut())?;
        Ok(Self {
            kind: kind.ok_or(Error::Leaf("of no known type"))?,
            run: Digest::from_bytes(*run),
            log_id: *log_id,
            seq: u64::from_be_bytes(*seq),
            hash: Digest::from_bytes(hash),
        })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let parts: [&[u8]; 5] = [
            &[self.kind.byte()],
            self.run.as_bytes(),
            &self.log_id,
            &self.seq.to_be_bytes(),
            self.hash.as_bytes(),
        ];
        parts.concat()
    }
}

/// What hides the runs of a tenant from those who hold other tenants' leaves.
pub fn tenant_salt(registry_salt: &[u8; 32], tenant: &str) -> Digest {
    hmac(registry_salt, tenant.as_bytes())
}

pub fn run_hash(tenant_salt: &Digest, run_id: &str) -> Digest {
    Digest::of_parts(&[tenant_salt.as_bytes(), run_id.as_bytes()])
}

/// The name of a tenant's registry beside its log.
pub fn origin(log: &KeyName, tenant_salt: &Digest) -> Result<KeyName, Error> {
    let id = Digest::of_parts(&[b"registry ", tenant_salt.as_bytes()]).to_string();
    Ok(format!("{log}/registry/{}", id.get(..32).unwrap_or_default()).parse()?)
}
