//! A node of one's own through Ogmios (JSON-RPC over WebSocket, version 6).
//!
//! It answers for the ledger as it stands. What is in a block already is known only of the blocks that were followed since a
//! point, and of these only the transactions that concern this process: see [`follow`].

mod follow;
mod wire;

use crate::refusal::{refusal, shortened};
use crate::{Chain, ChainError, Confirmed, ExUnits, Parameters, Slots, Tip, Utxo};
use async_trait::async_trait;
use fetch::{Client, Destination, Policy, WebSocket};
use follow::{Follower, Point, Wanted};
use mandate::issue::ChainName;
use mandate::price::OutRef;
use mandate::text::TxHash;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A node behind Ogmios.
pub struct Ogmios {
    server: Server,
    slots: Slots,
    wanted: Mutex<Wanted>,
    followed: tokio::sync::Mutex<Follower>,
}

/// Answers may be long: all outputs at an address come in one.
const LONGEST: usize = 64 << 20;
/// Of a transaction's outputs, so many are looked for to see whether it is in a block.
const LOOKED_FOR: u32 = 4;

impl Ogmios {
    /// `url` is as `wss://node.example:1337` or, where blocks are followed from a point, `wss://node.example:1337#SLOT.HASH`;
    /// without one they are followed from the one that is the newest when something is first handed in or asked for. What is not
    /// public is called only if `policy` lists it.
    pub fn new(url: &str, network: ChainName, policy: Policy) -> Result<Self, ChainError> {
        let (address, start) = match url.split_once('#') {
            Some((address, point)) => (address, Some(point.parse::<Point>()?)),
            None => (url, None),
        };
        let bad = |error: fetch::Error| ChainError::Malformed(error.to_string());
        let to = address.strip_prefix("ws").map(|rest| format!("http{rest}"));
        let to = Destination::parse(&to.unwrap_or_default()).map_err(bad)?;
        let client = Client::new(Policy { max_body: policy.max_body.max(LONGEST), ..policy }).map_err(bad)?;
        client.permits(&to).map_err(bad)?;
        let server = Server { client, to, idle: Mutex::default() };
        let followed = tokio::sync::Mutex::new(Follower::new(start));
        Ok(Self { server, slots: Slots::of(network), wanted: Mutex::default(), followed })
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Json) -> Result<T, ChainError> {
        let answer = self.server.call(method, params).await.map_err(|error| error.unavailable())?;
        read(answer.map_err(|refused| ChainError::Unavailable(refused.to_string()))?)
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn outputs(&self, params: Json) -> Result<Vec<Utxo>, ChainError> {
        let found: Vec<wire::Utxo> = self.ask("queryLedgerState/utxo", params).await?;
        found.into_iter().filter_map(|utxo| utxo.utxo().transpose()).collect()
    }
}

#[async_trait]
impl Chain for Ogmios {
    async fn tip(&self) -> Result<Tip, ChainError> {
        let point: wire::Origin<wire::Point> = self.ask("queryNetwork/tip", Json::Null).await?;
        let height: wire::Origin<u64> = self.ask("queryNetwork/blockHeight", Json::Null).await?;
        let slot = point.known().map_or(0, |point| point.slot);
        Ok(Tip { slot, height: height.known().unwrap_or(0), time: self.slots.time(slot) })
    }

    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        let wire: wire::Parameters = self.ask("queryLedgerState/protocolParameters", Json::Null).await?;
        wire.parameters().map(Arc::new)
    }

    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        self.wanted().addresses.insert(address.to_owned());
        self.outputs(json!({ "addresses": [address] })).await
    }

    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        let found = self.outputs(json!({ "outputReferences": [wire::output_reference(&at)] })).await?;
        Ok(found.into_iter().find(|utxo| utxo.at == at))
    }

    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let hash = crate::transaction::Transaction::read(tx)?.hash();
        self.wanted().hashes.insert(hash);
        self.followed.lock().await.ready(&self.server).await?;
        let params = json!({ "transaction": { "cbor": hex::encode(tx) } });
        let answer = self.server.call("submitTransaction", params).await.map_err(Failed::of_submission)?;
        match answer {
            Ok(answer) => match read::<wire::Submitted>(answer) {
                Ok(submitted) if submitted.transaction.id == hash => Ok(hash),
                Ok(_) => Err(ChainError::Unknown("it was taken under another name".to_owned())),
                Err(error) => Err(ChainError::Unknown(error.to_string())),
            },
            Err(refused) => Err(refused.to_chain()),
        }
    }

    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        self.wanted().hashes.insert(hash);
        let mut followed = self.followed.lock().await;
        followed.catch_up(&self.server, &self.slots, &self.wanted).await?;
        if let Some(found) = followed.found(&hash) {
            return Ok(Some(found.clone()));
        }
        drop(followed);
        let outputs = (0..LOOKED_FOR).map(|output_index| OutRef { output_index, tx_hash: hash });
        let outputs: Vec<_> = outputs.map(|at| wire::output_reference(&at)).collect();
        let there: Vec<Json> =
            self.ask("queryLedgerState/utxo", json!({ "outputReferences": outputs })).await?;
        if there.is_empty() {
            return Ok(None);
        }
        let text =
            format!("{hash} is in a block that is not followed: give the point before it (#SLOT.HASH)");
        Err(ChainError::Unavailable(text))
    }

    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        let params = json!({ "transaction": { "cbor": hex::encode(tx) } });
        let answer = self.server.call("evaluateTransaction", params).await;
        let answer = answer.map_err(|error| error.unavailable())?.map_err(|refused| refused.to_chain())?;
        let mut units: Vec<wire::Evaluated> = read(answer)?;
        units.sort_by_key(|one| (one.validator.purpose != "spend", one.validator.index));
        Ok(units
            .into_iter()
            .map(|one| ExUnits { memory: one.budget.memory, steps: one.budget.cpu })
            .collect())
    }
}

