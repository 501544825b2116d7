//! Every route, tried as everybody who should not get in.

use crate::support::{Server, good, refused, secret};
use reqwest::Method;
use serde_json::{Value, json};

/// One route, with a body that is well formed.
struct Route {
    method: Method,
    path: &'static str,
    body: Option<Value>,
}

fn route(method: Method, path: &'static str, body: Value) -> Route {
    Route { method, path, body: (!body.is_null()).then_some(body) }
}

fn evidence() -> Value {
    json!({ "kind": "session" })
}

/// Every route of a room.
fn of_a_room() -> Vec<Route> {
    let matter = json!({ "kind": "relayed", "question_id": "q1", "accept": true });
    vec![
        route(Method::GET, "", Value::Null),
        route(Method::GET, "/wait?since=9999&timeout=1", Value::Null),
        route(Method::GET, "/events", Value::Null),
        route(Method::GET, "/ledger", Value::Null),
        route(Method::GET, "/ledger/export", Value::Null),
        route(Method::GET, "/brief", Value::Null),
        route(Method::GET, "/brief/proof", Value::Null),
        route(Method::GET, "/bundle", Value::Null),
        route(Method::GET, "/asks", Value::Null),
        route(Method::POST, "/seat", json!({})),
        route(Method::PUT, "/card", crate::support::card("Eve")),
        route(Method::POST, "/card/draft", json!({ "text": "x", "name": "Eve" })),
        route(Method::POST, "/envelopes", json!({ "envelope": { "message": "x", "status": "continue" } })),
        route(Method::POST, "/answers/prepare", matter.clone()),
        route(
            Method::POST,
            "/answers",
            json!({ "matter": matter, "nonce": "0123456789abcdef", "evidence": evidence() }),
        ),
        route(
            Method::POST,
            "/claims/A1.1/confirmation",
            json!({ "accept": true, "nonce": "0123456789abcdef", "evidence": evidence() }),
        ),
        route(
            Method::PUT,
            "/claims/A1.1/source",
            json!({ "uri": "https://x.example/", "sha256": "0".repeat(64) }),
        ),
        route(Method::POST, "/withdrawal", json!({})),
        route(Method::POST, "/disclosures", json!({ "to": "B" })),
        route(Method::POST, "/shares", json!({ "scope": "brief" })),
        route(Method::DELETE, "/shares/s1", Value::Null),
        route(Method::POST, "/seat/rotation", json!({})),
        route(Method::PUT, "/pause", json!({ "paused": true })),
        route(Method::POST, "/principal/begin", json!({})),
        route(Method::POST, "/principal", json!({ "as": "link" })),
    ]
}

#[tokio::test]
async fn nobody_and_other_rooms_get_the_same_refusal_everywhere() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let elsewhere = server.negotiating().await;
    let expiring = json!({ "scope": "transcript", "expires_in_seconds": 60 });
    let expired = secret(&server.post(&room.path("/shares"), &room.a, expiring).await["link"]);
    server.get(&room.path(""), &expired).await;
    server.later(61);
    let revoked = {
        let made = server.post(&room.path("/shares"), &room.a, json!({ "scope": "transcript" })).await;
        let done = server
            .send(
                Method::DELETE,
                &room.path(&format!("/shares/{}", made["id"].as_str().unwrap())),
                Some(&room.a),
                None,
            )
            .await;
        assert_eq!(done.status(), 204);
        secret(&made["link"])
    };
    for route in of_a_room() {
        for (who, secret) in [
            ("nobody", None),
            ("another room's seat", Some(elsewhere.a.as_str())),
            ("a revoked share", Some(revoked.as_str())),
            ("an expired share", Some(expired.as_str())),
            ("a guess", Some("not-a-secret")),
        ] {
            for of in [room.room.as_str(), "nosuchroom"] {
                let path = format!("/api/rooms/{of}{}", route.path);
                let found =
                    refused(server.send(route.method.clone(), &path, secret, route.body.clone()).await).await;
                assert_eq!(
                    (found.0.as_u16(), found.1.as_str()),
                    (401, "credential_required"),
                    "{who}: {} {path}",
                    route.method
                );
            }
        }
    }
    let untouched = server.get(&room.path(""), &room.a).await;
    assert_eq!(untouched["status"], "negotiating");
    assert_eq!(untouched["transcript"], json!([]));
}

