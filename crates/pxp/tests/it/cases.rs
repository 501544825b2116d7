//! The cases N01 to N15 of spec 6.3 that a room alone decides.

use crate::table::*;
use ledger::{Effect, Head};
use pxp::command::{Answer, Confirm, Leave, Pause, Resume, Send};
use pxp::view::{self, Viewer};
use pxp::wire::{Origin, Verdict};
use pxp::{Actor, By, Command, EnvelopeInput, Policy, Ruling, Status};

#[test]
fn n01_of_two_envelopes_for_one_turn_one_is_recorded() {
    let mut table = Table::sealed();
    table.send(A, say("first")).unwrap();
    assert_eq!(table.send_code(A, say("second")), "not_your_turn");
    assert_eq!(table.state.envelopes.len(), 1);
}

#[test]
fn n02_a_repeated_message_is_one_message() {
    let mut table = Table::sealed();
    let first = Send { msg_id: Some("m1".into()), ..send(A, offer("The hall")) };
    table.run(Command::Send(first.clone())).unwrap();
    let count = table.entries.len();
    let again = table.run(Command::Send(first.clone())).unwrap();
    let pxp::Reply::Sent(again) = again else { panic!("{again:?}") };
    assert!(again.replayed);
    assert_eq!((again.seq, again.claims[0].as_str()), (1, "A1.1"));
    assert_eq!(table.entries.len(), count, "one entry");
    let other = Send { envelope: say("other words"), ..first };
    assert_eq!(table.code(Command::Send(other)), "idempotency_conflict");
    // A question's salt is the server's, and the retry is still the same message.
    let asking = Send { msg_id: Some("m2".into()), ..send(b(), escalate("May I?", &[])) };
    table.run(Command::Send(asking.clone())).unwrap();
    let count = table.entries.len();
    assert_eq!(table.code(Command::Send(asking)), "ok");
    assert_eq!(table.entries.len(), count);
}

#[test]
fn n03_an_answered_question_is_not_answered_again() {
    let mut table = Table::sealed();
    table.send(A, escalate("May I pay 950?", &[])).unwrap();
    table.answer(A, ruling("q1", Ruling::Deny, &[])).unwrap();
    let again =
        Answer { actor: principal(A), seat: A, answer: ruling("q1", Ruling::Allow, &[]), proof: session() };
    assert_eq!(table.code(Command::Answer(again)), "question_answered");
}

#[test]
fn n04_agreeing_to_a_stale_offer_is_refused() {
    let mut table = Table::sealed();
    let old = table.send(A, offer("Hall for 800")).unwrap().offer_hash.unwrap();
    table.send(b(), EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..say("hm") }).unwrap();
    table.send(A, offer("Hall for 850")).unwrap();
    let reviewed = |hash| EnvelopeInput { reviews: vec![review("A3.1", Verdict::Accept)], ..agree(hash) };
    assert_eq!(table.send_code(b(), reviewed(old)), "offer_superseded");
    assert_eq!(table.send_code(b(), reviewed(canon::Digest::ZERO)), "offer_unknown");
}

