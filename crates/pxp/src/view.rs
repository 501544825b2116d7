//! What each viewer sees of a room (spec 2.10, 2.11, W-10).

use crate::SeatId;
use crate::command::Scope;

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// The seat's agent.
    Seat(SeatId),
    /// The seat's person: what the agent sees, and the words of their own questions and answers.
    Principal(SeatId),
    /// A share link.
    Share(Scope),
    /// Anyone else: nothing but that there is something to be let into.
    Nobody,
}
