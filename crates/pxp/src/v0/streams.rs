//! How many event streams may be open (spec 4.2).

use super::room::Side;
use std::collections::HashMap;

/// The streams that are open, by a number each.
#[derive(Debug, Clone, Default)]
pub struct Streams {
    open: HashMap<u64, (String, Option<Side>)>,
    next: u64,
}

/// A new stream and the one that must end for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    pub stream: u64,
    pub ends: Option<u64>,
}

/// Streams without a seat, demos among them: in one room, in all.
const ANONYMOUS_IN_ROOM: usize = 20;
const ANONYMOUS: usize = 800;
const IN_SEAT: usize = 5;
const ALL: usize = 1200;

impl Streams {
    /// Admits a stream of a seat, or of nobody. A seat's sixth replaces its oldest. `None`: too many.
    pub fn admit(&mut self, room: &str, side: Option<Side>) -> Option<Admitted> {
        let of_kind = |wanted: Option<Side>| {
            self.open.iter().filter(move |(_, (at, side))| at == room && *side == wanted).map(|(&id, _)| id)
        };
        let mut ends = None;
        match side {
            None => {
                let anonymous = self.open.values().filter(|(_, side)| side.is_none()).count();
                if of_kind(None).count() >= ANONYMOUS_IN_ROOM || anonymous >= ANONYMOUS {
                    return None;
                }
            }
            Some(_) if of_kind(side).count() >= IN_SEAT => ends = of_kind(side).min(),
            Some(_) => {}
        }
        if ends.is_none() && self.open.len() >= ALL {
            return None;
        }
        if let Some(ends) = ends {
            self.open.remove(&ends);
        }
        self.next = self.next.saturating_add(1);
        self.open.insert(self.next, (room.to_owned(), side));
        Some(Admitted { stream: self.next, ends })
    }

    /// The stream has ended.
    pub fn close(&mut self, stream: u64) {
        self.open.remove(&stream);
    }
}
