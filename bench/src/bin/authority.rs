//! From a signed proposal over HTTP to a durable ALLOW, its authorization signed: 64 mandates, the report at hand, vault and
//! anchor read before. First 500 a second, then as many as there can be. Load and server are two processes on the same
//! machine; every commit is synced. Ends with an error if a bar is not met.

use async_trait::async_trait;
use bench::house::{Connection, House, Kept, serve_if_asked_with};
use bench::{Outcome, disk, percentile};
use canon::Raw;
use chain::wallet::sign_tx;
use chain::{Anchor, Asset, Built, LedgerChain, Treasury, Value};
use env::Source;
use keys::{Algorithm, PublicKey, SecretHash, Signer, SoftwareSigner};
use mandate::command::Verification;
use mandate::issue::ChainName;
use mandate::price::{BondAsset, DEFAULT_HELD_MS, Tariff};
use mandate::text::{Ed25519Key, Hex, KeyHash};
use mandate::{Address, Credential, Evidence, HashedAction, Mandate, Millis, Network};
use serde_json::json;
use server::mandates::{CallerKey, Kind, Setup, Verifier};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const MANDATES: u32 = 64;
/// Decisions a second in the first part.
const RATE: u32 = 500;
const SECONDS: u32 = 20;
/// Of each mandate in the second part; as many before are not counted.
const RUSH: u32 = 800;
const WARM: u32 = 5;
/// Milliseconds, 50 and 99 in 100; decisions a second.
const BARS: [f64; 2] = [1.0, 10.0];
const RUSH_BAR: f64 = 4000.0;

const AGENT: &str = "agent-agent-agent-agent-agent-agent";
const NETWORK: ChainName = ChainName::Preprod;
const DEPOSIT: u64 = 1_000_000_000_000;

fn main() -> Outcome {
    if serve_if_asked_with(async || kept().await.map(Some))? {
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome {
    let house = House::start()?;
    let before = disk::fdatasync(house.folder())?;
    let paced = RATE * SECONDS / MANDATES;
    let mut agents = Vec::new();
    for number in 0..MANDATES {
        agents.push(Agent::new(&house, number, WARM + paced + RUSH).await?);
    }

    let period = Duration::from_secs(1) * MANDATES / RATE;
    let start = Instant::now() + period;
    let mut all = JoinSet::new();
    for (number, agent) in (0..MANDATES).zip(agents) {
        all.spawn(agent.paced(start + period * number / MANDATES, period, paced));
    }
    let (mut times, mut agents) = (Vec::new(), Vec::new());
    while let Some(done) = all.join_next().await {
        let (agent, mut took) = done??;
        times.append(&mut took);
        agents.push(agent);
    }
    let rate = f64::from(paced * MANDATES) / start.elapsed().as_secs_f64();

    let start = Instant::now();
    let mut all = JoinSet::new();
    for agent in agents {
        all.spawn(agent.rush());
    }
    let mut entries = 0;
    while let Some(done) = all.join_next().await {
        entries += done??;
    }
    let rush = f64::from(RUSH * MANDATES) / start.elapsed().as_secs_f64();

    let after = disk::fdatasync(house.folder())?;
    let sync = f64::midpoint(before, after);
    let decisions = MANDATES * (WARM + paced + RUSH);
    println!("fdatasync of 8 KiB, median of 500: {before:.3} ms before, {after:.3} ms after");
    println!("{decisions} decisions, {:.1} entries each\n", f64::from(entries) / f64::from(decisions));
    let found = [50, 99].map(|part| percentile(&mut times, part));
    let bars = BARS.map(|bar| disk::bar(bar, sync));
    println!("| {MANDATES} mandates | found | bar at this disk |\n|---|---:|---:|");
    println!(
        "| signed proposal to durable ALLOW at {rate:.0}/s, p50 ms | {:.2} | {:.2} |",
        found[0], bars[0]
    );
    println!("| the same, p99 ms | {:.2} | {:.2} |", found[1], bars[1]);
    println!("| durable decisions a second, one at a time of each mandate | {rush:.0} | {RUSH_BAR:.0} |");
    let (now, most) = house.memory()?;
    println!("\nserver memory: {now:.0} MB, at most {most:.0} MB");
    if found.iter().zip(bars).all(|(found, bar)| *found <= bar) && rush >= RUSH_BAR {
        Ok(())
    } else {
        Err(format!("the bars are {bars:.2?} ms and {RUSH_BAR:.0}/s, found {found:.2?} ms and {rush:.0}/s")
            .into())
    }
}

/// One mandate's agent, its proposals signed before the clock runs.
struct Agent {
    connection: Connection,
    proposals: std::vec::IntoIter<String>,
}

impl Agent {
    async fn new(house: &House, mandate: u32, count: u32) -> Outcome<Self> {
        let proposals: Vec<_> = (0..count).map(|n| proposal(mandate, n)).collect::<Outcome<_>>()?;
        let mut agent = Self { connection: house.connect().await?, proposals: proposals.into_iter() };
        for _ in 0..WARM {
            agent.propose().await?;
        }
        Ok(agent)
    }

    /// Proposes when it is due. Gives how long each decision took, from then on but for the timer's millisecond.
    async fn paced(mut self, start: Instant, period: Duration, count: u32) -> Outcome<(Self, Vec<Duration>)> {
        let mut took = Vec::new();
        for turn in 0..count {
            let due = start + period * turn;
            tokio::time::sleep_until(due.into()).await;
            let sent = Instant::now().min(due + Duration::from_millis(1));
            took.push(self.propose().await?.0 - sent);
        }
        Ok((self, took))
    }

    /// Proposes what is left, one after the other. Gives the number of the last entry.
    async fn rush(mut self) -> Outcome<u32> {
        let mut last = Vec::new();
        while !self.proposals.as_slice().is_empty() {
            last = self.propose().await?.1;
        }
        let answer: serde_json::Value = serde_json::from_slice(&last)?;
        let receipt = answer.get("receipt_id").and_then(serde_json::Value::as_str).unwrap_or_default();
        Ok(receipt.split('-').nth(1).ok_or("no receipt")?.parse()?)
    }

    async fn propose(&mut self) -> Outcome<(Instant, Vec<u8>)> {
        let body = self.proposals.next().ok_or("no proposal is left")?;
        let (at, answer) = self.connection.post("/v1/authority/check", AGENT, &body).await?;
        let text = String::from_utf8_lossy(&answer);
        if text.contains(r#""authorization":{"#) && text.contains(r#""outcome":"ALLOW""#) {
            return Ok((at, answer));
        }
        Err(format!("not allowed: {text}").into())
    }
}

fn key(seed: u8) -> Outcome<SoftwareSigner> {
    Ok(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32])?)
}

