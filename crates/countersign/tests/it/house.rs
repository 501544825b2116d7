use super::{countersign, err, out, run};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// A running server; ended with its guard, by SIGTERM as an operator would.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = std::process::Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Starts a server on a free port and reads what it prints until the owner's link.
fn serve(folder: &Path) -> (Served, String) {
    let mut child = countersign(folder, &["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        printed.push_str(&line);
        printed.push('\n');
        if line.contains("/enrol") {
            break;
        }
    }
    (Served(child), printed)
}

#[test]
fn the_first_start_makes_private_keys_and_one_link() {
    let folder = tempfile::tempdir().unwrap();
    let (served, printed) = serve(folder.path());
    assert!(printed.contains("countersign listens on 127.0.0.1:"), "{printed}");
    assert!(printed.contains("/mcp") && printed.contains("/enrol"), "{printed}");
    drop(served);
    let data = folder.path().join("countersign-data");
    for (name, mode) in [("", 0o700), ("log.jwk", 0o600), ("store.key", 0o600)] {
        let about = std::fs::metadata(data.join(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, mode, "{name}");
    }
    for (arguments, expected) in [
        (&["fsck"][..], "sound"),
        (&["doctor"], "ok      store"),
        (&["keys", "list"], "\"crv\":\"Ed25519\""),
        (&["keys", "trust"], "\"logs\""),
        (&["owner"], "/enrol"),
        (&["owner"], "opens the account of"),
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", out(&output), err(&output));
        assert!(out(&output).contains(expected), "{arguments:?}: {}", out(&output));
    }
}

#[test]
fn a_backup_comes_back_and_never_rolls_the_log_back() {
    let folder = tempfile::tempdir().unwrap();
    drop(serve(folder.path()));
    let backup = folder.path().join("copy");
    let copied = run(folder.path(), &["backup", backup.to_str().unwrap()]);
    assert_eq!(copied.status.code(), Some(0), "{}", err(&copied));
    for (name, expected) in [("", 0o700), ("keys", 0o700), ("journal.db", 0o600), ("store.key", 0o600)] {
        let mode = std::fs::metadata(backup.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{name}: a backup holds private keys");
    }

    // The store goes on after the copy: a later entry is published.
    assert_eq!(run(folder.path(), &["owner"]).status.code(), Some(0));
    let (served, _) = serve_again(folder.path());
    drop(served);
    let refused = run(folder.path(), &["restore", backup.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "{}{}", out(&refused), err(&refused));

    let elsewhere = tempfile::tempdir().unwrap();
    let restored = run(elsewhere.path(), &["restore", backup.to_str().unwrap()]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", out(&restored), err(&restored));
    assert_eq!(run(elsewhere.path(), &["fsck"]).status.code(), Some(0));
}

#[test]
fn a_refused_backup_leaves_room_for_the_right_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(serve(folder.path()));
    let (good, bad) = (folder.path().join("good"), folder.path().join("bad"));
    for backup in [&good, &bad] {
        assert_eq!(run(folder.path(), &["backup", backup.to_str().unwrap()]).status.code(), Some(0));
    }
    let mut key = std::fs::read(bad.join("store.key")).unwrap();
    key[0] = if key[0] == b'0' { b'1' } else { b'0' };
    std::fs::write(bad.join("store.key"), key).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = run(elsewhere.path(), &["restore", bad.to_str().unwrap()]);
    assert_ne!(refused.status.code(), Some(0));
    assert!(!elsewhere.path().join("countersign-data").exists());
    assert_eq!(run(elsewhere.path(), &["restore", good.to_str().unwrap()]).status.code(), Some(0));
    let data = elsewhere.path().join("countersign-data");
    for (path, mode) in
        [(data.clone(), 0o700), (data.join("journal.db"), 0o600), (data.join("store.key"), 0o600)]
    {
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn a_server_that_has_run_makes_nothing_anew() {
    let folder = tempfile::tempdir().unwrap();
    drop(serve(folder.path()));
    let data = folder.path().join("countersign-data");
    for lost in ["journal.db", "log.jwk", "store.key", "keys/ring.json"] {
        let (file, aside) = (data.join(lost), data.join("aside"));
        std::fs::rename(&file, &aside).unwrap();
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["fsck"]] {
            let refused = run(folder.path(), command);
            assert_eq!(refused.status.code(), Some(2), "{lost} {command:?}: {}", err(&refused));
            assert!(err(&refused).contains(lost), "{}", err(&refused));
            assert!(!file.exists(), "{lost} was made anew");
        }
        std::fs::rename(&aside, &file).unwrap();
    }
    assert_eq!(run(folder.path(), &["fsck"]).status.code(), Some(0));
}

#[test]
fn output_that_nobody_takes_is_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["completions", "bash"][..], &["doctor"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = countersign(folder.path(), arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!err(&output).contains("panicked"), "{}", err(&output));
    }
}

/// A start that is not the first prints no link; it is up once its address is printed.
fn serve_again(folder: &Path) -> (Served, String) {
    let before = leaves(folder);
    let mut child = countersign(folder, &["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
    let address = printed.trim().rsplit(' ').next().unwrap().to_owned();
    let served = Served(child);
    wait_for_leaves(folder, before);
    (served, address)
}

/// Waits until the log has published more than so many leaves.
fn wait_for_leaves(folder: &Path, before: u64) {
    for _ in 0..200 {
        if leaves(folder) > before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the log has not published more than {before} leaves");
}

/// Leaves under the published checkpoint, as `fsck` counts them.
fn leaves(folder: &Path) -> u64 {
    let printed = out(&run(folder, &["fsck"]));
    let published = printed.split(" published").next().unwrap().rsplit(' ').next().unwrap().to_owned();
    published.parse().unwrap()
}

/// The name that a trust file gives the log.
fn log_name(folder: &Path) -> String {
    let printed = run(folder, &["keys", "trust"]);
    assert_eq!(printed.status.code(), Some(0), "{}", err(&printed));
    let trust: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    trust["logs"][0].as_str().unwrap().split_once('+').unwrap().0.to_owned()
}

#[test]
fn the_log_keeps_the_name_of_its_first_start() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing but a start fixes it.
    assert_eq!(log_name_of_doctor(folder.path()), "localhost:8080/log; the first start fixes it");
    let mut child = countersign(folder.path(), &["serve", "--listen", "127.0.0.1:0"])
        .env("COUNTERSIGN_SERVER__PUBLIC_URL", "https://first.example")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
    drop(Served(child));
    assert_eq!(log_name(folder.path()), "first.example/log");
    let settings = folder.path().join("countersign.toml");
    std::fs::write(&settings, "[server]\npublic_url = \"https://second.example\"").unwrap();
    assert_eq!(log_name(folder.path()), "first.example/log");
    assert_eq!(log_name_of_doctor(folder.path()), "first.example/log, fixed at the first start");

    std::fs::write(&settings, "[log]\norigin = \"third.example/log\"").unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", out(&refused));
    assert!(err(&refused).contains("first.example/log"), "{}", err(&refused));
    std::fs::write(&settings, "").unwrap();

    let backup = folder.path().join("copy");
    assert_eq!(run(folder.path(), &["backup", backup.to_str().unwrap()]).status.code(), Some(0));
    let elsewhere = tempfile::tempdir().unwrap();
    let restored = run(elsewhere.path(), &["restore", backup.to_str().unwrap()]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", out(&restored), err(&restored));
    assert_eq!(log_name(elsewhere.path()), "first.example/log");
}

fn log_name_of_doctor(folder: &Path) -> String {
    let printed = out(&run(folder, &["doctor"]));
    let line = printed.lines().find(|line| line.contains("log name")).unwrap_or_else(|| panic!("{printed}"));
    line.split_once("log name").unwrap().1.trim().to_owned()
}

#[test]
fn a_kept_checkpoint_refuses_a_backup_from_before_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("countersign.toml"), "[log]\norigin = \"log.example\"\n").unwrap();
    let (served, _) = serve(folder.path());
    wait_for_leaves(folder.path(), 0);
    drop(served);
    let (early, late) = (folder.path().join("early"), folder.path().join("late"));
    assert_eq!(run(folder.path(), &["backup", early.to_str().unwrap()]).status.code(), Some(0));
    assert_eq!(run(folder.path(), &["owner"]).status.code(), Some(0));
    drop(serve_again(folder.path()));
    assert_eq!(run(folder.path(), &["backup", late.to_str().unwrap()]).status.code(), Some(0));
    let checkpoint = |backup: &Path| {
        let manifest = std::fs::read(backup.join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        manifest["checkpoint"].as_str().unwrap().to_owned()
    };
    let (first, last) = (checkpoint(&early), checkpoint(&late));
    assert_ne!(first, last);
    // The disk is lost, so nothing here remembers what was published: the checkpoint somebody kept does.
    let check = |backup: &Path, kept: &str, expected: (i32, &str)| {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("countersign.toml"), elsewhere.path().join("countersign.toml"))
            .unwrap();
        std::fs::write(elsewhere.path().join("kept"), kept).unwrap();
        let arguments = ["restore", backup.to_str().unwrap(), "--checkpoint", "kept"];
        let restored = run(elsewhere.path(), &arguments);
        let said = format!("{}{}", out(&restored), err(&restored));
        assert_eq!(restored.status.code(), Some(expected.0), "{said}");
        assert!(said.contains(expected.1), "{said}");
        let there = elsewhere.path().join("countersign-data/journal.db").exists();
        assert_eq!(there, expected.0 == 0, "a refused backup is not put into place");
        let keys = elsewhere.path().join("countersign-data").exists();
        assert_eq!(keys, expected.0 == 0, "nor are its keys");
    };
    check(&late, &last, (0, "are back"));
    check(&late, &first, (0, "are back"));
    check(&early, &first, (0, "are back"));
    check(&early, &last, (1, "restore refused"));
    check(&late, &last.replace("log.example\n", "log.other\n"), (1, "no pinned log key"));
    let forged = first.lines().nth(1).unwrap().to_owned();
    check(&late, &first.replacen(&format!("\n{forged}\n"), "\n0\n", 1), (1, "signature"));
    check(&late, "no checkpoint", (1, "not a signed note"));
    // Without the settings of then, the backup itself names its log.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("kept"), &last).unwrap();
    let restored = run(elsewhere.path(), &["restore", late.to_str().unwrap(), "--checkpoint", "kept"]);
    assert_eq!(restored.status.code(), Some(0), "{}", err(&restored));
}

#[test]
fn a_failed_export_leaves_the_file_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().join("keep.json");
    std::fs::write(&keep, "kept").unwrap();
    for what in ["bundle", "brief", "ledger"] {
        let exported =
            run(folder.path(), &["room", "export", "noroom", "--what", what, "--out", "keep.json"]);
        assert_ne!(exported.status.code(), Some(0), "{what}");
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), "kept", "{what}: {}", err(&exported));
        let names = std::fs::read_dir(folder.path()).unwrap();
        let left =
            names.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".keep"));
        assert_eq!(left.count(), 0, "{what}");
    }
}

