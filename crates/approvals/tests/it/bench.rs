//! An organization on a virtual clock, folded from its own sealed entries at each step.

use approvals::people::{Act, By, Command, Event, Reply, Revealed, State};
use approvals::{MemberId, OrgId, Organization, Refusal, Role};
use env::{Duration, Source, Timestamp, Virtual};
use keys::webauthn::Authenticator;
use keys::{Algorithm, PublicKey};
use ledger::{Aggregate, Coded, Decision, Effect, Entry, Head};
use std::collections::BTreeSet;

pub const ORIGIN: &str = "https://countersign.example";

pub struct Bench {
    pub clock: Virtual,
    pub state: State,
    pub entries: Vec<Entry>,
    pub effects: Vec<Effect>,
    head: Head,
}

impl Bench {
    pub fn empty(seed: u64) -> Self {
        let clock = Virtual::new(seed, Timestamp::from_secs(1_796_000_000));
        Self { clock, state: State::default(), entries: Vec::new(), effects: Vec::new(), head: Head::EMPTY }
    }

    /// An organization whose owner Ana has one passkey.
    pub fn founded(seed: u64) -> (Self, MemberId) {
        let mut bench = Self::empty(seed);
        let found = Act::Found { org: org(), name: "Home".to_owned(), owner: "Ana".to_owned() };
        let (ana, secret) = invited(bench.act(&By::Server, found).unwrap());
        bench.enrol(&secret, 1).unwrap();
        (bench, ana)
    }

    /// A further member with one passkey.
    pub fn join(&mut self, owner: &MemberId, name: &str, roles: &[Role], key: u8) -> MemberId {
        let by = By::Member(owner.clone());
        let add = Act::AddMember { name: name.to_owned(), roles: set(roles) };
        let Reply::Member { member } = self.act(&by, add).unwrap() else { panic!() };
        let (_, secret) = invited(self.act(&by, Act::Invite { member: member.clone() }).unwrap());
        self.enrol(&secret, key).unwrap();
        member
    }

    pub fn enrol(&mut self, secret: &Revealed, key: u8) -> Result<Reply, Refusal> {
        self.act(&By::Server, enrolment(Some(secret), key))
    }

    pub fn act(&mut self, by: &By, act: Act) -> Result<Reply, Refusal> {
        let command = Command { by: by.clone(), act };
        let Decision { events, effects, answer, .. } =
            Organization::decide(&self.state, &command, &mut self.clock.env())?;
        self.effects.extend(effects);
        for event in events {
            let entry = Organization::seal(&event, self.head).unwrap();
            let opened = Organization::open(&entry, self.head).unwrap();
            assert_eq!(opened, event, "an entry reads back as what was sealed");
            self.head = Head { seq: entry.seq, hash: entry.hash };
            Organization::evolve(&mut self.state, &opened, self.head);
            self.entries.push(entry);
        }
        Ok(answer)
    }

    pub fn code(&mut self, by: &MemberId, act: Act) -> &'static str {
        self.act(&By::Member(by.clone()), act).map_or_else(|refusal| refusal.code(), |_| "done")
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn wait(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }

    /// The state that a stranger folds from the entries alone.
    pub fn replayed(&self) -> State {
        let (mut state, mut head) = (State::default(), Head::EMPTY);
        for event in opened(&self.entries) {
            head = Head { seq: head.seq + 1, hash: self.entries[head.seq as usize].hash };
            Organization::evolve(&mut state, &event, head);
        }
        state
    }
}

pub fn opened(entries: &[Entry]) -> Vec<Event> {
    let mut head = Head::EMPTY;
    let open = |entry: &Entry| {
        let event = Organization::open(entry, head).unwrap();
        head = Head { seq: entry.seq, hash: entry.hash };
        event
    };
    entries.iter().map(open).collect()
}

pub fn org() -> OrgId {
    OrgId("home".to_owned())
}

pub fn set(roles: &[Role]) -> BTreeSet<Role> {
    roles.iter().copied().collect()
}

pub fn invited(reply: Reply) -> (MemberId, Revealed) {
    let Reply::Invite { member, secret, .. } = reply else { panic!("{reply:?}") };
    (member, secret)
}

pub fn authenticator(key: u8) -> Authenticator {
    Authenticator::new(Algorithm::P256, &[key; 32], "countersign.example", ORIGIN).unwrap()
}

pub fn public(key: u8) -> PublicKey {
    authenticator(key).public()
}

pub fn credential_id(key: u8) -> String {
    authenticator(key).id().to_string()
}

pub fn enrolment(invite: Option<&Revealed>, key: u8) -> Act {
    Act::Enrol { invite: invite.cloned(), credential_id: credential_id(key), key: public(key) }
}
