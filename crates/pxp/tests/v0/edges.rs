//! What the reference does at its edges and `v0` keeps (spec 6.2).

use crate::play::{Play, codes};
use pxp::v0::envelope::{Origin, Status};
use pxp::v0::{Command, Phase, Refusal, Side};

const OFFER: &str =
    r#"{"claims":[{"text":"c","origin":"assumed"}],"proposal":{"terms":["t"],"depends_on":["new1"]}}"#;
const AGREE: &str = r#"{"status":"agree"}"#;

#[test]
fn c01_c02_rule_two_reads_five_words_and_a_boundary() {
    let check = |source: &str, expected: Origin| {
        let raw = format!(r#"{{"claims":[{{"text":"t","origin":"stated","ref":"{source}"}}]}}"#);
        let envelope = Play::sealed(10).send(Side::A, &raw);
        assert_eq!(envelope.claims[0].origin, expected, "{source}");
    };
    for kept in ["B1.1", "The other side", "counterparty email", "seat B", "known_facts[99]", "a_b", "bé"] {
        let expected = if kept == "bé" { Origin::Assumed } else { Origin::Stated };
        check(kept, expected);
    }
    for downgraded in ["a signed contract", "B-12 invoice", "b.pdf", "OTHER"] {
        check(downgraded, Origin::Assumed);
    }
}

#[test]
fn c03_blank_terms_are_a_proposal_of_none() {
    let mut play = Play::sealed(10);
    let envelope = play.send(Side::A, r#"{"proposal":{"terms":[""," "]}}"#);
    assert_eq!(envelope.proposal.unwrap().terms.len(), 0);
    assert_eq!(envelope.proposal_hash, Some(canon::Digest::of(b"[]")));
    assert_eq!(play.send(Side::B, AGREE).status, Status::Agree);
}

#[test]
fn c04_ids_keep_their_gaps_and_new_names_count_what_is_kept() {
    let envelope = Play::sealed(10).send(
        Side::A,
        r#"{"claims":[{"text":"x"},{"text":""},{"text":"y"}],"proposal":{"terms":["t"],"depends_on":["new2"]}}"#,
    );
    assert_eq!(envelope.proposal.unwrap().depends_on, ["A1.3"]);
}

#[test]
fn c05_what_is_too_long_or_too_many_is_cut() {
    let claims = [r#"{"text":"c"}"#; 9].join(",");
    let terms = vec![format!("\"{}\"", "x".repeat(301)); 11].join(",");
    let envelope = Play::sealed(10)
        .send(Side::A, &format!(r#"{{"claims":[{claims}],"proposal":{{"terms":[{terms}]}}}}"#));
    let proposal = envelope.proposal.unwrap();
    assert_eq!((envelope.claims.len(), proposal.terms.len(), proposal.terms[0].len()), (8, 10, 300));
    assert_eq!(envelope.protocol_flags, None);
}

#[test]
fn c06_a_proposal_made_while_asking_stands() {
    let mut play = Play::sealed(10);
    play.send(Side::A, r#"{"status":"escalate","proposal":{"terms":["t"]}}"#);
    play.answer(Side::A, "fine").unwrap();
    play.send(Side::A, "{}");
    assert_eq!(play.send(Side::B, AGREE).accepts.unwrap().seq, 1);
}

#[test]
fn c07_a_later_accept_does_not_clear_a_dispute() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, r#"{"reviews":[{"claim_id":"A1.1","verdict":"challenge"}]}"#);
    play.send(Side::A, "{}");
    let envelope =
        play.send(Side::B, r#"{"status":"agree","reviews":[{"claim_id":"A1.1","verdict":"accept"}]}"#);
    assert_eq!(codes(&envelope), ["agree_on_disputed"]);
}

#[test]
fn c08_any_answer_clears_every_older_dispute() {
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    play.send(Side::B, r#"{"reviews":[{"claim_id":"A1.1","verdict":"conflict"}]}"#);
    play.send(Side::A, "{}");
    play.send(Side::B, r#"{"status":"escalate","escalation":{"question":"Unrelated?"}}"#);
    play.answer(Side::B, "No").unwrap();
    assert_eq!(play.send(Side::B, AGREE).status, Status::Agree);
}

#[test]
fn c09_c14_nothing_blocks_a_proposal_that_depends_on_nothing() {
    let mut play = Play::sealed(10);
    play.send(Side::A, r#"{"claims":[{"text":"c"}],"proposal":{"terms":["t"],"depends_on":[]}}"#);
    let raw = r#"{"status":"agree","reviews":[{"claim_id":"A1.1","verdict":"challenge"}]}"#;
    assert_eq!(play.send(Side::B, raw).status, Status::Agree);
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    assert_eq!(play.send(Side::B, AGREE).status, Status::Agree, "no review is needed");
}

#[test]
fn c10_an_old_proposal_of_the_other_side_can_be_accepted() {
    let mut play = Play::sealed(10);
    play.send(Side::A, r#"{"proposal":{"terms":["p1"]}}"#);
    play.send(Side::B, r#"{"proposal":{"terms":["p2"]}}"#);
    play.send(Side::A, "{}");
    play.send(Side::B, "{}");
    assert_eq!(play.send(Side::A, AGREE).accepts.unwrap().seq, 2);
}

#[test]
fn c11_the_proposal_hash_covers_the_terms_alone() {
    let mut play = Play::sealed(10);
    let one = play.send(Side::A, OFFER);
    play.send(Side::B, "{}");
    let two = play.send(Side::A, r#"{"proposal":{"terms":["t"],"depends_on":[]}}"#);
    assert_eq!(one.proposal_hash, two.proposal_hash);
}

#[test]
fn c12_each_new_label_is_an_entry_up_to_a_cap() {
    let mut play = Play::open([pxp::v0::Mode::External; 2], 10);
    let join = |play: &mut Play, label: String| play.run(Command::Join { side: Side::B, label });
    let before = play.entries.len();
    for n in 0..32 {
        join(&mut play, format!("agent {n}")).unwrap();
        join(&mut play, format!("agent {n}")).unwrap();
    }
    assert_eq!(play.entries.len() - before, 32);
    assert_eq!(join(&mut play, "one more".to_owned()).unwrap_err(), Refusal::TooManyLabels);
}

#[test]
fn c13_an_empty_message_is_accepted() {
    assert_eq!(Play::sealed(10).send(Side::A, r#"{"message":"","status":"continue"}"#).message, "");
}

#[test]
fn c15_the_agreement_is_in_the_same_append_as_its_envelope() {
    use ledger::Aggregate;
    let mut play = Play::sealed(10);
    play.send(Side::A, OFFER);
    let command = Command::Send { side: Side::B, raw: crate::play::json(AGREE), by: pxp::v0::Mode::External };
    let mut env = env::Env::new(env::Timestamp::EPOCH, [1; 32]);
    let decision = pxp::v0::Room::decide(&play.state, &command, &mut env).unwrap();
    let kinds: Vec<&str> = decision.events.iter().map(|event| event.fact.kind()).collect();
    assert_eq!(kinds, ["envelope", "agreement"]);
    play.run(command).unwrap();
    assert_eq!(play.state.phase, Phase::Agreed);
}

#[test]
fn the_demo_plays_to_agreement_with_either_answer() {
    for answer in pxp::v0::demo::OPTIONS {
        let mut play = Play::open([pxp::v0::Mode::BuiltIn; 2], 10);
        play.state.demo = true;
        for side in Side::BOTH {
            let card = pxp::v0::demo::card(side);
            play.run(Command::Seal { side, card, via: pxp::v0::Via::Web, label: None }).unwrap();
        }
        let go = |play: &mut Play| {
            while let Some((side, raw)) = pxp::v0::demo::next(&play.state) {
                play.run(Command::Send { side, raw, by: pxp::v0::Mode::BuiltIn }).unwrap();
            }
        };
        go(&mut play);
        assert_eq!(play.state.phase, Phase::Paused);
        let reply = |play: &mut Play, answer: &str, via| {
            play.run(Command::Answer { side: Side::A, answer: answer.to_owned(), via })
        };
        assert_eq!(reply(&mut play, answer, pxp::v0::Via::Mcp).unwrap_err(), Refusal::DemoAnswer);
        assert_eq!(reply(&mut play, "Own words", pxp::v0::Via::Web).unwrap_err(), Refusal::DemoAnswer);
        reply(&mut play, answer, pxp::v0::Via::Web).unwrap();
        go(&mut play);
        assert_eq!(play.state.phase, Phase::Agreed, "{answer}");
        assert!(play.state.envelopes.iter().all(|envelope| envelope.protocol_flags.is_none()));
        assert_eq!(pxp::v0::demo::authority(&play.state).len(), 2);
    }
}
