//! A payment service for demos and tests. It speaks the wire of Masumi's, for one seller's agent and for any buyer, and it is
//! not one: it knows no chain and holds no money. What a buyer asks to pay is locked at once, and a submitted result is on
//! "chain" when it is next looked at.

use super::service::{Funds, SOURCE};
use axum::extract::{Query, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use canon::Digest;
use env::Source;
use http::StatusCode;
use mandate::DateTime;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The service, and all the payments it knows.
pub struct Local {
    pub agent_identifier: String,
    pub seller_vkey: String,
    pub price: Funds,
    /// The key that every call brings in the header `token`.
    pub token: String,
    source: Arc<dyn Source>,
    kept: Mutex<Vec<Kept>>,
}

#[derive(Debug, Clone)]
struct Kept {
    id: String,
    asked: Value,
    /// Pay by, submit, unlock, dispute: milliseconds.
    times: [u64; 4],
    paid: bool,
    result: Option<String>,
    /// Whether the result is "on chain".
    landed: bool,
}

type Told = Result<Json<Value>, (StatusCode, Json<Value>)>;

impl Local {
    pub fn new(
        source: Arc<dyn Source>,
        agent_identifier: &str,
        seller_vkey: &str,
        price: Funds,
        token: &str,
    ) -> Self {
        Self {
            agent_identifier: agent_identifier.to_owned(),
            seller_vkey: seller_vkey.to_owned(),
            price,
            token: token.to_owned(),
            source,
            kept: Mutex::default(),
        }
    }

    /// Its routes, below `/api/v1`. Some clients end them in a slash.
    pub fn router(self: &Arc<Self>) -> Router {
        let routes = Router::new()
            .route("/payment", get(list).post(request))
            .route("/payment/", post(request))
            .route("/payment/resolve-blockchain-identifier", post(resolve))
            .route("/payment/submit-result", post(submit))
            .route("/purchase", post(purchase))
            .route("/purchase/", post(purchase))
            .route("/purchase/resolve-blockchain-identifier", post(resolve_purchase))
            .layer(from_fn_with_state(Arc::clone(self), authenticated))
            .with_state(Arc::clone(self));
        Router::new().nest("/api/v1", routes)
    }

    /// How many payments were asked for, and how many were paid.
    pub fn counted(&self) -> (usize, usize) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.len(), kept.iter().filter(|one| one.paid).count())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.source.now().as_micros().div_euclid(1000)).unwrap_or(0)
    }

    fn with<T>(&self, id: Option<&Value>, change: impl FnOnce(&mut Kept) -> T) -> Result<T, Refusal> {
        let id = id.and_then(Value::as_str).unwrap_or_default();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter_mut().find(|one| one.id == id);
        found.map(change).ok_or_else(|| no(StatusCode::NOT_FOUND, "Payment not found"))
    }

    fn payment(&self, kept: &Kept) -> Value {
        let mut told = self.common(kept);
        if let Some(members) = told.as_object_mut() {
            members.insert("RequestedFunds".to_owned(), json!([self.price]));
            members.insert(
                "NextAction".to_owned(),
                json!({
                "requestedAction": match (kept.paid, &kept.result, kept.landed) {
                    (_, Some(_), true) => "None",
                    (_, Some(_), false) => "SubmitResultRequested",
                    _ => "WaitingForExternalAction",
                },
                "resultHash": kept.result, "errorType": null, "errorNote": null }),
            );
        }
        told
    }

    fn common(&self, kept: &Kept) -> Value {
        let [pay_by, submit_result, unlock, dispute] = kept.times.map(|time| time.to_string());
        json!({
            "id": &kept.id.get(..24).unwrap_or_default(), "blockchainIdentifier": kept.id,
            "agentIdentifier": self.agent_identifier, "inputHash": kept.asked.get("inputHash"),
            "payByTime": pay_by, "submitResultTime": submit_result, "unlockTime": unlock,
            "externalDisputeUnlockTime": dispute, "metadata": kept.asked.get("metadata"),
            "resultHash": kept.result.as_ref().filter(|_| kept.landed),
            "onChainState": match (kept.paid, kept.landed) {
                (_, true) => json!("ResultSubmitted"),
                (true, false) => json!("FundsLocked"),
                (false, false) => Value::Null,
            },
            "CurrentTransaction": kept.paid.then(|| json!({ "txHash": Digest::of(kept.id.as_bytes()).to_string(),
                "status": "Confirmed" })),
            "PaymentSource": { "network": kept.asked.get("network"), "paymentSourceType": SOURCE },
            "SmartContractWallet": { "walletVkey": self.seller_vkey },
        })
    }
}