#[test]
fn n09_an_unconfirmed_relayed_answer_leaves_the_room_paused() {
    let mut table = Table::sealed_with(2, holding(), card);
    table.send(A, escalate("May I pay 950?", &[])).unwrap();
    let relayed = Answer {
        actor: Actor::Seat { seat: A },
        seat: A,
        answer: ruling("q1", Ruling::Allow, &[]),
        proof: relayed(),
    };
    table.run(Command::Answer(relayed)).unwrap();
    assert_eq!(view::status(&table.state), "paused");
    assert_eq!(table.send_code(A, say("on we go")), "awaiting_answer");
    assert!(!table.kinds().contains(&"principal_answer".to_owned()));
    assert_eq!(table.state.asks()[0].id, "q1.confirm");
    let confirm = Confirm {
        actor: principal(A),
        seat: A,
        question: "q1".parse().unwrap(),
        accept: true,
        proof: session(),
    };
    table.run(Command::Confirm(confirm)).unwrap();
    assert_eq!(view::status(&table.state), "negotiating");
    assert!(table.published().contains(r#""standing":"confirmed""#));
    table.send(A, say("on we go")).unwrap();
}

#[test]
fn n10_a_confirmation_by_a_wrong_person_is_refused() {
    let mut table = Table::sealed_with(2, holding(), card);
    table.send(A, escalate("May I pay 950?", &[])).unwrap();
    let answer = ruling("q1", Ruling::Allow, &[]);
    table
        .run(Command::Answer(Answer { actor: Actor::Seat { seat: A }, seat: A, answer, proof: relayed() }))
        .unwrap();
    let member = By::Member {
        org: approvals::OrgId("other".into()),
        member: approvals::MemberId("eve".into()),
        acting_for: None,
    };
    for (actor, code) in [
        (principal(b()), "wrong_person"),
        (Actor::Principal { seat: A, by: member }, "wrong_person"),
        (Actor::Seat { seat: A }, "not_permitted"),
        (Actor::Server, "not_permitted"),
    ] {
        let confirm =
            Confirm { actor, seat: A, question: "q1".parse().unwrap(), accept: true, proof: session() };
        assert_eq!(table.code(Command::Confirm(confirm)), code);
    }
    assert_eq!(view::status(&table.state), "paused");
}

#[test]
fn n11_three_seats_agree_only_on_one_hash_by_all() {
    let mut table = Table::sealed_with(3, policy(), card);
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let accept = |reviews| EnvelopeInput { reviews, ..agree(hash) };
    table.send(b(), accept(vec![review("A1.1", Verdict::Accept)])).unwrap();
    assert!(table.state.agreement.is_none());
    assert_eq!(table.state.turn, Some(c()));
    // The third counters; the second's word stands for the first offer.
    let counter = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..offer("The garden") };
    table.send(c(), counter).unwrap();
    assert!(table.state.agreement.is_none());
    table.send(A, EnvelopeInput { reviews: vec![review("C3.1", Verdict::Accept)], ..say("no") }).unwrap();
    table.send(b(), EnvelopeInput { reviews: vec![review("C3.1", Verdict::Accept)], ..say("no") }).unwrap();
    table.send(c(), agree(hash)).unwrap();
    assert_eq!(view::status(&table.state), "agreed");
    assert_eq!(table.state.agreement.as_ref().unwrap().accepted_by, [b(), c()]);
}

#[test]
fn n12_an_anonymous_viewer_sees_no_transcript() {
    let mut table = Table::sealed();
    table.send(A, offer("A secret term")).unwrap();
    for viewer in [Viewer::Nobody, Viewer::Share(pxp::Scope::Brief), Viewer::Share(pxp::Scope::Ledger)] {
        let view = view::room(&table.state, viewer, table.now()).unwrap();
        let text = String::from_utf8(canon::to_vec(&view).unwrap()).unwrap();
        assert!(!text.contains("A secret term"), "{viewer:?}");
        assert!(!text.contains("The hall is free"), "{viewer:?}");
        assert!(view.transcript.is_empty() && view.claims.is_empty() && view.offers.is_empty());
    }
    let nobody = view::room(&table.state, Viewer::Nobody, table.now()).unwrap();
    assert!(nobody.topic.is_empty() && nobody.counterparts.is_empty() && nobody.deadline.is_none());
}

#[test]
fn n13_either_side_withdraws_at_any_time() {
    let moments: [fn(&mut Table); 3] = [
        |_| {},
        |table| drop(table.send(A, offer("The hall")).unwrap()),
        |table| drop(table.send(A, escalate("May I?", &[])).unwrap()),
    ];
    for moment in moments {
        for actor in [Actor::Seat { seat: b() }, principal(b())] {
            let mut table = Table::sealed();
            moment(&mut table);
            table
                .run(Command::Leave(Leave { actor, seat: b(), reason: "found another hall".into() }))
                .unwrap();
            assert_eq!(view::status(&table.state), "withdrawn");
            let brief = table.state.brief.as_ref().unwrap().brief.as_ref().unwrap();
            assert_eq!((brief.seat, brief.reason.as_deref()), (Some(b()), Some("found another hall")));
            assert!(brief.agreement.is_none());
            assert_eq!(table.send_code(A, say("wait")), "room_ended");
            assert!(table.state.asks().is_empty());
        }
    }
}

#[test]
fn n14_a_silent_side_stalls_the_room_with_the_reason() {
    let policy = Policy { turn_seconds: Some(60), answer_seconds: Some(600), ..Policy::default() };
    let mut table = Table::sealed_with(2, policy.clone(), card);
    assert!(
        table.effects.contains(&Effect::Wake {
            stream: "room/r00m".into(),
            at: start() + env::Duration::from_secs(60)
        })
    );
    table.wait(59).unwrap();
    assert_eq!(view::status(&table.state), "negotiating");
    table.wait(1).unwrap();
    let brief = table.state.brief.as_ref().unwrap().brief.clone().unwrap();
    assert_eq!(
        (brief.outcome.as_str(), brief.reason.as_deref(), brief.seat),
        ("stalled", Some("turn_deadline"), Some(A))
    );

    let mut table = Table::sealed_with(2, policy, card);
    table.send(A, escalate("May I?", &[])).unwrap();
    table.wait(599).unwrap();
    assert_eq!(view::status(&table.state), "paused");
    table.wait(1).unwrap();
    let brief = table.state.brief.as_ref().unwrap().brief.clone().unwrap();
    assert_eq!((brief.outcome.as_str(), brief.reason.as_deref()), ("stalled", Some("escalation_deadline")));
    let late =
        Answer { actor: principal(A), seat: A, answer: ruling("q1", Ruling::Allow, &[]), proof: session() };
    assert_eq!(table.code(Command::Answer(late)), "room_ended");
}

#[test]
fn n15_a_ref_to_a_missing_clause_is_assumed_and_flagged() {
    let check = |reference: Option<&str>, origin: Origin, code: Option<&str>| {
        let mut table = Table::sealed();
        let claims = vec![claim("eighty guests come", Origin::Stated, reference)];
        let sent = table.send(A, EnvelopeInput { claims, ..say("hello") }).unwrap();
        assert_eq!(table.state.claims[0].origin, origin, "{reference:?}");
        assert_eq!(table.state.claims[0].verified, origin == Origin::Stated, "{reference:?}");
        let codes: Vec<&str> = sent.protocol_flags.iter().map(|flag| flag.code.as_str()).collect();
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{reference:?}");
    };
    check(Some("known_facts[0]"), Origin::Stated, None);
    check(Some("known_facts[99]"), Origin::Assumed, Some("ref_unresolved"));
    check(Some("amendment[0]"), Origin::Assumed, Some("ref_unresolved"));
    check(Some("a signed contract"), Origin::Assumed, Some("ref_unresolved"));
    check(Some(" "), Origin::Assumed, Some("claim_without_ref"));
    check(None, Origin::Assumed, Some("claim_without_ref"));
}

#[test]
fn the_turn_cap_stalls_after_the_last_turn_and_questions_are_no_turns() {
    let mut table = Table::sealed_with(2, Policy { max_turns: 2, ..Policy::default() }, card);
    table.send(A, escalate("May I?", &[])).unwrap();
    table.answer(A, ruling("q1", Ruling::Deny, &[])).unwrap();
    table.send(A, say("one")).unwrap();
    assert_eq!(view::status(&table.state), "negotiating");
    table.send(b(), say("two")).unwrap();
    assert_eq!(view::status(&table.state), "stalled");
    assert_eq!(table.kinds().iter().rev().take(2).rev().collect::<Vec<_>>(), ["turn_limit", "brief"]);
}

#[test]
fn the_last_turn_may_agree() {
    let mut table = Table::sealed_with(2, Policy { max_turns: 2, ..Policy::default() }, card);
    let hash = table.send(A, offer("The hall")).unwrap().offer_hash.unwrap();
    let accepted = EnvelopeInput { reviews: vec![review("A1.1", Verdict::Accept)], ..agree(hash) };
    table.send(b(), accepted).unwrap();
    assert_eq!(view::status(&table.state), "agreed");
}

#[test]
fn a_pause_refuses_everything_until_it_is_resumed() {
    let mut table = Table::sealed_with(2, Policy { turn_seconds: Some(60), ..Policy::default() }, card);
    assert_eq!(
        table.code(Command::Pause(Pause { actor: Actor::Seat { seat: A }, reason: "stop".into() })),
        "not_permitted"
    );
    table.run(Command::Pause(Pause { actor: Actor::Server, reason: "stop".into() })).unwrap();
    assert_eq!(table.send_code(A, say("hello")), "paused");
    assert_eq!(
        table.code(Command::Leave(Leave { actor: Actor::Seat { seat: A }, seat: A, reason: String::new() })),
        "paused"
    );
    table.wait(1000).unwrap();
    assert_eq!(view::status(&table.state), "paused");
    table.run(Command::Resume(Resume { actor: Actor::Server })).unwrap();
    table.wait(59).unwrap();
    table.send(A, say("hello")).unwrap();
    // The time paused is nobody's delay; the time before it is not given back.
    for _ in 0..2 {
        table.wait(20).unwrap();
        table.run(Command::Pause(Pause { actor: Actor::Server, reason: "stop".into() })).unwrap();
        table.wait(1000).unwrap();
        table.run(Command::Resume(Resume { actor: Actor::Server })).unwrap();
    }
    table.wait(19).unwrap();
    assert_eq!(view::status(&table.state), "negotiating");
    table.wait(1).unwrap();
    assert_eq!(view::status(&table.state), "stalled");
    let kinds = table.kinds();
    assert!(kinds.contains(&"room_paused".to_owned()) && kinds.contains(&"room_resumed".to_owned()));
}

#[test]
fn nothing_moves_before_every_card_is_sealed() {
    let mut table = Table::joined(2, policy());
    assert_eq!(table.send_code(A, say("hello")), "drafting");
    table.seal(A, card(A)).unwrap();
    assert_eq!(table.send_code(A, say("hello")), "drafting");
    table.seal(b(), card(b())).unwrap();
    assert_eq!(table.state.turn, Some(A));
    assert_eq!(table.send_code(b(), say("hello")), "not_your_turn");
}

#[test]
fn replaying_the_entries_gives_the_same_room() {
    let mut table = Table::sealed();
    table.send(A, offer("The hall")).unwrap();
    let mut state = pxp::State::default();
    let mut head = Head::EMPTY;
    for entry in &table.entries {
        let event = <pxp::Room as ledger::Aggregate>::open(entry, head).unwrap();
        head = Head { seq: entry.seq, hash: entry.hash };
        <pxp::Room as ledger::Aggregate>::evolve(&mut state, &event, head);
    }
    assert_eq!(state, table.state);
    assert_eq!(state.envelopes[0].status, Status::Continue);
}
