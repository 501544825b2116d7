//! The Masumi payment service, as a seller needs it: it holds the wallets and speaks to the chain, this server asks it for a
//! payment, how one stands, and to submit the hash of a result.

use async_trait::async_trait;
use canon::Digest;
use fetch::{Client, Destination, Request};
use http::header::{CONTENT_TYPE, HeaderName};
use http::{Method, StatusCode};
use mandate::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The kind of payment contract that is asked for.
pub const SOURCE: &str = "Web3CardanoV2";

/// Every call may fail as [`Trouble::Unavailable`] (nothing happened) and as [`Trouble::Unknown`] (the answer was lost, it may
/// have happened).
#[async_trait]
pub trait Payments: Send + Sync + std::fmt::Debug + 'static {
    /// Asks for a payment. Asked twice, there are two.
    async fn request(&self, terms: &Terms) -> Result<Payment, Trouble>;

    /// The payment that was asked for this job, where the answer was lost.
    async fn of_job(&self, terms: &Terms) -> Result<Option<Payment>, Trouble>;

    /// How a payment stands. `None`: the service does not know it.
    async fn payment(&self, terms: &Terms, id: &str) -> Result<Option<Payment>, Trouble>;

    /// Has the hash of a result submitted.
    async fn submit(&self, terms: &Terms, id: &str, result: &Digest) -> Result<Payment, Trouble>;
}

/// Why the payment service did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("the payment service cannot be reached: {0}")]
    Unavailable(String),
    #[error("the payment service's answer was lost: {0}")]
    Unknown(String),
    #[error("the payment service refused: {0}")]
    Refused(String),
}

/// What a payment is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub agent_identifier: String,
    pub deadlines: Deadlines,
    pub identifier_from_purchaser: String,
    pub input_hash: Digest,
    /// Kept with the payment, so that it is found again.
    pub job: String,
    /// `Preprod` or `Mainnet`.
    pub network: String,
    pub price: Funds,
    pub seller_vkey: String,
    pub source_index: u8,
}

/// When what must have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadlines {
    pub external_dispute_unlock: Millis,
    pub pay_by: Millis,
    pub submit_result: Millis,
    pub unlock: Millis,
}

/// Base units of an asset; `unit` is its policy and name in hex, empty for lovelace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funds {
    pub amount: String,
    pub unit: String,
}

/// A payment as the service tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Names it, here and on chain.
    pub id: String,
    pub standing: Standing,
    deadlines: Deadlines,
    input_hash: Option<String>,
    agent_identifier: Option<String>,
    requested: Vec<Funds>,
    network: String,
    source: Option<String>,
    seller_vkey: Option<String>,
    metadata: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The funds are not locked, or not confirmed yet.
    Unpaid,
    /// The funds are locked and wait for a result.
    Locked,
    /// A result of this hash is to be submitted, or is on chain.
    Submitted(String),
    /// Anything else, in the service's word: refunded, disputed, the wrong funds.
    Over(String),
}

impl Payment {
    /// What is not as it was asked for, if anything.
    pub fn differs(&self, terms: &Terms) -> Option<&'static str> {
        let same = |told: &Option<String>, asked: &str| told.as_deref().is_none_or(|told| told == asked);
        let faults = [
            ("blockchainIdentifier", self.id.is_empty() || self.id.len() > MAX_ID),
            ("deadlines", self.deadlines != terms.deadlines),
            ("inputHash", self.input_hash.as_deref() != Some(terms.input_hash.to_string().as_str())),
            ("agentIdentifier", !same(&self.agent_identifier, &terms.agent_identifier)),
            ("RequestedFunds", self.requested != [terms.price.clone()]),
            ("network", self.network != terms.network),
            ("paymentSourceType", !same(&self.source, SOURCE)),
            ("SmartContractWallet", self.seller_vkey.as_deref() != Some(terms.seller_vkey.as_str())),
        ];
        faults.into_iter().find_map(|(name, wrong)| wrong.then_some(name))
    }
}

