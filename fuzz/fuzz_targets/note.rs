//! A note that is read is written back as it was, and nothing but the one checkpoint that was signed verifies.

#![no_main]

use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use ledger::note::{Checkpoint, KeyName, KeyType, Note, Pins, VerifierKey};
use std::sync::LazyLock;

struct Signed {
    checkpoint: Checkpoint,
    pins: Pins,
}

/// The checkpoint of the corpus: deterministic, so it stays valid.
static SIGNED: LazyLock<Signed> = LazyLock::new(|| {
    let log = SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap();
    let witness = SoftwareSigner::from_seed(Algorithm::Ed25519, &[8; 32]).unwrap();
    let origin: KeyName = "log.example".parse().unwrap();
    let checkpoint = Checkpoint { origin: origin.clone(), size: 3, root: canon::Digest::of(b"root") };
    let logs = vec![VerifierKey::new(origin, KeyType::Log, public(&log))];
    let witnesses = vec![VerifierKey::new("w.example".parse().unwrap(), KeyType::Witness, public(&witness))];
    Signed { checkpoint, pins: Pins::new(logs, witnesses, 1).unwrap() }
});

fn public(signer: &SoftwareSigner) -> keys::ed25519::PublicKey {
    match signer.public() {
        PublicKey::Ed25519(key) => key,
        PublicKey::P256(_) => unreachable!(),
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(vkey) = std::str::from_utf8(bytes).unwrap_or_default().parse::<VerifierKey>() {
        assert_eq!(vkey.to_string().as_bytes(), bytes);
    }
    let Ok(note) = Note::parse(bytes) else { return };
    assert_eq!(note.to_string().as_bytes(), bytes);
    if let Ok(signed) = note.verify(&SIGNED.pins) {
        assert_eq!(*signed.checkpoint(), SIGNED.checkpoint);
        assert_eq!(signed.cosignatures().len(), 1);
    }
});
