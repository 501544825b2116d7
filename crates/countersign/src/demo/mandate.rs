//! A mandate at work over real HTTP: what an agent may pay alone, what it must ask for and what that costs, what is refused;
//! each receipt checked by the offline verifier.

use super::cast::{Cast, NETWORK, Person};
use super::market::Market;
use super::{short, step, text};
use crate::commands::Failure;
use chain::Chain;
use client::{Agent, Answer, Ask, Credential, Decided, End, Outcome, Pace, Purse, Server};
use env::Source;
use fetch::{Client, HostPort, Policy};
use mandate::Vault;
use mandate::price::{BondAsset, DEFAULT_BOND, DEFAULT_HELD_MS, Tariff};
use serde_json::{Value, json};
use server::App;
use server::mandates::Setup;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What the server's mandates stand on, for these people.
pub fn setup(cast: &Cast, market: &Market) -> Result<Setup, Failure> {
    let asset = BondAsset {
        asset_name: "".parse().map_err(Failure::unusable_by)?,
        policy_id: None,
        symbol: "ADA".parse().map_err(Failure::unusable_by)?,
    };
    Ok(Setup {
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
        callers: Vec::new(),
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_millis(0),
        facilitator: None,
        masumi: Some(market.selling()?),
    })
}

/// The story, told to a server that runs.
pub struct Story<'a> {
    cast: &'a Cast,
    vault: Vault,
    pub agent: Agent,
    pub approver: Server,
}

impl<'a> Story<'a> {
    pub async fn begin(
        app: &App,
        cast: &'a Cast,
        address: &str,
        folder: &Path,
        trust: verify::Trust,
    ) -> Result<Self, Failure> {
        let document = cast.mandate()?.to_string().into_bytes();
        let vault = cast.found(&document).await?;
        let taken = app.anchor_mandate(&document, vault.clone(), None).await;
        taken.map_err(|refused| Failure::refused(format!("{}: {}", refused.code, refused.text)))?;
        let allow = vec![address.parse::<HostPort>().map_err(Failure::unusable_by)?];
        let client = Client::new(Policy { allow, ..Policy::default() }).map_err(Failure::unusable_by)?;
        let source: Arc<dyn Source> = Arc::new(env::System);
        let server = |person: &Person| {
            let key = Credential::Key(person.0.clone());
            Server::new(&format!("http://{address}"), client.clone(), key, Arc::clone(&source))
        };
        let chain = Arc::clone(cast.treasury.chain());
        let bonds = folder.join("bonds");
        let purse =
            Purse::new(chain, NETWORK, cast.agent.0.clone(), Arc::clone(&source), &bonds, DEFAULT_BOND);
        let agent = Agent::new(server(&cast.agent).map_err(unexpected)?, Arc::clone(&source))
            .with_purse(purse.map_err(unexpected)?)
            .with_trust(trust)
            .with_pace(Pace { look: Duration::from_millis(50), ..Pace::default() });
        Ok(Self { cast, vault, agent, approver: server(&cast.approver).map_err(unexpected)? })
    }

    /// Plays it; a line for each step. Every receipt is kept in the folder.
    pub async fn play(&self, market: &Market, folder: &Path) -> Result<(), Failure> {
        step("mandate", "M-001 is anchored on an embedded Cardano ledger; its vault holds 150 USDM");
        step("limits", "alone 10 USDM, with the CFO 25, 50 a day, never below 100; 3 interruptions a day");

        let (ask, allowed) = self.propose("A-INV-0001", 8_420_000).await?;
        let Outcome::Allowed(record) = &allowed.outcome else { return Err(other(&allowed)) };
        let receipt = self.settled(&ask, &allowed).await?;
        step(
            "allow",
            &format!(
                "8.42 USDM is within the agent's limit: signed by the engine ({}), released by the vault",
                short(&record.digest_hex.to_string())
            ),
        );
        self.prove(&ask, &receipt, "allowed", folder).await?;

        let (ask, asked) = self.propose("A-INV-0002", 18_000_000).await?;
        let Outcome::Waiting(brief) = &asked.outcome else { return Err(other(&asked)) };
        step("brief", &format!("the CFO reads: {}", brief.will_happen));
        let tx = self.approve(approval(&asked)?).await?;
        step(
            "approve",
            &format!(
                "the CFO signs the brief and the very transaction ({}); the bond comes back in it",
                short(&tx)
            ),
        );
        let receipt = self.settled(&ask, &asked).await?;
        self.prove(&ask, &receipt, "approved", folder).await?;

        let (ask, asked) = self.propose("A-INV-0003", 12_000_000).await?;
        let comment = "Ask me this once a month, not twice a day.";
        self.decline(approval(&asked)?, "frivolous", comment).await?;
        step(
            "decline",
            "frivolous: the CFO signs that too, and the 5 ADA go to the sink, which nobody can spend",
        );
        let told = self.agent.propose(&ask).await.map_err(unexpected)?;
        self.prove(&ask, &told.receipt_id, "declined", folder).await?;

        let (ask, asked) = self.propose("A-INV-0004", 11_000_000).await?;
        self.decline(approval(&asked)?, "legitimate", "Right to ask. Not this month.").await?;
        let told = self.agent.propose(&ask).await.map_err(unexpected)?;
        let Outcome::Declined { comment: Some(comment) } = &told.outcome else { return Err(other(&told)) };
        step("decline", &format!("legitimate: the bond goes back, and the agent reads why ({comment})"));

        let (ask, denied) = self.propose("A-INV-0005", 15_000_000).await?;
        let Outcome::Denied(reason) = &denied.outcome else { return Err(other(&denied)) };
        step("deny", &format!("{reason}: three people were asked today, so nobody is paged"));
        self.prove(&ask, &denied.receipt_id, "denied", folder).await?;
        market.buy(&self.signed("A-INV-0006", 5_000_000)?, folder).await?;
        self.totals().await
    }

