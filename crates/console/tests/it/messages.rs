//! Messages as their receiver reads them, without scripts.

use crate::support::Site;
use env::{Env, Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::message::sample::{Custody, Order, Stage};
use pcm::message::{Receiver, registry_digest};
use reqwest::StatusCode;
use serde_json::json;
use server::messages::{Begin, Setup};

/// A message that claims a call, and its receiver's trust.
fn message(text: &str) -> (Vec<u8>, Receiver) {
    let signer = |seed| SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap();
    let (log, record) = (signer(1), signer(2));
    let mut stage = Stage::new(Env::new(System.now(), [9; 32]), &log, &record).unwrap();
    let executed =
        stage.call(Custody::Executor, "http_get", r#"{"url":"https://a.example/"}"#, "{}").unwrap();
    let own = stage.call(Custody::Agent, "deploy", r#"{"host":"<b>shop</b>"}"#, "{}").unwrap();
    let args = |tool: &str, args: &str| format!(r#"{{"tool":"{tool}","args":{args}}}"#);
    let order = Order {
        to: "shop",
        claims: vec![
            ("c1", "tool_called", args("http_get", "{}"), vec![executed.0, executed.1]),
            ("c2", "tool_called", args("deploy", r#"{"host":"<b>shop</b>"}"#), vec![own.0, own.1]),
        ],
        text: Some(text),
        ..Order::default()
    };
    let note = stage.note().unwrap();
    let bytes = stage.send(&order, &note).unwrap();
    let sender = stage.sender();
    let trust = json!({
        "pcm": "pcm/0.1-cs",
        "evidence": {"logs": [stage.vkey().unwrap().to_string()], "algs": ["ed25519"]},
        "receivers": ["shop"],
        "speakers": [{"origin": sender.origin, "log_id": sender.log_id, "tenant": sender.tenant}],
        "registry": registry_digest().prefixed(),
    });
    (bytes, Receiver::parse(trust.to_string().as_bytes()).unwrap())
}

#[tokio::test]
async fn a_message_is_shown_as_its_receiver_reads_it() {
    let site = Site::start(|_| {}).await;
    let (mut owner, _) = site.owner().await;
    assert_eq!(owner.get("/messages").await.status, StatusCode::NOT_FOUND, "this server receives none");
    let folder = tempfile::tempdir().unwrap();
    let (_, receiver) = message("");
    let mark = folder.path().join("mark");
    // A first receiver, to begin: messages issued before are refused.
    let begun = server::messages::Desk::new(Setup { receiver, recipients: Vec::new(), mark: mark.clone() });
    begun.begin(site.app.runtime(), Begin::First).await.unwrap();
    let (bytes, receiver) = message("Paid\u{202e} in full");
    site.app.receive(Setup { receiver, recipients: Vec::new(), mark });
    let mut stranger = site.browser();
    assert_eq!(stranger.get("/messages").await.status, StatusCode::UNAUTHORIZED);
    owner.get("/messages").await.says("None yet.");

    let text = String::from_utf8(bytes.clone()).unwrap();
    let read = owner.submit("/messages", "/messages", &[("message", &text)]).await;
    read.says("It would be accepted, but not all of it is proven");
    owner.get("/messages").await.says("None yet.");
    let nothing = owner.submit("/messages", "/messages", &[("message", "hello")]).await;
    nothing.says("It would be rejected");
    nothing.says("It cannot be read as a message.");

    site.app.desk().unwrap().accept(site.app.runtime(), &bytes, None).await.unwrap();
    let list = owner.get("/messages").await;
    list.says("token:agent");
    list.says("Accepted, but not all of it is proven");
    let page = owner.get("/messages/2").await;
    for said in [
        "<strong>Proven</strong>",
        "proven: it happened, by records the agent could not write",
        "<strong>Not proven</strong>",
        "the agent&#39;s own word",
        "Paid⟨U+202E⟩ in full",
        "The text contains characters that change the reading direction.",
    ] {
        assert!(page.body.contains(said), "{said}: {}", page.body);
    }
    assert!(!page.body.contains("<b>shop") && !page.body.contains("still"), "{}", page.body);
    for missing in ["/messages/1", "/messages/3", "/messages/x"] {
        assert_eq!(owner.get(missing).await.status, StatusCode::NOT_FOUND, "{missing}");
    }
    let again = owner.submit("/messages", "/messages", &[("message", &text)]).await;
    again.says("It would be rejected");
    again.says("accepted before (replayed");
}