/// The longest name of a payment, in characters.
const MAX_ID: usize = 8000;

/// The service over HTTP.
pub struct Node {
    client: Client,
    base: String,
    token: String,
}

impl Node {
    /// `base` is the address before `/payment`. Refuses one that may not be called.
    pub fn new(client: Client, base: &str, token: String) -> Result<Self, fetch::Error> {
        let base = base.trim_end_matches('/').to_owned();
        client.permits(&Destination::parse(&format!("{base}/payment"))?)?;
        Ok(Self { client, base, token })
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Option<Value>, Trouble> {
        let unsent = |error: fetch::Error| Trouble::Unavailable(error.to_string());
        let to = Destination::parse(&format!("{}{path}", self.base)).map_err(unsent)?;
        let mut request =
            Request::new(method, to).header(HeaderName::from_static("token"), &self.token).map_err(unsent)?;
        if let Some(body) = body {
            request.body = body.to_string().into();
            request = request.header(CONTENT_TYPE, "application/json").map_err(unsent)?;
        }
        request.timeout = Some(PATIENCE);
        let answer = self.client.send(request).await.map_err(|error| {
            let lost = error.is_ambiguous();
            if lost { Trouble::Unknown(error.to_string()) } else { Trouble::Unavailable(error.to_string()) }
        })?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::TOO_MANY_REQUESTS => Err(Trouble::Unavailable(answer.status.to_string())),
            status if status.is_success() => {
                let body: Answer = serde_json::from_slice(&answer.body)
                    .map_err(|error| Trouble::Unknown(error.to_string()))?;
                Ok(Some(body.data))
            }
            // It may have been done before something went wrong.
            status if status.is_server_error() => Err(Trouble::Unknown(status.to_string())),
            status => Err(Trouble::Refused(status.to_string())),
        }
    }
}

/// Until an answer is taken for lost.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many payments are looked through for one whose name was lost.
const NEWEST: usize = 100;

#[async_trait]
impl Payments for Node {
    async fn request(&self, terms: &Terms) -> Result<Payment, Trouble> {
        let Deadlines { external_dispute_unlock, pay_by, submit_result, unlock } = terms.deadlines;
        let body = json!({
            "agentIdentifier": terms.agent_identifier,
            "externalDisputeUnlockTime": instant(external_dispute_unlock),
            "identifierFromPurchaser": terms.identifier_from_purchaser,
            "inputHash": terms.input_hash.to_string(),
            "metadata": terms.job,
            "network": terms.network,
            "payByTime": instant(pay_by),
            "paymentSourceType": SOURCE,
            "submitResultTime": instant(submit_result),
            "supportedPaymentSourceIndex": terms.source_index,
            "unlockTime": instant(unlock),
        });
        read(self.call(Method::POST, "/payment", Some(&body)).await?.ok_or_else(unknown)?)
    }

    async fn of_job(&self, terms: &Terms) -> Result<Option<Payment>, Trouble> {
        let path = format!(
            "/payment?network={}&limit={NEWEST}&filterPaymentSourceType={SOURCE}&includeHistory=false",
            terms.network
        );
        let found = self.call(Method::GET, &path, None).await?;
        let all = found.as_ref().and_then(|data| data.get("Payments")).and_then(Value::as_array);
        let all = all.ok_or_else(|| Trouble::Unknown("no list of payments".to_owned()))?;
        let payments = all.iter().cloned().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(payments.into_iter().find(|payment| payment.metadata.as_deref() == Some(terms.job.as_str())))
    }

    async fn payment(&self, terms: &Terms, id: &str) -> Result<Option<Payment>, Trouble> {
        let body = json!({ "blockchainIdentifier": id, "includeHistory": "false", "network": terms.network });
        let found = self.call(Method::POST, "/payment/resolve-blockchain-identifier", Some(&body)).await?;
        found.map(read).transpose()
    }

