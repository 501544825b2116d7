use crate::cases::{check, read, text};
use env::{Duration, Timestamp};
use keys::http::{self, Body, Message, Parameter, Parameters, Profile};
use keys::{Algorithm, Code, Jwk, Signer, SoftwareSigner};
use serde_json::Value;

const CREATED: i64 = 1_618_884_473;

fn names(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .map(|names| names.iter().map(|name| name.as_str().unwrap()).collect())
        .unwrap_or_default()
}

#[test]
fn cases() {
    for case in read("http.jsonl") {
        let (wanted, message) = (&case["profile"], &case["message"]);
        let fields: Vec<(&str, &str)> = message["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| (line[0].as_str().unwrap(), line[1].as_str().unwrap()))
            .collect();
        let body = text(message, "body").as_bytes();
        let message = match message["status"].as_u64() {
            Some(status) => Message::response(status as u16, &fields, body),
            None => Message::request(text(message, "method"), text(message, "url"), &fields, body).unwrap(),
        };
        let requires: Vec<Parameter> = names(&wanted["requires"])
            .into_iter()
            .map(|name| match name {
                "expires" => Parameter::Expires,
                "keyid" => Parameter::KeyId,
                "alg" => Parameter::Alg,
                "nonce" => Parameter::Nonce,
                "tag" => Parameter::Tag,
                other => panic!("{other}"),
            })
            .collect();
        let components = names(&wanted["components"]);
        let profile = Profile {
            components: &components,
            body: match text(wanted, "body") {
                "ignored" => Body::Ignored,
                "if_any" => Body::IfAny,
                _ => Body::Always,
            },
            label: wanted["label"].as_str(),
            tag: wanted["tag"].as_str(),
            requires: &requires,
            max_age: Duration::from_secs(wanted["max_age"].as_u64().unwrap()),
            skew: Duration::from_secs(wanted["skew"].as_u64().unwrap()),
        };
        let now = Timestamp::from_secs(case["now"].as_i64().unwrap());
        let outcome = http::verify(&message, &profile, now, |parameters| {
            let jwk = case["keys"].get(parameters.keyid.as_deref()?)?;
            Some(Jwk::parse(jwk.to_string().as_bytes()).unwrap().key)
        });
        check(&case, &outcome);
    }
}

const PROFILE: Profile<'_> = Profile {
    components: &["@method", "@target-uri", "x-delivery"],
    body: Body::IfAny,
    label: None,
    tag: Some("test"),
    requires: &[Parameter::Expires, Parameter::KeyId, Parameter::Alg, Parameter::Nonce],
    max_age: Duration::from_secs(300),
    skew: Duration::from_secs(0),
};

fn parameters() -> Parameters {
    Parameters {
        created: Some(Timestamp::from_secs(CREATED)),
        expires: Some(Timestamp::from_secs(CREATED + 60)),
        keyid: Some("a \"key\" \\".into()),
        nonce: Some("n1".into()),
        ..Parameters::default()
    }
}

#[test]
fn rfc9421_b26_is_reproduced() {
    let seed: [u8; 32] = hex::decode("9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5")
        .unwrap()
        .try_into()
        .unwrap();
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &seed).unwrap();
    let fields = [
        ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("Content-Type", "application/json"),
        ("Content-Length", "18"),
    ];
    let message =
        Message::request("POST", "https://example.com/foo?param=Value&Pet=dog", &fields, b"").unwrap();
    let profile = Profile {
        components: &["date", "@method", "@path", "@authority", "content-type", "content-length"],
        body: Body::Ignored,
        label: Some("sig-b26"),
        tag: None,
        requires: &[],
        ..PROFILE
    };
    let parameters = Parameters {
        created: Some(Timestamp::from_secs(CREATED)),
        keyid: Some("test-key-ed25519".into()),
        ..Parameters::default()
    };
    let signed = http::sign(&signer, &message, &profile, parameters).unwrap();
    let expected = &read("http.jsonl")[0]["message"]["fields"];
    assert_eq!(signed.signature_input, expected[5][1]);
    assert_eq!(signed.signature, expected[6][1]);
}

