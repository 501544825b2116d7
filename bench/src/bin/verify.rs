//! What verification costs: a million leaves, a million-entry export, a chain of 10,000 entries, a room of about 10,000
//! entries without and with a signature on every message. Prints the cost of one Ed25519 check in the same run.

use bench::Outcome;
use canon::Digest;
use env::{Duration, Env, Timestamp};
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::export::{Header, Rule, TYPE, line};
use ledger::log::{SignedHead, head_message};
use ledger::merkle::{Tree, leaf_hash};
use ledger::{Aggregate, Entry, Head, StreamId};
use pxp::bundle::{Attested, assemble};
use pxp::command::{Driver, Enrol, Join, Open, Seal, SeatPlan, Send};
use pxp::view::Viewer;
use pxp::{Actor, Command, Policy, Reply, Room, RoomId, SeatId, State, signing_bytes};
use std::time::Instant;
use verify::{Verdict, verify};

const LEAVES: u64 = 1_000_000;
const LONG: u64 = 1_000_000;
const SHORT: u64 = 10_000;
/// Messages of eight claims and eight reviews: nine entries each.
const TURNS: u32 = 1_000;

fn main() -> Outcome {
    let server = SoftwareSigner::from_seed(Algorithm::Ed25519, &[1; 32])?;
    let signature = one_signature(&server)?;
    println!("one Ed25519 check: {:.1} us\n\n| what | ms | bar ms |\n|---|---:|---:|", signature * 1e6);

    let leaves: Vec<[u8; 72]> = (0..LEAVES).map(leaf).collect();
    let took = best(3, || {
        let mut tree = Tree::new();
        tree.extend(leaves.iter().map(|leaf| leaf_hash(leaf)));
        Ok(tree.root())
    })?;
    let mut met = report(&format!("{LEAVES} leaves to a root"), took, 1.0);

    for count in [SHORT, LONG] {
        let file = export(&server, count)?;
        let took = best(3, || valid(&file))?;
        let bar = if count == LONG { 3.0 } else { 0.060 + 1.3 * signature };
        met &= report(&format!("export of {count} entries, {} MB", file.len() / 1_000_000), took, bar);
    }

    for signs in [false, true] {
        let (file, entries, signatures) = room(&server, signs)?;
        let took = best(5, || valid(&file))?;
        let bar = 0.060 + 1.3 * signature * f64::from(signatures + 1);
        let name = if signs { "every message signed" } else { "no message signed" };
        met &= report(&format!("room of {entries} entries, {name}"), took, bar);
    }
    if met { Ok(()) } else { Err("a bar is not met".into()) }
}

/// Prints a line. Whether the bar is met.
fn report(what: &str, seconds: f64, bar: f64) -> bool {
    println!("| {what} | {:.1} | {:.1} |", seconds * 1e3, bar * 1e3);
    seconds <= bar
}

fn valid(file: &[u8]) -> Outcome<Verdict> {
    let report = verify(file, None);
    match report.verdict {
        Verdict::Valid => Ok(Verdict::Valid),
        _ => Err(format!("refused: {:?} at {:?}", report.code, report.place).into()),
    }
}

