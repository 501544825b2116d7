//! Every value of vectors/claudia/claudia.json, recomputed.

use crate::fixture::{engine_key, vectors};
use canon::Digest;
use ledger::{Entry, Head};
use mandate::authorization::Fields;
use mandate::log::{self, Event};
use mandate::plutus::Data;
use mandate::price::{BondDatum, Signatories, approval_ref};
use mandate::text::{KeyHash, PositiveUnits};
use mandate::{
    Address, HashedAction, Mandate, Millis, Outcome, Report, SignatureForm, decision_hash, mip004,
};
use serde_json::Value;

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("{member} of {value}"))
}

fn digest(value: &Value) -> Option<Digest> {
    value.as_str().map(|text| text.parse().unwrap())
}

#[test]
fn the_recorded_action_and_report() {
    let all = vectors();
    let published = &all["published"]["action"];
    let action = HashedAction::read(published["doc"].to_string().as_bytes()).unwrap();
    assert_eq!(action.hash().to_string(), text(published, "action_hash"));
    let fixture = Mandate::read(all["derived"]["mandate_fixture"]["doc"].to_string().as_bytes()).unwrap();
    let form = mandate::signature_form(&fixture, &action, text(published, "agent_signature"));
    assert_eq!(form, Some(SignatureForm::DomainSeparated));
    let published = &all["published"]["verification_report"];
    let report = Report::read(published["doc"].to_string().as_bytes()).unwrap();
    assert_eq!(report.hash().to_string(), text(published, "report_hash"));
}

#[test]
fn the_derived_mandates() {
    for name in ["mandate_fixture", "mandate_preprod_M-001_v3"] {
        let derived = &vectors()["derived"][name];
        let mandate = Mandate::read(derived["doc"].to_string().as_bytes()).unwrap();
        assert_eq!(mandate.hash().to_string(), text(derived, "mandate_hash"), "{name}");
    }
}

#[test]
fn authorizations() {
    let all = vectors();
    let published = &all["published"]["authorization"];
    let cases = published["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let mut fields = published["base_fields"].clone();
        for (name, value) in case["changes"].as_object().unwrap() {
            fields[name] = value.clone();
        }
        let fields = Fields::read(fields.to_string().as_bytes()).unwrap();
        assert_eq!(fields.message().len() as u64, case["message_len"].as_u64().unwrap(), "{case}");
        let record = fields.sign(&engine_key()).unwrap();
        assert_eq!(record.digest_hex.to_string(), text(case, "digest"), "{case}");
        assert_eq!(record.signature_hex.to_string(), text(case, "signature"), "{case}");
        assert_eq!(record.engine_public_key.to_string(), text(&all["keys"], "engine_pub"));
    }
}

#[test]
fn decision_hashes() {
    let all = vectors();
    for case in all["published"]["decision_hash"].as_array().unwrap() {
        let outcome = match text(case, "outcome") {
            "ALLOW" => Outcome::Allow,
            "ESCALATE" => Outcome::Escalate,
            _ => Outcome::Deny,
        };
        let part = |member: &str| digest(&case[member]);
        let hash =
            decision_hash(part("action_hash"), part("mandate_hash"), part("verification_ref"), outcome);
        assert_eq!(hash.to_string(), text(case, "decision_hash"));
    }
}

#[test]
fn masumi_hashes() {
    let all = vectors();
    for case in all["published"]["mip004_input"].as_array().unwrap() {
        let hash = mip004::input_hash(text(case, "id"), case["input"].to_string().as_bytes()).unwrap();
        assert_eq!(hash.to_string(), text(case, "hash"));
    }
    for case in all["published"]["mip004_output"].as_array().unwrap() {
        let (id, result) = (text(case, "id"), text(case, "text"));
        assert_eq!(mip004::raw_result_hash(id, result).to_string(), text(case, "raw"));
        assert_eq!(mip004::result_hash(id, result).unwrap().to_string(), text(case, "escaped"));
    }
}

fn check_data(data: &Data, expected: &str) {
    let bytes = data.to_cbor();
    assert_eq!(
        String::from_utf8(bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect()).unwrap(),
        expected
    );
    assert_eq!(Data::from_cbor(&bytes).as_ref(), Some(data));
}

