//! The agent's side: what stands between an MCP host and its servers (`countersign wrap`).
//!
//! Messages pass as they are, byte for byte where one server is wrapped. A tool call is decided before it is sent and recorded
//! before its answer is given; what the agent reads is recorded too. No call is sent twice.

mod custody;
mod error;
pub mod gate;
pub mod host;
pub mod hub;
mod lines;
mod slot;
pub mod upstream;
pub mod wire;

pub use custody::{Client, Custody};
pub use error::Error;
pub use gate::{Asked, Call, Decision, Denial, Gate, Outcome, Ticket};
pub use hub::{End, Event, Hub};
pub use upstream::{Program, Remote, Target, Upstream};

/// Says something on standard error, which may be closed or full.
pub fn warn(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "countersign: {text}");
}
