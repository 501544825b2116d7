//! The same mandate over HTTP: a server that speaks Blockfrost's wire format in front of the embedded ledger.

use crate::world::{UNIT, opened_over, recipient};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chain::blockfrost::Blockfrost;
use chain::transaction::Transaction;
use chain::{Chain, ChainError, Datum, LedgerChain, Output, Value};
use fetch::Policy;
use mandate::price::OutRef;
use mandate::text::TxHash;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROJECT: &str = "preprodTest";

#[derive(Clone)]
struct Stub {
    chain: Arc<LedgerChain>,
    scripts: Arc<Mutex<BTreeMap<String, String>>>,
}

/// Serves the ledger on a port of its own for as long as the test's runtime lives.
async fn serve(chain: Arc<LedgerChain>) -> String {
    let stub = Stub { chain, scripts: Arc::default() };
    let routes = Router::new()
        .route("/api/v0/blocks/latest", get(latest))
        .route("/api/v0/epochs/latest/parameters", get(parameters))
        .route("/api/v0/addresses/{address}/utxos", get(utxos))
        .route("/api/v0/addresses/{address}/utxos/{asset}", get(utxos_holding))
        .route("/api/v0/txs/{hash}", get(transaction))
        .route("/api/v0/txs/{hash}/cbor", get(transaction_cbor))
        .route("/api/v0/txs/{hash}/utxos", get(outputs))
        .route("/api/v0/scripts/{hash}/cbor", get(script))
        .route("/api/v0/tx/submit", post(submit))
        .route("/api/v0/utils/txs/evaluate", post(evaluate))
        .with_state(stub);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api/v0", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    base
}

fn client(base: &str) -> Blockfrost {
    let host = base.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let policy = Policy { allow: vec![host.parse().unwrap()], ..Policy::default() };
    Blockfrost::new(base, PROJECT, policy).unwrap()
}

async fn latest(State(stub): State<Stub>, headers: HeaderMap) -> Response {
    if headers.get("project_id").is_none_or(|id| id != PROJECT) {
        return (StatusCode::FORBIDDEN, "no project").into_response();
    }
    let tip = stub.chain.tip().await.unwrap();
    reply(
        &json!({"slot": tip.slot, "height": tip.height, "time": tip.time.get() / 1000, "hash": "00", "epoch": 1}),
    )
}

async fn parameters(State(stub): State<Stub>) -> Response {
    let it = stub.chain.parameters().await.unwrap();
    reply(&json!({
        "epoch": 225, "min_fee_a": it.fee_per_byte, "min_fee_b": it.fee_fixed, "max_tx_size": it.max_tx_bytes,
        "protocol_major_ver": it.protocol_major, "protocol_minor_ver": 0, "price_mem": 0.0577, "price_step": 0.0000721,
        "max_tx_ex_mem": it.max_tx_memory.to_string(), "max_tx_ex_steps": it.max_tx_steps.to_string(),
        "max_val_size": it.max_value_bytes.to_string(), "collateral_percent": it.collateral_percent,
        "max_collateral_inputs": it.max_collateral_inputs, "coins_per_utxo_size": it.lovelace_per_output_byte.to_string(),
        "min_fee_ref_script_cost_per_byte": 15, "cost_models_raw": {"PlutusV3": it.cost_model_v3},
    }))
}

type Queried = Query<BTreeMap<String, String>>;

async fn utxos(stub: State<Stub>, Path(address): Path<String>, query: Queried) -> Response {
    listed(stub, &address, query, |_| true).await
}

async fn utxos_holding(
    stub: State<Stub>,
    Path((address, asset)): Path<(String, String)>,
    query: Queried,
) -> Response {
    let holds =
        |output: &Output| output.value.tokens.keys().any(|(policy, name)| format!("{policy}{name}") == asset);
    listed(stub, &address, query, holds).await
}

async fn listed(
    State(stub): State<Stub>,
    address: &str,
    Query(query): Queried,
    holds: impl Fn(&Output) -> bool,
) -> Response {
    let (count, page): (usize, usize) = (query["count"].parse().unwrap(), query["page"].parse().unwrap());
    let mut utxos = stub.chain.utxos(address).await.unwrap();
    utxos.retain(|utxo| holds(&utxo.output));
    if utxos.is_empty() {
        return missing();
    }
    let here = utxos.iter().skip(count * (page - 1)).take(count);
    let rows: Vec<_> = here.map(|utxo| row(&stub, utxo.at, &utxo.output)).collect();
    reply(&json!(rows))
}

