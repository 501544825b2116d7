//! Rooms played over MCP.

use crate::support::{OneKey, World, keys, query, words};
use serde_json::{Value, json};
use std::sync::Arc;

const ESCALATE: &str = r#"{"status":"escalate","escalation":{"question":"May I?","reason":"limit"}}"#;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn t28_the_second_seal_answers_with_the_negotiation() {
    let world = World::start().await;
    let room = world.room().await;
    world.tool("join_room", json!({ "link": room.b })).await.unwrap();
    assert_eq!(world.seal(&room.a).await["status"], "drafting");
    let sealed = world.seal(&room.b).await;
    assert_eq!((&sealed["status"], &sealed["your_turn"]), (&json!("negotiating"), &json!(false)));
    let mine = world.tool("get_room", json!({ "link": room.a })).await.unwrap();
    assert_eq!(mine["your_turn"], true);
}

#[tokio::test]
async fn t29_t30_t39_a_claim_is_reviewed_and_a_proposal_agreed() {
    let world = World::start().await;
    let room = world.sealed().await;
    let before = world.tool("get_brief", json!({ "room_id": room.id })).await.unwrap();
    assert_eq!(keys(&before), words("status brief note"));
    assert_eq!(before["brief"], Value::Null);
    let sent = world
        .send(
            &room.a,
            json!({ "claims": [{ "text": "80 guests", "origin": "stated", "ref": "known_facts[0]" }],
                "proposal": { "terms": ["Hall on 4 May"], "depends_on": ["new1"] } }),
        )
        .await
        .unwrap();
    assert_eq!(keys(&sent), words("accepted_envelope room"));
    assert_eq!(keys(&sent["accepted_envelope"]), words("seq from status message claims proposal"));
    assert_eq!(keys(&sent["accepted_envelope"]["claims"][0]), words("id origin ref text"));
    assert_eq!(keys(&sent["accepted_envelope"]["proposal"]), words("terms depends_on hash"));
    let seen = world.tool("wait_for_turn", json!({ "link": room.b, "timeout_seconds": 5 })).await.unwrap();
    let view = "room_id topic status you counterpart your_turn pending_question next_action turn_count max_turns \
        transcript claims_to_review unverified_assumptions web_view brief_url";
    assert_eq!(keys(&seen), words(&format!("{view} timed_out")));
    assert_eq!(keys(&sent["room"]), words(view));
    assert_eq!(keys(&seen["you"]), words("seat principal proxy card_sealed card card_hash"));
    assert_eq!(keys(&seen["counterpart"]), words("seat principal proxy card_sealed"));
    assert_eq!(seen["claims_to_review"].as_array().unwrap().len(), 1);
    let agreed = world
        .send(&room.b, json!({ "status": "agree", "reviews": [{ "claim_id": "A1.1", "verdict": "accept" }] }))
        .await
        .unwrap();
    assert_eq!(agreed["room"]["status"], "agreed");
    assert!(agreed["room"]["brief_url"].as_str().unwrap().contains(&room.id));
    let after = world.tool("get_brief", json!({ "room_id": room.id })).await.unwrap();
    let brief = &after["brief"];
    assert_eq!(
        keys(brief),
        words(
            "outcome agreement authority depends_on unverified_dependencies unverified_in_record challenged escalations \
             protocol_flags parties turns ledger_head ledger_ok generated_at"
        )
    );
    assert_eq!(
        keys(&brief["agreement"]),
        words("terms proposal_hash proposed_by proposed_seq accepted_by accepted_seq")
    );
    assert_eq!(brief["agreement"]["terms"], json!(["Hall on 4 May"]));
    assert_eq!((&brief["ledger_ok"], &brief["authority"]), (&json!(true), &Value::Null));
    let by_link = world.tool("get_brief", json!({ "link": room.b })).await.unwrap();
    assert_eq!(&by_link["brief"], brief);
}

#[tokio::test]
async fn t31_t34_a_question_is_for_the_asker_alone() {
    let world = World::start().await;
    let room = world.sealed().await;
    world.send(&room.a, parsed(ESCALATE)).await.unwrap();
    let a = world.tool("get_room", json!({ "link": room.a })).await.unwrap();
    let b = world.tool("get_room", json!({ "link": room.b })).await.unwrap();
    assert_eq!((&a["pending_question"], &b["pending_question"]), (&json!("May I?"), &Value::Null));
    assert_eq!(a["status"], "paused");
    assert_eq!(a["transcript"][0]["escalation"], json!({ "question": "May I?", "answer": null }));
    for link in [&room.a, &room.b] {
        world.send(link, json!({})).await.unwrap_err();
    }
    world.tool("answer_escalation", json!({ "link": room.b, "answer": "x" })).await.unwrap_err();
    assert_eq!(world.view(&room.id).await["turnCount"], 1);
    let answered = world.tool("answer_escalation", json!({ "link": room.a, "answer": "Yes" })).await.unwrap();
    assert_eq!((&answered["status"], &answered["your_turn"]), (&json!("negotiating"), &json!(true)));
    assert_eq!(answered["pending_question"], Value::Null);
    let view = world.view(&room.id).await;
    assert_eq!(
        (&view["envelopes"][0]["answer"], &view["envelopes"][0]["answer_via"]),
        (&json!("Yes"), &json!("mcp"))
    );
}

