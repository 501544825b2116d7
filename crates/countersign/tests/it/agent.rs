//! `countersign mandate agent` against `countersign serve`, both on one embedded ledger in a file.

use super::{Running, err, http, out, run, start};
use chain::{Chain, LedgerChain};
use env::Source;
use mandate::issue::ChainName;
use mandate::{Address, Credential, Network};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const NETWORK: ChainName = ChainName::Preprod;
const TOKEN: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.745553444d";

/// A key file, the key and its hash.
fn key(at: &Path, name: &str) -> (String, String) {
    let line = out(&run(at, &["mandate", "key", name]));
    let (key, hash) = line.trim().split_once(' ').unwrap();
    (key.to_owned(), hash.to_owned())
}

fn own_address(hash: &str) -> Address {
    Address::new(Network::Test, Credential::Key(hash.parse().unwrap()), None)
}

/// What the principal does, which must succeed; gives what it printed.
fn principal(at: &Path, arguments: &[&str]) -> String {
    let key = ["--key", "principal/wallet.jwk"];
    let keys: &[&str] = if arguments[0] == "fund" { &[] } else { &key };
    let done = run(at, &[&["mandate", "principal"], arguments, keys].concat());
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}{}", out(&done), err(&done));
    out(&done)
}

/// A fresh agent's folder: its delegate and its address.
fn new_agent(at: &Path, arguments: &[&str]) -> (Value, String) {
    let made = run(at, &[&["mandate", "agent", "new", "--json"], arguments].concat());
    let made: Value = serde_json::from_str(&out(&made)).unwrap();
    (made["delegate"].clone(), made["address"].as_str().unwrap().to_owned())
}

/// Bonds at the escrow of the server's ledger.
async fn locked(at: &Path) -> usize {
    let source: Arc<dyn Source> = Arc::new(env::System);
    let ledger = LedgerChain::open(Some(&at.join("data/chain.db")), Arc::clone(&source), NETWORK).unwrap();
    let escrow = chain::Scripts::embedded(NETWORK).unwrap().bond().address(NETWORK);
    ledger.utxos(escrow.as_str()).await.unwrap().len()
}

/// A server with the agent's mandate; the agent's folder beside it.
fn served(at: &Path) -> (Running, String) {
    std::fs::create_dir(at.join("data")).unwrap();
    std::fs::write(at.join("countersign.toml"), "data = \"data\"\n[mandates]\n").unwrap();
    let (delegate, address) = new_agent(at, &["--chain", "file:data/chain.db"]);
    let (_, own) = new_agent(at, &["--home", "principal"]);
    let engine = key(at, "data/engine.jwk").0;
    let (owner, approver) = (key(at, "principal/wallet.jwk").1, key(at, "approver.jwk").1);
    let mandate = json!({
        "schema": "mandate/v0.1", "id": "M-001", "version": 1, "status": "active",
        "principal": { "type": "organization", "id": "acme", "name": "Acme", "cardano_key_hash": owner },
        "delegate": delegate,
        "approvers": [{ "role": "CFO", "cardano_key_hash": approver }],
        "authority_engine": { "public_key": engine },
        "asset": { "symbol": "USDM", "decimals": 6 },
        "validity": { "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" },
        "delegation": { "allowed": false },
        "interrupt_budget": { "per_day": 3 },
        "constraints": [
            { "id": "purpose", "kind": "purpose_in", "values": ["invoice_payment"], "on_violation": "DENY" },
            { "id": "autonomous", "kind": "amount_lte", "value": "10000000", "on_violation": "ESCALATE", "approver": "CFO" },
            { "id": "hard_cap", "kind": "amount_lte", "value": "50000000", "on_violation": "DENY" },
            { "id": "daily", "kind": "daily_spend_lte", "value": "100000000", "on_violation": "DENY" },
            { "id": "floor", "kind": "balance_after_gte", "value": "100000000", "on_violation": "DENY" }
        ]
    })
    .to_string();
    std::fs::write(at.join("data/M-001.json"), &mandate).unwrap();
    principal(at, &["fund", "--times", "8"]);
    principal(at, &["fund", &address, "--lovelace", "20000000", "--times", "8"]);
    let anchored = principal(at, &["anchor", "data/M-001.json", "--asset", TOKEN]);
    let line = anchored.lines().find_map(|line| line.trim().strip_prefix("mandate_ref"));
    principal(at, &["open", line.unwrap().trim(), "--vault", "vault.json"]);
    principal(at, &["fund", &own, "--asset", TOKEN, "--amount", "500000000"]);
    principal(at, &["deposit", "vault.json", "--amount", "500000000"]);
    let vault: Value = serde_json::from_slice(&std::fs::read(at.join("vault.json")).unwrap()).unwrap();
    let text = |name: &str| vault[name].as_str().unwrap();
    let config = format!(
        "data = \"data\"\n[mandates]\n[[mandates.anchored]]\nfile = \"M-001.json\"\n[mandates.anchored.vault]\n\
         network = \"{}\"\nvault_hash = \"{}\"\nmandate_ref = \"{}\"\nasset_policy = \"{}\"\nasset_name = \"{}\"\n",
        text("network"),
        text("vault_hash"),
        text("mandate_ref"),
        text("asset_policy"),
        text("asset_name")
    );
    std::fs::write(at.join("countersign.toml"), config).unwrap();
    let (running, printed) = start(at, &["serve", "--listen", "127.0.0.1:0"], 1);
    let address = printed[0].rsplit(' ').next().unwrap().to_owned();
    let settings = at.join("countersign-agent/agent.toml");
    let mut text = std::fs::read_to_string(&settings).unwrap();
    text.push_str(&format!("server = \"http://{address}\"\nallow = [\"{address}\"]\n"));
    std::fs::write(&settings, text).unwrap();
    (running, address)
}

