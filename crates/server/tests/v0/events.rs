//! Event streams.

use crate::support::{World, query};
use serde_json::{Value, json};

#[tokio::test]
async fn t44_each_subscriber_gets_its_own_view_of_a_change() {
    let world = World::start().await;
    let room = world.sealed().await;
    let mut streams = Vec::new();
    for viewer in [query(&room.a), query(&room.b), String::new()] {
        let mut events = world.events(&room.id, &viewer).await;
        assert_eq!(events.response.headers()["content-type"], "text/event-stream");
        assert_eq!(events.next().await.unwrap()["turnCount"], 0);
        streams.push(events);
    }
    world.send(&room.a, json!({})).await.unwrap();
    let mut seats = Vec::new();
    for events in &mut streams {
        let view = events.next().await.unwrap();
        assert_eq!(view["turnCount"], 1);
        let own: Vec<bool> = ["A", "B"].map(|seat| view["seats"][seat].get("card").is_some()).to_vec();
        seats.push((view["seat"].clone(), own));
    }
    assert_eq!(
        seats,
        [(json!("A"), vec![true, false]), (json!("B"), vec![false, true]), (Value::Null, vec![false, false])]
    );
}

#[tokio::test]
async fn t58_streams_are_capped_and_the_oldest_of_a_seat_gives_way() {
    let world = World::start().await;
    let room = world.sealed().await;
    let mut open = Vec::new();
    let mut refused = 0;
    for n in 0..25 {
        let wrong = if n % 2 == 0 { "" } else { "?seat=A&t=wrong" };
        let events = world.events(&room.id, wrong).await;
        match events.response.status().as_u16() {
            200 => open.push(events),
            204 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((open.len(), refused), (20, 5));
    let mut seats = Vec::new();
    for _ in 0..6 {
        let mut events = world.events(&room.id, &query(&room.a)).await;
        assert!(events.next().await.is_some());
        seats.push(events);
    }
    assert!(seats[0].next().await.is_none(), "the oldest has ended");
    world.send(&room.a, json!({})).await.unwrap();
    assert_eq!(seats[1].next().await.unwrap()["turnCount"], 1);
}

#[tokio::test]
async fn t59_an_evicted_room_ends_its_streams_and_is_nowhere() {
    let world = World::with(|options| options.capacity = 1, None, None).await;
    let busy = world.sealed().await;
    let room = world.sealed().await;
    world.send(&room.a, json!({ "proposal": { "terms": ["t"] } })).await.unwrap();
    world.send(&room.b, json!({ "status": "agree" })).await.unwrap();
    let mut events = world.events(&room.id, "").await;
    assert_eq!(events.next().await.unwrap()["status"], "agreed");
    assert_eq!(world.v0.sweep().await.unwrap(), 1);
    assert!(events.next().await.is_none());
    for path in ["", "/ledger", "/events"] {
        assert_eq!(world.get(&format!("/api/rooms/{}{path}", room.id)).await.0, 404, "{path}");
    }
    let body = json!({ "token": crate::support::token(&room.a) });
    assert_eq!(world.post(&format!("/api/rooms/{}/seats/A/resume", room.id), body).await.0, 404);
    assert!(world.tool("get_room", json!({ "link": room.a })).await.unwrap_err().contains("no such room"));
    assert_eq!(world.view(&busy.id).await["status"], "negotiating");
}