fn row(stub: &Stub, at: OutRef, output: &Output) -> Json {
    let mut amount = vec![json!({"unit": "lovelace", "quantity": output.value.lovelace.to_string()})];
    amount.extend(output.value.tokens.iter().map(
        |((policy, name), amount)| json!({"unit": format!("{policy}{name}"), "quantity": amount.to_string()}),
    ));
    let (inline, hash) = match &output.datum {
        Datum::None => (Json::Null, Json::Null),
        Datum::Hash(hash) => (Json::Null, json!(hash.to_string())),
        Datum::Inline(data) => (json!(hex::encode(data)), json!("00".repeat(32))),
    };
    let script = output.script.as_ref().map(|script| {
        // Bare, as that service gives it.
        let code = script.as_bytes()[3..].to_vec();
        stub.scripts.lock().unwrap().insert(script.hash().to_string(), hex::encode(code));
        script.hash().to_string()
    });
    json!({
        "address": output.address.as_str(), "tx_hash": at.tx_hash.to_string(), "output_index": at.output_index,
        "amount": amount, "block": "00", "data_hash": hash, "inline_datum": inline, "reference_script_hash": script,
        "collateral": false, "consumed_by_tx": null,
    })
}

async fn outputs(State(stub): State<Stub>, Path(hash): Path<String>) -> Response {
    let tx_hash: TxHash = hash.parse().unwrap();
    let mut rows = Vec::new();
    if let Some(found) = stub.chain.transaction(tx_hash).await.unwrap() {
        let tx = Transaction::read(&found.tx).unwrap();
        for (index, raw) in tx.outputs().unwrap().into_iter().enumerate() {
            let at = OutRef { output_index: u32::try_from(index).unwrap(), tx_hash };
            let mut row = row(&stub, at, &Output::from_cbor(raw).unwrap());
            if stub.chain.utxo(at).await.unwrap().is_none() {
                row["consumed_by_tx"] = json!("11".repeat(32));
            }
            rows.push(row);
        }
    } else if let Some(utxo) = stub.chain.utxo(OutRef { output_index: 0, tx_hash }).await.unwrap() {
        rows.push(row(&stub, utxo.at, &utxo.output));
    } else {
        return missing();
    }
    reply(&json!({"hash": hash, "inputs": [], "outputs": rows}))
}

async fn transaction(State(stub): State<Stub>, Path(hash): Path<String>) -> Response {
    match stub.chain.transaction(hash.parse().unwrap()).await.unwrap() {
        Some(found) => reply(
            &json!({"hash": hash, "block_height": found.height, "block_time": found.time.get() / 1000, "index": 0}),
        ),
        None => missing(),
    }
}

async fn transaction_cbor(State(stub): State<Stub>, Path(hash): Path<String>) -> Response {
    match stub.chain.transaction(hash.parse().unwrap()).await.unwrap() {
        Some(found) => reply(&json!({"cbor": hex::encode(found.tx)})),
        None => missing(),
    }
}

async fn script(State(stub): State<Stub>, Path(hash): Path<String>) -> Response {
    match stub.scripts.lock().unwrap().get(&hash) {
        Some(code) => reply(&json!({"cbor": code})),
        None => missing(),
    }
}

async fn submit(State(stub): State<Stub>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers["content-type"], "application/cbor");
    match stub.chain.submit(&body).await {
        Ok(hash) => reply(&json!(hash.to_string())),
        Err(error) => bad(&node_says(&error)),
    }
}

async fn evaluate(State(stub): State<Stub>, body: Bytes) -> Response {
    match stub.chain.evaluate(&hex::decode(&body).unwrap()).await {
        Ok(units) => {
            let tx = hex::decode(&body).unwrap();
            let redeemers = Transaction::read(&tx).unwrap().redeemers().unwrap();
            let name = |redeemer: &chain::transaction::Redeemer| {
                format!("{}:{}", if redeemer.purpose == 0 { "spend" } else { "mint" }, redeemer.index)
            };
            let units: BTreeMap<_, _> = redeemers
                .iter()
                .zip(units)
                .map(|(redeemer, units)| {
                    (name(redeemer), json!({"memory": units.memory, "steps": units.steps}))
                })
                .collect();
            reply(
                &json!({"type": "jsonwsp/response", "version": "1.0", "result": {"EvaluationResult": units}}),
            )
        }
        Err(error) => reply(&json!({
            "type": "jsonwsp/response", "version": "1.0",
            "result": {"EvaluationFailure": {"ScriptFailures": {"spend:0": [{"validatorFailed": {
                "error": "failed", "traces": [node_says(&error)],
            }}]}}},
        })),
    }
}

/// As a node words it.
fn node_says(error: &ChainError) -> String {
    match error {
        ChainError::Contention(at) => {
            format!("transaction submit error ShelleyTxValidationError (BadInputsUTxO {at})")
        }
        ChainError::Rejected { invariant: Some(rule), .. } if rule == "EXPIRED" => {
            "(OutsideValidityIntervalUTxO)".to_owned()
        }
        ChainError::Rejected { invariant: Some(rule), .. } => format!("{} ? False", rule.to_lowercase()),
        other => other.to_string(),
    }
}

fn reply(body: &Json) -> Response {
    ([("content-type", "application/json")], body.to_string()).into_response()
}

fn missing() -> Response {
    let body = json!({"status_code": 404, "error": "Not Found", "message": "not there"});
    (StatusCode::NOT_FOUND, body.to_string()).into_response()
}

