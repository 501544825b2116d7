//! The binary: one command line over the whole house.

mod cli;
mod commands;
mod config;
mod demo;
mod dev;
mod evidence;
mod house;
mod mandates;
mod messages;
mod notifier;

use clap::Parser;
use cli::{Cli, Command};
use commands::Failure;
use std::process::ExitCode;

/// Gives back what many short answers used: the system's keeps it between the small things that last.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quiet_when_nobody_reads();
    let arguments = Cli::parse();
    log_to_stderr();
    run(arguments.command).unwrap_or_else(Failure::exit)
}

/// Standard output that is closed, or full, ends the command as unusable, without a trace.
fn quiet_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>();
        if message.is_some_and(|message| message.starts_with("failed printing to stdout")) {
            std::process::exit(2);
        }
        usual(panic);
    }));
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Verify(arguments) => return commands::verify::run(&arguments),
        Command::Wrap(arguments) => return commands::wrap::run(&arguments),
        Command::Canon(arguments) => commands::canon::run(&arguments)?,
        Command::Mandate(command) => return wait(commands::mandate::run(&command)),
        Command::Evidence(command) => return wait(commands::evidence::run(&command)),
        Command::Message(command) => return wait(commands::message::run(&command)),
        Command::Grant(command) => commands::message::grant(&command)?,
        Command::Keys(command) => commands::keys::run(&command)?,
        Command::Completions { shell } => commands::shell::completions(shell)?,
        Command::Man { folder } => commands::shell::man(&folder)?,
        Command::Serve(arguments) => wait(commands::serve::run(arguments, false))?,
        Command::Signer(arguments) => wait(commands::serve::run(arguments, true))?,
        Command::Demo(arguments) => wait(demo::run(arguments))?,
        Command::Doctor(setup) => wait(commands::doctor::run(setup))?,
        Command::Room(command) => wait(commands::room::run(command))?,
        Command::Owner { setup, member } => wait(commands::room::owner(setup, member))?,
        Command::Fsck(setup) => wait(commands::keep::fsck(&setup))?,
        Command::Backup(arguments) => wait(commands::keep::backup(&arguments))?,
        Command::Restore(arguments) => wait(commands::keep::restore(&arguments))?,
        Command::Witness(arguments) => wait(commands::witness::run(arguments))?,
        Command::Verifier(arguments) => wait(commands::verifier::run(arguments))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Failure::unusable_by)?.block_on(work)
}

/// Standard output is for results. What is logged, and how much, follows `RUST_LOG`; warnings without it.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
