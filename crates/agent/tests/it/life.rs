//! Upstreams and hosts that end.

use crate::stage::Stage;
use agent::End;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;

async fn greeted() -> Stage {
    let mut stage = Stage::new(&["one"]).await;
    stage.say(INITIALIZE).await;
    stage.up_hears(0).await;
    stage.up_says(0, INITIALIZED).await;
    assert_eq!(stage.hear().await, INITIALIZED);
    stage
}

#[tokio::test]
async fn a_call_whose_upstream_ended_is_unknown_and_is_not_sent_again() {
    let mut stage = greeted().await;
    stage.say(CALL).await;
    stage.up_hears(0).await;
    stage.say(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).await;
    stage.up_hears(0).await;
    stage.down(0).await;
    let mut answers = [stage.hear_json().await, stage.hear_json().await];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["_meta"]["countersign/decision"]["code"], "unknown");
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert_eq!(stage.gate.log()[1], "complete dec-t unknown: one did not answer: it fell");

    // While it is down, nothing is decided.
    stage.say(CALL).await;
    assert_eq!(stage.hear_json().await["result"]["_meta"]["countersign/decision"]["code"], "upstream_down");

    // It is greeted as the host greeted it, and what the host says meanwhile waits.
    stage.up(0).await;
    let again = stage.up_hears_json(0).await;
    assert_eq!(again["method"], "initialize");
    assert_eq!(again["params"]["protocolVersion"], "2025-11-25");
    stage.say(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).await;
    let answer = INITIALIZED.replace("\"id\":0", &format!("\"id\":{}", again["id"]));
    stage.up_says(0, &answer).await;
    assert_eq!(stage.up_hears_json(0).await["method"], "notifications/initialized");
    assert_eq!(stage.up_hears_json(0).await["id"], 9);
    assert_eq!(stage.hear_json().await["method"], "notifications/tools/list_changed");
    stage.up_hears_nothing(0).await;
}

#[tokio::test]
async fn one_that_never_said_a_word_ends_the_gateway() {
    let stage = Stage::new(&["one"]).await;
    stage.down(0).await;
    let (end, _) = stage.end().await;
    assert_eq!(end, End::NeverStarted("it fell".to_owned()));
}

#[tokio::test]
async fn when_the_host_has_gone_what_still_runs_is_recorded_as_it_ends() {
    let mut stage = greeted().await;
    stage.say(CALL).await;
    stage.up_hears(0).await;
    let events = stage.events.clone();
    let ending = tokio::spawn(stage.end());
    let answer = br#"{"jsonrpc":"2.0","id":7,"result":{}}"#.to_vec();
    events.send(agent::Event::From { up: 0, line: answer }).await.unwrap();
    let (end, log) = ending.await.unwrap();
    assert_eq!(end, End::Done);
    assert_eq!(log[1..], [r#"complete dec-t ok {"result":{}}"#, "close"]);
}

#[tokio::test]
async fn what_is_not_answered_when_the_host_has_gone_is_unknown() {
    let mut stage = greeted().await;
    stage.say(CALL).await;
    stage.up_hears(0).await;
    let (_, log) = stage.end().await;
    assert_eq!(log[1..], ["complete dec-t unknown: one did not answer: the host has gone", "close"]);
}

#[tokio::test]
async fn one_that_forgot_us_is_greeted_again() {
    let mut stage = greeted().await;
    stage.events.send(agent::Event::Forgot { up: 0 }).await.unwrap();
    let again = stage.up_hears_json(0).await;
    assert_eq!(again["method"], "initialize");
    stage.say(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).await;
    let answer = INITIALIZED.replace("\"id\":0", &format!("\"id\":{}", again["id"]));
    stage.up_says(0, &answer).await;
    assert_eq!(stage.up_hears_json(0).await["method"], "notifications/initialized");
    assert_eq!(stage.up_hears_json(0).await["id"], 9);
}
