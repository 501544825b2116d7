//! Who sees what.

use crate::support::{Opened, World, query, token};
use serde_json::{Value, json};

const LISTS: [&str; 6] = ["goal", "must", "may", "never", "when", "facts"];

fn mark(seat: &str, list: &str) -> String {
    format!("mark-{seat}-{list}")
}

/// A room whose cards carry a mark in every list.
async fn marked(world: &World) -> Opened {
    let room = world.room().await;
    for (link, seat) in [(&room.a, "a"), (&room.b, "b")] {
        let [goal, must, may, never, when, facts] = LISTS.map(|list| mark(seat, list));
        let card = json!({
            "principal": { "name": format!("Principal {seat}") }, "goal": goal, "must_haves": [must],
            "may_agree_to": [may], "must_never": [never], "escalate_when": [when], "known_facts": [facts],
        });
        world.tool("seal_intent_card", json!({ "link": link, "card": card })).await.unwrap();
    }
    room
}

/// What a viewer gets over HTTP and as events, which is the same.
async fn seen(world: &World, id: &str, query: &str) -> String {
    let (_, view) = world.get(&format!("/api/rooms/{id}{query}")).await;
    let event = world.events(id, query).await.next().await.unwrap();
    assert_eq!(view, event);
    view.to_string()
}

fn holds(text: &str, seat: &str, expected: bool) {
    for list in LISTS {
        assert_eq!(text.contains(&mark(seat, list)), expected, "{seat} {list}");
    }
}

#[tokio::test]
async fn t42_a_card_is_for_its_own_seat() {
    let world = World::start().await;
    let room = marked(&world).await;
    let (token_a, token_b) = (token(&room.a), token(&room.b));
    for (link, own, other, others_token) in [(&room.a, "a", "b", &token_b), (&room.b, "b", "a", &token_a)] {
        let web = seen(&world, &room.id, &query(link)).await;
        let mcp = world.tool("get_room", json!({ "link": link })).await.unwrap().to_string();
        for text in [&web, &mcp] {
            holds(text, own, true);
            holds(text, other, false);
            assert!(!text.contains(others_token.as_str()));
        }
        assert!(!web.contains(&token(link)));
    }
    let anonymous = seen(&world, &room.id, "").await;
    for seat in ["a", "b"] {
        holds(&anonymous, seat, false);
    }
    assert!(!anonymous.contains(&token_a) && !anonymous.contains(&token_b));
    assert!(anonymous.contains("Principal a"));
}

#[tokio::test]
async fn t43_t45_a_wrong_token_sees_what_nobody_sees() {
    let world = World::start().await;
    let room = marked(&world).await;
    let (a, b) = (token(&room.a), token(&room.b));
    for wrong in [
        "?seat=A&t=wrong".to_owned(),
        format!("?seat=A&t={b}"),
        format!("?seat=C&t={a}"),
        format!("?seat=A&t={a}%20"),
        "?seat=A&t=%E2%82%AC%E2%82%AC".to_owned(),
        format!("?seat=constructor&t={a}"),
        format!("?seat=__proto__&t={a}"),
        "?seat=A".to_owned(),
    ] {
        let text = seen(&world, &room.id, &wrong).await;
        let view: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(view["seat"], Value::Null, "{wrong}");
        for seat in ["a", "b"] {
            holds(&text, seat, false);
        }
    }
    let path = format!("/api/rooms/{}/seats/A/answer", room.id);
    for odd in [json!({ "a": 1 }), json!([a.clone()]), json!(7), json!(null), json!(format!("{a} "))] {
        assert_eq!(world.post(&path, json!({ "token": odd, "answer": "x" })).await.0, 403, "{odd}");
    }
    for seat in ["constructor", "__proto__"] {
        let path = format!("/api/rooms/{}/seats/{seat}/answer", room.id);
        assert_eq!(world.post(&path, json!({ "token": a })).await.0, 400);
    }
}

#[tokio::test]
async fn a_question_shows_on_the_web_and_is_hidden_from_the_other_agent() {
    let world = World::start().await;
    let room = world.sealed().await;
    let ask =
        json!({ "status": "escalate", "escalation": { "question": "Secret question", "reason": "why" } });
    world.send(&room.a, ask).await.unwrap();
    let pending = world.view(&room.id).await["pending"].clone();
    assert_eq!(
        pending,
        json!({ "seat": "A", "seq": 1, "question": "Secret question", "reason": "why", "options": null })
    );
}
