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