/// Seconds of the best of `rounds`.
fn best<T>(rounds: usize, mut run: impl FnMut() -> Outcome<T>) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        std::hint::black_box(run()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn one_signature(signer: &SoftwareSigner) -> Outcome<f64> {
    const CHECKS: u32 = 2_000;
    let message = [7; 32];
    let signature = signer.sign(&message)?;
    let key = signer.public();
    let took = best(3, || {
        for _ in 0..CHECKS {
            key.verify(std::hint::black_box(&message), &signature)?;
        }
        Ok(())
    })?;
    Ok(took / f64::from(CHECKS))
}

fn leaf(n: u64) -> [u8; 72] {
    let mut leaf = [0; 72];
    let (_, end) = leaf.split_at_mut(64);
    end.copy_from_slice(&n.to_be_bytes());
    leaf
}

/// Entries of 400 bytes, as rooms write them.
fn export(server: &SoftwareSigner, count: u64) -> Outcome<Vec<u8>> {
    let stream: StreamId = "room/bench".parse()?;
    let mut lines = Vec::new();
    let mut head = Head::EMPTY;
    let start = Timestamp::from_secs(1_796_030_000);
    for n in 1..=count {
        let at = start + Duration::from_millis(n);
        let hash = Digest::of(&n.to_be_bytes());
        let body = format!(
            r#"{{"at":"{at}","data":{{"envelope_hash":"{hash}","payload":"{hash}","seat":"A","seq":{n},"status":"continue","words":"{}"}},"n":{n},"type":"envelope"}}"#,
            "x".repeat(130)
        );
        let entry = Entry {
            seq: n,
            prev: head.hash,
            hash: Rule::PrevHex.link(&head.hash, body.as_bytes()),
            bytes: body.into_bytes(),
            payload: None,
        };
        lines.extend(line(&entry));
        head = Head { seq: n, hash: entry.hash };
    }
    let signature = server.sign(&head_message(&stream, head.seq, &head.hash))?;
    let head = SignedHead { n: head.seq, hash: head.hash, signature };
    let header =
        Header { kind: TYPE.to_owned(), stream, rule: Rule::PrevHex, head, key: server.public(), log: None };
    let mut file = header.line()?;
    file.append(&mut lines);
    Ok(file)
}

/// A room played to its turn limit, as the bundle of seat A; with its entries and how many messages are signed.
fn room(server: &SoftwareSigner, signs: bool) -> Outcome<(Vec<u8>, usize, u32)> {
    let id: RoomId = "bench".parse()?;
    let agents = [
        SoftwareSigner::from_seed(Algorithm::Ed25519, &[10; 32])?,
        SoftwareSigner::from_seed(Algorithm::Ed25519, &[11; 32])?,
    ];
    let mut game = Game::default();
    let seat = |name: &str| SeatPlan { name: name.into(), driver: Driver::External, principal: None };
    let policy = Policy { max_turns: TURNS, ..Policy::default() };
    let [a, b] = &agents;
    let reply = game.run(&Command::Open(Open {
        actor: Actor::Opener { by: None },
        room: id.clone(),
        topic: "Bench".into(),
        seats: vec![seat("Ana"), seat("Ben")],
        agent: Some("Agent A".into()),
        key: signs.then(|| a.public()),
        policy,
    }))?;
    let Reply::Opened { invites, .. } = reply else { return Err("not opened".into()) };
    let invite = invites.first().ok_or("no invite")?;
    let actor = game.state.authenticate(invite.secret.expose(), game.now).ok_or("no actor")?;
    let (seat, agent, key) = (invite.seat, Some("Agent B".into()), signs.then(|| b.public()));
    game.run(&Command::Join(Join { actor, seat, agent, key, principal: None }))?;
    for (index, name) in ["Ana", "Ben"].into_iter().enumerate() {
        let seat = SeatId::at(index).ok_or("no seat")?;
        let actor = Actor::Link { seat };
        game.run(&Command::Enrol(Enrol {
            actor,
            seat,
            as_member: None,
            passkey: None,
            key: Some(a.public()),
        }))?;
        let card = serde_json::from_value(serde_json::json!({
            "principal": {"name": name}, "goal": "Rent the hall", "must_haves": ["Seats"], "known_facts": ["Guests"],
        }))?;
        game.run(&Command::Seal(Seal { actor: Actor::Seat { seat }, seat, card }))?;
    }
    for turn in 0..TURNS {
        let seat = game.state.turn.ok_or("no turn")?;
        let reviews: Vec<_> = game
            .state
            .to_review(seat)
            .iter()
            .map(|claim| serde_json::json!({"claim_id": claim.id, "verdict": "accept", "reason": "seen"}))
            .collect();
        let claims: Vec<_> = (0..8)
            .map(|k| serde_json::json!({"text": format!("Claim {k} of turn {turn} about the hall"), "origin": "assumed"}))
            .collect();
        let envelope = serde_json::from_value(serde_json::json!({
            "message": "We go on and say some words about the hall", "status": "continue",
            "claims": claims, "reviews": reviews,
        }))?;
        let msg_id = Some(format!("m{turn}"));
        let signature = match (signs, agents.get(seat.index())) {
            (true, Some(agent)) => {
                let hash = signing_bytes(&id, seat, msg_id.as_deref().unwrap_or_default(), &envelope)?;
                Some(agent.sign(hash.as_bytes())?.base64url())
            }
            _ => None,
        };
        let actor = Actor::Seat { seat };
        game.run(&Command::Send(Send { actor, seat, msg_id, envelope, signature }))?;
    }
    let stream: StreamId = id.stream().parse()?;
    let head = game.state.head();
    let signature = server.sign(&head_message(&stream, head.seq, &head.hash))?;
    let head = SignedHead { n: head.seq, hash: head.hash, signature };
    let attested = Attested { key: server.public(), head, log: None };
    let bundle = assemble(&game.state, &game.entries, Viewer::Seat(SeatId::A), attested)?;
    Ok((bundle.to_vec()?, game.entries.len(), if signs { TURNS } else { 0 }))
}

struct Game {
    state: State,
    entries: Vec<Entry>,
    now: Timestamp,
    step: u64,
}

impl Default for Game {
    fn default() -> Self {
        let now = Timestamp::from_secs(1_796_030_000);
        Self { state: State::default(), entries: Vec::new(), now, step: 0 }
    }
}

impl Game {
    fn run(&mut self, command: &Command) -> Outcome<Reply> {
        self.step += 1;
        self.now = self.now + Duration::from_secs(1);
        let mut env = Env::new(self.now, *Digest::of(&self.step.to_be_bytes()).as_bytes());
        let decided = Room::decide(&self.state, command, &mut env)?;
        for event in &decided.events {
            let entry = Room::seal(event, self.state.head())?;
            Room::evolve(&mut self.state, event, Head { seq: entry.seq, hash: entry.hash });
            self.entries.push(entry);
        }
        Ok(decided.answer)
    }
}
