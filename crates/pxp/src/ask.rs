//! Questions to principals as asks of crate `approvals`.

use crate::state::State;
use crate::{ClaimId, Refusal};
use approvals::Ask;

impl State {
    /// What waits for a person now: the pending question, or the confirmation of its relayed answer.
    pub fn asks(&self) -> Vec<Ask> {
        Vec::new()
    }

    /// What a person signs who vouches for a claim (`accept`) or says it is wrong, from a seat.
    pub fn claim_ask(&self, seat: crate::SeatId, claim: &ClaimId) -> Result<Ask, Refusal> {
        let _ = (seat, claim);
        Err(Refusal::RoomUnknown)
    }
}
