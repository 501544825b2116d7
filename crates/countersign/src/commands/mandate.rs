//! Mandates by hand: hash a document, judge an action, rebuild what the engine signs. No server; a network only for what the
//! principal does.

use super::{Failure, read_input};
use approvals::Evidence;
use canon::{Digest, Raw, Value};
use clap::{Args, Subcommand, ValueEnum};
use env::Source;
use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use ledger::Coded;
use mandate::authorization::{Fields, Record};
use mandate::text::{Ed25519Key, KeyHash};
use mandate::{
    Action, Address, Credential, Evaluation, Hashed, Inputs, Millis, Network, Outcome, Proposal, Refusal,
    Report, Snapshot, cose,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum Mandate {
    /// Check a mandate, an action or a verification report, and print its hash
    Hash {
        /// The document; - for standard input
        file: PathBuf,
    },
    /// Judge an action against a mandate and print the evaluation
    Evaluate(Evaluate),
    /// Print the bytes the engine signs, and their digest
    Authorization {
        /// An authorization record, or its fields alone
        file: PathBuf,
    },
    /// Print the hash of a decision
    DecisionHash(Decision),
    /// Make a key file for an approver, or read it, and print the key and its hash
    Key {
        /// The key file; it is made if it is not there
        file: PathBuf,
    },
    /// Sign what a console or POST /v1/approvals/ID/approve shows: a statement, or the sentence of a sign-in
    ///
    /// Prints key, nonce and evidence as JSON. Nothing else is signed.
    Sign {
        /// The statement, the sentence, or a file that holds one; - for standard input
        what: String,
        /// The key file
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Sign as a wallet of this network does (CIP-8)
        #[arg(long, value_name = "NETWORK")]
        wallet: Option<Wallets>,
    },
    /// Say who signed a statement or the sentence of a sign-in, and print the key and its hash
    ///
    /// Takes what `sign` prints, and what a wallet answers to signData (CIP-30). Exit status: 0 it is signed, 1 it is not.
    Signer {
        /// The statement, the sentence, or a file that holds one; - for standard input
        what: String,
        /// The signature as JSON, or a file that holds it
        #[arg(long, value_name = "JSON")]
        signature: String,
    },
    /// Sign a transaction, and print the witness set as a wallet gives it (CIP-30)
    Witness {
        /// The transaction in hex, or a file that holds it; - for standard input
        transaction: String,
        /// The key file
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// The agent's side: keys, proposals, bonds
    #[command(subcommand)]
    Agent(super::agent::Agent),
    /// What the principal does on chain: anchor a mandate, open its vault, move its money, change or revoke it
    Principal(super::principal::Principal),
}

/// Whose addresses a wallet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wallets {
    Preprod,
    Mainnet,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    #[arg(long, value_name = "FILE")]
    mandate: PathBuf,
    /// An action, or {"action", "agent_signature"}
    #[arg(long, value_name = "FILE")]
    action: PathBuf,
    /// The delegate's signature over the action, in hex
    #[arg(long, value_name = "HEX")]
    signature: Option<String>,
    /// What was read of the vault and the anchor
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// {"report", "report_hash", "block_time_ms"}; or a report alone, taken to be recorded now
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Milliseconds since 1970, or 2026-10-07T03:00:00Z
    #[arg(long, value_name = "INSTANT")]
    now: String,
}

#[derive(Debug, Args)]
pub struct Decision {
    /// An evaluation that has it all; else the parts, of which any may be missing
    #[arg(conflicts_with_all = ["action", "mandate", "verification", "outcome"])]
    evaluation: Option<PathBuf>,
    #[arg(long, value_name = "HEX")]
    action: Option<Digest>,
    #[arg(long, value_name = "HEX")]
    mandate: Option<Digest>,
    #[arg(long, value_name = "HEX")]
    verification: Option<Digest>,
    /// ALLOW, ESCALATE or DENY
    #[arg(long, required_unless_present = "evaluation")]
    outcome: Option<String>,
}

pub async fn run(command: &Mandate) -> Result<ExitCode, Failure> {
    let line = match command {
        Mandate::Hash { file } => hash(&read_input(file)?)?.to_string(),
        Mandate::Evaluate(arguments) => text(&evaluate(arguments)?)?,
        Mandate::Authorization { file } => text(&authorization(&read_input(file)?)?)?,
        Mandate::DecisionHash(decision) => decision_hash(decision)?.to_string(),
        Mandate::Key { file } => key_line(file)?,
        Mandate::Sign { what, key, wallet } => text(&sign(what, &opened(key)?, *wallet)?)?,
        Mandate::Signer { what, signature } => signer(what, signature)?,
        Mandate::Witness { transaction, key } => witness(transaction, &opened(key)?)?,
        Mandate::Agent(command) => return super::agent::run(command).await,
        Mandate::Principal(principal) => {
            return super::principal::run(principal).await.map(|()| ExitCode::SUCCESS);
        }
    };
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

fn hash(bytes: &[u8]) -> Result<Digest, Failure> {
    let value = canon::parse(bytes).map_err(|error| unusable(&error.into()))?;
    match value.get("schema").and_then(Value::as_str) {
        Some("action-ir/v0.1") => Hashed::<Action>::read(bytes).map(|action| action.hash()),
        Some("verification/v0.1") => Report::read(bytes).map(|report| report.hash()),
        _ => mandate::Mandate::read(bytes).map(|mandate| mandate.hash()),
    }
    .map_err(|refusal| unusable(&refusal))
}

fn evaluate(arguments: &Evaluate) -> Result<Evaluation, Failure> {
    let now = instant(&arguments.now)?;
    let mandate = mandate::Mandate::read(&read_input(&arguments.mandate)?).map_err(|r| unusable(&r))?;
    let state = Snapshot::read(&read_input(&arguments.state)?).map_err(|r| unusable(&r))?;
    let evidence = arguments.report.as_deref().map(|path| evidence(path, now)).transpose()?;
    let (action, enclosed) = proposal(read_input(&arguments.action)?);
    let proposal =
        Proposal { action: &action, agent_signature: arguments.signature.as_deref().or(enclosed.as_deref()) };
    Ok(mandate::evaluate(&Inputs {
        mandate: &mandate,
        proposal,
        state: &state,
        evidence: evidence.as_ref(),
        now,
    }))
}

/// A proposal taken apart; what is none is an action, good or bad.
fn proposal(bytes: Vec<u8>) -> (Vec<u8>, Option<String>) {
    let parts = canon::parse(&bytes).ok().and_then(|value| {
        let action = canon::to_vec(value.get("action")?).ok()?;
        Some((action, value.get("agent_signature").and_then(Value::as_str).map(str::to_owned)))
    });
    parts.unwrap_or((bytes, None))
}

fn evidence(path: &Path, now: Millis) -> Result<mandate::Evidence, Failure> {
    let bytes = read_input(path)?;
    let value = canon::parse(&bytes).map_err(|error| unusable(&error.into()))?;
    if value.get("report").is_some() {
        return canon::from_slice(&bytes).map_err(|error| unusable(&error.into()));
    }
    let report = Raw::from_slice(&bytes).map_err(|error| unusable(&error.into()))?;
    Ok(mandate::Evidence::bare(now, report.clone(), report.digest()))
}

#[derive(Serialize)]
struct Message {
    digest_hex: String,
    message_hex: String,
}

fn authorization(bytes: &[u8]) -> Result<Message, Failure> {
    let value = canon::parse(bytes).map_err(|error| unusable(&error.into()))?;
    let fields = if value.get("fields").is_some() {
        let record: Record = canon::from_slice(bytes).map_err(|error| unusable(&error.into()))?;
        record.verify().map_err(|refusal| Failure::refused(words(&refusal)))?;
        record.fields
    } else {
        Fields::read(bytes).map_err(|refusal| unusable(&refusal))?
    };
    let message_hex = fields.message().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Message { digest_hex: fields.digest().to_string(), message_hex })
}

fn decision_hash(decision: &Decision) -> Result<Digest, Failure> {
    if let Some(path) = &decision.evaluation {
        let bytes = read_input(path)?;
        let evaluation: Evaluation = canon::from_slice(&bytes).map_err(|error| unusable(&error.into()))?;
        return Ok(mandate::decision_hash(
            evaluation.action_hash,
            Some(evaluation.mandate_hash),
            evaluation.verification_hash,
            evaluation.outcome,
        ));
    }
    let word = decision.outcome.as_deref().unwrap_or_default();
    let outcome = [Outcome::Allow, Outcome::Escalate, Outcome::Deny, Outcome::Delay]
        .into_iter()
        .find(|outcome| outcome.as_str() == word)
        .ok_or_else(|| Failure::unusable(format!("{word:?} is no outcome")))?;
    Ok(mandate::decision_hash(decision.action, decision.mandate, decision.verification, outcome))
}

fn key_line(file: &Path) -> Result<String, Failure> {
    let signer = SoftwareSigner::open_or_create(file, Algorithm::Ed25519, &mut env::System.env());
    let public = public(&signer.map_err(Failure::unusable_by)?)?;
    Ok(key_and_hash(&public))
}

fn key_and_hash(public: &keys::ed25519::PublicKey) -> String {
    format!("{} {}", Ed25519Key::from_bytes(*public.as_bytes()), KeyHash::of_key(public))
}

fn opened(file: &Path) -> Result<SoftwareSigner, Failure> {
    SoftwareSigner::open(file).map_err(Failure::unusable_by)
}

fn public(signer: &SoftwareSigner) -> Result<keys::ed25519::PublicKey, Failure> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(key),
        PublicKey::P256(_) => Err(Failure::unusable("an approver's key is ed25519".to_owned())),
    }
}

