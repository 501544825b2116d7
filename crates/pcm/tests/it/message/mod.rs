//! Messages: the numbered cases of `vectors/pcm/messages`, made here from a fixed seed and judged, and what they cannot show.

mod accepted;
mod approvals;
mod attacks;
mod carriage;
mod certificates;
mod claims;
mod envelope;
mod evidence;
mod grants;
mod properties;
mod readings;
mod schemas;
mod seen;
mod sending;
mod size;
mod still;
mod text;
mod values;

use env::{Env, Timestamp};
use keys::{Algorithm, SoftwareSigner};
use pcm::message::sample::{Order, Stage};
use pcm::message::{Acceptance, At, Judgement, Memory, Receiver, Replay, registry_digest, verify};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::OnceLock;

/// One numbered case.
pub struct Case {
    group: &'static str,
    name: &'static str,
    about: &'static str,
    message: Vec<u8>,
    trust: Value,
    now: Timestamp,
    receiver: Option<&'static str>,
    state: Option<Value>,
    expected: &'static str,
}

/// All cases of a group.
pub struct Book {
    group: &'static str,
    cases: Vec<Case>,
}

impl Book {
    pub fn new(group: &'static str) -> Self {
        Self { group, cases: Vec::new() }
    }

    /// A message under the trust of its stage, at the stage's moment. `expected` is what [`told`] says.
    pub fn add(
        &mut self,
        name: &'static str,
        about: &'static str,
        message: Vec<u8>,
        stage: &Stage<'_>,
        expected: &'static str,
    ) -> &mut Case {
        self.cases.push(Case {
            group: self.group,
            name,
            about,
            message,
            trust: trust(stage),
            now: stage.now(),
            receiver: None,
            state: None,
            expected,
        });
        self.cases.last_mut().unwrap()
    }
}

impl Case {
    pub fn trusting(&mut self, edit: impl FnOnce(&mut Value)) -> &mut Self {
        edit(&mut self.trust);
        self
    }
    pub fn at(&mut self, now: Timestamp) -> &mut Self {
        self.now = now;
        self
    }
    pub fn as_receiver(&mut self, id: &'static str) -> &mut Self {
        self.receiver = Some(id);
        self
    }
    pub fn knowing(&mut self, state: Value) -> &mut Self {
        self.state = Some(state);
        self
    }

    fn judge(&self) -> Judgement {
        let receiver = Receiver::parse(self.trust.to_string().as_bytes())
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let memory = self.state.as_ref().map(memory);
        let replay = memory.as_ref().map(|memory| memory as &dyn Replay);
        verify(&self.message, &receiver, &At { now: self.now, receiver: self.receiver, replay })
    }

    fn line(&self, number: usize) -> Value {
        let mut line = json!({
            "n": number,
            "name": self.name,
            "about": self.about,
            "now": pcm::spelled(self.now),
            "trust": self.trust,
            "expected": self.expected,
        });
        match std::str::from_utf8(&self.message) {
            Ok(text) => line["message"] = json!(text),
            Err(_) => line["message_hex"] = json!(hex(&self.message)),
        }
        if let Some(receiver) = self.receiver {
            line["receiver"] = json!(receiver);
        }
        if let Some(state) = &self.state {
            line["state"] = state.clone();
        }
        line
    }
}

/// The overall verdict, the first reason, and each claim with its own, in words.
pub fn told(judgement: &Judgement) -> String {
    let mut words = vec![judgement.overall.as_str().to_owned()];
    words.extend(judgement.fault.iter().map(|fault| fault.code.as_str().to_owned()));
    for finding in &judgement.claims {
        let code = finding.verdict.code().map_or("proven", pcm::message::Code::as_str);
        words.push(format!("{}:{code}", finding.id));
    }
    words.join(" ")
}

/// Made once.
fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(made)
}

fn made() -> Vec<Case> {
    let books = [
        envelope::book(),
        evidence::book(),
        claims::book(),
        approvals::book(),
        grants::book(),
        still::book(),
        attacks::book(),
    ];
    books.into_iter().flat_map(|book| book.cases).collect()
}

#[test]
fn every_message_is_judged_as_its_case_says() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in cases {
        let judgement = case.judge();
        if told(&judgement) != case.expected {
            wrong.push(format!(
                "{}: {} instead of {}: {:?}",
                case.name,
                told(&judgement),
                case.expected,
                judgement.fault
            ));
            continue;
        }
        assert_eq!(judgement.acceptance.is_some(), !case.expected.starts_with("reject"), "{}", case.name);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let names: std::collections::BTreeSet<_> = cases.iter().map(|case| (case.group, case.name)).collect();
    assert_eq!(names.len(), cases.len(), "two cases have one name");
}

