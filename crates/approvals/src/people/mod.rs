//! The organization: its people, their keys, their agents, and what they have stopped. One stream, every change an entry.

mod decide;
mod event;
mod evolve;
mod state;
mod wire;

pub use event::{By, Event, Fact, Private};
pub use state::{AgentKey, Delegation, Invite, Member, Pause, State};
pub use wire::{Act, Command, NotifyTarget, Quiet, Reply, Revealed, Target};

use crate::Refusal;
use env::{Duration, Env};
use ledger::{Aggregate, Decision, Entry, Fault, Head};

/// How long an enrolment link is good.
pub const INVITE_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long a recovery link is good.
pub const RECOVERY_LIFE: Duration = Duration::from_secs(3600);
/// An agent key that was not used for this long is dead.
pub const AGENT_KEY_IDLE: Duration = Duration::from_secs(90 * 24 * 3600);
/// How often the use of an agent key is recorded.
pub const TOUCH_EVERY: Duration = Duration::from_secs(24 * 3600);
/// The longest delegation.
pub const DELEGATION_MAX: Duration = Duration::from_secs(90 * 24 * 3600);
/// A vouch for a recovery counts for this long.
pub const VOUCH_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// From when on an owner may vouch, counted from when they became one.
pub const VOUCH_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many recovery codes are printed at once.
pub const CODES: usize = 8;
pub const MAX_AGENT_KEYS: usize = 10;
pub const MAX_PASSKEYS: usize = 10;
pub const MAX_NOTIFY_TARGETS: usize = 8;
pub const MAX_MEMBERS: usize = 1_000;

/// An organization as an aggregate; its stream is `org/<id>`.
#[derive(Debug)]
pub struct Organization;

impl Aggregate for Organization {
    type State = State;
    type Command = Command;
    type Event = Event;
    type Answer = Reply;
    type Refusal = Refusal;

    const KIND: &'static str = "org";

    fn decide(state: &State, command: &Command, env: &mut Env) -> Result<Decision<Event, Reply>, Refusal> {
        decide::decide(state, command, env)
    }

    fn evolve(state: &mut State, event: &Event, _at: Head) {
        evolve::evolve(state, event);
    }

    /// SHA-256(the 32 bytes of `prev` ‖ canonical `{n, type, at, data}`).
    fn pointers(state: &State) -> Vec<(String, String)> {
        decide::pointers(state)
    }

    fn seal(event: &Event, prev: Head) -> Result<Entry, Fault> {
        event::seal(event, prev)
    }

    fn open(entry: &Entry, prev: Head) -> Result<Event, Fault> {
        event::open(entry, prev)
    }
}
