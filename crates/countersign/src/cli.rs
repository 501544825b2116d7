//! The command line: one definition for parsing, completions and the man page.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Agents act, people countersign, anyone can check.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, about, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server: rooms over MCP and HTTP, the console, the log
    Serve(Serve),
    /// Run the signer of evidence: as serve does with [evidence] in its configuration, and with that section left out too
    Signer(Serve),
    /// Play a whole room between two scripted agents, over real MCP on this machine
    Demo(Demo),
    /// Check a proof without a server or a network
    ///
    /// Exit status: 0 valid, 1 refused, 2 unusable input, 3 valid with warnings under --strict.
    Verify(Verify),
    /// Print the canonical form (RFC 8785) of a JSON text
    ///
    /// A text that strict reading refuses: its code alone on standard error, exit status 2.
    Canon(Canon),
    /// Say what is configured, what is missing, and whether it works
    Doctor(Setup),
    /// The server's keys
    #[command(subcommand)]
    Keys(Keys),
    /// Mandates: hash a document, judge an action, propose one as its agent, sign as its approver
    #[command(subcommand)]
    Mandate(crate::commands::mandate::Mandate),
    /// Messages that carry their proofs: some to try, what one says, accepting one
    #[command(subcommand)]
    Message(crate::commands::message::Message),
    /// Grants: who may ask what, within which limits
    #[command(subcommand)]
    Grant(crate::commands::message::Grant),
    /// Evidence of what agents did: the runs of this server's signer, a sample to try, what records commit to
    #[command(subcommand)]
    Evidence(crate::commands::evidence::Evidence),
    /// Stand in front of an MCP server: every call is decided by policy, recorded, and passed on unchanged
    ///
    /// Put it before the server in the host's configuration: countersign wrap -- npx some-mcp-server
    Wrap(crate::commands::wrap::Wrap),
    /// Rooms, seen by the operator of this server
    #[command(subcommand)]
    Room(Room),
    /// Print a fresh one-time link that lets an owner enrol a passkey
    Owner {
        #[command(flatten)]
        setup: Setup,
        /// Whose account it opens, by member id; the longest owner's without it
        #[arg(long, value_name = "ID")]
        member: Option<String>,
    },
    /// Verify everything that is stored: chains, payloads, numbering, log
    Fsck(Setup),
    /// Write a consistent copy of the store and its keys into a new folder
    Backup(Backup),
    /// Bring a copy back; refused if it would roll a published log back
    Restore(Restore),
    /// Witness the logs of others: cosign a checkpoint only where the log has grown and nothing was taken back
    Witness(Witness),
    /// Verify invoices for the mandates of others: read the billing source, and sign what is there
    Verifier(Verifier),
    /// Print a completion script
    Completions {
        /// The shell it is for
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a folder
    Man {
        /// An existing folder
        folder: PathBuf,
    },
}

/// What every command that opens the store takes.
#[derive(Debug, Clone, Args)]
pub struct Setup {
    /// The configuration file; without it, countersign.toml in this folder if there is one
    #[arg(long, env = "COUNTERSIGN_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub setup: Setup,
    /// Address to listen on, over the configuration
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Play only this; without it everything
    pub part: Option<Part>,
    /// End when it is over, instead of leaving the console open
    #[arg(long)]
    pub exit: bool,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8787")]
    pub listen: String,
    /// Write what the server answered about mandates into this file
    #[arg(long, value_name = "FILE", hide = true)]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Two agents negotiate in a room
    Room,
    /// An agent spends under a mandate, and a person signs for more
    Mandate,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// A room bundle, a brief, a ledger export, a proof of a mandate, a Masumi job, a checkpoint, an evidence bundle or a
    /// message; - for standard input
    pub file: PathBuf,
    /// With a receipt or a run as the API gives it: the export of its mandate's log
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// And the transaction as the chain has it, its bytes or their hex: the log head under label 1694 is checked
    #[arg(long, value_name = "FILE")]
    pub tx: Option<PathBuf>,
    /// The keys you trust; without it a proof is only checked against the keys it carries
    #[arg(long, value_name = "FILE")]
    pub trust: Option<PathBuf>,
    /// The whole report as JSON
    #[arg(long)]
    pub json: bool,
    /// Exit status 3 where evidence holds and something in it warns
    #[arg(long)]
    pub strict: bool,
    /// The instant at which a message is judged, instead of now
    #[arg(long, value_name = "INSTANT")]
    pub now: Option<String>,
    /// As which of the trust file's receivers a message is judged
    #[arg(long, value_name = "ID")]
    pub receiver: Option<String>,
}

#[derive(Debug, Args)]
pub struct Canon {
    /// A file; - or nothing for standard input
    pub file: Option<PathBuf>,
    /// Print the SHA-256 of the canonical form in hex instead
    #[arg(long)]
    pub hash: bool,
}

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// The server's public keys, current and retired, as JWK
    List(Setup),
    /// A trust file for `countersign verify --trust`
    Trust(Setup),
    /// Make a new server key; the old one stays listed as retired
    Rotate {
        #[command(flatten)]
        setup: Setup,
        /// The key of the signer's records instead: the log declares the new one at the next start, and retires the old
        #[arg(long)]
        evidence: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Room {
    /// Every room, its status and its head
    List(Setup),
    /// Write a room as a file that verifies with public keys alone
    Export {
        #[command(flatten)]
        setup: Setup,
        room: String,
        /// What of it
        #[arg(long, value_enum, default_value_t = What::Bundle)]
        what: What,
        /// Where to; standard output without it
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Destroy the private words of a room for good: its record stays whole and verifies
    Erase(Erase),
    /// Print a room's decision brief as plain text
    Brief {
        #[command(flatten)]
        setup: Setup,
        /// A room of this server, or a file: a bundle, a brief with its proof
        room: String,
    },
}

/// What `countersign room export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The whole room, without what is private to a side
    Bundle,
    /// The brief with its proof
    Brief,
    /// The chain of entries, JSON Lines
    Ledger,
}

#[derive(Debug, Args)]
pub struct Backup {
    #[command(flatten)]
    pub setup: Setup,
    /// A folder that does not exist yet
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct Restore {
    #[command(flatten)]
    pub setup: Setup,
    /// A folder that `countersign backup` wrote
    pub folder: PathBuf,
    /// A checkpoint of this log that somebody kept: a backup from before it is refused
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Erase {
    #[command(flatten)]
    pub setup: Setup,
    pub room: String,
    /// Without it nothing is erased; what would be is printed
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Witness {
    /// The witness's name, a host and a path without a scheme; it goes into every line it signs
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// A log to witness, by its key (a vkey, as `countersign keys list` prints it); may be given again
    #[arg(long = "log", value_name = "VKEY", required = true)]
    pub logs: Vec<String>,
    /// Folder of its key and of the checkpoints it has seen
    #[arg(long, value_name = "FOLDER", default_value = "countersign-witness")]
    pub data: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8090")]
    pub listen: String,
}

#[derive(Debug, Args)]
pub struct Verifier {
    /// Its configuration: name, billing source, customers, who may ask
    #[arg(long, value_name = "FILE", default_value = "verifier.toml")]
    pub config: PathBuf,
    /// Address to listen on, over the configuration
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
}
