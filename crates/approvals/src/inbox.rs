use crate::{Ask, Person, Right};
use env::Timestamp;

/// One line of a person's inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting<'a> {
    pub ask: &'a Ask,
    pub right: Right,
}

/// The asks this person may answer now, the most urgent first: by expiry, then by when they were asked, then by id.
pub fn inbox<'a>(
    asks: impl IntoIterator<Item = &'a Ask>,
    person: &Person,
    now: Timestamp,
) -> Vec<Waiting<'a>> {
    let open = asks.into_iter().filter(|ask| !ask.is_expired(now));
    let mut waiting: Vec<_> =
        open.filter_map(|ask| person.right(&ask.audience).map(|right| Waiting { ask, right })).collect();
    waiting.sort_by_key(|w| (w.ask.expires_at.is_none(), w.ask.expires_at, w.ask.asked_at, &w.ask.id));
    waiting
}
