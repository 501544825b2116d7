//! The signer (spec 3.15): it keeps the log, decides by policy what may be called, and asks people; an agent never holds a key
//! and never writes the log.
//!
//! Pure. [`State`] is the fold of the log's records; [`decide`] makes of a command the records to sign, or refuses; who calls
//! is a parameter that comes from the transport alone ([`Identity`]). Whoever runs it seals the records ([`State::seal`]), signs
//! them, makes them durable, and only then answers.
//!
//! | what | where | spec |
//! |---|---|---|
//! | calls and answers on the wire | `rpc/` | 3.15 |
//! | who calls, and tokens of runs | `identity.rs` | 3.10, 3.15 |
//! | rules for tools, hosts, paths, commands, amounts | `policy.rs` | 4.9 |
//! | which key is in force | `keyed.rs` | 3.4 |
//! | the state, and how records fold into it | `state.rs`, `evolve.rs` | 3.3, 3.4 |
//! | runs, decisions, results, inputs, effects | `decide.rs`, `runs.rs` | 3.8, 3.10 |
//! | approvals | `asking.rs` | 3.9 |

mod asking;
mod decide;
mod evolve;
mod fault;
mod identity;
mod keyed;
mod policy;
pub mod rpc;
mod runs;
mod state;

pub use asking::{Answered, Person};
pub use decide::{Asked, Called, Command, Decision, House, Limits, Note, Said, decide};
pub use fault::{Fault, FaultCode};
pub use identity::{Identity, Secrets};
pub use keyed::Keyed;
pub use policy::{Amount, At, Paths, Policy, PolicyError, Rule, Shell};
pub use state::{Approval, Run, Sealed, State};
