//! The compiled validators (`contracts/`), with their parameters.

use crate::data;
use crate::{ChainError, cbor, flat};
use blake2::Digest as _;
use blake2::digest::consts::U28;
use mandate::issue::ChainName;
use mandate::plutus::Data;
use mandate::price::OutRef;
use mandate::text::KeyHash;
use mandate::{Address, Credential};
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;

/// A Plutus V3 script: flat code in a CBOR string, as blueprints and ledgers write it.
#[derive(Clone, PartialEq, Eq)]
pub struct Script(Arc<[u8]>);

impl Script {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// BLAKE2b-224 of the language's number and the code.
    pub fn hash(&self) -> KeyHash {
        let mut hasher = blake2::Blake2b::<U28>::new();
        hasher.update([3]);
        hasher.update(&self.0);
        KeyHash::from_bytes(hasher.finalize().into())
    }

    /// Where it is the only condition of spending.
    pub fn address(&self, network: ChainName) -> Address {
        Address::new(network.network(), Credential::Script(self.hash()), None)
    }

    fn with(&self, parameters: &[Data]) -> Result<Self, ChainError> {
        let parameters: Vec<_> = parameters.iter().map(Data::to_cbor).collect();
        let code = cbor::as_bytes(&self.0).and_then(|code| flat::apply(&code, &parameters));
        let mut bytes = Vec::new();
        cbor::bytes(
            &mut bytes,
            &code.ok_or_else(|| ChainError::Bug("the blueprint holds no program".to_owned()))?,
        );
        Ok(Self::new(bytes))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({})", self.hash())
    }
}

/// The validators of one network.
#[derive(Debug, Clone)]
pub struct Scripts {
    network: ChainName,
    anchor: Script,
    vault: Script,
    bond: Script,
    sink: Script,
}

impl Scripts {
    /// Those this program was built with.
    pub fn embedded(network: ChainName) -> Result<Self, ChainError> {
        let blueprint: Blueprint<'_> = canon::from_slice(BLUEPRINT.as_bytes())
            .map_err(|error| ChainError::Bug(format!("the blueprint cannot be read: {error}")))?;
        let code = |title: &str| -> Result<Script, ChainError> {
            let found = blueprint.validators.iter().find(|validator| validator.title == title);
            found
                .and_then(|validator| hex::decode(validator.code).ok())
                .map(Script::new)
                .ok_or_else(|| ChainError::Bug(format!("the blueprint has no {title}")))
        };
        let sink = code("always_fail.always_fail.else")?;
        let tag = Data::Int(i128::from(network.network().tag()));
        let bond = code("escalation_bond.escalation_bond.spend")?
            .with(&[Data::bytes(sink.hash().as_bytes()), tag])?;
        Ok(Self {
            network,
            anchor: code("mandate_anchor.mandate_anchor.mint")?,
            vault: code("vault.vault.mint")?,
            bond,
            sink,
        })
    }

    pub const fn network(&self) -> ChainName {
        self.network
    }

    /// The anchor that is minted by spending `seed`. Its hash is the `mandate_ref`.
    pub fn anchor(&self, seed: &OutRef) -> Result<Script, ChainError> {
        self.anchor.with(&[data::out_ref(seed)])
    }

    /// The vault of a mandate that is opened by spending `seed`.
    pub fn vault(&self, mandate_ref: KeyHash, seed: &OutRef) -> Result<Script, ChainError> {
        let tag = Data::Int(i128::from(self.network.network().tag()));
        self.vault.with(&[Data::bytes(mandate_ref.as_bytes()), tag, data::out_ref(seed)])
    }

    pub const fn bond(&self) -> &Script {
        &self.bond
    }

    pub const fn sink(&self) -> &Script {
        &self.sink
    }
}

/// The name of an anchor's token under its policy.
pub(crate) const ANCHOR_TOKEN: &[u8] = b"MANDATE";
/// The name of a vault's token under its policy.
pub(crate) const VAULT_TOKEN: &[u8] = b"VAULT";

const BLUEPRINT: &str = include_str!("../../../contracts/plutus.json");

#[derive(Deserialize)]
struct Blueprint<'a> {
    #[serde(borrow)]
    validators: Vec<Compiled<'a>>,
}

#[derive(Deserialize)]
struct Compiled<'a> {
    title: &'a str,
    #[serde(rename = "compiledCode")]
    code: &'a str,
}
