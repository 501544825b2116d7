//! Tool calls: decided before they are sent, recorded before they are answered, sent once.

use crate::stage::Stage;
use serde_json::Value;

fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[ ],"x":1.50}}"#;

fn code(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["_meta"]["countersign/decision"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn a_call_passes_as_it_is_and_is_on_record_before_and_after() {
    let mut stage = Stage::new(&["one"]).await;
    let line = call("t", r#"{"b":1.0, "a":"\u0041"}"#);
    stage.say(&line).await;
    assert_eq!(stage.up_hears(0).await, line);
    assert_eq!(stage.gate.log(), [r#"decide mcp:one/t {"b":1.0, "a":"\u0041"}"#]);
    stage.up_says(0, ANSWER).await;
    assert_eq!(stage.hear().await, ANSWER);
    assert_eq!(stage.gate.log()[1], r#"complete dec-t ok {"result":{"content":[ ],"x":1.50}}"#);
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_decided_nor_answered_before_it_is_recorded() {
    let mut stage = Stage::new(&["one"]).await;
    stage.gate.may_decide.forget_permits(1000);
    stage.gate.may_record.forget_permits(1000);
    stage.say(&call("t", "{}")).await;
    stage.up_hears_nothing(0).await;
    stage.gate.may_decide.add_permits(1);
    stage.up_hears(0).await;
    stage.up_says(0, ANSWER).await;
    stage.host_hears_nothing().await;
    stage.gate.may_record.add_permits(1);
    assert_eq!(stage.hear().await, ANSWER);
}

#[tokio::test]
async fn an_answer_says_whether_the_call_went_well() {
    for (answer, recorded) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"isError":true}}"#, r#"failed {"result":{"isError":true}}"#),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"m"}}"#,
            r#"failed {"error":{"code":-32602,"message":"m"}}"#,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"isError":false}}"#, r#"ok {"result":{"isError":false}}"#),
    ] {
        let mut stage = Stage::new(&["one"]).await;
        stage.say(&call("t", "{}")).await;
        stage.up_hears(0).await;
        stage.up_says(0, answer).await;
        assert_eq!(stage.hear().await, answer);
        assert_eq!(stage.gate.log()[1], format!("complete dec-t {recorded}"));
    }
}

#[tokio::test]
async fn what_is_denied_is_not_sent_and_the_agent_reads_why() {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&call("deny-it", "{}")).await;
    let answer = stage.hear_json().await;
    assert_eq!(code(&answer), "TK-TEST");
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["_meta"]["countersign/decision"]["decision_id"], "dec-deny-it");
    stage.up_hears_nothing(0).await;
}

#[tokio::test]
async fn arguments_that_readers_disagree_on_are_not_sent() {
    for arguments in [r#"{"a":1,"a":2}"#, r#"{"a":1e400}"#, r#"{"a":9007199254740993}"#, r#"{"a":"\ud800"}"#]
    {
        let mut stage = Stage::new(&["one"]).await;
        stage.say(&call("t", arguments)).await;
        assert_eq!(code(&stage.hear_json().await), "TK-ARGS-INVALID", "{arguments}");
        stage.up_hears_nothing(0).await;
        assert!(stage.gate.log().is_empty());
    }
    let mut stage = Stage::new(&["one"]).await;
    stage.say(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","Name":"u"}}"#).await;
    assert_eq!(code(&stage.hear_json().await), "TK-ARGS-INVALID");
}

#[tokio::test]
async fn a_call_that_is_asked_about_waits_for_nobody_and_runs_when_it_comes_again() {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&call("ask-it", r#"{"n":1}"#)).await;
    let answer = stage.hear_json().await;
    assert_eq!(code(&answer), "approval_pending");
    let told = &answer["result"]["_meta"]["countersign/decision"];
    assert_eq!(told["url"], "https://sign.example/asks/1");
    assert_eq!(told["retry_after_ms"], 15_000);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Ana was asked at https://sign.example/asks/1"), "{text}");
    stage.up_hears_nothing(0).await;
    stage.gate.approve();
    let line = call("ask-it", r#"{"n":1}"#);
    stage.say(&line).await;
    assert_eq!(stage.up_hears(0).await, line);
}

#[tokio::test]
async fn a_host_that_leads_people_is_given_the_address() {
    let mut stage = Stage::new(&["one"]).await;
    stage
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"url":{}}}}}"#)
        .await;
    stage.up_hears(0).await;
    stage.say(&call("ask-it", "{}")).await;
    let led = stage.hear_json().await;
    assert_eq!(led["method"], "elicitation/create");
    assert_eq!(led["params"]["mode"], "url");
    assert_eq!(led["params"]["url"], "https://sign.example/asks/1");
    assert_eq!(code(&stage.hear_json().await), "approval_pending");
    // The host's answer is ours, not the upstream's.
    stage.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept"}}}}"#, led["id"])).await;
    stage.up_hears_nothing(0).await;
}

#[tokio::test]
async fn without_sessions_the_address_is_an_input_that_is_required_once() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}"#;
    let first = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"ask-it","arguments":{{}},{meta}}}}}"#
    );
    let again = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"ask-it","arguments":{{}},"inputResponses":{{"apr-1":{{"action":"accept"}}}},"requestState":"apr-1",{meta}}}}}"#
    );
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&first).await;
    let answer = stage.hear_json().await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert_eq!(answer["result"]["requestState"], "apr-1");
    assert_eq!(answer["result"]["inputRequests"]["apr-1"]["params"]["url"], "https://sign.example/asks/1");
    stage.say(&again).await;
    let answer = stage.hear_json().await;
    assert_eq!(code(&answer), "approval_pending");
    assert_eq!(answer["result"]["resultType"], "complete");
    stage.gate.approve();
    stage.say(&again).await;
    // What answered our question is not the upstream's.
    assert_eq!(stage.up_hears(0).await, first);
}