fn public(signer: &SoftwareSigner) -> Outcome<keys::ed25519::PublicKey> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(key),
        PublicKey::P256(_) => Err("an ed25519 key".into()),
    }
}

fn key_hash(seed: u8) -> Outcome<KeyHash> {
    Ok(KeyHash::of_key(&public(&key(seed)?)?))
}

fn named(seed: u8) -> Outcome<String> {
    Ok(Ed25519Key::from_bytes(*public(&key(seed)?)?.as_bytes()).to_string())
}

fn address(seed: u8) -> Outcome<Address> {
    Ok(Address::new(Network::Test, Credential::Key(key_hash(seed)?), None))
}

fn name(mandate: u32) -> String {
    format!("M-{mandate:03}")
}

/// Keys by their seeds: engine 1, delegate 2, fee wallet 3, approver 5, principal 6, vendor 9.
fn document(mandate: u32) -> Outcome<String> {
    Ok(json!({
        "schema": "mandate/v0.1", "id": name(mandate), "version": 1, "status": "active",
        "principal": { "type": "organization", "id": "acme", "name": "Acme", "cardano_key_hash": key_hash(6)?.to_string() },
        "delegate": { "type": "agent", "id": "agent", "public_key": named(2)? },
        "approvers": [{ "role": "CFO", "cardano_key_hash": key_hash(5)?.to_string() }],
        "authority_engine": { "public_key": named(1)? },
        "asset": { "symbol": "USDM", "decimals": 6 },
        "validity": { "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" },
        "delegation": { "allowed": false },
        "interrupt_budget": { "per_day": 3 },
        "constraints": [
            { "id": "purpose", "kind": "purpose_in", "values": ["vendor_invoice"], "on_violation": "DENY" },
            { "id": "vendors", "kind": "counterparty_in", "values": ["aws", "openai"], "on_violation": "DENY" },
            { "id": "autonomous", "kind": "amount_lte", "value": "10000000", "on_violation": "ESCALATE", "approver": "CFO" },
            { "id": "hard_cap", "kind": "amount_lte", "value": "25000000", "on_violation": "DENY" },
            { "id": "daily", "kind": "daily_spend_lte", "value": (DEPOSIT / 2).to_string(), "on_violation": "DENY" },
            { "id": "floor", "kind": "balance_after_gte", "value": "100000000", "on_violation": "DENY" },
            { "id": "facts", "kind": "verified_facts", "source": "stripe", "on_violation": "DENY" }
        ]
    })
    .to_string())
}

