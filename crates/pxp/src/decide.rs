//! Commands to entries and effects. A [`Draft`] seals and folds as it goes, so that each step of one command sees the
//! steps before it, and the brief of an ending names the head it follows.

mod answering;
mod claiming;
mod leaving;
mod opening;
mod recording;
mod sealing;
mod sending;
mod sharing;

pub(crate) use leaving::open_offer;
pub(crate) use recording::may_record;
pub(crate) use sending::{ending, envelope, follow};

use crate::command::{Actor, By, Command, Driver, Reply};
use crate::event::{Body, BriefRecorded, Event, Fact, Via};
use crate::state::{At, Phase, Question, Seat, State};
use crate::{QuestionId, Refusal, SeatId, brief, evolve};
use approvals::Audience;
use env::{Env, Timestamp};
use ledger::{Decision, Effect, Head, Pointer};

pub(crate) fn decide(
    state: &State,
    command: &Command,
    env: &mut Env,
) -> Result<Decision<Event, Reply>, Refusal> {
    let mut draft = Draft::on(state, env);
    if let Command::Open(open) = command {
        let reply = opening::open(&mut draft, open)?;
        return Ok(draft.done(reply));
    }
    if state.room.is_none() {
        return Err(Refusal::RoomUnknown);
    }
    if state.paused.is_some() && !works_while_paused(command) {
        return Err(Refusal::Paused);
    }
    let reply = match command {
        Command::Open(_) => Reply::Done,
        Command::Join(join) => opening::join(&mut draft, join)?,
        Command::Enrol(enrol) => opening::enrol(&mut draft, enrol)?,
        Command::Seal(seal) => sealing::seal(&mut draft, seal)?,
        Command::Send(send) => sending::send(&mut draft, send)?,
        Command::Answer(answer) => answering::answer(&mut draft, answer)?,
        Command::Confirm(confirm) => answering::confirm(&mut draft, confirm)?,
        Command::ConfirmClaim(confirm) => claiming::confirm(&mut draft, confirm)?,
        Command::AttachSource(attach) => claiming::attach(&mut draft, attach)?,
        Command::WithdrawOffer(withdraw) => leaving::withdraw(&mut draft, withdraw)?,
        Command::Leave(leave) => leaving::leave(&mut draft, leave)?,
        Command::Disclose(disclose) => sharing::disclose(&mut draft, disclose)?,
        Command::Share(share) => sharing::share(&mut draft, share)?,
        Command::Unshare(unshare) => sharing::unshare(&mut draft, unshare)?,
        Command::Rotate(rotate) => sharing::rotate(&mut draft, rotate)?,
        Command::Pause(pause) => leaving::pause(&mut draft, pause)?,
        Command::Resume(resume) => leaving::resume(&mut draft, resume)?,
        Command::Tick => leaving::tick(&mut draft)?,
    };
    Ok(draft.done(reply))
}

/// What a pause does not stop: ending it, and taking credentials away. A tick finds nothing due.
const fn works_while_paused(command: &Command) -> bool {
    matches!(command, Command::Resume(_) | Command::Unshare(_) | Command::Rotate(_) | Command::Tick)
}

/// A decision in the making.
pub(crate) struct Draft<'a> {
    pub state: State,
    pub env: &'a mut Env,
    events: Vec<Event>,
    effects: Vec<Effect>,
    pointers: Vec<Pointer>,
}

impl<'a> Draft<'a> {
    fn on(state: &State, env: &'a mut Env) -> Self {
        Self { state: state.clone(), env, events: Vec::new(), effects: Vec::new(), pointers: Vec::new() }
    }

    /// Never before the last entry, whatever the clock says.
    pub fn now(&self) -> Timestamp {
        let now = self.env.now().to_millis();
        self.state.at.map_or(now, |last| now.max(last))
    }

    /// Records a fact that may be recorded: seals it at the head and folds it.
    pub fn push(&mut self, fact: impl Into<Fact>, body: Option<Body>) -> Result<(), Refusal> {
        let fact = fact.into();
        may_record(&self.state, &fact, body.as_ref(), self.now())?;
        let event = Event::new(self.now(), fact, body)?;
        let entry = event.seal(self.state.head())?;
        let at = Head { seq: entry.seq, hash: entry.hash };
        evolve::evolve(&mut self.state, &event, at);
        debug_assert_eq!(self.state.head, At(at));
        self.events.push(event);
        Ok(())
    }

    /// Records the end and the brief that describes it, in one append (W-15, W-24). Nobody is asked any more.
    pub fn end(&mut self, fact: impl Into<Fact>) -> Result<(), Refusal> {
        let pending = self.state.pending().cloned();
        self.push(fact, None)?;
        if let Some(question) = pending {
            self.unask(&question);
        }
        let brief = brief::compute(&self.state, self.now())
            .ok_or_else(|| Refusal::Bug("an end that ended nothing".to_owned()))?;
        let (brief_hash, outcome) = (brief.hash()?, brief.outcome.clone());
        self.push(BriefRecorded { brief_hash, outcome, payload: None }, Some(Body::Brief(Box::new(brief))))
    }

    /// Wakes the room when its deadline, a reminder before it or an offer's expiry comes, and a built-in seat when it is its
    /// turn.
    pub fn schedule(&mut self) {
        let stream = self.stream();
        let mut wakes: Vec<Timestamp> = self.state.deadline().map(|(at, _)| at).into_iter().collect();
        let now = self.now();
        wakes.extend(self.state.reminder());
        wakes.extend(
            self.state.offers.iter().filter(|offer| offer.is_open(now)).filter_map(|offer| offer.expires_at),
        );
        let moves = self.state.turn.and_then(|turn| self.state.seat(turn));
        if self.state.phase == Phase::Negotiating && moves.is_some_and(|seat| seat.driver == Driver::BuiltIn)
        {
            wakes.push(now);
        }
        wakes.sort_unstable();
        wakes.dedup();
        self.effects.extend(wakes.into_iter().map(|at| Effect::Wake { stream: stream.clone(), at }));
    }