#[tokio::test]
async fn an_upstreams_question_and_its_answer_are_one_decision() {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&call("t", "{}")).await;
    stage.up_hears(0).await;
    for state in ["", r#","requestState":"s""#] {
        let question = format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"input_required","inputRequests":{{}}{state}}}}}"#
        );
        stage.up_says(0, &question).await;
        assert_eq!(stage.hear().await, question);
        let again = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{}},"inputResponses":{{}}{state}}}}}"#
        );
        stage.say(&again).await;
        assert_eq!(stage.up_hears(0).await, again);
    }
    stage.up_says(0, r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}}"#).await;
    stage.hear().await;
    let kinds: Vec<String> =
        stage.gate.log().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["decide", "observe", "observe", "complete"]);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_given() {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&call("t", "{}")).await;
    stage.up_hears(0).await;
    *stage.gate.broken.lock().unwrap() = true;
    stage.up_says(0, ANSWER).await;
    assert_eq!(code(&stage.hear_json().await), "not_recorded");
    stage.say(r#"{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"a:b"}}"#).await;
    stage.up_hears(0).await;
    stage.up_says(0, r#"{"jsonrpc":"2.0","id":8,"result":{"contents":[]}}"#).await;
    assert_eq!(stage.hear_json().await["error"]["code"], -32603);
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_is_decided_is_not_sent() {
    let mut stage = Stage::new(&["one"]).await;
    stage.gate.may_decide.forget_permits(1000);
    stage.say(&call("t", "{}")).await;
    stage.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#).await;
    stage.gate.may_decide.add_permits(1);
    assert_eq!(code(&stage.hear_json().await), "not_sent");
    stage.up_hears_nothing(0).await;
    assert_eq!(stage.gate.log()[1], "complete dec-t not sent: cancelled by the host before it was sent");
}

#[tokio::test]
async fn a_call_that_runs_is_cancelled_by_its_upstream() {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(&call("t", "{}")).await;
    stage.up_hears(0).await;
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}"#;
    stage.say(cancel).await;
    assert_eq!(stage.up_hears(0).await, cancel);
}
