//! Showing a key: what is signed for it, and what a browser keeps of it. It reads; it decides nothing.

use super::Refused;
use super::who::Who;
use crate::App;
use ::http::{HeaderMap, StatusCode};
use approvals::Evidence;
use canon::Digest;
use env::{Duration, Timestamp};
use mandate::Network;
use mandate::text::{Ed25519Key, KeyHash, Text};
use serde::{Deserialize, Serialize};

/// What somebody signs to read as the holder of a key. Good once, for ten minutes.
#[derive(Debug, Clone)]
pub struct Invitation {
    pub message: String,
    pub ticket: String,
}

/// A signature as a page's script or the command line gives it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signature {
    pub evidence: Evidence,
    pub key: Ed25519Key,
    #[serde(default)]
    pub nonce: Option<Text<16, 64>>,
}

/// What a browser keeps of a proof.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proved {
    key: KeyHash,
    until: Timestamp,
}

/// How every invitation begins: nothing else that is ever signed begins so.
pub const SIGN_IN: &str = "Countersign sign-in";
const PURPOSE: &str = "mandate-sign-in";
const DOMAIN: &str = "countersign.approver.v1";
const LIFE: Duration = Duration::from_secs(12 * 3600);

impl App {
    /// The key that a browser proved, while that holds.
    pub(super) async fn proved(&self, headers: &HeaderMap) -> Result<Option<KeyHash>, Refused> {
        let Some((name, proved)) = self.kept_proof(headers) else { return Ok(None) };
        Ok(if self.is_ended(&name).await? { None } else { Some(proved.key) })
    }

    /// The name and the end of the proof that a browser keeps.
    pub(crate) fn approver_proof(&self, headers: &HeaderMap) -> Option<(String, Timestamp)> {
        self.kept_proof(headers).map(|(name, proved)| (name, proved.until))
    }

    fn kept_proof(&self, headers: &HeaderMap) -> Option<(String, Proved)> {
        let sealed = self.seals().approver(headers)?;
        let proved: Proved = self.seals().unseal(DOMAIN, sealed)?;
        (self.now() < proved.until).then(|| (Digest::of(sealed.as_bytes()).to_string(), proved))
    }

    /// What is to be signed for signing in.
    pub fn invitation(&self) -> Invitation {
        let (challenge, ticket) = self.seals().challenge(&mut self.env(), PURPOSE);
        Invitation { message: self.sentence(&challenge), ticket }
    }

    /// Takes the signature under an invitation. Gives the `Set-Cookie` value by which its key reads for twelve hours. Refused:
    /// a key of nobody here, and the delegate's.
    pub async fn prove(&self, ticket: &str, signature: &str) -> Result<String, Refused> {
        self.mandates()?;
        let now = self.now();
        let challenge = self.seals().open_challenge(ticket, PURPOSE, now)?;
        let message = self.sentence(&challenge);
        let signature: Signature = canon::from_slice(signature.as_bytes()).map_err(|_| unproved())?;
        let key = signature.key.key().map_err(|_| unproved())?;
        match &signature.evidence {
            Evidence::Ed25519 { signature, .. } => {
                let signature = keys::Signature::from_base64url(signature).map_err(|_| unproved())?;
                key.verify(message.as_bytes(), &signature).map_err(|_| unproved())?;
            }
            Evidence::Wallet { cose_sign1, cose_key, .. } => {
                let bytes = |text: &str| ::hex::decode(text).map_err(|_| unproved());
                let (sign1, cose_key) = (bytes(cose_sign1)?, bytes(cose_key)?);
                let verified =
                    |network| mandate::cose::verify(&sign1, &cose_key, message.as_bytes(), network);
                let signer = verified(Network::Test).or_else(|_| verified(Network::Main));
                if signer.map_err(|_| unproved())? != key {
                    return Err(unproved());
                }
            }
            _ => return Err(unproved()),
        }
        let hash = KeyHash::of_key(&key);
        let who = Who::Member(vec![hash]);
        let opens = self.mandates()?.setup.principals.contains(&hash);
        let theirs =
            opens || self.all_mandates().await?.iter().any(|known| who.role(&known.anchored.mandate).reads());
        if !theirs {
            let text = format!("no mandate of this server names the key {hash}");
            return Err(Refused::forbidden("not_the_approver", &text));
        }
        self.spent().spend(&challenge.nonce, challenge.until, now)?;
        let sealed = self.seals().seal(DOMAIN, &Proved { key: hash, until: now + LIFE });
        Ok(self.seals().approver_cookie(&sealed, LIFE.as_secs()))
    }

    fn sentence(&self, challenge: &crate::session::Challenge) -> String {
        let origin = self.config().origin();
        format!(
            "{SIGN_IN}. I show that this key is mine, to read at {origin} what waits for it. This pays and approves nothing. \
             Nonce: {}. Good until: {}.",
            challenge.nonce, challenge.until
        )
    }
}

fn unproved() -> Refused {
    let text = "this is no signature of that key over the sentence on the page";
    Refused::new(StatusCode::UNAUTHORIZED, "bad_signature", text)
}
