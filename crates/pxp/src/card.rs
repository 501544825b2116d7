//! Sealed intent cards (seed section 1, spec 2.3), and the commitments by which one clause can be shown alone (W-12).

use crate::limit::Limit;
use crate::wire::{CardInput, Party, count, most, required};
use crate::{ClauseRef, List, Refusal};
use canon::{Digest, Salt};
use env::Timestamp;
use ledger::merkle::{self, MemoryTree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A card as it is hashed. `card_hash` is SHA-256 of its canonical form; the salt inside keeps the hash from being
/// guessed. Without salt and limits this is the v0 card, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Always `"0"`.
    pub pxp: String,
    pub principal: Party,
    pub goal: String,
    pub must_haves: Vec<String>,
    pub may_agree_to: Vec<String>,
    pub must_never: Vec<String>,
    pub escalate_when: Vec<String>,
    pub known_facts: Vec<String>,
    pub amendments: Vec<Amendment>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// 64 hex digits. Every card of profile `strict` has one; it stays through amendments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub salt: Option<Salt>,
}

/// A later answer of the principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    pub question: String,
    pub answer: String,
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// One clause shown to another seat: enough to check it against the card's `clause_root`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClauseOpening {
    #[serde(rename = "ref")]
    pub reference: ClauseRef,
    pub text: String,
    #[schemars(with = "String")]
    pub salt: Salt,
    /// The leaf's place in the tree, from 0, and the tree's size.
    pub index: u64,
    pub size: u64,
    /// The RFC 9162 inclusion proof.
    #[schemars(with = "Vec<String>")]
    pub proof: Vec<Digest>,
}

#[derive(Serialize)]
struct Leaf<'a> {
    #[serde(rename = "ref")]
    reference: ClauseRef,
    text: &'a str,
}

impl Card {
    /// The card of an input, salted. Refuses what spec 2.2 limits and limits that could never be compared.
    pub fn seal(input: &CardInput, salt: Salt) -> Result<Self, Refusal> {
        let card = Self {
            pxp: "0".to_owned(),
            principal: input.principal.clone(),
            goal: input.goal.clone(),
            must_haves: input.must_haves.clone(),
            may_agree_to: input.may_agree_to.clone(),
            must_never: input.must_never.clone(),
            escalate_when: input.escalate_when.clone(),
            known_facts: input.known_facts.clone(),
            amendments: Vec::new(),
            limits: input.limits.clone(),
            salt: Some(salt),
        };
        card.check()?;
        Ok(card)
    }

