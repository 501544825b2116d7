#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]
//! The registry against a node that does what it is told: each call four ways, and a block that is dropped.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use evm::{Entry, Error, Feed, Node, Registry, Wallet, keccak};
use fetch::{Client, HostPort, Policy};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a transaction is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Works,
    Refuses,
    /// It lands, and the connection ends without an answer.
    LandsUnheard,
    /// Nothing happens, and nothing is said.
    NeverAnswers,
    /// It lands, and its block is dropped at the next look at the height.
    Dropped,
}

#[derive(Default)]
struct Chain {
    height: u64,
    /// By trigger: subject, report, and the block.
    entries: HashMap<String, (String, String, u64)>,
    /// Hash to block.
    mined: HashMap<String, u64>,
    handed: Vec<String>,
    how: VecDeque<How>,
    drop_next: bool,
    round: Option<[u128; 5]>,
}

type Shared = Arc<Mutex<Chain>>;

fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

fn word(number: u128) -> String {
    format!("{number:064x}")
}

async fn answer(State(shared): State<Shared>, Json(asked): Json<Value>) -> Response {
    let method = asked["method"].as_str().unwrap().to_owned();
    let params = &asked["params"];
    let told = {
        let mut chain = shared.lock().unwrap();
        match method.as_str() {
            "eth_chainId" => Some(quantity(1337)),
            "eth_gasPrice" => Some(quantity(2_000_000_000)),
            "eth_getTransactionCount" => Some(quantity(chain.mined.len() as u64)),
            "eth_blockNumber" => {
                if std::mem::take(&mut chain.drop_next) {
                    chain.entries.clear();
                    chain.mined.clear();
                }
                // A block comes with each look.
                chain.height += 1;
                Some(quantity(chain.height))
            }
            "eth_call" => Some(json!(called(&chain, params))),
            "eth_getTransactionReceipt" => {
                let there = chain.mined.contains_key(params[0].as_str().unwrap());
                Some(if there { json!({ "status": "0x1" }) } else { Value::Null })
            }
            "eth_sendRawTransaction" => sent(&mut chain, params[0].as_str().unwrap()),
            _ => panic!("{method}"),
        }
    };
    match told {
        Some(value) if value.get("code").is_some() => {
            Json(json!({ "jsonrpc": "2.0", "id": 1, "error": value })).into_response()
        }
        Some(value) => Json(json!({ "jsonrpc": "2.0", "id": 1, "result": value })).into_response(),
        None => std::future::pending().await,
    }
}

fn called(chain: &Chain, params: &Value) -> String {
    let data = params[0]["data"].as_str().unwrap();
    let at = match params[1].as_str().unwrap() {
        "latest" => u64::MAX,
        number => u64::from_str_radix(number.strip_prefix("0x").unwrap(), 16).unwrap(),
    };
    if let Some(round) = chain.round {
        // decimals() or latestRoundData()
        let words: Vec<String> = if data == "0x313ce567" { vec![word(8)] } else { round.map(word).to_vec() };
        return format!("0x{}", words.concat());
    }
    let found = chain.entries.get(&data[10..]).filter(|(_, _, block)| *block <= at);
    let (subject, report, time) = match found {
        Some((subject, report, block)) => (subject.clone(), report.clone(), 1_000 + u128::from(*block)),
        None => ("0".repeat(64), "0".repeat(64), 0),
    };
    format!("0x{subject}{report}{}", word(time))
}

/// Takes a transaction as the chain is told to. `None`: no answer.
fn sent(chain: &mut Chain, raw: &str) -> Option<Value> {
    chain.handed.push(raw.to_owned());
    let how = chain.how.pop_front().unwrap_or(How::Works);
    if how == How::Refuses {
        return Some(json!({ "code": -32000, "message": "insufficient funds" }));
    }
    if how == How::NeverAnswers {
        return None;
    }
    let bytes = hex::decode(&raw[2..]).unwrap();
    let hash = format!("0x{}", hex::encode(keccak(&bytes)));
    if chain.mined.contains_key(&hash) {
        return Some(json!({ "code": -32000, "message": "already known" }));
    }
    let selector = hex::encode(&keccak(b"record(bytes32,bytes32,bytes32)")[..4]);
    let at = raw.find(&selector).unwrap() + 8;
    let part = |number: usize| raw[at + 64 * number..at + 64 * (number + 1)].to_owned();
    let block = chain.height;
    chain.entries.entry(part(0)).or_insert((part(1), part(2), block));
    chain.mined.insert(hash.clone(), block);
    chain.drop_next = how == How::Dropped;
    (how != How::LandsUnheard).then(|| json!(hash))
}

