//! Evidence bundles before both verifiers: the recorded ones, and thousands of changed ones, by forgers without and with the
//! keys of the log.

use crate::mutate::change;
use crate::support::signer;
use crate::twins::{Case, Dice, agree_on, count};
use canon::Digest;
use keys::{PublicKey, Signer, SoftwareSigner};
use ledger::merkle::{MemoryTree, prove_inclusion};
use ledger::note::{Checkpoint, KeyType, Note, VerifierKey};
use pcm::sample::story;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use verify::Verdict;

const SEED: u64 = 20_261_130;
const MUTATIONS: usize = 2_000;

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/pcm/tracekit").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(name: &str) -> String {
    String::from_utf8(read(name)).unwrap()
}

/// The files of a bundle, by name.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone)]
struct Whole {
    name: String,
    bytes: Vec<u8>,
    trust: String,
}

fn whole(folder: &str, file: &str, trust: &str) -> Whole {
    Whole {
        name: file.to_owned(),
        bytes: read(&format!("{folder}/{file}")),
        trust: text(&format!("{folder}/{trust}")),
    }
}

/// The keys of our own log.
struct Forger {
    log: SoftwareSigner,
    keys: [SoftwareSigner; 2],
}

fn forger() -> Forger {
    Forger { log: signer(71), keys: [signer(72), signer(73)] }
}

impl Forger {
    fn bundle(&self, calls: u64, rotate: bool) -> Whole {
        let mut env = env::Env::new(env::Timestamp::from_secs(1_796_000_000), [9; 32]);
        let next = rotate.then_some(&self.keys[1] as &dyn Signer);
        let sample = story(&mut env, &self.log, &self.keys[0], next, calls).unwrap();
        let trust = json!({"logs": [sample.log.to_string()], "algs": ["ed25519"]}).to_string();
        Whole { name: format!("story of {calls}"), bytes: sample.bundle, trust }
    }

    /// Links, signs and proves everything anew: what the owner of the log's keys could have written.
    fn reseal(&self, files: &mut Files) {
        let run = files.keys().find(|name| name.starts_with("runs/")).unwrap().clone();
        let names = [run.as_str(), "keys/records.jsonl"];
        let mut records: Vec<(usize, Value)> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            for line in std::str::from_utf8(&files[*name]).unwrap().lines() {
                records.push((index, serde_json::from_str(line).unwrap()));
            }
        }
        records.sort_by_key(|(_, record)| record["event"]["seq"].as_u64().unwrap_or(u64::MAX));
        let (mut prev, mut tree) = (Digest::ZERO, MemoryTree::new());
        let mut heads = [Digest::ZERO; 2];
        let mut sealed = [String::new(), String::new()];
        let mut ends = BTreeMap::new();
        for (index, record) in &mut records {
            let kid = record["kid"].as_str().unwrap_or_default().to_owned();
            let own = |key: &&SoftwareSigner| key.public().spki_kid().to_string() == kid;
            let key = self.keys.iter().find(own).unwrap_or(&self.keys[0]);
            let event = &mut record["event"];
            if event.is_object() {
                event["prev_hash"] = json!(prev.prefixed());
                event["run_prev_hash"] = json!(heads[*index].prefixed());
            }
            let hash = Digest::of(&canonical(event));
            let mut message =
                json!({"alg": "ed25519", "kid": kid, "hash": hash.prefixed(), "t": "tracekit.record.v2"});
            for name in ["log_id", "seq", "prev_hash", "tenant", "run_id", "run_seq", "run_prev_hash"] {
                message[name] = event[name].clone();
            }
            let signature = key.sign(&canonical(&message)).unwrap();
            if let Some(seq) = event["seq"].as_u64() {
                ends.insert(seq, ());
            }
            record["hash"] = json!(hash.prefixed());
            record["sig"] = json!(signature.base64());
            (prev, heads[*index]) = (hash, hash);
            tree.push(pcm::leaf(&hash));
            sealed[*index] += &format!("{}\n", String::from_utf8(canonical(record)).unwrap());
        }
        for (name, text) in names.iter().zip(sealed) {
            files.insert((*name).to_owned(), text.into_bytes());
        }
        let note = files.keys().find(|name| name.starts_with("checkpoints/")).unwrap().clone();
        let origin = Note::parse(&files.remove(&note).unwrap()).unwrap().unverified().origin.clone();
        let size = tree.size();
        let name = format!("checkpoints/{size}.note");
        let proofs: serde_json::Map<String, Value> = ends
            .keys()
            .filter(|seq| **seq < size)
            .map(|seq| {
                let path = prove_inclusion(&tree, *seq, size).unwrap();
                let hashes = path.iter().map(|hash| json!(base64(hash.as_bytes()))).collect();
                (seq.to_string(), Value::Array(hashes))
            })
            .collect();
        let proofs = json!({"checkpoint": name, "tree_size": size, "inclusion": proofs});
        files.insert("proofs/records.json".to_owned(), proofs.to_string().into_bytes());
        let checkpoint = Checkpoint { origin, size, root: tree.root() };
        files.insert(name, Note::sign(checkpoint, &self.log).unwrap().to_string().into_bytes());
        index(files);
    }
}

