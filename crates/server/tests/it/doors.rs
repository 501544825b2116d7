//! Principals' links: whom they go to.

use crate::mcp::Modern;
use crate::support::{Server, folder, good, refused, secret};
use reqwest::Method;
use serde_json::{Value, json};
use server::config::Proxy;

/// Whether a text holds the link of a principal.
fn lets_in(answer: &Value) -> bool {
    let text = answer.to_string();
    text.contains("&p=") || text.contains("#p=")
}

#[tokio::test]
async fn w02_no_agent_is_given_the_link_of_its_principal() {
    let server = Server::with(|config| {
        config.proxies.insert("script".to_owned(), Proxy::Scripted { envelopes: Vec::new() });
    })
    .await;
    let agent = Modern::connect(&server).await;
    let room = json!({ "topic": "Hall hire", "your_principal": "Ana", "counterpart": "Ben" });
    let created = agent.call("create_room", room.clone()).await;
    let mut played = room;
    played["counterpart_proxy"] = "script".into();
    let against = agent.call("create_room", played).await;
    let invite = json!({ "link": created["invite_link_for_counterpart"], "agent_name": "Agent B" });
    let joined = agent.call("join_room", invite).await;
    let body = json!({ "topic": "Hall hire", "your_principal": "Ana", "counterparts": [{ "name": "Ben", "proxy": "script" }] });
    let opened = good(server.send(Method::POST, "/api/rooms", None, Some(body)).await).await;
    for (name, answer) in
        [("create_room", &created), ("against a proxy", &against), ("join_room", &joined), ("HTTP", &opened)]
    {
        assert!(answer["your_link"].is_string(), "{name}: {answer}");
        assert!(!lets_in(answer), "{name}: {answer}");
    }
    // Whoever runs the server has them: of each opener, of who joined, and of each seat that this server plays.
    assert_eq!(server.app.open_doors().await.unwrap().len(), 6);
    let id = created["room_id"].as_str().unwrap();
    let path = format!("/api/rooms/{id}/principal");
    let own = secret(&created["your_link"]);
    let refusal = server.send(Method::POST, &path, Some(&own), Some(json!({ "as": "link" }))).await;
    assert_eq!(refused(refusal).await.1, "not_permitted");
    let person = server.post(&path, &server.door(id, "A"), json!({ "as": "link" })).await;
    assert!(person["secret"].is_string(), "{person}");
    assert_eq!(server.app.open_doors().await.unwrap().len(), 5);
}

#[tokio::test]
async fn whoever_takes_an_invite_over_http_is_given_no_link_of_a_person() {
    let server = Server::start().await;
    let opened = server.open().await;
    let path = format!("/api/rooms/{}/seat", opened.room);
    let taken = server.post(&path, &opened.invite, json!({})).await;
    assert!(taken["your_link"].is_string() && !lets_in(&taken), "{taken}");
    let person = format!("/api/rooms/{}/principal", opened.room);
    let enrolled = server.post(&person, &server.door(&opened.room, "B"), json!({ "as": "link" })).await;
    assert!(enrolled["secret"].is_string(), "{enrolled}");
}

/// A link that nobody took is there after a restart, for every process, and works; once used it is gone.
#[tokio::test]
async fn a_door_outlives_its_process() {
    let folder = folder();
    let opened = Server::on(folder.path(), |_| {}).await.open().await;
    let server = Server::on(folder.path(), |_| {}).await;
    let doors = server.app.open_doors().await.unwrap();
    assert_eq!(doors.len(), 1);
    assert_eq!((doors[0].room.as_str(), doors[0].name.as_str()), (opened.room.as_str(), "Ana"));
    let path = format!("/api/rooms/{}/principal", opened.room);
    let link = secret(&doors[0].link.clone().into());
    let person = server.post(&path, &link, json!({ "as": "link" })).await;
    assert!(person["secret"].is_string(), "{person}");
    assert!(server.app.open_doors().await.unwrap().is_empty());
    let listed = server.app.journal().find("doors", "", 9).await.unwrap();
    assert!(listed.is_empty(), "{listed:?}");
}
