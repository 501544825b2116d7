use crate::house::*;
use pcm::signer::rpc::*;
use signer::{Attest, FaultCode};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_closed_and_verified_by_anyone() {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&gateway()), Some("token:agent")).await;
    let (decided, recorded) = run.call("call-1", "http_get").await.unwrap();
    assert_eq!((decided.decision, decided.run_seq, recorded.run_seq), (Ruling::Allow, 1, 2));
    run.close().await;
    let kinds = house.verified(&run.told.run_id).await;
    assert_eq!(kinds, ["run.registered", "policy.decision", "tool.result", "run.closing", "run.final"]);
    // What the gateway ran is T2, and opens.
    let openings = house.service.openings(&run.told.run_id, None).await.unwrap();
    assert_eq!(openings.len(), 2);
    let story = house.service.story(&run.told.run_id).await.unwrap();
    let line = String::from_utf8(story.records[1].bytes.clone()).unwrap();
    assert!(line.contains(r#""tier":"T2""#) && line.contains(r#""via":"uid:1000""#), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_have_the_codes_of_the_rpc() {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&agent()), None).await;
    let code = |result: Result<_, signer::Fault>| result.map(|_: Decided| ()).err().map(|fault| fault.code);

    let mut decide = run.deciding("one", "http_get", args());
    decide.run_token = Text::new("x.y").unwrap();
    assert_eq!(code(run.seat.decide(decide.clone()).await), Some(FaultCode::RunTokenInvalid));
    decide.run_token = run.token();
    decide.caller = Some(Name::new("token:other").unwrap());
    assert_eq!(code(run.seat.decide(decide.clone()).await), Some(FaultCode::Forbidden), "no gateway");
    decide.caller = None;
    let first = run.seat.decide(decide.clone()).await.unwrap();
    assert_eq!(run.seat.decide(decide.clone()).await.unwrap(), first, "the same request, the same answer");
    decide.args = canon::parse(b"[]").unwrap();
    assert_eq!(code(run.seat.decide(decide.clone()).await), Some(FaultCode::Conflict), "another request");
    decide.request_id = id("fresh");
    assert_eq!(code(run.seat.decide(decide.clone()).await), Some(FaultCode::ClientSeqReused));
    decide.client_seq = 1;
    assert_eq!(code(run.seat.decide(decide.clone()).await), Some(FaultCode::Conflict), "the call's name");

    let decide = run.deciding("one", "http_get", args());
    let mut complete = run.completing(&decide, &first, "1");
    let said = |result: Result<Recorded, signer::Fault>| result.err().map(|fault| fault.code);
    complete.client_seq = 1;
    let good = complete.clone();
    complete.tool_call_id = id("two");
    assert_eq!(said(run.seat.complete(complete).await), Some(FaultCode::UnknownToolCall));
    let mut complete = good.clone();
    complete.decision_id = id("dec-0");
    assert_eq!(said(run.seat.complete(complete).await), Some(FaultCode::UnknownDecision));
    let mut complete = good.clone();
    complete.args_digest = Text::new(format!("sha256:{}", "0".repeat(64))).unwrap();
    assert_eq!(said(run.seat.complete(complete).await), Some(FaultCode::ArgsMismatch));
    let mut complete = good.clone();
    complete.caller = Some(Name::new("token:agent").unwrap());
    let other = house.seat(&gateway());
    assert_eq!(said(other.complete(complete).await), Some(FaultCode::Forbidden), "a gateway's T2");
    assert_eq!(said(run.seat.complete(good).await), None);

    let mut denied = run.deciding("three", "rm", args());
    denied.client_seq = 2;
    let told = run.seat.decide(denied.clone()).await.unwrap();
    assert_eq!((told.decision, told.reason.as_deref()), (Ruling::Deny, Some("never")));
    let mut complete = run.completing(&denied, &told, "1");
    complete.client_seq = 3;
    assert_eq!(said(run.seat.complete(complete).await), Some(FaultCode::Conflict), "it was denied");

    let mut raw = run.deciding("four", "http_get", canon::Value::String("{\"a\":1e400}".into()));
    (raw.client_seq, raw.args_source) = (3, ArgsSource::Raw);
    let told = run.seat.decide(raw).await.unwrap();
    assert_eq!((told.decision, told.rule_ids), (Ruling::Deny, vec!["TK-ARGS-INVALID".to_owned()]));

    run.close().await;
    let late = run.deciding("five", "http_get", args());
    assert_eq!(code(run.seat.decide(late).await), Some(FaultCode::RunClosed));
    let again = RegisterRun {
        request_id: id("again"),
        run_id: Some(run.id()),
        tenant: None,
        caller: None,
        agent: Agent { name: Text::new("a").unwrap(), version: None },
    };
    let fault = run.seat.register_run(again).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::RunExists);
    house.verified(&run.told.run_id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_counted_and_never_came_is_a_signed_gap() {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&agent()), None).await;
    run.next = 3;
    run.call("call-1", "http_get").await.unwrap();
    let mut closing = run.closing();
    closing.last_client_seq = vec![LastSeq { stream: id("s"), client_seq: 6 }];
    run.seat.close_run(closing).await.unwrap();
    let kinds = house.verified(&run.told.run_id).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "capture.gap").count(), 2, "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_knows_what_was_open_and_forgets_what_was_over() {
    let house = House::new().await;
    let mut over = Run::begin(house.seat(&gateway()), Some("token:agent")).await;
    over.call("call-1", "http_get").await.unwrap();
    over.close().await;
    let mut run = Run::begin(house.seat(&agent()), None).await;
    let decide = run.deciding("call-1", "http_get", args());
    let decided = run.seat.decide(decide.clone()).await.unwrap();
    let before = house.service.look(|state| format!("{state:?}")).await.unwrap();
    let house = house.restarted().await;
    run.seat = house.seat(&agent());
    assert_eq!(house.service.look(|state| state.runs().count()).await.unwrap(), 1);
    assert_eq!(run.seat.decide(decide.clone()).await.unwrap(), decided, "asked again after a restart");
    let complete = run.completing(&decide, &decided, "1");
    run.seat.complete(complete).await.unwrap();
    run.close().await;
    house.verified(&run.told.run_id).await;
    house.verified(&over.told.run_id).await;
    assert_eq!(house.service.look(|state| state.runs().count()).await.unwrap(), 0);
    assert!(!before.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_takes_over_and_the_one_before_signs_no_more() {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&agent()), None).await;
    run.call("call-1", "http_get").await.unwrap();
    let house = house.rekeyed(2).await;
    run.seat = house.seat(&agent());
    run.call("call-2", "http_get").await.unwrap();
    run.close().await;
    house.verified(&run.told.run_id).await;
    let back = House::open(&house.journal, &house.source, 1).await;
    assert_eq!(back.err().map(|fault| fault.code), Some(FaultCode::Unavailable), "the log has retired it");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_signers_on_one_log_keep_one_chain() {
    let house = House::new().await;
    let other = House::on(house.journal.clone(), house.source.clone(), 1).await;
    let mut one = Run::begin(house.seat(&agent()), None).await;
    let mut two = Run::begin(other.seat(&gateway()), Some("token:two")).await;
    for call in 0..5 {
        one.call(&format!("call-{call}"), "http_get").await.unwrap();
        two.call(&format!("call-{call}"), "http_get").await.unwrap();
    }
    one.close().await;
    two.close().await;
    house.verified(&one.told.run_id).await;
    other.verified(&two.told.run_id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_calls_as_often_as_it_may() {
    let house = House::new().await;
    let slow = pcm::signer::Identity { rate: Some(5), ..agent() };
    let mut run = Run::begin(house.seat(&slow), None).await;
    // Ten at once, of which the registration was one.
    for call in 0..9 {
        let decide = run.deciding(&format!("call-{call}"), "http_get", args());
        run.seat.decide(decide).await.unwrap();
    }
    let decide = run.deciding("call-9", "http_get", args());
    let refused = run.seat.decide(decide.clone()).await.unwrap_err();
    assert_eq!((refused.code, refused.retry_after_ms), (FaultCode::QuotaExceeded, Some(201)));
    house.source.advance(env::Duration::from_millis(201));
    run.seat.decide(decide).await.unwrap();
}
