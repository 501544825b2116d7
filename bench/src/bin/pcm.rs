//! What a message with one claim costs to verify, cold and with its checkpoint and keys checked before, beside the Ed25519 checks it
//! needs in the same run, and how long it is in a large log. Then what an evidence bundle of 100,000 records costs on two threads,
//! beside its Ed25519 checks on two threads, and how much memory that takes: the bundle is made first, and verified in a process
//! of its own.

use env::{Env, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use pcm::bundle::{Crew, Outcome as Verdict, verify};
use pcm::message::sample::{Custody, Order, Stage};
use pcm::message::{At, Overall, Receiver, Seen, registry_digest};
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
    let sound = messages()?;
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
    if sound && status.success() { Ok(()) } else { Err("a bar is not met".into()) }
}

/// Messages of one claim, each verified once cold and once warm. Whether all bars are met.
fn messages() -> Outcome<bool> {
    const MESSAGES: usize = 4_000;
    /// Times the Ed25519 cost; the 99th percentile, times the median; bytes.
    const BARS: (f64, f64) = (1.25, 2.0);
    let key = |seed: u8| SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]);
    let (log, record) = (key(1)?, key(2)?);
    println!("| records of the log | bytes of the message, median | bar |\n|---:|---:|---:|");
    let mut sound = true;
    let mut last = None;
    for (size, bar) in [(10_000, 6_000), (1_000_000, 9_000)] {
        let mut stage = Stage::new(Env::new(Timestamp::from_secs(1_796_030_000), [8; 32]), &log, &record)?;
        let mut lengths = one_claim(&mut stage, size)?;
        let length = lengths.iter().map(Vec::len).nth(lengths.len() / 2).ok_or("no message")?;
        println!("| {size} | {length} | {bar} |");
        sound &= length <= bar;
        last = lengths.pop().map(|message| (message, receiver(&stage), stage.now()));
    }
    let (message, trust, now) = last.ok_or("no message")?;
    let receiver = Receiver::parse(trust?.as_bytes())?;
    let at = At { now, receiver: None, replay: None };
    let warm = Seen::default();
    println!(
        "\n| message | Ed25519 checks | us, median | of which Ed25519 | times | bar | p99 of the median | bar |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (name, checks) in [("cold", 6.0), ("warm", 4.0)] {
        let mut times = Vec::with_capacity(MESSAGES);
        let mut alone = Vec::with_capacity(MESSAGES);
        let (signed, signature) = ([7; 560], record.sign(&[7; 560])?);
        let public = record.public();
        for _ in 0..MESSAGES {
            let cold = Seen::default();
            let seen = if name == "cold" { &cold } else { &warm };
            let start = Instant::now();
            let judged = std::hint::black_box(seen.verify(&message, &receiver, &at));
            times.push(start.elapsed().as_secs_f64());
            if judged.overall != Overall::Accept {
                return Err(format!("{:?}", judged.fault).into());
            }
            let start = Instant::now();
            let _ = std::hint::black_box(public.verify(std::hint::black_box(&signed), &signature));
            alone.push(start.elapsed().as_secs_f64());
        }
        let of = |values: &mut Vec<f64>, share: usize| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() * share / 100).copied().unwrap_or_default() * 1e6
        };
        let (median, tail, ed25519) = (of(&mut times, 50), of(&mut times, 99), of(&mut alone, 50) * checks);
        let (times, spread) = (median / ed25519, tail / median);
        println!(
            "| {name} | {checks} | {median:.0} | {ed25519:.0} | {times:.2} | {} | {spread:.2} | {} |",
            BARS.0, BARS.1
        );
        sound &= times <= BARS.0 && spread <= BARS.1;
    }
    println!();
    Ok(sound)
}

/// Messages that each claim one fetch, sorted by length: the run in the middle of a log of so many records, others' between its own.
fn one_claim(stage: &mut Stage<'_>, size: u64) -> Outcome<Vec<Vec<u8>>> {
    const URL: &str = "https://api.example.com/orders/81";
    stage.crowd(size / 2);
    stage.register("agent", true)?;
    let mut calls = Vec::new();
    for _ in 0..9 {
        stage.crowd(50);
        let arguments = serde_json::json!({"url": URL}).to_string();
        let decided = stage.decide(Custody::Executor, "http_get", &arguments, "allow")?;
        stage.crowd(3);
        let result = stage.result(&decided, r#"{"result":{"status":200,"body":"hello"}}"#, true)?;
        calls.push(vec![decided.seq, result]);
    }
    stage.crowd(size.saturating_sub(stage.size()));
    let note = stage.note()?;
    let args = serde_json::json!({"method": "GET", "url": URL, "status": 200}).to_string();
    let order = |call: Vec<u64>| Order {
        claims: vec![("c", "http_fetched", args.clone(), call)],
        ..Order::default()
    };
    let mut messages: Vec<Vec<u8>> =
        calls.into_iter().map(|call| stage.send(&order(call), &note)).collect::<Result<_, _>>()?;
    messages.sort_by_key(Vec::len);
    Ok(messages)
}

fn receiver(stage: &Stage<'_>) -> Outcome<String> {
    let sender = stage.sender();
    let trust = serde_json::json!({
        "pcm": pcm::message::VERSION,
        "evidence": {"logs": [stage.vkey()?.to_string()], "algs": ["ed25519"]},
        "receivers": ["receiver"],
        "speakers": [{"origin": sender.origin, "log_id": sender.log_id, "tenant": sender.tenant}],
        "registry": registry_digest().prefixed(),
    });
    Ok(trust.to_string())
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
