//! One module a command. Each ends in `Ok` or in a [`Failure`] that carries the exit status.

pub mod agent;
pub mod canon;
pub mod doctor;
pub mod evidence;
pub mod keep;
pub mod keys;
pub mod mandate;
pub mod message;
pub mod principal;
pub mod room;
pub mod serve;
pub mod shell;
pub mod verifier;
pub mod verify;
pub mod witness;
pub mod wrap;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// Why a command did not do what it was asked, and the exit status that says so.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub reason: String,
}

impl Failure {
    /// The proof, the change or the request was refused.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { status: 1, reason: reason.into() }
    }
    /// The input or the setup is of no use.
    pub fn unusable(reason: impl Into<String>) -> Self {
        Self { status: 2, reason: reason.into() }
    }
    /// Unusable, in the words of an error.
    pub fn unusable_by(error: impl std::fmt::Display) -> Self {
        Self::unusable(error.to_string())
    }
    pub fn exit(self) -> ExitCode {
        if !self.reason.is_empty() {
            eprintln!("{}", self.reason);
        }
        ExitCode::from(self.status)
    }
}

/// The bytes of a file, or of standard input for `-`; at most 1 GiB.
pub fn read_input(path: &Path) -> Result<Vec<u8>, Failure> {
    const LIMIT: u64 = 1 << 30;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
    };
    let length = read.map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    if u64::try_from(length).is_ok_and(|length| length <= LIMIT) {
        Ok(bytes)
    } else {
        Err(Failure::unusable(format!("{}: over 1 GiB", path.display())))
    }
}
