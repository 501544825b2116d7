//! What a principal does over HTTP, under Cardano's own rules: money in and out, versions, revocations, hand-overs; who may, and that
//! each lands once.

use super::cardano::{Coast, signed_by, witness};
use super::desk::{AGENT, MASUMI, RECIPIENT, Signs, VERIFIER, action, key, key_hash, mandate_json, told};
use chain::faulty::{Call, Fault};
use mandate::{Address, Credential, Mandate, Network};
use reqwest::Method;
use serde_json::{Value, json};

const ACTS: &str = "/v1/mandates/M-001/acts";

/// Drafts as the principal.
async fn draft(coast: &Coast, path: &str, act: &Value) -> (u16, Value) {
    let signs = Signs { server: &coast.server };
    told(signs.signed(&key(6), Method::POST, path, Some(act)).await).await
}

/// Drafts, signs with these keys and follows it to its end.
async fn done(coast: &Coast, path: &str, act: &Value, seeds: &[u8]) -> Value {
    let (status, drafted) = draft(coast, path, act).await;
    assert_eq!((status, &drafted["progress"]["status"]), (200, &json!("unsigned")), "{drafted}");
    let one = format!("{path}/{}", drafted["tx_hash"].as_str().unwrap());
    for seed in seeds {
        let body =
            json!({ "witness_cbor": witness(drafted["unsigned_tx_cbor"].as_str().unwrap(), &key(*seed)) });
        let (status, signed) = coast.post(&one, &body).await;
        assert_eq!(status, 200, "{seed}: {signed}");
    }
    ended(coast, &one).await
}

