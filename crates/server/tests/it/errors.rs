//! Every error of every route is a document with a code, and its place is a member of the request.

use crate::mandates::desk::Desk;
use crate::support::{Server, card, good};
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// A problem: its status, its code and its place.
async fn problem(response: Response) -> (u16, String, Option<String>) {
    let status = response.status().as_u16();
    let address = response.url().to_string();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let text = response.text().await.unwrap();
    assert_eq!(kind.as_deref(), Some("application/problem+json"), "{status} {address}: {text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["status"], status, "{address}");
    assert_eq!(body["type"], format!("urn:countersign:problem:{}", body["code"].as_str().unwrap()));
    let place = body["place"].as_str().map(str::to_owned);
    (status, body["code"].as_str().unwrap().to_owned(), place)
}

/// All routes of the API document: a method they do not have, a body of a kind that nobody reads, bytes that are no JSON.
#[tokio::test]
async fn whatever_is_wrong_with_a_request_of_any_route() {
    let desk = Desk::start().await;
    let server = &desk.server;
    let document: Value = serde_json::from_str(&server::http::document(&server.app)).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 50);
    for (path, methods) in paths {
        let url = server.url(&path.replace(['{', '}'], ""));
        let other = ["PUT", "PATCH"].into_iter().find(|name| methods.get(name.to_lowercase()).is_none());
        let other = Method::from_bytes(other.unwrap().as_bytes()).unwrap();
        let response = server.http.request(other, &url).send().await.unwrap();
        assert!(response.headers().contains_key("allow"), "{path}");
        let (status, code, _) = problem(response).await;
        assert_eq!((status, code.as_str()), (405, "method_not_allowed"), "{path}");
        for name in methods.as_object().unwrap().keys() {
            let method = Method::from_bytes(name.to_uppercase().as_bytes()).unwrap();
            for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json"] {
                let request = server.http.request(method.clone(), &url).header("content-type", kind);
                let response = request.body("{").send().await.unwrap();
                if response.status().is_client_error() || response.status().is_server_error() {
                    problem(response).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_query_that_does_not_parse_is_named() {
    let desk = Desk::start().await;
    let server = &desk.server;
    let room = server.negotiating().await;
    let document: Value = serde_json::from_str(&server::http::document(&server.app)).unwrap();
    let mut numbers = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            for parameter in route["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] != "query" || parameter["schema"]["type"] != "integer" {
                    continue;
                }
                numbers += 1;
                let name = parameter["name"].as_str().unwrap();
                let url = server.url(&format!("{}?{name}=x", path.replace("{room}", &room.room)));
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let response = server.http.request(method, &url).bearer_auth(&room.a).send().await.unwrap();
                let found = problem(response).await;
                assert_eq!(found, (400, "bad_query".to_owned(), Some(format!("/{name}"))), "{url}");
            }
        }
    }
    assert!(numbers >= 5, "{numbers}");
    let response = server.http.get(server.url("/v1/runs?mandate_id=a&mandate_id=b")).send().await.unwrap();
    assert_eq!(problem(response).await.1, "bad_query");
}

#[tokio::test]
async fn places_are_those_of_the_request() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let check = async |method: Method, path: &str, secret: Option<&str>, body: Value, expected: &str| {
        let response = server.send(method, path, secret, Some(body.clone())).await;
        let (_, code, place) = problem(response).await;
        let place = place.unwrap_or_else(|| panic!("{path}: {code} has no place"));
        assert_eq!(place, expected, "{path}: {code}");
        // What is named is there, or its container is.
        let parent = place.rsplit_once('/').map_or("", |(parent, _)| parent);
        assert!(body.pointer(parent).is_some(), "{path}: {place}");
    };
    let opening = |topic: &str, own: &str, other: &str| json!({ "topic": topic, "your_principal": own, "counterparts": [{ "name": other }] });
    let open = async |body, expected| check(Method::POST, "/api/rooms", None, body, expected).await;
    open(opening("", "Ana", "Ben"), "/topic").await;
    open(opening("Hall", "", "Ben"), "/your_principal").await;
    open(opening("Hall", "Ana", ""), "/counterparts/0/name").await;
    open(json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [] }), "/counterparts").await;
    open(
        json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": 1 }] }),
        "/counterparts/0/name",
    )
    .await;
    let a = Some(room.a.as_str());
    let send = async |envelope: Value, expected| {
        let body = json!({ "client_msg_id": "m", "envelope": envelope });
        check(Method::POST, &room.path("/envelopes"), a, body, expected).await;
    };
    send(json!({ "message": "", "status": "continue" }), "/envelope/message").await;
    send(
        json!({ "message": "x", "status": "continue", "claims": [{ "text": "", "origin": "assumed" }] }),
        "/envelope/claims/0/text",
    )
    .await;
    let body = json!({ "client_msg_id": "", "envelope": { "message": "x", "status": "continue" } });
    check(Method::POST, &room.path("/envelopes"), a, body, "/client_msg_id").await;
    // Only a seat's person shows its card.
    let person = server.post(&room.path("/principal"), &room.link_a, json!({ "as": "link" })).await;
    let ana = person["secret"].as_str();
    let path = room.path("/disclosures");
    check(Method::POST, &path, ana, json!({ "to": "A" }), "/to").await;
    check(Method::POST, &path, ana, json!({ "to": "B", "clause": "must_haves[9]" }), "/clause").await;
    let drafting = server.open().await;
    let mut empty = card("Ana");
    empty["goal"] = json!("");
    let path = format!("/api/rooms/{}/card", drafting.room);
    check(Method::PUT, &path, Some(&drafting.a), empty, "/goal").await;
    let escalating = json!({ "message": "One question", "status": "escalate",
        "escalation": { "question": "May we pay more?", "reason": "the price" } });
    let sent = server.post(&room.path("/envelopes"), &room.a, json!({ "envelope": escalating })).await;
    let answer = json!({ "question_id": sent["question_id"], "ruling": "allow", "text": "" });
    let matter = json!({ "kind": "question", "answer": answer });
    let path = room.path("/answers");
    check(Method::POST, &path, a, json!({ "matter": matter }), "/matter/answer/text").await;
}

