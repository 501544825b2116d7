//! The real binary, as a person or a script meets it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

mod agent;
mod canon;
mod demo;
mod erase;
mod evidence;
mod fixtures;
mod house;
mod mandate;
mod message;
mod parts;
mod principal;
mod proofs;
mod witness;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The binary in an empty folder, with nothing of ours in its environment.
fn countersign(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.current_dir(folder).args(arguments).env_remove("DATABASE_URL").stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("COUNTERSIGN_")) {
        command.env_remove(name);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    countersign(folder, arguments).output().unwrap()
}

fn run_with(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = countersign(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A running process; ended with its guard, by SIGTERM as an operator would.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Starts it and reads its first lines.
fn start(folder: &Path, arguments: &[&str], lines: usize) -> (Running, Vec<String>) {
    let mut child =
        countersign(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let printed = (0..lines).map(|_| {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    });
    let printed = printed.collect();
    (Running(child), printed)
}

/// One request of HTTP/1.1, with further header lines each ended: the status and the body.
fn http(address: &str, request: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let port = address.rsplit(':').next().unwrap();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