    /// Puts a question into the inbox of whom it is for.
    pub fn ask(&mut self, question: &QuestionId, seat: SeatId, ask: String) {
        let stream = self.stream();
        if let Some(key) = self.state.seat(seat).and_then(inbox_key) {
            self.pointers.push(Pointer::Set { key, item: self.item(question) });
        }
        self.effects.push(Effect::Ask { ask, stream });
    }

    pub fn unask(&mut self, question: &Question) {
        if let Some(key) = self.state.seat(question.seat).and_then(inbox_key) {
            self.pointers.push(Pointer::Clear { key, item: self.item(&question.id) });
        }
    }

    /// Lists the room for the members who answer for a seat; a question that is pending reaches their inbox.
    pub fn list(&mut self, seat: SeatId) {
        let Some(found) = self.state.seat(seat) else { return };
        let Some(who) = whom(found.principal.audience.as_ref()) else { return };
        let room = self.state.id().map(ToString::to_string).unwrap_or_default();
        self.pointers.push(Pointer::Set { key: format!("rooms/{who}"), item: room });
        if let Some(question) =
            self.state.pending().filter(|question| question.seat == seat).map(|q| q.id.clone())
        {
            self.pointers.push(Pointer::Set { key: format!("inbox/{who}"), item: self.item(&question) });
        }
    }

    /// The seat, or the refusal that there is none.
    pub fn seat(&self, id: SeatId) -> Result<&Seat, Refusal> {
        self.state.seat(id).ok_or(Refusal::SeatUnknown { seat: id })
    }

    /// Refuses once the room has ended.
    pub fn going_on(&self) -> Result<(), Refusal> {
        match self.state.phase {
            Phase::Ended(outcome) => Err(Refusal::RoomEnded { outcome: outcome.word().to_owned() }),
            _ => Ok(()),
        }
    }

    /// Who acts for the seat: its agent or its principal. Anyone else may not.
    pub fn hand(&self, actor: &Actor, id: SeatId) -> Result<Hand, Refusal> {
        let seat = self.seat(id)?;
        match actor {
            Actor::Seat { seat: own } if *own == id => Ok(Hand::Agent),
            Actor::Server if seat.driver == Driver::BuiltIn => Ok(Hand::Agent),
            Actor::Principal { seat: own, by } if *own == id => {
                if is_principal(seat, by) {
                    Ok(Hand::Principal(by.clone()))
                } else {
                    Err(Refusal::WrongPerson)
                }
            }
            Actor::Principal { .. } => Err(Refusal::WrongPerson),
            _ => Err(Refusal::NotPermitted),
        }
    }

    /// The principal of the seat, and nobody else.
    pub fn principal(&self, actor: &Actor, id: SeatId) -> Result<By, Refusal> {
        match self.hand(actor, id)? {
            Hand::Principal(by) => Ok(by),
            Hand::Agent => Err(Refusal::NotPermitted),
        }
    }

    fn stream(&self) -> String {
        self.state.id().map(crate::RoomId::stream).unwrap_or_default()
    }

    /// How an inbox names one question of one room.
    fn item(&self, question: &QuestionId) -> String {
        item_of(&self.state.id().map(ToString::to_string).unwrap_or_default(), question)
    }

    fn done(self, answer: Reply) -> Decision<Event, Reply> {
        Decision { events: self.events, effects: self.effects, pointers: self.pointers, answer }
    }
}

/// Whose hand acts for a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hand {
    Agent,
    Principal(By),
}

impl Hand {
    pub const fn via(&self) -> Via {
        match self {
            Self::Agent => Via::Mcp,
            Self::Principal(_) => Via::Web,
        }
    }

    pub const fn is_principal(&self) -> bool {
        matches!(self, Self::Principal(_))
    }
}

/// Whether this person answers for the seat. That an approver has the role is the organization's to know.
fn is_principal(seat: &Seat, by: &By) -> bool {
    match (seat.principal.audience.as_ref(), by) {
        (Some(Audience::Member { org, member }), By::Member { org: of, member: who, acting_for }) => {
            org == of && (member == who || acting_for.as_ref() == Some(member))
        }
        (Some(Audience::Approvers { org }), By::Member { org: of, .. }) => org == of,
        (Some(Audience::Holder { .. }), By::Holder) => true,
        _ => false,
    }
}

/// What finds this room: the lists of those who answer for its seats, and the inbox of whom a question waits for.
pub(crate) fn pointers(state: &State) -> Vec<(String, String)> {
    let Some(room) = state.id().map(ToString::to_string) else { return Vec::new() };
    let lists = state.seats.iter().filter_map(|seat| whom(seat.principal.audience.as_ref()));
    let mut pointers: Vec<_> = lists.map(|who| (format!("rooms/{who}"), room.clone())).collect();
    if let Some(question) = state.pending()
        && let Some(key) = state.seat(question.seat).and_then(inbox_key)
    {
        pointers.push((key, item_of(&room, &question.id)));
    }
    pointers
}

fn item_of(room: &str, question: &QuestionId) -> String {
    format!("{room}:{question}")
}

fn inbox_key(seat: &Seat) -> Option<String> {
    whom(seat.principal.audience.as_ref()).map(|who| format!("inbox/{who}"))
}

fn whom(audience: Option<&Audience>) -> Option<String> {
    match audience? {
        Audience::Member { org, member } => Some(format!("{org}/{member}")),
        Audience::Approvers { org } => Some(format!("{org}/approvers")),
        Audience::Holder { .. } => None,
    }
}