#[tokio::test]
async fn a_share_link_reads_what_it_says_and_writes_nothing() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    server
        .post(
            &room.path("/envelopes"),
            &room.a,
            json!({ "envelope": { "message": "MARKER-MESSAGE", "status": "continue" } }),
        )
        .await;
    for scope in ["transcript", "ledger", "brief"] {
        let made = server.post(&room.path("/shares"), &room.a, json!({ "scope": scope })).await;
        let share = secret(&made["link"]);
        for route in of_a_room() {
            if route.method == Method::GET {
                continue;
            }
            let response =
                server.send(route.method.clone(), &room.path(route.path), Some(&share), route.body).await;
            let (status, code) = refused(response).await;
            assert!(
                matches!(status.as_u16(), 403 | 404),
                "{scope}: {} {} gave {status} {code}",
                route.method,
                route.path
            );
        }
        for (path, allowed) in [
            ("", true),
            ("/ledger", scope != "brief"),
            ("/ledger/export", scope != "brief"),
            ("/brief/proof", false),
            ("/bundle", scope != "brief"),
            ("/brief", scope != "ledger"),
            ("/asks", false),
        ] {
            let response = server.send(Method::GET, &room.path(path), Some(&share), None).await;
            let status = response.status();
            let text = response.text().await.unwrap();
            assert_eq!(status.is_success(), allowed, "{scope} {path}: {text}");
            assert_eq!(
                text.contains("MARKER-MESSAGE"),
                scope == "transcript" && matches!(path, "" | "/bundle"),
                "{scope} {path}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn a_seat_sees_nothing_that_is_private_to_the_other() {
    let server = Server::start().await;
    let opened = server.open().await;
    let joined = server.post(&format!("/api/rooms/{}/seat", opened.room), &opened.invite, json!({})).await;
    let b = secret(&joined["your_link"]);
    let path = |rest: &str| format!("/api/rooms/{}{rest}", opened.room);
    for (seat, marker, name) in [(&opened.a, "MARKER-A", "Ana"), (&b, "MARKER-B", "Ben")] {
        let mut card = crate::support::card(name);
        card["must_never"] = json!([marker]);
        good(server.send(Method::PUT, &path("/card"), Some(seat), Some(card)).await).await;
    }
    server
        .post(
            &path("/envelopes"),
            &opened.a,
            json!({ "envelope": { "message": "Wait", "status": "escalate", "escalation": { "question": "MARKER-A question" } } }),
        )
        .await;
    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "MARKER-A answer" });
    server
        .post(&path("/answers"), &opened.a, json!({ "matter": { "kind": "question", "answer": answer } }))
        .await;
    for (seat, own, other) in [(&opened.a, "MARKER-A", "MARKER-B"), (&b, "MARKER-B", "MARKER-A")] {
        for (page, shows_own) in [("", true), ("/ledger", false), ("/bundle", true)] {
            let text = server.send(Method::GET, &path(page), Some(seat), None).await.text().await.unwrap();
            assert!(!text.contains(other), "{page}: {text}");
            assert_eq!(text.contains(own), shows_own, "{page}: {text}");
        }
    }
}