fn proposal(mandate: u32, n: u32) -> Outcome<String> {
    let action = json!({
        "schema": "action-ir/v0.1", "id": format!("A-{n}"), "mandate_id": name(mandate), "actor": "agent",
        "type": "pay_invoice", "purpose": "vendor_invoice",
        "counterparty": { "id": "aws", "display": "Amazon Web Services" },
        "amount": { "value": "8420000", "asset": "USDM" },
        "recipient": { "chain": "cardano", "address": address(9)?.as_str() },
        "source": { "vault": "treasury-main" },
        "reference": { "invoice_id": format!("in_{n}"), "invoice_number": format!("AWS-{n}") },
        "rationale": "Compute bill, due in 3 days.", "created_at": "2026-11-07T08:00:00Z"
    });
    let read = HashedAction::read(action.to_string().as_bytes())?;
    let signature = key(2)?.sign(&mandate::signing_bytes(&read.hash()))?;
    let signature = Hex::from_bytes(*signature.as_bytes()).to_string();
    let run = format!("00000000-0000-4000-8000-{mandate:012}");
    let proposal = json!({ "action": action, "agent_signature": signature });
    Ok(json!({ "mandate_id": name(mandate), "run_id": run, "execute": false, "proposal": proposal })
        .to_string())
}

/// The mandates, each with a vault of its own on an embedded ledger in memory.
async fn kept() -> Outcome<Kept> {
    let source: Arc<dyn Source> = Arc::new(env::System);
    let ledger = Arc::new(LedgerChain::open(None, Arc::clone(&source), NETWORK)?);
    let treasury = Treasury::new(ledger.clone(), NETWORK, Arc::new(key(3)?), Arc::clone(&source))?;
    let treasury = Arc::new(treasury);
    let asset: Asset = ("ee".repeat(28).parse()?, "745553444d".parse()?);
    let mut anchored = Vec::new();
    for number in 0..MANDATES {
        for _ in 0..4 {
            ledger.fund(treasury.wallet().address(), Value::of(200_000_000))?;
        }
        ledger.fund(&address(6)?, Value::of(5_000_000).with(asset.clone(), DEPOSIT))?;
        let document = document(number)?.into_bytes();
        let anchor = Anchor::of(&Mandate::read(&document)?, asset.clone())?;
        let anchoring = treasury.anchor(&anchor).await?;
        signed(&treasury, &anchoring.built).await?;
        let opening = treasury.open_vault(anchoring.mandate_ref).await?;
        signed(&treasury, &opening.built).await?;
        let deposit = treasury.deposit(&opening.vault, &address(6)?, DEPOSIT).await?;
        signed(&treasury, &deposit).await?;
        anchored.push((document, opening.vault));
    }
    let bond = BondAsset { asset_name: "".parse()?, policy_id: None, symbol: "ADA".parse()? };
    let agent = CallerKey {
        name: "agent".to_owned(),
        kind: Kind::Agent,
        secret: SecretHash::of(AGENT),
        mandates: Vec::new(),
    };
    let setup = Setup {
        engine: Arc::new(key(1)?),
        verifier: Arc::new(Present(source)),
        tariff: Tariff {
            amount: 5_000_000_u64.try_into()?,
            asset: bond,
            escrow_address: treasury.escrow().clone(),
            held_ms: DEFAULT_HELD_MS,
        },
        sink: treasury.sink().as_str().parse()?,
        callers: vec![agent],
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_secs(3600),
        facilitator: None,
        masumi: None,
        rail: treasury,
    };
    Ok((setup, anchored))
}

async fn signed(treasury: &Treasury, built: &Built) -> Outcome {
    let set = sign_tx(&built.tx, &key(6)?)?;
    treasury.submit(&treasury.witness(&built.tx, &set, key_hash(6)?)?).await?;
    Ok(())
}

/// A report is at hand for every action, and says what the action says.
struct Present(Arc<dyn Source>);

impl std::fmt::Debug for Present {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Present")
    }
}

#[async_trait]
impl Verifier for Present {
    async fn known(&self, action: &HashedAction) -> Verification {
        let reference = action.reference.as_ref();
        let report = json!({
            "schema": "verification/v0.1", "action_hash": action.hash().to_string(),
            "invoice_id": reference.map_or("none", |reference| reference.invoice_id.as_str()),
            "invoice_hash": "0b".repeat(32), "verified_amount": action.amount.value.to_string(),
            "verified_currency": "usd", "verified_recipient": action.recipient.address.as_str(), "status": "open",
            "facts": { "exists": true, "customer_match": true, "status_open": true, "amount_match": true,
                "currency_match": true, "recipient_match": true },
            "result": "VERIFIED", "reason": null, "trigger_id": "trg-1",
        });
        let report = Raw::from_slice(report.to_string().as_bytes());
        let at = Millis::try_from(self.0.now());
        let (Ok(report), Ok(block_time_ms)) = (report, at) else { return Verification::Unavailable };
        let report_hash = report.digest();
        Verification::Reported {
            evidence: Evidence::bare(block_time_ms, report, report_hash),
            registry_tx: None,
        }
    }

    async fn verify(&self, action: &HashedAction) -> Verification {
        self.known(action).await
    }
}
