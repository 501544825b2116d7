use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

type Outcome = Result<(), String>;

/// A stage of `cargo xtask test`: a name, and what it runs.
struct Stage {
    name: &'static str,
    run: fn() -> Outcome,
}

const STAGES: &[Stage] = &[
    Stage { name: "install", run: install },
    Stage { name: "format", run: || cargo(&["fmt", "--all", "--check"]) },
    Stage { name: "tidy", run: crate::tidy::run },
    Stage {
        name: "lint",
        run: || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Stage { name: "contracts", run: || crate::contracts::run(false) },
    Stage { name: "rust", run: || cargo(&["test", "--workspace"]) },
    Stage { name: "javascript", run: javascript },
    Stage { name: "mcp", run: || script("e2e/mcp/run.sh") },
    Stage { name: "browser", run: || script("e2e/browser/run.sh") },
    Stage { name: "peers", run: || script("e2e/peers/run.sh") },
    Stage { name: "crash", run: || crash(&["--rounds", "20"]) },
    Stage { name: "power", run: || crash(&["power"]) },
    Stage { name: "fuzz", run: || fuzz(&["--seconds", "10"]) },
];

pub fn test() -> Outcome {
    let all: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
    only(&all)
}

pub fn list() -> Outcome {
    for stage in STAGES {
        println!("{}", stage.name);
    }
    Ok(())
}

/// Runs the named stages in their order and stops at the first that fails.
pub fn only(names: &[&str]) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        return Err(format!("no stage is called '{unknown}': see cargo xtask test --list"));
    }
    let begun = Instant::now();
    for stage in STAGES.iter().filter(|stage| names.contains(&stage.name)) {
        println!("==> {}", stage.name);
        let started = Instant::now();
        (stage.run)().map_err(|reason| format!("stage {} failed: {reason}", stage.name))?;
        println!("<== {} ({} s)", stage.name, started.elapsed().as_secs());
    }
    println!("all stages green in {} s", begun.elapsed().as_secs());
    Ok(())
}

pub fn crash(arguments: &[&str]) -> Outcome {
    run(Command::new("cargo")
        .args(["run", "--quiet", "--package", "bench", "--bin", "crash", "--"])
        .args(arguments))
}

/// Plays the demo of a mandate and keeps what the server answered.
pub fn fixtures() -> Outcome {
    let file = root().join("crates/server/src/mandates/fixture/recorded.json");
    run(Command::new("cargo")
        .args(["run", "--quiet", "--package", "countersign", "--", "demo", "mandate", "--exit", "--record"])
        .arg(file))
}

pub fn bench(arguments: &[&str]) -> Outcome {
    let (name, rest) = arguments.split_first().ok_or("name a bench: see bench/README.md")?;
    run(Command::new("cargo")
        .args(["run", "--release", "--quiet", "--package", "bench", "--bin", name, "--"])
        .args(rest))
}

/// Runs every target in `fuzz/fuzz_targets` for some seconds, starting from its committed corpus. New finds go to a
/// scratch folder, so a run leaves the checkout as it was.
pub fn fuzz(arguments: &[&str]) -> Outcome {
    let seconds = match arguments {
        [] => "10",
        ["--seconds", seconds] => seconds,
        _ => return Err("usage: cargo xtask fuzz [--seconds N]".to_owned()),
    };
    run(Command::new("bash").arg(root().join("fuzz/run.sh")).arg(seconds))
}

/// What the other stages need and the machine may lack. Each is asked for first, so a second run installs nothing.
fn install() -> Outcome {
    let mut packages = Vec::new();
    for (present, package) in [
        (postgres_here(), "postgresql"),
        (Path::new("/usr/bin/chromium").exists(), "chromium"),
        (on_path("node"), "nodejs"),
        (on_path("npm"), "npm"),
        (on_path("clang"), "clang"),
        (on_path("strace"), "strace"),
        (on_path("python3"), "python3"),
        (answers("python3", &["-c", "import ensurepip, venv"]), "python3-venv"),
    ] {
        if !present {
            packages.push(package);
        }
    }
    if !packages.is_empty() {
        run(Command::new("apt-get").args(["update", "-qq"]))?;
        run(Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(&packages))?;
    }
    run(Command::new("npm")
        // Not `npm ci`: it refuses a lock that leaves out an optional package of another platform.
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(root().join("e2e")))
}

/// The JavaScript that people's browsers run: its own tests, and its JSDoc types checked.
fn javascript() -> Outcome {
    let mut tests: Vec<PathBuf> = Vec::new();
    for folder in ["verifier-js", "crates/console/static"] {
        let entries = std::fs::read_dir(root().join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        tests.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".test.mjs"))
        }));
    }
    tests.sort();
    run(Command::new("node").arg("--test").args(&tests))?;
    // A service worker's globals are not a page's: it is checked for itself.
    for project in ["e2e/tsconfig.json", "e2e/tsconfig.worker.json"] {
        run(Command::new("e2e/node_modules/.bin/tsc").args(["--project", project]))?;
    }
    Ok(())
}

fn postgres_here() -> bool {
    on_path("postgres")
        || std::fs::read_dir("/usr/lib/postgresql").is_ok_and(|versions| {
            versions.flatten().any(|version| version.path().join("bin/postgres").exists())
        })
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn script(path: &str) -> Outcome {
    run(Command::new("bash").arg(root().join(path)))
}

fn cargo(arguments: &[&str]) -> Outcome {
    run(Command::new("cargo").args(arguments))
}

fn run(command: &mut Command) -> Outcome {
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// The checkout: the folder above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
