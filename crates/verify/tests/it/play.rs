//! Rooms played through the core, and the bundles of them.

use crate::support::{signed, signer};
use approvals::{Audience, Decided, Evidence, EvidenceKind, MemberId, OrgId, Passkey, Site};
use canon::Digest;
use env::{Duration, Env, Timestamp};
use keys::webauthn::{Authenticator, Challenge};
use keys::{Algorithm, PublicKey, Signer};
use ledger::{Aggregate, Entry, Head};
use pxp::bundle::{Attested, BriefProof, Bundle, assemble};
use pxp::command::{
    Answer, AttachSource, Confirm, ConfirmClaim, Disclose, Disclosed, Driver, Enrol, Join, Leave, Open,
    Relayed, Seal, SeatPlan, Send, Share,
};
use pxp::view::Viewer;
use pxp::wire::Source;
use pxp::{
    Actor, Bearer, By, Command, Policy, Proof, Reply, Room, RoomId, Scope, SeatId, State, signing_bytes,
};
use serde_json::{Value, json};

pub const SITE: &str = "https://countersign.example";

pub struct Play {
    pub state: State,
    pub entries: Vec<Entry>,
    room: RoomId,
    now: Timestamp,
    step: u8,
    passkey: Authenticator,
}

impl Play {
    /// A room of as many seats as names. Seat A signs its envelopes if `signs`.
    pub fn open(names: &[&str], signs: bool, relayed: Relayed) -> Self {
        let room: RoomId = "r1".parse().unwrap();
        let mut play = Self {
            state: State::default(),
            entries: Vec::new(),
            room: room.clone(),
            now: Timestamp::from_secs(1_796_030_000),
            step: 0,
            passkey: Authenticator::new(Algorithm::P256, &[77; 32], "countersign.example", SITE).unwrap(),
        };
        let seats = names
            .iter()
            .map(|name| SeatPlan { name: (*name).to_owned(), driver: Driver::External, principal: None })
            .collect();
        let reply = play.run(&Command::Open(Open {
            actor: Actor::Opener { by: None },
            room,
            topic: "Hall hire ⟨May⟩ \"4\"".to_owned(),
            seats,
            agent: Some("Agent A".to_owned()),
            key: signs.then(|| signer(10).public()),
            policy: Policy { relayed, ..Policy::default() },
        }));
        let Reply::Opened { invites, .. } = reply else { panic!("opened") };
        for invite in invites {
            let actor = play.authenticate(&invite.secret);
            let (seat, agent) = (invite.seat, Some(format!("Agent {}", invite.seat)));
            play.run(&Command::Join(Join { actor, seat, agent, key: None, principal: None }));
        }
        play
    }

    pub fn run(&mut self, command: &Command) -> Reply {
        self.step += 1;
        self.now = self.now + Duration::from_secs(61);
        let mut env = Env::new(self.now, [self.step; 32]);
        let decided = Room::decide(&self.state, command, &mut env).unwrap_or_else(|error| panic!("{error}"));
        for event in &decided.events {
            let entry = Room::seal(event, self.state.head()).unwrap();
            let at = Head { seq: entry.seq, hash: entry.hash };
            Room::evolve(&mut self.state, event, at);
            self.entries.push(entry);
        }
        decided.answer
    }

    pub fn seal(&mut self, seat: &str, card: Value) {
        let seat = id(seat);
        let card = serde_json::from_value(card).unwrap();
        self.run(&Command::Seal(Seal { actor: Actor::Seat { seat }, seat, card }));
    }

    /// The seat's person enrols: seat A with a key, others with a passkey.
    pub fn enrol(&mut self, seat: &str) {
        let seat = id(seat);
        let (key, passkey) = if seat == SeatId::A {
            (Some(signer(20).public()), None)
        } else {
            let credential_id = self.passkey.id().to_string();
            (None, Some(Passkey { credential_id, key: self.passkey.public(), since: self.now, until: None }))
        };
        let actor = Actor::Link { seat };
        self.run(&Command::Enrol(Enrol { actor, seat, as_member: None, passkey, key }));
    }

    pub fn enrol_member(&mut self, seat: &str) {
        let seat = id(seat);
        let as_member = Some(Audience::Approvers { org: OrgId("home".into()) });
        self.run(&Command::Enrol(Enrol {
            actor: Actor::Link { seat },
            seat,
            as_member,
            passkey: None,
            key: None,
        }));
    }

