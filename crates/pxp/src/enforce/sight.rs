use crate::envelope::{Envelope, Flag};
use crate::wire::Origin;
use crate::{Card, ClaimId, ClauseRef};

/// What enforcement sees of the seat's card. The server sees the card. Whoever replays a room has what was recorded beside
/// it, and where the card is withheld takes the record's word for what only the card can say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sight<'a> {
    pub card: Option<&'a Card>,
    pub told: Option<&'a Envelope>,
}

/// What a card makes of a claim that cites it.
pub(super) enum Clause {
    Says,
    SaysOtherwise,
    Missing,
}

impl<'a> Sight<'a> {
    pub const fn of(card: &'a Card) -> Self {
        Self { card: Some(card), told: None }
    }

    pub fn has(self, clause: &str) -> bool {
        match (self.card, clause.parse::<ClauseRef>()) {
            (Some(card), Ok(at)) => card.clause(at).is_some(),
            (None, Ok(_)) => true,
            (_, Err(_)) => false,
        }
    }

    /// Whether the card has a clause that was cited for a term. `flag` is what the record holds where it has not.
    pub fn allows(self, clause: &str, flag: &Flag) -> bool {
        self.has(clause) && (self.card.is_some() || !self.flagged(flag))
    }

    /// What the cited clause makes of a claim with these words in quotes.
    pub(super) fn states(self, id: &ClaimId, clause: &str, quote: Option<&str>) -> Clause {
        let Ok(at) = clause.parse::<ClauseRef>() else { return Clause::Missing };
        if let Some(card) = self.card {
            return match (card.clause(at), quote) {
                (Some(text), Some(quote)) if !super::claims::quotes(text, quote) => Clause::SaysOtherwise,
                (Some(_), _) => Clause::Says,
                (None, _) => Clause::Missing,
            };
        }
        let told = self.told.and_then(|told| told.claims.iter().find(|claim| claim.id == *id));
        let about = format!("{id} is ");
        let otherwise = |flag: &Flag| flag.code == "quote_not_in_clause" && flag.message.starts_with(&about);
        match told {
            Some(claim) if claim.origin == Origin::Stated => Clause::Says,
            Some(_) if quote.is_some() && self.flags().iter().any(otherwise) => Clause::SaysOtherwise,
            _ => Clause::Missing,
        }
    }

    pub fn flagged(self, flag: &Flag) -> bool {
        self.flags().contains(flag)
    }

    pub fn flags(self) -> &'a [Flag] {
        self.told.map(|told| told.protocol_flags.as_slice()).unwrap_or_default()
    }
}
