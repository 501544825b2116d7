//! The same mandate through a node: a server that speaks Ogmios' wire format (6.14) in front of the embedded ledger.

use crate::world::{NETWORK, UNIT, World, opened_over, recipient};
use chain::ogmios::Ogmios;
use chain::transaction::Transaction;
use chain::{Chain, ChainError, Datum, LedgerChain, Output, Treasury, Utxo, Value};
use fetch::Policy;
use futures::{SinkExt, StreamExt};
use mandate::price::OutRef;
use mandate::text::TxHash;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

/// What becomes of a call of this method.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Refused,
    /// It happens, and the line breaks.
    Broken,
    Silent,
    /// It happens, and no answer comes.
    DoneAndSilent,
}

struct Node {
    ledger: Arc<LedgerChain>,
    /// What was handed in, in its order. What is in no block any more was rolled back.
    taken: Mutex<Vec<TxHash>>,
    told: Mutex<VecDeque<(&'static str, Way)>>,
    includes_cbor: bool,
}

struct Block {
    hash: TxHash,
    slot: u64,
    height: u64,
    tx: Vec<u8>,
}

impl Node {
    async fn serve(ledger: Arc<LedgerChain>) -> (Arc<Self>, String) {
        Self::serve_with(ledger, true).await
    }

    async fn serve_with(ledger: Arc<LedgerChain>, includes_cbor: bool) -> (Arc<Self>, String) {
        let node = Arc::new(Self { ledger, taken: Mutex::default(), told: Mutex::default(), includes_cbor });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let here = node.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(here.clone().connection(stream));
            }
        });
        (node, url)
    }

    fn next(&self, method: &'static str, way: Way) {
        self.told.lock().unwrap().push_back((method, way));
    }

    fn way(&self, method: &str) -> Option<Way> {
        let mut told = self.told.lock().unwrap();
        let at = told.iter().position(|(of, _)| *of == method)?;
        told.remove(at).map(|(_, way)| way)
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut sent: Vec<TxHash> = Vec::new();
        let mut rewound = true;
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let request: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(request["jsonrpc"], "2.0");
            let method = request["method"].as_str().unwrap();
            let way = self.way(method);
            let mut answer = json!({ "jsonrpc": "2.0", "method": method, "id": request["id"] });
            let result = match way {
                Some(Way::Refused) => Err(json!({ "code": -32603, "message": "told to" })),
                Some(Way::Silent) => std::future::pending().await,
                _ => self.answer(method, &request["params"], &mut sent, &mut rewound).await,
            };
            match way {
                Some(Way::Broken) => return,
                Some(Way::DoneAndSilent) => std::future::pending().await,
                _ => {}
            }
            match result {
                Ok(result) => answer["result"] = result,
                Err(error) => answer["error"] = error,
            }
            socket.send(Message::text(answer.to_string())).await.unwrap();
        }
    }

    async fn blocks(&self) -> Vec<Block> {
        let taken = self.taken.lock().unwrap().clone();
        let mut blocks = Vec::new();
        for hash in taken {
            if let Some(found) = self.ledger.transaction(hash).await.unwrap() {
                let slot = self.ledger.slots().at(found.time);
                blocks.push(Block { hash, slot, height: found.height, tx: found.tx });
            }
        }
        blocks
    }

    async fn answer(
        &self,
        method: &str,
        params: &Json,
        sent: &mut Vec<TxHash>,
        rewound: &mut bool,
    ) -> Result<Json, Json> {
        let blocks = self.blocks().await;
        let point = |block: &Block| json!({ "slot": block.slot, "id": block.hash.to_string() });
        let tip = blocks.last().map_or(json!("origin"), point);
        Ok(match method {
            "queryNetwork/tip" => tip,
            "queryNetwork/blockHeight" => json!(self.ledger.tip().await.unwrap().height),
            "queryLedgerState/protocolParameters" => self.parameters().await,
            "queryLedgerState/utxo" => self.outputs(params).await,
            "submitTransaction" => {
                let tx = hex::decode(params["transaction"]["cbor"].as_str().unwrap()).unwrap();
                let hash = self.ledger.submit(&tx).await.map_err(|error| refused(&error))?;
                self.taken.lock().unwrap().push(hash);
                json!({ "transaction": { "id": hash.to_string() } })
            }
            "evaluateTransaction" => {
                let tx = hex::decode(params["transaction"]["cbor"].as_str().unwrap()).unwrap();
                let units = self.ledger.evaluate(&tx).await.map_err(|error| match &error {
                    ChainError::Rejected { .. } => json!({ "code": 3010, "message": "Some scripts of the transactions terminated with error(s).",
                        "data": [{ "validator": { "index": 0, "purpose": "spend" }, "error": { "code": 3012, "message": "Some of the scripts failed to evaluate to a positive outcome.",
                            "data": { "validationError": "The machine terminated because of an error", "traces": [traced(&error)] } } }] }),
                    _ => refused(&error),
                })?;
                let redeemers = Transaction::read(&tx).unwrap().redeemers().unwrap();
                let mut rows: Vec<Json> = redeemers.iter().zip(units).map(|(redeemer, units)| {
                    let purpose = if redeemer.purpose == 0 { "spend" } else { "mint" };
                    json!({ "validator": { "index": redeemer.index, "purpose": purpose }, "budget": { "memory": units.memory, "cpu": units.steps } })
                }).collect();
                // In no order that is promised.
                rows.reverse();
                json!(rows)
            }
            "findIntersection" => {
                let points = params["points"].as_array().unwrap();
                let found = points.iter().find_map(|wanted| {
                    if wanted == "origin" {
                        return Some(0);
                    }
                    blocks.iter().position(|block| point(block) == *wanted).map(|at| at + 1)
                });
                let Some(found) = found else {
                    return Err(
                        json!({ "code": 1000, "message": "No intersection found.", "data": { "tip": tip } }),
                    );
                };
                *sent = blocks.iter().take(found).map(|block| block.hash).collect();
                *rewound = true;
                let intersection = found.checked_sub(1).map_or(json!("origin"), |at| point(&blocks[at]));
                json!({ "intersection": intersection, "tip": tip })
            }
            "nextBlock" => {
                let common =
                    sent.iter().zip(&blocks).take_while(|(sent, block)| **sent == block.hash).count();
                if *rewound || common < sent.len() {
                    sent.truncate(common);
                    *rewound = false;
                    let back = common.checked_sub(1).map_or(json!("origin"), |at| point(&blocks[at]));
                    return Ok(json!({ "direction": "backward", "point": back, "tip": tip }));
                }
                // Nothing new is no answer.
                let Some(block) = blocks.get(common) else { std::future::pending().await };
                sent.push(block.hash);
                json!({ "direction": "forward", "tip": tip, "block": self.block(block) })
            }
            other => panic!("{other}"),
        })
    }

    fn block(&self, block: &Block) -> Json {
        let tx = Transaction::read(&block.tx).unwrap();
        let outputs: Vec<Json> =
            tx.outputs().unwrap().into_iter().map(|raw| output(&Output::from_cbor(raw).unwrap())).collect();
        let mut transaction = json!({ "id": block.hash.to_string(), "spends": "inputs", "inputs": [], "outputs": outputs, "signatories": [] });
        if self.includes_cbor {
            transaction["cbor"] = json!(hex::encode(&block.tx));
        }
        json!({ "type": "praos", "era": "conway", "id": block.hash.to_string(), "ancestor": "00".repeat(32),
            "height": block.height, "slot": block.slot, "size": { "bytes": block.tx.len() }, "transactions": [transaction] })
    }

    async fn parameters(&self) -> Json {
        let it = self.ledger.parameters().await.unwrap();
        json!({
            "minFeeCoefficient": it.fee_per_byte, "minFeeConstant": { "ada": { "lovelace": it.fee_fixed } },
            "minFeeReferenceScripts": { "range": 25600, "base": 15.0, "multiplier": 1.2 },
            "minUtxoDepositCoefficient": it.lovelace_per_output_byte, "minUtxoDepositConstant": { "ada": { "lovelace": 0 } },
            "maxTransactionSize": { "bytes": it.max_tx_bytes }, "maxValueSize": { "bytes": it.max_value_bytes },
            "collateralPercentage": it.collateral_percent, "maxCollateralInputs": it.max_collateral_inputs,
            "plutusCostModels": { "plutus:v3": it.cost_model_v3 },
            "scriptExecutionPrices": { "memory": "577/10000", "cpu": "721/10000000" },
            "maxExecutionUnitsPerTransaction": { "memory": it.max_tx_memory, "cpu": it.max_tx_steps },
            "version": { "major": it.protocol_major, "minor": 0 },
        })
    }

    async fn outputs(&self, params: &Json) -> Json {
        let mut found: Vec<Utxo> = Vec::new();
        for address in params["addresses"].as_array().into_iter().flatten() {
            found.extend(self.ledger.utxos(address.as_str().unwrap()).await.unwrap());
        }
        for at in params["outputReferences"].as_array().into_iter().flatten() {
            let tx_hash = at["transaction"]["id"].as_str().unwrap().parse().unwrap();
            let output_index = u32::try_from(at["index"].as_u64().unwrap()).unwrap();
            found.extend(self.ledger.utxo(OutRef { output_index, tx_hash }).await.unwrap());
        }
        let rows = found.iter().map(|utxo| {
            let mut row = output(&utxo.output);
            row["transaction"] = json!({ "id": utxo.at.tx_hash.to_string() });
            row["index"] = json!(utxo.at.output_index);
            row
        });
        rows.collect()
    }
}