#[test]
fn bad_setups_name_the_key_and_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str, expected: &[&str]| {
        std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
        let output = run(folder.path(), &["serve"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        for word in expected {
            assert!(err(&output).contains(word), "{word} not in {}", err(&output));
        }
    };
    check("listen = \"nowhere\"", &["listen", "countersign.toml"]);
    check("lisen = \"127.0.0.1:1\"", &["lisen", "countersign.toml"]);
    check("[server]\nsign-in = true", &["sign-in", "countersign.toml"]);
    check("listen = ", &["countersign.toml"]);
    check("[mandates]\nchain = \"nowhere\"", &["mandates.chain", "nowhere"]);
    let missing = run(folder.path(), &["serve", "--config", "other.toml"]);
    assert_eq!((missing.status.code(), err(&missing).contains("other.toml")), (Some(2), true));
}

#[test]
fn shells_and_manuals() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        assert!(out(&run(folder.path(), &["completions", shell])).contains("countersign"), "{shell}");
    }
    assert_eq!(run(folder.path(), &["man", "."]).status.code(), Some(0));
    let page = std::fs::read_to_string(folder.path().join("countersign-verify.1")).unwrap();
    assert!(page.contains("trust"), "{page}");
    assert_eq!(run(folder.path(), &["nonsense"]).status.code(), Some(2));
}

/// Before anything is opened or made: exit 2, and the key.
#[test]
fn a_value_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (toml, key) in [
        ("[server]\npublic_url = \"ftp://sign.example\"", "server.public_url"),
        ("[server]\npublic_url = \"https://sign.example/?a=b\"", "server.public_url"),
        ("[server]\npublic_url = \"nonsense\"", "server.public_url"),
        ("[server]\norganizations = [\"home\", \"a/b\"]", "server.organizations.1"),
        ("[server]\nallowed_origins = [\"app.example\"]", "server.allowed_origins.0"),
        ("[log]\norigin = \"a b\"", "log.origin"),
        ("database_url = \"mysql://x\"", "database_url"),
    ] {
        std::fs::write(folder.path().join("countersign.toml"), toml).unwrap();
        for command in ["serve", "fsck"] {
            let output = run(folder.path(), &[command]);
            assert_eq!(output.status.code(), Some(2), "{toml}: {}", err(&output));
            assert!(err(&output).contains(&format!("config: {key}: ")), "{toml}: {}", err(&output));
        }
        assert!(!folder.path().join("countersign-data").exists(), "{toml}");
    }
}
