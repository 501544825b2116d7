//! Parse and canonicalise one Action IR: ours beside serde_json with serde_json_canonicalizer, in alternating rounds
//! of one run. Ends with an error if ours is not at least [`BAR`] times as fast.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ACTION: &[u8] = include_bytes!("../../data/action-ir.json");
const BAR: f64 = 3.0;
const ROUNDS: usize = 41;
const CALLS: u32 = 5_000;

type Canonicalise = fn(&[u8]) -> Result<Vec<u8>, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let contenders: [(&str, Canonicalise); 4] = [
        ("serde_json, then serde_json_canonicalizer", theirs),
        ("canon::canonicalize", |bytes| Ok(canon::canonicalize(bytes)?)),
        ("canon::parse, then canon::to_vec", |bytes| Ok(canon::to_vec(&canon::parse(bytes)?)?)),
        ("serde_json to Value alone", |bytes| {
            black_box(serde_json::from_slice::<serde_json::Value>(bytes)?);
            Ok(Vec::new())
        }),
    ];
    if canon::canonicalize(ACTION)? != theirs(ACTION)? {
        return Err("the two do not agree".into());
    }
    let mut rounds = contenders.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, canonicalise), times) in contenders.iter().zip(&mut rounds) {
            times.push(round(*canonicalise)?);
        }
    }
    let medians = rounds.map(|mut times| {
        times.sort_unstable();
        times.get(ROUNDS / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e9 / f64::from(CALLS))
    });
    let [baseline, ours, ..] = medians;
    println!("Action IR, {} bytes, one thread, median of {ROUNDS} rounds of {CALLS} calls\n", ACTION.len());
    println!("| parse + canonicalise | ns a call | times as fast |\n|---|---:|---:|");
    for ((name, _), nanos) in contenders.iter().zip(medians) {
        println!("| {name} | {nanos:.0} | {:.2} |", baseline / nanos);
    }
    if baseline / ours >= BAR { Ok(()) } else { Err(format!("the bar is {BAR} times").into()) }
}

fn theirs(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let value: serde_json::Value = serde_json::from_slice(bytes)?;
    Ok(serde_json_canonicalizer::to_vec(&value)?)
}

fn round(canonicalise: Canonicalise) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(canonicalise(black_box(ACTION))?);
    }
    Ok(start.elapsed())
}