async fn ended(coast: &Coast, one: &str) -> Value {
    for _ in 0..100 {
        let signs = Signs { server: &coast.server };
        let (_, act) = told(signs.signed(&key(6), Method::GET, one, None).await).await;
        // After a hand-over it is somebody else's.
        if !matches!(act["progress"]["status"].as_str(), Some("sent" | "unsigned")) {
            return act;
        }
        coast.server.later(5);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("never ended: {one}");
}

fn own(seed: u8) -> String {
    Address::new(Network::Test, Credential::Key(key_hash(&key(seed))), None).to_string()
}

fn version(number: u32, edit: impl FnOnce(&mut Value)) -> Value {
    let mut document = mandate_json();
    document["version"] = json!(number);
    edit(&mut document);
    json!({ "act": "update", "mandate": document })
}

#[tokio::test]
async fn money_goes_in_and_out() {
    let coast = Coast::start().await;
    let take = json!({ "act": "withdraw", "amount": "200000000", "to": own(6) });
    let (_, drafted) = draft(&coast, ACTS, &take).await;
    let paid =
        drafted["told"]["outputs"].as_array().unwrap().iter().find(|it| it["what"] == "payment").unwrap();
    assert_eq!((&paid["address"], &paid["tokens"][0]["quantity"]), (&json!(own(6)), &json!("200000000")));
    assert_eq!(drafted["told"]["signers"], json!([key_hash(&key(6)).to_string()]));
    let ended = done(&coast, ACTS, &take, &[6]).await;
    assert_eq!(ended["progress"]["status"], "confirmed", "{ended}");
    assert_eq!(coast.balance().await, 300_000_000);
    let give = json!({ "act": "deposit", "amount": "50000000", "from": own(6) });
    done(&coast, ACTS, &give, &[6]).await;
    assert_eq!(coast.balance().await, 350_000_000);
    let signs = Signs { server: &coast.server };
    let (_, shown) = told(signs.signed(&key(6), Method::GET, "/v1/mandates/M-001", None).await).await;
    let hash = &shown["vault"]["tx_hash"];
    let (_, acts) = told(signs.signed(&key(6), Method::GET, ACTS, None).await).await;
    assert_eq!((&acts["acts"][0]["tx_hash"], acts["acts"].as_array().unwrap().len()), (hash, 3));
    assert!(shown["anchor"]["tx_hash"].is_string());
    for (act, code) in [
        (json!({ "act": "withdraw", "amount": "350000001", "to": own(6) }), "chain_insufficient"),
        (json!({ "act": "deposit", "amount": "1", "from": RECIPIENT }), "chain_insufficient"),
        (json!({ "act": "withdraw", "amount": "0", "to": own(6) }), "shape"),
        (json!({ "act": "open" }), "vault_open"),
        (json!({ "act": "burn" }), "shape"),
    ] {
        let (status, refused) = draft(&coast, ACTS, &act).await;
        assert!(status >= 400 && refused["code"] == code, "{act}: {refused}");
    }
}

#[tokio::test]
async fn a_version_is_in_force_once_it_is_anchored() {
    let coast = Coast::start().await;
    let lower = |it: &mut Value| {
        let rules = it["constraints"].as_array_mut().unwrap().iter_mut();
        let hard = rules.filter(|it| it["kind"] == "amount_lte" && it["on_violation"] == "DENY");
        hard.for_each(|it| it["value"] = json!("15000000"));
    };
    let reason = async |coast: &Coast, name: &str, cents: u64| {
        let (_, body) = coast.check(&action(name, cents), None).await;
        body["evaluation"]["reason"].as_str().unwrap_or("none").to_owned()
    };
    for (act, place) in [
        (version(3, |_| {}), "/mandate/version"),
        (version(4, |it| it["id"] = json!("M-002")), "/mandate/id"),
        (version(4, |it| it["asset"]["decimals"] = json!(2)), "/mandate/asset"),
        (version(4, |it| it["status"] = json!("revoked")), "/mandate/status"),
        (
            version(4, |it| it["authority_engine"]["public_key"] = json!(super::desk::ed25519(&key(9)))),
            "/mandate/authority_engine/public_key",
        ),
    ] {
        let (_, refused) = draft(&coast, ACTS, &act).await;
        assert_eq!(refused["place"], place, "{refused}");
    }
    let ended = done(&coast, ACTS, &version(4, lower), &[6]).await;
    assert_eq!(ended["progress"]["status"], "confirmed", "{ended}");
    assert_eq!(coast.state().await.anchored().unwrap().mandate.version, 4);
    assert_eq!(reason(&coast, "A1", 1600).await, "AMOUNT_ABOVE_HARD_CAP");

    // Anchored by other means: nothing is decided by the old one, and handing in the document is enough.
    let act = version(5, |_| {});
    let next = Mandate::read(act["mandate"].to_string().as_bytes()).unwrap();
    let asset = (coast.vault.asset_policy, coast.vault.asset_name.clone());
    let anchor = chain::Anchor::of(&next, asset).unwrap();
    let built = coast.treasury.update(coast.vault.mandate_ref, &anchor).await.unwrap();
    signed_by(&coast.treasury, &built, &key(6)).await;
    assert_eq!(reason(&coast, "A2", 842).await, "MANDATE_VERSION_MISMATCH");
    assert_eq!(draft(&coast, ACTS, &act).await.1["code"], "anchored_already");
    assert_eq!(reason(&coast, "A3", 842).await, "none");

    done(&coast, ACTS, &json!({ "act": "revoke" }), &[6]).await;
    assert_eq!(coast.state().await.anchored().unwrap().revoked, Some(6));
    assert_eq!(reason(&coast, "A4", 842).await, "MANDATE_REVOKED");
    // A revoked one is put in force again by a version above the revocation's.
    assert_eq!(draft(&coast, ACTS, &version(6, |_| {})).await.1["code"], "version_must_grow");
    done(&coast, ACTS, &version(7, |_| {}), &[6]).await;
    assert_eq!(reason(&coast, "A5", 842).await, "none");
}

#[tokio::test]
async fn a_revocation_by_other_means_is_followed() {
    let coast = Coast::start().await;
    let built = coast.treasury.revoke(coast.vault.mandate_ref).await.unwrap();
    signed_by(&coast.treasury, &built, &key(6)).await;
    coast.server.app.sweep_mandates().await.unwrap();
    assert_eq!(coast.state().await.anchored().unwrap().revoked, Some(4));
}

#[tokio::test]
async fn a_hand_over_takes_both_keys() {
    let coast = Coast::start().await;
    let act = version(4, |it| it["principal"]["cardano_key_hash"] = json!(key_hash(&key(8)).to_string()));
    let (_, drafted) = draft(&coast, ACTS, &act).await;
    let one = format!("{ACTS}/{}", drafted["tx_hash"].as_str().unwrap());
    let sign = |seed: u8| json!({ "witness_cbor": witness(drafted["unsigned_tx_cbor"].as_str().unwrap(), &key(seed)) });
    for seed in [1, 2, 5] {
        assert_eq!(coast.post(&one, &sign(seed)).await.1["code"], "bad_witness", "{seed}");
    }
    let (_, half) = coast.post(&one, &sign(8)).await;
    assert_eq!(
        (&half["progress"]["status"], half["signed"].as_array().unwrap().len()),
        (&json!("unsigned"), 1)
    );
    assert_eq!(coast.state().await.anchored().unwrap().mandate.version, 3);
    let (_, whole) = coast.post(&one, &sign(6)).await;
    assert_eq!(whole["signed"].as_array().unwrap().len(), 2, "{whole}");
    assert_eq!(coast.post(&one, &sign(6)).await.1["code"], "act_sent");
    coast.until("handed over", 5, |state| state.anchored().unwrap().mandate.version == 4).await;
    let (status, refused) = draft(&coast, ACTS, &json!({ "act": "revoke" })).await;
    assert_eq!((status, &refused["code"]), (404, &json!("mandate_unknown")));
}

#[tokio::test]
async fn each_submission_four_ways_moves_money_once() {
    for fault in
        [Fault::FailsClean, Fault::FailsAfterLanding, Fault::NeverAnswers, Fault::LandsAndNeverAnswers]
    {
        let coast = Coast::start().await;
        coast.faulty.next(Call::Submit, fault);
        let take = json!({ "act": "withdraw", "amount": "200000000", "to": own(6) });
        let ended = done(&coast, ACTS, &take, &[6]).await;
        assert_eq!(
            (&ended["progress"]["status"], coast.balance().await),
            (&json!("confirmed"), 300_000_000),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn of_two_acts_on_one_output_one_is_lost() {
    let coast = Coast::start().await;
    let take = |amount: &str| json!({ "act": "withdraw", "amount": amount, "to": own(6) });
    let (_, first) = draft(&coast, ACTS, &take("1")).await;
    done(&coast, ACTS, &take("2"), &[6]).await;
    let one = format!("{ACTS}/{}", first["tx_hash"].as_str().unwrap());
    let body = json!({ "witness_cbor": witness(first["unsigned_tx_cbor"].as_str().unwrap(), &key(6)) });
    assert_eq!(coast.post(&one, &body).await.0, 200);
    let ended = ended(&coast, &one).await;
    assert_eq!(ended["progress"]["code"], "chain_contention", "{ended}");
    assert_eq!(coast.balance().await, 499_999_998);
}

#[tokio::test]
async fn a_mandate_is_opened_by_a_principal_of_this_server() {
    let coast = Coast::with(|setup| setup.principals = vec![key_hash(&key(6))]).await;
    let path = "/v1/mandates/M-002/acts";
    let mut document = mandate_json();
    document["id"] = json!("M-002");
    let anchor = |document: &Value| {
        json!({ "act": "anchor", "mandate": document, "asset_policy": coast.vault.asset_policy,
            "asset_name": coast.vault.asset_name, "vault_name": "second" })
    };
    assert_eq!(draft(&coast, path, &json!({ "act": "open" })).await.0, 404);
    // Whose key the server does not list, and whose document names another.
    let mut others = document.clone();
    others["principal"]["cardano_key_hash"] = json!(key_hash(&key(8)).to_string());
    let signs = Signs { server: &coast.server };
    let response = signs.signed(&key(8), Method::POST, path, Some(&anchor(&others))).await;
    assert_eq!(told(response).await.1["code"], "not_the_principal");
    assert_eq!(draft(&coast, path, &anchor(&others)).await.0, 404);

    let anchored = done(&coast, path, &anchor(&document), &[6]).await;
    assert_eq!(anchored["progress"]["status"], "confirmed", "{anchored}");
    let opened = done(&coast, path, &json!({ "act": "open" }), &[6]).await;
    assert_eq!(opened["progress"]["status"], "confirmed", "{opened}");
    assert_eq!(opened["vault"]["mandate_ref"], anchored["mandate_ref"]);
    let (status, shown) = told(signs.signed(&key(6), Method::GET, "/v1/mandates/M-002", None).await).await;
    assert_eq!((status, &shown["vault"]["balance"]), (200, &json!("0")), "{shown}");
    assert_eq!(shown["vault"]["tx_hash"], opened["tx_hash"]);
    assert_eq!(draft(&coast, path, &json!({ "act": "open" })).await.1["code"], "vault_open");

    // Two of two (D38): the anchor names both, and the next version may ask for another number.
    let both = [(5, "CFO"), (11, "CEO")]
        .map(|(seed, role)| json!({ "cardano_key_hash": key_hash(&key(seed)).to_string(), "role": role }));
    document["id"] = json!("M-003");
    document["schema"] = json!("mandate/v0.2");
    document["approvers"] = json!(both);
    document["quorum"] = json!({ "required": 3 });
    let path = "/v1/mandates/M-003/acts";
    let (status, refused) = draft(&coast, path, &anchor(&document)).await;
    assert_eq!((status, &refused["code"]), (400, &json!("mandate_rules")), "{refused}");
    document["quorum"] = json!({ "required": 2 });
    let anchored = done(&coast, path, &anchor(&document), &[6]).await;
    let mandate_ref = anchored["mandate_ref"].as_str().unwrap().parse().unwrap();
    let approvers = coast.treasury.anchored(mandate_ref).await.unwrap().0.approvers;
    assert_eq!((approvers.required, approvers.keys), (2, [5, 11].map(|seed| key_hash(&key(seed))).to_vec()));
    done(&coast, path, &json!({ "act": "open" }), &[6]).await;
    document["version"] = json!(4);
    document["quorum"] = json!({ "required": 1 });
    done(&coast, path, &json!({ "act": "update", "mandate": document }), &[6]).await;
    assert_eq!(coast.treasury.anchored(mandate_ref).await.unwrap().0.approvers.required, 1);
}

#[tokio::test]
async fn nobody_but_the_principal() {
    let coast = Coast::start().await;
    let revoke = json!({ "act": "revoke" });
    let (_, drafted) = draft(&coast, ACTS, &revoke).await;
    let one = format!("{ACTS}/{}", drafted["tx_hash"].as_str().unwrap());
    let signs = Signs { server: &coast.server };
    for (method, path, body) in
        [(Method::POST, ACTS, Some(&revoke)), (Method::GET, ACTS, None), (Method::GET, &one, None)]
    {
        // The engine, the delegate, the approver, an approver of nothing here, nobody in particular.
        for seed in [1, 2, 5, 8, 9] {
            let status = signs.signed(&key(seed), method.clone(), path, body).await.status().as_u16();
            assert!(matches!(status, 403 | 404), "{method} {path} by key {seed}: {status}");
        }
        for secret in ["", "nobody's", AGENT, MASUMI, VERIFIER] {
            let mut request = coast.server.http.request(method.clone(), coast.server.url(path));
            if !secret.is_empty() {
                request = request.bearer_auth(secret);
            }
            if let Some(body) = body {
                request = request.json(body);
            }
            let status = request.send().await.unwrap().status().as_u16();
            let expected =
                if matches!(secret, "" | "nobody's") { status == 401 } else { matches!(status, 403 | 404) };
            assert!(expected, "{method} {path} by {secret:?}: {status}");
        }
        assert_eq!(signs.signed(&key(6), method.clone(), path, body).await.status(), 200, "{method} {path}");
    }
    // Whoever brings it: only the principal's signature revokes.
    for seed in [1, 2, 3, 5, 8] {
        let body =
            json!({ "witness_cbor": witness(drafted["unsigned_tx_cbor"].as_str().unwrap(), &key(seed)) });
        let (status, refused) = coast.post(&one, &body).await;
        assert_eq!((status, &refused["code"]), (401, &json!("bad_witness")), "{seed}");
    }
}