#[test]
fn what_is_signed_verifies_and_nothing_else() {
    let url = "https://inbox.example/deliveries?id=7";
    let body = br#"{"hello":"world"}"#;
    let digest = http::content_digest(body);
    for algorithm in [Algorithm::Ed25519, Algorithm::P256] {
        let signer = SoftwareSigner::from_seed(algorithm, &[5; 32]).unwrap();
        let fields = [("X-Delivery", "out_1"), ("Content-Digest", &digest)];
        let message = Message::request("POST", url, &fields, body).unwrap();
        let signed = http::sign(&signer, &message, &PROFILE, parameters()).unwrap();
        let verify = |method, url, delivery, body: &[u8], input: &str, signature: &str| {
            let fields = [
                ("x-delivery", delivery),
                ("content-digest", digest.as_str()),
                ("signature-input", input),
                ("signature", signature),
            ];
            let message = Message::request(method, url, &fields, body)?;
            http::verify(&message, &PROFILE, Timestamp::from_secs(CREATED), |_| Some(signer.public()))
        };
        let (input, signature) = (signed.signature_input.as_str(), signed.signature.as_str());
        let verified = verify("POST", url, "out_1", body, input, signature).unwrap();
        assert_eq!(verified.parameters.keyid, parameters().keyid);
        assert_eq!(verified.parameters.tag.as_deref(), Some("test"));
        assert_eq!(verified.components, ["@method", "@target-uri", "x-delivery", "content-digest"]);
        for (outcome, code) in [
            (verify("PUT", url, "out_1", body, input, signature), Code::BadSignature),
            (verify("POST", &url[..url.len() - 1], "out_1", body, input, signature), Code::BadSignature),
            (verify("POST", url, "out_2", body, input, signature), Code::BadSignature),
            (verify("POST", url, "out_1", b"{}", input, signature), Code::DigestMismatch),
            (verify("POST", url, "out_1", body, &input.replace("n1", "n2"), signature), Code::BadSignature),
        ] {
            assert_eq!(outcome.unwrap_err().code, code);
        }
    }
}

#[test]
fn what_the_profile_asks_for_must_be_there_to_be_signed() {
    let signer = SoftwareSigner::from_seed(Algorithm::Ed25519, &[5; 32]).unwrap();
    let refusal = |fields: &[(&str, &str)], body: &[u8], parameters| {
        let message = Message::request("POST", "https://inbox.example/", fields, body).unwrap();
        http::sign(&signer, &message, &PROFILE, parameters).unwrap_err().code
    };
    let delivery = [("x-delivery", "out_1")];
    assert_eq!(refusal(&[], b"", parameters()), Code::BadComponent);
    assert_eq!(refusal(&delivery, b"body", parameters()), Code::BadComponent);
    for parameters in [
        Parameters { created: None, ..parameters() },
        Parameters { nonce: None, ..parameters() },
        Parameters { keyid: Some("é".into()), ..parameters() },
        Parameters { expires: parameters().created, ..parameters() },
    ] {
        assert_eq!(refusal(&delivery, b"", parameters), Code::BadParameter);
    }
}

#[test]
fn urls_that_no_request_has_are_refused() {
    for (url, good) in [
        ("https://a.example", true),
        ("https://a.example?x", true),
        ("https://[::1]:80/", true),
        ("/path", false),
        ("https://", false),
        ("https://user@a.example/", false),
        ("https://a.example/#x", false),
    ] {
        assert_eq!(Message::request("GET", url, &[], b"").is_ok(), good, "{url}");
    }
}

/// RFC 9530 appendix B.1 and B.2, and what is passed over.
#[test]
fn content_digests() {
    assert_eq!(http::content_digest(b""), "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:");
    let hello = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
    let body = b"{\"hello\": \"world\"}\n";
    assert_eq!(http::content_digest(body), hello);
    let two = format!("{hello}, md5=:AA==:");
    let wrong = format!("{hello}, sha-512=:AA==:");
    for (value, expected) in [
        (Some(hello), None),
        (Some(two.as_str()), None),
        (Some(wrong.as_str()), Some(Code::DigestMismatch)),
        (Some("sha-256=:AA==:"), Some(Code::DigestMismatch)),
        (Some("md5=:AA==:"), Some(Code::DigestMissing)),
        (Some("sha-256=AA"), Some(Code::BadSignatureField)),
        (None, Some(Code::DigestMissing)),
    ] {
        let fields: Vec<_> = value.map(|value| ("Content-Digest", value)).into_iter().collect();
        let message = Message::response(200, &fields, body);
        let outcome = http::check_content_digest(&message);
        assert_eq!(outcome.err().map(|error| error.code), expected, "{value:?}");
    }
}
