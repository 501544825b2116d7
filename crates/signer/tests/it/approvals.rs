use crate::house::*;
use canon::Value;
use env::Duration;
use pcm::signer::rpc::*;
use pcm::signer::{Answered, Person};
use signer::{Attest, FaultCode};

struct Held {
    house: House,
    run: Run,
    decide: Decide,
    decided: Decided,
    asked: ApprovalStanding,
}

async fn held() -> Held {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&gateway()), Some("token:agent")).await;
    let decide = run.deciding("refund-81", "refund", args());
    let decided = run.seat.decide(decide.clone()).await.unwrap();
    assert_eq!((decided.decision, decided.rule_ids.as_slice()), (Ruling::Ask, &["R-REFUND".to_owned()][..]));
    let asked = run.seat.approval_request(asking(&run)).await.unwrap();
    Held { house, run, decide, decided, asked }
}

fn asking(run: &Run) -> ApprovalRequest {
    ApprovalRequest {
        request_id: id("ask"),
        run_id: run.id(),
        run_token: run.token(),
        caller: run.caller.clone(),
        tool_call_id: id("refund-81"),
        attempt: 0,
        reason: None,
    }
}

pub fn answered(asked: &ApprovalStanding, approve: bool) -> Answered {
    Answered {
        approval_id: asked.approval_id.clone(),
        approve,
        by: Person { identity: "countersign:home/ana".to_owned(), name: "home/ana".to_owned() },
        channel: "console",
        reason: (!approve).then(|| "too much".to_owned()),
        passkey: Some("Y3JlZA".to_owned()),
        evidence: Value::Null,
    }
}

impl Held {
    async fn consume(&self, request: &str, change: impl FnOnce(&mut ApprovalConsume)) -> Consumed {
        let mut consume = ApprovalConsume {
            request_id: id(request),
            run_id: self.run.id(),
            run_token: self.run.token(),
            caller: self.run.caller.clone(),
            tool_call_id: id("refund-81"),
            attempt: 0,
            tool: Text::new("refund").unwrap(),
            args_source: ArgsSource::Parsed,
            args: args(),
            approval_id_hint: None,
        };
        change(&mut consume);
        self.run.seat.approval_consume(consume).await.unwrap()
    }

    async fn refused(&self, request: &str, code: &str, change: impl FnOnce(&mut ApprovalConsume)) {
        let consumed = self.consume(request, change).await;
        assert_eq!((consumed.ok, consumed.rule_ids.as_slice()), (false, &[code.to_owned()][..]), "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_one_call_and_it_is_used_once() {
    let mut held = held().await;
    let (seat, wait) = (held.run.seat.clone(), waiting(&held));
    let waits = tokio::spawn(async move { seat.approval_wait(wait).await.unwrap() });
    held.refused("c1", "TK-APPROVAL-REQUESTED", |_| {}).await;
    held.house.service.answer(answered(&held.asked, true)).await.unwrap();
    assert_eq!(waits.await.unwrap().state, ApprovalState::Approved);
    held.refused("c2", "TK-APPROVAL-UNBOUND", |of| of.approval_id_hint = Some(id("apr-0"))).await;
    held.refused("c3", "TK-ARGS-INVALID", |of| {
        (of.args_source, of.args) = (ArgsSource::Raw, Value::String("{".into()));
    })
    .await;
    held.refused("c4", "TK-APPROVAL-MISMATCH", |of| of.args = canon::parse(b"{}").unwrap()).await;
    held.refused("c5", "TK-APPROVAL-REQUIRED", |of| of.tool_call_id = id("refund-82")).await;
    // What is asked and approved survives the process.
    held.house = held.house.restarted().await;
    held.run.seat = held.house.seat(&gateway());
    let consumed = held.consume("c6", |_| {}).await;
    assert_eq!((consumed.ok, consumed.args), (true, Some(args())), "the signer's own copy runs");
    held.refused("c7", "TK-APPROVAL-CONSUMED", |_| {}).await;
    let (decide, decided) = (held.decide.clone(), held.decided.clone());
    let complete = held.run.completing(&decide, &decided, "{}");
    held.run.seat.complete(complete).await.unwrap();
    held.run.close().await;
    let kinds = held.house.verified(&held.run.told.run_id).await;
    let told: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("approval")).map(String::as_str).collect();
    assert_eq!(told, ["approval.request", "approval", "approval.binding_mismatch", "approval.consumed"]);
}

fn waiting(held: &Held) -> ApprovalWait {
    ApprovalWait {
        run_id: held.run.id(),
        run_token: held.run.token(),
        caller: held.run.caller.clone(),
        approval_id: id(&held.asked.approval_id),
        timeout_ms: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_expired_revoked_abandoned_are_told_apart() {
    let held_one = held().await;
    held_one.house.service.answer(answered(&held_one.asked, false)).await.unwrap();
    held_one.refused("c", "TK-APPROVAL-REJECTED", |_| {}).await;
    let again = held_one.house.service.answer(answered(&held_one.asked, true)).await.unwrap_err();
    assert_eq!(again.code, FaultCode::ApprovalNotPending);

    let held_two = held().await;
    held_two.house.source.advance(Duration::from_secs(3600));
    held_two.refused("c", "TK-APPROVAL-EXPIRED", |_| {}).await;
    let late = held_two.house.service.answer(answered(&held_two.asked, true)).await.unwrap_err();
    assert_eq!(late.code, FaultCode::ApprovalNotPending);

    let held_three = held().await;
    let revoke =
        ApprovalRevoke { request_id: id("r"), approval_id: id(&held_three.asked.approval_id), reason: None };
    let by_agent = held_three.run.seat.call(Request::ApprovalRevoke(revoke.clone())).await.unwrap();
    assert!(String::from_utf8(by_agent).unwrap().contains("forbidden"));
    held_three.house.service.answer(answered(&held_three.asked, true)).await.unwrap();
    held_three.house.service.call(&operator(), Request::ApprovalRevoke(revoke)).await.unwrap();
    held_three.refused("c", "TK-APPROVAL-EXPIRED", |_| {}).await;

    let held_four = held().await;
    let abandon = ApprovalAbandon {
        request_id: id("a"),
        run_id: held_four.run.id(),
        run_token: held_four.run.token(),
        approval_id: id(&held_four.asked.approval_id),
        reason: None,
    };
    let told = held_four.run.seat.approval_abandon(abandon).await.unwrap();
    assert_eq!(told.state, ApprovalState::Expired);
    for held in [held_one, held_two, held_three, held_four] {
        held.run.close().await;
        held.house.verified(&held.run.told.run_id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_does_not_answer() {
    let held = held().await;
    let mut own = answered(&held.asked, true);
    own.by.identity = "token:agent".to_owned();
    assert_eq!(held.house.service.answer(own).await.unwrap_err().code, FaultCode::Forbidden);
}
