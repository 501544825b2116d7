use crate::play::{CARD, Play};
use pxp::v0::brief::{Outcome, brief};
use pxp::v0::{Command, Mode, Phase, Refusal, Side, mcp};

const ESCALATE: &str = r#"{"status":"escalate","escalation":{"question":"May I?","reason":"limit"}}"#;

#[test]
fn t28_the_second_seal_opens_the_negotiation() {
    let mut play = Play::open([Mode::External; 2], 10);
    play.seal(Side::A, CARD).unwrap();
    assert_eq!(play.state.phase, Phase::Drafting);
    play.seal(Side::B, CARD).unwrap();
    assert_eq!(play.state.phase, Phase::Negotiating);
    let yours = |side| mcp::view(&play.state, side, "", "").your_turn;
    assert_eq!((yours(Side::A), yours(Side::B)), (true, false));
}

#[test]
fn t31_an_escalation_pauses_for_the_asker_alone() {
    let mut play = Play::sealed(10);
    play.send(Side::A, ESCALATE);
    let asked = |play: &Play, side| mcp::view(&play.state, side, "", "").pending_question.map(str::to_owned);
    assert_eq!(play.state.phase, Phase::Paused);
    assert_eq!((asked(&play, Side::A), asked(&play, Side::B)), (Some("May I?".to_owned()), None));
    assert_eq!(play.answer(Side::B, "yes").unwrap_err(), Refusal::NothingPending);
    assert_eq!(play.answer(Side::A, " ").unwrap_err(), Refusal::BlankAnswer);
    let before = play.entries.len();
    play.answer(Side::A, "yes").unwrap();
    assert_eq!(play.entries.len(), before + 1);
    assert_eq!((play.state.phase, play.state.turn), (Phase::Negotiating, Some(Side::A)));
    assert_eq!(asked(&play, Side::A), None);
    let card = play.state.seat(Side::A).card.clone().unwrap();
    assert_eq!((card.amendments[0].question.as_str(), card.amendments[0].answer.as_str()), ("May I?", "yes"));
    assert_eq!(play.send(Side::A, "{}").intent_hash, card.hash());
    assert!(
        play.entries
            .iter()
            .any(|entry| String::from_utf8_lossy(&entry.bytes).contains(&card.hash().to_string()))
    );
}

#[test]
fn t32_t33_the_turn_cap_stalls_exactly_after_the_last_envelope() {
    for turns in [1, 2, 5] {
        let mut play = Play::sealed(turns);
        for turn in 0..turns {
            assert_eq!(play.state.phase, Phase::Negotiating);
            play.send(if turn % 2 == 0 { Side::A } else { Side::B }, "{}");
        }
        assert_eq!(play.state.phase, Phase::Stalled);
        assert_eq!(play.kinds().last(), Some(&"turn_limit"));
        let brief = brief(&play.state).unwrap();
        assert_eq!((brief.outcome, brief.turns as u64), (Outcome::NoAgreement, turns));
        assert!(brief.agreement.is_none() && brief.authority.is_none());
        for side in Side::BOTH {
            assert_eq!(play.try_send(side, "{}").unwrap_err(), Refusal::Ended);
            assert!(mcp::next_action(&play.state, side).contains("all turns"));
        }
    }
}

#[test]
fn the_last_envelope_may_agree_and_an_escalating_one_stalls_when_answered() {
    let mut play = Play::sealed(2);
    play.send(Side::A, r#"{"proposal":{"terms":["t"]}}"#);
    play.send(Side::B, r#"{"status":"agree"}"#);
    assert_eq!(play.state.phase, Phase::Agreed);
    let mut play = Play::sealed(1);
    play.send(Side::A, ESCALATE);
    assert_eq!(play.state.phase, Phase::Paused);
    play.answer(Side::A, "yes").unwrap();
    assert_eq!(play.state.phase, Phase::Stalled);
}

#[test]
fn t34_out_of_turn_is_refused_and_changes_nothing() {
    let check = |play: &mut Play, side: Side, expected: Refusal| {
        let (turns, entries) = (play.state.turn_count, play.entries.len());
        assert_eq!(play.try_send(side, r#"{"message":"x"}"#).unwrap_err(), expected);
        assert_eq!((play.state.turn_count, play.entries.len()), (turns, entries));
    };
    let mut play = Play::open([Mode::External; 2], 10);
    check(&mut play, Side::A, Refusal::Drafting);
    let mut play = Play::sealed(10);
    check(&mut play, Side::B, Refusal::NotYourTurn);
    play.send(Side::A, ESCALATE);
    check(&mut play, Side::A, Refusal::Paused(Side::A));
    check(&mut play, Side::B, Refusal::Paused(Side::A));
}

#[test]
fn t41_what_cannot_be_done_now_is_a_conflict() {
    let mut play = Play::sealed(10);
    let check = |play: &mut Play, command: Command, expected: Refusal| {
        assert_eq!(play.run(command).unwrap_err(), expected);
    };
    check(&mut play, Command::Resume, Refusal::NothingToResume);
    check(&mut play, Command::Draft { side: Side::A, text: "x".to_owned() }, Refusal::Sealed);
    let answer = Command::Answer { side: Side::A, answer: "x".to_owned(), via: pxp::v0::Via::Web };
    check(&mut play, answer, Refusal::NothingPending);
    assert_eq!(play.seal(Side::A, CARD).unwrap_err(), Refusal::Sealed);
}

#[test]
fn t60_five_drafts_a_seat() {
    let mut play = Play::open([Mode::BuiltIn; 2], 10);
    let draft = |play: &mut Play| play.run(Command::Draft { side: Side::A, text: "words".to_owned() });
    for _ in 0..5 {
        draft(&mut play).unwrap();
    }
    assert_eq!(draft(&mut play).unwrap_err(), Refusal::DraftsUsed);
    assert_eq!(play.state.seat(Side::A).draft_text, "words");
}

#[test]
fn each_state_has_its_instruction() {
    let mut play = Play::open([Mode::External; 2], 3);
    let says = |play: &Play, side, word: &str| {
        let text = mcp::next_action(&play.state, side);
        assert!(text.contains(word), "{text}");
    };
    says(&play, Side::A, "seal_intent_card");
    play.seal(Side::A, CARD).unwrap();
    says(&play, Side::A, "wait_for_turn");
    play.seal(Side::B, CARD).unwrap();
    says(&play, Side::A, "your turn");
    says(&play, Side::B, "It is the turn of");
    play.send(Side::A, ESCALATE);
    says(&play, Side::A, "\"May I?\"");
    says(&play, Side::B, "asked a question");
    play.answer(Side::A, "yes").unwrap();
    play.send(Side::A, r#"{"proposal":{"terms":["t"]}}"#);
    play.send(Side::B, r#"{"status":"agree"}"#);
    says(&play, Side::B, "get_brief");
}