fn canonical(value: &Value) -> Vec<u8> {
    canon::canonicalize(value.to_string().as_bytes()).unwrap_or_else(|_| value.to_string().into_bytes())
}

fn base64(bytes: &[u8]) -> String {
    use std::fmt::Write;
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            (0..3).fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or_default()));
        for at in 0..4 {
            let symbol = char::from(ALPHABET[(word >> (18 - 6 * at) & 63) as usize]);
            write!(text, "{}", if at > chunk.len() { '=' } else { symbol }).unwrap();
        }
    }
    text
}

/// Makes the manifest anew.
fn index(files: &mut Files) {
    let mut manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let listed = files.iter().filter(|(name, _)| *name != "manifest.json");
    manifest["files"] =
        listed.map(|(name, content)| (name.clone(), json!(Digest::of(content).to_string()))).collect();
    files.insert("manifest.json".to_owned(), manifest.to_string().into_bytes());
}

fn unpack(zip: &[u8]) -> Files {
    let number = |at: usize, size: usize| -> usize {
        zip[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
    };
    let end = zip.len() - 22;
    let mut at = number(end + 16, 4);
    let mut files = Files::new();
    while at < end {
        let (packed, name, offset) = (number(at + 20, 4), number(at + 28, 2), number(at + 42, 4));
        let mut content = Vec::new();
        let from = &zip[offset + 30 + name..][..packed];
        flate2::read::DeflateDecoder::new(from).read_to_end(&mut content).unwrap();
        files.insert(String::from_utf8(zip[at + 46..][..name].to_vec()).unwrap(), content);
        at += 46 + name;
    }
    files
}

/// A zip of stored files.
fn pack(files: &Files) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = (zip.len() as u32).to_le_bytes();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let size = (content.len() as u32).to_le_bytes();
        let fields = [
            &[0_u8; 8],
            crc.sum().to_le_bytes().as_slice(),
            &size,
            &size,
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        zip.extend([b"PK\x03\x04\x14\0".as_slice(), &fields, name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x14\x03\x14\0".as_slice(), &fields, &[0; 10], &offset, name.as_bytes()].concat(),
        );
    }
    let (start, length) = ((zip.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    let count = (files.len() as u16).to_le_bytes();
    zip.extend(directory);
    zip.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &length, &start, &[0, 0]].concat());
    zip
}

#[test]
fn two_verifiers_agree_on_recorded_evidence() {
    let mut cases = Vec::new();
    for folder in ["golden-v2", "golden-negative", "generated-t2"] {
        for entry in std::fs::read_dir(path(folder)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if file.ends_with(".tkb") {
                let Whole { name, bytes, trust } = whole(folder, &file, "trust.json");
                cases.push(Case { name: name.clone(), file: bytes.clone(), trust: Some(trust) });
                cases.push(Case { name: format!("{name} unpinned"), file: bytes, trust: None });
            }
        }
    }
    let verdicts = agree_on(&["verdict", "code"], &cases);
    assert_eq!(count(&verdicts, Verdict::Valid), 5);
    assert_eq!(cases.len(), 2 * 29);
}

/// 2,000 changed bundles: both verifiers give one verdict and one code for each.
#[test]
fn two_verifiers_agree_on_mutated_evidence() {
    let forger = forger();
    let ours = [forger.bundle(2, false), forger.bundle(1, true)];
    let mut all: Vec<Whole> = ["closed.tkb", "open.tkb", "approval.tkb", "run-set.tkb"]
        .map(|file| whole("golden-v2", file, "trust.json"))
        .to_vec();
    all.push(whole("generated-t2", "t2-approval.tkb", "trust.json"));
    all.extend(ours.clone());
    let mut dice = Dice::new(SEED);
    let mut cases: Vec<_> = all
        .iter()
        .map(|one| Case { name: one.name.clone(), file: one.bytes.clone(), trust: Some(one.trust.clone()) })
        .collect();
    for one in &ours {
        let mut files = unpack(&one.bytes);
        forger.reseal(&mut files);
        cases.push(Case {
            name: format!("{} resealed", one.name),
            file: pack(&files),
            trust: Some(one.trust.clone()),
        });
    }
    let good = cases.len();
    for round in 0..MUTATIONS {
        let one = if round % 4 < 2 { &ours[dice.below(ours.len())] } else { &all[dice.below(all.len())] };
        let (what, file) = match round % 4 {
            0 => sealed(one, &forger, &mut dice),
            1 => moved(one, &forger, &mut dice),
            2 => edited(one, &mut dice),
            _ => flipped(one, &mut dice),
        };
        let name = format!("seed {SEED}, round {round}, {}: {what}", one.name);
        cases.push(Case { name, file, trust: Some(one.trust.clone()) });
    }
    let verdicts = agree_on(&["verdict", "code"], &cases);
    let (untouched, changed) = verdicts.split_at(good);
    assert_eq!(count(untouched, Verdict::Valid), good);
    assert!(count(changed, Verdict::Refused) > MUTATIONS / 2, "{}", count(changed, Verdict::Refused));
    assert!(count(changed, Verdict::Unusable) > MUTATIONS / 10, "{}", count(changed, Verdict::Unusable));
    // Whoever has no key of the log changes no record unseen.
    for (case, verdict) in cases.iter().skip(good).zip(changed) {
        assert!(*verdict != Verdict::Valid || !case.name.contains("record edited"), "{}", case.name);
    }
}

/// A record changed inside, everything signed anew.
fn sealed(one: &Whole, forger: &Forger, dice: &mut Dice) -> (String, Vec<u8>) {
    let mut files = unpack(&one.bytes);
    let name = records(&files, dice);
    let mut lines = values(&files[&name]);
    let at = dice.below(lines.len());
    let member = ["event", "event", "event", "kid", "alg"][dice.below(5)];
    let inside = if member == "event" && dice.below(3) > 0 { "data" } else { "" };
    let what = match (member, inside) {
        ("event", "data") if lines[at]["event"]["data"].as_object().is_some_and(|data| !data.is_empty()) => {
            change(&mut lines[at]["event"]["data"], dice)
        }
        ("event", _) => change(&mut lines[at]["event"], dice),
        _ => change(&mut lines[at], dice),
    };
    files.insert(name, jsonl(&lines));
    forger.reseal(&mut files);
    (format!("{what} in record {at}, resealed"), pack(&files))
}

/// Records of a run swapped, lost, repeated, or given other times, everything signed anew.
fn moved(one: &Whole, forger: &Forger, dice: &mut Dice) -> (String, Vec<u8>) {
    let mut files = unpack(&one.bytes);
    let name = files.keys().find(|name| name.starts_with("runs/")).unwrap().clone();
    let mut lines = values(&files[&name]);
    let (from, to) = (dice.below(lines.len()), dice.below(lines.len()));
    let what = match dice.below(4) {
        0 => {
            let (one, other) = (lines[from]["event"]["data"].take(), lines[to]["event"]["data"].take());
            let (kind, another) = (lines[from]["event"]["type"].take(), lines[to]["event"]["type"].take());
            (lines[from]["event"]["data"], lines[to]["event"]["data"]) = (other, one);
            (lines[from]["event"]["type"], lines[to]["event"]["type"]) = (another, kind);
            "swapped"
        }
        1 => {
            lines.remove(from);
            for (seq, line) in lines.iter_mut().enumerate() {
                line["event"]["run_seq"] = json!(seq);
            }
            "lost"
        }
        2 => {
            lines[from]["event"]["ts"] = lines[to]["event"]["ts"].clone();
            lines[from]["event"]["ts_signed"] = json!("2027-01-01T00:00:00.000000Z");
            "late"
        }
        _ => {
            for (seq, line) in lines.iter_mut().enumerate().skip(from) {
                line["event"]["run_seq"] = json!(seq + 1);
            }
            "counted wrong"
        }
    };
    files.insert(name, jsonl(&lines));
    forger.reseal(&mut files);
    (format!("records {from} and {to} {what}, resealed"), pack(&files))
}

/// A file changed, with or without the manifest.
fn edited(one: &Whole, dice: &mut Dice) -> (String, Vec<u8>) {
    let mut files = unpack(&one.bytes);
    let names: Vec<_> = files.keys().cloned().collect();
    let name = names[dice.below(names.len())].clone();
    let mut what = format!("{name} ");
    match dice.below(5) {
        0 | 1 if name.ends_with(".jsonl") => {
            let mut lines = values(&files[&name]);
            let at = dice.below(lines.len());
            let before = lines[at].clone();
            while lines[at] == before {
                what += &format!("record edited {at}: {}, ", change(&mut lines[at], dice));
            }
            files.insert(name, jsonl(&lines));
        }
        0 | 1 if name.ends_with(".json") => {
            let mut value: Value = serde_json::from_slice(&files[&name]).unwrap();
            what += &change(&mut value, dice);
            files.insert(name, value.to_string().into_bytes());
        }
        2 => {
            let content = files.get_mut(&name).unwrap();
            let at = dice.below(content.len());
            content[at] ^= 1 << dice.below(7);
            what += &format!("byte {at}");
        }
        3 => {
            let content = files.remove(&name).unwrap();
            let other =
                ["runs/other.jsonl", "policies/x.json", "readme", "runs/x.part-0002.jsonl"][dice.below(4)];
            files.insert(other.to_owned(), content);
            what += other;
        }
        _ => {
            let content = files.get_mut(&name).unwrap();
            content.truncate(dice.below(content.len()));
            what += "cut";
        }
    }
    if dice.below(3) > 0
        && files
            .get("manifest.json")
            .is_some_and(|text| serde_json::from_slice::<Value>(text).is_ok_and(|value| value.is_object()))
    {
        index(&mut files);
        what += ", indexed";
    }
    (what, pack(&files))
}

/// A byte of the archive changed.
fn flipped(one: &Whole, dice: &mut Dice) -> (String, Vec<u8>) {
    let mut bytes = one.bytes.clone();
    let at = if dice.below(2) == 0 { dice.below(bytes.len()) } else { bytes.len() - 1 - dice.below(400) };
    bytes[at] ^= 1 << dice.below(8);
    (format!("byte {at} of the archive"), bytes)
}

fn records(files: &Files, dice: &mut Dice) -> String {
    let names: Vec<_> =
        files.keys().filter(|name| name.starts_with("runs/") || name.starts_with("keys/")).cloned().collect();
    names[dice.below(names.len())].clone()
}

fn values(jsonl: &[u8]) -> Vec<Value> {
    std::str::from_utf8(jsonl).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn jsonl(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// What the trust file of evidence says is used for a plain checkpoint too.
#[test]
fn a_checkpoint_is_checked_with_the_trust_file_of_evidence() {
    let forger = forger();
    let one = forger.bundle(0, false);
    let files = unpack(&one.bytes);
    let note = files.iter().find(|(name, _)| name.starts_with("checkpoints/")).unwrap().1.clone();
    let PublicKey::Ed25519(other) = forger.keys[0].public() else { unreachable!("it is one") };
    let origin = Note::parse(&note).unwrap().unverified().origin.clone();
    let wrong = VerifierKey::new(origin, KeyType::Log, other);
    let wrong = json!({"logs": [wrong.to_string()], "algs": ["ed25519"]}).to_string();
    let verdicts = agree_on(
        &["verdict", "code"],
        &[
            Case { name: "pinned".to_owned(), file: note.clone(), trust: Some(one.trust) },
            Case { name: "another key".to_owned(), file: note, trust: Some(wrong) },
        ],
    );
    assert_eq!(verdicts, [Verdict::Valid, Verdict::Refused]);
}
