use super::{Failure, read_input};
use crate::cli::Canon;
use std::io::Write;
use std::path::Path;

pub fn run(arguments: &Canon) -> Result<(), Failure> {
    let bytes = read_input(arguments.file.as_deref().unwrap_or(Path::new("-")))?;
    let canonical = canon::canonicalize(&bytes).map_err(|error| Failure::unusable(error.code.as_str()))?;
    let mut out = std::io::stdout().lock();
    let written = if arguments.hash {
        writeln!(out, "{}", canon::Digest::of(&canonical))
    } else {
        out.write_all(&canonical)
    };
    written.and_then(|()| out.flush()).map_err(|error| Failure::unusable(format!("standard output: {error}")))
}
