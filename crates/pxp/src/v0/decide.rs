//! What a command does to a room (spec 3).

use super::Refusal;
use super::card::{Amendment, Card};
use super::demo;
use super::enforce::enforce;
use super::envelope::{Envelope, Status};
use super::event::*;
use super::room::{Command, Mode, Open, Phase, Reply, Side, State, TermAuthority, Via};
use super::text::{cut, limit, trim};
use canon::{Digest, Number, Value};
use env::{Env, Timestamp};
use keys::SecretHash;
use ledger::{Decision, Pointer};

type Outcome = Result<Decision<Event, Reply>, Refusal>;

/// The index of rooms that are there.
pub const INDEX: &str = "roomzero";

/// Drafts a seat may have made.
const DRAFTS: usize = 5;

/// Labels a seat may sit under, one after the other.
const LABELS: usize = 32;

/// What a failed built-in proxy leaves on record, never the model's own words.
pub const PROXY_FAILED: &str = "proxy_failed";

pub(super) fn decide(state: &State, command: &Command, env: &mut Env) -> Outcome {
    let at = env.now().to_millis();
    if let Command::Open(open) = command {
        return self::open(state, open, at, env);
    }
    if !state.exists() {
        return Err(Refusal::NoRoom);
    }
    match command {
        Command::Open(_) => Err(Refusal::Exists),
        Command::Join { side, label } => join(state, *side, label, at),
        Command::Draft { side, text } => draft(state, *side, text, at),
        Command::Seal { side, card, via, label } => seal(state, *side, card, *via, label.as_deref(), at),
        Command::Send { side, raw, by } => send(state, *side, raw, *by, at),
        Command::Answer { side, answer, via } => self::answer(state, *side, answer, *via, at),
        Command::Resume => resume(state, at),
        Command::Call => call(state, at),
        Command::CallAuthority => call_authority(state, at),
        Command::Fail => fail(state, at),
        Command::Interrupt => interrupt(state, at),
        Command::Authority(map) => authority(state, map, at),
        Command::Evict => evict(state, at),
    }
}

fn open(state: &State, open: &Open, at: Timestamp, env: &mut Env) -> Outcome {
    if state.seats.is_some() || !state.ledger.is_empty() {
        return Err(Refusal::Exists);
    }
    let tokens = if open.demo {
        let token = env.id(24);
        [token.clone(), token]
    } else {
        [env.id(24), env.id(24)]
    };
    let [name_a, name_b] = &open.names;
    let named = |name: &str, side: Side| {
        let name = cut(trim(name), limit::SEAT_NAME);
        if name.is_empty() { format!("Principal {side}") } else { name.to_owned() }
    };
    let topic = cut(trim(&open.topic), limit::TOPIC);
    let setup = Setup {
        id: open.id.clone(),
        demo: open.demo,
        max_turns: open.max_turns.max(1),
        owner: open.owner.clone(),
        names: [named(name_a, Side::A), named(name_b, Side::B)],
        modes: open.modes,
        tokens: tokens.each_ref().map(|token| SecretHash::of(token)),
    };
    let body = Body::Setup(Box::new(setup.clone()));
    let opened = RoomOpened {
        topic: if topic.is_empty() { "Untitled exchange".to_owned() } else { topic.to_owned() },
        protocol: "PXP/0".to_owned(),
        setup_hash: canon::to_vec(&setup).map_or(Digest::ZERO, |bytes| Digest::of(&bytes)),
    };
    let mut events = vec![Event { at, fact: Fact::RoomOpened(opened), body: Some(body) }];
    if let Some(agent) = &open.agent {
        events.push(joined(Side::A, agent, at));
    }
    let pointers = vec![Pointer::Set { key: INDEX.to_owned(), item: open.id.clone() }];
    Ok(Decision { events, effects: Vec::new(), pointers, answer: Reply::Opened { tokens } })
}

fn join(state: &State, side: Side, label: &str, at: Timestamp) -> Outcome {
    let seat = state.seat(side);
    if seat.mode == Mode::BuiltIn && (state.demo || state.phase != Phase::Drafting) {
        return Err(Refusal::TooLateToJoin);
    }
    let label = label_of(label);
    if seat.agent.as_deref() == Some(&label) {
        return done(Vec::new(), Reply::Done);
    }
    if seat.labels >= LABELS {
        return Err(Refusal::TooManyLabels);
    }
    done(vec![joined(side, &label, at)], Reply::Done)
}

