//! An approver's inbox: 10,000 approvals that wait, of 100 mandates, each asked for and paid. They are on disk before the server
//! starts; then the first page is read over HTTP, and every page after it. Ends with an error if a bar is not met.

use async_trait::async_trait;
use bench::house::{Connection, House, serve_if_asked_with};
use bench::{Outcome, percentile};
use env::{Source, System};
use keys::http::{Message, Parameters};
use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use ledger::StreamId;
use mandate::authorization::Record;
use mandate::command::{Anchor, Check, Checked, EngineKey, Next, Observed, Reply, Verification};
use mandate::price::{BondDatum, Locked, OutRef, Price, Tariff};
use mandate::text::{Ed25519Key, Hex, KeyHash, TxHash, Units};
use mandate::{Authority, Command, HashedAction, Mandate, Status, Vault};
use serde_json::{Value, json};
use server::mandates::{
    Built, ChainError, Found, Rail, Release, SIGNATURE_TAG, Setup, Unverified, signature_profile,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Journal, Runtime, ServerKey, Sqlite};

const MANDATES: u32 = 100;
const WAITING: u32 = 100;
/// Lines of a page, as the console shows them.
const PAGE: usize = 50;
/// How often the first page is read.
const ROUNDS: usize = 50;
/// The server's memory once every page was read, MB.
const MEMORY: f64 = 150.0;
/// The first page, ms: the median, and what is read right after the start.
const FIRST: f64 = 20.0;

fn main() -> Outcome {
    if serve_if_asked_with(async || Ok(Some((setup()?, Vec::new()))))? {
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Outcome {
    let folder = tempfile::tempdir_in(".")?;
    fill(folder.path()).await?;
    let house = House::over(folder)?;
    let (started, _) = house.memory()?;
    let mut approver = Approver { house: &house, connection: house.connect().await?, key: key(5)? };
    let (cold, first) = approver.page(None).await?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(approver.page(None).await?.0);
    }
    let [p50, p99] = [50, 99].map(|part| percentile(&mut times, part));
    let (mut seen, mut next, mut later) = (first.0, first.1, Vec::new());
    while let Some(after) = next {
        let (took, page) = approver.page(Some(&after)).await?;
        later.push(took);
        seen += page.0;
        next = page.1;
    }
    let later = percentile(&mut later, 50);
    let (now, most) = house.memory()?;
    let cold = cold.as_secs_f64() * 1000.0;
    println!("| 10,000 approvals wait | found | bar |\n|---|---:|---:|");
    println!("| first page of {PAGE}, right after the start | {cold:.2} ms | |");
    println!("| first page, p50 / p99 | {p50:.2} / {p99:.2} ms | {FIRST:.0} ms |");
    println!("| pages read for the first time, p50 | {later:.2} ms | |");
    println!("| server, started | {started:.0} MB | |");
    println!("| server, every page read, now / at most | {now:.0} / {most:.0} MB | {MEMORY:.0} MB |");
    let all = usize::try_from(MANDATES * WAITING)?;
    if seen == all && p50 <= FIRST && most <= MEMORY {
        Ok(())
    } else {
        Err(format!("{seen} of {all} approvals, the first page {p50:.2} ms, {most:.0} MB").into())
    }
}

/// Reads pages of the inbox, each request signed by the approver's key.
struct Approver<'a> {
    house: &'a House,
    connection: Connection,
    key: SoftwareSigner,
}

/// How many lines, and where the next page begins.
type Page = (usize, Option<String>);

impl Approver<'_> {
    async fn page(&mut self, after: Option<&str>) -> Outcome<(Duration, Page)> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("/v1/approvals?status=pending&limit={PAGE}{after}");
        let url = format!("{}{path}", self.house.origin());
        let message = Message::request("GET", &url, &[], b"")?;
        let parameters = Parameters {
            created: Some(System.now()),
            keyid: Some(Ed25519Key::from_bytes(public(&self.key)?).to_string()),
            nonce: Some(System.env().secret()),
            tag: Some(SIGNATURE_TAG.to_owned()),
            ..Parameters::default()
        };
        let signed = keys::http::sign(&self.key, &message, &signature_profile(), parameters)?;
        let headers =
            format!("signature-input: {}\r\nsignature: {}\r\n", signed.signature_input, signed.signature);
        let sent = Instant::now();
        let answer = self.connection.exchange("GET", &path, &headers, &Value::Null).await?;
        let lines = answer.body.pointer("/approvals").and_then(Value::as_array).ok_or("no approvals")?;
        let next = answer.body.pointer("/next").and_then(Value::as_str).map(str::to_owned);
        Ok((answer.at - sent, (lines.len(), next)))
    }
}

