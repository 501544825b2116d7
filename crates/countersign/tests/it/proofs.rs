//! A room on disk, exported and read by the operator.

use super::{countersign, err, out, run};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// A request of JSON over a plain connection.
fn ask(address: &str, method: &str, path: &str, secret: Option<&str>, body: &Value) -> Value {
    let mut connection = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let bearer = secret.map(|secret| format!("authorization: Bearer {secret}\r\n")).unwrap_or_default();
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         {bearer}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {answer}");
    if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() }
}

fn secret(link: &Value) -> String {
    link.as_str().unwrap().rsplit_once('=').unwrap().1.to_owned()
}

/// Plays a room to its agreement on a server in this folder. Gives its id, and what the server printed of it.
fn played(folder: &Path) -> (String, String) {
    let mut child = countersign(folder, &["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let _served = Served(child);
    let address = lines.next().unwrap().rsplit(' ').next().unwrap().to_owned();
    let open = json!({ "topic": "Hall hire", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
    let opened = ask(&address, "POST", "/api/rooms", None, &open);
    assert!(opened.get("principal_link").is_none(), "{opened}");
    let printed = lines.find(|line| line.contains("&p=")).unwrap();
    let room = opened["room_id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/api/rooms/{room}{rest}");
    let a = secret(&opened["your_link"]);
    let joined =
        ask(&address, "POST", &path("/seat"), Some(&secret(&opened["invites"][0]["link"])), &json!({}));
    let b = secret(&joined["your_link"]);
    for (seat, name) in [(&a, "Ana"), (&b, "Ben")] {
        let card = json!({ "principal": { "name": name }, "goal": "Rent", "must_haves": ["A hall"] });
        ask(&address, "PUT", &path("/card"), Some(seat), &card);
    }
    let lines = json!([{ "term": 0, "clauses": ["must_haves[0]"] }]);
    let offer = json!({ "envelope": { "message": "x", "status": "continue",
        "proposal": { "terms": ["The hall on Monday"], "authority": lines } } });
    let sent = ask(&address, "POST", &path("/envelopes"), Some(&a), &offer);
    let agree = json!({ "envelope": { "message": "x", "status": "agree", "accepts": sent["offer_hash"], "authority": lines } });
    ask(&address, "POST", &path("/envelopes"), Some(&b), &agree);
    // Until the log has it all, a fraction of a second later: the trust file pins that log.
    let published = || ask(&address, "GET", &path("/bundle"), Some(&a), &json!({}))["log"].is_object();
    let asked = std::time::Instant::now();
    while !published() {
        assert!(asked.elapsed().as_secs() < 30, "the log never has it");
    }
    (room, printed)
}

#[test]
fn every_proof_of_a_room_is_exported_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (room, printed) = played(at);
    assert!(printed.contains(&format!("/room/{room}#seat=A&p=")), "{printed}");
    let trust = run(at, &["keys", "trust"]);
    std::fs::write(at.join("trust.json"), &trust.stdout).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verifier-js/cli.mjs");
    for (what, kind) in [("bundle", "room_bundle"), ("brief", "brief"), ("ledger", "ledger_export")] {
        let file = format!("{what}.out");
        let exported = run(at, &["room", "export", &room, "--what", what, "-o", &file]);
        assert_eq!(exported.status.code(), Some(0), "{what}: {}", err(&exported));
        let to_stdout = run(at, &["room", "export", &room, "--what", what]);
        assert_eq!(to_stdout.stdout, std::fs::read(at.join(&file)).unwrap(), "{what}");
        let verified = run(at, &["verify", &file, "--trust", "trust.json", "--json"]);
        let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
        assert_eq!((verified.status.code(), &report["kind"]), (Some(0), &json!(kind)), "{what}: {report}");
        let second = Command::new("node")
            .args([script, &file, "--trust", "trust.json"])
            .current_dir(at)
            .output()
            .expect("node runs the second verifier");
        assert_eq!(second.status.code(), Some(0), "{what}: {}", out(&second));
    }
    let own = out(&run(at, &["room", "brief", &room]));
    for said in ["AGREED.", "\"The hall on Monday\"", "line 1 under \"must have\"", "No person has enrolled"]
    {
        assert!(own.contains(said), "{said} in {own}");
    }
    for file in ["bundle.out", "brief.out"] {
        assert_eq!(out(&run(at, &["room", "brief", file])), own, "{file}");
    }
    let text = std::fs::read_to_string(at.join("brief.out")).unwrap();
    std::fs::write(at.join("forged"), text.replace("on Monday", "on Sunday")).unwrap();
    for (file, status) in [("forged", 1), ("ledger.out", 1), ("trust.json", 2)] {
        assert_eq!(run(at, &["room", "brief", file]).status.code(), Some(status), "{file}");
    }
}
