//! The HTTP surface.

use crate::support::{CARD, Script, World, keys, query, token, words};
use serde_json::{Value, json};

const ROOM_VIEW: &str = "id topic demo status createdAt seat seats envelopes claims turn turnCount maxTurns pending error \
    brief interrupted ledger ledgerCheck thinking waitingOn live mcpUrl";

#[tokio::test]
async fn t39_the_exact_members_of_every_body() {
    let world = World::start().await;
    let room = world.sealed().await;
    world.send(&room.a, json!({ "claims": [{ "text": "c", "origin": "assumed" }] })).await.unwrap();
    let (_, view) = world.get(&format!("/api/rooms/{}{}", room.id, query(&room.a))).await;
    assert_eq!(keys(&view), words(ROOM_VIEW));
    let seat = "name role sealed cardHash drafted mode agent sealedVia";
    assert_eq!(keys(&view["seats"]["A"]), words(&format!("{seat} card draftText")));
    assert_eq!(keys(&view["seats"]["B"]), words(seat));
    assert_eq!(
        keys(&view["seats"]["A"]["card"]),
        words("pxp principal goal must_haves may_agree_to must_never escalate_when known_facts amendments")
    );
    assert_eq!(keys(&view["claims"]["A1.1"]), words("id text origin seat seq verified reviews"));
    assert_eq!(keys(&view["ledgerCheck"]), words("ok head"));
    assert_eq!(
        keys(&view["envelopes"][0]),
        words("pxp room seq from intent_hash message claims reviews status")
    );
    let (code, ledger) = world.get(&format!("/api/rooms/{}/ledger", room.id)).await;
    assert_eq!((code, keys(&ledger)), (200, words("protocol room check ledger")));
    for entry in ledger["ledger"].as_array().unwrap() {
        assert_eq!(keys(entry), words("n type at data prev hash"));
    }
    let kinds: Vec<&str> =
        ledger["ledger"].as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["room_opened", "agent_joined", "agent_joined", "card_sealed", "card_sealed", "envelope"]
    );
    let (code, config) = world.get("/api/config").await;
    assert_eq!((code, keys(&config)), (200, words("live passcode maxTurns protocol mcpUrl signin")));
    assert_eq!(keys(&world.get("/health").await.1), words("ok live rooms store storeOk build"));
    let response = world.http.get(world.url("/health")).send().await.unwrap();
    for header in ["content-security-policy", "x-content-type-options", "referrer-policy"] {
        assert!(response.headers().contains_key(header), "{header}");
    }
}

#[tokio::test]
async fn t40_the_order_of_checks_on_a_seat() {
    let world = World::start().await;
    let room = world.room().await;
    let (a, b) = (token(&room.a), token(&room.b));
    let card: Value = serde_json::from_str(CARD).unwrap();
    let check = |path: String, body: Value, code: u16| {
        let world = &world;
        async move {
            let (given, answer) = world.post(&path, body).await;
            assert_eq!(given, code, "{path}: {answer}");
            answer
        }
    };
    let seat = |room: &str, seat: &str, action: &str| format!("/api/rooms/{room}/seats/{seat}/{action}");
    check(seat("nosuchroom", "C", "seal"), json!(5), 404).await;
    check(seat(&room.id, "C", "seal"), json!(5), 400).await;
    for bad in [json!({ "token": "wrong" }), json!({}), json!({ "token": b })] {
        check(seat(&room.id, "A", "seal"), bad, 403).await;
    }
    check(seat(&room.id, "A", "nothing"), json!({ "token": a }), 404).await;
    check(seat(&room.id, "A", "seal"), json!({ "token": a, "card": {} }), 400).await;
    let sealed = check(seat(&room.id, "A", "seal"), json!({ "token": a, "card": card }), 200).await;
    assert_eq!(keys(&sealed), words("ok card_hash"));
    check(seat(&room.id, "A", "seal"), json!({ "token": a, "card": card }), 409).await;
}

#[tokio::test]
async fn t41_what_cannot_be_done_now() {
    let world = World::start().await;
    let room = world.sealed().await;
    let path = |id: &str, action: &str| format!("/api/rooms/{id}/seats/A/{action}");
    let a = token(&room.a);
    for (action, code) in [("answer", 409), ("resume", 409), ("draft", 409), ("else", 404)] {
        let body = json!({ "token": a, "answer": "x", "text": "x" });
        assert_eq!(world.post(&path(&room.id, action), body).await.0, code, "{action}");
    }
    let fresh = world.room().await;
    let body = json!({ "token": token(&fresh.a), "text": "x" });
    assert_eq!(world.post(&path(&fresh.id, "draft"), body).await.0, 503);
    let (code, demo) = world.post("/api/demo", json!({})).await;
    assert_eq!((code, keys(&demo)), (201, words("id token")));
    let body = json!({ "token": demo["token"], "text": "x" });
    assert_eq!(world.post(&path(demo["id"].as_str().unwrap(), "draft"), body).await.0, 400);
}