fn action(at: &Path, id: &str, usdm: u64) -> String {
    let action = json!({
        "schema": "action-ir/v0.1", "id": id, "mandate_id": "M-001", "actor": "agent", "type": "pay_invoice",
        "purpose": "invoice_payment", "counterparty": { "id": "aws", "display": "AWS" },
        "amount": { "value": (usdm * 1_000_000).to_string(), "asset": "USDM" },
        "recipient": { "chain": "cardano", "address": own_address(&"55".repeat(28)).as_str() },
        "source": { "vault": "treasury" },
        "reference": { "invoice_id": format!("in_{id}"), "invoice_number": format!("INV-{id}") },
        "rationale": "It is due.", "created_at": "2026-10-07T03:00:00Z",
    });
    let name = format!("{id}.json");
    std::fs::write(at.join(&name), action.to_string()).unwrap();
    name
}

#[tokio::test]
async fn an_agent_proposes_pays_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (_running, address) = served(at);
    let agent = |arguments: &[&str]| {
        let done = run(at, &[&["mandate", "agent"], arguments].concat());
        (done.status.code(), out(&done), err(&done))
    };
    for (name, mode) in [("", 0o700), ("delegate.jwk", 0o600), ("wallet.jwk", 0o600), ("agent.toml", 0o600)] {
        let about = std::fs::metadata(at.join("countersign-agent").join(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, mode, "{name}");
    }
    let proposed = |arguments: &[&str]| {
        let (status, text, error) = agent(&[&["propose", "--json"], arguments].concat());
        let read = serde_json::from_str::<Value>(&text);
        (status, read.unwrap_or_else(|_| panic!("{status:?} {text} {error}")))
    };
    let small = action(at, "A1", 8);
    let (status, told) = proposed(&[&small, "--wait=20", "--receipt", "r.json"]);
    assert_eq!(
        (status, &told["outcome"], &told["end"]["what"]),
        (Some(0), &json!("allowed"), &json!("released"))
    );
    assert_eq!(told["receipt"]["holds"], true, "{told}");
    assert_eq!(run(at, &["verify", "r.json"]).status.code(), Some(0));

    let large = action(at, "A2", 18);
    let (status, told) = proposed(&[&large, "--dry"]);
    assert_eq!((status, &told["outcome"]), (Some(3), &json!("quoted")));
    let (status, told) = proposed(&[&large]);
    assert_eq!((status, &told["outcome"], &told["approval_id"]), (Some(3), &json!("priced"), &json!("AP-1")));
    assert_eq!(locked(at).await, 0);
    for _ in 0..2 {
        let (status, told) = proposed(&[&large, "--pay"]);
        assert_eq!(
            (status, &told["outcome"], &told["bond"]["status"]),
            (Some(3), &json!("waiting"), &json!("locked"))
        );
        assert_eq!(locked(at).await, 1, "paid once");
    }
    let (status, shown, error) = agent(&["bond", "show"]);
    assert!(status == Some(0) && shown.starts_with("locked    AP-1 5 ADA of M-001"), "{shown}{error}");
    assert_eq!(agent(&["bond", "recover"]), (Some(0), String::new(), String::new()), "it is not due");

    let (status, told) = proposed(&[&action(at, "A3", 51)]);
    assert_eq!((status, &told["reason"]), (Some(1), &json!("AMOUNT_ABOVE_HARD_CAP")));
    let (status, shown, error) = agent(&["status", "--mandate", "M-001"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(shown.contains("CFO       asked 1 of 3 times today"), "{shown}");
    assert!(shown.contains("bonds     1 "), "{shown}");

    // By hand: the lock of a price that another client was told, signed and not handed in; then handed in.
    let (status, body) = http(&address, "GET /v1/authority/CFO?mandate_id=M-001", "", "");
    assert_eq!(status, 200, "{body}");
    let (_, told) = proposed(&[&action(at, "A4", 19)]);
    std::fs::write(at.join("price.json"), told["price"].to_string()).unwrap();
    let lock = |more: &[&str]| {
        let (status, text, error) =
            agent(&[&["bond", "lock", "price.json", "--mandate", "M-001"], more].concat());
        assert_eq!(status, Some(0), "{error}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let prepared = lock(&["--unsubmitted"]);
    assert_eq!(locked(at).await, 1);
    assert_eq!(lock(&[]), prepared, "the same transaction");
    assert_eq!(locked(at).await, 2);
    assert!(prepared["nonce"].as_str().unwrap().contains('#'));
}

#[test]
fn what_is_of_no_use_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let check = |arguments: &[&str], words: &str| {
        let done = run(at, &[&["mandate", "agent"], arguments].concat());
        assert_eq!((done.status.code(), out(&done).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(err(&done).contains(words), "{arguments:?}: {}", err(&done));
    };
    let good = action(at, "A1", 8);
    check(&["propose", &good], "no agent's folder");
    let made = run(at, &["mandate", "agent", "new", "--id", "cfo-agent-01"]);
    assert!(out(&made).contains("\"id\":\"cfo-agent-01\""), "{}", out(&made));
    let again = run(at, &["mandate", "agent", "new", "--id", "cfo-agent-01", "--most", "1"]);
    assert_eq!(out(&again), out(&made), "what is there is kept");
    check(&["propose", &good], "no server");
    check(&["propose", "none.json", "--server", "https://authority.example"], "none.json");
    check(&["propose", &good, "--server", "http://127.0.0.1:1"], "http://127.0.0.1:1: ");
    std::fs::write(at.join("no.json"), "{}").unwrap();
    check(&["propose", "no.json", "--server", "https://authority.example"], "not an action");
    check(&["bond", "show"], "no chain");
}
