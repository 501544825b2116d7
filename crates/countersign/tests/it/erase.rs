//! The private words of a room go, and its record stays.

use super::{err, http, out, run, start};
use serde_json::{Value, json};
use std::path::Path;

const SERVE: &[&str] = &["serve", "--listen", "127.0.0.1:0"];

/// A call with a bearer secret.
fn call(server: &str, request: &str, secret: &str, body: &Value) -> Value {
    let mut headers = "content-type: application/json\r\n".to_owned();
    if !secret.is_empty() {
        headers.push_str(&format!("authorization: Bearer {secret}\r\n"));
    }
    let (status, body) = http(server, request, &headers, &body.to_string());
    assert!((200..300).contains(&status), "{request}: {status} {body}");
    serde_json::from_str(&body).unwrap_or(Value::Null)
}

fn secret(link: &Value) -> String {
    link.as_str().unwrap().rsplit_once('=').unwrap().1.to_owned()
}

/// A room in which two cards were sealed and one word was said. Gives its id and A's secret.
fn play(server: &str) -> (String, String) {
    let open = json!({ "topic": "Hall hire", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
    let opened = call(server, "POST /api/rooms", "", &open);
    let room = opened["room_id"].as_str().unwrap().to_owned();
    let path = |call: &str, rest: &str| format!("{call} /api/rooms/{room}{rest}");
    let a = secret(&opened["your_link"]);
    let joined = call(
        server,
        &path("POST", "/seat"),
        &secret(&opened["invites"][0]["link"]),
        &json!({ "agent": "Agent B" }),
    );
    let b = secret(&joined["your_link"]);
    for (seat, name) in [(&a, "Ana"), (&b, "Ben")] {
        let card = json!({ "principal": { "name": name }, "goal": "The goal nobody else may know", "must_haves": ["Seats"] });
        call(server, &path("PUT", "/card"), seat, &card);
    }
    let envelope = json!({ "envelope": { "message": "The words nobody keeps", "status": "continue" } });
    call(server, &path("POST", "/envelopes"), &a, &envelope);
    (room, a)
}

/// The bundle as the operator exports it.
fn export(folder: &Path, room: &str) -> Value {
    let exported = run(folder, &["room", "export", room]);
    assert_eq!(exported.status.code(), Some(0), "{}", err(&exported));
    serde_json::from_slice(&exported.stdout).unwrap()
}

#[test]
fn what_is_erased_is_withheld_and_the_record_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("countersign.toml"), "[log]\norigin = \"log.example\"\n").unwrap();
    let (serving, printed) = start(folder, SERVE, 1);
    let server = printed[0].rsplit(' ').next().unwrap().to_owned();
    let (room, a) = play(&server);
    let (other, _) = play(&server);
    let erase = |more: &[&str]| {
        let output = run(folder, &[&["room", "erase", &room], more].concat());
        (output.status.code(), format!("{}{}", out(&output), err(&output)))
    };
    let (status, said) = erase(&["--yes"]);
    assert_eq!((status, said.contains("has not ended")), (Some(1), true), "{said}");
    call(&server, &format!("POST /api/rooms/{room}/withdrawal"), &a, &json!({ "reason": "It is over" }));
    drop(serving);
    let before = export(folder, &room);
    assert!(before.to_string().contains("The words nobody keeps"), "{before}");

    let (status, said) = erase(&[]);
    assert_eq!((status, said.contains("add --yes")), (Some(1), true), "{said}");
    assert_eq!(export(folder, &room), before, "nothing was done");
    let (status, said) = erase(&["--yes"]);
    assert_eq!((status, said.contains("are gone")), (Some(0), true), "{said}");
    let (status, said) = erase(&["--yes"]);
    assert_eq!((status, said.contains("0 private parts")), (Some(0), true), "{said}");

    let after = export(folder, &room);
    assert_eq!(after["entries"], before["entries"], "the record is as it was");
    assert_eq!(after["head"]["hash"], before["head"]["hash"]);
    assert!(!after.to_string().contains("The words nobody keeps"), "{after}");
    assert_eq!(after["payloads"], json!({}));
    let withheld = after["withheld"].as_array().unwrap();
    let gone = before["payloads"].as_object().unwrap();
    assert!(gone.keys().all(|digest| withheld.contains(&json!(digest))), "{after}");
    std::fs::write(folder.join("after"), after.to_string()).unwrap();
    let trust = out(&run(folder, &["keys", "trust"]));
    std::fs::write(folder.join("trust"), trust).unwrap();
    let verified = run(folder, &["verify", "after", "--trust", "trust"]);
    assert_eq!(verified.status.code(), Some(0), "{}", out(&verified));
    assert!(out(&verified).contains(&format!("withheld: {}", withheld.len())), "{}", out(&verified));
    assert_eq!(run(folder, &["fsck"]).status.code(), Some(0));
    // Nobody else's words went with them, and the room can still be read by its sides.
    assert!(export(folder, &other).to_string().contains("The words nobody keeps"));
    let (_serving, printed) = start(folder, SERVE, 1);
    let server = printed[0].rsplit(' ').next().unwrap().to_owned();
    let view = call(&server, &format!("GET /api/rooms/{room}"), &a, &Value::Null);
    assert_eq!(view["status"], "withdrawn");
    assert!(!view.to_string().contains("words nobody"), "{view}");

    let missing = run(folder, &["room", "erase", "nosuchroom", "--yes"]);
    assert_eq!(missing.status.code(), Some(1), "{}", err(&missing));
}
