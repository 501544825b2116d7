//! What one verifier signs, and when several of them carry a report (spec 1.6): a quorum of independent statements about
//! the same bytes.

use crate::action::HashedAction;
use crate::report::{Evidence, Report};
use crate::text::{Ed25519Key, Hex, Id, Text, nullable};
use crate::time::Millis;
use crate::{Hashed, Refusal};
use canon::{Digest, Raw};
use keys::{Signature, Signer};
use serde::{Deserialize, Serialize};

/// `verification-statement/v0.1`: that this verifier, at this instant, read what the report with this hash says. Members in
/// the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The invoice's number at its source; null where there is none, and of what is no invoice.
    #[serde(deserialize_with = "nullable")]
    pub invoice_number: Option<Text<0, 64>>,
    pub observed_at_ms: Millis,
    pub report_hash: Digest,
    pub schema: StatementSchema,
    pub verifier: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatementSchema {
    #[serde(rename = "verification-statement/v0.1")]
    V01,
}

/// A statement under its verifier's key. Whose key it is, only a [`Panel`] or a trust file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedStatement {
    pub key: Ed25519Key,
    /// Over [`Statement::signing_bytes`].
    pub signature: Hex<64>,
    pub statement: Statement,
}

/// A verifier's answer: a report, and its statement about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attested {
    pub report: Raw,
    pub signed: SignedStatement,
}

impl Statement {
    /// `VERIFICATION_STATEMENT_V1` and SHA-256 of the canonical form.
    pub fn signing_bytes(&self) -> Result<Vec<u8>, canon::Error> {
        let hash = Digest::of(&canon::to_vec(self)?);
        Ok([b"VERIFICATION_STATEMENT_V1".as_slice(), hash.as_bytes()].concat())
    }

    /// Signed. Refuses a signer that has no Ed25519 key.
    pub fn sign(self, signer: &dyn Signer) -> Result<SignedStatement, Refusal> {
        let keys::PublicKey::Ed25519(key) = signer.public() else {
            return Err(Refusal::Statement("signed with a key of another kind"));
        };
        let signature = signer.sign(&self.signing_bytes()?).map_err(Refusal::Keys)?;
        Ok(SignedStatement {
            key: Ed25519Key::from_bytes(*key.as_bytes()),
            signature: Hex::from_bytes(*signature.as_bytes()),
            statement: self,
        })
    }
}

impl SignedStatement {
    /// Whether the key it names signed it.
    pub fn holds(&self) -> bool {
        let signature = Signature::from_bytes(*self.signature.as_bytes());
        let message = self.statement.signing_bytes();
        message.is_ok_and(|message| self.key.key().is_ok_and(|key| key.verify(&message, &signature).is_ok()))
    }
}

/// A verifier as whoever asks it knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub name: Id,
    pub key: Ed25519Key,
}

/// The verifiers of a server, and how many of them have to say the same.
#[derive(Debug, Clone)]
pub struct Panel {
    seats: Vec<Seat>,
    required: usize,
}

/// What a verifier was asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub action: &'a HashedAction,
    pub trigger_id: &'a Text<1, 64>,
    pub now: Millis,
}

/// What enough verifiers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreed {
    /// The same report; when it was recorded is the earliest of their readings until a registry says otherwise.
    On(Evidence),
    /// That the invoice has another number, or none (spec 1.7 step 6).
    Number { on_record: Option<Text<0, 64>>, evidence: Box<Evidence> },
}

/// How far a verifier's clock may be off, and how old its reading may be when it arrives.
const SKEW_MS: u64 = 60_000;

