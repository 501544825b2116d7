//! At most once (spec 4.7): what a receiver remembers of the messages it accepted, as a question and an answer. Where it is kept,
//! and that it is kept in one transaction before delivery, is the caller's.

use super::code::Code;
use canon::Digest;
use env::Timestamp;
use std::collections::BTreeMap;

/// What was accepted before. Every answer may be that it is not known: then nothing is accepted.
pub trait Replay {
    /// From when on everything accepted is remembered: messages issued earlier are refused.
    fn since(&self) -> Result<Timestamp, Code>;
    /// Whether a message of this log and id was accepted.
    fn accepted(&self, origin: &str, id: &str) -> Result<bool, Code>;
    /// How often the grant of this hash was used here.
    fn uses(&self, grant: &Digest) -> Result<u64, Code>;
    /// The largest checkpoint of the log that was believed: its size and root.
    fn largest(&self, origin: &str) -> Result<Option<(u64, Digest)>, Code>;
}

/// What is to be remembered in the transaction that accepts a message, before it is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub origin: String,
    pub id: String,
    /// Until when: its end and the skew of clocks.
    pub until: Timestamp,
    /// Every grant of its chain is used once; of each how often it may be, if that is limited.
    pub grants: Vec<(Digest, Option<u64>)>,
    pub checkpoint: (u64, Digest),
}

/// What was accepted, in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    since: Option<Timestamp>,
    accepted: BTreeMap<(String, String), Timestamp>,
    uses: BTreeMap<Digest, u64>,
    largest: BTreeMap<String, (u64, Digest)>,
}

impl Memory {
    /// A new epoch: messages issued before are refused. The default has lost everything, and refuses all.
    pub fn since(at: Timestamp) -> Self {
        Self { since: Some(at), ..Self::default() }
    }

    /// Remembers one message. Refused if it was accepted before, or a grant was used up: checked again, as the last check
    /// may be older than the transaction. Forgets what has ended by `now`.
    pub fn accept(&mut self, acceptance: &Acceptance, now: Timestamp) -> Result<(), Code> {
        let Acceptance { origin, id, until, grants, checkpoint } = acceptance;
        if self.accepted(origin, id)? {
            return Err(Code::Replayed);
        }
        for (grant, most) in grants {
            if most.is_some_and(|most| self.uses.get(grant).is_some_and(|used| *used >= most)) {
                return Err(Code::GrantUsed);
            }
        }
        self.accepted.retain(|_, until| *until >= now);
        self.accepted.insert((origin.clone(), id.clone()), *until);
        for (grant, _) in grants {
            *self.uses.entry(*grant).or_default() += 1;
        }
        let largest = self.largest.entry(origin.clone()).or_insert(*checkpoint);
        if largest.0 < checkpoint.0 {
            *largest = *checkpoint;
        }
        Ok(())
    }
}

impl Replay for Memory {
    fn since(&self) -> Result<Timestamp, Code> {
        self.since.ok_or(Code::ReplayStateUnavailable)
    }
    fn accepted(&self, origin: &str, id: &str) -> Result<bool, Code> {
        self.since.ok_or(Code::ReplayStateUnavailable)?;
        Ok(self.accepted.contains_key(&(origin.to_owned(), id.to_owned())))
    }
    fn uses(&self, grant: &Digest) -> Result<u64, Code> {
        Ok(self.uses.get(grant).copied().unwrap_or_default())
    }
    fn largest(&self, origin: &str) -> Result<Option<(u64, Digest)>, Code> {
        Ok(self.largest.get(origin).copied())
    }
}
