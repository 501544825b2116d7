//! A second implementation, AWS-LC, judges the same keys and signatures.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair, UnparsedPublicKey,
};
use keys::{Algorithm, PublicKey, Signature, Signer, SoftwareSigner};
use proptest::prelude::*;

fn theirs(key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
    match key {
        PublicKey::Ed25519(key) => {
            UnparsedPublicKey::new(&ED25519, key.as_bytes()).verify(message, signature.as_bytes())
        }
        PublicKey::P256(key) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.to_sec1())
            .verify(message, signature.as_bytes()),
    }
    .is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A signature of ours, as made and with up to two bits of it, of the message or of another key turned.
    #[test]
    fn both_take_the_same_signatures(
        seed: [u8; 32],
        p256: bool,
        mut message in prop::collection::vec(any::<u8>(), 1..200),
        flips in prop::collection::vec((0_usize..64, 0_u8..8), 0..3),
        change_message in prop::bool::weighted(0.2),
        change_key in prop::bool::weighted(0.2),
    ) {
        let algorithm = if p256 { Algorithm::P256 } else { Algorithm::Ed25519 };
        let Ok(signer) = SoftwareSigner::from_seed(algorithm, &seed) else { return Ok(()) };
        let mut bytes = *signer.sign(&message).unwrap().as_bytes();
        for (byte, bit) in &flips {
            bytes[*byte] ^= 1 << bit;
        }
        let untouched = bytes == *signer.sign(&message).unwrap().as_bytes();
        if change_message {
            message[0] ^= 1;
        }
        let key = if change_key {
            SoftwareSigner::from_seed(algorithm, &[7; 32]).unwrap().public()
        } else {
            signer.public()
        };
        let signature = Signature::from_bytes(bytes);
        let ours = key.verify(&message, &signature).is_ok();
        prop_assert_eq!(ours, theirs(&key, &message, &signature));
        if !change_message && (!change_key || seed == [7; 32]) && untouched {
            prop_assert!(ours);
        }
    }

    /// Random 32 bytes: about half are ordinates of points.
    #[test]
    fn random_keys_and_signatures_are_judged_alike(public: [u8; 32], r: [u8; 32], s: [u8; 32], message: [u8; 8]) {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r);
        signature[32..].copy_from_slice(&s);
        let ours = PublicKey::ed25519(&public)
            .and_then(|key| key.verify(&message, &Signature::from_bytes(signature)));
        prop_assert_eq!(ours.is_ok(), UnparsedPublicKey::new(&ED25519, public).verify(&message, &signature).is_ok());
    }
}

#[test]
fn the_seed_gives_the_same_key_and_signature_elsewhere() {
    for seed in [[1; 32], [255; 32], *b"nobody can guess these 32 bytes!"] {
        let ours = SoftwareSigner::from_seed(Algorithm::Ed25519, &seed).unwrap();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let PublicKey::Ed25519(key) = ours.public() else { panic!("not ed25519") };
        assert_eq!(key.as_bytes(), pair.public_key().as_ref());
        assert_eq!(ours.sign(b"message").unwrap().as_bytes(), pair.sign(b"message").as_ref());
    }
}

#[test]
fn their_p256_signatures_are_ours() {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let key = keys::p256::PublicKey::from_sec1(pair.public_key().as_ref()).unwrap();
    for message in [b"one".as_slice(), b"", &[0; 500]] {
        let signature = pair.sign(&SystemRandom::new(), message).unwrap();
        let signature = Signature::from_slice(signature.as_ref()).unwrap();
        key.verify(message, &signature).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.to_sec1())
            .verify(message, &signature.to_der().unwrap())
            .unwrap();
    }
}

/// Where two implementations of the same RFC part: AWS-LC takes keys of small order, the rule of the house does not.
#[test]
fn the_edges_where_they_differ_are_known() {
    let differ: Vec<String> = crate::cases::read("ed25519.jsonl")
        .iter()
        .filter(|case| {
            let bytes = |name| hex::decode(crate::cases::text(case, name)).unwrap();
            let theirs =
                UnparsedPublicKey::new(&ED25519, bytes("public")).verify(&bytes("msg"), &bytes("sig"));
            theirs.is_ok() != (case["valid"] == true)
        })
        .map(|case| crate::cases::text(case, "id").to_owned())
        .collect();
    assert_eq!(differ, ["key-order-4-sign-1", "key-identity-sign-0", "key-order-2-sign-0"]);
}
