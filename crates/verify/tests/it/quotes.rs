//! Proofs of quotes (D32): both verifiers say the same of them, whole, changed, and signed for although they do not follow.

use crate::fixture::{NOW, said, verifier};
use crate::mutate::change;
use crate::twins::{Case, Dice, agree, agree_on, count, trust_text};
use canon::Raw;
use keys::Signer;
use mandate::Millis;
use mandate::basis::{Basis, BasisLimits, Proof};
use mandate::statement::{Attested, evidence};
use mandate::text::Ed25519Key;
use serde_json::{Value, json};
use verify::{Trust, Verdict, verify};

const SEED: u64 = 20_261_007;

fn now() -> Millis {
    Millis::try_from(NOW).unwrap()
}

/// What is reported of a rate where the feed has this price, so many seconds old.
fn report(rate: &str, price: Value, age: u64) -> Raw {
    let read = |json: Value| json.to_string().into_bytes();
    let feed =
        read(json!({ "chain_id": 1, "contract": "0x971E8F1B779A5F1C36e1cd7ef44Ba1Cc2F5EeE0f", "decimals": 8,
        "price": price, "round_id": "7", "updated_at_ms": NOW - age * 1000 }));
    let quote = read(json!({ "pair": "BRL/USD", "rate": rate }));
    let limits = BasisLimits { max_age_seconds: 3600, tolerance_bps: 50 };
    let (quote, feed) = (canon::from_slice(&quote).unwrap(), canon::from_slice(&feed).unwrap());
    let basis = Basis::of(quote, feed, limits, "t".parse().unwrap(), now()).unwrap();
    Raw::from_slice(&canon::to_vec(&basis).unwrap()).unwrap()
}

/// Signed for by the first two verifiers; the third says otherwise.
fn proof(report: &Raw) -> Value {
    let signed = |name: &str, report: &Raw| Attested {
        report: report.clone(),
        signed: said(name, report, None, now()),
    };
    let same = ["north", "south"].map(|name| signed(name, report)).to_vec();
    let other = self::report("9", json!("18340000"), 0);
    let evidence = evidence(same, vec![signed("west", &other)]).unwrap();
    serde_json::from_slice(&canon::to_vec(&Proof::of(evidence, None)).unwrap()).unwrap()
}

fn trust(names: &[&str]) -> String {
    let key = |name: &&str| match verifier(name).public() {
        keys::PublicKey::Ed25519(key) => Ed25519Key::from_bytes(*key.as_bytes()).to_string(),
        keys::PublicKey::P256(_) => panic!("an ed25519 key"),
    };
    let mut trust: Value = serde_json::from_str(&trust_text()).unwrap();
    trust["verifiers"] = names.iter().map(key).collect::<Vec<_>>().into();
    trust["verifiers_required"] = json!(names.len());
    trust.to_string()
}

#[test]
fn what_verifiers_say_of_a_quote() {
    let price = || json!("18340000");
    let good = report("0.1834", price(), 30);
    let mut cases = Vec::new();
    for (name, report, by, expected) in [
        ("on market", &good, &["north", "south"][..], "on market"),
        ("off market", &report("0.2", price(), 30), &["north"], "off market"),
        ("stale", &report("0.1834", price(), 3601), &["south"], "off market"),
        ("no price", &report("0.1834", json!(null), 30), &["north"], "off market"),
        ("by the one who says otherwise", &good, &["west"], "verifiers_missing"),
    ] {
        let file = proof(report).to_string().into_bytes();
        let trust = trust(by);
        let told = verify(&file, Some(&Trust::parse(trust.as_bytes()).unwrap()));
        let said = told.code.map_or_else(|| format!("{told:?}"), str::to_owned);
        assert!(said.contains(expected), "{name}: {said}");
        assert_eq!(told.verdict == Verdict::Valid, told.code.is_none(), "{name}: {said}");
        cases.push(Case { name: name.to_owned(), file, trust: Some(trust) });
    }
    agree(&cases);
}

#[test]
fn two_verifiers_agree_on_changed_quotes() {
    let mut dice = Dice::new(SEED);
    let good = report("0.1834", json!("18340000"), 30);
    let whole = proof(&good);
    let mut cases = Vec::new();
    for round in 0..300 {
        let mut bent = whole.clone();
        let mut what = String::new();
        while bent == whole {
            if round % 2 == 0 {
                what = change(&mut bent, &mut dice);
                continue;
            }
            // Verifiers who sign for whatever they please.
            let mut report: Value = serde_json::from_str(good.as_str()).unwrap();
            what = change(&mut report, &mut dice);
            if let Ok(report) = Raw::from_slice(report.to_string().as_bytes()) {
                bent = proof(&report);
            }
        }
        let name = format!("seed {SEED}, round {round}: {what}");
        cases.push(Case {
            name,
            file: bent.to_string().into_bytes(),
            trust: Some(trust(&["north", "south"])),
        });
    }
    // Where a shape is wrong each says in its own way.
    let verdicts = agree_on(&["verdict", "code"], &cases);
    for (case, verdict) in cases.iter().zip(&verdicts).step_by(2) {
        // Whose transaction recorded it, and who said otherwise, no signature here is over.
        let unsigned = case.name.contains("sepolia_tx") || case.name.contains("dissent");
        assert!(*verdict != Verdict::Valid || unsigned || case.name.contains("block_time"), "{}", case.name);
    }
    assert!(count(&verdicts, Verdict::Refused) > 150, "{}", count(&verdicts, Verdict::Refused));
}
