//! Random commands against a room: whatever happens, the fold and the replay agree, nothing panics, and what may never
//! happen does not.

use crate::answers::vouch;
use crate::table::*;
use proptest::prelude::*;
use pxp::bundle;
use pxp::command::{
    Answer, AttachSource, Confirm, Disclose, Disclosed, Join, Leave, Pause, Resume, Rotate, Share,
    WithdrawOffer,
};
use pxp::view::{self, Viewer};
use pxp::wire::{Origin, ProposalInput, Source, Verdict};
use pxp::{Actor, Command, EnvelopeInput, Policy, Ruling, Scope, SeatId, Status};

/// One step: what is tried, by which seat, and a few numbers to choose with.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    seat: u8,
    pick: u8,
    flag: bool,
}

fn steps() -> impl Strategy<Value = (u64, usize, bool, Vec<Step>)> {
    let step = (0..20_u8, 0..3_u8, any::<u8>(), any::<bool>()).prop_map(|(kind, seat, pick, flag)| Step {
        kind,
        seat,
        pick,
        flag,
    });
    (any::<u64>(), 2..4_usize, any::<bool>(), proptest::collection::vec(step, 1..60))
}

fn play(table: &mut Table, step: &Step) {
    let seats = table.state.seats.len();
    // Mostly the seat whose turn it is, so that rooms get somewhere.
    let by_turn = table.state.turn.filter(|_| step.seat != 2);
    let seat = by_turn.or_else(|| SeatId::at(usize::from(step.seat) % seats)).unwrap();
    let reviews = || {
        let verdict = match step.pick % 4 {
            0 => Verdict::Challenge,
            1 if step.flag => Verdict::Conflict,
            _ => Verdict::Accept,
        };
        table.state.to_review(seat).iter().map(|claim| review(claim.id.as_str(), verdict)).collect::<Vec<_>>()
    };
    let nth_offer = |n: u8| table.state.offers.iter().rev().nth(usize::from(n % 3)).map(|offer| offer.hash);
    let nth_claim = |n: u8| {
        let count = table.state.claims.len().max(1);
        table.state.claims.get(usize::from(n) % count).map(|claim| claim.id.clone())
    };
    let command = match step.kind {
        0..=2 => {
            let values = if step.flag { vec![price(i64::from(step.pick) * 600)] } else { Vec::new() };
            let proposal = ProposalInput { values, ..proposal("The hall", &["new1"]) };
            let envelope =
                EnvelopeInput { reviews: reviews(), proposal: Some(proposal), ..offer("The hall") };
            Command::Send(send(seat, envelope))
        }
        3..=6 => {
            let Some(hash) = nth_offer(step.pick) else { return };
            Command::Send(send(seat, EnvelopeInput { reviews: reviews(), ..agree(hash) }))
        }
        7 => {
            let claims = vec![claim("80 guests", Origin::Stated, Some("known_facts[0]"))];
            Command::Send(send(seat, EnvelopeInput { reviews: reviews(), claims, ..say("hello 7") }))
        }
        8 => {
            let ids: Vec<String> = nth_claim(step.pick).iter().map(ToString::to_string).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut asking = escalate("May I?", &ids);
            if step.flag {
                asking.escalation.as_mut().unwrap().offer_hash = nth_offer(step.pick);
            }
            Command::Send(send(seat, asking))
        }
        9..=12 => {
            let Some(question) = table.state.pending() else { return };
            let (id, seat) = (question.id.to_string(), question.seat);
            let claims: Vec<String> = question.claims.iter().map(ToString::to_string).collect();
            let clears: Vec<&str> = claims.iter().map(String::as_str).collect();
            let answer = match step.pick % 4 {
                0 => ruling(&id, Ruling::Deny, &[]),
                1 => ruling(&id, Ruling::Amend, &[]),
                2 => ruling(&id, Ruling::Allow, &[]),
                _ => ruling(&id, Ruling::Allow, &clears),
            };
            let (actor, proof) =
                if step.flag { (principal(seat), session()) } else { (Actor::Seat { seat }, relayed()) };
            Command::Answer(Answer { actor, seat, answer, proof })
        }
        13 => {
            let Some(question) = table.state.pending() else { return };
            let (question, seat) = (question.id.clone(), question.seat);
            Command::Confirm(Confirm {
                actor: principal(seat),
                seat,
                question,
                accept: step.flag,
                proof: session(),
            })
        }
        14 => {
            let Some(claim) = nth_claim(step.pick) else { return };
            let _ = vouch(table, seat, claim.as_str(), step.flag);
            return;
        }
        15 => {
            let Some(claim) = nth_claim(step.pick) else { return };
            let source = Source { uri: "https://example.test/x".into(), sha256: canon::Digest::of(b"x") };
            Command::AttachSource(AttachSource { actor: Actor::Seat { seat }, seat, claim, source })
        }
        16 => {
            let Some(offer_hash) = nth_offer(step.pick) else { return };
            let actor = Actor::Seat { seat };
            Command::WithdrawOffer(WithdrawOffer { actor, seat, offer_hash, reason: String::new() })
        }
        17 => match step.pick % 5 {
            0 => Command::Pause(Pause { actor: Actor::Server, reason: String::new() }),
            1 => Command::Share(Share {
                actor: Actor::Seat { seat },
                seat,
                scope: Scope::Brief,
                expires_at: None,
            }),
            2 => Command::Rotate(Rotate { actor: principal(seat), seat }),
            3 => {
                let to = SeatId::at((seat.index() + 1) % seats).unwrap();
                Command::Disclose(Disclose { actor: principal(seat), seat, to, what: Disclosed::Card })
            }
            _ => Command::Join(Join {
                actor: Actor::Seat { seat },
                seat,
                agent: Some(format!("label {}", step.pick)),
                key: None,
                principal: None,
            }),
        },
        18 => {
            let _ = table.wait(u64::from(step.pick) * 3);
            Command::Resume(Resume { actor: Actor::Server })
        }
        _ if step.pick > 230 => Command::Leave(Leave { actor: principal(seat), seat, reason: String::new() }),
        _ => return,
    };
    let before = (table.state.clone(), table.entries.len());
    if table.run(command).is_err() {
        assert_eq!((&table.state, table.entries.len()), (&before.0, before.1), "a refusal changes nothing");
    }
}

