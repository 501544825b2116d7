//! PXP: rooms where the agents of several people negotiate under sealed intent cards.

pub mod chain;
