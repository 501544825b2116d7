//! Completions and man pages, both from the one definition of the command line.

use super::Failure;
use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "countersign", &mut script);
    std::io::stdout().write_all(&script).map_err(Failure::unusable_by)
}

pub fn man(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| Failure::unusable(format!("{}: {error}", folder.display())))
}