/// Asks for every approval and pays it, as a server would have decided it.
async fn fill(folder: &Path) -> Outcome {
    let server_key = ServerKey::open(&folder.join("store.key"))?;
    let journal: Arc<dyn Journal> = Arc::new(Sqlite::open(&folder.join("journal.db"), server_key)?);
    let runtime = Runtime::new(journal, Arc::new(System));
    let engine: Arc<dyn Signer> = Arc::new(key(1)?);
    let mut work = tokio::task::JoinSet::new();
    for number in 0..MANDATES {
        let (runtime, engine) = (runtime.clone(), EngineKey(Arc::clone(&engine)));
        work.spawn(
            async move { fill_one(&runtime, engine, number).await.map_err(|error| error.to_string()) },
        );
    }
    while let Some(done) = work.join_next().await {
        done??;
    }
    Ok(())
}

async fn fill_one(runtime: &Runtime, engine: EngineKey, number: u32) -> Outcome {
    let id = format!("M-{number:03}");
    let stream = StreamId::new("mandate", &id)?;
    let mandate = Mandate::read(document(&id)?.as_bytes()).map_err(|refusal| refusal.to_string())?;
    let observed = Observed {
        anchor_status: Status::Active,
        anchor_version: mandate.version,
        mandate_hash: mandate.hash(),
        approvers: vec![KeyHash::of_key(&ed25519(&key(5)?)?)],
        day_index: 0,
        last_nonce: Units::ZERO,
        slot: 1,
        spent_today: Units::ZERO,
        vault_balance: Units::new(500_000_000),
    };
    let anchor =
        Anchor { mandate, observed: observed.clone(), tariff: tariff()?, vault: vault()?, vault_name: None };
    runtime.execute::<Authority>(&stream, &Command::Anchor(Box::new(anchor)), None).await?;
    for asked in 0..WAITING {
        let action = action(&id, asked);
        let read = HashedAction::read(action.as_bytes()).map_err(|refusal| refusal.to_string())?;
        let signature = key(2)?.sign(&mandate::signing_bytes(&read.hash()))?;
        let mut check = Check {
            run: format!("run-{asked}").parse()?,
            run_kind: "agent".parse()?,
            goal: "Pay what is due".parse()?,
            action: action.into_bytes().into(),
            agent_signature: Some(Hex::from_bytes(*signature.as_bytes()).to_string().parse()?),
            execute: true,
            observed: observed.clone(),
            verification: Verification::NotTried,
            bond: None,
            engine: engine.clone(),
        };
        let Next::Priced { price, .. } = checked(runtime, &stream, check.clone()).await?.next else {
            return Err("not priced".into());
        };
        check.bond = Some(locked(&price, number * WAITING + asked)?);
        let paid = checked(runtime, &stream, check).await?;
        if paid.next != Next::Waiting {
            return Err(format!("not asked: {:?}", paid.next).into());
        }
    }
    Ok(())
}

async fn checked(runtime: &Runtime, stream: &StreamId, check: Check) -> Outcome<Checked> {
    let executed = runtime.execute::<Authority>(stream, &Command::Check(Box::new(check)), None).await?;
    match executed.reply {
        store::Reply::Fresh(Reply::Checked(checked)) => Ok(*checked),
        _ => Err("another reply".into()),
    }
}

fn locked(price: &Price, number: u32) -> Outcome<Locked> {
    let mut hash = [0; 32];
    hash.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, of)| *byte = of);
    Ok(Locked {
        address: price.escrow_address.clone(),
        at: OutRef { output_index: 0, tx_hash: TxHash::from_bytes(hash) },
        datum: BondDatum::paying(price, vault()?.mandate_ref, KeyHash::from_bytes([7; 28]), None),
        value: price.amount.units(),
    })
}

/// Keys by their seeds: engine 1, agent 2, approver 5, principal 6.
fn key(seed: u8) -> Outcome<SoftwareSigner> {
    Ok(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32])?)
}

fn ed25519(signer: &SoftwareSigner) -> Outcome<keys::ed25519::PublicKey> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(key),
        PublicKey::P256(_) => Err("an ed25519 key".into()),
    }
}

fn public(signer: &SoftwareSigner) -> Outcome<[u8; 32]> {
    Ok(*ed25519(signer)?.as_bytes())
}