async fn serve(chain: Shared) -> (Client, String) {
    let router = Router::new().route("/", post(answer)).with_state(chain);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let allow = vec![at.parse::<HostPort>().unwrap()];
    let policy = Policy { allow, timeout: Duration::from_millis(400), ..Policy::default() };
    (Client::new(policy).unwrap(), format!("http://{at}/"))
}

const CONTRACT: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

async fn registry(depth: u64, how: &[How]) -> (Registry, Shared) {
    let chain = Shared::default();
    chain.lock().unwrap().how.extend(how);
    let (client, url) = serve(chain.clone()).await;
    let wallet = Wallet::new(&"46".repeat(32)).unwrap();
    let node = Node::new(client, &url).unwrap();
    (Registry::new(node, wallet, 1337, CONTRACT.parse().unwrap(), depth), chain)
}

const ENTRY: Entry = Entry { trigger: [1; 32], subject: [2; 32], report: [3; 32] };

#[tokio::test]
async fn each_call_four_ways_and_a_dropped_block() {
    use How::{Dropped, LandsUnheard, NeverAnswers, Refuses, Works};
    for (how, handed) in [
        (&[Works][..], 1),
        (&[LandsUnheard], 1),
        (&[NeverAnswers, NeverAnswers, Works], 3),
        (&[Dropped, Works], 2),
    ] {
        let (registry, chain) = registry(3, how).await;
        let recorded = registry.record(&ENTRY).await.unwrap_or_else(|error| panic!("{how:?}: {error}"));
        let chain = chain.lock().unwrap();
        // Whatever happened on the way, it was one transaction, and it is in the chain.
        assert_eq!(chain.handed.len(), handed, "{how:?}");
        assert!(chain.handed.iter().all(|raw| *raw == chain.handed[0]), "{how:?}");
        assert!(chain.mined.contains_key(&recorded.tx.to_string()), "{how:?}");
        let block = chain.entries[&"01".repeat(32)].2;
        assert_eq!(recorded.at, 1_000 + block);
        assert!(chain.height >= block + 2, "{how:?}: three blocks deep");
    }
    // A clean no records nothing, and the next call makes it anew.
    let (registry, chain) = registry(1, &[Refuses, Works]).await;
    assert!(matches!(registry.record(&ENTRY).await, Err(Error::Refused { .. })));
    assert!(chain.lock().unwrap().entries.is_empty());
    registry.record(&ENTRY).await.unwrap();
    assert_eq!(chain.lock().unwrap().entries.len(), 1);
}

#[tokio::test]
async fn what_is_recorded_once_stays() {
    let (registry, chain) = registry(1, &[]).await;
    let first = registry.record(&ENTRY).await.unwrap();
    assert_eq!(registry.record(&ENTRY).await.unwrap(), first);
    assert_eq!(chain.lock().unwrap().handed.len(), 1);
    let other = Entry { report: [9; 32], ..ENTRY };
    assert_eq!(registry.record(&other).await, Err(Error::Taken));
    // Somebody else's record under the trigger.
    chain.lock().unwrap().entries.insert("07".repeat(32), ("0".repeat(64), "0".repeat(64), 1));
    let theirs = Entry { trigger: [7; 32], ..ENTRY };
    assert_eq!(registry.record(&theirs).await, Err(Error::Taken));
}

#[tokio::test]
async fn a_feed_says_a_price_or_none() {
    let chain = Shared::default();
    let (client, url) = serve(chain.clone()).await;
    let feed = Feed::new(Node::new(client.clone(), &url).unwrap(), 1337, CONTRACT.parse().unwrap());
    let check = async |round: [u128; 5], price: Option<u64>| {
        chain.lock().unwrap().round = Some(round);
        let read = feed.latest().await.unwrap();
        assert_eq!((read.price, read.decimals, read.updated_at), (price, 8, round[3] as u64), "{round:?}");
    };
    check([5, 18_340_000, 90, 100, 5], Some(18_340_000)).await;
    check([5, 0, 90, 100, 5], None).await;
    // Carried over from an earlier round, and more than any price.
    check([5, 18_340_000, 90, 100, 4], None).await;
    check([5, u128::MAX, 90, 100, 5], None).await;
    let other = Feed::new(Node::new(client, &url).unwrap(), 1, CONTRACT.parse().unwrap());
    assert!(matches!(other.latest().await, Err(Error::Settings(_))));
}
