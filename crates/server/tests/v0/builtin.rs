//! Built-in seats, the demo, and restarts.

use crate::support::{CARD, Opened, Script, World, journal, query, token};
use pxp::v0::room::TermAuthority;
use serde_json::{Value, json};
use std::sync::Arc;

/// A room whose seat B is built in, both cards sealed.
async fn against(world: &World) -> Opened {
    let asked = json!({ "topic": "t", "your_principal": "Ana", "counterpart": "Ben", "counterpart_proxy": "builtin" });
    let opened = world.tool("create_room", asked).await.unwrap();
    assert_eq!(opened["counterpart_proxy"], "builtin");
    let text = |key: &str| opened[key].as_str().unwrap().to_owned();
    let room = Opened { id: text("room_id"), a: text("your_link"), b: text("invite_link_for_counterpart") };
    world.seal(&room.a).await;
    let card: Value = serde_json::from_str(CARD).unwrap();
    let path = format!("/api/rooms/{}/seats/B/seal", room.id);
    assert_eq!(world.post(&path, json!({ "token": token(&room.b), "card": card })).await.0, 200);
    room
}

async fn resume(world: &World, room: &Opened) -> u16 {
    let path = format!("/api/rooms/{}/seats/B/resume", room.id);
    world.post(&path, json!({ "token": token(&room.b) })).await.0
}

const OFFER: &str = r#"{"proposal":{"terms":["t"]}}"#;

fn offer() -> Value {
    serde_json::from_str(OFFER).unwrap()
}

