//! Proposals to their ends.

use crate::world::Fate::{AnswerLost, Passes, RequestLost};
use crate::world::{World, action, ask, key};
use client::{Answer, Ask, End, Error, Outcome};
use mandate::log::DeclineReason;
use mandate::{Reason, Refusal};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_is_allowed_is_released_and_its_receipt_holds() {
    let world = World::start().await;
    let agent = world.agent();
    let asked = ask("A1", 8);
    world.loses(&[RequestLost, AnswerLost]);
    let decided = agent.propose(&asked).await.unwrap();
    assert!(matches!(&decided.outcome, Outcome::Allowed(record) if record.fields.amount.get() == 8_000_000));
    let end = agent.follow(&asked, &decided, SOON).await.unwrap();
    let Some(End::Released { receipt_id, tx_hash }) = end else { panic!("{end:?}") };
    assert!(world.treasury.confirmed(tx_hash).await.unwrap().is_some());
    for id in [&decided.receipt_id, &receipt_id] {
        let receipt = agent.receipt(&asked, id).await.unwrap();
        assert!(!receipt.report.facts.is_empty());
    }
    // Another action's receipt is not this one's.
    let other = ask("A2", 8);
    let told = agent.receipt(&other, &receipt_id).await;
    assert!(matches!(&told, Err(Error::Proof { code, .. }) if code == "other_action"), "{told:?}");
    assert_eq!(world.locked().await, 0);
}

#[tokio::test]
async fn whatever_is_lost_on_the_way_a_person_is_asked_once_for_one_bond() {
    let world = World::start().await;
    let agent = world.agent();
    // The requests in turn: the check, the mandate, the check with the bond; each lost both ways.
    let mut n = 0;
    for at in 0..3 {
        for fate in [RequestLost, AnswerLost] {
            n += 1;
            let mut fates = vec![Passes; at];
            fates.extend([fate, fate]);
            world.loses(&fates);
            let decided = agent.propose(&ask(&format!("A{n}"), 11)).await.unwrap();
            assert!(matches!(decided.outcome, Outcome::Waiting(_)), "{at} {fate:?}: {decided:?}");
            assert_eq!((world.locked().await, world.inbox().await), (n, n), "{at} {fate:?}");
        }
    }
    // Asked again, it is the same approval, and another process with the same folder pays nothing anew.
    let again = world.agent().propose(&ask("A1", 11)).await.unwrap();
    assert_eq!(again.approval_id.unwrap().as_str(), "AP-1");
    assert_eq!(world.locked().await, n);
}

#[tokio::test]
async fn what_a_person_signs_is_released_and_the_bond_is_back() {
    let world = World::start().await;
    let agent = world.agent();
    let asked = ask("A1", 18);
    let decided = agent.propose(&asked).await.unwrap();
    assert_eq!(agent.follow(&asked, &decided, Duration::ZERO).await.unwrap(), None);
    world.approve(decided.approval_id.as_ref().unwrap().as_str()).await;
    let end = agent.follow(&asked, &decided, SOON).await.unwrap();
    let Some(End::Released { receipt_id, .. }) = end else { panic!("{end:?}") };
    agent.receipt(&asked, &receipt_id).await.unwrap();
    assert_eq!(world.locked().await, 0);
}

#[tokio::test]
async fn a_no_reaches_the_agent_with_its_reason() {
    let world = World::start().await;
    let agent = world.agent();
    let asked = ask("A1", 18);
    let decided = agent.propose(&asked).await.unwrap();
    world.decline(decided.approval_id.as_ref().unwrap().as_str(), "frivolous", "Not twice a day.").await;
    let comment: Option<mandate::text::Text<1, 1000>> = Some("Not twice a day.".parse().unwrap());
    let end = agent.follow(&asked, &decided, SOON).await.unwrap();
    assert_eq!(end, Some(End::Declined { reason: DeclineReason::Frivolous, comment: comment.clone() }));
    let told = agent.propose(&asked).await.unwrap();
    assert_eq!(told.outcome, Outcome::Declined { comment });
    agent.receipt(&asked, &told.receipt_id).await.unwrap();
}

#[tokio::test]
async fn each_answer_is_what_it_says() {
    let world = World::start().await;
    let agent = world.agent();
    let denied = agent.propose(&ask("A1", 51)).await.unwrap();
    assert_eq!(denied.outcome, Outcome::Denied(Reason::AmountAboveHardCap));
    let dry = |usdm| {
        let action = action("A2", usdm).to_string();
        Ask::sign(action.as_bytes(), key(2).as_ref(), false, None).unwrap()
    };
    let quoted = agent.propose(&dry(18)).await.unwrap();
    let Outcome::Quoted(price) = quoted.outcome else { panic!("{quoted:?}") };
    assert_eq!(price.approval_id.as_str(), "quote");
    let Answer::Priced(priced) = agent.ask(&ask("A2", 18)).await.unwrap() else { panic!("a price") };
    assert_eq!((priced.price.amount.get(), priced.refused.as_deref()), (5_000_000, None));
    assert_eq!((world.locked().await, world.inbox().await), (0, 0));
    // A signature of somebody else's key.
    let forged = Ask::sign(action("A3", 8).to_string().as_bytes(), key(8).as_ref(), true, None).unwrap();
    let told = agent.propose(&forged).await.unwrap();
    assert_eq!(told.outcome, Outcome::Denied(Reason::InvalidAgentSignature));
    // A request that is nobody's; what is no action is not sent at all.
    let stranger = client::Agent::new(world.server(8), std::sync::Arc::new(env::System));
    let told = stranger.propose(&ask("A4", 8)).await;
    assert!(
        matches!(&told, Err(Error::Refused { status: 403, code, .. }) if code == "not_permitted"),
        "{told:?}"
    );
    let told = Ask::sign(b"{}", key(2).as_ref(), true, None);
    assert!(matches!(told, Err(Error::Action(Refusal::Document(_)))), "{told:?}");
    // Nothing that was refused for good was asked twice.
    let checks = world.line.seen.lock().unwrap().iter().filter(|seen| seen.ends_with("/check")).count();
    assert_eq!(checks, 5);
}

#[tokio::test]
async fn loopback_is_called_only_if_it_is_listed() {
    let client = fetch::Client::new(fetch::Policy::default()).unwrap();
    let credential = client::Credential::Key(key(2));
    let told =
        client::Server::new("http://127.0.0.1:1", client, credential, std::sync::Arc::new(env::System));
    assert!(matches!(told, Err(Error::Unreached(_))), "{told:?}");
}