fn draft(state: &State, side: Side, text: &str, at: Timestamp) -> Outcome {
    if state.demo {
        return Err(Refusal::DemoDraft);
    }
    let seat = state.seat(side);
    if seat.card.is_some() {
        return Err(Refusal::Sealed);
    }
    let text = cut(trim(text), limit::DRAFT);
    if text.is_empty() {
        return Err(Refusal::BlankDraft);
    }
    if seat.drafts >= DRAFTS {
        return Err(Refusal::DraftsUsed);
    }
    let fact = Fact::Drafted(Drafted { seat: side, text_hash: Digest::of(text.as_bytes()) });
    done(vec![Event { at, fact, body: Some(Body::Text(text.to_owned())) }], Reply::Done)
}

fn seal(
    state: &State,
    side: Side,
    card: &Value<'_>,
    via: Via,
    label: Option<&str>,
    at: Timestamp,
) -> Outcome {
    let seat = state.seat(side);
    if seat.card.is_some() || state.phase != Phase::Drafting {
        return Err(Refusal::Sealed);
    }
    let card = Card::normalise(card, &seat.name, side);
    card.validate()?;
    let mut events = Vec::new();
    if via == Via::Mcp && (seat.mode == Mode::BuiltIn || seat.agent.is_none()) {
        events.push(joined(side, &label_of(label.unwrap_or_default()), at));
    }
    let card_hash = card.hash();
    let sealed = CardSealed { seat: side, principal: card.principal.name.clone(), card_hash, via };
    events.push(Event { at, fact: Fact::CardSealed(sealed), body: Some(Body::Card(Box::new(card))) });
    done(events, Reply::Sealed(card_hash))
}

fn send(state: &State, side: Side, raw: &Value<'_>, by: Mode, at: Timestamp) -> Outcome {
    may_send(state, side, by)?;
    let (envelope, _) = enforce(state, side, raw);
    let mut events = vec![sent(&envelope, at)];
    match envelope.status {
        Status::Agree => {
            if let Some(accepts) = &envelope.accepts {
                let agreed = Agreed {
                    proposal_hash: accepts.proposal_hash,
                    proposed_by: side.other(),
                    accepted_by: side,
                };
                events.push(Event { at, fact: Fact::Agreed(agreed), body: None });
            }
        }
        Status::Escalate => {
            let question = envelope.escalation.as_ref().map_or("", |escalation| &escalation.question);
            let escalated =
                Escalated { seat: side, seq: envelope.seq, question_hash: Digest::of(question.as_bytes()) };
            events.push(Event { at, fact: Fact::Escalated(escalated), body: None });
        }
        Status::Continue => events.extend(turn_limit(state, envelope.seq, at)),
    }
    done(events, Reply::Sent(Box::new(envelope)))
}

fn may_send(state: &State, side: Side, by: Mode) -> Result<(), Refusal> {
    match state.phase {
        Phase::Drafting => return Err(Refusal::Drafting),
        Phase::Paused => {
            let asked = state.pending.as_ref().map(|pending| pending.seat);
            return Err(asked.map_or(Refusal::Interrupted, Refusal::Paused));
        }
        Phase::Agreed | Phase::Stalled => return Err(Refusal::Ended),
        Phase::Error => return Err(Refusal::Stopped),
        Phase::Negotiating => {}
    }
    match (by, state.seat(side).mode) {
        (Mode::External, Mode::BuiltIn) => Err(Refusal::BuiltIn),
        (Mode::BuiltIn, Mode::External) => Err(Refusal::External),
        (Mode::External, _) if state.turn == Some(side) => Ok(()),
        (Mode::BuiltIn, _) if state.in_flight == Some(side) || (state.demo && state.turn == Some(side)) => {
            Ok(())
        }
        _ => Err(Refusal::NotYourTurn),
    }
}

fn answer(state: &State, side: Side, answer: &str, via: Via, at: Timestamp) -> Outcome {
    let pending = state.pending.as_ref().filter(|pending| pending.seat == side);
    if state.demo && (via == Via::Mcp || !demo::OPTIONS.contains(&answer)) {
        return Err(Refusal::DemoAnswer);
    }
    let pending = pending.ok_or(Refusal::NothingPending)?;
    let answer = cut(trim(answer), limit::ANSWER);
    if answer.is_empty() {
        return Err(Refusal::BlankAnswer);
    }
    let card = amended(state, side, &pending.question, answer, at);
    let answered = Answered {
        seat: side,
        speaker: "principal".to_owned(),
        via,
        answer_hash: Digest::of(answer.as_bytes()),
        card_hash: card.map_or(Digest::ZERO, |card| card.hash()),
    };
    let body = Some(Body::Text(answer.to_owned()));
    let mut events = vec![Event { at, fact: Fact::Answered(answered), body }];
    events.extend(turn_limit(state, state.turn_count, at));
    done(events, Reply::Done)
}

