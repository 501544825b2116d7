//! Several upstreams as one server.

use crate::stage::Stage;
use serde_json::{Value, json};

async fn answer(stage: &Stage, up: usize, asked: &Value, result: Value) {
    stage.up_says(up, &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string()).await;
}

async fn greeted() -> Stage {
    let mut stage = Stage::new(&["a", "b"]).await;
    stage
        .say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#)
        .await;
    for (up, capabilities) in
        [(0, json!({ "tools": {}, "prompts": {} })), (1, json!({ "tools": {}, "resources": {} }))]
    {
        let asked = stage.up_hears_json(up).await;
        assert_eq!(asked["method"], "initialize");
        answer(&stage, up, &asked, json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }))
            .await;
    }
    let greeting = stage.hear_json().await;
    assert_eq!(greeting["result"]["capabilities"], json!({ "tools": {}, "prompts": {}, "resources": {} }));
    stage.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    for up in 0..2 {
        assert_eq!(stage.up_hears_json(up).await["method"], "notifications/initialized");
    }
    stage
}

#[tokio::test]
async fn lists_are_put_together_page_by_page() {
    let mut stage = greeted().await;
    stage.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let (first, second) = (stage.up_hears_json(0).await, stage.up_hears_json(1).await);
    answer(&stage, 0, &first, json!({ "tools": [{ "name": "t" }], "nextCursor": "p2" })).await;
    answer(&stage, 1, &second, json!({ "tools": [{ "name": "t" }] })).await;
    let page = stage.hear_json().await;
    assert_eq!(page["result"]["tools"], json!([{ "name": "a__t" }, { "name": "b__t" }]));
    let next = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list",
        "params": { "cursor": page["result"]["nextCursor"] } });
    stage.say(&next.to_string()).await;
    let asked = stage.up_hears_json(0).await;
    assert_eq!(asked["params"]["cursor"], "p2");
    answer(&stage, 0, &asked, json!({ "tools": [{ "name": "u" }] })).await;
    let page = stage.hear_json().await;
    assert_eq!(page["result"], json!({ "tools": [{ "name": "a__u" }] }));
    stage.up_hears_nothing(1).await;
}

#[tokio::test]
async fn each_name_goes_to_its_own_server_in_its_own_words() {
    for (ask, up, expected) in [
        (
            json!({ "method": "tools/call", "params": { "name": "b__t", "arguments": {} } }),
            1,
            json!({ "name": "t", "arguments": {} }),
        ),
        (json!({ "method": "prompts/get", "params": { "name": "a__p__q" } }), 0, json!({ "name": "p__q" })),
        (
            json!({ "method": "resources/read", "params": { "uri": "b+file:///x" } }),
            1,
            json!({ "uri": "file:///x" }),
        ),
        // As a link in an answer names it: only one of them has resources.
        (
            json!({ "method": "resources/read", "params": { "uri": "file:///x" } }),
            1,
            json!({ "uri": "file:///x" }),
        ),
        (
            json!({ "method": "completion/complete", "params": { "ref": { "type": "ref/prompt", "name": "a__p" } } }),
            0,
            json!({ "ref": { "type": "ref/prompt", "name": "p" } }),
        ),
    ] {
        let mut stage = greeted().await;
        let mut line = ask.clone();
        line["jsonrpc"] = json!("2.0");
        line["id"] = json!(5);
        stage.say(&line.to_string()).await;
        let heard = stage.up_hears_json(up).await;
        assert_eq!(heard["params"], expected, "{ask}");
        assert_eq!(heard["id"], 5);
        let said = json!({ "jsonrpc": "2.0", "id": 5, "result": { "x": 1 } }).to_string();
        stage.up_says(up, &said).await;
        assert_eq!(stage.hear().await, said);
    }
    let mut stage = greeted().await;
    stage.say(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}"#).await;
    assert_eq!(stage.hear_json().await["error"]["code"], -32602);
}

#[tokio::test]
async fn what_servers_ask_of_the_host_is_told_apart() {
    let mut stage = greeted().await;
    for up in 0..2 {
        stage.up_says(up, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    }
    let (of_a, of_b) = (stage.hear_json().await, stage.hear_json().await);
    assert_ne!(of_a["id"], of_b["id"]);
    stage.say(&json!({ "jsonrpc": "2.0", "id": of_b["id"], "result": { "roots": ["b"] } }).to_string()).await;
    stage.say(&json!({ "jsonrpc": "2.0", "id": of_a["id"], "result": { "roots": ["a"] } }).to_string()).await;
    assert_eq!(
        stage.up_hears_json(0).await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": ["a"] } })
    );
    assert_eq!(
        stage.up_hears_json(1).await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": ["b"] } })
    );
}

#[tokio::test]
async fn a_dead_server_hurts_nobody_else() {
    let mut stage = greeted().await;
    stage.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let (first, _) = (stage.up_hears_json(0).await, stage.up_hears_json(1).await);
    stage.down(1).await;
    answer(&stage, 0, &first, json!({ "tools": [{ "name": "t" }] })).await;
    assert_eq!(stage.hear_json().await["result"]["tools"], json!([{ "name": "a__t" }]));
    stage.say(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"b__t"}}"#).await;
    let refused = stage.hear_json().await;
    assert_eq!(refused["result"]["_meta"]["countersign/decision"]["code"], "upstream_down");
    stage.say(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a__t"}}"#).await;
    assert_eq!(stage.up_hears_json(0).await["id"], 6);
    stage.up(1).await;
    assert_eq!(stage.up_hears_json(1).await["method"], "initialize");
}
