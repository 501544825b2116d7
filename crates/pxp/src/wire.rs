//! What agents and people send: cards and envelopes as input. Unknown members are refused, and so is everything beyond
//! a limit of spec 2.2: nothing that will be hashed or signed is ever cut (W-14).

use crate::limit::{self, Limit, TermValue};
use crate::{CommittedInput, QuestionId, Refusal};
use approvals::text::{identifier, look_alike};
use canon::{Digest, Salt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lengths in UTF-16 code units and counts (spec 2.2).
pub mod most {
    pub const TOPIC: usize = 160;
    pub const SEAT_NAME: usize = 80;
    pub const NAME: usize = 80;
    pub const ROLE: usize = 120;
    pub const ORG: usize = 120;
    pub const GOAL: usize = 400;
    pub const CLAUSES: usize = 12;
    pub const CLAUSE: usize = 300;
    pub const LIMITS: usize = 24;
    pub const LABEL: usize = 60;
    pub const UNIT: usize = 20;
    pub const CLAIMS: usize = 8;
    pub const CLAIM: usize = 400;
    pub const REF: usize = 160;
    pub const URI: usize = 1000;
    pub const REVIEWS: usize = 100;
    pub const REASON: usize = 300;
    pub const TERMS: usize = 10;
    pub const TERM: usize = 300;
    pub const VALUES: usize = 40;
    pub const DEPENDS_ON: usize = 100;
    pub const ID: usize = 20;
    pub const MESSAGE: usize = 1500;
    pub const QUESTION: usize = 400;
    pub const QUESTION_REASON: usize = 400;
    pub const ANSWER: usize = 1000;
    pub const AGENT: usize = 60;
    pub const MESSAGE_ID: usize = 64;
    pub const LABEL_CHANGES: usize = 8;
    pub const SHARES: usize = 50;
    pub const DISCLOSURES: usize = 200;
    pub const QUESTIONS_PER_ROOM: usize = 100;
}

/// Who a proxy speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Party {
    pub name: String,
    #[serde(default)]
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
}

/// An intent card as its principal confirms it (seed section 1). At least a goal and one must-have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardInput {
    pub principal: Party,
    /// One sentence: the outcome the principal wants.
    pub goal: String,
    /// Outcomes the proxy must secure.
    pub must_haves: Vec<String>,
    /// What the proxy may concede or accept without asking.
    #[serde(default)]
    pub may_agree_to: Vec<String>,
    /// Hard limits: never crossed, only escalated.
    #[serde(default)]
    pub must_never: Vec<String>,
    /// When the proxy must stop and ask.
    #[serde(default)]
    pub escalate_when: Vec<String>,
    /// Facts the principal asserts.
    #[serde(default)]
    pub known_facts: Vec<String>,
    /// Clauses made precise, so that the server can check them.
    #[serde(default)]
    pub limits: Vec<Limit>,
}

/// What an envelope does with the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Continue,
    Agree,
    Escalate,
}

/// Where a statement comes from (seed section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Stated,
    Sourced,
    Assumed,
}

/// What a seat makes of another's claim (seed section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accept,
    Challenge,
    Conflict,
}

/// A source that can be checked by anyone who fetches it: its digest is SHA-256 of the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub uri: String,
    #[schemars(with = "String")]
    pub sha256: Digest,
}

/// One message of a proxy, as it sends it (seed section 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeInput {
    pub message: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimInput>,
    /// A review for every claim of the others that has none by this seat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewInput>,
    /// A binding offer; with status `escalate` a draft that binds nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalInput>,
    /// With status `agree`: the exact offer accepted, by its `offer_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub accepts: Option<Digest>,
    /// With status `agree`: the clauses of the seat's own card that each term of the accepted offer rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    /// With status `escalate`: the one concrete question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<EscalationInput>,
}

/// A statement the proxy relies on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimInput {
    pub text: String,
    pub origin: Origin,
    /// For `stated` a clause of the own card (`known_facts[0]`); for `sourced` the document's name.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Words of the cited clause, which must appear in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Clauses of the own card that this claim bears on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
}

/// A review of another seat's claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewInput {
    pub claim_id: String,
    pub verdict: Verdict,
    #[serde(default)]
    pub reason: String,
    /// Clauses of the reviewer's own card that the claim bears on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
}

/// An offer: terms, the claims it depends on, and typed values of its terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalInput {
    pub terms: Vec<String>,
    /// Claim ids; `new1` is the first claim of this envelope.
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<TermValue>,
    /// The clauses of the proposer's own card that each term rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    /// How long the offer stands; the room's policy may set it for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u32>,
}

/// Which clauses one term rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cited {
    /// The term, from 0.
    pub term: u16,
    pub clauses: Vec<String>,
}

/// A question to the seat's own principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationInput {
    pub question: String,
    #[serde(default)]
    pub reason: String,
    /// The disputed claims it asks to clear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The offer it asks to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
    /// 64 hex digits, chosen by a seat that signs: the signature covers a commitment under it, not the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub salt: Option<Salt>,
}

