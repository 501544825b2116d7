//! Ed25519, P-256 and JWK against their case files.

use keys::{Code, Error, Jwk, Kid, PublicKey, Signature, ed25519};
use serde_json::Value;

/// The lines of a case file.
pub fn read(name: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/keys/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Compares an outcome with the case's `valid`, `code` and `place`.
pub fn check<T: std::fmt::Debug>(case: &Value, outcome: &Result<T, Error>) {
    let id = &case["id"];
    match outcome {
        Ok(_) => assert!(case["valid"] == true, "{id}: accepted"),
        Err(error) => {
            assert!(case["valid"] == false, "{id}: {error}");
            if let Some(code) = case["code"].as_str() {
                assert_eq!(error.code.as_str(), code, "{id}: {error}");
            }
            if let Some(place) = case["place"].as_str() {
                assert_eq!(error.place, place, "{id}: {error}");
            }
        }
    }
}

pub fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap()
}

fn bytes(case: &Value, name: &str) -> Vec<u8> {
    hex::decode(text(case, name)).unwrap()
}

fn jwk(value: &Value) -> Result<PublicKey, Error> {
    Jwk::parse(value.to_string().as_bytes()).map(|jwk| jwk.key)
}

#[test]
fn ed25519_accepts_by_the_rule() {
    let mut records = 0;
    for case in read("sig_v2.jsonl") {
        let key = PublicKey::ed25519(&bytes(&case, "public"));
        if let Some(record) = case.get("record") {
            let key = key.unwrap();
            let signature = Signature::from_base64(text(record, "sig")).unwrap();
            key.verify(text(&case, "message").as_bytes(), &signature).unwrap();
            assert_eq!(text(record, "kid").parse::<Kid>().unwrap(), key.spki_kid());
            assert!(key.verify(b"", &signature).is_err());
            records += 1;
        } else {
            let signature = Signature::from_slice(&bytes(&case, "sig")).unwrap();
            check(&case, &key.and_then(|key| key.verify(&bytes(&case, "msg"), &signature)));
        }
    }
    assert_eq!(records, 2);
}

#[test]
fn ed25519_edges() {
    for case in read("ed25519.jsonl") {
        let message = bytes(&case, "msg");
        let parts = ed25519::PublicKey::from_bytes(&bytes(&case, "public"))
            .and_then(|key| Signature::from_slice(&bytes(&case, "sig")).map(|signature| (key, signature)));
        let outcome = parts.clone().and_then(|(key, signature)| key.verify(&message, &signature));
        check(&case, &outcome);
        // Whatever the strict variant takes, the rule takes.
        if let Ok((key, signature)) = parts {
            let strict = key.verify_strict(&message, &signature).is_ok();
            assert_eq!(strict, case["strict"].as_bool().unwrap_or(false), "{}: strict", case["id"]);
            assert!(outcome.is_ok() || !strict);
        }
    }
}

#[test]
fn p256_edges() {
    for case in read("p256.jsonl") {
        let outcome = jwk(&case["jwk"])
            .and_then(|key| key.verify(&bytes(&case, "msg"), &Signature::from_slice(&bytes(&case, "sig"))?));
        check(&case, &outcome);
    }
}

#[test]
fn der_and_raw_name_the_same_signature() {
    let case = &read("p256.jsonl")[0];
    let signature = Signature::from_slice(&bytes(case, "sig")).unwrap();
    let der = signature.to_der().unwrap();
    assert_eq!(Signature::from_der(&der).unwrap(), signature);
    let PublicKey::P256(key) = jwk(&case["jwk"]).unwrap() else { panic!("not p-256") };
    key.verify_der(&bytes(case, "msg"), &der).unwrap();
    let mut long = der.clone();
    long.push(0);
    for bad in [&long[..], &der[..der.len() - 1], &[], signature.as_bytes()] {
        assert_eq!(Signature::from_der(bad).unwrap_err().code, Code::BadSignatureForm);
    }
}

#[test]
fn jwks_are_read_strictly_and_named_by_content() {
    for case in read("jwk.jsonl") {
        let outcome = Jwk::parse(text(&case, "text").as_bytes());
        check(&case, &outcome);
        let Ok(jwk) = outcome else { continue };
        let (thumbprint, spki) = (jwk.key.thumbprint(), jwk.key.spki_kid());
        assert_eq!(thumbprint.to_string(), text(&case, "thumbprint"));
        assert_eq!(spki.to_string(), text(&case, "spki"));
        for kid in [thumbprint, spki] {
            assert_eq!(kid.to_string().parse::<Kid>().unwrap(), kid);
            assert!(kid.names(&jwk.key));
        }
        assert_ne!(thumbprint, spki);
        assert_eq!(Jwk::parse(&jwk.to_bytes().unwrap()).unwrap(), jwk);
        assert_eq!(PublicKey::from_spki(&jwk.key.spki()).unwrap(), jwk.key);
        let mut der = jwk.key.spki();
        der.push(0);
        assert_eq!(PublicKey::from_spki(&der).unwrap_err().code, Code::BadKey);
    }
}

#[test]
fn kids_have_two_spellings_and_no_third() {
    let hex = "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9";
    for (kid, good) in [
        (format!("sha256:{hex}"), true),
        ("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".to_owned(), true),
        (hex.to_owned(), false),
        (format!("SHA256:{hex}"), false),
        (format!("sha256:{}", hex.to_uppercase()), false),
        ("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k=".to_owned(), false),
        ("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4l".to_owned(), false),
        (String::new(), false),
    ] {
        let parsed = kid.parse::<Kid>();
        assert_eq!(parsed.is_ok(), good, "{kid}");
        assert!(parsed.is_ok_and(|parsed| parsed.to_string() == kid) || !good);
    }
}
