//! Settling: each chain call four ways, restarts, rollbacks, the hour, with nobody looking (cases 68, 75).

use super::desk::{Desk, action, told};
use super::till::Fate;
use mandate::price::BondStatus;
use mandate::state::{ApprovalStatus, AuthorizationStatus};
use serde_json::{Value, json};

async fn allowed(desk: &Desk, name: &str) -> mandate::authorization::AuthorizationDigest {
    let (status, body) = told(desk.check(&action(name, 842)).await).await;
    assert_eq!(status, 200, "{body}");
    body["authorization"]["digest_hex"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn whatever_becomes_of_a_submission_it_pays_once() {
    for fates in [
        vec![Fate::FailsClean],
        vec![Fate::LostLanded],
        vec![Fate::LostClean],
        vec![Fate::LostClean, Fate::FailsClean, Fate::LostLanded],
        vec![Fate::FailsClean, Fate::LostClean, Fate::LostClean],
    ] {
        let desk = Desk::start().await;
        desk.till.script(fates.clone());
        let digest = allowed(&desk, "A1").await;
        // Pauses between attempts are the server's clock's.
        let settle = async {
            loop {
                let state = desk.state().await;
                if state.authorization(&digest).unwrap().status == AuthorizationStatus::Settled {
                    return;
                }
                desk.server.later(1);
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        let settled = tokio::time::timeout(std::time::Duration::from_secs(60), settle).await;
        assert!(settled.is_ok(), "{fates:?}");
        assert_eq!(desk.till.payments()[&digest], 1, "{fates:?}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_vault_is_on_record_and_releases_nothing() {
    let desk = Desk::start().await;
    // The vault has spent more than was read when it was authorized: its own rule says no.
    desk.till.script([Fate::FailsClean]);
    let digest = allowed(&desk, "A1").await;
    desk.until("built", |state| state.authorization(&digest).unwrap().tx_hash.is_some()).await;
    desk.till.edit(|books| books.balance = 101_000_000);
    desk.server.later(2);
    desk.until("refused", |state| {
        state.authorization(&digest).unwrap().status == AuthorizationStatus::Issued
            && desk.till.edit(|b| b.submissions) > 1
    })
    .await;
    assert!(desk.till.payments().is_empty());
    let (_, again) = told(desk.check(&action("A2", 842)).await).await;
    assert_eq!(again["evaluation"]["outcome"], "DENY", "{again}");
}

#[tokio::test]
async fn two_releases_of_one_vault_both_land() {
    let desk = Desk::start().await;
    let (one, two) = tokio::join!(allowed(&desk, "A1"), allowed(&desk, "A2"));
    desk.until("both", |state| {
        [one, two]
            .iter()
            .all(|digest| state.authorization(digest).unwrap().status == AuthorizationStatus::Settled)
    })
    .await;
    assert_eq!(desk.till.payments().values().copied().collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test]
async fn case_68_an_hour_passes_and_nobody_looks() {
    let desk = Desk::start().await;
    let paid = desk.ask(&action("paid", 1800)).await;
    let unpaid = desk.price(&action("unpaid", 1900)).await;
    desk.server.later(3_700);
    desk.until("refunded", |state| state.open().count() == 0).await;
    let state = desk.state().await;
    let approval = state.approval(&paid.parse().unwrap()).unwrap();
    assert_eq!(approval.status, ApprovalStatus::Expired);
    assert_eq!(approval.bond.as_ref().unwrap().status, BondStatus::Refunded);
    let (_, log) = desk.get(&format!("/v1/runs/{}/log", approval.run)).await;
    let refunded = log["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&refunded["type"], &refunded["payload"]["reason"]),
        (&json!("BondRefunded"), &json!("expired"))
    );
    let id = unpaid["accepts"][0]["extra"]["approval_id"].as_str().unwrap();
    let shown = state.approval(&id.parse().unwrap()).unwrap().bond(&state.anchored().unwrap().mandate);
    assert_eq!((shown.status, shown.tx_hash), (BondStatus::Expired, None));
    assert_eq!(desk.approve(&paid).await.0, 409);
}

#[tokio::test]
async fn a_refund_that_fails_is_tried_until_the_bond_is_gone() {
    for fate in [Fate::FailsClean, Fate::LostClean, Fate::LostLanded] {
        let desk = Desk::start().await;
        desk.ask(&action("A1", 1800)).await;
        desk.till.script([fate]);
        desk.server.later(3_700);
        desk.until("expired", |state| state.pending().count() == 0).await;
        let wait = async {
            while desk.state().await.open().count() > 0 {
                desk.server.later(61);
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        };
        assert!(tokio::time::timeout(std::time::Duration::from_secs(60), wait).await.is_ok(), "{fate:?}");
        assert!(desk.till.edit(|books| books.bonds.is_empty()), "{fate:?}");
    }
}

#[tokio::test]
async fn a_capture_that_nobody_signs_goes_back_after_another_hour() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    assert_eq!(desk.decline(&id, "frivolous").await.0, 200);
    desk.server.later(3_700);
    desk.until("ticked", |state| state.open().count() == 1).await;
    assert_eq!(desk.till.edit(|books| books.bonds.len()), 1);
    desk.server.later(3_700);
    let wait = async {
        while desk.state().await.open().count() > 0 {
            desk.server.later(61);
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), wait).await.unwrap();
    assert!(desk.till.edit(|books| books.bonds.is_empty()));
}

#[tokio::test]
async fn case_75_what_expires_is_looked_for_before_it_is_issued_again() {
    let desk = Desk::start().await;
    let action = action("A1", 842);
    let send = |execute: bool| {
        let body = super::desk::proposal(&action, execute);
        let desk = &desk;
        async move { desk.send(&body).await }
    };
    let (_, first) = told(send(false).await).await;
    assert_eq!(told(send(false).await).await.1["authorization"], first["authorization"]);
    desk.server.later(650);
    let response = send(false).await;
    assert_eq!(response.headers()["retry-after"], "120");
    assert_eq!(told(response).await.0, 429);
    desk.server.later(100);
    let (status, second) = told(send(false).await).await;
    assert_eq!(status, 200, "{second}");
    let nonce =
        |body: &Value| body["authorization"]["fields"]["nonce"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(nonce(&second) > nonce(&first));
    let state = desk.state().await;
    let first: mandate::authorization::AuthorizationDigest =
        first["authorization"]["digest_hex"].as_str().unwrap().parse().unwrap();
    assert_eq!(state.authorization(&first).unwrap().status, AuthorizationStatus::Released);
}

#[tokio::test]
async fn a_restart_at_any_moment_loses_nothing() {
    // Priced, restarted, paid, restarted, approved, restarted, executed.
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let desk = desk.restart().await;
    assert_eq!(desk.price(&action).await["accepts"][0]["extra"], required["accepts"][0]["extra"]);
    let at = desk.lock(&required);
    let (_, body) = told(desk.pay(&action, &super::desk::paid(&required, &at)).await).await;
    let id = body["approval_id"].as_str().unwrap().to_owned();
    let desk = desk.restart().await;
    let (_, approved) = desk.approve(&id).await;
    let desk = desk.restart().await;
    // Its answer is lost and the server stops: the next one looks before it sends.
    desk.till.script([Fate::LostLanded]);
    let (status, sent) = desk.execute(&id, &approved).await;
    assert_eq!(status, 200, "{sent}");
    let desk = desk.restart().await;
    desk.server.later(120);
    desk.until("released", |state| state.open().count() == 0).await;
    assert_eq!(desk.till.payments().len(), 1);
    assert!(desk.till.payments().values().all(|times| *times == 1));
}

#[tokio::test]
async fn a_release_whose_block_is_gone_is_sent_again() {
    let desk = Desk::start().await;
    let digest = allowed(&desk, "A1").await;
    desk.until("settled", |state| state.unsettled().count() == 0).await;
    desk.till.roll_back(1);
    assert!(desk.till.payments().is_empty());
    desk.server.app.sweep_mandates().await.unwrap();
    let settled = |state: &mandate::State| {
        state.unsettled().count() == 0
            && state.authorization(&digest).unwrap().status == AuthorizationStatus::Settled
    };
    desk.until("settled again", settled).await;
    assert_eq!(desk.till.payments()[&digest], 1);
}

#[tokio::test]
async fn a_rollback_of_five_blocks_pays_nothing_twice() {
    let desk = Desk::start().await;
    let mut digests = Vec::new();
    for n in 0..5 {
        let digest = allowed(&desk, &format!("A{n}")).await;
        desk.until("settled", |state| {
            state.authorization(&digest).unwrap().status == AuthorizationStatus::Settled
        })
        .await;
        digests.push(digest);
    }
    desk.check(&action("seen", 100)).await;
    desk.until("quiet", |state| state.unsettled().count() == 0).await;
    desk.till.roll_back(6);
    assert_eq!(desk.till.payments().len(), 0);
    desk.server.app.sweep_mandates().await.unwrap();
    let settle = async {
        while desk.state().await.unsettled().count() > 0 {
            desk.server.later(1);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), settle).await.unwrap();
    assert_eq!(desk.till.payments().len(), 6);
    assert!(desk.till.payments().values().all(|times| *times == 1));
    assert!(desk.till.edit(|books| books.spent) <= 50_000_000);
    let (_, body) = told(desk.check(&action("after", 842)).await).await;
    assert_eq!(body["evaluation"]["reason"], "DAILY_CAP_EXCEEDED", "{body}");
}