/// The side's card with an answer sealed into it.
pub(super) fn amended(
    state: &State,
    side: Side,
    question: &str,
    answer: &str,
    at: Timestamp,
) -> Option<Card> {
    let mut card = state.seat(side).card.clone()?;
    card.amendments.push(Amendment { question: question.to_owned(), answer: answer.to_owned(), at });
    Some(card)
}

fn resume(state: &State, at: Timestamp) -> Outcome {
    let stuck = state.phase == Phase::Error || (state.phase == Phase::Paused && state.pending.is_none());
    if !stuck {
        return Err(Refusal::NothingToResume);
    }
    let fact = Fact::Resumed(Resumed { by: "web".to_owned() });
    done(vec![Event { at, fact, body: None }], Reply::Done)
}

fn call(state: &State, at: Timestamp) -> Outcome {
    let Some(seat) = state.due() else { return done(Vec::new(), Reply::Called(false)) };
    if state.calls >= state.budget() {
        let fact = Fact::BudgetSpent(BudgetSpent { calls: state.budget() });
        return done(vec![Event { at, fact, body: None }], Reply::Called(false));
    }
    let fact = Fact::ProxyCalled(ProxyCalled { seat, calls: count(state.calls.saturating_add(1)) });
    done(vec![Event { at, fact, body: None }], Reply::Called(true))
}

fn call_authority(state: &State, at: Timestamp) -> Outcome {
    if state.phase != Phase::Agreed || state.calls >= state.budget() {
        return done(Vec::new(), Reply::Called(false));
    }
    let fact = Fact::AuthorityCalled(AuthorityCalled { calls: count(state.calls.saturating_add(1)) });
    done(vec![Event { at, fact, body: None }], Reply::Called(true))
}

fn fail(state: &State, at: Timestamp) -> Outcome {
    if state.in_flight.is_none() {
        return done(Vec::new(), Reply::Done);
    }
    let fact = Fact::ProxyFailed(ProxyFailed { error: PROXY_FAILED.to_owned() });
    done(vec![Event { at, fact, body: None }], Reply::Done)
}

fn interrupt(state: &State, at: Timestamp) -> Outcome {
    let Some(seat) = state.in_flight else { return done(Vec::new(), Reply::Done) };
    let fact = if state.calls >= state.budget() {
        Fact::BudgetSpent(BudgetSpent { calls: state.budget() })
    } else {
        Fact::ProxyInterrupted(ProxyInterrupted { seat })
    };
    done(vec![Event { at, fact, body: None }], Reply::Done)
}

fn authority(state: &State, map: &[TermAuthority], at: Timestamp) -> Outcome {
    if state.phase != Phase::Agreed || state.authority.is_some() {
        return done(Vec::new(), Reply::Done);
    }
    let map_hash = canon::to_vec(map).map_or(Digest::ZERO, |bytes| Digest::of(&bytes));
    let fact = Fact::AuthorityMapped(AuthorityMapped { map_hash });
    done(vec![Event { at, fact, body: Some(Body::Authority(map.to_vec())) }], Reply::Done)
}

fn evict(state: &State, at: Timestamp) -> Outcome {
    let fact = Fact::Evicted(Evicted { reason: "retention".to_owned() });
    Ok(Decision {
        events: vec![Event { at, fact, body: None }],
        effects: Vec::new(),
        pointers: vec![Pointer::Clear { key: INDEX.to_owned(), item: state.id.clone() }],
        answer: Reply::Done,
    })
}

/// The cap is reached once `turns` envelopes stand and the room would go on.
fn turn_limit(state: &State, turns: u64, at: Timestamp) -> Option<Event> {
    (turns >= state.max_turns).then_some(Event { at, fact: Fact::TurnLimit(TurnLimit { turns }), body: None })
}

fn sent(envelope: &Envelope, at: Timestamp) -> Event {
    let fact = Fact::Sent(Sent {
        seq: envelope.seq,
        seat: envelope.from.seat,
        status: envelope.status,
        envelope_hash: envelope.hash(),
    });
    Event { at, fact, body: Some(Body::Envelope(Box::new(envelope.clone()))) }
}

fn joined(seat: Side, label: &str, at: Timestamp) -> Event {
    let fact = Fact::AgentJoined(AgentJoined { seat, agent: label_of(label) });
    Event { at, fact, body: None }
}

fn label_of(label: &str) -> String {
    let label = cut(trim(label), limit::AGENT);
    if label.is_empty() { "External agent".to_owned() } else { label.to_owned() }
}

fn count(calls: u64) -> Value<'static> {
    Number::try_from(calls).map_or(Value::Null, Value::Number)
}

fn done(events: Vec<Event>, answer: Reply) -> Outcome {
    Ok(Decision { events, effects: Vec::new(), pointers: Vec::new(), answer })
}
