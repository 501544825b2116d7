//! What a mandate's principal does on chain: each act is built here, told in words, and sent once everybody has signed.

use super::{Failure, read_input};
use crate::config::Config;
use chain::treasury::{Paid, What};
use chain::{Anchor, Asset, Built, ChainError, Treasury, Value};
use clap::{Args, Subcommand};
use env::Source;
use keys::{PublicKey, Signer, SoftwareSigner};
use mandate::brief::amount;
use mandate::price::Signatories;
use mandate::text::{AssetName, KeyHash, PolicyId, PositiveUnits, TxHash};
use mandate::{Address, Credential, Hashed, Mandate, Vault};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Principal {
    /// The configuration, whose section [mandates] names the chain and the wallet that pays fees
    #[arg(long, env = "COUNTERSIGN_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// A key that signs; may be given again
    #[arg(long = "key", value_name = "FILE", global = true)]
    keys: Vec<PathBuf>,
    /// Write the transaction here in hex, for somebody else to sign, and send nothing
    #[arg(long, short, value_name = "FILE", global = true)]
    out: Option<PathBuf>,
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
pub enum Act {
    /// Anchor a mandate for the first time, and print its mandate_ref
    Anchor {
        /// The mandate
        mandate: PathBuf,
        /// The token its money is in: POLICY.NAME, both in hex
        #[arg(long, value_name = "TOKEN")]
        asset: String,
    },
    /// Open an empty vault for an anchored mandate
    Open {
        /// What `anchor` printed
        mandate_ref: KeyHash,
        /// Where the vault's description is written, which the other acts take
        #[arg(long, value_name = "FILE")]
        vault: PathBuf,
    },
    /// Put money into the vault
    Deposit {
        /// The vault's description
        vault: PathBuf,
        /// Base units of the vault's token
        #[arg(long, value_name = "UNITS")]
        amount: PositiveUnits,
        /// Whose money; without it the first key's own address
        #[arg(long, value_name = "ADDRESS")]
        from: Option<Address>,
    },
    /// Take money out of the vault
    Withdraw {
        /// The vault's description
        vault: PathBuf,
        /// Base units of the vault's token
        #[arg(long, value_name = "UNITS")]
        amount: PositiveUnits,
        /// Who gets it
        #[arg(long, value_name = "ADDRESS")]
        to: Address,
    },
    /// Anchor a later version of the mandate
    Update {
        /// The vault's description
        vault: PathBuf,
        /// The mandate's later version
        mandate: PathBuf,
    },
    /// Anchor a later version that names another principal's key: both the old and the new one sign
    Handover {
        /// The vault's description
        vault: PathBuf,
        /// The mandate's later version, with the new principal
        mandate: PathBuf,
    },
    /// Revoke the mandate: nothing is released any more
    Revoke {
        /// The vault's description
        vault: PathBuf,
    },
    /// Send a transaction that was written with --out
    Submit {
        /// The transaction in hex, or the file that holds it
        transaction: String,
        /// What a wallet or `countersign mandate witness` gave for it; may be given again
        #[arg(long = "witness", value_name = "HEX")]
        witnesses: Vec<String>,
    },
    /// Give out money from nothing, on an embedded ledger
    Fund {
        /// To whom; without it to the wallet that pays fees
        address: Option<Address>,
        #[arg(long, value_name = "UNITS", default_value_t = 200_000_000)]
        lovelace: u64,
        /// A token beside it: POLICY.NAME, both in hex
        #[arg(long, value_name = "TOKEN", requires = "amount")]
        asset: Option<String>,
        /// How much of the token
        #[arg(long, value_name = "UNITS", requires = "asset")]
        amount: Option<PositiveUnits>,
        /// How many such outputs
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
}

pub async fn run(arguments: &Principal) -> Result<(), Failure> {
    let config = Config::load(arguments.config.as_deref(), None)?;
    let own = config.mandates.as_ref();
    let own = own.ok_or_else(|| Failure::unusable("the configuration has no section [mandates]"))?;
    let source: Arc<dyn Source> = Arc::new(env::System);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&config.data)
        .map_err(|error| Failure::unusable(format!("{}: {error}", config.data.display())))?;
    let treasury = crate::mandates::treasury(own, &config, &source)?;
    if let Act::Fund { address, lovelace, asset, amount, times } = &arguments.act {
        let ledger = crate::mandates::embedded_ledger(own, &config, &source)?;
        let mut value = Value::of(*lovelace);
        if let (Some(asset), Some(amount)) = (asset, amount) {
            value = value.with(self::asset(asset)?, amount.get());
        }
        let to = address.as_ref().unwrap_or_else(|| treasury.wallet().address());
        for _ in 0..*times {
            ledger.fund(to, value.clone()).map_err(failed)?;
        }
        println!("{to}");
        return Ok(());
    }
    let keys = arguments.keys.iter().map(|path| SoftwareSigner::open(path).map_err(Failure::unusable_by));
    let mut act = Signing { treasury, keys: keys.collect::<Result<_, _>>()?, tx: Vec::new() };
    act.draft(&arguments.act).await?;
    act.finish(arguments.out.as_deref()).await
}

/// An act on its way.
struct Signing {
    treasury: Treasury,
    keys: Vec<SoftwareSigner>,
    tx: Vec<u8>,
}

impl Signing {
    /// Builds it, and says what it is about.
    async fn draft(&mut self, act: &Act) -> Result<(), Failure> {
        let treasury = &self.treasury;
        let built = match act {
            Act::Anchor { mandate, asset } => {
                let mandate = read_mandate(mandate)?;
                let anchor = Anchor::of(&mandate, self::asset(asset)?).map_err(failed)?;
                let anchoring = treasury.anchor(&anchor).await.map_err(failed)?;
                println!("Anchors mandate {}, version {}.", mandate.id, mandate.version);
                line("hash", mandate.hash());
                line("approvers", listed(&anchor.approvers));
                line("mandate_ref", anchoring.mandate_ref);
                anchoring.built
            }
            Act::Open { mandate_ref, vault } => {
                let opening = treasury.open_vault(*mandate_ref).await.map_err(failed)?;
                let text = canon::to_vec(&opening.vault).map_err(Failure::unusable_by)?;
                write(vault, &text)?;
                println!("Opens an empty vault; {} describes it.", vault.display());
                line("vault_hash", opening.vault.vault_hash);
                opening.built
            }
            Act::Deposit { vault, amount, from } => {
                let vault = read_vault(vault)?;
                let from = match from {
                    Some(from) => from.clone(),
                    None => self.own_address(&vault)?,
                };
                println!("Puts {amount} base units into the vault, from {from}.");
                treasury.deposit(&vault, &from, amount.get()).await.map_err(failed)?
            }
            Act::Withdraw { vault, amount, to } => {
                println!("Takes {amount} base units out of the vault, to {to}.");
                treasury.withdraw(&read_vault(vault)?, amount.get(), to).await.map_err(failed)?
            }
            Act::Update { vault, mandate } => self.update(vault, mandate, false).await?,
            Act::Handover { vault, mandate } => self.update(vault, mandate, true).await?,
            Act::Revoke { vault } => {
                println!("Revokes the mandate: nothing is released any more.");
                treasury.revoke(read_vault(vault)?.mandate_ref).await.map_err(failed)?
            }
            Act::Submit { transaction, witnesses } => {
                self.tx = given(transaction)?;
                for witness in witnesses {
                    self.witness(&given(witness)?)?;
                }
                return Ok(());
            }
            Act::Fund { .. } => return Ok(()),
        };
        let Built { tx, .. } = built;
        self.tx = tx;
        Ok(())
    }

    /// The difference to what is anchored is said line by line.
    async fn update(&self, vault: &Path, mandate: &Path, hands_over: bool) -> Result<Built, Failure> {
        let (vault, mandate) = (read_vault(vault)?, read_mandate(mandate)?);
        let (anchor, _) = self.treasury.anchored(vault.mandate_ref).await.map_err(failed)?;
        let asset = (vault.asset_policy, vault.asset_name.clone());
        let next = Anchor::of(&mandate, asset).map_err(failed)?;
        if hands_over == (anchor.principal == next.principal) {
            let text =
                if hands_over { "the same principal: use update" } else { "another principal: use handover" };
            return Err(Failure::refused(format!("{} names {text}", mandate.id)));
        }
        if next.version <= anchor.version {
            return Err(Failure::refused(format!("the version must be above {}", anchor.version)));
        }
        println!("Anchors version {} of mandate {}.", next.version, mandate.id);
        let changes = [
            ("hash", anchor.mandate_hash.to_string(), next.mandate_hash.to_string()),
            ("principal", anchor.principal.to_string(), next.principal.to_string()),
            ("approvers", listed(&anchor.approvers), listed(&next.approvers)),
            ("engine", anchor.engine.to_string(), next.engine.to_string()),
            ("alone", anchor.limits.autonomous_limit.to_string(), next.limits.autonomous_limit.to_string()),
            ("hard cap", anchor.limits.hard_cap.to_string(), next.limits.hard_cap.to_string()),
            ("a day", anchor.limits.daily_cap.to_string(), next.limits.daily_cap.to_string()),
            ("floor", anchor.limits.treasury_minimum.to_string(), next.limits.treasury_minimum.to_string()),
            ("until", anchor.valid_until.timestamp().to_string(), next.valid_until.timestamp().to_string()),
        ];
        for (what, before, after) in changes.into_iter().filter(|(_, before, after)| before != after) {
            line(what, format!("{before} -> {after}"));
        }
        self.treasury.update(vault.mandate_ref, &next).await.map_err(failed)
    }

    fn own_address(&self, vault: &Vault) -> Result<Address, Failure> {
        let first = self.keys.first();
        let first = first.ok_or_else(|| Failure::unusable("whose money? Give --from or --key"))?;
        Ok(Address::new(vault.network.network(), Credential::Key(key_hash(first)?), None))
    }

    /// Adds the signatures of a witness set that are wanted.
    fn witness(&mut self, set: &[u8]) -> Result<(), Failure> {
        let told = self.treasury.told(&self.tx).map_err(failed)?;
        let mut refused = ChainError::BadWitness("nobody else must sign".to_owned());
        let mut taken = false;
        for key in told.signers {
            match self.treasury.witness(&self.tx, set, key) {
                Ok(tx) => (self.tx, taken) = (tx, true),
                Err(error) => refused = error,
            }
        }
        if taken { Ok(()) } else { Err(failed(refused)) }
    }

    /// Signs with the keys at hand, says what is to be signed, and sends it, or writes it down.
    async fn finish(mut self, out: Option<&Path>) -> Result<(), Failure> {
        let told = self.treasury.told(&self.tx).map_err(failed)?;
        for key in &self.keys {
            let hash = key_hash(key)?;
            if !told.signers.contains(&hash) {
                return Err(Failure::refused(format!("{hash} is no key that signs this")));
            }
            let set = chain::wallet::sign_tx(&self.tx, key).map_err(failed)?;
            self.tx = self.treasury.witness(&self.tx, &set, hash).map_err(failed)?;
        }
        let missing = self.treasury.unsigned(&self.tx).map_err(failed)?;
        told.outputs.iter().for_each(output);
        line("fee", format!("{} ADA", amount(told.fee_lovelace.get(), LOVELACE)));
        line("network", told.network.name());
        for key in &told.signers {
            line(if missing.contains(key) { "must sign" } else { "signed by" }, key);
        }
        line("transaction", told.tx_hash);
        let hex = hex::encode(&self.tx);
        match out {
            Some(path) => write(path, hex.as_bytes()),
            None if !missing.is_empty() => {
                println!("Not sent: signatures are missing. Sign this, and hand it to submit:\n{hex}");
                Ok(())
            }
            None => self.send(told.tx_hash).await,
        }
    }

    /// Sends it until it is in a block. An answer that was lost is looked up; the same transaction twice is once.
    async fn send(&self, hash: TxHash) -> Result<(), Failure> {
        for _ in 0..LOOKS {
            if let Some(block) = self.treasury.confirmed(hash).await.map_err(failed)? {
                line("in block", block);
                return Ok(());
            }
            match self.treasury.submit(&self.tx).await {
                Ok(_) | Err(ChainError::Unknown(_) | ChainError::Unavailable(_)) => {}
                Err(ChainError::Contention(_))
                    if self.treasury.is_spendable(&self.tx).await.map_err(failed)? => {}
                Err(error) => return Err(failed(error)),
            }
            if self.treasury.confirmed(hash).await.is_ok_and(|block| block.is_none()) {
                tokio::time::sleep(LOOK).await;
            }
        }
        Err(Failure::refused(format!("{hash} was sent and is in no block yet: submit it again to look")))
    }
}

const LOVELACE: u8 = 6;
const LOOK: Duration = Duration::from_secs(5);
/// Ten minutes.
const LOOKS: usize = 120;

fn output(paid: &Paid) {
    let what = match paid.what {
        What::Anchor => "anchor",
        What::Vault => "vault",
        What::Script => "script",
        What::Change => "fee wallet",
        What::Payment => "pays",
    };
    line(what, format!("{} {} ADA", paid.address, amount(paid.lovelace.get(), LOVELACE)));
    for held in &paid.tokens {
        line("", format!("{} of {}.{}", held.quantity, held.asset_policy, held.asset_name));
    }
}

/// How many of which keys.
fn listed(approvers: &Signatories) -> String {
    let keys: Vec<_> = approvers.keys.iter().map(ToString::to_string).collect();
    format!("{} of {}", approvers.required, keys.join(", "))
}

fn line(what: &str, value: impl std::fmt::Display) {
    println!("  {what:<12} {value}");
}

fn asset(text: &str) -> Result<Asset, Failure> {
    let parts = text
        .split_once('.')
        .and_then(|(policy, name)| Some((policy.parse::<PolicyId>().ok()?, name.parse::<AssetName>().ok()?)));
    parts.ok_or_else(|| Failure::unusable(format!("{text:?} is no token: POLICY.NAME, both in hex")))
}

fn read_mandate(path: &Path) -> Result<Hashed<Mandate>, Failure> {
    Mandate::read(&read_input(path)?).map_err(|refusal| super::mandate::unusable(&refusal))
}

fn read_vault(path: &Path) -> Result<Vault, Failure> {
    let read = canon::from_slice(&read_input(path)?);
    read.map_err(|error| Failure::unusable(format!("{}: not a vault's description: {error}", path.display())))
}

fn given(text: &str) -> Result<Vec<u8>, Failure> {
    let text = super::mandate::given(text)?;
    hex::decode(text.trim()).map_err(|_| Failure::unusable("not hex"))
}

fn key_hash(signer: &SoftwareSigner) -> Result<KeyHash, Failure> {
    match signer.public() {
        PublicKey::Ed25519(key) => Ok(KeyHash::of_key(&key)),
        PublicKey::P256(_) => Err(Failure::unusable("a principal's key is ed25519")),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))
}

fn failed(error: ChainError) -> Failure {
    match error {
        ChainError::Rejected { .. } | ChainError::Contention(_) | ChainError::BadWitness(_) => {
            Failure::refused(error.to_string())
        }
        other => Failure::unusable_by(other),
    }
}
