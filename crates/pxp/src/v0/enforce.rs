//! What is made of a raw envelope (spec 5): six rules in order, each flagged one a sentence with its code at the end.

use super::envelope::{
    Accepts, Claim, Envelope, Escalation, From, Origin, Proposal, Review, Status, Verdict,
};
use super::text::{cut, limit, text};
use super::{Mode, Side, State};
use canon::Value;

/// A rule that fired. Its code is stable; its sentence stands in `protocol_flags`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flag {
    /// Rule 1.
    ClaimWithoutRef { claim: String, tag: Origin },
    /// Rule 2.
    ClaimCitesOtherSide { claim: String, source: String },
    /// Rule 3.
    AgreeWithConflict,
    /// Rule 4.
    AgreeWithoutProposal,
    /// Rule 5.
    AgreeOnDisputed { ids: Vec<String> },
}

/// Claims taken from one envelope, and terms from one proposal.
const CLAIMS: usize = 8;
const TERMS: usize = 10;

/// What is asked when an escalation brings no question.
pub const STOCK_QUESTION: &str =
    "My proxy needs a decision from me before it can go on. How should it proceed?";

/// The envelope `side` sends now. Always valid, whatever `raw` is.
pub fn enforce(state: &State, side: Side, raw: &Value<'_>) -> (Envelope, Vec<Flag>) {
    let seq = state.turn_count.saturating_add(1);
    let mut flags = Vec::new();
    let (claims, kept) = claims(raw, side, seq, &mut flags);
    let reviews = reviews(state, side, raw);
    let mut proposal = proposal(raw, &kept);
    let mut status = match raw.get("status").and_then(Value::as_str) {
        Some("agree") => Status::Agree,
        Some("escalate") => Status::Escalate,
        _ => Status::Continue,
    };
    let mut accepts = None;
    if status == Status::Agree {
        match acceptable(state, side, &reviews) {
            Ok(accepted) => {
                accepts = Some(accepted);
                proposal = None;
            }
            Err(flag) => {
                status = Status::Continue;
                flags.push(flag);
            }
        }
    }
    let seat = state.seat(side);
    let envelope = Envelope {
        pxp: "0".to_owned(),
        room: state.id.clone(),
        seq,
        from: From {
            seat: side,
            principal: seat.principal().to_owned(),
            speaker: "proxy".to_owned(),
            agent: seat.agent.clone().filter(|_| seat.mode == Mode::External),
        },
        intent_hash: seat.card_hash().unwrap_or(canon::Digest::ZERO),
        message: text(raw.get("message"), limit::MESSAGE),
        claims,
        reviews,
        status,
        proposal_hash: proposal.as_ref().map(Proposal::hash),
        proposal,
        accepts,
        escalation: (status == Status::Escalate).then(|| escalation(raw)),
        protocol_flags: (!flags.is_empty()).then(|| flags.iter().map(Flag::sentence).collect()),
        answer: None,
        answer_via: None,
    };
    (envelope, flags)
}

impl Flag {
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ClaimWithoutRef { .. } => "claim_without_ref",
            Self::ClaimCitesOtherSide { .. } => "claim_cites_other_side",
            Self::AgreeWithConflict => "agree_with_conflict",
            Self::AgreeWithoutProposal => "agree_without_proposal",
            Self::AgreeOnDisputed { .. } => "agree_on_disputed",
        }
    }

    /// The sentence, with the code in brackets at its end.
    pub fn sentence(&self) -> String {
        let words = match self {
            Self::ClaimWithoutRef { claim, tag } => {
                let tag = if *tag == Origin::Sourced { "sourced" } else { "stated" };
                format!(
                    "Claim \"{}\" was tagged {tag} without a reference and counts as assumed.",
                    cut(claim, 60)
                )
            }
            Self::ClaimCitesOtherSide { claim, source } => format!(
                "Claim \"{}\" was tagged stated but cites the other side (\"{source}\") and counts as assumed.",
                cut(claim, 60)
            ),
            Self::AgreeWithConflict => "Agreement withheld: the same message flags a conflict.".to_owned(),
            Self::AgreeWithoutProposal => {
                "Agreement withheld: the other side has made no proposal.".to_owned()
            }
            Self::AgreeOnDisputed { ids } => format!(
                "Agreement withheld: the proposal depends on disputed claims ({}); ask the principal first.",
                ids.join(", ")
            ),
        };
        format!("{words} [{}]", self.code())
    }
}

