//! PXP: rooms where the agents of several people negotiate under sealed intent cards.
//!
//! [`Room`] is the aggregate of profile `strict`: [`Command`]s are decided on a [`State`], recorded as [`Event`]s under
//! the chain rule of [`chain`], and shown by [`view`], [`brief`] and [`bundle`]. Profile `v0` stands apart in module `v0`.

pub mod ask;
pub mod brief;
pub mod bundle;
mod card;
pub mod chain;
pub mod command;
mod decide;
mod enforce;
mod envelope;
mod error;
pub mod event;
mod evolve;
mod facts;
mod id;
pub mod limit;
mod room;
mod said;
mod schema;
pub mod state;
pub mod v0;
pub mod view;
pub mod wire;

pub use brief::Brief;
pub use card::{Amendment, Card, ClauseOpening};
pub use command::{Actor, Bearer, By, Command, Policy, Proof, Reply, Scope, Sent};
pub use envelope::{
    Accepts, CommittedInput, Envelope, EnvelopeClaim, Escalation, Flag, From, Proposal, Review, Speaker,
    answer_commitment, question_commitment, signing_bytes,
};
pub use error::Refusal;
pub use event::{Event, Fact};
pub use facts::untagged;
pub use id::{ClaimId, ClauseRef, IdError, List, QuestionId, RoomId, SeatId, ShareId};
pub use room::Room;
pub use schema::schemas;
pub use state::State;
pub use view::Viewer;
pub use wire::{AnswerInput, CardInput, EnvelopeInput, Ruling, Status};