#[tokio::test]
async fn t32_t34_turns_and_their_cap() {
    let world = World::with(|options| options.max_turns = 2, None, None).await;
    let room = world.room().await;
    world.send(&room.a, json!({})).await.unwrap_err();
    let room = world.sealed().await;
    world.send(&room.b, json!({})).await.unwrap_err();
    assert_eq!(world.view(&room.id).await["envelopes"], json!([]));
    world.send(&room.a, json!({})).await.unwrap();
    let last = world.send(&room.b, json!({})).await.unwrap();
    assert_eq!(last["room"]["status"], "stalled");
    let brief = world.tool("get_brief", json!({ "room_id": room.id })).await.unwrap()["brief"].clone();
    assert_eq!((&brief["outcome"], &brief["turns"]), (&json!("no_agreement"), &json!(2)));
    assert!(brief.get("agreement").is_none() && brief.get("authority").is_none());
    world.send(&room.a, json!({})).await.unwrap_err();
}

#[tokio::test]
async fn t35_a_wait_answers_at_once_or_times_out() {
    let world = World::start().await;
    let room = world.sealed().await;
    let wait = |link: &str| world.tool("wait_for_turn", json!({ "link": link, "timeout_seconds": 1 }));
    let (a, b) = (wait(&room.a).await.unwrap(), wait(&room.b).await.unwrap());
    assert_eq!((&a["timed_out"], &b["timed_out"]), (&json!(false), &json!(true)));
    assert_eq!((&a["room_id"], &b["room_id"]), (&json!(room.id), &json!(room.id)));
}

#[tokio::test]
async fn t36_a_wait_wakes_when_the_other_seat_moves() {
    let world = World::start().await;
    let room = world.sealed().await;
    let wait = world.tool("wait_for_turn", json!({ "link": room.b, "timeout_seconds": 25 }));
    let send = world.send(&room.a, json!({}));
    let (woken, sent) = tokio::join!(wait, send);
    sent.unwrap();
    let woken = woken.unwrap();
    assert_eq!((&woken["your_turn"], &woken["timed_out"]), (&json!(true), &json!(false)));
    assert_eq!(woken["transcript"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn t43_a_wrong_link_opens_nothing() {
    let world = World::start().await;
    let room = world.sealed().await;
    let swapped = room.a.replace("seat=A", "seat=B");
    let spaced = format!("{}%20", room.a);
    let stranger = room.a.replace(&room.id, "nosuchroom");
    for (link, word) in [
        (swapped.as_str(), "not valid for that seat"),
        (&spaced, "not valid for that seat"),
        (&stranger, "no such room"),
        ("nonsense", "must be a seat link"),
        (&room.a.replace("seat=A", "seat=C"), "must be a seat link"),
    ] {
        for tool in ["get_room", "send_envelope", "wait_for_turn", "join_room"] {
            let refused = world.tool(tool, json!({ "link": link })).await.unwrap_err();
            assert!(refused.contains(word), "{tool} {link}: {refused}");
        }
    }
    assert_eq!(world.view(&room.id).await["turnCount"], 0);
    let relative = format!("room/{}{}", room.id, query(&room.a));
    world.tool("get_room", json!({ "link": relative })).await.unwrap();
    let elsewhere = format!("https://other.example/room/{}{}", room.id, query(&room.a));
    world.tool("get_room", json!({ "link": elsewhere })).await.unwrap();
}

#[tokio::test]
async fn t47_objects_through_mcp_are_normalised() {
    let world = World::start().await;
    let room = world.sealed().await;
    let odd = json!({ "message": { "a": 1 }, "status": ["agree"], "claims": [{ "text": { "b": 2 } }, 7],
        "proposal": { "terms": [{}] } });
    let sent = world.send(&room.a, odd).await.unwrap();
    assert_eq!(
        (&sent["accepted_envelope"]["message"], &sent["accepted_envelope"]["status"]),
        (&json!(""), &json!("continue"))
    );
}

#[tokio::test]
async fn sign_in_mode_asks_for_a_key_that_works() {
    let world = World::with(|_| {}, None, Some(Arc::new(OneKey))).await;
    let asked = json!({ "topic": "t", "your_principal": "Ana", "counterpart": "Ben" });
    let with = |key: &'static str| {
        let asked = asked.clone();
        async { world.tool_as("create_room", asked, &[("authorization", key)]).await }
    };
    let missing = world.tool("create_room", asked.clone()).await.unwrap_err();
    assert!(missing.contains("Authorization: Bearer") && missing.contains("/connect"), "{missing}");
    let rejected = with("Bearer stale").await.unwrap_err();
    assert!(rejected.contains("does not work any more") && rejected.contains("/connect"), "{rejected}");
    assert_eq!(world.get("/health").await.1["rooms"], 0);
    let opened = with("bEaReR good").await.unwrap();
    assert_eq!(
        keys(&opened),
        words("room_id your_link invite_link_for_counterpart counterpart_proxy next_action")
    );
    let link = json!({ "link": opened["your_link"] });
    world.tool("get_room", link).await.unwrap();
    let view = world.view(opened["room_id"].as_str().unwrap()).await;
    assert!(!view.to_string().contains("ana"), "the account is shown to nobody");
    let (code, body) = world.post("/api/rooms", json!({ "modeA": "external", "modeB": "external" })).await;
    assert_eq!((code, &body["code"]), (401, &json!("agent_key_required")));
}

#[tokio::test]
async fn t62_an_unexpected_fault_is_one_general_sentence() {
    let world = World::with(|_| {}, None, Some(Arc::new(OneKey))).await;
    let asked = json!({ "topic": "t", "your_principal": "Ana", "counterpart": "Ben" });
    for key in ["Bearer fault", "Bearer panic"] {
        let refused =
            world.tool_as("create_room", asked.clone(), &[("authorization", key)]).await.unwrap_err();
        assert_eq!(refused, "Something went wrong on the server. Try again.");
    }
}
