use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A room with its payloads, its brief and the keys to check them.
    RoomBundle,
    /// A decision brief under its server's signature.
    Brief,
    /// A stream as JSON Lines.
    LedgerExport,
    /// A C2SP checkpoint of a log.
    Checkpoint,
    /// What was done under a mandate, whole: as an export, or as a proof without a claim.
    MandateLog,
    /// A run of a mandate's log, with its closing and its anchor.
    RunLog,
    /// A mandate's receipt, with the log that gives it.
    Receipt,
    /// A brief that an approver was shown, with the log that shows it.
    MandateBrief,
    /// Records of what an agent did, from its signer's log.
    Evidence,
    /// Whether a quote is on market, under the verifiers' statements.
    Basis,
    /// A Masumi job: what was asked and delivered, under the MIP-004 hashes of its payment.
    MasumiJob,
    /// What an agent says to another, with records as proof.
    Message,
}

/// The answer, and the exit code that says it (D9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// 0: every check passed.
    Valid,
    /// 3: a message that may be accepted, and not everything it claims is proven.
    Unproven,
    /// 1: the file says what it is, and it does not hold.
    Refused,
    /// 2: no proof at all: unreadable, not strict JSON, of no known kind, or without the trust it needs.
    Unusable,
}

impl Verdict {
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Valid => 0,
            Self::Unproven => 3,
            Self::Refused => 1,
            Self::Unusable => 2,
        }
    }
}

/// What a verifier found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub verdict: Verdict,
    pub kind: Option<Kind>,
    /// Why it is not valid: a stable word. Absent where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Where: a JSON Pointer, `entry N`, or `byte N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The same for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether the keys came from the verifier. If not, the file vouches for itself: it is whole, but anyone may have
    /// made it.
    pub pinned: bool,
    /// What was read and checked, for display: names are stable, values are text.
    pub facts: BTreeMap<&'static str, String>,
    /// Of a room, what could not be checked because it is withheld or rests on what is: `brief`, `card of seat B`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// Of evidence, what was checked one by one.
    #[serde(flatten)]
    pub evidence: Option<Evidence>,
    /// Of a message, what is found of each claim.
    #[serde(flatten)]
    pub message: Option<Message>,
}

/// How a message is judged, in the words of its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `accept`, `accept_unproven` or `reject`.
    pub overall: &'static str,
    /// The class of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    pub claims: Vec<Claim>,
    /// The hash of the grant it is asked under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub id: String,
    /// `proven`, `unproven` or `failed`.
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}

/// How evidence is reported, in the words of its format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub integrity: String,
    /// How far the log's word is seconded.
    pub assurance: String,
    /// The check that failed first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<&'static str>,
    pub checks: Vec<pcm::bundle::Check>,
}

impl Evidence {
    /// Whether a check warns.
    pub fn warned(&self) -> bool {
        self.checks.iter().any(|check| check.status == pcm::bundle::Status::Warn)
    }
}

impl Report {
    pub(crate) const fn new(pinned: bool) -> Self {
        Self {
            verdict: Verdict::Valid,
            kind: None,
            code: None,
            place: None,
            detail: None,
            pinned,
            facts: BTreeMap::new(),
            unchecked: Vec::new(),
            evidence: None,
            message: None,
        }
    }

    pub(crate) fn fact(&mut self, name: &'static str, value: impl fmt::Display) {
        self.facts.insert(name, value.to_string());
    }

    pub(crate) fn conclude(mut self, outcome: Check) -> Self {
        if let Err(stop) = outcome {
            self.verdict = stop.verdict;
            self.code = Some(stop.code);
            self.place = Some(stop.place).filter(|place| !place.is_empty());
            self.detail = Some(stop.detail);
        }
        self
    }
}

pub(crate) type Check<T = ()> = Result<T, Stop>;

/// The first failure ends the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    verdict: Verdict,
    code: &'static str,
    place: String,
    detail: String,
}

impl Stop {
    pub(crate) fn refused(code: &'static str, place: impl fmt::Display, detail: impl fmt::Display) -> Self {
        Self { verdict: Verdict::Refused, code, place: place.to_string(), detail: detail.to_string() }
    }

    pub(crate) fn unproven(code: &'static str, place: impl fmt::Display, detail: impl fmt::Display) -> Self {
        Self { verdict: Verdict::Unproven, ..Self::refused(code, place, detail) }
    }

    pub(crate) fn unusable(code: &'static str, place: impl fmt::Display, detail: impl fmt::Display) -> Self {
        Self { verdict: Verdict::Unusable, ..Self::refused(code, place, detail) }
    }

    /// Not strict JSON.
    pub(crate) fn unusable_json(error: &canon::Error) -> Self {
        Self::unusable(error.code.as_str(), &error.place, &error.detail)
    }

    /// Strict JSON of a known kind, and not of its closed shape.
    pub(crate) fn shape(error: &canon::Error) -> Self {
        Self::refused(error.code.as_str(), &error.place, &error.detail)
    }

    /// A failure of the ledger's own checks, at `place` unless it knows better.
    pub(crate) fn ledger(error: &ledger::Error, place: &str) -> Self {
        use ledger::Coded;
        Self::refused(error.code(), place, error)
    }
}