/// The claims, and the ids of the kept ones for `newN`.
fn claims(raw: &Value<'_>, side: Side, seq: u64, flags: &mut Vec<Flag>) -> (Vec<Claim>, Vec<String>) {
    let mut claims = Vec::new();
    let sent = raw.get("claims").and_then(Value::as_array).unwrap_or_default();
    for (place, raw) in sent.iter().take(CLAIMS).enumerate() {
        let words = text(raw.get("text"), limit::CLAIM);
        if words.is_empty() {
            continue;
        }
        let source = text(raw.get("ref"), limit::REF);
        let mut origin = match raw.get("origin").and_then(Value::as_str) {
            Some("stated") => Origin::Stated,
            Some("sourced") => Origin::Sourced,
            _ => Origin::Assumed,
        };
        if origin != Origin::Assumed && source.is_empty() {
            flags.push(Flag::ClaimWithoutRef { claim: words.clone(), tag: origin });
            origin = Origin::Assumed;
        } else if origin == Origin::Stated && cites_other_side(&source) {
            flags.push(Flag::ClaimCitesOtherSide { claim: words.clone(), source: source.clone() });
            origin = Origin::Assumed;
        }
        let id = format!("{side}{seq}.{}", place.saturating_add(1));
        claims.push(Claim {
            id,
            text: words,
            origin,
            source: Some(source).filter(|source| !source.is_empty()),
        });
    }
    let ids = claims.iter().map(|claim| claim.id.clone()).collect();
    (claims, ids)
}

/// Whether a reference begins with one of five words and then ends or goes on with no word character.
fn cites_other_side(source: &str) -> bool {
    ["other", "their", "counterpart", "b", "a"].iter().any(|word| {
        let (Some(start), Some(rest)) = (source.get(..word.len()), source.get(word.len()..)) else {
            return false;
        };
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        start.eq_ignore_ascii_case(word) && ends
    })
}

fn reviews(state: &State, side: Side, raw: &Value<'_>) -> Vec<Review> {
    let sent = raw.get("reviews").and_then(Value::as_array).unwrap_or_default();
    let reviews = sent.iter().map(|raw| Review {
        claim_id: text(raw.get("claim_id"), limit::CLAIM_ID),
        verdict: match raw.get("verdict").and_then(Value::as_str) {
            Some("accept") => Verdict::Accept,
            Some("conflict") => Verdict::Conflict,
            _ => Verdict::Challenge,
        },
        reason: text(raw.get("reason"), limit::REASON),
    });
    reviews
        .filter(|review| state.claim(&review.claim_id).is_some_and(|claim| claim.seat == side.other()))
        .collect()
}

fn proposal(raw: &Value<'_>, kept: &[String]) -> Option<Proposal> {
    let raw = raw.get("proposal")?;
    let terms = raw.get("terms").and_then(Value::as_array).filter(|terms| !terms.is_empty())?;
    let depends_on = raw.get("depends_on").and_then(Value::as_array).unwrap_or_default();
    Some(Proposal {
        terms: terms
            .iter()
            .take(TERMS)
            .map(|term| text(Some(term), limit::TERM))
            .filter(|term| !term.is_empty())
            .collect(),
        depends_on: depends_on
            .iter()
            .map(|id| text(Some(id), limit::CLAIM_ID))
            .filter(|id| !id.is_empty())
            .map(|id| named(&id, kept).unwrap_or(id))
            .collect(),
    })
}

/// `new2` is the second claim kept of the same envelope.
fn named(id: &str, kept: &[String]) -> Option<String> {
    let place: usize = id.strip_prefix("new")?.parse().ok()?;
    kept.get(place.checked_sub(1)?).cloned()
}

fn escalation(raw: &Value<'_>) -> Escalation {
    let raw = raw.get("escalation");
    let part = |key, max| text(raw.and_then(|raw| raw.get(key)), max);
    let question = part("question", limit::QUESTION);
    Escalation {
        question: if question.is_empty() { STOCK_QUESTION.to_owned() } else { question },
        reason: part("reason", limit::QUESTION),
    }
}

/// Rules 3, 4 and 5: what an agreement would accept, or the one that withholds it.
fn acceptable(state: &State, side: Side, reviews: &[Review]) -> Result<Accepts, Flag> {
    if reviews.iter().any(|review| review.verdict == Verdict::Conflict) {
        return Err(Flag::AgreeWithConflict);
    }
    let Some((seq, proposal, hash)) = state.latest_proposal(side.other()) else {
        return Err(Flag::AgreeWithoutProposal);
    };
    let disputed = |id: &String| {
        reviews.iter().any(|review| review.claim_id == *id && review.verdict != Verdict::Accept)
            || state.disputes(side, id)
    };
    let ids: Vec<String> = proposal.depends_on.iter().filter(|id| disputed(id)).cloned().collect();
    if ids.is_empty() { Ok(Accepts { seq, proposal_hash: hash }) } else { Err(Flag::AgreeOnDisputed { ids }) }
}