#[tokio::test]
async fn t46_bodies_that_are_no_object() {
    let world = World::start().await;
    let room = world.room().await;
    let url = world.url(&format!("/api/rooms/{}/seats/A/resume", room.id));
    for body in ["null", "[]", "5", "\"x\"", "true", "{"] {
        let response = world.http.post(&url).body(body).send().await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
    }
    // Nothing is an empty object, which has no token.
    assert_eq!(world.http.post(&url).send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn t27_a_card_that_is_too_deep_is_refused_and_the_room_unharmed() {
    let world = World::start().await;
    let room = world.room().await;
    let url = world.url(&format!("/api/rooms/{}/seats/A/seal", room.id));
    let deep = |open: usize| {
        let (open, close) = ("[".repeat(open), "]".repeat(open));
        let card = format!(r#"{{"goal":"g","must_haves":["m"],"amendments":{open}{close}}}"#);
        format!(r#"{{"token":"{}","card":{card}}}"#, token(&room.a))
    };
    let send = |body: String| world.http.post(&url).body(body).send();
    assert_eq!(send(deep(20_000)).await.unwrap().status(), 400);
    assert_eq!(send(deep(127)).await.unwrap().status(), 400);
    assert_eq!(world.view(&room.id).await["seats"]["A"]["sealed"], false);
    let other = world.sealed().await;
    assert_eq!(world.view(&other.id).await["status"], "negotiating");
    assert_eq!(send(deep(100)).await.unwrap().status(), 200);
    let (_, view) = world.get(&format!("/api/rooms/{}{}", room.id, query(&room.a))).await;
    assert_eq!(view["seats"]["A"]["card"]["amendments"], json!([]));
}

#[tokio::test]
async fn c16_the_seat_token_may_answer_on_the_web() {
    let world = World::start().await;
    let room = world.sealed().await;
    world.send(&room.a, json!({ "status": "escalate", "escalation": { "question": "q" } })).await.unwrap();
    let path = format!("/api/rooms/{}/seats/A/answer", room.id);
    let (code, body) = world.post(&path, json!({ "token": token(&room.a), "answer": "yes" })).await;
    assert_eq!((code, body), (200, json!({ "ok": true })));
    assert_eq!(world.view(&room.id).await["envelopes"][0]["answer_via"], "web");
}

#[tokio::test]
async fn t56_wrong_passcodes_lock_the_address_and_use_no_quota() {
    let script = Script::new(&[]);
    let change = |options: &mut server::v0::Options| {
        options.passcode = Some("right".to_owned());
        options.rooms = pxp::v0::quota::RoomLimits { total: 20, each: 1 };
    };
    let world = World::with(change, Some(script), None).await;
    let open = |from: &'static str, passcode: &'static str| {
        let request = world.http.post(world.url("/api/rooms")).header("x-forwarded-for", from);
        async move { request.json(&json!({ "passcode": passcode })).send().await.unwrap().status().as_u16() }
    };
    for _ in 0..10 {
        assert_eq!(open("192.0.2.1", "wrong").await, 403);
    }
    assert_eq!(open("192.0.2.1", "right").await, 429);
    assert_eq!(open("192.0.2.2", "wrong").await, 403);
    assert_eq!(open("192.0.2.2", "right").await, 201);
}

#[tokio::test]
async fn t57_the_address_that_counts() {
    let each = pxp::v0::quota::RoomLimits { total: 20, each: 3 };
    let world = World::with(|options| options.rooms = each, None, None).await;
    let open = |from: &'static str| {
        let request = world.http.post(world.url("/api/rooms")).header("x-forwarded-for", from);
        let body = json!({ "modeA": "external", "modeB": "external" });
        async move { request.json(&body).send().await.unwrap().status().as_u16() }
    };
    for from in ["2001:db8::1", "2001:db8::2", "9.9.9.9, 2001:db8::3"] {
        assert_eq!(open(from).await, 201);
    }
    assert_eq!(open("2001:db8::4").await, 429);
    assert_eq!(open("2001:db8:0:1::1").await, 201);
    for from in ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"] {
        assert_eq!(open(from).await, 201);
    }
    assert_eq!(open("::ffff:192.0.2.7").await, 429);
}

#[tokio::test]
async fn a_room_opened_over_http_has_relative_links() {
    let world = World::start().await;
    let (code, room) =
        world.post("/api/rooms", json!({ "topic": "t", "modeA": "external", "modeB": "external" })).await;
    assert_eq!((code, keys(&room)), (201, words("id links modes")));
    let link = room["links"]["B"].as_str().unwrap();
    assert!(link.starts_with(&format!("room/{}?seat=B&t=", room["id"].as_str().unwrap())));
    world.tool("get_room", json!({ "link": link })).await.unwrap();
    let (code, body) = world.post("/api/rooms", json!({ "topic": "t" })).await;
    assert_eq!((code, &body["code"]), (503, &json!("no_builtin")));
}
