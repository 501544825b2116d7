use crate::cases::{check, read, text};
use canon::Digest;
use keys::webauthn::{
    Assertion, Attestation, Authenticator, Challenge, Counter, Credential, Registration, RelyingParty,
    UserVerified, Verification,
};
use keys::{Algorithm, Code, Jwk};
use serde::Deserialize;
use serde_json::Value;

fn relying_party(value: &Value) -> RelyingParty {
    RelyingParty {
        id: text(value, "id").into(),
        origins: value["origins"]
            .as_array()
            .unwrap()
            .iter()
            .map(|origin| origin.as_str().unwrap().into())
            .collect(),
        verification: match text(value, "verification") {
            "required" => Verification::Required,
            _ => Verification::Preferred,
        },
    }
}

fn credential(value: &Value) -> Credential {
    Credential {
        id: text(value, "id").parse().unwrap(),
        key: Jwk::parse(value["key"].to_string().as_bytes()).unwrap().key,
        count: value["count"].as_u64().unwrap() as u32,
        backed_up: false,
        attestation: Attestation::None,
    }
}

#[test]
fn cases() {
    let mut kinds = [0, 0];
    for case in read("webauthn.jsonl") {
        let rp = relying_party(&case["rp"]);
        let challenge: Challenge = text(&case, "challenge").parse().unwrap();
        if case["kind"] == "assertion" {
            kinds[0] += 1;
            let assertion = Assertion::deserialize(&case["assertion"]).unwrap();
            let outcome = rp.verify(&challenge, &credential(&case["credential"]), &assertion);
            check(&case, &outcome);
            if let (Ok(asserted), Some(report)) = (outcome, case.get("report")) {
                let counter = match asserted.counter {
                    Counter::Unused => "unused",
                    Counter::Advanced => "advanced",
                    Counter::Regressed => "regressed",
                };
                assert_eq!(asserted.verified == UserVerified::Yes, report["verified"], "{}", case["id"]);
                assert_eq!(asserted.count, report["count"], "{}", case["id"]);
                assert_eq!(counter, report["counter"], "{}", case["id"]);
                assert_eq!(asserted.backed_up, report["backed_up"], "{}", case["id"]);
            }
        } else {
            kinds[1] += 1;
            let registration = Registration::deserialize(&case["registration"]).unwrap();
            let outcome = rp.register(&challenge, &registration);
            check(&case, &outcome);
            if let Ok(credential) = outcome {
                let given = serde_json::to_value(&credential).unwrap();
                for member in ["id", "key", "attestation"] {
                    assert_eq!(given[member], case["credential"][member], "{}", case["id"]);
                }
            }
        }
    }
    assert!(kinds[0] > 50 && kinds[1] > 30, "{kinds:?}");
}

#[test]
fn the_software_authenticator_registers_and_answers() {
    let rp = RelyingParty {
        id: "localhost".into(),
        origins: vec!["http://localhost:7070".into()],
        verification: Verification::Required,
    };
    let challenge = Challenge::from(Digest::of(b"register"));
    for (algorithm, attestation, expected) in [
        (Algorithm::P256, "none", Attestation::None),
        (Algorithm::P256, "packed", Attestation::Own),
        (Algorithm::Ed25519, "none", Attestation::None),
        (Algorithm::Ed25519, "packed", Attestation::Own),
        (Algorithm::Ed25519, "apple", Attestation::Unchecked),
    ] {
        let mut soft = Authenticator::new(algorithm, &[3; 32], "localhost", "http://localhost:7070").unwrap();
        soft.attestation = attestation.into();
        let credential = rp.register(&challenge, &soft.register(&challenge).unwrap()).unwrap();
        assert_eq!((credential.key, credential.attestation), (soft.public(), expected));
        let stored = serde_json::to_string(&credential).unwrap();
        let credential: Credential = serde_json::from_str(&stored).unwrap();

        let question = Challenge::from(Digest::of(b"the brief"));
        soft.count = 5;
        let assertion = soft.assert(&question).unwrap();
        let asserted = rp.verify(&question, &credential, &assertion).unwrap();
        assert_eq!((asserted.count, asserted.counter), (5, Counter::Advanced));
        assert_eq!(soft.count, 6);
        let other = Challenge::from(Digest::of(b"another brief"));
        assert_eq!(rp.verify(&other, &credential, &assertion).unwrap_err().code, Code::WrongChallenge);
        let spelled = serde_json::to_value(&assertion).unwrap();
        let read = Assertion::from_base64url(
            text(&spelled, "credential_id"),
            text(&spelled, "authenticator_data"),
            text(&spelled, "client_data_json"),
            text(&spelled, "signature"),
        );
        assert_eq!(read.unwrap(), assertion);
    }
}

/// Every bit of an assertion matters, but for those of a counter's report none is left to chance.
#[test]
fn no_bit_of_an_assertion_can_be_turned() {
    let rp = RelyingParty {
        id: "localhost".into(),
        origins: vec!["http://localhost:7070".into()],
        verification: Verification::Preferred,
    };
    let challenge = Challenge::from(Digest::of(b"the brief"));
    let mut soft =
        Authenticator::new(Algorithm::Ed25519, &[3; 32], "localhost", "http://localhost:7070").unwrap();
    let credential = rp.register(&challenge, &soft.register(&challenge).unwrap()).unwrap();
    let good = soft.assert(&challenge).unwrap();
    rp.verify(&challenge, &credential, &good).unwrap();
    let parts: [fn(&mut Assertion) -> &mut Vec<u8>; 3] =
        [|a| &mut a.authenticator_data, |a| &mut a.client_data_json, |a| &mut a.signature];
    for part in parts {
        for bit in 0..part(&mut good.clone()).len() * 8 {
            let mut bad = good.clone();
            part(&mut bad)[bit / 8] ^= 1 << (bit % 8);
            assert!(rp.verify(&challenge, &credential, &bad).is_err(), "bit {bit}");
        }
    }
}