    pub fn send(&mut self, seat: &str, envelope: Value) -> Option<Digest> {
        let seat = id(seat);
        let envelope = serde_json::from_value(envelope).unwrap();
        let msg_id = Some(format!("m{}", self.step));
        let signature = self.state.seat(seat).unwrap().key.map(|_| {
            let hash = signing_bytes(&self.room, seat, msg_id.as_deref().unwrap(), &envelope).unwrap();
            signer(10).sign(hash.as_bytes()).unwrap().base64url()
        });
        let actor = Actor::Seat { seat };
        let reply = self.run(&Command::Send(Send { actor, seat, msg_id, envelope, signature }));
        let Reply::Sent(sent) = reply else { panic!("sent") };
        sent.offer_hash
    }

    /// The pending question answered by its principal with what they enrolled.
    pub fn answer(&mut self, seat: &str, answer: Value) {
        let answer: pxp::AnswerInput = serde_json::from_value(answer).unwrap();
        let decided = if answer.ruling == pxp::Ruling::Deny { Decided::Decline } else { Decided::Approve };
        let body = answer.body().unwrap();
        let proof = self.proof(seat, decided, Some(&body), None);
        let (seat, by) = (id(seat), proof.by.clone());
        self.run(&Command::Answer(Answer { actor: Actor::Principal { seat, by }, seat, answer, proof }));
    }

    /// The same, passed on by the seat's agent.
    pub fn relay(&mut self, seat: &str, answer: Value) {
        let seat = id(seat);
        let proof = Proof {
            by: By::Holder,
            nonce: "relayed-relayed-1".into(),
            evidence: Evidence::Relayed { agent: format!("Agent {seat}") },
            statement: None,
            key: None,
            site: None,
        };
        let answer = serde_json::from_value(answer).unwrap();
        self.run(&Command::Answer(Answer { actor: Actor::Seat { seat }, seat, answer, proof }));
    }

    pub fn confirm(&mut self, seat: &str, question: &str, accept: bool) {
        let decided = if accept { Decided::Approve } else { Decided::Decline };
        let proof = self.proof(seat, decided, None, None);
        let (seat, by) = (id(seat), proof.by.clone());
        let question = question.parse().unwrap();
        let actor = Actor::Principal { seat, by };
        self.run(&Command::Confirm(Confirm { actor, seat, question, accept, proof }));
    }

    pub fn confirm_claim(&mut self, seat: &str, claim: &str, accept: bool) {
        let decided = if accept { Decided::Approve } else { Decided::Decline };
        let proof = self.proof(seat, decided, None, Some(claim));
        let (seat, by) = (id(seat), proof.by.clone());
        let actor = Actor::Principal { seat, by };
        let claim = claim.parse().unwrap();
        self.run(&Command::ConfirmClaim(ConfirmClaim { actor, seat, claim, accept, proof }));
    }

    pub fn attach(&mut self, seat: &str, claim: &str) {
        let seat = id(seat);
        let source = Source { uri: "https://hall.example/plan.pdf".into(), sha256: Digest::of(b"plan") };
        let claim = claim.parse().unwrap();
        self.run(&Command::AttachSource(AttachSource { actor: Actor::Seat { seat }, seat, claim, source }));
    }

    pub fn disclose(&mut self, seat: &str, to: &str, clause: Option<&str>) {
        let (seat, to) = (id(seat), id(to));
        let what = clause.map_or(Disclosed::Card, |clause| Disclosed::Clause(clause.parse().unwrap()));
        let actor = Actor::Principal { seat, by: By::Holder };
        self.run(&Command::Disclose(Disclose { actor, seat, to, what }));
    }

    pub fn share(&mut self, seat: &str, scope: Scope) {
        let seat = id(seat);
        let actor = Actor::Principal { seat, by: By::Holder };
        self.run(&Command::Share(Share { actor, seat, scope, expires_at: None }));
    }

    pub fn leave(&mut self, seat: &str, reason: &str) {
        let seat = id(seat);
        self.run(&Command::Leave(Leave { actor: Actor::Seat { seat }, seat, reason: reason.into() }));
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        self.run(&Command::Tick);
    }

    /// What one viewer may have.
    pub fn bundle(&self, viewer: Viewer) -> Bundle {
        let stream = self.room.stream().parse().unwrap();
        let (head, log) = signed(&stream, self.state.head());
        let attested = Attested { key: signer(1).public(), head, log: Some(log) };
        assemble(&self.state, &self.entries, viewer, attested).unwrap()
    }

