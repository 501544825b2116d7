//! A JWS is taken apart without a panic, and nothing but the one JWS that was signed verifies.

#![no_main]

use keys::jws::{self, Header, Profile};
use keys::{Algorithm, Signer, SoftwareSigner};
use std::collections::BTreeMap;
use std::sync::LazyLock;

struct Signed {
    signer: SoftwareSigner,
    jws: String,
}

/// The seed of the corpus: deterministic, so it stays valid.
static SIGNED: LazyLock<Signed> = LazyLock::new(|| {
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap();
    let header = Header::new(Algorithm::Ed25519, "fuzz").with_kid("k1");
    let jws = jws::sign(&signer, &header, &BTreeMap::from([("iss", "ana")])).unwrap();
    Signed { signer, jws }
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(unverified) = jws::parse(bytes) else { return };
    canon::parse(unverified.payload()).unwrap();
    if let Ok(verified) = unverified.verify(&SIGNED.signer.public(), &Profile::new("fuzz")) {
        assert_eq!(bytes, SIGNED.jws.as_bytes());
        assert_eq!(verified.payload(), br#"{"iss":"ana"}"#);
    }
});
