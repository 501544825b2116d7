use crate::play::{Play, codes};
use pxp::v0::brief::{Outcome, brief};
use pxp::v0::envelope::Status;
use pxp::v0::{Phase, Side};

const OFFER: &str =
    r#"{"claims":[{"text":"c","origin":"assumed"}],"proposal":{"terms":["t"],"depends_on":["new1"]}}"#;
const AGREE: &str = r#"{"status":"agree"}"#;
const CHALLENGE: &str = r#"{"reviews":[{"claim_id":"A1.1","verdict":"challenge","reason":"?"}]}"#;

/// An agreement that was withheld, for one reason.
fn withheld(play: &mut Play, side: Side, raw: &str, code: &str) {
    let envelope = play.send(side, raw);
    assert_eq!(envelope.status, Status::Continue);
    assert_eq!(codes(&envelope), [code]);
    assert_eq!(envelope.accepts, None);
    assert_eq!(play.state.phase, Phase::Negotiating);
}

#[test]
fn t16_no_agreement_with_a_conflict_in_it() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    let raw = r#"{"status":"agree","reviews":[{"claim_id":"A1.1","verdict":"conflict"}]}"#;
    withheld(&mut play, Side::B, raw, "agree_with_conflict");
}

#[test]
fn t17_no_agreement_on_ones_own_proposal() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, "{}");
    withheld(&mut play, Side::A, AGREE, "agree_without_proposal");
}

#[test]
fn t18_an_agreement_accepts_the_latest_proposal_and_makes_none() {
    let mut play = Play::sealed(10);
    play.send(Side::A, r#"{"proposal":{"terms":["one"]}}"#);
    play.send(Side::B, "{}");
    let second = play.send(Side::A, r#"{"proposal":{"terms":["two"]}}"#);
    let envelope = play.send(Side::B, r#"{"status":"agree","proposal":{"terms":["mine"]}}"#);
    let accepts = envelope.accepts.unwrap();
    assert_eq!((accepts.seq, Some(accepts.proposal_hash)), (3, second.proposal_hash));
    assert_eq!((envelope.status, envelope.proposal, envelope.protocol_flags), (Status::Agree, None, None));
    assert_eq!(play.state.phase, Phase::Agreed);
    assert!(play.kinds().ends_with(&["envelope", "agreement"]));
}

#[test]
fn t19_t21_a_dispute_withholds_until_it_is_put_to_the_principal() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, CHALLENGE);
    play.send(Side::A, "{}");
    let envelope = play.send(Side::B, AGREE);
    assert_eq!(codes(&envelope), ["agree_on_disputed"]);
    assert!(envelope.protocol_flags.unwrap()[0].contains("A1.1"));
    play.send(Side::A, "{}");
    withheld(&mut play, Side::B, AGREE, "agree_on_disputed");
}

#[test]
fn t20_a_challenge_in_the_same_envelope_withholds() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    let raw = r#"{"status":"agree","reviews":[{"claim_id":"A1.1","verdict":"challenge"}]}"#;
    withheld(&mut play, Side::B, raw, "agree_on_disputed");
}

#[test]
fn t22_an_answer_of_ones_own_principal_clears() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(
        Side::B,
        r#"{"status":"escalate","reviews":[{"claim_id":"A1.1","verdict":"challenge"}],"escalation":{"question":"Is it so?"}}"#,
    );
    assert!(play.state.disputes(Side::B, "A1.1"));
    play.answer(Side::B, "Go on").unwrap();
    assert!(!play.state.disputes(Side::B, "A1.1"));
    let envelope = play.send(Side::B, AGREE);
    assert_eq!((envelope.status, envelope.protocol_flags), (Status::Agree, None));
}

#[test]
fn t23_an_answer_of_the_other_principal_does_not() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, CHALLENGE);
    play.send(Side::A, r#"{"status":"escalate","escalation":{"question":"q"}}"#);
    play.answer(Side::A, "yes").unwrap();
    play.send(Side::A, "{}");
    withheld(&mut play, Side::B, AGREE, "agree_on_disputed");
}

#[test]
fn t37_the_full_path() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(
        Side::B,
        r#"{"status":"escalate","reviews":[{"claim_id":"A1.1","verdict":"challenge"}],"escalation":{"question":"Take it?"}}"#,
    );
    play.answer(Side::B, "Take it").unwrap();
    play.send(Side::B, "{}");
    play.send(Side::A, r#"{"proposal":{"terms":["t2"],"depends_on":["A1.1"]}}"#);
    play.send(Side::B, AGREE);
    let brief = brief(&play.state).unwrap();
    assert_eq!((brief.outcome, brief.turns, brief.ledger_ok), (Outcome::Agreed, 5, true));
    assert_eq!(brief.agreement.unwrap().terms, ["t2"]);
    assert!(brief.protocol_flags.is_empty());
    assert_eq!(brief.unverified_dependencies[0].claim.id, "A1.1");
    assert_eq!(brief.challenged.len(), 1);
    let asked = &brief.escalations[0];
    assert_eq!((asked.seat, asked.answer.as_deref(), brief.escalations.len()), (Side::B, Some("Take it"), 1));
    assert_eq!(brief.ledger_head, play.head().hash);
    assert_eq!(
        play.kinds(),
        [
            "room_opened",
            "agent_joined",
            "card_sealed",
            "agent_joined",
            "card_sealed",
            "envelope",
            "envelope",
            "escalation",
            "principal_answer",
            "envelope",
            "envelope",
            "envelope",
            "agreement"
        ]
    );
}

#[test]
fn t38_a_challenge_without_an_escalation_is_withheld_once() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, CHALLENGE);
    play.send(Side::A, r#"{"proposal":{"terms":["again"],"depends_on":["A1.1"]}}"#);
    withheld(&mut play, Side::B, AGREE, "agree_on_disputed");
}
