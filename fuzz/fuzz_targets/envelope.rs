//! An envelope as input, and a recorded one: what is read is written back, and hashes without a panic.

#![no_main]

use pxp::{Envelope, EnvelopeInput, RoomId, SeatId};
use std::sync::LazyLock;

static PLACE: LazyLock<(RoomId, SeatId)> =
    LazyLock::new(|| ("7k2mzq4d0a".parse().unwrap(), "A".parse().unwrap()));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(envelope) = canon::from_slice::<Envelope>(bytes) {
        let written = canon::to_vec(&envelope).unwrap();
        assert_eq!(canon::from_slice::<Envelope>(&written).unwrap(), envelope);
        envelope.hash().unwrap();
    }
    let Ok(input) = canon::from_slice::<EnvelopeInput>(bytes) else { return };
    let written = canon::to_vec(&input).unwrap();
    let again: EnvelopeInput = canon::from_slice(&written).unwrap();
    assert_eq!(again, input);
    let (room, seat) = &*PLACE;
    let signed = pxp::signing_bytes(room, *seat, "m1", &input).ok();
    assert_eq!(pxp::signing_bytes(room, *seat, "m1", &again).ok(), signed);
});