fn bad(message: &str) -> Response {
    let body = json!({"status_code": 400, "error": "Bad Request", "message": message});
    (StatusCode::BAD_REQUEST, body.to_string()).into_response()
}

#[tokio::test]
async fn a_mandate_lives_over_http() {
    let mut base = String::new();
    let world = opened_over(async |ledger| {
        base = serve(ledger).await;
        Arc::new(client(&base))
    })
    .await;
    let chain = client(&base);
    assert_eq!(chain.tip().await.unwrap(), world.chain.tip().await.unwrap());
    let (ours, theirs) = (chain.parameters().await.unwrap(), world.chain.parameters().await.unwrap());
    let units = chain::ExUnits { memory: 1_234_567, steps: 987_654_321 };
    assert_eq!(ours.least_fee(1000, units, 30_000), theirs.least_fee(1000, units, 30_000));
    assert_eq!(ours.cost_model_v3, theirs.cost_model_v3);

    let bond = world.bond(&world.bond_datum(), Value::of(5 * UNIT));
    assert!(world.treasury.bond(bond).await.unwrap().is_some());
    let record = world.record(1, 12 * UNIT, true);
    let hash = world.release(&record, Some(bond), &[&world.approver]).await.unwrap();
    assert_eq!(world.held(&recipient()).await.quantity(&world.asset), 12 * UNIT);
    assert_eq!(world.treasury.find(&record).await.unwrap().unwrap().tx_hash, hash);
    assert_eq!(world.treasury.bond(bond).await.unwrap(), None);

    let again = world.release(&record, None, &[&world.approver]).await;
    assert!(
        matches!(&again, Err(ChainError::Rejected { invariant: Some(rule), .. }) if rule == "R8"),
        "{again:?}"
    );
    let spent = chain.transaction(hash).await.unwrap().unwrap();
    let contention = chain.submit(&spent.tx).await;
    assert!(matches!(contention, Err(ChainError::Contention(_))), "{contention:?}");
    assert_eq!(world.treasury.submit(&spent.tx).await.unwrap(), hash);
    assert_eq!(chain.transaction(TxHash::from_bytes([9; 32])).await.unwrap(), None);
}

#[tokio::test]
async fn more_outputs_than_a_page_holds_are_all_read() {
    let world = opened_over(async |ledger| ledger).await;
    for _ in 0..201 {
        world.chain.fund(&recipient(), Value::of(UNIT)).unwrap();
    }
    let chain = client(&serve(world.chain.clone()).await);
    assert_eq!(chain.utxos(recipient().as_str()).await.unwrap().len(), 201);
}

#[tokio::test]
async fn what_a_server_answers_is_told_apart() {
    let check = async |status: u16, body: &'static str, expected: &str| {
        let answer = move || async move { (StatusCode::from_u16(status).unwrap(), body) };
        let routes = Router::new()
            .route("/api/v0/tx/submit", post(answer))
            .route("/api/v0/blocks/latest", get(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api/v0", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        let told = client(&base).submit(&[0x80]).await.unwrap_err();
        assert!(format!("{told:?}").starts_with(expected), "{status} {body}: {told:?}");
        let read = client(&base).tip().await.unwrap_err();
        assert!(matches!(read, ChainError::Unavailable(_)), "{read:?}");
    };
    check(500, "oops", "Unknown").await;
    check(504, "", "Unknown").await;
    check(429, "slow down", "Unavailable").await;
    check(425, "mempool full", "Unavailable").await;
    check(403, "no project", "Unavailable").await;
    check(400, "(BadInputsUTxO (fromList []))", "Contention").await;
    check(400, "(OutsideValidityIntervalUTxO)", "Rejected { invariant: Some(\"EXPIRED\")").await;
    check(400, "traces: [\"x\", \"r12 ? False\"]", "Rejected { invariant: Some(\"R12\")").await;
    check(400, "b4 ? False", "Rejected { invariant: Some(\"b4\")").await;
    check(400, "(FeeTooSmallUTxO)", "Rejected { invariant: None").await;
    check(200, "\"not a hash\"", "Unknown").await;
}

#[tokio::test]
async fn nobody_there_is_nothing_done_and_a_broken_line_is_not_known() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api/v0", listener.local_addr().unwrap());
    drop(listener);
    let told = client(&base).submit(&[0x80]).await;
    assert!(matches!(told, Err(ChainError::Unavailable(_))), "{told:?}");

    // It takes the call and hangs up; or it never says a word.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api/v0", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (first, _) = listener.accept().await.unwrap();
        first.readable().await.unwrap();
        drop(first);
        let silent = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
        drop(silent);
    });
    let told = client(&base).submit(&[0x80]).await;
    assert!(matches!(told, Err(ChainError::Unknown(_))), "{told:?}");
    let host = base.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let policy = Policy {
        allow: vec![host.parse().unwrap()],
        timeout: Duration::from_millis(200),
        ..Policy::default()
    };
    let told = Blockfrost::new(&base, PROJECT, policy).unwrap().submit(&[0x80]).await;
    assert!(matches!(told, Err(ChainError::Unknown(_))), "{told:?}");
}