impl fmt::Debug for Ogmios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ogmios").field("server", &self.server.to.origin()).finish_non_exhaustive()
    }
}

/// The connections to one server. A call has one to itself; one whose call failed, or was given up, is not used again.
struct Server {
    client: Client,
    to: Destination,
    idle: Mutex<Vec<WebSocket>>,
}

impl Server {
    async fn call(&self, method: &str, params: Json) -> Result<Result<Json, Refused>, Failed> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut socket = match idle {
            Some(socket) => socket,
            None => self.open().await?,
        };
        let answer = call(&mut socket, method, params).await?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        Ok(answer)
    }

    async fn open(&self) -> Result<WebSocket, Failed> {
        self.client.websocket(&self.to).await.map_err(|error| Failed { sent: false, error })
    }
}

/// One call and its answer, on a connection where nothing else is under way.
async fn call(socket: &mut WebSocket, method: &str, params: Json) -> Result<Result<Json, Refused>, Failed> {
    let mut request = json!({ "jsonrpc": "2.0", "method": method, "id": method });
    if let (Some(members), false) = (request.as_object_mut(), params.is_null()) {
        members.insert("params".to_owned(), params);
    }
    let failed = |error| Failed { sent: true, error };
    socket.send(request.to_string()).await.map_err(failed)?;
    let text = socket.next().await.map_err(failed)?;
    let answer: wire::Answer = serde_json::from_str(&text).map_err(|error| {
        failed(fetch::Error::Broken { detail: format!("an answer of another shape: {error}") })
    })?;
    Ok(match (answer.result, answer.error) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => Err(Refused(error)),
        (None, None) => Ok(Json::Null),
    })
}

/// No answer, and whether the call was sent.
#[derive(Debug)]
struct Failed {
    sent: bool,
    error: fetch::Error,
}

impl Failed {
    fn unavailable(&self) -> ChainError {
        ChainError::Unavailable(self.error.to_string())
    }

    fn of_submission(self) -> ChainError {
        let text = self.error.to_string();
        if self.sent { ChainError::Unknown(text) } else { ChainError::Unavailable(text) }
    }
}

/// What the server refuses a call with.
#[derive(Debug)]
struct Refused(wire::Refusal);

impl Refused {
    /// By what helps: the numbers are Ogmios' own.
    fn to_chain(&self) -> ChainError {
        let text = shortened(&self.to_string());
        match self.0.code {
            // Unknown inputs; a value that is not conserved, for an input is gone; what the memory pool does not take, which has
            // its inputs already.
            3117 | 3123 | 3997 => ChainError::Contention(text),
            // The evaluation cannot resolve its inputs.
            3004 if text.contains("UTxO") => ChainError::Contention(text),
            3118 => ChainError::expired(&text),
            // Another era than the node's, or a node that lags behind.
            3000 | 3001 | 3003 | 3005 => ChainError::Unavailable(text),
            -32602 => ChainError::Malformed(text),
            _ => refusal(&self.to_string()),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire::Refusal { code, message, data } = &self.0;
        write!(f, "{code} {message}")?;
        data.as_ref().map_or(Ok(()), |data| write!(f, " {data}"))
    }
}

fn read<T: DeserializeOwned>(answer: Json) -> Result<T, ChainError> {
    serde_json::from_value(answer)
        .map_err(|error| ChainError::Unavailable(format!("an answer of another shape: {error}")))
}
