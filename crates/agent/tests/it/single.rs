//! One upstream: what is not a call passes byte for byte.

use crate::stage::Stage;

/// What the host says reaches the upstream as it is.
async fn check_down(line: &str) {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(line).await;
    assert_eq!(stage.up_hears(0).await, line);
}

/// What the upstream says reaches the host as it is.
async fn check_up(line: &str) {
    let mut stage = Stage::new(&["one"]).await;
    stage.up_says(0, line).await;
    assert_eq!(stage.hear().await, line);
}

#[tokio::test]
async fn what_the_host_says_passes_byte_for_byte() {
    for line in [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":{}},"clientInfo":{"name":"h","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{ "method" : "ping", "id":"a\/b" , "jsonrpc":"2.0", "extra":1.0e5 }"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"é\u00e9"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"n":12345678901234567890}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
        r#"{"jsonrpc":"2.0","id":"s-1","result":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"s-1","error":{"code":-1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
    ] {
        check_down(line).await;
    }
}

#[tokio::test]
async fn what_the_upstream_says_passes_byte_for_byte() {
    for line in [
        r#"{"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#,
        r#"{ "jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400} }"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s-1"}}"#,
    ] {
        check_up(line).await;
    }
}

#[tokio::test]
async fn answers_pass_byte_for_byte_and_what_is_read_is_recorded_first() {
    for (ask, answer, recorded) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0", "id":1,"result":{}}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[ ] , "_meta":{"a":1.0}}}"#,
            Some(r#"observe mcp:one/file:///a {"result":{"contents":[ ] , "_meta":{"a":1.0}}}"#),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[]}}"#,
            Some(r#"observe mcp:one/prompt:p {"result":{"messages":[]}}"#),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#,
            None,
        ),
    ] {
        let mut stage = Stage::new(&["one"]).await;
        stage.say(ask).await;
        assert_eq!(stage.up_hears(0).await, ask);
        stage.up_says(0, answer).await;
        assert_eq!(stage.hear().await, answer);
        assert_eq!(stage.gate.log(), recorded.map(str::to_owned).into_iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn what_readers_disagree_on_is_not_passed_on() {
    for line in [
        "{",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
    ] {
        let mut stage = Stage::new(&["one"]).await;
        stage.say(line).await;
        let answer = stage.hear_json().await;
        assert_eq!(answer["error"]["code"], -32700, "{line}");
        stage.up_hears_nothing(0).await;
    }
}