/// A decision as a server takes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedBy {
    evidence: Evidence,
    key: Ed25519Key,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
}

/// What a wallet answers to `signData`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WalletSigned {
    key: String,
    signature: String,
}

/// What is signed of a statement, or of the sentence of a sign-in, and the statement's nonce. Nothing else is signed: what
/// else is a hash of, nobody could say.
fn message_of(what: &str) -> Result<(Vec<u8>, Option<String>), Failure> {
    let given = given(what)?;
    if given.starts_with(server::mandates::desk::SIGN_IN) {
        return Ok((given.into_bytes(), None));
    }
    let statement: approvals::Statement = canon::from_slice(given.as_bytes()).map_err(|error| {
        Failure::unusable(format!("neither a statement nor the sentence of a sign-in: {error}"))
    })?;
    Ok((statement.hash().as_bytes().to_vec(), Some(statement.nonce)))
}

fn sign(what: &str, signer: &SoftwareSigner, wallet: Option<Wallets>) -> Result<SignedBy, Failure> {
    let (message, nonce) = message_of(what)?;
    let public = public(signer)?;
    let key = Ed25519Key::from_bytes(*public.as_bytes());
    let Some(wallet) = wallet else {
        let signature = signer.sign(&message).map_err(Failure::unusable_by)?.base64url();
        let thumbprint = signer.public().thumbprint().to_string();
        return Ok(SignedBy { evidence: Evidence::Ed25519 { thumbprint, signature }, key, nonce });
    };
    let network = match wallet {
        Wallets::Preprod => Network::Test,
        Wallets::Mainnet => Network::Main,
    };
    let address = Address::new(network, Credential::Key(KeyHash::of_key(&public)), None);
    let signed = cose::sign(signer, &public, &message, &address).map_err(Failure::unusable_by)?;
    let evidence = Evidence::Wallet {
        address: hex::encode(address.to_bytes()),
        cose_sign1: hex::encode(signed.signature),
        cose_key: hex::encode(signed.key),
    };
    Ok(SignedBy { evidence, key, nonce })
}

