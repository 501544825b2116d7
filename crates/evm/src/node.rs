//! A node, by JSON-RPC over HTTP.

use crate::Error;
use crate::word::{Address, TxHash};
use canon::Value;
use fetch::{Client, Destination, Request};
use http::{Method, header};
use serde_json::{Value as Json, json};
use std::fmt;
use std::time::Duration;

pub struct Node {
    client: Client,
    to: Destination,
}

/// Which state a contract is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    Latest,
    Number(u64),
}

/// What a block holds of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub done: bool,
}

/// A node that does not answer in this time is not there.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Node {
    /// Refuses an address that `client` would not call.
    pub fn new(client: Client, url: &str) -> Result<Self, Error> {
        let settings = |error: fetch::Error| Error::Settings(format!("{url}: {error}"));
        let to = Destination::parse(url).map_err(settings)?;
        client.permits(&to).map_err(settings)?;
        Ok(Self { client, to })
    }

    pub async fn chain_id(&self) -> Result<u64, Error> {
        number(&self.ask("eth_chainId", json!([])).await?)
    }

    /// The number of the newest block.
    pub async fn height(&self) -> Result<u64, Error> {
        number(&self.ask("eth_blockNumber", json!([])).await?)
    }

    /// What a contract answers.
    pub async fn call(&self, to: Address, data: &[u8], at: Block) -> Result<Vec<u8>, Error> {
        let call = json!({ "to": to.to_string(), "data": format!("0x{}", hex::encode(data)) });
        bytes(&self.ask("eth_call", json!([call, at.tag()])).await?)
    }

    /// How many transactions of an account there are, those that wait included.
    pub(crate) async fn nonce(&self, of: Address) -> Result<u64, Error> {
        number(&self.ask("eth_getTransactionCount", json!([of.to_string(), "pending"])).await?)
    }

    pub(crate) async fn gas_price(&self) -> Result<u128, Error> {
        quantity(&self.ask("eth_gasPrice", json!([])).await?)
    }

    /// Hands in a signed transaction. [`Error::Unknown`]: it may have been taken.
    pub(crate) async fn send(&self, raw: &[u8]) -> Result<(), Error> {
        self.ask("eth_sendRawTransaction", json!([format!("0x{}", hex::encode(raw))])).await.map(drop)
    }

    pub(crate) async fn receipt(&self, tx: TxHash) -> Result<Option<Receipt>, Error> {
        let receipt = self.ask("eth_getTransactionReceipt", json!([tx.to_string()])).await?;
        if receipt.is_null() {
            return Ok(None);
        }
        let status =
            receipt.get("status").ok_or_else(|| Error::Malformed("a receipt without status".to_owned()))?;
        Ok(Some(Receipt { done: number(status)? == 1 }))
    }

    async fn ask(&self, method: &str, params: Json) -> Result<Value<'static>, Error> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut request = Request { body: body.into(), ..Request::new(Method::POST, self.to.clone()) };
        request.timeout = Some(TIMEOUT);
        request.headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let answer = self.client.send(request).await.map_err(|error| {
            if error.is_ambiguous() {
                Error::Unknown(error.to_string())
            } else {
                Error::Unavailable(error.to_string())
            }
        })?;
        // Some nodes say no with a status as well as in words.
        let value = canon::parse(&answer.body);
        let Ok(value) = value else {
            return Err(Error::Unknown(format!("{method}: status {}", answer.status)));
        };
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            return Err(Error::Refused { code, message: message.chars().take(SHOWN).collect() });
        }
        let result = value.get("result").cloned().ok_or_else(|| malformed(method))?;
        Ok(result.into_static())
    }
}

/// Characters of a node's words.
const SHOWN: usize = 300;

impl Block {
    fn tag(self) -> String {
        match self {
            Self::Latest => "latest".to_owned(),
            Self::Number(number) => format!("{number:#x}"),
        }
    }
}

fn malformed(what: &str) -> Error {
    Error::Malformed(what.to_owned())
}

fn quantity(value: &Value<'_>) -> Result<u128, Error> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).filter(|digits| !digits.is_empty());
    digits.and_then(|digits| u128::from_str_radix(digits, 16).ok()).ok_or_else(|| malformed("not a quantity"))
}

fn number(value: &Value<'_>) -> Result<u64, Error> {
    u64::try_from(quantity(value)?).map_err(|_| malformed("a quantity of more than 64 bits"))
}

fn bytes(value: &Value<'_>) -> Result<Vec<u8>, Error> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    digits.and_then(|digits| hex::decode(digits).ok()).ok_or_else(|| malformed("not bytes"))
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.to.origin())
    }
}
