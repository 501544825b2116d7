//! The agent's side of a mandate: a proposal is signed and sent, its price is paid where a person must be asked, the run is
//! followed to its end, and the receipt is checked without the server.
//!
//! [`Agent`] does all of it. [`Server`] is one request after another, [`Purse`] the agent's money for bonds. What the server
//! says is read into closed types and compared with what was asked: an answer about another action is none.
//!
//! An answer that was lost is asked for again under the same idempotency key, and a price has one lock, kept on disk before
//! it goes out: whatever is lost or ends on the way, nothing is paid twice.

mod agent;
mod answer;
mod ask;
mod bonds;
mod error;
mod purse;
mod run;
mod server;

pub use agent::{Agent, Pace, Receipt};
pub use answer::{Answer, Decided, Outcome, Priced};
pub use ask::Ask;
pub use bonds::{Bonds, Kept};
pub use error::Error;
pub use purse::{Purse, Standing};
pub use run::End;
pub use server::{Credential, MandateShown, Server};
