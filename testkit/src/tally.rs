//! The smallest aggregate that has everything: events with payloads, effects, pointers, a limit that refuses.

use canon::Digest;
use env::Env;
use ledger::{Aggregate, Coded, Decision, Effect, Entry, Fault, Head, Payload, Pointer, Who};

/// Counts up to a cap. A stream of kind `tally`.
#[derive(Debug)]
pub struct Tally;

/// No tally goes beyond this.
pub const CAP: u64 = 10_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Total {
    pub sum: u64,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Add {
        amount: u64,
        note: Option<String>,
    },
    /// Adds, tells a member, and lists the tally under the pointer `tallies`.
    Tell {
        amount: u64,
        member: String,
    },
    /// Appends nothing; the answer is the sum.
    Look,
    /// A fault of the evaluator.
    Crash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub amount: u64,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sum would be beyond {CAP}")]
pub struct Over;

impl Coded for Over {
    fn code(&self) -> &'static str {
        "over_cap"
    }
    fn who(&self) -> Who {
        Who::Conflict
    }
}

impl Aggregate for Tally {
    type State = Total;
    type Command = Command;
    type Event = Added;
    type Answer = u64;
    type Refusal = Over;
    const KIND: &'static str = "tally";

    fn decide(state: &Total, command: &Command, _: &mut Env) -> Result<Decision<Added, u64>, Over> {
        let (amount, note, member) = match command {
            Command::Add { amount, note } => (*amount, note.clone(), None),
            Command::Tell { amount, member } => (*amount, None, Some(member)),
            Command::Look => {
                return Ok(Decision { events: vec![], effects: vec![], pointers: vec![], answer: state.sum });
            }
            #[expect(clippy::panic, reason = "the fault under test")]
            Command::Crash => panic!("an evaluator's fault"),
        };
        let sum = state.sum + amount;
        if sum > CAP {
            return Err(Over);
        }
        let told = member.map(|member| Effect::Notify {
            member: member.clone(),
            title: format!("the sum is {sum}"),
            link: "/tally".to_owned(),
        });
        let listed = member.map(|member| Pointer::Set { key: "tallies".to_owned(), item: member.clone() });
        Ok(Decision {
            events: vec![Added { amount, note }],
            effects: told.into_iter().collect(),
            pointers: listed.into_iter().collect(),
            answer: sum,
        })
    }

    fn evolve(state: &mut Total, event: &Added, _: Head) {
        state.sum += event.amount;
        state.notes.extend(event.note.clone());
    }

    fn seal(event: &Added, prev: Head) -> Result<Entry, Fault> {
        let payload = event.note.as_ref().map(|note| Payload::new(note.clone().into_bytes()));
        let named = payload.as_ref().map_or_else(|| "-".to_owned(), |payload| payload.digest.to_string());
        let bytes = format!("{} {named}", event.amount).into_bytes();
        Ok(Entry { seq: prev.seq + 1, prev: prev.hash, hash: link(prev.hash, &bytes), bytes, payload })
    }

    fn open(entry: &Entry, prev: Head) -> Result<Added, Fault> {
        let fault = |code| Fault::new(code, format!("entry {}", entry.seq));
        if entry.seq != prev.seq + 1 || entry.prev != prev.hash || entry.hash != link(prev.hash, &entry.bytes)
        {
            return Err(fault("bad_link"));
        }
        let text = std::str::from_utf8(&entry.bytes).map_err(|_| fault("bad_entry"))?;
        let (amount, named) = text.split_once(' ').ok_or_else(|| fault("bad_entry"))?;
        let note = match &entry.payload {
            Some(payload) if payload.digest.to_string() == named => {
                Some(String::from_utf8(payload.bytes.clone()).map_err(|_| fault("bad_payload"))?)
            }
            Some(_) => return Err(fault("bad_payload")),
            None => None,
        };
        Ok(Added { amount: amount.parse().map_err(|_| fault("bad_entry"))?, note })
    }
}

/// The tally's chain rule: SHA-256(prev ‖ bytes).
pub fn link(prev: Digest, bytes: &[u8]) -> Digest {
    Digest::of_parts(&[prev.as_bytes(), bytes])
}
