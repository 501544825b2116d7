//! A check sold as a Masumi job: a buyer orders it, pays through a payment service of this machine, and checks what it got.

use super::mandate::Story;
use super::{short, step, text};
use crate::commands::{Failure, verify as verdict};
use fetch::{Client, HostPort, Policy, Request};
use http::{HeaderName, Method, StatusCode};
use serde_json::{Value, json};
use server::mandates::masumi::{Funds, Local, Node, Selling};
use server::mandates::{CallerKey, Kind};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where jobs of the demo are paid, and the key for it.
pub struct Market {
    at: SocketAddr,
    token: String,
    client: Client,
}

const BUYER: &str = "0123456789abcdef0123";
/// The name that a registered agent has: a policy and an asset name.
const AGENT_BYTES: usize = 40;

impl Market {
    pub async fn open() -> Result<Self, Failure> {
        let source = Arc::new(env::System);
        let token = env::Source::env(&env::System).secret();
        let service = Arc::new(Local::new(source, &agent(), &seller(), price(), &token));
        let listener = crate::commands::serve::listen("127.0.0.1:0").await?;
        let at = listener.local_addr().map_err(Failure::unusable_by)?;
        tokio::spawn(async move { axum::serve(listener, service.router()).await });
        let allow = vec![at.to_string().parse::<HostPort>().map_err(Failure::unusable_by)?];
        let client = Client::new(Policy { allow, ..Policy::default() }).map_err(Failure::unusable_by)?;
        Ok(Self { at, token, client })
    }

    /// What the demo's server sells.
    pub fn selling(&self) -> Result<Selling, Failure> {
        let node = Node::new(self.client.clone(), &self.url(""), self.token.clone());
        Ok(Selling {
            caller: CallerKey {
                name: "masumi".to_owned(),
                kind: Kind::Masumi,
                secret: keys::SecretHash::of(&env::Source::env(&env::System).secret()),
                mandates: vec!["M-001".parse().map_err(Failure::unusable_by)?],
            },
            agent_identifier: agent(),
            seller_vkey: seller(),
            network: "Preprod".to_owned(),
            price: price(),
            source_index: 0,
            payments: Arc::new(node.map_err(Failure::unusable_by)?),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/api/v1{path}", self.at)
    }

    /// The buyer pays what the seller quoted.
    async fn pay(&self, terms: &Value) -> Result<(), Failure> {
        let number = |name: &str| terms.get(name).map(Value::to_string);
        let body = json!({
            "identifierFromPurchaser": BUYER, "network": "Preprod", "sellerVkey": terms.get("sellerVKey"),
            "blockchainIdentifier": terms.get("blockchainIdentifier"), "inputHash": terms.get("input_hash"),
            "agentIdentifier": terms.get("agentIdentifier"), "payByTime": number("payByTime"),
            "submitResultTime": number("submitResultTime"), "unlockTime": number("unlockTime"),
            "externalDisputeUnlockTime": number("externalDisputeUnlockTime"),
        });
        let request = Request::post(&self.url("/purchase"), body.to_string())
            .and_then(|request| request.header(http::header::CONTENT_TYPE, "application/json"))
            .and_then(|request| request.header(HeaderName::from_static("token"), &self.token));
        let paid = self.client.send(request.map_err(Failure::unusable_by)?).await;
        let paid = paid.map_err(Failure::unusable_by)?;
        if paid.status == StatusCode::OK {
            return Ok(());
        }
        Err(Failure::refused(format!("the payment service answered {}", paid.status)))
    }
}

impl Story<'_> {
    /// Sells the evaluation of an invoice, and has the buyer check it without the server.
    pub async fn sell(&self, market: &Market, id: &str, amount: u64, folder: &Path) -> Result<(), Failure> {
        let proposal = self.signed_proposal(id, amount)?;
        let order = json!({ "identifier_from_purchaser": BUYER,
            "input_data": { "mandate_id": "M-001", "proposal": proposal } });
        let terms = self.ok(Method::POST, "/start_job", Some(&order), &[]).await?;
        market.pay(&terms).await?;
        let job = text(&terms, "job_id")?;
        let path = format!("/status?job_id={job}");
        let done = async {
            loop {
                let told = self.ok(Method::GET, &path, None, &[]).await?;
                match told.get("status").and_then(Value::as_str) {
                    Some("completed") => return Ok(told),
                    Some("failed") => return Err(Failure::refused("the job failed")),
                    _ => tokio::time::sleep(Duration::from_millis(200)).await,
                }
            }
        };
        let told = tokio::time::timeout(Duration::from_secs(30), done).await;
        let told = told.map_err(|_| Failure::refused("the job was not delivered"))??;
        let file = self.ok(Method::GET, &format!("/v1/jobs/{job}/proof"), None, &[]).await?;
        let bytes = canon::to_vec(&file).map_err(Failure::unusable_by)?;
        std::fs::write(folder.join("job.json"), &bytes).map_err(Failure::unusable_by)?;
        let report = verify::verify(&bytes, None);
        if report.verdict != verify::Verdict::Valid {
            return Err(Failure::refused(format!("the job does not verify\n{}", verdict::shown(&report))));
        }
        let hash = text(&told, "result_hash")?;
        step(
            "sell",
            &format!(
                "another agent buys a judgement as a Masumi job, paid in a local payment service; its hash ({}) holds",
                short(&hash)
            ),
        );
        Ok(())
    }
}

fn agent() -> String {
    "a9".repeat(AGENT_BYTES)
}

fn seller() -> String {
    "5e".repeat(28)
}

/// One tUSDM, as the reference charges.
fn price() -> Funds {
    let unit = "16a55b2a349361ff88c03788f93e1e966e5d689605d044fef722ddde0014df10745553444d";
    Funds { amount: "1000000".to_owned(), unit: unit.to_owned() }
}
