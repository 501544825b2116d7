//! The profile inside a whole server: off unless it is switched on.

use crate::support::journal;
use env::System;
use keys::{Algorithm, Signer, SoftwareSigner};
use serde_json::{Value, json};
use server::{App, Config, Parts, Silent};
use std::sync::Arc;

async fn asked(v0: bool) -> (u16, Value) {
    let folder = tempfile::tempdir().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let config = Config { public_url: format!("http://{at}").parse().unwrap(), v0, ..Config::default() };
    let signer: Arc<dyn Signer> = Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap());
    let app = App::new(Parts {
        config,
        journal: journal(folder.path()),
        source: Arc::new(System),
        signer,
        log: None,
        fetch: fetch::Client::new(fetch::Policy::default()).unwrap(),
        notifier: Arc::new(Silent),
        mandates: None,
    })
    .unwrap();
    let router = server::router(&app);
    tokio::spawn(async move { server::serve(&app, router, listener, std::future::pending()).await });
    let params = json!({ "name": "create_room",
        "arguments": { "topic": "t", "your_principal": "Ana", "counterpart": "Ben" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = reqwest::Client::new().post(format!("http://{at}/v0/mcp")).json(&call);
    let response = request.header("origin", "https://elsewhere.example").send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn the_mount_is_off_by_default_and_open_to_every_origin_when_on() {
    // A page of a foreign origin is refused before anything is looked up.
    assert_eq!(asked(false).await.0, 403);
    let (code, answer) = asked(true).await;
    assert_eq!(code, 200);
    let link = answer["result"]["structuredContent"]["your_link"].as_str().unwrap();
    assert!(link.contains("/v0/room/"), "{link}");
}
