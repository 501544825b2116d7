//! A verifier of facts (spec 1.6): a process of its own, with its own key and its own way to the billing source. It is asked
//! about an action, reads the invoice itself, and signs what it found. It decides nothing, and its word alone carries
//! nothing: whoever asks wants the same of several.
//!
//! No statement is signed about what could not be read. The only answers of a source that count are an invoice and, in the
//! source's own words, that there is none.

mod desk;
mod error;
mod stripe;

pub use desk::{Desk, router};
pub use error::Error;
pub use stripe::{Found, Stripe};