fn output(output: &Output) -> Json {
    let mut value = json!({ "ada": { "lovelace": output.value.lovelace } });
    for ((policy, name), quantity) in &output.value.tokens {
        value[policy.to_string()][name.to_string()] = json!(quantity);
    }
    let mut row = json!({ "address": output.address.as_str(), "value": value });
    match &output.datum {
        Datum::None => {}
        Datum::Hash(hash) => row["datumHash"] = json!(hash.to_string()),
        Datum::Inline(data) => row["datum"] = json!(hex::encode(data)),
    }
    if let Some(script) = &output.script {
        row["script"] = json!({ "language": "plutus:v3", "cbor": hex::encode(script.as_bytes()) });
    }
    row
}

fn traced(error: &ChainError) -> String {
    match error {
        ChainError::Rejected { invariant: Some(rule), .. } => format!("{} ? False", rule.to_lowercase()),
        other => other.to_string(),
    }
}

/// As Ogmios words it.
fn refused(error: &ChainError) -> Json {
    match error {
        ChainError::Contention(_) => {
            json!({ "code": 3117, "message": "The transaction contains unknown UTxO references as inputs.",
            "data": { "unknownOutputReferences": [{ "transaction": { "id": "00".repeat(32) }, "index": 0 }] } })
        }
        ChainError::Rejected { invariant: Some(rule), .. } if rule == "EXPIRED" => json!({ "code": 3118,
            "message": "The transaction is outside of its validity interval.", "data": { "validityInterval": {}, "currentSlot": 1 } }),
        ChainError::Rejected { invariant: Some(_), .. } => {
            json!({ "code": 3136, "message": "The transaction declares that it spends inputs, but its scripts fail.",
            "data": { "declaredSpending": "inputs", "mismatchReason": traced(error) } })
        }
        other => {
            json!({ "code": 3122, "message": "Insufficient fee!", "data": { "was": other.to_string() } })
        }
    }
}

