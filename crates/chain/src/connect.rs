//! Which chain an address means.

use crate::blockfrost::Blockfrost;
use crate::ogmios::Ogmios;
use crate::{Chain, ChainError, LedgerChain};
use env::Source;
use fetch::Policy;
use mandate::issue::ChainName;
use std::path::Path;
use std::sync::Arc;

/// `memory:` is an embedded ledger that is forgotten, `file:PATH` one that is kept; `https://…` is a server that speaks
/// Blockfrost's interface, whose `project` goes with every call; `wss://…` is a node behind Ogmios, see [`Ogmios::new`]. Refuses
/// everything else. What is not public is called only if `policy` lists it, and over `http://` and `ws://` too then.
pub fn connect(
    url: &str,
    project: &str,
    network: ChainName,
    clock: Arc<dyn Source>,
    policy: Policy,
) -> Result<Arc<dyn Chain>, ChainError> {
    if url == "memory:" {
        return Ok(Arc::new(LedgerChain::open(None, clock, network)?));
    }
    if let Some(path) = url.strip_prefix("file:").filter(|path| !path.is_empty()) {
        return Ok(Arc::new(LedgerChain::open(Some(Path::new(path)), clock, network)?));
    }
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(Arc::new(Blockfrost::new(url, project, policy)?));
    }
    if url.starts_with("wss://") || url.starts_with("ws://") {
        return Ok(Arc::new(Ogmios::new(url, network, policy)?));
    }
    Err(ChainError::Malformed(format!("{url:?} names no chain: memory:, file:PATH, https://… or wss://…")))
}
