//! Idempotency keys: in parallel, with another body, afterwards, from another client.

use crate::support::{Server, good, refused};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

async fn post(server: &Server, path: &str, secret: Option<&str>, key: &str, body: &Value) -> Response {
    let mut request = server.http.post(server.url(path)).header("idempotency-key", key).json(body);
    if let Some(secret) = secret {
        request = request.bearer_auth(secret);
    }
    request.send().await.unwrap()
}

fn opening(topic: &str) -> Value {
    json!({ "topic": topic, "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] })
}

#[tokio::test]
async fn the_stored_answer_comes_again_and_another_body_is_refused() {
    let server = Server::start().await;
    let key = "0123456789abcdef";
    let first = good(post(&server, "/api/rooms", None, key, &opening("One")).await).await;
    let again = good(post(&server, "/api/rooms", None, key, &opening("One")).await).await;
    assert_eq!(first, again);
    let other = refused(post(&server, "/api/rooms", None, key, &opening("Two")).await).await;
    assert_eq!((other.0.as_u16(), other.1.as_str()), (422, "idempotency_key_reused"));
    assert_eq!(
        refused(post(&server, "/api/rooms", None, "short", &opening("One")).await).await.1,
        "bad_idempotency_key"
    );
}

#[tokio::test]
async fn fifty_parallel_retries_record_one_envelope() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let body = json!({ "envelope": { "message": "Once", "status": "continue" } });
    let path = room.path("/envelopes");
    let tries = (0..50).map(|_| post(&server, &path, Some(&room.a), "key-1", &body));
    let mut sent = 0;
    for response in futures::future::join_all(tries).await {
        match response.status() {
            StatusCode::CREATED => sent += 1,
            StatusCode::CONFLICT => assert_eq!(refused(response).await.1, "idempotency_in_flight"),
            other => panic!("{other}: {}", response.text().await.unwrap()),
        }
    }
    assert!(sent >= 1);
    let view = server.get(&room.path(""), &room.a).await;
    assert_eq!(view["transcript"].as_array().unwrap().len(), 1);
    // The same key from the other seat is another key.
    let reply = json!({ "envelope": { "message": "Reply", "status": "continue" } });
    good(post(&server, &path, Some(&room.b), "key-1", &reply).await).await;
}

#[tokio::test]
async fn without_a_key_two_envelopes_at_once_are_one_and_a_conflict() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let path = room.path("/envelopes");
    let send = |text: &str| {
        let body = json!({ "envelope": { "message": text, "status": "continue" } });
        let (server, path, secret) = (&server, path.clone(), room.a.clone());
        async move { server.send(reqwest::Method::POST, &path, Some(&secret), Some(body)).await.status() }
    };
    let (one, two) = tokio::join!(send("first"), send("second"));
    let mut both = [one.as_u16(), two.as_u16()];
    both.sort_unstable();
    assert_eq!(both, [201, 409]);
    assert_eq!(server.get(&room.path(""), &room.a).await["transcript"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_message_id_makes_a_retry_the_same_message() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let body =
        |text: &str| json!({ "client_msg_id": "m1", "envelope": { "message": text, "status": "continue" } });
    let first = server.post(&room.path("/envelopes"), &room.a, body("Hello")).await;
    let again = server.post(&room.path("/envelopes"), &room.a, body("Hello")).await;
    assert_eq!((first["seq"].clone(), first["replayed"].clone()), (again["seq"].clone(), json!(false)));
    assert_eq!(again["replayed"], true);
    let other =
        server.send(reqwest::Method::POST, &room.path("/envelopes"), Some(&room.a), Some(body("Else"))).await;
    assert_eq!(refused(other).await.1, "idempotency_conflict");
}

/// What a request does to its own credential does not keep its repetition from the answer; nothing is done twice.
#[tokio::test]
async fn a_retry_with_the_replaced_credential_gets_the_stored_answer() {
    let server = Server::start().await;
    let opened = server.open().await;
    let path = |rest: &str| format!("/api/rooms/{}{rest}", opened.room);
    // Whether the same request again, and it alone, is answered the same; gives that answer.
    let twice = async |path: String, secret: String, key: &'static str, body: Value| {
        let first = good(post(&server, &path, Some(&secret), key, &body).await).await;
        assert_eq!(good(post(&server, &path, Some(&secret), key, &body).await).await, first, "{path}");
        for (secret, key) in [(secret.as_str(), "other"), ("nobody", key)] {
            let (status, code) = refused(post(&server, &path, Some(secret), key, &body).await).await;
            assert_eq!((status.as_u16(), code.as_str()), (401, "credential_required"), "{path} {key}");
        }
        let (status, code) =
            refused(post(&server, &path, Some(&secret), key, &json!({ "more": 1 })).await).await;
        assert_eq!((status.as_u16(), code.as_str()), (422, "idempotency_key_reused"), "{path}");
        first
    };
    let joined = twice(path("/seat"), opened.invite.clone(), "k1", json!({})).await;
    let b = crate::support::secret(&joined["your_link"]);
    let rotated = twice(path("/seat/rotation"), b, "k2", json!({})).await;
    let b = crate::support::secret(&rotated["your_link"]);
    server.get(&path(""), &b).await;
    let enrolled =
        twice(path("/principal"), server.door(&opened.room, "B"), "k3", json!({ "as": "link" })).await;
    server.get(&path("/asks"), enrolled["secret"].as_str().unwrap()).await;
}

#[tokio::test]
async fn a_key_on_another_route_is_refused() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let body = json!({ "envelope": { "message": "Once", "status": "continue" } });
    good(post(&server, &room.path("/envelopes"), Some(&room.a), "key-1", &body).await).await;
    for (path, body) in [
        ("/shares", json!({ "scope": "brief" })),
        ("/withdrawal", json!({})),
        ("/envelopes?again=1", body.clone()),
        ("/seat", json!({})),
    ] {
        let (status, code) =
            refused(post(&server, &room.path(path), Some(&room.a), "key-1", &body).await).await;
        assert_eq!((status.as_u16(), code.as_str()), (422, "idempotency_key_reused"), "{path}");
    }
    assert_eq!(server.get(&room.path(""), &room.a).await["transcript"].as_array().unwrap().len(), 1);
}