/// With a point to follow from: nothing has to be asked before something is handed in.
fn begun(url: &str) -> String {
    format!("{url}#1.{}", "00".repeat(32))
}

fn client(url: &str) -> Ogmios {
    client_with(url, Policy::default())
}

fn client_with(url: &str, policy: Policy) -> Ogmios {
    let host = url.strip_prefix("ws://").unwrap().split(['/', '#']).next().unwrap();
    Ogmios::new(url, NETWORK, Policy { allow: vec![host.parse().unwrap()], ..policy }).unwrap()
}

/// The mandate of [`opened_over`], opened through a node.
async fn world() -> (World, Arc<Node>, String) {
    let mut served = None;
    let world = opened_over(async |ledger| {
        let (node, url) = Node::serve(ledger).await;
        let chain = Arc::new(client(&url));
        served = Some((node, url));
        chain
    })
    .await;
    let (node, url) = served.unwrap();
    (world, node, url)
}

#[tokio::test]
async fn a_mandate_lives_behind_a_node() {
    let (world, _, url) = world().await;
    let chain = client(&url);
    assert_eq!(chain.tip().await.unwrap().height, world.chain.tip().await.unwrap().height);
    assert_eq!(
        chain.parameters().await.unwrap().least_fee(1000, chain::ExUnits { memory: 7, steps: 9_999 }, 30_000),
        world.chain.parameters().await.unwrap().least_fee(
            1000,
            chain::ExUnits { memory: 7, steps: 9_999 },
            30_000
        )
    );

    let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    assert!(world.treasury.bond(bond).await.unwrap().is_some());
    let record = world.record(1, 12 * UNIT, true);
    let hash = world.release(&record, Some(bond), &[&world.approver]).await.unwrap();
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 12 * UNIT);
    let found = world.treasury.find(&record).await.unwrap().unwrap();
    assert_eq!(
        (found.tx_hash, Some(found.block_height)),
        (hash, world.treasury.confirmed(hash).await.unwrap())
    );
    assert_eq!(world.treasury.bond(bond).await.unwrap(), None);

    let again = world.release(&record, None, &[&world.approver]).await;
    assert!(
        matches!(&again, Err(ChainError::Rejected { invariant: Some(rule), .. }) if rule == "R8"),
        "{again:?}"
    );
    let through = world.treasury.chain();
    let spent = through.transaction(hash).await.unwrap().unwrap();
    let contention = through.submit(&spent.tx).await;
    assert!(matches!(contention, Err(ChainError::Contention(_))), "{contention:?}");
    assert_eq!(world.treasury.submit(&spent.tx).await.unwrap(), hash);
    assert_eq!(through.transaction(TxHash::from_bytes([9; 32])).await.unwrap(), None);
    // Quantities beyond what a float keeps, datums and scripts come through.
    let most = Value::of(5 * UNIT).with(world.asset.clone(), u64::MAX);
    let at = world.chain.place(Output::new(recipient(), most)).unwrap();
    assert_eq!(chain.utxo(at).await.unwrap(), world.chain.utxo(at).await.unwrap());
    let vault = chain::Scripts::embedded(NETWORK).unwrap().sink().address(NETWORK);
    let shelf = Output {
        script: Some(chain::Scripts::embedded(NETWORK).unwrap().sink().clone()),
        ..Output::new(vault.clone(), Value::of(UNIT))
    };
    world.chain.place(shelf).unwrap();
    assert_eq!(chain.utxos(vault.as_str()).await.unwrap(), world.chain.utxos(vault.as_str()).await.unwrap());
}

