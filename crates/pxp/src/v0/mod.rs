//! Profile `v0`: rooms exactly as the seed's published reference plays them, for interoperability (spec of PXP 1 to 6).
//!
//! | spec | module |
//! |---|---|
//! | 1.2, 2.7 ledger and its check | [`ledger`] |
//! | 2.1 text, 2.2 limits | [`text`] |
//! | 2.3 card | [`card`] |
//! | 2.4 envelope, claims, reviews, proposals | [`envelope`] |
//! | 5 enforcement | [`enforce`] |
//! | 3 lifecycle and turns | [`room`] and what it decides |
//! | 2.8 brief | [`brief`] |
//! | 2.9 REST view | [`rest`] |
//! | 2.5, 2.10 MCP view, next action | [`mcp`] |
//! | 2.2, 4.2 quotas, lockout, stream caps, eviction | [`quota`], [`streams`], [`evict`] |
//! | the scripted demonstration | [`demo`] |
//!
//! Inbound text is cut, never refused; claims, reviews and statuses that make no sense are normalised. Three things are
//! ours: entry types and members beyond 2.7 (a v0 verifier passes them), the agreement in the same append as the
//! envelope that makes it, and a cut that never splits a character. Absent on purpose: everything `strict` adds.

pub mod brief;
pub mod card;
mod decide;
pub mod demo;
pub mod enforce;
pub mod envelope;
pub mod event;
pub mod evict;
mod evolve;
pub mod ledger;
pub mod mcp;
pub mod quota;
mod refusal;
pub mod rest;
pub mod room;
pub mod streams;
pub mod text;

pub use brief::Brief;
pub use card::Card;
pub use decide::INDEX;
pub use envelope::Envelope;
pub use refusal::Refusal;
pub use room::{Command, Mode, Phase, Reply, Room, Side, State, Via};
