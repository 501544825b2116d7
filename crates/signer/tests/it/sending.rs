use crate::house::*;
use pcm::message::Message;
use pcm::signer::rpc::*;
use signer::{Attest, FaultCode};

fn sending(run: &Run, request: &str, claim: &str, evidence: Vec<u64>) -> MessageSend {
    MessageSend {
        request_id: id(request),
        run_id: run.id(),
        run_token: run.token(),
        caller: run.caller.clone(),
        to: Text::new("receiver").unwrap(),
        intent: None,
        text: None,
        claims: vec![SentClaim {
            id: id("c1"),
            pred: Text::new("http_fetched").unwrap(),
            args: canon::parse(claim.as_bytes()).unwrap().into_static(),
            evidence,
        }],
        grant: None,
        lasts: None,
        in_reply_to: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_carries_its_proofs_and_a_contradicted_one_is_not_signed() {
    let house = House::new().await;
    let mut run = Run::begin(house.seat(&gateway()), Some("token:agent")).await;
    run.call("call-1", "http_get").await.unwrap();
    let claim = r#"{"method":"GET","url":"https://api.example.com/","status":200}"#;
    let sent = run.seat.call(Request::MessageSend(sending(&run, "m1", claim, vec![1, 2]))).await.unwrap();
    let answer = canon::parse(&sent).unwrap();
    let bytes = canon::to_vec(answer.get("message").unwrap_or_else(|| panic!("{answer:?}"))).unwrap();
    let message = Message::read(&bytes).unwrap();
    assert_eq!(answer.get("hash").unwrap().as_str(), Some(message.hash().prefixed().as_str()));
    assert_eq!(message.from().agent, "token:agent");
    let again = run.seat.call(Request::MessageSend(sending(&run, "m1", claim, vec![1, 2]))).await.unwrap();
    assert_eq!(sent, again, "the same request, the same message");

    let lie = r#"{"method":"GET","url":"https://api.example.com/","status":404}"#;
    let refused = run.seat.call(Request::MessageSend(sending(&run, "m2", lie, vec![1, 2]))).await.unwrap();
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.contains("result_differs"), "{refused}");
    run.close().await;
    assert!(house.verified(&run.told.run_id).await.contains(&"ext".to_owned()));
    let late = run.seat.call(Request::MessageSend(sending(&run, "m3", claim, vec![1, 2]))).await.unwrap();
    assert!(String::from_utf8(late).unwrap().contains(FaultCode::RunClosed.as_str()));
}

/// Asked of a person, approved word for word, issued; passed on narrower; shown by a message; taken back.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_a_persons_to_give_and_only_narrows() {
    let house = House::new().await;
    let run = Run::begin(house.seat(&gateway()), Some("token:agent")).await;
    let grant = |holder: &str, most: u64, depth: u8| {
        let text = format!(
            r#"{{"id":"{}","issuer":"{}","holder":"{holder}","intents":["refund.request"],"terms":[{{"field":"amount","op":"le","value":{most},"unit":"USD-cents"}}],
            "not_before":"2027-01-01T00:00:00.000000Z","not_after":"2028-01-01T00:00:00.000000Z","audience":["receiver"],"depth":{depth},"nonce":"{}"}}"#,
            "1".repeat(32),
            if depth == 1 { "home/ana" } else { "token:agent" },
            "2".repeat(32),
        );
        canon::parse(text.as_bytes()).unwrap().into_static()
    };
    let request = GrantRequest {
        request_id: id("g1"),
        run_id: run.id(),
        run_token: run.token(),
        stream: id("s"),
        client_seq: 0,
        caller: run.caller.clone(),
        tool_call_id: id("grant-1"),
        grant: grant("token:agent", 20_000, 1),
        reason: None,
    };
    let ask = || run.seat.call(Request::GrantRequest(request.clone()));
    let standing: ApprovalStanding = read_reply(&ask().await.unwrap()).unwrap();
    assert_eq!(standing.state, ApprovalState::Requested);
    let answered = crate::approvals::answered(&standing, true);
    house.service.answer(answered).await.unwrap();
    let issued = ask().await.unwrap();
    assert_eq!(issued, ask().await.unwrap(), "issued once");
    let hash = |issued: &[u8]| {
        let issued = canon::parse(issued).unwrap();
        let found = issued.get("hash").unwrap_or_else(|| panic!("{issued:?}"));
        Text::<71>::new(found.as_str().unwrap()).unwrap()
    };
    let root = hash(&issued);

    let delegate = |request: &str, most: u64| GrantDelegate {
        request_id: id(request),
        run_id: run.id(),
        run_token: run.token(),
        caller: run.caller.clone(),
        parent: root.clone(),
        grant: grant("token:agent", most, 0),
    };
    let wider = run.seat.call(Request::GrantDelegate(delegate("g2", 20_001))).await.unwrap();
    assert!(String::from_utf8(wider).unwrap().contains("grant_widens"));
    let child = hash(&run.seat.call(Request::GrantDelegate(delegate("g3", 5_000))).await.unwrap());

    let intent = format!(
        r#"{{"type":"refund.request","schema":"sha256:{}","args":{{"amount":5000}}}}"#,
        "0".repeat(64)
    );
    let send = |request: &str| MessageSend {
        intent: Some(canon::parse(intent.as_bytes()).unwrap().into_static()),
        grant: Some(child.clone()),
        claims: Vec::new(),
        ..sending(&run, request, "{}", Vec::new())
    };
    let sent = run.seat.call(Request::MessageSend(send("m1"))).await.unwrap();
    let answer = canon::parse(&sent).unwrap();
    let message = answer.get("message").unwrap_or_else(|| panic!("{answer:?}"));
    assert_eq!(message.get("grants").unwrap().as_array().unwrap().len(), 2);

    let revoke = GrantRevoke {
        request_id: id("g4"),
        run_id: run.id(),
        run_token: run.token(),
        caller: run.caller.clone(),
        grant: root.clone(),
    };
    run.seat.call(Request::GrantRevoke(revoke)).await.unwrap();
    let refused = run.seat.call(Request::MessageSend(send("m2"))).await.unwrap();
    assert!(String::from_utf8(refused).unwrap().contains("taken back"));
    let status = run.seat.call(Request::MessageStatus(MessageStatus { hash: root })).await.unwrap();
    assert!(String::from_utf8(status).unwrap().contains("revoked_seq"));
    run.close().await;
    house.verified(&run.told.run_id).await;
}
