//! What has been said in a room, as enforcement looks it up: no message costs a walk over all that came before it.

use crate::enforce::normal;
use crate::facts;
use crate::facts::Known;
use crate::limit::TermValue;
use std::collections::{BTreeSet, HashMap};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    /// The place of the first claim with these words.
    words: HashMap<String, usize>,
    /// What claims and typed values say.
    pub facts: Known,
    /// The places of claims that somebody has not accepted.
    pub disputed: BTreeSet<usize>,
}

impl Said {
    pub fn claim(&mut self, at: usize, text: &str) {
        self.words.entry(normal(text)).or_insert(at);
        self.facts.learn(text);
    }

    pub fn value(&mut self, value: &TermValue) {
        facts::spellings(value).iter().for_each(|text| self.facts.learn(text));
    }

    /// The place of the first claim with the same words.
    pub fn first(&self, text: &str) -> Option<usize> {
        self.words.get(&normal(text)).copied()
    }
}
