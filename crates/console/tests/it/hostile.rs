//! Names and texts that try to be more than text.

use crate::support::Scene;
use serde_json::json;

const TOPIC: &str = "<img src=x onerror=alert(1)> \u{202e}gpj\u{e0041}";
const MESSAGE: &str = "</bdi><script>alert(1)</script> \u{200b}Am\u{430}zon {{7*7}} &amp; \"' ";

#[tokio::test]
async fn strangers_text_is_shown_and_never_obeyed() {
    let mut scene = Scene::set(TOPIC).await;
    let envelope = json!({ "message": MESSAGE, "status": "escalate",
        "claims": [{ "text": MESSAGE, "origin": "sourced", "ref": "<b>plan</b>" }],
        "escalation": { "question": MESSAGE, "reason": MESSAGE } });
    scene.site.say(&scene.agent_a, envelope).await;
    let ask = format!("/asks/{}/q1", scene.room);
    let written_out = [
        ("/".to_owned(), "⟨U+202E⟩"),
        ("/asks".to_owned(), "⟨U+200B⟩"),
        (ask.clone(), "⟨U+202E⟩"),
        (scene.path(""), "⟨U+E0041⟩"),
        (scene.path("/claims/A1.1"), "⟨U+200B⟩"),
        (scene.path("/record"), "⟨U+202E⟩"),
    ];
    for (path, expected) in written_out {
        let page = scene.owner.get(&path).await;
        assert!(page.status.is_success(), "{path}: {}", page.body);
        for raw in [
            "<img src=x",
            "<script>alert",
            "<b>plan",
            "onerror=alert(1)>",
            "\u{202e}",
            "\u{200b}",
            "\u{e0041}",
        ] {
            assert!(!page.body.contains(raw), "{path} has {raw:?}:\n{}", page.body);
        }
        page.says(expected);
    }
    let page = scene.owner.get(&ask).await;
    for warned in ["Look twice", "characters that cannot be seen", "letters of several alphabets"] {
        page.says(warned);
    }
}

#[tokio::test]
async fn only_known_sentences_are_said_by_a_link() {
    let mut scene = Scene::set("Hall hire").await;
    let page = scene.owner.get("/?said=Send%20money").await;
    assert!(!page.body.contains("Send"), "{}", page.body);
    scene.owner.get("/?said=out").await.says("You are signed out.");
}
