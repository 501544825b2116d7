//! A room played without a store: every event is sealed, opened again and folded, as a store would.

use canon::{Digest, Value};
use env::{Duration, Env, Timestamp};
use ledger::{Aggregate, Entry, Head};
use pxp::v0::envelope::Envelope;
use pxp::v0::room::Open;
use pxp::v0::{Command, Mode, Refusal, Reply, Room, Side, State, Via};

pub struct Play {
    pub state: State,
    pub entries: Vec<Entry>,
    pub tokens: [String; 2],
    env: Env,
}

pub fn json(text: &str) -> Value<'static> {
    canon::parse(text.as_bytes()).unwrap().to_owned()
}

pub const CARD: &str = r#"{"principal":{"name":"Ana"},"goal":"Rent the hall","must_haves":["Seats for 80"],
    "known_facts":["80 guests confirmed"]}"#;

impl Play {
    pub fn open(modes: [Mode; 2], max_turns: u64) -> Self {
        let start: Timestamp = "2026-11-30T08:00:00.000Z".parse().unwrap();
        let mut play = Self {
            state: State::default(),
            entries: Vec::new(),
            tokens: Default::default(),
            env: Env::new(start, [5; 32]),
        };
        let open = Open {
            id: "r1".to_owned(),
            topic: "Hall hire".to_owned(),
            names: ["Ana".to_owned(), "Ben".to_owned()],
            modes,
            demo: false,
            max_turns,
            owner: None,
            agent: None,
        };
        let Reply::Opened { tokens } = play.run(Command::Open(Box::new(open))).unwrap() else { panic!() };
        play.tokens = tokens;
        play
    }

    /// Two external seats, both sealed.
    pub fn sealed(max_turns: u64) -> Self {
        let mut play = Self::open([Mode::External, Mode::External], max_turns);
        for side in Side::BOTH {
            play.run(Command::Join { side, label: format!("Agent {side}") }).unwrap();
            play.seal(side, CARD).unwrap();
        }
        play
    }

    pub fn run(&mut self, command: Command) -> Result<Reply, Refusal> {
        let now = self.env.now() + Duration::from_secs(1);
        let seed = self.env.bytes32();
        self.env = Env::new(now, seed);
        let decision = Room::decide(&self.state, &command, &mut self.env)?;
        for event in &decision.events {
            let entry = Room::seal(event, self.head()).unwrap();
            self.append(entry);
        }
        Ok(decision.answer)
    }

    pub fn append(&mut self, entry: Entry) {
        let opened = Room::open(&entry, self.head()).unwrap();
        Room::evolve(&mut self.state, &opened, Head { seq: entry.seq, hash: entry.hash });
        self.entries.push(entry);
    }

    pub fn head(&self) -> Head {
        self.entries.last().map_or(Head::EMPTY, |last| Head { seq: last.seq, hash: last.hash })
    }

    pub fn seal(&mut self, side: Side, card: &str) -> Result<Reply, Refusal> {
        self.run(Command::Seal { side, card: json(card), via: Via::Mcp, label: None })
    }

    pub fn try_send(&mut self, side: Side, raw: &str) -> Result<Envelope, Refusal> {
        match self.run(Command::Send { side, raw: json(raw), by: Mode::External })? {
            Reply::Sent(envelope) => Ok(*envelope),
            other => panic!("{other:?}"),
        }
    }

    pub fn send(&mut self, side: Side, raw: &str) -> Envelope {
        self.try_send(side, raw).unwrap()
    }

    pub fn answer(&mut self, side: Side, answer: &str) -> Result<Reply, Refusal> {
        self.run(Command::Answer { side, answer: answer.to_owned(), via: Via::Mcp })
    }

    pub fn kinds(&self) -> Vec<&str> {
        self.state.ledger.iter().map(|entry| entry.kind.as_str()).collect()
    }
}

/// The codes at the ends of an envelope's flags.
pub fn codes(envelope: &Envelope) -> Vec<&str> {
    let flags = envelope.protocol_flags.as_deref().unwrap_or_default();
    flags.iter().map(|flag| flag.rsplit_once('[').unwrap().1.trim_end_matches(']')).collect()
}

pub fn digest(text: &str) -> Digest {
    text.parse().unwrap()
}
