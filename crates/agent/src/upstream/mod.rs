//! The servers behind the gateway: processes over stdio, and Streamable HTTP.

mod child;
mod http;
mod sse;

pub use child::Program;
pub use http::Remote;

use crate::Error;
use crate::hub::Event;
use tokio::sync::mpsc;

/// Where an upstream is.
#[derive(Debug, Clone)]
pub enum Target {
    Program(Program),
    Remote(Remote),
}

/// An upstream and the name it goes by: `[A-Za-z0-9.-]`, at most 64.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub name: String,
    pub target: Target,
}

impl Upstream {
    /// Keeps it running and tells the hub, until the hub is gone.
    pub async fn keep(self, at: usize, events: mpsc::Sender<Event>) -> Result<(), Error> {
        match self.target {
            Target::Program(program) => program.keep(at, events).await,
            Target::Remote(remote) => remote.keep(at, events).await?,
        }
        Ok(())
    }
}
