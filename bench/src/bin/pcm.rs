//! What an evidence bundle of 100,000 records costs to verify on two threads, beside the Ed25519 checks it needs on two
//! threads in the same run, and how much memory that takes. The bundle is made first; it is verified in a process of its own.

use env::{Env, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use pcm::bundle::{Crew, Outcome as Verdict, verify};
use pcm::sample::story;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Two records a call, and a few for the run.
const CALLS: u64 = 50_000;
const ROUNDS: usize = 3;
const THREADS: usize = 2;
/// Times the Ed25519 cost, and bytes.
const BAR: f64 = 1.5;
const MEMORY: f64 = 300e6;

struct Two;

impl Crew for Two {
    fn run(&self, work: &(dyn Fn() + Sync)) {
        std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    }
}

fn main() -> Outcome {
    if let Some(folder) = std::env::args().nth(1) {
        return check(Path::new(&folder));
    }
    let folder = tempfile::tempdir()?;
    let key = |seed: u8| SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]);
    let mut env = Env::new(Timestamp::from_secs(1_796_030_000), [7; 32]);
    let sample = story(&mut env, &key(1)?, &key(2)?, None, CALLS)?;
    std::fs::write(folder.path().join("bundle.tkb"), &sample.bundle)?;
    let trust = serde_json::json!({"logs": [sample.log.to_string()], "algs": ["ed25519"]});
    std::fs::write(folder.path().join("trust.json"), trust.to_string())?;
    println!("bundle of {:.1} MB\n", f64::from(u32::try_from(sample.bundle.len())?) / 1e6);
    drop(sample);
    let status = Command::new(std::env::current_exe()?).arg(folder.path()).status()?;
    if status.success() { Ok(()) } else { Err("a bar is not met".into()) }
}

fn check(folder: &Path) -> Outcome {
    let trust = pcm::Trust::parse(&std::fs::read(folder.join("trust.json"))?)?;
    let bytes = std::fs::read(folder.join("bundle.tkb"))?;
    let mut best = f64::INFINITY;
    let mut records = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let report = verify(&bytes, &trust, &Two);
        best = best.min(start.elapsed().as_secs_f64());
        if report.outcome != Verdict::Verified {
            return Err(format!("{:?}", report.first_failure()).into());
        }
        let told = report.facts.iter().find(|(name, _)| *name == "records");
        records = told.map_or(Ok(0), |(_, count)| count.parse::<u32>())?;
    }
    let peak = memory()?;
    let signatures = f64::from(records) * one_check()?;
    let ratio = best / signatures;
    println!("| records | seconds | Ed25519 alone, {THREADS} threads | times | bar | MB | bar |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    println!(
        "| {records} | {best:.2} | {signatures:.2} | {ratio:.2} | {BAR} | {:.0} | {:.0} |",
        peak / 1e6,
        MEMORY / 1e6
    );
    if ratio <= BAR && peak <= MEMORY { Ok(()) } else { Err("a bar is not met".into()) }
}

/// Seconds of one check of a message as long as a record's, when every thread checks.
fn one_check() -> Outcome<f64> {
    const CHECKS: u32 = 10_000;
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &[3; 32])?;
    let message = [7; 560];
    let signature = signer.sign(&message)?;
    let key = signer.public();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        Two.run(&|| {
            for _ in 0..CHECKS {
                let _ = std::hint::black_box(key.verify(std::hint::black_box(&message), &signature));
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best / f64::from(CHECKS) / f64::from(u32::try_from(THREADS)?))
}

/// The most memory this process has had, in bytes.
fn memory() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? * 1024.0)
}
