//! Asking a person: one model for every protocol. A protocol raises an [`Ask`] with a [`Brief`]; a member of the
//! organization gives an [`Answer`] with [`Evidence`]; the protocol says which evidence it accepts.

mod ask;
mod evidence;

pub use ask::{Answer, Ask, Audience, Brief, Decided, Item, MemberId, OrgId, Section, Standing};
pub use evidence::{Accepts, Evidence, EvidenceKind, Statement};
