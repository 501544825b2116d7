use super::{Fault, FaultCode};
use crate::{Error, base64};
use canon::Value;
use keys::PublicKey;

/// What the log says of its keys (spec 3.4), record by record.
#[derive(Debug, Clone, Default)]
pub struct Keyed {
    /// The name of the key in force, and the key.
    current: Option<(String, PublicKey)>,
    retired: Vec<String>,
}

impl Keyed {
    /// The next `signer.epoch` or `key.retire`; gives its `run_seq`.
    pub fn take(&mut self, line: &[u8]) -> Result<u64, Error> {
        let record = canon::parse(line)?;
        let told = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
        if told("/event/type") == Some("key.retire") {
            self.retired.extend(told("/event/data/kid").map(str::to_owned));
        } else {
            let spki = told("/event/data/keys/0/spki").and_then(base64);
            let key: Option<[u8; 32]> = spki.and_then(|spki| spki.get(12..)?.try_into().ok());
            let key = key.and_then(|bytes| PublicKey::ed25519(&bytes).ok());
            self.current = told("/event/data/keys/0/kid").map(str::to_owned).zip(key);
        }
        let seq = record.pointer("/event/run_seq").and_then(Value::as_u64);
        seq.ok_or(Error::KeyRecord("it has no place in its run"))
    }

    /// The name of the key in force.
    pub fn in_force(&self) -> Option<&str> {
        self.current.as_ref().map(|(kid, _)| kid.as_str())
    }

    /// Whether a key has yet to be declared, and whose place it takes then. `None`: it signs already. Refused: a retired one.
    pub fn takes_over(&self, key: &PublicKey) -> Result<Option<Option<PublicKey>>, Fault> {
        let kid = key.spki_kid().to_string();
        if self.retired.contains(&kid) {
            return Err(Fault::new(FaultCode::Unavailable, "the log has retired this signer's key"));
        }
        Ok(match &self.current {
            Some((current, _)) if *current == kid => None,
            current => Some(current.as_ref().map(|(_, public)| *public)),
        })
    }
}