/// The key that signed, and its hash.
fn signer(what: &str, signature: &str) -> Result<String, Failure> {
    let (message, nonce) = message_of(what)?;
    let given = given(signature)?;
    let unreadable = |error: canon::Error| Failure::unusable(format!("not a signature: {error}"));
    let value = canon::parse(given.as_bytes()).map_err(unreadable)?;
    let public = if value.get("evidence").is_none() {
        let WalletSigned { key, signature } = canon::from_slice(given.as_bytes()).map_err(unreadable)?;
        wallet_signer(&message, &signature, &key)?
    } else {
        let signed: SignedBy = canon::from_slice(given.as_bytes()).map_err(unreadable)?;
        let named = signed.key.key().map_err(Failure::unusable_by)?;
        if signed.nonce != nonce {
            return Err(Failure::refused("it is for another statement"));
        }
        let public = match &signed.evidence {
            Evidence::Wallet { cose_sign1, cose_key, .. } => wallet_signer(&message, cose_sign1, cose_key)?,
            Evidence::Ed25519 { signature, .. } => {
                let read = keys::Signature::from_base64url(signature);
                read.and_then(|signature| named.verify(&message, &signature))
                    .map_err(|_| Failure::refused("not this key's signature"))?;
                named
            }
            _ => return Err(Failure::unusable("neither a key's signature nor a wallet's")),
        };
        if public != named {
            return Err(Failure::refused("it is another key's"));
        }
        public
    };
    Ok(key_and_hash(&public))
}