#[tokio::test]
async fn blocks_that_are_taken_back_are_forgotten() {
    let (world, _, _) = world().await;
    let records = [world.record(1, UNIT, false), world.record(2, UNIT, false)];
    let first = world.release(&records[0], None, &[]).await.unwrap();
    let second = world.release(&records[1], None, &[]).await.unwrap();
    assert!(world.treasury.confirmed(second).await.unwrap().is_some());
    world.chain.roll_back(1).unwrap();
    assert_eq!(world.treasury.confirmed(second).await.unwrap(), None);
    assert!(world.treasury.confirmed(first).await.unwrap().is_some());
    assert_eq!(world.treasury.find(&records[1]).await.unwrap(), None);
    world.chain.roll_back(1).unwrap();
    assert_eq!(world.treasury.find(&records[0]).await.unwrap(), None);
    let again = world.release(&records[0], None, &[]).await.unwrap();
    assert_eq!(world.treasury.find(&records[0]).await.unwrap().unwrap().tx_hash, again);
}

/// What a node cannot tell is an outage, never "it is not there".
#[tokio::test]
async fn what_was_before_is_known_from_a_point_on_only() {
    let (world, node, url) = world().await;
    let record = world.record(1, UNIT, false);
    let before = node.blocks().await.pop().unwrap();
    let hash = world.release(&record, None, &[]).await.unwrap();
    let open = |url: &str| {
        let chain = Arc::new(client(url));
        Treasury::new(chain, NETWORK, crate::world::signer(7), world.clock.clone()).unwrap()
    };
    // From the newest block on.
    let late = open(&url);
    let told = late.confirmed(hash).await;
    assert!(matches!(&told, Err(ChainError::Unavailable(why)) if why.contains("#SLOT.HASH")), "{told:?}");
    assert!(matches!(late.find(&record).await, Err(ChainError::Unavailable(_))));
    // From the block before it.
    let from = format!("{url}#{}.{}", before.slot, before.hash);
    let whole = open(&from);
    assert_eq!(whole.observe(&world.vault).await.unwrap().last_nonce.get(), 1);
    assert_eq!(whole.find(&record).await.unwrap().unwrap().tx_hash, hash);
    // From a block that is not on this chain.
    let told = open(&format!("{url}#1.{}", "ab".repeat(32))).confirmed(hash).await;
    assert!(matches!(&told, Err(ChainError::Unavailable(why)) if why.contains("intersection")), "{told:?}");
    // Started without whole transactions.
    let (bare, bare_url) = Node::serve_with(world.chain.clone(), false).await;
    *bare.taken.lock().unwrap() = node.taken.lock().unwrap().clone();
    let told = open(&format!("{bare_url}#{}.{}", before.slot, before.hash)).confirmed(hash).await;
    assert!(
        matches!(&told, Err(ChainError::Unavailable(why)) if why.contains("--include-transaction-cbor")),
        "{told:?}"
    );
}