    /// The brief alone.
    pub fn brief(&self) -> BriefProof {
        let stream = self.room.stream().parse().unwrap();
        let (head, log) = signed(&stream, self.state.head());
        let attested = Attested { key: signer(1).public(), head, log: Some(log) };
        BriefProof::assemble(&self.state, &self.entries, attested).unwrap()
    }

    /// Everything: what all principals together may have.
    pub fn whole(&self) -> Bundle {
        let mut all = self.bundle(Viewer::Principal(SeatId::A));
        for seat in &self.state.seats {
            all.payloads.extend(self.bundle(Viewer::Principal(seat.id)).payloads);
        }
        all.withheld.retain(|digest| !all.payloads.contains_key(&digest.to_string()));
        all
    }

    fn authenticate(&self, secret: &Bearer) -> Actor {
        self.state.authenticate(secret.expose(), self.now).unwrap()
    }

    fn proof(&mut self, seat: &str, decided: Decided, body: Option<&str>, claim: Option<&str>) -> Proof {
        let seat = id(seat);
        let ask = match claim {
            Some(claim) => self.state.claim_ask(seat, &claim.parse().unwrap()).unwrap(),
            None => self.state.asks().remove(0),
        };
        let nonce = format!("nonce-nonce-nonce-{}", self.step);
        let statement = ask.statement(decided, body, &nonce).hash();
        let of = |by, evidence, key: Option<PublicKey>, site| Proof {
            by,
            nonce: nonce.clone(),
            evidence,
            statement: Some(statement),
            key,
            site,
        };
        if matches!(ask.audience, Audience::Approvers { .. }) {
            let by =
                By::Member { org: OrgId("home".into()), member: MemberId("ana".into()), acting_for: None };
            return of(by, Evidence::Session { session: "s1".into() }, None, None);
        }
        if seat == SeatId::A {
            let key = signer(20);
            let signature = key.sign(statement.as_bytes()).unwrap().base64url();
            let thumbprint = key.public().thumbprint().to_string();
            return of(By::Holder, Evidence::Ed25519 { thumbprint, signature }, Some(key.public()), None);
        }
        let assertion = self.passkey.assert(&Challenge::from(statement)).unwrap();
        let told = serde_json::to_value(&assertion).unwrap();
        let text = |name: &str| told[name].as_str().unwrap().to_owned();
        let evidence = Evidence::Passkey {
            credential_id: text("credential_id"),
            authenticator_data: text("authenticator_data"),
            client_data_json: text("client_data_json"),
            signature: text("signature"),
        };
        assert_eq!(evidence.kind(), EvidenceKind::Passkey);
        let site = Site { id: "countersign.example".into(), origins: vec![SITE.into()] };
        of(By::Holder, evidence, Some(self.passkey.public()), Some(site))
    }
}

/// Two seats come to an agreement: claims of all origins, a challenge, an escalation of each side, one forced by a
/// limit, one by a passkey's holder, a counter-offer, a claim confirmed, a source attached, a clause shown.
pub fn agreed() -> Play {
    let mut play = Play::open(&["Ana", "Hall"], true, Relayed::Accept);
    play.enrol("A");
    play.enrol("B");
    play.seal("A", ana());
    play.seal("B", hall());
    play.send(
        "A",
        json!({"message": "Offer for the hall", "status": "continue",
            "claims": [
                {"text": "80 guests are confirmed", "origin": "stated", "ref": "known_facts[0]"},
                {"text": "The hall has a fire exit", "origin": "sourced", "ref": "plan"},
                {"text": "Parking is free", "origin": "assumed"}],
            "proposal": {"terms": ["Hall on 4 May", "850.00 EUR by transfer"], "depends_on": ["new1", "new3"],
                "values": [{"label": "price", "kind": "money", "value": 85_000, "unit": "EUR", "exponent": 2, "term": 1}],
                "authority": [{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["may_agree_to[0]"]}]}}),
    );
    play.confirm_claim("B", "A1.2", true);
    play.attach("A", "A1.3");
    let hash = play.send(
        "B",
        json!({"message": "We need more, and say who comes", "status": "continue",
            "claims": [{"text": "The hall seats 90", "origin": "stated", "ref": "known_facts[0]"}],
            "reviews": [
                {"claim_id": "A1.1", "verdict": "challenge", "reason": "no list of guests"},
                {"claim_id": "A1.2", "verdict": "accept", "reason": ""},
                {"claim_id": "A1.3", "verdict": "accept", "reason": ""}],
            "proposal": {"terms": ["Hall on 4 May", "950.00 EUR by transfer"], "depends_on": ["new1"],
                "values": [{"label": "price", "kind": "money", "value": 95_000, "unit": "EUR", "exponent": 2, "term": 1}],
                "authority": [{"term": 0, "clauses": ["may_agree_to[0]"]}, {"term": 1, "clauses": ["may_agree_to[0]"]}]}}),
    );
    let hash = hash.unwrap().to_string();
    // Over Ana's limit: the server asks her.
    play.send(
        "A",
        json!({"message": "I would accept", "status": "agree", "accepts": hash,
            "reviews": [{"claim_id": "B2.1", "verdict": "accept", "reason": "it does"}],
            "authority": [{"term": 0, "clauses": ["must_haves[0]"]}]}),
    );
    play.answer(
        "A",
        json!({"question_id": "q1", "ruling": "allow", "text": "Yes, 950 at most",
            "public_summary": "Ana allows this price"}),
    );
    play.send(
        "A",
        json!({"message": "Agreed then", "status": "agree", "accepts": hash,
            "authority": [{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["amendment[0]"]}]}),
    );
    play
}

