//! A card as input, and a sealed one: what is read is written back, and its hash does not depend on how it was spelled.

#![no_main]

use canon::Salt;
use pxp::{Card, CardInput};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(card) = canon::from_slice::<Card>(bytes) {
        reread(&card);
    }
    let Ok(input) = canon::from_slice::<CardInput>(bytes) else { return };
    let written = canon::to_vec(&input).unwrap();
    assert_eq!(canon::from_slice::<CardInput>(&written).unwrap(), input);
    if let Ok(card) = Card::seal(&input, Salt::from_bytes([7; 32])) {
        reread(&card);
        card.clause_root().unwrap();
        for (at, text) in card.clauses() {
            assert_eq!(card.clause(at), Some(text));
            let opening = card.open_clause(at).unwrap().unwrap();
            assert!(opening.is_of(card.clause_root().unwrap()).unwrap());
        }
    }
});

fn reread(card: &Card) {
    let written = canon::to_vec(card).unwrap();
    let again: Card = canon::from_slice(&written).unwrap();
    assert_eq!(again, *card);
    assert_eq!(again.hash().unwrap(), canon::Digest::of(&written));
}
