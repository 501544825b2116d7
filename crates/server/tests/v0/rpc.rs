//! JSON-RPC itself.

use crate::support::{World, keys};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn ping(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

#[tokio::test]
async fn t48_every_kind_of_message_has_its_answer() {
    let world = World::start().await;
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(world.rpc(&notification, &[]).await, (202, Value::Null));
    let (code, body) = world.get("/mcp").await;
    assert_eq!((code, &body["error"]["code"]), (405, &json!(-32000)));
    let bad = world.http.post(world.url("/mcp")).body("{").send().await.unwrap();
    assert_eq!(bad.status(), 400);
    assert_eq!(bad.json::<Value>().await.unwrap()["error"]["code"], -32700);
    let (_, unknown) = world.rpc(&json!({ "jsonrpc": "2.0", "id": "x", "method": "nothing" }), &[]).await;
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!("x"), &json!(-32601)));
    let (_, old) = world.rpc(&json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }), &[]).await;
    assert_eq!(old["error"]["code"], -32600);
    assert!(world.tool("no_tool", json!({})).await.unwrap_err().contains("no such tool"));
    let (code, batch) = world.rpc(&json!([ping(3), notification, ping(1)]), &[]).await;
    let ids: Vec<&Value> = batch.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!((code, ids), (200, vec![&json!(3), &json!(1)]));
    let options = world.http.request(reqwest::Method::OPTIONS, world.url("/mcp")).send().await.unwrap();
    assert_eq!(options.status(), 204);
    assert_eq!(options.headers()["access-control-allow-origin"], "*");
    assert_eq!(world.http.delete(world.url("/mcp")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_message_without_an_id_is_carried_out_and_not_answered() {
    let world = World::start().await;
    let params = json!({ "name": "create_room", "arguments": { "topic": "t" } });
    let call = json!({ "jsonrpc": "2.0", "id": null, "method": "tools/call", "params": params });
    assert_eq!(world.rpc(&call, &[]).await, (202, Value::Null));
    assert_eq!(world.get("/health").await.1["rooms"], 1);
}

#[tokio::test]
async fn t49_a_batch_has_at_most_twenty() {
    let world = World::start().await;
    let batch = |count: u32| Value::Array((0..count).map(ping).collect());
    let (code, answers) = world.rpc(&batch(20), &[]).await;
    assert_eq!((code, answers.as_array().unwrap().len()), (200, 20));
    let mut many = batch(20);
    many.as_array_mut().unwrap().push(json!({ "jsonrpc": "2.0", "id": 9, "method": "initialize" }));
    let response = world.http.post(world.url("/mcp")).json(&many).send().await.unwrap();
    assert_eq!(response.status(), 400);
    assert!(!response.headers().contains_key("mcp-session-id"));
    assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], -32600);
    assert_eq!(world.rpc(&json!([]), &[]).await.0, 202);
}

#[tokio::test]
async fn t50_what_is_too_large_is_refused_and_the_connection_closed() {
    let world = World::start().await;
    let room = world.room().await;
    let seat = format!("/v0/api/rooms/{}/seats/A/seal", room.id);
    for (path, size) in [(seat.as_str(), 70 * 1024), ("/v0/mcp", 300 * 1024)] {
        let declared = format!("Content-Length: {size}\r\n\r\n");
        let chunked = format!("Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n{}", "x".repeat(size));
        for rest in [declared, chunked] {
            let mut stream = tokio::net::TcpStream::connect(world.at).await.unwrap();
            let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n{rest}", world.at);
            // The server may close before it has read all.
            let _ = stream.write_all(head.as_bytes()).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8_lossy(&answer).to_lowercase();
            assert!(answer.starts_with("http/1.1 413"), "{path}: {answer}");
            assert!(answer.contains("connection: close"));
            if path.ends_with("mcp") {
                assert!(answer.contains("access-control-allow-origin: *") && answer.contains("-32600"));
            }
        }
    }
}

#[tokio::test]
async fn t61_initialize_and_the_list_of_tools() {
    let world = World::start().await;
    let hello = |version: &str| {
        let params = json!({ "protocolVersion": version, "clientInfo": { "name": "n", "title": "Title" } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
    };
    for (asked, given) in
        [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-06-18")]
    {
        let (_, answer) = world.rpc(&hello(asked), &[]).await;
        assert_eq!(answer["result"]["protocolVersion"], given);
        assert_eq!(answer["result"]["capabilities"], json!({ "tools": { "listChanged": false } }));
        assert!(answer["result"]["instructions"].is_string());
    }
    let response = world.http.post(world.url("/mcp")).json(&hello("2025-06-18")).send().await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let asked = json!({ "topic": "t", "your_principal": "Ana", "counterpart": "Ben" });
    let opened = world.tool_as("create_room", asked, &[("mcp-session-id", &session)]).await.unwrap();
    let view = world.view(opened["room_id"].as_str().unwrap()).await;
    assert_eq!(view["seats"]["A"]["agent"], "Title");

    let (_, list) = world.rpc(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }), &[]).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let expected = [
        (
            "create_room",
            vec!["topic", "your_principal", "counterpart"],
            "counterpart counterpart_proxy passcode topic your_principal",
            false,
            false,
        ),
        ("join_room", vec!["link"], "agent_name link", false, true),
        ("seal_intent_card", vec!["link", "card"], "card link", false, false),
        ("get_room", vec!["link"], "link", true, false),
        ("wait_for_turn", vec!["link"], "link timeout_seconds", true, false),
        (
            "send_envelope",
            vec!["link", "message", "status"],
            "claims escalation link message proposal reviews status",
            false,
            false,
        ),
        ("answer_escalation", vec!["link", "answer"], "answer link", false, false),
        ("get_brief", vec![], "link room_id", true, false),
    ];
    assert_eq!(tools.len(), expected.len());
    for (tool, (name, required, properties, reads, idempotent)) in tools.iter().zip(expected) {
        assert_eq!(tool["name"], name);
        assert_eq!(tool["inputSchema"]["required"], json!(required), "{name}");
        assert_eq!(keys(&tool["inputSchema"]["properties"]).join(" "), properties, "{name}");
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["openWorldHint"]),
            (&json!(reads), &json!(true)),
            "{name}"
        );
        if !reads {
            assert_eq!(hints["idempotentHint"], idempotent, "{name}");
            assert_eq!(hints["destructiveHint"], false, "{name}");
        }
        assert!(tool.get("outputSchema").is_none());
    }
}