/// Of either network: whose address it is does not matter here.
fn wallet_signer(message: &[u8], sign1: &str, key: &str) -> Result<keys::ed25519::PublicKey, Failure> {
    let bytes = |text: &str| hex::decode(text).map_err(|_| Failure::unusable("a wallet answers in hex"));
    let (sign1, key) = (bytes(sign1)?, bytes(key)?);
    let verified = |network| cose::verify(&sign1, &key, message, network);
    verified(Network::Test)
        .or_else(|_| verified(Network::Main))
        .map_err(|bad| Failure::refused(bad.to_string()))
}

fn witness(transaction: &str, signer: &SoftwareSigner) -> Result<String, Failure> {
    let bytes =
        hex::decode(given(transaction)?.trim()).map_err(|_| Failure::unusable("not hex".to_owned()))?;
    let set = chain::wallet::sign_tx(&bytes, signer).map_err(Failure::unusable_by)?;
    Ok(hex::encode(set))
}

/// What was given on the command line: itself, or the file of that name.
pub fn given(text: &str) -> Result<String, Failure> {
    if text == "-" || Path::new(text).is_file() {
        let bytes = read_input(Path::new(text))?;
        let whole = String::from_utf8(bytes).map_err(Failure::unusable_by)?;
        return Ok(whole.trim_end_matches(['\n', '\r']).to_owned());
    }
    Ok(text.to_owned())
}

fn instant(text: &str) -> Result<Millis, Failure> {
    let read = match text.parse::<u64>() {
        Ok(millis) => Millis::try_from(millis).ok(),
        Err(_) => text.parse::<mandate::DateTime>().ok().and_then(|at| at.millis()),
    };
    read.ok_or_else(|| {
        Failure::unusable(format!("{text:?} is no instant: milliseconds, or 2026-10-07T03:00:00Z"))
    })
}

fn text<T: Serialize>(value: &T) -> Result<String, Failure> {
    let bytes = canon::to_vec(value).map_err(Failure::unusable_by)?;
    String::from_utf8(bytes).map_err(Failure::unusable_by)
}

/// A document that is none is of no use; a mandate that breaks its own rules is refused.
pub fn unusable(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::MandateRules { .. } => Failure::refused(words(refusal)),
        _ => Failure::unusable(words(refusal)),
    }
}

fn words(refusal: &Refusal) -> String {
    match refusal.place() {
        Some(place) => format!("{} at {place}: {refusal}", refusal.code()),
        None => format!("{}: {refusal}", refusal.code()),
    }
}