/// Each call in each of the four ways: afterwards everything is as if nothing had been wrong, but for what it did.
#[tokio::test]
async fn every_call_fails_in_four_ways_and_works_again() {
    let policy = Policy { timeout: Duration::from_secs(2), ..Policy::default() };
    for method in [
        "queryNetwork/tip",
        "queryNetwork/blockHeight",
        "queryLedgerState/protocolParameters",
        "queryLedgerState/utxo",
        "evaluateTransaction",
        "submitTransaction",
        "findIntersection",
        "nextBlock",
    ] {
        for way in [Way::Refused, Way::Broken, Way::Silent, Way::DoneAndSilent] {
            let case = format!("{method} {way:?}");
            let world = opened_over(async |ledger| ledger).await;
            let (node, url) = Node::serve(world.chain.clone()).await;
            let chain = Arc::new(client_with(&url, policy.clone()));
            let treasury = Treasury::with_patience(
                chain,
                NETWORK,
                crate::world::signer(7),
                world.clock.clone(),
                Duration::from_millis(500),
            )
            .unwrap();
            let record = world.record(1, UNIT, false);
            node.next(method, way);
            let mut tries = 0;
            loop {
                tries += 1;
                assert!(tries <= 8, "{case}");
                let told = async {
                    treasury.observe(&world.vault).await?;
                    let built = treasury.release(&world.what(&record, None)).await?;
                    treasury.submit(&built.tx).await
                };
                if let Err(error) = told.await {
                    let known = matches!(
                        error,
                        ChainError::Unavailable(_) | ChainError::Unknown(_) | ChainError::Contention(_)
                    ) || matches!(&error, ChainError::Rejected { invariant: Some(rule), .. } if rule == "R8")
                        || matches!(&error, ChainError::Rejected { invariant: None, .. } if method == "submitTransaction" || method == "evaluateTransaction");
                    assert!(known, "{case}: {error}");
                }
                if matches!(treasury.find(&record).await, Ok(Some(_))) {
                    break;
                }
            }
            assert_eq!(world.held(&recipient()).await.quantity(&world.asset), UNIT, "{case}");
        }
    }
}