/// Three seats, answers relayed, disowned, confirmed; a member of an organization; ends when one side leaves.
pub fn withdrawn() -> Play {
    let mut play = Play::open(&["Ana", "Ben", "Cy"], false, Relayed::Hold);
    play.enrol("A");
    play.enrol("B");
    play.enrol_member("C");
    play.seal("A", ana());
    play.seal("B", hall());
    play.seal("C", garden());
    let ask = |question: &str| {
        json!({"message": "I ask first", "status": "escalate",
            "escalation": {"question": question, "reason": "not on the card"}})
    };
    play.send("A", ask("May I name \u{202e}the price?"));
    play.relay("A", json!({"question_id": "q1", "ruling": "allow", "text": "Go on"}));
    play.confirm("A", "q1", false);
    play.relay("A", json!({"question_id": "q1", "ruling": "amend", "text": "Up to 900",
        "limits": [{"label": "price", "kind": "money", "op": "le", "value": 90_000, "unit": "EUR", "exponent": 2,
            "clause": "may_agree_to[0]"}]}));
    play.confirm("A", "q1", true);
    play.send("A", json!({"message": "Nothing to offer yet", "status": "continue"}));
    play.send("B", ask("Shall we wait?"));
    play.answer("B", json!({"question_id": "q2", "ruling": "deny", "text": "No"}));
    play.send(
        "B",
        json!({"message": "Going on", "status": "continue",
            "claims": [{"text": "80 guests are confirmed", "origin": "assumed"}]}),
    );
    play.send("C", ask("Are we still in?"));
    play.answer("C", json!({"question_id": "q3", "ruling": "allow", "text": "Yes"}));
    play.disclose("A", "B", Some("must_haves[0]"));
    play.disclose("B", "A", None);
    play.share("A", Scope::Brief);
    play.leave("C", "no time");
    play
}

/// Nobody moves: the turn's deadline ends the room.
pub fn stalled() -> Play {
    let mut play = Play::open(&["Ana", "Hall"], false, Relayed::Accept);
    play.seal("A", ana());
    play.seal("B", hall());
    play.send("A", json!({"message": "Anyone there?", "status": "continue"}));
    play.wait(4 * 86_400);
    play
}

fn ana() -> Value {
    json!({"principal": {"name": "Ana"}, "goal": "Rent the hall on 4 May", "must_haves": ["Seats for 80"],
        "may_agree_to": ["Up to 900 EUR"], "must_never": ["Pay in cash"], "escalate_when": ["Date moves"],
        "known_facts": ["80 guests confirmed"],
        "limits": [{"label": "price", "kind": "money", "op": "le", "value": 90_000, "unit": "EUR", "exponent": 2,
            "clause": "may_agree_to[0]"}]})
}

fn hall() -> Value {
    json!({"principal": {"name": "The Hall", "role": "owner", "org": "Hall Ltd"}, "goal": "Let the hall",
        "must_haves": ["A deposit"], "may_agree_to": ["Any day in May"], "known_facts": ["The hall seats 90"]})
}

fn garden() -> Value {
    let mut card = hall();
    card["principal"]["name"] = json!("Cy");
    card
}

pub fn id(seat: &str) -> SeatId {
    seat.parse().unwrap()
}