/// The files are what is made here.
#[test]
fn numbered_messages_are_in_the_folder() {
    for (name, text) in files() {
        assert!(std::fs::read_to_string(folder().join(&name)).unwrap() == text, "{name} is another");
    }
}

/// Writes the folder anew: `cargo test -p pcm --test it write_messages -- --ignored`.
#[test]
#[ignore = "writes into the source tree"]
fn write_messages() {
    for (name, text) in files() {
        std::fs::write(folder().join(name), text).unwrap();
    }
}

fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (number, case) in (1..).zip(cases()) {
        let name = format!("{}.jsonl", case.group);
        if files.last().is_none_or(|(last, _)| *last != name) {
            files.push((name, String::new()));
        }
        files.last_mut().unwrap().1.push_str(&format!("{}\n", case.line(number)));
    }
    files.push(("readings.jsonl".to_owned(), readings::lines()));
    files
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/pcm/messages"))
}

pub fn signer(seed: u8) -> &'static SoftwareSigner {
    Box::leak(Box::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()))
}

/// A log of its own for each seed.
pub fn stage(seed: u8) -> Stage<'static> {
    Stage::new(Env::new(Timestamp::from_secs(1_796_000_000), [seed; 32]), signer(1), signer(2)).unwrap()
}

pub fn trust(stage: &Stage<'_>) -> Value {
    let sender = stage.sender();
    json!({
        "pcm": "pcm/0.1-cs",
        "evidence": {"logs": [stage.vkey().unwrap().to_string()], "algs": ["ed25519"]},
        "receivers": ["receiver"],
        "speakers": [{"origin": sender.origin, "log_id": sender.log_id, "tenant": sender.tenant, "agents": ["token:agent"]}],
        "registry": registry_digest().prefixed(),
    })
}

/// A claim, under the id `c`.
pub fn claim<'o>(predicate: &'o str, args: Value, records: &[u64]) -> Order<'o> {
    Order { claims: vec![("c", predicate, args.to_string(), records.to_vec())], ..Order::default() }
}

/// The message under its stage's signature, whatever it says.
pub fn sealed(stage: &mut Stage<'_>, order: &Order<'_>) -> Vec<u8> {
    edited(stage, order, |_| {})
}

/// The same, changed before it is signed.
pub fn edited(stage: &mut Stage<'_>, order: &Order<'_>, edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let note = stage.note().unwrap();
    let draft = stage.draft(order, &note).unwrap();
    let mut value: Value = serde_json::from_slice(&canon::to_vec(&draft).unwrap()).unwrap();
    edit(&mut value);
    let text = value.to_string();
    stage.seal(&canon::parse(text.as_bytes()).unwrap()).unwrap()
}

/// Changed after it was signed.
pub fn bent(message: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(message).unwrap();
    edit(&mut value);
    value.to_string().into_bytes()
}

/// A token is spelled otherwise; the canonical form, and so every hash and signature, stays.
pub fn respelled(message: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(message).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

/// `"lost"`, or `{"since", "accepted": [[origin, id]], "uses": {hash: n}, "largest": {origin: [size, root]}}`.
fn memory(state: &Value) -> Memory {
    if state == "lost" {
        return Memory::default();
    }
    let since = pcm::instant(state["since"].as_str().unwrap()).unwrap();
    let mut memory = Memory::since(since);
    let mut accept = |origin: &str, id: &str, grants: Vec<_>, checkpoint| {
        let until = Timestamp::from_secs(4_000_000_000);
        let acceptance = Acceptance { origin: origin.into(), id: id.into(), until, grants, checkpoint };
        memory.accept(&acceptance, since).unwrap();
    };
    let zero = (0, canon::Digest::ZERO);
    for pair in state["accepted"].as_array().into_iter().flatten() {
        accept(pair[0].as_str().unwrap(), pair[1].as_str().unwrap(), Vec::new(), zero);
    }
    for (hash, uses) in state["uses"].as_object().into_iter().flatten() {
        for time in 0..uses.as_u64().unwrap() {
            let grant = hash.strip_prefix("sha256:").unwrap().parse().unwrap();
            accept("elsewhere", &format!("{hash}{time}"), vec![(grant, None)], zero);
        }
    }
    for (origin, seen) in state["largest"].as_object().into_iter().flatten() {
        let root = seen[1].as_str().unwrap().strip_prefix("sha256:").unwrap().parse().unwrap();
        accept(origin, "largest", Vec::new(), (seen[0].as_u64().unwrap(), root));
    }
    memory
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