#[tokio::test]
async fn what_a_node_refuses_is_told_apart() {
    let check = async |error: Json, expected: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let told = error.clone();
        tokio::spawn(async move {
            let mut socket =
                tokio_tungstenite::accept_async(listener.accept().await.unwrap().0).await.unwrap();
            socket.next().await.unwrap().unwrap();
            let answer =
                json!({ "jsonrpc": "2.0", "method": "submitTransaction", "error": told, "id": null });
            socket.send(Message::text(answer.to_string())).await.unwrap();
            socket.next().await;
        });
        let tx = hex::decode("84a0a0f5f6").unwrap();
        let got = client(&begun(&url)).submit(&tx).await.unwrap_err();
        assert!(format!("{got:?}").starts_with(expected), "{error}: {got:?}");
    };
    let error = |code: i64, data: Json| json!({ "code": code, "message": "no", "data": data });
    check(error(3117, json!({ "unknownOutputReferences": [] })), "Contention").await;
    check(error(3123, json!({ "valueConsumed": {} })), "Contention").await;
    check(error(3997, json!({ "mempool": "All inputs are spent." })), "Contention").await;
    check(error(3118, json!({ "currentSlot": 1 })), "Rejected { invariant: Some(\"EXPIRED\")").await;
    check(error(3136, json!({ "mismatchReason": "r12 ? False" })), "Rejected { invariant: Some(\"R12\")")
        .await;
    check(error(3122, json!({ "providedFee": 1 })), "Rejected { invariant: None").await;
    check(error(3005, json!({ "queryEra": "babbage" })), "Unavailable").await;
    check(error(-32602, json!({ "conway": "invalid" })), "Malformed").await;
}

#[tokio::test]
async fn nobody_there_is_nothing_done_and_a_broken_line_is_not_known() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    drop(listener);
    let tx = hex::decode("84a0a0f5f6").unwrap();
    let told = client(&begun(&url)).submit(&tx).await;
    assert!(matches!(told, Err(ChainError::Unavailable(_))), "{told:?}");
    // A server that speaks HTTP alone.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new()).await });
    let told = client(&begun(&url)).submit(&tx).await;
    assert!(matches!(told, Err(ChainError::Unavailable(_))), "{told:?}");
    // One that takes the call and hangs up.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut socket = tokio_tungstenite::accept_async(listener.accept().await.unwrap().0).await.unwrap();
        socket.next().await.unwrap().unwrap();
    });
    let told = client(&begun(&url)).submit(&tx).await;
    assert!(matches!(told, Err(ChainError::Unknown(_))), "{told:?}");
}

#[test]
fn addresses() {
    let connect = |url: &str, allow: &[&str]| {
        let allow = allow.iter().map(|host| host.parse().unwrap()).collect();
        let clock = Arc::new(env::System);
        chain::connect(url, "", NETWORK, clock, Policy { allow, ..Policy::default() })
            .map(|chain| format!("{chain:?}"))
    };
    let here = ["127.0.0.1:1337"];
    assert!(connect("ws://127.0.0.1:1337", &here).unwrap().starts_with("Ogmios"));
    assert!(connect("wss://node.example/", &[]).unwrap().starts_with("Ogmios"));
    let point = format!("ws://127.0.0.1:1337#7.{}", "0a".repeat(32));
    assert!(connect(&point, &here).unwrap().starts_with("Ogmios"));
    for bad in [
        "ws://127.0.0.1:1338",
        "ws://node.example/",
        "ws:/x",
        "wsx://node.example",
        "ws://127.0.0.1:1337#7",
        "ws://127.0.0.1:1337#x.00",
    ] {
        assert!(matches!(connect(bad, &here), Err(ChainError::Malformed(_))), "{bad}");
    }
}