    async fn submit(&self, terms: &Terms, id: &str, result: &Digest) -> Result<Payment, Trouble> {
        let body = json!({ "blockchainIdentifier": id, "network": terms.network,
            "submitResultHash": result.to_string() });
        read(self.call(Method::POST, "/payment/submit-result", Some(&body)).await?.ok_or_else(unknown)?)
    }
}

fn unknown() -> Trouble {
    Trouble::Refused("it does not know this agent or this payment".to_owned())
}

#[derive(Deserialize)]
struct Answer {
    data: Value,
}

/// The members of the service's payments that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    blockchain_identifier: String,
    #[serde(default)]
    agent_identifier: Option<String>,
    #[serde(default)]
    pay_by_time: Option<String>,
    submit_result_time: String,
    unlock_time: String,
    external_dispute_unlock_time: String,
    #[serde(default)]
    input_hash: Option<String>,
    #[serde(default)]
    result_hash: Option<String>,
    #[serde(default)]
    on_chain_state: Option<String>,
    #[serde(rename = "NextAction")]
    next_action: Action,
    #[serde(default, rename = "CurrentTransaction")]
    transaction: Option<Transaction>,
    #[serde(rename = "RequestedFunds")]
    requested: Vec<Funds>,
    #[serde(rename = "PaymentSource")]
    source: Source,
    #[serde(default, rename = "SmartContractWallet")]
    wallet: Option<Wallet>,
    #[serde(default)]
    metadata: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action {
    requested_action: String,
    #[serde(default)]
    result_hash: Option<String>,
}

#[derive(Deserialize)]
struct Transaction {
    #[serde(default)]
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    network: String,
    #[serde(default)]
    payment_source_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wallet {
    wallet_vkey: String,
}

fn read(data: Value) -> Result<Payment, Trouble> {
    let unreadable = |error: &dyn std::fmt::Display| Trouble::Unknown(format!("unreadable: {error}"));
    let told: Told = serde_json::from_value(data).map_err(|error| unreadable(&error))?;
    let millis = |text: &str| {
        let millis = text.parse::<u64>().map_err(|error| unreadable(&error))?;
        Millis::try_from(millis).map_err(|error| unreadable(&error))
    };
    let deadlines = Deadlines {
        external_dispute_unlock: millis(&told.external_dispute_unlock_time)?,
        pay_by: millis(told.pay_by_time.as_deref().unwrap_or_default())?,
        submit_result: millis(&told.submit_result_time)?,
        unlock: millis(&told.unlock_time)?,
    };
    Ok(Payment {
        standing: standing(&told),
        id: told.blockchain_identifier,
        deadlines,
        input_hash: told.input_hash,
        agent_identifier: told.agent_identifier,
        requested: told.requested,
        network: told.source.network,
        source: told.source.payment_source_type,
        seller_vkey: told.wallet.map(|wallet| wallet.wallet_vkey),
        metadata: told.metadata,
    })
}

fn standing(told: &Told) -> Standing {
    let some = |hash: &Option<String>| hash.clone().filter(|hash| !hash.is_empty());
    let asked = told.next_action.requested_action.starts_with("SubmitResult");
    let on_its_way = some(&told.next_action.result_hash).filter(|_| asked);
    if let Some(hash) = some(&told.result_hash).or(on_its_way) {
        return Standing::Submitted(hash);
    }
    let status = told.transaction.as_ref().and_then(|transaction| transaction.status.as_deref());
    match told.on_chain_state.as_deref() {
        None => Standing::Unpaid,
        Some("FundsLocked") if status.is_none_or(|status| status == "Confirmed") => Standing::Locked,
        Some("FundsLocked") => Standing::Unpaid,
        Some(other) => Standing::Over(other.to_owned()),
    }
}

/// As the service reads dates.
fn instant(at: Millis) -> String {
    at.timestamp().to_string()
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("base", &self.base).finish_non_exhaustive()
    }
}