/// Every write of a room, tried as the other seat of it, whose turn and whose things they are not.
#[tokio::test]
async fn the_other_seat_of_a_room_writes_nothing_of_this_one() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let claim = json!({ "text": "The floor is new", "origin": "assumed" });
    let offer =
        json!({ "terms": ["The hall"], "authority": [{ "term": 0, "clauses": ["may_agree_to[0]"] }] });
    let opening = json!({ "message": "x", "status": "continue", "claims": [claim], "proposal": offer });
    let sent = server.post(&room.path("/envelopes"), &room.a, json!({ "envelope": opening })).await;
    let offer = &sent["offer_hash"];
    let share = server.post(&room.path("/shares"), &room.a, json!({ "scope": "transcript" })).await;
    let share = format!("/shares/{}", share["id"].as_str().unwrap());
    let question = json!({ "message": "x", "status": "escalate", "escalation": { "question": "May I?" } });
    server.post(&room.path("/envelopes"), &room.b, json!({ "envelope": question })).await;
    let before = server.get(&room.path(""), &room.a).await;
    // Seat B waits for its own person. Seat A tries what is B's, seat B what is A's.
    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "Yes" });
    let relayed = json!({ "matter": { "kind": "question", "answer": answer } });
    let source = json!({ "uri": "https://x.example/", "sha256": "0".repeat(64) });
    let envelope = json!({ "envelope": { "message": "x", "status": "continue" } });
    let nonce = "0123456789abcdef";
    let judged = json!({ "accept": true, "nonce": nonce, "evidence": evidence() });
    let mut wrong = Vec::new();
    for (method, path, secret, body, expected) in [
        (Method::POST, "/seat", &room.invite, json!({}), (401, "credential_required")),
        (Method::PUT, "/card", &room.a, crate::support::card("Eve"), (409, "sealed")),
        (Method::POST, "/envelopes", &room.a, envelope, (409, "awaiting_answer")),
        (Method::POST, "/answers", &room.a, relayed, (403, "wrong_person")),
        (
            Method::POST,
            "/answers/prepare",
            &room.a,
            json!({ "kind": "question", "answer": answer }),
            (403, "not_permitted"),
        ),
        (Method::POST, "/claims/A1.1/confirmation", &room.b, judged, (403, "not_permitted")),
        (Method::PUT, "/claims/A1.1/source", &room.b, source, (403, "not_permitted")),
        (Method::POST, "/withdrawal", &room.b, json!({ "offer_hash": offer }), (403, "not_permitted")),
        (Method::DELETE, share.as_str(), &room.b, Value::Null, (404, "share_unknown")),
        (Method::PUT, "/pause", &room.b, json!({ "paused": true }), (403, "not_permitted")),
        (Method::POST, "/principal/begin", &room.a, json!({}), (403, "not_permitted")),
        (Method::POST, "/principal", &room.a, json!({ "as": "link" }), (403, "not_permitted")),
    ] {
        let body = (!body.is_null()).then_some(body);
        let found = refused(server.send(method.clone(), &room.path(path), Some(secret), body).await).await;
        if (found.0.as_u16(), found.1.as_str()) != expected {
            wrong.push(format!("{method} {path}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    let after = server.get(&room.path(""), &room.a).await;
    assert_eq!(before, after);
}

#[tokio::test]
async fn an_agent_is_not_its_principal() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    for (path, body) in [
        ("/answers/prepare", json!({ "kind": "relayed", "question_id": "q1", "accept": true })),
        (
            "/answers",
            json!({ "matter": { "kind": "relayed", "question_id": "q1", "accept": true }, "nonce": "0123456789abcdef", "evidence": evidence() }),
        ),
        ("/principal", json!({ "as": "link" })),
    ] {
        let found =
            refused(server.send(Method::POST, &room.path(path), Some(&room.a), Some(body)).await).await;
        assert_eq!((found.0.as_u16(), found.1.as_str()), (403, "not_permitted"), "{path}");
    }
    let refusal =
        server.send(Method::PUT, &room.path("/pause"), Some(&room.a), Some(json!({ "paused": true }))).await;
    assert_eq!(refused(refusal).await.0, 403);
}

#[tokio::test]
async fn what_needs_a_person_refuses_everyone_else() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    for (method, path, body) in [
        (Method::GET, "/api/inbox", None),
        (Method::GET, "/api/me", None),
        (Method::GET, "/api/organization", None),
        (Method::GET, "/api/rooms", None),
        (Method::POST, "/api/organization/acts", Some(json!({ "act": "issue_codes" }))),
        (Method::POST, "/api/enrolment/begin", Some(json!({ "org": "home" }))),
        (Method::POST, "/api/enrolment/begin", Some(json!({ "org": "elsewhere" }))),
    ] {
        for secret in [None, Some("guess"), Some(room.a.as_str()), Some(room.link_a.as_str())] {
            let found = refused(server.send(method.clone(), path, secret, body.clone()).await).await;
            assert_eq!(found.0, 401, "{method} {path} {secret:?}: {}", found.1);
        }
    }
}
