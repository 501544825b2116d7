//! A room with its people around it, on a virtual clock. Every entry is sealed, opened and folded as the store would.

use approvals::{Evidence, EvidenceKind};
use canon::Digest;
use env::{Duration, Source, Timestamp, Virtual};
use ledger::{Aggregate, Coded, Effect, Entry, Head, Pointer};
use pxp::command::{Answer, Driver, Enrol, Join, Open, Relayed, Seal, SeatPlan, Send as SendCommand};
use pxp::limit::{Kind, Limit, Op, Operand, Scalar, TermValue};
use pxp::wire::{Cited, ClaimInput, Origin, Party, ProposalInput, ReviewInput, Verdict};
use pxp::{
    Actor, AnswerInput, By, CardInput, Command, EnvelopeInput, Policy, Proof, QuestionId, Refusal, Reply,
    Room, RoomId, Ruling, SeatId, Sent, State, Status,
};

pub const A: SeatId = SeatId::A;

pub fn b() -> SeatId {
    "B".parse().unwrap()
}
pub fn c() -> SeatId {
    "C".parse().unwrap()
}
pub fn start() -> Timestamp {
    "2026-11-30T08:00:00.000Z".parse().unwrap()
}

pub struct Table {
    pub state: State,
    pub entries: Vec<Entry>,
    pub effects: Vec<Effect>,
    pub pointers: Vec<Pointer>,
    pub source: Virtual,
    pub secrets: Vec<String>,
    pub principals: Vec<String>,
    pub invites: Vec<(SeatId, String)>,
}

impl Table {
    pub fn empty(seed: u64) -> Self {
        Self {
            state: State::default(),
            entries: Vec::new(),
            effects: Vec::new(),
            pointers: Vec::new(),
            source: Virtual::new(seed, start()),
            secrets: Vec::new(),
            principals: Vec::new(),
            invites: Vec::new(),
        }
    }

    /// Opened by seat A, nobody else has joined.
    pub fn opened(seats: usize, policy: Policy) -> Self {
        let mut table = Self::empty(1);
        let reply = table.run(Command::Open(open(seats, policy))).unwrap();
        let Reply::Opened { seat_secret, principal_link, invites, .. } = reply else { panic!("{reply:?}") };
        table.secrets.push(seat_secret.expose().to_owned());
        table.invites = invites.into_iter().map(|one| (one.seat, one.secret.expose().to_owned())).collect();
        let link = principal_link.unwrap();
        table.enrol(A, link.expose());
        table
    }

    /// Everyone has joined, and every principal holds a session of their own.
    pub fn joined(seats: usize, policy: Policy) -> Self {
        let mut table = Self::opened(seats, policy);
        for (seat, secret) in table.invites.clone() {
            let actor = table.state.authenticate(&secret, table.now()).unwrap();
            let agent = Some(format!("Agent {seat}"));
            let reply =
                table.run(Command::Join(Join { actor, seat, agent, key: None, principal: None })).unwrap();
            let Reply::Joined { seat_secret: Some(own), principal_link: Some(link), .. } = reply else {
                panic!("{reply:?}")
            };
            table.secrets.push(own.expose().to_owned());
            table.enrol(seat, link.expose());
        }
        table
    }

    /// Two seats, both cards sealed.
    pub fn sealed() -> Self {
        Self::sealed_with(2, Policy::default(), card)
    }

    pub fn sealed_with(seats: usize, policy: Policy, card: fn(SeatId) -> CardInput) -> Self {
        let mut table = Self::joined(seats, policy);
        for index in 0..seats {
            let seat = SeatId::at(index).unwrap();
            table.seal(seat, card(seat)).unwrap();
        }
        table
    }

    pub fn now(&self) -> Timestamp {
        self.source.now()
    }

    pub fn wait(&mut self, seconds: u64) -> Result<Reply, Refusal> {
        self.source.advance(Duration::from_secs(seconds));
        self.run(Command::Tick)
    }