#[test]
fn plutus_data() {
    let all = vectors();
    let cbor = &all["published"]["cbor"];
    let zero = || Data::Int(0);
    check_data(&Data::Constr(0, vec![zero(), zero(), zero()]), text(cbor, "vault_datum_zero"));
    check_data(&Data::Constr(1, vec![]), text(cbor, "vault_redeemer_deposit"));
    check_data(&Data::Constr(2, vec![]), text(cbor, "vault_redeemer_principal_withdraw"));
    check_data(&Data::Constr(1, vec![]), text(cbor, "anchor_redeemer_revoke"));
    check_data(&Data::Constr(0, vec![]), text(cbor, "mint_redeemer"));
    check_data(
        &Data::Constr(0, vec![Data::bytes(&[0xa5; 32]), zero()]),
        text(cbor, "output_reference(a5*32,0)"),
    );
}

#[test]
fn the_bond_datum() {
    let all = vectors();
    let datum = BondDatum {
        action_hash: Digest::from_bytes([2; 32]),
        agent_key_hash: KeyHash::from_bytes([0xad; 28]),
        agent_stake: Some(KeyHash::from_bytes([0xae; 28])),
        amount: PositiveUnits::try_from(5_000_000).unwrap(),
        approval_ref: approval_ref("AP-0001"),
        approvers: Signatories::one(KeyHash::from_bytes([0x44; 28])),
        locked_until_ms: Millis::try_from(1_791_348_000_000).unwrap(),
        mandate_ref: KeyHash::from_bytes([0; 28]),
    };
    let (_, expected) =
        all["derived"].as_object().unwrap().iter().find(|(k, _)| k.starts_with("bond_datum")).unwrap();
    check_data(&datum.to_data(), expected.as_str().unwrap());
    let indefinite = datum.to_data().to_cbor();
    assert_eq!(BondDatum::from_cbor(&indefinite), Ok(datum.clone()));
    // The ledger takes definite lists as well: 8 fields, and 1 for the stake key.
    let mut definite = indefinite.clone();
    definite[2] = 0x88;
    assert_eq!(definite.pop(), Some(0xff));
    let stake = definite.windows(3).position(|w| w == [0xd8, 0x79, 0x9f]).unwrap();
    definite[stake + 2] = 0x81;
    let end = definite.iter().position(|&b| b == 0xff).unwrap();
    definite.remove(end);
    assert_eq!(BondDatum::from_cbor(&definite), Ok(datum));
    for broken in [&indefinite[..indefinite.len() - 1], &[indefinite.as_slice(), &[0]].concat(), b"", b"\xff"]
    {
        assert!(BondDatum::from_cbor(broken).is_err());
    }
    for name in ["AP-1", "AP-0001"] {
        assert_eq!(approval_ref(name).to_string(), text(&all["derived"], &format!("approval_ref({name})")));
    }
}

/// The sink's address in the seed holds the hash of the script that always fails.
#[test]
fn the_sink() {
    let sink: Address = "addr_test1wq3vnggra5ljl2tunqkhd4hz4agvt422cvrfswcedj8um2cwsu3l3".parse().unwrap();
    assert_eq!(sink.payment().hash().to_string(), text(&vectors()["published"], "sink_script_hash"));
}

/// The recorded run's first entries: read, folded into our types, and sealed again to the same hashes.
#[test]
fn the_recorded_chain() {
    let all = vectors();
    let mut head = Head::EMPTY;
    for (seq, recorded) in (1..).zip(all["published"]["event_chain"].as_array().unwrap()) {
        let bytes = canon::canonicalize(recorded["body"].to_string().as_bytes()).unwrap();
        let hash = log::link(&head.hash, &bytes);
        assert_eq!(hash.to_string(), text(recorded, "hash"));
        assert_eq!(head.hash.to_string(), text(recorded, "prev"));
        let entry = Entry { seq, prev: head.hash, hash, bytes, payload: None };
        let event = Event::open(&entry, head).unwrap();
        assert_eq!(event.seal(head).unwrap(), entry);
        let mut edited = entry.clone();
        edited.bytes = String::from_utf8(edited.bytes).unwrap().replace("M-001", "M-002").into();
        assert_eq!(Event::open(&edited, head).unwrap_err().code, "bad_hash");
        head = Head { seq, hash };
    }
    assert_eq!(head.seq, 2);
}

#[test]
fn the_older_decline_message() {
    let message = mandate::proof::decline_message("AP-7", log::DeclineReason::Legitimate).unwrap();
    let all = vectors();
    assert_eq!(
        String::from_utf8(message).unwrap(),
        text(&all["published"], "decline_message(AP-7,legitimate)")
    );
}
