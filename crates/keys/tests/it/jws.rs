use crate::cases::{check, read, text};
use keys::jws::{self, Header, Presence, Profile};
use keys::{Algorithm, Code, Jwk, Signer, SoftwareSigner};
use proptest::prelude::*;
use serde_json::{Value, json};

fn presence(case: &Value, default: Presence) -> Presence {
    match case.as_str() {
        None => default,
        Some("refused") => Presence::Refused,
        Some("optional") => Presence::Optional,
        Some("required") => Presence::Required,
        Some(other) => panic!("{other}"),
    }
}

fn words(case: &Value) -> Option<Vec<&str>> {
    case.as_array().map(|words| words.iter().map(|word| word.as_str().unwrap()).collect())
}

#[test]
fn cases() {
    for case in read("jws.jsonl") {
        let wanted = &case["profile"];
        let plain = Profile::new(text(wanted, "typ"));
        let (algs, members) = (words(&wanted["algs"]), words(&wanted["members"]));
        let profile = Profile {
            algs: algs.as_deref().unwrap_or(plain.algs),
            members: members.as_deref().unwrap_or_default(),
            kid: presence(&wanted["kid"], plain.kid),
            jwk: presence(&wanted["jwk"], plain.jwk),
            ..plain
        };
        let key = Jwk::parse(case["jwk"].to_string().as_bytes()).unwrap().key;
        let outcome = jws::parse(text(&case, "jws").as_bytes()).and_then(|jws| jws.verify(&key, &profile));
        check(&case, &outcome);
        if let Ok(verified) = outcome {
            #[derive(serde::Deserialize)]
            struct Claims {
                iss: String,
                n: u64,
            }
            let claims: Claims = verified.claims().unwrap();
            assert_eq!((claims.iss.as_str(), claims.n), ("https://issuer.example", 1));
        }
    }
}

#[test]
fn what_is_signed_verifies_and_nothing_else() {
    for algorithm in [Algorithm::Ed25519, Algorithm::P256] {
        let signer = SoftwareSigner::from_seed(algorithm, &[5; 32]).unwrap();
        let header = Header {
            jwk: Some(signer.public().into()),
            others: [("nonce".to_owned(), canon::parse(b"[1,\"a\"]").unwrap().into_static())].into(),
            ..Header::new(algorithm, "a+jwt").with_kid(signer.public().thumbprint())
        };
        let jws = jws::sign(&signer, &header, &json!({"b": 2, "a": 1})).unwrap();
        let profile = Profile { jwk: Presence::Required, members: &["nonce"], ..Profile::new("a+jwt") };
        let verified = jws::parse(jws.as_bytes()).unwrap().verify(&signer.public(), &profile).unwrap();
        assert_eq!(verified.payload(), br#"{"a":1,"b":2}"#);
        assert_eq!(*verified.header(), header);
        for at in 0..jws.len() {
            let mut other = jws.clone().into_bytes();
            other[at] = if other[at] == b'A' { b'B' } else { b'A' };
            let outcome = jws::parse(&other).and_then(|jws| jws.verify(&signer.public(), &profile));
            assert!(outcome.is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_header_that_no_profile_takes_is_not_signed() {
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &[5; 32]).unwrap();
    let plain = Header::new(Algorithm::Ed25519, "a+jwt");
    let with = |name: &str| Header {
        others: [(name.to_owned(), canon::parse(b"1").unwrap().into_static())].into(),
        ..plain.clone()
    };
    for (header, code) in [
        (Header::new(Algorithm::P256, "a+jwt"), Code::WrongAlgorithm),
        (Header { alg: "none".into(), ..plain.clone() }, Code::WrongAlgorithm),
        (with("crit"), Code::HeaderNotAllowed),
        (with("jku"), Code::HeaderNotAllowed),
        (with("kid"), Code::HeaderNotAllowed),
    ] {
        assert_eq!(jws::sign(&signer, &header, &json!({})).unwrap_err().code, code, "{header:?}");
    }
}

#[test]
fn a_jws_that_is_too_long_is_refused() {
    let mut bytes = vec![b'A'; jws::MAX_LENGTH + 1];
    bytes[10] = b'.';
    bytes[20] = b'.';
    assert_eq!(jws::parse(&bytes).unwrap_err().code, Code::BadJws);
}

proptest! {
    /// Whatever is taken apart is made of the three parts it was.
    #[test]
    fn parsing_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if jws::parse(&bytes).is_ok() {
            prop_assert_eq!(bytes.iter().filter(|byte| **byte == b'.').count(), 2);
        }
    }
}
