use crate::play::{Play, codes};
use pxp::v0::envelope::{Envelope, Origin, Status, Verdict};
use pxp::v0::{Command, Mode, Side};

fn first(raw: &str) -> Envelope {
    Play::sealed(10).send(Side::A, raw)
}

fn claim(origin: &str, source: &str) -> String {
    format!(r#"{{"message":"m","status":"continue","claims":[{{"text":"t","origin":"{origin}"{source}}}]}}"#)
}

#[test]
fn t06_a_tag_without_a_reference_counts_as_assumed() {
    for origin in ["stated", "sourced"] {
        for source in ["", r#","ref":"""#, r#","ref":"  \t ""#] {
            let envelope = first(&claim(origin, source));
            assert_eq!(envelope.claims[0].origin, Origin::Assumed);
            assert_eq!(codes(&envelope), ["claim_without_ref"], "{origin}{source}");
        }
    }
}

#[test]
fn t07_a_clause_reference_stays_stated_and_there_is_no_flags_member() {
    let envelope = first(&claim("stated", r#","ref":"must_never[0]""#));
    assert_eq!(envelope.claims[0].origin, Origin::Stated);
    assert_eq!(envelope.protocol_flags, None);
    let bytes = String::from_utf8(canon::to_vec(&envelope).unwrap()).unwrap();
    assert!(!bytes.contains("protocol_flags"));
}

#[test]
fn t08_t09_only_stated_may_not_cite_the_other_side() {
    let check = |side: Side, origin: &str, source: &str, expected: Origin, flags: &[&str]| {
        let mut play = Play::sealed(10);
        if side == Side::B {
            play.send(Side::A, "{}");
        }
        let envelope = play.send(side, &claim(origin, &format!(r#","ref":"{source}""#)));
        assert_eq!((envelope.claims[0].origin, codes(&envelope)), (expected, flags.to_vec()), "{source}");
    };
    let other = ["claim_cites_other_side"];
    for source in ["other side said so", "Their message", "counterpart", "B"] {
        check(Side::A, "stated", source, Origin::Assumed, &other);
    }
    check(Side::B, "stated", "A", Origin::Assumed, &other);
    check(Side::A, "sourced", "other", Origin::Sourced, &[]);
}

#[test]
fn t10_a_reference_may_be_a_list_of_texts() {
    let envelope = first(&claim("sourced", r#","ref":["spec"]"#));
    assert_eq!(envelope.claims[0].source.as_deref(), Some("spec"));
    assert_eq!(envelope.claims[0].origin, Origin::Sourced);
    assert_eq!(first(&claim("sourced", r#","ref":[{"a":1}]"#)).claims[0].origin, Origin::Assumed);
}

#[test]
fn t11_empty_claims_vanish_and_ids_keep_their_places() {
    let envelope = first(r#"{"claims":[{"text":"one"},{"text":""},{"text":"two"}]}"#);
    let ids: Vec<&str> = envelope.claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, ["A1.1", "A1.3"]);
}

#[test]
fn t12_only_claims_of_the_other_side_can_be_reviewed() {
    let mut play = Play::sealed(10);
    play.send(Side::A, r#"{"claims":[{"text":"one"}]}"#);
    let envelope = play.send(
        Side::B,
        r#"{"claims":[{"text":"mine"}],"reviews":[{"claim_id":"Z9.9","verdict":"accept"},
            {"claim_id":"B2.1","verdict":"accept"},{"claim_id":"A1.1","verdict":"accept","reason":"fine"}]}"#,
    );
    assert_eq!(envelope.reviews.len(), 1);
    assert_eq!(envelope.reviews[0].claim_id, "A1.1");
}

#[test]
fn t13_unknown_words_are_normalised() {
    let mut play = Play::sealed(10);
    let envelope = play.send(Side::A, r#"{"status":"maybe","claims":[{"text":"one","origin":"heard"}]}"#);
    assert_eq!((envelope.status, envelope.claims[0].origin), (Status::Continue, Origin::Assumed));
    let envelope =
        play.send(Side::B, r#"{"status":"escalate","reviews":[{"claim_id":"A1.1","verdict":"hm"}]}"#);
    assert_eq!(envelope.reviews[0].verdict, Verdict::Challenge);
    assert_eq!(envelope.escalation.unwrap().question, pxp::v0::enforce::STOCK_QUESTION);
    assert_eq!(envelope.protocol_flags, None);
}

#[test]
fn t14_new_names_count_the_kept_claims() {
    let envelope = first(
        r#"{"claims":[{"text":"one"},{"text":"two"}],
            "proposal":{"terms":["t"],"depends_on":["new2","new1","B7.7","new9"]}}"#,
    );
    let proposal = envelope.proposal.unwrap();
    assert_eq!(proposal.depends_on, ["A1.2", "A1.1", "B7.7", "new9"]);
    assert_eq!(envelope.proposal_hash, Some(canon::Digest::of(br#"["t"]"#)));
}

#[test]
fn t15_a_proposal_without_terms_is_none() {
    for raw in [r#"{"proposal":{"terms":[]}}"#, r#"{"proposal":{"depends_on":[]}}"#, r#"{"proposal":7}"#] {
        let envelope = first(raw);
        assert_eq!((envelope.proposal, envelope.proposal_hash), (None, None), "{raw}");
    }
}

#[test]
fn t24_nothing_at_all_is_a_valid_envelope() {
    let mut play = Play::sealed(10);
    let hash = play.state.seat(Side::A).card_hash().unwrap();
    let envelope = play.send(Side::A, "null");
    assert_eq!((envelope.seq, envelope.from.seat, envelope.intent_hash), (1, Side::A, hash));
    assert_eq!((envelope.status, envelope.claims.len()), (Status::Continue, 0));
    assert_eq!(envelope.from.agent.as_deref(), Some("Agent A"));
}

#[test]
fn t25_claims_and_reviews_are_registered_and_each_envelope_is_one_entry() {
    let mut play = Play::sealed(10);
    let before = play.entries.len();
    play.send(
        Side::A,
        r#"{"claims":[{"text":"one","origin":"stated","ref":"known_facts[0]"},{"text":"two","origin":"assumed"}]}"#,
    );
    play.send(Side::B, r#"{"reviews":[{"claim_id":"A1.2","verdict":"conflict","reason":"no"}]}"#);
    let (one, two) = (play.state.claim("A1.1").unwrap(), play.state.claim("A1.2").unwrap());
    assert_eq!((one.verified, two.verified), (true, false));
    assert_eq!(
        (two.reviews[0].by, two.reviews[0].verdict, two.reviews[0].seq),
        (Side::B, Verdict::Conflict, 2)
    );
    assert_eq!(play.entries.len() - before, 2);
    assert_eq!(play.kinds()[before..], ["envelope", "envelope"]);
}

#[test]
fn t47_objects_where_text_belongs_do_no_harm() {
    let envelope = first(
        r#"{"message":{"a":1},"status":["agree"],"claims":{"text":"x"},"reviews":[5,null],"proposal":{"terms":[{"a":1}]},"escalation":7}"#,
    );
    assert_eq!((envelope.message.as_str(), envelope.status), ("", Status::Continue));
    assert_eq!(envelope.proposal.unwrap().terms.len(), 0);
}

#[test]
fn a_built_in_seat_has_no_agent_label() {
    let mut play = Play::open([Mode::BuiltIn, Mode::External], 10);
    for side in Side::BOTH {
        let via = if side == Side::A { pxp::v0::Via::Web } else { pxp::v0::Via::Mcp };
        let card = crate::play::json(crate::play::CARD);
        play.run(Command::Seal { side, card, via, label: None }).unwrap();
    }
    play.run(Command::Call).unwrap();
    let raw = crate::play::json("{}");
    let reply = play.run(Command::Send { side: Side::A, raw, by: Mode::BuiltIn }).unwrap();
    let pxp::v0::Reply::Sent(envelope) = reply else { panic!() };
    assert_eq!(envelope.from.agent, None);
}