type Refusal = (StatusCode, Json<Value>);

/// The shortest agent identifier, in characters.
const SHORTEST_AGENT: usize = 57;
const MINUTE: u64 = 60_000;

async fn authenticated(State(local): State<Arc<Local>>, request: Request, next: Next) -> Response {
    let token = request.headers().get("token").map(http::HeaderValue::as_bytes);
    if token == Some(local.token.as_bytes()) {
        return next.run(request).await;
    }
    no(StatusCode::UNAUTHORIZED, "Unauthorized, no valid api key provided").into_response()
}

/// `POST /payment`, by the seller.
async fn request(State(local): State<Arc<Local>>, Json(asked): Json<Value>) -> Told {
    let bad = |text: &str| no(StatusCode::BAD_REQUEST, text);
    let text = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("agentIdentifier").len() < SHORTEST_AGENT || text("agentIdentifier") != local.agent_identifier {
        return Err(no(StatusCode::NOT_FOUND, "Agent identifier not found"));
    }
    if !is_hex(text("identifierFromPurchaser"), 14..=26) {
        return Err(bad("Purchaser identifier is not a valid hex string"));
    }
    if !is_hex(text("inputHash"), 1..=250) {
        return Err(bad("Input hash is not a valid hex string"));
    }
    if text("paymentSourceType") == SOURCE && asked.get("supportedPaymentSourceIndex").is_none() {
        return Err(bad("supportedPaymentSourceIndex is required"));
    }
    if asked.get("RequestedFunds").is_some() {
        return Err(bad("For fixed pricing, RequestedFunds must be null"));
    }
    let at = |name: &str| text(name).parse::<DateTime>().ok()?.millis().map(mandate::Millis::get);
    let (pay_by, submit) = at("payByTime").zip(at("submitResultTime")).ok_or_else(|| bad("bad time"))?;
    let unlock = at("unlockTime").unwrap_or(submit + 360 * MINUTE);
    let dispute = at("externalDisputeUnlockTime").unwrap_or(submit + 720 * MINUTE);
    let now = local.now();
    let in_order = pay_by + 5 * MINUTE <= submit
        && pay_by + 5 * MINUTE >= now
        && submit >= now + 15 * MINUTE
        && submit + 15 * MINUTE <= unlock
        && unlock + 15 * MINUTE <= dispute;
    if !in_order {
        return Err(bad("the times are not in order, or too near"));
    }
    let mut kept = local.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let unique = format!("{} {} {asked}", kept.len(), local.source.env().secret());
    let one = Kept {
        id: Digest::of(unique.as_bytes()).to_string() + &Digest::of(text("inputHash").as_bytes()).to_string(),
        asked: asked.clone(),
        times: [pay_by, submit, unlock, dispute],
        paid: false,
        result: None,
        landed: false,
    };
    let told = local.payment(&one);
    kept.push(one);
    Ok(yes(told))
}

/// `GET /payment`, newest first.
async fn list(State(local): State<Arc<Local>>, Query(asked): Query<HashMap<String, String>>) -> Told {
    let limit = asked.get("limit").map_or(Ok(10), |limit| limit.parse::<usize>());
    let limit = limit.map_err(|_| no(StatusCode::BAD_REQUEST, "limit"))?;
    let kept = local.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<Value> = kept.iter().rev().take(limit).map(|one| local.payment(one)).collect();
    Ok(yes(json!({ "Payments": all })))
}

