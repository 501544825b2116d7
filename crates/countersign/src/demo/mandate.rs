//! A mandate at work over real HTTP: what an agent may pay alone, what it must ask for and what that costs, what is refused;
//! each receipt checked by the offline verifier.

use super::cast::{Cast, NETWORK};
use super::market::Market;
use super::{short, step, text};
use crate::commands::{Failure, verify as verdict};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chain::Chain;
use fetch::{Client, HostPort, Policy, Request};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use keys::SecretHash;
use keys::http::{Message, Parameters, content_digest};
use mandate::price::{BondAsset, DEFAULT_BOND, DEFAULT_HELD_MS, Price, Tariff};
use mandate::{HashedAction, Vault};
use serde_json::{Value, json};
use server::App;
use server::mandates::{CallerKey, Kind, SIGNATURE_TAG, Setup, signature_profile};
use std::path::Path;
use std::time::Duration;

/// What the server's mandates stand on, for these people; and the agent's bearer key.
pub fn setup(cast: &Cast, market: &Market) -> Result<(Setup, String), Failure> {
    let secret = env::Source::env(&env::System).secret();
    let agent = CallerKey {
        name: "agent".to_owned(),
        kind: Kind::Agent,
        secret: SecretHash::of(&secret),
        mandates: Vec::new(),
    };
    let asset = BondAsset {
        asset_name: "".parse().map_err(Failure::unusable_by)?,
        policy_id: None,
        symbol: "ADA".parse().map_err(Failure::unusable_by)?,
    };
    let setup = Setup {
        engine: cast.engine.0.clone(),
        rail: cast.treasury.clone(),
        verifier: cast.billing.quorum.clone(),
        tariff: Tariff {
            amount: DEFAULT_BOND.try_into().map_err(Failure::unusable_by)?,
            asset,
            escrow_address: cast.treasury.escrow().clone(),
            held_ms: DEFAULT_HELD_MS,
        },
        sink: cast.treasury.sink().as_str().parse().map_err(Failure::unusable_by)?,
        callers: vec![agent],
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_millis(0),
        masumi: Some(market.selling()?),
    };
    Ok((setup, secret))
}

/// The story, told to a server that runs.
pub struct Story<'a> {
    pub app: &'a App,
    pub cast: &'a Cast,
    pub secret: String,
    pub vault: Vault,
    pub origin: String,
    pub client: Client,
}

impl<'a> Story<'a> {
    pub async fn begin(app: &'a App, cast: &'a Cast, secret: String, address: &str) -> Result<Self, Failure> {
        let document = cast.mandate()?.to_string().into_bytes();
        let vault = cast.found(&document).await?;
        let taken = app.anchor_mandate(&document, vault.clone(), None).await;
        taken.map_err(|refused| Failure::refused(format!("{}: {}", refused.code, refused.text)))?;
        let allow = vec![address.parse::<HostPort>().map_err(Failure::unusable_by)?];
        let client = Client::new(Policy { allow, ..Policy::default() }).map_err(Failure::unusable_by)?;
        Ok(Self { app, cast, secret, vault, origin: format!("http://{address}"), client })
    }

    /// Plays it; a line for each step. Every receipt is kept in the folder.
    pub async fn play(&self, market: &Market, folder: &Path, trust: &verify::Trust) -> Result<(), Failure> {
        step("mandate", "M-001 is anchored on an embedded Cardano ledger; its vault holds 150 USDM");
        step("limits", "alone 10 USDM, with the CFO 25, 50 a day, never below 100; 3 interruptions a day");

        let allowed = self.propose("A-INV-0001", 8_420_000).await?;
        let digest = self.settled(&allowed).await?;
        step(
            "allow",
            &format!(
                "8.42 USDM is within the agent's limit: signed by the engine ({}), released by the vault",
                short(&digest)
            ),
        );
        self.prove(&allowed, "allowed", folder, trust).await?;

        let asked = self.ask("A-INV-0002", 18_000_000).await?;
        let approval = text(&asked, "approval_id")?;
        step("brief", &self.brief(&asked)?);
        let tx = self.approve(&approval).await?;
        step(
            "approve",
            &format!(
                "the CFO signs the brief and the very transaction ({}); the bond comes back in it",
                short(&tx)
            ),
        );
        let again = self.check("A-INV-0002", 18_000_000, None).await?.1;
        self.settled(&again).await?;
        self.prove(&again, "approved", folder, trust).await?;

        let asked = self.ask("A-INV-0003", 12_000_000).await?;
        self.decline(
            &text(&asked, "approval_id")?,
            "frivolous",
            "Ask me this once a month, not twice a day.",
        )
        .await?;
        step(
            "decline",
            "frivolous: the CFO signs that too, and the 5 ADA go to the sink, which nobody can spend",
        );
        self.prove(&self.check("A-INV-0003", 12_000_000, None).await?.1, "declined", folder, trust).await?;

        let asked = self.ask("A-INV-0004", 11_000_000).await?;
        self.decline(&text(&asked, "approval_id")?, "legitimate", "Right to ask. Not this month.").await?;
        step("decline", "legitimate: the bond goes back, and the agent reads why");

        let denied = self.propose("A-INV-0005", 15_000_000).await?;
        let reason = denied.pointer("/evaluation/reason").and_then(Value::as_str).unwrap_or_default();
        step("deny", &format!("{reason}: three people were asked today, so nobody is paged"));
        self.prove(&denied, "denied", folder, trust).await?;
        self.sell(market, "A-INV-0006", 5_000_000, folder).await?;
        self.totals().await
    }