    /// Decides, seals, opens and folds; nothing changes where it is refused.
    pub fn run(&mut self, command: Command) -> Result<Reply, Refusal> {
        let decision = Room::decide(&self.state, &command, &mut self.source.env())?;
        for event in &decision.events {
            let entry = Room::seal(event, self.state.head()).unwrap();
            let read = Room::open(&entry, self.state.head()).unwrap();
            assert_eq!(&read, event, "an entry reads back as it was written");
            let head = Head { seq: entry.seq, hash: entry.hash };
            Room::evolve(&mut self.state, &read, head);
            self.entries.push(entry);
        }
        self.effects = decision.effects;
        self.pointers.extend(decision.pointers);
        Ok(decision.answer)
    }

    /// The refusal's code, or `ok`.
    pub fn code(&mut self, command: Command) -> &'static str {
        self.run(command).map_or_else(|refusal| refusal.code(), |_| "ok")
    }

    pub fn enrol(&mut self, seat: SeatId, link: &str) {
        let actor = self.state.authenticate(link, self.now()).unwrap();
        let enrol = Enrol { actor, seat, as_member: None, passkey: None, key: None };
        let Reply::Enrolled { principal_secret: Some(secret), .. } = self.run(Command::Enrol(enrol)).unwrap()
        else {
            panic!("no principal secret")
        };
        self.principals.push(secret.expose().to_owned());
    }

    pub fn seal(&mut self, seat: SeatId, card: CardInput) -> Result<Reply, Refusal> {
        self.run(Command::Seal(Seal { actor: Actor::Seat { seat }, seat, card }))
    }

    pub fn send(&mut self, seat: SeatId, envelope: EnvelopeInput) -> Result<Sent, Refusal> {
        match self.run(Command::Send(send(seat, envelope)))? {
            Reply::Sent(sent) => Ok(sent),
            other => panic!("{other:?}"),
        }
    }

    pub fn send_code(&mut self, seat: SeatId, envelope: EnvelopeInput) -> &'static str {
        self.code(Command::Send(send(seat, envelope)))
    }

    /// The principal answers with their own session.
    pub fn answer(&mut self, seat: SeatId, answer: AnswerInput) -> Result<Reply, Refusal> {
        self.run(Command::Answer(Answer { actor: principal(seat), seat, answer, proof: session() }))
    }

    pub fn kinds(&self) -> Vec<String> {
        let text = |entry: &Entry| {
            let value = canon::parse(&entry.bytes).unwrap();
            value.get("type").unwrap().as_str().unwrap().to_owned()
        };
        self.entries.iter().map(text).collect()
    }

    /// Everything the chain publishes, as text.
    pub fn published(&self) -> String {
        self.entries.iter().map(|entry| String::from_utf8(entry.bytes.clone()).unwrap()).collect()
    }
}

pub fn open(seats: usize, policy: Policy) -> Open {
    let plan = |index: usize| SeatPlan {
        name: format!("Seat {}", SeatId::at(index).unwrap()),
        driver: Driver::External,
        principal: None,
    };
    Open {
        actor: Actor::Opener { by: None },
        room: room_id(),
        topic: "Hall hire".into(),
        seats: (0..seats).map(plan).collect(),
        agent: Some("Agent A".into()),
        key: None,
        policy,
    }
}

pub fn room_id() -> RoomId {
    "r00m".parse().unwrap()
}

pub fn policy() -> Policy {
    Policy::default()
}

pub fn holding() -> Policy {
    Policy { relayed: Relayed::Hold, ..Policy::default() }
}

pub fn send(seat: SeatId, envelope: EnvelopeInput) -> SendCommand {
    SendCommand { actor: Actor::Seat { seat }, seat, msg_id: None, envelope, signature: None }
}

pub fn principal(seat: SeatId) -> Actor {
    Actor::Principal { seat, by: By::Holder }
}

pub fn session() -> Proof {
    proof(Evidence::Session { session: "s-1".into() })
}

pub fn relayed() -> Proof {
    proof(Evidence::Relayed { agent: "Agent B".into() })
}

pub fn proof(evidence: Evidence) -> Proof {
    assert!(matches!(evidence.kind(), EvidenceKind::Session | EvidenceKind::Relayed));
    Proof {
        by: By::Holder,
        nonce: "0123456789abcdef".into(),
        evidence,
        statement: None,
        key: None,
        site: None,
    }
}

