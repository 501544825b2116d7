//! The journal: durable streams, compare-and-append, an outbox in the same transaction, and watches.

pub mod journal;
