//! Commands to entries and effects.

use crate::Refusal;
use crate::command::{Command, Reply};
use crate::event::Event;
use crate::state::State;
use env::Env;
use ledger::Decision;

pub(crate) fn decide(
    _state: &State,
    _command: &Command,
    _env: &mut Env,
) -> Result<Decision<Event, Reply>, Refusal> {
    Err(Refusal::Bug("not decided yet".to_owned()))
}