/// What a principal decides about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Go ahead with exactly what was asked.
    Allow,
    /// Do not.
    Deny,
    /// Neither: new instructions, which become a clause of the card.
    Amend,
}

/// A principal's answer. Its canonical form is the body whose hash evidence signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerInput {
    pub question_id: QuestionId,
    pub ruling: Ruling,
    /// With `allow`: the disputed claims, among those the question names, that no longer block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clears: Vec<crate::ClaimId>,
    /// For the own side alone.
    pub text: String,
    /// What the other seats may read; absent: the ruling and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_summary: Option<String>,
    /// With `amend`: typed limits that replace those of the same label, or add to the card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

impl AnswerInput {
    /// The answer's canonical JSON: `Answer::body` of crate `approvals`.
    pub fn body(&self) -> Result<String, Refusal> {
        String::from_utf8(canon::to_vec(self)?).map_err(|error| Refusal::Bug(error.to_string()))
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        required("/text", &self.text, most::ANSWER)?;
        if let Some(summary) = &self.public_summary {
            required("/public_summary", summary, most::ANSWER)?;
        }
        if self.ruling != Ruling::Allow && !self.clears.is_empty() {
            return Err(Refusal::Misplaced { place: "/clears".into(), status: "allow" });
        }
        if self.ruling != Ruling::Amend && !self.limits.is_empty() {
            return Err(Refusal::Misplaced { place: "/limits".into(), status: "amend" });
        }
        count("/limits", self.limits.len(), most::LIMITS)?;
        for (index, limit) in self.limits.iter().enumerate() {
            if let Some(text) = &limit.label {
                label(&format!("/limits/{index}/label"), text)?;
            }
        }
        Ok(())
    }
}

impl Party {
    pub(crate) fn check(&self, place: &str) -> Result<(), Refusal> {
        principal(&format!("{place}/name"), &self.name, most::NAME)?;
        optional_name(&format!("{place}/role"), &self.role, most::ROLE)?;
        match &self.org {
            Some(org) => name(&format!("{place}/org"), org, most::ORG),
            None => Ok(()),
        }
    }
}

impl EscalationInput {
    /// The words, which a committed input does not show.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        question(&self.question, &self.reason)
    }
}

impl CommittedInput {
    /// Every length and count, and that each member fits the status. What needs the room is checked where it is decided.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        required("/message", &self.message, most::MESSAGE)?;
        count("/claims", self.claims.len(), most::CLAIMS)?;
        for (index, claim) in self.claims.iter().enumerate() {
            claim.check(&format!("/claims/{index}"))?;
        }
        count("/reviews", self.reviews.len(), most::REVIEWS)?;
        for (index, review) in self.reviews.iter().enumerate() {
            bounded(&format!("/reviews/{index}/claim_id"), &review.claim_id, most::ID)?;
            bounded(&format!("/reviews/{index}/reason"), &review.reason, most::REASON)?;
            count(&format!("/reviews/{index}/touches"), review.touches.len(), most::CLAUSES)?;
        }
        if let Some(proposal) = &self.proposal {
            proposal.check()?;
        }
        cited("/authority", &self.authority)?;
        if let Some(escalation) = &self.escalation {
            count("/escalation/claims", escalation.claims.len(), most::DEPENDS_ON)?;
        }
        self.check_status()
    }

    fn check_status(&self) -> Result<(), Refusal> {
        let misplaced = |place: &str, status| Refusal::Misplaced { place: place.into(), status };
        match self.status {
            Status::Agree => {
                if self.accepts.is_none() {
                    return Err(Refusal::AcceptsMissing);
                }
                if self.proposal.is_some() {
                    return Err(misplaced("/proposal", "continue"));
                }
            }
            Status::Continue | Status::Escalate => {
                if self.accepts.is_some() {
                    return Err(misplaced("/accepts", "agree"));
                }
                if !self.authority.is_empty() {
                    return Err(misplaced("/authority", "agree"));
                }
            }
        }
        match (self.status, &self.escalation) {
            (Status::Escalate, None) => Err(Refusal::Empty { place: "/escalation/question".into() }),
            (Status::Continue | Status::Agree, Some(_)) => Err(misplaced("/escalation", "escalate")),
            _ => Ok(()),
        }
    }
}

impl ClaimInput {
    fn check(&self, place: &str) -> Result<(), Refusal> {
        required(&format!("{place}/text"), &self.text, most::CLAIM)?;
        if let Some(reference) = &self.reference {
            optional_name(&format!("{place}/ref"), reference, most::REF)?;
        }
        if let Some(quote) = &self.quote {
            bounded(&format!("{place}/quote"), quote, most::CLAUSE)?;
        }
        if let Some(source) = &self.source {
            source.check(&format!("{place}/source"))?;
        }
        count(&format!("{place}/touches"), self.touches.len(), most::CLAUSES)
    }
}

impl Source {
    pub(crate) fn check(&self, place: &str) -> Result<(), Refusal> {
        let place = format!("{place}/uri");
        name(&place, &self.uri, most::URI)?;
        if self.is_https() {
            Ok(())
        } else {
            let detail = "an https address: no user name, no spaces, a host of plain letters".into();
            Err(Refusal::BadValue { place, detail })
        }
    }

