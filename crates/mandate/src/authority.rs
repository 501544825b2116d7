use crate::command::{Command, Reply};
use crate::log::Event;
use crate::state::State;
use crate::{Refusal, decide, evolve};
use env::Env;
use ledger::{Aggregate, Decision, Entry, Fault, Head};

/// A mandate and everything done under it: the aggregate behind streams `mandate/<id>`.
#[derive(Debug, Clone, Copy)]
pub struct Authority;

impl Aggregate for Authority {
    type State = State;
    type Command = Command;
    type Event = Event;
    type Answer = Reply;
    type Refusal = Refusal;

    const KIND: &'static str = "mandate";

    fn decide(state: &State, command: &Command, env: &mut Env) -> Result<Decision<Event, Reply>, Refusal> {
        decide::decide(state, command, env)
    }

    fn evolve(state: &mut State, event: &Event, at: Head) {
        evolve::evolve(state, event, at);
    }

    fn pointers(state: &State) -> Vec<(String, String)> {
        decide::pointers(state)
    }

    fn seal(event: &Event, prev: Head) -> Result<Entry, Fault> {
        event.seal(prev)
    }

    fn open(entry: &Entry, prev: Head) -> Result<Event, Fault> {
        Event::open(entry, prev)
    }
}
