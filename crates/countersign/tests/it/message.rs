//! Messages as a person accepts them at a terminal.

use super::{countersign, err, out, run};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A fresh message and its trust file.
fn sample(folder: &Path, name: &str) {
    std::fs::create_dir(folder.join(name)).unwrap();
    let made = run(folder, &["message", "sample", name]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
}

fn check(folder: &Path, arguments: &[&str], status: i32, says: &str) {
    let found = run(folder, arguments);
    let text = format!("{}{}", out(&found), err(&found));
    assert_eq!(found.status.code(), Some(status), "{arguments:?}: {text}");
    assert!(text.contains(says), "{arguments:?}: {text}");
}

#[test]
fn a_message_is_accepted_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder, "early");
    let trust = ["--trust", "m/trust.json"];
    let accept = |name: &'static str| [&["message", "accept", name][..], &trust[..]].concat();
    check(folder, &["message", "accept", "early/message.json"], 2, "no trust file");
    check(
        folder,
        &["message", "accept", "early/message.json", "--trust", "early/trust.json"],
        2,
        "replay_state_unavailable",
    );
    let begun = ["message", "epoch", "--first", "--trust", "early/trust.json"];
    check(folder, &begun, 0, "messages issued before");
    check(folder, &begun, 1, "accepted here before");
    sample(folder, "m");
    check(folder, &accept("m/message.json"), 0, "proven: it happened");
    check(folder, &accept("m/message.json"), 1, "replayed");
    check(folder, &["message", "inspect", "m/message.json"], 0, "ana approved refund where order is 81");
    check(folder, &["message", "inspect", "m/message.json", "--trust", "m/trust.json"], 0, "accepted");
    // Copied back from before: what it says is older than what is marked.
    std::fs::create_dir(folder.join("boast")).unwrap();
    run(folder, &["message", "sample", "boast", "--boast"]);
    let unproven = ["message", "accept", "boast/message.json", "--trust", "boast/trust.json"];
    let data = folder.join("countersign-data");
    let before = std::fs::read(data.join("journal.db")).unwrap();
    check(folder, &unproven, 3, "not proven");
    check(folder, &["fsck"], 0, "sound");
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(data.join(format!("journal.db{suffix}")));
    }
    std::fs::write(data.join("journal.db"), before).unwrap();
    check(folder, &unproven, 2, "replay_state_unavailable");
}

/// Killed at any moment, it was told at most once that it was accepted: between commit and delivery it is lost.
#[test]
fn killed_at_any_moment_it_is_delivered_at_most_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder, "first");
    check(
        folder,
        &["message", "epoch", "--first", "--trust", "first/trust.json"],
        0,
        "messages issued before",
    );
    let (mut delivered, mut lost) = (0, 0);
    for turn in 0..16 {
        let name = format!("m{turn}");
        sample(folder, &name);
        let (message, trust) = (format!("{name}/message.json"), format!("{name}/trust.json"));
        let accept = ["message", "accept", &message, "--trust", &trust];
        let mut child =
            countersign(folder, &accept).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A clock, not a condition: the moment is to be any.
        std::thread::sleep(Duration::from_millis(turn * 5));
        child.kill().unwrap();
        let first = child.wait_with_output().unwrap();
        let second = run(folder, &accept);
        let times = [&first, &second].iter().filter(|output| out(output).starts_with("accepted")).count();
        assert!(times <= 1, "delivered twice after {turn}");
        assert!(times == 1 || out(&second).contains("replayed"), "{}{}", out(&second), err(&second));
        delivered += times;
        lost += usize::from(times == 0);
        check(folder, &accept, 1, "replayed");
    }
    assert_eq!(delivered + lost, 16);
    check(folder, &["fsck"], 0, "sound");
}

#[test]
fn grants_are_shown_as_a_tree() {
    let folder = tempfile::tempdir().unwrap();
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/message/link-two.json");
    let shown = run(folder.path(), &["grant", "show", chain]);
    let text = out(&shown);
    assert_eq!(shown.status.code(), Some(0), "{}", err(&shown));
    for line in [
        "from ana to token:lead",
        "where amount is at most 20000 USD.minor",
        "└─ grant",
        "not to be passed on",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