    /// `https://`, a host of ASCII letters, digits, hyphens and dots without an `xn--` label, perhaps a port, and
    /// visible ASCII after it (RFC 3986). No user name and no backslash, which browsers read as a slash.
    pub(crate) fn is_https(&self) -> bool {
        let Some((scheme, rest)) = self.uri.split_once("://") else { return false };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("xn--"))
        };
        scheme.eq_ignore_ascii_case("https")
            && host.split('.').all(is_label)
            && (1..=5).contains(&port.len())
            && port.bytes().all(|b| b.is_ascii_digit())
            && rest.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    }
}

impl ProposalInput {
    fn check(&self) -> Result<(), Refusal> {
        if self.terms.is_empty() {
            return Err(Refusal::Empty { place: "/proposal/terms".into() });
        }
        count("/proposal/terms", self.terms.len(), most::TERMS)?;
        for (index, term) in self.terms.iter().enumerate() {
            required(&format!("/proposal/terms/{index}"), term, most::TERM)?;
        }
        count("/proposal/depends_on", self.depends_on.len(), most::DEPENDS_ON)?;
        for (index, id) in self.depends_on.iter().enumerate() {
            bounded(&format!("/proposal/depends_on/{index}"), id, most::ID)?;
        }
        count("/proposal/values", self.values.len(), most::VALUES)?;
        for (index, value) in self.values.iter().enumerate() {
            let place = format!("/proposal/values/{index}");
            label(&format!("{place}/label"), &value.label)?;
            if let Some(unit) = &value.unit {
                name(&format!("{place}/unit"), unit, most::UNIT)?;
            }
            if usize::from(value.term) >= self.terms.len() {
                return Err(Refusal::BadValue {
                    place: format!("{place}/term"),
                    detail: "no such term".into(),
                });
            }
            value.check().map_err(|detail| Refusal::BadValue { place, detail: detail.into() })?;
        }
        cited("/proposal/authority", &self.authority)
    }
}

/// The words of a question.
pub(crate) fn question(question: &str, reason: &str) -> Result<(), Refusal> {
    required("/escalation/question", question, most::QUESTION)?;
    bounded("/escalation/reason", reason, most::QUESTION_REASON)
}

fn cited(place: &str, cited: &[Cited]) -> Result<(), Refusal> {
    count(place, cited.len(), most::TERMS)?;
    for (index, one) in cited.iter().enumerate() {
        count(&format!("{place}/{index}/clauses"), one.clauses.len(), most::CLAUSES)?;
        for (k, clause) in one.clauses.iter().enumerate() {
            optional_name(&format!("{place}/{index}/clauses/{k}"), clause, most::ID.saturating_add(8))?;
        }
    }
    Ok(())
}

pub(crate) fn count(place: &str, count: usize, limit: usize) -> Result<(), Refusal> {
    if count > limit { Err(Refusal::TooMany { place: place.into(), count, limit }) } else { Ok(()) }
}

/// Free text: kept byte for byte, at most `limit` UTF-16 code units.
pub(crate) fn bounded(place: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    let units = text.encode_utf16().count();
    if units > limit { Err(Refusal::TooLong { place: place.into(), units, limit }) } else { Ok(()) }
}

/// Free text that says something.
pub(crate) fn required(place: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty { place: place.into() });
    }
    bounded(place, text, limit)
}

/// An identifier: no hidden, bidirectional or control characters (W-25).
pub(crate) fn name(place: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    required(place, text, limit)?;
    if has_hidden(text) { Err(Refusal::HiddenCharacters { place: place.into() }) } else { Ok(()) }
}

/// The same, or blank.
pub(crate) fn optional_name(place: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() { bounded(place, text, limit) } else { name(place, text, limit) }
}

/// A principal's name, by the rule that an organization's is under (`approvals::text::identifier`).
pub(crate) fn principal(place: &str, name: &str, limit: usize) -> Result<(), Refusal> {
    required(place, name, limit)?;
    identifier(name, limit, "/name").map_err(|refusal| match refusal {
        approvals::Refusal::NameSuspicious { why, .. } => {
            Refusal::NameSuspicious { place: place.into(), why: why.sentence() }
        }
        other => Refusal::BadValue { place: place.into(), detail: other.to_string() },
    })
}

/// Whether people could take one name for the other, equal ones among them.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    one == other || look_alike(one, [other]).is_some()
}

/// What a limit and a value are matched by: see [`limit::is_label`].
pub(crate) fn label(place: &str, text: &str) -> Result<(), Refusal> {
    required(place, text, most::LABEL)?;
    if limit::is_label(text) { Ok(()) } else { Err(Refusal::LabelSuspicious { place: place.into() }) }
}

/// Characters a reader cannot see or that reorder what is read.
pub(crate) fn has_hidden(text: &str) -> bool {
    text.chars().any(|c| {
        c.is_control()
            || matches!(c,
                '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    })
}
