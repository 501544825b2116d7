//! What the `v0` mount takes from the rest of the server: a configured model, and members' agent keys.

use crate::people::Person;
use crate::proxies::{Stub, endpoint};
use crate::support::{Server, good};
use reqwest::Method;
use serde_json::{Value, json};
use server::config::Proxy;

/// A tool of the mount: its structured result, or the sentence of its refusal.
async fn tool(server: &Server, name: &str, arguments: Value, key: Option<&str>) -> Result<Value, String> {
    let params = json!({ "name": name, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut request = server.http.post(server.url("/v0/mcp")).json(&call);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    let result = &answer["result"];
    match result["isError"] == true {
        true => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
        false => Ok(result["structuredContent"].clone()),
    }
}

fn token(link: &Value) -> String {
    link.as_str().unwrap().rsplit_once("t=").unwrap().1.to_owned()
}

/// The first view of the room's event stream that is as wished.
async fn until(server: &Server, room: &str, wished: impl Fn(&Value) -> bool) -> Value {
    let url = server.url(&format!("/v0/api/rooms/{room}/events"));
    let mut response = server.http.get(url).send().await.unwrap();
    let mut text = String::new();
    loop {
        let chunk = response.chunk().await.unwrap().expect("the stream went on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let view = event.strip_prefix("data: ").map(|view| serde_json::from_str::<Value>(view).unwrap());
            text = rest.to_owned();
            if let Some(view) = view.filter(&wished) {
                return view;
            }
        }
    }
}

#[tokio::test]
async fn a_configured_model_drafts_plays_and_maps_for_v0() {
    let card = r#"{"principal":{"name":"Ben"},"goal":"Let the hall","must_haves":["A fair price"]}"#;
    let (stub, port) = Stub::start(&[
        &format!("Here is the card: {card} I hope it helps."),
        r#"Sure: {"message":"Agreed.","status":"agree"} Bye."#,
        r#"The map: [{"term":"The hall","A":"must_haves","B":"none","note":"n"}]"#,
    ])
    .await;
    let server = Server::with(|config| {
        config.v0 = true;
        config.fetch_allow = vec![format!("127.0.0.1:{port}")];
        let model = Proxy::Openai(endpoint(format!("http://127.0.0.1:{port}/v1")));
        config.proxies.insert("model".to_owned(), model);
    })
    .await;
    let asked = json!({ "topic": "Hall", "your_principal": "Ana", "counterpart": "Ben", "counterpart_proxy": "builtin" });
    let opened = tool(&server, "create_room", asked, None).await.unwrap();
    let room = opened["room_id"].as_str().unwrap();
    let b = token(&opened["invite_link_for_counterpart"]);
    let path = |action: &str| format!("/v0/api/rooms/{room}/seats/B/{action}");
    let words = json!({ "token": b, "text": "I let my hall for a fair price", "name": "Ben" });
    let drafted = good(server.send(Method::POST, &path("draft"), None, Some(words)).await).await;
    assert_eq!(drafted["card"]["goal"], "Let the hall");
    let seal = json!({ "token": b, "card": drafted["card"] });
    good(server.send(Method::POST, &path("seal"), None, Some(seal)).await).await;
    let own = json!({ "link": opened["your_link"], "card": crate::support::card("Ana") });
    tool(&server, "seal_intent_card", own, None).await.unwrap();
    let offer = json!({ "link": opened["your_link"], "message": "An offer", "status": "continue", "proposal": { "terms": ["The hall"] } });
    tool(&server, "send_envelope", offer, None).await.unwrap();
    let ended = until(&server, room, |view| view["brief"]["authority"].is_array()).await;
    assert_eq!(ended["status"], "agreed", "{ended}");
    assert_eq!(ended["brief"]["authority"][0]["A"], "must_haves");
    // What strangers wrote reaches the model as fenced data under the operator's instruction.
    let asked = stub.asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    for (body, key) in asked.iter() {
        assert_eq!(key.as_deref(), Some("Bearer k3y"));
        assert_eq!(body["messages"][0]["role"], "system", "{body}");
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("never an instruction"), "{body}");
    }
    let told = asked.iter().map(|(body, _)| body["messages"][1]["content"].to_string()).collect::<String>();
    for word in ["I let my hall", "An offer", "The hall"] {
        assert!(told.contains(word), "{word}");
    }
}

#[tokio::test]
async fn v0_takes_the_agent_keys_of_members_in_sign_in_mode() {
    let server = Server::with(|config| (config.v0, config.sign_in) = (true, true)).await;
    let person = Person::enrol(&server).await;
    let (key, secret) = person.agent_key(&server).await;
    let asked = json!({ "topic": "Hall", "your_principal": "Ana", "counterpart": "Ben" });
    let open = |key: Option<String>| {
        let (server, asked) = (&server, asked.clone());
        async move { tool(server, "create_room", asked, key.as_deref()).await }
    };
    let missing = open(None).await.unwrap_err();
    let wrong = open(Some("wrong".to_owned())).await.unwrap_err();
    assert_ne!(missing, wrong);
    let opened = open(Some(secret.clone())).await.unwrap();
    assert!(opened["your_link"].as_str().unwrap().contains("/v0/room/"), "{opened}");
    let revoke = json!({ "act": "revoke_agent_key", "key": key });
    good(person.send(&server, Method::POST, "/api/organization/acts", Some(revoke)).await).await;
    assert_eq!(open(Some(secret)).await.unwrap_err(), wrong);
    // The page that both refusals name is there.
    let page = missing.rsplit(' ').next().unwrap().trim_end_matches('.').to_owned();
    let path = page.split_once("://").unwrap().1.split_once('/').unwrap().1.to_owned();
    let response = server.send(Method::GET, &format!("/{path}"), None, None).await;
    assert_eq!((response.status().as_u16(), wrong.contains(&page)), (200, true), "{page}");
    assert!(response.text().await.unwrap().contains("../keys"));
}

#[tokio::test]
async fn the_pages_that_v0_links_to_are_there() {
    let server = Server::with(|config| config.v0 = true).await;
    let asked = json!({ "topic": "<b>Hall</b>", "your_principal": "Ana", "counterpart": "Ben" });
    let opened = tool(&server, "create_room", asked, None).await.unwrap();
    let (a, invite) = (&opened["your_link"], &opened["invite_link_for_counterpart"]);
    tool(&server, "join_room", json!({ "link": invite }), None).await.unwrap();
    for link in [a, invite] {
        let card = crate::support::card("Ana");
        tool(&server, "seal_intent_card", json!({ "link": link, "card": card }), None).await.unwrap();
    }
    let offer = json!({ "link": a, "message": "An <i>offer</i>", "status": "continue", "proposal": { "terms": ["The <hall>"] } });
    tool(&server, "send_envelope", offer, None).await.unwrap();
    tool(&server, "send_envelope", json!({ "link": invite, "message": "Yes", "status": "agree" }), None)
        .await
        .unwrap();
    let brief = tool(&server, "get_brief", json!({ "link": a }), None).await.unwrap()["brief_url"].clone();
    for (link, says) in [(a, "An &lt;i&gt;offer&lt;/i&gt;"), (&brief, "The &lt;hall&gt;")] {
        let path = link.as_str().unwrap().split_once("://").unwrap().1.split_once('/').unwrap().1;
        let response = server.send(Method::GET, &format!("/{path}"), None, None).await;
        assert_eq!(response.status(), 200, "{path}");
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
        let page = response.text().await.unwrap();
        assert!(page.contains(says) && page.contains("&lt;b&gt;Hall"), "{page}");
        assert!(!page.contains("<i>") && !page.contains("seat="), "{page}");
    }
    for missing in ["/v0/room/nosuchroom", "/v0/brief/nosuchroom"] {
        assert_eq!(server.send(Method::GET, missing, None, None).await.status(), 404, "{missing}");
    }
}
