//! Asking a person: one model for every protocol. A protocol raises an [`Ask`] with a [`Brief`]; a member of the
//! organization gives an [`Answer`] with [`Evidence`]; the protocol says which evidence it accepts, and [`check`] says
//! whether the answer is one.
//!
//! [`people`] is the organization itself, [`text`] what is done to strangers' text before a person reads it.

mod ask;
mod check;
mod error;
mod evidence;
mod inbox;
pub mod people;
mod person;
pub mod text;

pub use ask::{Answer, Ask, Audience, Brief, Decided, Item, MemberId, OrgId, Section, Standing};
pub use check::{Answered, Outcome, check, proves};
pub use error::Refusal;
pub use evidence::{Accepts, Evidence, EvidenceKind, Statement};
pub use inbox::{Waiting, inbox};
pub use people::{NotifyTarget, Organization};
pub use person::{Credentials, Passkey, Person, PlainKey, Power, Right, Role, Site, may};
pub use text::Suspicion;
