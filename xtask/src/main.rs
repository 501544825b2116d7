//! The project's own chores: `cargo xtask test`, `tidy`, `contracts`, `fixtures`, `crash`, `fuzz`, `bench`.

mod contracts;
mod stages;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => stages::test(),
        ["test", "--list"] => stages::list(),
        ["test", names @ ..] => stages::only(names),
        ["tidy"] => tidy::run(),
        ["contracts"] => contracts::run(false),
        ["contracts", "write"] => contracts::run(true),
        ["fixtures"] => stages::fixtures(),
        ["crash", rest @ ..] => stages::crash(rest),
        ["fuzz", rest @ ..] => stages::fuzz(rest),
        ["bench", rest @ ..] => stages::bench(rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "usage: cargo xtask <command>

  test                 install what is needed, start what is needed, run every stage
  test --list          the stages, in order
  test STAGE...        only these stages
  tidy                 the house rules: arrows between crates, pure cores, file sizes
  contracts            rebuild the validators and compare with contracts/plutus.json; 'contracts write' replaces it
  fixtures             record anew what /api/fixture answers, from a run of the demo
  crash [--rounds N]   kill -9 in a loop on both stores (200 rounds each)
  crash power          cut the power of the SQLite store at 60 moments
  fuzz [--seconds N]   every fuzz target for N seconds (10)
  bench NAME           one of the load programs in bench/, in release";
