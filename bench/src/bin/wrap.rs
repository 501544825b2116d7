//! What `countersign wrap` adds to a call: a server that echoes, over standard input and output, called 1,000 times a second
//! directly and through it. Two syncs are part of each call through it: of its decision, and of its result (D42).
//!
//! Arguments go to `wrap`, such as `--signer SOCKET`; without them it brings a signer of its own. `COUNTERSIGN` names the
//! binary, by default the one beside this. Ends with an error if the bar is not met.

use bench::disk::fdatasync;
use bench::{Outcome, percentile};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Milliseconds that half of the calls may take longer, besides two syncs; 99 in 100 may take four times that.
const BAR: f64 = 0.3;
const TAIL: f64 = 4.0;
const PACE: Duration = Duration::from_millis(1);
const WARM: u64 = 1_000;
const CALLS: u64 = 10_000;
const ECHO: &str = "echo";

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == ECHO) {
        return echo();
    }
    let this = std::env::current_exe()?;
    let binary =
        std::env::var_os("COUNTERSIGN").map_or_else(|| this.with_file_name("countersign"), PathBuf::from);
    if !binary.exists() {
        return Err(format!("{} is not there: cargo build --release -p countersign", binary.display()).into());
    }
    let folder = tempfile::tempdir_in(".")?;
    let before = fdatasync(folder.path())?;
    println!("fdatasync of 8 KiB, median of 500, before: {before:.3} ms");
    let mut direct = Command::new(&this);
    direct.arg(ECHO);
    let direct = measure(direct)?;
    let through = measure(wrapped(&binary, folder.path(), &arguments, &this))?;
    let after = fdatasync(folder.path())?;
    println!("fdatasync after: {after:.3} ms");
    println!("| 1,000 calls/s | p50 ms | p99 ms |\n|---|---:|---:|");
    println!("| directly | {:.3} | {:.3} |", direct.0, direct.1);
    println!("| through wrap | {:.3} | {:.3} |", through.0, through.1);
    let added = (through.0 - direct.0, through.1 - direct.1);
    println!("| added | {:.3} | {:.3} |", added.0, added.1);
    let bar = BAR + 2.0 * before.max(after);
    println!("bar: p50 {bar:.3} ms, p99 {:.3} ms", TAIL * bar);
    if added.0 > bar || added.1 > TAIL * bar {
        return Err("the bar is not met".into());
    }
    Ok(())
}

fn wrapped(binary: &Path, folder: &Path, arguments: &[String], this: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("wrap").arg("--state").arg(folder).args(arguments).arg("--").arg(this).arg(ECHO);
    command
}

/// Milliseconds of half and of 99 in 100 of the calls.
fn measure(mut command: Command) -> Outcome<(f64, f64)> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (input, output) = input.zip(output).ok_or("no standard input and output")?;
    let times = play(input, output);
    ended(&mut child)?;
    let mut times = times?;
    Ok((percentile(&mut times, 50), percentile(&mut times, 99)))
}

fn ended(child: &mut Child) -> Outcome {
    for _ in 0..100 {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(child.kill()?)
}

/// Calls in their pace, whether they are answered or not.
fn play(mut input: ChildStdin, output: ChildStdout) -> Outcome<Vec<Duration>> {
    let mut output = BufReader::new(output);
    // The first answer tells that everything has started.
    input.write_all(&call(0))?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    let total = WARM + CALLS;
    let reading = std::thread::spawn(move || -> std::io::Result<HashMap<u64, Instant>> {
        let mut heard = HashMap::new();
        let mut line = String::new();
        for _ in 0..total {
            line.clear();
            output.read_line(&mut line)?;
            let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
            if let Some(id) = id.and_then(|id| id.trim().parse().ok()) {
                heard.insert(id, Instant::now());
            }
        }
        Ok(heard)
    });
    let begun = Instant::now();
    let mut said = Vec::new();
    for id in 1..=total {
        let due = begun + PACE * u32::try_from(id)?;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        said.push((id, Instant::now()));
        input.write_all(&call(id))?;
    }
    let heard = reading.join().map_err(|_| "the reader failed")??;
    let measured = said.iter().filter(|(id, _)| *id > WARM);
    let times: Vec<Duration> =
        measured.filter_map(|(id, at)| Some(heard.get(id)?.saturating_duration_since(*at))).collect();
    let expected = usize::try_from(CALLS)?;
    if times.len() == expected {
        Ok(times)
    } else {
        Err(format!("{} of {expected} answered", times.len()).into())
    }
}

fn call(id: u64) -> Vec<u8> {
    let call = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":\"call {id}\"}}}}}}\n"
    );
    call.into_bytes()
}

/// The server: answers each call at once.
fn echo() -> Outcome {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("null");
        writeln!(
            out,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"ok\"}}]}}}}"
        )?;
        out.flush()?;
    }
    Ok(())
}
