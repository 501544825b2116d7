//! The agent's side of a mandate: its keys, its proposals, its bonds.

mod bond;
mod home;
mod propose;
mod status;

use super::{Failure, read_input};
use clap::{Args, Subcommand};
use home::Home;
use keys::{PublicKey, Signer, SoftwareSigner};
use mandate::Address;
use mandate::text::{Ed25519Key, Id, KeyHash};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum Agent {
    /// Make an agent's folder: its delegate key, its wallet, its settings
    ///
    /// Prints the key that the mandate must name and the address that pays bonds. What is there already is kept.
    New(New),
    /// Propose an action, and say what became of it
    ///
    /// Exit status: 0 allowed or released, 1 denied or declined, 2 unusable or unknown, 3 a person must be asked, or is.
    Propose(Propose),
    /// Bonds by hand
    #[command(subcommand)]
    Bond(Bond),
    /// What the agent is, what it holds, what its mandate still allows
    Status(Status),
}

/// Which agent.
#[derive(Debug, Args)]
pub struct At {
    /// The agent's folder
    #[arg(long, value_name = "FOLDER", default_value = "countersign-agent")]
    home: PathBuf,
    /// The server's address, over the settings
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

#[derive(Debug, Args)]
pub struct New {
    #[command(flatten)]
    at: At,
    /// The agent's name in the mandate
    #[arg(long, value_name = "ID", default_value = "agent")]
    id: Id,
    /// A host and port that may be called although it is not public; may be given again
    #[arg(long = "allow", value_name = "HOST:PORT")]
    allow: Vec<String>,
    /// Where bonds are locked: file:PATH, an embedded ledger, or https://…, a server that speaks Blockfrost's interface
    #[arg(long, value_name = "URL")]
    chain: Option<String>,
    /// A file that holds the project id that such a server asks for
    #[arg(long, value_name = "FILE")]
    chain_project_file: Option<PathBuf>,
    /// cardano-preprod or cardano-mainnet
    #[arg(long, value_name = "NAME", default_value = "cardano-preprod")]
    network: String,
    /// The most that a bond may be, in lovelace
    #[arg(long, value_name = "LOVELACE", default_value_t = home::MOST)]
    most: u64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct Propose {
    #[command(flatten)]
    at: At,
    /// The action; - for standard input
    action: PathBuf,
    /// Where a person must be asked, lock the bond that it costs
    #[arg(long)]
    pay: bool,
    /// Wait for the end, at most so many seconds (an hour without a number)
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "3600")]
    wait: Option<u64>,
    /// Only judge it: nothing is done, nothing is owed
    #[arg(long, conflicts_with_all = ["pay", "wait"])]
    dry: bool,
    /// The run it belongs to
    #[arg(long, value_name = "UUID")]
    run: Option<String>,
    /// Write the receipt's proof to a file
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Bond {
    /// Lock the bond of a price, once however often it is asked for, and print where it is
    Lock {
        #[command(flatten)]
        at: At,
        /// A 402 document, an entry of it, or the price alone; - for standard input
        price: PathBuf,
        /// The mandate that the price is of
        #[arg(long, value_name = "ID")]
        mandate: Id,
        /// Sign it and hand nothing in: for a server that submits it (x402 scheme exact)
        #[arg(long)]
        unsubmitted: bool,
    },
    /// Every bond of this agent, and where it is
    Show {
        #[command(flatten)]
        at: At,
    },
    /// Take back every bond whose time is over and that nobody has given back
    Recover {
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    at: At,
    /// What this mandate still allows
    #[arg(long, value_name = "ID")]
    mandate: Option<Id>,
}

pub async fn run(command: &Agent) -> Result<ExitCode, Failure> {
    match command {
        Agent::New(new) => made(new)?,
        Agent::Propose(asked) => return propose::run(asked).await.map(ExitCode::from),
        Agent::Bond(bond) => bond::run(bond).await?,
        Agent::Status(status) => status::run(status).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn made(new: &New) -> Result<(), Failure> {
    let home = Home::make(new)?;
    let (key, address) = (key_of(&home.delegate)?, home.address()?);
    let delegate = json!({ "type": "agent", "id": new.id.as_str(), "public_key": key.to_string() });
    if new.json {
        println!("{}", json!({ "delegate": delegate, "address": address.as_str() }));
        return Ok(());
    }
    println!("key      {key}");
    println!("address  {address} (pays bonds: put some ADA there)");
    println!("\nThe principal puts this into the mandate:\n\n  \"delegate\": {delegate}");
    Ok(())
}

/// `ed25519:` and the key in hex.
fn key_of(signer: &SoftwareSigner) -> Result<Ed25519Key, Failure> {
    Ok(Ed25519Key::from_bytes(*public(signer)?.as_bytes()))
}

fn address_of(signer: &SoftwareSigner, network: mandate::issue::ChainName) -> Result<Address, Failure> {
    let hash = KeyHash::of_key(&public(signer)?);
    Ok(Address::new(network.network(), mandate::Credential::Key(hash), None))
}

fn public(signer: &SoftwareSigner) -> Result<keys::ed25519::PublicKey, Failure> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(key),
        PublicKey::P256(_) => Err(Failure::unusable("an agent's keys are ed25519")),
    }
}

/// ADA, exactly.
fn ada(lovelace: u64) -> String {
    format!("{} ADA", mandate::brief::amount(lovelace, 6))
}
