//! The rules of the house that a compiler does not know.

use crate::stages::root;
use std::path::{Path, PathBuf};

/// Which of our crates each may depend on. Arrows point down only, and a protocol never imports another.
const ARROWS: &[(&str, &[&str])] = &[
    ("env", &[]),
    ("canon", &[]),
    ("keys", &["canon", "env"]),
    ("ledger", &["canon", "env", "keys"]),
    ("approvals", &["canon", "env", "keys", "ledger"]),
    ("pxp", &["canon", "env", "keys", "ledger", "approvals"]),
    ("mandate", &["canon", "env", "keys", "ledger", "approvals"]),
    ("pcm", &["canon", "env", "keys", "ledger", "approvals"]),
    ("verify", &["canon", "env", "keys", "ledger", "approvals", "pxp", "mandate", "pcm"]),
    ("store", &["canon", "env", "keys", "ledger"]),
    ("signer", &["canon", "env", "keys", "ledger", "approvals", "pcm", "store"]),
    ("chain", &["canon", "env", "keys", "ledger", "mandate", "fetch"]),
    ("fetch", &["canon", "env", "ledger"]),
    (
        "client",
        &["canon", "env", "keys", "ledger", "approvals", "pxp", "mandate", "verify", "chain", "fetch"],
    ),
    ("notify", &["canon", "env", "keys", "ledger", "approvals", "fetch"]),
    ("evm", &["canon", "ledger", "fetch"]),
    ("verifier", &["canon", "env", "keys", "ledger", "mandate", "fetch", "evm"]),
    ("agent", &["canon", "env", "ledger", "pcm", "signer", "fetch"]),
    (
        "server",
        &[
            "canon",
            "env",
            "keys",
            "ledger",
            "approvals",
            "pxp",
            "mandate",
            "pcm",
            "verify",
            "store",
            "signer",
            "fetch",
            "notify",
            "chain",
            "evm",
        ],
    ),
    (
        "console",
        &[
            "canon",
            "env",
            "keys",
            "ledger",
            "approvals",
            "pxp",
            "mandate",
            "pcm",
            "verify",
            "store",
            "server",
        ],
    ),
];

/// The pure crates, and what none of them may name.
const PURE: &[&str] = &["canon", "keys", "ledger", "approvals", "pxp", "mandate", "pcm", "verify"];
const IMPURE: &[&str] = &[
    "tokio",
    "axum",
    "sqlx",
    "rusqlite",
    "reqwest",
    "SystemTime",
    "Instant::now",
    " rand::",
    "getrandom",
    "std::net",
];

/// The one file of a pure crate that touches the disk: the key file behind the signer.
const DOORS: &[&str] = &["crates/keys/src/signer.rs", "crates/keys/src/signer/", "crates/keys/src/ring.rs"];

const LONGEST_FILE: usize = 700;

pub fn run() -> Result<(), String> {
    let mut faults = Vec::new();
    arrows(&mut faults);
    for name in PURE {
        for file in rust_files(&root().join("crates").join(name).join("src")) {
            pure(&file, &mut faults);
        }
    }
    for folder in ["crates", "testkit", "xtask", "bench"] {
        for file in rust_files(&root().join(folder)) {
            let lines = read(&file).lines().count();
            if lines > LONGEST_FILE {
                faults.push(format!("{}: {lines} lines; two concerns in one room?", shown(&file)));
            }
        }
    }
    if faults.is_empty() {
        println!("tidy: {} crates, arrows down, cores pure", ARROWS.len());
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

fn arrows(faults: &mut Vec<String>) {
    for (name, allowed) in ARROWS {
        let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
        let ours = manifest
            .lines()
            .skip_while(|line| line.trim() != "[dependencies]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|dependency| ARROWS.iter().any(|(known, _)| known == dependency));
        for dependency in ours.filter(|dependency| !allowed.contains(dependency)) {
            faults.push(format!("crates/{name} may not depend on {dependency}"));
        }
    }
}

fn pure(file: &Path, faults: &mut Vec<String>) {
    if DOORS.iter().any(|door| shown(file).starts_with(door)) {
        return;
    }
    for (number, line) in read(file).lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for word in IMPURE.iter().filter(|word| code.contains(**word)) {
            faults.push(format!("{}:{}: a pure core names {word}", shown(file), number.saturating_add(1)));
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
