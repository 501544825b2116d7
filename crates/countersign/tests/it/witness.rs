//! A witness and a server that asks it, as two processes; what a verifier with a quorum says of the result.

use super::{Running, err, http, out, run, start};
use std::path::Path;
use std::time::Duration;

fn witness(folder: &Path, log: &str, listen: &str) -> (Running, String, String) {
    let arguments = ["witness", "--name", "witness.example/w", "--log", log, "--listen", listen];
    let (running, printed) = start(folder, &arguments, 2);
    let address = printed[0].strip_prefix("witness listens on ").unwrap().to_owned();
    let key = printed[1].strip_prefix("key  ").unwrap().to_owned();
    (running, address, key)
}

fn config(folder: &Path, witnesses: &str) {
    let text = format!("[log]\norigin = \"log.example\"\n{witnesses}");
    std::fs::write(folder.join("countersign.toml"), text).unwrap();
}

/// The checkpoint once it is as asked.
fn checkpoint(address: &str, good: impl Fn(&str) -> bool) -> String {
    for _ in 0..400 {
        let (status, note) = http(address, "GET /log/checkpoint", "", "");
        if status == 200 && good(&note) {
            return note;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no such checkpoint");
}

const LINE: &str = "\n— witness.example/w ";

#[test]
fn a_log_is_witnessed_and_a_quorum_can_be_demanded() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let (house, desk) = (at("house"), at("desk"));
    config(&house, "");
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let first = start(&house, &serve, 1);
    drop(first);
    let listed = out(&run(&house, &["keys", "list"]));
    let log = listed.lines().find_map(|line| line.strip_prefix("log  ")).unwrap().to_owned();
    let (watching, address, key) = witness(&desk, &log, "127.0.0.1:0");
    config(
        &house,
        &format!(
            "[[log.witnesses]]\nurl = \"http://{address}\"\nkey = \"{key}\"\n[server]\nfetch_allow = [\"{address}\"]\n"
        ),
    );
    let (serving, printed) = start(&house, &serve, 1);
    let server = printed[0].rsplit(' ').next().unwrap().to_owned();
    let note = checkpoint(&server, |note| note.contains(LINE));

    // A verifier that demands the witness takes it, and takes nothing without it.
    std::fs::write(folder.path().join("note"), &note).unwrap();
    let bare: String = note.split_inclusive('\n').filter(|line| !line.contains(LINE.trim())).collect();
    std::fs::write(folder.path().join("bare"), bare).unwrap();
    let mut trust: serde_json::Value = serde_json::from_str(&out(&run(&house, &["keys", "trust"]))).unwrap();
    assert_eq!(trust["witnesses"], serde_json::json!([key]));
    trust["witnesses_required"] = serde_json::json!(1);
    std::fs::write(folder.path().join("trust"), trust.to_string()).unwrap();
    for (file, status, said) in [("note", 0, "witness.example/w at "), ("bare", 1, "witness_quorum")] {
        let checked = run(folder.path(), &["verify", file, "--trust", "trust"]);
        assert_eq!(checked.status.code(), Some(status), "{}{}", out(&checked), err(&checked));
        assert!(out(&checked).contains(said), "{}", out(&checked));
    }

    // It answers a log that begins anew with what it has seen, also after a restart.
    let size = note.lines().nth(1).unwrap();
    let again = format!("old 0\n\n{note}");
    assert_eq!(http(&address, "POST /add-checkpoint", "", &again), (409, format!("{size}\n")));
    assert_eq!(http(&address, "POST /add-checkpoint", "", "old 0\n\nnothing").0, 400);
    let unknown = again.replace("log.example\n", "log.other\n");
    assert_eq!(http(&address, "POST /add-checkpoint", "", &unknown).0, 404);
    let unsigned = again.replacen(&format!("\n{size}\n"), "\n999\n", 1);
    assert_eq!(http(&address, "POST /add-checkpoint", "", &unsigned).0, 403);
    drop(watching);
    let (watching, address, same) = witness(&desk, &log, &address);
    assert_eq!(same, key);
    assert_eq!(http(&address, "POST /add-checkpoint", "", &again), (409, format!("{size}\n")));
    let second = run(&desk, &["witness", "--name", "x", "--log", &log, "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(2), "one witness a folder: {}", err(&second));
    drop(watching);

    // With the witness away the log goes on.
    drop(serving);
    assert_eq!(run(&house, &["owner"]).status.code(), Some(0));
    let (_serving, printed) = start(&house, &serve, 1);
    let server = printed[0].rsplit(' ').next().unwrap().to_owned();
    let size: u64 = size.parse().unwrap();
    checkpoint(&server, |note| note.lines().nth(1).unwrap().parse::<u64>().unwrap() > size);
}

#[test]
fn a_witness_is_named_by_its_own_key() {
    let folder = tempfile::tempdir().unwrap();
    drop(start(folder.path(), &["serve", "--listen", "127.0.0.1:0"], 1));
    let listed = out(&run(folder.path(), &["keys", "list"]));
    let log = listed.lines().find_map(|line| line.strip_prefix("log  ")).unwrap().to_owned();
    for (url, key, said) in [
        ("https://witness.example", log.as_str(), "its key is a log's"),
        ("https://witness.example", "witness", "not a verifier key"),
        (
            "http://127.0.0.1:9",
            "witness.example+a275f54c+BAVGcHTTg9wGNMZ5CNXUwqDNWHWlNgzQ7mFdrHWVhZf0",
            "log.witnesses",
        ),
    ] {
        std::fs::write(
            folder.path().join("countersign.toml"),
            format!("[[log.witnesses]]\nurl = \"{url}\"\nkey = \"{key}\"\n"),
        )
        .unwrap();
        let output = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(2), "{url} {key}");
        assert!(err(&output).contains(said), "{}", err(&output));
    }
}
