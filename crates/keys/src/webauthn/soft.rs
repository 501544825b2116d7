use super::data::{self, cose_algorithm};
use super::{Assertion, Challenge, CredentialId, Registration, signed_bytes};
use crate::{Algorithm, Error, PublicKey, Signer, SoftwareSigner};
use canon::Digest;
use ciborium::Value;

/// An authenticator and the browser around it, for tests: whatever a real pair would refuse to sign, this one signs.
#[expect(missing_debug_implementations, reason = "holds a private key")]
pub struct Authenticator {
    signer: SoftwareSigner,
    id: CredentialId,
    pub relying_party: String,
    pub origin: String,
    /// The counter of the next assertion.
    pub count: u32,
    /// Whether it claims to have verified the user.
    pub verifies: bool,
    /// The format of its attestation: `none`, or `packed` for its own signature.
    pub attestation: String,
}

impl Authenticator {
    /// One credential, made from a seed. It verifies the user and attests nothing.
    pub fn new(
        algorithm: Algorithm,
        seed: &[u8; 32],
        relying_party: &str,
        origin: &str,
    ) -> Result<Self, Error> {
        let signer = SoftwareSigner::from_seed(algorithm, seed)?;
        Ok(Self {
            id: CredentialId::from_bytes(Digest::of(&signer.public().spki()).as_bytes().to_vec())?,
            signer,
            relying_party: relying_party.to_owned(),
            origin: origin.to_owned(),
            count: 1,
            verifies: true,
            attestation: "none".to_owned(),
        })
    }

    pub const fn id(&self) -> &CredentialId {
        &self.id
    }

    pub fn public(&self) -> PublicKey {
        self.signer.public()
    }

    pub fn register(&self, challenge: &Challenge) -> Result<Registration, Error> {
        let client_data = self.client_data("webauthn.create", challenge);
        self.register_with(client_data, self.authenticator_data(data::ATTESTED))
    }

    /// Registers over the bytes given.
    pub fn register_with(
        &self,
        client_data: Vec<u8>,
        authenticator_data: Vec<u8>,
    ) -> Result<Registration, Error> {
        let statement = if self.attestation == "packed" {
            let signature = self.signature(&signed_bytes(&authenticator_data, &client_data))?;
            vec![
                (text("alg"), integer(cose_algorithm(self.public().algorithm()))),
                (text("sig"), Value::Bytes(signature)),
            ]
        } else {
            Vec::new()
        };
        let object = Value::Map(vec![
            (text("fmt"), text(&self.attestation)),
            (text("attStmt"), Value::Map(statement)),
            (text("authData"), Value::Bytes(authenticator_data)),
        ]);
        Ok(Registration { client_data_json: client_data, attestation_object: cbor(&object) })
    }

    /// Answers a challenge, and counts.
    pub fn assert(&mut self, challenge: &Challenge) -> Result<Assertion, Error> {
        let client_data = self.client_data("webauthn.get", challenge);
        let assertion = self.assert_with(client_data, self.authenticator_data(0))?;
        self.count += 1;
        Ok(assertion)
    }

    /// Signs the bytes given.
    pub fn assert_with(&self, client_data: Vec<u8>, authenticator_data: Vec<u8>) -> Result<Assertion, Error> {
        Ok(Assertion {
            credential_id: self.id.clone(),
            signature: self.signature(&signed_bytes(&authenticator_data, &client_data))?,
            authenticator_data,
            client_data_json: client_data,
        })
    }

    /// The client data a browser would write.
    pub fn client_data(&self, kind: &str, challenge: &Challenge) -> Vec<u8> {
        format!(
            r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{}","crossOrigin":false}}"#,
            self.origin
        )
        .into_bytes()
    }

    /// Authenticator data with the user present, and `flags` besides; with the credential if 0x40 is among them.
    pub fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let verified = if self.verifies { data::USER_VERIFIED } else { 0 };
        let mut bytes = Digest::of(self.relying_party.as_bytes()).as_bytes().to_vec();
        bytes.push(flags | data::USER_PRESENT | verified);
        bytes.extend(self.count.to_be_bytes());
        if flags & data::ATTESTED != 0 {
            bytes.extend([0; 16]);
            bytes.extend(u16::try_from(self.id.as_bytes().len()).unwrap_or(u16::MAX).to_be_bytes());
            bytes.extend(self.id.as_bytes());
            bytes.extend(self.cose_key());
        }
        bytes
    }

    /// The credential's COSE key.
    pub fn cose_key(&self) -> Vec<u8> {
        let algorithm = integer(cose_algorithm(self.public().algorithm()));
        cbor(&Value::Map(match self.public() {
            PublicKey::Ed25519(key) => vec![
                (integer(1), integer(1)),
                (integer(3), algorithm),
                (integer(-1), integer(6)),
                (integer(-2), Value::Bytes(key.as_bytes().to_vec())),
            ],
            PublicKey::P256(key) => {
                let point = key.to_sec1();
                let (x, y) = point.split_at(33);
                vec![
                    (integer(1), integer(2)),
                    (integer(3), algorithm),
                    (integer(-1), integer(1)),
                    (integer(-2), Value::Bytes(x.get(1..).unwrap_or_default().to_vec())),
                    (integer(-3), Value::Bytes(y.to_vec())),
                ]
            }
        }))
    }

    fn signature(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.signer.sign(bytes)?;
        match self.public().algorithm() {
            Algorithm::P256 => signature.to_der(),
            Algorithm::Ed25519 => Ok(signature.as_bytes().to_vec()),
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn integer(number: i128) -> Value {
    ciborium::value::Integer::try_from(number).map_or(Value::Null, Value::Integer)
}

fn cbor(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    // INVARIANT: writing to memory cannot fail.
    let _ = ciborium::into_writer(value, &mut bytes);
    bytes
}
