//! Three verifiers, each with its own key, and the billing source that they read: all on this machine, over real HTTP.

use super::cast::Person;
use crate::commands::{Failure, serve};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json as Body, Router};
use env::Source;
use fetch::{Client, HostPort, Policy};
use http::StatusCode;
use keys::SecretHash;
use mandate::statement::{Panel, Seat};
use mandate::text::Id;
use serde_json::{Value as Json, json};
use server::mandates::{Embedded, Peer, Quorum};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use verifier::{Desk, Stripe};

/// Who the billing source knows as the one that pays.
const CUSTOMER: &str = "cus_acme";
const NAMES: [&str; 3] = ["north", "south", "west"];
const REQUIRED: usize = 2;

type Invoices = Arc<Mutex<HashMap<String, Json>>>;

pub struct Billing {
    invoices: Invoices,
    pub quorum: Arc<Quorum>,
}

impl Billing {
    pub async fn open() -> Result<Self, Failure> {
        let invoices = Invoices::default();
        let source = Router::new().route("/v1/invoices/{id}", get(invoice)).with_state(invoices.clone());
        let billing = serve_on_loopback(source).await?;
        let clock: Arc<dyn Source> = Arc::new(env::System);
        let secret = clock.env().secret();
        let (mut seats, mut peers, mut allow) = (Vec::new(), Vec::new(), Vec::new());
        for name in NAMES {
            let name: Id = name.parse().map_err(Failure::unusable_by)?;
            let customer = CUSTOMER.parse().map_err(Failure::unusable_by)?;
            let mandate = "M-001".parse().map_err(Failure::unusable_by)?;
            let desk = Desk {
                name: name.clone(),
                signer: Person::new()?.0,
                clock: Arc::clone(&clock),
                callers: vec![SecretHash::of(&secret)],
                billing: Stripe::new(client(vec![billing.clone()])?, &format!("http://{billing}"), "rk_demo")
                    .map_err(Failure::unusable_by)?,
                customers: HashMap::from([(mandate, customer)]),
                feeds: HashMap::new(),
            };
            seats.push(Seat { name: name.clone(), key: desk.key().map_err(Failure::unusable_by)? });
            let address = serve_on_loopback(verifier::router(Arc::new(desk))).await?;
            let peer = Peer::new(name, &format!("http://{address}"), &secret);
            peers.push(peer.map_err(Failure::unusable_by)?);
            allow.push(address);
        }
        let panel = Panel::new(seats, REQUIRED).map_err(Failure::unusable_by)?;
        let patience = Duration::from_secs(10);
        let quorum = Quorum::new(panel, peers, client(allow)?, clock, patience, Arc::new(Embedded));
        Ok(Self { invoices, quorum: Arc::new(quorum) })
    }

    /// The vendor sends an invoice, over so many cents, to be paid at this address.
    pub fn send(&self, id: &str, number: &str, cents: u64, payout: &str) {
        let invoice = json!({
            "object": "invoice", "id": id, "number": number, "customer": CUSTOMER, "status": "open",
            "amount_due": cents, "currency": "usd",
            "metadata": { "vendor_id": "aws", "payout_chain": "cardano-preprod", "payout_address": payout },
        });
        self.invoices.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), invoice);
    }
}

async fn invoice(State(invoices): State<Invoices>, Path(id): Path<String>) -> Response {
    let found = invoices.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
    let missing = || json!({ "error": { "type": "invalid_request_error", "code": "resource_missing" } });
    match found {
        Some(invoice) => Body(invoice).into_response(),
        None => (StatusCode::NOT_FOUND, Body(missing())).into_response(),
    }
}

async fn serve_on_loopback(router: Router) -> Result<HostPort, Failure> {
    let listener = serve::listen("127.0.0.1:0").await?;
    let address = listener.local_addr().map_err(Failure::unusable_by)?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    address.to_string().parse().map_err(Failure::unusable_by)
}

fn client(allow: Vec<HostPort>) -> Result<Client, Failure> {
    Client::new(Policy { allow, ..Policy::default() }).map_err(Failure::unusable_by)
}