#[tokio::test]
async fn t51_the_demo_takes_its_own_answers_on_its_page_alone() {
    let world = World::start().await;
    let (_, demo) = world.post("/api/demo", json!({})).await;
    let (id, token) = (demo["id"].as_str().unwrap(), demo["token"].as_str().unwrap());
    let (_, view) = world.get(&format!("/api/rooms/{id}?seat=A&t={token}")).await;
    assert_eq!((&view["status"], &view["demo"]), (&json!("paused"), &json!(true)));
    for seat in ["A", "B"] {
        assert!(view["seats"][seat].get("card").is_some(), "the demo's token shows both cards");
    }
    let options = view["pending"]["options"].as_array().unwrap().clone();
    let link = format!("room/{id}?seat=A&t={token}");
    let own = json!({ "link": link, "answer": "words of my own" });
    world.tool("answer_escalation", own).await.unwrap_err();
    let after = world.view(id).await;
    assert_eq!(after["status"], "paused");
    assert!(!after.to_string().contains("words of my own"));
    let path = format!("/api/rooms/{id}/seats/A/answer");
    assert_eq!(world.post(&path, json!({ "token": token, "option": options[0] })).await.0, 200);
    let ended = world.view(id).await;
    assert_eq!((&ended["status"], &ended["ledgerCheck"]["ok"]), (&json!("agreed"), &json!(true)));
    assert_eq!(ended["brief"]["authority"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn t52_a_proxy_that_fails_stops_the_room_and_is_quoted_nowhere() {
    let script = Script::new(&[Err("secret upstream words"), Ok(r#"{"status":"agree"}"#)]);
    let world = World::with(|_| {}, Some(script), None).await;
    let room = against(&world).await;
    world.send(&room.a, offer()).await.unwrap();
    let stopped = world.until(&room.id, |view| view["status"] == "error").await;
    assert_eq!(stopped["error"], "The built-in proxy could not take its turn. Resume the room to try again.");
    let mcp = world.tool("get_room", json!({ "link": room.a })).await.unwrap();
    let (_, ledger) = world.get(&format!("/api/rooms/{}/ledger", room.id)).await;
    for text in [stopped.to_string(), mcp.to_string(), ledger.to_string()] {
        assert!(!text.contains("secret"));
    }
    assert_eq!(resume(&world, &room).await, 200);
    let agreed = world.until(&room.id, |view| view["status"] == "agreed").await;
    assert_eq!(agreed["brief"]["agreement"]["terms"], json!(["t"]));
}

#[tokio::test]
async fn t53_authority_is_mapped_or_null() {
    for good in [false, true] {
        let script = Script::new(&[Ok(r#"{"status":"agree"}"#)]);
        let term = |text: &str| text.to_owned();
        let map = vec![TermAuthority {
            term: term("t"),
            a: term("must_haves"),
            b: term("none"),
            note: String::new(),
        }];
        if good {
            *script.authority.lock().unwrap() = Ok(map);
        }
        let world = World::with(|_| {}, Some(script), None).await;
        let room = against(&world).await;
        world.send(&room.a, offer()).await.unwrap();
        let last = if good { "authority_mapped" } else { "authority_called" };
        let ended = world
            .until(&room.id, |view| view["ledger"].as_array().unwrap().last().unwrap()["type"] == last)
            .await;
        assert_eq!(ended["status"], "agreed");
        assert_eq!(ended["brief"]["authority"].is_array(), good);
        assert!(!ended.to_string().contains("secret"));
        let agreement = ended["ledger"].as_array().unwrap().iter().find(|entry| entry["type"] == "agreement");
        assert_eq!(ended["brief"]["ledger_head"], agreement.unwrap()["hash"]);
    }
}

#[tokio::test]
async fn t54_a_spent_budget_stalls_the_room() {
    let failing = [Err("x"), Err("x"), Err("x"), Err("x"), Err("x"), Err("x")];
    let world = World::with(|options| options.max_turns = 2, Some(Script::new(&failing)), None).await;
    let room = against(&world).await;
    world.send(&room.a, offer()).await.unwrap();
    for _ in 0..6 {
        world.until(&room.id, |view| view["status"] == "error").await;
        assert_eq!(resume(&world, &room).await, 200);
    }
    let ended = world.until(&room.id, |view| view["status"] == "stalled").await;
    assert_eq!((&ended["error"], &ended["brief"]["outcome"]), (&Value::Null, &json!("no_agreement")));
    assert!(ended["ledger"].as_array().unwrap().iter().all(|entry| entry["type"] != "turn_limit"));
    assert_eq!(resume(&world, &room).await, 409);
}

#[tokio::test]
async fn t55_a_restart_keeps_what_waits_and_interrupts_what_was_cut() {
    let world = World::with(|_| {}, Some(Script::new(&[])), None).await;
    let waiting = world.sealed().await;
    world.send(&waiting.a, offer()).await.unwrap();
    let cut = against(&world).await;
    world.send(&cut.a, offer()).await.unwrap();
    world.until(&cut.id, |view| view["thinking"] == true).await;
    let World { folder, .. } = world;
    let store = journal(folder.path());
    let script = Script::new(&[Ok(r#"{"status":"agree"}"#)]);
    let again = World::on(folder, store, |_| {}, Some(script), None).await;
    assert_eq!(again.v0.recover().await.unwrap(), 2);
    let view = again.view(&waiting.id).await;
    assert_eq!((&view["status"], &view["waitingOn"]), (&json!("negotiating"), &json!("B")));
    let view = again.view(&cut.id).await;
    assert_eq!((&view["status"], &view["interrupted"]), (&json!("paused"), &json!(true)));
    assert_eq!(resume(&again, &cut).await, 200);
    again.until(&cut.id, |view| view["status"] == "agreed").await;
    let brief = again.get(&format!("/api/rooms/{}{}", waiting.id, query(&waiting.b))).await.1;
    assert_eq!(brief["seat"], "B", "the links still open their seats");
}

#[tokio::test]
async fn t60_drafts_are_counted_and_a_late_one_is_discarded() {
    let script = Script::new(&[]);
    let world = World::with(|_| {}, Some(Arc::clone(&script)), None).await;
    let (_, opened) = world.post("/api/rooms", json!({ "topic": "t" })).await;
    let id = opened["id"].as_str().unwrap();
    let token = token(opened["links"]["A"].as_str().unwrap());
    let path = format!("/api/rooms/{id}/seats/A/draft");
    let draft = |_: u32| world.post(&path, json!({ "token": token, "text": "words", "name": "Ana" }));
    script.drafts.add_permits(5);
    let codes: Vec<u16> =
        futures::future::join_all((0..10).map(draft)).await.into_iter().map(|(code, _)| code).collect();
    let count = |wanted: u16| codes.iter().filter(|code| **code == wanted).count();
    assert_eq!((count(200), count(429)), (5, 5));

    let (_, opened) = world.post("/api/rooms", json!({ "topic": "t" })).await;
    let id = opened["id"].as_str().unwrap();
    let token = crate::support::token(opened["links"]["A"].as_str().unwrap());
    let path = |action: &str| format!("/api/rooms/{id}/seats/A/{action}");
    let late = async { world.post(&path("draft"), json!({ "token": token, "text": "words" })).await.0 };
    let seal = async {
        world.until(id, |view| view["seats"]["A"]["drafted"] == true).await;
        let card: Value = serde_json::from_str(CARD).unwrap();
        assert_eq!(world.post(&path("seal"), json!({ "token": token, "card": card })).await.0, 200);
        script.drafts.add_permits(1);
    };
    let (code, ()) = tokio::join!(late, seal);
    assert_eq!(code, 409);
}
