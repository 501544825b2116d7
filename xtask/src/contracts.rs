//! `cargo xtask contracts`: the committed blueprint is what the committed sources compile to.

use crate::stages::root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that the blueprint was made with.
const AIKEN: &str = "1.1.24";
/// Rule names stay in the scripts, so that a refusal says which rule it was. The hash depends on it.
const TRACES: &[&str] = &["-t", "verbose", "-f", "user-defined"];
/// The sink's hash, as the protocol prints it: what one line of source that always fails compiles to, without traces.
const SINK: &str = "22c9a103ed3f2fa97c982d76d6e2af50c5d54ac306983b196c8fcdab";

/// Rebuilds the validators beside the committed blueprint and compares, then attacks them. With `write`, replaces the committed one.
pub fn run(write: bool) -> Result<(), String> {
    let aiken = aiken()?;
    let scratch = scratch()?;
    let committed = root().join("contracts/plutus.json");
    let built = build(&aiken, &scratch, TRACES)?;
    if write {
        std::fs::write(&committed, &built).map_err(|error| format!("contracts/plutus.json: {error}"))?;
    }
    let known =
        std::fs::read_to_string(&committed).map_err(|error| format!("contracts/plutus.json: {error}"))?;
    if known != built {
        return Err(
            "contracts/plutus.json is not what contracts/ compiles to: run 'cargo xtask contracts write'"
                .to_owned(),
        );
    }
    if !built.contains(SINK) {
        return Err(format!("the sink's hash is not {SINK}"));
    }
    println!("contracts: the blueprint is what the sources compile to");
    attack(&aiken)
}

/// Every attack on the validators once more, judged by the compiler's own machine beside the embedded ledger's.
fn attack(aiken: &Path) -> Result<(), String> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--package", "chain", "--test", "it", "--"])
        .args(["anchors::", "bonds::", "openings::", "quorums::", "vaults::"])
        .env("AIKEN", aiken)
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the attacks on the validators: {status}")),
        Err(error) => Err(format!("cargo test: {error}")),
    }
}

/// A copy of the sources, so that the checkout keeps no build folder.
fn scratch() -> Result<PathBuf, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let scratch = target.join("contracts");
    let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).map_err(failed)?;
    }
    copy(&root().join("contracts"), &scratch).map_err(failed)?;
    Ok(scratch)
}

fn build(aiken: &Path, scratch: &Path, traces: &[&str]) -> Result<String, String> {
    let output = Command::new(aiken)
        .arg("build")
        .args(traces)
        .current_dir(scratch)
        .output()
        .map_err(|error| format!("{}: {error}", aiken.display()))?;
    if !output.status.success() {
        return Err(format!("aiken build: {}", String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::read_to_string(scratch.join("plutus.json")).map_err(|error| format!("plutus.json: {error}"))
}

/// Installs the compiler once, in the user's cache: its build takes some minutes.
fn aiken() -> Result<PathBuf, String> {
    let home = std::env::var_os("HOME").ok_or("HOME is not set")?;
    let tools = Path::new(&home).join(".cache/countersign/tools");
    let aiken = tools.join("bin/aiken");
    let version = Command::new(&aiken).arg("--version").output();
    if version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(AIKEN)) {
        return Ok(aiken);
    }
    let installed = Command::new("cargo")
        .args(["install", "aiken", "--locked", "--force", "--version", AIKEN, "--root"])
        .arg(&tools)
        .env_remove("CARGO_TARGET_DIR")
        .status();
    match installed {
        Ok(status) if status.success() => Ok(aiken),
        Ok(status) => Err(format!("cargo install aiken: {status}")),
        Err(error) => Err(format!("cargo install aiken: {error}")),
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "build" {
                copy(&path, &target)?;
            }
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