async fn resolve(State(local): State<Arc<Local>>, Json(asked): Json<Value>) -> Told {
    let told = local.with(asked.get("blockchainIdentifier"), |one| {
        one.landed |= one.result.is_some();
        local.payment(one)
    })?;
    Ok(yes(told))
}

/// `POST /payment/submit-result`, by the seller: once, for locked funds.
async fn submit(State(local): State<Arc<Local>>, Json(asked): Json<Value>) -> Told {
    let Some(hash) = asked.get("submitResultHash").and_then(Value::as_str) else {
        return Err(no(StatusCode::BAD_REQUEST, "submitResultHash"));
    };
    let now = local.now();
    let taken = local.with(asked.get("blockchainIdentifier"), |one| {
        let [_, submit, ..] = one.times;
        let open = one.paid && one.result.is_none() && now <= submit;
        if open {
            one.result = Some(hash.to_owned());
        }
        open.then(|| local.payment(one))
    })?;
    taken.map(yes).ok_or_else(|| no(StatusCode::NOT_FOUND, "Payment not found or in invalid state"))
}

/// `POST /purchase`, by the buyer: what the seller quoted, unchanged, once and in time.
async fn purchase(State(local): State<Arc<Local>>, Json(asked): Json<Value>) -> Told {
    let text = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default();
    let now = local.now();
    let vkey = local.seller_vkey.clone();
    local.with(asked.get("blockchainIdentifier"), |one| {
        let same = ["inputHash", "identifierFromPurchaser", "agentIdentifier", "network"]
            .iter()
            .all(|name| one.asked.get(*name).and_then(Value::as_str) == Some(text(name)));
        let [pay_by, submit, unlock, dispute] = one.times.map(|time| time.to_string());
        let times = [
            text("payByTime"),
            text("submitResultTime"),
            text("unlockTime"),
            text("externalDisputeUnlockTime"),
        ];
        if !same || times != [&*pay_by, &*submit, &*unlock, &*dispute] || text("sellerVkey") != vkey {
            return Err(no(StatusCode::BAD_REQUEST, "not as the seller quoted it"));
        }
        let [pay_by, ..] = one.times;
        if now > pay_by {
            return Err(no(StatusCode::BAD_REQUEST, "Pay by time is over"));
        }
        if one.paid {
            return Err(no(StatusCode::CONFLICT, "Purchase exists"));
        }
        one.paid = true;
        Ok(yes(bought(&local, one)))
    })?
}

async fn resolve_purchase(State(local): State<Arc<Local>>, Json(asked): Json<Value>) -> Told {
    let told = local.with(asked.get("blockchainIdentifier"), |one| {
        one.landed |= one.result.is_some();
        one.paid.then(|| bought(&local, one))
    })?;
    told.map(yes).ok_or_else(|| no(StatusCode::NOT_FOUND, "Purchase not found"))
}

/// A payment as its buyer sees it.
fn bought(local: &Local, kept: &Kept) -> Value {
    let mut told = local.common(kept);
    if let Some(members) = told.as_object_mut() {
        members.insert("PaidFunds".to_owned(), json!([local.price]));
        let action = if kept.landed { "None" } else { "WaitingForExternalAction" };
        let next = json!({ "requestedAction": action, "errorType": null, "errorNote": null });
        members.insert("NextAction".to_owned(), next);
        members.insert("SellerWallet".to_owned(), json!({ "walletVkey": local.seller_vkey }));
    }
    told
}

fn is_hex(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn yes(data: Value) -> Json<Value> {
    Json(json!({ "status": "success", "data": data }))
}

fn no(status: StatusCode, message: &str) -> Refusal {
    (status, Json(json!({ "status": "error", "error": { "message": message } })))
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("agent", &self.agent_identifier).finish_non_exhaustive()
    }
}
