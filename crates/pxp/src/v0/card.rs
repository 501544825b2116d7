//! The intent card (spec 2.3).

use super::text::{limit, list, text};
use super::{Refusal, Side};
use canon::{Digest, Value};
use env::Timestamp;
use serde::{Deserialize, Serialize};

/// A card as it is hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Always `"0"`.
    pub pxp: String,
    pub principal: Principal,
    pub goal: String,
    pub must_haves: Vec<String>,
    pub may_agree_to: Vec<String>,
    pub must_never: Vec<String>,
    pub escalate_when: Vec<String>,
    pub known_facts: Vec<String>,
    pub amendments: Vec<Amendment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    pub name: String,
    /// May be empty, is never absent.
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
}

/// A principal's answer, sealed into the card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    pub question: String,
    pub answer: String,
    pub at: Timestamp,
}

/// Items of one list of a card.
const ITEMS: usize = 12;

impl Card {
    /// A card of whatever was sent: always of the right shape, with no amendment. A missing name is the seat's.
    pub fn normalise(raw: &Value<'_>, seat_name: &str, side: Side) -> Self {
        let principal = raw.get("principal");
        let part = |key, max| text(principal.and_then(|principal| principal.get(key)), max);
        let clauses = |key| list(raw.get(key), ITEMS, limit::CLAUSE);
        let name = [part("name", limit::NAME), seat_name.to_owned(), format!("Principal {side}")]
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        Self {
            pxp: "0".to_owned(),
            principal: Principal {
                name,
                role: part("role", limit::ROLE),
                org: Some(part("org", limit::ORG)).filter(|org| !org.is_empty()),
            },
            goal: text(raw.get("goal"), limit::GOAL),
            must_haves: clauses("must_haves"),
            may_agree_to: clauses("may_agree_to"),
            must_never: clauses("must_never"),
            escalate_when: clauses("escalate_when"),
            known_facts: clauses("known_facts"),
            amendments: Vec::new(),
        }
    }

    /// Refuses a card without a goal or without a must-have.
    pub fn validate(&self) -> Result<(), Refusal> {
        let missing = [
            (self.goal.is_empty(), "The card needs a goal."),
            (self.must_haves.is_empty(), "The card needs at least one must-have."),
        ];
        let complaints: Vec<&str> = missing.iter().filter(|(bad, _)| *bad).map(|(_, text)| *text).collect();
        if complaints.is_empty() { Ok(()) } else { Err(Refusal::BadCard(complaints.join(" "))) }
    }

    /// `card_hash`, and `intent_hash` of the envelopes sent under it.
    pub fn hash(&self) -> Digest {
        // INVARIANT: texts and lists of texts always have a canonical form.
        canon::to_vec(self).map_or(Digest::ZERO, |bytes| Digest::of(&bytes))
    }
}