/// A card that allows the terms of [`offer`], without typed limits.
pub fn card(seat: SeatId) -> CardInput {
    let name = ["Ana", "Ben", "Cleo", "Dan"][seat.index()];
    CardInput {
        principal: Party { name: name.into(), role: "organiser".into(), org: None },
        goal: format!("{name} wants the hall on 4 May"),
        must_haves: vec!["Seats for 80 guests".into()],
        may_agree_to: vec!["Up to 900 EUR for the evening".into(), "Any day in May".into()],
        must_never: vec![format!("{name} never pays in cash")],
        escalate_when: vec!["The date moves".into()],
        known_facts: vec!["80 guests are confirmed".into()],
        limits: Vec::new(),
    }
}

/// The same with a price limit of 900.00 EUR.
pub fn limited(seat: SeatId) -> CardInput {
    CardInput { limits: vec![at_most_900()], ..card(seat) }
}

pub fn at_most_900() -> Limit {
    Limit {
        label: Some("price".into()),
        kind: Kind::Money,
        op: Op::Le,
        value: Operand::One(Scalar::Integer(90_000)),
        unit: Some("EUR".into()),
        exponent: Some(2),
        clause: "may_agree_to[0]".parse().unwrap(),
    }
}

pub fn price(cents: i64) -> TermValue {
    TermValue {
        label: "price".into(),
        kind: Kind::Money,
        value: Scalar::Integer(cents),
        unit: Some("EUR".into()),
        exponent: Some(2),
        term: 0,
    }
}

pub fn say(message: &str) -> EnvelopeInput {
    EnvelopeInput {
        message: message.into(),
        status: Status::Continue,
        claims: Vec::new(),
        reviews: Vec::new(),
        proposal: None,
        accepts: None,
        authority: Vec::new(),
        escalation: None,
    }
}

pub fn claim(text: &str, origin: Origin, reference: Option<&str>) -> ClaimInput {
    ClaimInput {
        text: text.into(),
        origin,
        reference: reference.map(str::to_owned),
        quote: None,
        source: None,
        touches: Vec::new(),
    }
}

pub fn review(id: &str, verdict: Verdict) -> ReviewInput {
    ReviewInput { claim_id: id.into(), verdict, reason: "because".into(), touches: Vec::new() }
}

/// One term, covered by a concession.
pub fn proposal(term: &str, depends_on: &[&str]) -> ProposalInput {
    ProposalInput {
        terms: vec![term.into()],
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
        values: Vec::new(),
        authority: cited(),
        expires_in_seconds: None,
    }
}

pub fn cited() -> Vec<Cited> {
    vec![Cited { term: 0, clauses: vec!["may_agree_to[0]".into()] }]
}

/// An offer that depends on one claim of its own.
pub fn offer(term: &str) -> EnvelopeInput {
    EnvelopeInput {
        claims: vec![claim("The hall is free", Origin::Assumed, None)],
        proposal: Some(proposal(term, &["new1"])),
        ..say("Here is an offer")
    }
}

pub fn agree(hash: Digest) -> EnvelopeInput {
    EnvelopeInput { status: Status::Agree, accepts: Some(hash), authority: cited(), ..say("Agreed") }
}

pub fn escalate(question: &str, claims: &[&str]) -> EnvelopeInput {
    EnvelopeInput {
        status: Status::Escalate,
        escalation: Some(pxp::wire::EscalationInput {
            question: question.into(),
            reason: String::new(),
            claims: claims.iter().map(|id| (*id).to_owned()).collect(),
            offer_hash: None,
            salt: None,
        }),
        ..say("I must ask")
    }
}

pub fn ruling(question: &str, ruling: Ruling, clears: &[&str]) -> AnswerInput {
    AnswerInput {
        question_id: question.parse::<QuestionId>().unwrap(),
        ruling,
        clears: clears.iter().map(|id| id.parse().unwrap()).collect(),
        text: "My private words".into(),
        public_summary: None,
        limits: Vec::new(),
    }
}