impl Panel {
    /// Refuses names or keys that occur twice, and a number that two camps could reach.
    pub fn new(seats: Vec<Seat>, required: usize) -> Result<Self, Refusal> {
        let twice = |at: usize, seat: &Seat| {
            seats
                .iter()
                .skip(at.saturating_add(1))
                .any(|other| other.name == seat.name || other.key == seat.key)
        };
        if seats.iter().enumerate().any(|(at, seat)| twice(at, seat)) {
            return Err(Refusal::Panel("a verifier's name or key occurs twice"));
        }
        if required > seats.len() || required.saturating_mul(2) <= seats.len() {
            return Err(Refusal::Panel(
                "the quorum must be more than half of the verifiers, and at most all",
            ));
        }
        if seats.iter().any(|seat| seat.key.key().is_err()) {
            return Err(Refusal::Panel("not an ed25519 key"));
        }
        Ok(Self { seats, required })
    }

    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }
    pub const fn required(&self) -> usize {
        self.required
    }

    /// A verifier's answer about an invoice, if it is one to this question: a well-formed report on this action under this
    /// trigger, and a fresh statement about it under the very key that this name is known by.
    pub fn take(&self, name: &Id, answer: &[u8], asked: &Asked<'_>) -> Result<Attested, Refusal> {
        let (attested, report) = self.about(name, answer, asked.now, Report::read)?;
        let reference = asked.action.reference.as_ref().map(|reference| &reference.invoice_id);
        if report.action_hash != asked.action.hash() || reference != Some(&report.invoice_id) {
            return Err(Refusal::Statement("a report on another invoice"));
        }
        if report.trigger_id != *asked.trigger_id {
            return Err(Refusal::Statement("an answer to another question"));
        }
        Ok(attested)
    }

    /// The same of any report that `read` understands; what it is about is the caller's to compare.
    pub fn about<T>(
        &self,
        name: &Id,
        answer: &[u8],
        now: Millis,
        read: impl FnOnce(&[u8]) -> Result<Hashed<T>, Refusal>,
    ) -> Result<(Attested, Hashed<T>), Refusal> {
        let seat = self.seats.iter().find(|seat| seat.name == *name);
        let seat = seat.ok_or(Refusal::Statement("nobody of this panel"))?;
        let attested: Attested = canon::from_slice(answer)?;
        let report = read(attested.report.as_bytes())?;
        let SignedStatement { key, statement, .. } = &attested.signed;
        if *key != seat.key || statement.verifier != seat.name {
            return Err(Refusal::Statement("another verifier's name or key"));
        }
        if !attested.signed.holds() {
            return Err(Refusal::Statement("the signature does not hold"));
        }
        if statement.report_hash != report.hash() || attested.report.digest() != report.hash() {
            return Err(Refusal::Statement("a statement about another report"));
        }
        let (ago, ahead) = (now.since(statement.observed_at_ms), statement.observed_at_ms.since(now));
        if ago > SKEW_MS || ahead > SKEW_MS {
            return Err(Refusal::Statement("read too long ago, or ahead of time"));
        }
        Ok((attested, report))
    }

    /// What enough of them say in the same bytes, once they do. Whoever says otherwise is kept beside it.
    pub fn tally(&self, answers: &[Attested], action: &HashedAction) -> Option<Agreed> {
        let number = action.reference.as_ref().map(|reference| reference.invoice_number.as_str());
        let (same, dissent) = self.camp(answers)?;
        let said = same.first()?.signed.statement.invoice_number.clone();
        let report = Report::read(same.first()?.report.as_bytes()).ok()?;
        // Whatever does not exist has no number to differ.
        let differs = report.facts.exists && said.as_ref().map(Text::as_str) != number;
        let evidence = evidence(same, dissent)?;
        Some(if differs {
            Agreed::Number { on_record: said, evidence: Box::new(evidence) }
        } else {
            Agreed::On(evidence)
        })
    }

    /// The answers that enough verifiers gave, and the others.
    pub fn camp(&self, answers: &[Attested]) -> Option<(Vec<Attested>, Vec<Attested>)> {
        let alike = |one: &Attested, other: &Attested| {
            let (one, other) = (&one.signed.statement, &other.signed.statement);
            one.report_hash == other.report_hash && one.invoice_number == other.invoice_number
        };
        let first = answers
            .iter()
            .find(|one| answers.iter().filter(|other| alike(one, other)).count() >= self.required)?;
        Some(answers.iter().cloned().partition(|other| alike(first, other)))
    }
}

/// The evidence that a camp's answers make; none of no answer.
pub fn evidence(same: Vec<Attested>, dissent: Vec<Attested>) -> Option<Evidence> {
    let report = same.first()?.report.clone();
    let block_time_ms = same.iter().map(|one| one.signed.statement.observed_at_ms).min()?;
    let statements = same.into_iter().map(|one| one.signed).collect();
    Some(Evidence { block_time_ms, report_hash: report.digest(), report, statements, dissent })
}
