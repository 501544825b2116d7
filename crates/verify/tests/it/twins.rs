//! The two verifiers answer alike: verdict, code and place, for every file here and for seeded mutations of each.

use crate::support::{ORIGIN, export, file, signer, vkey};
use env::Timestamp;
use keys::Signer;
use ledger::export::Rule;
use ledger::note::KeyType;
use std::io::Write;
use std::process::{Command, Stdio};
use verify::{Trust, Verdict, verify};

/// One question to both.
pub struct Case {
    pub name: String,
    pub file: Vec<u8>,
    pub trust: Option<String>,
}

/// Asks both verifiers all of it; a difference is named. Gives the verdicts.
pub fn agree(cases: &[Case]) -> Vec<Verdict> {
    agree_on(&["verdict", "code", "place", "unchecked"], cases)
}

/// The same, where only these members need to agree.
pub fn agree_on(members: &[&str], cases: &[Case]) -> Vec<Verdict> {
    agree_at(members, cases, |_| None)
}

/// The same, where some cases are judged at an instant.
pub fn agree_at(
    members: &[&str],
    cases: &[Case],
    now: impl Fn(usize) -> Option<Timestamp> + Sync,
) -> Vec<Verdict> {
    let (theirs, ours) = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask_node(cases, &now));
        let check = |(id, case): (usize, &Case)| {
            let mut trust = case.trust.as_ref().map(|trust| Trust::parse(trust.as_bytes()).unwrap());
            if let Some(now) = now(id) {
                trust = trust.map(|trust| trust.standing(now, None));
            }
            verify(&case.file, trust.as_ref())
        };
        let ours: Vec<_> = cases.iter().enumerate().map(check).collect();
        (asked.join().unwrap(), ours)
    });
    assert_eq!(theirs.len(), cases.len());
    let mut verdicts = Vec::new();
    let mut differences = Vec::new();
    for ((case, theirs), report) in cases.iter().zip(theirs).zip(ours) {
        let ours = serde_json::json!({ "verdict": report.verdict, "code": report.code, "place": report.place,
                "unchecked": report.unchecked });
        verdicts.push(report.verdict);
        if members.iter().any(|member| ours[member] != theirs[member]) {
            differences.push(format!("{}: {ours} here, {theirs} there", case.name));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
    verdicts
}

pub fn count(verdicts: &[Verdict], verdict: Verdict) -> usize {
    verdicts.iter().filter(|&&one| one == verdict).count()
}

/// Deterministic numbers from a seed (splitmix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// Files of lines, changed byte by byte and line by line.
#[test]
fn exports_and_checkpoints() {
    const SEED: u64 = 20_261_130;
    let pinned = trust_text();
    let mut cases = Vec::new();
    let mut files = Vec::new();
    for rule in [Rule::PrevHex, Rule::PrevRaw] {
        let (header, entries) = export(rule, 4);
        files.push(file(&header, &entries));
        files.push(header.log.unwrap().checkpoint.into_bytes());
    }
    let mut dice = Dice::new(SEED);
    for (number, good) in files.iter().enumerate() {
        for trust in [None, Some(pinned.clone())] {
            cases.push(Case { name: format!("file {number}"), file: good.clone(), trust });
        }
        for round in 0..150 {
            let mut changed = good.clone();
            let what = mutate(&mut changed, &mut dice);
            let trust = (round % 2 == 0).then(|| pinned.clone());
            let name = format!("seed {SEED}, file {number}, round {round}: {what}");
            cases.push(Case { name, file: changed, trust });
        }
    }
    let verdicts = agree(&cases);
    let [valid, refused, unusable] =
        [Verdict::Valid, Verdict::Refused, Verdict::Unusable].map(|verdict| count(&verdicts, verdict));
    assert!(valid >= 6 && refused > 200 && unusable > 20, "{valid} {refused} {unusable}");
}

/// How many witnesses must have cosigned, of which, and under whose log.
#[test]
fn quorums() {
    let (header, entries) = export(Rule::PrevHex, 4);
    let with_log = file(&header, &entries);
    let checkpoint = header.log.clone().unwrap().checkpoint;
    let unwitnessed: String = checkpoint.split_inclusive('\n').take(5).collect();
    let mut bare = header.clone();
    bare.log = None;
    let mut alone = header;
    alone.log.as_mut().unwrap().checkpoint = unwitnessed.clone();
    let files = [
        with_log,
        file(&bare, &entries),
        file(&alone, &entries),
        checkpoint.into_bytes(),
        unwitnessed.into_bytes(),
    ];
    let witness = |name: &str, seed| vkey(name, KeyType::Witness, &signer(seed)).to_string();
    let pinned = [witness("witness.example", 2), witness("other.example", 4)];
    let log = vkey(ORIGIN, KeyType::Log, &signer(1)).to_string();
    let mut cases = Vec::new();
    for logs in [vec![], vec![log]] {
        for (witnesses, required) in [
            (&pinned[..0], 0),
            (&pinned[..1], 0),
            (&pinned[..1], 1),
            (&pinned[1..], 1),
            (&pinned[..], 1),
            (&pinned[..], 2),
        ] {
            let trust = serde_json::json!({
                "servers": [signer(1).public()], "logs": logs, "witnesses": witnesses, "witnesses_required": required,
            });
            for (number, file) in files.iter().enumerate() {
                let name = format!("file {number} under {trust}");
                cases.push(Case { name, file: file.clone(), trust: Some(trust.to_string()) });
            }
        }
    }
    let verdicts = agree(&cases);
    // Without a log's key: the three exports while nothing is required. With it: what has a log, then what has its witness.
    assert_eq!(count(&verdicts, Verdict::Valid), 3 * 2 + 4 * 2 + 2 * 2);
}

#[test]
fn what_is_no_proof() {
    let texts: [&[u8]; 12] = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{\"type\":\"urn:countersign:other:1\"}",
        b"{\"type\":1,\"type\":2}",
        b"{\"a\":1e400}",
        b"{\"a\":\"\\ud800\"}",
        b"{\"a\":9007199254740993}",
        b"hello\n\nworld\n",
        "x\n\n— y\n".as_bytes(),
    ];
    let cases: Vec<_> = texts
        .iter()
        .map(|text| Case { name: format!("{text:?}"), file: text.to_vec(), trust: None })
        .collect();
    let verdicts = agree(&cases);
    assert_eq!(count(&verdicts, Verdict::Unusable), 11);
    // Its last line is that of a note.
    assert_eq!(verdicts[11], Verdict::Refused);
}

pub fn trust_text() -> String {
    serde_json::json!({
        "servers": [signer(1).public()],
        "logs": [vkey(ORIGIN, KeyType::Log, &signer(1)).to_string()],
        "witnesses": [vkey("witness.example", KeyType::Witness, &signer(2)).to_string()],
        "witnesses_required": 1,
    })
    .to_string()
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) -> String {
    let at = dice.below(bytes.len());
    let lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, two) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(8) {
        0..=3 => {
            let bit = 1 << dice.below(7);
            bytes[at] ^= bit;
            format!("byte {at} with {bit}")
        }
        4 => {
            bytes.remove(at);
            format!("without byte {at}")
        }
        5 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        6 => {
            let mut lines = lines;
            lines.swap(one, two);
            *bytes = lines.concat();
            format!("lines {one} and {two} swapped")
        }
        _ => {
            let mut lines = lines;
            lines.remove(one);
            *bytes = lines.concat();
            format!("without line {one}")
        }
    }
}

fn ask_node(cases: &[Case], now: &(impl Fn(usize) -> Option<Timestamp> + Sync)) -> Vec<serde_json::Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verifier-js/cli.mjs");
    let mut node = Command::new("node")
        .args([script, "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node 20 or later runs the second verifier");
    let mut input = node.stdin.take().unwrap();
    let lines: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(id, case)| {
            let file = base64(&case.file);
            let now = now(id).map(Timestamp::as_micros);
            serde_json::json!({ "id": id, "file": file, "trust": case.trust, "now": now }).to_string() + "\n"
        })
        .collect();
    let writer =
        std::thread::spawn(move || lines.iter().try_for_each(|line| input.write_all(line.as_bytes())));
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the second verifier failed");
    let answers: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], id);
    }
    answers
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let word = chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
                << (8 * (3 - chunk.len()));
            (0..4).map(move |index| {
                if index <= chunk.len() {
                    char::from(ALPHABET[(word >> (18 - 6 * index) & 63) as usize])
                } else {
                    '='
                }
            })
        })
        .collect()
}