fn hold_true(table: &Table) {
    let state = &table.state;
    if let Some(agreement) = &state.agreement {
        let mut bound: Vec<SeatId> = agreement.accepted_by.clone();
        bound.push(agreement.proposed_by);
        bound.sort_unstable();
        let all: Vec<SeatId> = state.seats.iter().map(|seat| seat.id).collect();
        assert_eq!(bound, all, "everyone has agreed to one hash");
        let offer = state.offer(agreement.offer_hash).unwrap();
        for one in &offer.accepted {
            let envelope = state.envelopes.iter().find(|envelope| envelope.seq == one.seq).unwrap();
            assert_eq!(envelope.status, Status::Agree);
            assert_eq!(envelope.accepts.as_ref().unwrap().offer_hash, Some(agreement.offer_hash));
        }
    }
    assert_eq!(state.is_ended(), state.brief.is_some(), "an end has its brief");
    let spent = state.envelopes.iter().filter(|envelope| envelope.status != Status::Escalate).count();
    assert_eq!(usize::try_from(state.turns).unwrap(), spent);
    for seat in &state.seats {
        assert_eq!(seat.card.as_ref().unwrap().hash().unwrap(), seat.card_hash.unwrap());
    }
    for viewer in [Viewer::Seat(A), Viewer::Principal(b()), Viewer::Share(Scope::Transcript), Viewer::Nobody]
    {
        let seen = view::room(state, viewer, table.now()).unwrap();
        let text = String::from_utf8(canon::to_vec(&seen).unwrap()).unwrap();
        assert_eq!(
            text.contains("Ana never pays in cash"),
            viewer == Viewer::Seat(A) || disclosed(table, viewer)
        );
    }
}

fn disclosed(table: &Table, viewer: Viewer) -> bool {
    table.state.disclosures.iter().any(|shown| shown.from == A && viewer.seat() == Some(shown.to))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_rooms_keep_their_promises((seed, seats, hold, steps) in steps()) {
        let policy = Policy {
            turn_seconds: Some(2_000),
            answer_seconds: Some(2_000),
            offer_seconds: Some(900),
            relayed: if hold { pxp::command::Relayed::Hold } else { pxp::command::Relayed::Accept },
            ..Policy::default()
        };
        let mut table = Table::sealed_with(seats, policy, if seed % 2 == 0 { card } else { limited });
        for step in &steps {
            let ended = table.state.is_ended();
            let outcome = table.state.phase.clone();
            play(&mut table, step);
            if ended {
                prop_assert_eq!(&table.state.phase, &outcome, "an end is final");
            }
        }
        hold_true(&table);
        // What each viewer lacks is not held against the room.
        for viewer in [
            Viewer::Seat(A),
            Viewer::Seat(b()),
            Viewer::Share(Scope::Transcript),
            Viewer::Share(Scope::Ledger),
        ] {
            let mut head = ledger::Head::EMPTY;
            let mut seen = table.entries.clone();
            for entry in &mut seen {
                let event = pxp::Event::open(entry, head).unwrap();
                head = ledger::Head { seq: entry.seq, hash: entry.hash };
                entry.payload = entry.payload.take().filter(|_| viewer.reads_payload(&event.fact));
            }
            prop_assert_eq!(bundle::fold(&seen).map(|_| ()), Ok(()));
        }
        let folded = bundle::fold(&table.entries).unwrap();
        prop_assert!(folded.unchecked.is_empty());
        prop_assert_eq!(folded.state, table.state);
    }
}
