//! One room on its stage: its people, their keys, and what the script knows of what happened.

use approvals::{Audience, Decided, Evidence, MemberId, OrgId, Passkey, Site};
use bench::Outcome;
use canon::Digest;
use env::{Duration, Env, Timestamp};
use keys::webauthn::{Authenticator, Challenge};
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::{Aggregate, Head};
use pxp::brief::{Known, text};
use pxp::command::{
    Answer, AttachSource, Confirm, ConfirmClaim, Disclose, Disclosed, Driver, Enrol, Join, Leave, Open, Seal,
    SeatPlan, Send,
};
use pxp::view::{Viewer, brief};
use pxp::wire::Source;
use pxp::{Actor, AnswerInput, By, Command, Policy, Proof, Reply, Room, SeatId, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SITE: &str = "https://countersign.example";

/// How a principal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    Key,
    Passkey,
    Session,
    /// A member of an organization, in a session.
    Member,
    /// Has not enrolled.
    Absent,
}

pub struct Stage {
    state: State,
    now: Timestamp,
    step: u64,
    people: BTreeMap<SeatId, Person>,
    key: SoftwareSigner,
    passkey: Authenticator,
    reader: Option<SeatId>,
    truth: BTreeMap<&'static str, Value>,
}

impl Stage {
    /// A room whose agents have joined, whose people have enrolled, and whose cards are sealed.
    pub fn open(topic: &str, sides: &[(&str, Person, Value)], policy: Policy) -> Outcome<Self> {
        let mut stage = Self {
            state: State::default(),
            now: Timestamp::from_secs(1_796_030_000),
            step: 0,
            people: BTreeMap::new(),
            key: SoftwareSigner::from_seed(Algorithm::Ed25519, &[20; 32])?,
            passkey: Authenticator::new(Algorithm::P256, &[77; 32], "countersign.example", SITE)?,
            reader: None,
            truth: BTreeMap::new(),
        };
        let plan = |name: &str| SeatPlan { name: name.to_owned(), driver: Driver::External, principal: None };
        let (first, ..) = sides.first().ok_or("no sides")?;
        let reply = stage.run(&Command::Open(Open {
            actor: Actor::Opener { by: None },
            room: "example".parse()?,
            topic: topic.to_owned(),
            seats: sides.iter().map(|(name, ..)| plan(name)).collect(),
            agent: Some(format!("{first}'s assistant")),
            key: None,
            policy,
        }))?;
        let Reply::Opened { invites, .. } = reply else { return Err("not opened".into()) };
        for (invite, (name, ..)) in invites.iter().zip(sides.iter().skip(1)) {
            let actor = stage.state.authenticate(invite.secret.expose(), stage.now).ok_or("no invite")?;
            let agent = Some(format!("{name}'s assistant"));
            stage.run(&Command::Join(Join {
                actor,
                seat: invite.seat,
                agent,
                key: None,
                principal: None,
            }))?;
        }
        for (index, (_, person, card)) in sides.iter().enumerate() {
            let seat = SeatId::at(index).ok_or("no seat")?;
            stage.enrol(seat, *person)?;
            let card = serde_json::from_value(card.clone())?;
            stage.run(&Command::Seal(Seal { actor: Actor::Seat { seat }, seat, card }))?;
        }
        stage.knows("topic", json!(topic));
        Ok(stage)
    }

    /// What the script knows.
    pub fn knows(&mut self, what: &'static str, value: Value) {
        self.truth.insert(what, value);
    }

    /// The brief is read from this seat, whose card's words it shows.
    pub fn read_by(&mut self, seat: &str) -> Outcome {
        self.reader = Some(seat.parse()?);
        Ok(())
    }

    pub fn send(&mut self, seat: &str, envelope: Value) -> Outcome<Option<Digest>> {
        let seat = seat.parse()?;
        let envelope = serde_json::from_value(envelope)?;
        let actor = Actor::Seat { seat };
        let reply =
            self.run(&Command::Send(Send { actor, seat, msg_id: None, envelope, signature: None }))?;
        let Reply::Sent(sent) = reply else { return Err("not sent".into()) };
        Ok(sent.offer_hash)
    }

    /// An offer, by the hash that accepts it.
    pub fn offer(&mut self, seat: &str, envelope: Value) -> Outcome<String> {
        Ok(self.send(seat, envelope)?.ok_or("no offer")?.to_string())
    }

    /// The principal answers the pending question with what they enrolled.
    pub fn answer(&mut self, seat: &str, answer: Value) -> Outcome {
        let answer: AnswerInput = serde_json::from_value(answer)?;
        let decided = if answer.ruling == pxp::Ruling::Deny { Decided::Decline } else { Decided::Approve };
        let body = answer.body()?;
        let seat = seat.parse()?;
        let proof = self.proof(seat, decided, Some(&body), None)?;
        let actor = Actor::Principal { seat, by: proof.by.clone() };
        self.run(&Command::Answer(Answer { actor, seat, answer, proof })).map(drop)
    }

    /// The seat's agent passes an answer on.
    pub fn relay(&mut self, seat: &str, answer: Value) -> Outcome {
        let seat = seat.parse()?;
        let proof = Proof {
            by: By::Holder,
            nonce: "relayed-relayed-1".into(),
            evidence: Evidence::Relayed { agent: format!("Agent {seat}") },
            statement: None,
            key: None,
            site: None,
        };
        let answer = serde_json::from_value(answer)?;
        self.run(&Command::Answer(Answer { actor: Actor::Seat { seat }, seat, answer, proof })).map(drop)
    }