    /// A proposal to pay an invoice that is there, as its agent signs it.
    fn signed(&self, id: &str, amount: u64) -> Result<Ask, Failure> {
        let (invoice, number, payout) = (format!("in_{id}"), format!("AWS-{id}"), self.cast.vendor.as_str());
        self.cast.billing.send(&invoice.replace('-', "_"), &number, amount / 10_000, payout);
        let action = self.action(id, amount).to_string();
        Ask::sign(action.as_bytes(), self.cast.agent.0.as_ref(), true, None).map_err(unexpected)
    }

    /// Proposes it; what is beyond the agent's limit is paid for.
    async fn propose(&self, id: &str, amount: u64) -> Result<(Ask, Decided), Failure> {
        let ask = self.signed(id, amount)?;
        let decided = match self.agent.ask(&ask).await.map_err(unexpected)? {
            Answer::Decided(decided) => *decided,
            Answer::Priced(priced) => {
                let decided = self.agent.pay(&ask, &priced).await.map_err(unexpected)?;
                step(
                    "ask",
                    &format!(
                        "{} USDM is beyond it: HTTP 402, a bond of 5 ADA is locked for {}",
                        shown(amount),
                        priced.price.approval_id
                    ),
                );
                decided
            }
        };
        Ok((ask, decided))
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

    /// The approver drafts, signs, approves, and signs the transaction. Gives its hash.
    async fn approve(&self, id: &str) -> Result<String, Failure> {
        let path = format!("/v1/approvals/{id}/approve");
        let draft = self.by_approver(&path, &json!({})).await?;
        let body = json!({ "authorization_digest": draft.get("authorization_digest"), "signed": self.statement(&draft)? });
        let approved = self.by_approver(&path, &body).await?;
        let body = json!({ "approval_id": id, "authorization_digest": draft.get("authorization_digest"),
            "cfo_witness_cbor": self.witness(&text(&approved, "unsigned_tx_cbor")?)? });
        self.by_approver("/v1/executions", &body).await?;
        text(&approved, "tx_hash")
    }

    async fn decline(&self, id: &str, reason: &str, comment: &str) -> Result<(), Failure> {
        let path = |rest: &str| format!("/v1/approvals/{id}/{rest}");
        let asked = json!({ "reason": reason, "comment": comment });
        let shown = self.by_approver(&path("statement"), &asked).await?;
        let body = json!({ "reason": reason, "comment": comment, "signed": self.statement(&shown)? });
        let declined = self.by_approver(&path("decline"), &body).await?;
        let spend = declined.get("bond_tx").cloned().unwrap_or_default();
        let body = json!({ "tx_hash": spend.get("tx_hash"),
            "cfo_witness_cbor": self.witness(&text(&spend, "unsigned_tx_cbor")?)? });
        self.by_approver(&path("bond-submit"), &body).await.map(drop)
    }

    async fn by_approver(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let answer = self.approver.post(path, body).await.map_err(unexpected)?;
        serde_json::from_slice(&answer).map_err(Failure::unusable_by)
    }

    /// The approver's signature over the statement that was shown.
    fn statement(&self, shown: &Value) -> Result<Value, Failure> {
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

    /// Waits until the vault has paid. Gives the name of the receipt that says so.
    async fn settled(&self, ask: &Ask, decided: &Decided) -> Result<String, Failure> {
        match self.agent.follow(ask, decided, Duration::from_secs(30)).await.map_err(unexpected)? {
            Some(End::Released { receipt_id, .. }) => Ok(receipt_id),
            end => Err(Failure::refused(format!("the vault has not paid: {end:?}"))),
        }
    }

    /// Takes a receipt with its log, and judges it without the server.
    async fn prove(&self, ask: &Ask, id: &str, name: &str, folder: &Path) -> Result<(), Failure> {
        let receipt = self.agent.receipt(ask, id).await.map_err(unexpected)?;
        let file = folder.join(format!("receipt-{name}.json"));
        std::fs::write(&file, &receipt.proof).map_err(Failure::unusable_by)?;
        let size = receipt.proof.len() / 1024;
        step("receipt", &format!("{name}: checked offline, by keys you trust ({size} KB)"));
        Ok(())
    }

    async fn totals(&self) -> Result<(), Failure> {
        let metrics = self.agent.server().get("/v1/metrics?mandate_id=M-001").await.map_err(unexpected)?;
        let metrics: Value = serde_json::from_slice(&metrics).map_err(Failure::unusable_by)?;
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

fn approval(asked: &Decided) -> Result<&str, Failure> {
    asked.approval_id.as_ref().map(|id| id.as_str()).ok_or_else(|| other(asked))
}

fn other(decided: &Decided) -> Failure {
    Failure::refused(format!("the mandate decides otherwise: {:?}", decided.outcome))
}

pub fn unexpected(error: client::Error) -> Failure {
    Failure::refused(error.to_string())
}