    /// Whether it could have been sealed: every length and count, limits that can be compared and name a clause of it.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.principal.check("/principal")?;
        required("/goal", &self.goal, most::GOAL)?;
        if self.must_haves.is_empty() {
            return Err(Refusal::Empty { place: "/must_haves".into() });
        }
        for (list, clauses) in [
            ("must_haves", &self.must_haves),
            ("may_agree_to", &self.may_agree_to),
            ("must_never", &self.must_never),
            ("escalate_when", &self.escalate_when),
            ("known_facts", &self.known_facts),
        ] {
            count(&format!("/{list}"), clauses.len(), most::CLAUSES)?;
            for (index, clause) in clauses.iter().enumerate() {
                required(&format!("/{list}/{index}"), clause, most::CLAUSE)?;
            }
        }
        count("/limits", self.limits.len(), most::LIMITS)?;
        self.check_limits(&self.limits)
    }

    /// SHA-256 of the canonical form.
    pub fn hash(&self) -> Result<Digest, Refusal> {
        Ok(Digest::of(&canon::to_vec(self)?))
    }

    /// The card after an answer. `limits` replace those of the same label and kind, or are added.
    pub fn amended(&self, amendment: Amendment, limits: &[Limit]) -> Result<Self, Refusal> {
        let mut card = self.clone();
        card.amendments.push(amendment);
        card.check_limits(limits)?;
        for limit in limits {
            card.limits.retain(|old| {
                old.label != limit.label || old.kind != limit.kind || old.is_trigger() != limit.is_trigger()
            });
            card.limits.push(limit.clone());
        }
        Ok(card)
    }

    /// The text of a clause; of an amendment its answer.
    pub fn clause(&self, at: ClauseRef) -> Option<&str> {
        let index = usize::from(at.index);
        match at.list {
            List::MustHaves => self.must_haves.get(index),
            List::MayAgreeTo => self.may_agree_to.get(index),
            List::MustNever => self.must_never.get(index),
            List::EscalateWhen => self.escalate_when.get(index),
            List::KnownFacts => self.known_facts.get(index),
            List::Amendment => self.amendments.get(index).map(|amendment| &amendment.answer),
        }
        .map(String::as_str)
    }

    /// Every clause, in the order of the lists.
    pub fn clauses(&self) -> impl Iterator<Item = (ClauseRef, &str)> {
        List::ALL.into_iter().flat_map(move |list| {
            (0_u16..).map_while(move |index| {
                let at = ClauseRef { list, index };
                self.clause(at).map(|text| (at, text))
            })
        })
    }

    /// RFC 9162 root over one hiding commitment per clause: what `card_sealed` publishes beside the card's hash.
    pub fn clause_root(&self) -> Result<Digest, Refusal> {
        Ok(merkle::root(&self.leaves()?))
    }

    /// Opens one clause for another seat.
    pub fn open_clause(&self, at: ClauseRef) -> Result<Option<ClauseOpening>, Refusal> {
        let Some(index) = self.clauses().position(|(reference, _)| reference == at) else { return Ok(None) };
        let mut tree = MemoryTree::new();
        for leaf in self.leaves()? {
            tree.push(leaf);
        }
        let (index, size) = (u64::try_from(index).unwrap_or(u64::MAX), tree.size());
        let proof =
            merkle::prove_inclusion(&tree, index, size).map_err(|error| Refusal::Bug(error.to_string()))?;
        let text = self.clause(at).unwrap_or_default().to_owned();
        Ok(Some(ClauseOpening { reference: at, text, salt: self.clause_salt(at), index, size, proof }))
    }

    fn leaves(&self) -> Result<Vec<Digest>, Refusal> {
        self.clauses().map(|(at, text)| clause_leaf(at, text, &self.clause_salt(at))).collect()
    }

    /// HMAC of the clause's name under the card's salt, so that one clause's salt says nothing of another's.
    fn clause_salt(&self, at: ClauseRef) -> Salt {
        let salt = self.salt.unwrap_or(Salt::from_bytes([0; 32]));
        Salt::from_bytes(*canon::commit(&salt, "pxp.clause.salt.v1", at.to_string().as_bytes()).as_bytes())
    }

    fn check_limits(&self, limits: &[Limit]) -> Result<(), Refusal> {
        for (index, limit) in limits.iter().enumerate() {
            let place = format!("/limits/{index}");
            if let Some(label) = &limit.label {
                crate::wire::label(&format!("{place}/label"), label)?;
            }
            if self.clause(limit.clause).is_none() {
                let clause = limit.clause.to_string();
                return Err(Refusal::UnknownClause { place: format!("{place}/clause"), clause });
            }
            limit.check().map_err(|detail| Refusal::BadValue { place, detail: detail.into() })?;
        }
        Ok(())
    }
}

impl ClauseOpening {
    /// Whether this clause is part of the card that published `root`.
    pub fn is_of(&self, root: Digest) -> Result<bool, Refusal> {
        let leaf = clause_leaf(self.reference, &self.text, &self.salt)?;
        Ok(merkle::verify_inclusion(&leaf, self.index, self.size, &self.proof, &root).is_ok())
    }
}

fn clause_leaf(reference: ClauseRef, text: &str, salt: &Salt) -> Result<Digest, Refusal> {
    let commitment = canon::commit(salt, "pxp.clause.v1", &canon::to_vec(&Leaf { reference, text })?);
    Ok(merkle::leaf_hash(commitment.as_bytes()))
}