fn document(id: &str) -> Outcome<String> {
    let named = |seed| -> Outcome<String> { Ok(Ed25519Key::from_bytes(public(&key(seed)?)?).to_string()) };
    let hash = |seed| -> Outcome<String> { Ok(KeyHash::of_key(&ed25519(&key(seed)?)?).to_string()) };
    let limit = |id: &str, kind: &str, value: &str, violated: &str| match violated {
        "DENY" => json!({ "id": id, "kind": kind, "value": value, "on_violation": "DENY" }),
        _ => json!({ "id": id, "kind": kind, "value": value, "on_violation": "ESCALATE", "approver": "CFO" }),
    };
    let mandate = json!({
        "schema": "mandate/v0.1", "id": id, "version": 1, "status": "active",
        "principal": { "type": "organization", "id": "acme", "name": "Acme", "cardano_key_hash": hash(6)? },
        "delegate": { "type": "agent", "id": "cfo-agent-01", "public_key": named(2)? },
        "approvers": [{ "role": "CFO", "cardano_key_hash": hash(5)? }],
        "authority_engine": { "public_key": named(1)? },
        "asset": { "symbol": "USDM", "decimals": 6 },
        "validity": { "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" },
        "delegation": { "allowed": false }, "interrupt_budget": { "per_day": 10_000 },
        "constraints": [
            limit("alone", "amount_lte", "10000000", "ESCALATE"), limit("cap", "amount_lte", "50000000", "DENY"),
            limit("day", "daily_spend_lte", "50000000000", "DENY"), limit("floor", "balance_after_gte", "100000000", "DENY"),
        ],
    });
    Ok(mandate.to_string())
}

fn action(mandate: &str, number: u32) -> String {
    let action = json!({
        "schema": "action-ir/v0.1", "id": format!("A-{number:05}"), "mandate_id": mandate, "actor": "cfo-agent-01",
        "type": "pay_invoice", "purpose": "vendor_invoice",
        "counterparty": { "id": "aws", "display": "Amazon Web Services" },
        "amount": { "value": "18000000", "asset": "USDM" },
        "recipient": { "chain": "cardano", "address": "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl" },
        "source": { "vault": "treasury-main" },
        "reference": { "invoice_id": format!("in_{number}"), "invoice_number": format!("AWS-{number}") },
        "rationale": "Compute bill of October, due in three days.", "created_at": "2026-11-07T08:00:00Z",
    });
    action.to_string()
}

fn vault() -> Outcome<Vault> {
    let vault = json!({ "network": "cardano-preprod", "vault_hash": "aa".repeat(28), "mandate_ref": "bb".repeat(28),
        "asset_policy": "ee".repeat(28), "asset_name": "745553444d" });
    Ok(canon::from_slice(vault.to_string().as_bytes())?)
}

fn tariff() -> Outcome<Tariff> {
    let tariff = json!({ "amount": "5000000", "held_ms": 86_400_000,
        "asset": { "policy_id": "", "asset_name": "", "symbol": "ADA" },
        "escrow_address": "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f" });
    Ok(canon::from_slice(tariff.to_string().as_bytes())?)
}

fn setup() -> Outcome<Setup> {
    Ok(Setup {
        engine: Arc::new(key(1)?),
        rail: Arc::new(Nowhere),
        verifier: Arc::new(Unverified),
        tariff: tariff()?,
        sink: "addr_test1wq3vnggra5ljl2tunqkhd4hz4agvt422cvrfswcedj8um2cwsu3l3".parse()?,
        callers: Vec::new(),
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_secs(2),
        facilitator: None,
        masumi: None,
    })
}

/// A chain that nobody reaches: reading what waits asks it nothing.
#[derive(Debug)]
struct Nowhere;

fn nowhere<T>() -> Result<T, ChainError> {
    Err(ChainError::Unavailable("there is none".to_owned()))
}

#[async_trait]
impl Rail for Nowhere {
    async fn observe(&self, _: &Vault) -> Result<Observed, ChainError> {
        nowhere()
    }
    async fn bond(&self, _: OutRef) -> Result<Option<Locked>, ChainError> {
        nowhere()
    }
    fn hash_of(&self, _: &[u8]) -> Result<TxHash, ChainError> {
        nowhere()
    }
    async fn lock_by(&self, _: &[u8]) -> Result<TxHash, ChainError> {
        nowhere()
    }
    async fn release(&self, _: &Release<'_>) -> Result<Built, ChainError> {
        nowhere()
    }
    async fn refund(&self, _: OutRef, _: Option<KeyHash>) -> Result<Built, ChainError> {
        nowhere()
    }
    async fn capture(&self, _: OutRef, _: KeyHash) -> Result<Built, ChainError> {
        nowhere()
    }
    fn witness(&self, _: &[u8], _: &[u8], _: KeyHash) -> Result<Vec<u8>, ChainError> {
        nowhere()
    }
    async fn submit(&self, _: &[u8]) -> Result<TxHash, ChainError> {
        nowhere()
    }
    async fn find(&self, _: &Record) -> Result<Option<Found>, ChainError> {
        nowhere()
    }
    async fn confirmed(&self, _: TxHash) -> Result<Option<u64>, ChainError> {
        nowhere()
    }
}