    /// The principal confirms an answer that was passed on.
    pub fn confirm(&mut self, seat: &str, question: &str) -> Outcome {
        let seat = seat.parse()?;
        let proof = self.proof(seat, Decided::Approve, None, None)?;
        let actor = Actor::Principal { seat, by: proof.by.clone() };
        let question = question.parse()?;
        self.run(&Command::Confirm(Confirm { actor, seat, question, accept: true, proof })).map(drop)
    }

    /// A principal says that a claim is true, or wrong.
    pub fn judge(&mut self, seat: &str, claim: &str, accept: bool) -> Outcome {
        let seat = seat.parse()?;
        let decided = if accept { Decided::Approve } else { Decided::Decline };
        let proof = self.proof(seat, decided, None, Some(claim))?;
        let actor = Actor::Principal { seat, by: proof.by.clone() };
        let claim = claim.parse()?;
        self.run(&Command::ConfirmClaim(ConfirmClaim { actor, seat, claim, accept, proof })).map(drop)
    }

    pub fn attach(&mut self, seat: &str, claim: &str) -> Outcome {
        let seat = seat.parse()?;
        let source = Source { uri: "https://papers.example/1.pdf".into(), sha256: Digest::of(b"paper") };
        let attach = AttachSource { actor: Actor::Seat { seat }, seat, claim: claim.parse()?, source };
        self.run(&Command::AttachSource(attach)).map(drop)
    }

    pub fn disclose(&mut self, seat: &str, to: &str, clause: &str) -> Outcome {
        let (seat, to) = (seat.parse()?, to.parse()?);
        let actor = Actor::Principal { seat, by: By::Holder };
        let what = Disclosed::Clause(clause.parse()?);
        self.run(&Command::Disclose(Disclose { actor, seat, to, what })).map(drop)
    }

    pub fn leave(&mut self, seat: &str, reason: &str) -> Outcome {
        let seat = seat.parse()?;
        self.run(&Command::Leave(Leave { actor: Actor::Seat { seat }, seat, reason: reason.into() }))
            .map(drop)
    }

    pub fn wait(&mut self, days: u64) -> Outcome {
        self.now = self.now + Duration::from_secs(days * 86_400);
        self.run(&Command::Tick).map(drop)
    }

    /// The brief as text, for its reader.
    pub fn text(&self) -> Outcome<String> {
        let viewer = self.reader.map_or(Viewer::Share(pxp::Scope::Brief), Viewer::Principal);
        let view = brief(&self.state, viewer).ok_or("the room has not ended")?;
        Ok(text(&view.brief, &Known::of_view(self.reader, &view))?)
    }

    /// What the script knows, as JSON.
    pub fn truth(&self) -> Outcome<String> {
        Ok(serde_json::to_string_pretty(&self.truth)?)
    }

    fn enrol(&mut self, seat: SeatId, person: Person) -> Outcome {
        self.people.insert(seat, person);
        let credential_id = self.passkey.id().to_string();
        let (passkey, key, as_member) = match person {
            Person::Absent => return Ok(()),
            Person::Key => (None, Some(self.key.public()), None),
            Person::Passkey => {
                let key = self.passkey.public();
                (Some(Passkey { credential_id, key, since: self.now, until: None }), None, None)
            }
            Person::Session => (None, None, None),
            Person::Member => (None, None, Some(Audience::Approvers { org: OrgId("north".into()) })),
        };
        let actor = Actor::Link { seat };
        self.run(&Command::Enrol(Enrol { actor, seat, as_member, passkey, key })).map(drop)
    }

    fn proof(
        &mut self,
        seat: SeatId,
        decided: Decided,
        body: Option<&str>,
        claim: Option<&str>,
    ) -> Outcome<Proof> {
        let ask = match claim {
            Some(claim) => self.state.claim_ask(seat, &claim.parse()?)?,
            None => self.state.asks().into_iter().next().ok_or("nothing is asked")?,
        };
        let nonce = format!("nonce-nonce-nonce-{}", self.step);
        let statement = ask.statement(decided, body, &nonce).hash();
        let session = Evidence::Session { session: "s-1".into() };
        let (by, evidence, key, site) = match self.people.get(&seat) {
            Some(Person::Key) => {
                let signature = self.key.sign(statement.as_bytes())?.base64url();
                let thumbprint = self.key.public().thumbprint().to_string();
                let key = Some(self.key.public());
                (By::Holder, Evidence::Ed25519 { thumbprint, signature }, key, None)
            }
            Some(Person::Passkey) => {
                let assertion = self.passkey.assert(&Challenge::from(statement))?;
                let told = serde_json::to_value(&assertion)?;
                let field =
                    |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let evidence = Evidence::Passkey {
                    credential_id: field("credential_id"),
                    authenticator_data: field("authenticator_data"),
                    client_data_json: field("client_data_json"),
                    signature: field("signature"),
                };
                let site = Site { id: "countersign.example".into(), origins: vec![SITE.into()] };
                (By::Holder, evidence, Some(self.passkey.public()), Some(site))
            }
            Some(Person::Member) => {
                let member = MemberId("mia".into());
                let by = By::Member { org: OrgId("north".into()), member, acting_for: None };
                (by, session, None, None)
            }
            _ => (By::Holder, session, None, None),
        };
        Ok(Proof { by, nonce, evidence, statement: Some(statement), key, site })
    }

    fn run(&mut self, command: &Command) -> Outcome<Reply> {
        self.step += 1;
        self.now = self.now + Duration::from_secs(61);
        let mut env = Env::new(self.now, *Digest::of(&self.step.to_be_bytes()).as_bytes());
        let decided = Room::decide(&self.state, command, &mut env)
            .map_err(|refusal| format!("step {}: {refusal}", self.step))?;
        for event in &decided.events {
            let entry = Room::seal(event, self.state.head())?;
            Room::evolve(&mut self.state, event, Head { seq: entry.seq, hash: entry.hash });
        }
        Ok(decided.answer)
    }
}
