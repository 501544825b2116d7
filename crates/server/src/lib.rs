//! The HTTP and MCP edge. It binds the cores to the wire and decides nothing of its own: who a request comes from, how
//! often it may come, and how a decision is spelled.
//!
//! [`App`] is the service layer that HTTP, MCP, the console and the demo share; [`router`] puts it on the wire and
//! [`serve`] serves it.

mod answers;
mod app;
mod caller;
pub mod config;
mod cors;
mod doors;
mod ended;
mod error;
pub mod evidence;
mod guard;
pub mod http;
mod limits;
pub mod mandates;
pub mod mcp;
pub mod messages;
mod once;
mod opening;
mod parking;
mod people;
pub mod problem;
mod proofs;
mod proxy;
mod rooms;
mod router;
mod serve;
mod session;
mod streams;
mod tell;
pub mod v0;
mod views;
mod worker;

pub use answers::{AnswerOutcome, Enrolment, EvidenceInput, Matter, Prepared};
pub use app::{App, Parts};
pub use caller::{Caller, Link, LinkKind};
pub use config::Config;
pub use doors::{Door, Doors};
pub use error::Error;
pub use guard::ClientAddress;
pub use http::meta::collect_metrics;
pub use once::Once;
pub use opening::{OpenRoom, Opened, OtherSeat, SeatLink};
pub use people::{Ceremony, Done, FirstLink, Waiting};
pub use proofs::LedgerExport;
pub use rooms::{Joined, RoomLine, SharedLink, Standpoint};
pub use router::{guarded, router};
pub use serve::serve;
pub use session::Session;
pub use tell::{Silent, Tell};
pub use views::{BriefView, LedgerPage, RoomView, SentView};