/// JSON-RPC errors with a code and a place, whatever was sent.
#[tokio::test]
async fn what_is_wrong_with_a_message_of_mcp() {
    let server = Server::start().await;
    let post = async |kind: &str, body: String| {
        let request = server.http.post(server.url("/mcp")).header("content-type", kind).body(body.clone());
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let value: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{body}: {status} {text:?}"));
        (status, value)
    };
    for id in [json!(null), json!(true), json!(1.5), json!([1]), json!({})] {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        for (body, place) in [(message.clone(), "/id"), (json!([message]), "/0/id")] {
            let (status, value) = post("application/json", body.to_string()).await;
            assert_eq!(status, 400, "{body}");
            assert_eq!(value["error"]["code"], -32600, "{body}");
            assert_eq!(value["error"]["data"], json!({ "code": "shape", "place": place }), "{body}");
        }
    }
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let (status, value) = post("text/plain", list.to_string()).await;
    assert_eq!((status, &value["error"]["data"]["code"]), (415, &json!("unsupported_media_type")));
    for (body, code) in [
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 5 }), "shape"),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": 5 }), "shape"),
        (json!({ "jsonrpc": "1.0", "id": 1, "method": "tools/list" }), "shape"),
    ] {
        let (status, value) = post("application/json", body.to_string()).await;
        assert!(value["error"]["code"].as_i64().is_some(), "{body}: {value}");
        assert_eq!((status, &value["error"]["data"]["code"]), (400, &json!(code)), "{body}: {value}");
    }
    let (status, _) = post("application/json", list.to_string()).await;
    assert_eq!(status, 200);
    good(server.http.get(server.url("/health")).send().await.unwrap()).await;
}