    /// A proposal to pay an invoice that is there.
    async fn propose(&self, id: &str, amount: u64) -> Result<Value, Failure> {
        self.invoiced(id, amount);
        match self.check(id, amount, None).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (status, answer) => Err(unexpected(status, &answer)),
        }
    }

    /// A proposal that is beyond the agent's limit: priced, its bond locked, sent again.
    async fn ask(&self, id: &str, amount: u64) -> Result<Value, Failure> {
        self.invoiced(id, amount);
        let (status, required) = self.check(id, amount, None).await?;
        if status != StatusCode::PAYMENT_REQUIRED {
            return Err(unexpected(status, &required));
        }
        let accepted = required.pointer("/accepts/0").cloned().unwrap_or_default();
        let extra = accepted.get("extra").cloned().unwrap_or_default().to_string();
        let price: Price = canon::from_slice(extra.as_bytes()).map_err(Failure::unusable_by)?;
        let lock = self.cast.wallet.lock(&price, self.vault.mandate_ref).await;
        let lock = lock.map_err(Failure::unusable_by)?;
        self.cast.treasury.submit(&lock.tx).await.map_err(Failure::unusable_by)?;
        step(
            "ask",
            &format!(
                "{} USDM is beyond it: HTTP 402, a bond of 5 ADA is locked for {}",
                shown(amount),
                price.approval_id
            ),
        );
        let payment = json!({ "x402Version": 2, "accepted": accepted,
            "payload": { "approval_id": price.approval_id, "tx_hash": lock.tx_hash.to_string(), "output_index": 0 } });
        match self.check(id, amount, Some(&payment)).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (status, answer) => Err(unexpected(status, &answer)),
        }
    }

    async fn check(
        &self,
        id: &str,
        amount: u64,
        payment: Option<&Value>,
    ) -> Result<(StatusCode, Value), Failure> {
        let body = json!({ "mandate_id": "M-001", "execute": true, "proposal": self.proposal(id, amount)? });
        let mut headers = vec![("authorization", format!("Bearer {}", self.secret))];
        if let Some(payment) = payment {
            headers.push(("payment-signature", STANDARD.encode(payment.to_string())));
        }
        self.send(Method::POST, "/v1/authority/check", Some(&body), &headers).await
    }

    /// An action as its agent signs it.
    fn proposal(&self, id: &str, amount: u64) -> Result<Value, Failure> {
        let action = self.action(id, amount);
        let read = HashedAction::read(action.to_string().as_bytes()).map_err(Failure::unusable_by)?;
        let signature = self.cast.agent.sign(&mandate::signing_bytes(&read.hash()))?;
        let signature = mandate::text::Hex::from_bytes(*signature.as_bytes()).to_string();
        Ok(json!({ "action": action, "agent_signature": signature }))
    }

    /// The same, of an invoice that is there.
    pub fn signed_proposal(&self, id: &str, amount: u64) -> Result<Value, Failure> {
        self.invoiced(id, amount);
        self.proposal(id, amount)
    }

    fn action(&self, id: &str, amount: u64) -> Value {
        json!({
            "schema": "action-ir/v0.1", "id": id, "mandate_id": "M-001", "actor": "cfo-agent-01", "type": "pay_invoice",
            "purpose": "vendor_invoice", "counterparty": { "id": "aws", "display": "Amazon Web Services" },
            "amount": { "value": amount.to_string(), "asset": "USDM" },
            "recipient": { "chain": "cardano", "address": self.cast.vendor.as_str() },
            "source": { "vault": "treasury-main" },
            "reference": { "invoice_id": format!("in_{id}").replace('-', "_"), "invoice_number": format!("AWS-{id}") },
            "rationale": "Compute bill, due in 3 days.", "created_at": "2026-11-07T08:00:00Z"
        })
    }

    /// The vendor has sent the invoice that the agent wants to pay.
    fn invoiced(&self, id: &str, amount: u64) {
        let (invoice, number, payout) = (format!("in_{id}"), format!("AWS-{id}"), self.cast.vendor.as_str());
        self.cast.billing.send(&invoice.replace('-', "_"), &number, amount / 10_000, payout);
    }

    fn brief(&self, asked: &Value) -> Result<String, Failure> {
        let will = asked.pointer("/brief/will_happen").and_then(Value::as_str);
        Ok(format!("the CFO reads: {}", will.ok_or_else(|| Failure::refused("there is no brief"))?))
    }

    /// The approver drafts, signs, approves, and signs the transaction. Gives its hash.
    async fn approve(&self, id: &str) -> Result<String, Failure> {
        let path = format!("/v1/approvals/{id}/approve");
        let draft = self.as_approver(&path, &json!({})).await?;
        let body = json!({ "authorization_digest": draft.get("authorization_digest"), "signed": self.signed(&draft)? });
        let approved = self.ok(Method::POST, &path, Some(&body), &[]).await?;
        let body = json!({ "approval_id": id, "authorization_digest": draft.get("authorization_digest"),
            "cfo_witness_cbor": self.witness(&text(&approved, "unsigned_tx_cbor")?)? });
        self.ok(Method::POST, "/v1/executions", Some(&body), &[]).await?;
        text(&approved, "tx_hash")
    }

    async fn decline(&self, id: &str, reason: &str, comment: &str) -> Result<(), Failure> {
        let path = |rest: &str| format!("/v1/approvals/{id}/{rest}");
        let asked = json!({ "reason": reason, "comment": comment });
        let shown = self.as_approver(&path("statement"), &asked).await?;
        let body = json!({ "reason": reason, "comment": comment, "signed": self.signed(&shown)? });
        let declined = self.ok(Method::POST, &path("decline"), Some(&body), &[]).await?;
        let spend = declined.get("bond_tx").cloned().unwrap_or_default();
        let body = json!({ "tx_hash": spend.get("tx_hash"),
            "cfo_witness_cbor": self.witness(&text(&spend, "unsigned_tx_cbor")?)? });
        self.ok(Method::POST, &path("bond-submit"), Some(&body), &[]).await.map(drop)
    }

    /// The approver's signature over the statement that was shown.
    fn signed(&self, shown: &Value) -> Result<Value, Failure> {
        let hash: canon::Digest = text(shown, "statement_hash")?.parse().map_err(Failure::unusable_by)?;
        let approver = &self.cast.approver;
        let signature = approver.sign(hash.as_bytes())?;
        Ok(json!({ "key": approver.key()?, "nonce": shown.pointer("/statement/nonce"),
            "evidence": { "kind": "ed25519", "signature": signature.base64url(),
                "thumbprint": keys::Signer::public(approver.0.as_ref()).thumbprint().to_string() } }))
    }

    /// What the approver's wallet gives back for a transaction.
    fn witness(&self, tx: &str) -> Result<String, Failure> {
        let tx = hex::decode(tx).map_err(Failure::unusable_by)?;
        let set = chain::wallet::sign_tx(&tx, self.cast.approver.0.as_ref()).map_err(Failure::unusable_by)?;
        Ok(hex::encode(set))
    }

    /// Waits until the vault has paid. Gives the authorization's digest.
    async fn settled(&self, answer: &Value) -> Result<String, Failure> {
        let digest = answer.pointer("/authorization/digest_hex").and_then(Value::as_str);
        let digest =
            digest.ok_or_else(|| Failure::refused(format!("nothing was authorized: {answer}")))?.to_owned();
        let wanted = digest.parse().map_err(Failure::unusable_by)?;
        let stream = ledger::StreamId::new("mandate", "M-001").map_err(Failure::unusable_by)?;
        let paid = async {
            loop {
                let (state, head) = self.app.runtime().state::<mandate::Authority>(&stream).await?;
                let status = state.authorization(&wanted).map(|held| held.status);
                if status == Some(mandate::state::AuthorizationStatus::Settled) {
                    return Ok::<_, store::Error<mandate::Refusal>>(());
                }
                self.app.runtime().moved(&stream, head.seq).await?;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), paid).await;
        waited.map_err(|_| Failure::refused("the vault has not paid"))?.map_err(Failure::unusable_by)?;
        Ok(digest)
    }

    /// Takes the receipt of an answer with its log, and judges it without the server.
    async fn prove(
        &self,
        answer: &Value,
        name: &str,
        folder: &Path,
        trust: &verify::Trust,
    ) -> Result<(), Failure> {
        let path = format!("/v1/receipts/{}/proof", text(answer, "receipt_id")?);
        let bearer = [("authorization", format!("Bearer {}", self.secret))];
        let proof = self.ok(Method::GET, &path, None, &bearer).await?;
        let bytes = canon::to_vec(&proof).map_err(Failure::unusable_by)?;
        let file = folder.join(format!("receipt-{name}.json"));
        std::fs::write(&file, &bytes).map_err(Failure::unusable_by)?;
        let report = verify::verify(&bytes, Some(trust));
        if report.verdict != verify::Verdict::Valid {
            return Err(Failure::refused(format!(
                "the receipt does not verify\n{}",
                verdict::shown(&report)
            )));
        }
        step("receipt", &format!("{name}: checked offline, by keys you trust ({} KB)", bytes.len() / 1024));
        Ok(())
    }

    async fn totals(&self) -> Result<(), Failure> {
        let metrics = self.ok(Method::GET, "/v1/metrics?mandate_id=M-001", None, &[]).await?;
        let number = |at: &str| metrics.pointer(at).cloned().unwrap_or_default();
        let utxos = self.cast.treasury.chain().utxos(self.cast.treasury.sink().as_str()).await;
        let sunk: u64 =
            utxos.map_err(Failure::unusable_by)?.iter().map(|utxo| utxo.output.value.lovelace).sum();
        let vault = self.cast.treasury.observe(&self.vault).await.map_err(Failure::unusable_by)?;
        step(
            "totals",
            &format!(
                "{} decisions, {} interruptions in 100; bonds back {}, captured {} ({} ADA in the sink); {} USDM left in the vault",
                number("/actions_evaluated"),
                number("/interruptions_per_100_actions"),
                number("/bonds/refunded"),
                number("/bonds/captured"),
                sunk / 1_000_000,
                shown(vault.vault_balance.get())
            ),
        );
        Ok(())
    }

    /// Sent by the approver, who signs the request itself (RFC 9421).
    async fn as_approver(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.signed_by_approver(Method::POST, path, Some(body)).await
    }

    pub async fn read_as_approver(&self, path: &str) -> Result<Value, Failure> {
        self.signed_by_approver(Method::GET, path, None).await
    }

    async fn signed_by_approver(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let url = format!("{}{path}", self.origin);
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let digest = content_digest(bytes.as_bytes());
        let fields = [("content-digest", digest.as_str())];
        let message = Message::request(method.as_str(), &url, &fields, bytes.as_bytes());
        let message = message.map_err(Failure::unusable_by)?;
        let parameters = Parameters {
            created: Some(self.app.now()),
            keyid: Some(self.cast.approver.key()?),
            nonce: Some(self.app.env().secret()),
            tag: Some(SIGNATURE_TAG.to_owned()),
            ..Parameters::default()
        };
        let signed =
            keys::http::sign(self.cast.approver.0.as_ref(), &message, &signature_profile(), parameters);
        let signed = signed.map_err(Failure::unusable_by)?;
        let mut headers = vec![("signature-input", signed.signature_input), ("signature", signed.signature)];
        headers.extend(body.map(|_| ("content-digest", digest)));
        self.ok(method, path, body, &headers).await
    }

    pub async fn ok(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&'static str, String)],
    ) -> Result<Value, Failure> {
        match self.send(method, path, body, headers).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (status, answer) => Err(unexpected(status, &answer)),
        }
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&'static str, String)],
    ) -> Result<(StatusCode, Value), Failure> {
        let to =
            fetch::Destination::parse(&format!("{}{path}", self.origin)).map_err(Failure::unusable_by)?;
        let mut request = Request { headers: HeaderMap::new(), ..Request::new(method, to) };
        if let Some(body) = body {
            request.body = body.to_string().into();
            request = request
                .header(http::header::CONTENT_TYPE, "application/json")
                .map_err(Failure::unusable_by)?;
        }
        for (name, value) in headers {
            request = request.header(HeaderName::from_static(name), value).map_err(Failure::unusable_by)?;
        }
        let response = self.client.send(request).await.map_err(Failure::unusable_by)?;
        let answer = serde_json::from_slice(&response.body).map_err(Failure::unusable_by)?;
        Ok((response.status, answer))
    }
}

/// The name of the network that the demo's ledger plays.
pub const fn network() -> &'static str {
    NETWORK.name()
}

/// Millionths as people write them.
fn shown(amount: u64) -> String {
    let (whole, rest) = (amount / 1_000_000, amount % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn unexpected(status: StatusCode, answer: &Value) -> Failure {
    Failure::refused(format!("the server answered {status}: {answer}"))
}
