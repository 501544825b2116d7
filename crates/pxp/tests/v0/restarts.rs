use crate::play::{CARD, Play, json};
use ledger::{Aggregate, Entry, Head};
use pxp::chain;
use pxp::v0::brief::{Outcome, brief};
use pxp::v0::{Command, Mode, Phase, Refusal, Reply, Room, Side, State, Via, mcp};

/// Both seats built in, both sealed on the page.
fn built_in(max_turns: u64) -> Play {
    let mut play = Play::open([Mode::BuiltIn; 2], max_turns);
    for side in Side::BOTH {
        play.run(Command::Seal { side, card: json(CARD), via: Via::Web, label: None }).unwrap();
    }
    play
}

fn refold(entries: &[Entry]) -> State {
    let mut state = State::default();
    let mut head = Head::EMPTY;
    for entry in entries {
        let event = Room::open(entry, head).unwrap();
        head = Head { seq: entry.seq, hash: entry.hash };
        Room::evolve(&mut state, &event, head);
    }
    state
}

fn called(play: &mut Play) -> bool {
    matches!(play.run(Command::Call).unwrap(), Reply::Called(true))
}

#[test]
fn t52_a_failed_call_is_an_error_that_can_be_resumed() {
    let mut play = built_in(10);
    assert!(called(&mut play));
    play.run(Command::Fail).unwrap();
    assert_eq!(play.state.phase, Phase::Error);
    assert!(play.state.error.unwrap().contains("could not take its turn"));
    play.run(Command::Resume).unwrap();
    assert_eq!((play.state.phase, play.state.error), (Phase::Negotiating, None));
    assert!(called(&mut play));
}

#[test]
fn t54_a_spent_budget_stalls_without_a_turn_limit() {
    let mut play = built_in(1);
    for _ in 0..3 {
        assert!(called(&mut play));
        play.run(Command::Fail).unwrap();
        play.run(Command::Resume).unwrap();
    }
    assert!(!called(&mut play));
    assert_eq!((play.state.phase, play.state.error), (Phase::Stalled, None));
    assert!(!play.kinds().contains(&"turn_limit"));
    assert_eq!(brief(&play.state).unwrap().outcome, Outcome::NoAgreement);
    assert!(mcp::next_action(&play.state, Side::A).contains("budget"));
    assert_eq!(play.run(Command::Resume).unwrap_err(), Refusal::NothingToResume);
}

#[test]
fn t54_a_damaged_counter_counts_as_spent() {
    for damaged in ["null", "-1", "\"2\"", "1.5"] {
        let mut play = built_in(10);
        let at = "2026-11-30T09:00:00.000Z".parse().unwrap();
        let data = format!(r#"{{"calls":{damaged},"seat":"A"}}"#);
        let entry = chain::seal("proxy_called", at, data.as_bytes(), play.head(), None);
        play.append(entry);
        play.run(Command::Fail).unwrap();
        play.run(Command::Resume).unwrap();
        assert!(!called(&mut play), "{damaged}");
        assert_eq!(play.state.phase, Phase::Stalled, "{damaged}");
    }
}

#[test]
fn t55_a_restart_keeps_waiting_rooms_and_pauses_a_cut_turn() {
    let mut waiting = Play::sealed(10);
    waiting.send(Side::A, "{}");
    let state = refold(&waiting.entries);
    assert_eq!((state.phase, state.waiting_on(), state.turn_count), (Phase::Negotiating, Some(Side::B), 1));

    let mut cut = built_in(10);
    assert!(called(&mut cut));
    cut.run(Command::Interrupt).unwrap();
    assert_eq!((cut.state.phase, cut.state.interrupted, cut.state.in_flight), (Phase::Paused, true, None));
    for side in Side::BOTH {
        assert!(cut.state.actionable(side));
    }
    cut.run(Command::Resume).unwrap();
    assert!(called(&mut cut));
}

#[test]
fn t55_an_error_text_of_another_version_becomes_a_general_sentence() {
    let mut play = built_in(10);
    assert!(called(&mut play));
    let at = "2026-11-30T09:00:00.000Z".parse().unwrap();
    let data = br#"{"error":"Upstream said: secret"}"#;
    play.append(chain::seal("proxy_failed", at, data, play.head(), None));
    assert_eq!(play.state.error, Some("The room stopped on an error. Resume the room to try again."));
}

#[test]
fn t55_a_cut_turn_of_a_spent_budget_stalls() {
    let mut play = built_in(1);
    for _ in 0..2 {
        assert!(called(&mut play));
        play.run(Command::Fail).unwrap();
        play.run(Command::Resume).unwrap();
    }
    assert!(called(&mut play));
    play.run(Command::Interrupt).unwrap();
    assert_eq!(play.state.phase, Phase::Stalled);
}

#[test]
fn an_erased_room_is_gone_and_its_chain_still_opens() {
    let mut play = Play::sealed(10);
    play.send(Side::A, "{}");
    play.run(Command::Evict).unwrap();
    let erased: Vec<Entry> =
        play.entries.iter().map(|entry| Entry { payload: None, ..entry.clone() }).collect();
    for state in [refold(&play.entries), refold(&erased)] {
        assert!(state.gone && !state.exists());
        assert_eq!(state.opens("A", &play.tokens[0]), None);
    }
    assert_eq!(play.run(Command::Resume).unwrap_err(), Refusal::NoRoom);
}

#[test]
fn a_payload_that_is_not_named_is_refused() {
    let play = Play::sealed(10);
    let mut entry = play.entries[0].clone();
    entry.payload = Some(ledger::Payload::new(b"{}".to_vec()));
    assert_eq!(Room::open(&entry, Head::EMPTY).unwrap_err().code, "payload_not_named");
}
